"""How much each row counts: weights from 0 to 1, and where a person has several rows, at most 1 for all of them.

A record's part of a sum is then ``sum_j w_j phi(row_j)``, a mean of what single rows would have as their part, and of
nothing. Two such means are at most as far apart as the two points of them that are: so every bound on what one row
moves holds for one person too, and for one weighted row (docs' page "People and weights").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.people import People
from tacit.types import Array

Parts = TypeVar("Parts", bound=NDArray[np.float64])


@dataclass(frozen=True, eq=False, repr=False)
class Shares:
    """The weight of each row (None: all 1), and where people's rows start, person after person (None: rows are people).

    ``rows_per_person`` is declared; no person has more rows, and a person's weights add up to at most 1. ``weighted``:
    they may be far less, because rows came with weights of their own.
    """

    weights: Array | None = None
    starts: NDArray[np.intp] | None = None
    rows_per_person: int | None = None
    weighted: bool = False

    @classmethod
    def of(cls, people: People | None, weights: Array | None) -> Shares:
        """Of people, each row's share times its weight; weights are in the order of the people's rows."""
        if people is None:
            return cls(weights, weighted=weights is not None)
        shares = people.shares if weights is None else people.shares * weights
        return cls(shares, people.starts, people.most, weights is not None)

    @classmethod
    def joined(cls, parts: Sequence[Shares]) -> Shares:
        """Those of rows that follow one another in parts, of which there is one at least; no person is in two."""
        first = parts[0]
        weights, starts = None, None
        if first.weights is not None:
            sizes = [len(part.weights) for part in parts if part.weights is not None]
            weights = np.concatenate([part.weights for part in parts if part.weights is not None])
            if first.starts is not None:
                before = np.cumsum([0, *sizes[:-1]])
                starts = np.concatenate(
                    [p.starts + b for p, b in zip(parts, before, strict=True) if p.starts is not None]
                )
        return replace(first, weights=weights, starts=starts)

    def check_for(self, rows: int) -> None:
        """Raise unless these are shares of so many rows."""
        weights, starts = self.weights, self.starts
        sound = weights is None or (
            weights.shape == (rows,) and weights.min(initial=1.0) >= 0 and weights.max(initial=0.0) <= 1
        )
        if sound and starts is not None:
            sizes = np.diff(starts, prepend=0, append=rows)
            sound = weights is not None and sizes.min() >= 0 and (sizes[1:] > 0).all() and sizes[0] == 0
            sound = sound and sizes.max() <= (self.rows_per_person or 0)
            if sound and weights is not None and len(starts):  # sums of up to 2**12 rounded weights
                sound = float(np.add.reduceat(weights, starts).max()) <= 1 + 2.0**-40
        check(sound, "Expected weights from 0 to 1 that add up to at most 1 for each person.")

    @property
    def most(self) -> int:
        """The most rows of one record."""
        return self.rows_per_person or 1

    def weigh(self, parts: Parts) -> Parts:
        """Parts of rows, one per row or a line of numbers each, times their weights."""
        if self.weights is None:
            return parts
        return parts * (self.weights if parts.ndim == 1 else self.weights[:, None])  # type: ignore[return-value]

    def part(self, rows: slice) -> Shares:
        """Those of consecutive rows, which part no person."""
        if self.weights is None:
            return self
        starts = self.starts
        if starts is not None:
            first, last = np.searchsorted(starts, [rows.start, rows.stop])
            starts = starts[first:last] - rows.start
        return replace(self, weights=self.weights[rows], starts=starts)

    def slices(self, rows: int, step: int) -> Iterator[slice]:
        """Blocks of about ``step`` rows, none of which parts a person."""
        start = 0
        while start < rows:
            stop = min(start + step, rows)
            if self.starts is not None and stop < rows:
                place = int(np.searchsorted(self.starts, stop))
                stop = int(self.starts[place]) if place < len(self.starts) else rows
            yield slice(start, stop)
            start = stop

    def take(self, positions: NDArray[np.intp], rows: int) -> tuple[NDArray[np.intp], Shares]:
        """The rows of the records at these positions, and their shares."""
        if self.starts is None:
            return positions, replace(self, weights=None if self.weights is None else self.weights[positions])
        sizes = np.diff(self.starts, append=rows)[positions]
        ends = np.cumsum(sizes)
        picked = np.arange(ends[-1] if len(ends) else 0) + np.repeat(self.starts[positions] - (ends - sizes), sizes)
        weights = None if self.weights is None else self.weights[picked]
        return picked, replace(self, weights=weights, starts=(ends - sizes).astype(np.intp))
