r"""The price of what was released: events -> delta(epsilon) and epsilon(delta), under both adjacencies.

| events | rule | exactness |
| --- | --- | --- |
| Gaussian, any number | Gaussian differential privacy: mu = sqrt(sum count (sensitivity/scale)^2) | exact |
| PoissonGaussian with Gaussian | privacy loss distributions of ``dp-accounting``, pessimistic | tight to 1e-3 |
| SubsetGaussian with Gaussian | Renyi differential privacy of ``dp-accounting`` (replace-one) | upper bound |
| Objective (Gaussian noise) with Gaussian | corners of :func:`objective_delta`, then basic composition | upper bound |
| Sphere and Objective (sphere noise) | pure epsilon, added | upper bound |
| InputMinimum with Gaussian | :func:`input_delta`, then basic composition (replace-one) | upper bound |
| Response with Gaussian | a pure and a Gaussian release, multiplied (replace-one) | exact for randomised response |
| Shuffled, alone | the pair of binomials of :mod:`tacit.shuffle` (replace-one) | upper bound |
| Claimed, alone | the paper's word, replace-one only | none: see the theorem's status |

Anything else is refused. All answers are rounded to the private side.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import dp_accounting
import numpy as np
from dp_accounting import pld, rdp
from scipy.integrate import quad
from scipy.special import chdtri, erfcx, gammaln, log_ndtr

from tacit.checks import check, refuse
from tacit.events import (
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
from tacit.shuffle import shuffled_approximate_delta
from tacit.types import Adjacency, Array

_UP = 1.0 + 1e-9
_HIGHEST = 1e6


def gaussian_delta(mu: float, epsilon: float) -> float:
    r"""The exact delta(epsilon) of a Gaussian mechanism with ``mu = sensitivity / scale``.

    .. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \Phi(-\epsilon/\mu - \mu/2)

    Any real epsilon is allowed. Edges: mu = 0 gives ``max(0, 1 - e^epsilon)``.
    Reference: Balle & Wang 2018, Theorem 5; Dong, Roth & Su 2022.
    """
    if mu == 0:
        return -math.expm1(min(0.0, epsilon))
    near, far = epsilon / mu - mu / 2, epsilon / mu + mu / 2
    if near > -5:  # phi(near) [R(near) - R(far)] with Mills' ratio R: keeps its digits for tiny mu
        ratios = float(erfcx(near / math.sqrt(2))) - float(erfcx(far / math.sqrt(2)))
        return max(0.0, 0.5 * math.exp(-0.5 * near * near) * ratios)
    upper, lower = float(log_ndtr(-near)), epsilon + float(log_ndtr(-far))
    return max(0.0, math.exp(upper) * -math.expm1(min(0.0, lower - upper)))


def chi_delta(mu: float, epsilon: float, directions: int) -> float:
    r"""delta(epsilon) of a privacy loss of at most ``mu^2/2 + mu r`` with r ~ chi(directions).

    .. math:: \delta(\epsilon) = E[(1 - e^{\epsilon - \mu^2/2 - \mu r})_+]

    For one direction, with t = max(0, (epsilon - mu^2/2)/mu): ``2 [Phi(-t) - e^epsilon Phi(-t-mu)]``.
    Reference: Redberg, Koskela & Wang 2023.
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

    peak = max(start, math.sqrt(directions - 1))
    value = sum(
        quad(integrand, a, b, epsrel=1e-10, epsabs=0, limit=200)[0]
        for a, b in ((start, peak + 1e-3), (peak + 1e-3, peak + 4.0), (peak + 4.0, peak + 40.0))
    )
    return min(1.0, float(value) * (1 + 1e-7))


def log_determinant(event: Objective) -> float:
    """Largest log ratio of Hessian determinants when one record is added: ``k log(1 + trace/(k Lambda))``, rank k."""
    if event.geometry == "simplex":
        rank = event.outputs - 1
        return rank * math.log1p(event.trace / (rank * event.regularization))
    return event.outputs * math.log1p(event.trace / event.regularization)


@dataclass(frozen=True)
class Corner:
    """``count`` corners: log-determinant ``offset``, and a gradient difference of ``norm`` times the slope bound."""

    count: int
    offset: float
    norm: float


TANGENTS = ((1.0,), (0.5, 1.0), (0.5, 0.75, 1.0), (0.5, 0.7, 0.85, 1.0))
"""Where the logistic log-determinant is bounded by tangents; the best of these bounds is used."""


def _bends(ratio: float, touching: tuple[float, ...]) -> list[tuple[float, float]]:
    """Knots (s, height) of the tangents to ``D(s) = log(1 + ratio s (1 - s))``, a concave function, from s = 0 to 1."""
    lines = []
    for u in touching:
        rise = ratio * (1 - 2 * u) / (1 + ratio * u * (1 - u))
        lines.append((rise, math.log1p(ratio * u * (1 - u)) - rise * u))
    knots = [(0.0, lines[0][1])]
    for (rise, foot), (next_rise, next_foot) in itertools.pairwise(lines):
        s = (next_foot - foot) / (rise - next_rise)
        knots.append((s, foot + rise * s))
    return [*knots, (1.0, 0.0)]


def corners(event: Objective, adjacency: Adjacency) -> list[list[Corner]]:
    r"""The finitely many cases that bound the privacy loss of objective perturbation; each inner list is a bound.

    The loss is at most ``max_g D(g) + q(g)``, q(g) = <b, g>/s^2 + ||g||^2/(2 s^2), over the differences g of gradients
    that the differing record(s) can have. q is convex and D has a piecewise linear majorant, so corners suffice, and
    each corner's q is the privacy loss of a Gaussian mechanism:

    .. math:: \delta(\epsilon) \le \sum_j n_j \, \delta_{Gauss}(\epsilon - D_j; \mu_j)

    * logistic: g = s v, 0 <= s <= 1, with Hessian trace 4 t s(1-s), so D(s) = log(1 + 4t s(1-s)/Lambda) vanishes
      where the gradient is largest: tangents to D give the majorant;
    * monotone: g = s v, 0 <= s <= 1; two-sided: g = s v, -1 <= s <= 1; simplex: g in conv{0, e_j - e_y} x; D constant.

    Replace-one takes all pairs of corners. The proof is on the docs' page "Objective perturbation".
    """
    one = adjacency == "add-remove"
    offset = log_determinant(event)
    if event.geometry == "logistic":
        ratio = 4 * event.trace / event.regularization
        return [
            [
                Corner(1, height, s + other)
                for s, height in _bends(ratio, touching)
                for other in ((0,) if one else (0, 1))
            ]
            for touching in TANGENTS
        ]
    if event.geometry == "monotone":
        still = Corner(1, offset, 0.0)
        return [[still, Corner(1, offset, 1.0)] if one else [still, Corner(1, offset, 2.0), Corner(2, offset, 1.0)]]
    if event.geometry == "two-sided":
        return [[Corner(2, offset, 1.0)] if one else [Corner(4, offset, 2.0)]]
    others = event.outputs - 1
    still = Corner(1, offset, 0.0)
    if one:
        return [[still, Corner(others, offset, 1.0)]]
    far = Corner(others * (others - 1), offset, math.sqrt(3.0))
    return [[still, Corner(others, offset, 2.0), far, Corner(2 * others, offset, 1.0)]]


def objective_delta(event: Objective, epsilon: float, adjacency: Adjacency) -> float:
    """delta(epsilon) of objective perturbation with Gaussian noise: the best sum over :func:`corners`.

    Two refinements: for two-sided slopes under replace-one the four corners have norms ``m cos`` and ``m sin`` of one
    angle, and delta is convex in m^2 while ``epsilon^2 >= m^2 + m^4/4``, so two full corners bound all four. Several
    independent models have too many corners: their gradients' subspace gives a chi bound instead.
    """
    unit = event.slope / event.scale
    left = epsilon - log_determinant(event)
    if event.outputs > 1 and event.geometry != "simplex":
        factor = 1 if adjacency == "add-remove" else 2
        return chi_delta(factor * math.sqrt(event.outputs) * unit, left, factor * event.outputs)
    full = 2 * unit
    if event.geometry == "two-sided" and adjacency == "replace-one" and left > 0 and left**2 >= full**2 + full**4 / 4:
        return min(1.0, 2 * gaussian_delta(full, left))
    bounds = (
        sum(c.count * gaussian_delta(c.norm * unit, epsilon - c.offset) for c in cases)
        for cases in corners(event, adjacency)
    )
    return min(1.0, *bounds)


def _convex_deltas(squares: Array, epsilon: float) -> Array:
    """A convex majorant of mu^2 -> delta_Gauss(epsilon; mu), for epsilon > 0.

    The function is convex up to ``mu^2 = 2 (sqrt(1 + epsilon^2) - 1)`` and concave after, where its tangent continues
    it.
    """
    bend = 2 * (math.sqrt(1 + epsilon**2) - 1)
    mu = np.sqrt(np.clip(squares, 1e-300, bend))
    upper, lower = log_ndtr(mu / 2 - epsilon / mu), epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    values = np.exp(upper) * -np.expm1(np.minimum(lower - upper, 0.0))
    rise = math.exp(-0.5 * (epsilon / math.sqrt(bend) - math.sqrt(bend) / 2) ** 2) / math.sqrt(8 * math.pi * bend)
    return np.asarray(values + rise * np.maximum(squares - bend, 0.0))


ROUNDING_TAIL = 1e-12
"""Probability that the rounding errors of all submissions together are larger than the polishing noise allows for."""


def input_convexity(event: InputMinimum) -> float:
    """Lambda: a lower bound, but for probability ``tail``, on the eigenvalues of the others' noisy moments plus ridge.

    Off the span of the n - 1 rows' columns, n - 1 - d rows of pure noise are left, whatever the rows were; their
    smallest singular value is at least ``row_scale (sqrt(n-1-d) - sqrt(d) - sqrt(2 log(1/tail)))`` (Davidson & Szarek
    2001).
    """
    d = event.features
    free = math.sqrt(max(event.records - 1 - d, 0)) - math.sqrt(d) - math.sqrt(2 * math.log(1 / event.tail))
    free -= 1e-6 * math.sqrt(event.records * d)  # submissions are rounded to at most 2**-20 of their noise
    return (event.row_scale * max(free, 0.0)) ** 2 + event.ridge


def input_row(event: InputMinimum) -> float:
    """Q: an upper bound, but for probability ``tail``, on the norm of the differing contributor's noisy row."""
    return event.row + event.row_scale * math.sqrt(float(chdtri(event.features, event.tail)))


def input_delta(event: InputMinimum, epsilon: float, cells: int = 64) -> float:
    r"""delta(epsilon) of input perturbation, for replace-one neighbours.

    Given all row noise u, the model is objective perturbation over a ball with losses (q.w)^2/2 - p.w. With a = Q^2 eta
    and b = 2 cross the gradients' difference is a point of a parallelogram whose corners have norms at most X + b,
    |X - b|, Y + b and |Y - b| with X^2 + Y^2 = 4 a^2; the sum of their prices is bounded over ``cells`` intervals of X.

    .. math::
       \delta(\epsilon) \le 2\gamma + \sum_c \delta_{Gauss}(\epsilon - \log(1 + Q^2/\Lambda);\, \|c\|/\sigma_b)

    Edges: 1 where the noisy quadratic cannot be shown to be convex. The proof: docs' page "Input perturbation".
    """
    strong, row = input_convexity(event), input_row(event)
    if strong <= 0:
        return 1.0
    left = epsilon - math.log1p(row**2 / strong)
    if left <= 0:
        return 1.0
    far, side = 2 * row**2 * event.radius / event.scale, 2 * event.cross / event.scale
    edges = far * np.sqrt(np.linspace(0.5, 1.0, cells + 1))
    others = np.sqrt(np.maximum(far**2 - edges**2, 0.0))
    low, high = edges[:-1], edges[1:]
    near, wide = others[1:], others[:-1]
    sums = (
        _convex_deltas((high + side) ** 2, left)
        + _convex_deltas(np.maximum((high - side) ** 2, (low - side) ** 2), left)
        + _convex_deltas((wide + side) ** 2, left)
        + _convex_deltas(np.maximum((wide - side) ** 2, (near - side) ** 2), left)
    )
    rare = 2 * event.tail if event.row_scale else 0.0
    return min(1.0, rare + ROUNDING_TAIL + float(sums.max()))


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
            unit = event.slope * math.sqrt(1 if event.geometry == "simplex" else event.outputs) / event.scale
            single = event.geometry == "logistic" and event.outputs == 1
            whole = [[Corner(1, log_determinant(event), 1.0 if adjacency == "add-remove" else 2.0)]]
            bounds = corners(event, adjacency) if single else whole
            total += min(max(c.offset + c.norm * unit for c in cases) for cases in bounds)
    # Among all pure mechanisms randomised response has the largest delta at a smaller epsilon (Kairouz et al. 2015).
    return _Curve(
        lambda e: 0.0 if e >= total else -math.expm1(e - total) / (1 + math.exp(-total)),
        lambda d: total if d == 0 else total + math.log(max(math.exp(-total), 1 - d * (1 + math.exp(-total)))),
    )


def _objective(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    (main,) = (event for event in events if isinstance(event, Objective))
    extra = _mu(events, adjacency)
    share = 8 * extra + extra**2 / 2
    rest = gaussian_delta(extra, share) if extra else 0.0
    return _Curve(lambda e: _UP * objective_delta(main, e - share, adjacency) + rest)


def _poisson(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    relation = _relation(adjacency)
    sampled = [event for event in events if isinstance(event, PoissonGaussian)]
    factor = 1 if adjacency == "add-remove" else 2
    mu = _mu(events, adjacency)
    unsampled = math.sqrt(mu**2 + sum(e.count * (factor * e.clip / e.scale) ** 2 for e in sampled))
    widest = max(factor * e.clip / e.scale for e in sampled)
    if len(sampled) > 64:
        refuse("Expected at most 64 kinds of sampled sums to price together. Price them apart and add.")
    # Where a step, or all of them by the central limit, cost hundreds, the bound without sampling is enough: a privacy
    # loss distribution that wide would take all memory.
    # A step's variance of the loss is rate^2 (e^{m^2} - 1) for a small m, and of the order rate m^2 for a large one.
    squares = [(e.count, e.rate, min((factor * e.clip / e.scale) ** 2, 625.0)) for e in sampled]
    central = math.sqrt(sum(count * min(rate**2 * math.expm1(m), rate * m * (1 + m)) for count, rate, m in squares))
    if central > 100 or widest > 25:
        return _gdp(unsampled)
    # Buckets as fine as is useful, and never more than some millions: the whole loss is of the order of its mean, which
    # sampling keeps below rate times that of the plain Gaussian.
    mean = 0.5 * (mu**2 + sum(e.count * e.rate * (factor * e.clip / e.scale) ** 2 for e in sampled))
    interval = max(1e-4 * max(1.0, widest**2), 1e-6 * mean)
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

    def delta_of(epsilon: float) -> float:
        with np.errstate(over="ignore"):
            return min(plain.delta(epsilon), float(total.get_delta_for_epsilon(epsilon)))

    def epsilon_of(delta: float) -> float:
        with np.errstate(over="ignore"):
            return min(plain.epsilon(delta), float(total.get_epsilon_for_delta(delta)))

    return _Curve(delta_of, epsilon_of)


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
    # A random subset never costs more than all records (the hockey-stick divergence is jointly convex), and the Renyi
    # bound for large subsets is looser than that: take the smaller.
    factor = sum(e.count * (2 * e.clip / e.scale) ** 2 for e in events if isinstance(e, SubsetGaussian))
    plain = _gdp(math.sqrt(mu**2 + factor))
    return _Curve(
        lambda e: min(plain.delta(e), float(accountant.get_delta(e))),
        lambda d: min(plain.epsilon(d), float(accountant.get_epsilon(d))),
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
    return _Curve(lambda e: _UP * input_delta(main, e - share) + rest)


def _response(events: tuple[Event, ...], adjacency: Adjacency) -> _Curve:
    """Products: delta(e) = E[delta_Gauss(e - L)] over the loss L of randomised response, the worst pure mechanism."""
    _only_replace(adjacency)
    mu, total = _mu(events, adjacency), sum(event.epsilon for event in events if isinstance(event, Response))
    kept = 1 / (1 + math.exp(-total))

    def price(e: float) -> float:
        return _UP * (kept * gaussian_delta(mu, e - total) + (1 - kept) * gaussian_delta(mu, e + total))

    return _Curve(price)


def _shuffled(event: Shuffled, adjacency: Adjacency) -> _Curve:
    _only_replace(adjacency)
    return _Curve(lambda e: shuffled_approximate_delta(event.epsilon, event.delta, event.records, e))


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


@functools.lru_cache(maxsize=256)
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
    return min(1.0, _curve(events, adjacency).delta(epsilon))


def epsilon(events: tuple[Event, ...], delta: float, adjacency: Adjacency) -> float:
    """The epsilon that the events have at this delta, or an upper bound on it; ``inf`` where there is none."""
    check(0 <= delta < 1, f"Expected 0 <= delta={delta} < 1.")
    pure = all(isinstance(e, Sphere | Claimed | Response) or getattr(e, "noise", "") == "sphere" for e in events)
    if delta == 0 and not pure:
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
