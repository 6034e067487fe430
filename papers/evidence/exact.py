r"""Exact privacy of two laws that published algorithms have after one step: shifted Gaussians and a mixture of them.

*Mixture.* One record is drawn with probability q and then moves a unit Gaussian by m, up on one data set and down on
its neighbour:

.. math:: P = (1-q) N(0, 1) + q N(m, 1), \qquad Q = (1-q) N(0, 1) + q N(-m, 1).

With :math:`f(x) = \log\frac{1 - q + q e^{mx - m^2/2}}{1 - q + q e^{-mx - m^2/2}}`, the log likelihood ratio, which
increases from minus to plus infinity (the numerator increases in x, the denominator decreases), the best event at
epsilon is ``x > t`` with f(t) = epsilon, so

.. math:: \delta(\epsilon) = (1-q)(1 - e^\epsilon)\bar\Phi(t) + q\bar\Phi(t - m) - q e^\epsilon \bar\Phi(t + m).

The other order of the two laws is its mirror image. No sampling: nothing here is an estimate.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr

from tacit.checks import check, check_positive
from tacit.privacy.accounting import gaussian_delta
from tacit.rounding import border


def mixture_delta(separation: float, rate: float, epsilon: float) -> float:
    """delta(epsilon) of the mixture: exact up to rounding. ``separation`` is m, ``rate`` is q."""
    m, q = check_positive("separation", separation), rate
    check(0 < q < 1, f"Expected 0 < rate={rate} < 1.")

    def excess(x: float) -> float:
        stay, up, down = math.log1p(-q), math.log(q) + m * x - m * m / 2, math.log(q) - m * x - m * m / 2
        return float(np.logaddexp(stay, up) - np.logaddexp(stay, down)) - epsilon

    reach = 1.0
    while excess(reach) < 0 or excess(-reach) > 0:
        reach *= 2
    t = float(brentq(excess, -reach, reach, xtol=1e-13, rtol=1e-14))

    def mass(shift: float, power: float) -> float:  # e^power times the upper tail at t - shift, without overflow
        return math.exp(power + float(log_ndtr(shift - t)))

    return (1 - q) * (mass(0, 0) - mass(0, epsilon)) + q * (mass(m, 0) - mass(-m, epsilon))


def smallest_epsilon(curve: Callable[[float], float], delta: float) -> float:
    """The epsilon at which a falling delta(epsilon) reaches delta, rounded down: no smaller epsilon is private."""
    return border(lambda epsilon: curve(epsilon) > delta, relative=1e-10)[0]


def mixture_epsilon(separation: float, rate: float, delta: float) -> float:
    """The smallest epsilon of the mixture at delta. 0 where ``rate <= delta`` hides the record by itself."""
    return smallest_epsilon(lambda epsilon: mixture_delta(separation, rate, epsilon), delta)


def shift_epsilon(separation: float, delta: float) -> float:
    """The smallest epsilon of N(0, 1) against N(separation, 1) at delta (Balle & Wang 2018, Theorem 8)."""
    return smallest_epsilon(lambda epsilon: gaussian_delta(separation, epsilon), delta)
