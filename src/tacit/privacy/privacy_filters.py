r"""Filters: how much of (epsilon, delta) a list of releases has used, when each may depend on the results before it.

A ledger cannot price its list as if it had been fixed in advance: who asks next has seen what came out, so the next
noise is random, and joint composition is not proven for that. What is proven are *filters*:

| filter | an entry costs | the filter holds while the sum is at most |
| --- | --- | --- |
| Gaussian | mu^2, where it is mu-GDP | mu_B^2 with delta_Gauss(epsilon; mu_B) = the filter's share of delta |
| Renyi, one for each of a few orders a | D_a | epsilon + log(a share)/(a-1) - log(1 - 1/a) |
| basic | epsilon at its own part of the filter's share | epsilon |

A list is certified while one filter holds for all of it. Shares of delta add up to delta, because which filter holds
at the end may depend on what came out. A release that is alone in its list needs no filter: it costs what it costs.
Proofs: the docs' page "The ledger". All sums are rounded up, all limits down.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, ndtri

from tacit.checks import PrivacyError, check
from tacit.privacy import accounting
from tacit.privacy.events import LEAST, Event, Gaussian, PoissonGaussian, Sensitivity, SubsetGaussian
from tacit.privacy.renyi import Points, curve_points, renyi_prices
from tacit.rounding import U, up
from tacit.types import Adjacency

GAUSSIAN, RENYI, BASIC = 0.5, 0.35, 0.15
"""Shares of delta: of the Gaussian filter, of all orders together, and of the basic filter."""
FACTORS = (0.7, 1.0, 1.4, 2.0, 4.0)
"""Orders, in units of the one that admits most Gaussian releases."""
SPARE = 0.01
"""The part of an order's share that pays for what is cut off privacy losses."""


@dataclass(frozen=True)
class Price:
    """What entries cost on each filter; infinite where a filter cannot carry them."""

    gaussian: float = 0.0
    renyi: tuple[float, ...] = ()
    basic: float = 0.0

    @property
    def values(self) -> tuple[float, ...]:
        """All filters' in one order."""
        return (self.gaussian, self.basic, *self.renyi)

    def plus(self, other: Price) -> Price:
        """Both together, rounded up."""
        renyi = tuple(_sum(one, two) for one, two in zip(self.renyi, other.renyi, strict=True))
        return Price(_sum(self.gaussian, other.gaussian), renyi, _sum(self.basic, other.basic))

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON, which knows no infinity: None."""
        finite = [value if math.isfinite(value) else None for value in self.values]
        return {"gaussian": finite[0], "basic": finite[1], "renyi": finite[2:]}

    @classmethod
    def from_dict(cls, data: Any) -> Price:
        """What :meth:`to_dict` described."""
        values = [math.inf if v is None else float(v) for v in (data["gaussian"], data["basic"], *data["renyi"])]
        check(all(value >= 0 for value in values), "Expected a price to be made of numbers >= 0.")
        return cls(values[0], tuple(values[2:]), values[1])


def _sum(one: float, two: float) -> float:
    """The sum, rounded up where it is not exact (Knuth's two-sum tells)."""
    total = one + two
    if math.isinf(total):
        return total
    back = total - one
    lost = (one - (total - back)) + (two - back)
    return math.nextafter(total, math.inf) if lost > 0 else total


def block(number: int) -> int:
    """The block of an entry: 0 for the first, then blocks of 1, 2, 4, ... entries, all with the same part of delta.

    So what an entry costs can be computed before it is known which number it gets.
    """
    return (number - 1).bit_length()


def part(place: int) -> float:
    """The part of a delta that an entry of this block has: block k has 1/((k+1)(k+2)) of it; all add up to 1."""
    return 1.0 / ((place + 1) * (place + 2) * max(1.0, 2.0 ** (place - 1)))


@dataclass(frozen=True)
class Filters:
    """The filters of one budget; ``orders`` are fixed with it (:func:`orders_for`), before anything is released.

    Edges: with delta = 0 only the basic filter is left, and only pure epsilons pass it.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    orders: tuple[float, ...]

    @functools.cached_property
    def most(self) -> Price:
        """What each filter can carry; below zero where it carries nothing."""
        if self.delta == 0:
            return Price(-1.0, tuple(-1.0 for _ in self.orders), self.epsilon)
        mu = accounting.gaussian_mu(self.epsilon, GAUSSIAN * self.delta)
        renyi = tuple(_renyi_limit(self.epsilon, self._order_share, order) for order in self.orders)
        return Price(mu**2 * (1 - 8 * U), renyi, self.epsilon)

    @property
    def _order_share(self) -> float:
        return RENYI * self.delta / len(self.orders)

    def price(self, events: tuple[Event, ...], number: int) -> Price:
        """What these events cost as the entry of this number, or any other of its block."""
        return _price(self, events, block(number))

    def alone(self, events: tuple[Event, ...]) -> bool:
        """Whether the events, and nothing else ever, fit the budget."""
        if accounting.epsilon(events, self.delta, self.adjacency) <= self.epsilon:
            return True
        return self.delta > 0 and accounting.delta(events, self.epsilon, self.adjacency) <= self.delta

    def shares(self, prices: Sequence[Price]) -> tuple[str, list[float]]:
        """The filter that these together use the least, in words, and each one's part of what it carries."""
        names = ("Gaussian", "basic", *(f"Renyi, order {order:.3g}" for order in self.orders))
        parts = [
            [used / most if most > 0 else math.inf for used, most in zip(price.values, self.most.values, strict=True)]
            for price in prices
        ]
        best = min(range(len(names)), key=lambda place: sum(one[place] for one in parts))
        return names[best], [one[best] for one in parts]

    def certify(self, total: Price) -> bool:
        """Whether a filter carries all of it."""
        return any(used <= most for used, most in zip(total.values, self.most.values, strict=True))

    def spent(self, total: Price) -> float:
        """The epsilon of the smallest budget, with this delta and these filters, that would carry the total."""
        found = [total.basic]
        if self.delta > 0:
            found += [gaussian_epsilon(total.gaussian, GAUSSIAN * self.delta)]
            limits = zip(total.renyi, self.orders, strict=True)
            found += [renyi_epsilon(used, self._order_share, order) for used, order in limits]
        return min(found)

    def room(self, total: Price, number: int) -> float:
        """The epsilon, at the whole delta, of the largest Gaussian release that fits as the entry of this number.

        With delta = 0, of the largest pure one. Rounded down; 0 where there is no room.
        """
        if self.delta == 0:
            return max(0.0, (self.epsilon - total.basic) * (1 - 1e-9))
        squares = [self.most.gaussian - total.gaussian]
        for used, most, order in zip(total.renyi, self.most.renyi, self.orders, strict=True):
            squares.append(2 * (most - used) / order)
        left = self.epsilon - total.basic
        if left > 0:
            squares.append(accounting.gaussian_mu(left, BASIC * self.delta * part(block(number))) ** 2)
        return gaussian_epsilon(max(0.0, *squares), self.delta) * (1 - 1e-7)


def orders_for(epsilon: float, delta: float) -> tuple[float, ...]:
    """The Renyi orders of a budget: around the one that admits the most Gaussian releases, and larger ones.

    They follow from epsilon and delta alone, and are written down with the budget.
    """
    if delta == 0:
        return (2.0,)
    best = best_order(epsilon, RENYI * delta / len(FACTORS))
    return tuple(round(1 + (best - 1) * factor, 6) for factor in FACTORS)


def best_order(epsilon: float, share: float) -> float:
    """The order at which a budget admits the most Gaussian releases."""
    return float(max(1 + np.geomspace(1e-3, 1e6, 2000), key=lambda order: _renyi_limit(epsilon, share, order) / order))


def _renyi_limit(epsilon: float, share: float, order: float) -> float:
    """The D_a at which e^{(a-1)(D_a - epsilon)} (1 - 1/a)^{a-1} / a is the share, less SPARE of it; rounded down."""
    value = epsilon + math.log((1 - SPARE) * share * order) / (order - 1) - math.log1p(-1 / order)
    return value - 1e-12 * (1 + abs(epsilon) + abs(value))


def renyi_epsilon(used: float, share: float, order: float) -> float:
    """The epsilon, at this share of delta, of what has this D_a."""
    return max(0.0, used - _renyi_limit(0.0, share, order))


def gaussian_epsilon(square: float, delta: float) -> float:
    """The epsilon of a mu-GDP release, from mu^2; 0 without one, and infinite where there is no such mu."""
    mu = math.sqrt(square)
    if mu < LEAST or math.isinf(mu):
        return 0.0 if mu < LEAST else math.inf
    return accounting.epsilon((Gaussian(Sensitivity(mu, mu), 1.0),), delta, "replace-one")


@functools.lru_cache(maxsize=4096)
def _price(filters: Filters, events: tuple[Event, ...], place: int) -> Price:
    """Every filter's price, at most once for each block."""
    adjacency, share = filters.adjacency, part(place)
    basic = _epsilon(events, BASIC * filters.delta * share, adjacency)
    spare = SPARE * RENYI * filters.delta / len(filters.orders) * share
    renyi = renyi_costs(events, filters.orders, spare, adjacency)
    return Price(gaussian_cost(events, adjacency), renyi, basic)


def gaussian_cost(events: tuple[Event, ...], adjacency: Adjacency) -> float:
    """mu^2 of all events together; infinite where no mu is known."""
    return up(sum(_square(event, adjacency) for event in events))


def renyi_costs(
    events: tuple[Event, ...], orders: tuple[float, ...], spare: float, adjacency: Adjacency
) -> tuple[float, ...]:
    """D_a of all events together for each order, up to probability ``spare``; infinite where that is 0."""
    if spare == 0:
        return tuple(math.inf for _ in orders)
    if all(isinstance(event, Gaussian) for event in events):
        square = sum(_square(event, adjacency) for event in events)
        return tuple(up(order * square / 2) for order in orders)
    end = _epsilon(events, spare, adjacency)
    return renyi_prices(_points(events, adjacency, _rung(end)), orders, spare)


@functools.lru_cache(maxsize=4096)
def _epsilon(events: tuple[Event, ...], delta: float, adjacency: Adjacency) -> float:
    """The price at a delta; infinite where there is none."""
    try:
        return accounting.epsilon(events, delta, adjacency)
    except PrivacyError:
        return math.inf


def _rung(end: float) -> float:
    """The next power of 1.25, so that entries of several blocks share the points of a curve."""
    return 1.25 ** math.ceil(math.log(max(end, 1e-9), 1.25) + 1e-6) if math.isfinite(end) else 1.0


@functools.lru_cache(maxsize=256)
def _points(events: tuple[Event, ...], adjacency: Adjacency, end: float) -> Points:
    def delta(e: float) -> float:
        try:
            return accounting.delta(events, e, adjacency)
        except PrivacyError:
            return 1.0

    return curve_points(delta, end)


def _square(event: Event, adjacency: Adjacency) -> float:
    r"""mu^2 of a release that is mu-GDP; infinite where no mu is known.

    A sample costs no more than all records. A pure epsilon is mu-GDP with mu = 2 Phi^-1(1/(1 + e^-epsilon)): the
    trade-off function of randomised response is two straight lines that meet where it equals its argument, and the
    Gaussian's is convex, has the same ends, and meets it there. Below 1e-4 the difference from a half has too few
    digits, and mu is at most sqrt(pi/2) epsilon: mu = 2 Phi^-1(1/2 + tanh(epsilon/2)/2) is sqrt(pi/2) epsilon
    (1 - (4 - pi) epsilon^2/48 + ...).
    """
    factor = 1 if adjacency == "add-remove" else 2
    if isinstance(event, Gaussian):
        return up(event.count * (event.sensitivity.under(adjacency) / event.scale) ** 2)
    if isinstance(event, PoissonGaussian) or (isinstance(event, SubsetGaussian) and adjacency == "replace-one"):
        return up(event.count * (factor * event.clip / event.scale) ** 2)
    epsilon = _epsilon((event,), 0.0, adjacency)
    mu = math.sqrt(math.pi / 2) * epsilon if epsilon < 1e-4 else 2 * float(ndtri(expit(-epsilon)))
    return mu**2 * (1 + 1e-9)
