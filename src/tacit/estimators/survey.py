"""What an additive model asks before it trains: tables of counts, by which numbers are cut and pairs are chosen.

Which tables are asked for, and their cells, follow from the schema alone. Each record falls into one cell of each.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.mechanisms.counts import Cells, Tables
from tacit.schema import Bins, Category, Number, Pair, Schema
from tacit.schema.columns import Column
from tacit.schema.curves import Curve
from tacit.schema.cuts import WIDE, cut_points
from tacit.schema.encodings import column_from_dict
from tacit.types import Array

FINE, COARSE, FEW = 32, 4, 8
"""Half the cells of a number that is to be cut; those of a number in a pair; the most cells of a category in a pair."""
ANSWERS = 8
"""The most cells of the target in a table of a pair."""
QUARTERS = 4
"""The cells of a target that is a number."""
MOST_CELLS = 2_000_000
_BLOCK = 2**14
Couple = tuple[Column, Column]


def fine(column: Number) -> Bins:
    """The cells among which the cuts of a number are chosen: even ones, and ones that grow as sizes do."""
    low, high = float(column.lower), float(column.upper)
    points = {*cut_points(low, high, FINE, "even"), *cut_points(low, high, FINE, "log")}
    return Bins(column.name, low, high, tuple(sorted(points)), column.missing)


def coarse(column: Column, kind: str = "bins") -> Column:
    """A column as it stands in a pair: a number in four slots by its bounds, a category's first values and the rest."""
    if isinstance(column, Number | Curve):
        entries = Number(column.name, column.lower, column.upper, column.missing).to_dict()
        spacing = "log" if column.upper - column.lower > WIDE else "even"
        return column_from_dict(column.name, {**entries, kind: COARSE, "spacing": spacing})
    return Category(column.name, column.values[: FEW - 1])


def with_curves(schema: Schema, slots: int | None, rule: int, kind: Literal["bins", "knots"], cuts: str) -> Schema:
    """The schema with curves for its numbers: so many slots, or as the rule says, and twice that for wide ranges.

    Wide ones, of amounts that are likely to be skewed, are cut by sizes ('log') and others evenly, unless told.
    """
    wide = [c.name for c in schema.columns if isinstance(c, Number) and c.upper - c.lower > WIDE]
    count = rule if slots is None else slots
    spacings = ("log", "even") if cuts in ("auto", "private") else (cuts, cuts)
    sized = dict.fromkeys(wide, 2 * rule if slots is None else slots)
    return schema.additive(sized, kind, spacings[0]).additive(count, kind, spacings[1])


def asked_pairs(schema: Schema, pairs: Any) -> tuple[int, tuple[Couple, ...]]:
    """How many pairs are to be chosen, or which are named; those that the schema has already are left out."""
    if isinstance(pairs, int | np.integer) and not isinstance(pairs, bool):
        check(pairs >= 0, f"Expected pairs={pairs} >= 0.")
        return int(pairs), ()
    known = {column.name: column for column in schema.columns}
    right = isinstance(pairs, list | tuple) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and all(isinstance(name, str) for name in pair)
        for pair in pairs
    )
    check(right, "Expected pairs= to be a whole number, or a list of pairs of column names.")
    absent = sorted({name for pair in pairs for name in pair} - set(known))
    check(not absent, f"The schema has no columns {absent}, which pairs= names.")
    return 0, tuple((known[one], known[other]) for one, other in pairs if frozenset((one, other)) not in _taken(schema))


def with_pairs(schema: Schema, couples: Sequence[Couple], kind: str) -> Schema:
    """The schema with products of these columns, coarse, beside the pairs that it has."""
    more = tuple(Pair(coarse(one, kind), coarse(other, kind)) for one, other in couples)
    return replace(schema, pairs=(*schema.pairs, *more))


def _taken(schema: Schema) -> set[frozenset[str]]:
    return {frozenset(column.name for column in pair.columns) for pair in schema.pairs}


@dataclass(frozen=True)
class Survey:
    """The tables that are asked for: of every number that is to be cut, and of every pair with the target."""

    grids: tuple[Bins, ...] = ()
    rivals: tuple[Couple, ...] = ()
    answers: int = 1

    @classmethod
    def of(cls, schema: Schema, *, cuts: bool, contest: bool, answers: int) -> Survey:
        """Of the numbers of a schema, of all its pairs, or of both."""
        grids = tuple(fine(column) for column in schema.columns if isinstance(column, Number)) if cuts else ()
        couples = combinations(schema.columns, 2) if contest else ()
        taken = _taken(schema)
        rivals = tuple(pair for pair in couples if frozenset((pair[0].name, pair[1].name)) not in taken)
        return cls(grids, rivals, answers)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Cells of each table: of the numbers, then of the pairs."""
        return (*(len(grid.features) for grid in self.grids), *(math.prod(shape) for shape in self.shapes))

    @property
    def shapes(self) -> tuple[tuple[int, int, int], ...]:
        """Of each pair's table: slots of one column, slots of the other, cells of the target."""
        return tuple(
            (len(coarse(one).features), len(coarse(other).features), self.answers) for one, other in self.rivals
        )

    def tables(self) -> Tables:
        """Sizes and weights: all pairs together are wanted about as precisely as all numbers together."""
        check(
            sum(self.sizes) <= MOST_CELLS,
            f"A choice among {len(self.rivals):,} pairs takes more than {MOST_CELLS:,} counts; name pairs instead.",
        )
        both = self.grids and self.rivals
        weight = 2.0 ** round(math.log2(len(self.grids) / len(self.rivals)) / 2) if both else 1.0
        return Tables(self.sizes, (*(1.0 for _ in self.grids), *(weight for _ in self.rivals)))

    def cells(self, columns: Mapping[str, NDArray[Any]], missing: Sequence[str], answers: Cells) -> list[Cells]:
        """Each record's cell in each table, from its own cells and its own target alone."""
        found = [_slots(grid, columns[grid.name], missing) for grid in self.grids]
        parts = {column.name: coarse(column) for pair in self.rivals for column in pair}
        places = {name: _slots(column, columns[name], missing) for name, column in parts.items()}
        for (one, other), (_, across, _) in zip(self.rivals, self.shapes, strict=True):
            found.append((places[one.name] * across + places[other.name]) * self.answers + answers)
        return found


def number_cells(targets: Array, low: float, high: float) -> Cells:
    """Which of four even parts of its range each target is in."""
    places = (np.clip(targets, low, high) - low) / (high - low)
    return np.minimum((QUARTERS * places).astype(np.intp), QUARTERS - 1)


def _slots(column: Column, cells: NDArray[Any], missing: Sequence[str]) -> Cells:
    """The one slot that each cell fills."""
    found = np.empty(len(cells), dtype=np.intp)
    for start in range(0, len(cells), _BLOCK):
        block = cells[start : start + _BLOCK]
        filled = np.zeros((len(block), len(column.features)))
        column.write(block, filled, missing, False)
        found[start : start + _BLOCK] = filled.argmax(axis=1)
    return found
