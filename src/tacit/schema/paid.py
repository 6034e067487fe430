"""What a schema says about having been found in records: plain entries, which travel with it into files and models.

Columns may be edited in the file: the entry stays, because what was released once has been paid for.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from tacit.checks import check

FIELDS = ("guarantee", "left_out")
_MALFORMED = (
    "The entry found of the schema says what it cost to find it in the records, and it is not complete. Restore it "
    "from the file as it was written."
)


def read_found(entries: Any) -> Mapping[str, Any] | None:
    """The entry of a file; TOML, which has no null, holds the guarantee as a JSON text."""
    if not (isinstance(entries, Mapping) and isinstance(entries.get("guarantee"), str)):
        return entries if entries is None else _whole(entries)
    try:
        return _whole({**entries, "guarantee": json.loads(entries["guarantee"])})
    except json.JSONDecodeError:
        raise ValueError(_MALFORMED) from None


def written_found(entries: Mapping[str, Any]) -> dict[str, Any]:
    """The entry as TOML holds it."""
    return {**entries, "guarantee": json.dumps(entries["guarantee"], ensure_ascii=False)}


def check_found(entries: Any) -> None:
    """Refuse what is not the entry of a found schema."""
    if entries is not None:
        _whole(entries)


def _whole(entries: Any) -> Mapping[str, Any]:
    check(isinstance(entries, Mapping) and set(entries) == set(FIELDS), _MALFORMED)
    names = entries["left_out"]
    check(isinstance(entries["guarantee"], Mapping), _MALFORMED)
    check(isinstance(names, list) and all(isinstance(name, str) for name in names), _MALFORMED)
    whole: Mapping[str, Any] = entries
    return whole
