"""What papers say about curves, and whether points show it: each function gives one finding with its figures."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from papers.engine.figure import Finding, Point, mean_of

MOST = 0.5
"""'On most data sets': in more than half of the cells."""
ALMOST = 0.02
"""'Almost the same': accuracies, or gaps, that differ by no more."""
ZERO = 0.01
"""'Almost 0': a gap in the mean loss of no more."""


def cells(points: Sequence[Point], *methods: str) -> list[tuple[str, float]]:
    """The (data set, epsilon) at which all the methods were measured."""
    places = [{(p["data"], p["epsilon"]) for p in points if p["method"] == method} for method in methods]
    return sorted(set.intersection(*places)) if places else []


def _ends(points: Sequence[Point], method: str) -> list[tuple[str, float, float]]:
    """(data set, smallest epsilon, largest epsilon) of a curve of at least two points."""
    mine = cells(points, method)
    spans = [(data, [e for d, e in mine if d == data]) for data in dict.fromkeys(d for d, _ in mine)]
    return [(data, min(places), max(places)) for data, places in spans if len(places) > 1]


def follows(points: Sequence[Point], statement: str, methods: Sequence[str], y: str = "accuracy") -> Finding:
    """Does each curve end better than it starts: a higher accuracy, or a smaller gap?"""
    sign = 1 if y == "accuracy" else -1
    better, total, worst = 0, 0, ("", math.inf)
    for method in methods:
        for data, low, high in _ends(points, method):
            change = sign * (_at(points, y, method, data, high) - _at(points, y, method, data, low))
            if math.isnan(change):
                continue
            better, total = better + (change >= 0), total + 1
            worst = min(worst, (f"{method} on {data}", change), key=lambda pair: pair[1])
    if not total:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    worse = f"; worst is {worst[0]}, {worst[1]:+.4f}" if worst[1] < 0 else ""
    return Finding(
        statement, better == total,
        f"The {y} is better at the largest epsilon than at the smallest on {better} of {total} curves{worse}.",
    )  # fmt: skip


def beats(
    points: Sequence[Point], statement: str, ours: str, others: Sequence[str], y: str = "accuracy", share: float = MOST
) -> Finding:
    """Is ours better than every one of the others in more than ``share`` of the cells?"""
    words, holds = [], True
    for other in others:
        leads = _leads(points, y, ours, other)
        if not leads:
            continue
        won = sum(lead > 0 for lead in leads)
        holds &= won > share * len(leads)
        words.append(f"than {other} in {won} of {len(leads)} (median lead {sorted(leads)[len(leads) // 2]:+.4f})")
    if not words:
        return Finding(statement, None, "The methods were not measured at a common epsilon.")
    return Finding(statement, holds, f"Cells in which {ours} has a better {y} " + ", ".join(words) + ".")


def alike(
    points: Sequence[Point], statement: str, ours: str, others: Sequence[str], y: str = "accuracy"
) -> Finding:  # fmt: skip
    """Is ours within ``ALMOST`` of each of the others, or better, in most cells?"""
    words, holds = [], True
    for other in others:
        leads = _leads(points, y, ours, other)
        if not leads:
            continue
        near = sum(lead >= -ALMOST for lead in leads)
        holds &= near > MOST * len(leads)
        words.append(f"{near} of {len(leads)} cells of {other}")
    if not words:
        return Finding(statement, None, "The methods were not measured at a common epsilon.")
    return Finding(
        statement, holds, f"The {y} of {ours} is no more than {ALMOST:g} worse in " + ", ".join(words) + "."
    )  # fmt: skip


def gains(points: Sequence[Point], statement: str, ours: str, others: Sequence[str]) -> Finding:
    """Is the lead over the others' best accuracy larger at the largest epsilon than at the smallest, on most sets?"""
    words, grown = [], 0
    for data, low, high in _ends(points, ours):
        leads = [_lead(points, ours, others, data, epsilon) for epsilon in (low, high)]
        if not any(map(math.isnan, leads)):
            grown += leads[1] > leads[0]
            words.append(f"{data} {leads[0]:+.4f} to {leads[1]:+.4f}")
    if not words:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    return Finding(
        statement, grown > MOST * len(words),
        f"Lead of {ours} over the best of the others, smallest to largest epsilon: " + ", ".join(words) + ".",
    )  # fmt: skip


def behind(points: Sequence[Point], statement: str, ours: str, others: Sequence[str], below: float) -> Finding:
    """On some set, at an epsilon of at most ``below``, is ours less accurate than the best of the others?"""
    leads = {c: _lead(points, ours, others, *c) for c in cells(points, ours) if c[1] <= below}
    leads = {cell: lead for cell, lead in leads.items() if not math.isnan(lead)}
    if not leads:
        return Finding(statement, None, f"No epsilon of at most {below:g} was measured.")
    (data, epsilon), lead = min(leads.items(), key=lambda pair: pair[1])
    lost = sum(lead < 0 for lead in leads.values())
    return Finding(
        statement, lost > 0,
        f"{ours} is behind in {lost} of {len(leads)} cells with epsilon <= {below:g}; at worst {lead:+.4f}, {data} at "
        f"epsilon = {epsilon:g}.",
    )  # fmt: skip


def vanishes(points: Sequence[Point], statement: str, ours: str) -> Finding:
    """Is there a set on which ours has a gap of at most ``ZERO`` at the largest epsilon?"""
    last = dict(cells(points, ours))  # in order of epsilon, so the largest stays
    ends = {data: _at(points, "gap", ours, data, high) for data, high in last.items()}
    ends = {data: gap for data, gap in ends.items() if not math.isnan(gap)}
    if not ends:
        return Finding(statement, None, "No gap was measured.")
    words = ", ".join(f"{data} {gap:.4f}" for data, gap in ends.items())
    return Finding(statement, min(ends.values()) <= ZERO, f"Gap of {ours} at the largest epsilon: {words}.")


def fluctuates(points: Sequence[Point], statement: str, method: str) -> Finding:
    """Does its accuracy fall somewhere by more than ``ALMOST`` as epsilon grows?"""
    falls = {}
    for data, _, _ in _ends(points, method):
        values = [_at(points, "accuracy", method, d, e) for d, e in cells(points, method) if d == data]
        falls[data] = max(a - b for a, b in itertools.pairwise(values))
    if not falls:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    words = ", ".join(f"{data} {fall:+.4f}" for data, fall in falls.items())
    return Finding(statement, max(falls.values()) > ALMOST, f"Largest fall of {method} to the next epsilon: {words}.")


def proven_price(points: Sequence[Point], ours: str) -> Finding:
    """Not in the papers: does some method with a proof reach the accuracy of the published one, which has none?"""
    statement = f"Not in the paper: a method with a proof is as accurate as {ours}, up to {ALMOST:g}."
    proven = list(dict.fromkeys(p["method"] for p in points if p["status"] == "proven"))
    leads = {c: _lead(points, ours, proven, *c) for c in cells(points, ours)}
    leads = {cell: lead for cell, lead in leads.items() if not math.isnan(lead)}
    if not leads:
        return Finding(statement, None, "No method with a proof was measured at the same epsilons.")
    near = sum(lead <= ALMOST for lead in leads.values())
    (data, epsilon), lead = max(leads.items(), key=lambda pair: pair[1])
    return Finding(
        statement, near == len(leads),
        f"In {near} of {len(leads)} cells; the largest lead of {ours} is {lead:+.4f}, {data} at epsilon = {epsilon:g}.",
    )  # fmt: skip


def _at(points: Sequence[Point], y: str, method: str, data: str, epsilon: float) -> float:
    return mean_of(points, y, method=method, data=data, epsilon=epsilon)


def _leads(points: Sequence[Point], y: str, ours: str, other: str) -> list[float]:
    """How much better ours is than the other, in every cell that holds both; a smaller gap is better."""
    sign = 1 if y == "accuracy" else -1
    leads = [sign * (_at(points, y, ours, *c) - _at(points, y, other, *c)) for c in cells(points, ours, other)]
    return [lead for lead in leads if not math.isnan(lead)]


def _lead(points: Sequence[Point], ours: str, others: Sequence[str], data: str, epsilon: float) -> float:
    best = [_at(points, "accuracy", other, data, epsilon) for other in others]
    best = [value for value in best if not math.isnan(value)]
    return _at(points, "accuracy", ours, data, epsilon) - max(best) if best else math.nan
