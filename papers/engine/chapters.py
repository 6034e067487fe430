"""From stored cells to what a report shows of a figure: panels and tables, findings, files."""

from __future__ import annotations

import re
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from papers.engine import drawing, export
from papers.engine.drawing import Picture
from papers.engine.figure import Figure, Finding, Panel, Point, TextTable, short_of
from papers.engine.grid import stand_ins_of
from papers.engine.library import Paper
from papers.engine.store import StoredCell
from tacit.checks import check
from tacit.datasets.stand_ins import MARK


@dataclass(frozen=True)
class FigureResult:
    """A figure as it stands. ``troubles`` are sentences about what went wrong; ``left_out`` is why nothing was run."""

    figure: Figure
    cells: int = 0
    stored: tuple[StoredCell, ...] = ()
    parts: tuple[Panel | TextTable, ...] = ()
    pictures: tuple[Picture, ...] = ()
    findings: tuple[Finding, ...] = ()
    files: tuple[str, ...] = ()
    troubles: tuple[str, ...] = ()
    left_out: str = ""

    @property
    def seconds(self) -> list[float]:
        """How long each cell took."""
        return [cell.seconds for cell in self.stored]

    @property
    def versions(self) -> list[str]:
        """Versions that made the cells."""
        return sorted({cell.version for cell in self.stored})

    @property
    def stand_ins(self) -> list[str]:
        """Data sets in whose place made-up records were used."""
        return _stand_ins(self.stored)

    @property
    def stood_in(self) -> str:
        """A sentence about made-up records; nothing where there are none."""
        names = ", ".join(self.stand_ins)
        return f"Measured on a {MARK} for {names}: records made up with its columns and counts." if names else ""

    @property
    def points(self) -> list[Point]:
        """The points of all cells."""
        return [point for cell in self.stored for point in cell.merged()]


@dataclass(frozen=True)
class Chapter:
    """A paper's figures as they stand."""

    name: str
    citation: str
    results: tuple[FigureResult, ...] = ()
    left_out: str = ""


def assemble(
    paper: Paper, figure: Figure, cells: int, stored: Sequence[StoredCell], errors: Sequence[str], out: Path
) -> FigureResult:
    """Draw, check and write one figure of so many ``cells``. One whose code fails says so, and others go on.

    Made-up records, and part of a grid, neither show nor refute what a paper says: their findings are undecided.
    """
    troubles = list(errors)
    if len(stored) < cells:
        troubles.append(f"{cells - len(stored)} of {cells} cells have no result: they are not shown.")
    if not stored:
        return FigureResult(figure, cells, troubles=tuple(troubles))
    points = [point for cell in stored for point in cell.merged()]
    folder = out / paper.name
    folder.mkdir(exist_ok=True)
    files = export.write(folder, figure.name, stored)
    parts: list[Panel | TextTable] = []
    pictures: list[Picture] = []
    findings: list[Finding] = []
    try:
        made_up = f"{MARK} for {', '.join(_stand_ins(stored))}" if _stand_ins(stored) else ""
        why = "; ".join(filter(None, (made_up, short_of(len(stored), cells))))
        shown = [_marked(_checked(part), made_up) for part in figure.show(points)]
        panels = [part for part in shown if isinstance(part, Panel)]
        pictures += drawing.draw(panels, re.sub(r"\W", "-", f"{paper.name}-{figure.name}"))
        parts += shown
        findings += [finding.undecided(why) for finding in figure.check(points, paper.expected)]
    except Exception as error:
        troubles.append(f"Cannot show it: {type(error).__name__}: {error}.\n{_last_place(error)}")
    files += _write_pictures(folder, figure.name, pictures)
    return FigureResult(
        figure, cells, tuple(stored), tuple(parts), tuple(pictures), tuple(findings),
        tuple(path.relative_to(out).as_posix() for path in files), tuple(troubles),
    )  # fmt: skip


def _stand_ins(stored: Sequence[StoredCell]) -> list[str]:
    return sorted({name for cell in stored for name in stand_ins_of(cell.settings)})


def _marked(part: Panel | TextTable, made_up: str) -> Panel | TextTable:
    """The title says what was made up: a picture may be seen without the page that it was made for."""
    return replace(part, title=f"{part.title} ({made_up})".strip()) if made_up else part


def _checked(part: Panel | TextTable) -> Panel | TextTable:
    """The part itself, or a sentence about a table or a line that could not be shown."""
    if isinstance(part, TextTable):
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
    for old in folder.glob(f"{name}-*"):
        if re.fullmatch(rf"{re.escape(name)}-\d+\.(svg|png)", old.name):
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
