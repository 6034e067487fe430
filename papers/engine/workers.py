"""Cells on several processes, one thread of linear algebra each. The parent alone writes what they give.

A pool of its own, because what happens to one cell must not touch the others: a cell that raises, or whose process
dies, is one outcome among others and the rest goes on. Workers follow their parent when it is killed.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections import deque
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from multiprocessing.context import SpawnProcess

from papers.engine.grid import Cell, checked_points
from papers.engine.library import load
from tacit.checks import RefutedWarning
from tacit.datasets import standing_in

_THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


@dataclass(frozen=True)
class Outcome:
    """What became of a cell: its points as JSON, or an error with its trace; and the processor seconds it took."""

    cell: Cell
    seconds: float
    points: str | None = None
    error: str = ""
    trace: str = ""


def cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def outcomes(cells: Sequence[Cell], workers: int) -> Generator[Outcome]:
    """The outcome of every cell, as they come. Closing the iterator ends the processes."""
    waiting, idle, busy = deque(cells), list[_Worker](), dict[object, _Worker]()
    try:
        while waiting or busy:
            while waiting and len(busy) < workers:
                worker = idle.pop() if idle else _Worker()
                busy[worker.connection] = worker  # noted before it starts, so that it ends whatever comes next
                worker.give(waiting.popleft())
            for connection in wait([worker.connection for worker in busy.values()]):
                worker = busy[connection]
                outcome, alive = worker.take()
                del busy[connection]
                if alive:
                    idle.append(worker)
                else:
                    worker.end()
                yield outcome
    finally:
        for worker in (*idle, *busy.values()):
            worker.end()


class _Worker:
    """A process and the connection to it. It is started when it gets its first cell."""

    def __init__(self) -> None:
        self.connection, self._there = multiprocessing.Pipe()
        context = multiprocessing.get_context("spawn")
        self._process: SpawnProcess = context.Process(target=_work, args=(self._there,))
        self._cell: Cell | None = None
        self._since = 0.0

    def give(self, cell: Cell) -> None:
        if self._process.pid is None:
            with one_thread(), deaf():
                self._process.start()
            self._there.close()  # the other end is the worker's alone: when it dies, this end is told
        self._cell, self._since = cell, time.monotonic()
        with suppress(OSError):  # it died while idle: then there is nothing to take either
            self.connection.send(cell)

    def take(self) -> tuple[Outcome, bool]:
        """The outcome of the cell, and whether the process lives on."""
        if self._cell is None:
            raise ValueError("This worker has no cell.")
        try:
            outcome: Outcome = self.connection.recv()
        except (EOFError, OSError):
            self._process.join()
            seconds = time.monotonic() - self._since
            how = f"Its process ended with code {self._process.exitcode}; -9 often means that memory ran out."
            return Outcome(self._cell, seconds, error=how), False
        return outcome, True

    def end(self) -> None:
        """End the process; a cell under way is lost, and will be run again."""
        self.connection.close()
        if self._process.pid is not None:
            self._process.kill()
            self._process.join()


@contextmanager
def one_thread() -> Iterator[None]:
    """New processes get one thread of linear algebra each: their libraries read this when they load."""
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


@contextmanager
def deaf() -> Iterator[None]:
    """New processes do not hear Ctrl-C, from their first instruction on: the parent does, when it has started them."""
    if not hasattr(signal, "pthread_sigmask"):  # pragma: no cover - Windows
        yield
        return
    resource_tracker.ensure_running()  # which would unblock the signal when it starts
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _work(connection: Connection) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent hears it too, and ends this process
    threading.Thread(target=_follow_parent, daemon=True).start()
    warnings.simplefilter("ignore", RefutedWarning)  # the report says the status of every curve
    try:
        while True:
            connection.send(_measure(connection.recv()))
    except (EOFError, BrokenPipeError, ConnectionResetError):
        return


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        wait([parent.sentinel])
        os._exit(1)


def _measure(cell: Cell) -> Outcome:
    started = time.process_time()  # what it costs, however busy the machine is
    try:
        figure = load(cell.package, cell.paper).figure(cell.figure)
        with standing_in(cell.stand_ins):
            points = checked_points(figure.measure(**cell.asked), f"{cell.paper} {cell.figure}")
    except (Exception, SystemExit) as error:
        words = f"{type(error).__name__}: {error}"
        return Outcome(cell, time.process_time() - started, error=words, trace=traceback.format_exc())
    return Outcome(cell, time.process_time() - started, points)
