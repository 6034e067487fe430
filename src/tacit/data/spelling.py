"""Names that are nearly the same: what somebody may have meant by one that is not known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from difflib import get_close_matches

_ALIKE = 0.75
"""The share of letters that two names have in common, in order, from which on one may be meant for the other."""


def near(name: str, known: Iterable[str]) -> str | None:
    """The name among those known that differs in case, spaces or signs alone, or else in a few letters; or None."""
    plain: dict[str, str] = {}
    for other in known:
        if other != name:
            plain.setdefault(_plain(other), other)
    own = _plain(name)
    found = [own] if own in plain else get_close_matches(own, plain, 1, _ALIKE)
    return plain[found[0]] if found and own else None


def meant(names: Sequence[str], known: Iterable[str]) -> str:
    """A sentence about what names that are not known may be meant for, with a space before it; or nothing."""
    others = list(known)
    pairs = [(name, other) for name in names if (other := near(name, others)) is not None]
    if len(names) == 1:  # which the sentence before has just named
        return "".join(f" Did you mean {other!r}?" for _, other in pairs)
    return "".join(f" Did you mean {other!r} by {name!r}?" for name, other in pairs)


def _plain(name: str) -> str:
    """Its letters and digits, in lower case."""
    return "".join(letter for letter in name.casefold() if letter.isalnum())
