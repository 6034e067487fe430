r"""The Renyi price of Gaussian sums over random subsets of a fixed size, for replace-one neighbours.

Every step draws b of the n records; rate q = b/n. The base mechanism is a Gaussian whose mean moves by ``moved`` noise
scales. For whole orders a >= 2 (Wang, Balle & Kasiviswanathan 2019, Theorem 27),

.. math:: e^{(a-1) D_a} \le 1 + \sum_{j=2}^{a} \binom{a}{j} q^j
          \min\left(4 \sqrt{B_{2\lfloor j/2\rfloor} B_{2\lceil j/2\rceil}},\; 2 e^{j(j-1) m}\right),
          \qquad m = \tfrac12 \text{moved}^2,

with the forward differences :math:`B_k = \sum_i (-1)^{k-i} \binom{k}{i} e^{i(i-1) m}`; between whole orders
``(a - 1) D_a`` is convex, so chords are above it (Corollary 10).

Differences cancel, so each :math:`B_k`, k even, is the smaller of two upper bounds:

* **Padded.** With S_k the same sum of all signs positive, what is computed of B_k is wrong by at most
  ``(k + 2 x + 8) u S_k``, x the largest exponent: one rounding a level of the table, and those of the exponentials.
* **Hypercontractive**, where little is moved. :math:`B_k = E[(L - 1)^k]` for :math:`L = e^{sz - s^2/2} =
  \sum_n s^n He_n(z)/n!`, s = ``moved`` and z normal. Minkowski's inequality, the moment (k-1)!! of z itself and
  :math:`\|He_n\|_k \le (k-1)^{n/2} \sqrt{n!}` (Nelson 1973) give :math:`B_k^{1/k} \le s\,((k-1)!!)^{1/k}
  + \sum_{n \ge 2} (s \sqrt{k-1})^n / \sqrt{n!}`.
"""

from __future__ import annotations

import functools
import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tacit.rounding import U
from tacit.types import Array

_WHOLE = (*range(2, 65), *(round(64 * 2 ** (k / 8)) for k in range(1, 33)))
_SPLIT = 9
"""Up to 10 chords have 10 orders each, as orders near 1 matter for large epsilons."""
_DIFFERENCES = 256
"""Levels of the table of differences; beyond them, and from where exponents pass _FAR, exponentials alone are used."""
_FAR = 500.0
"""With it, sums of 2**256 times an exponential are still doubles."""
_FARTHEST = 1e3
_TINY = 1e-300
"""More than what a number too small for a double was."""
_SLACK = 1 + 1e-9
"""More than binomial coefficients, exponentials and sums of positive terms lose to rounding."""


class RenyiPrices(NamedTuple):
    """Renyi orders above 1, and a bound on the divergence at each."""

    orders: Array
    prices: Array

    def plus(self, other: Array) -> RenyiPrices:
        """Beside a release of these prices at the same orders."""
        return RenyiPrices(self.orders, (self.prices + other) * _SLACK)

    def delta(self, epsilon: float) -> float:
        """The smallest delta of any order (Canonne, Kamath & Steinke 2020, Proposition 12), or the total variation.

        That is at most ``sqrt(1 - e^-D)`` for the divergence D of order 1, and so of any (Bretagnolle & Huber 1979).
        """
        a, r = self.orders, self.prices
        logs = (a - 1) * (r - epsilon + np.log1p(-1 / a)) - np.log(a)
        total = math.sqrt(-math.expm1(-float(r.min())))
        return min(1.0, total, math.exp(min(0.0, float(logs.min())))) * _SLACK

    def epsilon(self, delta: float) -> float:
        """The smallest epsilon of any order at this delta."""
        a, r = self.orders, self.prices
        if -math.expm1(-float(r.min())) * _SLACK <= delta**2:
            return 0.0
        return max(0.0, float((r + np.log1p(-1 / a) - np.log(delta * a) / (a - 1)).min())) * _SLACK


@functools.cache
def _binomials() -> tuple[Array, Array]:
    """The j's, and the logarithms of (a over j) for every whole order a; -inf for j > a."""
    j, a = np.arange(2.0, _WHOLE[-1] + 1), np.array(_WHOLE, dtype=np.float64)[:, None]
    logs = gammaln(a + 1) - gammaln(j + 1) - gammaln(np.maximum(a - j, 0.0) + 1)
    return j, np.where(j <= a, logs, -np.inf)


@functools.cache
def _split() -> tuple[Array, Array]:
    """All orders: tenths up to 10, then the whole ones; and a matrix that takes chords between whole orders."""
    whole = np.array((1, *_WHOLE), dtype=np.float64)  # at order 1 the logarithm is 0
    orders = np.concatenate([1 + np.arange(1, 10 * _SPLIT + 1) / 10, whole[whole > 1 + _SPLIT]])
    chords = np.stack([np.interp(orders, whole, unit) for unit in np.eye(len(whole))], axis=1)
    return orders, chords[:, 1:]


def _differences(m: float) -> Array:
    """Bounds on B_2, B_4, ... from above; infinite from where on they are not computed."""
    i = np.arange(_DIFFERENCES + 1.0)
    exponents = i * (i - 1) * m
    signed = unsigned = np.exp(exponents[exponents <= _FAR])
    found = np.full(_DIFFERENCES // 2, np.inf)
    for k in range(1, len(signed)):
        signed, unsigned = signed[1:] - signed[:-1], unsigned[1:] + unsigned[:-1]
        if k % 2 == 0:
            found[k // 2 - 1] = max(signed[0], 0.0) + (k + 2 * exponents[k] + 8) * U * unsigned[0]
    return np.asarray(np.maximum(np.minimum(found, _small_moments(math.sqrt(2 * m))), _TINY))


def _small_moments(moved: float) -> Array:
    """The hypercontractive bounds on B_2, B_4, ...; infinite where ``moved sqrt(k - 1)`` is above 1."""
    k = np.arange(2.0, _DIFFERENCES + 1, 2)
    double_factorial = 0.5 * k * np.log(2) + gammaln(0.5 * (k + 1)) - 0.5 * np.log(np.pi)
    far, n = moved * np.sqrt(k - 1), np.arange(2, 40)
    rest = (np.minimum(far, 1.0)[:, None] ** n / np.exp(0.5 * gammaln(n + 1))).sum(axis=1) * (1 + 1e-12)
    norm = (moved * np.exp(double_factorial / k) + rest) * (1 + 1e-13)
    return np.where(far <= 1, np.where(far <= 1, norm, 1.0) ** k * _SLACK, np.inf)


def subset_prices(rate: float, moved: float) -> RenyiPrices:
    """Bounds on D_a of one step at a fixed set of orders.

    Edges: a rate of 1 is the plain Gaussian; who is moved by a thousand scales and more has no price here.
    """
    orders, chords = _split()
    if moved > _FARTHEST:
        return RenyiPrices(orders, np.full(len(orders), np.inf))
    m = 0.5 * moved**2
    if rate == 1:
        return RenyiPrices(orders, orders * m * _SLACK)
    j, binomials = _binomials()
    low = np.full(len(j), np.inf)
    with np.errstate(divide="ignore"):
        even = np.log(_differences(m))
    low[: _DIFFERENCES - 1] = np.log(4) + 0.5 * (even[_half(j, np.floor)] + even[_half(j, np.ceil)])
    each = np.minimum(low, np.log(2) + j * (j - 1) * m) + j * np.log(rate)
    terms = binomials + each
    top = terms.max(axis=1)
    logs = top + np.log(np.exp(terms - top[:, None]).sum(axis=1)) + np.log(_SLACK)
    return RenyiPrices(orders, chords @ np.logaddexp(0.0, logs) / (orders - 1) * _SLACK)


def _half(j: Array, side: np.ufunc) -> NDArray[np.intp]:
    """Places of B_{2 floor(j/2)} or B_{2 ceil(j/2)} for those j that have one."""
    return np.asarray(side(j[: _DIFFERENCES - 1] / 2).astype(np.intp) - 1)
