"""The scikit-learn face: private linear models with the estimator contract that users know.

``epsilon`` is a setting, not an account: every ``fit`` draws fresh noise and carries its own ``guarantee_``.
Cross-validation with k folds is k fits on the same people; :func:`tacit.spent` adds them up.
"""

from __future__ import annotations

import math
import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, check_X_y, validate_data

from tacit.checks import check, check_positive, check_range, check_real, plain_numbers
from tacit.data.canonical import canonical, check_labels, column
from tacit.data.rows import Design
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared, probabilities
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import Mechanism, choose_method, defaults
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import SeededSource, Source, SystemSource
from tacit.training import fit, prepare
from tacit.types import Adjacency, Array, Budget, Calibration, Loss

INTERCEPT = 0.5
"""The constant coordinate of the intercept, as a fraction of the clip: public, and counted in the row norm."""
_UNBOUNDED = (
    "No target_bound was given: targets are cut to [-1, 1]. Give target_bound= a number B for targets in [-B, B], or "
    "a pair (lower, upper): public bounds, not taken from y."
)
_ROWS: dict[str, Any] = {"accept_sparse": "csr", "dtype": [np.float64, np.float32], "order": "C"}
_SENTENCES = {
    "Input X contains NaN": (
        "X contains NaN, and a missing number has no place of its own here. Describe the columns with tacit.Schema, "
        "missing = true for those that may be empty, or fill them in with a public number first."
    ),
}


def source_from(random_state: Any) -> Source:
    """None is the operating system's entropy; anything else is a seeded stream, and the guarantee will say so."""
    if random_state is None:
        return SystemSource()
    if isinstance(random_state, np.random.RandomState):
        return SeededSource(tuple(int(v) for v in random_state.randint(0, 2**31 - 1, size=8)))
    if isinstance(random_state, np.random.Generator):
        return SeededSource(tuple(int(v) for v in random_state.integers(0, 2**63 - 1, size=4)))
    check(
        isinstance(random_state, int | np.integer), "Expected random_state to be None, a whole number or a generator."
    )
    return SeededSource(int(random_state))


class _PrivateLinear(BaseEstimator):  # type: ignore[misc]
    """What the three estimators share: validation, the run, the linear predictor."""

    epsilon: float
    delta: float | None
    method: str | Mechanism
    calibration: Calibration
    adjacency: Adjacency
    clip: float
    fit_intercept: bool
    regularization: float | None
    random_state: Any
    guarantee_: Guarantee
    record_guarantee_: Guarantee
    coef_: Array
    intercept_: Any

    def _budget(self, n: int) -> Budget:
        check(
            self.calibration in ("proven", "paper"),
            f"Expected calibration={self.calibration!r} to be 'proven' or 'paper'.",
        )
        if self.regularization is not None:
            given = check_real("regularization", self.regularization)
            check(0 <= given < math.inf, f"Expected regularization={given} >= 0 and finite.")
        delta = min(n**-1.5, 0.01) if self.delta is None else check_real("delta", self.delta)
        return Budget(check_real("epsilon", self.epsilon), delta, self.adjacency)

    def _train(
        self, X: Any, targets: Array, loss: Loss, outputs: int, budget: Budget, assumptions: tuple[str, ...]
    ) -> Array:
        for name in ("record_guarantee_", *self.__dict__.pop("_extras", ())):
            self.__dict__.pop(name, None)  # of an earlier fit, by another method perhaps
        clip = check_positive("clip", self.clip)
        source, loss = source_from(self.random_state), plain_numbers(loss)
        problem = Problem(
            Records.build(X, targets, clip, INTERCEPT * clip if self.fit_intercept else 0.0), loss, outputs
        )
        name, mechanism, budget = choose_method(self.method, budget, problem.facts, self.calibration)
        prepared = prepare(
            problem.facts, mechanism, budget, method=name, seeded=source.seeded,
            regularization=self.regularization, calibration=self.calibration, assumptions=assumptions,
        )  # fmt: skip
        if prepared.record_guarantee is not None:
            self.record_guarantee_ = prepared.record_guarantee
        solution = fit(problem, prepared, source, self._spend)
        extras = {f"{extra}_": value for extra, value in solution.extras.items()}
        self.__dict__.update(extras, **({"_extras": tuple(extras)} if extras else {}))
        weights = solution.weights
        rows = X.shape[1]
        self.intercept_ = problem.records.intercept * weights[rows] if self.fit_intercept else np.zeros(outputs)
        return np.asarray(weights[:rows].T)

    def _spend(self, guarantee: Guarantee) -> None:
        self.guarantee_ = guarantee

    def _records(self, X: Any, y: Any) -> Any:
        """The records of a new fit. An earlier model goes first: a fit that ends early leaves none, only what it spent.

        Otherwise the old coefficients would stand beside the new guarantee.
        """
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        return self._validated(X, y)

    def _validated(self, X: Any, *y: Any) -> Any:
        """Canonical rows, and y, after scikit-learn's checks of names, sizes and finite numbers.

        Its sentences that quote cells, or give no help here, are replaced.
        """
        matrix = canonical(X)
        validate_data(self, X, y="no_validation", reset=bool(y), skip_check_array=True)
        try:
            if not y:
                return check_array(matrix, estimator=self, input_name="X", **_ROWS)
            return check_X_y(matrix, column(y[0]), estimator=self, **_ROWS)
        except ValueError as error:
            sentence = next((own for part, own in _SENTENCES.items() if part in str(error)), None)
            if sentence is None:
                raise
        raise ValueError(sentence)

    def _scores(self, X: Any) -> Array:
        """The linear predictor, of rows clipped as in training."""
        check_is_fitted(self, "coef_")
        return np.asarray(Design(self._validated(X), float(self.clip)).times(self.coef_.T) + self.intercept_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class _PrivateClassifier(ClassifierMixin, _PrivateLinear):  # type: ignore[misc]
    """Labels in, scores and labels out."""

    classes: Any
    classes_: NDArray[Any]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.poor_score = True  # privacy costs accuracy, most of it on the small sets that checks use
        return tags

    def _loss(self, classes: int, budget: Budget, records: int, features: int) -> Loss:
        raise NotImplementedError

    def fit(self, X: Any, y: Any) -> Self:
        """Train privately. Rows are clipped to ``clip``; the guarantee is set before the coefficients exist."""
        X, y = self._records(X, y)
        check_classification_targets(y)
        self.classes_, codes, note = _label_codes(y, self.classes)
        count, budget = len(self.classes_), self._budget(len(codes))
        loss = self._loss(count, budget, len(codes), X.shape[1] + bool(self.fit_intercept))
        if count == 2:
            targets, outputs = np.asarray(2.0 * codes - 1.0, dtype=np.float64), 1
        elif loss.coupled:
            targets, outputs = codes.astype(np.float64), count
        else:
            targets, outputs = np.where(codes[:, None] == np.arange(count), 1.0, -1.0), count
        self.coef_ = self._train(X, targets, loss, outputs, budget, note)
        return self

    def decision_function(self, X: Any) -> Array:
        """Scores: one column for two classes (as a vector), else one a class. Rows are clipped as in training."""
        scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self._scores(X)
        picked = (scores[:, 0] > 0).astype(np.intp) if scores.shape[1] == 1 else scores.argmax(axis=1)
        return np.asarray(self.classes_[picked])


def _label_codes(y: Any, classes: Any) -> tuple[NDArray[Any], NDArray[np.signedinteger[Any]], tuple[str, ...]]:
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


class LogisticRegression(_PrivateClassifier):
    """Differentially private logistic regression, for two or more classes.

    Parameters: ``epsilon``, ``delta`` (None: n**-1.5), ``method`` ('auto', a name from ``tacit methods`` or a
    mechanism with its own settings), ``calibration`` ('proven', or 'paper' for the published noise), ``adjacency``
    ('replace-one' or 'add-remove'), ``clip`` (row norm: longer rows are shrunk to it), ``classes`` (the label set,
    declared), ``fit_intercept``, ``regularization`` (lambda of the mean objective; None: chosen with the noise),
    ``multiclass`` ('softmax' or 'one-vs-rest'), ``margin`` of the loss log(1 + exp(margin - y z)) (None: 2 where
    noise rules, falling to 0; 0 for the methods of other papers), ``random_state`` (None: operating system entropy).

    Fitted: ``coef_``, ``intercept_``, ``classes_``, ``guarantee_``.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | None = None,
        method: str | Mechanism = "auto",
        calibration: Calibration = "proven",
        adjacency: Adjacency = "replace-one",
        clip: float = 1.0,
        classes: Any = None,
        multiclass: str = "softmax",
        margin: float | None = None,
        fit_intercept: bool = True,
        regularization: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.calibration = calibration
        self.adjacency = adjacency
        self.clip = clip
        self.classes = classes
        self.multiclass = multiclass
        self.margin = margin
        self.fit_intercept = fit_intercept
        self.regularization = regularization
        self.random_state = random_state

    def _loss(self, classes: int, budget: Budget, records: int, features: int) -> Loss:
        check(
            self.multiclass in ("softmax", "one-vs-rest"),
            f"Expected multiclass={self.multiclass!r} to be 'softmax' or 'one-vs-rest'.",
        )
        size = features * (1 if classes == 2 else classes)
        chosen = defaults.margin(self.method if size == features else "", budget, records, size)
        self.margin_ = chosen if self.margin is None else float(self.margin)
        several = classes > 2 and self.multiclass == "softmax"
        return Softmax(classes, self.margin_) if several else Logistic(self.margin_)

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


class LinearSVC(_PrivateClassifier):
    """Differentially private linear support vector classifier with the Huber hinge; several classes one-vs-rest.

    Parameters as in :class:`LogisticRegression`, and ``smoothing``: half the width over which the hinge's corner is
    rounded.
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | None = None,
        method: str | Mechanism = "auto",
        calibration: Calibration = "proven",
        adjacency: Adjacency = "replace-one",
        clip: float = 1.0,
        classes: Any = None,
        smoothing: float = 0.5,
        fit_intercept: bool = True,
        regularization: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.calibration = calibration
        self.adjacency = adjacency
        self.clip = clip
        self.classes = classes
        self.smoothing = smoothing
        self.fit_intercept = fit_intercept
        self.regularization = regularization
        self.random_state = random_state

    def _loss(self, classes: int, budget: Budget, records: int, features: int) -> Loss:
        return HuberHinge(self.smoothing)


def _numbers(y: Any) -> Array:
    """Targets as float64; a sentence that quotes none of them where they are not finite numbers."""
    try:
        targets = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        targets = None
    if targets is None or np.asarray(y).dtype.kind in "USc":
        raise ValueError("Unknown label type: expected numbers as targets.")
    check(np.isfinite(targets).all(), "Expected finite numbers as targets, found NaN or infinity; remove or fill them.")
    return targets


class LinearRegression(RegressorMixin, _PrivateLinear):  # type: ignore[misc]
    """Differentially private linear regression.

    ``target_bound`` is B for targets in [-B, B], or a pair (lower, upper): public, declared; targets outside are
    clipped to it and predictions stay inside it. None is 1, with a warning. Other parameters as in
    :class:`LogisticRegression`.

    With few records or a small budget ``method='auto'`` descends with a small clip: then skewed targets are predicted
    nearer to their median than to their mean (docs page "Which method?").
    """

    def __init__(
        self,
        epsilon: float = 1.0,
        *,
        delta: float | None = None,
        method: str | Mechanism = "auto",
        calibration: Calibration = "proven",
        adjacency: Adjacency = "replace-one",
        clip: float = 1.0,
        target_bound: float | tuple[float, float] | None = None,
        fit_intercept: bool = True,
        regularization: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.epsilon = epsilon
        self.delta = delta
        self.method = method
        self.calibration = calibration
        self.adjacency = adjacency
        self.clip = clip
        self.target_bound = target_bound
        self.fit_intercept = fit_intercept
        self.regularization = regularization
        self.random_state = random_state

    def _range(self) -> tuple[float, float]:
        pair = np.asarray(1.0 if self.target_bound is None else self.target_bound, dtype=np.float64).ravel()
        low, high = (-pair[0], pair[0]) if pair.size == 1 else (pair[0], pair[-1])
        check(
            pair.size <= 2 and -math.inf < low < high < math.inf,
            f"Expected target_bound={self.target_bound!r} to be a number > 0 or a pair (lower, upper), lower < upper.",
        )
        check_range(f"target_bound={self.target_bound!r}", low, high)
        return float(low), float(high)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # privacy costs accuracy, most of it on the small sets that checks use
        return tags

    def fit(self, X: Any, y: Any) -> Self:
        """Train privately on targets clipped to the declared range."""
        low, high = self._range()
        if self.target_bound is None:
            warnings.warn(_UNBOUNDED, stacklevel=2)
        X, y = self._records(X, y)
        centre, half = 0.5 * (low + high), 0.5 * (high - low)
        targets = np.clip(_numbers(y), low, high)
        targets -= centre
        targets /= half
        np.clip(targets, -1.0, 1.0, out=targets)  # the centre was rounded
        coefficients = self._train(
            X, targets, Squared(1.0), 1, self._budget(len(targets)), (f"targets clipped to [{low:g}, {high:g}]",)
        )
        self.coef_ = half * coefficients[0]
        self.intercept_ = centre + half * float(self.intercept_[0])
        return self

    def predict(self, X: Any) -> Array:
        """Predictions, within the declared range."""
        low, high = self._range()
        return np.asarray(np.clip(self._scores(X), low, high))
