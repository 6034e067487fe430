"""What commands say: progress and tables by rich on a terminal, plain text everywhere else."""

from __future__ import annotations

import argparse
import math
import os
import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from tacit.checks import check
from tacit.streams.opened import found
from tacit.streams.watching import watched

SHORT, LONG = 0.1, 5.0
"""Seconds between two words about a pass: on a terminal, and in lines."""
_READ = ("data", "model", "schema", "ledger", "protocol", "database", "file")
"""Arguments and options that name what a command reads, and may not replace."""
_WIDE = 10_000
"""Columns of what is no terminal: tables are not wrapped there, so that every row is a line."""


class Say(Protocol):
    """Tells what is under way, and how much of it is done, from 0 to 1, where that is known."""

    def __call__(self, text: str, share: float | None = None) -> None:
        """Replace what was said before."""


def add_progress_option(parser: argparse.ArgumentParser) -> None:
    """The option ``--progress``."""
    parser.add_argument(
        "--progress", nargs="?", const="on", default="auto", choices=("auto", "on", "off"),
        help="what is under way: a bar on a terminal and lines elsewhere; auto: lines only where a pass takes long",
    )  # fmt: skip


def epsilon_or_rest(text: str) -> float | str:
    """A number, or 'rest': all that the ledger has left."""
    return text if text == "rest" else float(text)


@contextmanager
def progress(shown: str = "auto") -> Iterator[Say]:
    """Says on stderr what is under way, and how far passes over streamed records are.

    With a bar on a terminal. Elsewhere in lines: ``on``, all; ``auto``, those about passes, once they take long;
    ``off``, none anywhere.
    """
    if shown == "off":
        yield _nothing
    elif not sys.stderr.isatty():
        with watched(Passes(_line, LONG, at_once=shown == "on")):
            yield _line if shown == "on" else _nothing
    else:
        with _bar() as say, watched(Passes(say, SHORT)):
            yield say


@contextmanager
def _bar() -> Iterator[Say]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(30), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("", total=None)

        def say(text: str, share: float | None = None) -> None:
            shown.update(task, description=text, total=None if share is None else 1.0, completed=share or 0.0)

        yield say


class Passes:
    """Tells how far a pass over streamed records is, ``every`` so many seconds; ``at_once``: the first time too."""

    def __init__(self, say: Say, every: float, *, at_once: bool = True) -> None:
        self._say, self._every = say, every
        self._number, self._began = 0, 0.0
        self._told = -math.inf if at_once else time.monotonic()

    def __call__(self, number: int, done: int, rows: int) -> None:
        """The number of the pass, the rows that are done, and all rows."""
        now = time.monotonic()
        begins = number != self._number
        if begins:
            self._number, self._began = number, now
        if now - self._told >= self._every or (begins and self._every <= SHORT):  # a bar never stays at an old pass
            self._told = now
            self._say(_sentence(number, done, rows, now - self._began), done / rows if rows else None)


def _sentence(number: int, done: int, rows: int, seconds: float) -> str:
    """How far a pass is, how fast, and how long the rest of it takes at that pace."""
    text = f"Pass {number}: {done:,} of {rows:,} rows"
    if not done or seconds <= 0:
        return text
    left = timedelta(seconds=round(seconds * (rows - done) / done))
    return f"{text}, {done / seconds:,.0f} a second, {left} left in this pass"


def _line(text: str, share: float | None = None) -> None:
    print(text, file=sys.stderr, flush=True)


def _nothing(text: str, share: float | None = None) -> None:
    """Nobody is looking."""


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False) -> None:
    """Print rows of text in aligned columns; ``numbers`` stand to the right, in all columns but the first."""
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for place, name in enumerate(header):
        table.add_column(Text(name), justify="right" if numbers and place else "left", no_wrap=numbers or not place)
    for row in rows:
        table.add_row(*map(Text, row))
    with console.capture() as caught:
        console.print(table)
    print(*(line.rstrip() for line in caught.get().splitlines()), sep="\n")


def warn_unreadable(names: Iterable[str]) -> None:
    """Say in which columns text was taken for missing numbers."""
    for name in names:
        print(
            f"WARNING: some cells of {name!r} are not numbers and count as missing (NOT PRIVATE: this message tells "
            "about the records).",
            file=sys.stderr,
        )


def check_place(options: argparse.Namespace, name: str = "out") -> None:
    """Say that a result could not be written, or would replace what it is made from, before anything is spent on it.

    Edges: an option that was not given names no place.
    """
    path = vars(options)[name]
    if not path:
        return
    place, option = Path(path), f"--{name.replace('_', '-')} {path}"
    folder = place.resolve().parent
    check(folder.is_dir(), f"The folder of {option} does not exist.")
    check(not place.is_dir() and os.access(folder, os.W_OK), f"Cannot write to {option}.")
    check(not place.exists() or place.is_file(), f"{option} is a pipe or a device. Name a file.")
    for file in _inputs(options):
        same = place.exists() and file.exists() and place.samefile(file)
        check(not same, f"{option} names {file}, which is read, and would be lost. Give another name.")


def _inputs(options: argparse.Namespace) -> Iterator[Path]:
    """The files that a command reads; what is wrong with their names is told when they are opened."""
    for name in _READ:
        given = vars(options).get(name) or ()
        for place in [given] if isinstance(given, str) else given:
            with suppress(ValueError, OSError):
                yield from found(place)
