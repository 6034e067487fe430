"""A search is one release: what is charged, what runs, what leaves, and what is refused."""

import math
from dataclasses import dataclass

import numpy as np
import pytest
from scipy.stats import uniform
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit import LinearRegression, LogisticRegression, PrivacyError, PrivateSearch
from tacit.estimators.base import PrivateLinear
from tacit.ledger import Ledger
from tacit.ledger.listening import heard_by
from tacit.privacy.events import Gaussian, Selection
from tacit.privacy.guarantee import Guarantee
from tacit.search import scoring, sharing
from tacit.search.candidates import settings_of
from tacit.search.trials import SelectionPlan, Trials
from tacit.types import Budget

GRID = {"clip": [0.01, 1.0], "fit_intercept": [True, False]}


def drawn(n=800, seed=0):
    """Rows whose first column decides."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4)) / 2
    return X, (X[:, 0] + 0.1 * rng.normal(size=n) > 0).astype(int)


@pytest.fixture(scope="module")
def records():
    return drawn()


@pytest.fixture(scope="module")
def found(records):
    return PrivateSearch(LogisticRegression(), GRID, epsilon=6.0, trials=4, random_state=0).fit(*records)


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "study.sqlite", epsilon=10.0, delta=1e-5)


def charged(ledger):
    return [entry.guarantee for entry in ledger.entries]


def test_the_guarantee_is_that_of_the_whole_and_the_model_carries_it(found, records):
    guarantee = found.guarantee_
    assert (guarantee.epsilon, guarantee.method, guarantee.status) == (6.0, "search", "proven")
    (event,) = guarantee.events
    assert isinstance(event, Selection)
    assert event.stop == 0.25
    assert len(event.candidates) == 4  # the estimator's own, and three of the grid: one of it is the estimator's own
    assert 0.98 * 6.0 <= guarantee.verify() <= 6.0
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    assert found.best_estimator_.guarantee_ is guarantee
    assert found.best_estimator_.epsilon == 6.0
    assert found.best_estimator_.delta == guarantee.delta
    assert "add-remove is not covered" in str(guarantee)


def test_what_is_tried_is_found(found, records):
    assert found.best_score_ == pytest.approx(found.score(*records), abs=0.05)
    assert found.score(*records) > 0.9
    assert np.array_equal(found.predict(records[0]), found.best_estimator_.predict(records[0]))
    assert found.predict_proba(records[0]).shape == (800, 2)
    assert found.decision_function(records[0]).shape == (800,)
    assert found.classes_.tolist() == [0, 1]
    assert found.n_features_in_ == 4


def test_nothing_about_the_others_stays(found):
    kept = {name for name in vars(found) if name.endswith("_")}
    assert kept == {"best_estimator_", "best_params_", "best_score_", "guarantee_"}


def test_the_search_is_charged_once_before_anything_is_trained(records, ledger, monkeypatch):
    trained = []
    run = SelectionPlan.run
    monkeypatch.setattr(SelectionPlan, "run", lambda *a: trained.append(len(ledger.entries)) or run(*a))
    search = PrivateSearch(LogisticRegression(), GRID, epsilon=2.0, trials=3, ledger=ledger, random_state=0)
    search.fit(*records)
    assert trained == [1]
    assert charged(ledger) == [search.guarantee_]
    assert search.guarantee_.delta == ledger.delta


def test_the_ledger_of_its_estimator_is_charged_where_it_has_none(records, ledger):
    search = PrivateSearch(LogisticRegression(ledger=ledger), GRID, trials=2, random_state=0).fit(*records)
    assert charged(ledger) == [search.guarantee_]


def test_a_full_ledger_leaves_no_model(records, ledger):
    search = PrivateSearch(LogisticRegression(), GRID, epsilon=11.0, delta=1e-5, ledger=ledger, trials=2)
    with pytest.raises(PrivacyError, match="Nothing was spent"):
        search.fit(*records)
    assert charged(ledger) == []
    assert not [name for name in vars(search) if name.endswith("_")]


def test_an_open_ledger_is_charged_once_and_counts_what_follows(records, ledger):
    with ledger:
        search = PrivateSearch(LogisticRegression(), GRID, trials=2, random_state=0).fit(*records)
        LogisticRegression(epsilon=1.0, random_state=0).fit(*records)
    assert len(ledger.entries) == 2
    assert charged(ledger)[0] == search.guarantee_
    assert ledger.spent() < 10


def test_after_a_search_ledgers_are_charged_again(records, ledger):
    PrivateSearch(LogisticRegression(), GRID, trials=2, random_state=0).fit(*records)
    model = LogisticRegression(ledger=ledger, random_state=0).fit(*records)
    assert charged(ledger) == [model.guarantee_]
    with pytest.raises(KeyError), heard_by(lambda guarantee: None):
        raise KeyError
    LogisticRegression(ledger=ledger, random_state=0).fit(*records)
    assert len(ledger.entries) == 2


def test_rehearsals_release_nothing(records, monkeypatch):
    """No plan of a model runs, and no noise is drawn, before the whole is charged."""
    X, y = records
    trials = Trials(LogisticRegression(random_state=0), ({}, {"clip": 0.5}), X, y, scoring.accuracy)
    monkeypatch.setattr("tacit.estimators.base.train", lambda *a, **k: pytest.fail("it trained"))
    promised = [trials.rehearsed(place, 1.0, 1e-6) for place in (0, 1)]
    assert [guarantee.epsilon for guarantee in promised] == [1.0, 1.0]
    assert promised[0].events != promised[1].events


def test_events_of_a_search_do_not_depend_on_the_records(records):
    other = drawn(seed=5)
    searches = [PrivateSearch(LogisticRegression(), GRID, trials=3, random_state=1) for _ in range(2)]
    first, second = (one.fit(*data).guarantee_ for one, data in zip(searches, (records, other), strict=True))
    assert first == second


class Fickle(LogisticRegression):
    """Spends more once the rehearsals are over; says that it is Tacit's own, or it would not be tried at all."""

    __module__ = "tacit.estimators.classification"
    rehearsed = False

    def fit(self, X, y):
        self.epsilon *= 2 if self.rehearsed else 1
        return super().fit(X, y)


def test_a_candidate_that_releases_something_else_is_stopped(records, monkeypatch):
    search = PrivateSearch(Fickle(), GRID, trials=2, random_state=0)
    run = SelectionPlan.run
    monkeypatch.setattr(SelectionPlan, "run", lambda *a: setattr(Fickle, "rehearsed", True) or run(*a))
    with pytest.raises(PrivacyError, match="something other than"):
        search.fit(*records)
    assert "best_estimator_" not in vars(search)


class Twice(LogisticRegression):
    __module__ = "tacit.estimators.classification"

    def fit(self, X, y):
        super().fit(X, y)
        return super().fit(X, y)


def test_a_candidate_that_releases_twice_is_stopped(records):
    with pytest.raises(PrivacyError, match="something other than"):
        PrivateSearch(Twice(), GRID, trials=2, random_state=0).fit(*records)


def test_noise_and_trials_are_what_was_priced(found, records, monkeypatch):
    """Of many searches of a model that costs nothing: how many trials, which candidates, which noise."""
    (event,) = found.guarantee_.events
    seen = {"places": [], "stops": 0}
    scale = next(part.scale for part in event.candidates[0][::-1] if isinstance(part, Gaussian))
    plan = SelectionPlan(
        events=(event,), theorem="selection", fits=tuple(one[:-1] for one in event.candidates), stop=event.stop,
        epsilon=1.0, delta=1e-6, scale=scale,
    )  # fmt: skip

    @dataclass(frozen=True)
    class Cheap(Trials):
        def fitted(self, place, epsilon, delta, source, priced):
            seen["places"].append(place)
            assert priced == plan.fits[place]
            return place

    cheap = Cheap(None, ({},) * 4, *records, lambda place, X, y: np.zeros(len(y)))
    source = tacit.privacy.noise.SeededSource(7)
    runs = 1500
    scores = np.array([plan.run(cheap, source).extras["best"].score for _ in range(runs)])
    trials = len(seen["places"])
    assert abs(trials / runs - 4) < 5.4 * math.sqrt(12 / runs)  # a geometric law of mean 4: variance 12
    counts = np.bincount(seen["places"], minlength=4)
    assert (np.abs(counts - trials / 4) < 5.4 * math.sqrt(trials * 3 / 16)).all()  # false alarms: 4e-7 in all
    # The median of the best of K scores around 0: phi(F) = 1/2 at F = 1/(1 + stop).
    below = (scores <= scale * 0.841621).mean()
    assert abs(below - 0.5) < 5.4 * math.sqrt(0.25 / runs)


def test_without_a_budget_there_is_no_noise(records):
    search = PrivateSearch(LogisticRegression(), GRID, epsilon=math.inf, trials=3, random_state=0).fit(*records)
    assert search.guarantee_.events == ()
    assert "NOT PRIVATE" in str(search.guarantee_)
    assert search.best_score_ == pytest.approx(search.score(*records), abs=1e-6)


def test_where_a_search_does_not_pay_the_settings_as_they_are_have_the_whole_budget(records):
    few = records[0][:300], records[1][:300]
    search = PrivateSearch(LogisticRegression(), GRID, random_state=0).fit(*few)
    plain = LogisticRegression(random_state=0).fit(*few)
    (event,) = search.guarantee_.events
    assert event == Selection(candidates=(plain.guarantee_.events,), stop=1.0)
    assert search.best_params_ == {}
    assert math.isnan(search.best_score_)
    assert search.guarantee_.verify() <= 1.0


def test_the_rule_asks_for_more_trials_of_more_candidates_and_gives_scores_what_they_need():
    budget = Budget(1.0, 1e-6)
    small, large = (sharing.spending(budget, n, 4, None, None) for n in (15_000, 2_000_000))
    assert small.stop == large.stop == 0.25
    assert large.share == sharing.SHARES[0] < small.share <= sharing.SHARES[1]
    assert sharing.spending(budget, 20_000, 60, None, None).stop == 1 / sharing.MOST_TRIALS
    assert sharing.spending(budget, 1000, 4, None, None).stop == 1.0
    asked = sharing.spending(budget, 1000, 4, 8, 0.2)
    assert (asked.stop, asked.share) == (0.125, 0.2)


def test_numbers_are_searched_too(records):
    X, _ = records
    y = X[:, 0] + 0.5
    search = PrivateSearch(LinearRegression(target_bound=(-1.0, 2.0)), {"clip": [0.05, 2.0]}, trials=3, random_state=0)
    search.fit(X, y)
    assert is_regressor(search)
    assert 0.9 < search.best_score_ < 1.01
    assert search.guarantee_.verify() <= 1.0
    with pytest.raises(ValueError, match="public range"):
        clone(search).set_params(estimator=LinearRegression()).fit(X, y)


def test_pipelines_are_searched_and_their_private_step_carries_the_guarantee(records):
    model = make_pipeline(FunctionTransformer(lambda X: 2 * X), LogisticRegression())
    search = PrivateSearch(model, {"logisticregression__clip": [0.5]}, trials=2, random_state=0).fit(*records)
    assert is_classifier(search)
    step = search.best_estimator_[-1]
    assert isinstance(step, PrivateLinear)
    assert step.guarantee_ is search.guarantee_
    assert search.score(*records) > 0.8


def test_candidates_are_the_grid_and_the_settings_as_they_are():
    model = LogisticRegression(clip=1.0)
    assert settings_of(model, {"clip": [1, 2.0]}) == ({}, {"clip": 2.0})
    assert settings_of(model, [{"clip": [2.0]}, {"margin": [0.0]}]) == ({}, {"clip": 2.0}, {"margin": 0.0})
    assert settings_of(model, {"precondition": [True, 1]})[1:] == ({"precondition": True}, {"precondition": 1})
    first, second = (settings_of(model, {"clip": uniform(0.5, 1)}) for _ in range(2))
    assert first == second  # drawn, with a seed that everybody knows
    assert len(first) > 10


@pytest.mark.parametrize(
    ("score", "worth"),
    [(scoring.accuracy, [1, 0, 1]), (scoring.brier, [1 - 0.01, 1 - 0.64, 1 - 0.25])],
)
def test_scores_of_classes(score, worth):
    class Model:
        classes_ = np.array(["no", "yes"])

        def predict(self, X):
            return np.array(["yes", "no", "yes"])

        def predict_proba(self, X):
            return np.array([[0.1, 0.9], [0.8, 0.2], [0.5, 0.5]])

    assert score(Model(), None, np.array(["yes", "yes", "yes"])) == pytest.approx(np.array(worth))


def test_scores_of_numbers_stay_in_their_range():
    model = LinearRegression(target_bound=2.0)
    model.predict = lambda X: np.array([0.0, 2.0, 2.0])
    y = np.array([1.0, -9.0, 2.0])
    assert scoring.squared_error(model, None, y).tolist() == [1 - 1 / 16, 0.0, 1.0]
    assert scoring.absolute_error(model, None, y).tolist() == [0.75, 0.0, 1.0]


def test_a_record_moves_a_sum_of_scores_by_at_most_one():
    rng = np.random.default_rng(0)
    values = rng.uniform(size=1000)
    exact = scoring.summed(values)
    assert scoring.summed(rng.permutation(values)) == exact
    for replacement in (0.0, 1.0, 7.0, -3.0, math.nan, math.inf):
        other = values.copy()
        other[5] = replacement
        assert abs(scoring.summed(other) - exact) <= 1
    assert scoring.summed(np.ones(5)) - scoring.summed(np.array([1, 1, 1, 1, -9.0])) == 1


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"trials": 0.5}, "trials=0.5"),
        ({"trials": math.nan}, "trials to be a number"),
        ({"share": 1.0}, "share=1.0"),
        ({"epsilon": 0.0}, "epsilon=0"),
        ({"delta": 0.0}, "delta > 0"),
        ({"scoring": "r2"}, "scoring='r2'"),
        ({"scoring": "squared-error"}, "not one of this kind"),
        ({"grid": {}}, "some settings other than"),
        ({"grid": "clip"}, "Expected a grid"),
        ({"grid": {"clap": [1]}}, "it has no clap"),
        ({"grid": {"clip": [1.0]}}, "some settings other than"),
        ({"grid": {"clip": np.linspace(2, 3, 64)}}, "at most 63"),
        ({"grid": {"clip": [-1.0]}, "trials": 2}, "clip=-1"),
        ({"grid": {"method": ["output-chaudhuri-2011"]}, "trials": 2}, "nothing else"),
        ({"estimator": LogisticRegression(adjacency="add-remove")}, "replace-one neighbours only"),
        ({"estimator": LogisticRegression(rows_per_person=3)}, "groups= is missing"),
        ({"grid": {"adjacency": ["add-remove"]}, "trials": 2}, "same neighbours"),
        ({"grid": {"ledger": ["other.sqlite"]}}, "names its own ledger"),
        ({"estimator": PlainLogistic(), "grid": {"C": [1.0]}}, "a private model"),
        (
            {
                "estimator": PrivateSearch(LogisticRegression(), GRID, trials=2),
                "grid": {"estimator__clip": [0.5]},
                "trials": 2,
            },
            "a private model",
        ),
    ],
)
def test_bad_input_is_one_sentence_and_spends_nothing(records, ledger, change, sentence):
    search = PrivateSearch(LogisticRegression(), {"clip": [0.5]}, ledger=ledger).set_params(**change)
    with pytest.raises(ValueError, match=sentence):
        search.fit(*records)
    assert charged(ledger) == []
    assert not [name for name in vars(search) if name.endswith("_")]
