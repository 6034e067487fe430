"""Dask's data frames, series and arrays as pieces of a source: a partition, or a chunk of rows, each.

Partitions are those of the collection as it is: which there are after a column was taken is Dask's choice, and one that
was counted under one choice and read under another would be read twice, or never.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table
from tacit.streams.frames import names_of
from tacit.streams.pieces import Piece, Source, counted, kept, query_faults, slices
from tacit.streams.reader import Joined

_UNEQUAL = "Expected y, groups and sample_weight in partitions of the same sizes as those of X."


@dataclass(frozen=True, eq=False)
class PartitionPiece:
    """A partition of one Dask collection, or of several side by side, which is worked out in every pass.

    ``keys`` name what is asked for of ``tasks``, Dask's graph, which all pieces share; ``columns`` says what each is: a
    column of this name, or None: a frame with columns of its own.
    """

    tasks: Mapping[Any, Any] = field(repr=False)
    keys: tuple[Any, ...]
    columns: tuple[str | None, ...]
    names: tuple[str, ...]
    rows: int
    key: str

    def __reduce__(self) -> tuple[Any, ...]:
        cull: Any = import_module("dask.optimization").cull
        own = cull(dict(self.tasks), list(self.keys))[0] if self.tasks else {}  # its tasks and no others
        return PartitionPiece, (own, self.keys, self.columns, self.names, self.rows, self.key)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time; the whole partition is in memory meanwhile."""
        dask: Any = import_module("dask")
        one: Any = import_module("dask.delayed").Delayed
        with query_faults(self.key):
            found = dask.compute(*(one(key, self.tasks) for key in self.keys))
        yield from self.at_hand(iter(found)).tables(columns)

    def hollow(self) -> PartitionPiece:
        """Without the tasks: for where their results are given."""
        return replace(self, tasks={})

    def at_hand(self, found: Iterator[Any]) -> ComputedPiece:
        """The piece with the results of its tasks, which it takes from those that are given."""
        table: dict[str, Any] = {}
        for column in self.columns:
            value = next(found)
            table |= {name: value[name] for name in value.columns} if column is None else {column: value}
        return ComputedPiece(table, self.names, self.rows, self.key)


@dataclass(frozen=True, eq=False)
class ComputedPiece:
    """A partition that was worked out."""

    table: Table = field(repr=False)
    names: tuple[str, ...]
    rows: int
    key: str

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time."""
        sizes = {len(column) for column in self.table.values()}
        check(len(sizes) == 1, f"{self.key}: {_UNEQUAL}")
        return counted(self.key, self.rows, slices(self.table, kept(self.names, columns), sizes.pop()))


def partitions(piece: Piece) -> list[PartitionPiece]:
    """The partitions that a piece is made of, if any."""
    parts = piece.parts if isinstance(piece, Joined) else (piece,)
    return [part for part in parts if isinstance(part, PartitionPiece)]


def hollow(piece: Piece) -> Piece:
    """The piece without what its partitions are made by."""
    if isinstance(piece, Joined):
        return replace(piece, parts=tuple(hollow(part) for part in piece.parts))
    return piece.hollow() if isinstance(piece, PartitionPiece) else piece


def filled(piece: Piece, found: Iterator[Any]) -> Piece:
    """A hollow piece with the results of its partitions' tasks, in their order."""
    if isinstance(piece, Joined):
        return replace(piece, parts=tuple(filled(part, found) for part in piece.parts))
    return piece.at_hand(found) if isinstance(piece, PartitionPiece) else piece


def partition_source(frame: Any) -> Source:
    """A source from a Dask data frame: a piece a partition, whose rows are counted in one pass."""
    return _source([(None, frame)], names_of(frame.columns))


def is_dask(thing: Any, *names: str) -> bool:
    """Whether this is a Dask collection of one of these classes, which are not imported to find out."""
    found = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(thing).__mro__}
    return any(("dask", name) in found for name in names)


def collection_source(X: Any, rows: str, beside: Mapping[str, Any]) -> Source:
    """A source from a Dask array, in a column called ``rows``, or a frame, with further columns ``beside`` it.

    Those are Dask series, or arrays, which are cut where X is.
    """
    array = is_dask(X, "Array")
    if array:
        check(X.ndim == 2, "Expected X to have two dimensions.")
        X = X.rechunk({1: -1})
    columns = [(name, _beside(other, X if array else None)) for name, other in beside.items()]
    names = (rows,) if array else names_of(X.columns)
    clash = set(names) & set(beside)
    check(not clash, f"Rename the column {min(clash, default='')!r} of X: Tacit uses this name itself.")
    found = _source([(rows if array else None, X), *columns], (*names, *beside))
    check(found.rows, "The table has no rows.")
    return replace(found, width=int(X.shape[1])) if array else found


def _beside(other: Any, X: Any) -> Any:
    if is_dask(other, "Series"):
        return other
    check(not is_dask(other, "DataFrame"), "Expected y, groups and sample_weight as one column each, not as a frame.")
    check(X is not None, "Expected y, groups and sample_weight as names of columns or Dask series, as X is a frame.")
    with query_faults("a Dask array"):
        array: Any = import_module("dask.array").asarray(other)
    check(array.ndim == 1, "Expected y, groups and sample_weight to have one dimension.")
    known = not any(math.isnan(size) for size in (*X.chunks[0], *array.chunks[0]))
    check(not known or len(array) == len(X), "Expected one target, person and weight for each row.")
    return array.rechunk((X.chunks[0],)) if known else array


def _source(collections: Sequence[tuple[str | None, Any]], names: tuple[str, ...]) -> Source:
    tasks: dict[Any, Any] = {}
    keys, sizes = [], []
    with query_faults("the Dask collection"):
        for _, collection in collections:
            parts = _parts(collection)
            tasks.update(parts[0].dask if parts else {})
            keys.append([part.key for part in parts])
            sizes.append(_sizes(collection, parts))
    check(all(size == sizes[0] for size in sizes), _UNEQUAL)
    columns = tuple(column for column, _ in collections)
    pieces = [
        PartitionPiece(tasks, tuple(own), columns, names, size, f"partition {place}")
        for place, (size, own) in enumerate(zip(sizes[0], zip(*keys, strict=True), strict=True))
    ]
    return Source(tuple(pieces), names)


def _parts(collection: Any) -> list[Any]:
    if not is_dask(collection, "Array"):
        return list(collection.to_delayed())
    # The optimised graph of an array that lies on a cluster has lost what holds it there.
    return list(collection.to_delayed(optimize_graph=False).ravel())


def _sizes(collection: Any, parts: Iterable[Any]) -> list[int]:
    chunks = collection.chunks[0] if is_dask(collection, "Array") else (math.nan,)
    if not any(math.isnan(size) for size in chunks):
        return [int(size) for size in chunks]
    dask: Any = import_module("dask")
    return [int(size) for size in dask.compute(*(dask.delayed(len)(part) for part in parts))]
