"""Files of schemas, and TOML as people read and edit it: the entries that :meth:`Schema.from_dict` takes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.reading import write_whole
from tacit.schema.paid import written_found

_FOUND = "what it cost to find this schema: leave it as it is, models that use the schema add it to their price"
_BARE = re.compile(r"[A-Za-z0-9_-]+")

_READERS = {".toml": tomllib.loads, ".json": json.loads}


def read_entries(path: str | PathLike[str]) -> Any:
    """What a ``.toml`` or ``.json`` file says."""
    suffix = _suffix(path)
    try:
        return _READERS[suffix](Path(path).read_text(encoding="utf-8-sig"))
    except ValueError as error:
        raise ValueError(f"The schema {str(path)!r} is not valid {suffix[1:].upper()}: {error}") from error


def write_entries(path: str | PathLike[str], entries: Mapping[str, Any], remarks: Iterable[str] = ()) -> None:
    """Write a ``.toml`` file, with remarks at its head, or a ``.json`` file, which has no room for them."""
    toml = _suffix(path) == ".toml"
    write_whole(Path(path), toml_of(entries, remarks) if toml else _json(entries))


def _json(entries: Mapping[str, Any]) -> str:
    return json.dumps(entries, indent=2, ensure_ascii=False) + "\n"


def _suffix(path: str | PathLike[str]) -> str:
    suffix = Path(path).suffix.lower()
    check(suffix in _READERS, f"Expected the schema {str(path)!r} to end in .toml or .json.")
    return suffix


def toml_key(name: str) -> str:
    """A name as a key: quoted where it has a dot, a space, or anything else that is not a plain letter or digit."""
    return name if _BARE.fullmatch(name) else toml_value(name)


def toml_value(value: Any) -> str:
    """Text, a number, a truth, a list or a table as TOML writes it, on one line."""
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")  # which JSON alone leaves as it is
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{toml_key(name)} = {toml_value(inner)}" for name, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(toml_value, value)) + "]"
    return repr(value)


def toml_table(name: str, entries: Mapping[str, Any], remark: str = "") -> list[str]:
    """The lines of a table such as ``[columns.age]``, with a remark behind its name."""
    head = f"[{name}]" + (f"  # {remark}" if remark else "")
    return [head, *(f"{key} = {toml_value(value)}" for key, value in entries.items()), ""]


def toml_of(entries: Mapping[str, Any], remarks: Iterable[str] = ()) -> str:
    """What ``Schema.to_dict`` gives as the text of a file, with remarks at its head."""
    lines = [f"# {remark}".rstrip() for remark in remarks]
    lines += [""] if lines else []
    plain = [key for key in ("missing", "layout", "pairs") if entries.get(key) not in (None, [], "auto")]
    lines += [f"{key} = {toml_value(entries[key])}" for key in plain]
    lines += [""] if plain else []
    if "target" in entries:
        lines += toml_table("target", entries["target"])
    for name, column in entries["columns"]:
        lines += toml_table(f"columns.{toml_key(name)}", column)
    if "found" in entries:
        lines += toml_table("found", written_found(entries["found"]), _FOUND)
    return "\n".join(lines)
