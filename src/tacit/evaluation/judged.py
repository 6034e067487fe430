"""Predictions beside the truth: what one row adds to each part of the release, from that row alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.canonical import check_labels
from tacit.data.people import people_of
from tacit.estimators.regression import target_numbers
from tacit.evaluation.answers_alone import Answers
from tacit.evaluation.asked import TENTHS, Kind
from tacit.evaluation.ranking import rank_sums
from tacit.evaluation.summary import Layout
from tacit.types import Adjacency, Array

WORST = -math.log(0.01)
"""The largest log loss that counts: that of a probability of one percent."""
_UNKNOWN = "A label in y is not among the model's classes. Drop those records, or fit a model that knows the label."


def kind_of(model: Any) -> Kind:
    """What a fitted model gives."""
    name = type(model).__name__
    check(callable(getattr(model, "predict", None)), f"Expected a fitted model with a method predict, not {name}.")
    classes, likely = getattr(model, "classes_", None), hasattr(model, "predict_proba")
    ranked = likely or hasattr(model, "decision_function")
    if classes is None:
        check(not ranked, f"This {name} does not say its classes_. Fit it first.")
        return Kind(None)
    check(len(classes) >= 2, f"This {name} knows one class only, so it has no scores.")
    return Kind(len(classes), ranked=ranked, likely=likely)


class Taken(NamedTuple):
    """Which rows of a table count, the weight of each, how many people they are of, the most rows of one, in words.

    ``fixed``: in all neighbouring tables every row has the place that it has here.
    """

    rows: Any
    weights: Array
    people: int
    fixed: bool
    most: int | None = None
    words: tuple[str, ...] = ()


def taken(groups: Any, rows: int, rows_per_person: Any, adjacency: Adjacency) -> Taken:
    """Every row for itself, or people: the rows of one weigh the same, and at most one together."""
    counted = adjacency == "replace-one"
    if groups is None:
        check(rows_per_person is None, "rows_per_person is about people: name them with groups=, or leave it out.")
        return Taken(slice(None), np.ones(rows), rows, counted)
    people = people_of(groups, rows, rows_per_person)
    words = f"of each person at most {people.most:,} rows count, the first ones, together as much as one"
    public = ("the number of people is public",) if counted else ()
    return Taken(people.rows, people.shares, people.count, False, people.most, (*public, words))


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """Rows that count, each with its weight: what is true, and what the model says. ``people``: how many there are."""

    weights: Array
    people: int

    def __call__(self, layout: Layout) -> Array:
        """The sums of all parts."""
        ranked = [part.name for part in layout if part.name.startswith("ranks")]
        found = dict(zip(("ranks", "ranks_squared"), self.ranks(), strict=True)) if ranked else {}
        parts = []
        for part in layout:
            if part.name in found:
                parts.append(np.array([found[part.name]]))
            elif part.size == 1:
                parts.append(np.array([math.fsum(self.weights * self.number(part.name))]))
            else:
                parts.append(np.bincount(self.cells(part.name), self.weights, minlength=part.size))
        return np.concatenate(parts)

    def ranks(self) -> tuple[float, float]:
        """The two sums of :mod:`tacit.evaluation.ranking`."""
        raise NotImplementedError

    def cells(self, name: str) -> NDArray[np.intp]:
        """Each row's cell in a table."""
        raise NotImplementedError

    def number(self, name: str) -> Array:
        """Each row's part of a sum."""
        return np.ones(len(self.weights))  # of "count"


@dataclass(frozen=True, eq=False, repr=False)
class JudgedLabels(Judged):
    """Class numbers, and where they are asked for scores and probabilities."""

    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    classes: int
    scores: Array | None = None
    chances: Array | None = None

    def ranks(self) -> tuple[float, float]:
        """Of the scores of the second class."""
        return rank_sums(np.asarray(self.scores), self.truth == 1, self.weights, self.people)

    def cells(self, name: str) -> NDArray[np.intp]:
        """Of truth and prediction; of truth and whether it was met; of that alone; of truth; of tenths and truth."""
        met = (self.truth == self.predicted).astype(np.intp)
        if name == "calibration":
            chance = np.clip(np.nan_to_num(np.asarray(self.chances)[:, 1]), 0.0, 1.0)
            return np.asarray(2 * np.minimum((chance * TENTHS).astype(np.intp), TENTHS - 1) + self.truth)
        found = {
            "confusion": self.truth * self.classes + self.predicted, "recalls": 2 * self.truth + met, "right": met,
            "classes": self.truth,
        }  # fmt: skip
        return np.asarray(found[name])

    def number(self, name: str) -> Array:
        """The log loss in units of the worst that counts, less a half; or the square of that."""
        if name == "count":
            return super().number(name)
        chance = np.nan_to_num(np.asarray(self.chances)[np.arange(len(self.truth)), self.truth])
        loss = np.clip(-np.log(np.clip(chance, 0.01, 1.0)) / WORST, 0.0, 1.0) - 0.5
        return np.asarray(loss if name == "loss" else np.square(loss))


@dataclass(frozen=True, eq=False, repr=False)
class JudgedNumbers(Judged):
    """Targets and predictions, in units of the declared range: from -1/2 to 1/2."""

    truth: Array
    predicted: Array

    def number(self, name: str) -> Array:
        """Moments of the target and of the squared error."""
        y, error = self.truth, np.square(self.truth - self.predicted)
        if name.startswith("error"):
            return np.asarray(error - 0.5 if name == "error" else np.square(error - 0.5))
        if name == "count":
            return super().number(name)
        moment, _, crossed = name.partition("_")
        power = y ** int(moment[1:] or 1)
        if crossed:
            return np.asarray(power * error)
        return np.asarray(power - 0.125 if name == "y2" else power)


def codes_of(labels: Any, classes: Any, sentence: str = _UNKNOWN) -> NDArray[np.intp]:
    """The place of each label among the classes."""
    known, found = np.asarray(classes), np.asarray(labels)
    check_labels(found)
    order = np.argsort(known, kind="stable")
    try:
        places = order[np.minimum(np.searchsorted(known[order], found), len(known) - 1)]
        same = np.array_equal(known[places], found)
    except TypeError:  # numbers and texts have no common order
        same = False
    check(same, sentence)
    return np.asarray(places, dtype=np.intp)


def judged_labels(model: Any, X: Any, y: Any, wanted: set[str], given: Taken) -> JudgedLabels:
    """Ask the model about the rows that count."""
    classes = len(model.classes_)
    truth, answers = codes_of(y, model.classes_)[given.rows], Answers(model, X, len(y), given.rows, given.fixed)
    said = answers.of("predict")
    predicted = codes_of(said, model.classes_, "The model predicts a label that is not among its classes_.")
    chances = scores = None
    ranks = "auc" in wanted
    if wanted & {"log_loss", "calibration"} or (ranks and not hasattr(model, "decision_function")):
        chances = answers.of("predict_proba", (classes,), np.float64)
    if ranks:
        raw = chances[:, 1] if chances is not None else answers.of("decision_function", (), np.float64)
        scores = np.where(np.isnan(raw), -np.inf, raw)
    return JudgedLabels(given.weights, given.people, truth, predicted, classes, scores, chances)


def judged_numbers(model: Any, X: Any, y: Any, bounds: tuple[float, float], given: Taken) -> JudgedNumbers:
    """Ask the model about the rows that count. Targets and predictions are cut to the range."""
    low, high = bounds
    middle, width = 0.5 * low + 0.5 * high, high - low

    def scaled(values: Array) -> Array:
        return np.clip((np.clip(values, low, high) - middle) / width, -0.5, 0.5)

    truth = scaled(target_numbers(y))[given.rows]
    said = Answers(model, X, len(y), given.rows, given.fixed).of("predict", (), np.float64)
    return JudgedNumbers(given.weights, given.people, truth, scaled(np.where(np.isnan(said), middle, said)))
