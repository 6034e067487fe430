"""Tables, lists and folds as Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence


def table(head: Iterable[str], rows: Iterable[Iterable[str]], escaped: bool = True) -> str:
    """A table; with ``escaped``, of words that are no Markdown yet."""
    lines = [list(head), *(list(row) for row in rows)]
    if escaped:
        lines = [[plain(cell) for cell in line] for line in lines]
    lines.insert(1, ["---"] * len(lines[0]))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def fold(words: str, lines: Sequence[str]) -> str:
    """Lines of Markdown behind a sentence that opens them."""
    return "\n".join([f"<details><summary>{words}</summary>", "", *lines, "", "</details>"])


def plain(text: str) -> str:
    """Text in which no letter means anything to Markdown."""
    return re.sub(r"([\\`*_<>|$\[\]])", r"\\\1", text)


def sentence(text: str) -> str:
    """Text that begins with a capital and ends without a stop."""
    text = text.strip().rstrip(".")
    return text[:1].upper() + text[1:]
