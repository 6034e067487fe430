"""The pages of a ledger: its settings and its entries as lines of JSON, each sealed with the digest before it.

A line's digest is the SHA-256 of the digest before it and its own text. So a line that was altered, left out or put in
between shows, and who knows the last digest knows whether the whole ledger is still the same.
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tacit._version import __version__
from tacit.checks import PrivacyError, check, refuse
from tacit.privacy.events import is_count
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.privacy_filters import Filters, Price, orders_for
from tacit.reading import parse
from tacit.types import Adjacency, Budget

FORMAT, VERSION = "tacit-ledger", 1
ORDERS = 64
"""The most Renyi orders of a ledger."""
LABEL = 200
"""The most characters of a label."""


class Line(NamedTuple):
    """What a store keeps of one entry, or of the settings, whose number is 0."""

    number: int
    content: str
    digest: str


def sealed(number: int, data: dict[str, Any], previous: str) -> Line:
    """The data as a line that follows a digest, and says which: so a damaged line shows by itself."""
    content = json.dumps({**data, "previous": previous}, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return Line(number, content, digest_of(previous, content))


def digest_of(previous: str, content: str) -> str:
    """The digest of a line."""
    return hashlib.sha256(f"{previous}\n{content}".encode()).hexdigest()


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What a ledger promises, fixed when it is made: budget, neighbours, unit, and the orders of its filter."""

    epsilon: float
    delta: float
    adjacency: Adjacency
    rows_per_person: int | None
    orders: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        check(self.epsilon < math.inf, "Expected epsilon to be finite: a ledger without a limit keeps no total.")
        Budget(self.epsilon, self.delta, self.adjacency)  # its checks
        person = self.rows_per_person is None or is_count(self.rows_per_person)
        check(person, "Expected rows_per_person to be None or a whole number >= 1.")
        orders = self.orders or orders_for(self.epsilon, self.delta)
        right = len(orders) <= ORDERS and all(1 < order < math.inf for order in orders)
        check(right, f"Expected at most {ORDERS} orders, all above 1.")
        object.__setattr__(self, "orders", orders)

    @property
    def filters(self) -> Filters:
        """The filter."""
        return Filters(self.epsilon, self.delta, self.adjacency, self.orders)

    def line(self, made: str) -> Line:
        """The first line of a ledger."""
        stated = {"format": FORMAT, "version": VERSION, "made": made, "tacit": __version__}
        return sealed(0, {**stated, **vars(self), "orders": list(self.orders)}, "")

    @classmethod
    def read(cls, line: Line) -> Settings:
        """What :meth:`line` wrote; refused where it is foreign or was altered."""
        data = _mapping(line)
        if data.get("format") != FORMAT or data.get("version") != VERSION:
            refuse("This is not a Tacit ledger, or it is one of a later version of Tacit.")
        try:
            # The orders as written: another machine's arithmetic must not move them.
            fields = {field.name: data[field.name] for field in dataclasses.fields(cls)}
            return cls(**{**fields, "orders": tuple(map(float, fields["orders"]))})
        except (KeyError, TypeError, ValueError) as error:
            raise PrivacyError("The settings of this ledger are malformed.") from error


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One release: what it was, what it costs in each filter, and what all entries up to it cost together."""

    number: int
    time: str
    label: str
    guarantee: Guarantee
    price: Price
    total: Price
    digest: str = ""

    def epsilon_at(self, delta: float) -> float:
        """The epsilon of this release alone; as it was stated where that holds at this delta and says no more."""
        price = self.guarantee.epsilon_at(delta=delta)
        return min(price, self.guarantee.epsilon) if self.guarantee.delta <= delta else price

    def line(self, previous: str) -> Line:
        """The entry as it is written."""
        data = {
            "number": self.number, "time": self.time, "label": self.label, "guarantee": self.guarantee.to_dict(),
            "price": self.price.to_dict(), "total": self.total.to_dict(),
        }  # fmt: skip
        return sealed(self.number, data, previous)

    @classmethod
    def read(cls, line: Line) -> Entry:
        """What :meth:`line` wrote."""
        data = _mapping(line)
        try:
            check(f"{data['time']}{data['label']}".isprintable(), "Expected a time and a label in one line each.")
            return cls(
                number=line.number, time=str(data["time"]), label=str(data["label"]),
                guarantee=Guarantee.from_dict(data["guarantee"]), price=Price.from_dict(data["price"]),
                total=Price.from_dict(data["total"]), digest=line.digest,
            )  # fmt: skip
        except PrivacyError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise PrivacyError(f"Entry {line.number} of this ledger is malformed.") from error


def _mapping(line: Line) -> dict[str, Any]:
    data = parse(line.content)
    if not isinstance(data, dict):
        refuse("This is not a Tacit ledger, or it is damaged.")
    if line.digest != digest_of(str(data.get("previous")), line.content):
        what = f"Entry {line.number}" if line.number else "The settings"
        refuse(f"{what} of this ledger was altered or damaged: its digest does not match. Nothing was spent.")
    return data


def check_chain(lines: Sequence[Line]) -> None:
    """Refuse lines of which one was altered, removed, added or moved."""
    previous = ""
    for place, line in enumerate(lines):
        what = f"Entry {line.number}" if line.number else "The settings"
        if line.number != place:
            refuse(f"Entry {place} of this ledger is missing.")
        if line.digest != digest_of(previous, line.content):
            refuse(f"{what} of this ledger, or what stood before, was changed after it was written.")
        if place and _mapping(line).get("number") != place:
            refuse(f"{what} of this ledger bears another number inside.")
        previous = line.digest
