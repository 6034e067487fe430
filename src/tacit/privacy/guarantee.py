"""The guarantee that every fitted model carries: what is promised, why, and everything needed to check it."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tacit.checks import PrivacyError, at_most, check, refuse
from tacit.privacy import accounting, events
from tacit.privacy.answers import assumed
from tacit.privacy.desk import Statement
from tacit.privacy.events import Event, is_amount, is_count, is_probability
from tacit.privacy.theorems import MODEL, PEOPLE, THEOREMS
from tacit.reading import parse, plain
from tacit.types import ADJACENCIES, Adjacency, Status
from tacit.wrapping import WIDTH, fitted

FORMAT = "tacit-guarantee"
EVENTS = 64
"""The most events that a guarantee may list; no method of Tacit has more than two."""
_SHARED = "all models of one protocol's collection share the contributors' noise"
LONGEST = 2**20
"""The most characters that a guarantee alone may have."""
TOLERANCE = 1e-6
"""Events that cost this fraction more than stated still verify: prices are computed to that, not to the last bit."""


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-differential privacy of one fit, with its evidence.

    ``events`` is what was released; its price is recomputed from these numbers alone by :meth:`verify`. ``status`` is
    'proven', 'claimed' or 'refuted'. It covers one fit: fits on the same people add up (`tacit.spent`). ``collection``
    names the protocol whose contributors' noise the model shares, where there is one. ``rows_per_person`` says that
    neighbours differ in all rows of one person, who has at most this many; None: in one row, and ``records`` are rows.
    """

    epsilon: float
    delta: float
    adjacency: Adjacency
    status: Status
    method: str
    theorem: str
    records: int
    events: tuple[Event, ...]
    assumptions: tuple[str, ...]
    seeded: bool
    calibration: str = "proven"
    protects: str = MODEL
    version: str = ""
    collection: str = ""
    rows_per_person: int | None = None

    @property
    def unit(self) -> str:
        """Whom it protects, all their rows at once: 'person', or 'row'."""
        return "row" if self.rows_per_person is None else "person"

    @property
    def noise(self) -> dict[str, float]:
        """The noise scales, by kind of release."""
        scales = ((i, event, events.declared(event).scale) for i, event in enumerate(self.events))
        return {f"{i}:{type(event).__name__}": scale for i, event, scale in scales if scale is not None}

    @property
    def notes(self) -> tuple[str, ...]:
        """Cautions about the size of epsilon and delta: public facts, one sentence each."""
        large = "epsilon is above 10: such a weak bound by itself protects hardly anyone"
        loose = "delta is above 1/n: publishing a record or two unchanged would satisfy it; choose delta well below 1/n"
        found = ((large, self.epsilon > 10), (loose, self.delta * self.records > 1))
        return tuple(sentence for sentence, here in found if here and self.events)

    def epsilon_at(self, *, delta: float | None = None, adjacency: Adjacency | None = None) -> float:
        """The epsilon of what was released, at another delta or under the other adjacency.

        Edges: without any noise it is infinite; an adjacency that the analysis does not cover raises PrivacyError.
        """
        chosen = self.adjacency if adjacency is None else adjacency
        check(chosen in ADJACENCIES, f"Expected adjacency={chosen!r} to be 'replace-one' or 'add-remove'.")
        if not self.events:
            return math.inf
        return accounting.epsilon(self.events, self.delta if delta is None else delta, chosen)

    def verify(self) -> float:
        """Compute epsilon again from the recorded events alone, and check that they are what the theorem prices.

        Return it, or raise PrivacyError when it does not hold: when the events are not those of the theorem, the
        method, the adjacency or the calibration, or cost more than stated; when the status is not that of the theorem,
        or is not 'proven'; and when no noise was added, because there is then nothing to verify.
        """
        self.check_events()
        price = self._price()
        if not price <= self.epsilon * (1 + TOLERANCE):
            refuse(f"The released events cost epsilon={price:.6g}, more than the stated {self.epsilon:.6g}.")
        row = THEOREMS[self.theorem]
        if self.status != row.status:
            refuse(f"The status says {self.status!r}, but the theorem it rests on is {row.status!r}.")
        if any(isinstance(event, events.Claimed) for event in self.events) and self.status != "refuted":
            refuse("This guarantee repeats what a paper claims; there is no recorded noise to compute it from.")
        if self.status == "refuted":
            refuse("This guarantee is refuted: the paper it follows promises more than its noise gives.")
        return price

    def check_events(self) -> None:
        """Refuse events that are not those of the theorem, the method, the adjacency, the calibration or the unit."""
        _check_fields(self)
        if not self.events or math.isinf(self.epsilon):
            refuse("There is nothing to verify: no noise was added, or not enough for any epsilon to be stated.")
        objection = THEOREMS[self.theorem].objection(
            self.events, method=self.method, calibration=self.calibration, adjacency=self.adjacency,
            protects=self.protects, records=self.records,
        )  # fmt: skip
        if objection:
            refuse(f"The events of this guarantee are not what it rests on. {objection}")
        if self.rows_per_person is not None and self.theorem not in PEOPLE:
            refuse("The events of this guarantee are not what it rests on. The theorem that it cites is about rows.")
        if any(events.declared(event).rows not in (None, self.rows_per_person or 1) for event in self.events):
            refuse(
                "The events of this guarantee are not what it rests on. An event has a different number of rows per "
                "person."
            )

    def _price(self) -> float:
        """The epsilon of the events; a price that its own arithmetic warns about is none."""
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                return self.epsilon_at()
            except Warning as error:
                raise PrivacyError("The recorded events are beyond what can be priced in double precision.") from error

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with a checksum over all of it."""
        data: dict[str, Any] = {"format": FORMAT}
        for field in dataclasses.fields(self):
            data[field.name] = getattr(self, field.name)
        data["epsilon"] = None if math.isinf(self.epsilon) else self.epsilon
        data["events"] = [events.to_dict(event) for event in self.events]
        data["assumptions"] = list(self.assumptions)
        return {**data, "checksum": checksum(data)}

    def to_json(self) -> str:
        """The guarantee as a JSON text that anyone can verify."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False)

    @classmethod
    def from_dict(cls, data: object) -> Guarantee:
        """The guarantee that :meth:`to_dict` described; raises PrivacyError for a foreign or altered one."""
        plain(data)
        if not isinstance(data, dict) or data.get("format") != FORMAT:
            refuse("This is not a Tacit guarantee.")
        content = {key: value for key, value in data.items() if key != "checksum"}
        if data.get("checksum") != checksum(content):
            refuse("This guarantee was changed after it was written: its checksum does not match.")
        names = {field.name for field in dataclasses.fields(cls)}
        if "collection" not in content:  # of an earlier version, which knew no such field
            if content.get("theorem") in ("input", "input-paper", "input-record"):
                refuse("This guarantee is of an earlier version of Tacit, which did not say whose noise it shares.")
            content["collection"] = ""
        content.setdefault("rows_per_person", None)  # earlier versions knew rows only
        if set(content) != {"format", *names}:
            refuse(f"This guarantee is malformed: it does not have exactly the fields {', '.join(sorted(names))}.")
        fields = {name: content[name] for name in names}
        for name, most in (("events", EVENTS), ("assumptions", LONGEST)):
            if not isinstance(fields[name], list) or len(fields[name]) > most:
                refuse(f"This guarantee is malformed: its {name} are not a list of at most {most:,}.")
        fields["epsilon"] = math.inf if fields["epsilon"] is None else fields["epsilon"]
        fields["assumptions"] = tuple(fields["assumptions"])
        try:
            fields["events"] = tuple(events.from_dict(event) for event in fields["events"])
        except ValueError as error:
            raise PrivacyError(f"This guarantee is malformed. {error}") from error
        guarantee = cls(**fields)
        _check_fields(guarantee)
        return guarantee

    @classmethod
    def from_json(cls, text: str) -> Guarantee:
        """Read what :meth:`to_json` wrote."""
        if len(text) > LONGEST:
            refuse(f"This is not a Tacit guarantee: it is longer than {LONGEST:,} characters.")
        return cls.from_dict(parse(text))

    def statement(self) -> Statement:
        """A statement for the person who decides about a release: questions and answers, in words, as JSON and as a
        page."""
        return Statement.of(self)

    @property
    def _protected(self) -> str:
        if not self.records:
            return "all records; their number is not public"
        if self.rows_per_person is None:
            return f"{self.records:,} record{'' if self.records == 1 else 's'}; n is public"
        rows = f"{self.rows_per_person:,} row{'' if self.rows_per_person == 1 else 's'}"
        each = f"{self.records:,} people with up to {rows} each, all rows of a person together"
        return f"{each}; the number of people is public"

    def text(self, width: int = WIDTH) -> str:
        """What ``print`` shows, in lines of at most so many columns."""
        return fitted(self._words(), width)

    def __str__(self) -> str:
        return self.text()

    def _words(self) -> str:
        if not self.events:
            return f"NOT PRIVATE: {self.method} was run without noise (epsilon = infinity)."
        row = THEOREMS[self.theorem]  # Tacit states no other, and reads no other
        other: Adjacency = "add-remove" if self.adjacency == "replace-one" else "replace-one"
        try:
            also = f"epsilon = {at_most(self.epsilon_at(adjacency=other), 6)} under {other}"
        except PrivacyError:
            also = f"{other} is not covered"
        noise = ", ".join(f"{name.split(':')[1]} scale {s:.6g}" for name, s in self.noise.items())
        source = "a seeded generator (NOT for release: anyone who knows the seed can remove the noise)"
        lines = [
            f"{'REFUTED, the claim was ' if self.status == 'refuted' else ''}({at_most(self.epsilon, 6)}, "
            f"{at_most(self.delta, 3)})-differential privacy, {self.adjacency} neighbours; {also}",
            f"status      {self.status.upper()} ({self.calibration} calibration)",
            f"protects    {self.protects}, for {self._protected}",
            f"method      {self.method}",
            *([f"collection  {self.collection}: {_SHARED}"] if self.collection else ()),
            f"theorem     {row.statement} [{row.reference}; {row.place}]",
            f"assumes     {'; '.join(assumed(self))}",
            f"noise       {noise}",
            *(f"NOTE        {note}" for note in self.notes),
            f"randomness  {source if self.seeded else 'operating system entropy'}",
        ]
        return "\n".join(lines)


def _text(value: object) -> bool:
    """Words for one line: line breaks and other unprintable characters could imitate what a program prints."""
    return isinstance(value, str) and value.isprintable()


_FIELDS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "epsilon": (lambda v: v == math.inf or is_amount(v), f"a number from {events.LEAST:g} to {events.MOST:g}"),
    "delta": (is_probability, f"0, or a number from {events.SMALLEST:g} to 1, without 1"),
    "adjacency": (lambda v: v in ADJACENCIES, " or ".join(ADJACENCIES)),
    "status": (lambda v: v in ("proven", "claimed", "refuted"), "proven, claimed or refuted"),
    "method": (_text, "one line of text"),
    "theorem": (lambda v: isinstance(v, str) and v in THEOREMS, "one that this version of Tacit knows"),
    "records": (lambda v: is_count(v, 0), f"a whole number from 0 to {events.COUNT:,}"),
    "assumptions": (lambda v: all(map(_text, v)), "lines of text"),
    "seeded": (lambda v: type(v) is bool, "true or false"),
    "calibration": (lambda v: v in ("proven", "paper"), "proven or paper"),
    "protects": (_text, "one line of text"),
    "version": (_text, "one line of text"),
    "collection": (_text, "one line of text"),
    "rows_per_person": (
        lambda v: v is None or is_count(v, 1),
        f"nothing, or a whole number from 1 to {events.COUNT:,}",
    ),
}
"""What the fields of a guarantee must be, and how to say it; events check themselves."""


def _check_fields(guarantee: Guarantee) -> None:
    for name, (holds, wanted) in _FIELDS.items():
        if not holds(getattr(guarantee, name)):
            refuse(f"This guarantee is malformed: its {name} is not {wanted}.")


def checksum(content: object) -> str:
    """SHA-256 of the canonical JSON form: finds changes by accident or by hand; it is not a signature.

    Entries of a mapping are sorted, so what has an order must be in a list.
    """
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()
