"""What a database keeps, and the contract of a place to keep it: one file, or a study's rows in a service's tables.

Sums, hashes of what was counted, how many were refused and why, what was trained; never a submission.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager
from typing import Literal, Protocol

from tacit.mechanisms.moments import Sums
from tacit.protocol.trainings import Training

Mark = Literal["seeded", "shared"]
"""Facts that, once true, stay so: predictable noise came in; a model of these submissions is not the only one."""


class Shelf(Protocol):
    """A place for one collection. What it is asked within a transaction is true until the transaction ends."""

    @property
    def place(self) -> object:
        """What two shelves have in common if they are the same place; None where nobody else can reach it."""

    def transaction(self) -> AbstractContextManager[None]:
        """Alone with the collection: all that is written inside is there for good when the block ends, or nothing."""

    def begin(self, protocol: str, sums: Sums) -> str:
        """Begin an empty collection of this protocol, unless there is one; returns the protocol that it is of."""

    def sums(self) -> Sums:
        """The count and the sums so far."""

    def write(self, sums: Sums) -> None:
        """Put these in place of the sums so far."""

    def known(self, contents: list[bytes]) -> set[bytes]:
        """Those of the contents that are counted."""

    def keep(self, contents: list[bytes]) -> None:
        """Remember that these are counted."""

    def contents(self) -> Iterator[list[bytes]]:
        """All that is counted, in parts."""

    def withdrawn(self, contents: list[bytes]) -> set[bytes]:
        """Those of the contents that were counted, and taken back."""

    def withdraw(self, content: bytes) -> None:
        """Remember that this one is no longer counted, and was taken back."""

    def count(self, reasons: Mapping[str, int]) -> None:
        """Add to the numbers of refused submissions."""

    def refused(self) -> dict[str, int]:
        """How many submissions were refused, by reason."""

    def marked(self, mark: Mark) -> bool:
        """Whether a fact is true."""

    def mark(self, mark: Mark) -> None:
        """Make it true."""

    def trainings(self) -> tuple[Training, ...]:
        """All trainings, in order."""

    def record(self, training: Training) -> int:
        """Write a training down; returns its number."""

    def keep_weights(self, number: int, weights: Iterable[float]) -> None:
        """Add the weights to a training."""

    def close(self) -> None:
        """Let the place go."""
