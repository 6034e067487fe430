"""The table that a command is given: a small file is read whole, everything else a batch at a time.

Both give the same bits.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from pathlib import Path
from typing import Any

from tacit.cli.console import warn_unreadable
from tacit.data import tables
from tacit.data.tables import Table
from tacit.estimators.streaming import engine_of
from tacit.linear.streamed import Taken, run_each
from tacit.schema import Schema
from tacit.schema.legible import Legible
from tacit.streams.opened import ARROW
from tacit.streams.pieces import Piece
from tacit.streams.scanned import Scan, scan

SMALL = 2**23
"""Bytes of a file up to which it is read whole."""
_NUMBERS = ("int", "uint", "halffloat", "float", "double", "decimal", "bool", "null")
"""Types of columns in which there is no text, by how their words begin."""
DATA = (
    "CSV files with a header, Parquet or Arrow files (pip install 'tacit[parquet]'), a folder of them, or a pattern in "
    "quotes, as in 'people/*.parquet'; what is large is read a batch at a time"
)


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """The table, and how CSV files are written."""
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA)
    group = parser.add_argument_group("CSV files")
    group.add_argument("--separator", help="between cells; default: a comma; a tab is \\t")
    group.add_argument("--decimal", choices=(".", ","), default=".", help="the decimal mark; default: .")
    group.add_argument("--encoding", default="utf-8", help="default: utf-8")


def is_small(options: argparse.Namespace) -> bool:
    """Whether the table is one small file, which is read whole. One that is absent is, too, to be told so."""
    (first, *more), engine = options.data, vars(options).get("dask")
    path = Path(first)
    if more or engine is not None or path.suffix.lower() in ARROW or path.is_dir():
        return False
    if not path.exists():
        return not any(sign in first for sign in "*?[")
    return path.stat().st_size <= SMALL


def named(options: argparse.Namespace) -> str:
    """What words call the table."""
    first, *more = options.data
    return f"{first} and {len(more)} more" if more else str(first)


def whole(options: argparse.Namespace, columns: Sequence[str] | None = None) -> Table:
    """The columns of a small file."""
    return tables.read_table(options.data[0], columns, **_dialect(options))


def scanned(options: argparse.Namespace, schema: Schema | None = None) -> Scan:
    """The table, to be read again for every pass."""
    return scan(options.data, schema, engine=vars(options).get("dask"), **_dialect(options))


@dataclass(frozen=True)
class Looking:
    """The task of looking for cells that are not numbers in a piece."""

    legible: Legible

    def __call__(self, piece: Piece, taken: Taken) -> Legible:
        """What is known of it."""
        return self.legible.seen(piece.tables(self.legible.names))


def look(found: Scan) -> None:
    """Say in which columns text is taken for missing numbers; refuse one without a number. As of a small file.

    It takes a pass of its own over columns that hold text: all of a CSV file, and mostly none of others.
    """
    schema, source = found.schema, found.source
    if schema is None or not set(schema.names) <= set(found.names):
        return
    legible = schema.legible()
    texts = tuple(name for name in legible.names if not source.types.get(name, "").startswith(_NUMBERS))
    if texts:
        engine = engine_of(found.engine, source.pieces)
        parts: list[Legible] = run_each(engine, Looking(replace(legible, names=texts)), source.pieces)
        warn_unreadable(reduce(Legible.plus, parts).judged())


def _dialect(options: argparse.Namespace) -> dict[str, Any]:
    separator = "\t" if options.separator == "\\t" else options.separator
    return {"separator": separator, "decimal": options.decimal, "encoding": options.encoding}
