"""Weights of rows and of classes: what they do to a fit, what they do to its price, and which are refused."""

import csv

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.metrics import recall_score, roc_auc_score

from tacit import AdditiveClassifier, LinearRegression, LinearSVC, LogisticRegression, PoissonRegressor, PrivacyError
from tacit.cli.main import main
from tacit.estimators.counted import balanced
from tacit.files import load, save
from tacit.mechanisms.sufficient import Weights
from tacit.schema import Schema


def rare(rng, n=4000, d=4):
    """About one in ten is positive."""
    X = rng.normal(size=(n, d)) / np.sqrt(d)
    return X, (rng.random(n) < 1 / (1 + np.exp(2.8 - 2 * X.sum(axis=1)))).astype(int)


def test_without_noise_weights_are_scikit_learns(rng):
    X, y = rare(rng)
    X /= np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    weights = rng.random(len(y)) * 3
    n, strength = len(y), 1e-2
    model = LogisticRegression(np.inf, regularization=strength, method="objective", weight_bound=3, margin=0)
    model.fit(X, y, sample_weight=weights)
    # the intercept is a coordinate of norm 1/2, and regularised like the others
    design = np.hstack([X, np.full((n, 1), 0.5)])
    plain = Plain(C=1 / (n * strength), fit_intercept=False, tol=1e-10, max_iter=10_000)
    plain.fit(design, y, sample_weight=weights / 3)
    np.testing.assert_allclose(model.coef_[0], plain.coef_[0, :-1], atol=1e-4)
    np.testing.assert_allclose(model.intercept_[0], 0.5 * plain.coef_[0, -1], atol=1e-4)


def test_a_row_of_weight_zero_is_not_there(rng):
    X, y = rare(rng, 300)
    X[-50:], y[-50:] = 1e6, 1 - y[-50:]
    weights = np.r_[np.ones(250), np.zeros(50)]
    models = [
        LogisticRegression(method="gradient", random_state=0).fit(some, y, sample_weight=weights)
        for some in (X, np.vstack([X[:250], np.zeros((50, 4))]))
    ]
    np.testing.assert_allclose(models[0].coef_, models[1].coef_, rtol=1e-9)


@pytest.mark.parametrize("method", ["auto", "gradient", "objective"])
def test_balanced_classes_are_charged_and_found(method, rng):
    X, y = rare(rng)
    plain, even = (
        LogisticRegression(1.0, method=method, class_weight=weight, random_state=1).fit(X, y)
        for weight in (None, "balanced")
    )
    assert len(even.guarantee_.events) == len(plain.guarantee_.events) + 1
    assert even.guarantee_.theorem.endswith("-after-counts")
    even.guarantee_.verify()
    assert recall_score(y, even.predict(X)) > 1.5 * recall_score(y, plain.predict(X))
    assert roc_auc_score(y, even.decision_function(X)) > roc_auc_score(y, plain.decision_function(X)) - 0.02


def test_the_guarantee_stands_before_the_counts_are_drawn(rng, monkeypatch):
    X, y = rare(rng, 200)
    model = LogisticRegression(class_weight="balanced", random_state=0)
    monkeypatch.setattr("tacit.estimators.classification.balanced", lambda counts: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        model.fit(X, y)
    assert model.guarantee_.epsilon == 1.0
    assert not hasattr(model, "coef_")


def test_balanced_weights_of_three_classes_and_of_a_hinge(rng):
    X = rng.normal(size=(3000, 3))
    y = np.where(rng.random(3000) < 0.05, 2, (X[:, 0] > 0).astype(int))
    X[y == 2, 2] += 2
    for model in (LogisticRegression(3.0), LogisticRegression(3.0, multiclass="one-vs-rest"), LinearSVC(3.0)):
        plain, even = (
            type(model)(**{**model.get_params(), "class_weight": weight, "random_state": 2}).fit(X, y)
            for weight in (None, "balanced")
        )
        assert (even.predict(X) == 2).mean() > (plain.predict(X) == 2).mean()
    np.testing.assert_allclose(balanced(np.array([100.0, -3.0, 1e9])), [1e-2, 1.0, 1e-3])


def test_declared_class_weights_cost_nothing(rng):
    X, y = rare(rng)
    plain, even = (
        LogisticRegression(1.0, method="gradient", class_weight=weight, random_state=1).fit(X, y)
        for weight in (None, {0: 1, 1: 9})
    )
    assert even.guarantee_.events == plain.guarantee_.events
    assert recall_score(y, even.predict(X)) > recall_score(y, plain.predict(X))


def test_replacing_moves_moments_no_less_than_adding():
    """A record of weight 0 has no count: replacing another by it moves the count too, however precise that is."""
    for weights in (Weights(), Weights(count=50.0), Weights(mean=0.0, target=0.0, count=3.0)):
        sensitivity = weights.sensitivity()
        assert sensitivity.replace_one >= sensitivity.add_remove


BAD = [
    ([-1.0, *[1.0] * 39], "negative, missing or infinite"),
    ([np.nan, *[1.0] * 39], "negative, missing or infinite"),
    ([np.inf, *[1.0] * 39], "negative, missing or infinite"),
    ([1.0] * 39, "one number for each row"),
    (["heavy"] * 40, "one number for each row"),
    (np.ones((40, 2)), "one number for each row"),
]


@pytest.mark.parametrize(("weights", "words"), BAD)
@pytest.mark.parametrize(
    "kind", [LogisticRegression, LinearSVC, LinearRegression, PoissonRegressor, AdditiveClassifier]
)
def test_bad_weights_are_refused_and_nothing_is_spent(kind, weights, words, rng):
    X, y = rng.random((40, 2)), rng.integers(0, 2, 40)
    schema = Schema.from_dict({"columns": {"a": {"lower": 0, "upper": 1}}})
    given = {"schema": schema} if kind is AdditiveClassifier else {}
    given |= {"target_bound": 1.0} if kind in (LinearRegression, PoissonRegressor) else {}
    model = kind(**given)
    with pytest.raises(ValueError, match=words) as caught:
        model.fit({"a": X[:, 0]} if kind is AdditiveClassifier else X, y, sample_weight=weights)
    assert "heavy" not in str(caught.value)
    assert not hasattr(model, "guarantee_")
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize(
    "class_weight",
    ["even", {0: 1.0}, {0: 1.0, 1: 0.0}, {0: 1.0, 1: -2.0}, {0: 1, 1: 1, 2: 1}, 3.0, {0: 1.0, 1: np.nan}],
)
def test_bad_class_weights_are_refused(class_weight, rng):
    X, y = rare(rng, 40)
    y[:2] = 0, 1
    model = LogisticRegression(class_weight=class_weight)
    with pytest.raises(ValueError, match="class_weight"):
        model.fit(X, y)
    assert not hasattr(model, "guarantee_")


def test_a_bound_of_weights_is_positive_and_cuts(rng):
    X, y = rare(rng, 200)
    for bound in (0.0, -1.0, np.nan):
        with pytest.raises(ValueError, match="weight_bound"):
            LogisticRegression(weight_bound=bound).fit(X, y, sample_weight=np.ones(200))
    cut, whole = (
        LogisticRegression(method="gradient", random_state=0).fit(X, y, sample_weight=weights)
        for weights in (np.full(200, 7.0), np.ones(200))
    )
    np.testing.assert_array_equal(cut.coef_, whole.coef_)


def test_methods_that_take_every_row_as_it_is_refuse_weights(rng):
    X, y = rare(rng, 60)
    with pytest.raises(PrivacyError, match="weights"):
        LogisticRegression(method="local-duchi-2013", delta=0.0).fit(X, y, sample_weight=np.ones(60))


def test_files_keep_weights_and_people(rng, tmp_path):
    X, y = rare(rng, 200)
    model = LogisticRegression(class_weight="balanced", rows_per_person=2, weight_bound=2.0, random_state=0)
    model.fit(X, y, groups=np.arange(200) // 2, sample_weight=np.ones(200))
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json").model
    assert again.guarantee_ == model.guarantee_
    assert again.guarantee_.rows_per_person == 2
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


def test_the_command_line_knows_people_and_weights(rng, tmp_path, capsys):
    X, y = rare(rng, 120)
    path, out = tmp_path / "data.csv", tmp_path / "model.json"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["a", "b", "who", "heavy", "y"])
        writer.writerows(
            [*row[:2], f"p{i // 3}", 1 + i % 2, label] for i, (row, label) in enumerate(zip(X, y, strict=True))
        )
    line = "--target y --classes 0,1 --epsilon 1 --seed 1 --overwrite --out"
    fit = ["fit", str(path), *line.split(), str(out)]
    own = ["--person", "who", "--rows-per-person", "2", "--weight", "heavy", "--weight-bound", "2"]
    assert main([*fit, *own, "--class-weight", "balanced"]) == 0
    model = load(out).model
    assert model.guarantee_.records == 40
    assert model.guarantee_.rows_per_person == 2
    assert model.n_features_in_ == 2
    for wrong, words in ((["--person", "who"], "belong together"), (["--rows-per-person", "3"], "belong together"),
                         (["--weight", "nobody"], "no column")):  # fmt: skip
        capsys.readouterr()
        assert main([*fit, *wrong]) != 0
        assert words in capsys.readouterr().err
