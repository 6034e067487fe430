"""How sure the coefficients are: confidence intervals and p-values, from what a fit with ``inference=True`` released.

Nothing here sees a record, and nothing is spent: it is post-processing, by :mod:`tacit.linear.uncertainty`.
"""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from tacit.checks import check, check_real
from tacit.estimators.base import INTERCEPT, PrivateLinear
from tacit.linear.problem import Problem
from tacit.linear.uncertainty import Uncertainty
from tacit.mechanisms import Chosen, Mechanism
from tacit.types import Array

METHOD = "unshrunk"
"""The method whose noise is known."""


@dataclass(frozen=True, eq=False)
class Intervals:
    """``lower`` and ``upper`` ends in the shape of ``coef_``; ``intercept`` is a pair, or None where there is none.

    Ends are infinite where the noise hides a coefficient, and ``note`` says so.
    """

    level: float
    lower: Array = field(repr=False)
    upper: Array = field(repr=False)
    intercept: tuple[float, float] | None
    note: str
    names: tuple[str, ...] = field(repr=False)

    def __str__(self) -> str:
        """One line a coefficient."""
        ends = [*zip(self.names, self.lower.ravel().tolist(), self.upper.ravel().tolist(), strict=True)]
        if self.intercept is not None:
            ends.append(("intercept", *self.intercept))
        wide = max(len(name) for name, *_ in ends)
        lines = [f"{name:{wide}s}  {low: .6g} to {high: .6g}" for name, low, high in ends]
        return "\n".join([f"{100 * self.level:g}% intervals", *lines, *([self.note] if self.note else [])])


@dataclass(frozen=True, eq=False)
class PValues:
    """Of "this coefficient is zero", two-sided: ``coef`` in the shape of ``coef_``, and that of the intercept."""

    coef: Array
    intercept: float | None
    note: str


@dataclass(eq=False, repr=False)
class Inferential(PrivateLinear):
    """A linear model that can be asked how sure its coefficients are."""

    _: KW_ONLY
    inference: bool = False
    _inferable: ClassVar[bool] = True
    """Whether coefficients are what the fit solved for, and not made from it."""

    def _method(self) -> str | Mechanism:
        """What trains: with ``inference`` the method whose noise is known."""
        if not self.inference:
            return self.method
        check(
            self._inferable, "inference=True is for the coefficients of linear and logistic regression, not for curves."
        )
        check(
            self.method in ("auto", METHOD),
            f"With inference=True the method is {METHOD!r}, whose noise is known. Leave out method=.",
        )
        return METHOD

    def _regularization(self, problem: Problem, chosen: Chosen) -> float | None:
        check(
            chosen.name != METHOD or not self.regularization,
            "Intervals are for coefficients that are not shrunk. Leave out regularization.",
        )
        return super()._regularization(problem, chosen)

    def confidence_intervals(self, level: float = 0.95, *, robust: bool = False) -> Intervals:
        """For each coefficient, an interval that contains the population's value with this probability, noise included.

        The units are those of ``coef_`` and ``intercept_``. Intervals are valid if the model is right; ``robust`` ones
        also where residuals vary more in one place than in another, or scores are only nearly linear. Both come from
        the same release. The docs page "How sure are the coefficients?" says what is meant by the population's value.
        """
        given = check_real("level", level)
        check(0 < given < 1, f"Expected level={given:g} to be between 0 and 1, as 0.95 is.")
        sure, unit, found = self._found(robust)
        below, above = sure.reach(given)
        low, high = found - unit * below, found + unit * above
        shape, last = np.shape(self.coef_), self.n_features_in_
        pair = (float(low[last]), float(high[last])) if self.fit_intercept else None
        ends = low[:last].reshape(shape), high[:last].reshape(shape)
        return Intervals(given, *ends, pair, self._note(sure, np.isfinite(high - low)), tuple(self._names()[:last]))

    def p_values(self, *, robust: bool = False) -> PValues:
        """For each coefficient, the p-value of zero: below 0.05 exactly where zero is outside the 95% interval."""
        sure, unit, found = self._found(robust)
        chances = sure.p_values(-found / unit)
        last = self.n_features_in_
        below, above = sure.reach(0.95)
        return PValues(
            chances[:last].reshape(np.shape(self.coef_)),
            float(chances[last]) if self.fit_intercept else None,
            self._note(sure, np.isfinite(below + above)),
        )

    def _found(self, robust: bool) -> tuple[Uncertainty, Array, Array]:
        """How sure weights of the design are, what one is in coefficients, and the coefficients, the intercept last."""
        check_is_fitted(self, "coef_")
        check(
            hasattr(self, "uncertainty_"),
            "This model does not know how noisy its coefficients are. Fit it again with inference=True, which uses a "
            "method that neither shrinks nor clips; this is a separate release with its own price.",
        )
        sure: Uncertainty = self.robust_uncertainty_ if robust else self.uncertainty_
        size = len(sure.variance)
        weights = np.append(np.ones(self.n_features_in_), INTERCEPT * float(self.clip))[:size]
        one, nothing = (self._unscaled(np.array([[scale]]), np.zeros(1))[0] for scale in (1.0, 0.0))
        unit = float(np.ravel(one)[0] - np.ravel(nothing)[0]) * weights
        return sure, unit, np.append(np.ravel(self.coef_), np.ravel(self.intercept_))[:size]

    def _names(self) -> list[str]:
        given: Any = getattr(self, "feature_names_in_", [f"column {i}" for i in range(self.n_features_in_)])
        return [*map(str, given), "intercept"]

    def _note(self, sure: Uncertainty, ends: Any) -> str:
        """What the noise hides, and what helps."""
        if ends.all():
            return ""
        least = self._names()[sure.weakest]
        hidden = f"{int((~ends).sum())} of {len(ends)}"
        return (
            f"The noise hides {hidden} coefficients: their intervals have no end. The most hidden one is {least!r}. "
            "Raise epsilon, use more records, or leave out columns that hardly vary or repeat others; where one class "
            "is rare, or the columns separate the classes almost perfectly, many more records are needed."
        )
