"""What a schema declares, in words, and how its names compare with those of a table. Public facts alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from tacit.checks import counted
from tacit.data.cells import text_of
from tacit.data.spelling import meant
from tacit.schema.columns import Column
from tacit.schema.schema import Schema

HEADER = ("column", "kind", "declared", "encoded as")
_SHOWN = 60


def declared_rows(schema: Schema) -> list[list[str]]:
    """A line for every column: its kind, its bounds or values, and how many numbers stand for it."""
    return [
        [column.name, _kind(column), _declared(column), counted(len(column.features), "number")]
        for column in schema.columns
    ]


def sentences(schema: Schema, clip: float = 1.0) -> list[str]:
    """What it predicts, and what it makes of a row."""
    target = "no target is declared; name one with --target"
    if schema.target is not None:
        stated = schema.target.to_dict()
        words = f"one of {_listed(stated['classes'])}" if "classes" in stated else _range(stated)
        target = f"the target is {schema.target.name!r}, {words}"
    way = "all rows are scaled by one constant" if schema.boxed else "longer rows are shrunk"
    pairs = f" and {counted(len(schema.pairs), 'pair')}" if schema.pairs else ""
    return [
        f"{counted(len(schema.columns), 'column')}{pairs}; {target}.",
        f"A row becomes {counted(schema.width, 'number')} with a norm of at most {schema.radius:.3g}; to bring it to "
        f"{clip:g}, {way}.",
    ]


def compared(schema: Schema, names: Sequence[str], person: str | None = None) -> tuple[list[str], list[str]]:
    """Sentences about columns that the table lacks, which keep a fit from running, and about those it has beside."""
    own = [*schema.names, *([] if schema.target is None else [schema.target.name])]
    absent = [name for name in own if name not in names]
    beside = [name for name in names if name not in (*own, person)]
    lacks = [f"The table lacks {_listed(absent, quoted=True)}.{meant(absent, beside)}"] if absent else []
    extra = f"The schema says nothing about {_listed(beside, quoted=True)}: left out of the model."
    return lacks, [extra] if beside else []


def _kind(column: Column) -> str:
    return "number" if column.ENTRIES[0] == "lower" else "category" if not column.numeric else column.ENTRIES[0]


def _declared(column: Column) -> str:
    entries = column.to_dict()
    if not column.numeric:
        return _listed(column.values)
    return _range(entries) + (", or missing" if entries.get("missing") else "")


def _range(entries: dict[str, Any]) -> str:
    return f"{text_of(entries['lower'])} to {text_of(entries['upper'])}"


def _listed(values: Sequence[Any], *, quoted: bool = False) -> str:
    """The values in a line; those behind the first few are counted."""
    shown: list[str] = []
    for value in values:
        text = repr(value) if quoted else text_of(value)
        if shown and sum(map(len, shown)) + len(text) > _SHOWN:
            return f"{', '.join(shown)} and {len(values) - len(shown)} more"
        shown.append(text)
    return ", ".join(shown)
