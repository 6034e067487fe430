"""Who wants to know how far a pass over the records is: whoever shows a bar; nobody, by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int, int], None]
"""Told the number of the pass, the rows that are done, and all rows."""
_WATCHER: ContextVar[tuple[Watcher, list[int]] | None] = ContextVar("watcher", default=None)
_BATCHES: ContextVar[Callable[[int], None] | None] = ContextVar("batches", default=None)


@contextmanager
def watched(watcher: Watcher) -> Iterator[None]:
    """Tell the watcher about every pass over streamed records in this block."""
    token = _WATCHER.set((watcher, [0]))
    try:
        yield
    finally:
        _WATCHER.reset(token)


@contextmanager
def watch_pass(rows: int) -> Iterator[Callable[[int], None]]:
    """One pass over so many rows; call what is given with the rows of a piece when it is done.

    In between, the batches of a piece that is read in this thread are told as they are done.
    """
    found = _WATCHER.get()
    if found is None:
        yield lambda more: None
        return
    watcher, passes = found
    passes[0] += 1
    number, done, begun = passes[0], 0, 0

    def report(more: int) -> None:
        nonlocal done, begun
        done, begun = done + more, 0
        watcher(number, done, rows)

    def batch(more: int) -> None:
        nonlocal begun
        begun += more
        watcher(number, min(done + begun, rows), rows)

    watcher(number, 0, rows)
    token = _BATCHES.set(batch)
    try:
        yield report
    finally:
        _BATCHES.reset(token)


def batch_done(rows: int) -> None:
    """Say that a batch of a piece was read, and what was to be done with it is."""
    tell = _BATCHES.get()
    if tell is not None:
        tell(rows)
