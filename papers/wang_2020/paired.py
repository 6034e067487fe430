"""Comparisons of models of the same pass, run by run: they share batches and draws of noise, so they are paired."""

import math

from papers.shared import intervals
from papers.shared.intervals import Count


def gain(points, y, one, other):
    """Mean of ``y`` where ``one`` holds minus where ``other`` holds, over the runs that have both; None: there are
    none."""
    first, second = ({p["run"]: p[y] for p in points if _matches(p, where)} for where in (one, other))
    values = [first[run] - second[run] for run in sorted(first.keys() & second.keys())]
    return intervals.mean(values) if values else None


def all_above(gains, limit=0.0):
    """Whether all gains are above the limit, two-sided: None where an interval holds it and none is below it."""
    found = [g for g in gains if g is not None]
    return Count.of(g.above(limit) for g in found).all if found else None


def words(interval, digits=2):
    """A gain as text."""
    if interval is None:
        return "not measured"
    half = interval.high - interval.mean
    return f"{interval.mean:+.{digits}f}" + ("" if math.isnan(half) else f" ± {half:.{digits}f}")


def _matches(point, where):
    return all(point.get(name) == value for name, value in where.items())
