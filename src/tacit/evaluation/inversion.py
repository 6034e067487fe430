r"""Intervals by inverting a test: all values that the release does not contradict.

A score theta is the root of ``E[gap(theta)] = 0``, where the gap is linear in what was released: for a ratio a/b it is
``a - theta b``. Its variance at theta is that of the noise, which is public, plus that of the sample. The interval is
``{theta : |gap(theta)| <= q sqrt(variance(theta))}``: Fieller's for noisy ratios, and Wilson's for shares without
noise. A small noisy denominator makes it wide, up to the whole range, and never undefined.

Reference: Fieller 1954; Wilson 1927.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tacit.types import Array

Curve = Callable[[Array], Array]
_POINTS, _ZOOMS, _ROUNDS = 501, 17, 5
_TINY = 1e-300
"""Stands for a variance of zero."""


def interval(
    gap: Curve, variance: Curve, quantile: float, point: float, ends: tuple[float, float]
) -> tuple[float, float]:
    """The smallest interval within ``ends`` that holds all values with ``|gap| <= quantile sqrt(variance)``.

    ``point`` is the root of the gap, or the end that is nearest to it.

    Edges: where the release contradicts the whole range (noise put the estimate far outside), the values within one
    standard deviation of the least contradicted one.
    """
    low, high = ends
    grid = np.union1d(np.linspace(low, high, _POINTS), [point])

    def away(values: Array) -> Array:
        return np.asarray(np.abs(gap(values)) / np.sqrt(np.maximum(variance(values), _TINY)))

    distances = away(grid)
    allowed = quantile if (distances <= quantile).any() else float(distances.min()) + 1.0
    inside = np.flatnonzero(distances <= allowed)
    first, last = inside[0], inside[-1]
    left = grid[0] if first == 0 else _edge(away, allowed, grid[first - 1], grid[first])
    right = grid[-1] if last == len(grid) - 1 else _edge(away, allowed, grid[last + 1], grid[last])
    return float(left), float(right)


def unsure(total: Array, doubt: Array | float, quantile: float) -> Array:
    """A variance that was itself estimated, with an error of variance ``doubt``: larger, as Student's quantile is.

    With ``2 total^2 / doubt`` degrees of freedom the square of the quantile is larger by (q^2 + 1) doubt / (4 total^2),
    to first order (Welch 1947); where the total is small, it may as well be larger by its error.
    """
    return np.asarray(total + 0.25 * (quantile**2 + 1) * doubt / np.maximum(total + np.sqrt(doubt), _TINY))


def _edge(away: Curve, allowed: float, outside: float, inside: float) -> float:
    """Between a value outside and one inside: a value outside, next to the edge."""
    for _ in range(_ROUNDS):
        steps = np.linspace(outside, inside, _ZOOMS)
        first = max(1, int(np.argmax(away(steps) <= allowed)))  # the last step is inside
        outside, inside = steps[first - 1], steps[first]
    return float(outside)
