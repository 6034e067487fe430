"""Predictions: the scores of rows that are clipped as in training, each row's by itself to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.checks import check_positive
from tacit.data.canonical import canonical
from tacit.data.rows import clipped_blocks
from tacit.linear.whole import Pieces
from tacit.types import Array


def clipped_scores(X: Any, clip: float, weights: Array) -> Array:
    """Clipped rows times weights, (n, ...) for weights (d, ...), without the intercept.

    Products are exact, so a row's score does not depend on the rows beside it: where a decision hangs on it, a
    neighbour's presence must not move it by an ulp.
    """
    matrix = canonical(X)
    records, features = matrix.shape
    pieces = Pieces.of(np.asarray(weights, dtype=np.float64).reshape(features, math.prod(weights.shape[1:])))
    scores = np.zeros((records, pieces.columns.shape[1] // pieces.count))
    for rows, some in clipped_blocks(matrix, check_positive("clip", clip)):
        scores[rows] = pieces.scores(some)
    return scores.reshape(records, *weights.shape[1:])
