"""Public bounds: row norms are bounded in floating point, and a record edits nothing but its own row."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from tacit.data.rows import row_norms, row_scales
from tacit.schema import Category, Number, Schema, SchemaEncoder, Target, encodings

TOML = """
missing = ["", "?", "-9"]
[target]
name = "income"
classes = ["<=50K", ">50K"]
[columns.age]
lower = 17
upper = 90
[columns.gain]
lower = -2.5
upper = 2.5
missing = true
[columns.work]
values = ["Private", "State-gov", 3]
"""
ENTRIES = {
    "missing": ["", "?", "-9"],
    "target": {"name": "income", "classes": ["<=50K", ">50K"]},
    "columns": {
        "age": {"lower": 17, "upper": 90},
        "gain": {"lower": -2.5, "upper": 2.5, "missing": True},
        "work": {"values": ["Private", "State-gov", 3]},
    },
}
SCHEMA = Schema.from_dict(ENTRIES)
SECRET = "s3cr3t"

garbage = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.just(10**400),
    st.just(-(10**5000)),
    st.floats(),
    st.text(max_size=6),
    st.binary(max_size=4),
    st.sampled_from(["Private", " State-gov ", "3", "3.0", 3, 3.0, "?", "-9", -9, "1e999", "nan", "17", b"3"]),
    st.sampled_from([pd.NA, pd.NaT, Decimal("NaN"), Decimal("1e999"), 1j, [1], (), {}, object(), np.float32(0.1)]),
    st.sampled_from([np.array([1.0]), np.timedelta64(1, "D"), np.bool_(True), np.longdouble("1e4000"), math.inf]),
)


def exact_square(row: np.ndarray) -> Fraction:
    return sum((Fraction(float(value)) ** 2 for value in row), Fraction(0))


ADVERSARIAL = np.array(
    [
        [0.0, 0.0, 0.0],
        [1e300, -1e300, 1e300],
        [1.7976931348623157e308, 1.7976931348623157e308, 1.7976931348623157e308],
        [5e-324, 5e-324, 0.0],
        [1e-200, 1e-200, 1e-200],
        [1e300, 1e-300, 1.0],
        [0.1, 0.2, 0.3],
        [1.0, 0.0, 0.0],
        [0.6, 0.8, 0.0],
        [1e140, 1e-140, 3.0],
        [1e141, 1e141, 1e141],
    ]
)


@pytest.mark.parametrize("clip", [1e-3, 0.1, 1.0, 7.0, 1e10])
@pytest.mark.parametrize("container", [np.asarray, np.asfortranarray, sparse.csr_array, sparse.csr_matrix])
def test_scaled_rows_never_exceed_the_clip_in_exact_arithmetic(clip, container):
    scales = row_scales(container(ADVERSARIAL), clip)
    assert np.all((scales > 0) & (scales <= 1))
    assert scales[0] == 1
    for scale, row in zip(scales, ADVERSARIAL, strict=True):
        assert exact_square(scale * row) <= Fraction(clip) ** 2
        if exact_square(row) > Fraction(clip) ** 2:
            assert float(exact_square(scale * row)) == pytest.approx(clip**2, rel=1e-13)
        if exact_square(row) < Fraction(clip) ** 2 * (1 - Fraction(1, 10**12)):
            assert scale == 1


@settings(deadline=None)
@given(
    st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=5, max_size=5), min_size=1, max_size=4
    ),
    st.sampled_from([0.1, 1.0, 3.0]),
)
def test_any_finite_row_is_within_the_clip(rows, clip):
    X = np.array(rows)
    for scale, row in zip(row_scales(X, clip), X, strict=True):
        assert exact_square(scale * row) <= Fraction(clip) ** 2


def test_rows_on_the_edge_are_within_the_clip_for_many_features():
    X = np.random.default_rng(1).normal(size=(200, 300))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    for scale, row in zip(row_scales(X, 1.0), X, strict=True):
        assert exact_square(scale * row) <= 1


def test_squares_lost_in_the_sum_are_paid_for():
    # A square of 1e-16 is below half an ulp of 1: whatever the order of the sum, some positions of the 1 lose many.
    rows = np.full((150, 150), 1e-8) + np.eye(150)
    for scale, row in zip(row_scales(rows, 1.0), rows, strict=True):
        assert exact_square(scale * row) <= 1


def test_denormal_scales_are_rounded_towards_zero():
    X = np.random.default_rng(5).uniform(0.5, 1.0, (100, 6)) * 1.79e308
    for scale, row in zip(row_scales(X, 1e-3), X, strict=True):
        assert exact_square(scale * row) <= Fraction(1e-3) ** 2


def test_row_norms_agree_across_blocks_types_and_sparse_storage():
    X = np.random.default_rng(2).normal(size=(9000, 40)) * (np.random.default_rng(3).random((9000, 40)) < 0.3)
    X[::7] = 0
    expected = np.sqrt((X**2).sum(axis=1))
    np.testing.assert_allclose(row_norms(X), expected, rtol=1e-14)
    np.testing.assert_allclose(row_norms(sparse.csr_array(X)), expected, rtol=1e-14)
    np.testing.assert_allclose(row_norms(X.astype(np.float32)), expected, rtol=1e-6)
    np.testing.assert_array_equal(row_norms(np.arange(6).reshape(3, 2))[0], 1.0)
    assert row_norms(np.full((1, 4), 1e308))[0] == np.inf
    assert row_norms(np.array([[3e300, 4e300], [3e-300, 4e-300]])) == pytest.approx([5e300, 5e-300], rel=1e-15)


@pytest.mark.parametrize("shape", [(0, 3), (3, 0), (0, 0)])
def test_empty_matrices_have_scales(shape):
    np.testing.assert_array_equal(row_scales(np.zeros(shape), 1.0), np.ones(shape[0]))
    np.testing.assert_array_equal(row_scales(sparse.csr_array(shape, dtype=np.float64), 1.0), np.ones(shape[0]))


def test_entries_stored_twice_add_up_and_the_matrix_is_left_alone():
    X = sparse.csr_array((np.array([3.0, 3.0, 8.0]), np.array([1, 1, 0]), np.array([0, 3, 3])), shape=(2, 2))
    np.testing.assert_array_equal(row_norms(X), [10.0, 0.0])
    np.testing.assert_array_equal(X.data, [3.0, 3.0, 8.0])
    np.testing.assert_array_equal(X.indices, [1, 1, 0])


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_numbers_that_are_not_finite_are_refused(bad, container):
    with pytest.raises(ValueError, match="Expected finite numbers in X"):
        row_scales(container(np.array([[1.0, 2.0], [bad, 1.0]])), 1.0)


def test_bad_arguments_of_row_scales_get_a_sentence():
    with pytest.raises(ValueError, match="clip=0 > 0"):
        row_scales(np.ones((1, 1)), 0)
    with pytest.raises(ValueError, match="two dimensions"):
        row_norms(np.ones(3))
    np.testing.assert_array_equal(row_norms(sparse.csc_array(np.eye(2))), np.ones(2))
    with pytest.raises(ValueError, match="Expected numbers in X"):
        row_norms(np.array([["a"]]))


def test_row_scales_take_memory_for_a_block_only():
    import tracemalloc

    X = np.ones((400_000, 20))
    tracemalloc.start()
    row_scales(X, 1.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 0.4 * X.nbytes


def test_encoding_by_hand():
    table = {
        "age": [17, 10**400, "53.5", None, -(10**400), math.inf, "?", "-9", " 90 "],
        "gain": [0, 9, -math.inf, math.nan, "2.5", "", "x", -9, "-9.0"],
        "work": ["Private", " State-gov", 3, "3.0", "3", "new", None, "?", 3.0],
    }
    # age: (v - 17) / 73, missing 0.5; gain: (v + 2.5) / 5 and its slot; work: three values and the rest.
    expected = np.array(
        [
            [0.0, 0.5, 0, 1, 0, 0, 0],
            [1.0, 1.0, 0, 0, 1, 0, 0],
            [0.5, 0.0, 0, 0, 0, 1, 0],
            [0.5, 0.0, 1, 0, 0, 1, 0],
            [0.0, 1.0, 0, 0, 0, 1, 0],
            [1.0, 0.0, 1, 0, 0, 0, 1],
            [0.5, 0.0, 1, 0, 0, 0, 1],
            [0.5, 0.0, 1, 0, 0, 0, 1],
            [1.0, 0.0, 1, 0, 0, 1, 0],
        ]
    )
    assert SCHEMA.features == (
        *("age", "gain", "gain=<missing>"),
        *("work=Private", "work=State-gov", "work=3", "work=<other>"),
    )
    np.testing.assert_array_equal(SCHEMA.encode(table, clip=SCHEMA.radius), expected)
    norms = np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(SCHEMA.encode(table), expected / np.maximum(1, norms), rtol=1e-14)
    np.testing.assert_allclose(SCHEMA.encode(table, 1.2), expected * np.minimum(1, 1.2 / norms), rtol=1e-14)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.tuples(garbage, garbage, garbage), min_size=1, max_size=5), st.data())
def test_any_garbage_is_bounded_and_edits_its_own_row_only(records, data):
    def table(rows):
        return dict(zip(["age", "gain", "work"], map(list, zip(*rows, strict=True)), strict=True))

    before = SCHEMA.encode(table(records))
    assert before.shape == (len(records), SCHEMA.width)
    assert all(exact_square(row) <= 1 for row in before)
    assert SCHEMA.encode(table(records), SCHEMA.radius).max() <= 1
    position = data.draw(st.integers(0, len(records) - 1))
    neighbour = [*records[:position], data.draw(st.tuples(garbage, garbage, garbage)), *records[position + 1 :]]
    after = SCHEMA.encode(table(neighbour))
    assert after.shape == before.shape
    np.testing.assert_array_equal(np.delete(after, position, axis=0), np.delete(before, position, axis=0))


@pytest.mark.parametrize("cell", [math.nan, math.inf, 1e308, None, "brand new", True, 0.5, 2**70])
@pytest.mark.parametrize("build", [dict, pd.DataFrame], ids=["dict", "pandas"])
def test_neighbours_of_a_typed_table_change_one_row(build, cell):
    values = {"age": [20, 30, 40], "gain": [1, 0, 1], "work": [3, 1, 3]}
    before = SCHEMA.encode(build(values))
    after = SCHEMA.encode(build({name: [cells[0], cell, cells[2]] for name, cells in values.items()}))
    np.testing.assert_array_equal(after[[0, 2]], before[[0, 2]])
    assert before[0, 5] > 0


def test_true_is_the_number_one_whatever_came_first():
    """Beside a number some libraries make True a 1: the two must be one value, or a record's row hangs on others."""
    for values in ((0, 1), (False, True), ("false", "true")):
        schema = Schema((Category("flag", values),))
        for cells in ([True, 1, "1", 0], [1, True, "True", False], np.array([True, True, True, False])):
            np.testing.assert_array_equal(schema.encode({"flag": cells}).argmax(axis=1), [1, 1, 1, 0])
        np.testing.assert_array_equal(schema.encode(pl.DataFrame({"flag": [1, True, 0]})).argmax(axis=1), [1, 1, 0])
    with pytest.raises(ValueError, match="distinct"):
        Category("flag", (1, "True"))


def test_every_kind_of_table_gives_the_same_rows():
    columns = {
        "age": [20, 35, None, 95],
        "gain": [0.5, None, -1.0, 2.0],
        "work": ["Private", None, "State-gov", "else"],
        "income": [">50K", "<=50K", ">50K", "<=50K"],
        "unused": [1, 2, 3, 4],
    }
    frame = pd.DataFrame(columns)
    tables = [
        columns,
        frame,
        frame.astype({"age": "Int64", "gain": "Float64", "work": "category", "income": "string"}),
        pl.DataFrame(columns),
        pl.DataFrame(columns).with_columns(pl.col("work").cast(pl.Categorical)),
        pa.table(columns),
        pa.table(columns).set_column(2, "work", pa.array(columns["work"]).dictionary_encode()),
        {name: np.array(cells, dtype=object) for name, cells in columns.items()},
        {name: ["" if cell is None else str(cell) for cell in cells] for name, cells in columns.items()},
        {name: np.array(["?" if cell is None else str(cell) for cell in cells]) for name, cells in columns.items()},
    ]
    expected = SCHEMA.encode(columns)
    assert expected[2, 0] > 0
    assert expected[1, 2] > 0
    for table in tables:
        np.testing.assert_array_equal(SCHEMA.encode(table), expected)
        np.testing.assert_array_equal(SCHEMA.encode_target(table), columns["income"])


def test_masked_cells_are_missing():
    schema = Schema((Number("a", 0, 10), Category("b", (7,))))
    table = {"a": np.ma.array([10.0, 10.0], mask=[False, True]), "b": np.ma.array([7, 7], mask=[False, True])}
    np.testing.assert_array_equal(schema.encode(table, schema.radius), [[1, 1, 0], [0.5, 0, 1]])


def test_blocks_do_not_change_the_encoding():
    generator = np.random.default_rng(4)
    table = {"age": generator.uniform(0, 100, 50_000), "gain": generator.normal(size=50_000)}
    table["work"] = generator.choice(["Private", "State-gov", "3", "other"], 50_000)
    rows = SCHEMA.encode(table)
    tail = SCHEMA.encode({name: cells[-5:] for name, cells in table.items()})
    np.testing.assert_array_equal(rows[-5:], tail)
    assert np.all(np.linalg.norm(rows, axis=1) <= 1)


def test_a_table_without_rows():
    assert SCHEMA.encode({"age": [], "gain": [], "work": []}).shape == (0, 7)


def test_toml_json_and_dict_are_one_schema(tmp_path):
    (tmp_path / "schema.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "schema.json").write_text(json.dumps(SCHEMA.to_dict()), encoding="utf-8")
    assert Schema.load(tmp_path / "schema.toml") == SCHEMA
    assert Schema.load(str(tmp_path / "schema.json")) == SCHEMA
    assert SCHEMA.to_dict() == {**ENTRIES, "columns": [list(e) for e in ENTRIES["columns"].items()], "layout": "auto"}
    assert Schema.from_dict(SCHEMA.to_dict()) == SCHEMA
    for broken in ([["age"]], ["age"], [[1, {}]], 3, [["age", {"lower": 0, "upper": 1}]] * 2):
        with pytest.raises(ValueError, match=r"columns of the schema|only once"):
            Schema.from_dict({**ENTRIES, "columns": broken})
    assert [column.name for column in SCHEMA.columns] == ["age", "gain", "work"]
    bounded = Schema((Number("a", 0, 1),), Target("y", lower=-1.0, upper=2.5))
    assert Schema.from_dict(bounded.to_dict()) == bounded


@dataclass(frozen=True)
class Steps:
    """An encoding that nobody has written yet: how many of the public steps a number has reached, in halves."""

    ENTRIES: ClassVar[tuple[str, ...]] = ("steps",)
    numeric: ClassVar[bool] = True
    values: ClassVar[tuple[str, ...]] = ()

    name: str
    steps: tuple[float, ...]

    @property
    def features(self):
        return (f"{self.name} steps",)

    def write(self, cells, out, missing, centred):
        out[:, 0] = np.searchsorted(self.steps, [float(cell) for cell in cells]) / len(self.steps)

    def to_dict(self):
        return {"steps": list(self.steps)}

    @classmethod
    def from_dict(cls, name, entries):
        return cls(name, tuple(entries["steps"]))


def test_a_further_encoding_is_one_class(monkeypatch):
    monkeypatch.setattr(encodings, "ENCODINGS", (Steps, *encodings.ENCODINGS))
    entries = {"x": {"steps": [1, 2]}, "y": {"lower": 0, "upper": 4}, "z": {"values": ["a"]}}
    schema = Schema.from_dict({"columns": entries})
    assert [type(column) for column in schema.columns] == [Steps, Number, Category]
    assert schema.features == ("x steps", "y", "z=a", "z=<other>")
    table = {"x": ["0", "1.5", "9"], "y": [1, 2, 3], "z": ["a", "b", "a"]}
    np.testing.assert_allclose(schema.encode(table, 2.0), [[0, 0.25, 1, 0], [0.5, 0.5, 0, 1], [1, 0.75, 1, 0]])
    assert Schema.from_dict(schema.to_dict()) == schema
    assert schema.check_readable(table) == ()
    with pytest.raises(ValueError, match=r"expected some of \[.*'missing', 'spacing', 'steps', 'upper', 'values'\]"):
        Schema.from_dict({"columns": {"x": {"stairs": [1]}}})


def test_a_target_reads_its_own_column():
    table = {"y": ["1", "?", "0"], "other": [1, 2, 3]}
    with pytest.raises(ValueError, match="label outside classes"):
        Target("y", (0, 1)).read(table)
    with pytest.raises(ValueError, match="missing label"):
        Target("y", (0, 1)).read(table, ["?"])
    np.testing.assert_array_equal(Target("y", (0, 1)).read({"y": ["1", 0, True]}), [1, 0, 1])
    np.testing.assert_array_equal(Target("y", lower=0, upper=2).read({"y": ["1", 7, -3.5]}), [1, 2, 0])
    with pytest.raises(ValueError, match="missing numbers"):
        Target("y", lower=0, upper=2).read({"y": [1, 99]}, ["99"])


def test_targets_are_declared_values():
    np.testing.assert_array_equal(SCHEMA.encode_target({"income": [" >50K", "<=50K"]}), [">50K", "<=50K"])
    numbers = Schema((Number("a", 0, 1),), Target("y", classes=(2, 4)))
    labels = numbers.encode_target({"y": ["4", 2.0, 2]})
    assert labels.tolist() == [4, 2, 2]
    assert labels.dtype.kind == "i"
    bounded = Schema((Number("a", 0, 1),), Target("y", lower=0, upper=10))
    np.testing.assert_array_equal(bounded.encode_target({"y": ["3", -math.inf, 99]}), [3.0, 0.0, 10.0])


@pytest.mark.parametrize(
    ("target", "cells"),
    [
        (Target("y", classes=("a", "b")), ["a", SECRET]),
        (Target("y", classes=("a", "b")), ["a", None]),
        (Target("y", lower=0, upper=1), [0.5, SECRET]),
        (Target("y", lower=0, upper=1), [0.5, math.nan]),
    ],
)
def test_a_bad_label_is_refused_and_not_quoted(target, cells):
    with pytest.raises(ValueError, match=r"Target 'y' has .* remove those rows") as error:
        Schema((Number("a", 0, 1),), target).encode_target({"y": cells})
    assert SECRET not in str(error.value)
    assert "None" not in str(error.value)


def test_tables_that_do_not_fit_get_a_sentence_without_cells():
    sentences = {
        r"lacks the columns \['gain', 'work'\]": {"age": [SECRET]},
        "same length": {"age": [SECRET], "gain": [1, 2], "work": ["a"]},
        "Column 'age' contains dates": {"age": np.array(["2020"], dtype="M8[Y]"), "gain": [SECRET], "work": ["a"]},
        "column 'age' once": {"age": np.ones((1, 2)), "gain": [SECRET], "work": ["a"]},
        "column 'work' to be a sequence": {"age": [1], "gain": [1], "work": SECRET},
        "named columns": [[SECRET, SECRET, SECRET]],
    }
    for sentence, table in sentences.items():
        with pytest.raises(ValueError, match=sentence) as error:
            SCHEMA.encode(table)
        assert SECRET not in str(error.value)
    twice = pd.DataFrame([[1, 2, 3, 4]], columns=["age", "age", "gain", "work"])
    with pytest.raises(ValueError, match="column 'age' once"):
        SCHEMA.encode(twice)
    with pytest.raises(ValueError, match="no target"):
        Schema((Number("a", 0, 1),)).encode_target({"a": [1]})
    with pytest.raises(ValueError, match="clip=-1"):
        SCHEMA.encode({"age": [1], "gain": [1], "work": ["a"]}, clip=-1)


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({}, "at least one column"),
        ({"columns": {"a": {"lower": 0, "upper": 1}}, "extra": 1}, "Unknown entries .'extra'."),
        ({"columns": {"a": {"lower": 0, "uper": 1}}}, "Unknown entries .'uper'. in column 'a'"),
        ({"columns": {"a": {"lower": 1}}}, "Column 'a' needs values, or lower and upper"),
        ({"columns": {"a": {"lower": 1, "upper": 1}}}, "lower bound of column 'a' must be below the upper"),
        ({"columns": {"a": {"lower": 0, "upper": math.inf}}}, "neither beyond"),
        ({"columns": {"a": {"lower": -1.7e308, "upper": 1.7e308}}}, "neither beyond"),
        ({"columns": {"a": {"lower": math.nan, "upper": 1}}}, "neither beyond"),
        ({"columns": {"a": {"lower": "0", "upper": 1}}}, "to be numbers"),
        ({"columns": {"a": {"lower": 0, "upper": 1, "missing": "?"}}}, "true or false"),
        ({"columns": {"a": {"values": ["x"], "lower": 0}}}, "remove every entry other than values"),
        ({"columns": {"a": {"values": "xy"}}}, "to be a list"),
        ({"columns": {"a": {"values": []}}}, "leaves open what is known about 'a'"),
        ({"columns": {"a": {"values": [1, "1.0"]}}}, "distinct"),
        ({"columns": {"a": {"values": ["x", ""]}}}, "none empty"),
        ({"columns": {"a": {"values": ["x", "?"]}}, "missing": ["?"]}, "as values and as missing"),
        ({"columns": {"a": 3}}, "column 'a' to be a table"),
        ({"columns": [1]}, "one entry per column"),
        ({"columns": {"a": {"values": ["x"]}}, "missing": "?"}, "missing to be a list"),
        ({"columns": {"a": {"values": ["x"]}}, "target": {"name": "a", "lower": 0, "upper": 1}}, "only once"),
        ({"columns": {"a": {"values": ["x"]}}, "target": {"classes": [0, 1]}}, "needs a name"),
        ({"columns": {"a": {"values": ["x"]}}, "target": {"name": "y"}}, "about the target 'y'"),
        (
            {"columns": {"a": {"values": ["x"]}}, "target": {"name": "y", "classes": [0, 1], "lower": 0}},
            "either classes, or lower and upper",
        ),
        ({"columns": {"a": {"values": ["x"]}}, "target": {"name": "y", "lower": 0}}, "to be numbers"),
        ({"columns": {"a": {"values": ["x"]}}, "target": {"name": "y", "classes": [0]}}, "at least 2"),
        (
            {"columns": {"a": {"values": ["x"]}}, "target": {"name": "y", "classes": [0, "b"]}},
            "all text or all numbers",
        ),
    ],
)
def test_a_bad_schema_gets_a_sentence(entries, sentence):
    with pytest.raises(ValueError, match=sentence):
        Schema.from_dict(entries)


def test_a_bad_schema_file_gets_a_sentence(tmp_path):
    (tmp_path / "schema.yaml").write_text("", encoding="utf-8")
    (tmp_path / "schema.toml").write_text("a = ", encoding="utf-8")
    (tmp_path / "schema.json").write_text("{", encoding="utf-8")
    for name, sentence in {
        "schema.yaml": "toml or .json",
        "schema.toml": "valid TOML",
        "schema.json": "valid JSON",
    }.items():
        with pytest.raises(ValueError, match=sentence):
            Schema.load(tmp_path / name)


def test_the_encoder_is_a_pipeline_step_that_learns_nothing():
    table = pd.DataFrame({"age": [20, 80], "gain": [1.0, None], "work": ["Private", "x"]})
    encoder = clone(SchemaEncoder(SCHEMA, clip=0.5))
    assert encoder.schema == SCHEMA
    np.testing.assert_array_equal(encoder.transform(table), SCHEMA.encode(table, 0.5))
    pipeline = make_pipeline(encoder, FunctionTransformer()).fit(table)
    np.testing.assert_array_equal(pipeline.transform(table.iloc[:1]), SCHEMA.encode(table, 0.5)[:1])
    assert tuple(encoder.get_feature_names_out()) == SCHEMA.features
    assert list(clone(encoder).set_output(transform="pandas").fit_transform(table).columns) == list(SCHEMA.features)


def test_the_box_layout_is_a_public_linear_map_of_every_row():
    columns = (Number("a", 0, 10), Number("b", -1, 1, missing=True), Category("c", ("u", "v")))
    schema = Schema(columns, Target("t", lower=0, upper=1))
    table = {"a": [0, 10, 5, None], "b": [1, None, -3, 0], "c": ["u", "w", "v", "u"]}
    unit = 1 / math.sqrt(3)
    expected = [[-1, 1, 0, 1, 0, 0], [1, 0, 1, 0, 0, 1], [0, -1, 0, 0, 1, 0], [0, 0, 0, 1, 0, 0]]
    assert schema.boxed
    np.testing.assert_allclose(schema.encode(table), np.array(expected) * unit, rtol=1e-14)
    assert np.linalg.norm(schema.encode(table), axis=1).max() <= 1
    np.testing.assert_allclose(schema.encode(table, clip=2.0), np.array(expected) * 2 * unit, rtol=1e-14)


def test_the_layout_follows_the_target_unless_it_is_named():
    columns = (Number("a", 0, 10),)
    assert not Schema(columns).boxed
    assert not Schema(columns, Target("t", classes=("x", "y"))).boxed
    assert not Schema(columns, Target("t", lower=0, upper=1), layout="rows").boxed
    assert Schema(columns, layout="box").boxed
    with pytest.raises(ValueError, match="layout"):
        Schema(columns, layout="other")


READABLE = Schema((Number("a", 0, 9), Number("b", 0, 9), Category("c", ("x",))), missing=("?", "99"))


@pytest.mark.parametrize(
    "cells",
    [
        ["1", " 2 ", "", "?", " ? ", None, math.nan, "nan", "99", "inf", b"3", 4],
        np.array([1.0, math.nan]),
        [None, "", "?"],
    ],
)
def test_readable_and_missing_cells_are_not_complained_about(cells):
    table = {"a": cells, "b": [1] * len(cells), "c": [SECRET] * len(cells)}
    assert READABLE.check_readable(table, every=True) == ()


@pytest.mark.parametrize("cell", ["27,5", "63 years", f"{SECRET}!", "1.2.3", b"4 kg"])
def test_text_that_is_no_number_is_named_by_its_column(cell):
    table = {"a": ["1", cell, ""], "b": [2] * 3, "c": ["x"] * 3}
    assert READABLE.check_readable(table) == ("a",)
    assert READABLE.encode(table)[1, 0] == READABLE.encode(table)[2, 0]  # it counts as missing
    for every, column in ((True, ["1", cell, ""]), (False, [cell, "", None])):
        with pytest.raises(ValueError, match=r"Column 'a' has .*decimal comma") as error:
            READABLE.check_readable({**table, "a": column}, every=every)
        assert str(cell) not in str(error.value)


def test_a_missing_label_is_called_missing():
    for target, cells in (
        (Target("y", classes=("a", "b")), ["a", ""]), (Target("y", classes=("a", "b")), ["a", "?"]),
        (Target("y", classes=(0, 1)), [0, math.nan]), (Target("y", lower=0, upper=1), [0.5, ""]),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=r"has (a )?missing (label|numbers); remove those rows"):
            Schema((Number("a", 0, 1),), target, missing=("?",)).encode_target({"y": cells})
