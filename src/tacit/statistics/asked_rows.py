"""What callers hand over, as rows of numbers and codes: each cell by itself, by public bounds and categories alone."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import check
from tacit.data.cells import Value, codes_of, exact, key_of, numbers
from tacit.data.texts import Texts
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.sources import random_name
from tacit.schema import Number
from tacit.schema.columns import check_bounds
from tacit.statistics.looked import Looked, Read, look
from tacit.statistics.unit import Codes
from tacit.types import Array

_NO_BOUNDS = (
    "Give bounds=(lower, upper): public facts, never taken from the records. If they are not known, "
    "tacit.statistics.private_bounds finds some for a part of the budget."
)


@dataclass(frozen=True)
class Bounds:
    """Public bounds of a column, or bounds that were paid for: then with their guarantee. ``lower, upper = bounds``.

    Numbers between them are scaled to [-1, 1]. Two releases may give the same numbers at the same price; ``release``, a
    random text, tells them apart, and copies have that of what they are copies of.
    """

    lower: float
    upper: float
    guarantee: Guarantee | None = field(default=None, compare=False, repr=False)
    release: str = field(default_factory=random_name, compare=False, repr=False)

    def __post_init__(self) -> None:
        check_fields(self)

    def __iter__(self) -> Iterator[float]:
        return iter((self.lower, self.upper))

    @property
    def guarantee_(self) -> Guarantee | None:
        """The guarantee, under the name that models have for it."""
        return self.guarantee

    @classmethod
    def of(cls, bounds: Any, what: str = "data") -> Bounds:
        """From a pair, from bounds that were paid for, or from a column of a schema."""
        pair = (bounds.lower, bounds.upper) if isinstance(bounds, Bounds | Number) else bounds
        check(isinstance(pair, list | tuple | np.ndarray) and np.ndim(pair) == 1 and len(pair) == 2, _NO_BOUNDS)
        check_bounds(what, pair[0], pair[1])  # named as the caller knows them
        return cls(float(pair[0]), float(pair[1]))

    @property
    def middle(self) -> float:
        """Halfway between them."""
        return 0.5 * self.lower + 0.5 * self.upper

    @property
    def half(self) -> float:
        """Half their distance."""
        return 0.5 * self.upper - 0.5 * self.lower

    def scaled(self, values: Array) -> Array:
        """Numbers clipped to the bounds, in [-1, 1]; NaN stays."""
        return np.clip((np.clip(values, self.lower, self.upper) - self.middle) / self.half, -1.0, 1.0)

    def cells(self, values: Array, count: int) -> Codes:
        """Which of this many even cells each number is in; -1 for NaN."""
        edges = self.edges(count)
        places = np.searchsorted(edges[1:-1], np.clip(values, self.lower, self.upper), side="left")
        return np.where(np.isnan(values), -1, places).astype(np.intp)

    def edges(self, count: int) -> Array:
        """The ends of this many even cells."""
        edges = np.linspace(self.lower, self.upper, count + 1)
        check(bool((np.diff(edges) > 0).all()), "The bounds are too narrow for this many cells; ask for fewer.")
        return edges


def column_numbers(data: Any, what: str = "data") -> Array:
    """A column of numbers, none missing.

    Edges: missing and unreadable cells are refused; the sentence quotes none.
    """
    cells = data if isinstance(data, Texts) else exact(data)
    check(cells.ndim == 1, f"Expected {what} to be one column of numbers.")
    check(cells.dtype.kind in "biufOUST", f"Expected {what} to contain numbers.")
    values = numbers(cells)
    check(
        not np.isnan(values).any(),
        f"Some cells of {what} are missing or are not numbers. Leave those rows out or fill them in with a public "
        "number; tacit.statistics.describe counts them.",
    )
    return values


def group_values(by: Any, categories: Sequence[Value] | None) -> tuple[Value, ...]:
    """The declared groups; none where rows are not parted."""
    if by is None:
        check(categories is None, "categories= can only be used with by=, the labels of the rows.")
        return ()
    listed = isinstance(categories, Sequence) and not isinstance(categories, str | bytes) and len(categories) > 0
    check(
        listed or (isinstance(categories, np.ndarray) and categories.ndim == 1),
        "Declare categories=[...]: the groups in by= are public facts, never taken from the records. If they are not "
        "known, tacit.statistics.private_categories finds the frequent ones for a part of the budget.",
    )
    values: tuple[Value, ...] = tuple(np.asarray(categories, dtype=object).tolist())
    alike = "Expected categories that differ; numbers count by their value, so that 1, '1', 1.0 and True are one."
    check(len({key_of(value) for value in values}) == len(values), alike)
    return values


def group_codes(values: tuple[Value, ...], by: Any) -> Codes:
    """Each row's group, -1 for labels that are not declared."""
    cells: Any = by if isinstance(by, Texts) else exact(by)
    check(cells.ndim == 1, "Expected by= to give one label for each row.")
    codes = codes_of("by", cells, values)
    return np.where(codes == len(values), -1, codes).astype(np.intp)


def parted_rows(
    data: Any, by: Any, categories: Sequence[Value] | None, groups: Any, rows_per_person: Any
) -> tuple[Looked, tuple[Value, ...]]:
    """Rows of numbers, 'data', with their groups, 'by', where they are parted; and the groups."""
    values = group_values(by, categories)
    given: dict[str, tuple[Any, Read]] = {"data": (data, column_numbers)}
    if by is not None:
        given["by"] = (by, partial(group_codes, values))
    return look(given, groups, rows_per_person), values
