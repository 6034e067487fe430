"""The ledger: every release is written down before it exists."""

from __future__ import annotations

from dataclasses import dataclass

from tacit.privacy.guarantee import Guarantee
from tacit.types import Adjacency


@dataclass(frozen=True)
class Ledger:
    """A budget that many releases share."""

    epsilon: float
    delta: float
    adjacency: Adjacency = "replace-one"
    rows_per_person: int | None = None

    def charge(self, guarantee: Guarantee) -> None:
        """Write a release down, or refuse it."""
        raise NotImplementedError


def ledger_of(ledger: Ledger | str | None = None) -> Ledger | None:
    """The ledger that is charged: the one given, or the one that is open around this, or none."""
    return ledger if isinstance(ledger, Ledger) else None
