"""One budget for many releases: who asks first is charged first, and what would exceed the budget is refused."""

from tacit.ledger.book import Balance, Ledger, ledger_of, refuse_open_ledger
from tacit.ledger.entries import Entry
from tacit.ledger.opening import CarriesLedger, suspended

__all__ = ["Balance", "CarriesLedger", "Entry", "Ledger", "ledger_of", "refuse_open_ledger", "suspended"]
