"""The rows that are kept with the documentation: copied from a run, read and judged again."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.engine import library
from papers.engine.figure import Figure, Finding, Panel, Point, Size, TextTable
from papers.engine.grid import grid
from papers.engine.library import Paper
from tacit.checks import check

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = DOCS / "reproduced"
ONCE = ("cell", "version", "cell_seconds")
"""What is said on the first line of a cell only, to keep files small."""


@dataclass(frozen=True)
class Stand:
    """A figure as its rows have it; ``cells`` is the size of the paper's grid."""

    figure: Figure
    cells: int
    done: int = 0
    seconds: float = 0.0
    versions: frozenset[str] = frozenset()
    parts: tuple[Panel | TextTable, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def whole(self) -> bool:
        """Whether every cell has its rows."""
        return self.done == self.cells

    @property
    def ours(self) -> bool:
        """Whether the figure is none of the paper's."""
        return self.figure.claim.startswith("Ours, not the paper's")


def all_papers() -> list[Paper]:
    """The papers of this repository."""
    return [library.load("papers", name) for name in library.names("papers")]


def take(out: Path, rows: Path = ROWS) -> None:
    """Copy a run's rows. Pictures, Parquet files and the report stay where they are: they can be drawn again."""
    check((out / "rows.sqlite").exists(), f"There is no run in {out}. Run `python -m papers --all --out {out}`.")
    shutil.rmtree(rows, ignore_errors=True)
    for paper in all_papers():
        for figure in paper.figures:
            given = out / paper.name / f"{figure.name}.csv"
            if given.exists():
                (rows / paper.name).mkdir(parents=True, exist_ok=True)
                _copy(given, rows / paper.name / given.name)


def stand_of(paper: Paper, figure: Figure, rows: Path) -> Stand:
    """Read a figure's rows and judge them again."""
    keys = {cell.key[:12] for cell in grid(paper, figure, Size())}
    path = rows / paper.name / f"{figure.name}.csv"
    if not path.exists():
        return Stand(figure, len(keys))
    lines = list(_lines(path))
    firsts = [line for line in lines if line["cell"]]
    strange = {line["cell"] for line in firsts} - keys
    check(not strange, f"{path} has cells that are not of the paper's size: {sorted(strange)[:3]}.")
    points: list[Point] = [
        {name: _value(text) for name, text in line.items() if name not in ONCE} for line in lines
    ]  # fmt: skip
    parts: tuple[Panel | TextTable, ...] = ()
    findings: tuple[Finding, ...] = ()
    try:
        parts = tuple(figure.show(points))
        findings = tuple(figure.check(points, paper.expected))
    except Exception:  # a grid that is not finished may lack what the figure's code asks for
        if len(firsts) == len(keys):
            raise
    seconds = sum(float(line["cell_seconds"]) for line in firsts)
    versions = frozenset(line["version"] for line in firsts)
    return Stand(figure, len(keys), len(firsts), seconds, versions, parts, findings)


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
