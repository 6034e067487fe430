"""A ledger recomputed from its recorded events alone, as a third person does who was handed the file."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.checks import PrivacyError, refuse
from tacit.ledger.admission import object_to, object_to_collection
from tacit.ledger.entries import Entry, Line, Settings, check_chain
from tacit.privacy.guarantee import TOLERANCE
from tacit.privacy.privacy_filters import Price


def verify_lines(settings: Settings, lines: Sequence[Line], digest: str | None) -> None:
    """Raise PrivacyError unless the chain holds, every price was counted in full, and no step exceeded the budget.

    ``digest``: one that somebody noted, which must be that of a line.
    """
    check_chain(lines)
    if digest is not None and digest not in {line.digest for line in lines}:
        refuse(
            "This digest does not belong to any state of the ledger: entries were removed, or the ledger was rewritten."
        )
    filters, total = settings.filters, Price(renyi=tuple(0.0 for _ in settings.orders))
    entries = [Entry.read(line) for line in lines[1:]]
    for entry in entries:
        try:
            object_to(entry.guarantee, settings)
            entry.guarantee.verify()
        except PrivacyError as error:
            raise PrivacyError(f"Entry {entry.number}: {error}") from error
        events = entry.guarantee.events
        price = filters.price(events, entry.number)
        total = total.plus(price)
        if not (_covers(entry.price, price) and _covers(entry.total, total)):
            refuse(f"Entry {entry.number} costs more than this ledger counted for it.")
        if not (filters.certify(entry.total) or (entry.number == 1 and filters.alone(events))):
            refuse(f"The entries up to {entry.number} cost more than this ledger's epsilon={settings.epsilon:g}.")
    object_to_collection([entry.guarantee for entry in entries])


def _covers(written: Price, price: Price) -> bool:
    """Whether what was counted is at least the price, up to what another machine's arithmetic may differ by."""
    pairs = zip(written.values, price.values, strict=True)
    return all(now <= then * (1 + TOLERANCE) for then, now in pairs)
