"""A study as a curator types it: fields of a form become a protocol and texts, or sentences about what to change."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from tacit.checks import PrivacyError, check
from tacit.collector.speaking import LANGUAGES
from tacit.collector.studies import ADMISSIONS, WIDEST, check_texts
from tacit.privacy.guarantee import checksum
from tacit.protocol.agreement import Protocol
from tacit.protocol.outline import Outline
from tacit.reading import parse
from tacit.schema import Schema

MOST = 10**8
"""The largest crowd that is asked for."""
TEXTS = ("title", "purpose", "about", "who")
NUMBERS = {"epsilon": "1", "delta": "1e-6", "cohort": "20000", "record_epsilon": "8", "honest": "0.9"}
"""Fields with a number, and what stands in them at first."""
RECORD = ("asked", "needed")
"""What one record is promised: the epsilon that is typed, or whatever is left by the noise that the model needs."""
_SIGNS = 4000
Mistakes = dict[str, str]


@dataclass(frozen=True)
class Draft:
    """A study that could be created."""

    outline: Outline
    protocol: Protocol
    texts: Mapping[str, Any]
    admission: str

    @property
    def seal(self) -> str:
        """A checksum of everything in it: who has seen the preview of this seal has seen this study."""
        return checksum([self.protocol.fingerprint, self.texts, self.admission])[:32]


def empty() -> dict[str, str]:
    """The fields of a form that nobody has filled in."""
    words = {f"{name}_{code}": "" for name in (*TEXTS, "labels") for code in LANGUAGES}
    return {"schema": "", "withdrawal": "yes", "admission": "invitation", "record": "asked", **NUMBERS, **words}


def drafted(typed: Mapping[str, str]) -> tuple[Draft | None, Mistakes]:
    """The study that was typed, or a sentence for each field that has to be changed ("" for several together)."""
    fields = {name: typed.get(name, "") for name in empty()}
    mistakes: Mistakes = {}
    schema = _attempt(mistakes, "schema", lambda: read_schema(fields["schema"]))
    numbers = {name: _attempt(mistakes, name, lambda name=name: _number(name, fields[name])) for name in NUMBERS}
    if fields["record"] not in RECORD:
        mistakes["record"] = "Please choose what one record is promised."
    elif fields["record"] == "needed":
        numbers["record_epsilon"] = None
        mistakes.pop("record_epsilon", None)
    if (numbers["delta"] or 0) * (numbers["cohort"] or 0) > 1:
        mistakes["delta"] = "Please type at most one in the cohort: the promise may fail with this probability."
    if fields["admission"] not in ADMISSIONS:
        mistakes["admission"] = "Please choose who may contribute."
    texts = _texts(fields, schema, mistakes)
    if schema is None or mistakes:
        return None, mistakes
    purpose = next((texts[code]["purpose"] for code in LANGUAGES if texts.get(code, {}).get("purpose")), "")
    try:
        outline = Outline(
            delta=float(numbers["delta"] or 0), schema=schema, record_epsilon=numbers["record_epsilon"],
            honest=numbers["honest"], purpose=purpose, withdrawal=fields["withdrawal"] == "yes",
        )  # fmt: skip
        protocol = outline.protocol(float(numbers["epsilon"] or 0), int(numbers["cohort"] or 0))
        check_texts(texts)
    except PrivacyError as error:
        return None, {"": f"These numbers do not fit together: {error}"}
    except ArithmeticError:
        return None, {"": "These numbers are outside the range that can be computed. Please change them."}
    except ValueError as error:
        return None, {"": str(error)}
    return Draft(outline, protocol, texts, fields["admission"]), {}


def read_schema(text: str) -> Schema:
    """A schema from TOML or JSON, with a target; every flaw is a sentence."""
    check(text.strip(), "Please paste a schema: columns with their bounds or values, and a target.")
    json = text.lstrip().startswith("{")
    try:
        entries = parse(text) if json else tomllib.loads(text.replace("\r\n", "\n"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"This is not valid {'JSON' if json else 'TOML'}: {error}") from None
    try:
        schema = Schema.from_dict(cast("Mapping[str, Any]", entries))  # both begin with a table
    except (TypeError, KeyError, AttributeError, OverflowError):
        raise ValueError("This is not a schema: an entry has a form that no schema has.") from None
    check(schema.target is not None, 'The schema has no target: add a table "target" with what is to be predicted.')
    check(
        schema.width <= WIDEST, f"This schema has {schema.width:,} encoded columns; at most {WIDEST} can be used here."
    )
    return schema


def _attempt(mistakes: Mistakes, field: str, make: Any) -> Any:
    try:
        return make()
    except ValueError as error:
        mistakes[field] = str(error)
        return None


def _number(name: str, text: str) -> float | int:
    text = text.strip()
    if name == "cohort":
        check(text.isascii() and text.isdigit(), "Please type a whole number, without dots or commas.")
        check(1 <= int(text[:20]) <= MOST, f"Please type a number from 1 to {MOST:,}.")
        return int(text)
    try:
        value = float(text)
    except ValueError:
        raise ValueError("Please type a number, such as 0.5 or 1e-6.") from None
    most = {"honest": 1.0, "delta": 0.01, "record_epsilon": 1000.0}.get(name, 100.0)
    check(0 < value <= most, f"Please type a number above 0 and at most {most:g}.")
    return value


def _texts(fields: Mapping[str, str], schema: Schema | None, mistakes: Mistakes) -> dict[str, Any]:
    """The texts by language; a language without any is left out."""
    texts: dict[str, Any] = {}
    for code in LANGUAGES:
        words: dict[str, Any] = {}
        for name in TEXTS:
            text = fields[f"{name}_{code}"].strip().replace("\r\n", "\n")
            if len(text) > _SIGNS:
                mistakes[f"{name}_{code}"] = f"Please use at most {_SIGNS:,} characters."
            if text:
                words[name] = text
        if schema is not None:
            lines = fields[f"labels_{code}"]
            questions = _attempt(mistakes, f"labels_{code}", lambda lines=lines: labels(lines, schema))
            words |= {"questions": questions} if questions else {}
        if words:
            texts[code] = words
    if not any("title" in words for words in texts.values()):
        mistakes["title_en"] = "Please give the study a title, in one language at least."
    return texts


def labels(text: str, schema: Schema) -> dict[str, Any]:
    """Lines ``column = label``, and ``column.help``, ``column.unit``, ``column.values.VALUE``; the target is one too.

    Edges: a name that is a column as it stands is one, dots or not.
    """
    declared: dict[str, tuple[Any, ...]] = {column.name: column.values for column in schema.encodings}
    if schema.target is not None:
        declared[schema.target.name] = tuple(schema.target.classes or ())
    found: dict[str, Any] = {}
    for place, line in enumerate(text.splitlines(), 1):
        if not line.strip():
            continue
        name, sign, label = (part.strip() for part in line.partition("="))
        check(sign and name and label, f"Line {place}: expected “column = label”.")
        check(len(label) <= _SIGNS, f"Line {place} is too long.")
        path = _path(name, declared)
        check(path, f"Line {place}: the schema has no such column, or the column no such value.")
        entry = found.setdefault(path[0], {})
        if len(path) == 3:
            entry = entry.setdefault("values", {})
        entry[path[-1]] = label
    return found


def _path(name: str, declared: Mapping[str, tuple[Any, ...]]) -> tuple[str, ...]:
    """(column, entry) or (column, "values", value) of a line's left side; empty for what is none of these."""
    if name in declared:
        return name, "label"
    for column, values in declared.items():
        rest = name.removeprefix(f"{column}.") if name.startswith(f"{column}.") else ""
        if rest in ("help", "unit"):
            return column, rest
        value = rest.removeprefix("values.")
        if value != rest and value in map(str, values):
            return column, "values", value
    return ()
