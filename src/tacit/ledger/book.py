"""The ledger: every release is written down before it exists, and what would exceed the budget is refused."""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Never, Self

from tacit.arguments import checked
from tacit.checks import at_least, at_most, check, check_count, check_real, refuse
from tacit.ledger.admission import object_to, object_to_collection
from tacit.ledger.entries import LABEL, Entry, Settings
from tacit.ledger.opening import VARIABLE, enter, is_suspended, leave, opened
from tacit.ledger.store import Page, store_at
from tacit.ledger.verification import verify_lines
from tacit.privacy.desk import Statement
from tacit.privacy.events import Event
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.privacy_filters import Filters, Price, block
from tacit.settings import described
from tacit.types import Adjacency
from tacit.wrapping import WIDTH, fitted

COMPOSITION = (
    "A filter for releases that were chosen depending on earlier ones: Gaussian differential privacy, Renyi "
    "differential privacy at fixed orders, or basic composition, each with its own share of delta (docs page 'ledger')."
)
"""How a ledger's total is computed."""
KINDS = ("pure", "Gaussian")
"""The kind of release that is left, by whether there is a delta."""


@dataclass(frozen=True)
class Balance:
    """Where a ledger stands: the budget that all entries together keep, and how much of it they used.

    ``epsilon`` and ``delta`` are what holds for everything that the ledger admitted. ``spent`` is the epsilon of the
    smallest ledger, of the same delta, that would have admitted the same list. ``left`` is that of one more Gaussian
    release, at the ledger's delta, that would be admitted.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    rows_per_person: int | None
    spent: float
    left: float
    entries: int
    seeded: int
    digest: str
    composition: str = COMPOSITION

    @property
    def spent_in_digits(self) -> str:
        """What was spent, rounded up; in so many digits that it reads as the whole budget only where it is."""
        return next(
            (text for digits in (4, 6, 8, 10, 12) if float(text := at_most(self.spent, digits)) < self.epsilon),
            at_most(self.spent),
        )

    def text(self, width: int = WIDTH) -> str:
        """What ``print`` shows, in lines of at most so many columns."""
        rows = self.rows_per_person
        people = "one row" if rows is None else f"all rows of one person (rows_per_person = {rows})"
        none, one = "all releases together, of which there are none yet", "all releases together, so far one"
        which = {0: none, 1: one}.get(self.entries, f"all {self.entries:,} releases together")
        lines = [
            f"({at_most(self.epsilon, 6)}, {at_most(self.delta, 3)})-differential privacy for {which}; "
            f"{self.adjacency} neighbours, which differ in {people}",
            f"spent       epsilon = {self.spent_in_digits}",
            f"left        epsilon = {at_least(self.left)} for one more {KINDS[self.delta > 0]} release at delta = "
            f"{self.delta:.3g}",
            f"digest      {self.digest}",
        ]
        if self.seeded:
            lines.append(f"NOT FOR RELEASE: the noise of {self.seeded:,} of them came from a seed")
        return fitted("\n".join(lines), width)

    def __str__(self) -> str:
        return self.text()


@described
class Ledger:
    """One budget for all releases about the same people, kept on disk or in a database, for any number of processes.

    A release is charged before it is computed, whatever becomes of it; nothing is refunded. See the docs page "The
    ledger".

    Parameters
    ----------
    address : str or path
        A file (SQLite), or ``postgresql://user@host/database``.
    epsilon : float or None
        The whole budget of a new ledger. None opens an existing ledger.
    delta : float or None
        The whole delta of a new ledger.
    adjacency : {'replace-one', 'add-remove'} or None
        Which tables count as neighbours. None: 'replace-one', or what the ledger was made with.
    rows_per_person : int or None
        The ledger protects people with up to this many rows each. None: it protects single rows.
    """

    @checked
    def __init__(
        self,
        address: str | Path,
        epsilon: float | None = None,
        delta: float | None = None,
        adjacency: Adjacency | None = None,
        rows_per_person: int | None = None,
    ) -> None:
        self._store = store_at(address)
        given = {"epsilon": epsilon, "delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person}
        if not self._store.exists():
            check(
                epsilon is not None and delta is not None,
                f"There is no ledger {self._store.name}. To create one, give epsilon= and delta=.",
            )
            made = Settings(
                epsilon=check_real("epsilon", epsilon), delta=check_real("delta", delta),
                adjacency=adjacency or "replace-one",
                rows_per_person=None if rows_per_person is None else check_count("rows_per_person", rows_per_person),
            )  # fmt: skip
            self._store.create(made.line(_now()))
        self.settings = Settings.read(self._store.first())
        self._filters = self.settings.filters
        for name, value in given.items():
            kept = getattr(self.settings, name)
            if value is not None and value != kept:
                refuse(
                    f"The ledger {self._store.name} was created with {name}={kept!r}, which cannot be changed. Leave "
                    f"out {name}, or create another ledger."
                )

    @property
    def address(self) -> str:
        """The full name of the ledger, by which another process can open it."""
        return self._store.address

    @property
    def epsilon(self) -> float:
        """The whole budget."""
        return self.settings.epsilon

    @property
    def delta(self) -> float:
        """The delta of the whole budget; estimators that charge this ledger use it unless they are given another."""
        return self.settings.delta

    @property
    def adjacency(self) -> Adjacency:
        """Which tables count as neighbours."""
        return self.settings.adjacency

    @property
    def rows_per_person(self) -> int | None:
        """How many rows of a person are protected at once; None: single rows are protected."""
        return self.settings.rows_per_person

    @property
    def entries(self) -> tuple[Entry, ...]:
        """All releases in order."""
        return tuple(Entry.read(line) for line in self._store.lines()[1:])

    def spent(self) -> float:
        """The epsilon, at the ledger's delta, of the smallest ledger that would have admitted what this one did."""
        return _spent(self._filters, self._last())

    def left(self) -> float:
        """The epsilon, at the ledger's delta, of one more Gaussian release that fits; of a pure one with delta 0."""
        return _left(self._filters, self._last())

    def balance(self) -> Balance:
        """What was spent and what is left, from one reading of the ledger."""
        lines = self._store.lines()
        entries = [Entry.read(line) for line in lines[1:]]
        last = entries[-1] if entries else None
        return Balance(
            epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, rows_per_person=self.rows_per_person,
            spent=_spent(self._filters, last), left=_left(self._filters, last),
            entries=len(entries), seeded=sum(entry.guarantee.seeded for entry in entries), digest=lines[-1].digest,
        )  # fmt: skip

    def statement(self, title: str = "") -> Statement:
        """A statement for the person who decides about a release: what is protected, for whom, how it adds up, who is
        trusted.

        Everything is recomputed first; what does not hold raises an error.
        """
        self.verify()
        title = title or f"Statement for the release desk: ledger {self._store.name}"
        entries = [(f"{one.number}. {one.label or one.guarantee.method}", one.guarantee) for one in self.entries]
        return Statement.of_ledger(
            epsilon=self.epsilon, delta=self.delta, adjacency=self.adjacency, rows_per_person=self.rows_per_person,
            entries=entries, spent=self.spent(), composition=COMPOSITION, title=title,
            digest=self._store.last().digest,
        )  # fmt: skip

    def charge(self, guarantee: Guarantee, label: str = "") -> Entry:
        """Record a release permanently, or refuse it. Call it before anything of the release exists.

        Edges: refused are other neighbours, a smaller unit, what is not proven or has no noise, a second model of one
        protocol's collection, and what exceeds the budget. A refused release costs nothing.
        """
        check(isinstance(label, str) and len(label) <= LABEL, f"Expected a label of at most {LABEL} characters.")
        check(label.isprintable(), "Expected a label in one line.")
        object_to(guarantee, self.settings)
        number = self._store.last().number + 1
        while True:  # a few times at most: prices change from block to block, and blocks double
            price = self._filters.price(guarantee.events, number)
            with self._store.writing() as page:
                last = page.last()
                due, number = block(number), last.number + 1
                if block(number) != due:
                    continue
                total = price.plus(Entry.read(last).total) if last.number else price
                if self._admits(page, guarantee, total, number):
                    entry = Entry(
                        number=number, time=_now(), label=label, guarantee=guarantee, price=price, total=total
                    )
                    page.append(entry.line(last.digest))
                    return entry
            self._refuse(guarantee)

    def admits(self, events: tuple[Event, ...]) -> bool:
        """Whether a release of these events would be admitted now; nothing is written down."""
        last = self._last()
        price = self._filters.price(events, 1 if last is None else last.number + 1)
        if last is None:
            return self._filters.certify(price) or self._filters.alone(events)
        return self._filters.certify(price.plus(last.total))

    def _last(self) -> Entry | None:
        line = self._store.last()
        return Entry.read(line) if line.number else None

    def _admits(self, page: Page, guarantee: Guarantee, total: Price, number: int) -> bool:
        """Whether the filter certifies all entries with this one; refused where it shares its noise with an entry."""
        if guarantee.collection:
            object_to_collection([*(Entry.read(line).guarantee for line in page.lines()[1:]), guarantee])
        return self._filters.certify(total) or (number == 1 and self._filters.alone(guarantee.events))

    def _refuse(self, guarantee: Guarantee) -> Never:
        cost, kind = guarantee.epsilon_at(delta=self.delta), KINDS[self.delta > 0]
        refuse(
            f"This release costs epsilon={at_most(cost) if cost < math.inf else 'infinity'} at delta={self.delta:.3g}; "
            f"the ledger {self._store.name} has room left for a {kind} release of epsilon={at_least(self.left())} (its "
            f"budget is {self.epsilon:g}). Nothing was spent."
        )

    def verify(self, digest: str | None = None) -> Balance:
        """Recompute everything from the recorded events alone, as a third party would; raises if it does not hold.

        ``digest``: a digest that somebody noted, of this or an earlier state; it must be in the chain.
        """
        verify_lines(self.settings, self._store.lines(), digest)
        return self.balance()

    def __enter__(self) -> Self:
        enter(self)
        return self

    def __exit__(self, *_: object) -> None:
        leave()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Ledger) and self.address == other.address

    def __hash__(self) -> int:
        return hash(self.address)

    def __reduce__(self) -> tuple[Any, ...]:
        return Ledger, (self.address,)

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        unit = "" if self.rows_per_person is None else f", rows_per_person={self.rows_per_person}"
        return (
            f"Ledger({self._store.name!r}, epsilon={self.epsilon:g}, delta={self.delta:g}, "
            f"adjacency={self.adjacency!r}{unit})"
        )


def ledger_of(ledger: Ledger | str | Path | None = None) -> Ledger | None:
    """The ledger that is charged: the one given, the one that is open, or the one that the environment names.

    Edges: another one than the open one is refused; in a part of a release that was charged as a whole there is none.
    """
    if is_suspended():
        return None
    current: Ledger | None = opened()
    address = os.environ.get(VARIABLE)
    if current is None and address:  # of a parent's `with`, or of the user
        current = Ledger(address)
    if ledger is None:
        return current
    check(isinstance(ledger, Ledger | str | Path), "Expected ledger to be a tacit.Ledger or its address.")
    asked = ledger if isinstance(ledger, Ledger) else Ledger(ledger)
    if current is not None and asked != current:
        refuse(
            f"Another ledger is open (by `with`, or named by {VARIABLE}), and would not be charged. Close it, or leave "
            "out ledger=."
        )
    return asked


def refuse_open_ledger(what: str) -> None:
    """Refuse what no ledger can count, while one is open."""
    if ledger_of(None) is not None:
        refuse(
            f"{what} cannot be charged to the ledger that is open. Close it, and use data that is made up or public."
        )


def _spent(filters: Filters, last: Entry | None) -> float:
    if last is None:
        return 0.0
    alone = last.epsilon_at(filters.delta) if last.number == 1 else math.inf
    return min(alone, filters.spent(last.total))


def _left(filters: Filters, last: Entry | None) -> float:
    return filters.epsilon if last is None else filters.room(last.total, last.number + 1)


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
