"""What a paper's folder declares: figures made of cells, cells that give points, points drawn as panels or tables.

Its ``figures.py`` has two values, ``CITATION`` and ``FIGURES``. A figure lists the cells of its grid, each a mapping of
plain settings; ``measure(**settings)`` computes one cell in a process of its own and gives points, mappings of plain
values. Everything else is made from points: what is drawn, and which of the paper's statements are seen to hold.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from scipy import stats

from tacit.types import Status

Plain = str | int | float | bool | None
Settings = Mapping[str, Plain]
Point = Mapping[str, Any]
Scale = Literal["linear", "log"]


@dataclass(frozen=True)
class Size:
    """How much of a grid to run: ``quick`` is for minutes on two cores, ``runs`` overrides a figure's repetitions."""

    quick: bool = False
    runs: int | None = None

    def pick(self, paper: int, quick: int) -> int:
        """Repetitions: those asked for, else the paper's number, or the quick one."""
        return self.runs or (quick if self.quick else paper)


@dataclass(frozen=True)
class Line:
    """One curve: means over repetitions, and a 95% confidence interval of each mean (NaN with one repetition)."""

    label: str
    status: Status | None
    x: tuple[float, ...]
    mean: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]


@dataclass(frozen=True)
class Panel:
    """One picture. ``status`` None of a line means that no privacy is promised (a non-private reference)."""

    title: str
    x: str
    y: str
    lines: tuple[Line, ...]
    x_scale: Scale = "linear"
    y_scale: Scale = "linear"


@dataclass(frozen=True)
class TextTable:
    """Cells as text."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Finding:
    """One statement of the paper, and whether the rows show it (None: they cannot tell), with figures in a sentence."""

    statement: str
    holds: bool | None
    seen: str

    def undecided(self, why: str) -> Finding:
        """The same figures without a verdict, and why; with no reason, the finding itself."""
        return Finding(self.statement, None, f"{self.seen} ({why})") if why else self


@dataclass(frozen=True)
class Figure:
    """One figure or table of a paper.

    ``name`` is what the command line takes ('figure2', 'table3'); ``claim`` is the paper's message in plain words;
    ``about`` names the exact settings and where they differ from the paper's. ``cells`` must give the same settings
    for the same size every time: a settings' text is the key under which its points are kept. ``needs`` names data
    sets and ``extras`` modules without which the figure is left out, with a sentence.
    """

    name: str
    title: str
    claim: str
    about: str
    cells: Callable[[Size], Iterable[Settings]]
    measure: Callable[..., Sequence[Point]]
    show: Callable[[Sequence[Point]], Sequence[Panel | TextTable]]
    check: Callable[[Sequence[Point], Mapping[str, Any]], Sequence[Finding]]
    needs: tuple[str, ...] = ()
    extras: tuple[str, ...] = ()


def short_of(done: int, cells: int) -> str:
    """How far a grid is that is not whole: statements are about all of its cells, and part of them decides none."""
    return "" if done == cells else f"{done:,} of {cells:,} cells"


def panels(
    points: Sequence[Point], *, x: str, y: str, line: str = "method", by: str | None = None, status: str = "status",
    x_scale: Scale = "linear", y_scale: Scale = "linear", x_name: str | None = None, y_name: str | None = None,
) -> list[Panel]:  # fmt: skip
    """Panels from points: one for each value of ``by``, one line for each value of ``line``, means over the rest."""
    found = []
    for group in dict.fromkeys(p[by] if by else "" for p in points):
        mine = [p for p in points if (p[by] if by else "") == group and p.get(y) is not None]
        lines = tuple(
            _line(str(label), [p for p in mine if p[line] == label], x, y, status)
            for label in dict.fromkeys(p[line] for p in mine)
        )
        if lines:
            found.append(Panel(str(group), x_name or x, y_name or y, lines, x_scale, y_scale))
    return found


def mean_of(points: Sequence[Point], y: str, **where: Any) -> float:
    """Mean of ``y`` over the points that match; NaN where there are none."""
    values = [float(p[y]) for p in points if p.get(y) is not None and all(p.get(k) == v for k, v in where.items())]
    return statistics.fmean(values) if values else math.nan


def _line(label: str, points: Sequence[Point], x: str, y: str, status: str) -> Line:
    places = sorted({float(p[x]) for p in points})
    values = [[float(p[y]) for p in points if float(p[x]) == place] for place in places]
    means = [statistics.fmean(v) for v in values]
    half = [_half_width(v) for v in values]
    return Line(
        label, points[0].get(status), tuple(places), tuple(means),
        tuple(m - h for m, h in zip(means, half, strict=True)), tuple(m + h for m, h in zip(means, half, strict=True)),
    )  # fmt: skip


def _half_width(values: Sequence[float]) -> float:
    if len(values) < 2:
        return math.nan
    return float(stats.t.ppf(0.975, len(values) - 1)) * statistics.stdev(values) / math.sqrt(len(values))
