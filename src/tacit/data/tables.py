"""Tables from files, whole: CSV, and Parquet where pyarrow is installed.

Cells come as they stand; what they mean is the schema's affair. No sentence here quotes a cell.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data import cells
from tacit.data.delimited import Dialect, batches, header_of
from tacit.data.texts import Texts, joined
from tacit.types import Array

Table = Mapping[str, Any]
_PARQUET = (".parquet", ".pq")
_FLOATS = ("float", "double")


def read_table(
    path: str | Path,
    columns: Sequence[str] | None = None,
    *,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
) -> Table:
    """Named columns of equal length from a ``.parquet`` file or, whatever else its name, a CSV file with a header.

    ``columns`` names the ones to keep; None keeps all, and a name that the file lacks is left out. ``separator`` (by
    default a comma, or what the first line shows), ``decimal`` and ``encoding`` are those of a CSV file, which may be
    compressed by gzip, bzip2 or xz.

    Edges: blank lines are skipped; a row with a cell too many or too few, a name given twice, no header, no rows, or
    text that is not in the encoding raises a sentence.
    """
    dialect = Dialect(separator, decimal, encoding)
    check_regular(path)
    parquet = Path(path).suffix.lower() in _PARQUET
    table = _read_parquet(path, columns) if parquet else _read_csv(path, columns, dialect)
    check(not table or len(next(iter(table.values()))), f"{Path(path).name} has no rows.")
    return table


def check_regular(path: str | Path) -> None:
    """Refuse pipes and devices: the names of columns are read first, and then the file from its start again.

    What is not there, and folders, are left to whoever opens them.
    """
    place = Path(path)
    other = place.exists() and not place.is_file() and not place.is_dir()
    check(not other, f"{path} is a pipe or a device, and tables are read more than once. Write it to a file first.")


def numbers(table: Table, names: Sequence[str]) -> Array:
    """The named columns as one matrix of finite float64."""
    check(names, "Expected at least one column in addition to the target.")
    absent = [name for name in names if name not in table]
    check(not absent, f"The table lacks the columns {absent}.")
    columns = [_finite(name, table[name]) for name in names]
    matrix = np.empty((len(columns[0]), len(columns)), order="F")  # as tables lie in memory: one column after the other
    for position, column in enumerate(columns):
        matrix[:, position] = column
    return matrix


def _finite(name: str, column: Any) -> NDArray[Any]:
    """One column as finite numbers, of whatever width."""
    if str(getattr(column, "type", "")) in _FLOATS:  # Arrow's: a cell that is missing comes as NaN
        values: NDArray[Any] = np.asarray(column)
    else:
        array: Any = column if isinstance(column, Texts) else cells.exact(column)  # with its decimal mark
        dates = array.dtype.kind not in "biufOUST"
        values = np.full(len(array), np.nan) if dates else cells.numbers(array)
    check(
        np.isfinite(values).all(),
        f"Column {name!r} has cells that are not finite numbers. {cells.WHY_NO_NUMBER} Correct them, describe the "
        "column in a schema, or leave it out.",
    )
    return values


def _read_csv(path: str | Path, columns: Sequence[str] | None, dialect: Dialect) -> Table:
    parts = list(batches(path, dialect, columns))
    if not parts:
        return {name: [] for name in header_of(path, dialect, columns or ()) if columns is None or name in columns}
    return {name: joined([part[name] for part in parts]) for name in parts[0]}


def _read_parquet(path: str | Path, columns: Sequence[str] | None) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError("Reading Parquet needs pyarrow. In Tacit's source: pip install '.[parquet]'") from error
    try:
        with Path(path).open("rb") as file:
            source = parquet.ParquetFile(file)
            present = source.schema_arrow.names
            check(len(set(present)) == len(present), f"{Path(path).name} gives the same name to two columns.")
            table = source.read(columns=[name for name in present if columns is None or name in columns])
    except pyarrow.ArrowException as error:
        raise ValueError(f"{Path(path).name} is not a readable Parquet file.") from error
    return {name: table[name] for name in table.column_names}
