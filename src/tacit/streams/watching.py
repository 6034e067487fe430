"""Who wants to know how far a pass over the records is: whoever shows a bar; nobody, by default."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

Watcher = Callable[[int, int, int], None]
"""Told the number of the pass, the rows that are done, and all rows."""
_WATCHER: ContextVar[tuple[Watcher, list[int]] | None] = ContextVar("watcher", default=None)


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
    """One pass over so many rows; call what is given with the number of rows that were done since."""
    found = _WATCHER.get()
    if found is None:
        yield lambda more: None
        return
    watcher, passes = found
    passes[0] += 1
    number, done = passes[0], 0

    def report(more: int) -> None:
        nonlocal done
        done += more
        watcher(number, done, rows)

    watcher(number, 0, rows)
    yield report
