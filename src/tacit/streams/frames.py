"""Tables in memory, and Dask's in partitions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table
from tacit.streams.pieces import Source, counted, kept, query_faults, slices


@dataclass(frozen=True, eq=False)
class FramePiece:
    """A data frame, a pyarrow table or a mapping of columns: it lies in memory already."""

    frame: Any
    names: tuple[str, ...]
    rows: int
    key: str = "the table"

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time, without a copy."""
        return slices(self.frame, kept(self.names, columns), self.rows)


@dataclass(frozen=True, eq=False)
class PartitionPiece:
    """One partition of a Dask data frame, with the tasks that make it and no others."""

    tasks: Any
    task: Any
    names: tuple[str, ...]
    rows: int
    key: str

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time; the whole partition is in memory meanwhile."""
        return counted(self.key, self.rows, self._read(kept(self.names, columns)))

    def _read(self, names: list[str]) -> Iterator[Table]:
        dask: Any = import_module("dask")
        with query_faults(self.key):
            # Here, whatever scheduler there is: a piece may be read inside one of its tasks.
            frame = dask.get(self.tasks, self.task)
        yield from slices(frame, names, len(frame))


def frame_source(frame: Any) -> Source:
    """A source of one piece from a table in memory."""
    names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "column_names", None)
    names = names_of(frame.columns if names is None else names)
    lengths = {len(frame[name]) for name in names}
    check(len(lengths) == 1, "Expected the columns of the table to have the same length.")
    return Source((FramePiece(frame, names, lengths.pop()),), names)


def partition_source(frame: Any) -> Source:
    """A source from a Dask data frame: a piece a partition, whose rows are counted in one pass.

    The partitions are those of the frame as it is: which there are after a column was taken is Dask's choice, and one
    that was counted under one choice and read under another would be read twice, or never.
    """
    dask: Any = import_module("dask")
    cull = import_module("dask.optimization").cull
    names = names_of(frame.columns)
    with query_faults("the Dask data frame"):
        parts = frame.to_delayed()
        sizes = dask.compute(*(dask.delayed(len)(part) for part in parts))
    pieces = [
        PartitionPiece(cull(dict(part.dask), [part.key])[0], part.key, names, int(size), f"partition {place}")
        for place, (part, size) in enumerate(zip(parts, sizes, strict=True))
    ]
    return Source(tuple(pieces), names)


def names_of(columns: Any) -> tuple[str, ...]:
    """Names of columns, all of them text and none twice."""
    names = tuple(columns)
    check(names, "Expected a table with at least one column.")
    check(all(isinstance(name, str) for name in names), "Expected names of columns to be text.")
    check(len(set(names)) == len(names), "Expected every column of the table only once.")
    return names
