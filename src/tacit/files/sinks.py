"""Tables that are written a batch at a time, as CSV or Parquet: whole at the end, or not at all."""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, Protocol, TextIO

import numpy as np

from tacit.checks import check
from tacit.data.texts import Texts
from tacit.reading import Opened, opened_whole
from tacit.streams.opened import PARQUET

Columns = Mapping[str, Any]
"""Columns of equal length by name: arrays, lists, Arrow's, or texts."""


_SEPARATORS = ",;\t|"


class Sink(Protocol):
    """Takes a table, a batch after the other, all with the same columns."""

    def write(self, columns: Columns) -> None:
        """The next rows."""


class CsvSink:
    """Rows of text, after a line with the names."""

    def __init__(self, file: TextIO, separator: str = ",") -> None:
        self._file, self._separator = file, separator
        self._writer = csv.writer(file, lineterminator="\n", delimiter=separator)
        self._begun = False

    def write(self, columns: Columns) -> None:
        """The next rows."""
        if not self._begun:
            # Whoever reads the file may tell the separator by this line: no name may look as if it had one.
            quoted = any(sign in name for name in columns for sign in _SEPARATORS)
            names = csv.writer(
                self._file, lineterminator="\n", delimiter=self._separator,
                quoting=csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL,
            )  # fmt: skip
            names.writerow(columns)
            self._begun = True
        self._writer.writerows(zip(*map(_cells, columns.values()), strict=True))


class ParquetSink:
    """A row group a batch; the first one decides the types of the columns."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._writer: Any = None

    def write(self, columns: Columns) -> None:
        """The next rows."""
        import pyarrow
        from pyarrow import parquet

        arrays = {name: _arrow(column) for name, column in columns.items()}
        try:
            if self._writer is None:
                types = pyarrow.schema([(name, array.type) for name, array in arrays.items()])
                self._writer = parquet.ParquetWriter(self._file, types)
            types = self._writer.schema
            cells = [arrays[entry.name].cast(entry.type) for entry in types]
            self._writer.write_table(pyarrow.table(cells, schema=types))
            return
        except pyarrow.ArrowException:
            pass
        raise ValueError(
            f"One of the columns {', '.join(columns)} changes its type within the table, or has one that Parquet does "
            "not. Write CSV instead."
        )

    def close(self) -> None:
        """Write the end of the file."""
        if self._writer is not None:
            self._writer.close()


@contextmanager
def table_sink(path: str | Path, separator: str = ",", opened: Opened = opened_whole) -> Iterator[Sink]:
    """A sink into a file: Parquet where its name says so, else CSV, compressed where that ends in .gz. The file appears
    once the block has ended well. ``opened``: what opens the file, where several are to appear together.
    """
    name = str(path).lower()
    check(
        not name.endswith((*(f"{kind}.gz" for kind in PARQUET), ".bz2", ".xz")),
        "Tables are written as .csv, .csv.gz or .parquet.",
    )
    with opened(path) as file:
        if not name.endswith(PARQUET):
            with _packed(file, name) as raw, io.TextIOWrapper(raw, encoding="utf-8", newline="") as text:
                yield CsvSink(text, separator)
            return
        try:
            import pyarrow  # noqa: F401
        except ImportError as error:
            raise ValueError("Writing Parquet needs pyarrow. In Tacit's source: pip install '.[parquet]'") from error
        sink = ParquetSink(file)
        try:
            yield sink
        except BaseException:
            with suppress(Exception):  # the file goes anyway; what is left open would complain later
                sink.close()
            raise
        sink.close()


@contextmanager
def _packed(file: BinaryIO, name: str) -> Iterator[BinaryIO]:
    """The file, or what compresses into it; neither the name nor the time is written there."""
    if not name.endswith(".gz"):
        yield file
        return
    with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
        yield packed  # type: ignore[misc]


def _cells(column: Any) -> list[Any]:
    """A column's cells as they stand."""
    for way in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, way):
            return list(getattr(column, way)())
    return list(column)


def _arrow(column: Any) -> Any:
    """A column as Arrow's; texts are not kept as a dictionary, for that may be another one in the next batch."""
    import pyarrow

    found = column.cells if isinstance(column, Texts) else column
    if isinstance(found, np.ndarray) and found.dtype.kind not in "biufM":
        found = found.tolist()
    if not isinstance(found, pyarrow.Array | pyarrow.ChunkedArray):
        found = pyarrow.array(found)
    if isinstance(found, pyarrow.ChunkedArray):
        found = found.combine_chunks()
    return found.dictionary_decode() if isinstance(found, pyarrow.DictionaryArray) else found
