r"""The privacy loss of one sampled Gaussian release, on a grid, rounded so that no price is ever too small.

A release is described by its dominating pair (docs, page "Noisy gradients", section "Poisson sampling"), in units of
the noise:

.. math:: P = (1 - p) N(0, 1) + p N(\mu, 1), \qquad Q = (1 - q) N(0, 1) + q N(-\mu, 1)

A record is removed: (p, q) = (rate, 0); added: (0, rate); replaced: (rate, rate). The loss l(x) = log dP/dQ grows with
x. Its law is replaced by masses on the multiples of a step h, in a way that only raises prices:

* **Two ends.** A loss in (a, b], b = a + h, is split between a and b so that its mass and E[e^{-loss}] stay. Prices
  are E[(1 - e^{epsilon - loss})_+], convex in e^{-loss}, also in every factor of a composition: by Jensen's inequality
  they rise. A cell with masses m = P(cell) and k = Q(cell) puts ``(m - e^a k) / (1 - e^{-h})`` on b. This is the
  pessimistic "connect the dots" of Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022.
* **Upwards.** Mass moved to a larger loss, and mass added, raise prices. So m is rounded up, k down, what they are
  wrong by goes to b, and what lies beyond the grid becomes an infinite loss.
* **Shift.** The borders of cells are floating-point numbers. Every true loss of a cell is at most ``shift`` outside
  (a, b], so the grid's loss plus ``shift`` covers it.

What is trusted of the mathematical library: ``ndtr`` is right to ``(32 + 4 x^2) u`` relative, u = 2^-53, and ``exp``,
``log``, ``expm1``, ``log1p``, ``arcsinh`` to 4 u. Tests compare them with many digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from tacit.rounding import SMALL, U
from tacit.types import Array

REACH = 13.0
"""Standard deviations up to which losses lie on the grid; the mass beyond, below 1e-38, is an infinite loss."""


_TINY = 1e-300
"""More than what a number too small for a double was."""
_TAIL = 1e-12
"""More than ``ndtr`` may be wrong by at ``REACH`` and somewhat beyond, relative."""


@dataclass(frozen=True, kw_only=True)
class DominatingPair:
    """``count`` equal releases by the pair above: ``mu``, and the weights p and q of the shifted parts."""

    mu: float
    p: float
    q: float
    count: int

    def loss(self, x: Array) -> Array:
        """log dP/dQ at x."""
        return _mixed(self.p, self.mu * (x - self.mu / 2)) - _mixed(self.q, -self.mu * (x + self.mu / 2))

    def where(self, loss: Array) -> Array:
        """The x of a loss: infinite where no x has it."""
        if self.q == 0:
            return _inverse(loss, self.p, self.mu)
        if self.p == 0:
            return -_inverse(-loss, self.q, self.mu)
        # e^l = (1-p + p c y) / (1-p + p c / y), y = e^{mu x}, c = e^{-mu^2/2}: a quadratic equation for y.
        return np.asarray(
            (loss / 2 + np.arcsinh((1 - self.p) / self.p * np.exp(self.mu**2 / 2) * np.sinh(loss / 2))) / self.mu
        )

    def ends(self) -> Array:
        """The smallest and the largest loss within ``REACH`` deviations of P's parts."""
        return self.loss(np.array([-REACH, REACH + (self.mu if self.p else 0.0)]))

    def spread(self) -> float:
        """The loss's standard deviation under P, roughly: it chooses the grid and no price depends on it."""
        x = np.linspace(-REACH, REACH + self.mu, 4001)
        near, far = np.exp(-(x**2) / 2), np.exp(-((x - self.mu) ** 2) / 2)
        density = ((1 - self.p) * near + self.p * far) / ((1 - self.p) * near + self.p * far).sum()
        loss = self.loss(x)
        return float(np.sqrt(max(density @ loss**2 - (density @ loss) ** 2, 0.0)))


@dataclass(frozen=True, kw_only=True)
class Masses:
    """``probability[i]`` at the loss ``(first + i) * step + shift``, ``beyond`` at infinity; ``count`` such releases.

    Upper tails are at least those of the true loss, so the total may be a little more than 1.
    """

    first: int
    probability: Array
    beyond: float
    shift: float
    count: int


def _mixed(weight: float, z: Array) -> Array:
    """log(1 - weight + weight e^z)."""
    if weight == 0:
        return np.zeros_like(z)
    if weight == 1:
        return z
    if weight <= 0.5:
        return np.where(z < 600, np.log1p(weight * np.expm1(np.minimum(z, 600))), np.log(weight) + z)
    return np.asarray(np.logaddexp(np.log1p(-weight), np.log(weight) + z))


def _inverse(loss: Array, weight: float, mu: float) -> Array:
    """The x where ``log(1 - weight + weight e^{mu x - mu^2/2})`` is this loss; -inf where it is smaller than any."""
    if weight == 1:
        return np.asarray((loss + mu**2 / 2) / mu)
    above = np.maximum(loss - np.log1p(-weight), 0.0)
    with np.errstate(divide="ignore"):
        return np.asarray((loss + np.log(-np.expm1(-above)) - np.log(weight) + mu**2 / 2) / mu)


def _between(edges: Array, mean: float) -> tuple[Array, Array]:
    """N(mean, 1)'s mass between neighbouring edges, and a bound on its error; from the tail that is smaller."""
    x = edges - mean
    low, high = ndtr(x), ndtr(-x)
    finite = np.where(np.isfinite(x), x, 0.0)
    wrong = SMALL * 2 + 4 * U * finite**2
    right = x[:-1] > 0
    mass = np.where(right, high[:-1] - high[1:], low[1:] - low[:-1])
    error = np.where(right, high[:-1] * wrong[:-1] + high[1:] * wrong[1:], low[:-1] * wrong[:-1] + low[1:] * wrong[1:])
    return mass, error + _TINY


def discretise(release: DominatingPair, step: float) -> Masses:
    """The masses of one of the releases on the multiples of ``step``."""
    least, most = release.ends()
    first, last = int(np.floor(least / step)), int(np.ceil(most / step)) + 1
    losses = step * np.arange(first, last + 1, dtype=np.float64)
    edges = np.maximum.accumulate(release.where(losses))
    finite = np.isfinite(edges)
    shift = float(np.abs(release.loss(edges[finite]) - losses[finite]).max(initial=0.0)) + _forward(release, edges)
    middle, error = _between(edges, 0.0)
    ours, ours_error = _between(edges, release.mu) if release.p else (middle, error)
    theirs, theirs_error = _between(edges, -release.mu) if release.q else (middle, error)
    mass = (1 - release.p) * (middle + error) + release.p * (ours + ours_error)
    other = (1 - release.q) * np.maximum(middle - error, 0.0) + release.q * np.maximum(theirs - theirs_error, 0.0)
    mass *= 1 + SMALL
    # What the exponential and the product lose, and what the borders' shift may add to e^{-loss}, is on b's side.
    factor = np.exp(losses[:-1]) * (1 - shift - SMALL * (1 + np.abs(losses[:-1])))
    upper = np.clip((mass - factor * other) / -np.expm1(-step) * (1 + SMALL), 0.0, mass)
    probability = np.zeros(len(losses))
    probability[1:] += upper
    probability[:-1] += mass - upper
    below, above = _tails(release, edges)
    probability[0] += below
    return Masses(
        first=first,
        probability=probability * (1 + SMALL) + _TINY,
        beyond=above,
        shift=shift + U * float(np.abs(losses).max()),
        count=release.count,
    )


def _forward(release: DominatingPair, edges: Array) -> float:
    """A bound on the rounding error of :meth:`DominatingPair.loss` between the edges, and on which losses have no x.

    An error of z moves log(1 - w + w e^z) by its share w e^z / (1 - w + w e^z) only, which is tiny for rare parts.
    """
    far = release.mu * (float(np.abs(edges[np.isfinite(edges)]).max(initial=0.0)) + release.mu / 2)
    bound = 0.0
    for weight in (release.p, release.q):
        if 0 < weight <= 0.5:
            bound += min(1.0, 2 * weight * np.exp(min(far, 700.0))) * (4 + 2 * far) + 4 * weight
        elif weight > 0.5:
            bound += 4 + 2 * far - np.log(weight) - (np.log1p(-weight) if weight < 1 else 0.0)
    return SMALL * float(bound)


def _tails(release: DominatingPair, edges: Array) -> tuple[float, float]:
    """P's masses below the first edge and above the last, rounded up."""
    masses = []
    for x, sign in ((edges[0], 1.0), (edges[-1], -1.0)):
        zero, one = sign * x, sign * (x - release.mu)
        masses.append((1 - release.p) * float(ndtr(zero)) + release.p * float(ndtr(one)))
    return masses[0] * (1 + _TAIL) + _TINY, masses[1] * (1 + _TAIL) + _TINY
