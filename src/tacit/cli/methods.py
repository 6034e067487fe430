"""``tacit methods``: the table of all methods."""

from __future__ import annotations

import argparse
import textwrap

from tacit.cli.console import print_table
from tacit.report import catalogue

_WIDTH = 110


def arguments(parser: argparse.ArgumentParser) -> None:
    """The command has no options."""
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the methods to use, then those that only reproduce a paper."""
    print_table(catalogue.HEADER, [entry.cells for entry in catalogue.entries()])
    _print_words(*catalogue.NOTES)
    _print_words(catalogue.WARNING)
    print()
    print_table(catalogue.PUBLISHED_HEADER, catalogue.published_cells())
    return 0


def _print_words(*sentences: str) -> None:
    """A paragraph, after a blank line."""
    print("", *(line for sentence in sentences for line in textwrap.wrap(sentence, _WIDTH)), sep="\n")
