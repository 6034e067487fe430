"""Numbers on a known side: sums rounded up or down, and borders between two doubles that were both tried.

A sum, product or quotient is right to ``U`` relative, and the mathematical library's exponentials and logarithms to
4 U. ``SMALL`` covers eight of the latter.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction

U = 2.0**-53
"""The unit roundoff of double precision."""
SMALL = 32 * U
"""What a short formula may lose, relative to its value."""
_FARTHEST = 2.0**1023
_ENOUGH = 2200
"""Halvings after which no two doubles have another between them: the widest bracket is 2**1025, the least ulp
2**-1074."""


def up(value: float) -> float:
    """A number at least as large as what a short formula for it, with positive parts, should have given."""
    return value * (1 + SMALL)


def sum_up(numbers: Iterable[float]) -> float:
    """The sum of numbers >= 0, rounded up where it is not a double."""
    found = list(numbers)
    if math.inf in found:
        return math.inf
    exact = sum(map(Fraction, found), Fraction(0))
    total = float(exact)
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)


def below(epsilon: float, part: float) -> float:
    """``epsilon - part``, rounded down: where mu is tiny, a price feels the last digit of epsilon."""
    return epsilon - part - SMALL * (abs(epsilon) + abs(part))


def halfway(low: float, high: float) -> float:
    """The mean of two numbers: strictly between them whenever a double is, and never an overflow.

    Halves are exact but for the smallest doubles. Those are multiples of one ulp, and a half that lies in the middle of
    two of them goes to the even one, so the sum is off by less than the distance to either end.
    """
    return 0.5 * low + 0.5 * high


def geometric(low: float, high: float) -> float:
    """The geometric mean of two positive numbers: halves a ratio, where :func:`halfway` halves a difference.

    Edges: the product must be a double, so numbers lie between 1e-150 and 1e150.
    """
    return math.sqrt(low * high)


def narrow(
    holds: Callable[[float], bool],
    low: float,
    high: float,
    *,
    relative: float = 0.0,
    halvings: int = _ENOUGH,
    middle: Callable[[float, float], float] = halfway,
) -> tuple[float, float]:
    """Bisect: two numbers, the one at which ``holds`` was seen to be true and the one at which it was seen to be false.

    ``holds`` is true at ``low`` and false at ``high``, by what the caller knows. In each round a number strictly
    between them is tried and takes the place of the end that has the same answer. So at every time, and whatever the
    predicate does in between,

    * the first number returned is ``low`` or one that holds, the second is ``high`` or one that does not: the caller
      takes the one on the private side, and needs no tolerance;
    * if the predicate is monotone, its border lies between the two.

    It ends when they are within ``relative`` of the second, when no number is left between them (with ``relative=0``
    and the mean they are neighbouring doubles), or after so many ``halvings``, for predicates that are dear.

    Edges: a ``high`` of infinity is returned as it is. A predicate must itself take the safe side for NaN.
    """
    for _ in range(halvings):
        tried = middle(low, high)
        if high - low <= relative * abs(high) or not low < tried < high:
            break
        low, high = (tried, high) if holds(tried) else (low, tried)
    return low, high


def border(
    holds: Callable[[float], bool], *, most: float = _FARTHEST, relative: float = 0.0, halvings: int = _ENOUGH
) -> tuple[float, float]:
    """:func:`narrow` without a bracket, for a predicate that holds from 0 on up to somewhere.

    1, 2, 4, ... are tried until one does not hold.

    Edges: (0, 0) if 0 does not hold; (a number that holds, infinity) if even ``most`` holds, or the first power of two
    after it.
    """
    if not holds(0.0):
        return 0.0, 0.0
    low, high = 0.0, 1.0
    while holds(high):
        if high >= most:
            return high, math.inf
        low, high = high, 2 * high
    return narrow(holds, low, high, relative=relative, halvings=halvings)
