"""What a record adds to the score of a model: a number from 0 to 1, from that record, the model and public facts alone.

The sum over all records that were trained on is released with Gaussian noise. A replaced record moves it by at most 1.
Where a record is a person with several rows, it adds the mean of what they add. Numbers are whole multiples of 2**-20,
so sums are exact, in whatever order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from tacit.checks import check, check_choice
from tacit.data.people import People
from tacit.search.accepted import name_of, private_step
from tacit.types import Array

STEP = 2.0**-20


def accuracy(model: Any, X: Any, y: Any) -> Array:
    """1 for a hit."""
    return np.asarray(np.asarray(model.predict(X)) == y, dtype=np.float64)


def brier(model: Any, X: Any, y: Any) -> Array:
    """1 - (1 - p)^2, p the probability that the model gave to the label: it also tells how sure the model is."""
    places = np.minimum(np.searchsorted(model.classes_, y), len(model.classes_) - 1)
    known = model.classes_[places] == y  # a label may be that of a row which does not count
    chances = np.where(known, model.predict_proba(X)[np.arange(len(y)), places], 0.0)
    return np.asarray(1.0 - (1.0 - chances) ** 2)


def squared_error(model: Any, X: Any, y: Any) -> Array:
    """1 - (y - prediction)^2 over the square of the declared range, not below 0."""
    return np.asarray(1.0 - np.minimum(_distance(model, X, y) ** 2, 1.0))


def absolute_error(model: Any, X: Any, y: Any) -> Array:
    """1 - |y - prediction| over the declared range, not below 0."""
    return np.asarray(1.0 - np.minimum(_distance(model, X, y), 1.0))


SCORES: dict[str, Callable[[Any, Any, Any], Array]] = {
    "accuracy": accuracy,
    "brier": brier,
    "squared-error": squared_error,
    "absolute-error": absolute_error,
}
"""By the name that a search calls them by; the larger, the better."""


def score_of(score: str, estimator: Any) -> Callable[[Any, Any, Any], Array]:
    """The score of that name; 'auto' is accuracy for classes, and the squared error for numbers."""
    classes = is_classifier(estimator)
    name = ("accuracy" if classes else "squared-error") if score == "auto" else score
    if score != "auto":
        check_choice("scoring", score, ("auto", *SCORES))
    check(classes == (name in ("accuracy", "brier")), f"The score {name!r} is not one of this kind of model.")
    if name == "brier":
        likely = hasattr(private_step(estimator), "predict_proba")
        check(likely, "The score 'brier' is of probabilities, which this model does not give. Use 'accuracy'.")
    if not classes:
        _declared(estimator)
    return SCORES[name]


def summed(values: Array, people: People | None = None) -> float:
    """The exact sum of values, each cut to [0, 1] and rounded to STEP; what is not a number counts as 0.

    Of people's rows those that count, each times its share and rounded down to STEP: a person adds from 0 to 1.
    """
    steps = np.rint(np.clip(np.nan_to_num(values, nan=0.0), 0.0, 1.0) / STEP)
    if people is not None:
        steps = np.floor(steps[people.rows] * people.shares)  # 20 bits times 24: exact before it is cut
    return int(steps.astype(np.int64).sum()) * STEP


def _distance(model: Any, X: Any, y: Any) -> Array:
    """Distances of predictions from targets, in units of the declared range; targets are cut to it."""
    low, high = _declared(model)
    return np.asarray(np.abs(np.clip(np.asarray(y, np.float64), low, high) - model.predict(X)) / (high - low))


def _declared(model: Any) -> tuple[float, float]:
    """The public range of the targets."""
    bound = model.get_params(deep=True).get(name_of(model, "target_bound"))
    check(bound is not None, "Expected target_bound=, the public range of the targets: errors are scored by it.")
    pair = np.asarray(bound, dtype=np.float64).ravel()
    low, high = (-pair[0], pair[0]) if pair.size == 1 else (pair[0], pair[-1])
    check(-math.inf < low < high < math.inf, "Expected target_bound= to be a number > 0 or a pair (lower, upper).")
    return float(low), float(high)
