"""Scores of a model on private records: without noise they are scikit-learn's, with noise they have a price."""

import dataclasses
import json
import math
import re

import numpy as np
import pandas as pd
import pytest
from sklearn import metrics
from sklearn.linear_model import LinearRegression as LeastSquares
from sklearn.linear_model import LogisticRegression as Plain

import tacit
from tacit import LinearRegression, LinearSVC, LogisticRegression, PrivacyError
from tacit.evaluation import Evaluation
from tacit.evaluation.judged import WORST

LABELS = ["accuracy", "balanced_accuracy", "recall", "precision", "auc", "log_loss", "calibration", "confusion"]


def labelled(rng, n=400, classes=2):
    X = rng.normal(size=(n, 3)) / 3
    return X, np.clip(np.rint((classes - 1) * (0.5 + X[:, 0]) + 0.3 * rng.normal(size=n)), 0, classes - 1).astype(int)


@pytest.fixture
def two(rng):
    X, y = labelled(rng)
    return Plain().fit(X, y), X, y


@pytest.fixture
def numbers(rng):
    X = rng.normal(size=(300, 2))
    y = np.clip(X @ [0.3, 0.1] + 0.2 * rng.normal(size=300), -1, 1)
    return LeastSquares().fit(X, y), X, y


def test_without_noise_the_scores_of_classes_are_those_of_scikit_learn(two):
    model, X, y = two
    found = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=LABELS).scores
    said, chance = model.predict(X), model.predict_proba(X)
    assert found["accuracy"].value == pytest.approx(metrics.accuracy_score(y, said))
    assert found["balanced_accuracy"].value == pytest.approx(metrics.balanced_accuracy_score(y, said))
    assert found["recall"].value == pytest.approx(metrics.recall_score(y, said))
    assert found["precision"].value == pytest.approx(metrics.precision_score(y, said))
    assert found["auc"].value == pytest.approx(metrics.roc_auc_score(y, chance[:, 1]))
    loss = np.minimum(-np.log(chance[np.arange(len(y)), y]), WORST)
    assert found["log_loss"].value == pytest.approx(loss.mean())
    assert found["confusion"].value == pytest.approx(metrics.confusion_matrix(y, said, normalize="all"))
    tenths = np.minimum((10 * chance[:, 1]).astype(int), 9)
    for cell in np.unique(tenths):
        assert found["calibration"].value[cell] == pytest.approx(y[tenths == cell].mean())


def test_without_noise_the_scores_of_numbers_are_those_of_scikit_learn(numbers):
    model, X, y = numbers
    found = tacit.evaluate(model, X, y, epsilon=math.inf, bounds=(-1, 1), metrics=["rmse", "mae", "bias", "r2"]).scores
    said = np.clip(model.predict(X), -1, 1)
    assert found["mae"].value == pytest.approx(metrics.mean_absolute_error(y, said))
    assert found["bias"].value == pytest.approx(np.mean(said - y))
    assert found["rmse"].value == pytest.approx(metrics.root_mean_squared_error(y, said))
    assert found["r2"].value == pytest.approx(metrics.r2_score(y, said))


def test_ties_count_as_halves_and_several_classes_have_their_table(rng):
    X, y = labelled(rng, classes=4)
    model = Plain().fit(X, y)
    found = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=["balanced_accuracy", "accuracy", "log_loss"])
    assert found.scores["balanced_accuracy"].value == pytest.approx(
        metrics.balanced_accuracy_score(y, model.predict(X))
    )
    with_table = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=["balanced_accuracy", "confusion"])
    assert with_table.scores["confusion"].value.shape == (4, 4)
    assert with_table.scores["balanced_accuracy"].value == pytest.approx(found.scores["balanced_accuracy"].value)

    coarse = LinearSVC(epsilon=5.0, classes=[0, 1], random_state=0).fit(X, y > 1)
    coarse.coef_, coarse.intercept_ = np.zeros((1, 3)), np.zeros(1)
    assert tacit.evaluate(coarse, X, y > 1, epsilon=math.inf, metrics="auc").scores["auc"].value == 0.5


def test_a_model_that_is_always_right(rng):
    X = rng.normal(size=(60, 1))
    y = (X[:, 0] > 0).astype(int)
    model = Plain().fit(X, y)
    model.intercept_ = np.zeros(1)
    for epsilon in (math.inf, 100.0):
        found = tacit.evaluate(model, X, y, epsilon=epsilon, delta=1e-6, metrics=LABELS, random_state=0).scores
        for name in ("accuracy", "balanced_accuracy", "recall", "precision", "auc"):
            assert found[name].value == pytest.approx(1, abs=0.05)
            assert found[name].high == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_release_is_priced_and_its_scores_are_near(two, numbers, adjacency):
    model, X, y = two
    found = tacit.evaluate(model, X, y, epsilon=50.0, delta=1e-6, metrics=LABELS, adjacency=adjacency, random_state=0)
    exact = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=LABELS).scores
    assert found.guarantee_.verify() <= 50.0 * (1 + 1e-6)
    assert found.guarantee_.method == found.guarantee_.theorem == "evaluation"
    for name in LABELS[:-2]:
        score = found.scores[name]
        assert score.low <= score.value <= score.high
        assert score.value == pytest.approx(exact[name].value, abs=0.05)
    model, X, y = numbers
    found = tacit.evaluate(model, X, y, epsilon=50.0, delta=1e-6, bounds=(-1, 1), adjacency=adjacency, random_state=0)
    assert found.scores["rmse"].low < metrics.root_mean_squared_error(y, model.predict(X)) < found.scores["rmse"].high
    assert found.scores["r2"].low < metrics.r2_score(y, model.predict(X)) < found.scores["r2"].high


def test_asking_for_less_is_more_precise(two):
    model, X, y = two

    def width(names):
        score = tacit.evaluate(model, X, y, epsilon=0.5, metrics=names, random_state=1).scores["accuracy"]
        return score.high - score.low

    assert width(["accuracy"]) < width(["accuracy", "recall"]) < width(LABELS)


def test_few_positives_and_much_noise_give_the_whole_range_and_no_value(rng):
    X = rng.normal(size=(200, 2))
    y = np.zeros(200, dtype=int)
    model = Plain().fit(X, X[:, 0] > 0)
    model.classes_ = np.array([0, 1])
    for seed in range(20):
        found = tacit.evaluate(model, X, y, epsilon=0.05, metrics=LABELS, random_state=seed)
        for name, score in found.scores.items():
            low, value, high = (np.ravel(part) for part in (score.low, score.value, score.high))
            most = WORST if name == "log_loss" else 1
            assert (low >= 0).all()
            assert (low <= high).all()
            assert (high <= most).all()
            known = ~np.isnan(value)
            assert ((low <= value) & (value <= high))[known].all(), name
            assert ((low > 0) | (high < most))[known].all(), name  # nothing is said where nothing is known
    widths = [
        found.scores["recall"].high - found.scores["recall"].low,
        found.scores["auc"].high - found.scores["auc"].low,
    ]
    assert min(widths) > 0.9


def test_a_target_without_variance_leaves_r2_open(rng):
    model = LeastSquares().fit(rng.normal(size=(50, 1)), np.full(50, 0.25))
    found = tacit.evaluate(
        model, rng.normal(size=(50, 1)), np.full(50, 0.25), epsilon=0.1, bounds=(0, 1), random_state=3
    )
    assert found.scores["r2"].low == -math.inf
    assert math.isnan(found.scores["r2"].value)
    assert found.to_dict()["scores"]["r2"] == {"value": None, "low": None, "high": found.scores["r2"].high}
    assert found.rows()[1][1:3] == ("unknown", "-inf")


def test_an_error_that_noise_made_negative_has_no_value(numbers):
    model, X, y = numbers
    seen = set()
    for seed in range(30):
        score = tacit.evaluate(model, X, y, epsilon=0.1, bounds=(-9, 9), metrics=["rmse"], random_state=seed).scores
        low, value, high = (getattr(score["rmse"], name) for name in ("low", "value", "high"))
        assert low < high
        assert math.isnan(value) or low <= value > 0
        seen.add(math.isnan(value))
    assert seen == {True, False}


def test_tacit_models_bring_their_range_and_their_scores(rng):
    X, y = labelled(rng)
    found = tacit.evaluate(LogisticRegression(5.0, classes=[0, 1], random_state=0).fit(X, y), X, y, epsilon=1.0)
    assert list(found.scores) == ["accuracy", "recall", "precision", "auc"]
    names = pd.Series(np.where(y == 1, "yes", "no"))
    found = tacit.evaluate(LinearSVC(5.0, random_state=0).fit(X, names), X, names, epsilon=1.0)
    assert (list(found.scores), found.classes) == (["accuracy", "recall", "precision", "auc"], ("no", "yes"))
    model = LinearRegression(5.0, target_bound=(0, 3), random_state=0).fit(X, y)
    found = tacit.evaluate(model, X, y, epsilon=1.0)
    assert list(found.scores) == ["rmse", "r2"]
    assert "clipped to [0, 3]" in "; ".join(found.guarantee_.assumptions)


def test_a_person_is_one_unit(two):
    model, X, y = two
    groups = np.repeat(np.arange(100), 4)
    found = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=["accuracy", "auc"], groups=groups, rows_per_person=3)
    kept = np.arange(400) % 4 < 3
    right = (model.predict(X) == y)[kept].mean()
    assert found.scores["accuracy"].value == pytest.approx(right, abs=1e-5)
    assert found.scores["auc"].value == pytest.approx(
        metrics.roc_auc_score(y[kept], model.decision_function(X)[kept]), abs=1e-5
    )
    private = tacit.evaluate(model, X, y, epsilon=1.0, groups=groups, rows_per_person=3)
    assert (private.guarantee_.records, private.guarantee_.rows_per_person, private.guarantee_.unit) == (
        100,
        3,
        "person",
    )
    assert "100 people" in repr(private)


def test_uneven_people_weigh_the_same(rng):
    y = np.array([1] * 9 + [0])
    model = Plain().fit(rng.normal(size=(10, 1)), np.arange(10) % 2)
    model.coef_, model.intercept_ = np.zeros((1, 1)), np.array([5.0])  # always says 1
    found = tacit.evaluate(
        model, np.zeros((10, 1)), y, epsilon=math.inf, metrics="accuracy", groups=["a"] * 9 + ["b"], rows_per_person=9
    )
    assert found.scores["accuracy"].value == pytest.approx(0.5)


def test_the_ledger_is_charged_before_the_release_exists(two, tmp_path, monkeypatch):
    model, X, y = two
    ledger = tacit.Ledger(tmp_path / "study.sqlite", epsilon=1.0, delta=1e-6)
    found = tacit.evaluate(model, X, y, epsilon=0.3, ledger=ledger)
    with ledger:
        again = tacit.evaluate(model, X, y, epsilon=0.3)
    assert [entry.guarantee for entry in ledger.entries] == [found.guarantee_, again.guarantee_]
    assert found.guarantee_.delta == 1e-6
    monkeypatch.setattr("tacit.evaluation.summary.add_gaussian", lambda *_: pytest.fail("released"))
    with pytest.raises(PrivacyError, match="Nothing was spent"):
        tacit.evaluate(model, X, y, epsilon=0.95, ledger=ledger)
    assert len(ledger.entries) == 2


def test_the_result_reads_as_a_table_and_as_json(two):
    model, X, y = two
    found = tacit.evaluate(model, X, y, epsilon=1.0, metrics=LABELS, random_state=0)
    assert isinstance(found, Evaluation)
    lines = repr(found).splitlines()
    assert lines[0].split() == ["score", "value", "low", "high"]
    assert len(lines) == 1 + 6 + 10 + 4 + 1
    assert lines[-2].startswith("confusion 1 as 1")
    assert lines[-1].startswith("intervals at level 0.95")
    data = json.loads(json.dumps(found.to_dict()))
    assert tacit.Guarantee.from_dict(data["guarantee"]) == found.guarantee_
    assert data["scores"]["accuracy"]["value"] == found.scores["accuracy"].value
    assert np.shape(data["scores"]["confusion"]["low"]) == (2, 2)
    again = tacit.evaluate(model, X, y, epsilon=1.0, metrics=LABELS, random_state=0)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize("people", [None, 3])
def test_under_add_remove_the_number_of_records_is_told_to_nobody(two, people, tmp_path):
    model, X, y = two

    def stated(n, **settings):
        own = {} if people is None else {"groups": np.arange(n), "rows_per_person": people}
        found = tacit.evaluate(
            model, X[:n], y[:n], epsilon=1.0, metrics=LABELS, adjacency="add-remove", random_state=0, **own, **settings
        )
        return found.guarantee_.to_dict(), repr(found).splitlines()[-1]

    assert stated(399, delta=1e-6) == stated(400, delta=1e-6)
    desk = str(tacit.Guarantee.from_dict(stated(400, delta=1e-6)[0]).statement())
    assert "of 0" not in desk
    assert "The number of" not in desk
    assert "public" not in " ".join(stated(400, delta=1e-6)[0]["assumptions"][:3]).replace("public facts", "")
    with pytest.raises(ValueError, match="number of records is private"):
        stated(400)
    if people is None:
        ledger = tacit.Ledger(tmp_path / "study.sqlite", epsilon=2.0, delta=1e-6, adjacency="add-remove")
        assert stated(400, ledger=ledger)[0]["delta"] == 1e-6


def test_a_handful_of_records_gives_the_curator_a_note(two):
    model, X, y = two
    with pytest.warns(tacit.CuratorNote, match="scores of 19 records"):
        tacit.evaluate(model, X[:19], y[:19], epsilon=1.0, metrics="accuracy")


def test_the_guarantee_is_that_of_scores_and_of_no_model(two, tmp_path):
    model, X, y = two
    scores = tacit.evaluate(model, X, y, epsilon=1.0, delta=1e-6).guarantee_
    assert scores.protects == "the released scores of a model"
    assert "released model" not in str(scores)
    scores.verify()
    with pytest.raises(PrivacyError, match="nothing else"):
        dataclasses.replace(scores, protects="the released model").verify()
    table = tacit.statistics.mean(y, (0, 1), epsilon=1.0, delta=1e-6).guarantee
    fitted = LogisticRegression(1.0, delta=1e-6, classes=[0, 1]).fit(X, y)
    for other in (scores, table):
        fitted.guarantee_ = other
        with pytest.raises(ValueError, match="not that of a model"):  # what would be refused is not written
            tacit.save(fitted, tmp_path / "model.json")
    assert not (tmp_path / "model.json").exists()


REFUSED = [
    ({"metrics": ["accuracy", "speed"]}, "no score 'speed'"),
    ({"metrics": ["rmse"]}, "for models with numbers"),
    ({"metrics": []}, "at least one name"),
    ({"metrics": 5}, "list of names"),
    ({"level": 1.5}, "level=1.5"),
    ({"level": 0}, "level=0"),
    ({"epsilon": 0}, "epsilon=0"),
    ({"delta": 0}, "delta > 0"),
    ({"adjacency": "both"}, "adjacency='both'"),
    ({"bounds": (0, 1)}, "predicts classes"),
    ({"rows_per_person": 3}, "groups="),
    ({"groups": [1, 2]}, "Declare rows_per_person"),
    ({"groups": [1, 2], "rows_per_person": 2}, "one person for each row"),
    ({"groups": [math.nan] * 400, "rows_per_person": 2}, "missing value"),
    ({"random_state": "now"}, "random_state"),
]


@pytest.mark.parametrize(("settings", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_what_is_wrong_is_refused_before_anything_is_released(two, settings, words, monkeypatch):
    monkeypatch.setattr("tacit.evaluation.summary.add_gaussian", lambda *_: pytest.fail("released"))
    model, X, y = two
    with pytest.raises(ValueError, match=re.escape(words)) as caught:
        tacit.evaluate(model, X, y, **({"epsilon": 1.0} | settings))
    assert "\n" not in str(caught.value)


def test_models_and_labels_that_do_not_fit_are_refused(two, numbers, monkeypatch):
    monkeypatch.setattr("tacit.evaluation.summary.add_gaussian", lambda *_: pytest.fail("released"))
    model, X, y = two

    def refused(words, *arguments, **settings):
        with pytest.raises(ValueError, match=words):
            tacit.evaluate(*arguments, epsilon=1.0, **settings)

    refused("not among the model's classes", model, X, y + 1)
    refused("not among the model's classes", model, X, y.astype(str))
    refused("the same number of rows", model, X[:-1], y)
    refused("one label or number", model, X, np.stack([y, y], axis=1))
    refused("between one and", model, X, [])
    refused("method predict", object(), X, y)
    refused("Fit it first", LogisticRegression(), X, y)
    refused("for models with probabilities", LinearSVC(5.0, random_state=0).fit(X, y), X, y, metrics="log_loss")
    several = Plain().fit(X, np.arange(len(X)) % 3)
    refused("for models with two classes", several, X, y, metrics="recall")
    refused("for models with two classes and a score", several, X, y, metrics="auc")
    model, X, y = numbers
    refused("Declare the range", model, X, y)
    refused("lower < upper", model, X, y, bounds=(1, 0))
    refused("two numbers", model, X, y, bounds=3)
    refused("to be a number", model, X, y, bounds=("a", "b"))
    refused("for models with two or more classes", model, X, y, metrics="accuracy", bounds=(0, 1))
    refused("NaN or infinity", model, X, np.where(np.arange(len(y)) == 3, np.nan, y), bounds=(0, 1))


class Telling:
    """A model without classes_ that predicts text, which depends on the records."""

    def predict(self, X):
        return np.array([f"secret {row[0]}" for row in np.asarray(X)], dtype=object)


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_a_prediction_that_is_no_number_is_not_quoted(numbers, adjacency):
    _, X, y = numbers
    with pytest.raises(ValueError, match="needs the attribute classes_") as caught:
        tacit.evaluate(Telling(), X, y, epsilon=1.0, delta=1e-5, bounds=(-1, 1), adjacency=adjacency)
    assert "secret" not in str(caught.value)
    assert caught.value.__suppress_context__
