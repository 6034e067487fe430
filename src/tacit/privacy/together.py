"""Several releases about the same people as one price: :func:`spent`, and what a file with a charged scaler or schema
promises as a whole.

Nothing about the whole is stored. Its epsilon is computed from the events of its parts whenever it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from tacit.arguments import checked
from tacit.checks import PrivacyError, at_most, check, refuse, shown
from tacit.privacy.desk import Statement
from tacit.privacy.events import Claimed
from tacit.privacy.guarantee import TOLERANCE, Guarantee
from tacit.privacy.lists import price_of_list
from tacit.privacy.theorems import MODEL
from tacit.rounding import sum_up
from tacit.types import ADJACENCIES, Adjacency
from tacit.wrapping import WIDTH, fitted

ADDED = (
    "The deltas are added. The later releases may depend on what the earlier ones gave (adaptive composition). If the "
    "events of each release were fixed in advance, the total is the smallest of several proven bounds; where a "
    "schema that was found in the records decided on them, the epsilons are added."
)
"""How the total is computed."""
DECIDING = ("schema", "describe", "bounds", "categories")
"""Methods that find columns, bounds and categories, and so decide on the events of whatever is trained with them. The
price of the events that came about is then no bound for those that might have, but the stated epsilons are: each holds
whatever was found (basic composition, Dwork, Kenthapadi, McSherry, Mironov & Naor 2006, Theorem 1)."""
_FOUND = (
    "What was found in the records (a schema, bounds, categories) decides on what is released after it, so the total "
    "is the sum of what each release states, and "
)
_AS_STATED = _FOUND + "{method} states it for add-remove neighbours. Use adjacency='add-remove'."
_AT_LEAST = _FOUND + (
    "their deltas add up to {least}. Use delta={least} or more, or charge all of them to one tacit.Ledger, which keeps "
    "a delta that is fixed in advance."
)
_UNITS = (
    "{first} protects {one} and {last} protects {other}, so there is no price for both together. Fit both with groups= "
    "and rows_per_person=, or both without."
)
_WHO = {"row": "single rows", "person": "all rows of a person"}


@checked
def spent(guarantees: list[Guarantee], *, delta: float, adjacency: Adjacency = "replace-one") -> float:
    """The total epsilon, at this delta, of several fits on the same people.

    The smallest of all bounds that are proven for releases that were fixed before the first
    (:mod:`tacit.privacy.lists`): never more than the sum, where the deltas add up to at most this delta, nor than what
    a ledger of this delta has spent on them. After what decides on later releases (a schema, bounds
    or categories that were found in the records) it is the sum of the stated epsilons.

    Edges: what rests on a paper's claim alone costs infinity. Two models of one protocol's collection are refused:
    they share the contributors' noise, and only the guarantee of one record holds for both together. Guarantees of
    rows and of people have no price together. With a found schema, a delta below the sum of theirs is refused.
    """
    check(
        isinstance(guarantees, list | tuple) and all(isinstance(one, Guarantee) for one in guarantees),
        f"Expected guarantees to be a list of guarantees (guarantee_ of fitted models), not {shown(guarantees)}.",
    )
    check(guarantees, "Expected at least one guarantee.")
    if len({one.unit for one in guarantees}) > 1:
        refuse(_UNITS.format(first="One of these guarantees", one=_WHO["row"], last="another", other=_WHO["person"]))
    collections = [one.collection for one in guarantees if one.collection and one.protects == MODEL]
    if len(set(collections)) < len(collections):
        refuse(
            "Two of these models are of one protocol. If they are of one collection they share the contributors' noise "
            "and do not add up: for all of them together only the guarantee of one record holds (record_guarantee_)."
        )
    if any(not one.events or any(isinstance(event, Claimed) for event in one.events) for one in guarantees):
        return math.inf  # without noise, or with what a paper claims, which has no price of its own
    if len(guarantees) > 1 and any(one.method in DECIDING for one in guarantees):
        return _as_stated(guarantees, delta, adjacency)
    return price_of_list([one.events for one in guarantees], [one.delta for one in guarantees], delta, adjacency)


def _as_stated(guarantees: Sequence[Guarantee], delta: float, adjacency: Adjacency) -> float:
    """The sum of epsilons that hold whatever the schema was.

    What was stated for replace-one neighbours holds for add-remove too, where the analysis covers both: its sums are
    over records that may add anything up to a norm, nothing among it, and a record that adds nothing is not there. The
    schema itself was decided on by nothing, so under the other neighbours its own events count.
    """
    deltas = [one.delta for one in guarantees]
    if math.fsum(deltas) > delta:
        refuse(_AT_LEAST.format(least=at_most(sum_up(deltas), 3)))
    if any(one.status != "proven" for one in guarantees):
        return math.inf  # what it states may not hold for what might have been found
    deciding = sum(one.method in DECIDING for one in guarantees)
    found = []
    for one in guarantees:
        price = one.epsilon_at(adjacency=adjacency)
        if one.adjacency == "add-remove" != adjacency:
            refuse(_AS_STATED.format(method=one.method))
        first = one.method in DECIDING and deciding == 1 and one.adjacency != adjacency
        covered = price <= one.epsilon * (1 + TOLERANCE)  # as wherever a guarantee is verified
        found.append(one.epsilon if covered and not first else price)
    return sum_up(found)


@dataclass(frozen=True)
class Together:
    """Guarantees of releases about the same people, each with a label, the last one that of the model.

    Edges: parts that protect different units, one a row and another a person, are refused, and so are deltas that add
    up to 1 or more.
    """

    parts: tuple[tuple[str, Guarantee], ...]

    def __post_init__(self) -> None:
        check(self.parts, "Expected at least one guarantee.")
        last, final = self.parts[-1]
        for label, one in self.parts:
            if one.unit != final.unit:
                first = label[:1].upper() + label[1:]
                refuse(_UNITS.format(first=first, one=_WHO[one.unit], last=last, other=_WHO[final.unit]))
        if self.delta >= 1:
            refuse("The deltas of these releases add up to 1 or more, so together they promise nothing.")

    @property
    def guarantees(self) -> tuple[Guarantee, ...]:
        """The guarantees alone."""
        return tuple(guarantee for _, guarantee in self.parts)

    @property
    def adjacency(self) -> Adjacency:
        """Which neighbours the total is for: those of the last part."""
        return self.guarantees[-1].adjacency

    @property
    def delta(self) -> float:
        """The sum of the parts' deltas."""
        return sum_up(one.delta for one in self.guarantees)

    @property
    def epsilon(self) -> float:
        """The total, recomputed from the events."""
        return self.epsilon_at()

    @property
    def protects(self) -> str:
        """What the total is of."""
        return f"{self.guarantees[-1].protects}, with everything that was released before it"

    def epsilon_at(self, *, adjacency: Adjacency | None = None) -> float:
        """The epsilon of all parts together, at the sum of their deltas: what :func:`spent` says.

        It is never said to be less than that of a part at its own delta, although at a larger delta it may be.

        Edges: infinite where a part has no noise or rests on a claim; PrivacyError where the analysis of a part does
        not cover the adjacency.
        """
        chosen = self.adjacency if adjacency is None else adjacency
        check(chosen in ADJACENCIES, f"Expected adjacency={chosen!r} to be 'replace-one' or 'add-remove'.")
        total = spent(list(self.guarantees), delta=self.delta, adjacency=chosen)
        if math.isinf(total):
            return total
        return max(total, *(one.epsilon_at(adjacency=chosen) for one in self.guarantees))

    def verify(self) -> float:
        """Verify every part as :meth:`Guarantee.verify` does, and return the total; raise PrivacyError otherwise."""
        for label, guarantee in self.parts:
            try:
                guarantee.verify()
            except PrivacyError as error:
                raise PrivacyError(f"{label}: {error}") from error
        total = self.epsilon_at()
        if math.isinf(total):
            refuse("There is no finite price for all parts together.")
        return total

    def statement(self) -> Statement:
        """All parts together for the release desk."""
        try:
            total = self.epsilon
        except PrivacyError:
            total = math.inf
        return Statement.of_parts(
            epsilon=total, delta=self.delta, adjacency=self.adjacency,
            rows_per_person=self.guarantees[-1].rows_per_person, entries=self.parts, composition=ADDED,
            title=f"Statement for the release desk: {self.protects}",
        )  # fmt: skip

    def text(self, width: int = WIDTH) -> str:
        """What ``print`` shows, in lines of at most so many columns."""
        other: Adjacency = "add-remove" if self.adjacency == "replace-one" else "replace-one"
        total, also = self._shown(self.adjacency), self._shown(other)
        lines = [
            f"({total or 'no epsilon'}, {at_most(self.delta, 3)})-differential privacy for everything in this file "
            f"together, {self.adjacency} neighbours; "
            + (f"epsilon = {also} under {other}" if also else f"{other} is not covered"),
            f"The file depends on {len(self.parts)} releases about the same people, and their prices add up:",
        ]
        for number, (label, guarantee) in enumerate(self.parts, 1):
            lines += ["", f"{number}. {label}", guarantee.text(width)]
        return fitted("\n".join(lines), width)

    def __str__(self) -> str:
        return self.text()

    def _shown(self, adjacency: Adjacency) -> str:
        try:
            total = self.epsilon_at(adjacency=adjacency)
        except PrivacyError:
            return ""
        return "infinity" if math.isinf(total) else at_most(total, 6)
