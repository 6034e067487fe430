r"""How curved a loss is, from a noisy second moment of the rows and the weights alone.

The Hessian ``H = sum_i l''_i x_i x_i^T`` takes the records once more. Where only ``C = sum_i x_i x_i^T`` was released,
with noise in each entry, it is estimated: each column's mean score, and the spread of all scores, tell how curved the
loss is on what the column holds.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.linear.losses import Logistic, pair_probabilities
from tacit.types import Array

NODES = 40
"""Of the quadrature: scores that spread over tens of units are still averaged to a percent."""
SEEN = 2.5
"""Standard deviations of its noise from which on a product of two columns counts as seen."""


def sieved(second: Array, masses: Array | None, count: int, noise: float) -> Array:
    """The second moment of ``count`` rows, of entries with this standard deviation, without what may be noise alone.

    Products of columns, less those of their means, are zero where they are not seen (hard thresholds: Bickel and Levina
    2008), and squares are lowered by one standard deviation. Else a column that holds nothing would be tied to all
    others by noise, and what noise does to its weight would seem to move theirs. ``masses`` are the sums of columns,
    with the intercept's as the last; without them no means are taken off.
    """
    sums = np.zeros(len(second)) if masses is None else np.maximum(masses, 0.0)
    means = np.outer(sums, sums) / count
    rest = second - means
    kept = np.where(np.abs(rest) > SEEN * noise, rest, 0.0)
    np.fill_diagonal(kept, np.maximum(np.diag(rest) - noise, 0.0))
    if masses is not None:
        kept[-1] = kept[:, -1] = 0.0  # the products of means with the constant are those that were released
    return np.asarray(kept + means)


def expected_hessian(
    loss: Logistic, second: Array, masses: Array | None, weights: Array, count: int, noise: float, left: float
) -> Array:
    r"""``H_jk = left sqrt(kappa_j kappa_k) C_jk`` with ``kappa_j = E l''(N(a_j, v))``.

    ``a_j = (C w)_j / sum_i x_ij`` is the mean score of what column j holds, where columns have no negative entries; v
    is the variance of all scores. Columns whose mass is below the ``noise`` of the second moment count as that heavy.
    ``left`` is the part of the rows' squares that is left where they were cut.

    Edges: without masses the mean is taken as 0, and kappa is one number.
    """
    scores = second @ weights
    means = np.zeros(1) if masses is None else scores / np.maximum(masses, noise)
    variance = left * float(weights @ scores) / count - float(means[-1]) ** 2
    roots = np.sqrt(left * expected_curvature(loss, means, math.sqrt(max(variance, 0.0))))
    return np.asarray(roots[:, None] * second * roots)


def expected_curvature(loss: Logistic, means: Array, deviation: float) -> Array:
    """``E[l''(z)]`` for normal scores z of each of these means, and this deviation, by Gauss-Hermite quadrature.

    Labels are as likely as the loss's own link says; without a margin l'' does not depend on them.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    scores: Array = np.add.outer(means, deviation * nodes).ravel()
    chances = pair_probabilities(scores, loss.margin)
    ones = np.ones_like(scores)
    curves = sum(chances[:, place] * loss.curve(scores, sign * ones, ones) for place, sign in enumerate((-1, 1)))
    return np.asarray(curves).reshape(len(means), NODES) @ weights / math.sqrt(2 * math.pi)
