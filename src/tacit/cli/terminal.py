"""What may reach a terminal and how wide it is, and streams that take any text. Loads next to nothing: every command
begins here."""

from __future__ import annotations

import os
import shutil
import sys
from typing import Protocol

from tacit.wrapping import WIDTH, fitted

_WIDEST = 120
"""Longer lines are hard to read, however wide a terminal is."""


class Fitting(Protocol):
    """What knows its own text in lines of any width: a guarantee, a statement, a balance."""

    def text(self, width: int) -> str:
        """In lines of at most so many columns."""


def columns() -> int:
    """Columns of a line of words on standard output."""
    return min(shutil.get_terminal_size().columns, _WIDEST) if sys.stdout.isatty() else WIDTH


def show(*parts: str | Fitting, sep: str = "\n\n") -> None:
    """Print words in lines that fit into the terminal."""
    wide = columns()
    print(*(fitted(part, wide) if isinstance(part, str) else part.text(wide) for part in parts), sep=sep)


def one_line(text: str) -> str:
    """A text as it may stand in a line of a terminal.

    Line breaks, control characters and marks that turn the direction of writing become escapes, as in ``repr``: names
    and cells are written by others, and must not clear the screen or imitate what a command prints.
    """
    return "".join(sign if sign.isprintable() else sign.encode("unicode_escape").decode() for sign in text)


def ready_streams() -> None:
    """Let stdout and stderr take any text: what they cannot encode is written as escapes, as Python does on stderr.

    Edges: a stream that is closed (``>&-``) leads nowhere. It is opened again at its own number: the next file to be
    opened would have it otherwise, and whatever writes to that number would write into the file.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, mode, encoding="utf-8"))  # noqa: SIM115
        elif mode == "w" and hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
