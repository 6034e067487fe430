"""The contract of a source: pieces that can be read by themselves, again and again, and what all of them share."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

from tacit.checks import check
from tacit.data.delimited import BATCH
from tacit.data.tables import Table
from tacit.streams.watching import batch_done

__all__ = ["BATCH", "Piece", "Source", "counted", "file_faults", "kept", "query_faults", "slices"]


class Piece(Protocol):
    """A part of a table that can be read by itself, as often as one likes, in this process or another.

    A piece is sent to other processes by pickling it; one that cannot be sent says why.
    """

    @property
    def key(self) -> str:
        """What sentences call it: a file's name and row groups, "partition 3". No two of a source have the same."""

    @property
    def rows(self) -> int:
        """How many rows it has."""

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, 1 to BATCH at a time, as columns by name; ``columns`` names those to read.

        A name that the piece lacks is left out. The batches have as many rows together as ``rows`` says, or the last
        of them is followed by a ValueError.
        """


@dataclass(frozen=True)
class Source:
    """A table in pieces, whose columns have these names; ``width``: numbers in a row, where rows come as arrays.

    ``types``: those of columns, as words, where files say so before they are read.
    """

    pieces: tuple[Piece, ...]
    names: tuple[str, ...]
    width: int = 0
    types: Mapping[str, str] = field(default_factory=dict, repr=False, compare=False)

    def __post_init__(self) -> None:
        keys = [piece.key for piece in self.pieces]
        check(len(set(keys)) == len(keys), "Expected every piece of a source only once.")

    @property
    def rows(self) -> int:
        """Rows of all pieces."""
        return sum(piece.rows for piece in self.pieces)


def kept(names: Iterable[str], columns: Sequence[str] | None) -> list[str]:
    """The names that are asked for, in the order of the table."""
    return [name for name in names if columns is None or name in columns]


def counted(key: str, rows: int, tables: Iterable[Table]) -> Iterator[Table]:
    """The tables that have rows, if they have as many together as was said.

    A file that changed, or a query that draws at random, gives other records in every pass: no sum over several passes
    is then a sum over one table.
    """
    sentence = f"{key} has another number of rows than when it was opened. Give a table that does not change."
    seen = 0
    for table in tables:
        size = len(next(iter(table.values()), ()))
        seen += size
        check(seen <= rows, sentence)
        if size:
            yield table
            batch_done(size)
    check(seen == rows, sentence)


def slices(table: Any, names: Sequence[str], rows: int) -> Iterator[Table]:
    """The columns of a table in memory, BATCH rows at a time; nothing is copied."""
    columns = {name: table[name] for name in names}
    for start in range(0, rows, BATCH):
        part = slice(start, min(start + BATCH, rows))
        yield {name: column.iloc[part] if hasattr(column, "iloc") else column[part] for name, column in columns.items()}


@contextmanager
def file_faults(key: str, kind: str) -> Iterator[None]:
    """What goes wrong in reading a columnar file, as a sentence that names it and quotes nothing of it.

    Edges: the operating system's own errors (no permission, no such file) stay what they are, with the name.
    """
    import pyarrow

    number, refused = None, OSError
    try:
        yield
        return
    except pyarrow.ArrowException:
        pass
    except OSError as error:
        number, refused = error.errno, type(error)
    if number is None:
        raise ValueError(f"{key} is not a readable {kind} file, or it was cut off.") from None
    raise refused(number, os.strerror(number), key) from None


@contextmanager
def query_faults(key: str) -> Iterator[None]:
    """What goes wrong in another library's query; its own sentence may quote a cell, so only its kind is told."""
    try:
        yield
        return
    except Exception as error:
        kind = type(error).__name__
    raise ValueError(f"{key} could not be computed: {kind}. Run the query by itself to see why.") from None
