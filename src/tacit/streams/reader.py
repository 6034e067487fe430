"""How a batch of a table becomes numbers: rows, targets, whose rows they are, and how much they count.

A reader is a plain object, which is sent to wherever a piece is read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data import cells, tables
from tacit.data.curator import of_a_batch
from tacit.data.people import people_of
from tacit.data.shares import Shares
from tacit.data.tables import Table
from tacit.data.texts import Texts
from tacit.schema import Schema
from tacit.streams.pieces import Piece
from tacit.types import Array

UNSORTED = (
    "{key}: the rows of a person must follow one another. Sort the table by the column {person!r}, and give its files "
    "in that order; whole numbers by their value, everything else as text."
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
        for table in piece.tables(self.columns):
            read = self._read(piece, table)
            if read.people is None:
                yield self._chunk(read)
                continue
            if held is not None:
                check(bool(held.people[-1] <= read.people[0]), self._unsorted(piece))  # type: ignore[index]
                read = held.plus(read)
            last = int(np.searchsorted(read.people, read.people[-1]))  # type: ignore[arg-type, index]
            if last:
                yield self._chunk(read.part(slice(0, last)))
            held = read.part(slice(last, None))
        if held is not None:
            yield self._chunk(held)

    def nothing(self) -> Chunk:
        """A chunk without rows."""
        starts = None if self.person is None else np.zeros(0, dtype=np.intp)
        weights = np.zeros(0) if self.weighted or self.person is not None else None
        shares = Shares(weights, starts, self.rows_per_person, self.weighted)
        return Chunk(np.zeros((0, self.features)), np.zeros((0, self.outputs)), shares)

    def persons(self, piece: Piece) -> tuple[int, Any, Any]:
        """How many people a piece has, and the first and last of them: from their column alone."""
        count, first, last = 0, None, None
        for table in piece.tables([self.person or ""]):
            names = self._names(piece, table)
            check(last is None or bool(last <= names[0]), self._unsorted(piece))
            count += int((names[1:] != names[:-1]).sum()) + (last is None or bool(last != names[0]))
            first, last = names[0] if first is None else first, names[-1]
        return count, first, last

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

    def _names(self, piece: Piece, table: Table) -> NDArray[Any]:
        assert self.person is not None  # for the type checker
        check(self.person in table, f"{piece.key}: there is no column {self.person!r}.")
        found = table[self.person]
        untyped = isinstance(found, Texts)  # of a CSV file: what are numbers elsewhere is text here
        column = found if untyped else cells.exact(found)
        texts = column.dtype.kind not in "biu"
        names = np.array([_ordered(cell, untyped) for cell in column.tolist()]) if texts else column
        check(not texts or bool((names != "").all()), f"{piece.key}: column {self.person!r} names nobody in some rows.")
        check(bool((names[:-1] <= names[1:]).all()), self._unsorted(piece))
        return names

    def _unsorted(self, piece: Piece) -> str:
        return UNSORTED.format(key=piece.key, person=self.person)

    def _chunk(self, read: _Read) -> Chunk:
        if read.people is None:
            return Chunk(read.rows, read.targets, Shares.of(None, read.weights))
        people = people_of(read.people, len(read.people), self.rows_per_person)
        weights = None if read.weights is None else read.weights[people.rows]
        return Chunk(read.rows[people.rows], read.targets[people.rows], Shares.of(people, weights))


@dataclass(frozen=True, eq=False)
class _Read:
    """What was read of a batch."""

    rows: Any
    targets: Array
    people: NDArray[Any] | None
    weights: Array | None

    def part(self, rows: slice) -> _Read:
        """Some of the rows."""
        weights = None if self.weights is None else self.weights[rows]
        return _Read(self.rows[rows], self.targets[rows], None if self.people is None else self.people[rows], weights)

    def plus(self, more: _Read) -> _Read:
        """These rows, and then those."""
        assert self.people is not None  # for the type checker, here and below
        assert more.people is not None
        weights = None if self.weights is None or more.weights is None else np.append(self.weights, more.weights)
        people = np.concatenate([self.people, more.people])
        both = self.rows.plus(more.rows) if hasattr(self.rows, "plus") else np.vstack([self.rows, more.rows])
        return _Read(both, np.vstack([self.targets, more.targets]), people, weights)


def _ordered(cell: Any, numerals: bool) -> str:
    """A person's name, in the order of texts; ``numerals``: whole numbers among them are in the order of numbers."""
    text = cells.text_of(cell)
    return f"{text:0>20} {text}" if numerals and text.isdecimal() and text.isascii() else text


def _weights(weights: Array, bound: float) -> Array:
    check(bool(weights.min(initial=0.0) >= 0), "Expected weights of 0 or more, found a negative one.")
    return np.minimum(weights / bound, 1.0)


@dataclass(frozen=True)
class Joined:
    """Pieces that are read as one, because a person's rows are in several."""

    parts: tuple[Piece, ...]

    @property
    def key(self) -> str:
        """The first's, and the last's."""
        return f"{self.parts[0].key} to {self.parts[-1].key}"

    @property
    def rows(self) -> int:
        """Of all."""
        return sum(part.rows for part in self.parts)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """One after the other."""
        for part in self.parts:
            yield from part.tables(columns)
