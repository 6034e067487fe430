"""Private linear regressions: targets within a declared range, rows clipped, predictions inside the range."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from tacit.checks import check, check_positive, check_range, check_real, is_number, pair_of
from tacit.estimators.base import Begun, PrivateLinear
from tacit.estimators.coded_targets import ScaledTargets, scaled
from tacit.estimators.counted import Counted
from tacit.estimators.inference import Inferential
from tacit.estimators.streaming import Asked
from tacit.linear.losses import Pinball, PoissonLoss, Squared
from tacit.linear.streamed import Streamed
from tacit.schema import Schema, Target
from tacit.settings import described
from tacit.streams.scanned import is_stream
from tacit.types import Array, Loss

__all__ = ["LinearRegression", "PoissonRegressor", "QuantileRegressor"]

_UNBOUNDED = (
    "No target_bound was given: targets are cut to [{low:g}, {high:g}]. Give target_bound= {bound}, not from y."
)


def target_numbers(y: Any) -> Array:
    """Targets as float64; a sentence that quotes none of them where they are not finite numbers."""
    try:
        targets = np.asarray(y, dtype=np.float64)
    except (TypeError, ValueError):
        targets = None
    if targets is None or np.asarray(y).dtype.kind in "USc":
        raise ValueError("Unknown label type: expected numbers as targets.")
    check(np.isfinite(targets).all(), "Expected finite numbers as targets, found NaN or infinity; remove or fill them.")
    return targets


@dataclass(eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """Targets in a declared range, scaled to the range that the loss takes."""

    _: KW_ONLY
    target_bound: float | tuple[float, float] | None = None
    _bound_words: ClassVar[str] = "a public number B for targets in [-B, B], or a pair (lower, upper)"

    def _loss(self) -> Loss:
        raise NotImplementedError

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # privacy costs accuracy, most of it on the small sets that checks use
        return tags

    def _range(self) -> tuple[float, float]:
        """The declared range of the targets."""
        given = 1.0 if self.target_bound is None else self.target_bound
        low, high = (-given, given) if is_number(given) else pair_of("target_bound", given)
        words = f"target_bound={given if is_number(given) else (low, high)}"
        check(
            -math.inf < low < high < math.inf,
            f"Expected {words} to be a number > 0 or a pair (lower, upper), lower < upper.",
        )
        check_range(words, low, high)
        return float(low), float(high)

    def check_settings(self) -> None:
        """The range that predictions stay in, and the loss."""
        self._range()
        self._loss()

    def _units(self) -> tuple[float, float]:
        """What targets are measured from, and in: the middle of their range, and half of it."""
        low, high = self._range()
        return 0.5 * (low + high), 0.5 * (high - low)

    def fit(self, X: Any, y: Any = None, groups: Any = None, sample_weight: Any = None) -> Self:
        """Train privately on targets clipped to the declared range.

        Parameters
        ----------
        X : array-like, data frame, sparse CSR matrix, :func:`tacit.scan` or files
            The rows.
        y : array-like
            A number for each row. For files and scans, here and below: the name of a column.
        groups : array-like or None
            The person whom each row is about. All rows of a person are then protected together, and
            ``rows_per_person`` must be declared.
        sample_weight : array-like or None
            How much each row counts, from 0 to ``weight_bound``.
        """
        self._check_declared()
        low, high = self._range()
        if self.target_bound is None:
            warnings.warn(_UNBOUNDED.format(low=low, high=high, bound=self._bound_words), stacklevel=2)
        if is_stream(X):
            return self._fit_stream(Asked.of(X, y, groups, sample_weight))
        X, y = self._records(X, y)
        return self._fit(X, y, self._counted(groups, sample_weight, len(y)))

    def _answer(self, asked: Asked) -> ScaledTargets:
        """How the targets of a stream are read: cut to the schema's bounds first, as they are in memory."""
        low, high = self._range()
        own = asked.goal if asked.goal is not None and asked.goal.classes is None else None
        check(
            own is None or self.target_bound is not None or (low, high) == (own.lower, own.upper),
            f"The schema declares {asked.target!r} within [{own and own.lower}, {own and own.upper}]. Pass the same "
            "range as target_bound=: predictions stay within it.",
        )
        read = asked.declared(own or Target(asked.target, lower=low, upper=high))
        return ScaledTargets(read, (low, high), self._units(), self._loss().targets)

    def _fit_records(
        self, asked: Asked, records: Streamed, begun: Begun, schema: Callable[[], Schema] | None = None
    ) -> Self:
        words = (*asked.words(self.rows_per_person, self.weight_bound), *begun.assumptions, self._clipped())
        self._run_stream(records, self._loss(), 1, words, begun, schema)
        return self

    def _clipped(self) -> str:
        low, high = self._range()
        return f"targets clipped to [{low:g}, {high:g}]"

    def _fit(self, X: Any, y: Any, own: Counted, begun: Begun | None = None) -> Self:
        """The fit, as far as it has not begun."""
        low, high = self._range()
        loss = self._loss()
        X, y = own.pick(X), own.pick(y)
        targets = scaled(target_numbers(y), (low, high), self._units(), loss.targets)
        self._train(X, targets, loss, 1, (self._clipped(),), begun or self._begin(own.count), own)
        return self

    def _unscaled(self, coefficients: Array, offset: Array) -> tuple[Any, Any]:
        origin, unit = self._units()
        return unit * coefficients[0], origin + unit * float(offset[0])

    def predict(self, X: Any) -> Array:
        """Predictions, within the declared range."""
        return np.asarray(np.clip(self._scores(X), *self._range()))


@described
@dataclass(eq=False, repr=False)
class LinearRegression(Inferential, PrivateRegressor):
    """Differentially private linear regression.

    With few records or a small budget ``method='auto'`` clips about half of the residuals: then skewed targets are
    predicted nearer to their median than to their mean (docs page "Which method?").

    Attributes
    ----------
    coef_ : array of shape (features,)
        The coefficients, in units of the target.
    intercept_ : float
        The intercept.
    guarantee_ : Guarantee
        What the fit cost, and why.
    """

    def _loss(self) -> Loss:
        return Squared(1.0)


@described
@dataclass(eq=False, repr=False)
class PoissonRegressor(PrivateRegressor):
    """Differentially private Poisson regression: counts whose mean is the exponential of a linear score.

    Parameters
    ----------
    target_bound : float or None
        B for counts within [0, B]. It is public: counts outside are clipped to it, and no mean above it is predicted.
        None: 1, with a warning.
    typical : float or None
        A public guess of a usual count, not the mean of y: the model starts there. None: B / 10. An intercept as long
        as the rules expect a weight vector to be (5, times the constant 0.5 of its coordinate) then reaches the bound,
        and as far down, a hundredth of it.

    Attributes
    ----------
    coef_ : array of shape (features,)
        The coefficients of the logarithm of the mean.
    intercept_ : float
        Its intercept.
    guarantee_ : Guarantee
        What the fit cost, and why.
    """

    _: KW_ONLY
    typical: float | None = None
    _bound_words: ClassVar[str] = "a public number B for counts in [0, B]"

    def _range(self) -> tuple[float, float]:
        bound = check_real("target_bound", 1.0 if self.target_bound is None else self.target_bound)
        high = check_positive("target_bound", bound)
        check_range(f"target_bound={self.target_bound!r}", 0.0, high)
        return 0.0, high

    def _units(self) -> tuple[float, float]:
        return self._range()

    def _typical(self) -> float:
        _, high = self._range()
        count = 0.1 * high if self.typical is None else check_positive("typical", check_real("typical", self.typical))
        check(
            1e-12 * high <= count <= high,
            f"Expected typical={self.typical} to be at most target_bound={high:g}, and at least 1e-12 of that.",
        )
        return count

    def _loss(self) -> Loss:
        _, high = self._range()
        return PoissonLoss(self._typical() / high)

    def _unscaled(self, coefficients: Array, offset: Array) -> tuple[Any, Any]:
        return coefficients[0], math.log(self._typical()) + float(offset[0])

    def predict(self, X: Any) -> Array:
        """Mean counts, above 0 and at most the bound."""
        _, high = self._range()
        return np.asarray(np.minimum(np.exp(np.clip(self._scores(X), -700.0, math.log(high))), high))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """D^2, the part of the Poisson deviance of y that is explained, as scikit-learn's PoissonRegressor."""
        from sklearn.metrics import d2_tweedie_score  # brings much along, which other commands should not wait for

        return float(d2_tweedie_score(y, self.predict(X), sample_weight=sample_weight, power=1))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.positive_only = True
        return tags


@described
@dataclass(eq=False, repr=False)
class QuantileRegressor(PrivateRegressor):
    """Differentially private quantile regression: the ``quantile`` of the target, the median by default.

    Parameters
    ----------
    quantile : float
        Which quantile to predict, between 0 and 1.
    smoothing : float
        The half-width h over which the corner of the pinball loss is rounded, in halves of the range: a prediction
        without regularisation is a quantile to within h times half the range, and its pinball loss is above the least
        by at most a quarter of that. A smaller h needs a stronger regulariser.
    """

    _: KW_ONLY
    quantile: float = 0.5
    smoothing: float = 0.05

    def _loss(self) -> Loss:
        return Pinball(check_real("quantile", self.quantile), check_positive("smoothing", self.smoothing))
