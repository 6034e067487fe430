"""Whose rows these are, and how much each person's rows weigh: in whole steps, so that sums are exact in any order.

Rows of one person in one place (a group, a cell, a value) are one entry: their share of the person's rows, and the mean
of their numbers. So rounding errs by a step for each person and place, however many rows the person has.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.people import People, people_of
from tacit.types import Array

UNIT = 2**20
"""Steps in one: a person weighs at most so many."""
FINER = 2**6
"""Parts of a step that a number times its weight is rounded to, to the nearest."""
MOST_ROWS, MOST_PEOPLE = 2**27, 2**22
"""Sums of so many are exact in double precision, cumulative ones of people's weights too."""
Codes = NDArray[np.intp]
Steps = NDArray[np.int64]


class Entries(NamedTuple):
    """What is added up: weights in steps, the place of each (None: one for all, -1: none), and numbers if any."""

    steps: Steps
    codes: Codes | None
    values: Array | None


@dataclass(frozen=True, eq=False, repr=False)
class Whose:
    """Public: how many rows there are, and where a person may have several, how many people and rows of one."""

    length: int
    persons: int | None = None
    most: int = 1

    @staticmethod
    def check_declared(groups: Any, rows_per_person: Any) -> None:
        """Refuse a number of rows per person without groups."""
        check(
            groups is not None or rows_per_person is None,
            "rows_per_person can only be used with groups, which names the person of each row.",
        )

    @staticmethod
    def checked(length: int, persons: int | None = None, most: int | None = None) -> Whose:
        """Of a table whose sums are exact."""
        check(length >= 1, "Expected a table with at least one row.")
        check(length <= MOST_ROWS, f"Expected at most {MOST_ROWS:,} rows.")
        if persons is None or most is None:
            return Whose(length)
        check(most < UNIT, f"Expected rows_per_person below {UNIT:,}.")
        check(persons <= MOST_PEOPLE, f"Expected at most {MOST_PEOPLE:,} people.")
        return Whose(length, persons, most)

    @property
    def count(self) -> int:
        """Rows, or people."""
        return self.length if self.persons is None else self.persons

    @property
    def several(self) -> bool:
        """Whether a person may have several rows."""
        return self.persons is not None

    def slack(self, parted: bool) -> float:
        """How much rounding can move a sum of numbers in [-1, 1] in all, rows or people being so many.

        Half a part of a step each and, where people's rows are parted into places, a step of the weight.
        """
        return self.count * (0.5 / FINER + (1.0 if parted and self.several else 0.0)) / UNIT


@dataclass(frozen=True, eq=False, repr=False)
class Unit(Whose):
    """The rows of a table, with the people that they are of; ``people`` None: each row is somebody's only one."""

    people: People | None = None

    @classmethod
    def of(cls, length: int, groups: Any = None, rows_per_person: Any = None) -> Unit:
        """The unit of a table with so many rows."""
        Whose.checked(length)
        cls.check_declared(groups, rows_per_person)
        if groups is None:
            return cls(length)
        people = people_of(groups, length, rows_per_person)
        Whose.checked(length, people.count, people.most)
        return cls(length, people.count, people.most, people)

    def take(self, values: Any) -> Any:
        """The entries of the rows that count, person after person."""
        return values if self.people is None else values[self.people.rows]

    def entries(self, codes: Codes | None = None, values: Array | None = None) -> Entries:
        """Of rows that count: each person weighs UNIT, shared out evenly among the person's rows.

        The shares of a person's places are differences of rounded cumulative shares: each is right to a step, and
        together they are what the person weighs there, at most UNIT. They depend on the person's own rows alone.
        """
        if self.people is None:
            return self.whole(codes, values)
        sizes = self.people.sizes
        places = np.zeros(len(self.people.rows), dtype=np.intp) if codes is None else codes
        kept, width = places >= 0, int(places.max(initial=0)) + 1
        keys = np.repeat(np.arange(len(sizes)), sizes)[kept] * width + places[kept]
        found, inverse, rows = np.unique(keys, return_inverse=True, return_counts=True)
        owners, ends = found // width, np.cumsum(rows)
        firsts = np.flatnonzero(np.diff(owners, prepend=-1))
        before = np.repeat((ends - rows)[firsts], np.diff(firsts, append=len(owners)))
        whole = sizes[owners].astype(np.int64)
        first, last = ((UNIT * count + whole // 2) // whole for count in (ends - rows - before, ends - before))
        means = None if values is None else np.bincount(inverse, weights=values[kept], minlength=len(rows)) / rows
        return Entries(last - first, (found % width).astype(np.intp), means)

    def whole(self, codes: Codes | None = None, values: Array | None = None) -> Entries:
        """Of rows that count: each weighs UNIT, however many its person has."""
        rows = self.length if self.people is None else len(self.people.rows)
        return Entries(np.full(rows, UNIT, dtype=np.int64), codes, values)
