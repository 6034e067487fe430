"""Private linear classifiers, with the estimator contract that users of scikit-learn know."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.checks import check
from tacit.data.canonical import check_labels
from tacit.estimators.base import Begun, PrivateLinear
from tacit.estimators.coded_targets import ClassFactors, LabelCodes, coded, label_set, places_in
from tacit.estimators.counted import BALANCE, ClassWeight, Counted, balanced, class_numbers
from tacit.estimators.inference import Inferential
from tacit.estimators.streamed_counts import ClassCells, streamed_counts
from tacit.estimators.streaming import Asked
from tacit.linear.losses import HuberHinge, Logistic, Softmax, pair_probabilities, probabilities
from tacit.linear.losses.classification import check_margin
from tacit.linear.problem import Problem
from tacit.linear.streamed import Streamed
from tacit.mechanisms import Chosen, defaults
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.schema import Schema, Target
from tacit.settings import described
from tacit.streams.scanned import is_stream
from tacit.types import Array, Loss

__all__ = ["LinearSVC", "LogisticRegression"]

BY_NUMBERS = "classes weighted by declared numbers"


@dataclass(eq=False, repr=False)
class PrivateClassifier(ClassifierMixin, PrivateLinear):  # type: ignore[misc]
    """Labels in, scores and labels out."""

    _: KW_ONLY
    classes: Any = None
    class_weight: ClassWeight = None

    def _loss(self, classes: int) -> Loss:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # privacy costs accuracy, most of it on the small sets that checks use
        return tags

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train privately. Rows are clipped to ``clip``; the guarantee is set before the coefficients exist.

        Parameters
        ----------
        X : array-like, data frame, sparse CSR matrix, :func:`tacit.scan` or files
            The rows.
        y : array-like
            A label for each row. For files and scans, here and below: the name of a column.
        groups : array-like or None
            The person whom each row is about. All rows of a person are then protected together, and
            ``rows_per_person`` must be declared.
        sample_weight : array-like or None
            How much each row counts, from 0 to ``weight_bound``.
        """
        self._check_declared()
        if is_stream(X):
            return self._fit_stream(Asked.of(X, y, groups, sample_weight))
        X, y = self._records(X, y)
        return self._fit(X, y, self.classes, self._counted(groups, sample_weight, len(y)))

    def _answer(self, asked: Asked) -> LabelCodes:
        """How the labels of a stream are read: declared here or in the schema, for files are not searched for them."""
        own = None if asked.goal is None else asked.goal.classes
        declared = own if self.classes is None else self.classes
        check(
            declared is not None, "Declare the labels with classes=, or in the schema: files are not searched for them."
        )
        self.classes_ = label_set(declared)
        count = len(self.classes_)
        read = asked.declared(Target(asked.target, tuple(self.classes_.tolist())))
        return LabelCodes(read, self.classes_, self._loss(count).coupled)

    def _fit_records(
        self, asked: Asked, records: Streamed, begun: Begun, schema: Callable[[], Schema] | None = None
    ) -> Self:
        count, words, factors = len(self.classes_), asked.words(self.rows_per_person, self.weight_bound), None
        loss, shifts, reader = self._loss(count), np.zeros(count), records.changed.reader
        assert isinstance(reader.answer, LabelCodes)  # for the type checker: it is what _answer gave
        numbers = class_numbers(self.class_weight, self.classes_)
        if numbers is not None:
            words += (BY_NUMBERS,)
        elif self.class_weight is not None:
            cells, numbers = replace(reader, encode=ClassCells(reader.answer), names=(asked.target,)), np.ones(count)
            begun, factors = self._balanced(begun, loss, shifts, partial(streamed_counts, records, cells))
        if numbers is not None:
            records = records.read_by(replace(reader, factor=ClassFactors(numbers)))
        said = (*words, *begun.assumptions, "the set of labels was declared")
        self._run_stream(records, loss, count if count > 2 else 1, said, begun, schema, factors)
        self._shift(shifts)
        return self

    def _fit(self, X: Any, y: Any, classes: Any, own: Counted, begun: Begun | None = None) -> Self:
        """The fit to these classes, or to the labels in y, as far as it has not begun."""
        X, y = own.pick(X), own.pick(y)
        self.classes_, codes, note = label_codes(plain_labels(y), classes)
        count = len(self.classes_)
        loss = self._loss(count)
        shifts = np.zeros(count)
        begun, own = self._weighted(codes, own, begun or self._begin(own.count), loss, shifts)
        targets = coded(codes, count, loss.coupled)
        self._train(X, targets, loss, count if count > 2 else 1, note, begun, own)
        self._shift(shifts)
        return self

    def _shift(self, shifts: Array) -> None:
        """Scores moved by what weights of classes left to them."""
        if shifts.any():
            self.intercept_ = self.intercept_ + (shifts[1:] - shifts[:1] if len(shifts) == 2 else shifts)

    def _weighted(
        self, codes: NDArray[Any], own: Counted, begun: Begun, loss: Loss, shifts: Array
    ) -> tuple[Begun, Counted]:
        """Rows weighted by their class: by declared numbers, or once counts of the classes are released."""
        numbers = class_numbers(self.class_weight, self.classes_)
        if numbers is not None:
            return begun, own.times(numbers[codes], BY_NUMBERS)
        if self.class_weight is None:
            return begun, own

        def counts(tables: Tables) -> Array:
            return tables.count([codes.astype(np.intp)], own.shares.weights)

        begun, even = self._balanced(begun, loss, shifts, counts)
        return begun._replace(weights=lambda: even()[codes]), own.times(np.ones(len(codes)))

    def _balanced(
        self, begun: Begun, loss: Loss, shifts: Array, counts: Callable[[Tables], Array]
    ) -> tuple[Begun, Callable[[], Array]]:
        """A budget that pays for counts of the classes, and what releases them and gives each class its weight.

        Balanced log-odds are met half-way: rows are weighted by the square roots, which leaves more of the larger
        classes to learn from, and ``shifts`` are filled with what is left, for the scores.
        """
        tables = Tables((len(self.classes_),), (1.0,))
        plan = calibrate_counts(tables, begun.budget, BALANCE)
        rest = replace(begun.budget, spent=(*begun.budget.spent, *plan.events))
        words = (*begun.assumptions, *plan.assumptions, "classes weighted by their noisy counts")

        def even() -> Array:
            found = balanced(plan.run(counts(tables), begun.source).weights)
            if (len(found) == 2 and isinstance(loss, Logistic)) or loss.coupled:
                found = np.sqrt(found)
                shifts[:] = np.log(found)
            return found

        return begun._replace(budget=rest, assumptions=words), even

    def decision_function(self, X: Any) -> Array:
        """Scores: a vector for two classes, otherwise a column for each class. Rows are clipped as in training."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self._scores(X)
        picked = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[picked])


def plain_labels(y: Any) -> Any:
    """Labels after scikit-learn's check that they are no amounts; numbers that come as objects as an array of numbers.

    Edges: labels that cannot be compared with each other are refused.
    """
    objects = isinstance(y, np.ndarray) and y.dtype.kind == "O"
    if objects and all(isinstance(label, int | float | np.number | np.bool_) for label in y.flat):
        y, objects = np.array(y.tolist()), False
    try:
        check_classification_targets(y)
    except (TypeError, ValueError) as error:
        if isinstance(error, ValueError) and not objects:
            raise
        raise ValueError("Expected labels in y of one kind: all of them text, or all of them numbers.") from None
    return y


def label_codes(y: Any, classes: Any) -> tuple[NDArray[Any], NDArray[np.signedinteger[Any]], tuple[str, ...]]:
    """Class numbers, in as few bytes as hold them, and what has to be assumed about the label set."""
    check_labels(y)
    known = np.unique(np.asarray(y)) if classes is None else label_set(classes)
    codes = places_in(known, np.asarray(y)).astype(np.min_scalar_type(-len(known)))
    if classes is None:
        note = ("the set of labels is public (it was taken from y; pass classes= to declare it)",)
    else:
        note = ("the set of labels was declared",)
    check(len(known) >= 2, "Expected at least two classes; y contains one class only. Declare them with classes=.")
    return known, codes, note


@described
@dataclass(eq=False, repr=False)
class LogisticRegression(Inferential, PrivateClassifier):
    """Differentially private logistic regression, for two or more classes.

    Attributes
    ----------
    coef_ : array of shape (1, features) or (classes, features)
        The coefficients.
    intercept_ : array of shape (1,) or (classes,)
        The intercepts.
    classes_ : array
        The labels, sorted.
    guarantee_ : Guarantee
        What the fit cost, and why.
    """

    _: KW_ONLY
    multiclass: Literal["softmax", "one-vs-rest"] = "softmax"
    margin: float | None = None
    settings: ClassVar[tuple[str, ...]] = ("margin_",)

    def _loss(self, classes: int) -> Loss:
        margin = 0.0 if self.margin is None else float(self.margin)
        several = classes > 2 and self.multiclass == "softmax"
        return Softmax(classes, margin) if several else Logistic(margin)

    def check_settings(self) -> None:
        """The margin of the link."""
        check_margin(self.margin_)

    def _tuned(self, problem: Problem, chosen: Chosen) -> Loss:
        if self.margin is not None:
            self.margin_ = float(self.margin)
            return problem.loss
        self.margin_ = defaults.margin(chosen.name, chosen.budget, problem.facts)
        if not self.margin_:
            return problem.loss
        return Softmax(problem.outputs, self.margin_) if problem.loss.coupled else Logistic(self.margin_)

    def predict_proba(self, X: Any) -> Array:
        """Class probabilities, by the link that belongs to the loss's margin; one-vs-rest ones are normalised."""
        scores = self._scores(X)
        if scores.shape[1] == 1:
            return pair_probabilities(scores[:, 0], self.margin_)
        if self.multiclass == "softmax":
            return probabilities(scores, self.margin_)
        pairs = [pair_probabilities(s, self.margin_)[:, 1] for s in scores.T]
        chances = np.stack(pairs, axis=1)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


@described
@dataclass(eq=False, repr=False)
class LinearSVC(PrivateClassifier):
    """Differentially private linear support vector classifier with the Huber hinge; several classes one-vs-rest.

    Parameters
    ----------
    smoothing : float
        Half the width over which the corner of the hinge is rounded.
    """

    _: KW_ONLY
    smoothing: float = 0.5

    def _loss(self, classes: int) -> Loss:
        return HuberHinge(self.smoothing)
