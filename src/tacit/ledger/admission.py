"""What a ledger cannot count, whatever it costs: other neighbours, smaller units, what is not proven."""

from __future__ import annotations

import math
from collections.abc import Sequence

from tacit.checks import check, counted, refuse
from tacit.ledger.entries import Settings
from tacit.privacy.events import Claimed
from tacit.privacy.guarantee import TOLERANCE, Guarantee
from tacit.privacy.theorems import MODEL, THEOREMS
from tacit.types import Adjacency


def object_to(guarantee: Guarantee, settings: Settings) -> None:
    """Refuse a release that a ledger with these settings cannot count; its price is another matter."""
    check(isinstance(guarantee, Guarantee), "Expected a tacit.Guarantee to charge.")
    if not guarantee.events or math.isinf(guarantee.epsilon):
        refuse("A ledger does not accept a release without noise (epsilon = infinity): nothing bounds what it reveals.")
    claimed = any(isinstance(event, Claimed) for event in guarantee.events)
    if claimed or {guarantee.status, THEOREMS[guarantee.theorem].status} != {"proven"}:
        refuse(f"A ledger accepts proven releases only, and {guarantee.method} is {guarantee.status}.")
    if guarantee.adjacency != settings.adjacency:
        refuse(
            f"This ledger is for {settings.adjacency} neighbours, the release for {guarantee.adjacency}. "
            f"Use --adjacency {settings.adjacency} (in Python, adjacency={settings.adjacency!r})."
        )
    _object_to_unit(guarantee.rows_per_person, settings.rows_per_person, settings.adjacency)
    guarantee.check_events()
    if not guarantee.epsilon_at() <= guarantee.epsilon * (1 + TOLERANCE):
        refuse("The events of this guarantee cost more than it states.")


def _object_to_unit(release: int | None, unit: int | None, adjacency: Adjacency) -> None:
    """Refuse a release that does not protect whom the ledger protects (docs' page "The ledger", section "The unit")."""
    if unit is None and release is not None and adjacency == "add-remove":
        refuse(
            "This ledger protects single rows that are added or removed. An additional row of a person who already has "
            "rows changes that person's rows, which this release does not cover: use replace-one, or a ledger with "
            "rows_per_person."
        )
    if unit is not None and release is None:
        refuse(
            f"This ledger protects people with up to {counted(unit, 'row')}, the release single rows. Name the person "
            "of each row with --person (in Python, groups=)."
        )
    if unit is not None and release is not None and release < unit:
        refuse(
            f"This ledger protects people with up to {counted(unit, 'row')}, the release those with up to {release:,}. "
            f"Use --rows-per-person {unit} (in Python, rows_per_person={unit})."
        )


def object_to_collection(guarantees: Sequence[Guarantee]) -> None:
    """Refuse two models of one protocol: they may be of one collection, and then they share their noise."""
    named = [one.collection for one in guarantees if one.collection and one.protects == MODEL]
    if len(set(named)) < len(named):
        refuse(
            "This ledger would have two models of one protocol. If they are of one collection they share the "
            "contributors' noise and do not add up: for both together only the guarantee of one record holds."
        )
