"""Which ledger is open: ``with ledger:`` is for all that this process releases inside, and for processes it starts.

Threads see it, because it is the process's; children see it by the environment; copies of estimators that travel to
worker processes, which may be older than the ``with``, carry its address (:class:`CarriesLedger`).
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Protocol

from tacit.checks import refuse

VARIABLE = "TACIT_LEDGER"
"""The environment variable that names the ledger which a process charges, unless it is told another."""


class Addressed(Protocol):
    """A ledger, as far as opening it goes."""

    @property
    def address(self) -> str:
        """Its full name."""


class _Open:
    """The ledger of this process, how often it was opened, and what the environment said before."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.ledger: Any = None
        self.depth = 0
        self.before: str | None = None


_OPEN = _Open()
_SUSPENDED: ContextVar[bool] = ContextVar("suspended", default=False)


def opened() -> Any:
    """The ledger that a ``with`` of this process has opened, or None."""
    return _OPEN.ledger


def is_suspended() -> bool:
    """Whether this thread is within a release that was charged as a whole."""
    return _SUSPENDED.get()


@contextmanager
def suspended() -> Iterator[None]:
    """Charge nothing inside, in this thread: for the parts of a release that was charged as a whole, before."""
    token = _SUSPENDED.set(True)
    try:
        yield
    finally:
        _SUSPENDED.reset(token)


def enter(ledger: Addressed) -> None:
    """Open a ledger; the one that is open may be opened again, another not."""
    with _OPEN.lock:
        if _OPEN.depth and _OPEN.ledger != ledger:
            refuse("Another ledger is open already: what is released inside would be missing there. Close it first.")
        if not _OPEN.depth:
            _OPEN.before = os.environ.get(VARIABLE)
            os.environ[VARIABLE] = ledger.address
            _OPEN.ledger = ledger
        _OPEN.depth += 1


def leave() -> None:
    """Close what :func:`enter` opened, when it was left as often."""
    with _OPEN.lock:
        _OPEN.depth -= 1
        if _OPEN.depth:
            return
        _OPEN.ledger = None
        if _OPEN.before is None:
            os.environ.pop(VARIABLE, None)
        else:
            os.environ[VARIABLE] = _OPEN.before


class CarriesLedger:
    """For estimators with a parameter ``ledger``: a copy made while a ledger is open charges it, wherever it lives.

    Joblib's workers may have been started before the ledger was opened, and may work in another folder.
    """

    def __getstate__(self) -> Any:
        state: dict[str, Any] = {**super().__getstate__()}  # type: ignore[dict-item]
        given = state.get("ledger")
        if given is None and opened() is not None and not is_suspended():
            state["ledger"] = opened().address
        elif isinstance(given, str) and "://" not in given:
            state["ledger"] = str(Path(given).expanduser().resolve())
        return state
