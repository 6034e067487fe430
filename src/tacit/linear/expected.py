"""How curved a loss is on the whole, from the mean and the spread of its scores alone."""

from __future__ import annotations

import math

import numpy as np

from tacit.linear.losses import Logistic, probabilities
from tacit.types import Array

NODES = 40
"""Of the quadrature: scores that spread over tens of units are still averaged to a percent."""


def expected_curvature(loss: Logistic, mean: float, deviation: float) -> float:
    """``E[l''(z)]`` for normal scores z of this mean and deviation, by Gauss-Hermite quadrature.

    Labels are as likely as the loss's own link says; without a margin l'' does not depend on them.
    """
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    scores: Array = mean + deviation * nodes
    chances = probabilities(np.stack([-0.5 * scores, 0.5 * scores], axis=1), loss.margin)
    ones = np.ones_like(scores)
    curves = sum(chances[:, place] * loss.curve(scores, sign * ones, ones) for place, sign in enumerate((-1, 1)))
    return float(weights @ np.asarray(curves)) / math.sqrt(2 * math.pi)
