"""How a batch of a table becomes numbers: rows, targets, whose rows they are, and how much they count.

A reader is a plain object, which is sent to wherever a piece is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data import tables
from tacit.data.curator import of_a_batch
from tacit.data.people import people_of
from tacit.data.shares import Shares
from tacit.data.tables import Table
from tacit.schema import Schema
from tacit.streams.named import UNSORTED, Names, Span
from tacit.streams.pieces import Piece
from tacit.types import Array

CHANGED = (
    "{key} changed while it was read: its people are not those that were counted. Give a table that does not change."
)


@dataclass(frozen=True)
class NumberRows:
    """The named columns, as they are."""

    names: tuple[str, ...]

    def __call__(self, table: Table) -> Array:
        """The rows."""
        return tables.numbers(table, self.names)


@dataclass(frozen=True)
class SchemaRows:
    """Rows as a schema encodes them; ``padding`` columns of zeros behind them."""

    schema: Schema
    clip: float
    padding: int = 0

    @property
    def names(self) -> tuple[str, ...]:
        """The columns that the schema reads."""
        return self.schema.names

    def __call__(self, table: Table) -> Array:
        """The rows."""
        with of_a_batch():
            rows = self.schema.encode(table, self.clip)
        return np.hstack([rows, np.zeros((len(rows), self.padding))]) if self.padding else rows


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows, targets, and how much each row counts; no person is in two chunks."""

    rows: Any
    targets: Array
    shares: Shares


@dataclass(frozen=True)
class Reader:
    """From tables to chunks.

    ``encode`` gives rows of ``features`` numbers, or whatever else can be sliced and has a method ``plus``. ``answer``
    gives targets of ``outputs`` numbers, ``names`` are the columns that both read. ``person`` names the column of whose
    row it is, ``weight`` that of how much it counts, up to ``weight_bound``; ``factor`` gives a further weight for each
    row from its targets.
    """

    encode: Callable[[Table], Any]
    answer: Callable[[Table], Array]
    names: tuple[str, ...]
    features: int
    clip: float
    intercept: float
    outputs: int = 1
    person: str | None = None
    rows_per_person: int | None = None
    weight: str | None = None
    weight_bound: float = 1.0
    factor: Callable[[Array], Array] | None = field(default=None, repr=False)

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read."""
        own = [name for name in (self.person, self.weight) if name is not None]
        return tuple(dict.fromkeys([*self.names, *own]))

    @property
    def weighted(self) -> bool:
        """Whether rows have weights of their own."""
        return self.weight is not None or self.factor is not None

    def chunks(self, piece: Piece) -> Iterator[Chunk]:
        """The rows of a piece, a batch at a time; a person's are held back until the next person's begin."""
        held: _Read | None = None
        span: Span | None = None
        for table in piece.tables(self.columns):
            read = self._read(piece, table)
            if read.people is None:
                yield self._chunk(read)
                continue
            span = Span.of(read.people).follow(span, piece.key, self.person or "")
            read = read if held is None else held.plus(read)
            last = int(read.people.starts[-1])  # type: ignore[union-attr]
            if last:
                yield self._chunk(read.part(slice(0, last)))
            held = read.part(slice(last, None))
        # Else somebody may be in two pieces, or be counted as several people.
        check(not isinstance(piece, Joined) or span == piece.people, CHANGED.format(key=piece.key))
        if held is not None:
            yield self._chunk(held)

    def nothing(self) -> Chunk:
        """A chunk without rows."""
        starts = None if self.person is None else np.zeros(0, dtype=np.intp)
        weights = np.zeros(0) if self.weighted or self.person is not None else None
        shares = Shares(weights, starts, self.rows_per_person, self.weighted)
        return Chunk(np.zeros((0, self.features)), np.zeros((0, self.outputs)), shares)

    def persons(self, piece: Piece) -> Span | None:
        """The people of a piece, from their column alone; None where it has no rows."""
        span: Span | None = None
        for table in piece.tables([self.person or ""]):
            span = Span.of(self._names(piece, table)).follow(span, piece.key, self.person or "")
        return span

    def _read(self, piece: Piece, table: Table) -> _Read:
        try:
            rows, targets = self.encode(table), self.answer(table)
            weights = None
            if self.weight is not None:
                check(self.weight in table, f"There is no column {self.weight!r}.")
                weights = _weights(tables.numbers(table, [self.weight])[:, 0], self.weight_bound)
        except ValueError as error:
            sentence = str(error)
        else:
            if self.factor is not None:
                factors = self.factor(targets)
                weights = factors if weights is None else weights * factors
            names = None if self.person is None else self._names(piece, table)
            return _Read(rows, targets, names, weights)
        raise ValueError(f"{piece.key}: {sentence}")

    def _names(self, piece: Piece, table: Table) -> Names:
        check(self.person in table, f"{piece.key}: there is no column {self.person!r}.")
        names = Names.of(table[self.person or ""], f"{piece.key}: column {self.person!r}")
        check(any(names.orders), UNSORTED.format(key=piece.key, person=self.person))
        return names

    def _chunk(self, read: _Read) -> Chunk:
        if read.people is None:
            return Chunk(read.rows, read.targets, Shares.of(None, read.weights))
        people = people_of(read.people.cells, len(read.targets), self.rows_per_person)
        weights = None if read.weights is None else read.weights[people.rows]
        return Chunk(read.rows[people.rows], read.targets[people.rows], Shares.of(people, weights))


@dataclass(frozen=True, eq=False)
class _Read:
    """What was read of a batch."""

    rows: Any
    targets: Array
    people: Names | None
    weights: Array | None

    def part(self, rows: slice) -> _Read:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        people = None if self.people is None else self.people.part(rows)
        return _Read(self.rows[rows], self.targets[rows], people, weights)

    def plus(self, more: _Read) -> _Read:
        """These rows, and then those."""
        assert self.people is not None  # for the type checker, here and below
        assert more.people is not None
        weights = None if self.weights is None or more.weights is None else np.append(self.weights, more.weights)
        both = self.rows.plus(more.rows) if hasattr(self.rows, "plus") else np.vstack([self.rows, more.rows])
        return _Read(both, np.vstack([self.targets, more.targets]), self.people.plus(more.people), weights)


def _weights(weights: Array, bound: float) -> Array:
    check(bool(weights.min(initial=0.0) >= 0), "Expected weights of 0 or more, found a negative one.")
    return np.minimum(weights / bound, 1.0)


@dataclass(frozen=True)
class Joined:
    """Pieces that are read as one, as far as a person's rows are in several, and the people that were counted there."""

    parts: tuple[Piece, ...]
    people: Span

    @property
    def key(self) -> str:
        """The first's, and the last's."""
        return self.parts[0].key if len(self.parts) == 1 else f"{self.parts[0].key} to {self.parts[-1].key}"

    @property
    def rows(self) -> int:
        """Of all."""
        return sum(part.rows for part in self.parts)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """One after the other."""
        for part in self.parts:
            yield from part.tables(columns)
