"""Whose row each row is: people by groups, in fits, in scikit-learn's pipelines and searches, and what is refused."""

import decimal
import inspect
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy.sparse import csr_matrix
from sklearn.model_selection import GridSearchCV, GroupKFold, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit import (
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
)
from tacit.data.people import people_of
from tacit.data.shares import Shares
from tacit.linear.losses import Logistic, Softmax
from tacit.linear.person_clip import people_sums, person_share
from tacit.linear.problem import Problem, Records
from tacit.mechanisms.defaults import prefer
from tacit.schema import Schema
from tacit.types import Budget, Facts

SCHEMA = Schema.from_dict({"columns": {"a": {"lower": 0, "upper": 1}, "b": {"lower": 0, "upper": 1}}})
MODELS = [
    LogisticRegression(), LinearSVC(), LinearRegression(target_bound=(0, 1)), PoissonRegressor(target_bound=1),
    AdditiveClassifier(schema=SCHEMA), AdditiveRegressor(schema=SCHEMA, target_bound=(0, 1)),
]  # fmt: skip


def made(kind, rng, people=40, most=5):
    groups = rng.permutation(np.repeat(np.arange(people), rng.integers(1, most + 1, people)))
    X = rng.random((len(groups), 2))
    return ({"a": X[:, 0], "b": X[:, 1]} if "Additive" in kind else X), rng.integers(0, 2, len(groups)), groups


def test_first_rows_count_and_a_persons_shares_add_up_to_one():
    found = people_of(["b", "a", "b", "a", "b", "b"], 6, 3)
    np.testing.assert_array_equal(found.rows, [0, 2, 4, 1, 3])
    np.testing.assert_array_equal(found.starts, [0, 3])
    assert found.count == 2
    totals = np.add.reduceat(found.shares, found.starts)
    assert (totals <= 1).all()
    np.testing.assert_allclose(totals, 1, rtol=1e-6)


@pytest.mark.parametrize(
    "groups",
    [
        [1, 2, 3], [[1, 2], [3, 4], [5, 6], [7, 8]], [1.0, np.nan, 2.0, 3.0], ["a", None, "b", "c"],
        pd.array([1, pd.NA, 2, 3], dtype="Int64"), np.ma.masked_equal([1, 2, 3, 4], 2),
        np.array(["2020-01-01", "NaT", "2020-01-02", "2020-01-03"], dtype="datetime64[D]"),
    ],
)  # fmt: skip
def test_groups_that_name_nobody_are_refused(groups):
    with pytest.raises(ValueError, match=r"groups (to name|has missing|must contain)"):
        people_of(groups, 4, 2)


@pytest.mark.parametrize("last", [2**60 + 1005, 2**63 + 1, 0.5])
def test_one_persons_name_changes_no_others(last):
    """NumPy would read all of them as floats for one that is large, or not whole, and take many for one."""
    assert people_of([*(2**60 + i for i in range(999)), last], 1000, 1).count == 1000


@pytest.mark.parametrize("name", [decimal.Decimal("NaN"), np.datetime64("NaT"), np.float64("nan"), pd.NaT])
def test_nobodys_name_among_objects_is_refused(name):
    with pytest.raises(ValueError, match="missing value"):
        people_of(np.array([name, "a"], dtype=object), 2, 1)


@pytest.mark.parametrize("most", [None, 0, -1, 1.5, "3"])
def test_a_number_of_rows_must_be_declared(most):
    with pytest.raises((ValueError, TypeError), match="rows_per_person"):
        people_of([1, 2], 2, most)


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_every_estimator_takes_people_and_says_so(model, rng):
    X, y, groups = made(type(model).__name__, rng)
    fresh = type(model)(**{**model.get_params(), "rows_per_person": 3, "random_state": 1})
    fresh.fit(X, y, groups=groups)
    guarantee = fresh.guarantee_
    assert (guarantee.records, guarantee.rows_per_person) == (40, 3)
    assert any("number of people is public" in words for words in guarantee.assumptions)
    guarantee.verify()
    bad = groups.astype(float)
    bad[0] = np.nan
    for wrong in (groups[:-1], bad):
        other = type(model)(**{**model.get_params(), "rows_per_person": 3})
        with pytest.raises(ValueError, match="groups"):
            other.fit(X, y, groups=wrong)
        assert not hasattr(other, "guarantee_")
    undeclared = type(model)(**model.get_params())
    with pytest.raises(ValueError, match="rows_per_person"):
        undeclared.fit(X, y, groups=groups)
    forgotten = type(model)(**{**model.get_params(), "rows_per_person": 3})
    with pytest.raises(ValueError, match="groups"):
        forgotten.fit(X, y)


def test_people_with_one_row_each_are_rows(rng):
    """The same methods at the same price: nothing is lost by naming people who have one row each."""
    X, y, _ = made("", rng)
    for method in ("gradient", "objective", "newton"):
        rows, people = LogisticRegression(method=method), LogisticRegression(method=method, rows_per_person=1)
        rows.set_params(random_state=0).fit(X, y)
        people.set_params(random_state=0).fit(X, y, groups=np.arange(len(y)))
        assert people.guarantee_.events == rows.guarantee_.events
        np.testing.assert_allclose(people.coef_, rows.coef_, rtol=1e-6)


def test_the_order_of_people_and_their_names_change_nothing_but_digits(rng):
    X, y, groups = made("", rng)
    order = np.argsort(groups, kind="stable")
    names = np.array([f"person {g:03d}" for g in groups])
    models = [
        LogisticRegression(method="objective", rows_per_person=3, random_state=0).fit(*some)
        for some in ((X, y, groups), (X[order], y[order], groups[order]), (X, y, names))
    ]
    for other in models[1:]:
        np.testing.assert_allclose(other.coef_, models[0].coef_, rtol=1e-6)


@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("outputs", [1, 2])
def test_a_persons_mean_gradient_is_cut_as_one(loss, intercept, outputs, rng):
    """Against a loop over people with the whole gradient written out."""
    outputs = 3 if loss.coupled else outputs
    groups = np.repeat(np.arange(30), rng.integers(1, 6, 30))
    people = people_of(groups, len(groups), 4)
    X = rng.normal(size=(len(groups), 5))[people.rows]
    targets = rng.integers(0, 3, len(X)) if loss.coupled else np.where(rng.random((len(X), outputs)) < 0.5, 1.0, -1.0)
    problem = Problem(Records.build(X, targets, 1.0, intercept, Shares.of(people, None)), loss, outputs)
    weights = rng.normal(size=(problem.records.features, outputs))
    clip, person = 0.4, 0.6
    found = problem.clipped_gradient(weights, clip, person=person)
    expected, rows = np.zeros_like(weights), X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    rows = np.hstack([rows, np.full((len(rows), 1), intercept)]) if intercept else rows
    slopes = loss.slope(rows @ weights, problem.records.targets)
    for first, size in zip(people.starts, people.sizes, strict=True):
        mean = np.zeros_like(weights)
        for j in range(first, first + size):
            part = np.outer(rows[j], slopes[j])
            norms = np.linalg.norm(part) if loss.coupled else np.linalg.norm(part, axis=0)
            mean += part * np.minimum(1, clip / norms) / size
        norms = np.linalg.norm(mean) if loss.coupled else np.linalg.norm(mean, axis=0)
        expected += mean * np.minimum(1, person * clip / norms)
    np.testing.assert_allclose(found, expected, atol=1e-6)  # shares are multiples of 2**-24
    thin = replace(problem, records=Records.build(csr_matrix(X), targets, 1.0, intercept, Shares.of(people, None)))
    np.testing.assert_array_equal(thin.clipped_gradient(weights, clip, person=person), found)


def test_blocks_part_no_person(rng, monkeypatch):
    monkeypatch.setattr("tacit.linear.records.block_rows", lambda features: 7)
    groups = np.repeat(np.arange(50), rng.integers(1, 6, 50))
    people = people_of(groups, len(groups), 5)
    X, y = rng.normal(size=(len(people.rows), 3)), np.ones(len(people.rows))
    records = Records.build(X.astype(np.float32), y, 1.0, 0.5, Shares.of(people, None))
    starts = [block.first for block in records.blocks()]
    assert set(starts) <= set(people.starts)
    assert len(starts) > 5

    def part(block):
        ones = np.ones((block.count, 1))
        return *people_sums(block, ones, 2.0, coupled=False), block.gather(ones, 1.0, 3)

    cut, lengths, plain = records.add_up(part)
    np.testing.assert_allclose(cut, plain, atol=50 * 2.0**-27)  # nobody is cut: rows are at most 1.2 long
    assert np.linalg.norm(plain) <= lengths[0] <= 50 * 1.2


def test_taking_people_takes_all_their_rows(rng):
    groups = np.repeat(np.arange(6), [2, 1, 3, 1, 2, 3])
    people = people_of(groups, 12, 3)
    rows, shares = Shares.of(people, None).take(np.array([0, 2, 5]), 12)
    np.testing.assert_array_equal(groups[rows], [0, 0, 2, 2, 2, 5, 5, 5])
    np.testing.assert_array_equal(shares.starts, [0, 2, 5])
    shares.check_for(8)
    with pytest.raises(ValueError, match="at most 1 for each person"):
        Shares(np.ones(8), shares.starts, 3).check_for(8)
    with pytest.raises(ValueError, match="at most 1 for each person"):
        Shares(shares.weights, shares.starts, 2).check_for(8)


def test_auto_knows_that_a_mean_of_several_is_short():
    facts = Facts(records=5000, features=11, outputs=1, radius=1.0, loss=Logistic())
    several = Facts(records=2000, features=31, outputs=1, radius=1.0, loss=Logistic(), rows_per_person=5)
    budget = Budget(1.0, 1e-6)
    assert "objective" in prefer(budget, facts)
    assert prefer(budget, several) == "gradient"
    assert prefer(budget, replace(several, records=9000, features=60)) == "whitened-gradient"
    for rows in (2, 5, 100):
        assert prefer(budget, replace(several, records=50_000, rows_per_person=rows)) == "whitened-objective"
    assert person_share(facts) == 1
    assert person_share(several) == pytest.approx(10**-0.5)


def rare_outcomes(people, rng):
    """One to eight rows each, one in nine of them positive."""
    groups = np.repeat(np.arange(people), np.minimum(rng.geometric(0.35, people), 8))
    X = rng.uniform(-0.4, 0.4, size=(len(groups), 5))
    chances = 1 / (1 + np.exp(2.4 - 4 * X[:, 0] - 3 * X[:, 1]))
    return X, (rng.random(len(groups)) < chances).astype(int), groups


@pytest.mark.parametrize("bound", [3, 8])
def test_a_rare_outcome_of_people_keeps_its_probability_and_is_found_with_balanced_weights(bound):
    X, y, groups = rare_outcomes(4000, np.random.default_rng(1))
    usual, balanced = (
        LogisticRegression(
            epsilon=2.0, classes=[0, 1], rows_per_person=bound, class_weight=weight, random_state=0
        ).fit(X, y, groups=groups)
        for weight in (None, "balanced")
    )  # fmt: skip
    assert usual.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.02)
    assert balanced.predict(X)[y == 1].mean() > 0.5


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [5.0, 20.0, 200.0])
@pytest.mark.parametrize("method", ["objective", "whitened-objective"])
def test_a_large_budget_is_no_reason_to_refuse_people(method, epsilon, adjacency, rng):
    X, y, groups = made("", rng)
    model = LogisticRegression(
        epsilon=epsilon, delta=1e-5, classes=[0, 1], method=method, rows_per_person=5, adjacency=adjacency
    ).fit(X, y, groups=groups)  # fmt: skip
    model.guarantee_.verify()


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.mark.filterwarnings("ignore::tacit.data.curator.MisuseWarning")
def test_groups_and_weights_are_routed_through_pipelines_and_searches(routing, rng):
    X, y, groups = made("", rng)
    model = LogisticRegression(rows_per_person=3, method="gradient", classes=[0, 1], random_state=0)
    model = model.set_fit_request(groups=True, sample_weight=True).set_score_request(sample_weight=False)
    weights = np.ones(len(y))
    pipe = make_pipeline(FunctionTransformer(lambda rows: rows - 0.5), model).fit(
        X, y, groups=groups, sample_weight=weights
    )
    assert pipe[-1].guarantee_.records == 40
    folds = GroupKFold(3)
    found = cross_validate(
        model, X, y, params={"groups": groups, "sample_weight": weights}, cv=folds, return_estimator=True
    )
    assert all(one.guarantee_.records < 40 for one in found["estimator"])
    assert all(one.guarantee_.rows_per_person == 3 for one in found["estimator"])
    search = GridSearchCV(model, {"epsilon": [0.5, 1.0]}, cv=folds).fit(X, y, groups=groups, sample_weight=weights)
    assert search.best_estimator_.guarantee_.records == 40


def test_all_public_estimators_take_groups():
    kinds = [
        getattr(tacit, name) for name in dir(tacit) if name.endswith(("Regression", "Regressor", "Classifier", "SVC"))
    ]
    assert kinds
    assert all("groups" in inspect.signature(kind.fit).parameters for kind in kinds)
