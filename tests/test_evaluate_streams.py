"""Scores of tables that are read a batch at a time: the same bits as in memory, and what is refused."""

from __future__ import annotations

import itertools
import math
import pickle
from fractions import Fraction

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression as PlainLogistic

import tacit
from tacit.evaluation import in_batches
from tacit.evaluation.in_batches import Judging
from tacit.evaluation.tally import ExactSum
from tacit.linear.streamed import Here
from tacit.streams import columnar

pyarrow = pytest.importorskip("pyarrow", reason="Parquet files: pip install '.[parquet]'")
from pyarrow import parquet  # noqa: E402

CUTS = (0, 200, 201, 201, 402)
CLASSES = {2: ["no", "yes"], 3: ["high", "low", "middle"]}
METRICS = {
    2: ["accuracy", "recall", "precision", "auc", "log_loss", "calibration", "confusion", "balanced_accuracy"],
    3: ["accuracy", "balanced_accuracy", "log_loss", "confusion"],
}


def make_columns():
    rng = np.random.default_rng(0)
    rows = CUTS[-1]
    a, b = rng.uniform(-0.5, 0.5, (2, rows)).round(2)  # ties among scores
    return {
        "a": a, "b": b, "person": np.repeat(np.arange(rows // 3), 3), "y2": np.where(a + b > 0.1, "yes", "no"),
        "y3": np.where(a > 0.2, "high", np.where(a < -0.2, "low", "middle")), "number": a + 0.3 * b,
    }  # fmt: skip


@pytest.fixture(scope="module")
def columns():
    return make_columns()


@pytest.fixture(scope="module")
def rows(columns):
    return np.column_stack([columns["a"], columns["b"]])


@pytest.fixture
def files(tmp_path, columns, monkeypatch):
    monkeypatch.setattr(columnar, "BATCH", 64)
    table = pyarrow.table(columns)
    for place, (start, stop) in enumerate(itertools.pairwise(CUTS)):
        parquet.write_table(table.slice(start, stop - start), tmp_path / f"{place}.parquet")
    return str(tmp_path / "*.parquet")


def named(model):
    model.feature_names_in_ = np.array(["a", "b"], dtype=object)
    return model


def plain(found):
    return found.to_dict()


@pytest.mark.parametrize("settings", [{}, {"groups": "person", "rows_per_person": 2}, {"adjacency": "add-remove"}])
@pytest.mark.parametrize("classes", [2, 3])
def test_labels_have_the_scores_of_rows_in_memory(files, columns, rows, settings, classes):
    y = columns[f"y{classes}"]
    model = tacit.LogisticRegression(5.0, classes=CLASSES[classes], random_state=1).fit(rows, y)
    given = {"epsilon": 1.0, "delta": 1e-5, "metrics": METRICS[classes], "random_state": 3, **settings}
    there = given | ({"groups": columns["person"]} if "groups" in given else {})
    meant = [None, "no"] if classes == 2 else [None]
    whole = [plain(tacit.evaluate(model, rows, y, positive=label, **there)) for label in meant]
    table = tacit.scan(files)
    streamed = [tacit.evaluate(named(model), table, f"y{classes}", positive=label, **given) for label in meant]
    assert list(map(plain, streamed)) == whole
    assert len(set(map(str, whole))) == len(meant)


def test_numbers_have_the_scores_of_rows_in_memory(files, columns, rows):
    model = tacit.LinearRegression(5.0, target_bound=(-1, 1), random_state=1).fit(rows, columns["number"])
    whole = tacit.evaluate(model, rows, columns["number"], epsilon=1.0, random_state=3)
    assert plain(tacit.evaluate(named(model), files, "number", epsilon=1.0, random_state=3)) == plain(whole)


def test_additive_models_bring_their_schema(files, columns):
    schema = {
        "columns": {"a": {"lower": -0.5, "upper": 0.5}, "b": {"lower": -0.5, "upper": 0.5}},
        "target": {"name": "y2", "classes": ["no", "yes"]},
    }
    table = {name: columns[name] for name in ("a", "b", "y2")}
    model = tacit.AdditiveClassifier(5.0, schema=schema, random_state=1, slots=4).fit(table)
    whole = tacit.evaluate(model, table, columns["y2"], epsilon=1.0, random_state=3)
    found = tacit.evaluate(model, tacit.scan(files, model.schema_), epsilon=1.0, random_state=3)  # the schema's target
    assert plain(found) == plain(whole)


def test_other_models_are_asked_about_one_row_at_a_time(files, columns, rows):
    sizes = []

    class Counting(PlainLogistic):
        def predict(self, X):
            sizes.append(len(X))
            return super().predict(X)

    model = named(Counting().fit(rows, columns["y2"]))
    tacit.evaluate(model, files, "y2", epsilon=1.0, metrics="accuracy")
    assert sizes == [1] * CUTS[-1]
    assert list(model.feature_names_in_) == ["a", "b"]


def test_a_piece_s_task_can_be_sent_and_done_twice(files, rows, columns, monkeypatch):
    model = named(tacit.LogisticRegression(5.0, classes=["no", "yes"], random_state=1).fit(rows, columns["y2"]))
    once = tacit.evaluate(model, tacit.scan(files), "y2", epsilon=1.0, random_state=3)

    class Twice(Here):
        def run(self, task, pieces, taken):
            sent = pickle.loads(pickle.dumps(task))
            assert isinstance(sent, Judging)
            found = [(place, sent(piece, None)) for place, piece in enumerate(pieces)]
            return iter([*found[::-1], *found])

    again = tacit.evaluate(model, tacit.scan(files, engine=Twice()), "y2", epsilon=1.0, random_state=3)
    assert plain(again) == plain(once)

    class Lost(Here):
        def run(self, task, pieces, taken):
            return iter([(0, task(pieces[0], None))])

    with pytest.raises(ValueError, match="was not added up"):
        tacit.evaluate(model, tacit.scan(files, engine=Lost()), "y2", epsilon=1.0)


def test_what_is_refused_before_anything_is_spent(files, rows, columns, monkeypatch, tmp_path):
    unnamed = tacit.LogisticRegression(5.0, classes=["no", "yes"], random_state=1).fit(rows, columns["y2"])
    with pytest.raises(ValueError, match="does not store column names"):
        tacit.evaluate(unnamed, files, "y2", epsilon=1.0)
    model = named(unnamed)
    ledger = tacit.Ledger(str(tmp_path / "study.sqlite"), epsilon=2, delta=1e-6)
    for words, settings in (
        ("no column 'y9'", {"y": "y9"}),
        ("to name a column", {"y": columns["y2"]}),
        ("to name a column", {"groups": columns["person"], "rows_per_person": 2}),
        ("Declare rows_per_person", {"groups": "person"}),
        ("rows_per_person is about people", {"rows_per_person": 2}),
        (r"[01]\.parquet: Target 'y3' has a label outside classes", {"y": "y3"}),
        ("Sort the table by the column 'y3'", {"groups": "y3", "rows_per_person": 2}),
    ):
        with pytest.raises(ValueError, match=words):
            tacit.evaluate(model, files, **{"y": "y2", "epsilon": 1.0, "ledger": ledger, **settings})
    monkeypatch.setattr(in_batches, "MOST_RANKED", CUTS[-1] - 1)
    with pytest.raises(ValueError, match="needs all scores in memory: of 401 rows at most"):
        tacit.evaluate(model, files, "y2", epsilon=1.0, ledger=ledger)
    assert not ledger.entries
    tacit.evaluate(model, files, "y2", epsilon=1.0, ledger=ledger, metrics="accuracy")
    assert len(ledger.entries) == 1


def test_exact_sums_are_those_of_fsum_however_they_are_parted():
    rng = np.random.default_rng(1)
    for scale in (0, 40, 300):
        terms = rng.normal(size=5000) * 2.0 ** rng.integers(-scale, scale + 1, size=5000)
        terms[::7] = 0.0
        terms[1::9] = -terms[:-1:9][: len(terms[1::9])]
        cuts = [0, 1, 1, 800, 4999, 5000]
        parts = [ExactSum.of(terms[a:b]) for a, b in itertools.pairwise(cuts)]
        total = parts[3].plus(parts[0]).plus(parts[4]).plus(parts[1]).plus(parts[2])
        assert total.value() == ExactSum.of(terms).value() == math.fsum(terms)
        assert Fraction(total.value()) == Fraction(float(sum(map(Fraction, terms.tolist()))))
    tiny = np.array([5e-324, 2.0**-1060, -5e-324, 1.0, 2.0**-53, 2.0**-1074])
    assert ExactSum.of(tiny).value() == math.fsum(tiny)
    assert ExactSum().value() == ExactSum.of(np.zeros(0)).value() == 0.0
    assert ExactSum.of(np.full(3, 2.0**80)).value() == 3 * 2.0**80
