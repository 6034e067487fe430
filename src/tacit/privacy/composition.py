r"""The price of many sampled releases together: an upper bound with every rounding error in it.

The masses of :mod:`tacit.privacy.privacy_loss` are convolved by fast Fourier transforms. Their error is relative to the
largest probability, and prices are rare events, so the masses are first *tilted*, which makes losses near epsilon the
common ones. With nu_i the masses of kind i, released T_i times, M_i > 0 any number and theta > 0:

.. math:: f_i(l) = \nu_i(l) e^{\theta l} / M_i, \qquad
          (\nu_1^{*T_1} * \cdots)(l) = e^{-\theta l} \prod_i M_i^{T_i} \; g(l), \qquad g = f_1^{*T_1} * \cdots

.. math:: \delta(\epsilon) = \nu(\infty) + e^{-\theta\epsilon} \prod_i M_i^{T_i}
          \sum_{l > \epsilon} w(l) g(l), \qquad w(l) = (1 - e^{\epsilon - l}) e^{-\theta (l - \epsilon)}

What the code computes instead of g, and what it adds for it:

* **Wrapping.** g is computed modulo N. All parts are positive, so wrapping can only raise g on the N points above
  epsilon. The sum stops after n <= N points; the rest is at most ``e^{-theta n h} prod ||f_i||_1^{T_i}``.
* **Transforms.** A transform of N = 2^t numbers is wrong by at most ``t eta / (1 - t eta)`` of its norm, in the
  Euclidean norm, eta = s + 4 u (sqrt(2) + s)/(1 - 4 u) with s the error of the tabled roots of unity (Higham,
  Accuracy and Stability of Numerical Algorithms, 2nd ed., Theorem 24.2). That is below 7 u for s <= u; steps of radix
  4 and 8 and real transforms do fewer multiplications a level. 16 u a level is charged.
* **Powers.** |F_i| <= ||f_i||_1, so an error e_i of F_i moves the product by at most
  ``T_i |e_i| prod_j a_j^{T_j}``, a_j >= 1 a bound on ||f_j||_1 + |e_j|. Powers are taken by squaring: T - 1 complex
  multiplications, each right to sqrt(5) u (Brent, Percival & Zimmermann 2007); 4 u is charged.
* **Sum.** Errors of Euclidean norm E of g move the sum by at most ``||w|| E`` (Cauchy and Schwarz).
* **Tilting.** f is right to a relative error rho, which counts T_i times.

A bound holds for any theta; :mod:`tacit.privacy.tilting` chooses a good one.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.privacy.privacy_loss import DominatingPair, Masses, discretise
from tacit.privacy.tilting import CoarseLosses
from tacit.rounding import U, below, up
from tacit.types import Array

Spectrum = NDArray[np.complex128]
_FINEST, _LARGEST = 20, 21  # powers of two: points of one release's grid, points of a transform
_ENOUGH = 45.0  # e^-45 of the leading part may be bounded instead of summed


@dataclass(frozen=True, kw_only=True)
class Tilted:
    """The sum's ``values`` of g at the points k = i modulo their number, for one theta."""

    theta: float
    step: float
    values: Array
    error: float
    log_factor: float
    total: float

    def delta(self, epsilon: float) -> float:
        """The upper bound on delta(epsilon), without infinite losses."""
        start = math.floor(epsilon / self.step) + 1
        points = min(len(self.values), max(1, math.ceil(_ENOUGH / (self.theta * self.step))))
        k = np.arange(start, start + points)
        excess = np.maximum(self.step * k - epsilon, 0.0) + 4 * U * (abs(epsilon) + self.step * np.abs(k))
        weights = -np.expm1(-excess) * np.exp(-self.theta * excess)
        found = self.values[np.mod(k, len(self.values))]
        # Weights are right to theta times the error of the excess, and a sum of n products to n u.
        far = self.step * (abs(start) + points) + abs(epsilon)
        rough = (points + 16) * U + 8 * U * (self.theta + 1) * far
        value = float(weights @ found) + rough * float(weights @ np.abs(found))
        value += self.error * float(np.linalg.norm(weights)) * (1 + 1e-6 + rough)
        value += math.exp(-self.theta * self.step * points) * self.total
        log_factor = self.log_factor - self.theta * epsilon
        log_factor += 8 * U * (abs(self.log_factor) + self.theta * abs(epsilon))
        if value <= 0.0 or log_factor + math.log(value) > 0.0:
            return 1.0 if value > 0.0 else 0.0
        return math.exp(log_factor + math.log(value)) * (1 + 1e-12)


@dataclass(frozen=True)
class Composition:
    """Releases on one grid of losses, ready to be priced."""

    step: float
    kinds: tuple[Masses, ...]

    @classmethod
    def of(cls, releases: tuple[DominatingPair, ...]) -> Composition:
        """The releases on a grid fine enough for their sum, and as coarse as that allows."""
        spreads = [release.spread() for release in releases]
        whole = math.sqrt(sum(r.count * s**2 for r, s in zip(releases, spreads, strict=True)))
        # Two ends instead of a point add about step^2/6 to each loss's variance.
        steps = sum(release.count for release in releases)
        reach = max(float(np.ptp(release.ends())) for release in releases)
        step = max(whole * min(1 / 2000, 1 / (32 * math.sqrt(steps))), reach * 2.0**-_FINEST)
        return cls(step, tuple(discretise(release, step) for release in releases))

    @functools.cached_property
    def shift(self) -> float:
        """How far the true loss may lie above the grid's."""
        return sum(kind.count * kind.shift for kind in self.kinds) * (1 + 1e-9)

    @functools.cached_property
    def beyond(self) -> float:
        """A bound on the probability that some loss is infinite."""
        totals = [float(kind.probability.sum()) * (1 + 1e-10) + kind.beyond for kind in self.kinds]
        grown = math.exp(sum(k.count * math.log(max(t, 1.0)) for k, t in zip(self.kinds, totals, strict=True)))
        return sum(kind.count * kind.beyond for kind in self.kinds) * grown * (1 + 1e-9)

    def delta(self, epsilon: float) -> float:
        """An upper bound on delta(epsilon)."""
        inner = below(epsilon, self.shift)
        return min(1.0, up(self._tilted(self._coarse.at_epsilon(inner)).delta(inner) + self.beyond))

    def epsilon(self, delta: float) -> float:
        """An upper bound on epsilon(delta): a value at which :meth:`delta` was found to be at most ``delta``."""
        left = delta - self.beyond
        if left <= 0:
            return math.inf
        found = self._solve(self._tilted(self._coarse.at_delta(left)), left)
        if not math.isfinite(found):
            return math.inf
        found = self._solve(self._tilted(self._coarse.at_epsilon(found - self.shift)), left)
        # The next theta's bound may differ by some rounding errors, and both directions of a price must agree.
        push = 1e-4 * self.step
        while not self.delta(found) <= delta:
            found, push = found + push, 16 * push
            if push > 1e6:
                return math.inf
        return found

    def _solve(self, tilted: Tilted, delta: float) -> float:
        """About the epsilon at which one theta's bound is ``delta``; the grid's losses are ``shift`` lower."""

        from scipy.optimize import brentq  # slow to import, and most prices do without it

        def excess(inner: float) -> float:
            return math.log(max(tilted.delta(inner), 1e-320) / delta)

        low, width = -self.shift, max(self._coarse.deviation, self.step)
        if excess(low) <= 0:
            return 0.0
        while excess(low + width) > 0:
            low, width = low + width, 2 * width
            if low > 1e6:
                return math.inf
        return float(brentq(excess, low, low + width, xtol=1e-4 * self.step, rtol=1e-12)) + self.shift

    @functools.cached_property
    def _coarse(self) -> CoarseLosses:
        return CoarseLosses.of(self.step, self.kinds)

    @functools.cached_property
    def _kept(self) -> dict[float, Tilted]:
        return {}

    def _tilted(self, theta: float) -> Tilted:
        """The sum tilted by theta; the last few are kept."""
        if theta not in self._kept:
            while len(self._kept) >= 2:
                self._kept.pop(next(iter(self._kept)))
            self._kept[theta] = self._transform(theta)
        return self._kept[theta]

    def _transform(self, theta: float) -> Tilted:
        """Tilt, transform, multiply and transform back, with the errors of each."""
        from scipy import fft  # slow to import, and most prices do without it

        spread = math.sqrt(self._coarse.moments(theta)[2])
        wide = max(14 * spread, min(_ENOUGH / theta, 40 * spread))
        level = min(max(10, math.ceil(math.log2(max(wide / self.step, 2.0)))), _LARGEST)
        size = 2**level
        theta = max(theta, _ENOUGH / (size * self.step))
        each = level * 16 * U / (1 - level * 16 * U)
        product = np.ones(size // 2 + 1, dtype=np.complex128)
        log_factor = moved = log_total = rounds = 0.0
        for kind in self.kinds:
            mass, log_mass, rough = self._tilt(kind, theta, size)
            error = each * math.sqrt(size) * float(np.linalg.norm(mass)) * (1 + 1e-9)
            norm = float(mass.sum()) * (1 + 64 * U)
            log_total += kind.count * math.log(max(1.0, norm + error))
            moved += kind.count * error
            rounds += kind.count
            log_factor += kind.count * (log_mass + rough)
            product *= _power(fft.rfft(mass), kind.count)
        if log_total > 1.0 or not math.isfinite(log_factor):
            return Tilted(theta=theta, step=self.step, values=np.ones(1), error=0.0, log_factor=math.inf, total=1.0)
        total = math.exp(log_total) * (1 + 1e-9)
        full = math.sqrt(2) * float(np.linalg.norm(product)) * (1 + 1e-6) + 1e-290 * size
        wrong = moved * total + (4 * U * (rounds + len(self.kinds)) + each) * full
        error = wrong / math.sqrt(size) * (1 + 1e-6) + 1e-290
        return Tilted(
            theta=theta,
            step=self.step,
            values=np.asarray(fft.irfft(product, size)),
            error=error,
            log_factor=log_factor,
            total=total,
        )

    def _tilt(self, kind: Masses, theta: float, size: int) -> tuple[Array, float, float]:
        """One kind's tilted masses at the points modulo ``size``, log M, and the relative error of a mass."""
        points = np.arange(kind.first, kind.first + len(kind.probability))
        logs = np.log(kind.probability)
        slopes = (theta * self.step) * points
        exponent = logs + slopes
        top = float(exponent.max())
        tilted = np.exp(exponent - top) + 1e-300
        log_mass = top + math.log(float(tilted.sum()))
        tilted *= math.exp(top - log_mass)
        start = kind.first % size
        rows = -(-(start + len(tilted)) // size)
        wrapped = np.zeros(rows * size)
        wrapped[start : start + len(tilted)] = tilted
        largest = float(np.abs(logs).max() + np.abs(slopes).max() + abs(top) + abs(log_mass))
        return wrapped.reshape(rows, size).sum(axis=0), log_mass, U * (8 * largest + 32 + rows)


def _power(values: Spectrum, count: int) -> Spectrum:
    """``values ** count`` by squaring."""
    result = None
    while count:
        if count & 1:
            result = values.copy() if result is None else result * values
        count >>= 1
        if count:
            values = values * values
    assert result is not None
    return result
