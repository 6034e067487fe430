r"""The price of what was released: events -> delta(epsilon) and epsilon(delta), under both adjacencies.

| events | rule | exactness |
| --- | --- | --- |
| Gaussian, any number | Gaussian differential privacy: mu = sqrt(sum count (sensitivity/scale)^2) | exact |
| PoissonGaussian with Gaussian | privacy loss distributions (``composition``) | upper bound, tight to 1e-3 |
| SubsetGaussian with Gaussian | Renyi differential privacy of ``dp-accounting`` (replace-one) | upper bound |
| Objective (Gaussian noise) with Gaussian | corners of :func:`objective_delta`, each composed exactly | upper bound |
| Sphere and Objective (sphere noise) | pure epsilon, added | upper bound |
| InputMinimum with Gaussian | :func:`input_delta`, then basic composition (replace-one) | upper bound |
| Response with Gaussian | a pure and a Gaussian release, multiplied (replace-one) | exact for randomised response |
| Shuffled, alone | the pair of binomials of :mod:`tacit.privacy.shuffle` (replace-one) | upper bound |
| Claimed, alone | the paper's word, replace-one only | none: see the theorem's status |

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

import dp_accounting
from dp_accounting import rdp

from tacit.checks import PrivacyError, check, refuse
from tacit.privacy.composition import Composition
from tacit.privacy.curves import (
    Corner,
    corners,
    input_convexity,
    input_delta,
    input_row,
    log_determinant,
    objective_delta,
)
from tacit.privacy.events import (
    Claimed,
    Event,
    Gaussian,
    InputMinimum,
    Objective,
    PoissonGaussian,
    Response,
    Shuffled,
    Sphere,
    SubsetGaussian,
)
from tacit.privacy.privacy_loss import Release
from tacit.privacy.shuffle import shuffled_approximate_delta
from tacit.privacy.tails import chi_delta, gaussian_delta
from tacit.rounding import SMALL, below, border, up
from tacit.types import Adjacency

__all__ = [
    "chi_delta",
    "corners",
    "delta",
    "epsilon",
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
        return _number(self.delta(epsilon))

    def epsilon(self, delta: float) -> float:
        if self.inverse is not None:
            return max(0.0, _number(self.inverse(delta)))
        return border(lambda e: self.at(e) > delta, most=_HIGHEST, relative=1e-10)[1]


def _number(value: float) -> float:
    if math.isnan(value):
        raise ArithmeticError
    return value


def _mu(events: tuple[Event, ...], adjacency: Adjacency) -> float:
    """The joint mu of all Gaussian events."""
    total = 0.0
    for event in events:
        if isinstance(event, Gaussian):
            total += event.count * (_covered(event.sensitivity.under(adjacency), adjacency) / event.scale) ** 2
    return math.sqrt(total)


def _covered(sensitivity: float | None, adjacency: Adjacency) -> float:
    if sensitivity is None:
        refuse(f"The analysis of this method does not cover {adjacency} neighbours. Use the other adjacency.")
    return sensitivity


def _pure(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    exact = Fraction(0)
    for event in events:
        if isinstance(event, Sphere):
            exact += Fraction(_covered(event.sensitivity.under(adjacency), adjacency)) / Fraction(event.scale)
        elif isinstance(event, Objective):
            unit = event.slope * math.sqrt(1 if event.geometry == "simplex" else event.outputs) / event.scale
            single = event.geometry == "logistic" and event.outputs == 1
            whole = [[Corner(1, log_determinant(event), 1.0 if adjacency == "add-remove" else 2.0)]]
            bounds = corners(event, adjacency) if single else whole
            exact += Fraction(up(min(max(c.offset + c.norm * unit for c in cases) for cases in bounds)))
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


def _objective(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    (main,) = (event for event in events if isinstance(event, Objective))
    extra = _mu(events, adjacency)
    return _Curve(lambda e: _UP * objective_delta(main, e, adjacency, extra))


def _poisson(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    sampled = [event for event in events if isinstance(event, PoissonGaussian) and event.rate < 1]
    factor = 1 if adjacency == "add-remove" else 2
    # Who samples everybody releases a plain Gaussian.
    everyone = [event for event in events if isinstance(event, PoissonGaussian) and event.rate == 1]
    mu = math.sqrt(_mu(events, adjacency) ** 2 + sum(e.count * (factor * e.clip / e.scale) ** 2 for e in everyone))
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
    gaussian = (Release(mu=mu, p=1.0, q=0.0, count=1),) if mu else ()
    sums = [
        Composition.of(
            gaussian
            + tuple(Release(mu=_UP * e.clip / e.scale, p=up * e.rate, q=down * e.rate, count=e.count) for e in sampled)
        )
        for up, down in sides
    ]
    return _Curve(
        lambda e: min(plain.delta(e), max(side.delta(e) for side in sums)),
        lambda d: min(plain.epsilon(d), max(side.epsilon(d) for side in sums)),
    )


def _subset(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    if adjacency != "replace-one":
        refuse("Batches without replacement are analysed for replace-one neighbours only. Use Poisson sampling.")
    drawn = [event for event in events if isinstance(event, SubsetGaussian)]
    mu = _mu(events, adjacency)
    # A random subset never costs more than all records (the hockey-stick divergence is jointly convex), and the Renyi
    # bound for large subsets is looser than that: take the smaller.
    plain = _gdp(math.sqrt(mu**2 + sum(e.count * (2 * e.clip / e.scale) ** 2 for e in drawn)))
    if max((2 * e.clip / e.scale for e in drawn), default=0.0) < LEAST_MOVED:
        return plain
    accountant: Any = rdp.RdpAccountant(neighboring_relation=_relation("replace-one"))
    for event in drawn:
        inner = dp_accounting.GaussianDpEvent(event.scale / (2 * event.clip))
        accountant.compose(
            dp_accounting.SampledWithoutReplacementDpEvent(event.records, event.batch, inner), event.count
        )
    if mu:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
    return _Curve(
        lambda e: min(plain.delta(e), _UP * float(accountant.get_delta(e))),
        lambda d: min(plain.epsilon(d), _UP * float(accountant.get_epsilon(d))),
    )


def _gdp(mu: float) -> _Curve:
    return _Curve(lambda e: _UP * gaussian_delta(mu, e))


def _claimed(event: Claimed, adjacency: Adjacency) -> _Curve:
    """The paper's word: its delta from its epsilon on, and nothing below."""
    if adjacency != "replace-one":
        refuse("The paper's claim is for replace-one neighbours only. Use adjacency='replace-one'.")
    return _Curve(
        lambda e: event.delta if e >= event.epsilon else 1.0,
        lambda d: event.epsilon if d >= event.delta else math.inf,
    )


def _only_replace(adjacency: Adjacency) -> None:
    if adjacency != "replace-one":
        refuse("The analysis of this method does not cover add-remove neighbours. Use adjacency='replace-one'.")


def _input(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    _only_replace(adjacency)
    (main,) = (event for event in events if isinstance(event, InputMinimum))
    extra = _mu(events, adjacency)
    share = 8 * extra + extra**2 / 2
    rest = gaussian_delta(extra, share) if extra else 0.0
    return _Curve(lambda e: _UP * (input_delta(main, e, share) + rest))


def _response(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    """Products: delta(e) = E[delta_Gauss(e - L)] over the loss L of randomised response, the worst pure mechanism."""
    _only_replace(adjacency)
    mu, total = _mu(events, adjacency), sum(event.epsilon for event in events if isinstance(event, Response))
    kept = 1 / (1 + math.exp(-total))
    lost = math.exp(-total) * kept

    def price(e: float) -> float:
        return _UP * (kept * gaussian_delta(mu, below(e, total)) + lost * gaussian_delta(mu, below(e, -total)))

    return _Curve(price)


def _shuffled(event: Shuffled, adjacency: Adjacency) -> _Curve:
    """The bound of :mod:`tacit.privacy.shuffle` first falls with epsilon and then rises; delta itself only falls.

    So a smaller epsilon's bound is one too, and from its lowest point on the bound stays there.
    """
    _only_replace(adjacency)
    records = min(event.records, SHUFFLED_RECORDS)

    def bound(e: float) -> float:
        return shuffled_approximate_delta(event.epsilon, event.delta, records, e)

    low, high = 0.0, event.epsilon
    for _ in range(40):
        first, second = low + (high - low) / 3, high - (high - low) / 3
        low, high = (first, high) if bound(first) > bound(second) else (low, second)
    return _Curve(lambda e: event.delta if e >= event.epsilon else bound(min(e, high)))


def _local(events: tuple[Event, ...], kinds: set[type[Event]], adjacency: Adjacency) -> _Curve | None:
    """The price of what people perturbed themselves, and of papers' claims; None for other events."""
    if len(events) == 1 and isinstance(events[0], Claimed):
        return _claimed(events[0], adjacency)
    if len(events) == 1 and isinstance(events[0], Shuffled):
        return _shuffled(events[0], adjacency)
    if kinds <= {Gaussian, Response} and Response in kinds:
        return _response(events, adjacency)
    if kinds <= {Gaussian, InputMinimum} and sum(isinstance(event, InputMinimum) for event in events) == 1:
        return _input(events, adjacency)
    return None


def _relation(adjacency: Adjacency) -> Any:
    relations = dp_accounting.NeighboringRelation
    return relations.REPLACE_ONE if adjacency == "replace-one" else relations.ADD_OR_REMOVE_ONE


@functools.lru_cache(maxsize=24)  # a sampled curve may hold some ten megabytes
def _curve(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    kinds = {type(event) for event in events}
    noises = {event.noise for event in events if isinstance(event, Objective)}
    if kinds == {Gaussian}:
        return _gdp(_mu(events, adjacency))
    local = _local(events, kinds, adjacency)
    if local is not None:
        return local
    if kinds <= {Sphere, Objective} and kinds and noises <= {"sphere"}:
        return _pure(events, adjacency)
    objectives = sum(isinstance(event, Objective) for event in events)
    if kinds <= {Gaussian, Objective} and objectives == 1 and noises == {"gaussian"}:
        return _objective(events, adjacency)
    if kinds <= {Gaussian, PoissonGaussian} and kinds:
        return _poisson(events, adjacency)
    if kinds <= {Gaussian, SubsetGaussian} and kinds:
        return _subset(events, adjacency)
    names = ", ".join(sorted(kind.__name__ for kind in kinds)) or "nothing"
    refuse(f"No accountant knows how to price {names} together.")


def delta(events: tuple[Event, ...], epsilon: float, adjacency: Adjacency) -> float:
    """The delta that the events have at this epsilon, or an upper bound on it."""
    check(epsilon >= 0, f"Expected epsilon={epsilon} >= 0.")
    with _within_reach():
        return min(1.0, _curve(events, adjacency).at(epsilon))


def epsilon(events: tuple[Event, ...], delta: float, adjacency: Adjacency) -> float:
    """The epsilon that the events have at this delta, or an upper bound on it; ``inf`` where there is none."""
    check(0 <= delta < 1, f"Expected 0 <= delta={delta} < 1.")
    pure = all(isinstance(e, Sphere | Claimed | Response) or getattr(e, "noise", "") == "sphere" for e in events)
    if delta == 0 and not pure:
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
