"""What was paid for before a model, in files: schemas that were found in records, and guarantees it carries along.

:func:`tacit.private_schema` and :func:`tacit.statistics.describe` find bounds and categories by a release of their own,
and a :class:`tacit.PrivateScaler` is one too. Whoever gets the model's file gets what depends on them.
"""

from __future__ import annotations

from typing import Any

from tacit.estimators.earlier import Earlier, schema_guarantee
from tacit.privacy.guarantee import Guarantee
from tacit.reading import need
from tacit.schema import Schema
from tacit.statistics.finding import FoundSchema

MOST = 64
"""Releases before a model that a file may name."""


def schema_entries(schema: Schema | None) -> dict[str, Any]:
    """What a file says of a schema, and beside it of how it was found; nothing of either where there is none."""
    entries = {} if schema is None else schema.to_dict()
    found = entries.pop("found", None)
    return {"schema": entries or None, "found": found}


def read_schema(entries: Any, found: Any) -> Schema | None:
    """The schema of a file, with its guarantee where it has one."""
    if entries is None:
        need(found is None, "It says how a schema was found, and has none.")
        return None
    need(isinstance(entries, dict) and "found" not in entries, "Its schema is not described.")
    if found is None:
        return Schema.from_dict(entries)
    need(isinstance(found, dict) and set(found) == {"guarantee", "left_out"}, "How its schema was found is not said.")
    texts = isinstance(found["left_out"], list) and all(isinstance(name, str) for name in found["left_out"])
    need(texts, "The columns that its schema left out are not names.")
    need(isinstance(found["guarantee"], dict), "The guarantee of its schema is not that of a schema.")
    schema = FoundSchema.from_dict({**entries, "found": found})
    schema_guarantee(schema)
    return schema


def earlier_entries(earlier: tuple[Earlier, ...]) -> list[dict[str, Any]]:
    """What a file says of the releases before its model."""
    return [{"label": label, "guarantee": made.to_dict(), "digest": digest} for label, made, digest in earlier]


def read_earlier(entries: Any) -> tuple[Earlier, ...]:
    """What :func:`earlier_entries` described, with every field checked."""
    need(isinstance(entries, list) and len(entries) <= MOST, "What was paid for before the model is not a list.")
    return tuple(map(_read_entry, entries))


def _read_entry(entry: Any) -> Earlier:
    need(isinstance(entry, dict) and set(entry) == set(Earlier._fields), "What was paid for before it is not said.")
    label, digest = entry["label"], entry["digest"]
    need(isinstance(label, str) and label.isprintable() and label, "The label of an earlier release is not a text.")
    need(isinstance(digest, str) and len(digest) == 64, "The hash of an earlier release is none.")
    return Earlier(label, Guarantee.from_dict(entry["guarantee"]), digest)
