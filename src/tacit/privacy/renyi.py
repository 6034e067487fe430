r"""The Renyi price of any release, from its curve delta(epsilon) alone: an upper bound.

With r = dP/dQ and a > 1, Taylor's formula with the integral as the remainder, at r = 1, is

.. math:: r^a = 1 + a (r - 1) + a (a - 1) \left[\int_1^\infty \gamma^{a-2} (r - \gamma)_+ \, d\gamma
          + \int_0^1 \gamma^{a-2} (\gamma - r)_+ \, d\gamma\right]

and the means of (r - gamma)_+ and of (gamma - r)_+ under Q are delta(log gamma) and gamma delta(-log gamma), of P
against Q and of Q against P. Both are at most the curve of neighbours in either order, so

.. math:: e^{(a-1) D_a(P \| Q)} \le 1 + a (a - 1) \int_0^\infty \left[e^{(a-1) e} (\delta(e) - s)_+
          + e^{-a e} \delta(e)\right] de

with s = 0 (Sason & Verdu 2016). For ``spare`` s > 0 it is the moment of min(r, c), c such that probability s of P is
cut off: what a filter needs, for which s is added to delta (docs' page "The ledger").

The true delta is convex and falls in gamma = e^e, so chords between computed points of an upper bound are above it, and
so are chords of (delta - s)_+; a chord's integral against a power of gamma has a closed form. The grid decides how
tight the bound is, and never whether it holds.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from tacit.types import Array

POINTS = 96
"""Chords: with so many they add some 0.2% to prices."""
_BEND = 1.5
"""The power by which points are closer to 0."""
_SHORTEST = 1e-6
"""The least epsilon at which a grid ends: closed forms of shorter chords would lose digits."""
_SLACK = 1 + 1e-6
"""More than closed forms of chords, and sums of them, lose to rounding."""


class Points(NamedTuple):
    """A curve at some epsilons, from 0 on: bounds from above on the delta there."""

    epsilons: Array
    deltas: Array


def curve_points(delta: Callable[[float], float], end: float) -> Points:
    """The curve up to an epsilon, at more points where curves bend most."""
    grid = max(end, _SHORTEST) * np.linspace(0.0, 1.0, POINTS + 1) ** _BEND
    # No delta exceeds that of a smaller epsilon, whatever a bound on it does.
    return Points(grid, np.minimum.accumulate([delta(float(point)) for point in grid]))


def renyi_prices(points: Points, orders: tuple[float, ...], spare: float) -> tuple[float, ...]:
    """D_a for each of the orders, up to probability ``spare``.

    Edges: infinite unless delta falls to ``spare`` within the points.
    """
    cut = np.maximum(points.deltas - spare, 0.0)
    if cut[-1] > 0:
        return tuple(math.inf for _ in orders)
    return tuple(_price(order, points.epsilons, cut, points.deltas) for order in orders)


def _price(order: float, grid: Array, cut: Array, curve: Array) -> float:
    rest = math.log(max(curve[-1], 1e-300)) - order * grid[-1] - math.log(order)  # of e^{-a e} delta(e) past the end
    parts = [_chords(order - 1, grid, cut), _chords(-order, grid, curve), rest]
    log_moment = math.log(order) + math.log(order - 1) + float(logsumexp(parts)) + math.log(_SLACK)
    return float(np.logaddexp(0.0, log_moment)) / (order - 1) * _SLACK


def _chords(power: float, grid: Array, values: Array) -> float:
    """The logarithm of the integral of e^{power e} times the chords, which are straight in gamma = e^e.

    On a chord of length h that begins at c, in units of e^{power c}, the falling part (e^h - e^t) / (e^h - 1) weighs
    ``[e^h (e^{power h} - 1)/power - (e^{(power+1) h} - 1)/(power+1)] / (e^h - 1)`` and both parts together
    ``(e^{power h} - 1)/power``.
    """
    h = np.diff(grid)
    # In units of the larger end, so that nothing overflows.
    top = np.maximum(power * grid[:-1], power * grid[1:])
    scale = np.exp(power * grid[:-1] - top)
    whole, next_whole = scale * np.expm1(power * h) / power, scale * np.expm1((power + 1) * h) / (power + 1)
    first = np.maximum((np.exp(h) * whole - next_whole) / np.expm1(h), 0.0)
    inside = values[:-1] * first + values[1:] * np.maximum(whole - first, 0.0)
    with np.errstate(divide="ignore"):
        return float(logsumexp(top + np.log(inside)))
