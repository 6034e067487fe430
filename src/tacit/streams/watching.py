"""Who wants to know how far a pass over the records is, and how far all passes: whoever shows a bar; else nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from threading import Lock

Watcher = Callable[[int, int, int], None]
"""Told the number of the pass, the rows that are done, and all rows."""
_WATCHER: ContextVar[tuple[Watcher, list[int]] | None] = ContextVar("watcher", default=None)
Stepper = Callable[[int, int], None]
"""Told how many of a training's steps are done, and of how many: public numbers, by which it was calibrated."""
_STEPPER: ContextVar[Stepper | None] = ContextVar("stepper", default=None)
_BATCHES: ContextVar[Callable[[int], None] | None] = ContextVar("batches", default=None)


@contextmanager
def watched(watcher: Watcher, stepper: Stepper | None = None) -> Iterator[None]:
    """Tell the watcher about every pass over streamed records in this block, the stepper about every step."""
    tokens = _WATCHER.set((watcher, [0])), _STEPPER.set(stepper)
    try:
        yield
    finally:
        _WATCHER.reset(tokens[0])
        _STEPPER.reset(tokens[1])


def watch_steps(total: int) -> Iterator[int]:
    """Count the steps of a training from 0; each takes as long as the others, whether records are streamed or held."""
    tell = _STEPPER.get() or (lambda done, steps: None)
    for step in range(total):
        tell(step, total)
        yield step
    tell(total, total)


@contextmanager
def watch_pass(rows: int) -> Iterator[Callable[[int], None]]:
    """One pass over so many rows; call what is given with the rows of a piece when it is done.

    Batches are told too, as far as pieces are read in this context (:func:`contextvars.copy_context` takes it into a
    thread): whichever of the two is farther is how far the pass is.
    """
    found = _WATCHER.get()
    if found is None:
        yield lambda more: None
        return
    watcher, passes = found
    passes[0] += 1
    number, lock, done = passes[0], Lock(), {"pieces": 0, "batches": 0}

    def report(what: str, more: int) -> None:
        with lock:
            done[what] += more
            farther = min(max(done.values()), rows)
        watcher(number, farther, rows)

    watcher(number, 0, rows)
    token = _BATCHES.set(partial(report, "batches"))
    try:
        yield partial(report, "pieces")
    finally:
        _BATCHES.reset(token)


def batch_done(rows: int) -> None:
    """Say that a batch of a piece was read, and what was to be done with it is."""
    tell = _BATCHES.get()
    if tell is not None:
        tell(rows)
