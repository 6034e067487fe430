r"""Exact normal draws: intervals so narrow that they nearly always decide, and more random digits where they do not.

A draw is an interval ``[k, k + 1) 2**-54`` that holds an ideal standard normal number z, of which nothing else is
decided yet: its further digits are uniform, and are drawn when they are needed. So ``[r z]``, the whole number nearest
to r z, comes out *exactly* as if an ideal z had been rounded, for any r, and no tail ends.

How an interval is drawn: a uniform point (x, y) under the curve ``A exp(-x^2/2)`` has a normal x. Between -6 and 6 the
curve is covered by boxes of equal area, 2**-5 wide and 1 high: columns of ``ceil(A exp(-x^2/2))`` boxes, x being the
edge of the column that is nearer to 0. A table of 2**15 equally likely entries has one entry for each box. The first 15
bits of a word choose the entry, the other 49 are digits of x. A point of a box that lies wholly under the curve is
taken; in the others, about 4%, a second word is y, and points above the curve are drawn again. Two entries stand for
the tails: there the column ``[6 + j/2, 6 + (j+1)/2)`` comes with probability 2**-(j+1) and has the height
``2**-(j+5)``, which makes its area ``2**-5 2**-(j+1)``: uniform too. It is above the curve, because it is for j = 0 and
halves with each j, while the curve falls by more than e^3. Entries that are left over are drawn again.

Whether a point is under the curve is decided in double precision where the distance is larger than any rounding error,
and else with as many digits as it takes (:func:`_under`). The proof is on the docs' page "Noise".
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Context, Decimal
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.privacy.sources import Source
from tacit.types import Array

BITS = 54
"""Binary digits of z after the point in a draw's interval."""
_PLACE_BITS = 49
"""Digits of x in a word; the other 15 choose the entry."""
_COLUMNS = 6 * 32
"""Columns of boxes on each side of 0, up to the tail."""
_TAIL = 6
_CHUNK, _TOGETHER = 1 << 14, 1 << 17
_CLEAR = 2.0**-30
"""Distance from the curve, in boxes, that double precision cannot mistake: G < 2**9 is computed with a relative error
below 2**-45 (x within 2**-50, the exponential within 2**-48), and y to 2**-43."""
_HIGHEST = 1 << 52
"""y in a tail's column, in 64 binary digits: from 2**-12 of the column's height on it is above the curve, which begins
at ``400 2**5 e**-18 = 1.95e-4`` of the first column's height, and at less of every other's."""
MOST_RATIO = 2.0**52
"""Largest r that is taken: r z fits into 64 bits up to 2,000 deviations. From 2**46 on every draw needs more digits."""

FACTOR = 400
"""A, the height of the curve at 0 in boxes: the largest whole number whose boxes, and two tails, fit into the table."""

Whole = NDArray[np.int64]


def _heights(factor: int) -> list[int]:
    """Boxes in the columns from 0 outwards, for A = ``factor``; 1e-9 more pays for the rounding of the exponential."""
    return [math.ceil(factor * math.exp(-0.5 * (i / 32) ** 2) * (1 + 1e-9)) for i in range(_COLUMNS)]


@dataclass(frozen=True)
class _Table:
    """Entry -> column and level of its box: first the boxes under the curve, then those that it crosses, then tails."""

    columns: Whole
    levels: Array
    quick: int
    boxes: int

    @classmethod
    def build(cls) -> _Table:
        heights = np.array(_heights(FACTOR))
        ends = [FACTOR * math.exp(-0.5 * ((i + 1) / 32) ** 2) for i in range(_COLUMNS)]
        safe = np.minimum([math.floor(end * (1 - 1e-9)) for end in ends], heights)
        under, crossed = _boxes(np.zeros_like(safe), safe), _boxes(safe, heights)
        columns, levels = np.concatenate([under, crossed], axis=1)
        return cls(columns << _PLACE_BITS, levels.astype(np.float64), under.shape[1], len(columns))


def _boxes(low: Whole, high: Whole) -> Whole:
    """Column and level of the boxes from ``low`` to ``high`` of every column, each followed by its mirror image."""
    counts = high - low
    columns = np.repeat(np.arange(_COLUMNS), counts)
    levels = np.arange(len(columns)) - np.repeat(np.cumsum(counts) - counts - low, counts)
    return np.stack([np.stack([columns, -1 - columns], axis=1).ravel(), np.repeat(levels, 2)])


_TABLE = _Table.build()
_SHIFT, _PLACE = np.uint64(_PLACE_BITS), np.uint64((1 << _PLACE_BITS) - 1)
_QUICK = np.uint64(_TABLE.quick << _PLACE_BITS)
_BOXES = np.uint64(_TABLE.boxes << _PLACE_BITS)
_TAILS = np.uint64((_TABLE.boxes + 2) << _PLACE_BITS)


@dataclass
class _Interval:
    """``[place, place + 1) / 2**bits``: a draw with any number of digits."""

    place: int
    bits: int

    def refine(self, source: Source) -> None:
        """64 more digits."""
        self.place, self.bits = (self.place << 64) | int(source.words(1)[0]), self.bits + 64


@dataclass(frozen=True)
class Draws:
    """Independent draws: ``places`` are intervals of :data:`BITS` digits, but those in ``finer`` have more, or are
    tails."""

    places: Whole
    finer: dict[int, _Interval]

    def interval(self, index: int) -> _Interval:
        """One draw, to be refined; what is refined stays so."""
        if index not in self.finer:
            self.finer[index] = _Interval(int(self.places[index]), BITS)
        return self.finer[index]

    def numbers(self) -> Array:
        """The middles of the intervals: within ``2**-52 max(1, |z|)`` of the ideal draws z, and symmetric about 0."""
        sign = self.places >> 63  # 0, or -1: [-k-1, -k) mirrors [k, k+1), and rounds as it does
        numbers = ((self.places ^ sign) + 0.5) * (2.0**-BITS * (1.0 + 2.0 * sign))
        for index, one in self.finer.items():
            numbers[index] = float(Fraction(2 * one.place + 1, 2 << one.bits))
        return np.asarray(numbers, dtype=np.float64)


def draw(source: Source, count: int) -> Draws:
    """``count`` independent standard normal draws."""
    places, late = np.empty(count, dtype=np.int64), []
    for start in range(0, count, _CHUNK):  # chunks that stay in cache
        part = places[start : start + _CHUNK]
        words = source.words(len(part))
        _places(words, part)
        slow = np.flatnonzero(words >= _QUICK)
        late.append((slow + start, words[slow]))
    draws = Draws(places, {})
    if late:
        _decide(source, draws, *(np.concatenate(parts) for parts in zip(*late, strict=True)))
    return draws


def _decide(source: Source, draws: Draws, at: NDArray[np.intp], words: NDArray[np.uint64]) -> None:
    """The draws at these positions, whose words chose a box that is not wholly under the curve, or none."""
    while len(at):
        crossed = np.flatnonzero(words < _BOXES)
        again = np.ones(len(at), dtype=np.bool_)
        again[crossed] = _above(source, draws, at[crossed], words[crossed])
        for i in np.flatnonzero((words >= _BOXES) & (words < _TAILS)):
            tail = _tail(source, upper=bool(words[i] >> _SHIFT == _TABLE.boxes))
            if tail is not None:
                draws.finer[int(at[i])], again[i] = tail, False
        at = at[again]
        words = source.words(len(at))
        draws.places[at] = _places(words, np.empty(len(at), dtype=np.int64))
        slow = words >= _QUICK
        at, words = at[slow], words[slow]


def _places(words: NDArray[np.uint64], out: Whole) -> Whole:
    """The columns of the entries, followed by the 49 digits; entries that are no box get any place."""
    _TABLE.columns.take((words >> _SHIFT).view(np.int64), out=out, mode="clip")
    out += (words & _PLACE).view(np.int64)
    return out


def _above(source: Source, draws: Draws, at: NDArray[np.intp], words: NDArray[np.uint64]) -> NDArray[np.bool_]:
    """Which points of crossed boxes lie above the curve: a second word each is the digits of y in its box."""
    second, levels = source.words(len(at)), _TABLE.levels[(words >> _SHIFT).view(np.int64)]
    x = draws.places[at] * 2.0**-BITS
    distance = levels + second * 2.0**-64 - FACTOR * np.exp(-0.5 * x * x)
    above = np.asarray(distance > 0, dtype=np.bool_)
    for i in np.flatnonzero(np.abs(distance) <= _CLEAR):  # one in 2**29 of these: decide with more digits
        one = _Interval(int(draws.places[at[i]]), BITS)
        y = _Interval((int(levels[i]) << 64) | int(second[i]), 64)
        above[i] = not _under(source, one, FACTOR, y)
        if not above[i]:
            draws.finer[int(at[i])] = one
    return above


def _tail(source: Source, *, upper: bool) -> _Interval | None:
    """A point of the tail's columns: its interval if it is under the curve, else None."""
    column = 0
    while True:  # how many coins in a row come up heads
        word = int(source.words(1)[0])
        heads = (~word & -~word).bit_length() - 1
        column += heads
        if heads < 64:
            break
    place = int(source.words(1)[0]) >> (65 - BITS)  # half a unit is 2**53 places
    place += (_TAIL << BITS) + (column << (BITS - 1))
    one = _Interval(place if upper else -1 - place, BITS)
    y = _Interval(int(source.words(1)[0]), 64)
    if y.place >= _HIGHEST:  # clearly above the curve
        return None
    return one if _under(source, one, FACTOR << (column + 5), y) else None


def _under(source: Source, x: _Interval, height: int, y: _Interval) -> bool:
    """Whether y < height exp(-x^2/2), with as many digits of x, y and the exponential as that takes."""
    while True:
        digits = 40 + (x.bits + y.bits) // 2
        work = Context(prec=digits)
        ends = _ends(x)
        low, high = (
            work.multiply(
                Decimal(height),
                work.exp(work.divide(Decimal(-(end**2)), Decimal(1 << (2 * x.bits + 1)))),
            )
            for end in (ends[1], ends[0])
        )
        # Few correctly rounded operations, and x^2/2 of at most seven digits: 10**(10 - digits) relative is plenty. All
        # of them are of this context: the one that happens to be set may have fewer digits.
        error, scale = Decimal((0, (1,), 10 - digits)), Decimal(1 << y.bits)
        if Decimal(y.place + 1) <= work.multiply(scale, work.multiply(low, work.subtract(Decimal(1), error))):
            return True
        if Decimal(y.place) >= work.multiply(scale, work.multiply(high, work.add(Decimal(1), error))):
            return False
        x.refine(source)
        y.refine(source)


def whole(source: Source, count: int, ratio: float) -> Whole:
    """``[ratio z]`` for independent ideal standard normal z: whole numbers, exactly as an ideal draw would round.

    With t = ratio k 2**-54 in double precision, r z is within ``ratio 2**-54 + |t| 2**-51`` of t; where no border
    between whole numbers is that near, t decides, else more digits do (one draw in millions for the grids in use).
    """
    check(0 < ratio < MOST_RATIO, f"Expected 0 < ratio={ratio} < 2**52.")
    margin = 0.5 - math.ldexp(ratio, -BITS) - _TAIL * ratio * 2.0**-51
    out = np.empty(count, dtype=np.int64)
    for start in range(0, count, _TOGETHER):  # pieces that stay in cache
        part = out[start : start + _TOGETHER]
        draws = draw(source, len(part))
        exact = draws.places * math.ldexp(ratio, -BITS)
        rounded = np.rint(exact)
        part[:] = rounded
        np.abs(np.subtract(exact, rounded, out=exact), out=exact)
        for index in sorted({*np.flatnonzero(exact > margin).tolist(), *draws.finer}):  # words in the draws' order
            part[index] = _nearest(source, draws.interval(index), Fraction(ratio))
    return out


def _nearest(source: Source, one: _Interval, ratio: Fraction) -> int:
    """The whole number nearest to ratio z, with as many digits of z as that takes."""
    while True:
        low = math.floor(ratio * Fraction(one.place, 1 << one.bits) + Fraction(1, 2))
        high = math.ceil(ratio * Fraction(one.place + 1, 1 << one.bits) + Fraction(1, 2)) - 1
        if low == high:
            return low
        one.refine(source)


def sphere_numbers(source: Source, size: int) -> Array:
    r"""A vector b of ``size`` coordinates with density proportional to ``exp(-||b||)``, in double precision.

    ``b = ||y|| z`` with independent standard normal y and z of ``size + 1`` and ``size`` coordinates: ||b|| is the
    product of a chi(p + 1) and a chi(p) variable, whose moments are

    .. math:: E\|b\|^s = 2^s \frac{\Gamma(\frac{p+s}2)\Gamma(\frac{p+1+s}2)}{\Gamma(\frac p2)\Gamma(\frac{p+1}2)}
       = \frac{\Gamma(p + s)}{\Gamma(p)}

    by Legendre's duplication formula: those of a Gamma(p, 1) variable, and the direction is uniform.
    """
    both = draw(source, 2 * size + 1).numbers()
    return np.asarray(both[:size] * _norm(both[size:]), dtype=np.float64)


def _norm(numbers: Array) -> float:
    """The Euclidean norm, its squares added without rounding: its error does not grow with their number."""
    return math.sqrt(math.fsum(numbers * numbers))


def sphere_whole(source: Source, size: int, ratio: float) -> Whole:
    """``[ratio b]``, coordinate by coordinate, for an ideal b of :func:`sphere_numbers`: exactly as it would round.

    In double precision each y_i is within ``2**-52 max(1, |y_i|)``, so with ``m = sum max(|y_i|, y_i^2)`` the square
    ||y||^2 is within ``2**-50 m``, and t = ratio ||y|| z within ``2**-50 |t| (1 + m/||y||^2) + 2**-52 ratio ||y||``.
    Where a border is that near, y and z get more digits.
    """
    check(0 < ratio < MOST_RATIO, f"Expected 0 < ratio={ratio} < 2**52.")
    draws = draw(source, 2 * size + 1)
    both = draws.numbers()
    sizes = np.abs(both[size:])
    norm = _norm(sizes)
    exact = both[:size] * (ratio * norm)
    rounded = np.rint(exact)
    relative = 2.0**-50 * (1 + float(np.maximum(sizes, sizes * sizes).sum()) / max(norm * norm, 1e-300))
    error = relative * np.abs(exact) + 2.0**-52 * ratio * norm
    unsure = np.flatnonzero(np.abs(exact - rounded) >= 0.5 - error)
    out = rounded.astype(np.int64)
    if len(unsure):
        lazy = _Norm([draws.interval(index) for index in range(size, 2 * size + 1)])
        for index in unsure:
            out[index] = _nearest_product(source, draws.interval(int(index)), lazy, Fraction(ratio))
    return out


class _Norm:
    """The squared norm of a vector of draws: a lower and an upper bound, nearer when all get more digits."""

    def __init__(self, parts: list[_Interval]) -> None:
        self.parts = parts
        self.squares = self._bounds()

    def refine(self, source: Source) -> None:
        """64 more digits each."""
        for part in self.parts:
            part.refine(source)
        self.squares = self._bounds()

    def _bounds(self) -> tuple[Fraction, Fraction]:
        ends = [(*_ends(part), 2 * part.bits) for part in self.parts]
        most = max(bits for *_, bits in ends)
        low, high = (sum(end[side] ** 2 << (most - end[2]) for end in ends) for side in (0, 1))
        return Fraction(low, 1 << most), Fraction(high, 1 << most)


def _ends(one: _Interval) -> tuple[int, int]:
    """The smallest and the largest size in an interval, in its own digits."""
    return min(abs(one.place), abs(one.place + 1)), max(abs(one.place), abs(one.place + 1))


def _nearest_product(source: Source, one: _Interval, norm: _Norm, ratio: Fraction) -> int:
    """The whole number nearest to ratio z ||y||, with as many digits of z and y as that takes.

    It has the sign of z, and size ``floor((sqrt(4 q) + 1) / 2)`` for q = (ratio z ||y||)^2, which whole numbers give.
    """
    while True:
        low, high = (
            (math.isqrt(math.floor((2 * ratio * Fraction(end, 1 << one.bits)) ** 2 * square)) + 1) // 2
            for end, square in zip(_ends(one), norm.squares, strict=True)
        )
        if low == high:
            return -low if one.place < 0 else low
        one.refine(source)
        norm.refine(source)
