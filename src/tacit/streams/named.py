"""The people of a batch, in the order in which they must come, so that the rows of a person follow one another."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.people import names_of
from tacit.data.texts import Texts

UNSORTED = (
    "{key}: the rows of a person must follow one another. Sort the table by the column {person!r}, and give its files "
    "in that order: numbers and dates by size, text by its characters; in CSV files whole numbers come first, by size."
)
OTHER_KIND = "{key}: column {person!r} holds {kind}, and {before} before. Give it one type in all of the table."
_KINDS = {
    "b": "truths", "i": "whole numbers", "u": "whole numbers without a sign", "f": "fractions", "U": "text",
    "T": "text", "S": "bytes",
}  # fmt: skip
_OBJECTS = {str: "text", bytes: "bytes", int: "whole numbers", float: "fractions", Decimal: "decimals"}
_NO_ORDER = "names people by several kinds of cells, or by such as have no order; give numbers, text or dates"


@dataclass(frozen=True, eq=False)
class Names:
    """Whose row each is, as :func:`tacit.data.people.names_of` tells people apart.

    ``kind`` says in words what names are; names of two kinds are not compared. ``numerals``: they are of a CSV file, in
    which what are numbers elsewhere is text.
    """

    cells: NDArray[Any]
    kind: str
    numerals: bool = False

    @classmethod
    def of(cls, column: Any, where: str) -> Names:
        """The names in a column with a row at least; ``where`` it is, for sentences, which quote no name."""
        cells = names_of(column, f"{where} names nobody in some rows.")
        if cells.dtype == object:
            kinds = {_OBJECTS.get(kind) for kind in set(map(type, cells.tolist()))}
            kind = kinds.pop() if len(kinds) == 1 else None
        else:
            kind = str(cells.dtype) if cells.dtype.kind in "mM" else _KINDS.get(cells.dtype.kind)
        check(kind is not None, f"{where} {_NO_ORDER}.")
        return cls(cells, str(kind), isinstance(column, Texts))

    @property
    def starts(self) -> NDArray[np.intp]:
        """Where a person's rows begin."""
        return np.concatenate([[0], np.flatnonzero(self.cells[1:] != self.cells[:-1]) + 1]).astype(np.intp)

    def key(self, place: int) -> Any:
        """What orders the person of a row among others, and is equal for the same person only."""
        return _numeral_key(self.cells[place]) if self.numerals else self.cells[place]

    @property
    def ordered(self) -> bool:
        """Whether people come in their order, each once."""
        names = self.cells[self.starts]
        if not self.numerals:
            return bool((names[:-1] < names[1:]).all())
        return all(one < other for one, other in pairwise(map(_numeral_key, names.tolist())))

    def part(self, rows: slice) -> Names:
        """Of some of the rows."""
        return replace(self, cells=self.cells[rows])

    def plus(self, more: Names) -> Names:
        """Of these rows and then those, whose names are of the same kind."""
        return replace(self, cells=np.concatenate([self.cells, more.cells]))


@dataclass(frozen=True)
class Span:
    """How many people some rows have, of which kind their names are, and what orders the first and the last of them."""

    count: int
    kind: str
    first: Any = field(repr=False)
    last: Any = field(repr=False)

    @classmethod
    def of(cls, names: Names) -> Span:
        """Of a batch."""
        return cls(len(names.starts), names.kind, names.key(0), names.key(-1))

    def follow(self, before: Span | None, key: str, person: str) -> Span:
        """Of the rows before, and these; ``key`` and ``person`` are what sentences call the piece and the column."""
        if before is None:
            return self
        sentence = OTHER_KIND.format(key=key, person=person, kind=self.kind, before=before.kind)
        check(before.kind == self.kind, sentence)
        check(bool(before.last <= self.first), UNSORTED.format(key=key, person=person))
        shared = bool(before.last == self.first)
        return Span(before.count + self.count - shared, self.kind, before.first, self.last)


def _numeral_key(name: str) -> tuple[int, int, str, str]:
    """Whole numbers by size, and then all other texts by their characters."""
    if not (name.isascii() and name.isdecimal()):
        return 1, 0, "", name
    digits = name.lstrip("0")
    return 0, len(digits), digits, name
