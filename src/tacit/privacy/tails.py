r"""Tails of Gaussian and chi privacy losses: delta(epsilon), rounded up, so that no answer is below the truth.

What is trusted of the mathematical library, with u = 2^-53: ``erfcx`` is right to 64 u relative from -1 on, ``exp``,
``expm1``, ``log`` to 4 u, and ``gammaincc`` to 1e-11. Tests compare them with many digits. Every formula below is a sum
of positive terms, or its cancellation is charged for.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import erfcx, gammaincc, gammaln, ndtr

from tacit.rounding import SMALL, U, below, up

LEAST = 2.0**-1022
"""The answer for a delta too small for a double: a Gaussian tail is never zero."""
_DIGITS = 1e-290
"""Below this, a double may be rounded by more than u."""
_ROOT = math.sqrt(2.0)
_FRACTION, _TERMS = 3.0, range(60, 0, -1)
"""From where on the continued fraction is used, and its terms: with 60, e^-50 is missing at 3."""
_FAR, _BULK = 40.0, -1.0
"""Where a density is zero in double precision; and where 1 minus the rest is no cancellation."""
_REST = 45.0
"""Past the bulk, so many deviations hold the tail down to the smallest double."""
_RATIOS = 128 * U
"""What two of Mills' ratios may be wrong by, relative to the larger."""
_FORMULAS_MEET = 3e-4
"""The mu below which a difference of Mills' ratios is taken by its derivative."""
_SLOPES = 1 + 1e-13
"""More than the derivative of Mills' ratio is wrong by, relative."""
_WIDTH = 0.01
"""Of the cells of a chi tail."""
_GAMMA = 1 + 1e-9
"""A hundred times what the incomplete gamma function, in tails and hazards, may be wrong by."""


def _slope(t: float) -> float:
    """``S(t) = -R'(t) = 1 - t R(t)`` for t >= -1, R(t) = Phi(-t)/phi(t) being Mills' ratio; right to 1e-13 relative.

    From 3 on by the continued fraction R = 1/(t + c), c = 1/(t + 2/(t + 3/(...))), so that S = c/(t + c).
    """
    if t <= _FRACTION:
        return 1 - t * math.sqrt(math.pi / 2) * float(erfcx(t / _ROOT))
    c = 0.0
    for k in _TERMS:
        c = k / (t + c)
    return c / (t + c)


def _gap(near: float, mu: float) -> float:
    """An upper bound on R(near) - R(near + mu), for near >= -1 that is itself right to 2 u (|near| + mu) only.

    R is completely monotone (the Laplace transform of e^{-s^2/2}), so -R' is convex: for a small mu, where the
    difference would cancel, the trapezoid is an upper bound, too large by some mu^2/12 relative at most. Else the
    cancellation is charged: 64 u for either ratio, and S <= 1.3 R for what the arguments are wrong by.
    """
    far = near + mu
    if mu <= _FORMULAS_MEET:
        return 0.5 * mu * (_slope(near) + _slope(far)) * _SLOPES
    first, second = float(erfcx(near / _ROOT)), float(erfcx(far / _ROOT))
    wrong = first * (_RATIOS + SMALL * (abs(near) + far))
    return up(math.sqrt(math.pi / 2) * (first - second + wrong))


def gaussian_delta(mu: float, epsilon: float) -> float:
    r"""The delta(epsilon) of a Gaussian mechanism with ``mu = sensitivity / scale``, rounded up.

    .. math:: \delta(\epsilon) = \Phi(-\epsilon/\mu + \mu/2) - e^\epsilon \Phi(-\epsilon/\mu - \mu/2)
              = \varphi(a) [R(a) - R(a + \mu)], \qquad a = \epsilon/\mu - \mu/2

    with Mills' ratio R. For a negative epsilon, ``delta(epsilon) = 1 - e^epsilon + e^epsilon delta(-epsilon)``.

    Guarantee: never below the exact value; above it by at most 1e-7 relative.
    Edges: mu = 0 gives ``max(0, 1 - e^epsilon)``; a delta that no double can hold becomes ``LEAST``.
    Reference: Balle & Wang 2018, Theorem 5; Dong, Roth & Su 2022.
    """
    if mu == 0:
        return up(-math.expm1(min(0.0, epsilon)))
    if epsilon < 0:
        return min(1.0, up(-math.expm1(epsilon) + math.exp(epsilon) * gaussian_delta(mu, -epsilon)))
    near = epsilon / mu - mu / 2
    # How far near may be off, times the largest logarithmic derivative in near, and the exponential's own error.
    rough = SMALL * (1 + abs(near) * (abs(near) + mu))
    if near > _FAR:
        return LEAST
    density = math.exp(-0.5 * near * near) / math.sqrt(2 * math.pi)
    if near < _BULK:  # then mu > 2, and delta > 0.68
        lost = float(ndtr(near)) + density * math.sqrt(math.pi / 2) * float(erfcx((near + mu) / _ROOT))
        return min(1.0, up(1.0 - lost * max(0.0, 1 - _RATIOS - rough)))
    return max(LEAST, density * _gap(near, mu) * (1 + rough))


def chi_delta(mu: float, epsilon: float, directions: int) -> float:
    r"""delta(epsilon) of a privacy loss of at most ``mu^2/2 + mu r`` with r ~ chi(directions), rounded up.

    .. math:: \delta(\epsilon) = E[(1 - e^{s - \mu r})_+] = (1 - e^s)_+
              + \int_a^\infty \mu e^{s - \mu r} P(\chi > r)\, dr, \qquad s = \epsilon - \mu^2/2,\; a = \max(0, s/\mu)

    For one direction this is twice :func:`gaussian_delta` from s = 0 on, and ``1 - e^s + e^s (1 - erfcx(mu/sqrt 2))``
    below. For more, chi has a log-concave density, so log P(chi > r) is concave and lies below its tangents: over a
    cell that begins at c, with hazard h = density/tail at c,

    .. math:: \int \mu e^{s - \mu r} P(\chi > r)\, dr
              \le e^{s - \mu c} P(\chi > c)\, \frac{\mu}{\mu + h} \left(1 - e^{-(\mu + h) \text{width}}\right)

    and the last cell has no end. Too large by width^2 / 6 relative at most, some 2e-5.
    Reference: Redberg, Koskela & Wang 2023.
    """
    shift = below(epsilon, mu**2 / 2)
    grown = up(-math.expm1(min(0.0, shift)))
    if directions == 1:
        if shift >= 0:
            return 2 * gaussian_delta(mu, epsilon)
        return min(1.0, up(grown + math.exp(shift) * math.sqrt(2 / math.pi) * _gap(0.0, mu)))
    start = max(0.0, shift / mu)
    # Past the bulk, and past where the tail is the smallest double.
    cells = np.arange(start, max(start, math.sqrt(directions)) + _REST, _WIDTH)
    half = directions / 2
    tails = np.maximum(gammaincc(half, cells**2 / 2), LEAST)
    with np.errstate(divide="ignore"):
        logs = (directions - 1) * np.log(cells) - cells**2 / 2 + (1 - half) * math.log(2) - float(gammaln(half))
    # A hazard that is too small only raises the bound; where the tail has no digits left, take none.
    hazards = np.where(tails > _DIGITS, np.exp(logs) / tails, 0.0)
    ends = np.append(np.diff(cells), math.inf)
    rates = mu + hazards
    parts = np.exp(shift - mu * cells) * tails * (mu / rates) * -np.expm1(-rates * ends)
    return min(1.0, grown + float(parts.sum()) * _GAMMA)
