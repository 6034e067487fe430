"""Which encodings there are, and which of them plain entries describe."""

from __future__ import annotations

from typing import Any

from tacit.checks import check
from tacit.schema.columns import Category, Column, Number, check_keys
from tacit.schema.curves import Bins, Hats

ENCODINGS: tuple[type[Column], ...] = (Category, Bins, Hats, Number)
"""In the order in which entries are tried; the last is taken where none is recognised, and says what is absent."""


def column_from_dict(name: str, entries: Any) -> Column:
    """The column that plain entries describe, by the first encoding whose own word is among them."""
    check_keys(f"column {name!r}", entries, {word for kind in ENCODINGS for word in kind.ENTRIES})
    kind = next((kind for kind in ENCODINGS if kind.ENTRIES[0] in entries), ENCODINGS[-1])
    return kind.from_dict(name, entries)


def columns_from_list(what: str, entries: Any) -> tuple[Column, ...]:
    """The columns of a table with one entry a column, or of a list of [name, entries]."""
    pairs = list(entries.items()) if hasattr(entries, "items") else entries
    check(
        isinstance(pairs, list | tuple)
        and all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs),
        f"Expected {what} to be a table with one entry a column, or a list of names with entries.",
    )
    return tuple(column_from_dict(name, column) for name, column in pairs)
