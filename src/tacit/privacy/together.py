"""Several releases about the same people as one price: what a file with a charged scaler or schema promises as a whole.

Nothing about the whole is stored. Its epsilon is computed from the events of its parts whenever it is asked for.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction

from tacit.checks import PrivacyError, at_most, check, refuse
from tacit.privacy import accounting
from tacit.privacy.desk import Statement
from tacit.privacy.guarantee import Guarantee, spent
from tacit.types import ADJACENCIES, Adjacency
from tacit.wrapping import WIDTH, fitted

ADDED = (
    "The deltas are added. The later releases may depend on what the earlier ones gave (adaptive composition): all "
    "events are priced together where one accountant knows them all and where the events of each release were fixed in "
    "advance; otherwise the epsilons are added."
)
"""How the total is computed."""
DECIDING = ("schema", "describe")
"""Methods that find columns and categories, and so decide on the events of whatever is trained with them. The price of
the events that came about is then no bound for those that might have, but the stated epsilons are: each holds whatever
was found (basic composition, Dwork, Kenthapadi, McSherry, Mironov & Naor 2006, Theorem 1)."""
_AS_STATED = (
    "A found schema decides on what is released after it, so the total is the sum of what each part states, and "
    "{label} states it for {other} neighbours."
)
_UNITS = (
    "{first} protects {one} and {last} protects {other}, so there is no price for both together. Fit both with groups= "
    "and rows_per_person=, or both without."
)
_WHO = {"row": "single rows", "person": "all rows of a person"}


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
        return _added(one.delta for one in self.guarantees)

    @property
    def epsilon(self) -> float:
        """The total, recomputed from the events."""
        return self.epsilon_at()

    @property
    def protects(self) -> str:
        """What the total is of."""
        return f"{self.guarantees[-1].protects}, with everything that was released before it"

    def epsilon_at(self, *, adjacency: Adjacency | None = None) -> float:
        """The epsilon of all parts together, at the sum of their deltas.

        The smallest of three bounds: all events priced together; each part at an equal share of delta; each part at a
        delta of its own. It is never said to be less than that of a part at its own delta, although at a larger delta
        it may be. After a schema that was found in the records, it is the sum of the stated epsilons.

        Edges: infinite where a part has no noise or rests on a claim; PrivacyError where the analysis of a part does
        not cover the adjacency.
        """
        chosen = self.adjacency if adjacency is None else adjacency
        check(chosen in ADJACENCIES, f"Expected adjacency={chosen!r} to be 'replace-one' or 'add-remove'.")
        decided = any(one.method in DECIDING for one in self.guarantees[:-1])
        for label, one in self.parts if decided else ():
            if one.adjacency != chosen:
                refuse(_AS_STATED.format(label=label, other=one.adjacency))
        total = spent(list(self.guarantees), delta=self.delta, adjacency=chosen)
        if math.isinf(total) or decided:
            return total if math.isinf(total) else _added(one.epsilon for one in self.guarantees)
        each = [accounting.epsilon(one.events, one.delta, chosen) for one in self.guarantees]
        return max(*each, min(total, _added(each)))

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


def _added(numbers: Iterable[float]) -> float:
    """A sum without rounding errors, rounded up."""
    exact = sum(map(Fraction, numbers), Fraction(0))
    total = float(exact)
    return total if Fraction(total) >= exact else math.nextafter(total, math.inf)
