"""Text that a run gives away: its numbers, what is left without them, and its words.

A text with something new in every run (a time, a number of the run, a name drawn at random) never repeats, so as a
whole it tells nothing about the data; its parts may. Numbers are read in their order. Where texts differ from
run to run, every word is compared at its place.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from tacit.types import Array

_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?(?=[a-z%]{0,2}(?![\w.]))|(?:nan|inf|infinity)\b)",
    re.IGNORECASE,
)
"""A number that stands by itself or with a short unit (``0.2s``). Digits inside of words are none: ``a3f9``, ``x1``."""
_BETWEEN = re.compile(r"[\s,;:=()\[\]{}<>'\"|]+")
_PLACE = "\0"
MOST_WORDS = 64


def numbers_in(text: str) -> Array:
    """The numbers of a text, in their order."""
    return np.array([float(found) for found in _NUMBER.findall(text)])


def without_numbers(text: str) -> str:
    """The text with a mark in the place of each number."""
    return _NUMBER.sub(_PLACE, text)


def words_of(texts: Iterable[str]) -> list[str]:
    """The words and numbers of some texts, in their order; the first ``MOST_WORDS``."""
    found: list[str] = []
    for text in texts:
        found.extend(word for word in _BETWEEN.split(text) if word)
        if len(found) >= MOST_WORDS:
            break
    return found[:MOST_WORDS]


def told(error: BaseException) -> list[object]:
    """All that an error says: type, message, notes and what it holds besides text; then those that led to it."""
    found: list[object] = []
    seen: set[int] = set()
    part: BaseException | None = error
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        try:
            message = str(part)
        except Exception as broken:  # a message that cannot be made is one as well
            message = type(broken).__name__
        held = [entry for entry in part.args if not isinstance(entry, str)]
        found.append([type(part).__name__, message, list(getattr(part, "__notes__", ())), held])
        part = part.__cause__ or part.__context__
    return found
