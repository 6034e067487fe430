"""Counts of cells, released once, before anything is trained: by them columns are cut and pairs are chosen.

Each record falls into exactly one cell of each table, so its part of all counts, each table's times its weight w, has
the norm ``sqrt(sum w^2)``; two records' parts differ by at most ``sqrt(2 sum w^2)``, where they share no cell. Counts
are whole and weights are powers of two: the sums are exact. The proof is on the docs' page "Additive models".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, refuse
from tacit.mechanisms.base import Plan
from tacit.mechanisms.defaults import share_of
from tacit.privacy.events import Sensitivity
from tacit.privacy.noise import Source, add_gaussian
from tacit.types import Array, Budget, Solution

Cells = NDArray[np.intp]


@dataclass(frozen=True)
class Tables:
    """How many cells each table has, and how precisely it is wanted: a power of two."""

    sizes: tuple[int, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        check(len(self.sizes) == len(self.weights) > 0, "Expected at least one table, and one weight per table.")
        check(all(size >= 1 for size in self.sizes), "Expected every table to have a cell.")
        check(all(math.frexp(w)[0] == 0.5 for w in self.weights), "Expected weights of tables to be powers of two.")

    def sensitivity(self) -> Sensitivity:
        """Of all weighted counts together."""
        total = sum(weight**2 for weight in self.weights)
        return Sensitivity(math.sqrt(total), math.sqrt(2 * total))

    def count(self, cells: list[Cells], shares: Array | None = None) -> Array:
        """The weighted counts, table after table; ``cells`` has each row's cell in each table; rows may have shares.

        A person's shares add up to at most 1, and are whole multiples of 2**-24 where nobody gave other weights: then
        sums are exact too. Else they are rounded to such multiples first.
        """
        if shares is not None:
            shares = np.floor(shares * 2.0**24) / 2.0**24
        parts = []
        for size, weight, codes in zip(self.sizes, self.weights, cells, strict=True):
            check(codes.min(initial=0) >= 0 and codes.max(initial=0) < size, "Expected every cell to be of its table.")
            parts.append(weight * np.bincount(codes, shares, minlength=size))
        return np.concatenate(parts)

    def counts(self, released: Array) -> list[Array]:
        """The counts of each table in what was released."""
        ends = np.cumsum(self.sizes)[:-1]
        return [part / weight for part, weight in zip(np.split(released, ends), self.weights, strict=True)]


@dataclass(frozen=True, kw_only=True)
class CountsPlan(Plan):
    """Calibrated counts; ``scale`` is the noise of every weighted one."""

    scale: float

    def run(self, problem: Any, source: Source) -> Solution:
        """Release the weighted counts, as :meth:`Tables.count` gives them."""
        return Solution(add_gaussian(problem, self.scale, source))


def calibrate_counts(tables: Tables, budget: Budget, share: float) -> CountsPlan:
    """Counts that cost this part of the budget's mu^2.

    Edges: an infinite epsilon asks for no noise; delta = 0 has no Gaussian price, and is refused.
    """
    check(0 < share < 1, f"Expected 0 < share={share} < 1.")
    if budget.private and budget.delta == 0:
        refuse("Counts with Gaussian noise need delta > 0. Use public cuts and named pairs, or delta > 0.")
    events = share_of(budget, share, tables.sensitivity(), sum(tables.sizes))
    scale = events[0].scale if events else 0.0
    words = (f"{share:.3g} of the budget (of mu^2) for counts of {len(tables.sizes)} tables",)
    return CountsPlan(events=events, theorem="counts", scale=scale, assumptions=words)
