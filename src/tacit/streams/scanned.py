"""``tacit.scan``: a table that is read again for every pass, with the schema that says what its cells mean."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import check
from tacit.data.origins import note_origin, releases_behind
from tacit.data.tables import Table
from tacit.schema import Schema
from tacit.settings import described
from tacit.streams.opened import is_source, open_source
from tacit.streams.partitions import is_dask
from tacit.streams.pieces import BATCH, Source, counted, kept

ROWS, TARGETS, PEOPLE, WEIGHTS = "rows", "targets", "people", "weights"
"""What the columns of arrays are called."""
LARGE = 2**28
"""Bytes of an array on disk from which on it is not taken into memory."""


@dataclass(frozen=True)
class Scan:
    """A source of rows, and how to read it: made by :func:`scan`, taken by ``fit`` in the place of X.

    ``engine``: who reads and adds up; None is this process.
    """

    source: Source
    schema: Schema | None = None
    engine: Any = field(default=None, repr=False)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return self.source.rows

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return self.source.names

    def __getitem__(self, names: str | Sequence[str]) -> Selected:
        """One column, or several: what statistics, and ``fit``, take in the place of arrays."""
        listed = (names,) if isinstance(names, str) else tuple(names)
        absent = sorted(set(listed) - set(self.names))
        check(listed and not absent, f"The table has no columns {absent}." if absent else "Name at least one column.")
        check(len(set(listed)) == len(listed), "Expected every column only once.")
        return Selected(self, listed)


@dataclass(frozen=True)
class Selected:
    """Columns of a scan; nothing of them is read before somebody adds up."""

    scan: Scan
    names: tuple[str, ...]

    def __len__(self) -> int:
        return self.scan.rows


@described
@checked
def scan(
    thing: Any,
    schema: Schema | None = None,
    *,
    separator: str | None = None,
    decimal: str = ".",
    encoding: str = "utf-8",
    engine: Any = None,
) -> Scan:
    """Rows to train on or score that need not fit into memory: files, folders, Arrow, polars, DuckDB and Dask tables.

    Parameters
    ----------
    thing : path, pattern, list of paths, table or query
        What to read.
    schema : Schema or None
        The bounds and categories of the columns. Without one, all columns but the target must be numbers.
    separator : str or None
        The separator of CSV files, where it is not a comma.
    decimal : str
        The decimal mark of CSV files.
    encoding : str
        The encoding of CSV files.
    engine : 'dask', a client of dask.distributed, or None
        What reads the rows and adds them up on a cluster.
    """
    check(schema is None or isinstance(schema, Schema), "Expected schema to be a tacit.Schema.")
    source = open_source(thing, separator=separator, decimal=decimal, encoding=encoding)
    note_origin(source, releases_behind(thing))
    return Scan(source, schema, engine)


def is_stream(X: Any) -> bool:
    """Whether a fit should read this again and again rather than take it as rows in memory."""
    on_disk = isinstance(X, np.memmap) and X.nbytes > LARGE
    return on_disk or isinstance(X, Scan | Selected) or is_source(X) or is_dask(X, "Array")


def check_in_memory(X: Any, sentence: str) -> None:
    """Refuse what is not in memory, with a sentence that says what to do; an array on disk is as one in memory."""
    check(isinstance(X, np.ndarray) or not is_stream(X), sentence)


@dataclass(frozen=True, eq=False)
class ArrayPiece:
    """Consecutive rows of arrays that lie on disk."""

    arrays: dict[str, Any]
    start: int
    stop: int

    @property
    def key(self) -> str:
        """Its rows."""
        return f"rows {self.start:,} to {self.stop:,}"

    @property
    def rows(self) -> int:
        """How many."""
        return self.stop - self.start

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """A batch at a time."""
        return counted(self.key, self.rows, self._read(kept(self.arrays, columns)))

    def _read(self, names: Sequence[str]) -> Iterator[Table]:
        for start in range(self.start, self.stop, BATCH):
            stop = min(start + BATCH, self.stop)
            yield {name: self.arrays[name][start:stop] for name in names}


def array_source(X: Any, y: Any, groups: Any = None, weights: Any = None) -> Source:
    """Rows and targets that are arrays, on disk perhaps, in pieces."""
    given = {ROWS: X, TARGETS: y, PEOPLE: groups, WEIGHTS: weights}
    arrays = {name: array for name, array in given.items() if array is not None}
    rows = len(X)
    check(all(len(array) == rows for array in arrays.values()), "Expected one target, person and weight for each row.")
    step = 16 * BATCH
    pieces = tuple(ArrayPiece(arrays, start, min(start + step, rows)) for start in range(0, rows, step))
    return Source(pieces, tuple(arrays), int(X.shape[1]))
