"""Sums over rows that are exact until the last rounding: the same bits for any batches, in any order.

Weights are multiples of 2**-24, so counts of cells are exact in double precision for as many rows as are admitted
(:data:`tacit.evaluation.summary.MOST_ROWS`). Other sums are kept as whole numbers, one for each binary exponent of the
terms, and rounded once, to the nearest double.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.evaluation.ranking import rank_sums
from tacit.evaluation.summary import Layout
from tacit.types import Array

_DIGITS, _LOW = 53, 26
_BLOCK = 2**20
"""Terms in a block: sums of their halves, of 27 digits at most, are exact in double precision."""


@dataclass(frozen=True, eq=False)
class ExactSum:
    """A sum of doubles without rounding: ``sum of parts[e] * 2**e``."""

    parts: Counter[int] = field(default_factory=Counter)

    @classmethod
    def of(cls, terms: Array) -> ExactSum:
        """Of finite numbers."""
        parts: Counter[int] = Counter()
        for start in range(0, len(terms), _BLOCK):
            mantissas, exponents = np.frexp(terms[start : start + _BLOCK])
            whole = np.ldexp(mantissas, _DIGITS).astype(np.int64)
            least = int(exponents.min())
            places = exponents - least
            high, low = (np.bincount(places, half) for half in (whole >> _LOW, whole & (2**_LOW - 1)))
            for place in np.flatnonzero(np.bincount(places)).tolist():
                parts[least + place - _DIGITS] += (int(high[place]) << _LOW) + int(low[place])
        return cls(parts)

    def plus(self, other: ExactSum) -> ExactSum:
        """The sum of both."""
        parts = self.parts.copy()
        parts.update(other.parts)
        return ExactSum(parts)

    def value(self) -> float:
        """The nearest double, as ``math.fsum`` gives it."""
        least = min(self.parts, default=0)
        total = sum(part << (exponent - least) for exponent, part in self.parts.items())
        return total / (1 << -least) if least < 0 else float(total << least)


class Ranked(NamedTuple):
    """Scores, which of them are of the second class, and their weights."""

    scores: Array
    positive: NDArray[np.bool_]
    weights: Array


@dataclass(frozen=True, eq=False)
class Tally:
    """What some rows add to the parts of a release."""

    tables: dict[str, Array] = field(default_factory=dict)
    numbers: dict[str, ExactSum] = field(default_factory=dict)
    ranked: tuple[Ranked, ...] = ()

    def plus(self, other: Tally) -> Tally:
        """What both add together."""
        return Tally(
            {name: counts + other.tables[name] for name, counts in self.tables.items()},
            {name: number.plus(other.numbers[name]) for name, number in self.numbers.items()},
            self.ranked + other.ranked,
        )

    def sums(self, layout: Layout, people: int) -> Array:
        """All parts, one after the other; ranks are told once all rows are there."""
        ranks: dict[str, float] = {}
        if self.ranked:
            scores, positive, weights = (np.concatenate(parts) for parts in zip(*self.ranked, strict=True))
            ranks = dict(zip(("ranks", "ranks_squared"), rank_sums(scores, positive, weights, people), strict=True))
        return np.concatenate([
            np.array([ranks[part.name]]) if part.name in ranks
            else np.array([self.numbers[part.name].value()]) if part.name in self.numbers
            else self.tables[part.name]
            for part in layout
        ])  # fmt: skip


def added_up(tallies: Iterable[Tally]) -> Tally:
    """All of them together; there is one at least."""
    return reduce(Tally.plus, tallies)
