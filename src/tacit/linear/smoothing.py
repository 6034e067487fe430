r"""Laplacian smoothing: ``A u = v`` with ``A = I - sigma L``, L the periodic second difference, solved by a real FFT.

A is a circulant matrix with eigenvalues ``1 + 2 sigma - 2 sigma cos(2 pi k/d) = 1 + 4 sigma sin^2(pi k/d)``. Smoothing
a noisy gradient is post-processing: whatever the noise promised still holds. What it buys is less noise: a standard
normal vector keeps the part gamma of its squared norm in the metric of A^-1, and the part beta in the Euclidean one.

Reference: Wang, Gu, Boedihardjo, Wang, Barekat & Osher 2020, *DP-LSSGD*, with its Theorems 2, 4 and 7.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.checks import check, check_count, check_positive, check_real, refuse
from tacit.types import Array

STRONGEST = 1e50
"""The largest sigma: its powers stay within double precision."""


def check_smoothing(sigma: float, name: str = "smoothing") -> float:
    """Return sigma as a float, or say that it must be a finite number of at least zero."""
    found = check_real(name, sigma)
    check(0 <= found < math.inf, f"Expected {name}={found} >= 0 and finite.")
    check(found <= STRONGEST, f"Expected {name}={found} to be at most {STRONGEST:g}.")
    return found


@functools.lru_cache(maxsize=64)
def coefficients(size: int, sigma: float) -> Array:
    """``1 / (1 + 4 sigma sin^2(pi k/d))`` for k = 0 .. d//2, the factors of a real FFT of d numbers; read-only."""
    check_count("size", size)
    angles = np.pi * np.arange(size // 2 + 1) / size
    factors: Array = 1.0 / (1.0 + 4.0 * check_smoothing(sigma) * np.sin(angles) ** 2)
    factors.flags.writeable = False
    return factors


def smooth(values: Array, sigma: float, runs: int = 1) -> Array:
    """``(I - sigma L)^-1`` applied to the numbers of an array in row-major order, in the array's shape.

    With several ``runs`` the last axis holds a multiple of them, and each ``runs``-th number is of the same run: runs
    are smoothed each by itself.

    Edges: sigma = 0 gives the values back, bit for bit; one number or none is its own smooth version.
    """
    size = values.size // runs
    if check_smoothing(sigma) == 0 or size <= 1:
        return values
    flat = np.fft.rfft(values.reshape(size, runs), axis=0) * coefficients(size, float(sigma))[:, None]
    return np.asarray(np.fft.irfft(flat, size, axis=0).reshape(values.shape), dtype=np.float64)


def smooth_weights(weights: Array, sigma: float, intercept: bool, runs: int = 1) -> Array:
    """Smooth a parameter matrix of shape (features, outputs) in the paper's order.

    The paper flattens each parameter tensor of its model row by row, and a linear layer's weight has the shape
    (outputs, features): so all features of the first output come first. The intercept (the last row, when there is
    one) holds one number for each output, and outputs have no order: it is left alone, where the paper's code would
    smooth it as a tensor of its own (which costs a point of accuracy on MNIST at epsilon = 0.1). Of several ``runs``
    side by side, column ``k * runs + j`` is output k of run j.

    Edges: sigma = 0 gives the matrix back, bit for bit.
    """
    if check_smoothing(sigma) == 0:
        return weights
    rows = len(weights) - int(intercept)
    by_output = weights[:rows].reshape(rows, -1, runs).swapaxes(0, 1)
    return np.vstack([smooth(by_output, sigma, runs).swapaxes(0, 1).reshape(rows, -1), weights[rows:]])


def gamma_sum(size: int, sigma: float) -> float:
    """``(1/d) sum 1/(1 + 2 sigma - 2 sigma cos(2 pi i/d))``: E<x, A^-1 x>/d for a standard normal x (Lemma 15)."""
    return float(_spectrum(size, sigma).mean())


def beta_sum(size: int, sigma: float) -> float:
    """``(1/d) sum 1/(1 + 2 sigma - 2 sigma cos(2 pi i/d))^2``: E||A^-1 x||^2/d for a standard normal x (Lemma 16)."""
    return float((_spectrum(size, sigma) ** 2).mean())


def _spectrum(size: int, sigma: float) -> Array:
    check_count("size", size)
    return np.asarray(1.0 / (1.0 + 4.0 * check_smoothing(sigma) * np.sin(np.pi * np.arange(size) / size) ** 2))


def _omega(sigma: float) -> float:
    """``(2 sigma + 1 - sqrt(4 sigma + 1)) / (2 sigma)``, below 1, without cancellation."""
    root = math.sqrt(4 * sigma + 1)
    return 2 * sigma / (2 * sigma + 1 + root)


def gamma(size: int, sigma: float) -> float:
    """Proposition 5, :func:`gamma_sum` in closed form: ``(1 + w^d) / ((1 - w^d) sqrt(4 sigma + 1))``."""
    check_count("size", size)
    power = _omega(check_smoothing(sigma)) ** size
    return (1 + power) / ((1 - power) * math.sqrt(4 * sigma + 1))


def beta(size: int, sigma: float) -> float:
    """Proposition 8, :func:`beta_sum` in closed form.

    With w of Proposition 5 and r = sqrt(4 sigma + 1), regrouped so that sigma may be 0 (which gives 1):
    ``[(1 - w^2d)(r + 2 sigma w) + 2 d r w^d] / (r^3 (1 - w^d)^2)``.
    """
    check_count("size", size)
    omega, root = _omega(check_smoothing(sigma)), math.sqrt(4 * sigma + 1)
    power = omega**size
    top = (1 - power**2) * (root + 2 * sigma * omega) + 2 * size * root * power
    return top / (root**3 * (1 - power) ** 2)


def convex_bound(
    distance: float, step_sizes: Sequence[float], batch: float, lipschitz: float, noise: float, size: int, sigma: float
) -> float:
    r"""Theorem 4 with its constants: a bound on ``E[F(w) - F*]`` at the average of iterates weighted by step sizes.

    .. math:: \frac{D_\sigma + \sum_k \eta_k^2 (G^2/b + \gamma d \nu^2)}{(2/3) \sum_k \eta_k}

    ``distance`` is D = ||w0 - w*||^2 in the metric of A (at most (1 + 4 sigma) ||w0 - w*||^2), ``noise`` the standard
    deviation nu of the noise on each coordinate of the *mean* gradient. The proof uses more than the theorem states:
    F is L-smooth and every step is at most 1/(2L).
    """
    total = check_positive("the sum of step sizes", math.fsum(step_sizes))
    variance = lipschitz**2 / batch + gamma(size, sigma) * size * noise**2
    return (distance + math.fsum(step**2 for step in step_sizes) * variance) / (2 * total / 3)


def nonconvex_bound(
    gap: float, step: float, steps: int, smoothness: float, batch: float, lipschitz: float, noise: float, size: int,
    sigma: float,
) -> float:  # fmt: skip
    r"""Theorem 7 with its constants: a bound on ``E||grad F||^2`` in the metric of A^-1, averaged over the iterates.

    .. math:: \frac{2 D_F}{\eta T} + \eta L (G^2/b + \beta d \nu^2)

    ``gap`` is F(w0) - F*. The theorem states it at the average of the iterates; for a non-convex F its proof gives it
    for an iterate drawn at random, which is what this bounds. It needs a step below 1/L.
    """
    variance = lipschitz**2 / batch + beta(size, sigma) * size * noise**2
    return 2 * gap / (step * check_count("steps", steps)) + step * smoothness * variance


@dataclass(frozen=True)
class PaperNoise:
    """Theorem 2: the standard deviation ``nu`` on the mean gradient, with the mu and alpha that it was found for."""

    nu: float
    mu: float
    alpha: float


def paper_noise(epsilon: float, delta: float, lipschitz: float, steps: int, batch: float, records: int) -> PaperNoise:
    r"""The smallest noise of Theorem 2 whose side conditions hold for some mu in (0, 1).

    .. math:: \nu^2 = \frac{20 T \alpha G^2}{\mu n^2 \epsilon}, \; \alpha = \frac{\log(1/\delta)}{(1-\mu)\epsilon} + 1

    if ``alpha <= log(mu n^3 epsilon / (5 b^3 T alpha + mu b n^2 epsilon))`` and
    ``5 b^2 T alpha / (mu n^2 epsilon) >= 1.5``.

    Guarantee: as published, for subsets drawn without replacement and replaced records.
    Edges: raises PrivacyError when no mu meets both conditions. Together they need
    ``log(1/delta)/epsilon + 1 < log(n/b) - log(2.5)``, which fails at every epsilon of the paper's own Table 2.
    """
    check_positive("epsilon", epsilon)
    check(0 < delta < 1, f"Expected 0 < delta={delta} < 1.")
    mu = np.linspace(0.0, 1.0, 100_001)[1:-1]
    alpha = math.log(1 / delta) / ((1 - mu) * epsilon) + 1
    ratio = 5 * batch**2 * steps * alpha / (mu * records**2 * epsilon)  # nu^2 over the squared sensitivity 2G/b
    most = np.log(records / (batch * (1 + ratio)))
    allowed = (alpha <= most) & (ratio >= 1.5)
    if not allowed.any():
        least = math.log(1 / delta) / epsilon + 1
        refuse(
            "The noise of Theorem 2 of Wang et al. 2020 has side conditions that no mu in (0, 1) meets here (its alpha "
            f"is above {least:.4g}; they allow at most log(n/(2.5 b)) = {math.log(records / (2.5 * batch)):.3g}). The "
            "paper's own Table 2 (epsilon <= 0.3, delta = 1e-5, n = 50,000, b = 128) fails them too. Use "
            "calibration='proven', which prices exactly."
        )
    squares = np.where(allowed, 20 * steps * alpha * lipschitz**2 / (mu * records**2 * epsilon), np.inf)
    best = int(squares.argmin())
    return PaperNoise(math.sqrt(float(squares[best])), float(mu[best]), float(alpha[best]))
