"""Rounding to the private side: an upper bound stays one after a few operations in double precision.

A sum, product or quotient is right to ``U`` relative, and the mathematical library's exponentials and logarithms to
4 U. ``SMALL`` covers eight of the latter.
"""

from __future__ import annotations

U = 2.0**-53
"""The unit roundoff of double precision."""
SMALL = 32 * U
"""What a short formula may lose, relative to its value."""


def up(value: float) -> float:
    """A number at least as large as what a short formula for it, with positive parts, should have given."""
    return value * (1 + SMALL)


def below(epsilon: float, part: float) -> float:
    """``epsilon - part``, rounded down: where mu is tiny, a price feels the last digit of epsilon."""
    return epsilon - part - SMALL * (abs(epsilon) + abs(part))
