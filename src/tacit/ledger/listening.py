"""Who is told of releases: in the place of a ledger, or after one was charged; and what the ledger calls them.

Releases that are parts of a larger one are told to whoever listens, and no ledger is charged. Whoever listens has
charged the whole before, or stops the release. So only what states such a whole may listen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.privacy.guarantee import Guarantee

Listener = Callable[["Guarantee"], None]
_LISTENER: ContextVar[Listener | None] = ContextVar("listener", default=None)
_CHARGED: ContextVar[list[Guarantee] | None] = ContextVar("charged", default=None)
_LABEL: ContextVar[str] = ContextVar("label", default="")


@contextmanager
def labelled(label: str | None) -> Iterator[None]:
    """Write this label into the ledger with every release that is charged inside; without one, each has its own."""
    before = _LABEL.set(label or _LABEL.get())
    try:
        yield
    finally:
        _LABEL.reset(before)


def label_within() -> str:
    """What releases are to be called here; empty where nobody said."""
    return _LABEL.get()


@contextmanager
def heard_by(listener: Listener) -> Iterator[None]:
    """Tell the listener of every release inside, before it exists, in the place of any ledger.

    It holds for this thread (or task) alone. What the listener raises ends the release, and nothing was released.
    """
    before = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(before)


def listener() -> Listener | None:
    """Who is told of releases in the place of a ledger, or nobody."""
    return _LISTENER.get()


@contextmanager
def charges(charged: list[Guarantee]) -> Iterator[None]:
    """Add to the list what ledgers are charged for inside: whoever fails later can say so."""
    before = _CHARGED.set(charged)
    try:
        yield
    finally:
        _CHARGED.reset(before)


def note_charge(guarantee: Guarantee) -> None:
    """A ledger was charged for this."""
    charged = _CHARGED.get()
    if charged is not None:
        charged.append(guarantee)
