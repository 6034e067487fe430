"""Tables that another library works out: Arrow datasets and readers, polars' lazy frames, DuckDB's relations.

A query may give its rows in another order each time, and others if it draws at random or its tables change. Methods
rely on places: a record that was drawn into one batch must not be found in another. So readers, lazy frames and
relations are worked out once, and written to disk. Datasets are read from their files, in the order of these.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.checks import refuse
from tacit.data.tables import Table
from tacit.streams.columnar import arrow_pieces, need_pyarrow
from tacit.streams.frames import names_of
from tacit.streams.pieces import BATCH, Source, counted, kept, query_faults
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
    """A source from a polars LazyFrame: worked out once, by the streaming engine, onto disk."""
    import polars

    key = "the LazyFrame"
    need_pyarrow(key)
    with query_faults(key):
        schema = polars.DataFrame(schema=query.collect_schema()).to_arrow().schema
        frames = query.collect_batches(chunk_size=BATCH, maintain_order=True, lazy=True)
    return _spooled(key, schema, (batch for frame in frames for batch in frame.to_arrow().to_batches()))


def relation_source(relation: Any) -> Source:
    """A source from a DuckDB relation: worked out once, onto disk."""
    key = "the DuckDB relation"
    need_pyarrow(key)
    with query_faults(key):
        columns = relation.columns
    names_of(columns)  # before Arrow, in which DuckDB gives them other names where two are the same
    with query_faults(key):
        reader = relation.to_arrow_reader(BATCH)
    return _spooled(key, reader.schema, reader)


def reader_source(reader: Any) -> Source:
    """A source from an Arrow record batch reader, which can be read once only: its rows are written to disk first."""
    return _spooled("the record batch reader", reader.schema, reader)


def _spooled(key: str, schema: Any, batches: Iterable[Any]) -> Source:
    """A source from batches that come once, or in another order the next time: every pass reads what was written here.

    The file lies in the folder for temporary files, readable by its owner alone, and is removed when the source goes.
    """
    import pyarrow

    names, spool = names_of(schema.names), Spool()
    try:
        # Of the two forms that Arrow writes, the stream's batches may each have a dictionary of their own.
        with pyarrow.OSFile(str(spool.path), "wb") as sink, pyarrow.ipc.new_stream(sink, schema) as file:
            with query_faults(key):
                coming = iter(batches)
            while True:
                with query_faults(key):
                    batch = next(coming, None)
                if batch is None:
                    break
                for start in range(0, batch.num_rows, BATCH):
                    file.write_batch(batch.slice(start, BATCH))
    except OSError as error:
        if error.errno is None:
            raise
        raise type(error)(error.errno, os.strerror(error.errno), spool.name) from error
    pieces, types = arrow_pieces(spool.path, key, spool)
    return Source(tuple(pieces), names, types=types)
