"""Texts read in bulk are the texts read one by one: what is a number, what is missing, which value it is."""

import math
from datetime import time
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tacit.data.cells import codes_of, columns_of, key_of, number, numbers, text_of, unreadable
from tacit.data.texts import Texts, joined, texts_of

pa = pytest.importorskip("pyarrow", reason="the bulk road is Arrow's")

NASTY = [
    None, "", " ", "5", " 5", "5 ", "\t5\n", "+5", "-5", "1e5", "1E+5", "1.e5", ".5", "5.", "1e400", "-1e400", "1e-400",
    "nan", "NaN", "-nan", "nan(ab)", "inf", "-Infinity", "0x10", "1_0", "1__0", "١٢", "−5", "true", "TRUE", "False",
    "27,5", "1,234.5", "1.234", "1.234,5", "1,2,3", "63 years", "?", " ? ", "n.a.", "-9", "-9.0", "-9,0", "9" * 400,
    "9007199254740993", "4.9e-324", "2.4703282292062328e-324", "0." + "0" * 400 + "1", "00012", "1d5", "é", "x", "\x00",
]  # fmt: skip
MISSING = ("?", "-9", "n.a.")
VALUES = ("x", "5", 1.5, True, "27,5", 2**53 + 1, "é", "?!")
CELLS = st.lists(st.sampled_from(NASTY) | st.text(" +-.,_0123456789eEinfaxX٣", max_size=9), max_size=12)
FORMS = {
    "list": list,
    "array": lambda cells: pa.array(cells, pa.string()),
    "large": lambda cells: pa.array(cells, pa.large_string()),
    "dictionary": lambda cells: pa.array(cells, pa.string()).dictionary_encode(),
    "chunks": lambda cells: pa.chunked_array([cells[:2], cells[2:]], type=pa.string()),
    "slice": lambda cells: pa.array(["x", *cells, "7"], pa.string())[1:-1],
}


def swapped(cell, decimal):
    return cell if cell is None or decimal == "." else cell.translate(str.maketrans(",.", ".,"))


def one_by_one(cells, decimal):
    """What the functions for single cells say."""
    values = np.array([number(swapped(cell, decimal)) for cell in cells], dtype=float)
    known = {text_of(marker) for marker in MISSING} | {"", "true", "TRUE", "True", "false", "FALSE", "False"}
    wrong = [cell is not None and text_of(cell) not in known and not _reads(swapped(cell, decimal)) for cell in cells]
    keys = [key_of(value) for value in VALUES]
    codes = []
    for cell in cells:
        tried = [key_of(cell), *([key_of(swapped(cell, decimal))] if cell is not None and "." not in cell else [])]
        codes.append(next((keys.index(key) for key in tried if key in keys), len(keys)))
    return values, wrong, codes


def _reads(text):
    try:
        float(text)
    except ValueError:
        return False
    return True


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("form", FORMS)
@given(cells=CELLS)
@example(cells=NASTY)
@example(cells=["1", "2.5", "", "1e5"])
@example(cells=["1", "nan(a)", "2"])
@settings(max_examples=60, deadline=None)
def test_in_bulk_is_one_by_one(form, decimal, cells):
    texts = Texts(FORMS[form](cells), decimal)
    values, wrong, codes = one_by_one(cells, decimal)
    np.testing.assert_array_equal(numbers(texts), values)
    marked = np.isin(values, [number(marker) for marker in MISSING])
    np.testing.assert_array_equal(numbers(texts, MISSING), np.where(marked, np.nan, values))
    np.testing.assert_array_equal(unreadable(texts, MISSING), np.array(wrong, dtype=bool))
    np.testing.assert_array_equal(codes_of("c", texts, VALUES), np.array(codes, dtype=int))
    assert texts.tolist() == cells
    assert np.asarray(texts).tolist() == cells


def test_signs_of_zero_are_kept():
    assert math.copysign(1, numbers(Texts(pa.array(["-0", "1"])))[0]) == -1


def test_a_point_is_no_number_beside_decimal_commas():
    texts = Texts(pa.array(["27,5", "1.234", "1.234,5"]), ",")
    np.testing.assert_array_equal(numbers(texts), [27.5, np.nan, np.nan])
    assert unreadable(texts).tolist() == [False, True, True]


def test_it_is_indexed_as_an_array():
    for form in ("list", "array", "chunks"):
        texts = Texts(FORMS[form](["a", None, "c"]))
        assert (len(texts), texts.shape, texts.ndim) == (3, (3,), 1)
        assert [texts[0], texts[1], texts[-1]] == ["a", None, "c"]
        assert texts[1:].tolist() == [None, "c"]
        assert texts[np.array([True, False, True])].tolist() == ["a", "c"]
        assert texts[np.array([2, 0])].tolist() == ["c", "a"]
    assert joined([Texts(pa.array(["a"])), Texts(["b"])]).tolist() == ["a", "b"]


@pytest.mark.parametrize(("library", "column"), [("polars", "Series"), ("pandas", "Series")])
def test_other_libraries_texts_are_taken_as_they_lie(library, column):
    made = getattr(pytest.importorskip(library), column)(["1", None, "x"])
    texts = texts_of(made)
    assert texts is not None
    assert texts.tolist() == ["1", None, "x"]
    assert texts_of(np.array(["1", "x"], dtype=object)) is None
    assert texts_of(pa.array([1, 2])) is None
    assert texts_of(pa.array([1, 2]).dictionary_encode()) is None


NEITHER = {
    "list": lambda: pa.array([[1.0]]),
    "texts": lambda: pa.array([["x"]]),
    "struct": lambda: pa.array([{"u": 1.0}]),
    "map": lambda: pa.array([[("u", 1.0)]], pa.map_(pa.string(), pa.float64())),
    "time": lambda: pa.array([0], pa.time64("us")),
    "interval": lambda: pa.array([(1, 2, 3)], pa.month_day_nano_interval()),
    "chunks": lambda: pa.chunked_array([[[1.0]]]),
    "runs": lambda: pa.RunEndEncodedArray.from_arrays([1], ["x"]),
    "polars list": lambda: pytest.importorskip("polars").Series([[1.0]]),
    "polars struct": lambda: pytest.importorskip("polars").Series([{"u": 1.0}]),
    "polars time": lambda: pytest.importorskip("polars").Series([time(1)]),
    "pandas list": lambda: pa.table({"a": [[1.0]]}).to_pandas(types_mapper=pytest.importorskip("pandas").ArrowDtype)[
        "a"
    ],
}


@pytest.mark.parametrize("kind", NEITHER)
def test_cells_that_are_neither_numbers_nor_text_are_refused_by_their_type(kind):
    """They come as objects, each of which would count as missing."""
    with pytest.raises(
        ValueError, match=r"^Column 'a' contains dates or other cells that are neither numbers nor text"
    ):
        columns_of({"a": NEITHER[kind]()}, ["a"])


NUMBERS = [
    pa.array(["1.5"], pa.string_view()), pa.chunked_array([["1.5"]], pa.string_view()), pa.array([b"1.5"]),
    pa.array([b"1.5"], pa.binary(3)), pa.array([Decimal("1.5")]),
    pa.array([1.5]).dictionary_encode(), pa.array(["1.5"], pa.large_string()).dictionary_encode(),
]  # fmt: skip


@pytest.mark.parametrize("column", NUMBERS, ids=lambda column: str(column.type))
def test_cells_of_other_types_of_arrow_are_read(column):
    (cells,) = columns_of({"a": column}, ["a"])
    assert numbers(cells).tolist() == [1.5]
    assert codes_of("a", cells, ("1.5",)).tolist() == [0]
