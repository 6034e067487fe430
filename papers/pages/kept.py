"""The rows that are kept with the documentation: copied from a run, read and judged again."""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from papers.engine import library
from papers.engine.figure import Figure, Finding, Panel, Point, Size, TextTable, short_of
from papers.engine.grid import Cell, grid, stand_ins_of
from papers.engine.library import Paper
from papers.engine.under_way import kept_cells
from tacit.checks import check

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROWS = DOCS / "reproduced"
QUICK = "quick.json"
"""Beside the rows: how long the quick size took, of which no rows are kept."""
ONCE = ("cell", "version", "cell_seconds")
"""What is said on the first line of a cell only, to keep files small."""


@dataclass(frozen=True)
class Stand:
    """A figure as its rows have it; ``cells`` is the size of the paper's grid, ``seconds`` are those of each cell."""

    figure: Figure
    cells: int
    done: int = 0
    seconds: tuple[float, ...] = ()
    versions: frozenset[str] = frozenset()
    parts: tuple[Panel | TextTable, ...] = ()
    findings: tuple[Finding, ...] = ()
    points: tuple[Point, ...] = ()

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
    """Copy the rows of the figures that a run has, once all are found fit; what it has not stays as it is.

    Pictures, Parquet files and the report stay where they are: they can be drawn again.
    """
    found = _figures_in(out)
    for paper, figure, given in found:
        _check_fit(given, grid(paper, figure, Size()), list(_lines(given)))
        (now, cells), (before, _) = (kept_cells(place, paper, figure) for place in (out, rows))
        check(
            now >= before,
            f"{given} has {now} of {cells} cells, and {before} are kept. Finish the run, or delete what is kept first.",
        )
    for paper, _, given in found:
        (rows / paper.name).mkdir(parents=True, exist_ok=True)
        _copy(given, rows / paper.name / given.name)


def take_quick(out: Path, rows: Path = ROWS) -> None:
    """Keep how many seconds each paper's cells took in a run of the quick size."""
    took: dict[str, dict[str, float]] = {}
    for paper, figure, given in _figures_in(out):
        lines = list(_lines(given))
        _check_fit(given, grid(paper, figure, Size(quick=True)), lines)
        took.setdefault(paper.name, {}).update({line["cell"]: float(line["cell_seconds"]) for line in lines})
    found = {name: {"cells": len(mine), "seconds": round(sum(mine.values()), 1)} for name, mine in took.items()}
    rows.mkdir(exist_ok=True)
    (rows / QUICK).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


def quick_seconds(rows: Path = ROWS) -> dict[str, float]:
    """What :func:`take_quick` kept, by paper; nothing where it kept nothing."""
    place = rows / QUICK
    given = json.loads(place.read_text(encoding="utf-8")) if place.exists() else {}
    return {name: float(took["seconds"]) for name, took in given.items()}


def stand_of(paper: Paper, figure: Figure, rows: Path) -> Stand:
    """Read a figure's rows and judge them again; rows of part of a grid decide nothing."""
    cells = grid(paper, figure, Size())
    path = rows / paper.name / f"{figure.name}.csv"
    if not path.exists():
        return Stand(figure, len(cells))
    lines = list(_lines(path))
    _check_fit(path, cells, lines)
    firsts = [line for line in lines if line["cell"]]
    points: list[Point] = [
        {name: _value(text) for name, text in line.items() if name not in ONCE} for line in lines
    ]  # fmt: skip
    parts: tuple[Panel | TextTable, ...] = ()
    findings: tuple[Finding, ...] = ()
    try:
        parts = tuple(figure.show(points))
        why = short_of(len(firsts), len(cells))
        findings = tuple(finding.undecided(why) for finding in figure.check(points, paper.expected))
    except Exception:  # a grid that is not finished may lack what the figure's code asks for
        if len(firsts) == len(cells):
            raise
    seconds = tuple(float(line["cell_seconds"]) for line in firsts)
    versions = frozenset(line["version"] for line in firsts)
    return Stand(figure, len(cells), len(firsts), seconds, versions, parts, findings, tuple(points))


def kept_points(path: Path) -> list[tuple[str, float, list[dict[str, Any]]]]:
    """The cells of a table: the beginning of the key, the seconds, and the points with their settings."""
    found: list[tuple[str, float, list[dict[str, Any]]]] = []
    for line in _lines(path):
        if line["cell"]:
            found.append((line["cell"], float(line["cell_seconds"]), []))
        found[-1][2].append({name: _value(text) for name, text in line.items() if name not in ONCE})
    return found


def _figures_in(out: Path) -> list[tuple[Paper, Figure, Path]]:
    """The figures of which a run has rows."""
    check((out / "rows.sqlite").exists(), f"There is no run in {out}. Run `python -m papers --all --out {out}`.")
    places = [(p, figure, out / p.name / f"{figure.name}.csv") for p in all_papers() for figure in p.figures]
    found = [place for place in places if place[-1].exists()]
    check(bool(found), f"The run in {out} has rows of no figure of these papers.")
    return found


def _check_fit(path: Path, cells: Sequence[Cell], lines: Sequence[dict[str, str]]) -> None:
    """Refuse rows that were measured on made-up records or for another grid."""
    made_up = any(stand_ins_of(line) for line in lines)
    check(not made_up, f"{path} was measured on synthetic stand-ins. Pages are made from real data only.")
    strange = {line["cell"] for line in lines if line["cell"]} - {cell.key[:12] for cell in cells}
    check(not strange, f"{path} has cells that are not of the size asked for: {sorted(strange)[:3]}. Run it again.")


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
