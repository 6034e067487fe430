"""From a scan to the records of a fit: which columns are what, and how labels and targets are coded."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.tables import Table
from tacit.linear.cluster import cluster_of, current_client
from tacit.linear.streamed import Engine, Here, Streamed, stream
from tacit.schema import Target
from tacit.streams.partitions import collection_source, is_dask, partitions
from tacit.streams.pieces import Piece
from tacit.streams.reader import NumberRows, Reader, SchemaRows
from tacit.streams.scanned import PEOPLE, ROWS, TARGETS, WEIGHTS, Scan, array_source, scan
from tacit.types import Array, Targets

_PEOPLE_WORDS = "of each person at most {most:,} rows count, the first ones, together as much as one"


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

    def __call__(self, table: Table) -> Array:
        """The targets of a table, a row each."""
        return coded(np.searchsorted(self.classes, self.read(table)), len(self.classes), self.coupled)


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


@dataclass(frozen=True)
class Asked:
    """A scan, and which of its columns are what."""

    scan: Scan
    target: str
    person: str | None
    weight: str | None

    @classmethod
    def of(cls, X: Any, y: Any, groups: Any, sample_weight: Any) -> Asked:
        """From what ``fit`` was given: names of columns; of arrays on disk, arrays."""
        if isinstance(X, np.memmap):
            source = array_source(X, np.asarray(y), groups, sample_weight)
            return cls(
                Scan(source),
                TARGETS,
                *(None if a is None else b for a, b in ((groups, PEOPLE), (sample_weight, WEIGHTS))),
            )
        if is_dask(X, "Array", "DataFrame") and not (y is None or isinstance(y, str)):
            given = {TARGETS: y, PEOPLE: groups, WEIGHTS: sample_weight}
            beside = {name: one for name, one in given.items() if not (one is None or isinstance(one, str))}
            X = Scan(collection_source(X, ROWS, beside))
            y, groups, sample_weight = (name if name in beside else one for name, one in given.items())
        check(not is_dask(X, "Array"), "Expected y as a Dask array or series too: the columns of X have no names.")
        found = X if isinstance(X, Scan) else scan(X)
        target = y
        if target is None:
            named = None if found.schema is None else found.schema.target
            check(named is not None, "Name the column to predict: fit(X, 'column'), or declare it in the schema.")
            target = named.name  # type: ignore[union-attr]
        for word, name in (("y", target), ("groups", groups), ("sample_weight", sample_weight)):
            check(
                name is None or isinstance(name, str), f"Expected {word} to name a column: the table is not in memory."
            )
            check(name is None or name in found.names, f"The table has no column {name!r}.")
        return cls(found, target, groups, sample_weight)

    @property
    def arrays(self) -> bool:
        """Whether rows came as an array."""
        return ROWS in self.scan.names and self.target == TARGETS

    def declared(self, target: Target) -> Callable[[Table], NDArray[Any]]:
        """How the column to predict is read."""
        if self.arrays:
            return ArrayColumn()
        own = self.scan.schema
        return TargetColumn(target, () if own is None else own.missing)

    def names(self) -> tuple[str, ...]:
        """The columns that predict."""
        if self.scan.schema is not None:
            return self.scan.schema.names
        left = (self.target, self.person, self.weight)
        return tuple(name for name in self.scan.names if name not in left)

    def records(
        self,
        answer: LabelCodes | ScaledTargets,
        clip: float,
        intercept: float,
        rows_per_person: int | None,
        weight_bound: float,
        factor: Callable[[Array], Array] | None = None,
    ) -> Streamed:
        """The records of the fit."""
        schema, names = self.scan.schema, self.names()
        encode: Any = ArrayRows() if self.arrays else NumberRows(names) if schema is None else SchemaRows(schema, clip)
        features = len(names) if schema is None else schema.width
        if self.arrays:
            names, features = (ROWS,), self.scan.source.width
        check(
            (self.person is None) == (rows_per_person is None),
            "Whose rows they are, groups=, and how many of one person count, rows_per_person=, go together.",
        )
        reader = Reader(
            encode, answer, (*names, self.target), features, clip, intercept, answer.outputs, self.person,
            rows_per_person, self.weight, float(weight_bound), factor,
        )  # fmt: skip
        return stream(self.scan.source, reader, engine_of(self.scan.engine, self.scan.source.pieces))

    def words(self, rows_per_person: int | None, weight_bound: float) -> tuple[str, ...]:
        """What a guarantee says about people and weights, as of rows in memory."""
        people = () if self.person is None else (
            "the number of people is public", _PEOPLE_WORDS.format(most=rows_per_person)
        )  # fmt: skip
        weights = f"weights of rows cut to [0, {weight_bound:g}] and divided by that"
        return (*people, *(() if self.weight is None else (weights,)))


def engine_of(engine: Any, pieces: Sequence[Piece] = ()) -> Engine:
    """Who reads and adds up: as was asked for; Dask's partitions where the current client has them; or this process."""
    if engine is None and any(partitions(piece) for piece in pieces):
        engine = current_client()
    return Here() if engine is None else cluster_of(engine)
