"""What a model says about a row, in an evaluation, hangs on no other row: not by its values, number or order."""

import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression as Plain
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit
from tacit import AdditiveClassifier, LinearRegression, LinearSVC, LogisticRegression, PoissonRegressor
from tacit.evaluation.answers_alone import Answers
from tacit.evaluation.asked import Kind, layout_of
from tacit.evaluation.judged import judged_labels, taken
from tacit.evaluation.summary import sensitivity
from tacit.features.scattering import Scattering
from tacit.schema.encoder import SchemaEncoder
from tacit.statistics.scaler import PrivateScaler

MOVING = {
    "add-remove": {"adjacency": "add-remove", "delta": 1e-6},
    "people": {"groups": np.arange(30) // 2, "rows_per_person": 2},
}


class Sociable:
    """Says more about the company than about the row."""

    classes_ = np.array([0, 1])

    def __init__(self):
        self.calls = []

    def predict(self, X):
        self.calls.append(len(X))
        return np.full(len(X), int(np.sum(X) > 0))

    def predict_proba(self, X):
        self.calls.append(len(X))
        chance = np.full(len(X), 1 / (1 + len(X)))
        return np.column_stack([1 - chance, chance])


@pytest.mark.parametrize("settings", MOVING.values(), ids=MOVING)
def test_where_rows_may_move_the_model_sees_one_at_a_time(settings, rng):
    X = rng.normal(size=(30, 2))
    y = (X.sum(axis=1) > 0).astype(int)
    model = Sociable()
    found = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=["accuracy", "log_loss"], random_state=0, **settings)
    assert found.scores["accuracy"].value == 1  # of each row alone it knows the class
    assert found.scores["log_loss"].value == pytest.approx(math.log(2))
    assert model.calls == [1] * 60


def test_where_rows_stay_the_model_sees_all_at_once(rng):
    model = Sociable()
    tacit.evaluate(model, rng.normal(size=(30, 2)), np.zeros(30, int), epsilon=1.0, metrics="accuracy")
    assert model.calls == [30]
    tacit.evaluate(model, rng.normal(size=(30, 2)).tolist(), np.zeros(30, int), epsilon=1.0, metrics="accuracy")
    assert model.calls == [30] + [1] * 30  # one cell of a list may change the type of all


def test_rows_of_a_person_beyond_those_that_count_are_not_asked_about(rng):
    model = Sociable()
    tacit.evaluate(
        model, rng.normal(size=(30, 2)), np.zeros(30, int), epsilon=1.0, metrics="accuracy",
        groups=np.arange(30) // 6, rows_per_person=2,
    )  # fmt: skip
    assert model.calls == [1] * 10


@pytest.mark.parametrize("adjacency", ["add-remove", "replace-one"])
def test_one_person_more_flips_nobody_at_a_threshold(adjacency, rng):
    """All rows are one, and its score is within a last digit of 0: by a matrix product some of 403 lie on each side."""
    model = LogisticRegression(epsilon=1.0, classes=[0, 1], random_state=0)
    model.fit(rng.normal(size=(50, 60)), rng.integers(0, 2, 50))
    plain = Plain()
    plain.classes_, plain.coef_, plain.n_features_in_ = np.array([0, 1]), model.coef_, 60
    layout = layout_of(("accuracy",), Kind(2, ranked=True), adjacency)
    several = 0
    for _ in range(6):
        row = rng.normal(size=60)
        X = np.tile(0.5 * row / np.linalg.norm(row), (405, 1))
        levels = np.unique(X @ model.coef_[0])
        several += len(levels) > 1
        for asked in (model, plain):
            for level in levels:
                asked.intercept_ = np.array([-level])
                says = asked.predict(X[:402])
                labels = {402: says, 403: np.append(says[:1], says)}

                def sums(n, asked=asked, labels=labels, X=X):
                    people = None if adjacency == "add-remove" else np.maximum(np.arange(n) - (n - 402), 0)
                    given = taken(people, n, None if people is None else 2, adjacency)
                    return judged_labels(asked, X[:n], labels[n], {"accuracy"}, given)(layout)

                assert np.linalg.norm(sums(403) - sums(402)) <= sensitivity(layout).under(adjacency)
    if not several:
        pytest.skip("products add up in one order here")


TABLES = {
    "array": np.asarray,
    "rows of numbers": lambda X: X.tolist(),
    "pandas": lambda X: pd.DataFrame(X, columns=["a", "b"]),
    "polars": lambda X: pl.DataFrame({"a": X[:, 0], "b": X[:, 1]}),
    "pyarrow": lambda X: pa.table({"a": X[:, 0], "b": X[:, 1]}),
    "columns": lambda X: {"a": X[:, 0].tolist(), "b": pa.array(X[:, 1])},
    "csr": sparse.csr_array,
    "coo": sparse.coo_matrix,
}


@pytest.mark.parametrize("form", TABLES)
def test_every_kind_of_table_is_cut_into_rows(form, rng):
    X = rng.normal(size=(7, 2))
    table = TABLES[form](X)

    class First:
        def predict(self, row):
            assert type(row) is type(table) or sparse.issparse(row)
            if isinstance(row, dict):
                return np.asarray(row["a"])
            return (row.toarray() if sparse.issparse(row) else np.asarray(row))[:, 0]

    said = Answers(First(), table, 7, np.array([5, 0, 3]), fixed=False).of("predict", (), np.float64)
    np.testing.assert_array_equal(said, X[[5, 0, 3], 0])
    with pytest.raises(ValueError, match="the same number of rows"):
        Answers(First(), table, 6, slice(None), fixed=False).of("predict")


def fitted(rng):
    X = rng.normal(size=(500, 61)) / 8
    y, counts = rng.integers(0, 3, 500), rng.integers(0, 5, 500)
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1]})
    schema = {"columns": {"a": {"lower": -1, "upper": 1}, "b": {"lower": -1, "upper": 1}}}
    private = {"epsilon": 1.0, "random_state": 0}
    return {
        "two": (LogisticRegression(**private).fit(X, y > 0), X),
        "three": (LogisticRegression(**private).fit(X, y), X),
        "one against the rest": (LogisticRegression(multiclass="one-vs-rest", **private).fit(X, y), X),
        "margins": (LinearSVC(**private).fit(X, y), X),
        "numbers": (LinearRegression(target_bound=(0, 5), **private).fit(X, counts), X),
        "counts": (PoissonRegressor(target_bound=5, **private).fit(X, counts), X),
        "curves": (AdditiveClassifier(schema=schema, **private).fit(frame, y > 0), frame),
        "sparse": (LogisticRegression(**private).fit(sparse.csr_array(X), y), sparse.csr_array(X)),
    }


def test_linear_models_predict_each_row_by_itself_to_the_last_bit(rng):
    for name, (model, X) in fitted(rng).items():
        for method in ("predict", "decision_function", "predict_proba"):
            if not hasattr(model, method):
                continue
            whole = getattr(model, method)(X)
            for start, stop in ((0, 1), (3, 4), (499, 500), (1, 404), (7, 500)):
                part = X.iloc[start:stop] if hasattr(X, "iloc") else X[start:stop]
                assert np.array_equal(getattr(model, method)(part), whole[start:stop]), (name, method)


def pipelines(rng):
    """Pipelines of Tacit's own steps, and the table of each: numbers as numbers and text, gaps, and unknown values."""
    n = 300
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({"a": rng.normal(size=n), "b": rng.choice(["1", "2,5", "x", "", " 7e-3"], n), "y": y})
    frame["c"] = rng.choice(["clerk", "miner", "none"], n)
    frame.loc[::7, "a"] = np.nan
    ends = {"lower": -1, "upper": 2, "missing": True}
    schema = tacit.Schema.of({"columns": {"a": ends, "b": ends, "c": {"values": ["clerk", "miner"]}}})
    images, numbers = rng.integers(0, 256, (n, 8, 8)).astype(np.uint8), rng.normal(size=(n, 37))
    encoder, model = SchemaEncoder(schema), LogisticRegression(1.0, random_state=0)
    scaler = PrivateScaler(1.0, bounds=(-3, 3), random_state=0)
    made = {
        "encoded": ([encoder], frame, frame),
        "columns": ([encoder], frame, {name: frame[name].tolist() for name in "abc"}),
        "scaled": ([scaler], numbers, numbers),
        "single": (["passthrough", scaler], numbers, np.float32(numbers)),
        "both": ([encoder, scaler], frame, frame),
        "images": ([Scattering(J=1, L=2, groups=3)], images, images),
    }
    return {name: (clone(make_pipeline(*steps, model)).fit(X, y), table) for name, (steps, X, table) in made.items()}


def part_of(table, rows):
    if isinstance(table, dict):
        return {name: cells[rows] for name, cells in table.items()}
    return table.iloc[rows] if hasattr(table, "iloc") else table[rows]


def test_pipelines_of_own_steps_predict_each_row_by_itself_to_the_last_bit_and_are_asked_at_once(rng, monkeypatch):
    found, asked = pipelines(rng), []
    for name, (model, table) in found.items():
        for method in ("predict", "decision_function", "predict_proba"):
            if not hasattr(model, method):
                continue
            whole = getattr(model, method)(table)
            for rows in (*(slice(k, k + 1) for k in (0, 1, 7, 150, 299)), slice(1, None), slice(3, 200)):
                assert np.array_equal(getattr(model, method)(part_of(table, rows)), whole[rows]), (name, method)
    monkeypatch.setattr(Pipeline, "predict", lambda self, X: asked.append(self) or np.zeros(300))
    for model, table in found.values():
        Answers(model, table, 300, slice(None), fixed=False).of("predict")
    assert asked == [model for model, _ in found.values()]


@pytest.mark.filterwarnings("ignore")
def test_pipelines_with_anything_else_are_asked_row_by_row(rng, monkeypatch):
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)

    class Own(PrivateScaler):
        """May do something else."""

    class Line(Pipeline):
        """May do something else, too."""

    model, scaler = LogisticRegression(1.0, random_state=0), PrivateScaler(1.0, bounds=(-3, 3), random_state=0)
    others = {
        "a stranger's step": make_pipeline(StandardScaler(), model),
        "a derived step": make_pipeline(Own(1.0, bounds=(-3, 3), random_state=0), model),
        "a derived pipeline": Line([("scaler", scaler), ("model", model)]),
        "a stranger's model": make_pipeline(scaler, Plain()),
        "a list": make_pipeline(scaler, model),
    }
    for name, other in others.items():
        other.fit(X, y)
        with monkeypatch.context() as patched:
            patched.setattr(Pipeline, "predict", lambda self, X: np.full(len(X), len(X)))
            said = Answers(other, X.tolist() if name == "a list" else X, 40, slice(None), fixed=False).of("predict")
        assert said.tolist() == [1] * 40, name


def test_a_class_derived_from_ours_is_asked_row_by_row(rng):
    X = rng.normal(size=(40, 3))
    y = (X[:, 0] > 0).astype(int)
    calls = []

    class Own(LogisticRegression):
        def predict(self, X):
            calls.append(len(X))
            return super().predict(X)

    model = Own(epsilon=1.0, random_state=0).fit(X, y)
    tacit.evaluate(model, X, y, epsilon=1.0, delta=1e-6, metrics="accuracy", adjacency="add-remove")
    assert calls == [1] * 40


def test_who_waits_is_told_how_far_it_is(rng, monkeypatch, capsys):
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr("tacit.evaluation.answers_alone.time.monotonic", lambda: next(clock))
    X = rng.normal(size=(20, 2))
    tacit.evaluate(
        Sociable(), X, np.zeros(20, int), epsilon=1.0, delta=1e-6, metrics="accuracy", adjacency="add-remove"
    )
    said = capsys.readouterr().err
    assert said.startswith("Evaluating the model row by row (predict): ")
    assert said.count("%") > 1
