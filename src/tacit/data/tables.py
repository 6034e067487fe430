"""Tables from files: CSV by the standard library, Parquet by pyarrow where it is installed.

Cells come as they stand; what they mean is the schema's affair. No sentence here quotes a cell.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data import cells
from tacit.types import Array

Table = Mapping[str, Any]
_PARQUET = (".parquet", ".pq")
_LONGEST = 2**20
_OTHER_SEPARATORS = {";": "';'", "\t": "a tab"}


def read_table(path: str | Path, columns: Sequence[str] | None = None) -> Table:
    """Named columns of equal length from a ``.parquet`` file or, whatever else its name, a CSV file with a header.

    ``columns`` names the ones to keep; None keeps all, and a name that the file lacks is left out.

    Edges: blank lines are skipped; a row with a cell too many or too few, a name given twice, no header, no rows, or
    text that is not UTF-8 raises a sentence.
    """
    table = _read_parquet(path, columns) if Path(path).suffix.lower() in _PARQUET else _read_csv(path, columns)
    check(not table or len(next(iter(table.values()))), f"{Path(path).name} has no rows.")
    return table


def numbers(table: Table, names: Sequence[str]) -> Array:
    """The named columns as one matrix of finite float64."""
    check(names, "Expected at least one column beside the target.")
    matrix = np.empty((len(table[names[0]]), len(names)))
    for position, name in enumerate(names):
        column = cells.exact(table[name])
        dates = column.dtype.kind not in "biufOUST"
        matrix[:, position] = np.nan if dates else cells.numbers(column)
        check(
            np.isfinite(matrix[:, position]).all(),
            f"Column {name!r} has cells that are not finite numbers (a decimal comma? a unit in the cell?). Correct "
            "them, describe the column in a schema, or leave it out.",
        )
    return matrix


def _read_csv(path: str | Path, columns: Sequence[str] | None) -> Table:
    name = Path(path).name
    csv.field_size_limit(_LONGEST)
    with Path(path).open(encoding="utf-8-sig", newline="") as file:
        reader = csv.reader(file, skipinitialspace=True)
        try:
            header = [cell.strip() for cell in next(reader, [])]
            check(header, f"{name} is empty: expected a line with the names of the columns.")
            check(len(set(header)) == len(header), f"{name} gives the same name to two columns in its first line.")
            for sign, words in _OTHER_SEPARATORS.items():
                whole = len(header) == 1 and sign in header[0] and header[0] not in (columns or ())
                check(not whole, f"{name} has one column only. Is the separator {words}? Save it with commas.")
            kept = [position for position, column in enumerate(header) if columns is None or column in columns]
            cells: list[list[str]] = [[] for _ in kept]
            for row in reader:
                if not row:
                    continue
                check(
                    len(row) == len(header),
                    f"Line {reader.line_num} of {name} has {len(row)} cells, but its first line names {len(header)}.",
                )
                for column, position in zip(cells, kept, strict=True):
                    column.append(row[position])
        except UnicodeDecodeError as error:
            raise ValueError(f"{name} is not UTF-8 text. Save it as UTF-8, or as Parquet.") from error
        except csv.Error as error:
            raise ValueError(f"{name} is not a readable CSV file, at line {reader.line_num}.") from error
    return {header[position]: column for position, column in zip(kept, cells, strict=True)}


def _read_parquet(path: str | Path, columns: Sequence[str] | None) -> Table:
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise ValueError("Reading Parquet needs pyarrow. Install it with: pip install 'tacit[parquet]'") from error
    try:
        with Path(path).open("rb") as file:
            source = parquet.ParquetFile(file)
            present = source.schema_arrow.names
            check(len(set(present)) == len(present), f"{Path(path).name} gives the same name to two columns.")
            table = source.read(columns=[name for name in present if columns is None or name in columns])
    except pyarrow.ArrowException as error:
        raise ValueError(f"{Path(path).name} is not a readable Parquet file.") from error
    return {name: table[name] for name in table.column_names}
