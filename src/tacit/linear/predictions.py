"""Predictions: the scores of rows that are clipped as in training, each row's by itself to the last bit."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from tacit.data.rows import Design
from tacit.linear.records import block_rows
from tacit.linear.whole import Pieces
from tacit.types import Array


def clipped_scores(X: Any, clip: float, weights: Array) -> Array:
    """Clipped rows times weights, (n, ...) for weights (d, ...), without the intercept.

    Products are exact, so a row's score does not depend on the rows beside it: where a decision hangs on it, a
    neighbour's presence must not move it by an ulp.
    """
    records, features = X.shape
    pieces = Pieces.of(np.asarray(weights, dtype=np.float64).reshape(features, math.prod(weights.shape[1:])))
    scores = np.empty((records, pieces.columns.shape[1] // pieces.count))
    step = block_rows(features)
    for start in range(0, records, step):
        rows = slice(start, min(start + step, records))
        part = Design(X[rows], clip)
        scores[rows] = pieces.scores(part.block(slice(0, rows.stop - rows.start)))
    return scores.reshape(records, *weights.shape[1:])
