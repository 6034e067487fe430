"""Rows of a table by a schema, for the commands that take both."""

from __future__ import annotations

import sys

from tacit.data.tables import Table
from tacit.schema import Schema
from tacit.types import Array


def encode(schema: Schema, table: Table, clip: float) -> Array:
    """Rows by the schema; on stderr, in which columns text was taken for missing numbers."""
    for name in schema.check_readable(table):
        print(
            f"WARNING: some cells of {name!r} are not numbers and count as missing (NOT PRIVATE: this message tells "
            "about the records).",
            file=sys.stderr,
        )
    return schema.encode(table, clip)
