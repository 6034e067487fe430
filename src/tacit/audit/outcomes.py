"""What one run gives away, as a row of numbers and labels that runs can be compared by.

Every value is read into numbers and labels (:mod:`tacit.audit.values`), each with a place of its own in the row. Where
text changes from run to run, its words are labels, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tacit.audit.values import NO_NUMBER, Reading, digest, encoded, words_of
from tacit.types import Array

Labels = NDArray[np.int64]
ERROR, WARNINGS = "the error raised", "the warnings given"
"""The names of what is seen of a run besides its result."""
RAISED = "whether training raises an error"
_PRESENT = "which attributes there are"


@dataclass(frozen=True)
class Runs:
    """Runs as rows: the numbers of each, and its labels, one column for every name."""

    numbers: Array
    labels: Labels
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, numbers: Array) -> Runs:
        """Runs that are numbers alone."""
        return cls(finite(numbers), np.zeros((len(numbers), 0), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int | None, stop: int | None) -> Runs:
        """Some of the runs."""
        return Runs(self.numbers[start:stop], self.labels[start:stop], self.names)

    def and_also(self, others: Runs) -> Runs:
        """These runs and those."""
        return Runs(np.vstack([self.numbers, others.numbers]), np.vstack([self.labels, others.labels]), self.names)

    @property
    def constant(self) -> bool:
        """Whether all runs are the same."""
        return bool((self.numbers == self.numbers[0]).all() and (self.labels == self.labels[0]).all())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compare: numbers, all of them NaN, and no label that changes."""
        numbers = self.numbers
        return numbers.shape[1] > 0 and bool((numbers == NO_NUMBER).all() and (self.labels == self.labels[0]).all())


def finite(numbers: Array) -> Array:
    """NaN and infinity as far-away numbers: that a run gives them is an outcome like others, and may tell."""
    return np.nan_to_num(numbers, nan=NO_NUMBER, posinf=NO_NUMBER, neginf=-NO_NUMBER)


Outcome = Mapping[str, Reading]
"""Everything that one run gives away, by name."""


@dataclass(frozen=True)
class Layout:
    """Which names, and how many numbers and words of each, make a row; fixed before runs are compared."""

    sizes: tuple[tuple[str, int, int], ...]

    @classmethod
    def of(cls, outcomes: Sequence[Outcome]) -> Layout:
        """A place for all that these outcomes have; coefficients come first, where a direction is known for them.

        Words have places where what they stand in is not always the same.
        """
        names = {name for outcome in outcomes for name in outcome}
        ordered = sorted(names, key=lambda name: (name != "coef_", name != "intercept_", name))
        sizes = []
        for name in ordered:
            readings = [outcome[name] for outcome in outcomes if name in outcome]
            changing = len({reading.texts for reading in readings}) > 1
            words = max(len(words_of(reading.texts)) for reading in readings) if changing else 0
            sizes.append((name, max(len(reading.numbers) for reading in readings), words))
        return cls(tuple(sizes))

    @property
    def titles(self) -> tuple[str, ...]:
        """What the labels of a row are."""
        found = [RAISED, _PRESENT]
        for name, _, words in self.sizes:
            found += [f"form of {name}", f"value of {name}"]
            found += [f"word {place + 1} of {name}" for place in range(words)]
        return tuple(found)

    def table(self, outcomes: Sequence[Outcome]) -> Runs:
        """The outcomes as rows. What is missing, or has another size, leaves its mark in the labels."""
        titles = self.titles
        numbers = np.full((len(outcomes), sum(count for _, count, _ in self.sizes)), NO_NUMBER)
        labels = np.zeros((len(outcomes), len(titles)), dtype=np.int64)
        for row, outcome in enumerate(outcomes):
            labels[row, :2] = ERROR in outcome, digest(*sorted(name.encode() for name in outcome))
            start, column = 0, 2
            for name, count, words in self.sizes:
                reading = outcome.get(name)
                if reading is not None:
                    taken = reading.numbers[:count]
                    numbers[row, start : start + len(taken)] = taken
                    found = [reading.form, reading.value]
                    if words:
                        found += [digest(encoded(word)) for word in words_of(reading.texts)[:words]]
                    labels[row, column : column + len(found)] = found
                start, column = start + count, column + 2 + words
        return Runs(finite(numbers), labels, titles)
