"""The people of a batch, in the order in which they must come, so that the rows of a person follow one another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.cells import is_numeral, kind_of
from tacit.data.person_names import names_of

UNSORTED = (
    "{key}: the rows of a person must be adjacent. Sort the table by the column {person!r}, and give its files in that "
    "order: numbers and dates by size, text by its characters or with numbers first, by size. White space around a "
    "name and zeros before a number do not count, and letters with accents count as one character each."
)
Orders = tuple[bool, bool]
"""Which orders the names are in: numbers by size and then everything else by its characters; all by their characters.

Each of the two puts all names in one order, so people whose names rise in either of them come once. Databases and data
frames sort numbers that are kept as text by their characters; CSV files are sorted in both ways.
"""


@dataclass(frozen=True, eq=False)
class Names:
    """Whose row each is, as :func:`tacit.data.person_names.names_of` tells people apart.

    ``numeric``: the column is one of numbers, and is sorted by size alone.
    """

    cells: NDArray[Any]
    numeric: bool

    @classmethod
    def of(cls, column: Any, where: str) -> Names:
        """The names in a column with a row at least; ``where`` it is, for sentences, which quote no name."""
        return cls(names_of(column, where), kind_of(column) in "biuf")

    @cached_property
    def starts(self) -> NDArray[np.intp]:
        """Where a person's rows begin."""
        return np.concatenate([[0], np.flatnonzero(self.cells[1:] != self.cells[:-1]) + 1]).astype(np.intp)

    def key(self, place: int) -> tuple[Any, str]:
        """What the person of a row is placed by in each of the orders."""
        name = str(self.cells[place])
        return _by_size(name), name

    @cached_property
    def orders(self) -> Orders:
        """The orders in which these people come, each once."""
        names = self.cells[self.starts]
        if names.dtype != object:
            return bool((names[:-1] < names[1:]).all()), False
        sized = all(one < other for one, other in pairwise(map(_by_size, names.tolist())))
        return sized, not self.numeric and bool((names[:-1] < names[1:]).all())

    def part(self, rows: slice) -> Names:
        """Of some of the rows."""
        return replace(self, cells=self.cells[rows])

    def plus(self, more: Names) -> Names:
        """Of these rows and then those."""
        both = [self.cells, more.cells]
        if self.cells.dtype != more.cells.dtype:
            both = [cells.astype(str).astype(object) for cells in both]
        return replace(self, cells=np.concatenate(both))


@dataclass(frozen=True)
class Span:
    """How many people some rows have, in which orders they come, and what places the first and the last of them."""

    count: int
    orders: Orders
    first: tuple[Any, str] = field(repr=False)
    last: tuple[Any, str] = field(repr=False)

    @classmethod
    def of(cls, names: Names) -> Span:
        """Of a batch."""
        return cls(len(names.starts), names.orders, names.key(0), names.key(-1))

    def follow(self, before: Span | None, key: str, person: str) -> Span:
        """Of the rows before, and these; ``key`` and ``person`` are what sentences call the piece and the column."""
        if before is None:
            return self
        rise = [last <= first for last, first in zip(before.last, self.first, strict=True)]
        sized, spelled = (all(held) for held in zip(before.orders, self.orders, rise, strict=True))
        check(sized or spelled, UNSORTED.format(key=key, person=person))
        shared = before.last == self.first
        return Span(before.count + self.count - shared, (sized, spelled), before.first, self.last)


def _by_size(name: str) -> tuple[int, int | Fraction, str]:
    """Numbers by size, and then all other texts by their characters."""
    if not is_numeral(name):
        return 1, 0, name
    return 0, int(name) if name.isdecimal() else Fraction(name), name
