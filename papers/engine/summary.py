"""The papers in everyday words: one table, for the report and for the documentation.

A package of papers may have a file ``summary.json``. Its ``papers`` say of each folder who wrote the paper and when,
what it does, whether its promise is true, whether it learns well and what to use.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, fields

from papers.engine.library import folder_of
from tacit.checks import check

PROMISES = ("yes", "no", "in part")
HEAD = ("paper", "what it does", "is its promise of privacy true?", "does it learn well?", "what to use")


@dataclass(frozen=True)
class Entry:
    """One paper. ``promise`` is one of :data:`PROMISES`, and ``why`` its reason; ``short`` is for narrow places."""

    who: str
    title: str
    does: str
    promise: str
    why: str
    learns: str
    use: str
    short: str = ""

    @property
    def heading(self) -> str:
        """Who, when and what."""
        return f"{self.who}: {self.title}"

    @property
    def label(self) -> str:
        """Who and when, as short as it can be said."""
        return self.short or self.who

    def __post_init__(self) -> None:
        check(self.promise in PROMISES, f"A promise is one of {PROMISES}, not {self.promise!r}.")


def read(package: str) -> Mapping[str, Entry]:
    """The entries by folder; none where the package has no summary."""
    place = folder_of(package) / "summary.json"
    if not place.exists():
        return {}
    given = json.loads(place.read_text(encoding="utf-8"))["papers"]
    known = {field.name for field in fields(Entry)}
    for name, words in given.items():
        check(set(words) <= known, f"{place} says of {name} what is not known: {sorted(set(words) - known)}.")
    return {name: Entry(**words) for name, words in given.items()}
