"""Tables in memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tacit.checks import check
from tacit.data.tables import Table
from tacit.streams.pieces import Source, counted, kept, slices


@dataclass(frozen=True, eq=False)
class FramePiece:
    """A data frame, a pyarrow table or a mapping of columns: it lies in memory already."""

    frame: Any
    names: tuple[str, ...]
    rows: int
    key: str = "the table"

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, BATCH at a time, without a copy."""
        return counted(self.key, self.rows, slices(self.frame, kept(self.names, columns), self.rows))


def frame_source(frame: Any) -> Source:
    """A source of one piece from a table in memory."""
    names = frame.keys() if isinstance(frame, Mapping) else getattr(frame, "column_names", None)
    names = names_of(frame.columns if names is None else names)
    lengths = {len(frame[name]) for name in names}
    check(len(lengths) == 1, "Expected the columns of the table to have the same length.")
    return Source((FramePiece(frame, names, lengths.pop()),), names)


def names_of(columns: Any) -> tuple[str, ...]:
    """Names of columns, all of them text and none twice."""
    names = tuple(columns)
    check(names, "Expected a table with at least one column.")
    check(all(isinstance(name, str) for name in names), "Expected names of columns to be text.")
    check(len(set(names)) == len(names), "Expected every column of the table only once.")
    return names
