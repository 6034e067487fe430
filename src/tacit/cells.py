"""Cells of a table as they come: which are numbers, which are missing, which say something that nobody can read.

Every cell is read by itself, whatever the others are. No sentence quotes one.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.types import Array

Value = str | int | float | bool
_NUMERIC = (str, bytes, int, float, Decimal, Fraction, np.integer, np.floating, np.bool_)
_WHOLE = re.compile(r"([+-]?\d+)\.0*")


def columns_of(table: Any, names: Sequence[str]) -> list[NDArray[Any]]:
    """The named columns as one-dimensional arrays of equal length, each cell as it came."""
    present = getattr(table, "column_names", None)  # pyarrow, whose ``columns`` are the data themselves
    if present is None:
        present = getattr(table, "columns", None)
    if present is None:
        check(isinstance(table, Mapping), "Expected a table with named columns: pandas, polars, pyarrow or a dict.")
        present = table.keys()
    known = set(present)
    absent = [name for name in names if name not in known]
    check(not absent, f"The table lacks the columns {absent} that the schema names; add them, or change the schema.")
    columns = [_array(name, table[name]) for name in names]
    lengths = {len(column) for column in columns}
    check(len(lengths) == 1, f"Expected the columns {list(names)} to have the same length.")
    return columns


def _array(name: str, column: Any) -> NDArray[Any]:
    check(not isinstance(column, str | bytes), f"Expected column {name!r} to be a sequence of cells, not one text.")
    if isinstance(column, np.ma.MaskedArray):
        column = np.ma.filled(column.astype(object), None)
    # A plain sequence stays one of objects: numpy would choose one type for all, and one record would edit others.
    array = np.asarray(column) if hasattr(column, "__array__") else np.fromiter(column, dtype=object)
    check(array.ndim == 1, f"Expected column {name!r} once in the table, with one cell a row.")
    check(
        array.dtype.kind in "biufOUST",
        f"Column {name!r} holds dates or other cells that are neither numbers nor text; convert it first.",
    )
    return array


def numbers(cells: NDArray[Any], markers: Array) -> Array:
    """Cells as float64, NaN where missing."""
    if cells.dtype.kind in "biuf":
        with np.errstate(over="ignore"):
            values = cells.astype(np.float64)
    else:
        values = np.fromiter(map(number, cells.tolist()), np.float64, len(cells))
    if len(markers):
        values[np.isin(values, markers)] = np.nan
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
        return math.nan


def unreadable(cells: NDArray[Any], markers: Sequence[str]) -> NDArray[np.bool_]:
    """Which cells are text that says something, is no number and stands for nothing missing: '27,5' or '63 years'."""
    if cells.dtype.kind in "biuf":
        return np.zeros(len(cells), dtype=bool)
    known = {text_of(marker) for marker in markers} | {""}
    return np.fromiter((_unreadable(cell, known) for cell in cells.tolist()), bool, len(cells))


def _unreadable(cell: Any, known: set[str]) -> bool:
    if not isinstance(cell, str | bytes):
        return False
    try:
        float(cell)
    except ValueError:
        return text_of(cell) not in known
    return False


def codes_of(cells: NDArray[Any], values: Sequence[Value]) -> NDArray[np.intp]:
    """Position of every cell among the values; ``len(values)`` for everything else."""
    positions = {text_of(value): position for position, value in enumerate(values)}
    if cells.dtype.kind in "biuf":
        distinct, inverse = np.unique(cells, return_inverse=True)
        codes = [positions.get(text_of(cell), len(values)) for cell in distinct.tolist()]
        return np.array(codes, dtype=np.intp)[inverse]
    texts = [cell if type(cell) is str else text_of(cell) for cell in cells.tolist()]
    known = {text: positions.get(text_of(text), len(values)) for text in set(texts)}
    return np.fromiter(map(known.__getitem__, texts), np.intp, len(texts))


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
