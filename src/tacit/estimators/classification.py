"""Private linear classifiers, with the estimator contract that users of scikit-learn know."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils.multiclass import check_classification_targets

from tacit.checks import check, refuse
from tacit.data.canonical import check_labels
from tacit.estimators.base import Begun, PrivateLinear
from tacit.estimators.counted import BALANCE, ClassWeight, Counted, balanced, class_numbers
from tacit.estimators.inference import Inferential
from tacit.estimators.streaming import Asked, ClassFactors, LabelCodes, coded
from tacit.linear.losses import HuberHinge, Logistic, Softmax, probabilities
from tacit.linear.losses.classification import check_margin
from tacit.linear.problem import Problem
from tacit.mechanisms import Chosen, defaults
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.schema import Target
from tacit.streams.scanned import is_stream
from tacit.types import Array, Loss

__all__ = ["LinearSVC", "LogisticRegression"]


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

    def fit(self, X: Any, y: Any, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train privately. Rows are clipped to ``clip``; the guarantee is set before the coefficients exist.

        ``groups`` names the person of each row: then all rows of a person are protected at once, and
        ``rows_per_person`` must be declared. ``sample_weight``: how much each row counts, from 0 to ``weight_bound``.
        """
        if is_stream(X):
            return self._fit_stream(Asked.of(X, y, groups, sample_weight))
        X, y = self._records(X, y)
        return self._fit(X, y, self.classes, self._counted(groups, sample_weight, len(y)))

    def _fit_stream(self, asked: Asked) -> Self:
        """The fit to rows that are read again in every pass."""
        self._forget()
        schema = asked.scan.schema
        named = None if schema is None or schema.target is None else schema.target.classes
        declared = named if self.classes is None else self.classes
        check(
            declared is not None, "Declare the labels with classes=, or in the schema: files are not searched for them."
        )
        self.classes_ = np.unique(np.asarray(declared))
        count, loss = len(self.classes_), self._loss(len(self.classes_))
        check(count >= 2, "Expected at least two classes. Declare them with classes=.")
        numbers = class_numbers(self.class_weight, self.classes_)
        if numbers is None and self.class_weight is not None:
            refuse("Balanced classes are counted first, in memory. Give class_weight a number for each class.")
        read = asked.declared(Target(asked.target, tuple(self.classes_.tolist())))
        answer = LabelCodes(read, self.classes_, loss.coupled)
        factor = None if numbers is None else ClassFactors(numbers)
        records = asked.records(answer, *self._design(), self.rows_per_person, self.weight_bound, factor)
        words = asked.words(self.rows_per_person, self.weight_bound)
        words += () if factor is None else ("classes weighted by declared numbers",)
        outputs = count if count > 2 else 1
        self._run(records, loss, outputs, (*words, "the set of labels was declared"), self._begin(records.count))
        return self

    def _fit(self, X: Any, y: Any, classes: Any, own: Counted, begun: Begun | None = None) -> Self:
        """The fit to these classes, or to the labels in y, as far as it has not begun."""
        X, y = own.pick(X), own.pick(y)
        check_classification_targets(y)
        self.classes_, codes, note = label_codes(y, classes)
        count = len(self.classes_)
        loss = self._loss(count)
        shifts = np.zeros(count)
        begun, own = self._weighted(codes, own, begun or self._begin(own.count), loss, shifts)
        targets = coded(codes, count, loss.coupled)
        self._train(X, targets, loss, count if count > 2 else 1, note, begun, own)
        if shifts.any():
            self.intercept_ = self.intercept_ + (shifts[1:] - shifts[:1] if count == 2 else shifts)
        return self

    def _weighted(
        self, codes: NDArray[Any], own: Counted, begun: Begun, loss: Loss, shifts: Array
    ) -> tuple[Begun, Counted]:
        """Rows weighted by their class: by declared numbers, or once counts of the classes are released.

        Balanced log-odds are met half-way: rows are weighted by the square roots, which leaves more of the larger
        classes to learn from, and ``shifts`` are filled with what is left, for the scores.
        """
        numbers = class_numbers(self.class_weight, self.classes_)
        if numbers is not None:
            return begun, own.times(numbers[codes], "classes weighted by declared numbers")
        if self.class_weight is None:
            return begun, own
        tables = Tables((len(self.classes_),), (1.0,))
        plan = calibrate_counts(tables, begun.budget, BALANCE)
        rest = replace(begun.budget, spent=(*begun.budget.spent, *plan.events))
        words = (*begun.assumptions, *plan.assumptions, "classes weighted by their noisy counts")

        def weights() -> Array:
            counts = tables.count([codes.astype(np.intp)], own.shares.weights)
            even = balanced(plan.run(counts, begun.source).weights)
            if (len(even) == 2 and isinstance(loss, Logistic)) or loss.coupled:
                even = np.sqrt(even)
                shifts[:] = np.log(even)
            return np.asarray(even[codes])

        return begun._replace(budget=rest, assumptions=words, weights=weights), own.times(np.ones(len(codes)))

    def decision_function(self, X: Any) -> Array:
        """Scores: one column for two classes (as a vector), else one a class. Rows are clipped as in training."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self._scores(X)
        picked = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[picked])


def label_codes(y: Any, classes: Any) -> tuple[NDArray[Any], NDArray[np.signedinteger[Any]], tuple[str, ...]]:
    """Class numbers, in as few bytes as hold them, and what has to be assumed about the label set."""
    check_labels(y)
    known = np.unique(np.asarray(y if classes is None else classes))
    places = np.searchsorted(known, y)
    codes = np.minimum(places, len(known) - 1, out=places).astype(np.min_scalar_type(-len(known)))
    if classes is None:
        note = ("the set of labels is public (it was taken from y; pass classes= to declare it)",)
    else:
        check(
            np.array_equal(known[codes], np.asarray(y)),
            "A label in y is not among classes. Add it to classes, or drop those records before fitting.",
        )
        note = ("the set of labels was declared",)
    check(len(known) >= 2, "Expected at least two classes; y holds one class only. Declare them with classes=.")
    return known, codes, note


@dataclass(eq=False, repr=False)
class LogisticRegression(Inferential, PrivateClassifier):
    """Differentially private logistic regression, for two or more classes.

    Parameters: ``epsilon``, ``delta`` (None: n**-1.5), ``method`` ('auto', a name from ``tacit methods`` or a
    mechanism with its own settings), ``calibration`` ('proven', or 'paper' for the published noise), ``adjacency``
    ('replace-one' or 'add-remove'), ``precondition`` (whether rows are whitened by a noisy second moment, which is
    charged: 'auto', True, False, or the length of runs of columns that share a map), ``clip`` (row norm: longer
    rows are shrunk to it), ``classes`` (the label set, declared), ``fit_intercept``, ``regularization`` (lambda of
    the mean objective; None: chosen with the noise), ``multiclass`` ('softmax' or 'one-vs-rest'), ``margin`` of the
    loss log(1 + exp(margin - y z)) (None: 2 where noise rules, falling to 0; 0 for the methods of other papers),
    ``rows_per_person`` (how many rows of one person count, where ``groups`` are given), ``weight_bound`` (the largest
    sample weight), ``class_weight`` (a number for each class, or 'balanced' by counts that are charged),
    ``random_state`` (None: operating system entropy), ``ledger`` (what the fit is charged to), ``inference`` (True: by
    a method whose noise is known, so that ``confidence_intervals`` and ``p_values`` can be asked for).

    Fitted: ``coef_``, ``intercept_``, ``classes_``, ``guarantee_``.
    """

    _: KW_ONLY
    multiclass: Literal["softmax", "one-vs-rest"] = "softmax"
    margin: float | None = None
    settings: ClassVar[tuple[str, ...]] = ("margin_",)

    def _loss(self, classes: int) -> Loss:
        check(
            self.multiclass in ("softmax", "one-vs-rest"),
            f"Expected multiclass={self.multiclass!r} to be 'softmax' or 'one-vs-rest'.",
        )
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
            return probabilities(np.hstack([-0.5 * scores, 0.5 * scores]), self.margin_)
        if self.multiclass == "softmax":
            return probabilities(scores, self.margin_)
        pairs = [probabilities(np.stack([-0.5 * s, 0.5 * s], axis=1), self.margin_)[:, 1] for s in scores.T]
        chances = np.stack(pairs, axis=1)
        return np.asarray(chances / chances.sum(axis=1, keepdims=True))


@dataclass(eq=False, repr=False)
class LinearSVC(PrivateClassifier):
    """Differentially private linear support vector classifier with the Huber hinge; several classes one-vs-rest.

    Parameters as in :class:`LogisticRegression`, and ``smoothing``: half the width over which the hinge's corner is
    rounded.
    """

    _: KW_ONLY
    smoothing: float = 0.5

    def _loss(self, classes: int) -> Loss:
        return HuberHinge(self.smoothing)
