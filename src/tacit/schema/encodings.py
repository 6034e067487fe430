"""Which encodings there are, and which of them plain entries describe."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tacit.checks import check
from tacit.schema.columns import Category, Column, Number, Target, check_keys
from tacit.schema.curves import Bins, Hats

ENCODINGS: tuple[type[Column], ...] = (Category, Bins, Hats, Number)
"""In the order in which entries are tried; the last is taken where none is recognised, and says what is absent."""
MOST_DOTS = 16
"""In a column's name that is not quoted."""


def _words() -> set[str]:
    return {word for kind in ENCODINGS for word in kind.ENTRIES}


def column_from_dict(name: str, entries: Any) -> Column:
    """The column that plain entries describe, by the first encoding whose own word is among them."""
    check_keys(f"column {name!r}", entries, _words())
    kind = next((kind for kind in ENCODINGS if kind.ENTRIES[0] in entries), ENCODINGS[-1])
    return kind.from_dict(name, entries)


def named_entries(what: str, entries: Any) -> list[tuple[str, Any]]:
    """(name, entries) of a table with an entry for each column, or of a list of [name, entries].

    Within a table, ``[columns.capital.gain]`` is one column, 'capital.gain': no column has tables among its entries.
    """
    pairs = list(entries.items()) if isinstance(entries, Mapping) else entries
    check(
        isinstance(pairs, list | tuple)
        and all(isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str) for pair in pairs),
        f"Expected {what} to be a table with one entry per column, or a list of names with entries.",
    )
    if not isinstance(entries, Mapping):
        return [(name, column) for name, column in pairs]
    return [found for name, column in pairs for found in _dotted(name, column)]


def _dotted(name: str, entries: Any) -> Iterator[tuple[str, Any]]:
    """The column, and those whose names begin with its own and a dot."""
    listed = entries.items() if isinstance(entries, Mapping) else ()
    inner = {
        word: more
        for word, more in listed
        if isinstance(word, str) and isinstance(more, Mapping) and (more or word not in _words())
    }
    if not inner:
        yield name, entries
        return
    check(name.count(".") < MOST_DOTS, f"Put names with more than {MOST_DOTS} dots in quotes.")
    own = {word: value for word, value in entries.items() if word not in inner}
    if own:
        yield name, own
    for word, more in inner.items():
        yield from _dotted(f"{name}.{word}", more)


def target_of(column: Column) -> Target:
    """A column as what is to be predicted: its values are the classes, its bounds the bounds."""
    if column.numeric:
        entries = column.to_dict()
        return Target(column.name, None, entries["lower"], entries["upper"])
    return Target(column.name, column.values)


def column_of(target: Target) -> Column:
    """A target as an ordinary column: its classes are the values, its bounds the bounds."""
    if target.classes is not None:
        return Category(target.name, target.classes)
    return column_from_dict(target.name, {"lower": target.lower, "upper": target.upper})
