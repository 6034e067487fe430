"""A schema to fill in: valid TOML for any names, nothing of any cell, and refused until it is filled in."""

import json
import tomllib
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.pipeline import make_pipeline

from tacit import LogisticRegression, load, save
from tacit.data.spelling import meant, near
from tacit.schema import Bins, Category, Number, Pair, Schema, SchemaEncoder, Target
from tacit.schema.comparison import compared, declared_rows, sentences
from tacit.schema.inspection import Inspection
from tacit.schema.skeleton import skeleton
from tacit.schema.toml_text import toml_of

ODD = ["age", "capital.gain", "", 'a"b', "a\nb", "größe", "a b", "#", "[x]", "'", "\\", "\x7f", "=", "columns"]
names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)


@settings(deadline=None)
@given(st.lists(names, unique=True, min_size=1, max_size=5), st.data())
def test_any_names_make_valid_toml_in_order(columns, data):
    kinds = {name: data.draw(st.sampled_from(["number", "category", "truth", "neither"])) for name in columns[1:]}
    entries = tomllib.loads(skeleton(columns, kinds, columns[0], columns[-1]))
    assert entries["target"]["name"] == columns[0]
    assert list(entries.get("columns", {})) == [name for name in columns[1:] if name and kinds[name] != "neither"]


def test_what_is_not_filled_in_is_refused_by_name():
    text = Schema.skeleton(ODD, numbers=["age", "capital.gain"], categories=["größe"], target="a b")
    with pytest.raises(ValueError, match=r"leaves open what is known about 'age', 'capital\.gain', ") as caught:
        Schema.from_dict(tomllib.loads(text))
    assert all(repr(name) in str(caught.value) for name in ODD if name)
    assert "the target 'a b'" in str(caught.value)


def test_a_skeleton_that_is_filled_in_is_a_schema():
    text = Schema.skeleton(["age", "work", "ill"], numbers=["age"], categories=["work"], target="ill")
    filled = text.replace('lower = "?"', "lower = 18").replace('upper = "?"', "upper = 90")
    assert "about 'work', the target 'ill'." in _refused(filled)
    filled = filled.replace("values = []", 'values = ["public"]').replace("# classes =", "classes =")
    schema = Schema.from_dict(tomllib.loads(filled))
    assert schema == Schema((Number("age", 18, 90), Category("work", ("public",))), Target("ill", ("no", "yes")))


def _refused(text):
    with pytest.raises(ValueError, match="leaves open") as caught:
        Schema.from_dict(tomllib.loads(text))
    return str(caught.value)


def test_the_skeleton_of_a_table_shows_nothing_of_its_cells():
    tables = [library({"a": cells, "b": cells}) for cells in ([1, 2], ["x", None]) for library in (pd.DataFrame, dict)]
    tables += [pl.DataFrame({"a": [1], "b": [2]}), pa.table({"a": [1], "b": ["x"]})]
    assert len({Schema.skeleton(table, target="b") for table in tables}) == 1


def test_what_cannot_be_a_skeleton_gets_a_sentence():
    for given_names, more, sentence in (
        (["a", "a"], {}, r"every column once; \['a'\]"),
        ("people.csv", {}, "or a table. For a file: `tacit schema FILE`"),
        (None, {}, "names of columns, or a table"),
        ([1], {}, "names of all columns to be text"),
        (["age"], {"numbers": ["Age"]}, r"no columns \['Age'\]\. Did you mean 'age'\?"),
        (["age"], {"target": "x"}, r"no columns \['x'\]\.$"),
        (["a"], {"numbers": ["a"], "categories": ["a"]}, "either among the numbers or"),
    ):
        with pytest.raises(ValueError, match=sentence):
            Schema.skeleton(given_names, **more)


WHOLE = Schema(
    (Number("capital.gain", -1, 2.5, True), Category('q"', ("x", 3, True)), Bins("age", 0, 90, (18, 65))),
    Target("größe", None, 1, 2),
    ("?", "n/a"),
    "rows",
    (Pair(Bins("age", 0, 90, (50,)), Category("work", ("a",))),),
)


@pytest.mark.parametrize("suffix", ["toml", "json"])
def test_a_saved_schema_is_the_same(tmp_path, suffix):
    WHOLE.save(tmp_path / f"s.{suffix}", ["a remark"])
    assert Schema.load(str(tmp_path / f"s.{suffix}")) == WHOLE
    assert Schema.of(tmp_path / f"s.{suffix}") == Schema.of(WHOLE) == Schema.of(WHOLE.to_dict()) == WHOLE
    (tmp_path / "marked.toml").write_text("\ufeff" + toml_of(WHOLE.to_dict()), encoding="utf-8")  # as Windows saves it
    assert Schema.load(tmp_path / "marked.toml") == WHOLE
    with pytest.raises(ValueError, match=r"to end in \.toml or \.json"):
        WHOLE.save(tmp_path / "s.txt")


def test_names_with_dots_need_no_quotes():
    text = (
        "[columns.capital]\nlower=0\nupper=1\n[columns.capital.gain]\nvalues=[1]\n[columns.capital.a.lower]\nvalues=[1]"
    )
    assert Schema.from_dict(tomllib.loads(text)).names == ("capital", "capital.gain", "capital.a.lower")
    with pytest.raises(ValueError, match="only once"):
        Schema.from_dict(tomllib.loads(text + '\n[columns."capital.gain"]\nvalues=[2]'))
    with pytest.raises(ValueError, match="more than 16 dots in quotes"):
        Schema.from_dict(tomllib.loads(f"[columns.{'a.' * 5000}b]\nvalues=[2]"))
    with pytest.raises(ValueError, match="to be a list"):  # a list of names with entries is taken by its word
        Schema.from_dict({"columns": [["a", {"values": {"lower": 0}}]]})


def test_another_target_takes_what_the_schema_knows():
    schema = Schema(
        (Number("age", 18, 90), Category("work", ("a", "b"))), Target("ill", (0, 1)),
        pairs=(Pair(Category("work", ("a",)), Number("pay", 0, 9)),),
    )  # fmt: skip
    other = schema.with_target("age")
    assert (other.target, other.names) == (Target("age", None, 18, 90), ("work", "pay"))
    other = schema.with_target("work", keep=True)
    assert (other.target, other.names) == (Target("work", ("a", "b")), ("age", "ill"))
    assert other.columns[-1] == Category("ill", (0, 1))
    assert other.with_target("age", keep=True).columns == (Category("ill", (0, 1)), Category("work", ("a", "b")))
    assert schema.with_target("ill") is schema
    assert schema.with_target(Target("pay", None, 0, 9)).pairs == ()
    assert replace(schema, target=Target("x", None, 0, 2)).with_target("age", keep=True).columns[-1] == Number(
        "x", 0, 2
    )
    with pytest.raises(ValueError, match=r"nothing about 'Age'.* Did you mean 'age'"):
        schema.with_target("Age")


def test_a_pipeline_with_a_schema_from_a_file_is_saved_with_the_schema(tmp_path):
    Schema((Number("age", 0, 10),)).save(tmp_path / "s.toml")
    table = {"age": np.linspace(0, 10, 40)}
    encoder = SchemaEncoder(str(tmp_path / "s.toml"))
    model = LogisticRegression(1.0, classes=[0, 1], method="output", random_state=0)
    pipeline = make_pipeline(encoder, model).fit(table, np.arange(40) % 2)
    save(pipeline, tmp_path / "m.json")
    (tmp_path / "s.toml").unlink()
    assert load(tmp_path / "m.json").model.predict(table).tolist() == pipeline.predict(table).tolist()


def test_the_encoder_takes_files_and_entries_and_keeps_what_it_was_fitted_with(tmp_path):
    schema = Schema((Number("age", 0, 10),))
    schema.save(tmp_path / "s.toml")
    table = {"age": [5.0]}
    for form in (schema, schema.to_dict(), tmp_path / "s.toml", str(tmp_path / "s.toml")):
        assert SchemaEncoder(form).transform(table).tolist() == [[0.5]]
        assert SchemaEncoder(form).get_feature_names_out().tolist() == ["age"]
    fitted = SchemaEncoder(str(tmp_path / "s.toml")).fit(table)
    Schema((Number("age", 0, 5),)).save(tmp_path / "s.toml")
    assert fitted.transform(table).tolist() == [[0.5]]
    for wrong in (None, 3, [schema]):
        with pytest.raises(ValueError, match=r"^Expected a schema: a tacit\.Schema, a dict"):
            SchemaEncoder(wrong).fit(table)


@pytest.mark.parametrize(
    ("name", "known", "meant_one"),
    [
        ("Age", ["wage", "age"], "age"),
        ("capital.gain", ["capital-gain"], "capital-gain"),
        ("incme", ["age", "income"], "income"),
        ("age", ["age"], None),
        ("age", ["smoker", "sex"], None),
        ("", ["age", "?"], None),
        ("?", ["!"], None),
    ],
)
def test_near_misses(name, known, meant_one):
    assert near(name, known) == meant_one
    assert (f" Did you mean {meant_one!r}?" == meant([name], known)) == (meant_one is not None)


def test_a_schema_in_words():
    found = sentences(WHOLE)
    assert "3 columns and 1 pair; the target is 'größe', 1 to 2." in found[0]
    assert f"{WHOLE.width} numbers" in found[1]
    assert declared_rows(WHOLE) == [
        ["capital.gain", "number", "-1 to 2.5, or missing", "2 numbers"],
        ['q"', "category", "x, 3, True", "4 numbers"],
        ["age", "bins", "0 to 90", "3 numbers"],
    ]
    many = Schema((Category("a", tuple(range(1000))),))
    assert declared_rows(many)[0][2].endswith(" more")
    lacks, beside = compared(Schema((Number("age", 0, 1),), Target("y", (0, 1))), ["Age", "y", "z"])
    assert lacks == ["The table lacks 'age'. Did you mean 'Age'?"]
    assert beside == ["The schema says nothing about 'Age', 'z': left out of the model."]


def test_what_the_curator_is_told_is_counted_cell_by_cell():
    schema = Schema((Number("age", 18, 90), Category("sex", ("female", "male"))), Target("ill", (0, 1)), ("?",))
    table = {
        "age": ["17", "18", "95", "", "?", "n/a", "1,5", "inf"],
        "sex": ["Female", "male", None, "?", "x", "male"] + ["y"] * 2,
        "ill": [0, 1, 0, 1, 2, None, 0, 1],
    }  # fmt: skip
    whole, parts = Inspection.of(schema), Inspection.of(schema)
    whole.see(pd.DataFrame(table))
    for place in range(0, 8, 3):
        parts.see({name: cells[place : place + 3] for name, cells in table.items()})
    assert [one.row() for one in whole.seen] == [one.row() for one in parts.seen]
    assert [one.row() for one in whole.seen] == [
        ["ill", "8", "1", "", "", "", "1"],
        ["age", "8", "2", "2", "1", "2", ""],
        ["sex", "8", "2", "", "", "", "4"],
    ]
    said = " ".join(remark for one in whole.seen for remark in one.remarks())
    assert "'y' in 2, 'Female' in 1 (did you mean 'female'?)" in said
    assert "'n/a' in 1" in said


def test_columns_that_say_nothing_are_told_of():
    schema = Schema((Number("a", 0, 1), Number("b", 0, 1), Category("c", ("x", "y")), Category("d", ("x", "y"))))
    found = Inspection.of(schema)
    found.see({"a": [5.0, 9.0], "b": [0.0, np.nan], "c": ["x", "x"], "d": ["X", "Y"]})
    said = [one.remarks()[-1:] for one in found.seen]
    assert [("same in every row" in "".join(words), "no cell that" in "".join(words)) for words in said] == [
        (True, False), (False, False), (True, False), (False, True),
    ]  # fmt: skip


def test_json_schemas_may_nest_names_too():
    entries = json.loads('{"columns": {"capital": {"gain": {"lower": 0, "upper": 1}}}}')
    assert Schema.from_dict(entries).names == ("capital.gain",)
