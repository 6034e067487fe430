r"""The price of what was released: events -> delta(epsilon) and epsilon(delta), under both adjacencies.

| events | rule | exactness |
| --- | --- | --- |
| Gaussian, any number | Gaussian differential privacy: mu = sqrt(sum count (sensitivity/scale)^2) | exact |
| PoissonGaussian with Gaussian | privacy loss distributions (``composition``) | upper bound, tight to 1e-3 |
| SubsetGaussian with Gaussian | Renyi differential privacy (:mod:`tacit.privacy.subset`; replace-one) | upper bound |
| Objective (Gaussian noise) with Gaussian | corners of :func:`objective_delta`, each composed exactly | upper bound |
| Sphere and Objective (sphere noise) | pure epsilon, added | upper bound |
| InputMinimum with Gaussian | :func:`input_delta`, then basic composition (replace-one) | upper bound |
| Response with Gaussian | a pure and a Gaussian release, multiplied (replace-one) | exact for randomised response |
| Selection with Gaussian | the profile of one trial (:mod:`tacit.privacy.selection`) | upper bound |
| Shuffled, alone | the pair of binomials of :mod:`tacit.privacy.shuffle` (replace-one) | upper bound |
| Claimed, alone | the paper's word, replace-one only | none: see the theorem's status |
| Rare, beside all of these | its probability, added to delta | exact |

Anything else is refused, and so is what cannot be computed in double precision. All answers are rounded to the private
side. A price takes seconds at most: beyond SAMPLED_STEPS the bound without sampling is used, and beyond
SHUFFLED_RECORDS that of so many records.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from tacit.checks import PrivacyError, check, refuse
from tacit.privacy.composition import Composition
from tacit.privacy.events import (
    Claimed,
    Event,
    Gaussian,
    InputMinimum,
    Objective,
    PoissonGaussian,
    Rare,
    Response,
    Selection,
    Shuffled,
    Sphere,
    SubsetGaussian,
)
from tacit.privacy.minimisers import (
    Corner,
    corners,
    input_convexity,
    input_delta,
    input_row,
    log_determinant,
    objective_delta,
)
from tacit.privacy.privacy_loss import DominatingPair
from tacit.privacy.selection import Profile, selected
from tacit.privacy.shuffle import shuffled_approximate_delta
from tacit.privacy.subset import RenyiPrices, subset_prices
from tacit.privacy.tails import chi_delta, gaussian_delta
from tacit.rounding import SMALL, below, border, up
from tacit.types import Adjacency

__all__ = [
    "chi_delta",
    "corners",
    "delta",
    "epsilon",
    "forget",
    "gaussian_delta",
    "gaussian_mu",
    "input_convexity",
    "input_delta",
    "input_row",
    "log_determinant",
    "objective_delta",
]

_UP = 1.0 + 1e-9
"""Covers what a mu, itself a root of a sum, is wrong by: delta feels it at most some thousand times."""
_HIGHEST = 2.0**19
"""From this epsilon on there is no price."""
SAMPLED_STEPS = 10**6
"""Sampled steps, of all kinds together, that are composed numerically."""
LEAST_MOVED = 1e-6
"""Where no sampled step moves by more of its noise than this, sampling is not counted: squares of so little are lost
beside 1, and the bound without it is next to nothing anyway."""
SHUFFLED_RECORDS = 10**8
"""Shuffled releases that are counted. Those of more people are a post-processing of these: add the others', shuffle."""


@dataclass(frozen=True)
class _Curve:
    """A priced list of events: delta as a function of epsilon, and where it is cheap, the inverse."""

    delta: Callable[[float], float]
    inverse: Callable[[float], float] | None = None

    def at(self, epsilon: float) -> float:
        """Delta at this epsilon; what is not a number would compare as cheap."""
        value = self.delta(epsilon)
        if math.isnan(value):
            raise ArithmeticError
        return value

    def epsilon(self, delta: float) -> float:
        """The epsilon at this delta: from the inverse, or by bisection; the end that was seen to cost no more."""
        if self.inverse is None:
            return border(lambda e: self.at(e) > delta, most=_HIGHEST, relative=1e-10)[1]
        value = self.inverse(delta)
        if math.isnan(value):
            raise ArithmeticError
        return max(0.0, value)


@dataclass(frozen=True, kw_only=True)
class _Rule:
    """How releases of one kind are priced: all of them together, beside Gaussian releases of a joint mu.

    ``single``: there is no proof for two of them. ``alone``: nor for Gaussian releases beside them. ``pure``: they have
    a price at delta = 0. ``replace_only``: why add-remove neighbours are refused. ``later``: the curve where it may
    have been made in view of other releases than the one that hides its arithmetic; None where the order is all one.
    """

    curve: Callable[[tuple[Any, ...], float, Adjacency], _Curve]
    later: Callable[[tuple[Any, ...], float, Adjacency], _Curve] | None = None
    single: bool = False
    alone: bool = False
    pure: bool = False
    replace_only: str = ""


def _sphere_epsilon(event: Sphere, adjacency: Adjacency) -> Fraction:
    return Fraction(event.sensitivity.under(adjacency)) / Fraction(event.scale)


def _objective_epsilon(event: Objective, adjacency: Adjacency) -> Fraction:
    """The worst corner: its log-determinant and its gradients' distance in units of the noise. Rounded up."""
    unit = event.slope * math.sqrt(1 if event.geometry == "simplex" else event.outputs) / event.scale
    single = event.geometry == "logistic" and event.outputs == 1  # a person's loss is at most that of the worst row
    whole = [[Corner(1, log_determinant(event), 1.0 if adjacency == "add-remove" else 2.0)]]
    bounds = corners(event, adjacency) if single else whole
    return Fraction(up(min(max(c.offset + c.norm * unit for c in cases) for cases in bounds)))


_PURE: dict[type[Event], Callable[[Any, Adjacency], Fraction]] = {
    Sphere: _sphere_epsilon,
    Objective: _objective_epsilon,
}


def _pure(own: tuple[Sphere | Objective, ...], _: float, adjacency: Adjacency) -> _Curve:
    """Pure epsilons are added without rounding, and the sum is rounded up."""
    exact = sum((_PURE[type(event)](event, adjacency) for event in own), Fraction(0))
    total = float(exact)
    if Fraction(total) < exact:
        total = math.nextafter(total, math.inf)

    def price(e: float) -> float:
        # Among all pure mechanisms randomised response has the largest delta at a smaller epsilon (Kairouz et al. 2015)
        return 0.0 if e >= total else up(-math.expm1(below(e, total)) / (1 + math.exp(-total)))

    def inverse(d: float) -> float:
        if d == 0:
            return total
        return min(total, total + math.log(max(math.exp(-total), 1 - d * (1 + math.exp(-total)))) + SMALL * (1 + total))

    return _Curve(price, inverse)


def _gdp(mu: float) -> _Curve:
    return _Curve(lambda e: _UP * gaussian_delta(mu, e))


def _objective(own: tuple[Objective], mu: float, adjacency: Adjacency) -> _Curve:
    return _Curve(lambda e: _UP * objective_delta(own[0], e, adjacency, mu))


def _later_objective(own: tuple[Objective], mu: float, adjacency: Adjacency) -> _Curve:
    return _Curve(lambda e: _UP * objective_delta(own[0], e, adjacency, mu, earlier=True))


def _poisson(own: tuple[PoissonGaussian, ...], others: float, adjacency: Adjacency) -> _Curve:
    sampled = [event for event in own if event.rate < 1]
    factor = 1 if adjacency == "add-remove" else 2
    # Who samples everybody releases a plain Gaussian.
    everyone = [event for event in own if event.rate == 1]
    mu = math.sqrt(others**2 + sum(e.count * (factor * e.clip / e.scale) ** 2 for e in everyone))
    plain = _gdp(math.sqrt(mu**2 + sum(e.count * (factor * e.clip / e.scale) ** 2 for e in sampled)))
    if len(sampled) > 64:
        refuse("Expected at most 64 kinds of sampled sums to price together. Price them apart and add.")
    # Where a step, or all of them by the central limit, cost hundreds, the bound without sampling is enough.
    # A step's variance of the loss is rate^2 (e^{m^2} - 1) for a small m, and of the order rate m^2 for a large one.
    widest = max((factor * e.clip / e.scale for e in sampled), default=0.0)
    squares = [(e.count, e.rate, min((factor * e.clip / e.scale) ** 2, 625.0)) for e in sampled]
    central = math.sqrt(sum(count * min(rate**2 * math.expm1(m), rate * m * (1 + m)) for count, rate, m in squares))
    steps = sum(event.count for event in sampled)
    if not sampled or max(central, mu) > 100 or not LEAST_MOVED <= widest <= 25 or steps > SAMPLED_STEPS:
        return plain
    sides = ((1, 1),) if adjacency == "replace-one" else ((1, 0), (0, 1))
    gaussian = (DominatingPair(mu=mu, p=1.0, q=0.0, count=1),) if mu else ()
    pairs = [
        [DominatingPair(mu=_UP * e.clip / e.scale, p=p * e.rate, q=q * e.rate, count=e.count) for e in sampled]
        for p, q in sides
    ]
    sums = [Composition.of((*gaussian, *pair)) for pair in pairs]
    return _Curve(
        lambda e: min(plain.delta(e), max(side.delta(e) for side in sums)),
        lambda d: min(plain.epsilon(d), max(side.epsilon(d) for side in sums)),
    )


def _subset(own: tuple[SubsetGaussian, ...], mu: float, _: Adjacency) -> _Curve:
    # A random subset never costs more than all records (the hockey-stick divergence is jointly convex), and the Renyi
    # bound for large subsets is looser than that: take the smaller.
    plain = _gdp(math.sqrt(mu**2 + sum(e.count * (2 * e.clip / e.scale) ** 2 for e in own)))
    if max(2 * e.clip / e.scale for e in own) < LEAST_MOVED:
        return plain
    steps = [subset_prices(e.batch / e.records, 2 * e.clip / e.scale) for e in own]
    joint = RenyiPrices(steps[0].orders, steps[0].orders * (mu**2 / 2))
    for event, step in zip(own, steps, strict=True):
        joint = joint.plus(event.count * step.prices)
    return _Curve(
        lambda e: min(plain.delta(e), joint.delta(e)),
        lambda d: min(plain.epsilon(d), joint.epsilon(d)),
    )


def _claimed(own: tuple[Claimed], _: float, __: Adjacency) -> _Curve:
    """The paper's word: its delta from its epsilon on, and nothing below."""
    (event,) = own
    return _Curve(
        lambda e: event.delta if e >= event.epsilon else 1.0,
        lambda d: event.epsilon if d >= event.delta else math.inf,
    )


def _input(own: tuple[InputMinimum], mu: float, _: Adjacency) -> _Curve:
    share = 8 * mu + mu**2 / 2
    rest = gaussian_delta(mu, share) if mu else 0.0
    return _Curve(lambda e: _UP * (input_delta(own[0], e, share) + rest))


def _response(own: tuple[Response, ...], mu: float, _: Adjacency) -> _Curve:
    """Products: delta(e) = E[delta_Gauss(e - L)] over the loss L of randomised response, the worst pure mechanism."""
    total = sum(event.epsilon for event in own)
    kept = 1 / (1 + math.exp(-total))
    lost = math.exp(-total) * kept

    def price(e: float) -> float:
        return _UP * (kept * gaussian_delta(mu, below(e, total)) + lost * gaussian_delta(mu, below(e, -total)))

    return _Curve(price)


def _shuffled(own: tuple[Shuffled], _: float, __: Adjacency) -> _Curve:
    """The bound of :mod:`tacit.privacy.shuffle` first falls with epsilon and then rises; delta itself only falls.

    So a smaller epsilon's bound is one too, and from its lowest point on the bound stays there.
    """
    (event,) = own
    records = min(event.records, SHUFFLED_RECORDS)

    def bound(e: float) -> float:
        return shuffled_approximate_delta(event.epsilon, event.delta, records, e)

    low, high = 0.0, event.epsilon
    for _ in range(40):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if bound(first) > bound(second) else (low, second)
    return _Curve(lambda e: event.delta if e >= event.epsilon else bound(min(e, high)))


def _selection(own: tuple[Selection], mu: float, adjacency: Adjacency) -> _Curve:
    """Which candidate a trial has is released with it, so a trial's delta is the mean of theirs."""
    (event,) = own
    curves = [_curve(one, adjacency) for one in event.candidates]

    def trial(e: float) -> float:
        return up(math.fsum(min(1.0, curve.at(e)) for curve in curves) / len(curves))

    if event.stop == 1 and len(curves) == 1 and not mu:
        return curves[0]
    best = trial if event.stop == 1 else selected(Profile.of(trial), event.stop)
    joint = Profile.of(best).beside(mu) if mu else best
    return _Curve(joint, lambda d: border(lambda e: _Curve(joint).at(e) > d, most=_HIGHEST, relative=1e-6)[1])


_CLAIM = "The paper's claim is for replace-one neighbours only. Use adjacency='replace-one'."
_SUBSET = "Batches without replacement are analysed for replace-one neighbours only. Use Poisson sampling."
_LOCAL = "The analysis of this method does not cover add-remove neighbours. Use adjacency='replace-one'."
_SCORED = "The scores of a search are analysed for replace-one neighbours only. Use adjacency='replace-one'."
_PURE_RULE = _Rule(curve=_pure, alone=True, pure=True)
_RULES: dict[tuple[type[Event], str], _Rule] = {
    (Gaussian, ""): _Rule(curve=lambda _, mu, __: _gdp(mu)),
    (PoissonGaussian, ""): _Rule(curve=_poisson),
    (SubsetGaussian, ""): _Rule(curve=_subset, replace_only=_SUBSET),
    (Objective, "gaussian"): _Rule(curve=_objective, later=_later_objective, single=True),
    (Objective, "sphere"): _PURE_RULE,
    (Sphere, ""): _PURE_RULE,
    (InputMinimum, ""): _Rule(curve=_input, single=True, replace_only=_LOCAL),
    (Response, ""): _Rule(curve=_response, pure=True, replace_only=_LOCAL),
    (Selection, ""): _Rule(curve=_selection, single=True, replace_only=_SCORED),
    (Shuffled, ""): _Rule(curve=_shuffled, single=True, alone=True, replace_only=_LOCAL),
    (Claimed, ""): _Rule(curve=_claimed, single=True, alone=True, pure=True, replace_only=_CLAIM),
    (Rare, ""): _Rule(curve=lambda own, _, __: _Curve(lambda e: 0.0, lambda d: 0.0)),
}
"""By exact type, and by noise where an event has a choice: what is not here, a subclass too, is refused."""


def _rule(event: Event) -> _Rule:
    rule = _RULES.get((type(event), event.noise if isinstance(event, Objective) else ""))
    return rule if rule is not None else refuse(f"No accountant knows how to price {type(event).__name__}.")


@functools.lru_cache(maxsize=24)  # a sampled curve may hold some ten megabytes
def _curve(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    """What is rare adds its probability to the delta of all else (proof on the docs' page "First tables")."""
    rare = tuple(event for event in events if type(event) is Rare)
    others = tuple(event for event in events if type(event) is not Rare)
    if not rare:
        return _composed(events, adjacency)
    inner = _composed(others or rare, adjacency, alone=False)
    chance = up(math.fsum(event.probability for event in rare))

    def inverse(d: float) -> float:
        left = below(d, chance)
        return inner.epsilon(left) if left > 0 else math.inf

    return _Curve(lambda e: up(inner.at(e) + chance), inverse)


def forget() -> None:
    """Drop the curves that are kept, for whoever measures how long a price takes."""
    _curve.cache_clear()


def _composed(events: tuple[Event, ...], adjacency: Adjacency, alone: bool = True) -> _Curve:
    """All Gaussian releases are one of a joint mu; the others must be of one rule, which composes with that.

    ``alone``: nothing else was released beside these.
    """
    gaussian = [event for event in events if type(event) is Gaussian]
    own = tuple(event for event in events if type(event) is not Gaussian)
    rules = {_rule(event) for event in own or gaussian}
    rule = rules.pop() if len(rules) == 1 else None
    if rule is None or (rule.single and len(own) > 1) or (rule.alone and gaussian):
        names = ", ".join(sorted({type(event).__name__ for event in events})) or "nothing"
        refuse(f"No accountant knows how to price {names} together.")
    if rule.replace_only and adjacency != "replace-one":
        refuse(rule.replace_only)
    total = 0.0
    for event in gaussian:
        total += event.count * (event.sensitivity.under(adjacency) / event.scale) ** 2
    first = alone and events[: len(own)] == own and len(gaussian) <= 1
    curve = rule.curve if first or rule.later is None else rule.later
    return curve(own, math.sqrt(total), adjacency)


def delta(events: tuple[Event, ...], epsilon: float, adjacency: Adjacency) -> float:
    """The delta that the events have at this epsilon, or an upper bound on it."""
    check(epsilon >= 0, f"Expected epsilon={epsilon} >= 0.")
    with _within_reach():
        return min(1.0, _curve(events, adjacency).at(epsilon))


def epsilon(events: tuple[Event, ...], delta: float, adjacency: Adjacency) -> float:
    """The epsilon that the events have at this delta, or an upper bound on it; ``inf`` where there is none."""
    check(0 <= delta < 1, f"Expected 0 <= delta={delta} < 1.")
    pure = [_rule(event).pure for event in events]  # all of them: what is unknown is refused at any delta
    if delta == 0 and not all(pure):
        return math.inf
    with _within_reach():
        return _curve(events, adjacency).epsilon(delta)


@contextmanager
def _within_reach() -> Iterator[None]:
    """A sentence in the place of whatever arithmetic ends with: overflow, a logarithm of zero, a whole part of NaN."""
    try:
        yield
    except PrivacyError:
        raise
    except (ArithmeticError, MemoryError, ValueError, TypeError, IndexError) as error:
        raise PrivacyError("The recorded events are beyond what can be priced in double precision.") from error


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-private; rounded down."""
    check(0 < delta < 1, f"Gaussian noise needs 0 < delta={delta} < 1.")
    return border(lambda mu: _UP * gaussian_delta(mu, epsilon) <= delta, relative=1e-12)[0]
