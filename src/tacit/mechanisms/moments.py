"""Exact sums of perturbed contributions: whole numbers, so that the order of adding never shows.

A contribution is a pair of integer vectors (grid steps). The sums of ``q q^T``, its upper triangle, and of ``p`` are
kept as one array of d (d + 3)/2 numbers, whatever the count; each is ``high 2**52 + low`` with 0 <= low < 2**52, so
numbers up to 2**113 are held, and it is checked that none is larger. Merging two halves gives the very same sums as
adding all at once.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.types import Array

Whole = NDArray[np.int64]
_LOW_BITS = 17
_LIMB = 52
"""Bits of the lower part: it is a double without rounding, and so is the upper part of all that is below 2**105."""
_MOST = 2**61
"""No upper part is larger, so that two of them can be added."""
LARGEST = 2**40
"""Entries beyond it are not made by any protocol, and are refused before they get here."""
_MARK = b"tacit-sums-1"


@functools.lru_cache(maxsize=4)
def _triangles(size: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Where the upper triangle of a square matrix is, row by row, in its entries in order; and its mirror image."""
    row, column = np.triu_indices(size)
    return row * size + column, column * size + row


def _shifted(values: Whole, bits: int) -> Whole:
    """``values 2**bits``, bits < 52, as an upper and a lower part."""
    kept = _LIMB - bits
    return np.stack([values >> kept, (values & ((1 << kept) - 1)) << bits])


def _carried(parts: Whole) -> Whole:
    """The same numbers, with what is too much for the lower part in the upper."""
    parts[0] += parts[1] >> _LIMB
    parts[1] &= (1 << _LIMB) - 1
    return parts


def _second(rows: Whole) -> Whole:
    """The upper triangle of ``rows^T rows``.

    Each entry is split as ``high 2**17 + low``; products of the parts are sums of fewer than 2**53, so three
    floating-point matrix products a block are exact.
    """
    places = _triangles(rows.shape[1])[0]
    total = np.zeros((2, len(places)), dtype=np.int64)
    top = int(np.abs(rows).max(initial=0)) >> _LOW_BITS
    step = max(1, min(2**15, 2**52 // max(top + 1, 2**_LOW_BITS) ** 2))
    for start in range(0, len(rows), step):
        block = rows[start : start + step]
        high = (block >> _LOW_BITS).astype(np.float64)
        low = (block & (2**_LOW_BITS - 1)).astype(np.float64)
        mixed = high.T @ low
        for product, bits in ((high.T @ high, 2 * _LOW_BITS), (mixed + mixed.T, _LOW_BITS), (low.T @ low, 0)):
            total += _shifted(product.ravel().take(places).astype(np.int64), bits)
        total = _carried(total)
    return total


def _first(rows: Whole) -> Whole:
    """The sum of the rows."""
    total, step = np.zeros((2, rows.shape[1]), dtype=np.int64), max(1, 2**62 // (int(np.abs(rows).max(initial=0)) + 1))
    for start in range(0, len(rows), step):
        total = _carried(total + _shifted(rows[start : start + step].sum(axis=0), 0))
    return total


@dataclass(frozen=True)
class Sums:
    """The count, the second moments of q and the sum of p, in grid steps. Frozen: adding gives a new value."""

    count: int
    features: int
    parts: Whole = field(repr=False)

    def __post_init__(self) -> None:
        size = self.features * (self.features + 3) // 2
        check(self.parts.shape == (2, size), "Expected sums of d (d + 3)/2 numbers in two parts.")
        high, low = self.parts
        sound = high.min(initial=0) > -_MOST and high.max(initial=0) < _MOST
        sound = sound and low.min(initial=0) >= 0 and low.max(initial=0) < 1 << _LIMB
        check(bool(sound), "Expected sums of numbers below 2**113.")

    @classmethod
    def empty(cls, features: int) -> Sums:
        """No contributions."""
        return cls(0, features, np.zeros((2, features * (features + 3) // 2), dtype=np.int64))

    @classmethod
    def of(cls, q: Whole, p: Whole) -> Sums:
        """The sums of a block of contributions."""
        check(int(np.abs(q).max(initial=0)) <= LARGEST, "Expected rows of at most 2**40 grid steps.")
        return cls(len(q), q.shape[1], np.concatenate([_second(q), _first(p)], axis=1))

    @classmethod
    def exactly(cls, count: int, second: NDArray[Any], cross: NDArray[Any]) -> Sums:
        """The sums with these integers of any size, a symmetric matrix and a vector."""
        size = len(cross)
        numbers = np.concatenate([second.ravel()[_triangles(size)[0]], cross]).astype(object)
        check(all(abs(int(v)) < _MOST << _LIMB for v in numbers), "Expected sums of numbers below 2**113.")
        parts = [[int(v) >> _LIMB for v in numbers], [int(v) & ((1 << _LIMB) - 1) for v in numbers]]
        return cls(int(count), size, np.array(parts, dtype=np.int64).reshape(2, -1))

    def plus(self, other: Sums) -> Sums:
        """The sums of both."""
        return Sums(self.count + other.count, self.features, _carried(self.parts + other.parts))

    def minus(self, other: Sums) -> Sums:
        """The sums without those of ``other``, which are among them: what they would be had it never been added."""
        return Sums(self.count - other.count, self.features, _carried(self.parts - other.parts))

    def topped(self, noise: Whole) -> Sums:
        """The sums with whole numbers added to those of p."""
        more = np.zeros_like(self.parts)
        more[:, -self.features :] = _shifted(noise, 0)
        return Sums(self.count, self.features, _carried(self.parts + more))

    def _square(self, triangle: NDArray[Any]) -> NDArray[Any]:
        """The symmetric matrix of an upper triangle."""
        full = np.empty(self.features**2, dtype=triangle.dtype)
        for places in _triangles(self.features):
            full[places] = triangle
        return full.reshape(self.features, self.features)

    @functools.cached_property
    def _integers(self) -> NDArray[Any]:
        high, low = self.parts.astype(object)
        return np.asarray(high * (1 << _LIMB) + low)

    @functools.cached_property
    def second(self) -> NDArray[Any]:
        """The second moments of q as Python integers."""
        return self._square(self._integers[: -self.features])

    @property
    def cross(self) -> NDArray[Any]:
        """The sum of p as Python integers."""
        return self._integers[-self.features :]

    def to_lists(self) -> list[Any]:
        """Plain data: integers of any size, as JSON has them."""
        return [self.count, self.second.tolist(), self.cross.tolist()]

    @classmethod
    def from_lists(cls, data: list[Any]) -> Sums:
        """Read what :meth:`to_lists` wrote."""
        count, second, cross = data
        return cls.exactly(count, np.array(second, dtype=object), np.array(cross, dtype=object))

    def to_bytes(self) -> bytes:
        """The numbers as they are kept, for files."""
        return _MARK + np.array([self.count, self.features], dtype="<i8").tobytes() + self.parts.astype("<i8").tobytes()

    @classmethod
    def from_bytes(cls, data: bytes) -> Sums:
        """Read what :meth:`to_bytes` wrote."""
        body = data.removeprefix(_MARK)
        check(len(body) < len(data) and len(body) % 16 == 0 and len(body) > 0, "These are not sums of submissions.")
        numbers = np.frombuffer(body, dtype="<i8").astype(np.int64)
        return cls(int(numbers[0]), int(numbers[1]), numbers[2:].reshape(2, -1))

    def moments(self, row_step: float, cross_step: float) -> tuple[Array, Array]:
        """The second moments and the cross sum as numbers; steps are powers of two, so only one rounding is made."""
        numbers = self.parts[0] * 2.0**_LIMB + self.parts[1]
        second = self._square(numbers[: -self.features])
        return second * row_step**2, numbers[-self.features :] * cross_step
