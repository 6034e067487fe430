"""How much noise steps on one record of n need, when a record may be replaced: a bound from each side.

In units of the noise, with gradients of norm at most 1, q = 1/n and m = 2/scale, constant gradients reach the pair
((1 - q) N(0, 1) + q N(m, 1), N(0, 1)), and the two exchanged. No neighbours have a larger hockey-stick divergence than
the first at alpha >= 1 and than the second at alpha <= 1 (docs/theorems/heterogeneity.md). So less noise than the first
needs is too little, and enough is what the pair needs that has the first's losses above 0 and the second's below.
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from scipy.special import ndtr

Side = Literal["reached", "dominating"]


def delta(scale: float, records: int, steps: int, epsilon: float, side: Side, half: int = 2**20) -> float:
    """Of all steps at this epsilon: by Fourier transforms, on a grid of losses up to 10 times epsilon, or 1."""
    width = (1 + 9 * epsilon) / half
    loss = width * np.arange(-half, half + 1)
    masses, beyond = _masses(loss, width, 1 / records, 2 / scale, side)
    total = np.fft.irfft(np.fft.rfft(np.fft.ifftshift(masses[:-1])) ** steps, 2 * half)
    total, loss = np.fft.fftshift(total), loss[:-1]
    above = loss > epsilon
    return float(total[above] @ -np.expm1(epsilon - loss[above])) + steps * beyond


def _masses(loss: np.ndarray, width: float, q: float, m: float, side: Side) -> tuple[np.ndarray, float]:
    """The chances of one step's losses, and that of a loss beyond the grid."""
    ratio = np.expm1(loss) + q  # of q e^(m x - m^2/2), where log(1 - q + q e^(m x - m^2/2)) is the loss
    x = np.where(ratio > 0, (np.log(np.where(ratio > 0, ratio, 1.0) / q) + m * m / 2) / m, -math.inf)
    plain = _between(x)
    mixed = (1 - q) * plain + q * _between(x - m)
    beyond = float((1 - q) * ndtr(-x[-1]) + q * ndtr(m - x[-1]))
    if side == "reached":
        return _placed(mixed, plain, loss[:-1], width), beyond
    above = loss[:-1] > -width / 2
    found = _placed(mixed * above, plain * above, loss[:-1], width)
    found += _placed(plain[::-1] * ~above, mixed[::-1] * ~above, loss[:-1], width)
    found[len(loss) // 2] += 1 - found.sum() - beyond
    return found, beyond


def _between(x: np.ndarray) -> np.ndarray:
    """N(0, 1)'s mass between neighbours, from the tail that is smaller."""
    low, high = ndtr(x), ndtr(-x)
    return np.asarray(np.where(low[1:] > 0.5, high[:-1] - high[1:], low[1:] - low[:-1]))


def _placed(law: np.ndarray, other: np.ndarray, low: np.ndarray, width: float) -> np.ndarray:
    """Each cell's mass at its two ends, so that the other law's mass stays too: that only raises delta."""
    top = np.clip((law - np.exp(low) * other) / -math.expm1(-width), 0.0, law)
    return np.asarray(np.append(law - top, 0.0) + np.append(0.0, top))
