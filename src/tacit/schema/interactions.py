"""Pairs of columns: what two of them say together, beside what each says alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from tacit.checks import check, shown
from tacit.data.cells import Cells
from tacit.schema.columns import Column
from tacit.schema.encodings import column_from_dict, named_entries
from tacit.types import Array

MOST_SLOTS = 100_000
"""All pairs of a schema have at most so many slots: a short file can ask for a great many."""


@dataclass(frozen=True)
class Pair:
    """Two columns' encodings multiplied: slot (i, j) is slot i of the first times slot j of the second.

    The norm of an outer product is the product of the norms, ||u v'|| = ||u|| ||v||, so it is at most 1 as theirs are.
    The encodings are the pair's own, usually coarser than those of the columns by themselves.

    Edges: a column paired with itself raises.
    """

    first: Column
    second: Column

    def __post_init__(self) -> None:
        for column in self.columns:
            check(hasattr(type(column), "write"), f"Expected first and second to be columns, not {shown(column)}.")
        check(self.first.name != self.second.name, f"Expected a pair of two columns, not {self.first.name!r} twice.")

    @property
    def columns(self) -> tuple[Column, Column]:
        """Both encodings."""
        return self.first, self.second

    @property
    def width(self) -> int:
        """Number of encoded columns."""
        return len(self.first.features) * len(self.second.features)

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the encoded columns."""
        return tuple(f"{one} & {other}" for one in self.first.features for other in self.second.features)

    def write(self, cells: tuple[Cells, Cells], out: Array, missing: Sequence[str], centred: bool) -> None:
        """Encode the cells of both columns into the columns of ``out``."""
        one, other = (np.zeros((len(out), len(column.features))) for column in self.columns)
        self.first.write(cells[0], one, missing, centred)
        self.second.write(cells[1], other, missing, centred)
        for place, factors in enumerate(one.T):
            start = place * other.shape[1]
            np.multiply(factors[:, None], other, out=out[:, start : start + other.shape[1]])

    def to_list(self) -> list[list[Any]]:
        """Both columns as [name, entries]."""
        return [[column.name, column.to_dict()] for column in self.columns]

    @classmethod
    def from_list(cls, entries: Any) -> Self:
        """The pair that two columns as [name, entries] describe."""
        found = [column_from_dict(name, column) for name, column in named_entries("a pair of the schema", entries)]
        check(len(found) == 2, "Expected a pair of the schema to have two columns.")
        return cls(*found)
