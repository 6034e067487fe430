"""The benchmarks' harness: what it scores, what it keeps of an earlier run, and what it writes into the page."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import tacit
from tacit.schema import Schema, Target

ROOT = Path(__file__).parent.parent


@pytest.fixture
def harness(monkeypatch):
    """Import a script of the folder by name; its modules are forgotten afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    yield importlib.import_module
    for name in set(sys.modules) - before:
        if (getattr(sys.modules[name], "__file__", None) or "").startswith(str(ROOT / "benchmarks")):
            del sys.modules[name]


@pytest.fixture
def small(harness, monkeypatch):
    """A table of 60 records with one number and one category, in the place of every task."""
    tasks = harness("tasks")
    rng = np.random.default_rng(0)
    table = {"size": rng.uniform(0, 10, 60), "kind": rng.choice(["a", "b", "?"], 60)}
    table["size"][0] = np.nan
    entries = {"columns": {"size": {"lower": 2, "upper": 6}, "kind": {"values": ["a", "b"]}}}
    schema = Schema.from_dict(entries | {"target": Target("sought", classes=(0, 1)).to_dict()})
    labels = (table["size"] > 5).astype(np.int64)
    monkeypatch.setattr(tasks, "_whole", lambda name: (table, schema, labels))
    monkeypatch.setitem(tasks.TASKS, "adult", replace(tasks.TASKS["adult"], training=48))
    tasks._formed.cache_clear()
    return table, labels


def brute_recall(truth, positive, precision):
    """Every threshold that tells records apart, by hand."""
    best = 0.0
    for threshold in positive:
        said = positive >= threshold
        if truth[said].mean() >= precision:
            best = max(best, truth[said].sum() / truth.sum())
    return best


@pytest.mark.parametrize("seed", range(20))
def test_scores_against_loops(harness, seed):
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, 40)
    truth[:2] = 0, 1
    positive = np.round(rng.uniform(0, 1, 40) * 0.7 + 0.3 * truth * rng.uniform(0, 1, 40), 1)  # with ties
    found = harness("scores").scores(truth, positive > 0.5, positive)
    pairs = [(a > b) + 0.5 * (a == b) for a in positive[truth == 1] for b in positive[truth == 0]]
    assert found["auc"] == pytest.approx(np.mean(pairs))
    assert found["recall"] == pytest.approx(brute_recall(truth, positive, 0.8))
    inside = np.clip(positive, 1e-6, 1 - 1e-6)
    assert found["log_loss"] == pytest.approx(-np.mean(truth * np.log(inside) + (1 - truth) * np.log(1 - inside)))
    assert found["accuracy"] == np.mean((positive > 0.5) == truth)


def test_a_precision_that_is_not_reached_counts_as_no_recall(harness):
    truth, positive = np.array([1, 0, 0, 0]), np.array([0.5, 0.5, 0.4, 0.1])
    assert harness("scores").recall_at(truth, positive) == 0.0


def test_a_sure_mistake_is_finite_and_a_probability_that_is_none_is_refused(harness):
    scores = harness("scores")
    assert scores.log_loss(np.array([1]), np.array([0.0])) == pytest.approx(-np.log(1e-6))
    with pytest.raises(ValueError, match="not a number"):
        scores.scores(np.array([0, 1]), np.array([0, 1]), np.array([0.5, np.nan]))


def test_one_number_a_column(harness, small):
    tasks = harness("tasks")
    table, _ = small
    columns = tasks.Records("adult", np.arange(60)).form("columns")
    kinds = {"a": 0, "b": 1, "?": 2}
    for (size, kind), (cell, word) in zip(columns, zip(table["size"], table["kind"], strict=True), strict=True):
        assert size == pytest.approx(4.0 if np.isnan(cell) else min(max(cell, 2), 6))
        assert kind == kinds[word]


def test_parts_do_not_overlap(harness, small):
    train, test = harness("tasks").split("bank_marketing", 3)
    assert sorted([*train.places, *test.places]) == list(range(60))
    assert len(test) == 12
    np.testing.assert_array_equal(test.labels, small[1][test.places])


class Fake:
    """Says 1 where the label is 1 in a share of the records; settings differ in that share."""

    def __init__(self, module, *shares):
        self.module, self.shares, self.calls = module, shares, 0

    def __call__(self, train, test, ask):
        self.calls += 1
        right = [np.arange(len(test)) < share * len(test) for share in self.shares]
        said = [np.where(one, test.labels, 1 - test.labels) for one in right]
        return [
            self.module.Fit(f"share {s}", 1.0, labels, labels * 1.0)
            for s, labels in zip(self.shares, said, strict=True)
        ]


def entered(harness, monkeypatch, *shares):
    """The harness with one fake model, its rows measured in this process."""
    accuracy, models = harness("accuracy"), harness("models")
    fake = Fake(models, *shares)
    monkeypatch.setattr(models, "MODELS", {"fake": models.Model(fake, ("add-remove",))})
    for module in (accuracy, harness("versus")):
        monkeypatch.setattr(module, "MODELS", models.MODELS)
    stamps = {"fake": "first"}
    monkeypatch.setattr(accuracy, "stamp", stamps.__getitem__)
    monkeypatch.setattr(accuracy, "each", lambda function, jobs, workers, title: (function(*job) for job in jobs))
    return accuracy, fake, stamps


def test_of_several_settings_the_best_on_the_test_set_is_kept(harness, small, monkeypatch):
    accuracy, _, _ = entered(harness, monkeypatch, 0.5, 1.0, 0.25)
    row = accuracy.measure("breast_cancer", "fake", "add-remove", 1.0, 3)
    assert (row["chosen"], row["settings"], row["seeds"]) == ("share 1.0", 3, 3)
    assert row["accuracy"] == {"mean": 1.0, "std": 0.0, "values": [1.0, 1.0, 1.0]}


def test_rows_that_are_there_are_kept_while_their_code_is_the_same(harness, small, monkeypatch, tmp_path):
    accuracy, fake, stamps = entered(harness, monkeypatch, 1.0)
    store = tmp_path / "new" / "bench-accuracy.json"

    def calls(seeds, **limits):
        before = fake.calls
        rows, text = accuracy.run(seeds, False, 1, store=store, **limits)
        assert rows == json.loads(store.read_text())
        assert "100.00 ± 0.00 / 1.0000" in text
        return fake.calls - before

    everything = len(accuracy.TASKS) * len(accuracy.EPSILONS)
    assert calls(2, data=["adult"]) == 2 * len(accuracy.EPSILONS)
    assert calls(2) == 2 * (everything - len(accuracy.EPSILONS))
    assert calls(1) == calls(2) == 0
    assert calls(3, models=["fake"], data=["acs_income"]) == 3 * len(accuracy.EPSILONS)
    stamps["fake"] = "second"
    assert calls(1) == everything


def test_a_failure_is_a_cell_and_is_tried_again(harness, small, monkeypatch, tmp_path):
    accuracy, fake, _ = entered(harness, monkeypatch, 1.0)
    store = tmp_path / "bench-accuracy.json"
    working = Fake.__call__
    monkeypatch.setattr(Fake, "__call__", lambda *given: 1 / 0)
    rows, text = accuracy.run(1, False, 1, store=store, data=["adult"])
    assert {(row["note"], row["why"].split(":")[0]) for row in rows} == {("failed", "ZeroDivisionError")}
    assert "failed" in text
    monkeypatch.setattr(Fake, "__call__", working)
    again, _ = accuracy.run(1, False, 1, store=store, data=["adult"])
    assert fake.calls == len(rows) == len(again)


def test_a_model_that_is_absent_is_said_to_be(harness, small, monkeypatch, tmp_path):
    accuracy, fake, _ = entered(harness, monkeypatch, 1.0)
    models = harness("models")
    accuracy.MODELS["other"] = models.Model(fake, ("add-remove",), lambda: "it is not here")
    _, text = accuracy.run(1, False, 1, store=tmp_path / "rows.json", data=["adult"])
    assert text.endswith("Not measured. other: it is not here.")


def test_the_stamp_of_a_row_follows_the_code(harness, monkeypatch):
    models = harness("models")
    before = {name: models.stamp(name) for name in ("linear", "DP-EBM", "diffprivlib") if not absent(models, name)}
    assert len(set(before.values())) == len(before)
    monkeypatch.setattr(models.Path, "read_bytes", lambda path: b"other code")
    assert all(models.stamp(name) != stamp for name, stamp in before.items())


def absent(models, name):
    return name == "DP-EBM" and models.MODELS[name].absent()


def test_the_additive_model_gets_the_table_and_its_schema(harness, small, monkeypatch):
    class Additive:
        """As it will be called: settings by name, then a table and labels."""

        def __init__(self, epsilon, *, delta, adjacency, schema, random_state):
            self.schema = schema
            self.model = tacit.LogisticRegression(epsilon, delta=delta, adjacency=adjacency, random_state=random_state)

        def fit(self, table, y):
            self.model.fit(self.schema.encode(table), y)
            self.guarantee_ = self.model.guarantee_

        def predict(self, table):
            return self.model.predict(self.schema.encode(table))

        def predict_proba(self, table):
            return self.model.predict_proba(self.schema.encode(table))

    monkeypatch.setattr(tacit, "AdditiveClassifier", Additive, raising=False)
    accuracy = harness("accuracy")
    assert accuracy.MODELS["additive"].absent() == ""
    found, linear = (accuracy.measure("adult", name, "add-remove", 1.0, 2) for name in ("additive", "linear"))
    assert found["accuracy"] == linear["accuracy"]
    assert found["chosen"] == linear["chosen"] != ""


@pytest.mark.parametrize("model", ["DP-EBM", "Opacus", "scikit-learn linear", "scikit-learn additive", "network"])
def test_every_model_takes_part(harness, small, monkeypatch, model):
    accuracy, dp_sgd = harness("accuracy"), harness("dp_sgd")
    entry = accuracy.MODELS[model]
    if why := entry.absent():
        pytest.skip(why)
    monkeypatch.setattr(dp_sgd, "STEPS", (4.0,))
    monkeypatch.setattr(dp_sgd, "multiplier", lambda *given: 0.1)
    row = accuracy.measure("bank_marketing", model, entry.adjacencies[0], 100.0 if entry.private else None, 1)
    assert row.get("why") is None
    assert 0 <= row["accuracy"]["mean"] <= 1
    assert row["seconds"] >= 0


@pytest.mark.parametrize(("code", "why"), [(1, "could not be made (no route)"), (0, "")])
def test_an_environment_is_made_once_or_there_is_a_reason(harness, monkeypatch, tmp_path, code, why):
    apart, commands = harness("apart"), []

    def run(command, **settings):
        commands.append(command)
        return subprocess.CompletedProcess(command, code, "", "much\nno route\n")

    monkeypatch.setattr(apart.subprocess, "run", run)
    for _ in range(2):
        apart.why_not.cache_clear()
        found = apart.why_not(tmp_path)
        assert found.endswith(why)
        assert bool(found) == bool(why)
    assert len(commands) == (2 if code else 3)  # a failure is tried again by the next run, at its first command
    assert (tmp_path / "ready").exists() == (code == 0)


def test_the_page_changes_between_the_markers_alone(harness):
    replaced = harness("page").replaced
    page = "a\n<!-- accuracy -->\nold\n<!-- end of accuracy -->\nb\n"
    once = replaced(page, "accuracy", "new")
    assert once == "a\n<!-- accuracy -->\n\nnew\n\n<!-- end of accuracy -->\nb\n"
    assert replaced(once, "accuracy", "new") == once
    with pytest.raises(ValueError, match="once each"):
        replaced("<!-- end of accuracy --> <!-- accuracy -->", "accuracy", "new")


def test_the_page_has_the_markers_of_every_part(harness):
    page = harness("page")
    text = page.PAGE.read_text(encoding="utf-8")
    for part in page.PARTS:
        assert part in page.replaced(text, part, part)


def test_the_picture_can_be_read_on_a_phone(harness):
    picture = harness("picture")
    drawn = picture.draw(picture.PAGE.read_text(encoding="utf-8"))
    size, width = float(re.search(r"font:(\d+)px", drawn)[1]), float(re.search(r'viewBox="0 0 (\d+)', drawn)[1])
    assert 358 * size / width > 10.5  # a phone of 390 pixels, with a margin of 16 on both sides
    names = re.findall(r'class="name[^"]*" x="(\d+)" y="([\d.]+)">([^<]+)<', drawn)
    assert len(names) == 8
    assert all(float(x) + 0.5 * size * len(name) < width for x, _, name in names)  # of a wide font
    heights = [float(y) for _, y, _ in names]
    assert min(np.diff(heights)) > 1.1 * size


def test_the_picture_shows_the_numbers_of_the_page(harness):
    picture = harness("picture")
    page = picture.PAGE.read_text(encoding="utf-8")
    assert picture.PICTURE.read_text(encoding="utf-8") == picture.draw(page)
    epsilons, private, plain = picture.read(page)
    assert epsilons == [0.1, 0.5, 1.0, 3.0]
    line = next(line for line in page.splitlines() if line.startswith("| DP-EBM") and "±" in line)
    assert all(f"{level:.2f} ±" in line for level in private["DP-EBM", "add-remove"])
    assert f"{plain['scikit-learn linear']:.2f} ±" in page
    moved = page.replace("| DP-EBM ", "| DP-EBX ")
    with pytest.raises(ValueError, match="lacks a row"):
        picture.read(moved)
