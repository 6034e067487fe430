"""CSV files as pieces of a source."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from tacit.data.delimited import Dialect, batches, count_rows, header_of
from tacit.data.tables import Table
from tacit.streams.pieces import counted
from tacit.streams.states import FileState


@dataclass(frozen=True)
class DelimitedPiece:
    """One CSV file."""

    path: Path
    key: str
    rows: int
    dialect: Dialect
    state: FileState = field(repr=False)

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Table]:
        """Its rows in order, at most BATCH at a time."""
        return counted(self.key, self.rows, self.state.during(batches(self.path, self.dialect, columns)))


def delimited_pieces(path: Path, key: str, dialect: Dialect) -> tuple[list[DelimitedPiece], dict[str, str]]:
    """The piece of a CSV file, whose rows are counted in one pass, and its columns, which are all text."""
    state = FileState.of(path, key)
    names = header_of(path, dialect)
    return [DelimitedPiece(path, key, count_rows(path, dialect), dialect, state)], dict.fromkeys(names, "text")
