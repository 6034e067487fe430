"""What commands say: progress and tables by rich on a terminal, plain text everywhere else."""

from __future__ import annotations

import argparse
import math
import os
import re
import shutil
import sys
import textwrap
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import timedelta
from pathlib import Path
from typing import Protocol

from tacit.checks import check, counted, refuse
from tacit.cli.terminal import one_line

SHORT, LONG = 0.1, 5.0
"""Seconds between two words about a pass: on a terminal, and in lines."""
_READ = ("data", "model", "schema", "ledger", "protocol", "database", "file")
"""Arguments and options that name what a command reads, and may not replace."""
_NUMBER = re.compile(r"[-+<>=~]*\d[\d,.]*(e[-+]?\d+)?%?")
_UNREADABLE = (
    "If they have a decimal comma, add --decimal ,; if they stand for missing cells, list their texts under missing in "
    "the schema before you fit. `tacit schema check SCHEMA.toml DATA --curator` counts and quotes them."
)
_ALLOW = "To count them as missing as they are, add --allow-unreadable. Nothing was spent."
_REVEALS = "(NOT PRIVATE: this message reveals something about the records.)"
_GAP = 2
_WIDE = 10_000
"""Columns of what is no terminal: tables are not wrapped there, so that every row is a line."""


class Say(Protocol):
    """Tells what is under way, and how much of it is done, from 0 to 1, where that is known."""

    def __call__(self, text: str, share: float | None = None) -> None:
        """Replace what was said before."""


@contextmanager
def progress(shown: str = "auto") -> Iterator[Say]:
    """Says on stderr what is under way, and how far passes over streamed records are.

    With a bar on a terminal. Elsewhere in lines: ``on``, all; ``auto``, those about passes, once they take long;
    ``off``, none anywhere.
    """
    from tacit.streams.watching import watched  # brings all of streams along, which no help should wait for

    if shown == "off":
        yield _nothing
    elif not sys.stderr.isatty():
        passes = Passes(_line, LONG, at_once=shown == "on")
        with watched(passes, passes.step):
            yield Timed(_line, passes) if shown == "on" else _nothing
    else:
        with _bar() as say:
            passes = Passes(say, SHORT)
            with watched(passes, passes.step):
                yield Timed(say, passes)


@contextmanager
def _bar() -> Iterator[Say]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(20), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True, redirect_stdout=False) as shown:
        task = shown.add_task("", total=None)

        def say(text: str, share: float | None = None) -> None:
            shown.update(task, description=one_line(text), total=None if share is None else 1.0, completed=share or 0.0)

        yield say


class Timed:
    """Adds how long the rest takes, at the pace so far, where a share is known; a smaller one begins anew.

    Where the command itself knows its share, of many trainings, nothing is told of the steps and passes of each.
    """

    def __init__(self, say: Say, passes: Passes) -> None:
        self._say, self._passes = say, passes
        self._began, self._before = time.monotonic(), 0.0

    def __call__(self, text: str, share: float | None = None) -> None:
        """Say it, and the time left."""
        now, known = time.monotonic(), share or 0.0
        self._passes.silent = share is not None
        if known <= self._before:
            self._began = now
        elif known < 1:
            text += f", {_left(now - self._began, known)} left"
        self._before = known
        self._say(text, share)


class Passes:
    """Tells how far a training is, ``every`` so many seconds: steps, where their number is known, and passes over
    streamed records; ``at_once``: the first pass is told when it begins.
    """

    def __init__(self, say: Say, every: float, *, at_once: bool = True) -> None:
        self._say, self._every = say, every
        self._number, self._began = 0, 0.0
        self._told = -math.inf if at_once else time.monotonic()
        self._step, self._steps, self._stepped = 0, 0, 0.0
        self.silent = False

    def step(self, done: int, total: int) -> None:
        """So many steps of all are done. The first says nothing: how long one takes is not known yet."""
        now = time.monotonic()
        if done == 0:
            self._stepped = now
        self._step, self._steps = (done, total) if done < total else (0, 0)
        if not self.silent and 0 < done < total and now - max(self._told, self._stepped) >= self._every:
            self._told = now
            self._say(f"Step {done + 1:,} of {total:,}, {_left(now - self._stepped, done / total)} left", done / total)

    def __call__(self, number: int, done: int, rows: int) -> None:
        """The number of the pass, the rows that are done, and all rows."""
        now = time.monotonic()
        begins = number != self._number
        if begins:
            self._number, self._began = number, now
        due = now - self._told >= self._every or (begins and self._every <= SHORT)  # a bar never stays at an old pass
        if due and not self.silent:
            self._told = now
            self._say(*self._pass(number, done, rows, now))

    def _pass(self, number: int, done: int, rows: int, now: float) -> tuple[str, float | None]:
        """How far a pass is, how long the rest takes at that pace, of all steps or else of this pass, and how fast."""
        part, seconds = done / rows if rows else 0.0, now - self._began
        text, pace = f"Pass {number}: {done:,} of {counted(rows, 'row')}", ""
        if done and seconds > 0:
            pace = f", {done / seconds:,.0f} per second"
        if not self._steps:
            left = f", {_left(seconds, part)} left in this pass" if pace else ""
            return f"{text}{left}{pace}", part if rows else None
        share = (self._step + part) / self._steps
        left = f", {_left(now - self._stepped, share)} left" if share else ""
        return f"Step {self._step + 1:,} of {self._steps:,}{left}. {text}{pace}", share


def _left(seconds: float, share: float) -> timedelta:
    """How long the rest takes, if a share of it took so long."""
    return timedelta(seconds=round(seconds * (1 - share) / share))


def _line(text: str, share: float | None = None) -> None:
    print(one_line(text), file=sys.stderr, flush=True)


def _nothing(text: str, share: float | None = None) -> None:
    """Nobody is looking."""


def width() -> int:
    """Columns that a line of standard output may have."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else _WIDE


def print_table(
    header: Sequence[str], rows: Sequence[Sequence[str]], *, numbers: bool = False, lines_below: int = 0
) -> None:
    """Print rows of text in aligned columns, as wide as the terminal: long cells are folded there, and nowhere else.

    Numbers stand to the right: columns that hold nothing else, and with ``numbers`` all columns but the first. What is
    in a cell stays in its line. Every cell has a line of its own on a terminal of fewer than ``lines_below`` columns,
    or of too few for the longest words.
    """
    cells = [[one_line(row[place]) for row in rows if place < len(row)] for place in range(len(header))]
    right = [_are_numbers(column) or (numbers and place > 0) for place, column in enumerate(cells)]
    whole = [fixed or not place for place, fixed in enumerate(right)]
    columns = [[one_line(name), *column] for name, column in zip(header, cells, strict=True)]
    widths = _widths(columns, whole, width() - _GAP * (len(header) - 1))
    if width() < lines_below or widths is None:
        _print_lines(header, rows)
        return
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    console = Console()
    if not console.is_terminal:
        console.width = _WIDE
    table = Table(box=None, pad_edge=False, padding=(0, _GAP, 0, 0))
    for name, wide, numeric in zip(header, widths, right, strict=True):
        table.add_column(Text(one_line(name)), width=wide, justify="right" if numeric else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    with console.capture() as caught:
        console.print(table)
    print(*(line.rstrip() for line in caught.get().splitlines()), sep="\n")


def _widths(columns: Sequence[Sequence[str]], whole: Sequence[bool], room: int) -> list[int] | None:
    """How wide the columns are: as wide as their cells where there is room, and otherwise the widest are narrower.

    ``whole``: which are never folded. None where there is no room for the longest words; those that have no room in a
    line of their own are broken anyway.
    """
    from rich.cells import cell_len

    most = [max(map(cell_len, column)) for column in columns]
    words = ([cell_len(word) for cell in column for word in cell.split()] for column in columns)
    least = [
        wide if fixed else max((word for word in found if word <= room), default=0)
        for wide, fixed, found in zip(most, whole, words, strict=True)
    ]
    for cap in range(max(most), 0, -1):
        widths = [max(low, min(high, cap)) for low, high in zip(least, most, strict=True)]
        if sum(widths) <= room:
            return widths
    return None


def _print_lines(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """The first cell of each row, and below it the others with their names; empty cells are left out."""
    for row in rows:
        (_, first), *others = ((name, one_line(cell)) for name, cell in zip(header, row, strict=False) if cell)
        print(first)
        for name, cell in others:
            print(
                textwrap.fill(
                    f"{one_line(name)}: {cell}", width(), initial_indent="  ", subsequent_indent="      ",
                    break_on_hyphens=False,
                )
            )  # fmt: skip


def _are_numbers(cells: Sequence[str]) -> bool:
    """Whether a column holds numbers, and perhaps empty cells, but no text."""
    return any(cells) and all(_NUMBER.fullmatch(cell) for cell in cells if cell)


def judge_unreadable(names: Sequence[str], *, allowed: bool) -> None:
    """Say in which columns text is taken for missing numbers; unless that is allowed, end here: nothing is spent yet.

    NOT PRIVATE, and no cell is quoted or counted.
    """
    if not names:
        return
    cells = f"ome cells of {', '.join(map(repr, names))} are not numbers and"
    if not allowed:
        refuse(f"S{cells} would count as missing. {_UNREADABLE} {_ALLOW} {_REVEALS}")
    print(f"WARNING: s{cells} count as missing. {_UNREADABLE} {_REVEALS}", file=sys.stderr)


def check_place(options: argparse.Namespace, name: str = "out", beside: Path | None = None) -> None:
    """Say that a result could not be written, or would replace what it is made from, before anything is spent on it.

    ``beside``: a further file, which is written because of the option. Edges: an option that was not given names no
    place.
    """
    from tacit.streams.opened import would_find

    path, option = vars(options)[name] if beside is None else str(beside), f"--{name.replace('_', '-')}"
    if path is None:
        return
    check(path, f"{option} is empty. Name a file. Is a variable in your script not set?")
    option = f"{option} {path}" if beside is None else f"{path}, which is written because of {option},"
    check(os.path.basename(path) not in ("", "."), f"{option} names a folder. Name a file.")
    place = Path(path)
    try:
        place.stat()
    except (FileNotFoundError, NotADirectoryError):
        pass
    except OSError as error:  # too long a name, or links in a circle
        refuse(f"Cannot write to {option}: {error.strerror}.")
    folder = place.resolve().parent
    check(folder.is_dir(), f"The folder of {option} does not exist.")
    check(not place.is_dir() and os.access(folder, os.W_OK), f"Cannot write to {option}.")
    check(not place.exists() or place.is_file(), f"{option} is a pipe or a device. Name a file.")
    for file in _inputs(options):
        same = place.exists() and file.exists() and place.samefile(file)
        check(not same, f"{option} is the input {file} and would be overwritten. Choose another name.")
    for given in _given(options):
        check(
            not would_find(given, place),
            f"{option} would be one of the files of the input {given}, and be read with them the next time. Choose "
            "another folder.",
        )


def check_new(options: argparse.Namespace, name: str = "out", beside: Path | None = None) -> None:
    """Say so too where a file is there already: a result that was paid for is replaced only with ``--overwrite``."""
    check_place(options, name, beside)
    path = vars(options)[name] if beside is None else beside
    option = f"--{name.replace('_', '-')} {path}" if beside is None else str(beside)
    check(
        options.overwrite or path is None or not Path(path).exists(),
        f"{option} already exists. Choose another name, or add --overwrite to replace it.",
    )


def _inputs(options: argparse.Namespace) -> Iterator[Path]:
    """The files that a command reads; what is wrong with their names is told when they are opened."""
    from tacit.streams.opened import found

    for place in _given(options):
        with suppress(ValueError, OSError):
            yield from found(place)


def _given(options: argparse.Namespace) -> Iterator[str]:
    """What a command is told to read: files, folders and patterns."""
    for name in _READ:
        given = vars(options).get(name) or ()
        yield from [given] if isinstance(given, str) else given
