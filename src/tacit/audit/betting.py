r"""Tests that may stop at any time: wagers against a claim, whose capital may grow large only if the claim is false.

A claim says of every set S of results that :math:`p \le \kappa q + d`, where p and q are its probabilities on the two
data sets: (epsilon, delta)-privacy with :math:`\kappa = e^\epsilon, d = \delta`; for a mechanism as private as a
Gaussian one, :math:`\kappa = 1` and d its total variation distance. Guess, from earlier runs, that the rates are
:math:`(p_1, q_1)`, outside the claim; let :math:`(p_0, q_0)` be the nearest point of its border,

.. math:: p_0 = \kappa q_0 + d, \quad \kappa u + v = 0, \quad
    u = \frac{p_1 - p_0}{p_0 (1 - p_0)}, \quad v = \frac{q_1 - q_0}{q_0 (1 - q_0)},

and multiply the capital, for n new runs on each side of which a and b fall into S, by

.. math:: \Big(\frac{p_1}{p_0}\Big)^a \Big(\frac{1 - p_1}{1 - p_0}\Big)^{n - a}
    \Big(\frac{q_1}{q_0}\Big)^b \Big(\frac{1 - q_1}{1 - q_0}\Big)^{n - b} .

For one run a side its mean is :math:`(1 + u(p - p_0))(1 + v(q - q_0))`, which under the claim is at most
:math:`1 - v^2 (q - q_0)^2 \le 1`. So the capital is a non-negative supermartingale, and exceeds :math:`1/\alpha` at any
time with probability at most :math:`\alpha` (Ville 1939). S, the guess and n may be chosen anew from all earlier runs.

Reference: Turner, Ly & Grunwald 2024, Generic e-variables for exact sequential k-sample tests.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from tacit.privacy.accounting import gaussian_mu
from tacit.types import Array, Budget

_ABOVE = 1e-6
_FARTHEST = 60.0


def project(p1: Array, q1: Array, grow: Array, add: Array, steps: int = 80) -> tuple[Array, Array, Array]:
    """The nearest border point (p0, q0) of ``p <= grow q + add`` to rates outside it, and what is left of its equation.

    By bisection: the derivative of the divergence along the border grows in q0.
    """
    low = np.zeros(np.broadcast(p1, q1, grow, add).shape)
    high = np.broadcast_to(np.minimum(1.0, (1.0 - add) / grow), low.shape)

    def slope(q0: Array) -> Array:
        p0 = grow * q0 + add
        return np.asarray((p0 - p1) * grow / (p0 * (1 - p0)) + (q0 - q1) / (q0 * (1 - q0)))

    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(steps):
            middle = 0.5 * (low + high)
            rising = slope(middle) > 0
            low, high = np.where(rising, low, middle), np.where(rising, middle, high)
        q0 = 0.5 * (low + high)
        return np.asarray(grow * q0 + add), q0, np.abs(slope(q0))


def log_ratio(p1: Array, p0: Array, hits: Array | float, runs: Array | float) -> Array:
    """The log likelihood ratio of so many hits."""
    return np.asarray(hits * np.log(p1 / p0) + (runs - hits) * np.log1p((p0 - p1) / (1 - p0)))


def growth(p1: Array, q1: Array, grow: Array, add: Array) -> Array:
    """How fast the capital grows, a run on each side, if these are the rates; 0 where the claim allows them."""
    outside = p1 > grow * q1 + add
    p0, q0, _ = project(p1, q1, grow, add, steps=40)
    with np.errstate(divide="ignore", invalid="ignore"):
        rate = log_ratio(p1, p0, p1, 1.0) + log_ratio(q1, q0, q1, 1.0)
    return np.where(outside, rate, 0.0)


class Wager:
    """Wagers against a row of claims, ``epsilons``, that grow; the one to be refuted is among them.

    ``epsilon`` is the largest of them up to which all were refuted at some time, at error probability ``error``: if a
    procedure is (epsilon, delta)-private, the smallest claim of the row that is true of it is refuted with probability
    at most ``error``, and the bound can only pass epsilon through that one.
    """

    def __init__(self, claimed: Budget, error: float, *, gaussian: bool) -> None:
        shares = np.concatenate([np.linspace(0.05, 0.95, 19), [1 + _ABOVE], np.geomspace(1.02, 50.0, 80)])
        self.epsilons = np.minimum(shares * claimed.epsilon, _FARTHEST + claimed.epsilon)
        self.target, self.least = 19, math.log(1 / error)
        if gaussian:
            distances = [2 * ndtr(gaussian_mu(epsilon, claimed.delta) / 2) - 1 for epsilon in self.epsilons]
            self.grow, self.add = np.ones(len(shares)), np.minimum(np.array(distances) * (1 + 1e-9), 1.0)
        else:
            self.grow, self.add = np.exp(np.minimum(self.epsilons, 700.0)), np.full(len(shares), claimed.delta)
        self.logs = np.zeros(len(shares))
        self.best = np.zeros(len(shares))

    def bet(self, guess: tuple[float, float], hits: int, false: int, runs: int) -> None:
        """Wager on a guess that was made before these runs, where it lies outside a claim."""
        p1, q1 = (np.full(len(self.logs), rate) for rate in guess)
        p0, q0, left = project(p1, q1, self.grow, self.add)
        fair = (p1 > self.grow * q1 + self.add) & (q0 > 0) & (p0 < 1) & np.isfinite(left)
        p0, q0, left = (np.where(fair, value, 0.5) for value in (p0, q0, left))
        # What bisection leaves of the border's equation could raise the mean by so much: it is paid for.
        won = log_ratio(p1, p0, hits, runs) + log_ratio(q1, q0, false, runs) - runs * left * (1 + 1 / (1 - q0))
        self.logs = self.logs + np.where(fair, won, 0.0)
        self.best = np.maximum(self.best, self.logs)

    @property
    def epsilon(self) -> float:
        """The bound so far."""
        refuted = np.cumprod(self.best >= self.least).sum()
        return float(self.epsilons[refuted - 1]) if refuted else 0.0

    @property
    def done(self) -> bool:
        """Whether the claim itself is refuted."""
        return bool((self.best[: self.target + 1] >= self.least).all())

    def most(self, runs: int) -> float:
        """What so many runs a side could show: all of them hits, none of them false."""
        rate = (runs + 0.5) / (runs + 1)
        one, zero = np.full(len(self.logs), rate), np.full(len(self.logs), 1 - rate)
        won = runs * growth(one, zero, self.grow, self.add)
        return float(self.epsilons[won >= self.least].max(initial=0.0))
