"""The table that a command is given: a small file is read whole, everything else a batch at a time.

Both give the same bits.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tacit.checks import check, refuse
from tacit.cli.console import judge_unreadable
from tacit.cli.terminal import one_line
from tacit.data import tables
from tacit.data.compressed import compression, is_damage, opened
from tacit.data.curator import FEW, of_a_batch
from tacit.data.delimited import Dialect, separator_of
from tacit.data.spelling import meant
from tacit.data.tables import Table
from tacit.schema import Category, Schema
from tacit.schema.legible import note_unlisted
from tacit.streams.opened import ARROW, PARQUET, declared_types
from tacit.streams.opened import found as files_of
from tacit.streams.pieces import Piece

if TYPE_CHECKING:  # what computes is loaded by the functions that do: a help text needs none of it
    from tacit.linear.streamed import Taken
    from tacit.streams.scanned import Scan

SMALL = 2**23
"""Bytes of a file up to which it is read whole."""


def is_small(options: argparse.Namespace) -> bool:
    """Whether the table is one small file, which is read whole. One that is absent is, too, to be told so."""
    (first, *more), engine = options.data, vars(options).get("dask")
    path = Path(first)
    if more or engine is not None or path.suffix.lower() in ARROW or path.is_dir():
        return False
    if not path.exists():
        return not any(sign in first for sign in "*?[")
    return path.stat().st_size <= SMALL and _unpacks_small(path)


def _unpacks_small(path: Path) -> bool:
    """Whether a file is small once it is unpacked, of which no more than that is; damage is told when it is read."""
    try:
        if not path.is_file() or not compression(path):
            return True
        with opened(path) as file:
            return len(file.read(SMALL + 1)) <= SMALL
    except Exception as error:
        if isinstance(error, OSError) or is_damage(error):
            return True
        raise


def named(options: argparse.Namespace) -> str:
    """What words call the table."""
    first, *more = options.data
    return one_line(f"{first} and {len(more)} more" if more else str(first))


def whole(options: argparse.Namespace, columns: Sequence[str] | None = None) -> Table:
    """The columns of a small file."""
    return tables.read_table(options.data[0], columns, **dialect(options))


def declared(options: argparse.Namespace) -> dict[str, str]:
    """The names of the columns, and their types where files declare them. No cell is read."""
    given = dialect(options)
    return declared_types(options.data, separator=given["separator"], encoding=given["encoding"])


def check_there(options: argparse.Namespace, names: Iterable[str], known: Iterable[str], what: str = "") -> None:
    """Refuse columns that a table does not have, and say which of its names, which are public, may be meant.

    ``known``: the columns that were read, which may be some of them only. ``what`` says more about the one column.
    """
    present = set(known)
    for name in names:
        if name not in present:
            refuse(f"The table has no column {name!r}{what}.{meant([name], declared(options))}")


def check_named(names: Sequence[str]) -> None:
    """Refuse a column without a name among those that would predict."""
    check(
        "" not in names,
        "A column of the table has no name. Are these row numbers, which pandas leaves out with index=False, or are "
        "there separators at the ends of lines? Remove it, or describe the other columns in a schema.",
    )


def scanned(options: argparse.Namespace, schema: Schema | None = None) -> Scan:
    """The table, to be read again for every pass."""
    from tacit.streams.scanned import scan

    return scan(options.data, schema, engine=vars(options).get("dask"), **dialect(options))


@dataclass(frozen=True)
class Unlisted:
    """The task of looking for categories without a declared value in a piece, or at its beginning."""

    schema: Schema
    beginning: bool = False

    def __call__(self, piece: Piece, taken: Taken = None) -> frozenset[str]:
        """Their names; of a piece without rows, all."""
        found = frozenset(self.schema.names)
        with of_a_batch():
            for table in piece.tables(self.schema.names):
                found &= frozenset(self.schema.unlisted(self.schema.encode(table)))
                if self.beginning or not found:
                    break
        return found


def look(found: Scan, *, allowed: bool = True) -> None:
    """Say in which columns text is taken for missing numbers, and refuse it unless that is allowed; say which
    categories match no cell; refuse a column of numbers without one. As of a small file. NOT PRIVATE, and nothing that
    is released depends on it.

    It takes a pass of its own over columns that hold text: all of a CSV file, and mostly none of others.
    """
    from tacit.estimators.legibility import looked_through, open_columns
    from tacit.estimators.streaming import engine_of
    from tacit.linear.streamed import run_each

    schema, source = found.schema, found.source
    if schema is None or not set(schema.names) <= set(found.names):
        return
    legible = open_columns(found, schema.legible())
    if legible.names:
        judge_unreadable(looked_through(found, legible, source.pieces).judged(), allowed=allowed)
    categories = {column.name: column for column in schema.columns if isinstance(column, Category)}
    if not categories or found.rows < FEW:
        return
    task = Unlisted(replace(schema, columns=tuple(categories.values()), pairs=()), beginning=True)
    doubtful = task(source.pieces[0])
    if doubtful:  # which is rare: then all rows are looked at
        kept = tuple(categories[name] for name in categories if name in doubtful)
        engine = engine_of(found.engine, source.pieces)
        each = run_each(engine, Unlisted(replace(task.schema, columns=kept)), source.pieces)
        note_unlisted(sorted(frozenset.intersection(*each)))


def written_with(options: argparse.Namespace) -> str:
    """What separates cells in the first of the files: a comma where they are no CSV files."""
    path = files_of(options.data[0])[0]
    if path.name.lower().endswith((*PARQUET, *ARROW)):
        return ","
    return separator_of(path, Dialect(**dialect(options)))


def dialect(options: argparse.Namespace) -> dict[str, Any]:
    """How CSV files are written, as the options say."""
    separator = "\t" if options.separator == "\\t" else options.separator
    return {"separator": separator, "decimal": options.decimal, "encoding": options.encoding}
