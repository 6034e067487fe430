"""One cell of a grid: which figure, which settings, and the key under which its points are kept.

A cell that is measured on made-up records has one setting more, ``stand_in``, which names the data sets that they are
for. So it has another key than the same cell on the data sets themselves, and its rows say what they are.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.engine.figure import Figure, Plain, Settings, Size
from papers.engine.library import Paper
from tacit.checks import check

STAND_IN = "stand_in"


@dataclass(frozen=True)
class Cell:
    """One call of a figure's ``measure``; ``package`` is where another process finds its code."""

    package: str
    paper: str
    figure: str
    settings: Settings

    @property
    def key(self) -> str:
        """SHA-256 of paper, figure and settings: the same cell has the same key on every machine."""
        text = canonical({"paper": self.paper, "figure": self.figure, "settings": dict(self.settings)})
        return hashlib.sha256(text.encode()).hexdigest()

    @property
    def asked(self) -> Settings:
        """The settings that the figure's ``measure`` takes."""
        return {name: value for name, value in self.settings.items() if name != STAND_IN}

    @property
    def stand_ins(self) -> list[str]:
        """Data sets whose records are made up for this cell."""
        return stand_ins_of(self.settings)

    def __str__(self) -> str:
        words = ", ".join(f"{name}={value}" for name, value in self.settings.items())
        return f"{self.paper} {self.figure} ({words})"


def stand_ins_of(settings: Settings) -> list[str]:
    """The data sets that stand-ins are for, by the settings of a cell."""
    return str(settings.get(STAND_IN) or "").split()


def grid(paper: Paper, figure: Figure, size: Size, stand_ins: Collection[str] = ()) -> list[Cell]:
    """The cells of a figure, in its own order; with made-up records for the data sets that ``stand_ins`` names."""
    place = f"{paper.name} {figure.name}"
    found = [dict(settings) for settings in figure.cells(size)]
    for settings in found:
        odd = [name for name, value in settings.items() if not isinstance(value, Plain)]
        check(not odd, f"The settings {odd} of a cell of {place} are not plain: text, a number, a truth value or None.")
        check(STAND_IN not in settings, f"{STAND_IN!r} of {place} is no name for a setting: it marks made-up records.")
    marks = {STAND_IN: " ".join(sorted(stand_ins))} if stand_ins else {}
    cells = [Cell(paper.package, paper.name, figure.name, settings | marks) for settings in found]
    check(cells, f"The grid of {place} has no cells.")
    check(len({cell.key for cell in cells}) == len(cells), f"Two cells of {place} have the same settings.")
    return cells


def canonical(value: object) -> str:
    """JSON in one spelling: sorted names, no spaces; scalars and arrays of numpy as numbers and lists."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, default=_listed)


def checked_points(points: Sequence[Mapping[str, Any]], place: str) -> str:
    """The points of a cell as JSON, or a sentence that says what ``measure`` must give."""
    check(
        isinstance(points, (list, tuple)) and points and all(isinstance(point, Mapping) for point in points),
        f"measure of {place} must give a list of at least one mapping.",
    )
    return json.dumps([dict(point) for point in points], separators=(",", ":"), default=_listed)


def _listed(value: Any) -> Any:
    if hasattr(value, "tolist"):
        return value.tolist()
    raise TypeError(f"A {type(value).__name__} is not plain: expected text, a number, a truth value, None or a list.")
