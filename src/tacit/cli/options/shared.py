"""Options that several commands share."""

from __future__ import annotations

import argparse
from typing import Any

from tacit.types import ADJACENCIES

DATA = (
    "CSV files with a header, which may be compressed (.gz, .bz2, .xz), Parquet or Arrow files (extra 'parquet'), a "
    "folder of them, or a pattern in quotes, as in 'people/*.parquet'; large tables are read in batches"
)
EPSILON = "1 is a common choice, 0.1 is strict, above 10 protects little; see the page 'Choosing epsilon'"
SEED = "makes the noise repeatable, and so removable: for experiments on public data only"
LEDGER = "charge this ledger before anything is released; `tacit ledger create` makes one"
LABEL = "what the ledger calls this release, in one line; `tacit ledger show` and statements show it"


def epsilon_or_rest(text: str) -> float | str:
    """A number, or 'rest': all that the ledger has left."""
    try:
        return text if text == "rest" else float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"expected a number such as 0.5, or 'rest', not {text!r}") from None


def add_table_options(parser: argparse.ArgumentParser) -> None:
    """The table, and how CSV files are written."""
    parser.add_argument("data", nargs="+", metavar="DATA", help=DATA)
    add_csv_options(parser)


def add_csv_options(parser: argparse.ArgumentParser) -> None:
    """How CSV files are written."""
    group = parser.add_argument_group("CSV files")
    group.add_argument(
        "--separator", metavar="SIGN",
        help="what separates cells, such as ';'; \\t is a tab (default: a comma, or what separates the names in the "
        "first line: a semicolon, a tab or |)",
    )  # fmt: skip
    group.add_argument("--decimal", choices=(".", ","), default=".", help="the decimal mark (default: .)")
    group.add_argument(
        "--encoding", default="utf-8", metavar="NAME",
        help="of the text, such as cp1252 or latin-1 (default: utf-8, or utf-16 where the file begins with its mark)",
    )  # fmt: skip


def add_overwrite_option(parser: argparse.ArgumentParser) -> None:
    """The option ``--overwrite``, of commands whose result is not to be lost by chance."""
    parser.add_argument("--overwrite", action="store_true", help="replace files that exist (default: refuse)")


def add_unreadable_option(parser: argparse.ArgumentParser) -> None:
    """The option ``--allow-unreadable``, of commands that pay for what they make of the cells."""
    parser.add_argument(
        "--allow-unreadable", action="store_true",
        help="count cells of number columns that are not numbers as missing (default: refuse, before anything is "
        "spent)",
    )  # fmt: skip


def add_adjacency_option(parser: Any) -> None:
    """The option ``--adjacency``."""
    parser.add_argument(
        "--adjacency", choices=ADJACENCIES, default="replace-one",
        help="which tables the guarantee compares: those where one row is replaced, or where one is added or removed "
        "(default: replace-one)",
    )  # fmt: skip


def add_progress_option(parser: argparse.ArgumentParser) -> None:
    """The option ``--progress``."""
    parser.add_argument(
        "--progress", nargs="?", const="on", default="auto", choices=("auto", "on", "off"),
        help="show progress: a bar on a terminal, lines elsewhere (default: auto, which prints lines only when a pass "
        "over the data takes long)",
    )  # fmt: skip


def add_unit_options(parser: Any) -> None:
    """Whose rows they are, for a parser or a group of it."""
    parser.add_argument(
        "--person", metavar="COLUMN", help="says whom each row is about; the guarantee then protects people, not rows"
    )
    parser.add_argument(
        "--rows-per-person", type=int, metavar="M", help="with --person: at most this many rows of one person count"
    )
