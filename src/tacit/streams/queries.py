"""Tables that another library works out: Arrow datasets and readers, polars' lazy frames, DuckDB's relations.

All but a reader are worked out anew in every pass: a query that draws at random, or whose tables change, gives other
records each time, which nobody can see but by their number.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Never

from tacit.checks import refuse
from tacit.data.tables import Table
from tacit.streams.columnar import arrow_pieces
from tacit.streams.frames import names_of
from tacit.streams.pieces import BATCH, Source, counted, kept, query_faults, slices
from tacit.streams.spool import Spool


@dataclass(frozen=True, eq=False)
class DatasetPiece:
    """A fragment of an Arrow dataset (a file), or a dataset that is filtered, which has no fragments."""

    data: Any
    schema: Any
    rows: int
    key: str

    def __reduce__(self) -> tuple[Any, ...]:
        if self.schema is None:
            refuse("A filtered dataset cannot be sent to other processes. Write it to a file first, and give that.")
        return DatasetPiece, (self.data, self.schema, self.rows, self.key)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, at most BATCH at a time."""
        return counted(self.key, self.rows, self._read(columns))

    def _read(self, columns: Sequence[str] | None) -> Iterator[Table]:
        with query_faults(self.key):
            scanner = {} if self.schema is None else {"schema": self.schema}
            names = (self.schema or self.data.schema).names
            for batch in self.data.to_batches(
                columns=kept(names, columns), batch_size=BATCH, batch_readahead=1, fragment_readahead=1, **scanner
            ):
                yield dict(zip(batch.schema.names, batch.columns, strict=True))


@dataclass(frozen=True, eq=False)
class LazyPiece:
    """A polars query, worked out by its streaming engine in every pass."""

    query: Any
    names: tuple[str, ...]
    rows: int
    key: str = "the LazyFrame"

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, at most BATCH at a time."""
        return counted(self.key, self.rows, self._read(kept(self.names, columns)))

    def _read(self, names: list[str]) -> Iterator[Table]:
        with query_faults(self.key):
            for frame in self.query.select(names).collect_batches(chunk_size=BATCH, maintain_order=True, lazy=True):
                yield from slices(frame, names, len(frame))


@dataclass(frozen=True, eq=False)
class RelationPiece:
    """A DuckDB query, worked out by its connection in every pass."""

    relation: Any
    names: tuple[str, ...]
    rows: int
    key: str = "the DuckDB relation"

    def __reduce__(self) -> Never:
        refuse(
            "A DuckDB relation belongs to its connection and cannot be sent to other processes. Write it to a Parquet "
            "file first, with relation.write_parquet(...), and give that."
        )

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, at most BATCH at a time."""
        return counted(self.key, self.rows, self._read(kept(self.names, columns)))

    def _read(self, names: list[str]) -> Iterator[Table]:
        quoted = ", ".join('"' + name.replace('"', '""') + '"' for name in names)
        with query_faults(self.key):
            for batch in self.relation.project(quoted).to_arrow_reader(BATCH):
                for start in range(0, batch.num_rows, BATCH):
                    yield dict(zip(names, batch.slice(start, BATCH).columns, strict=True))


def dataset_source(data: Any) -> Source:
    """A source from an Arrow dataset: a piece a fragment; rows are counted from what files say of themselves."""
    names = names_of(data.schema.names)
    whole = "the dataset"
    with query_faults(whole):
        try:
            parts = list(data.get_fragments())
        except ValueError:  # it is filtered: its fragments are not its rows
            return Source((DatasetPiece(data, None, data.count_rows(), whole),), names)
        pieces = [
            DatasetPiece(part, data.schema, part.count_rows(), f"fragment {place}") for place, part in enumerate(parts)
        ]
    return Source(tuple(pieces), names)


def lazy_source(query: Any) -> Source:
    """A source from a polars LazyFrame; its rows are counted in one pass."""
    import polars

    with query_faults("the LazyFrame"):
        names = names_of(query.collect_schema().names())
        rows = int(query.select(polars.len()).collect(engine="streaming").item())
    return Source((LazyPiece(query, names, rows),), names)


def relation_source(relation: Any) -> Source:
    """A source from a DuckDB relation; its rows are counted in one pass."""
    names = names_of(relation.columns)
    with query_faults("the DuckDB relation"):
        ((rows,),) = relation.aggregate("count(*)").fetchall()
    return Source((RelationPiece(relation, names, int(rows)),), names)


def reader_source(reader: Any) -> Source:
    """A source from an Arrow record batch reader, which can be read once only: its rows are written to disk first.

    The file lies in the folder for temporary files, readable by its owner alone, and is removed when the source goes.
    """
    import pyarrow

    names, spool, key = names_of(reader.schema.names), Spool(), "the record batch reader"
    try:
        with pyarrow.OSFile(str(spool.path), "wb") as sink, pyarrow.ipc.new_file(sink, reader.schema) as file:
            with query_faults(key):
                batches = iter(reader)
            while True:
                with query_faults(key):
                    batch = next(batches, None)
                if batch is None:
                    break
                for start in range(0, batch.num_rows, BATCH):
                    file.write_batch(batch.slice(start, BATCH))
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, os.strerror(error.errno), spool.name) from error
    pieces, _ = arrow_pieces(spool.path, key, spool)
    return Source(tuple(pieces), names)
