"""The rows that statistics look at: columns in memory, or of a table that is read again, a batch at a time.

A stage's sums are exact, and no person is in two batches: so the sums of batches, added up in any order, are those of
the whole table, to the last bit.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np

from tacit.checks import check, check_count
from tacit.data.cells import columns_of, kind_of
from tacit.data.people import UNDECLARED, People
from tacit.data.shares import Shares
from tacit.data.tables import Table
from tacit.data.texts import Texts, joined
from tacit.estimators.streaming import engine_of
from tacit.linear.streamed import Streamed, Taken, stream
from tacit.statistics.exact_sums import Sums
from tacit.statistics.unit import Unit, Whose
from tacit.streams.pieces import Piece
from tacit.streams.reader import Reader
from tacit.streams.scanned import Scan, Selected, is_stream, scan
from tacit.types import Array

Adds = Callable[[Mapping[str, Any], Unit], Sums]
"""What rows that count, and whose they are, give to a stage: a plain function of the columns, which may be sent."""
Read = Callable[[Any], Any]
"""What is made of a column's cells, each by itself."""


class Looked(Protocol):
    """Rows that are looked at, wherever they are."""

    @property
    def unit(self) -> Whose:
        """How many there are, and whose."""

    def add_up(self, adds: Adds) -> Sums:
        """The sums over all of them."""


@dataclass(frozen=True, eq=False, repr=False)
class InMemory:
    """Columns of the rows that count."""

    columns: Mapping[str, Any]
    unit: Unit

    def add_up(self, adds: Adds) -> Sums:
        """All at once."""
        return adds(self.columns, self.unit)


@dataclass(frozen=True, eq=False, repr=False)
class Scanned:
    """Columns that are read again for every stage."""

    records: Streamed
    unit: Whose

    def add_up(self, adds: Adds) -> Sums:
        """Piece by piece."""
        parts = self.records.each(Summing(self.records.changed.reader, adds))
        return reduce(Sums.plus, [part for part in parts if isinstance(part, Sums)])


@dataclass(frozen=True)
class Summing:
    """The task of a stage."""

    reader: Reader
    adds: Adds

    def __call__(self, piece: Piece, taken: Taken) -> Sums | None:
        """The sums over one piece; None where it has no rows."""
        total: Sums | None = None
        for chunk in self.reader.chunks(piece):
            sums = self.adds(chunk.rows.columns, unit_of(chunk.shares, len(chunk.targets)))
            total = sums if total is None else total.plus(sums)
        return total


def unit_of(shares: Shares, rows: int) -> Unit:
    """Whose the rows of a batch are, which come person after person."""
    if shares.starts is None:
        return Unit(rows)
    most = shares.most
    return Unit(rows, len(shares.starts), most, People(np.arange(rows), shares.starts, most))


@dataclass(frozen=True, eq=False)
class Batch:
    """Some rows, column by column."""

    columns: Mapping[str, Any]

    def __getitem__(self, rows: Any) -> Batch:
        return Batch({name: column[rows] for name, column in self.columns.items()})

    def plus(self, more: Batch) -> Batch:
        """These rows, and then those."""
        return Batch({name: _behind(column, more.columns[name]) for name, column in self.columns.items()})


def _behind(one: Any, other: Any) -> Any:
    if isinstance(one, Texts) and isinstance(other, Texts):
        return joined([one, other])
    first, second = np.asarray(one), np.asarray(other)
    if first.dtype.kind != second.dtype.kind:  # whole numbers beside floats would lose digits
        first, second = first.astype(object), second.astype(object)
    return np.concatenate([first, second])


@dataclass(frozen=True)
class Cells:
    """Named columns of a batch, each as it is read: ``reads`` has (what it is called, its name, how it is read)."""

    reads: tuple[tuple[str, str, Read], ...]

    def __call__(self, table: Table) -> Batch:
        """The columns."""
        cells = columns_of(table, [name for _, name, _ in self.reads])
        return Batch({called: read(column) for (called, _, read), column in zip(self.reads, cells, strict=True)})


@dataclass(frozen=True)
class NoTargets:
    """Nothing is predicted."""

    def __call__(self, table: Table) -> Array:
        """A row each, without numbers."""
        return np.zeros((len(next(iter(table.values()))), 0))


def look(given: Mapping[str, tuple[Any, Read]], groups: Any, rows_per_person: Any) -> Looked:
    """Columns by what they are called, and how each is read: all of them arrays, or all of one scan.

    Of a scan, what parts rows and whose they are may be told by the names of columns.
    """
    scans = [data for data, _ in given.values() if isinstance(data, Selected)]
    if not scans:
        check(not isinstance(groups, Selected), "Expected groups to be an array, as the data are.")
        columns = {called: read(data) for called, (data, read) in given.items()}
        lengths = {len(column) for column in columns.values()}
        check(len(lengths) == 1, "Expected by= to give one label for each row.")
        unit = Unit.of(len(next(iter(columns.values()))), groups, rows_per_person)
        return InMemory({called: unit.take(column) for called, column in columns.items()}, unit)
    table = scans[0].scan
    reads = tuple((called, name_in(table, data, called), read) for called, (data, read) in given.items())
    person = None if groups is None else name_in(table, groups, "groups")
    return look_through(table, reads, person, rows_per_person)


def selected(table: Any) -> Any:
    """All columns of files, folders, queries and scans, or those that were picked; everything else as it is."""
    if isinstance(table, Selected | np.ndarray) or not is_stream(table):
        return table
    found = table if isinstance(table, Scan) else scan(table)
    return Selected(found, found.names)


def look_at(table: Any, names: Sequence[str], groups: Any, rows_per_person: Any) -> tuple[Looked, dict[str, str]]:
    """Columns of a table as they are, and the kinds of their types: what they are without their cells."""
    if isinstance(table, Selected):
        person = None if groups is None else name_in(table.scan, groups, "groups")
        reads = tuple((name, name_in(table.scan, name, "the schema"), _as_it_is) for name in names)
        return look_through(table.scan, reads, person, rows_per_person), _types(table.scan, names)
    arrays = dict(zip(names, columns_of(table, names), strict=True))
    unit = Unit.of(len(arrays[names[0]]), groups, rows_per_person)
    return InMemory({n: unit.take(cells) for n, cells in arrays.items()}, unit), {n: kind_of(table[n]) for n in names}


def _as_it_is(cells: Any) -> Any:
    return cells


def _types(whole: Scan, names: Sequence[str]) -> dict[str, str]:
    """Of the first batch that there is: all pieces have the same."""
    batch = next(table for piece in whole.source.pieces if piece.rows for table in piece.tables(names))
    return {name: kind_of(batch[name]) for name in names}


def look_through(
    table: Scan, reads: tuple[tuple[str, str, Read], ...], person: str | None, rows_per_person: Any
) -> Scanned:
    """Columns of a scan; one pass counts the people first, where they have several rows."""
    Whose.check_declared(person, rows_per_person)
    if person is not None:
        check(rows_per_person is not None, UNDECLARED)
        rows_per_person = check_count("rows_per_person", rows_per_person)
    names = tuple(dict.fromkeys(name for _, name, _ in reads))
    reader = Reader(Cells(reads), NoTargets(), names, 0, 1.0, 0.0, 0, person, rows_per_person)
    Whose.checked(table.rows)
    records = stream(table.source, reader, engine_of(table.engine, table.source.pieces))
    persons = None if person is None else records.count
    return Scanned(records, Whose.checked(table.rows, persons, rows_per_person))


def name_in(table: Scan, data: Any, what: str) -> str:
    """The name of a scan's column: of one that was picked from it, or by itself."""
    if isinstance(data, Selected):
        check(data.scan is table and len(data.names) == 1, f"Expected {what} to be one column of the same scan.")
        return data.names[0]
    check(isinstance(data, str), f"Expected {what} to name a column: the table is not in memory.")
    check(data in table.names, f"The table has no column {data!r}, which {what} names.")
    return str(data)
