"""Where a number's range is cut when nobody says where: by its public bounds alone, and never by the records."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence

WIDE = 1000.0
"""Amounts that reach so far are likely to be skewed: most of them small, a few large."""
DIGITS = 3
"""Cut points are rounded to so many digits of their distance: they are read by people."""
Points = tuple[float, ...]
Side = Callable[[float, float, int, bool], Points]
"""(start, end, room, closed): at most ``room`` sizes between start and end, rising; ``closed`` counts start in."""


def cut_points(lower: float, upper: float, count: int, spacing: str) -> Points:
    """At most ``count`` - 1 points, rising, strictly between the bounds: they cut the range into ``count`` intervals.

    'even': lower + (upper - lower) i / count. 'log': sizes in geometric progression, on both sides of 0 where the
    bounds have both signs. 'round': of 1, 2 and 5 times powers of ten those within, every so-manieth where they are
    more. 'auto': even ones; where the range is wider than 1,000, half of them round.

    Edges: towards 0 the sizes of 'log' and 'round' end at min(1, size of the farther bound / 1000). The smallest is
    always among them, or 0 itself where it lies within: so nothing is told apart from a little. Round numbers may be
    fewer than asked for, or none.
    """
    return tuple(sorted(set(SPACINGS[spacing](float(lower), float(upper), count - 1))))


def _even(low: float, high: float, room: int) -> Points:
    width = (high - low) / (room + 1)
    return _readable([low, *(low + width * place for place in range(1, room + 1)), high])


def _log(low: float, high: float, room: int) -> Points:
    return _signed(low, high, room, _geometric)


def _round(low: float, high: float, room: int) -> Points:
    return _signed(low, high, room, _ones_twos_fives)


def _auto(low: float, high: float, room: int) -> Points:
    rounds = _round(low, high, room - room // 2) if high - low > WIDE else ()
    return rounds + _even(low, high, room - len(rounds))


SPACINGS: dict[str, Callable[[float, float, int], Points]] = {
    "auto": _auto, "even": _even, "log": _log, "round": _round,
}  # fmt: skip


def _signed(low: float, high: float, room: int, side: Side) -> Points:
    """Points on the side, or the sides, of 0 on which the range lies."""
    if room < 1:
        return ()
    if high <= 0:
        return _mirrored(_signed(-high, -low, room, side))
    if low > 0:
        return side(low, high, room, False)
    start = min(1.0, max(-low, high) / WIDE)
    if low == 0:
        return side(start, high, room, True)
    below = side(start, -low, (room - 1) // 2, True)
    above = side(start, high, room - 1 - len(below), True)
    below = side(start, -low, room - 1 - len(above), True)  # what the other side had no use for
    return (*_mirrored(below), 0.0, *above)


def _mirrored(points: Points) -> Points:
    return tuple(-point for point in reversed(points))


def _geometric(start: float, end: float, room: int, closed: bool) -> Points:
    if not start < end or room < 1:
        return ()
    first, last = math.log(start), math.log(end)  # their difference does not overflow where end / start does
    steps = room if closed else room + 1
    points = [math.exp(first + (last - first) * place / steps) for place in range(1, steps)]
    return (*([start] if closed else []), *_readable([start, *points, end]))


def _ones_twos_fives(start: float, end: float, room: int, closed: bool) -> Points:
    if not start < end or room < 1:
        return ()
    inside = [size for size in _sizes(start, end) if start < size < end or (closed and size == start)]
    if len(inside) <= room:
        return tuple(inside)
    return tuple(inside[place * (len(inside) - 1) // max(room - 1, 1)] for place in range(room))


def _sizes(start: float, end: float) -> Iterator[float]:
    """1, 2 and 5 times every power of ten from below start to above end."""
    for power in range(math.floor(math.log10(start)) - 1, math.ceil(math.log10(end)) + 1):
        yield from (float(f"{digit}e{power}") for digit in (1, 2, 5))


def _readable(points: Sequence[float]) -> Points:
    """The inner points, rounded so little that they keep their order and stay between the outer ones."""
    found = []
    for before, point, after in zip(points, points[1:], points[2:], strict=False):
        gap = min(point - before, after - point)
        found.append(round(point, DIGITS - 1 - math.floor(math.log10(gap))) if gap > 0 else point)
    return tuple(found)
