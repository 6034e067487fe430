r"""Sums that do not depend on how they were added: every term is a whole number of steps, and every sum is exact.

A product of two matrices in double precision is exact, whatever the order in which a library adds up its terms, with
or without fused multiplications, if all terms are whole multiples of one step and sums of their sizes are at most
2**53 steps. Rows have 24 digits (:mod:`tacit.data.rows`). So

* scores: weights are split into pieces, each on a grid of its own on which the norm of a column has 28 digits:
  :math:`\sum_j |x_j w_j| \le \|x\| \|w\| < 2^{53}` steps (Cauchy and Schwarz). The pieces' products are then added, one
  rounding each: a score depends on its row and the weights alone;
* sums of rows times slopes, over blocks of at most m rows: slopes are split into pieces of ``29 - log2 m`` digits;
* sums of outer products: rows are rounded to ``(53 - log2 m)/2`` digits, in one or two pieces.

What a block gives is exact, and is added to what others gave without rounding (:class:`Whole`). So a sum over records
has the same bits for any size and order of blocks, on any number of machines. What is left of rounding is that of one
record's own part, and that of writing the sum as doubles.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import numpy as np
from scipy import sparse

from tacit.data.canonical import thin
from tacit.data.rows import BITS, on_grid
from tacit.types import Array

DIGITS = 53
WEIGHT_DIGITS = 28
_HALF = 2.0**26
NARROW, CHUNK = 64, 1 << 16
"""Up to so many columns outer products are made of so many numbers at a time."""
_LEAST = -600
"""Binary exponent below which weights and slopes are nothing: far above where doubles lose digits."""
_TINY = math.ldexp(1.0, _LEAST)


@dataclass(frozen=True, eq=False)
class Whole:
    """A sum in whole steps, ``(high * 2**26 + low) * steps``, exact up to 2**79 of them; a step a first index."""

    high: Array = field(repr=False)
    low: Array = field(repr=False)
    steps: tuple[float, ...]

    @classmethod
    def of(cls, sums: Array, steps: Sequence[float]) -> Whole:
        """Of exact sums of at most 2**53 steps; the first axis is that of the steps."""
        low = sums / _shaped(steps, sums)
        high = low * (1 / _HALF)
        np.floor(high, out=high)
        low -= high * _HALF
        return cls(high, low, tuple(steps))

    def plus(self, other: Whole) -> Whole:
        """The sum of both, exact; what is above 2**26 in the low part is carried."""
        low = self.low + other.low
        carried = np.floor(low / _HALF)
        return Whole(self.high + other.high + carried, low - carried * _HALF, self.steps)

    def copy(self) -> Whole:
        """The same sum, to be added to."""
        return Whole(self.high.copy(), self.low.copy(), self.steps)

    def add(self, other: Whole) -> None:
        """Add another to this one, in place; :meth:`carry` it before 2**26 were added."""
        np.add(self.high, other.high, out=self.high)
        np.add(self.low, other.low, out=self.low)

    def carry(self) -> None:
        """Carry what is above 2**26 in the low part, in place."""
        carried = np.floor(self.low / _HALF)
        np.add(self.high, carried, out=self.high)
        np.subtract(self.low, carried * _HALF, out=self.low)

    def negative(self) -> Whole:
        """Its negative."""
        return Whole(-self.high, -self.low, self.steps)

    def value(self) -> Array:
        """The sum in double precision, without the first axis: the steps' sums, each rounded once, in one order."""
        shape = _shaped(self.steps, self.high)
        parts = self.high * (_HALF * shape) + self.low * shape
        total = parts[-1]
        for part in parts[-2::-1]:
            total = total + part
        return np.asarray(total)


def _shaped(steps: Sequence[float], like: Array) -> Array:
    return np.asarray(steps, dtype=np.float64).reshape(-1, *[1] * (like.ndim - 1))


def power(size: float) -> float:
    """The least power of two that is at least ``size``; of sizes that are next to nothing, one that is small."""
    mantissa, exponent = math.frexp(size)
    return math.ldexp(1.0, max(exponent - (1 if mantissa == 0.5 else 0), _LEAST))


def _powers(sizes: Array) -> Array:
    """:func:`power` of many."""
    mantissas, exponents = np.frexp(sizes)
    return np.asarray(np.ldexp(1.0, np.maximum(exponents - (mantissas == 0.5), _LEAST)))


@cache
def digits_of(rows: int) -> int:
    """log2 of the most rows in a block, rounded up."""
    return max(0, math.ceil(math.log2(max(1, rows))))


@dataclass(frozen=True, eq=False)
class Pieces:
    """Columns of weights as pieces on grids, side by side: made once a pass, used by every block."""

    columns: Array = field(repr=False)
    count: int

    @classmethod
    def of(cls, weights: Array, count: int = 2) -> Pieces:
        """``count`` pieces of 28 digits each."""
        left, parts, root = weights, [], max(0.5 * math.sqrt(len(weights)), 1.0)
        tops = np.maximum.reduce(np.abs(weights), axis=0, initial=_TINY)  # squares neither overflow nor vanish
        sizes = tops * np.sqrt(np.add.reduce(np.square(weights / tops), axis=0))
        for place in range(count):
            steps = _powers(sizes) * 2.0 ** (1 - WEIGHT_DIGITS)
            piece = np.rint(left / steps) * steps
            parts.append(piece)
            if place + 1 < count:
                left, sizes = left - piece, root * steps
        return cls(parts[0] if count == 1 else np.hstack(parts), count)

    def scores(self, rows: Any) -> Array:
        """Rows times weights: each row's to the last bit whatever the other rows are."""
        # What is made of rows that lie column after column lies so too.
        upright = not thin(rows) and rows.strides[0] < rows.strides[1]
        lines = self.columns.T @ rows.T if upright else (rows @ self.columns).T
        parts = lines.reshape(self.count, len(lines) // self.count, rows.shape[0])
        total = parts[-1] + parts[-2] if self.count > 1 else parts[0]
        for place in range(self.count - 3, -1, -1):
            total += parts[place]
        return np.asarray(total.T)


def split(
    values: Array, largest: float, digits: int, count: int, *, spare: bool = False
) -> tuple[list[Array], tuple[float, ...]]:
    """Values of size at most ``largest`` as ``count`` pieces of so many digits; and their steps.

    The first piece has at most ``2**digits`` steps, the others half as many: they are what rounding left. Values that
    are ``spare`` may be overwritten.
    """
    top = power(largest)
    steps = tuple(top * 2.0 ** (-digits * (place + 1)) for place in range(count))
    parts, left = [on_grid(values, steps[0], values if spare and count == 1 else np.empty_like(values))], values
    for step in steps[1:]:
        left = left - parts[-1]
        parts.append(on_grid(left, step, np.empty_like(left)))
    return parts, steps


def gathered(rows: Any, slopes: Array, grid: float, largest: float, most: int, count: int, turned: Any = None) -> Whole:
    """The sum of rows times slopes; rows on a grid of this step, of a block of at most ``most`` rows.

    ``turned`` is the transpose of sparse rows, if there is one already.
    """
    # Pieces lie in lines of their own: wide and narrow blocks are read along their rows, and rounding is fast.
    parts, steps = split(np.ascontiguousarray(slopes.T), largest, DIGITS - BITS - digits_of(most), count)
    lines = np.concatenate(parts)
    sums = ((rows.T if turned is None else turned) @ lines.T).T if thin(rows) else lines @ rows
    shaped = sums.reshape(count, slopes.shape[1], rows.shape[1]).swapaxes(1, 2)
    return Whole.of(shaped, [grid * step for step in steps])


def added_digits(most: int, digits: int = 36) -> int:
    """Binary digits of numbers of which a block of at most ``most`` is added up."""
    return min(digits, DIGITS - digits_of(most))


def added(values: Array, largest: float, most: int, digits: int = 36) -> Whole:
    """The sum over the first axis of numbers of size at most ``largest``, each rounded to so many digits."""
    parts, steps = split(values, largest, added_digits(most, digits), 1)
    return Whole.of(parts[0].sum(axis=0)[None], steps)


def outer_sum(rows: Any, largest: float, most: int, count: int = 1, roots: Array | None = None) -> Whole:
    """``sum_i v_i v_i^T`` of a block of at most ``most`` rows v, with entries of at most ``largest``.

    ``v_i`` is a row, or ``roots_i`` times it. In two pieces v = h + l it is ``h h^T + (h l^T + l h^T) + l l^T``.
    """
    digits, (length, features) = (DIGITS - digits_of(most)) // 2, rows.shape
    # Narrow rows are taken a few at a time: what is made of them stays in cache, and its memory is used again.
    size = length if thin(rows) or features > NARROW else CHUNK // max(1, features)
    sums, steps = _outer(rows[:size], largest, digits, count, None if roots is None else roots[:size])
    for start in range(size, length, max(1, size)):
        some = slice(start, start + size)
        sums += _outer(rows[some], largest, digits, count, None if roots is None else roots[some])[0]
    if count == 1:
        return Whole.of(sums, [steps[0] ** 2])
    sums[1] += sums[1].T.copy()
    return Whole.of(sums, [steps[0] ** 2, steps[0] * steps[1], steps[1] ** 2])


def _outer(rows: Any, largest: float, digits: int, count: int, roots: Array | None) -> tuple[Array, tuple[float, ...]]:
    """The products of pieces, each pair once; and the pieces' steps."""
    scattered = thin(rows)
    values = rows.data if scattered else rows
    if roots is not None:
        values = values * (np.repeat(roots, np.diff(rows.indptr)) if scattered else roots[:, None])
    parts, steps = split(values, largest, digits, count, spare=roots is not None)
    pieces: Any = parts
    if scattered:
        pieces = [sparse.csr_array((part, rows.indices, rows.indptr), shape=rows.shape) for part in parts]
    if count == 1:
        return _full(pieces[0].T @ pieces[0])[None], steps
    pairs = itertools.combinations_with_replacement(pieces, 2)
    return np.stack([_full(one.T @ other) for one, other in pairs]), steps


def _full(matrix: Any) -> Array:
    return np.asarray(matrix.toarray() if thin(matrix) else matrix)
