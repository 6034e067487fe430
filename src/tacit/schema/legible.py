"""Cells that nobody can read: text in a column of numbers, and columns whose values are all undeclared.

Looked for in a table, or batch by batch; what is found is for the curator.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data.cells import WHY_NO_NUMBER, Cells, columns_of, numbers, unreadable
from tacit.data.curator import note

_HINT = (
    f"{WHY_NO_NUMBER} Make it a number (of a date, the days since a fixed one), declare the text as missing in the "
    "schema, or describe the column as a category."
)
_BEGINNING = 1000
"""Cells that are looked at first: a column of numbers mostly has one among these."""


@dataclass(frozen=True)
class Legible:
    """Which of the columns have cells that are not numbers (``wrong``), and which have one that is (``right``)."""

    names: tuple[str, ...]
    missing: tuple[str, ...]
    wrong: frozenset[str] = frozenset()
    right: frozenset[str] = frozenset()

    def seen(self, tables: Iterable[Any]) -> Legible:
        """What is known after these tables, too."""
        wrong, right = set(self.wrong), set(self.right)
        for table in tables:
            left = [name for name in self.names if name not in wrong & right]
            for name, cells in zip(left, columns_of(table, left) if left else (), strict=True):
                if name not in wrong and unreadable(cells, self.missing).any():
                    wrong.add(name)
                if name not in right and not np.isnan(numbers(cells, self.missing)).all():
                    right.add(name)
        return Legible(self.names, self.missing, frozenset(wrong), frozenset(right))

    def plus(self, more: Legible) -> Legible:
        """What both know, of two parts of a table."""
        return Legible(self.names, self.missing, self.wrong | more.wrong, self.right | more.right)

    @property
    def textual(self) -> tuple[str, ...]:
        """The columns with text and without a single number."""
        return tuple(name for name in self.names if name in self.wrong - self.right)

    def textual_in(self, cells: Mapping[str, Cells]) -> tuple[str, ...]:
        """These columns of a table in memory; beginnings are looked at first."""
        first = {name: cells[name][:_BEGINNING] for name in self.names}
        return self.doubtful(self.seen([first] if self.names else ())).seen([cells]).textual

    def doubtful(self, beginning: Legible) -> Legible:
        """These columns as far as the beginning of the table shows no number, to be looked at further."""
        return replace(self, names=tuple(name for name in self.names if name not in beginning.right))

    def judged(self, *, every: bool = False) -> tuple[str, ...]:
        """The columns with such cells; one without a single number raises, and with ``every`` one such cell does."""
        found = tuple(name for name in self.names if name in self.wrong)
        for name in found:
            check(name in self.right, f"Column {name!r} has no cell that is a number. {_HINT}")
            check(not every, f"Column {name!r} has a cell that is not a number. {_HINT}")
        return found


def note_unlisted(names: Iterable[str]) -> None:
    """Tell the curator of categories of which no row has a declared value. NOT PRIVATE, and not a part of rows."""
    for name in names:
        note(
            f"no row has a declared value in column {name!r}: all are <other>. Are the values of the schema spelt as "
            "in the table?"
        )


def note_textual(names: Iterable[str]) -> None:
    """Tell the curator of numbers of which no cell can be read. NOT PRIVATE, and not a part of rows."""
    for name in names:
        note(
            f"no cell of column {name!r}, which the schema declares as numbers, is a number: all count as missing. "
            f"{_HINT}"
        )
