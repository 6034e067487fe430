"""What the pages about the papers include, as Markdown. No number is typed in: all comes from the kept rows."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from papers.engine.figure import Finding, Panel, TextTable
from papers.engine.progress import duration
from papers.pages.excerpts import EXCERPTS, Excerpt
from papers.pages.kept import ROWS, Stand, all_papers, stand_of

OURS = "Not in the paper"


def _count(done: int, cells: int) -> str:
    """'18', or how far it is."""
    return f"{cells:,}" if done == cells else f"{done:,} of {cells:,}, incomplete"


Judged = tuple[Stand, Finding]


def texts(rows: Path = ROWS) -> dict[str, str]:
    """What the pages include, by file name."""
    found, all_stands = {}, {}
    for paper in all_papers():
        stands = [stand_of(paper, figure, rows) for figure in paper.figures]
        all_stands[paper.name] = stands
        shown = [_shown(excerpt, {stand.figure.name: stand for stand in stands}) for excerpt in EXCERPTS[paper.name]]
        blocks = ["<!-- tables -->", *shown, "<!-- findings -->", *_groups(stands), "<!-- ran -->", _ran(stands)]
        found[f"{paper.name}.inc"] = "\n\n".join(blocks) + "\n"
    found["index.inc"] = _totals(all_stands)
    return found


def _shown(excerpt: Excerpt, stands: dict[str, Stand]) -> str:
    stand = stands[excerpt.figure]
    named = [part for part in stand.parts if part.title == excerpt.title]
    found = [part for part in named if isinstance(part, TextTable) or part.y.startswith(excerpt.y)]
    caption = f"**{excerpt.caption}**{_unless_whole(stand)}"
    if not found:
        return f"{caption}\n\nNot measured yet."
    table = found[0] if isinstance(found[0], TextTable) else _tabled(found[0], excerpt)
    return f"{caption}\n\n{_markdown(table.head, table.rows)}"


def _tabled(panel: Panel, excerpt: Excerpt) -> TextTable:
    places = sorted({x for line in panel.lines for x in line.x})
    rows = []
    for line in panel.lines:
        means = dict(zip(line.x, line.mean, strict=True))
        cells = [f"{means[x]:.{excerpt.digits}f}" if x in means else "" for x in places]
        rows.append((line.label, line.status or "none", *cells))
    return TextTable(panel.title, ("method", "guarantee", *map(excerpt.x, places)), tuple(rows))


def _groups(stands: Sequence[Stand]) -> Iterator[str]:
    """All findings: what is seen, what is not, what cannot be told; then those that no paper states."""
    paper, ours = _findings(stands)
    for holds, words in ((True, "are seen"), (False, "are not seen"), (None, "cannot be told")):
        yield from _group(f"statements of the paper that {words}", [pair for pair in paper if pair[1].holds is holds])
    marks = {True: "Seen. ", False: "Not seen. ", None: "Cannot tell. "}
    marked = [(stand, Finding(f.statement, f.holds, marks[f.holds] + f.seen)) for stand, f in ours]
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


def _ran(stands: Sequence[Stand]) -> str:
    rows = [
        (f"`{s.figure.name}`", _plain(s.figure.title), _count(s.done, s.cells), duration(s.seconds) if s.done else "")
        for s in stands
    ]
    return _markdown(("figure", "what it is", "cells", "time on one core"), rows, escaped=False)


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
