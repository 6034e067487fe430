"""Predictions of tables that are read a batch at a time: what is written, and what is refused."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import tacit
from tacit.files.sinks import table_sink
from tacit.streams import columnar

pyarrow = pytest.importorskip("pyarrow", reason="Parquet files: pip install '.[parquet]'")
from pyarrow import parquet  # noqa: E402

SCHEMA = tacit.Schema.from_dict({
    "columns": {"a": {"lower": 0, "upper": 1}, "kind": {"values": ["x", "y"]}},
    "target": {"name": "n", "classes": [0, 1]},
})  # fmt: skip


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(columnar, "BATCH", 64)
    rng = np.random.default_rng(0)
    a = rng.uniform(size=300)
    found = pyarrow.table({
        "id": np.arange(300), "a": a, "kind": pyarrow.array(rng.choice(["x", "y", "z"], 300)).dictionary_encode(),
        "n": (a > 0.5).astype(int),
    })  # fmt: skip
    parquet.write_table(found.slice(0, 130), "1.parquet")
    parquet.write_table(found.slice(130), "2.parquet")
    return found


@pytest.fixture
def model(table):
    return tacit.LogisticRegression(5.0, classes=[0, 1], random_state=1).fit(SCHEMA.encode(table), table["n"])


def test_predictions_are_those_of_rows_in_memory(table, model):
    rows = SCHEMA.encode(table)
    assert tacit.predict_to(model, tacit.scan("*.parquet", SCHEMA), "said.parquet", proba=True, keep=["id"]) == 300
    said = parquet.read_table("said.parquet")
    assert said.column_names == ["id", "prediction", "probability of 0", "probability of 1"]
    assert said["id"].to_pylist() == list(range(300))
    assert said["prediction"].to_numpy().tobytes() == model.predict(rows).tobytes()
    chances = np.column_stack([said["probability of 0"], said["probability of 1"]])
    assert chances.tobytes() == model.predict_proba(rows).tobytes()


def test_columns_are_matched_by_name_and_files_need_no_scan(table):
    rows = np.column_stack([table["id"], table["a"]]) / 300
    model = tacit.LinearRegression(5.0, target_bound=(0, 1), random_state=1).fit(rows, table["n"])
    model.feature_names_in_ = np.array(["id", "a"], dtype=object)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tacit.predict_to(model, table.select(["a", "kind", "id"]), "said.csv")
        tacit.predict_to(model, ["1.parquet", "2.parquet"], "again.csv", keep=("kind",))
    plain = np.column_stack([table["id"], table["a"]]).astype(float)
    del model.feature_names_in_
    expected = [str(value) for value in model.predict(plain).tolist()]
    with open("said.csv") as first, open("again.csv") as second:
        assert first.read().split() == ["prediction", *expected]
        assert [line.split(",")[1] for line in second.read().split()] == ["prediction", *expected]


def test_a_batch_of_unknown_categories_is_no_news_for_the_curator(table, model):
    odd = table.slice(0, 100).set_column(2, "kind", pyarrow.array(["z"] * 100))
    parquet.write_table(odd, "odd.parquet")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tacit.predict_to(model, tacit.scan("odd.parquet", SCHEMA), "said.csv")


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"source": "*.parquet"}, "does not store column names"),
        ({"keep": ["nobody"]}, r"lacks the columns \['nobody'\] that are to be kept"),
        ({"keep": "id"}, "a list of names"),
        ({"path": "said.csv.xz"}, r"written as \.csv, \.csv\.gz or \.parquet"),
        ({"model": object()}, "a method predict"),
        ({"model": tacit.LinearSVC(), "proba": True}, "has no probabilities"),
    ],
)
def test_what_is_refused(table, model, tmp_path, settings, words):
    given = {"model": model, "source": tacit.scan("*.parquet", SCHEMA), "path": "said.csv", **settings}
    with pytest.raises(ValueError, match=words):
        tacit.predict_to(**given)
    assert {path.name for path in tmp_path.iterdir()} == {"1.parquet", "2.parquet"}


def test_a_column_that_is_missing_or_there_already(table, model):
    parquet.write_table(table.rename_columns(["id", "b", "kind", "prediction"]), "other.parquet")
    with pytest.raises(ValueError, match=r"lacks the columns \['a'\] that the model was trained on"):
        tacit.predict_to(model, tacit.scan("other.parquet", SCHEMA), "said.csv")
    with pytest.raises(ValueError, match="A column 'prediction' is written already"):
        tacit.predict_to(model, tacit.scan("other.parquet", SCHEMA), "said.csv", keep=["prediction"])


def test_a_table_whose_cells_change_their_type_is_not_written_as_parquet(tmp_path):
    path = tmp_path / "t.parquet"
    with pytest.raises(ValueError, match="changes its type"), table_sink(path) as sink:  # noqa: PT012
        sink.write({"a": [1, 2]})
        sink.write({"a": ["text"]})
    assert not list(tmp_path.iterdir())
    with table_sink(path) as sink:
        sink.write({"a": np.array([1.5, 2.5]), "b": np.array(["x", "yy"])})
        sink.write({"a": [None, 3.5], "b": ["z", None]})
    assert parquet.read_table(path).to_pydict() == {"a": [1.5, 2.5, None, 3.5], "b": ["x", "yy", "z", None]}
