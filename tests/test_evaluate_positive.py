"""Recall, precision and calibration are of the class that is meant, and every line and file says of which."""

import dataclasses
import json
import math
import re

import numpy as np
import pytest
from sklearn import metrics
from sklearn.linear_model import LogisticRegression as Plain

import tacit
from tacit.evaluation.scores import Evaluation, Score

ONE_SIDED = ["recall", "precision", "calibration"]


@pytest.fixture
def claims(rng):
    """One claim in five; as words are sorted, 'ja' comes before 'nein'."""
    X = rng.normal(size=(900, 2))
    y = np.where(X[:, 0] + 0.7 * rng.normal(size=900) > 1, "ja", "nein")
    return Plain().fit(X, y), X, y


@pytest.mark.parametrize("positive", ["ja", "nein"])
def test_without_noise_the_scores_of_either_class_are_those_of_scikit_learn(claims, positive):
    model, X, y = claims
    found = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=ONE_SIDED, positive=positive)
    said, chance = model.predict(X), model.predict_proba(X)[:, ["ja", "nein"].index(positive)]
    assert found.scores["recall"].value == pytest.approx(metrics.recall_score(y, said, pos_label=positive))
    assert found.scores["precision"].value == pytest.approx(metrics.precision_score(y, said, pos_label=positive))
    tenths = np.minimum((10 * chance).astype(int), 9)
    for cell in np.unique(tenths):
        assert found.scores["calibration"].value[cell] == pytest.approx((y == positive)[tenths == cell].mean())
    assert found.positive == found.to_dict()["positive"] == positive
    names = [row[0] for row in found.rows()][:3]
    assert names == [
        f"recall of {positive!r}",
        f"precision of {positive!r}",
        f"calibration of {positive!r}, 0.0 to 0.1",
    ]
    assert names[2] in repr(found)


def test_both_classes_have_one_price_and_what_is_of_neither_stays_as_it_is(claims):
    model, X, y = claims
    shared = ["accuracy", "balanced_accuracy", "auc", "log_loss", "confusion"]
    given = {"epsilon": 1.0, "metrics": ["recall", "precision", *shared], "random_state": 0}
    first, second = (tacit.evaluate(model, X, y, positive=label, **given) for label in ("ja", "nein"))
    assert first.guarantee_ == second.guarantee_
    for name in shared:
        assert first.to_dict()["scores"][name] == second.to_dict()["scores"][name]
    cells = first.scores["confusion"].value  # noise is drawn once: both are shares of the same counts
    assert first.scores["recall"].value == pytest.approx(cells[0, 0] / cells[0].sum())
    assert second.scores["recall"].value == pytest.approx(cells[1, 1] / cells[1].sum())
    assert second.to_dict() == tacit.evaluate(model, X, y, **given).to_dict()  # the last class, and named


def test_labels_that_are_numbers_are_named_too(claims):
    model, X, y = claims
    model = Plain().fit(X, y == "ja")
    found = tacit.evaluate(model, X, y == "ja", epsilon=math.inf, metrics="recall", positive=np.int64(0))
    assert [row[0] for row in found.rows()] == ["recall of False"]
    assert json.loads(json.dumps(found.to_dict()))["positive"] is False
    several = Plain().fit(X, np.arange(900) % 3)
    assert tacit.evaluate(several, X, np.arange(900) % 3, epsilon=1.0).positive is None


@pytest.mark.parametrize("wrong", ["Ja", 1, ["ja"], np.array(["ja"]), object()])
def test_a_class_that_the_model_does_not_know_is_refused(claims, wrong, monkeypatch):
    monkeypatch.setattr("tacit.evaluation.summary.add_gaussian", lambda *_: pytest.fail("released"))
    model, X, y = claims
    with pytest.raises(ValueError, match=r"^Expected positive=.* to be one of the model's classes, 'ja' and 'nein'.$"):
        tacit.evaluate(model, X, y, epsilon=1.0, positive=wrong)


def test_only_models_with_two_classes_have_a_positive_one(claims):
    _, X, _ = claims
    words = re.escape("positive= chooses one of two classes")
    with pytest.raises(ValueError, match=words):
        tacit.evaluate(Plain().fit(X, np.arange(900) % 3), X, np.arange(900) % 3, epsilon=1.0, positive=1)
    numbers = tacit.LinearRegression(1.0, target_bound=1, random_state=0).fit(X, X[:, 0])
    with pytest.raises(ValueError, match=words):
        tacit.evaluate(numbers, X, X[:, 0], epsilon=1.0, positive=1)


def test_the_ledger_calls_scores_and_descriptions_as_they_are_labelled(claims, tmp_path):
    model, X, y = claims
    ledger = tacit.Ledger(tmp_path / "study.sqlite", epsilon=5.0, delta=1e-6)
    tacit.evaluate(model, X, y, epsilon=0.3, ledger=ledger, label="the model of May")
    with ledger:
        tacit.statistics.describe({"x": X[:, 0]}, epsilon=0.3, label="a first look")
        tacit.evaluate(model, X, y, epsilon=0.3)
        tacit.LogisticRegression(0.3).fit(X, y)
        with pytest.raises(ValueError, match="in one line"):
            tacit.evaluate(model, X, y, epsilon=0.3, label="two\nlines")
    labels = [entry.label for entry in ledger.entries]
    assert labels[:3] == ["the model of May", "a first look", ""]
    assert labels[3].startswith("LogisticRegression, ")
    assert "1. the model of May" in str(ledger.statement())


def test_scores_that_noise_decided_are_named():
    made = (
        tacit.LogisticRegression(5.0, delta=1e-4, classes=[0, 1], random_state=0)
        .fit(np.eye(20), [0, 1] * 10)
        .guarantee_
    )

    def told(value, low, high, **settings):
        scores = {"recall": Score(value, low, high), "rmse": Score(0.0, 0.0, 9.0)}
        return Evaluation(scores, 0.95, made, classes=("no", "yes"), positive="yes", **settings).remarks()

    assert told(0.4, 0.2, 0.6) == []
    (cut,) = told(1.0, 0.6, 1.0)
    assert "beyond the end of their range" in cut
    assert "recall of 'yes'." in cut
    (wide,) = told(0.6, 0.3, 0.9)
    assert "too wide to tell much: recall of 'yes'." in wide
    assert len(told(0.0, 0.0, 0.8)) == 2
    assert "too wide" in told(float("nan"), 0.0, 1.0)[0]
    shown = repr(Evaluation({"auc": Score(1.0, 0.58, 1.0)}, 0.95, made))
    assert "beyond the end of their range" in shown
    bare = dataclasses.replace(made, events=(), epsilon=float("inf"))
    assert Evaluation({"auc": Score(1.0, 1.0, 1.0)}, 0.95, bare).remarks() == []  # without noise it is a fact
