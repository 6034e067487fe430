"""One HTML file over all figures that opens offline: pictures, what the paper claims, and whether we see it.

The page is ``report.html.jinja``; here is what it asks for.
"""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping, Sequence
from importlib import resources
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup, escape

from papers.engine.chapters import Chapter, FigureResult
from papers.engine.drawing import LOOKS, WORDS
from papers.engine.figure import Panel, Size, TextTable
from papers.engine.progress import spent
from papers.engine.summary import HEAD, Entry
from tacit._version import __version__
from tacit.types import Status

_HERE = Path(__file__).parent
_MARKS = {True: ("✓", "seen", "yes"), False: ("✗", "not seen", "no"), None: ("?", "cannot tell", "open")}


def write_report(
    path: Path, chapters: Sequence[Chapter], size: Size, summary: Mapping[str, Entry], basis: str = ""
) -> None:
    """Write the report; files that it links to lie beside it.

    ``summary`` has papers by folder, in everyday words; ``basis`` says what its words about learning rest on.
    """
    environment = Environment(
        loader=FileSystemLoader(_HERE), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.globals.update(
        anchor=anchor, code=_code, column_kinds=_column_kinds, curves_as_numbers=_curves_as_numbers,
        guarantees=_guarantees, marks=_MARKS, settings_of=_settings_of, spent=spent, status_looks=LOOKS,
        status_words=WORDS, tables_of=_tables_of, tally=_tally,
    )  # fmt: skip
    style = resources.files("tacit.report").joinpath("templates", "report.css").read_text(encoding="utf-8")
    style += (_HERE / "report.css").read_text(encoding="utf-8")
    page = environment.get_template("report.html.jinja").render(
        basis=basis, chapters=chapters, date=time.strftime("%d %B %Y"), lead=_lead(chapters, size), style=style,
        summary=summary, summary_head=HEAD, version=__version__,
    )  # fmt: skip
    path.write_text(page, encoding="utf-8")


def anchor(*names: str) -> str:
    """Where the page has a paper, or one of its figures."""
    return "-".join(("paper", *(re.sub(r"[\W_]", "-", name) for name in names)))


def _code(text: str) -> Markup:
    """Text in which `names` stand as code."""
    return Markup(re.sub(r"`([^`]+)`", r"<code>\1</code>", str(escape(text))))


def _lead(chapters: Sequence[Chapter], size: Size) -> str:
    results = [result for chapter in chapters for result in chapter.results]
    findings = [finding for result in results for finding in result.findings]
    counts = {mark: sum(finding.holds is mark for finding in findings) for mark in _MARKS}
    cells = sum(len(result.stored) for result in results)
    how = "Quick size: fewer repetitions and points than the papers'." if size.quick else "The papers' size."
    how += f" {size.runs} repetitions, as asked for." if size.runs else ""
    made_up = sum(bool(result.stand_ins) for result in results)
    how += f" {made_up} of the figures are on synthetic stand-ins for data that were not here." if made_up else ""
    empty = sum(not result.stored for result in results)
    none = f"{empty} figures have no rows: what they state is not counted. " if empty else ""
    drawn = sum(bool(result.parts) for result in results)
    return (
        f"{drawn} of {len(results)} figures drawn, from {cells:,} cells: "
        f"{spent(result.seconds for result in results)}. "
        f"Of {len(findings)} statements, {counts[True]} are seen, {counts[False]} are not, and {counts[None]} cannot "
        f"be told. {none}{how}"
    )


def _tally(result: FigureResult) -> str:
    if result.left_out or not result.stored:
        return "left out" if result.left_out else "not run yet"
    counts = {word: sum(f.holds is holds for f in result.findings) for holds, (_, word, _) in _MARKS.items()}
    words = ", ".join(f"{count} {word}" for word, count in counts.items() if count) or "no statement checked"
    words += "; synthetic stand-in" if result.stand_ins else ""
    return words + ("; incomplete" if result.troubles else "")


def _tables_of(result: FigureResult) -> list[TextTable]:
    return [part for part in result.parts if isinstance(part, TextTable)]


def _column_kinds(table: TextTable) -> list[Markup]:
    """Columns that are mostly words stand to the left."""
    columns = list(zip(*table.rows, strict=True)) or [()] * len(table.head)
    words = [sum(cell[:1].isalpha() for cell in column) > len(column) / 2 for column in columns]
    return [Markup(' class="words"') if word else Markup("") for word in words]


def _guarantees(result: FigureResult) -> list[tuple[Status | None, list[str]]]:
    """The lines of all panels by the status of their guarantee; for tables, the points' own words."""
    pairs = {(line.status, line.label): None for part in result.parts if isinstance(part, Panel) for line in part.lines}
    if not pairs:
        known = [point for point in result.points if point.get("status", "") in WORDS]
        pairs = {(point["status"], str(point.get("method", "all"))): None for point in known}
    found = [(status, [label for other, label in pairs if other == status]) for status in WORDS]
    return [(status, labels) for status, labels in found if labels]


def _settings_of(result: FigureResult) -> list[tuple[str, str]]:
    """The values that each setting takes, in the order of the grid."""
    names = dict.fromkeys(name for cell in result.stored for name in cell.settings)
    values = {
        name: dict.fromkeys(str(cell.settings[name]) for cell in result.stored if name in cell.settings)
        for name in names
    }
    return [(name, ", ".join(found)) for name, found in values.items()]


def _curves_as_numbers(result: FigureResult) -> list[tuple[str, str]]:
    """The drawn lines as numbers, for readers without the files."""
    found = []
    for part in result.parts:
        for line in part.lines if isinstance(part, Panel) else ():
            values = [
                f"{x:g}: {mean:.4g}" + (f" ± {high - mean:.2g}" if math.isfinite(high) else "")
                for x, mean, high in zip(line.x, line.mean, line.high, strict=True)
            ]
            found.append((f"{part.title}: {line.label}" if part.title else line.label, ", ".join(values)))
    return found
