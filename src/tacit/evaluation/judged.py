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
from tacit.estimators.tabled import last_step
from tacit.evaluation.answers_alone import Answers
from tacit.evaluation.asked import TENTHS, Kind
from tacit.evaluation.summary import Layout
from tacit.evaluation.tally import ExactSum, Ranked, Tally
from tacit.types import Adjacency, Array

WORST = -math.log(0.01)
"""The largest log loss that counts: that of a probability of one percent."""
NO_PEOPLE = "rows_per_person is about people: name them with groups=, or leave it out."
_UNKNOWN = "A label in y is not among the model's classes. Drop those records, or fit a model that knows the label."


def kind_of(model: Any) -> Kind:
    """What a fitted model gives."""
    name = type(model).__name__
    check(callable(getattr(model, "predict", None)), f"Expected a fitted model with a method predict, not {name}.")
    classes, likely = getattr(model, "classes_", None), hasattr(model, "predict_proba")
    ranked = likely or hasattr(model, "decision_function")
    if classes is None:
        check(not ranked, f"This {name} has no classes_. Fit it first.")
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
        check(rows_per_person is None, NO_PEOPLE)
        return Taken(slice(None), np.ones(rows), rows, counted)
    people = people_of(groups, rows, rows_per_person)
    return Taken(people.rows, people.shares, people.count, False, people.most, people_words(people.most, counted))


def people_words(most: int, counted: bool) -> tuple[str, ...]:
    """What a guarantee says about people; ``counted``: their number is public."""
    public = ("the number of people is public",) if counted else ()
    return (*public, f"of each person at most {most:,} rows count, the first ones, together as much as one")


@dataclass(frozen=True, eq=False, repr=False)
class Judged:
    """Rows that count, each with its weight: what is true, and what the model says. ``people``: how many there are."""

    weights: Array
    people: int

    def __call__(self, layout: Layout) -> Array:
        """The sums of all parts."""
        return self.tally(layout).sums(layout, self.people)

    def tally(self, layout: Layout) -> Tally:
        """What these rows add to each part."""
        tables: dict[str, Array] = {}
        numbers: dict[str, ExactSum] = {}
        ranked: tuple[Ranked, ...] = ()
        for part in layout:
            if part.name.startswith("ranks"):
                ranked = (self.ranked(),)
            elif part.size == 1:
                numbers[part.name] = ExactSum.of(self.weights * self.number(part.name))
            else:
                counts = np.bincount(self.cells(part.name), self.weights, minlength=part.size)
                tables[part.name] = counts.astype(np.float64, copy=False)
        return Tally(tables, numbers, ranked)

    def ranked(self) -> Ranked:
        """What :mod:`tacit.evaluation.ranking` needs."""
        raise NotImplementedError

    def cells(self, name: str) -> NDArray[np.intp]:
        """Each row's cell in a table."""
        raise NotImplementedError

    def number(self, name: str) -> Array:
        """Each row's part of a sum."""
        return np.ones(len(self.weights))  # of "count"


@dataclass(frozen=True, eq=False, repr=False)
class JudgedLabels(Judged):
    """Class numbers, and where they are asked for scores and probabilities. ``positive``: which class a curve is of."""

    truth: NDArray[np.intp]
    predicted: NDArray[np.intp]
    classes: int
    scores: Array | None = None
    chances: Array | None = None
    positive: int = 1

    def ranked(self) -> Ranked:
        """The scores of the second class."""
        return Ranked(np.asarray(self.scores), self.truth == 1, self.weights)

    def cells(self, name: str) -> NDArray[np.intp]:
        """Of truth and prediction; of truth and whether it was met; of that alone; of truth; of tenths and truth."""
        met = (self.truth == self.predicted).astype(np.intp)
        if name == "calibration":
            chance = np.clip(np.nan_to_num(np.asarray(self.chances)[:, self.positive]), 0.0, 1.0)
            tenth = np.minimum((chance * TENTHS).astype(np.intp), TENTHS - 1)
            return np.asarray(2 * tenth + (self.truth == self.positive))
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
        """Moments of the target and of the squared error; the error's size, less a half; half of the error itself."""
        y, error = self.truth, np.square(self.truth - self.predicted)
        if name.startswith(("absolute", "bias")):
            apart = self.predicted - self.truth
            part = np.abs(apart) - 0.5 if name.startswith("absolute") else 0.5 * apart
            return np.asarray(np.square(part) if name.endswith("_squared") else part)
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


class Said(NamedTuple):
    """What a model says about labels: class numbers, and where they are needed scores and probabilities."""

    predicted: NDArray[np.intp]
    scores: Array | None = None
    chances: Array | None = None


def needed(model: Any, wanted: set[str]) -> tuple[bool, bool]:
    """Whether scores are needed, and probabilities; scores are those of the second class where there are any.

    Networks have a score for each class, also where there are two; the probability of the second then ranks the rows.
    """
    ranks = "auc" in wanted
    single = hasattr(model, "decision_function") and not hasattr(last_step(model), "network_")
    return ranks, bool(wanted & {"log_loss", "calibration"}) or (ranks and not single)


def said_of_labels(answers: Answers, wanted: set[str]) -> Said:
    """Ask the model about the rows that count."""
    model = answers.model
    ranks, likely = needed(model, wanted)
    said = answers.of("predict")
    predicted = codes_of(said, model.classes_, "The model predicts a label that is not among its classes_.")
    chances = answers.of("predict_proba", (len(model.classes_),), np.float64) if likely else None
    if not ranks:
        return Said(predicted, None, chances)
    raw = chances[:, 1] if chances is not None else answers.of("decision_function", (), np.float64)
    return Said(predicted, np.where(np.isnan(raw), -np.inf, raw), chances)


def judged_labels(model: Any, X: Any, y: Any, wanted: set[str], given: Taken, positive: int = 1) -> JudgedLabels:
    """Labels beside what the model says about the rows that count."""
    truth = codes_of(y, model.classes_)[given.rows]
    said = said_of_labels(Answers(model, X, len(y), given.rows, given.fixed), wanted)
    return JudgedLabels(given.weights, given.people, truth, said.predicted, len(model.classes_), *said[1:], positive)


def in_range(values: Array, bounds: tuple[float, float]) -> Array:
    """Numbers cut to a range, in units of it, from -1/2 to 1/2; what is no number is its middle."""
    low, high = bounds
    middle, width = 0.5 * low + 0.5 * high, high - low
    known = np.clip(np.where(np.isnan(values), middle, values), low, high)
    return np.asarray(np.clip((known - middle) / width, -0.5, 0.5))


def judged_numbers(model: Any, X: Any, y: Any, bounds: tuple[float, float], given: Taken) -> JudgedNumbers:
    """Targets beside what the model says about the rows that count. Both are cut to the range."""
    truth = in_range(target_numbers(y), bounds)[given.rows]
    said = Answers(model, X, len(y), given.rows, given.fixed).of("predict", (), np.float64)
    return JudgedNumbers(given.weights, given.people, truth, in_range(said, bounds))
