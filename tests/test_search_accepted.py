"""What a search tries is priced: only private models of Tacit, nothing that learns beside them, and nothing shared."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import TransformedTargetRegressor
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier
from sklearn.model_selection import FixedThresholdClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import Binarizer, Normalizer, OneHotEncoder, PolynomialFeatures, StandardScaler

from tacit import (
    CuratorNote,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PrivacyError,
    PrivateScaler,
    PrivateSearch,
    Schema,
)
from tacit.ledger import Ledger
from tacit.privacy.theorems import TABLE
from tacit.schema import SchemaEncoder
from tacit.search.sharing import Spending, Unit, calibrate_search
from tacit.search.trials import SelectionPlan, Trials
from tacit.types import Budget

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3)) / 4
y = (X[:, 0] > 0).astype(int)
MODEL = LogisticRegression(classes=[0, 1])
LINEAR = {"linearregression__clip": [0.9]}


class Stranger(TransformerMixin, BaseEstimator):
    """Learns, and does not look like it before it is fitted."""

    def fit(self, X, y=None):
        self.mean_ = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self.mean_


class Scaling(LogisticRegression):
    def fit(self, X, y):
        self.mean_ = X.mean(axis=0)
        return super().fit(X - self.mean_, y)


class Resampling(Pipeline):
    pass


REFUSED = {
    "neighbours behind a private scaler": (
        Pipeline([("s", PrivateScaler(bounds=(-3, 3))), ("k", KNeighborsClassifier(1))]),
        {"k__n_neighbors": [3]},
    ),
    "a threshold around": (FixedThresholdClassifier(MODEL), {"threshold": [0.3]}),
    "calibration around": (CalibratedClassifierCV(MODEL), {"method": ["isotonic"]}),
    "an ensemble around": (BaggingClassifier(MODEL), {"n_estimators": [3]}),
    "a scaled target": (
        TransformedTargetRegressor(LinearRegression(target_bound=3.0), transformer=StandardScaler()),
        {"regressor__clip": [0.9]},
    ),
    "a scaler before": (make_pipeline(StandardScaler(), MODEL), {"logisticregression__clip": [0.9]}),
    "a private scaler before": (make_pipeline(PrivateScaler(bounds=1), MODEL), {"logisticregression__clip": [0.9]}),
    "a stranger before": (make_pipeline(Stranger(), MODEL), {"logisticregression__clip": [0.9]}),
    "a scaler within": (
        make_pipeline(make_pipeline(Normalizer(), PCA(2)), MODEL),
        {"logisticregression__clip": [0.9]},
    ),
    "a union that learns": (
        make_pipeline(FeatureUnion([("a", Normalizer()), ("b", PCA(2))]), MODEL),
        {"logisticregression__clip": [0.9]},
    ),
    "a class of somebody else's": (Scaling(), {"clip": [0.9]}),
    "another kind of pipeline": (Resampling([("m", MODEL)]), {"m__clip": [0.9]}),
    "the class itself": (LogisticRegression, {"clip": [0.9]}),
    "a last step from the grid": (Pipeline([("m", MODEL)]), {"m": [KNeighborsClassifier(1)]}),
    "a first step from the grid": (
        Pipeline([("s", "passthrough"), ("m", MODEL)]),
        {"s": [StandardScaler()]},
    ),
    "nothing": (Pipeline([("m", "passthrough")]), {"m": [MODEL]}),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_else_learns_is_refused_before_a_record_is_touched(name, tmp_path, monkeypatch):
    estimator, grid = REFUSED[name]
    monkeypatch.setattr(Trials, "fit", lambda *a: pytest.fail("it was fitted"))
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=3.0, delta=1e-5)
    search = PrivateSearch(estimator, grid, trials=3, ledger=ledger, random_state=0)
    with pytest.raises(ValueError, match=r"may release more|learn nothing"):
        search.fit(X, y)
    assert ledger.entries == ()
    assert not [found for found in vars(search) if found.endswith("_")]


@pytest.mark.parametrize(
    "step",
    [
        "passthrough",
        Normalizer(),
        PolynomialFeatures(),
        FeatureUnion([("a", Normalizer()), ("b", make_pipeline(Binarizer()))]),
        OneHotEncoder(categories=[[0.0, 1.0]] * 3, handle_unknown="ignore"),
    ],
)
def test_steps_that_learn_nothing_are_taken(step):
    model = Pipeline([("s", step), ("m", MODEL)])
    search = PrivateSearch(model, {"m__clip": [0.5]}, trials=2, random_state=0).fit(X, y)
    assert search.best_estimator_[-1].guarantee_ is search.guarantee_
    assert search.guarantee_.verify() <= 1.0


def test_a_schema_is_public():
    schema = Schema.from_dict({"columns": {"a": {"lower": -1, "upper": 1}, "b": {"lower": -1, "upper": 1}}})
    model = make_pipeline(SchemaEncoder(schema), LogisticRegression(classes=[0, 1]))
    table = {"a": X[:, 0], "b": X[:, 1]}
    search = PrivateSearch(model, {"schemaencoder__clip": [0.5]}, trials=2, random_state=0).fit(table, y)
    assert search.guarantee_.status == "proven"


def test_models_in_the_grid_are_copied_for_every_trial(monkeypatch):
    """The one released is the best trial's own, and the caller's models are as they were."""
    tried = []
    noisy = SelectionPlan._noisy

    def watched(self, problem, model, source):
        score = noisy(self, problem, model, source)
        tried.append((score, model[-1], model[-1].coef_.copy()))
        return score

    monkeypatch.setattr(SelectionPlan, "_noisy", watched)
    before = LogisticRegression(clip=0.9, classes=[0, 1], epsilon=0.3), LinearSVC(classes=[0, 1])
    for seed in range(4):
        tried.clear()
        search = PrivateSearch(Pipeline([("m", MODEL)]), {"m": list(before)}, trials=6, random_state=seed).fit(X, y)
        score, model, coefficients = max(tried, key=lambda trial: trial[0])
        assert search.best_score_ == score / len(y)
        assert search.best_estimator_[-1] is model
        assert np.array_equal(model.coef_, coefficients)
        assert len({id(one) for _, one, _ in tried}) == len(tried)
        for one in (*before, *search.best_params_.values(), MODEL):
            assert not [name for name in vars(one) if name.endswith("_")]
            assert one is not model
        assert [one.epsilon for one in before] == [0.3, 1.0]


def test_a_fitted_model_in_the_grid_stays_as_it_is():
    own = LogisticRegression(classes=[0, 1], random_state=0).fit(X, y)
    kept = own.coef_.copy()
    search = PrivateSearch(Pipeline([("m", MODEL)]), {"m": [own]}, trials=20, random_state=1).fit(X, y)
    assert np.array_equal(own.coef_, kept)
    assert all("coef_" not in vars(value) for value in search.best_params_.values())


def test_a_candidate_that_cannot_be_scored_spends_nothing(tmp_path):
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=3.0, delta=1e-5)
    search = PrivateSearch(Pipeline([("m", MODEL)]), {"m": [LinearSVC()]}, scoring="brier", trials=2, ledger=ledger)
    with pytest.raises(ValueError, match="probabilities"):
        search.fit(X, y)
    search.set_params(grid={"m": [LinearRegression(target_bound=1.0)]}, scoring="auto")
    with pytest.raises(ValueError, match="not one of this kind"):
        search.set_params(scoring="accuracy").fit(X, y)
    assert ledger.entries == ()


def test_a_candidates_own_ledger_is_not_passed_by(tmp_path):
    book = Ledger(tmp_path / "study.sqlite", epsilon=3.0, delta=1e-5)
    grid = {"m": [LinearSVC(classes=[0, 1], ledger=book)]}
    with pytest.raises(PrivacyError, match="names its own ledger"):
        PrivateSearch(Pipeline([("m", MODEL)]), grid, trials=2).fit(X, y)
    search = PrivateSearch(Pipeline([("m", MODEL)]), grid, trials=2, ledger=book, random_state=0).fit(X, y)
    assert [entry.guarantee for entry in book.entries] == [search.guarantee_]


def spoken(run, capfd):
    """What is warned of and printed."""
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        run()
    return [str(warning.message) for warning in told], capfd.readouterr()


def test_nothing_tells_how_many_trials_there_were(capfd):
    """As many words whatever it was: the curator's notes, warnings of settings and rows, progress in a pipeline."""
    empty, target = np.zeros((600, 3)), X[:, 0]
    with pytest.warns(CuratorNote, match="the same class"):
        LogisticRegression(classes=[0, 1], random_state=0).fit(empty, y)
    heard = []
    for seed in (0, 1):
        model = Pipeline([("s", Normalizer()), ("m", MODEL)], verbose=True)
        search = PrivateSearch(model, {"m__clip": [0.9]}, trials=10, random_state=seed)
        heard.append(spoken(lambda found=search: found.fit(empty, y), capfd))
        assert not search.best_estimator_.verbose
        # Predictions outside of what an encoder knows are warned of by every transform.
        encoder = OneHotEncoder(categories=[[0.0, 1.0]] * 3, handle_unknown="warn")
        search = PrivateSearch(
            make_pipeline(encoder, LinearRegression(target_bound=2.0)), LINEAR, trials=10, random_state=seed
        )
        heard.append(spoken(lambda found=search: found.fit(X, target), capfd))
    assert all(words == heard[place % 2] for place, words in enumerate(heard))
    assert heard[0] == ([], ("", ""))


def test_a_handful_of_rows_is_told_once():
    with pytest.warns(CuratorNote, match="10 records") as told:
        PrivateSearch(MODEL, {"clip": [0.9]}, trials=3, random_state=0).fit(X[:10], y[:10])
    assert len(told) == 1


class Frozen(LogisticRegression):
    """Is fitted once, whatever it is told afterwards."""

    __module__ = "tacit.estimators.classification"
    done = False

    def fit(self, X, y):
        return self if self.done else super().fit(X, y)


def test_a_candidate_that_releases_nothing_is_noticed(monkeypatch):
    run = SelectionPlan.run
    monkeypatch.setattr(SelectionPlan, "run", lambda *a: setattr(Frozen, "done", True) or run(*a))
    with pytest.raises(PrivacyError, match="released nothing"):
        PrivateSearch(Frozen(), {"clip": [0.9]}, trials=2, random_state=0).fit(X, y)


@pytest.mark.parametrize("trials", [None, 3])
def test_the_rest_of_a_ledger_that_holds_something_is_enough_for_a_search(trials, tmp_path):
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=2.0, delta=1e-5)
    LogisticRegression(1.0, classes=[0, 1], ledger=ledger, random_state=0).fit(X, y)
    left = ledger.left()
    search = PrivateSearch(MODEL, {"clip": [0.9]}, "rest", trials=trials, ledger=ledger, random_state=0).fit(X, y)
    assert [entry.guarantee for entry in ledger.entries][1] == search.guarantee_
    assert 0.6 * left < search.guarantee_.verify() <= left
    assert ledger.spent() <= 2.0


def test_what_was_heard_must_protect_the_model():
    """A description of the table, say, is priced for itself, and says nothing of a model that learned beside it."""
    budget = Budget(1.0, 1e-5)
    heard = LogisticRegression(classes=[0, 1], random_state=0).fit(X, y).guarantee_
    spend = Spending(1.0, 0.0, 0.3)
    budget, unit = replace(budget, delta=heard.delta), Unit(600)
    assert calibrate_search(lambda *asked: heard, 1, budget, spend, unit)[1] == (heard,)
    wrong = {"protects": TABLE}, {"status": "claimed"}, {"rows_per_person": 2}, {"collection": "c"}, {"records": 6000}
    for change in wrong:
        told = replace(heard, **change)
        with pytest.raises(ValueError, match="Expected"):
            calibrate_search(lambda *asked, told=told: told, 1, budget, spend, unit)
