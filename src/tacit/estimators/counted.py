"""Whose rows count, and how much: people by ``groups``, rows by ``sample_weight``, classes by ``class_weight``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_positive, shown
from tacit.data.people import People, people_of
from tacit.data.shares import Shares
from tacit.types import Array

ClassWeight = Mapping[Any, float] | Literal["balanced"] | None
BALANCE = 0.02
"""The part of mu^2 that counts of the classes cost, where they are to be balanced."""


@dataclass(frozen=True, eq=False)
class Counted:
    """The rows of a fit, in the order in which they count: those of a person one after the other.

    ``weights`` are from 0 to 1. ``placed``: rows and targets are in that order already.
    """

    rows: int
    people: People | None = field(default=None, repr=False)
    weights: Array | None = field(default=None, repr=False)
    words: tuple[str, ...] = ()
    placed: bool = False

    @property
    def count(self) -> int:
        """Number of records, which is public: people, or rows."""
        return self.rows if self.people is None else self.people.count

    @property
    def rows_per_person(self) -> int | None:
        """What was declared; None: the unit is a row."""
        return None if self.people is None else self.people.most

    @property
    def shares(self) -> Shares:
        """How much each row counts."""
        return Shares.of(self.people, self.weights)

    def pick(self, values: Any) -> Any:
        """What belongs to the rows that count, in their order."""
        return values if self.people is None or self.placed else values[self.people.rows]

    def times(self, weights: Array, *words: str) -> Counted:
        """The same with rows weighted once more, by numbers from 0 to 1."""
        both = weights if self.weights is None else self.weights * weights
        return replace(self, weights=both, words=(*self.words, *words))


def counted(groups: Any, sample_weight: Any, rows: int, rows_per_person: int | None, weight_bound: float) -> Counted:
    """Whose rows count, and how much, from what a fit was given and what was declared.

    Edges: missing, negative and infinite weights raise and quote none; weights above the bound are cut to it.
    """
    check(
        groups is not None or rows_per_person is None,
        "rows_per_person is set, but groups= is missing: pass the person of each row to fit, or leave out "
        "rows_per_person.",
    )
    people = None if groups is None else people_of(groups, rows, rows_per_person)
    found = Counted(rows, people)
    if people is not None:
        said = f"of each person at most {people.most:,} rows count, the first ones, together as much as one"
        found = replace(found, words=("the number of people is public", said))
    if sample_weight is None:
        return found
    bound = check_positive("weight_bound", weight_bound)
    try:
        weights = None if np.ma.is_masked(sample_weight) else np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError):
        weights = None
    if weights is not None and weights.ndim == 0:
        weights = np.full(rows, float(weights))
    if weights is None or weights.shape != (rows,):
        raise ValueError("Expected sample_weight to be one number for each row of the table.")
    check(
        np.isfinite(weights).all() and weights.min(initial=0.0) >= 0,
        "Expected weights of 0 or more, found a negative, missing or infinite one; fill them in or drop those rows.",
    )
    scaled = np.minimum(weights / bound, 1.0)
    return found.times(found.pick(scaled), f"weights of rows cut to [0, {bound:g}] and divided by that")


def class_numbers(class_weight: ClassWeight, classes: NDArray[Any]) -> Array | None:
    """The weight of each class over the largest one; None where all weigh the same, or counts are to say it."""
    if class_weight is None or isinstance(class_weight, str):
        check(
            class_weight in (None, "balanced"),
            f"Expected class_weight={shown(class_weight)} to be None, 'balanced' or a number for each class.",
        )
        return None
    known = isinstance(class_weight, Mapping) and set(class_weight) == set(classes.tolist())
    check(known, "Expected class_weight to have a number for each class, and for nothing else.")
    numbers = np.array([check_positive("class_weight", class_weight[name]) for name in classes.tolist()])
    return np.asarray(numbers / numbers.max())


def balanced(counts: Array) -> Array:
    """Weights by which classes of these noisy counts weigh the same: the smallest count over each, from 1e-3 to 1."""
    seen = np.maximum(counts, 1.0)
    return np.asarray(np.clip(seen.min() / seen, 1e-3, 1.0))
