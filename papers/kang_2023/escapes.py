"""What the paper says of steps without noise, and of small epsilons: one finding each, two-sided, by intervals."""

from __future__ import annotations

import itertools
import statistics
from collections.abc import Sequence

from papers.engine.figure import Finding, Point
from papers.shared.intervals import LEVEL, Count, difference
from papers.shared.statements import ALMOST, MOST, cells

Curves = dict[str, dict[float, list[float]]]
"""Data set -> epsilon -> values over the seeds."""


def more_escape(points: Sequence[Point], statement: str, ours: str) -> Finding:
    """Is the share of steps without noise larger at the largest epsilon than at the smallest, on most sets?"""
    ends = {data: (min(curve), max(curve), curve) for data, curve in _curves(points, ours).items() if len(curve) > 1}
    if not ends:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    answers = Count.of(difference(curve[high], curve[low]).above(0) for low, high, curve in ends.values())
    words = ", ".join(
        f"{data} {statistics.fmean(curve[low]):.1%} to {statistics.fmean(curve[high]):.1%}"
        for data, (low, high, curve) in ends.items()
    )
    text = f"Steps of {ours} without noise, smallest to largest epsilon: {words}."
    return Finding(statement, answers.more_than(MOST), text)


def never_fewer(points: Sequence[Point], statement: str, ours: str) -> Finding:
    """Does the share of steps without noise fall nowhere from one epsilon to the next?

    Of many equal shares one falls by chance, so a fall has to show at a level of 0.05 over the number of steps.
    """
    curves = _curves(points, ours)
    pairs = [(data, *pair) for data, curve in curves.items() for pair in itertools.pairwise(sorted(curve))]
    if not pairs:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    strict = 1 - (1 - LEVEL) / len(pairs)
    changes = {at: difference(curves[at[0]][at[2]], curves[at[0]][at[1]], strict) for at in pairs}
    falls = {at: change for at, change in changes.items() if (-change).above(0)}
    if not falls:
        unclear = sum(not change.low >= 0 for change in changes.values())
        told = f"No clear fall of {ours} in {len(pairs)} steps of epsilon ({unclear} undecided)."
        return Finding(statement, None if unclear else True, told)
    data, low, high = min(falls, key=lambda at: falls[at].mean)
    shares = [statistics.fmean(curves[data][epsilon]) for epsilon in (low, high)]
    return Finding(
        statement, False,
        f"The share of {ours} falls in {len(falls)} of {len(pairs)} steps of epsilon; most from {shares[0]:.1%} to "
        f"{shares[1]:.1%}, {data} from epsilon = {low:g} to {high:g}.",
    )  # fmt: skip


def near(points: Sequence[Point], statement: str, ours: str, others: Sequence[str], below: float) -> Finding:
    """With epsilon at most ``below``, is the accuracy within ``ALMOST`` of each of the others, above or below?"""
    words, answers = [], []
    for other in others:
        leads = [
            difference(_values(points, "accuracy", ours, *cell), _values(points, "accuracy", other, *cell))
            for cell in cells(points, ours, other) if cell[1] <= below
        ]  # fmt: skip
        if leads:
            found = Count.of(_within(lead.above(-ALMOST), lead.above(ALMOST)) for lead in leads)
            answers.append(found.more_than(MOST))
            middle = max((lead.mean for lead in leads), key=abs)
            words.append(f"{found.told('cells')} of {other} (largest difference {middle:+.4f})")
    if not words:
        return Finding(statement, None, f"No epsilon of at most {below:g} was measured.")
    text = f"The accuracy of {ours} differs by no more than {ALMOST:g} in " + ", ".join(words) + "."
    return Finding(statement, Count.of(answers).all, text)


def _within(over_low: bool | None, over_high: bool | None) -> bool | None:
    """Yes above the low limit and not above the high one; no beyond either."""
    if over_low is False or over_high is True:
        return False
    return True if over_low and over_high is False else None


def _curves(points: Sequence[Point], method: str) -> Curves:
    found: Curves = {}
    for data, epsilon in cells(points, method):
        values = _values(points, "noiseless", method, data, epsilon)
        if values:
            found.setdefault(data, {})[epsilon] = values
    return found


def _values(points: Sequence[Point], y: str, method: str, data: str, epsilon: float) -> list[float]:
    where = {"method": method, "data": data, "epsilon": epsilon}
    return [float(p[y]) for p in points if p.get(y) is not None and all(p[k] == v for k, v in where.items())]
