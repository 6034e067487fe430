"""Notes for the curator are never errors, and columns of numbers that are text are noted wherever tables come from."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit
from tacit import AdditiveClassifier, CuratorNote, Ledger, LogisticRegression, MisuseWarning, Schema
from tacit.cli.main import main
from tacit.data.curator import LEAD, note
from tacit.schema import SchemaEncoder
from tacit.statistics import describe


def model(**settings):
    return LogisticRegression(epsilon=1.0, delta=1e-4, classes=[0, 1], method="output", **settings)


def table(rows):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


def heard(run):
    """The notes of a run."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        run()
    return [str(entry.message) for entry in given if entry.category is CuratorNote]


# --- who makes errors of warnings ------------------------------------------------------------------------------------
def test_a_note_is_never_an_error(tmp_path, capsys):
    X, y = table(12)
    for labels in (np.zeros(12, dtype=int), y):
        book = Ledger(tmp_path / f"{labels.sum()}.sqlite", epsilon=4, delta=1e-3)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            fitted = model(ledger=book).fit(X, labels)
        assert len(book.entries) == 1
        assert fitted.predict(X).shape == (12,)
    assert "CuratorNote: For the curator, not for release: the table has 12 records" in capsys.readouterr().err


def test_a_misuse_is_an_error_before_the_charge(tmp_path):
    book = Ledger(tmp_path / "book.sqlite", epsilon=4, delta=1e-3)
    X, y = table(40)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(MisuseWarning):
            make_pipeline(StandardScaler(), model(ledger=book)).fit(X, y)
    assert len(book.entries) == 0


@pytest.mark.parametrize("labels", [["no"], ["no", "yes"]])
def test_errors_of_warnings_leave_a_command_as_it_is(tmp_path, labels, capsys):
    rows = "\n".join(f"{i % 50},{labels[i % len(labels)]}" for i in range(12))
    (tmp_path / "t.csv").write_text(f"a,b\n{rows}\n")
    words = ["fit", str(tmp_path / "t.csv"), "--target", "b", "--classes", "no,yes", "--epsilon", "1", "--out"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert main([*words, str(tmp_path / "model.json")]) == 0
    assert (tmp_path / "model.json").exists()


def test_a_note_without_a_reader_is_dropped(monkeypatch):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for stream in (None, Gone()):
            monkeypatch.setattr("sys.stderr", stream)
            note("words")
        warnings.simplefilter("always", CuratorNote)
        monkeypatch.setattr(warnings, "showwarning", lambda *_: Gone().write(""))
        note("words")


class Gone:
    """A stream whose reader has gone."""

    def write(self, text):
        raise BrokenPipeError


# --- numbers that are text --------------------------------------------------------------------------------------------
COMMAS = {"age": ["27,5"] * 30, "pay": [1.0] * 30, "ill": ["no", "yes"] * 15}
ENTRIES = {
    "target": {"name": "ill", "classes": ["no", "yes"]},
    "columns": {"age": {"lower": 0, "upper": 99}, "pay": {"lower": 0, "upper": 9}},
}
WAYS = {
    "encode": lambda t, s: s.encode(t),
    "encoder": lambda t, s: SchemaEncoder(s).fit(t).transform(t),
    "additive": lambda t, s: AdditiveClassifier(epsilon=1, delta=1e-4, schema=s).fit(t),
    "predict": lambda t, s: AdditiveClassifier(epsilon=1, delta=1e-4, schema=s).fit(GOOD).predict(t),
    "scan": lambda t, s: LogisticRegression(epsilon=1, delta=1e-4, classes=["no", "yes"]).fit(tacit.scan(t, s)),
    "additive scan": lambda t, s: AdditiveClassifier(epsilon=1, delta=1e-4, schema=s).fit(tacit.scan(t)),
    "describe": lambda t, s: describe(t, epsilon=1, delta=1e-4, schema=s),
    "describe scan": lambda t, s: describe(tacit.scan(t), epsilon=1, delta=1e-4, schema=s),
}
GOOD = {**COMMAS, "age": ["27.5"] * 30}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", [pd.DataFrame, pl.DataFrame])
def test_a_column_of_numbers_that_is_text_is_noted(way, made):
    schema = Schema.from_dict(ENTRIES)
    said = [words for words in heard(lambda: WAYS[way](made(COMMAS), schema)) if "is a number" in words]
    assert len(said) == 1
    assert said[0].startswith(f"{LEAD} no cell of column 'age', which the schema declares as numbers, is a number")
    assert "decimal comma" in said[0]
    assert "27" not in said[0]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "column", [["27,5"] * 29 + ["27.5"], [None] * 30, [""] * 30, ["n/a"] * 30, list(range(30))], ids=str
)
def test_columns_with_a_number_or_without_text_are_not_noted(way, column):
    schema = Schema.from_dict({**ENTRIES, "missing": ["n/a"]})
    table = pl.DataFrame({**COMMAS, "age": column}, strict=False)
    assert not [words for words in heard(lambda: WAYS[way](table, schema)) if "is a number" in words]


def test_text_among_few_rows_or_behind_many_is_judged_whole():
    schema = Schema.from_dict(ENTRIES)
    few = {name: cells[:19] for name, cells in COMMAS.items()}
    assert heard(lambda: schema.encode(few)) == []
    late = {"age": ["x"] * 3000 + ["1"], "pay": [1] * 3001}
    assert heard(lambda: schema.encode(late)) == []
