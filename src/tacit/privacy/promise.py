# ruff: noqa: D102  (the fields are described where they are: in Guarantee)
"""What a statement needs of a guarantee, so that a guarantee can make its statement without going round in circles."""

from __future__ import annotations

from typing import Any, Protocol

from tacit.privacy.events import Event
from tacit.types import Adjacency, Status


class Promise(Protocol):
    """A :class:`~tacit.privacy.guarantee.Guarantee`, as far as sentences are made of it."""

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def adjacency(self) -> Adjacency: ...

    @property
    def status(self) -> Status: ...

    @property
    def method(self) -> str: ...

    @property
    def theorem(self) -> str: ...

    @property
    def records(self) -> int: ...

    @property
    def events(self) -> tuple[Event, ...]: ...

    @property
    def assumptions(self) -> tuple[str, ...]: ...

    @property
    def seeded(self) -> bool: ...

    @property
    def calibration(self) -> str: ...

    @property
    def protects(self) -> str: ...

    @property
    def version(self) -> str: ...

    @property
    def collection(self) -> str: ...

    @property
    def rows_per_person(self) -> int | None: ...

    @property
    def notes(self) -> tuple[str, ...]: ...

    def epsilon_at(self, *, delta: float | None = None, adjacency: Adjacency | None = None) -> float: ...

    def verify(self) -> float: ...

    def to_dict(self) -> dict[str, Any]: ...
