"""Private linear regressions: targets within a declared range, rows clipped, predictions inside the range."""

from __future__ import annotations

import math
import warnings
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import RegressorMixin

from tacit.checks import check, check_range
from tacit.estimators.base import PrivateLinear
from tacit.linear.losses import Squared
from tacit.types import Array, Loss

__all__ = ["LinearRegression"]

_UNBOUNDED = (
    "No target_bound was given: targets are cut to [{low:g}, {high:g}]. Give target_bound= {bound}, not from y."
)


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


@dataclass(eq=False, repr=False)
class PrivateRegressor(RegressorMixin, PrivateLinear):  # type: ignore[misc]
    """Targets in a declared range, scaled to the range that the loss takes."""

    _: KW_ONLY
    target_bound: float | tuple[float, float] | None = None
    _bound_words: ClassVar[str] = "a public number B for targets in [-B, B], or a pair (lower, upper)"

    def _loss(self) -> Loss:
        raise NotImplementedError

    def _range(self) -> tuple[float, float]:
        """The declared range of the targets."""
        pair = np.asarray(1.0 if self.target_bound is None else self.target_bound, dtype=np.float64).ravel()
        low, high = (-pair[0], pair[0]) if pair.size == 1 else (pair[0], pair[-1])
        check(
            pair.size <= 2 and -math.inf < low < high < math.inf,
            f"Expected target_bound={self.target_bound!r} to be a number > 0 or a pair (lower, upper), lower < upper.",
        )
        check_range(f"target_bound={self.target_bound!r}", low, high)
        return float(low), float(high)

    def _units(self) -> tuple[float, float]:
        """What targets are measured from, and in: the middle of their range, and half of it."""
        low, high = self._range()
        return 0.5 * (low + high), 0.5 * (high - low)

    def fit(self, X: Any, y: Any) -> Self:
        """Train privately on targets clipped to the declared range."""
        low, high = self._range()
        if self.target_bound is None:
            warnings.warn(_UNBOUNDED.format(low=low, high=high, bound=self._bound_words), stacklevel=2)
        (origin, unit), loss = self._units(), self._loss()
        X, y = self._records(X, y)
        targets = np.clip(_numbers(y), low, high)
        targets -= origin
        targets /= unit
        np.clip(targets, *loss.targets, out=targets)  # the origin was rounded
        self._train(X, targets, loss, 1, (f"targets clipped to [{low:g}, {high:g}]",))
        return self

    def _unscaled(self, coefficients: Array, offset: Array) -> tuple[Any, Any]:
        origin, unit = self._units()
        return unit * coefficients[0], origin + unit * float(offset[0])

    def predict(self, X: Any) -> Array:
        """Predictions, within the declared range."""
        return np.asarray(np.clip(self._scores(X), *self._range()))


@dataclass(eq=False, repr=False)
class LinearRegression(PrivateRegressor):
    """Differentially private linear regression.

    ``target_bound`` is B for targets in [-B, B], or a pair (lower, upper): public, declared; targets outside are
    clipped to it and predictions stay inside it. None is 1, with a warning. Other parameters as in
    :class:`LogisticRegression`.

    With few records or a small budget ``method='auto'`` descends with a small clip: then skewed targets are predicted
    nearer to their median than to their mean (docs page "Which method?").
    """

    def _loss(self) -> Loss:
        return Squared(1.0)
