"""How far a run is and how long it will take, on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import csv
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn

from papers.engine.grid import Cell

_EVERY = 20.0
"""Seconds between two lines where nobody watches a terminal."""


class Forecast:
    """Time left is that of the cells left, each as long as its figure's cells took so far, over the workers.

    rich's own estimate takes every step for equal; a cell with a network takes a hundred times as long as others.
    """

    def __init__(self, cells: Sequence[Cell], workers: int, before: Mapping[tuple[str, str], float]) -> None:
        """``before`` has the mean seconds of the cells of each (paper, figure) in earlier runs."""
        self.left = Counter((cell.paper, cell.figure) for cell in cells)
        self._workers = workers
        self._before = before
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)

    def finished(self, cell: Cell, seconds: float) -> None:
        """Learn from a cell."""
        self.left[cell.paper, cell.figure] -= 1
        self._seconds[cell.paper, cell.figure].append(seconds)

    def seconds(self) -> float | None:
        """None before any cell of this run or an earlier one says how long cells take."""
        now = {place: statistics.fmean(took) for place, took in self._seconds.items()}
        means = {**self._before, **now}
        if not means:
            return None
        usual = statistics.fmean((now or means).values())  # other papers' networks say little about this run
        work = sum(count * means.get(place, usual) for place, count in self.left.items())
        return work / max(1, min(self._workers, self.left.total()))

    def __str__(self) -> str:
        """What is to be done, for whoever decides whether to wait."""
        done, seconds = f"{self.left.total():,} cells to run, {self._workers} at a time", self.seconds()
        if seconds is None:
            return f"{done}; how long it takes is not known yet."
        unknown = sum(place not in self._before for place in self.left)
        guessed = f" ({unknown} of {len(self.left)} figures were not timed before: a guess)" if unknown else ""
        return f"{done}: about {duration(seconds)}, by how long such cells took before{guessed}."


def seconds_in(rows: Path, cells: Sequence[Cell]) -> dict[tuple[str, str], float]:
    """Mean seconds of a cell of each of these figures, by the tables of an earlier run that have all of its cells.

    Part of a grid may be its short cells, and a share of a GPU is no time of a core: neither says how long it takes.
    """
    found = {}
    for (paper, figure), count in Counter((cell.paper, cell.figure) for cell in cells).items():
        table = rows / paper / f"{figure}.csv"
        if table.exists():
            with table.open(encoding="utf-8", newline="") as file:
                took = {line["cell"]: float(line["cell_seconds"]) for line in csv.DictReader(file) if line["cell"]}
            if len(took) >= count and not side_by_side(list(took.values())):
                found[paper, figure] = statistics.fmean(took.values())
    return found


class RunDisplay:
    """What whoever waits sees of a run. Use it as a context manager."""

    def __init__(
        self, forecast: Forecast, stored: int, console: Console | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``stored`` cells were finished by earlier runs."""
        self._forecast = forecast
        self._total, self._done, self._failed = forecast.left.total() + stored, stored, 0
        self._console = console or Console(stderr=True)
        self._bar = Progress(
            BarColumn(24), TextColumn("{task.description}", markup=False), console=self._console, auto_refresh=False,
            disable=not self._console.is_terminal,
        )  # fmt: skip
        self._shown = self._bar.add_task(self._words(""), total=self._total, completed=stored)
        self._clock, self._last = clock, clock()

    def __enter__(self) -> RunDisplay:
        print(self._forecast, file=self._console.file, flush=True)
        self._bar.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._bar.stop()

    def finished(self, cell: Cell, seconds: float, failed: bool = False) -> None:
        """Count a cell; move the bar, or write a line when the last one is some time ago."""
        self._forecast.finished(cell, seconds)
        self._failed += failed
        self._done += not failed
        words = self._words(f"{cell.paper} {cell.figure}")
        self._bar.update(self._shown, completed=self._done + self._failed, description=words, refresh=True)
        due = self._clock() - self._last >= _EVERY or not self._forecast.left.total()
        if due and not self._console.is_terminal:
            self._last = self._clock()
            print(words, file=self._console.file, flush=True)

    def _words(self, place: str) -> str:
        left = self._forecast.seconds()
        failed = f", {self._failed} failed" if self._failed else ""
        time_left = f"{duration(left)} left" if left is not None else "time left not yet known"
        return f"{self._done}/{self._total} cells{failed}, {time_left}  {place}".rstrip()


def side_by_side(seconds: Sequence[float]) -> list[float]:
    """Those of a figure's cells that have another's to the last digit: networks that were trained together on a GPU.

    Each is given an equal share of the time of all; a process that has a core to itself never takes the same.
    """
    counts = Counter(seconds)
    return [took for took in seconds if counts[took] > 1]


def spent(figures: Iterable[Sequence[float]]) -> str:
    """The time of the cells of figures, on one core each and on a GPU: '3 min 20 s of one core and 40 s of a GPU'."""
    core = gpu = 0.0
    for seconds in figures:
        shared = sum(side_by_side(seconds))
        core, gpu = core + sum(seconds) - shared, gpu + shared
    words = [f"{duration(core)} of one core"] if core > 1e-6 or not gpu else []  # sums of floats differ by less
    return " and ".join([*words, *([f"{duration(gpu)} of a GPU"] if gpu else [])])


def duration(seconds: float) -> str:
    """A time in its two largest units: '45 s', '3 min 20 s', '2 h 5 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole >= 10 or not seconds else f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
