"""How labels and targets of a batch are read and coded, as a loss takes them. Plain objects, sent with their reader."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
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
        labels = self.read(table)
        codes = np.minimum(np.searchsorted(self.classes, labels), len(self.classes) - 1)
        check(
            np.array_equal(self.classes[codes], labels),
            "A label is not among classes. Add it to classes, or drop those rows before fitting.",
        )
        return codes

    def __call__(self, table: Table) -> Array:
        """The targets of a table, a row each."""
        return coded(self.numbers(table), len(self.classes), self.coupled)


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
