"""How much of the papers' size has rows that are kept with the documentation, and a sentence while some have none."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from pathlib import Path

from papers.engine import library
from papers.engine.figure import Figure, Size
from papers.engine.grid import grid
from papers.engine.library import Paper

PILOTS = "pilots (trial runs of a few settings and seeds, of which no rows are kept)"


def rows_of(package: str) -> Path:
    """Where the rows are kept that the documentation is made from."""
    return library.folder_of(package).parent / "docs" / "reproduced"


def kept_cells(rows: Path, paper: Paper, figure: Figure) -> tuple[int, int]:
    """How many cells of the paper's size have rows, and how many there are."""
    keys = {cell.key[:12] for cell in grid(paper, figure, Size())}
    return len(keys & kept_keys(rows, paper.name, figure.name)), len(keys)


def kept_keys(rows: Path, paper: str, figure: str) -> set[str]:
    """The first 12 digits of the keys of the cells of a figure that have rows."""
    table = rows / paper / f"{figure}.csv"
    if not table.exists():
        return set()
    with table.open(encoding="utf-8", newline="") as file:
        return {line["cell"] for line in csv.DictReader(file) if line["cell"]}


def basis(package: str, names: Sequence[str]) -> str:
    """What the summary of these papers says of learning rests on: a clause, by the rows that are kept."""
    done = cells = 0
    for name in names:
        try:
            paper = library.load(package, name)
        except ModuleNotFoundError:  # the report leaves it out, and says so
            continue
        counts = [kept_cells(rows_of(package), paper, figure) for figure in paper.figures]
        done, cells = done + sum(count for count, _ in counts), cells + sum(count for _, count in counts)
    if done == cells:
        return "rests on runs of the papers' size, whatever the size of this report"
    return (
        f"comes from {PILOTS} until the figures are complete: {done:,} of {cells:,} cells of the papers' size have rows"
    )
