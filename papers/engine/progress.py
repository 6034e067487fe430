"""How far a run is and how long it will take, on stderr: a bar on a terminal, now and then a line elsewhere."""

from __future__ import annotations

import statistics
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import TextIO

from papers.engine.cells import Cell

_EVERY = 20.0
"""Seconds between two lines where nobody watches a terminal."""


class Progress:
    """Time left is that of the cells left, each as long as its figure's cells took so far, over the workers."""

    def __init__(
        self, cells: Sequence[Cell], stored: int, workers: int, before: Mapping[tuple[str, str], float],
        stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        """``stored`` cells were finished by earlier runs, whose mean seconds a cell are in ``before``."""
        self._left = Counter((cell.paper, cell.figure) for cell in cells)
        self._total, self._done, self._failed = len(cells) + stored, stored, 0
        self._workers = workers
        self._before = before
        self._seconds: dict[tuple[str, str], list[float]] = defaultdict(list)
        self._stream = stream or sys.stderr
        self._clock = clock
        self._last = clock()

    def finished(self, cell: Cell, seconds: float, failed: bool = False) -> None:
        """Count a cell, and show it."""
        place = (cell.paper, cell.figure)
        self._left[place] -= 1
        self._seconds[place].append(seconds)
        self._failed += failed
        self._done += not failed
        self.show(f"{cell.paper} {cell.figure}")

    def seconds_left(self) -> float | None:
        """None before any cell of this run or an earlier one says how long cells take."""
        now = {place: statistics.fmean(took) for place, took in self._seconds.items()}
        means = {**self._before, **now}
        if not means:
            return None
        usual = statistics.fmean((now or means).values())  # other papers' networks say little about this run
        work = sum(count * means.get(place, usual) for place, count in self._left.items())
        return work / max(1, min(self._workers, self._left.total()))

    def show(self, place: str = "") -> None:
        """The bar, or a line when the last one is some time ago."""
        left = self.seconds_left()
        words = f"{self._done}/{self._total} cells"
        words += f", {self._failed} failed" if self._failed else ""
        words += f", {duration(left)} left" if left is not None else ", time left not yet known"
        if self._stream.isatty():
            part = int(24 * (self._done + self._failed) / max(1, self._total))
            print(f"\r[{'#' * part}{'.' * (24 - part)}] {words}  {place:<18}", end="", file=self._stream, flush=True)
        elif self._clock() - self._last >= _EVERY or self._left.total() == 0:
            self._last = self._clock()
            print(f"{words}  {place}".rstrip(), file=self._stream, flush=True)

    def end(self) -> None:
        """Leave the line of the bar."""
        if self._stream.isatty():
            print(file=self._stream, flush=True)


def duration(seconds: float) -> str:
    """A time in its two largest units: '45 s', '3 min 20 s', '2 h 5 min'."""
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s" if whole >= 10 or not seconds else f"{seconds:.1f} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {whole % 3600 // 60} min"
