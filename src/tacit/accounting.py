r"""The price of what was released: events -> delta(epsilon) and epsilon(delta), under both adjacencies.

| events | rule | exactness |
| --- | --- | --- |
| Gaussian, any number | Gaussian differential privacy: mu = sqrt(sum count (sensitivity/scale)^2) | exact |
| PoissonGaussian with Gaussian | privacy loss distributions of ``dp-accounting``, rounded pessimistically | tight to 1e-3 |
| SubsetGaussian with Gaussian | Renyi differential privacy of ``dp-accounting`` (replace-one) | upper bound |
| Objective (Gaussian noise) with Gaussian | the loss bound of :func:`objective_delta`, then basic composition | upper bound |
| Sphere and Objective (sphere noise) | pure epsilon, added | upper bound |

Anything else is refused. All answers are rounded to the private side.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dp_accounting
from dp_accounting import pld, rdp
from scipy.integrate import quad
from scipy.special import gammaln, log_ndtr, ndtr

from tacit.checks import check, refuse
from tacit.events import Event, Gaussian, Objective, PoissonGaussian, Sphere, SubsetGaussian
from tacit.types import Adjacency

_UP = 1.0 + 1e-9
_HIGHEST = 1e6


def gaussian_delta(mu: float, epsilon: float) -> float:
    r"""The exact delta(epsilon) of a Gaussian mechanism with ``mu = sensitivity / scale``.

    .. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \Phi(-\epsilon/\mu - \mu/2)

    Any real epsilon is allowed. Edges: mu = 0 gives ``max(0, 1 - e^epsilon)``.
    Reference: Balle & Wang 2018, Theorem 5; Dong, Roth & Su 2022.
    """
    if mu == 0:
        return max(0.0, -math.expm1(epsilon))
    upper = float(log_ndtr(-epsilon / mu + mu / 2))
    lower = epsilon + float(log_ndtr(-epsilon / mu - mu / 2))
    return max(0.0, math.exp(upper) * -math.expm1(min(0.0, lower - upper)))


def objective_delta(mu: float, epsilon: float, directions: int = 1) -> float:
    r"""delta(epsilon) of a privacy loss of at most ``mu^2/2 + mu r`` with r ~ chi(directions).

    .. math:: \delta(\epsilon) = E[(1 - e^{\epsilon - \mu^2/2 - \mu r})_+]

    For one direction, with t = max(0, (epsilon - mu^2/2)/mu): ``2 [Phi(-t) - e^epsilon Phi(-t-mu)]``.
    The determinant term of objective perturbation is taken off epsilon by the caller.
    Reference: Redberg, Koskela & Wang 2023; the proof is on the docs' page "Objective perturbation".
    """
    start = max(0.0, (epsilon - mu**2 / 2) / mu)
    if directions == 1:
        upper = float(log_ndtr(-start))
        lower = epsilon + float(log_ndtr(-start - mu))
        return min(1.0, max(0.0, 2 * math.exp(upper) * -math.expm1(min(0.0, lower - upper))))
    shift = epsilon - mu**2 / 2
    constant = (1 - directions / 2) * math.log(2) - float(gammaln(directions / 2))

    def integrand(r: float) -> float:
        density = math.exp((directions - 1) * math.log(r) - r * r / 2 + constant) if r > 0 else 0.0
        return density * -math.expm1(shift - mu * r)

    peak = max(start, math.sqrt(max(0, directions - 1)))
    value = sum(
        quad(integrand, a, b, epsrel=1e-10, epsabs=0, limit=200)[0]
        for a, b in ((start, peak + 1e-3), (peak + 1e-3, peak + 4.0), (peak + 4.0, peak + 40.0))
    )
    return min(1.0, float(value) * (1 + 1e-7))


def objective_loss_delta(mu: float, epsilon: float, directions: int, adjacency: Adjacency) -> float:
    r"""delta(epsilon) of one differing record's Gaussian part in objective perturbation.

    Add-remove: one gradient, ``directions`` dimensions. Replace-one: two gradients, of two rows that need not be
    parallel, so 2 * directions dimensions hold; for one direction each, the parallel pair is the worst whenever
    ``epsilon >= mu^2/2 + sqrt(3) mu`` (lemma on the docs' page "Objective perturbation"), and one dimension is enough.
    """
    if adjacency == "add-remove":
        return objective_delta(mu, epsilon, directions)
    if directions == 1 and epsilon >= mu**2 / 2 + math.sqrt(3) * mu:
        return objective_delta(mu, epsilon, 1)
    return objective_delta(mu, epsilon, 2 * directions)


@dataclass(frozen=True)
class _Curve:
    """A priced list of events: delta as a function of epsilon, and where it is cheap, the inverse."""

    delta: Callable[[float], float]
    inverse: Callable[[float], float] | None = None

    def epsilon(self, delta: float) -> float:
        if self.inverse is not None:
            return max(0.0, self.inverse(delta))
        if self.delta(0.0) <= delta:
            return 0.0
        low, high = 0.0, 1.0
        while self.delta(high) > delta:
            low, high = high, 2 * high
            if high > _HIGHEST:
                return math.inf
        while high - low > 1e-10 * high:
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.delta(middle) > delta else (low, middle)
        return high


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
    total = 0.0
    for event in events:
        if isinstance(event, Sphere):
            total += _covered(event.sensitivity.under(adjacency), adjacency) / event.scale
        elif isinstance(event, Objective):
            total += (1 if adjacency == "add-remove" else 2) * event.gradient / event.scale + event.determinant
    # Among all pure mechanisms randomised response has the largest delta at a smaller epsilon (Kairouz et al. 2015).
    return _Curve(
        lambda e: 0.0 if e >= total else -math.expm1(e - total) / (1 + math.exp(-total)),
        lambda d: total if d == 0 else total + math.log(max(math.exp(-total), 1 - d * (1 + math.exp(-total)))),
    )


def _objective(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    (main,) = (event for event in events if isinstance(event, Objective))
    mu = (1 if adjacency == "add-remove" else 2) * main.gradient / main.scale
    extra = _mu(events, adjacency)
    share = 8 * extra + extra**2 / 2
    rest = gaussian_delta(extra, share) if extra else 0.0
    return _Curve(
        lambda e: _UP * objective_loss_delta(mu, e - main.determinant - share, main.directions, adjacency) + rest
    )


def _poisson(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    relation = _relation(adjacency)
    sampled = [event for event in events if isinstance(event, PoissonGaussian)]
    factor = 1 if adjacency == "add-remove" else 2
    mu = _mu(events, adjacency)
    unsampled = math.sqrt(mu**2 + sum(e.count * (factor * e.clip / e.scale) ** 2 for e in sampled))
    widest = max(factor * e.clip / e.scale for e in sampled)
    if widest > 25:  # a single step already costs hundreds: the bound without sampling is enough, and cannot overflow
        return _gdp(unsampled)
    interval = 1e-4 * max(1.0, widest**2)
    total = pld.privacy_loss_distribution.identity(value_discretization_interval=interval)
    if mu:
        total = total.compose(
            pld.privacy_loss_distribution.from_gaussian_mechanism(1 / mu, value_discretization_interval=interval)
        )
    for event in sampled:
        one = pld.privacy_loss_distribution.from_gaussian_mechanism(
            event.scale / event.clip,
            value_discretization_interval=interval,
            sampling_prob=event.rate,
            neighboring_relation=relation,
        )
        total = total.compose(one.self_compose(event.count))
    plain = _gdp(unsampled)
    return _Curve(
        lambda e: min(plain.delta(e), float(total.get_delta_for_epsilon(e))),
        lambda d: min(plain.epsilon(d), float(total.get_epsilon_for_delta(d))),
    )


def _subset(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    if adjacency != "replace-one":
        refuse("Batches without replacement are analysed for replace-one neighbours only. Use Poisson sampling.")
    accountant: Any = rdp.RdpAccountant(neighboring_relation=_relation("replace-one"))
    for event in events:
        if isinstance(event, SubsetGaussian):
            inner = dp_accounting.GaussianDpEvent(event.scale / (2 * event.clip))
            drawn = dp_accounting.SampledWithoutReplacementDpEvent(event.records, event.batch, inner)
            accountant.compose(drawn, event.count)
    mu = _mu(events, adjacency)
    if mu:
        accountant.compose(dp_accounting.GaussianDpEvent(1 / mu))
    return _Curve(lambda e: float(accountant.get_delta(e)), lambda d: float(accountant.get_epsilon(d)))


def _gdp(mu: float) -> _Curve:
    return _Curve(lambda e: _UP * gaussian_delta(mu, e))


def _relation(adjacency: Adjacency) -> Any:
    relations = dp_accounting.NeighboringRelation
    return relations.REPLACE_ONE if adjacency == "replace-one" else relations.ADD_OR_REMOVE_ONE


@functools.lru_cache(maxsize=256)
def _curve(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    kinds = {type(event) for event in events}
    noises = {event.noise for event in events if isinstance(event, Objective)}
    if kinds == {Gaussian}:
        return _gdp(_mu(events, adjacency))
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
    return min(1.0, _curve(events, adjacency).delta(epsilon))


def epsilon(events: tuple[Event, ...], delta: float, adjacency: Adjacency) -> float:
    """The epsilon that the events have at this delta, or an upper bound on it; ``inf`` where there is none."""
    check(0 <= delta < 1, f"Expected 0 <= delta={delta} < 1.")
    if delta == 0 and not all(isinstance(e, Sphere) or getattr(e, "noise", "") == "sphere" for e in events):
        return math.inf
    return _curve(events, adjacency).epsilon(delta)


def gaussian_mu(epsilon: float, delta: float) -> float:
    """The largest mu whose Gaussian mechanism is (epsilon, delta)-private; rounded down."""
    check(0 < delta < 1, f"Gaussian noise needs 0 < delta={delta} < 1.")
    low, high = 0.0, 1.0
    while gaussian_delta(high, epsilon) <= delta:
        low, high = high, 2 * high
    while high - low > 1e-12 * high:
        middle = 0.5 * (low + high)
        low, high = (middle, high) if _UP * gaussian_delta(middle, epsilon) <= delta else (low, middle)
    return low


def normal_tail(x: float) -> float:
    """P(Z > x) for a standard normal Z."""
    return float(ndtr(-x))
