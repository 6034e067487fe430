"""Cells of a table as they come: which are numbers, which are missing, which say something that nobody can read.

Every cell is read by itself, whatever the others are. No sentence quotes one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.spelling import meant
from tacit.data.texts import Texts, texts_of
from tacit.types import Array

WHY_NO_NUMBER = (
    "Is there a decimal comma (read it with --decimal , or, in Python, decimal=','), a separator of thousands, a unit "
    "or a date in the cell?"
)
Value = str | int | float | bool
EXACT = 2**53
"""From here on float64 does not tell a whole number from its neighbours."""
_NUMERIC = (str, bytes, int, float, Decimal, Fraction, np.integer, np.floating, np.bool_)
_WHOLE = re.compile(r"([+-]?\d+)\.0*")
_NUMERAL = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d{1,3})?", re.ASCII)
_LONGEST_NUMERAL = 400
_WIDE = ("Int128", "UInt128")
_TRUTHS = {"true": "1", "TRUE": "1", "True": "1", "false": "0", "FALSE": "0", "False": "0"}
_CELLS = re.compile(
    r"null|bool|u?int\d+|halffloat|float|double|decimal\d+\(.*\)|(large_)?(string|binary)|(string|binary)_view"
    r"|fixed_size_binary\[\d+\]"
)
"""Arrow's types whose cells are numbers or text."""
_NESTED = ("List", "Array", "Struct", "Object", "Time")
"""Polars' whose are not; of dates numpy has a type."""
_NOT_CELLS = "Column {name!r} contains dates or other cells that are neither numbers nor text; convert it first."


Cells = NDArray[Any] | Texts
"""A column of cells: an array of numbers, text or objects, or text in the memory of its reader."""


def columns_of(table: Any, names: Sequence[str]) -> list[Any]:
    """The named columns as one-dimensional :data:`Cells` of equal length, each cell as it came."""
    known = _names_of(table)
    absent = [name for name in names if name not in known]
    check(not absent, lacking(absent, known))
    columns = [_array(name, table[name]) for name in names]
    lengths = {len(column) for column in columns}
    check(len(lengths) == 1, f"Expected the columns {list(names)} to have the same length.")
    return columns


def column_or_given(table: Any, given: Any) -> Any:
    """The column of the table that a text names; anything else as it is."""
    if not isinstance(given, str):
        return given
    known = _names_of(table)
    guess = meant([given], [name for name in known if isinstance(name, str)])
    check(
        given in known,
        f"A text as y, groups or sample_weight names a column, but the table has none of that name.{guess}",
    )
    return table[given]


def _names_of(table: Any) -> set[Any]:
    present = getattr(table, "column_names", None)  # pyarrow, whose ``columns`` are the data themselves
    if present is None:
        present = getattr(table, "columns", None)
    if present is None:
        check(isinstance(table, Mapping), "Expected a table with named columns: pandas, polars, pyarrow or a dict.")
        present = table.keys()
    return set(present)


def lacking(absent: Sequence[str], known: Iterable[Any]) -> str:
    """The sentence about columns that the schema names and the table lacks."""
    guess = meant(absent, [name for name in known if isinstance(name, str)])
    return f"The table lacks the columns {list(absent)} that the schema names; add them, or change the schema.{guess}"


def _array(name: str, column: Any) -> Cells:
    check(not isinstance(column, str | bytes), f"Expected column {name!r} to be a sequence of cells, not one text.")
    check(_may_be_cells(column), _NOT_CELLS.format(name=name))
    texts = texts_of(column)
    array = exact(column) if texts is None else texts
    check(array.ndim == 1, f"Expected column {name!r} once in the table, with one cell for each row.")
    check(array.dtype.kind in "biufOUST", _NOT_CELLS.format(name=name))
    return array


def _may_be_cells(column: Any) -> bool:
    """Whether a column's type, where its library has one, is of numbers or text: lists and times come as objects, each
    of which would count as missing.
    """
    kind = getattr(column, "type", None)  # pyarrow's, or that of pandas' columns in Arrow's form
    if kind is None:
        dtype = getattr(column, "dtype", None)
        kind = getattr(dtype, "pyarrow_dtype", None)
        if kind is None:
            return type(dtype).__module__.partition(".")[0] != "polars" or not str(dtype).startswith(_NESTED)
    return bool(_CELLS.fullmatch(str(kind.value_type if hasattr(kind, "index_type") else kind)))


def exact(column: Any) -> NDArray[Any]:
    """A column as an array in which no cell was changed by another: numbers, text, or the cells as objects.

    Libraries read whole numbers as floats where one cell is missing, and beyond 2**53 that rounds them. Such a column
    comes as objects. Below 2**53 floats and whole numbers say the same, so which of the two a cell comes as does not
    depend on others in any way that matters.

    Edges: masked cells are None; dates of any library keep a type of their own, which callers refuse.
    """
    if isinstance(column, np.ma.MaskedArray):
        cells = np.asarray(column.data).astype(object)
        cells[np.ma.getmaskarray(column)] = None
        return cells
    if getattr(getattr(column, "dtype", None), "kind", "") == "M":  # with a time zone they would be objects
        return np.asarray(column, dtype="datetime64[ns]")
    if hasattr(getattr(column, "type", None), "index_type"):  # of a pyarrow dictionary, a null is read as a value
        column = column.cast(column.type.value_type)
    # A plain sequence stays one of objects: numpy would choose one type for all, and one record would edit others.
    array = np.asarray(column) if _has_type(column) else _objects(column)
    if isinstance(column, np.ndarray) or array.dtype.kind != "f" or not (np.abs(array) >= EXACT).any():
        return array
    for method in ("to_pylist", "to_list"):  # pyarrow; polars and pandas
        if hasattr(column, method):
            return _objects(getattr(column, method)())
    return array


def _has_type(column: Any) -> bool:
    """Whether numpy knows the type of the column; it has none as wide as some of polars'."""
    return hasattr(column, "__array__") and str(getattr(column, "dtype", "")) not in _WIDE


def kind_of(column: Any) -> str:
    """The kind of a column's type ("f", "b", "O" and so on, as numpy names kinds): what it is without its cells.

    How cells are read may depend on them (whole numbers are floats where one is missing, floats are objects where one
    is large), so nothing public may follow from the array that holds them; this is read from an empty piece.
    """
    if not hasattr(column, "__array__"):
        return "O"
    return exact(column.iloc[:0] if hasattr(column, "iloc") else column[:0]).dtype.kind


def _objects(cells: Any) -> NDArray[Any]:
    try:
        return np.fromiter(cells, dtype=object)
    except (TypeError, NotImplementedError):  # one thing, not a column of them; a sparse matrix
        raise ValueError(
            f"Expected a column of cells: a list, an array or a column of a table, not {type(cells).__name__}."
        ) from None


def numbers(cells: Cells, missing: Sequence[str] = ()) -> Array:
    """Cells as float64, NaN where missing; a numeric marker among ``missing`` holds for every cell of that number."""
    if isinstance(cells, Texts):
        values = _numbers_of_texts(cells)
    elif cells.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            values = cells.astype(np.float64)
    else:
        values = np.fromiter(map(number, cells.tolist()), np.float64, len(cells))
    if missing:
        values[np.isin(values, [number(marker) for marker in missing])] = np.nan
    return values


def _numbers_of_texts(cells: Texts) -> Array:
    values = cells.floats()
    if values is None:
        values = cells.each(lambda text: number(None if text is None else cells.numeral(text)), np.float64)
    return values


def number(cell: Any) -> float:
    """The cell as a float; NaN when it is missing or unreadable."""
    if not isinstance(cell, _NUMERIC):
        return math.nan
    try:
        return float(cell)
    except OverflowError:
        return math.inf if cell > 0 else -math.inf  # type: ignore[operator]
    except (TypeError, ValueError):
        return float(_TRUTHS.get(text_of(cell), math.nan))


def unreadable(cells: Cells, missing: Sequence[str] = ()) -> NDArray[np.bool_]:
    """Which cells are text that says something, is no number and stands for nothing missing: '27,5' or '63 years'."""
    wrong = np.zeros(len(cells), dtype=bool)
    if not isinstance(cells, Texts) and cells.dtype.kind in "biuf":
        return wrong
    known = {text_of(marker) for marker in missing} | {""}
    if not isinstance(cells, Texts):
        return np.fromiter((_unreadable(cell, known) for cell in cells.tolist()), bool, len(cells))
    values = cells.floats()
    doubtful = np.flatnonzero(np.isnan(values)) if values is not None else np.arange(len(cells))
    few = cells[doubtful] if len(doubtful) < len(cells) else cells
    wrong[doubtful] = few.each(
        lambda text: text is not None and _unreadable(cells.numeral(text), known) and text_of(text) not in known, bool
    )
    return wrong


def _unreadable(cell: Any, known: set[str]) -> bool:
    if not isinstance(cell, str | bytes):
        return False
    try:
        float(cell)
    except ValueError:
        return text_of(cell) not in known and text_of(cell) not in _TRUTHS
    return False


def codes_of(name: str, cells: Cells, values: Sequence[Value]) -> NDArray[np.intp]:
    """Position of every cell among the values; ``len(values)`` for everything else.

    Edges: where the values list a whole number of 2**53 or more, a float cell of that size is refused: it does not say
    which of several whole numbers it was.
    """
    positions = {key_of(value): position for position, value in enumerate(values)}
    if isinstance(cells, Texts):
        return cells.each(lambda text: _code(text, cells, positions), np.intp)
    numerals = (key for key in positions if len(key) <= _LONGEST_NUMERAL and _WHOLE.fullmatch(f"{key}."))
    if any(_far(int(key)) for key in numerals):
        listed = np.unique(cells).tolist() if cells.dtype.kind == "f" else cells.tolist()
        check(
            not any(_far(cell) for cell in listed if isinstance(cell, float | np.floating)),
            f"Column {name!r} has whole numbers of 2**53 or more as floats, which cannot distinguish them; give it as "
            "whole numbers (in pandas: astype('Int64') before a cell is missing) or as text.",
        )
    if cells.dtype.kind in "biuf":
        distinct, inverse = np.unique(cells, return_inverse=True)
        codes = [positions.get(key_of(cell), len(values)) for cell in distinct.tolist()]
        return np.array(codes, dtype=np.intp)[inverse]
    texts = [cell if type(cell) is str else text_of(cell) for cell in cells.tolist()]
    known = {text: positions.get(key_of(text), len(values)) for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), np.intp, len(texts))


def _code(text: str | None, cells: Texts, positions: Mapping[str, int]) -> int:
    """The place of one text; a numeral with the column's decimal comma is also known by the point."""
    key = key_of(text)
    if key not in positions and text is not None:
        key = key_within(cells, text)
    return positions.get(key, len(positions))


def key_within(cells: Texts, text: str) -> str:
    """What a text of these cells is compared by: a numeral with their decimal comma, by the number that it is."""
    point = cells.numeral(text)
    return key_of(point if "." not in text and _NUMERAL.fullmatch(point.strip()) else text)


def _far(cell: Any) -> bool:
    return bool(EXACT <= abs(cell) < math.inf)


def key_of(cell: Any) -> str:
    """What cells are compared by: their text, numerals as the number that they stand for, truths as 1 and 0.

    So 1, 1.0, "1", "1.0", "01", True and "true" are one value, and so are 1.5 and "1.50": libraries choose a column's
    type by looking at all of its cells (beside a number, polars makes True a 1), and what one cell says must not depend
    on that choice. Whole numbers are exact whatever their size; others are as float64 has them.
    """
    text = text_of(cell)
    if not is_numeral(text):
        return _TRUTHS.get(text, text)
    value = Fraction(text)
    return str(value.numerator) if value.denominator == 1 else text_of(float(text))


def is_numeral(text: str) -> bool:
    """Whether a text is a plain decimal numeral, of a length that somebody may have meant as a number."""
    return len(text) <= _LONGEST_NUMERAL and _NUMERAL.fullmatch(text) is not None


def text_of(cell: Any) -> str:
    """What a category cell says; empty when it is missing or unreadable."""
    try:
        if isinstance(cell, bytes):
            cell = cell.decode()
        if isinstance(cell, bool | np.bool_):
            return str(bool(cell))
        if isinstance(cell, int | np.integer):
            return str(int(cell))
        if isinstance(cell, float | np.floating):
            number = float(cell)
            return str(int(number)) if number.is_integer() else "" if math.isnan(number) else repr(number)
        if not isinstance(cell, str | Decimal):
            return ""
    except (TypeError, ValueError):
        return ""
    text = str(cell).strip()
    whole = _WHOLE.fullmatch(text)
    return whole.group(1) if whole else text
