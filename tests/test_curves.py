"""Bins, hats and pairs: against loops over single cells, and what a schema with them promises."""

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.base import clone

from tacit.cli.main import main
from tacit.files import load
from tacit.protocol import Protocol
from tacit.schema import Bins, Category, Hats, Number, Pair, Schema, SchemaEncoder, Target
from tacit.schema.cuts import cut_points
from tacit.schema.encodings import column_from_dict

TINY = 5e-324
NAN, INF = math.nan, math.inf
MISSING = ("?", "-9")
POINTS = (-2.5, -TINY, 0.0, TINY, 0.1, 3.0)
BOUNDS = (-4, 7.5)
CELLS = [
    *POINTS, *(np.nextafter(p, 9) for p in POINTS), *(np.nextafter(p, -9) for p in POINTS), -4, 7.5,
    np.nextafter(7.5, 9), -0.0, INF, -INF, NAN, None, "", "?", "-9", -9, -9.0, " 3 ", "3.0", "0,1", "63 years", "inf",
    "1e400", 10**400, True, "false", b"0.1", np.float32(0.1), np.int8(3), 1.75, 2, -3.999, 7.4999999,
]  # fmt: skip
COLUMNS = [
    curve("v", *BOUNDS, points, missing)
    for curve in (Bins, Hats)
    for points in (POINTS, (1.75,), (-3.9999, 7.4999))
    for missing in (False, True)
] + [Hats("v", *BOUNDS, (), missing) for missing in (False, True)]


def value_of(cell):
    """What a cell says as a number, by Python's own reading; None where it is missing."""
    if isinstance(cell, str | bytes):
        text = cell.decode() if isinstance(cell, bytes) else cell
        if text.strip() in ("true", "false"):
            return float(text.strip() == "true")
        try:
            value = float(text)
        except ValueError:
            return None
    elif cell is None:
        return None
    else:
        value = math.inf if isinstance(cell, int) and cell > 10**300 else float(cell)
    return None if math.isnan(value) or value == -9 else value


def expected(column, cell):
    """One cell's numbers, by loops."""
    value = value_of(cell)
    row = [0.0] * len(column.features)
    if value is None and column.missing:
        row[-1] = 1.0
        return row
    low, high = float(column.lower), float(column.upper)
    value = (low + high) / 2 if value is None else min(max(value, low), high)
    if isinstance(column, Bins):
        row[sum(cut <= value for cut in column.cuts)] = 1.0
        return row
    knots = [low, *column.knots, high]
    for place, (left, right) in enumerate(pairwise(knots)):
        if left <= value < right or value == right == high:
            row[place], row[place + 1] = 1 - (value - left) / (right - left), (value - left) / (right - left)
    return row


def written(column, cells, centred=False):
    array = np.fromiter(cells, dtype=object)
    out = np.zeros((len(array), len(column.features)))
    column.write(array, out, MISSING, centred)
    return out


@pytest.mark.parametrize("column", COLUMNS, ids=repr)
def test_cells_by_loops(column):
    rows = written(column, CELLS)
    np.testing.assert_array_equal(rows, [expected(column, cell) for cell in CELLS])
    np.testing.assert_array_equal(written(column, CELLS, centred=True), rows)
    assert (np.linalg.norm(rows, axis=1) <= 1).all()
    np.testing.assert_allclose(rows.sum(axis=1), 1, rtol=1e-15)
    for cell, row in zip(CELLS, rows, strict=True):
        np.testing.assert_array_equal(written(column, [cell])[0], row)


@settings(deadline=None, max_examples=150)
@given(
    edges=st.lists(st.floats(-1e100, 1e100), min_size=3, max_size=9, unique=True).map(sorted),
    values=st.lists(st.floats(allow_nan=False), min_size=1, max_size=9),
)
def test_any_points_by_loops(edges, values):
    low, *points, high = edges
    if high - low < max(1e-9 * max(abs(low), abs(high)), 1e-100):
        return
    for kind in (Bins, Hats):
        column = kind("v", low, high, points)
        cells = [*values, *edges]
        rows = written(column, cells)
        np.testing.assert_array_equal(rows, [expected(column, cell) for cell in cells])
        assert (np.linalg.norm(rows, axis=1) <= 1 + 1e-15).all()
        assert len(set(column.features)) == rows.shape[1]


def test_hats_are_linear_between_knots():
    column = Hats("v", 0, 10, (2, 5))
    values = np.linspace(0, 10, 101)
    np.testing.assert_allclose(written(column, values) @ [0, 2, 5, 10], values, atol=1e-14)
    curve = np.array([3.0, -1.0, 4.0, 0.5])
    np.testing.assert_allclose(written(column, values) @ curve, np.interp(values, [0, 2, 5, 10], curve), atol=1e-14)


def test_names_read_well():
    assert Bins("age", 17, 90, (20, 25.5), missing=True).features == (
        "age below 20", "age 20 to 25.5", "age from 25.5", "age=<missing>",
    )  # fmt: skip
    assert Hats("age", 17, 90, (25,)).features == ("age at 17", "age at 25", "age at 90")
    assert Bins("a", -1e100, 1e100, (1e99,)).features == ("a below 1e+99", "a from 1e+99")


# --- pairs -----------------------------------------------------------------------------------------------------------
KINDS = [
    Number("v", -4, 7.5), Number("v", -4, 7.5, missing=True), Bins("v", *BOUNDS, POINTS, missing=True),
    Hats("v", *BOUNDS, POINTS), Category("v", (3, "0.1", "true")),
]  # fmt: skip


@pytest.mark.parametrize("first", KINDS, ids=repr)
@pytest.mark.parametrize("second", KINDS, ids=repr)
@pytest.mark.parametrize("centred", [False, True])
def test_pairs_by_loops(first, second, centred):
    cells = [cell for cell in CELLS if cell not in ("-9", -9)]
    others = cells[5:] + cells[:5]
    pair = Pair(first, column_from_dict("w", second.to_dict()))
    out = np.zeros((len(cells), pair.width))
    pair.write((np.fromiter(cells, object), np.fromiter(others, object)), out, MISSING, centred)
    one, other = written(first, cells, centred), written(second, others, centred)
    for row, left, right in zip(out, one, other, strict=True):
        np.testing.assert_array_equal(row, [a * b for a in left for b in right])
    assert (np.linalg.norm(out, axis=1) <= 1).all()
    assert len(pair.features) == pair.width
    assert pair.features[-1] == f"{first.features[-1]} & {pair.second.features[-1]}"


ENTRIES = {
    "missing": ["?", "-9"],
    "layout": "auto",
    "target": {"name": "rich", "classes": ["no", "yes"]},
    "columns": [
        ["age", {"lower": 17, "upper": 90, "bins": [20.0, 25.0, 30.0]}],
        ["gain", {"lower": 0, "upper": 99999, "knots": [1.0, 100.0], "missing": True}],
        ["work", {"values": ["private", "public"]}],
    ],
    "pairs": [
        [["age", {"lower": 17, "upper": 90, "bins": [30.0]}], ["work", {"values": ["private"]}]],
        [["hours", {"lower": 0, "upper": 99}], ["work", {"values": ["private"]}]],
    ],
}
SCHEMA = Schema.from_dict(ENTRIES)
TABLE = {
    "age": [19, 25, "?", 40, 99],
    "gain": [0, "?", 50, 1e9, "63 dollars"],
    "work": ["private", "public", None, "private", "navy"],
    "hours": [40, "", 99, 0, "-9"],
    "rich": ["no", "yes", "no", "yes", "no"],
}


def test_a_schema_with_curves_and_pairs():
    assert SCHEMA.to_dict() == ENTRIES
    assert Schema.from_dict(json.loads(json.dumps(SCHEMA.to_dict()))) == SCHEMA
    assert SCHEMA.names == ("age", "gain", "work", "hours")
    assert SCHEMA.features[-6:] == (
        "age below 30 & work=private", "age below 30 & work=<other>", "age from 30 & work=private",
        "age from 30 & work=<other>", "hours & work=private", "hours & work=<other>",
    )  # fmt: skip
    assert SCHEMA.width == len(SCHEMA.features) == 4 + 5 + 3 + 4 + 2
    assert math.sqrt(5) <= SCHEMA.radius <= math.sqrt(5) * (1 + 1e-14)
    rows = SCHEMA.encode(TABLE, SCHEMA.radius)
    middle = 49 / 99  # 50 lies between the knots 1 and 100
    np.testing.assert_allclose(
        rows,
        [
            [1, 0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 40 / 99, 0],
            [0, 0, 1, 0, 0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0, 0, 0.5],
            [0, 0, 0, 1, 0, 1 - middle, middle, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 1],
            [0, 0, 0, 1, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0, 1, 0, 0, 0],
            [0, 0, 0, 1, 0, 0, 0, 0, 1, 0, 0, 1, 0, 0, 0, 1, 0, 0.5],
        ],
        atol=1e-15,
    )


@pytest.mark.parametrize("layout", ["rows", "box"])
def test_rows_depend_on_their_own_record_alone(layout):
    schema = Schema.from_dict({**ENTRIES, "layout": layout})
    rows = schema.encode(TABLE)
    assert (np.linalg.norm(rows, axis=1) <= 1).all()
    for place in range(len(rows)):
        alone = schema.encode({name: cells[place : place + 1] for name, cells in TABLE.items()})
        np.testing.assert_array_equal(alone[0], rows[place])
    generator = np.random.default_rng(5)
    many = {name: [cells[i] for i in generator.integers(0, 5, 9_000)] for name, cells in TABLE.items()}
    last = schema.encode({name: cells[-3:] for name, cells in many.items()})
    np.testing.assert_array_equal(schema.encode(many)[-3:], last)
    assert schema.encode({name: [] for name in schema.names}).shape == (0, schema.width)


def test_the_pairs_columns_are_the_schemas_too():
    assert SCHEMA.check_readable(TABLE) == ("gain",)
    with pytest.raises(ValueError, match="Column 'hours' has a cell that is not a number"):
        SCHEMA.check_readable({**TABLE, "gain": [1] * 5, "hours": [1, 2, 3, 4, "5 h"]}, every=True)
    with pytest.raises(ValueError, match="Column 'hours' has no cell that is a number"):
        SCHEMA.check_readable({**TABLE, "hours": ["x"] * 5})
    with pytest.raises(ValueError, match=r"lacks the columns \['hours'\]"):
        SCHEMA.encode({name: cells for name, cells in TABLE.items() if name != "hours"})
    encoder = clone(SchemaEncoder(SCHEMA))
    np.testing.assert_array_equal(encoder.fit_transform(TABLE), SCHEMA.encode(TABLE))
    assert tuple(encoder.get_feature_names_out()) == SCHEMA.features


def test_entries_without_curves_are_as_they_were():
    plain = Schema((Number("a", 0, 1), Category("b", ("x",))), Target("y", (0, 1)))
    assert set(plain.to_dict()) == {"missing", "layout", "target", "columns"}


def test_an_additive_schema():
    plain = Schema((Number("a", 0, 80, missing=True), Category("b", ("x",)), Number("c", 0, 99_999)), missing=("?",))
    bins = plain.additive(8)
    assert bins.columns == (
        Bins("a", 0, 80, tuple(range(10, 80, 10)), missing=True),
        Category("b", ("x",)),
        Bins("c", 0, 99_999, cut_points(0, 99_999, 8, "auto")),
    )
    assert bins.missing == ("?",)
    hats = plain.additive({"c": 6}, "knots", "log")
    assert hats.columns == (*plain.columns[:2], Hats("c", 0, 99_999, cut_points(0, 99_999, 5, "log")))
    assert len(hats.columns[2].features) == 6
    assert Schema.from_dict(bins.to_dict()) == bins
    assert bins.additive(5) == bins
    assert plain.additive(2, "knots").columns[2].knots == ()
    for counts, kind, sentence in [
        ({"b": 3}, "bins", "'b'"), ({"z": 3}, "bins", "'z'"), (8, "splines", "kind='splines'"),
        (1, "bins", "column 'a'"),
    ]:  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            plain.additive(counts, kind)


# --- sentences -------------------------------------------------------------------------------------------------------
RANGE = {"lower": 0, "upper": 10}
A, B = ["a", RANGE], ["b", RANGE]


@pytest.mark.parametrize(
    ("entries", "sentence"),
    [
        ({"bins": [5, 3]}, "bins of column 'a' to rise strictly between lower=0 and upper=10"),
        ({"bins": [3, 3]}, "column 'a' to rise strictly"),
        ({"bins": [0, 3]}, "column 'a' to rise strictly"),
        ({"knots": [3, 10]}, "knots of column 'a' to rise strictly"),
        ({"bins": [11]}, "column 'a' to rise strictly"),
        ({"bins": [NAN]}, "column 'a' to rise strictly"),
        ({"bins": [INF]}, "column 'a' to rise strictly"),
        ({"bins": ["3"]}, "each of the bins of column 'a' to be a number"),
        ({"bins": [True]}, "each of the bins of column 'a' to be a number"),
        ({"bins": [None]}, "column 'a' to be a number"),
        ({"bins": [10**400]}, "column 'a' to be below"),
        ({"bins": []}, "bins of column 'a' to list at least 1"),
        *(
            ({word: count}, f"{word} of column 'a' to be a list of numbers, or a whole number from 2 to 1000")
            for word in ("bins", "knots")
            for count in (0, 1, -3, 10**6, 10**400, 2.0, NAN, True, "12", None, {})
        ),
        ({"bins": 4, "spacing": "odd"}, "spacing of column 'a' to be one of auto, even, log, round"),
        ({"bins": 4, "spacing": ["even"]}, "spacing of column 'a' to be one of"),
        ({"bins": [4], "spacing": "even"}, "Column 'a' lists its bins; remove spacing"),
        ({"bins": 4, "spacing": "round", "lower": 6, "upper": 9}, "Column 'a' has no round number between its bounds"),
        ({"spacing": "even"}, "Unknown entries .'spacing'. in column 'a'"),
        ({"bins": 4, "knots": 4}, "Unknown entries .'knots'. in column 'a'"),
        ({"bins": 4, "values": ["x"]}, "Column 'a' is a category"),
        ({"bins": 4, "missing": 1}, "missing of column 'a' to be true or false"),
        ({"bins": 4, "lower": "0"}, "lower and upper of column 'a' to be numbers"),
        ({"bins": [4], "lower": 10}, "lower bound of column 'a' must be below the upper"),
        ({"bins": 4, "upper": INF}, "column 'a', neither beyond"),
    ],
)  # fmt: skip
def test_bad_curves_get_a_sentence(entries, sentence):
    with pytest.raises(ValueError, match=sentence):
        Schema.from_dict({"columns": {"a": {**RANGE, **entries}}})


def test_bounds_are_needed():
    with pytest.raises(ValueError, match="Column 'a' needs lower and upper in addition to knots"):
        Schema.from_dict({"columns": {"a": {"lower": 0, "knots": 4}}})


@pytest.mark.parametrize(
    ("pairs", "sentence"),
    [
        ([[A, A]], "two columns, not 'a' twice"),
        ([[A, B], [B, A]], "each pair of columns of the schema only once"),
        ([[A, ["y", RANGE]]], "target 'y' in no pair"),
        ([[A]], "to have two columns"),
        ([[A, B, B]], "to have two columns"),
        ([["a", "b"]], "a pair of the schema to be a table"),
        (["ab"], "a pair of the schema to be a table"),
        ("ab", "pairs of the schema to be a list"),
        ([[A, ["b", {"values": ["x", "?"]}]]], "Column 'b' lists"),
        ([[["a", {**RANGE, "bins": 1000}], ["b", {**RANGE, "bins": 1000}]]], "at most 100,000 slots, not 1,000,000"),
    ],
)
def test_bad_pairs_get_a_sentence(pairs, sentence):
    entries = {"columns": {"z": RANGE}, "target": {"name": "y", "classes": [0, 1]}, "missing": ["?"], "pairs": pairs}
    with pytest.raises(ValueError, match=sentence):
        Schema.from_dict(entries)


# --- from end to end -------------------------------------------------------------------------------------------------
FILE = """
missing = ["?"]
pairs = [[["age", {lower = 17, upper = 90, bins = [45]}], ["sex", {values = ["f", "m"]}]]]
[target]
name = "rich"
classes = ["no", "yes"]
[columns.age]
lower = 17
upper = 90
bins = 6
[columns.hours]
lower = 0
upper = 99
knots = [20, 40]
missing = true
[columns.gain]
lower = 0
upper = 99999
bins = 8
spacing = "round"
"""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A table in which the middle of an age range is rich, which no line in age can say."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "schema.toml").write_text(FILE)
    generator = np.random.default_rng(11)
    lines = ["age,hours,gain,sex,rich"]
    for age in generator.integers(17, 90, 3000):
        hours = generator.choice(["?", "10", "40", "77.5"])
        rich = "yes" if 30 <= age < 60 else "no"
        lines.append(f"{age},{hours},{generator.integers(0, 2) * 5000},{generator.choice(['f', 'm', '?'])},{rich}")
    (tmp_path / "data.csv").write_text("\n".join(lines))
    return tmp_path


def test_fit_and_predict(folder, capsys):
    line = "fit data.csv --schema schema.toml --epsilon 3 --out model.json"
    assert main([*line.split(), "--adjacency", "add-remove"]) == 0, capsys.readouterr().err
    capsys.readouterr()
    model, schema = load(folder / "model.json")
    assert schema == Schema.from_dict(Schema.load(folder / "schema.toml").to_dict())
    assert schema.columns[2].cuts == cut_points(0, 99_999, 8, "round")
    assert model.n_features_in_ == schema.width == 6 + 5 + 8 + 6
    assert main(["predict", "model.json", "data.csv"]) == 0
    labels = capsys.readouterr().out.split()[1:]
    truths = [line.rsplit(",", 1)[1] for line in (folder / "data.csv").read_text().splitlines()[1:]]
    assert np.mean([label == truth for label, truth in zip(labels, truths, strict=True)]) > 0.85


def test_a_protocol_takes_curves_and_pairs(folder, capsys):
    command = "protocol --schema schema.toml --epsilon 2 --delta 1e-3 --cohort 3000 --out p.json"
    assert main(command.split()) == 0, capsys.readouterr().err
    protocol = Protocol.load("p.json")
    assert protocol.schema == Schema.load("schema.toml")
    record = {"age": 40, "hours": "?", "gain": 5000, "sex": "f"}
    rows, _ = protocol.rows(record, "yes")
    alone = protocol.schema.encode({name: [cell] for name, cell in record.items()}, protocol.numbers.clip)
    np.testing.assert_allclose(
        rows[:, : protocol.columns], alone, rtol=0, atol=2.0**-21
    )  # on a grid, and sqrt(d)/2 steps within the clip
    assert main(["contribute", "data.csv", "--protocol", "p.json", "--out", "s.parquet"]) == 0, capsys.readouterr().err
    (folder / "bad.csv").write_text("age,hours,gain,sex,rich\n4o,1,1,f,no\n40,1,1,f,no\n")
    assert main(["contribute", "bad.csv", "--protocol", "p.json", "--out", "bad.parquet"]) == 2
    assert "Column 'age' has a cell that is not a number" in capsys.readouterr().err
