r"""Which theta to tilt a sum of losses by. Any is right; a good one makes the bound tight.

It minimises the Renyi bound on delta, for K(theta) the sum's log moment generating function:

.. math:: \log\delta(\epsilon) \le K(\theta) - \theta\epsilon + \theta\log\theta - (1 + \theta)\log(1 + \theta)

No price is computed from what is computed here, so few cells do.
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass

import numpy as np

from tacit.privacy.privacy_loss import Masses
from tacit.rounding import narrow
from tacit.types import Array

_COARSE = 4096


@dataclass(frozen=True)
class CoarseLosses:
    """Count, losses and masses of every kind, in few cells."""

    cells: tuple[tuple[int, Array, Array], ...]

    @classmethod
    def of(cls, step: float, kinds: tuple[Masses, ...]) -> CoarseLosses:
        """Evenly spaced cells, and one for every point that has much mass."""
        cells = []
        for kind in kinds:
            mass = kind.probability
            losses = step * (kind.first + np.arange(len(mass)))
            heavy = np.flatnonzero(mass > 1 / _COARSE)
            even = np.arange(0, len(mass), -(-len(mass) // _COARSE))
            starts = np.unique(np.concatenate([even, heavy, heavy + 1]))
            starts = starts[starts < len(mass)]
            total = np.add.reduceat(mass, starts)
            cells.append((kind.count, np.add.reduceat(mass * losses, starts) / total, total))
        return cls(tuple(cells))

    def moments(self, theta: float) -> tuple[float, float, float]:
        """The sum's log moment generating function and its first two derivatives."""
        value = slope = curve = 0.0
        for count, losses, mass in self.cells:
            exponent = theta * losses + np.log(np.maximum(mass, 1e-320))
            top = float(exponent.max())
            weights = np.exp(exponent - top)
            whole = float(weights.sum())
            mean = float(weights @ losses) / whole
            value += count * (top + math.log(whole))
            slope += count * mean
            curve += count * float(weights @ (losses - mean) ** 2) / whole
        return value, slope, curve

    @functools.cached_property
    def deviation(self) -> float:
        """The sum's standard deviation."""
        return math.sqrt(max(self.moments(0.0)[2], 1e-300))

    @functools.cached_property
    def _range(self) -> tuple[float, float]:
        """Logarithms between which a theta is looked for: the sum's deviation is some 1/theta."""
        natural = -math.log(self.deviation)
        return min(-12.0, natural - 12.0), max(8.0, natural + 8.0)

    def at_epsilon(self, epsilon: float) -> float:
        """Where the bound at this epsilon is smallest; its derivative grows with theta."""

        def falls(log_theta: float) -> bool:
            theta = math.exp(log_theta)
            return self.moments(theta)[1] - epsilon - math.log1p(1 / theta) < 0

        high = narrow(falls, *self._range, halvings=14)[1]
        return math.exp(round(16 * high) / 16)  # few values: a transform is kept for each

    def at_delta(self, delta: float) -> float:
        """The theta of the smallest epsilon that the bound gives for delta."""

        def bound(theta: float) -> float:
            cost = theta * math.log(theta) - (1 + theta) * math.log1p(theta)
            return (self.moments(theta)[0] + cost - math.log(delta)) / theta

        grid = np.exp(np.arange(*self._range, 0.25))
        return float(min(grid, key=bound))
