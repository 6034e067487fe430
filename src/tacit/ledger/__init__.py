"""One budget for many releases: who asks first is charged first, and what would exceed the budget is refused."""

from tacit.ledger.book import Ledger, ledger_of

__all__ = ["Ledger", "ledger_of"]
