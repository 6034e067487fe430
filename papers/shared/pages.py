"""The pages "What we found": takes a run's report and rows into the documentation, and writes what the pages include.

    tacit reproduce --all
    python experiments/pages.py --from reproduced    # copies the report and the rows, and writes the tables
    python experiments/pages.py                      # writes the tables again, from the rows that were copied

No number is typed in: statements and tables are those of the figures' own ``check`` and ``show``, from the copied rows.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import itertools
import json
import math
import re
import shutil
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from papers.engine import papers
from papers.engine.cells import grid
from papers.engine.figure import Figure, Finding, Panel, Point, Size, Table
from papers.engine.papers import Source
from papers.engine.progress import duration
from tacit.checks import check

ROOT = Path(__file__).resolve().parents[1]
ROWS, PAGES = ROOT / "docs" / "reproduced", ROOT / "docs" / "papers"
ONCE = ("cell", "version", "cell_seconds")
"""What is said on the first line of a cell only, to keep files small."""
OURS = "Not in the paper"


@dataclass(frozen=True)
class Part:
    """A picture or table of a figure that a page shows as a table: found by its title and, of pictures, what is up."""

    caption: str
    figure: str
    title: str
    y: str = ""
    x: Callable[[float], str] = "{:g}".format
    digits: int = 4


def _count(done: int, cells: int) -> str:
    """'18', or how far it is."""
    return f"{cells:,}" if done == cells else f"{done:,} of {cells:,}, incomplete"


def _power(n: float) -> str:
    return f"2^{round(math.log2(n))}"


_ACCURACY = "Accuracy on test records over ε, Adult, logistic regression"
_GAP = "Optimality gap of the same models"
_QUIET = "Share of steps without noise over ε, logistic regression"
PARTS = {
    "000": (
        Part(_ACCURACY, "figures2-3-lr", "adult", "accuracy"),
        Part("The same on Breast Cancer, which is small", "figure4", "breast_cancer", "accuracy"),
    ),
    "001": (
        Part("RMSE of linear regression over n, ε = 0.1", "figure1", "epsilon = 0.1, delta = 0.01", "RMSE", _power),
        Part("Accuracy of classification over n, ε = 1", "figure2", "epsilon = 1.0, delta = 0.01", "accuracy", _power),
    ),
    "002": (
        Part(_ACCURACY, "figures1-2-lr", "adult", "accuracy"),
        Part(_GAP, "figures1-2-lr", "adult", "optimality gap"),
        Part(_QUIET, "figures1-2-lr", "Steps without noise"),
    ),
    "003": (
        Part(_ACCURACY, "figures1-2-lr", "adult", "accuracy"),
        Part(_GAP, "figures1-2-lr", "adult", "optimality gap"),
        Part(_QUIET, "figures1-2-lr", "Steps without noise"),
    ),
    "004": (
        Part(
            "Logistic regression on MNIST, test accuracy in percent over ε, with the paper's own numbers", "table2",
            "Test accuracy of multi-class logistic regression, percent",
        ),
        Part("The paper's network on MNIST after 15 epochs", "figure5", "After the last epoch"),
    ),
}  # fmt: skip


@dataclass(frozen=True)
class Stand:
    """A figure as its rows have it; ``cells`` is the size of the paper's grid."""

    figure: Figure
    cells: int
    done: int = 0
    seconds: float = 0.0
    versions: frozenset[str] = frozenset()
    parts: tuple[Panel | Table, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every cell has its rows."""
        return self.done == self.cells

    @property
    def ours(self) -> bool:
        """Whether the figure is none of the paper's."""
        return self.figure.claim.startswith("Ours, not the paper's")


Judged = tuple[Stand, Finding]


def take(out: Path, rows: Path = ROWS) -> None:
    """Copy a run's report and rows. Links to what is not copied (pictures, Parquet) are left out of the report."""
    check((out / "report.html").exists(), f"There is no report in {out}. Run `tacit reproduce --all --out {out}`.")
    shutil.rmtree(rows, ignore_errors=True)
    rows.mkdir(parents=True)
    report = (out / "report.html").read_text(encoding="utf-8")
    report = re.sub(r'(?:, )?<a href="[^"]*\.(?:parquet|png|svg)">[^<]*</a>', "", report)
    (rows / "report.html").write_text(report, encoding="utf-8")
    for source in _sources():
        for figure in source.paper.figures:
            given = out / source.paper.name / f"{figure.name}.csv"
            if given.exists():
                (rows / source.paper.name).mkdir(exist_ok=True)
                _copy(given, rows / source.paper.name / given.name)


def texts(rows: Path = ROWS) -> dict[str, str]:
    """What the pages include, by file name."""
    found, all_stands = {}, {}
    for source in _sources():
        stands = [stand_of(source, figure, rows) for figure in source.paper.figures]
        all_stands[source.paper.name] = stands
        shown = [_shown(part, {stand.figure.name: stand for stand in stands}) for part in PARTS[source.paper.name]]
        blocks = ["<!-- tables -->", *shown, "<!-- findings -->", *_groups(stands), "<!-- ran -->"]
        found[f"{source.paper.name}.inc"] = "\n\n".join([*blocks, _ran(source.paper.name, stands)]) + "\n"
    found["index.inc"] = _totals(all_stands)
    return found


def stand_of(source: Source, figure: Figure, rows: Path) -> Stand:
    """Read a figure's rows and judge them again."""
    keys = {cell.key[:12] for cell in grid(source, figure, Size())}
    path = rows / source.paper.name / f"{figure.name}.csv"
    if not path.exists():
        return Stand(figure, len(keys))
    lines = list(_lines(path))
    firsts = [line for line in lines if line["cell"]]
    strange = {line["cell"] for line in firsts} - keys
    check(not strange, f"{path} has cells that are not of the paper's size: {sorted(strange)[:3]}.")
    points: list[Point] = [
        {name: _value(text) for name, text in line.items() if name not in ONCE} for line in lines
    ]  # fmt: skip
    parts: tuple[Panel | Table, ...] = ()
    findings: tuple[Finding, ...] = ()
    try:
        with source.entered():
            parts = tuple(figure.show(points))
            findings = tuple(figure.check(points, source.expected))
    except Exception:  # a grid that is not finished may lack what the figure's code asks for
        if len(firsts) == len(keys):
            raise
    seconds = sum(float(line["cell_seconds"]) for line in firsts)
    versions = frozenset(line["version"] for line in firsts)
    return Stand(figure, len(keys), len(firsts), seconds, versions, parts, findings)


def _sources() -> list[Source]:
    return [papers.load(folder) for folder in papers.folders(ROOT / "experiments")]


def _lines(path: Path) -> Iterator[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        yield from csv.DictReader(file)


def _copy(given: Path, wanted: Path) -> None:
    lines = list(_lines(given))
    empty = dict.fromkeys(ONCE, "")
    with wanted.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
        writer.writeheader()
        for _, group in itertools.groupby(lines, key=lambda line: line["cell"]):
            first, *rest = group
            writer.writerows([first, *({**line, **empty} for line in rest)])


def _value(text: str) -> Any:
    """A field as it was before it became text; nothing written means None."""
    if text in ("", "True", "False"):
        return {"": None, "True": True, "False": False}[text]
    if text[0] in "[{":
        return json.loads(text)
    for kind in (int, float):
        with contextlib.suppress(ValueError):
            return kind(text)
    return text


def _shown(part: Part, stands: dict[str, Stand]) -> str:
    stand = stands[part.figure]
    found = [p for p in stand.parts if p.title == part.title and (isinstance(p, Table) or p.y.startswith(part.y))]
    caption = f"**{part.caption}**{_unless_whole(stand)}"
    if not found:
        return f"{caption}\n\nNot measured yet."
    table = found[0] if isinstance(found[0], Table) else _tabled(found[0], part)
    return f"{caption}\n\n{_markdown(table.head, table.rows)}"


def _tabled(panel: Panel, part: Part) -> Table:
    places = sorted({x for line in panel.lines for x in line.x})
    rows = []
    for line in panel.lines:
        means = dict(zip(line.x, line.mean, strict=True))
        cells = [f"{means[x]:.{part.digits}f}" if x in means else "" for x in places]
        rows.append((line.label, line.status or "none", *cells))
    return Table(panel.title, ("method", "guarantee", *map(part.x, places)), tuple(rows))


def _groups(stands: Sequence[Stand]) -> Iterator[str]:
    """All findings: what is seen, what is not, what cannot be told; then those that no paper states."""
    paper, ours = _findings(stands)
    for holds, words in ((True, "are seen"), (False, "are not seen"), (None, "cannot be told")):
        yield from _group(f"statements of the paper that {words}", [pair for pair in paper if pair[1].holds is holds])
    words = {True: "Seen. ", False: "Not seen. ", None: "Cannot tell. "}
    marked = [(stand, Finding(f.statement, f.holds, words[f.holds] + f.seen)) for stand, f in ours]
    yield from _group("checks of our own", marked)


def _findings(stands: Sequence[Stand]) -> tuple[list[Judged], list[Judged]]:
    """Those about the paper's statements, and our own."""
    pairs = [(stand, finding) for stand in stands for finding in stand.findings]
    own = [stand.ours or finding.statement.startswith(OURS) for stand, finding in pairs]
    return (
        [pair for pair, mine in zip(pairs, own, strict=True) if not mine],
        [pair for pair, mine in zip(pairs, own, strict=True) if mine],
    )


def _unless_whole(stand: Stand) -> str:
    return "" if stand.whole else f" ({_count(stand.done, stand.cells)})"


def _group(words: str, pairs: Sequence[Judged]) -> Iterator[str]:
    if not pairs:
        return
    lines = [f"<details><summary>{words[0].upper() + words[1:]}: {len(pairs)}</summary>", ""]
    for stand, finding in pairs:
        said = finding.statement.removeprefix(f"{OURS}: ").rstrip(".")
        place = f"`{stand.figure.name}`{_unless_whole(stand)}"
        lines.append(f"* {_plain(said[0].upper() + said[1:])}. *{_plain(finding.seen)}* {place}")
    yield "\n".join([*lines, "", "</details>"])


def _ran(name: str, stands: Sequence[Stand]) -> str:
    rows = [
        (f'<a href="../reproduced/report.html#paper-{name}-{s.figure.name}"><code>{s.figure.name}</code></a>',
         escape(s.figure.title, quote=False), _count(s.done, s.cells), duration(s.seconds) if s.done else "")
        for s in stands
    ]  # fmt: skip
    return _markdown(("in the report", "what it is", "cells", "time on one core"), rows, escaped=False)


def _totals(all_stands: dict[str, list[Stand]]) -> str:
    rows = []
    for name, stands in all_stands.items():
        marks = [finding.holds for _, finding in _findings(stands)[0]]
        done, cells = (sum(getattr(stand, part) for stand in stands) for part in ("done", "cells"))
        counts = [str(sum(mark is holds for mark in marks)) for holds in (True, False, None)]
        time = duration(sum(stand.seconds for stand in stands))
        rows.append((name, *counts, _count(done, cells), time))
    versions = sorted({version for stands in all_stands.values() for stand in stands for version in stand.versions})
    head = ("paper", "seen", "not seen", "cannot tell", "cells", "time on one core")
    return f"{_markdown(head, rows)}\n\nVersions that made the rows: {', '.join(f'`{v}`' for v in versions)}.\n"


def _markdown(head: Iterable[str], rows: Iterable[Iterable[str]], escaped: bool = True) -> str:
    lines = [list(head), *(list(row) for row in rows)]
    if escaped:
        lines = [[_plain(cell) for cell in line] for line in lines]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _plain(text: str) -> str:
    """Text in which no letter means anything to Markdown."""
    return re.sub(r"([\\`*_<>|$\[\]])", r"\\\1", text)


def main() -> None:
    """Copy, if asked to, and write."""
    parser = argparse.ArgumentParser(description="Writes what the pages about the papers include.")
    parser.add_argument(
        "--from", dest="out", type=Path, metavar="OUT", help="folder of a `tacit reproduce` run to copy"
    )
    out = parser.parse_args().out
    if out is not None:
        take(out)
    for name, text in texts().items():
        (PAGES / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
