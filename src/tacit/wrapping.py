"""Text in lines of a given width: words, numbers and names stay whole, and what follows a label stays beside it."""

from __future__ import annotations

import re
import textwrap

WIDTH = 110
"""Columns of texts that are made for no terminal in particular."""
_HEAD = re.compile(r" *(?:- )?(?:[^\s:]+ {2,})?")
"""The indent of a line, with its bullet, or with a label and the spaces after it."""
_FIXED = "\N{NO-BREAK SPACE}"


def fitted(text: str, width: int = WIDTH) -> str:
    """The text with every line that is too long in several; the others begin below the first one's words.

    Edges: a word that is longer than a line has one of its own, and an equation of two words is one word.
    """
    return "\n".join(part for line in text.split("\n") for part in _parts(line, width))


def _parts(line: str, width: int) -> list[str]:
    if len(line) <= width:
        return [line]
    head = _HEAD.match(line)
    indent = " " * (head.end() if head else 0)
    kept = line.replace(" = ", f"{_FIXED}={_FIXED}")
    found = textwrap.wrap(kept, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return [part.replace(_FIXED, " ") for part in found]
