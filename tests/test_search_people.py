"""A search with groups: neighbours differ in all rows of one person, and a person adds one number to a score."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

from tacit import AdditiveClassifier, LinearRegression, LogisticRegression, PrivacyError, PrivateSearch, Schema
from tacit.data.people import people_of
from tacit.ledger import Ledger
from tacit.privacy.events import Gaussian, Objective, Selection, Sensitivity
from tacit.privacy.guarantee import Guarantee
from tacit.schema import SchemaEncoder
from tacit.search import scoring
from tacit.search.trials import Trials

MOST, PEOPLE = 4, 300
SCHEMA = Schema.from_dict({"columns": {name: {"lower": -1, "upper": 1} for name in "abc"}})


def drawn(seed=0, people=PEOPLE):
    """People with one to six rows each, in a mixed order."""
    rng = np.random.default_rng(seed)
    groups = rng.permutation(np.repeat(np.arange(people), rng.integers(1, 7, size=people)))
    X = rng.normal(size=(len(groups), 3)) / 2
    return X, (X[:, 0] > 0).astype(int), groups


def searching(**settings):
    model = LogisticRegression(classes=[0, 1], rows_per_person=MOST)
    return PrivateSearch(model, {"clip": [0.5, 2.0]}, epsilon=4.0, **{"trials": 3, "random_state": 0, **settings})


@pytest.fixture(scope="module")
def found():
    X, y, groups = drawn()
    return searching().fit(X, y, groups=groups)


def test_the_guarantee_is_of_people(found):
    guarantee = found.guarantee_
    assert (guarantee.records, guarantee.rows_per_person, guarantee.unit) == (PEOPLE, MOST, "person")
    assert (guarantee.status, guarantee.delta) == ("proven", PEOPLE**-1.5)
    assert 0.98 * 4 <= guarantee.verify() <= 4.0
    assert Guarantee.from_json(guarantee.to_json()) == guarantee
    assert "the number of people is public" in guarantee.assumptions
    assert found.best_estimator_.guarantee_ is guarantee
    assert found.best_score_ == pytest.approx(0.95, abs=0.15)


def test_what_is_priced_does_not_depend_on_how_many_rows_people_have(found):
    X, y, groups = drawn(seed=3)
    assert len(y) != len(drawn()[1])
    assert searching().fit(X, y, groups=groups).guarantee_ == found.guarantee_


def test_a_ledger_of_people_is_charged(tmp_path):
    X, y, groups = drawn()
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=8.0, delta=1e-5, rows_per_person=MOST)
    search = searching(ledger=ledger).fit(X, y, groups=groups)
    assert [entry.guarantee for entry in ledger.entries] == [search.guarantee_]
    search.estimator.set_params(rows_per_person=None)
    with pytest.raises(PrivacyError, match="groups="):
        search.fit(X, y)
    search.estimator.set_params(rows_per_person=2)
    with pytest.raises(PrivacyError, match="rows_per_person=4"):
        search.fit(X, y, groups=groups)
    assert len(ledger.entries) == 1


class Told:
    """A model that says the same whatever it is asked."""

    classes_ = np.array([0, 1])

    def __init__(self, predicted):
        self.predicted = predicted

    def predict(self, X):
        return self.predicted[: len(X)]


@pytest.mark.parametrize("most", [1, 2, 3, 7, 20])
def test_a_whole_person_moves_a_score_by_at_most_one(most):
    """The worst there is: somebody whose rows are all right becomes somebody with other rows, all wrong."""
    rng = np.random.default_rng(most)
    groups = np.repeat(np.arange(50), rng.integers(1, 30, size=50))
    values = rng.uniform(size=len(groups))
    exact = scoring.summed(values, people_of(groups, len(groups), most))
    assert 0 <= exact <= 50
    others = groups != 17
    for rows in (1, most, 40):
        for value in (0.0, 1.0, 9.0, np.nan, 0.3):
            whose = np.concatenate([groups[others], np.full(rows, 17)])
            swapped = np.concatenate([values[others], np.full(rows, value)])
            assert abs(scoring.summed(swapped, people_of(whose, len(whose), most)) - exact) <= 1
    ones, zeros = (scoring.summed(np.full(len(groups), v), people_of(groups, len(groups), most)) for v in (1.0, 0.0))
    assert 50 - 50 * most * scoring.STEP <= ones <= 50
    assert zeros == 0


def test_a_score_is_a_mean_over_people_of_the_rows_that_count():
    """Ann has two rows, one of them right; Bob three, of which two count, both wrong; Cem one, right."""
    groups, y = np.array(["ann", "bob", "bob", "ann", "bob", "cem"]), np.array([1, 1, 1, 0, 1, 1])
    model = Told(np.array([1, 0, 0, 1, 1, 1]))
    tried = Trials(None, (), np.zeros((6, 1)), y, scoring.accuracy, groups, people_of(groups, 6, 2))
    assert tried.count == 3
    assert tried.exact(model) == 1.5
    assert replace(tried, groups=None, people=None).exact(model) == 3


@pytest.mark.parametrize("width", [20, 60])
def test_other_peoples_hits_do_not_hang_on_a_persons_rows(width):
    """Everybody stands at the border of two labels: where one person's rows fall must move nobody else's."""
    rng = np.random.default_rng(width)
    row = rng.normal(size=width) / width
    model = LogisticRegression(classes=[0, 1], rows_per_person=MOST, random_state=0)
    model.fit(np.tile(row, (403, 1)), rng.integers(0, 2, 403), groups=np.arange(403))
    for place in range(-3, 4):
        model.intercept_ = -(model.coef_ @ row) * (1 + place * 2.0**-53)
        scores = []
        for extra in range(1, MOST + 1):
            groups = np.concatenate([np.zeros(extra, int), np.arange(1, 403)])
            X, y = np.tile(row, (len(groups), 1)), np.ones(len(groups), int)
            tried = Trials(None, (), X, y, scoring.accuracy, groups, people_of(groups, len(groups), MOST))
            scores.append(tried.exact(model))
        assert max(scores) - min(scores) <= 1


def test_labels_of_rows_that_do_not_count_are_no_error():
    """A label that only a row beyond the bound has is not among the classes of a model that took them from y."""
    X, y, groups = drawn()
    X, y, groups = np.vstack([X, X[:1]]), np.append(y, 2), np.append(groups, groups[0])
    last = np.flatnonzero(groups == groups[0])
    assert len(last) > 1
    model = LogisticRegression(rows_per_person=len(last) - 1)
    search = PrivateSearch(model, {"clip": [0.5]}, scoring="brier", epsilon=4.0, trials=3, random_state=0)
    assert search.fit(X, y, groups=groups).classes_.tolist() == [0, 1]


@pytest.mark.parametrize("routed", [False, True])
def test_pipelines_tables_and_numbers(routed):
    X, y, groups = drawn()
    table = dict(zip("abc", X.T, strict=True))
    models = [
        (
            make_pipeline(SchemaEncoder(SCHEMA), LogisticRegression(rows_per_person=MOST)),
            {"schemaencoder__clip": [2.0]},
        ),
        (AdditiveClassifier(schema=SCHEMA, rows_per_person=MOST), {"slots": [3]}),
        (AdditiveClassifier(schema=SCHEMA, cuts="private", rows_per_person=MOST), {"slots": [3]}),
        (LinearRegression(target_bound=2.0, rows_per_person=MOST), {"clip": [2.0]}),
    ]
    with sklearn.config_context(enable_metadata_routing=routed):
        for model, grid in models:
            rows = X if isinstance(model, LinearRegression) else table
            search = PrivateSearch(model, grid, trials=2, random_state=0).fit(rows, y, groups=groups)
            assert search.guarantee_.rows_per_person == MOST
            assert search.guarantee_.verify() <= 1.0


def test_encoded_rows_are_each_their_own():
    X, _, _ = drawn()
    whole = SCHEMA.encode(dict(zip("abc", X.T, strict=True)), 1.0)
    part = SCHEMA.encode(dict(zip("abc", X[3:].T, strict=True)), 1.0)
    assert np.array_equal(whole[3:], part)


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"estimator": LogisticRegression()}, "Declare rows_per_person"),
        ({"grid": {"rows_per_person": [3]}}, "rows of a person"),
        ({"grid": {"rows_per_person": [None]}}, "Declare rows_per_person"),
        (
            {"estimator": make_pipeline(Normalizer(), LogisticRegression(rows_per_person=4)),
             "grid": {"logisticregression__clip": [0.5]}},
            "linear and additive models",
        ),
        ({"estimator": LogisticRegression(rows_per_person=4, adjacency="add-remove")}, "replace-one neighbours only"),
    ],
)  # fmt: skip
def test_bad_input_spends_nothing(change, sentence, tmp_path):
    X, y, groups = drawn()
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=8.0, delta=1e-5)
    with pytest.raises(ValueError, match=sentence):
        searching(ledger=ledger).set_params(**change).fit(X, y, groups=groups)
    with pytest.raises(ValueError, match="one person for each row"):
        searching(ledger=ledger).fit(X, y, groups=groups[1:])
    assert ledger.entries == ()


def test_a_selection_of_other_people_is_no_proof(found):
    """A guarantee whose candidates speak of persons with another number of rows, or of several numbers, is refused."""
    score = Gaussian(Sensitivity(1.0, 1.0), 10.0)
    made = [
        Objective(slope=1.0, trace=0.3, strength=50.0, scale=20.0, geometry="logistic", rows=rows)
        for rows in (MOST, MOST + 1)
    ]
    for candidates in (((made[1], score),), ((made[0], score), (made[1], score))):
        forged = replace(found.guarantee_, events=(Selection(candidates=candidates, stop=0.5),), epsilon=50.0)
        with pytest.raises(PrivacyError, match="a different number of rows per person"):
            forged.check_events()
    sound = replace(found.guarantee_, events=(Selection(candidates=((made[0], score),), stop=0.5),), epsilon=50.0)
    sound.check_events()
