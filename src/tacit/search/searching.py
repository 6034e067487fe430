"""A search for settings as one private release, with the contract of a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self, TypeVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from tacit.arguments import check_fields
from tacit.checks import check, refuse
from tacit.data.canonical import column
from tacit.estimators.base import budget_of, source_from
from tacit.estimators.counted import Counted, counted
from tacit.estimators.notes import note_fit
from tacit.ledger import CarriesLedger, Ledger
from tacit.privacy.guarantee import Guarantee
from tacit.saving import Saved
from tacit.search.accepted import check_accepted, check_alone, private_step
from tacit.search.candidates import Settings, settings_of, unfitted, with_settings
from tacit.search.scoring import score_of
from tacit.search.sharing import Unit, calibrate_search, spending
from tacit.search.trials import Best, Trials
from tacit.settings import described
from tacit.streams.scanned import check_in_memory
from tacit.training import ONE_RELEASE, UNSCALED, Prepared, state, train
from tacit.types import Array, Budget

Method = TypeVar("Method", bound=Callable[..., Any])
_ONE_UNIT = "A search is analysed for replace-one neighbours only. Use adjacency='replace-one' in its estimator."

_NO_STREAM = (
    "A search fits and scores the same rows many times, in memory, and these are files or a query. Read the table "
    "first, or fit one model: its defaults follow from public facts."
)


def _offers(method: Method) -> Method:
    """A method that is there where the model has it: the one that was chosen, or before that the estimator."""
    name = method.__name__
    found: Method = available_if(lambda self: hasattr(vars(self).get("best_estimator_", self.estimator), name))(method)
    return found


def _assumed(promised: tuple[Guarantee, ...]) -> tuple[str, ...]:
    """What all candidates assume, and what some do; what every guarantee assumes is added elsewhere."""
    common = set.intersection(*(set(guarantee.assumptions) for guarantee in promised))
    said = dict.fromkeys(word for guarantee in promised for word in guarantee.assumptions)
    own = [word for word in said if word not in (UNSCALED, ONE_RELEASE)]
    return tuple(word if word in common else f"in some trials {word}" for word in own)


@described
@dataclass(eq=False, repr=False)
class PrivateSearch(CarriesLedger, Saved, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Choose the best of several settings by a private score: fits, scores and choice cost (epsilon, delta) together.

    The estimator's own budget and random state are not used; its ledger is used if the search has none.

    Parameters
    ----------
    estimator : estimator or pipeline
        A private model of Tacit, or a pipeline that ends with one and learns nothing before it.
    grid : dict or list of dicts
        Settings and the values to try, or distributions. The estimator's own settings are a candidate too.
    epsilon : float or 'rest'
        The privacy budget of the whole: fits, scores and choice. 'rest' is all that the ledger has left.
    scoring : {'auto', 'accuracy', 'brier', 'squared-error', 'absolute-error'}
        The first two names are for classes, the others for numbers. 'auto': 'accuracy' or 'squared-error'.
    trials : float or None
        How many trials there are on average. None: by a rule, from public facts. Where there are too few records for a
        search to pay off, the estimator's own settings are used and nothing is tried.
    share : float or None
        The part of a trial's budget (of mu^2) that pays for its score. None: by a rule, from public facts.

    Attributes
    ----------
    best_estimator_ : estimator
        The model that was chosen; it carries the guarantee of the whole search.
    best_params_ : dict
        Its settings.
    best_score_ : float
        Its noisy score, divided by n. Being the best of several, it is more often too high than too low; NaN where
        nothing was tried.
    guarantee_ : Guarantee
        What the search cost, and why.
    """

    estimator: Any
    grid: Mapping[str, Any] | Sequence[Mapping[str, Any]]
    epsilon: float | Literal["rest"] = 1.0
    _: KW_ONLY
    delta: float | None = None
    scoring: str = "auto"
    trials: float | None = None
    share: float | None = None
    random_state: Any = None
    ledger: Ledger | str | None = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Try, score, choose: one release. Nothing is revealed about the other trials, not even how many.

        ``groups`` names the person of each row: then all rows of a person are protected at once, and the estimator's
        ``rows_per_person`` must be declared.
        """
        for name in ("best_estimator_", "best_params_", "best_score_"):
            self.__dict__.pop(name, None)
        check_fields(self)
        check_in_memory(X, _NO_STREAM)
        check_accepted(self.estimator)
        model = private_step(self.estimator)
        if model.adjacency != "replace-one":
            refuse(_ONE_UNIT)
        targets = np.asarray(column(y))
        check(targets.ndim == 1 and len(targets) > 0, "Expected one target per record.")
        own = counted(groups, None, len(targets), vars(model).get("rows_per_person"), 1.0)
        ledger = self._ledger()
        budget = budget_of(self.epsilon, self.delta, model.adjacency, own.count, ledger)
        candidates, score = self._candidates(own), score_of(self.scoring, self.estimator)
        spend = spending(budget, own.count, len(candidates), self.trials, self.share)
        tried = Trials(
            self.estimator, candidates if spend.stop < 1 else candidates[:1], X, targets, score, groups, own.people
        )
        plan, promised = calibrate_search(
            tried.rehearsed, len(tried.candidates), budget, spend, Unit(own.count, own.rows_per_person)
        )
        source = source_from(self.random_state)
        prepared = state(
            plan, own.count, budget, method="search", seeded=source.seeded, assumptions=_assumed(promised),
            rows_per_person=own.rows_per_person,
        )  # fmt: skip
        best = train(prepared, tried, source, self._spend, ledger=ledger).extras["best"]
        assert isinstance(best, Best)  # for the type checker: the plan is a search's
        self._keep(best, tried, budget, prepared)
        note_fit(own.count)
        return self

    def _candidates(self, own: Counted) -> tuple[Settings, ...]:
        """The settings to try; those that cannot be tried, or scored, end the search before a record is looked at."""
        candidates = settings_of(self.estimator, self.grid)
        for settings in candidates:
            fresh = with_settings(self.estimator, settings)
            score_of(self.scoring, fresh)
            if own.people is not None:
                check_alone(fresh)
            named = private_step(fresh).ledger
            if not (named is None or named == self._ledger()):
                refuse("A candidate names its own ledger. Give the search ledger=, which is charged for all.")
        return candidates

    def _ledger(self) -> Ledger | str | None:
        """The search's own ledger, or the estimator's: where one is named, nothing is released beside it."""
        if self.ledger is not None:
            return self.ledger
        found: Ledger | str | None = vars(private_step(self.estimator)).get("ledger")
        return found

    def _spend(self, prepared: Prepared) -> None:
        self.guarantee_ = prepared.guarantee

    def _keep(self, best: Best, tried: Trials, budget: Budget, prepared: Prepared) -> None:
        """The chosen model carries the whole's guarantee and budget: its own are no longer true of it."""
        step = private_step(best.model)
        vars(step).pop("record_guarantee_", None)
        step.guarantee_ = prepared.guarantee
        step.set_params(epsilon=budget.epsilon, delta=budget.delta, ledger=self._ledger())
        self.best_estimator_, self.best_params_ = best.model, unfitted(tried.candidates[best.place])
        self.best_score_ = best.score / tried.count

    def _best(self) -> Any:
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_

    @_offers
    def predict(self, X: Any) -> NDArray[Any]:
        """The chosen model's predictions."""
        return np.asarray(self._best().predict(X))

    @_offers
    def predict_proba(self, X: Any) -> Array:
        """The chosen model's class probabilities."""
        return np.asarray(self._best().predict_proba(X))

    @_offers
    def decision_function(self, X: Any) -> Array:
        """The chosen model's scores."""
        return np.asarray(self._best().decision_function(X))

    @_offers
    def score(self, X: Any, y: Any) -> float:
        """The chosen model's own score on some records: not private."""
        return float(self._best().score(X, y))

    @property
    def classes_(self) -> NDArray[Any]:
        """The chosen model's label set."""
        return np.asarray(self._best().classes_)

    @property
    def n_features_in_(self) -> int:
        """The number of columns that the chosen model was trained on."""
        return int(self._best().n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.target_tags = inner.estimator_type, inner.target_tags
        tags.classifier_tags, tags.regressor_tags = inner.classifier_tags, inner.regressor_tags
        tags.input_tags.sparse = inner.input_tags.sparse
        return tags
