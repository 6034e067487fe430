"""From stored rows to what a report shows of a figure: points, panels and tables, findings, files."""

from __future__ import annotations

import re
import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from papers.engine import drawing, export
from papers.engine.cells import Cell
from papers.engine.drawing import Picture
from papers.engine.figure import Figure, Finding, Panel, Table
from papers.engine.papers import Source
from papers.engine.store import Row
from tacit.checks import check


@dataclass(frozen=True)
class Result:
    """A figure as it stands. ``troubles`` are sentences about what went wrong; ``left_out`` is why nothing was run."""

    figure: Figure
    cells: int = 0
    rows: tuple[Row, ...] = ()
    parts: tuple[Panel | Table, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    left_out: str = ""

    @property
    def seconds(self) -> float:
        """Time of all cells together, on one core each."""
        return sum(row.seconds for row in self.rows)

    @property
    def versions(self) -> list[str]:
        """Versions that made the rows."""
        return sorted({row.version for row in self.rows})


@dataclass(frozen=True)
class Chapter:
    """A paper's figures as they stand."""

    name: str
    citation: str
    results: tuple[Result, ...] = ()
    left_out: str = ""


@dataclass
class _Made:
    parts: list[Panel | Table] = field(default_factory=list)
    pictures: list[Picture] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    files: list[Path] = field(default_factory=list)
    troubles: list[str] = field(default_factory=list)


def assemble(
    source: Source, figure: Figure, cells: Sequence[Cell], rows: Sequence[Row], errors: Sequence[str], out: Path
) -> Result:
    """Draw, check and write one figure. A figure whose code fails says so, and others go on."""
    made = _Made(troubles=list(errors))
    if len(rows) < len(cells):
        made.troubles.append(f"{len(cells) - len(rows)} of {len(cells)} cells have no result: they are not shown.")
    points = [point for row in rows for point in row.merged()]
    folder = out / source.paper.name
    if points:
        folder.mkdir(exist_ok=True)
        made.files += export.write(folder, figure.name, rows)
        with source.entered():
            try:
                parts = [_checked(part) for part in figure.show(points)]
                panels = [part for part in parts if isinstance(part, Panel)]
                made.pictures += drawing.draw(panels, re.sub(r"\W", "-", f"p{source.paper.name}-{figure.name}"))
                made.parts += parts
                made.findings += figure.check(points, source.expected)
            except Exception as error:
                made.troubles.append(f"Cannot show it: {type(error).__name__}: {error}.\n{_last_place(error)}")
        made.files += _write_pictures(folder, figure.name, made.pictures)
    return Result(
        figure, len(cells), tuple(rows), tuple(made.parts), tuple(made.pictures), tuple(made.findings),
        tuple(path.relative_to(out).as_posix() for path in made.files), tuple(made.troubles),
    )  # fmt: skip


def settings_of(rows: Sequence[Row]) -> Mapping[str, list[str]]:
    """The values that each setting takes, as text, in the order of the grid."""
    names = dict.fromkeys(name for row in rows for name in row.settings)
    return {
        name: list(dict.fromkeys(str(row.settings[name]) for row in rows if name in row.settings)) for name in names
    }


def _checked(part: Panel | Table) -> Panel | Table:
    """The part itself, or a sentence about a table or a line that could not be shown."""
    if isinstance(part, Table):
        cells = [cell for row in (part.head, *part.rows) for cell in row]
        check(all(isinstance(cell, str) for cell in cells), f"The cells of table {part.title!r} must be text.")
        whole = all(len(row) == len(part.head) for row in part.rows)
        check(whole, f"The rows of table {part.title!r} must be as long as its head.")
        return part
    for line in part.lines:
        sizes = {len(line.x), len(line.mean), len(line.low), len(line.high)}
        check(len(sizes) == 1, f"The parts of line {line.label!r} must be of one length.")
        check(line.status in drawing.WORDS, f"Line {line.label!r} has an unknown status {line.status!r}.")
    return part


def _write_pictures(folder: Path, name: str, pictures: Sequence[Picture]) -> list[Path]:
    for old in (*folder.glob(f"{name}-*.svg"), *folder.glob(f"{name}-*.png")):
        if re.fullmatch(r"\d+", old.stem.removeprefix(f"{name}-")):
            old.unlink()  # of an earlier run with more panels
    written = []
    for number, picture in enumerate(pictures, 1):
        written += [folder / f"{name}-{number}.svg", folder / f"{name}-{number}.png"]
        written[-2].write_text(picture.svg, encoding="utf-8")
        written[-1].write_bytes(picture.png)
    return written


def _last_place(error: Exception) -> str:
    place = traceback.extract_tb(error.__traceback__)[-1]
    return f"{Path(place.filename).name}, line {place.lineno}: {place.line}"
