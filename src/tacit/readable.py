"""Numbers as people write them: 12,340 and not 1.234e+04."""

from __future__ import annotations

import math

SMALLEST, LARGEST = 1e-4, 1e15
"""Sizes between these are written in full, others as powers of ten."""


def plain(number: float, digits: int = 3, *, sign: bool = False) -> str:
    """The number rounded to so many digits, with commas between thousands; ``sign``: a plus where it is positive."""
    plus = "+" if sign else ""
    rounded = float(f"{number:.{digits}g}")
    if not SMALLEST <= abs(rounded) < LARGEST:
        return f"{number:{plus}.{digits}g}"
    places = max(0, digits - 1 - math.floor(math.log10(abs(rounded))))
    text = f"{rounded:{plus},.{places}f}"
    return text.rstrip("0").rstrip(".") if places else text
