"""How labels and targets of a batch are read and coded, as a loss takes them. Plain objects, sent with their reader."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, shown
from tacit.data.canonical import column
from tacit.data.tables import Table
from tacit.schema import Target
from tacit.streams.scanned import ROWS, TARGETS
from tacit.types import Array, Targets


@dataclass(frozen=True, eq=False)
class LabelCodes:
    """Labels as a loss takes them: -1 and +1 of two classes, class numbers, or -1 and +1 for each of several."""

    read: Callable[[Table], NDArray[Any]]
    classes: NDArray[Any]
    coupled: bool

    @property
    def outputs(self) -> int:
        """Columns of the targets."""
        return 1 if len(self.classes) == 2 or self.coupled else len(self.classes)

    def numbers(self, table: Table) -> NDArray[np.intp]:
        """Each row's class number.

        Edges: a label that is not among the classes raises, and is not quoted.
        """
        return places_in(self.classes, self.read(table))

    def __call__(self, table: Table) -> Array:
        """The targets of a table, a row each."""
        return coded(self.numbers(table), len(self.classes), self.coupled)


def label_set(classes: Any) -> NDArray[Any]:
    """The declared labels in order, each once.

    Edges: fewer than two, missing ones, and labels that cannot be compared with each other raise.
    """
    alone = isinstance(classes, str | bytes | Mapping) or not isinstance(classes, Iterable)
    check(not alone, f"Expected classes to be a list of labels, not {shown(classes)}.")
    try:
        given = np.asarray(column(list(classes), "classes"))
        known = np.unique(given)
    except TypeError:
        raise ValueError("Expected classes to be a list of labels, all of them text or all of them numbers.") from None
    plain = given.ndim == 1 and not (known.dtype.kind == "f" and np.isnan(known).any())
    check(plain, "Expected classes to be a flat list of labels, none of them missing.")
    check(len(known) >= 2, "Expected at least two classes. Declare all labels that there may be with classes=.")
    return known


def places_in(known: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """The place of every label among the known ones, which are sorted.

    Edges: labels of another kind than these, and a label that is not among them, raise, and are not quoted.
    """
    try:
        codes = np.minimum(np.searchsorted(known, labels), len(known) - 1)
    except TypeError:
        raise ValueError("Expected labels in y of the same kind as classes: all text, or all numbers.") from None
    check(
        np.array_equal(known[codes], labels),
        "A label in y is not among classes, as they are declared with classes= or in the schema. Declare all labels "
        "with classes=, or drop those rows before fitting.",
    )
    return codes


def coded(codes: NDArray[Any], count: int, coupled: bool) -> Array:
    """Class numbers as a loss takes them, a row each."""
    if count == 2:
        return np.asarray(2.0 * codes - 1.0, dtype=np.float64)[:, None]
    if coupled:
        return codes.astype(np.float64)[:, None]
    return np.where(codes[:, None] == np.arange(count), 1.0, -1.0)


@dataclass(frozen=True, eq=False)
class ClassFactors:
    """A weight for each row, by its class."""

    numbers: Array

    def __call__(self, targets: Array) -> Array:
        """From coded targets."""
        if targets.shape[1] > 1:
            return np.asarray(self.numbers[targets.argmax(axis=1)])
        codes = (targets[:, 0] + 1) / 2 if len(self.numbers) == 2 else targets[:, 0]
        return np.asarray(self.numbers[codes.astype(np.intp)])


@dataclass(frozen=True)
class ScaledTargets:
    """Targets within a declared range, as a loss takes them."""

    read: Callable[[Table], Array]
    bounds: tuple[float, float]
    units: tuple[float, float]
    within: Targets
    outputs: int = 1

    def __call__(self, table: Table) -> Array:
        """The targets of a table, a row each."""
        values = self.read(table)
        check(values.dtype.kind in "biuf", "expected numbers as targets.")
        return scaled(values.astype(np.float64), self.bounds, self.units, self.within)[:, None]


def scaled(values: Array, bounds: tuple[float, float], units: tuple[float, float], within: Targets) -> Array:
    """Numbers cut to their bounds and measured in their units."""
    targets = np.clip(values, *bounds)
    targets -= units[0]
    targets /= units[1]
    np.clip(targets, *within, out=targets)  # the origin was rounded
    return targets


@dataclass(frozen=True)
class TargetColumn:
    """The column to predict, as the schema, or what was declared, reads it."""

    target: Target
    missing: tuple[str, ...] = ()

    def __call__(self, table: Table) -> NDArray[Any]:
        """Labels or numbers."""
        return self.target.read(table, self.missing)


@dataclass(frozen=True)
class ArrayColumn:
    """Targets that came as an array."""

    def __call__(self, table: Table) -> NDArray[Any]:
        """As they are."""
        return np.asarray(table[TARGETS])


@dataclass(frozen=True)
class ArrayRows:
    """Rows that came as an array."""

    def __call__(self, table: Table) -> Any:
        """As they are."""
        return table[ROWS]
