"""Exact sums of perturbed contributions: whole numbers, so that the order of adding never shows.

A contribution is a pair of integer vectors (grid steps). The sums of ``q q^T`` and of ``p`` are kept as Python
integers, which do not overflow: d (d + 3)/2 numbers, whatever the count. Merging two halves gives the very same sums
as adding all at once.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.types import Array

Whole = NDArray[np.int64]
_LOW_BITS = 17
LARGEST = 2**40
"""Entries beyond it are not made by any protocol, and are refused before they get here."""


def gram(rows: Whole) -> NDArray[Any]:
    """``rows^T rows`` as exact Python integers.

    Each entry is split as ``high 2**17 + low``; products of the parts are sums of fewer than 2**53, so three
    floating-point matrix products a block are exact.
    """
    size = rows.shape[1]
    total = np.zeros((size, size), dtype=object)
    top = int(np.abs(rows).max(initial=0)) >> _LOW_BITS
    step = max(1, min(2**15, 2**52 // max(top + 1, 2**_LOW_BITS) ** 2))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        high = (block >> _LOW_BITS).astype(np.float64)
        low = (block & (2**_LOW_BITS - 1)).astype(np.float64)
        cross = high.T @ low
        for product, shift in (
            (high.T @ high, 2 * _LOW_BITS),
            (cross, _LOW_BITS),
            (cross.T, _LOW_BITS),
            (low.T @ low, 0),
        ):
            total += product.astype(np.int64).astype(object) * (1 << shift)
    return total


@dataclass(frozen=True)
class Sums:
    """The count, the second moments of q and the sum of p, in grid steps. Frozen: adding gives a new value."""

    count: int
    second: NDArray[Any] = field(repr=False)
    cross: NDArray[Any] = field(repr=False)

    @classmethod
    def empty(cls, features: int) -> Sums:
        """No contributions."""
        return cls(0, np.zeros((features, features), dtype=object), np.zeros(features, dtype=object))

    @classmethod
    def of(cls, q: Whole, p: Whole) -> Sums:
        """The sums of a block of contributions."""
        check(int(np.abs(q).max(initial=0)) <= LARGEST, "Expected rows of at most 2**40 grid steps.")
        cross, step = np.zeros(p.shape[1], dtype=object), max(1, 2**62 // (int(np.abs(p).max(initial=0)) + 1))
        for start in range(0, len(p), step):
            cross = cross + p[start : start + step].sum(axis=0).astype(object)
        return cls(len(q), gram(q), cross)

    def plus(self, other: Sums) -> Sums:
        """The sums of both."""
        return Sums(self.count + other.count, self.second + other.second, self.cross + other.cross)

    def to_lists(self) -> list[Any]:
        """Plain data: integers of any size, as JSON has them."""
        return [self.count, [[int(v) for v in row] for row in self.second], [int(v) for v in self.cross]]

    @classmethod
    def from_lists(cls, data: list[Any]) -> Sums:
        """Read what :meth:`to_lists` wrote."""
        count, second, cross = data
        return cls(int(count), np.array(second, dtype=object), np.array(cross, dtype=object))

    def moments(self, row_step: float, cross_step: float) -> tuple[Array, Array]:
        """The second moments and the cross sum as numbers; steps are powers of two, so only one rounding is made."""
        second = np.array([[float(v) for v in row] for row in self.second], dtype=np.float64)
        return second * row_step**2, np.array([float(v) for v in self.cross], dtype=np.float64) * cross_step
