"""The one door for records: any container of numbers becomes one canonical form, before a norm is taken.

Canonical is a plain C-contiguous array, or a CSR array whose rows are sorted, hold each column once and no zero. What
enters as float32 is stored as float32, which takes half the memory of float64, and is multiplied as float64, block by
block: every float32 is a float64, so the bits are those of a float64 copy. Everything else is stored as float64. A
form that is canonical already is not copied.

Each record is converted by itself: its row depends on no other record, and not on the container. NaN and infinity
pass this door, and are refused where norms are taken. No sentence quotes a number.
"""

from __future__ import annotations

import decimal
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check
from tacit.data import cells
from tacit.types import Array

MASKED = "{name} has masked or missing cells. Fill them in with a public number, or remove those records."
RAGGED = "Expected {name} to have the same number of cells in every row."
MISSING = "{name} has missing labels; remove those rows."
_NUMBERS = "Expected numbers in X; encode other columns with tacit.Schema."
_DAMAGED = "Expected a sparse X whose indices lie within its shape and whose rows follow one another; it is damaged."


def canonical(X: Any) -> Any:
    """X as a plain array (n, d), or as a CSR array with sorted rows that hold each column once and no zero.

    Entries of a sparse matrix that are stored several times are added in float64, in rising order of value: the sum
    depends on the entries alone, not on their order or on other records. No flag of the container is trusted.

    Edges: masked cells are refused. Missing cells of a table, and sums beyond float64, become NaN and infinity.
    """
    if hasattr(X, "sparse") and hasattr(X, "iloc"):  # a pandas frame whose columns are all sparse
        X = X.sparse.to_coo()
    matrix = _canonical_csr(X) if thin(X) else dense(X)
    check(
        matrix.ndim == 2,
        "Expected X to have two dimensions: one row per record, one column per feature. Reshape your data.",
    )
    return matrix


def check_names(X: Any) -> None:
    """Refuse a table two of whose columns bear one name: which of them is meant would be left to chance."""
    names = list(X.columns) if hasattr(X, "iloc") and hasattr(X, "columns") else getattr(X, "column_names", ())
    check(len(set(names)) == len(names), "Expected a table whose columns have different names.")


def thin(X: Any) -> bool:
    """Whether X is sparse."""
    return bool(sparse.issparse(X))


def dense(X: Any) -> NDArray[Any]:
    """A container that is not sparse as a C-contiguous array of any dimension: float32 where X is, else float64."""
    array = plain(X)
    with np.errstate(over="ignore"):  # beyond float64 it is infinity, which norms refuse
        return np.require(array, _stored(array.dtype), ["C", "A"])


def plain(X: Any) -> NDArray[Any]:
    """A container that is not sparse as an array of numbers, of the type and in the order that it came in.

    Tables are read column by column, lists cell by cell: the type of one column, or of one cell, changes no other.
    """
    if type(X) is np.ndarray and X.dtype.kind in "biuf":
        return X
    check(not thin(X), "Expected a dense X here; call X.toarray().")
    array = _array(X)
    kind = array.dtype.kind
    check(kind != "c", "Complex data not supported. Expected real numbers.")
    if kind in "OUST":
        array = _parsed(array)
    check(array.dtype.kind in "biuf", _NUMBERS)
    return array


def column(y: Any, name: str = "y") -> Any:
    """Labels or targets: whole numbers stay exact, all else is as it came.

    Edges: masked and missing ones are refused (NaN among floats by those who want numbers). Floats of 2**53 or more do
    not say which whole number they were, so callers of labels refuse them with :func:`check_labels`.
    """
    if type(y) is np.ndarray and y.dtype.kind != "O":
        check(y.dtype.kind != "c", f"Expected {name} to contain labels or real numbers, not complex ones.")
        return y
    check(not thin(y), f"Expected {name} to be a list, an array or a column of a table, not a sparse matrix.")
    _refuse_masks(y, name, MISSING)
    series = hasattr(y, "to_list") or hasattr(y, "to_pylist")  # pandas and polars; pyarrow
    values = cells.exact(y) if series and not hasattr(y, "column_names") else y
    if isinstance(values, list | tuple):
        try:
            np.shape(values)
        except ValueError:
            raise ValueError(RAGGED.format(name=name)) from None
    listed = values.ravel() if isinstance(values, np.ndarray) and values.dtype.kind == "O" else values
    if isinstance(listed, list | tuple | np.ndarray) and getattr(listed, "dtype", np.dtype(object)).kind == "O":
        check(not any(map(_missing, listed)), MISSING.format(name=name))
    elif (
        series and values is not y and not isinstance(getattr(y, "dtype", None), np.dtype) and values.dtype.kind == "f"
    ):
        check(not np.isnan(values).any(), MISSING.format(name=name))  # what is missing among whole numbers comes as NaN
    return values


def _missing(label: Any) -> bool:
    """None, NaN, and what pandas calls NA or NaT."""
    absent = label is None or type(label).__name__ in ("NAType", "NaTType")
    return absent or (isinstance(label, float) and math.isnan(label))


def check_labels(y: NDArray[Any]) -> None:
    """Refuse float labels of 2**53 or more: one label that is no whole number makes its column round all others."""
    near = y.dtype.kind != "f" or bool((np.abs(y) < cells.EXACT).all())
    check(near, "Expected labels that are floats to be below 2**53, where they are exact; use whole numbers or text.")


def _stored(dtype: np.dtype[Any]) -> type[np.floating[Any]]:
    return np.float32 if dtype == np.float32 else np.float64


def _array(X: Any) -> NDArray[Any]:
    """Whatever holds the numbers, as a plain array without a type chosen by the company of a cell."""
    _refuse_masks(X, "X")
    columns = _columns(X)
    if columns is not None:
        return _stacked(columns)
    try:
        array = np.asarray(X)
    except ValueError:
        raise ValueError(RAGGED.format(name="X")) from None
    if array.dtype.kind in "US" and isinstance(X, list | tuple):  # one text would have made text of all numbers
        array = np.array(X, dtype=object)
    return array


def _refuse_masks(values: Any, name: str, sentence: str = MASKED) -> None:
    parts = values if isinstance(values, list | tuple) else [values]
    masked = any(isinstance(part, np.ma.MaskedArray) and np.ma.is_masked(part) for part in parts)
    check(not masked, sentence.format(name=name))


def _columns(X: Any) -> list[Any] | None:
    """The columns of a pandas, polars or pyarrow table; None for anything else, and for pandas frames of one type."""
    if hasattr(X, "iloc") and getattr(X, "ndim", 0) == 2:
        kinds = set(X.dtypes)
        alike = len(kinds) == 1 and isinstance(next(iter(kinds)), np.dtype)
        return None if alike or not kinds else [X.iloc[:, place] for place in range(X.shape[1])]
    if hasattr(X, "get_columns"):
        return list(X.get_columns())
    return list(X.columns) if hasattr(X, "column_names") else None


def _stacked(columns: list[Any]) -> NDArray[Any]:
    parts = [dense(cells.exact(part)) for part in columns]
    kind: Any = np.float64 if not parts or any(part.dtype != np.float32 for part in parts) else np.float32
    rows = np.empty((len(parts[0]) if parts else 0, len(parts)), dtype=kind)
    for place, part in enumerate(parts):
        rows[:, place] = part
    return rows


def _parsed(array: NDArray[Any]) -> Array:
    """Objects and text as float64, each cell by itself; NaN where missing."""
    flat = array.ravel().tolist()
    check(not cells.unreadable(np.fromiter(flat, dtype=object)).any(), _NUMBERS)
    values = np.fromiter(map(cells.number, flat), np.float64, len(flat))
    strange = any(_strange(flat[place]) for place in np.flatnonzero(np.isnan(values)).tolist())
    if strange:
        raise TypeError("Every cell's argument must be a string or a real number; a cell of X is neither.")
    return values.reshape(array.shape)


def _strange(cell: Any) -> bool:
    """Whether a cell without a number is something else than missing."""
    missing = cell is None or isinstance(cell, str | bytes | float | np.floating) or type(cell).__name__ == "NAType"
    return not missing and cell is not np.ma.masked and not isinstance(cell, decimal.Decimal)


def _canonical_csr(X: Any) -> Any:
    """Any sparse matrix or array in canonical CSR."""
    check(
        X.ndim == 2, "Expected X to have two dimensions: one row per record, one column per feature. Reshape your data."
    )
    check(X.dtype.kind != "c", "Complex data not supported. Expected real numbers.")
    check(X.dtype.kind in "biuf", _NUMBERS)
    if X.format == "csc":
        _check_compressed(X, X.shape[0])
        X = X.tocsr()  # sorts, adds nothing up
    records, features = X.shape
    data, indices, starts = _compressed(X) if X.format == "csr" else _by_row(X.tocoo())
    falls = np.flatnonzero(indices[1:] <= indices[:-1]) + 1
    rising = bool((starts[np.searchsorted(starts, falls)] == falls).all())
    if not rising or np.count_nonzero(data) < len(data):
        data, indices, starts = _summed(data, indices, starts, rising)
    with np.errstate(over="ignore"):
        data = np.require(data, _stored(data.dtype), ["C", "A"])
    return sparse.csr_array((data, indices, starts), shape=(records, features))


def _compressed(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Values, columns and row starts of a CSR matrix whose arrays were checked, without what lies behind its end."""
    _check_compressed(X, X.shape[1])
    end = int(X.indptr[-1])
    return X.data[:end], X.indices[:end], X.indptr


def _check_compressed(X: Any, across: int) -> None:
    """Refuse a CSR or CSC matrix whose arrays were damaged: products would read or write outside of memory."""
    starts, indices = X.indptr, X.indices
    sound = len(starts) > 0 and starts[0] == 0 and bool((starts[1:] >= starts[:-1]).all())
    sound = sound and starts[-1] <= min(len(indices), len(X.data))
    check(sound and (not len(indices) or (indices.min() >= 0 and indices.max() < across)), _DAMAGED)


def _by_row(X: Any) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Triplets in the order of their rows, nothing added up."""
    rows, records = X.row, X.shape[0]
    inside = not len(rows) or (rows.min() >= 0 and rows.max() < records and X.col.min() >= 0)
    check(inside and (not len(rows) or X.col.max() < X.shape[1]), _DAMAGED)
    order = np.argsort(rows, kind="stable")
    return X.data[order], X.col[order], _starts(rows, records)


def _starts(rows: NDArray[Any], records: int) -> NDArray[np.intp]:
    return np.concatenate([np.zeros(1, dtype=np.intp), np.cumsum(np.bincount(rows, minlength=records))])


def _summed(
    data: NDArray[Any], indices: NDArray[Any], starts: NDArray[Any], rising: bool
) -> tuple[Array, NDArray[Any], NDArray[Any]]:
    """Sorted rows in which each column stands once and is not zero."""
    rows = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
    with np.errstate(over="ignore", invalid="ignore"):
        values = data.astype(np.float64)
        if not rising:  # equal columns end up side by side, their values in rising order
            order = np.lexsort((values, indices, rows))
            rows, indices, values = rows[order], indices[order], values[order]
        new = np.ones(len(values), dtype=bool)
        new[1:] = (indices[1:] != indices[:-1]) | (rows[1:] != rows[:-1])
        firsts = np.flatnonzero(new)
        sums = np.add.reduceat(values, firsts) if len(firsts) else values
    kept = sums != 0
    return sums[kept], indices[firsts][kept], _starts(rows[firsts][kept], len(starts) - 1)
