"""Cells of numeric columns that say something and are no numbers: looked for in a table, or batch by batch."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.data.cells import columns_of, numbers, unreadable

_HINT = "Is there a decimal comma, or a unit in the cell? Correct it, or declare the text as missing in the schema."


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

    def judged(self, *, every: bool = False) -> tuple[str, ...]:
        """The columns with such cells; one without a single number raises, and with ``every`` one such cell does."""
        found = tuple(name for name in self.names if name in self.wrong)
        for name in found:
            check(name in self.right, f"Column {name!r} has no cell that is a number. {_HINT}")
            check(not every, f"Column {name!r} has a cell that is not a number. {_HINT}")
        return found
