"""What a model says about each row, to the last bit whatever other rows there are.

A library may add up a row's terms in an order that depends on how many rows it is given and where the row stands: one
row more, and the scores of thousands of others move by their last digit, over a threshold if they lie at one. So:

* where every row keeps its place in all neighbouring tables (replace-one, no people) they are asked about in one call,
  unless they come as a list, whose cells have no common type;
* where rows may move, Tacit's linear and additive models are too, which compute each row by itself
  (:func:`tacit.linear.predictions.clipped_scores`), and pipelines that bring a table to one of them by steps of Tacit
  alone: they read every cell by itself (:mod:`tacit.data.cells`), scale it by itself, and take one image at a time;
* every other model is then asked about one row a call, which takes a tenth of a millisecond a row and more.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.canonical import thin
from tacit.estimators import additive, classification, regression
from tacit.estimators.base import PrivateLinear
from tacit.estimators.tabled import last_step, steps_of
from tacit.features.scattering import Scattering
from tacit.schema.encoder import SchemaEncoder
from tacit.statistics.scaler import PrivateScaler

_UNEQUAL = "The model does not give one answer for each label in y. Do X and y have the same number of rows?"
_NO_NUMBERS = (
    "The model does not give a number for each row. A model that predicts labels needs the attribute classes_, the "
    "list of all of them; any other must predict numbers."
)
_BY_ROW = {
    kind
    for module in (additive, classification, regression)
    for name in module.__all__
    if issubclass(kind := getattr(module, name), PrivateLinear)
}
"""Models that compute each row by itself; a class derived from one may do something else."""
_STEPS = {SchemaEncoder, PrivateScaler, Scattering}
"""Steps of a pipeline that do the same; of these, too, none that is derived."""
_PATIENCE = 5.0
"""Seconds between two words about how far it is."""


@dataclass(frozen=True, eq=False, repr=False)
class Answers:
    """A model and a table of ``length`` rows, of which those at ``rows`` count; ``fixed``: rows keep their places."""

    model: Any
    X: Any
    length: int
    rows: Any
    fixed: bool

    def of(self, method: str, each: tuple[int, ...] = (), dtype: Any = None) -> NDArray[Any]:
        """What a method of the model says about the rows that count: an array of the shape ``each`` for a row."""
        ask = getattr(self.model, method)
        typed = not isinstance(self.X, list | tuple)  # one cell of a list decides the type of an array of all
        if (self.fixed and typed) or _by_row(self.model, typed):
            return np.asarray(self._whole(ask(self.X), (self.length, *each), dtype)[self.rows])
        check(_length(self.X) == self.length, _UNEQUAL)
        take, places = _rows(self.X), np.arange(self.length)[self.rows]
        told = time.monotonic()
        found = []
        for done, place in enumerate(places.tolist()):
            found.append(self._whole(ask(take(place)), (1, *each), dtype).copy())
            if time.monotonic() > told + _PATIENCE:
                told = time.monotonic()
                print(
                    f"Evaluating the model row by row ({method}): {done / len(places):.0%}", file=sys.stderr, flush=True
                )
        return np.concatenate(found)

    @staticmethod
    def _whole(said: Any, shape: tuple[int, ...], dtype: Any) -> NDArray[Any]:
        """Answers, if there is one for each row that was asked about.

        Edges: what is no number, where numbers are expected, is refused and not quoted: it depends on the records.
        """
        try:
            found = np.asarray(said, dtype=dtype)
        except (TypeError, ValueError):
            raise ValueError(_NO_NUMBERS) from None
        check(found.shape == shape, _UNEQUAL)
        return found


def _by_row(model: Any, typed: bool) -> bool:
    """Whether a model computes each row by itself to the last bit, which is proven of Tacit's own alone.

    A pipeline has to be scikit-learn's very class, and its table one that has types: not a list.
    """
    if type(last_step(model)) not in _BY_ROW:
        return False
    if not steps_of(model):
        return True
    from sklearn.pipeline import Pipeline  # slow to load; who has a pipeline has loaded it

    before = [step for _, step in steps_of(model)[:-1] if step is not None and not isinstance(step, str)]
    return typed and type(model) is Pipeline and all(type(step) in _STEPS for step in before)


def _length(X: Any) -> int:
    """How many rows a table has."""
    if isinstance(X, Mapping):
        return len(next(iter(X.values()), ()))
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def _rows(X: Any) -> Callable[[int], Any]:
    """One row of a table at a time, in the table's own form and in memory of its own where that is an array."""
    if isinstance(X, Mapping):
        columns = {name: _rows(column) for name, column in X.items()}
        return lambda place: {name: take(place) for name, take in columns.items()}
    if thin(X):
        matrix = X.tocsr()
        return lambda place: matrix[place : place + 1]
    if hasattr(X, "iloc"):
        return lambda place: X.iloc[place : place + 1]
    if hasattr(X, "slice"):  # polars and pyarrow
        return lambda place: X.slice(place, 1)
    if isinstance(X, np.ndarray):
        return lambda place: X[place : place + 1].copy()
    return lambda place: X[place : place + 1]
