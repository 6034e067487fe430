"""Notes for the curator on a fit that is done: what its training rows show, and a guarantee cannot say."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.data.curator import FEW, note
from tacit.linear.problem import Problem
from tacit.linear.whole import Pieces
from tacit.types import Array

_HANDFUL = (
    "the table has {records} records. With fewer than {few}, a private model consists mostly of noise, whatever its "
    "epsilon; if it does not, it protects hardly anyone."
)
_ONE_CLASS = (
    "the model predicts the same class for all rows that it was trained on. The noise may have outweighed the signal, "
    "one class the others, or a column of large numbers all other columns: try a larger epsilon, fewer columns, "
    "class_weight, or, if there is none, a schema, which scales columns by their bounds."
)


def note_fit(records: int, predicted: Iterable[NDArray[Any]] = ()) -> None:
    """Tell of a table of a handful of records, and of predictions, block by block, that are all the same.

    NOT PRIVATE, and nothing is kept of it. Blocks are read only until two classes were seen.
    """
    if records < FEW:
        note(_HANDFUL.format(records=records, few=FEW))
    first, alike = None, False
    for block in predicted:
        first = block[0] if first is None else first
        alike = bool(np.all(block == first))
        if not alike:
            break
    if alike:
        note(_ONE_CLASS)


def picked(problem: Problem, weights: Array) -> Iterator[NDArray[Any]]:
    """The class numbers that a linear classifier gives its training rows, block by block."""
    pieces = Pieces.of(weights)
    for block in problem.records.blocks():
        scores = pieces.scores(block.rows)
        yield scores[:, 0] > 0 if scores.shape[1] == 1 else scores.argmax(axis=1)
