"""What papers say about curves, and whether points show it: each function gives one finding with its figures.

Every comparison is two-sided, by a 95% interval of the difference over seeds (:mod:`papers.shared.intervals`): yes, no,
or undecided where the interval holds the limit. A statement about many cells is seen when enough of them say yes, not
seen when even the undecided ones would not be enough, and open between. Where one cell of many is enough, its interval
has the level that this number of tries asks for.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence

from papers.engine.figure import Finding, Point
from papers.shared.curves import REFERENCE, Curve
from papers.shared.intervals import LEVEL, Count, Interval, combined, deviation, mean, paired

MOST = 0.5
"""'On most data sets': in more than half of the cells."""
ALMOST = 0.02
"""'Almost the same': an accuracy, or a gap, that is worse by no more. Being better by more is told, and no fault."""
ZERO = 0.01
"""'Almost 0': a gap in the mean loss of no more."""
BY_ACCURACY = " Settings were chosen for accuracy, not for the gap."
"""Beside every finding about gaps: accuracy does not see how long the weights are, and a gap does."""

Cell = tuple[str, float]
Term = tuple[float, Sequence[float]]


def cells(points: Sequence[Point], *methods: str) -> list[Cell]:
    """The (data set, epsilon) at which all the methods were measured."""
    places = [{(p["data"], p["epsilon"]) for p in points if p["method"] == method} for method in methods]
    return sorted(set.intersection(*places)) if places else []


def follows(points: Sequence[Point], statement: str, methods: Sequence[str], y: str = "accuracy") -> Finding:
    """Does no curve end worse than it starts, and do most end better: a higher accuracy, or a smaller gap?

    Of many flat curves one falls by chance, so a fall has to show at a level of 0.05 over the number of curves.
    """
    curves: dict[str, list[Term]] = {}
    for method in methods:
        for data, low, high in _ends(points, method):
            ends = [_values(points, y, method, data, epsilon) for epsilon in (high, low)]
            if all(ends):
                curves[f"{method} on {data}"] = [(1.0, ends[0]), (-1.0, ends[1])]
    if not curves:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    changes = {name: _signed(_contrast(points, ends), y) for name, ends in curves.items()}
    rises = Count.of(change.above(0) for change in changes.values())
    strict = _strict(len(curves))
    falls = Count.of((-_signed(_contrast(points, ends, strict), y)).above(0) for ends in curves.values())
    name, worst = min(changes.items(), key=lambda pair: pair[1].mean)
    words = f"; worst is {name}, {_words(worst)}" if worst.mean < 0 else ""
    level = f" at the level that allows for {len(curves)} curves" if len(curves) > 1 else ""
    holds = False if falls.yes else True if rises.more_than(MOST) else None
    return Finding(
        statement, holds,
        f"From the smallest to the largest epsilon the {y} gets better on {rises.told('curves')} and "
        f"worse on {falls.yes}{level}{words}.{_aside(y)}",
    )  # fmt: skip


def beats(
    points: Sequence[Point], statement: str, ours: str, others: Sequence[str], y: str = "accuracy", share: float = MOST,
    least: float = 0.0,
) -> Finding:  # fmt: skip
    """Is ours better than every one of the others in more than ``share`` of the cells, from epsilon ``least`` on?"""
    words, answers = [], []
    for other in others:
        leads = _leads([p for p in points if p["epsilon"] >= least], y, ours, other)
        if leads:
            found = Count.of(lead.above(0) for lead in leads)
            answers.append(found.more_than(share))
            middle = statistics.median(lead.mean for lead in leads)
            words.append(f"than {other} in {found.told('cells')}, worse in {found.no} (median lead {middle:+.4f})")
    if not words:
        return Finding(statement, None, "The methods were not measured at a common epsilon.")
    return Finding(statement, Count.of(answers).all, f"{ours} has a better {y} " + "; ".join(words) + "." + _aside(y))


def alike(
    points: Sequence[Point], statement: str, ours: str, others: Sequence[str], y: str = "accuracy", some: bool = False
) -> Finding:
    """Is ours no more than ``ALMOST`` worse than each (or than ``some``) of the others, in most cells?

    The papers say 'almost the same (or even better)', so better is no fault; how often it is better by more than
    ``ALMOST``, and so not the same, is told.
    """
    words, answers = [], []
    for other in others:
        leads = _leads(points, y, ours, other)
        if leads:
            found = Count.of(lead.above(-ALMOST) for lead in leads)
            answers.append(found.more_than(MOST))
            more = Count.of(lead.above(ALMOST) for lead in leads)
            words.append(f"than {other} in {found.told('cells')}, and better by more than that in {more.yes}")
    asked = f"{statement} (taken as: no more than {ALMOST:g} worse)"
    if not words:
        return Finding(asked, None, "The methods were not measured at a common epsilon.")
    return Finding(
        asked, Count.of(answers).any if some else Count.of(answers).all,
        f"The {y} of {ours} is no more than {ALMOST:g} worse " + "; ".join(words) + f".{_aside(y)}",
    )  # fmt: skip


def gains(points: Sequence[Point], statement: str, ours: str, others: Sequence[str]) -> Finding:
    """Is the lead over the others' best accuracy larger at the largest epsilon than at the smallest, on most sets?"""
    words, answers = [], []
    for data, low, high in _ends(points, ours):
        rivals = [_best(points, others, data, epsilon, "accuracy") for epsilon in (low, high)]
        if not all(rivals):
            continue
        sides = [_values(points, "accuracy", ours, data, epsilon) for epsilon in (low, high)]
        grown = _contrast(points, [(1.0, sides[1]), (-1.0, rivals[1]), (-1.0, sides[0]), (1.0, rivals[0])])
        answers.append(grown.above(0))
        leads = [statistics.fmean(mine) - statistics.fmean(best) for mine, best in zip(sides, rivals, strict=True)]
        words.append(f"{data} {leads[0]:+.4f} to {leads[1]:+.4f}, a change of {_words(grown)}")
    if not words:
        return Finding(statement, None, "Fewer than two epsilons were measured.")
    return Finding(
        statement, Count.of(answers).more_than(MOST),
        f"Lead of {ours} over the best of the others, smallest to largest epsilon: " + "; ".join(words) + ".",
    )  # fmt: skip


def behind(points: Sequence[Point], statement: str, ours: str, others: Sequence[str], below: float) -> Finding:
    """On some set, at an epsilon of at most ``below``, is ours less accurate than the best of the others?"""
    leads = {cell: _lead(points, ours, others, cell) for cell in cells(points, ours) if cell[1] <= below}
    known = {cell: lead for cell, lead in leads.items() if lead is not None}
    if not known:
        return Finding(statement, None, f"No epsilon of at most {below:g} was measured.")
    (data, epsilon), worst = min(known.items(), key=lambda pair: pair[1].mean)
    lost = Count.of((-lead).above(0) for lead in known.values())
    surely = [_lead(points, ours, others, cell, level=_strict(len(known))) for cell in known]
    return Finding(
        statement, _one(lost, ((-lead).above(0) for lead in surely if lead)),
        f"{ours} is behind in {lost.told('cells')} with epsilon <= {below:g}; at worst {_words(worst)}, {data} at "
        f"epsilon = {epsilon:g}.",
    )  # fmt: skip


def vanishes(points: Sequence[Point], statement: str, ours: str, curves: Sequence[Curve] = ()) -> Finding:
    """Is there a set on which ours has a gap of at most ``ZERO`` at the largest epsilon?

    Where the figure's ``curves`` are given, a larger gap of the longest run that they allow decides nothing: that limit
    is ours.
    """
    asked = f"{statement} (taken as: at most {ZERO:g} at the largest epsilon)"
    last = dict(cells(points, ours))  # in order of epsilon, so the largest stays
    ends = {data: _values(points, "gap", ours, data, high) for data, high in last.items()}
    gaps = {data: mean(values) for data, values in ends.items() if values}
    if not gaps:
        return Finding(asked, None, "No gap was measured.")
    held = _held([p for p in points if p["method"] == ours], curves)
    limited = {data for (_, data, epsilon, _), longest in held.items() if longest and epsilon == last[data]}
    answers = {data: _below(gap, ZERO) for data, gap in gaps.items()}
    small = Count.of(None if data in limited and not answer else answer for data, answer in answers.items())
    found = _one(small, (_below(mean(ends[data], _strict(len(gaps))), ZERO) for data in gaps))
    words = ", ".join(f"{data} {gap.mean:.4f}" for data, gap in gaps.items())
    lengths = {f"{a.highest:g} {a.name}" for c in curves if c.label == ours for a in c.axes if math.isfinite(a.highest)}
    why = (
        f" Runs end at {' or '.join(sorted(lengths))}, which is our limit, and {sum(held.values())} of {len(held)} "
        "choices lie at it."
    )
    return Finding(
        asked, found,
        f"Gap of {ours} at the largest epsilon: {words}.{_aside('gap')}{why if limited and found is None else ''}",
    )  # fmt: skip


def fluctuates(
    points: Sequence[Point], statement: str, method: str, y: str = "accuracy", some: bool = False
) -> Finding:
    """On most sets (or on ``some``), do single runs at some epsilon have a standard deviation of more than ``ALMOST``?

    That is what makes a curve of single runs jump. A curve of means over the same seeds at every epsilon does not: a
    model that is all noise has the same accuracy at each. Where every seed has a split of its own, the deviation also
    has to be above that of the model without privacy, which is the splits'.
    """
    words, answers, apart = [], [], False
    where = "some data set" if some else "most data sets"
    asked = f"{statement} (taken as: on {where} a standard deviation over runs of more than {ALMOST:g} at some epsilon)"
    ends = _ends(points, method)
    for data, _, _ in ends:
        epsilons = [epsilon for name, epsilon in cells(points, method) if name == data]
        runs = [_values(points, y, method, data, epsilon) for epsilon in epsilons]
        plain = _values(points, y, REFERENCE, data, epsilons[0])
        limit = max(ALMOST, deviation(plain).mean) if len(plain) > 1 else ALMOST
        apart = apart or limit > ALMOST
        wide = Count.of(deviation(values).above(limit) for values in runs if values)
        tries = len(runs) * (len(ends) if some else 1)
        surely = (deviation(values, _strict(tries)).above(limit) for values in runs if values)
        answers.append(_one(wide, surely))
        most = max(deviation(values).mean for values in runs if values)
        words.append(f"{data} at {wide.told('epsilons')}, at most {most:.4g}")
    if not words:
        return Finding(asked, None, "Fewer than two epsilons were measured.")
    found, splits = Count.of(answers), " and above that of the model without privacy" if apart else ""
    return Finding(
        asked, found.any if some else found.more_than(MOST),
        f"The {y} of one run of {method} has a standard deviation above {ALMOST:g}{splits}: "
        f"{'; '.join(words)}.{_aside(y)}",
    )  # fmt: skip


def proven_price(points: Sequence[Point], ours: str, y: str = "accuracy") -> Finding:
    """Not in the papers: is some method with a proof as good as the published one, which has none?"""
    good = "is as accurate" if y == "accuracy" else f"has as small a {y}"
    statement = f"Not in the paper: a method with a proof {good} as {ours}, up to {ALMOST:g}."
    fair = [p for p in points if p["method"] == ours or p["status"] == "proven"]  # a curve may be proven in part
    proven = list(dict.fromkeys(p["method"] for p in fair if p["method"] != ours))
    leads = {cell: _lead(fair, ours, proven, cell, y) for cell in cells(points, ours)}
    known = {cell: lead for cell, lead in leads.items() if lead is not None}
    if not known:
        return Finding(statement, None, "No method with a proof was measured at the same epsilons.")
    near = Count.of((-lead).above(-ALMOST) for lead in known.values())
    better = Count.of(lead.above(0) for lead in known.values())
    worse = Count.of((-lead).above(0) for lead in known.values())  # a tie is neither
    (data, epsilon), lead = max(known.items(), key=lambda pair: pair[1].mean)
    return Finding(
        statement, near.all,
        f"In {near.told('cells')}. The {y} of {ours} is better than the best of them in {better.yes}, worse in "
        f"{worse.yes}; its largest lead is {_words(lead)}, {data} at epsilon = {epsilon:g}.{_aside(y)}",
    )  # fmt: skip


def chances(points: Sequence[Point], curves: Sequence[Curve] = ()) -> Finding:
    """Not in the papers: does no choice lie at an edge of its grid, or at the longest run that the ``curves`` allow?

    An edge is one beyond which the grid could still be extended; where a curve's axis ends at its ``highest`` value,
    longer runs are not tried, so that a choice there may be too short. Without the figure's curves nobody can tell.
    """
    tuned = [p for p in points if p.get("validation") is not None]
    statement = (
        "Not in the paper: no choice lies at the edge of what was tried, in step size or length, or at the longest run "
        "that is allowed."
    )
    if not tuned:
        return Finding(statement, None, "Nothing was chosen.")
    edges = list(dict.fromkeys(f"{p['method']} on {p['data']} at {p['epsilon']:g}" for p in tuned if not p["inside"]))
    tried, places = [p["tried"] for p in tuned], {(p["method"], p["data"], p["epsilon"]) for p in tuned}
    inside = {_choice(p): p["inside"] for p in tuned}
    each = f" of {len(places)} cells ({len(inside) - sum(inside.values())} of {len(inside)} choices)"
    where = f" ({', '.join(edges[:3])}{', ...' * (len(edges) > 3)})" if edges else ""
    longest, words = _longest(tuned, curves) if curves else (None, "; the longest runs were not counted")
    return Finding(
        statement, False if edges or longest else None if longest is None else True,
        f"{min(tried)} to {max(tried)} settings were tried in each of {len(places)} cells; at an edge: "
        f"{len(edges)}{each * (len(inside) > len(places))}{where}{words}.",
    )  # fmt: skip


def _longest(tuned: Sequence[Point], curves: Sequence[Curve]) -> tuple[int, str]:
    """How many choices are the longest run allowed, up to 1%, and that in words; a choice a cell, or a split."""
    held = _held(tuned, curves)
    if not held:
        return 0, ""
    by_method = {c.label: sum(at for (name, *_), at in held.items() if name == c.label) for c in curves}
    found = [
        f"{curve.label}, {' or '.join(sorted(_limits(curve)))}: {by_method[curve.label]}"
        for curve in curves
        if by_method[curve.label]
    ]
    total = sum(by_method.values())
    named = f" ({'; '.join(found)})" if found else ""
    return total, f"; at the longest run allowed: {total} of {len(held)} choices{named}"


def _held(tuned: Sequence[Point], curves: Sequence[Curve]) -> dict[tuple[str, str, float, int], bool]:
    """Whether a choice (method, data set, epsilon, split) is the longest run, up to 1%, for curves that limit it."""
    ends = {c.label: {a.name: a.highest for a in c.axes if math.isfinite(a.highest)} for c in curves}
    found = {}
    for p in tuned:
        limits = ends.get(p["method"])
        if limits and p.get("chosen"):
            setting = _setting(p["chosen"])
            found[_choice(p)] = any(setting.get(axis, 0.0) >= 0.99 * most for axis, most in limits.items())
    return found


def _limits(curve: Curve) -> set[str]:
    """The longest runs that a curve allows, as choices name them."""
    return {f"{axis.name} = {axis.highest:g}" for axis in curve.axes if math.isfinite(axis.highest)}


def _choice(point: Point) -> tuple[str, str, float, int]:
    """What was chosen once: for a cell or, where each seed has a split of its own, for a split."""
    return point["method"], point["data"], point["epsilon"], point.get("seed", 0) if point.get("resplit") else 0


def _setting(words: str) -> dict[str, float]:
    pairs = (part.split(" = ") for part in words.split(", ") if " = " in part)
    return {name: float(value) for name, value in pairs}


def _aside(y: str) -> str:
    return BY_ACCURACY if y == "gap" else ""


def _strict(tries: int) -> float:
    """The level at which one of so many may decide: of many flat ones some stand out by chance."""
    return 1 - (1 - LEVEL) / tries


def _one(each: Count, surely: Iterable[bool | None]) -> bool | None:
    """Whether one says yes, at the strict level; no needs all of them, each at its own level."""
    return True if any(surely) else False if each.any is False else None


def _below(found: Interval, limit: float) -> bool | None:
    over = found.above(limit)
    return None if over is None else not over


def _words(found: Interval) -> str:
    spread = "" if math.isnan(found.low) else f" ({found.low:+.4f} to {found.high:+.4f})"
    return f"{found.mean:+.4f}{spread}"


def _ends(points: Sequence[Point], method: str) -> list[tuple[str, float, float]]:
    """(data set, smallest epsilon, largest epsilon) of a curve of at least two points."""
    mine = cells(points, method)
    spans = [(data, [e for d, e in mine if d == data]) for data in dict.fromkeys(d for d, _ in mine)]
    return [(data, min(places), max(places)) for data, places in spans if len(places) > 1]


def _values(points: Sequence[Point], y: str, method: str, data: str, epsilon: float) -> list[float]:
    where = {"method": method, "data": data, "epsilon": epsilon}
    found = [p for p in points if p.get(y) is not None and all(p[k] == v for k, v in where.items())]
    return [float(p[y]) for p in sorted(found, key=lambda p: p.get("seed", 0))]


def _signed(found: Interval, y: str) -> Interval:
    """A smaller gap is better."""
    return found if y == "accuracy" else -found


def _leads(points: Sequence[Point], y: str, ours: str, other: str) -> list[Interval]:
    """How much better ours is than the other, in every cell that holds both.

    A cell in which every run of both has the very same accuracy is none: there both predict one class for all.
    """
    pairs = [(_values(points, y, ours, *cell), _values(points, y, other, *cell)) for cell in cells(points, ours, other)]
    told = [(mine, theirs) for mine, theirs in pairs if mine and theirs and len({*mine, *theirs}) > 1]
    return [_signed(_contrast(points, [(1.0, mine), (-1.0, theirs)]), y) for mine, theirs in told]


def _best(points: Sequence[Point], others: Sequence[str], data: str, epsilon: float, y: str) -> list[float]:
    """The values of that of the others with the best mean."""
    found = [values for other in others if (values := _values(points, y, other, data, epsilon))]
    best = max if y == "accuracy" else min
    return best(found, key=statistics.fmean) if found else []


def _lead(
    points: Sequence[Point], ours: str, others: Sequence[str], cell: Cell, y: str = "accuracy", level: float = LEVEL
) -> Interval | None:
    mine, best = _values(points, y, ours, *cell), _best(points, others, *cell, y)
    return _signed(_contrast(points, [(1.0, mine), (-1.0, best)], level), y) if mine and best else None


def _contrast(points: Sequence[Point], terms: Sequence[Term], level: float = LEVEL) -> Interval:
    """A weighted sum of means: by pairs where each seed has a split of its own, which all methods share."""
    together = any(p.get("resplit") for p in points) and len({len(values) for _, values in terms}) == 1
    return paired(terms, level) if together else combined(terms, level)
