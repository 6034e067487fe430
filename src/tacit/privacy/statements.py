"""What a theorem prices, and why a guarantee cannot rest on it: releases, methods, adjacencies, what is protected."""

from __future__ import annotations

from dataclasses import dataclass, fields

from tacit.privacy.events import Event, Sensitivity, declared
from tacit.types import ADJACENCIES, Adjacency, Status

MODEL = "the released model"
RECORD = "one record, as it leaves its owner"
TABLE = "the released statistics"
SCORES = "the released scores of a model"
OWNER = (
    "TRUST FOR ONE RECORD: its owner drew fresh noise, told it to nobody and submitted once; nobody else is trusted, "
    "neither the database nor the other contributors"
)
"""What the guarantee of one record counts on, where people perturb their own."""


@dataclass(frozen=True)
class Release:
    """One event that a theorem prices: its kind, whether it may stand for several steps, and its noise."""

    kind: type[Event]
    repeated: bool = False
    noise: str | None = None

    def is_of(self, event: Event) -> bool:
        """Whether the event is such a release."""
        said = declared(event)
        return type(event) is self.kind and (self.repeated or said.count == 1) and self.noise in (None, said.noise)

    def __str__(self) -> str:
        return _in_words(self.kind, self.noise, "any number of" if self.repeated else 1)


def _in_words(kind: type[Event], noise: str | None, steps: int | str) -> str:
    """A kind of release with its noise, where it has a choice, and its steps, where it may have several."""
    several = any(field.name == "count" for field in fields(kind))
    many = f" in {steps} step{'' if steps == 1 else 's'}" if several else ""
    return f"{kind.__name__}{f' with {noise} noise' if noise else ''}{many}"


@dataclass(frozen=True)
class Theorem:
    """A statement that a guarantee may cite, and what it prices.

    ``releases``: the lists of events, each in this order, that the statement is about. ``methods``: those whose own
    noise rests on it, by the name that a guarantee gives (the class, where a mechanism was passed as an object);
    ``published``: those whose calibration='paper' does. ``adjacencies``: those that the proof covers. ``protects``:
    what the guarantee may be said to be of.
    """

    statement: str
    reference: str
    status: Status
    page: str
    releases: tuple[tuple[Release, ...], ...]
    methods: tuple[str, ...]
    published: tuple[str, ...] = ()
    adjacencies: tuple[Adjacency, ...] = ADJACENCIES
    protects: tuple[str, ...] = (MODEL,)

    @property
    def place(self) -> str:
        """The page with the proof, as a path in Tacit's source."""
        return "docs/guarantee.md" if self.page == "guarantee" else f"docs/theorems/{self.page}.md"

    def objection(
        self, events: tuple[Event, ...], *, method: str, calibration: str, adjacency: str, protects: str, records: int
    ) -> str:
        """Why a guarantee with these words cannot rest on this theorem: one sentence, or the empty string."""
        priced = " or ".join(", ".join(map(str, wanted)) for wanted in self.releases if wanted) or "nothing"
        lead = "The theorem that it cites"
        said = [declared(event) for event in events]
        recorded = ", ".join(
            _in_words(type(event), one.noise, one.count) for event, one in zip(events, said, strict=True)
        )
        found = (
            (self._prices(events), f"{lead} prices {priced}; recorded is {recorded or 'nothing'}."),
            (
                method in (self.published if calibration == "paper" else self.methods),
                f"{lead} is not what this method rests on with calibration={calibration!r}.",
            ),
            (adjacency in self.adjacencies, f"{lead} does not cover {adjacency} neighbours."),
            (protects in self.protects, f"{lead} is about {' or '.join(self.protects)} and nothing else."),
            (protects != RECORD or records == 1, "It claims to be about one record, but speaks of more."),
            (
                all(one.records <= records for one in said),
                "An event speaks of more records than the guarantee does.",
            ),
            (
                not any(_shrinks(one.sensitivity) for one in said),
                "An event states that a replaced record moves less than an added one, which no release of Tacit does.",
            ),
        )
        return next((sentence for holds, sentence in found if not holds), "")

    def _prices(self, events: tuple[Event, ...]) -> bool:
        return any(
            len(wanted) == len(events) and all(one.is_of(event) for one, event in zip(wanted, events, strict=True))
            for wanted in self.releases
        )


def _shrinks(moved: Sensitivity | None) -> bool:
    """Whether replacing is said to move less than adding: where a record that moves nothing exists, it cannot."""
    if moved is None or moved.add_remove is None or moved.replace_one is None:
        return False
    return moved.replace_one < moved.add_remove
