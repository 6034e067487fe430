"""``tacit methods``: the table of all methods, as it was worked out when this version was made.

Working it out takes some seconds, since every method is calibrated: ``make methods`` does it, and a test compares.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import textwrap
from importlib.resources import files

from tacit.cli.command import Command
from tacit.cli.console import print_table

_WIDTH = 110
_WIDE_ONLY = ("adjacency", "losses")
"""Columns that a terminal narrower than that has no room for."""


def arguments(parser: Command) -> None:
    """The command has no options."""
    parser.example = "tacit methods"
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the methods to use, then those that only reproduce a paper."""
    listed = json.loads((files("tacit.report") / "methods.json").read_text(encoding="utf-8"))
    width = min(_WIDTH, shutil.get_terminal_size().columns) if sys.stdout.isatty() else _WIDTH
    kept = [place for place, name in enumerate(listed["header"]) if width == _WIDTH or name not in _WIDE_ONLY]
    header, *rows = ([row[place] for place in kept] for row in (listed["header"], *listed["methods"]))
    print_table(header, rows)
    more = [] if width == _WIDTH else [f"A wider terminal also shows: {', '.join(_WIDE_ONLY)}."]
    _print_words(width, *more, *listed["notes"])
    _print_words(width, listed["warning"])
    print()
    print_table(listed["published_header"], listed["published"])
    return 0


def _print_words(width: int, *sentences: str) -> None:
    """A paragraph, after a blank line."""
    print("", *(line for sentence in sentences for line in textwrap.wrap(sentence, width)), sep="\n")
