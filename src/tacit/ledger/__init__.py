"""One budget for many releases: who asks first is charged first, and what would exceed the budget is refused.

Names are loaded when they are first asked for: code that only listens to releases does not wait for what prices them.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.ledger.book import Balance, Ledger, ledger_of, refuse_open_ledger
    from tacit.ledger.entries import Entry
    from tacit.ledger.opening import CarriesLedger, suspended

__all__ = ["Balance", "CarriesLedger", "Entry", "Ledger", "ledger_of", "refuse_open_ledger", "suspended"]

_PLACES = {"Entry": "entries", "CarriesLedger": "opening", "suspended": "opening"}
"""Modules of what is not in ``book``."""


def __getattr__(name: str) -> object:
    """A public name, from its module."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"tacit.ledger.{_PLACES.get(name, 'book')}"), name)
