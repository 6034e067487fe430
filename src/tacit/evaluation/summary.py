r"""What an evaluation releases: one vector of sums over people, by one Gaussian mechanism, and what it says.

A part is a table, in which each row of a record falls into one cell, or a number in a known range. Each is multiplied
by a public weight, the larger the more precisely it is wanted. One person moves part k by at most ``r_k`` when replaced
and ``a_k`` when added or removed, so all together by ``sqrt(sum (w_k r_k)^2)`` and ``sqrt(sum (w_k a_k)^2)``. A
person's rows weigh at most 1 together: a mean of rows moves no more than a row. The proof is on the docs' page "Scores
of a model".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import check, refuse
from tacit.mechanisms.base import Plan
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.types import Array, Budget, Solution

MOST_ROWS = 2**28
ROUNDING = 2.0**-19
"""How far rounding moves the difference of two neighbours' sums, in each coordinate, with at most MOST_ROWS rows."""


@dataclass(frozen=True)
class Part:
    """Numbers that are released together: how many, their weight, and how far one person moves them."""

    name: str
    size: int
    weight: float
    replaced: float
    added: float

    @classmethod
    def table(cls, name: str, cells: int, weight: float) -> Part:
        """Counts of cells: a replaced record leaves one and enters another."""
        return cls(name, cells, weight, math.sqrt(2), 1.0)

    @classmethod
    def number(cls, name: str, weight: float, low: float, high: float) -> Part:
        """A sum of numbers in a range."""
        return cls(name, 1, weight, high - low, max(abs(low), abs(high)))


Layout = tuple[Part, ...]


def size_of(layout: Layout) -> int:
    """How many numbers are released."""
    return sum(part.size for part in layout)


def sensitivity(layout: Layout) -> Sensitivity:
    """Of all parts together, rounding included; replacing is never said to move less than adding."""
    added = math.sqrt(sum((part.weight * part.added) ** 2 for part in layout))
    replaced = math.sqrt(sum((part.weight * part.replaced) ** 2 for part in layout))
    slack = ROUNDING * max(part.weight for part in layout) * math.sqrt(size_of(layout))
    return Sensitivity(added + slack, max(added, replaced) + slack)


@dataclass(frozen=True, kw_only=True)
class SummaryPlan(Plan):
    """Calibrated sums; ``scale`` is the noise of every weighted number."""

    layout: Layout
    scale: float

    def run(self, problem: Callable[[Layout], Array], source: Source) -> Solution:
        """Release the weighted sums; ``problem`` gives the plain ones, part after part."""
        return Solution(add_gaussian(problem(self.layout) * _weights(self.layout), self.scale, source))


def _weights(layout: Layout) -> Array:
    return np.repeat([part.weight for part in layout], [part.size for part in layout])


def calibrate_summary(layout: Layout, budget: Budget, assumptions: tuple[str, ...]) -> SummaryPlan:
    """The plan that spends the whole budget on these parts."""
    if budget.private and budget.delta == 0:
        refuse("Scores have Gaussian noise, which needs delta > 0. Leave out delta, or give a small one.")
    moved, size = sensitivity(layout), size_of(layout)

    def released(scale: float) -> tuple[Gaussian, ...]:
        return (Gaussian(moved.plus(grid_slack(scale, size)), scale),)

    scale = smallest_scale(released, budget, guess=moved.under(budget.adjacency))
    events = released(scale) if scale else ()
    return SummaryPlan(events=events, theorem="evaluation", layout=layout, scale=scale, assumptions=assumptions)


@dataclass(frozen=True)
class Amount:
    """A released sum, and the standard deviation of its noise."""

    value: float
    deviation: float = 0.0


@dataclass(frozen=True, eq=False)
class Cells:
    """Released counts; where their total is public the noise of the total is taken out of them."""

    counts: Array
    deviation: float
    total: float | None

    @classmethod
    def of(cls, released: Array, deviation: float, total: float | None) -> Cells:
        """Counts whose noise has this standard deviation each."""
        excess = 0.0 if total is None else (released.sum() - total) / len(released)
        return cls(released - excess, deviation, total)

    def noise(self, one: Array, other: Array) -> float:
        """The covariance of the noise in two sums of counts, each with its coefficients."""
        common = float(one @ other)
        if self.total is not None:
            common -= float(one.sum() * other.sum()) / len(self.counts)
        return self.deviation**2 * common


@dataclass(frozen=True, eq=False)
class Summary:
    """What was released, with the weights undone; ``people`` is their number where that is public.

    ``positive``: which of two classes a recall and a precision are of.
    """

    plan: SummaryPlan
    released: Array
    people: int | None
    positive: int = 1

    def _part(self, name: str) -> tuple[Array, float]:
        start = 0
        for part in self.plan.layout:
            if part.name == name:
                return self.released[start : start + part.size] / part.weight, self.plan.scale / part.weight
            start += part.size
        raise LookupError(name)

    def has(self, name: str) -> bool:
        """Whether a part was released."""
        return any(part.name == name for part in self.plan.layout)

    def cells(self, name: str, *, apart: bool = False) -> Cells:
        """A table; ``apart``: with the noise as it was drawn, independent in all cells."""
        counts, deviation = self._part(name)
        return Cells.of(counts, deviation, None if apart or self.people is None else float(self.people))

    def amount(self, name: str) -> Amount:
        """A number."""
        values, deviation = self._part(name)
        return Amount(float(values[0]), deviation)

    @property
    def count(self) -> Amount:
        """How many people: public, or released."""
        if self.people is not None:
            return Amount(float(self.people))
        found = self.amount("count")
        return Amount(max(found.value, 1.0), found.deviation)


def check_rows(rows: Any) -> None:
    """Refuse what the rounding is not bounded for."""
    check(0 < rows <= MOST_ROWS, f"Expected between one and {MOST_ROWS:,} rows.")
