"""From a scan to the records of a fit: which columns are what."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count, check_positive
from tacit.data.cells import lacking
from tacit.data.tables import Table
from tacit.estimators.coded_targets import ArrayColumn, ArrayRows, ClassFactors, LabelCodes, ScaledTargets, TargetColumn
from tacit.linear.cluster import cluster_of, current_client
from tacit.linear.records import Held
from tacit.linear.streamed import Engine, Here, Streamed, held, stream
from tacit.schema import Schema, Target
from tacit.streams.partitions import collection_source, is_dask, partitions
from tacit.streams.pieces import Piece
from tacit.streams.reader import NumberRows, Reader, SchemaRows
from tacit.streams.scanned import PEOPLE, ROWS, TARGETS, WEIGHTS, Scan, Selected, array_source, scan
from tacit.types import Array

_PEOPLE_WORDS = "of each person at most {most:,} rows count, the first ones, together as much as one"


@dataclass(frozen=True)
class Asked:
    """A scan, and which of its columns are what."""

    scan: Scan
    target: str
    person: str | None
    weight: str | None
    picked: tuple[str, ...] | None = None

    @classmethod
    def of(cls, X: Any, y: Any, groups: Any, sample_weight: Any, schema: Schema | None = None) -> Asked:
        """From what ``fit`` was given: names of columns; of arrays on disk, arrays. ``schema``: the model's own."""
        if isinstance(X, np.memmap):
            check(y is not None, "Give y, the target of each row.")
            source = array_source(X, np.asarray(y), groups, sample_weight)
            person, weight = None if groups is None else PEOPLE, None if sample_weight is None else WEIGHTS
            return cls(Scan(source), TARGETS, person, weight)
        if is_dask(X, "Array", "DataFrame") and not (y is None or isinstance(y, str)):
            asked = {TARGETS: y, PEOPLE: groups, WEIGHTS: sample_weight}
            beside = {name: one for name, one in asked.items() if not (one is None or isinstance(one, str))}
            X = Scan(collection_source(X, ROWS, beside))
            y, groups, sample_weight = (name if name in beside else one for name, one in asked.items())
        check(not is_dask(X, "Array"), "Expected y as a Dask array or series too: the columns of X have no names.")
        found = X.scan if isinstance(X, Selected) else X if isinstance(X, Scan) else scan(X)
        picked = X.names if isinstance(X, Selected) else None
        if schema is not None:
            check(
                found.schema in (None, schema),
                "The scan has a different schema from the model's. Leave it out of the scan.",
            )
            found = replace(found, schema=schema)
        target = y
        if target is None:
            named = None if found.schema is None else found.schema.target
            check(named is not None, "Name the column to predict: fit(X, 'column'), or declare it in the schema.")
            target = named.name  # type: ignore[union-attr]
        for word, name in (("y", target), ("groups", groups), ("sample_weight", sample_weight)):
            check(
                name is None or isinstance(name, str), f"Expected {word} to name a column: the table is not in memory."
            )
            check(name is None or name in found.names, f"The table has no column {name!r}, which {word} names.")
        given = [name for name in (target, groups, sample_weight) if name is not None]
        check(len(set(given)) == len(given), "Expected y, groups and sample_weight to name different columns.")
        check(
            picked is None or not set(picked) & set(given),
            "Expected columns that predict, and neither y, groups nor sample_weight among them.",
        )
        if found.schema is not None:
            check(picked is None, "The schema says which columns predict; give the whole scan.")
            absent = sorted(set(found.schema.names) - set(found.names))
            check(not absent, lacking(absent, found.names))
            check(
                target not in found.schema.names, f"The schema has {target!r}, which is to be predicted, as a column."
            )
        return cls(found, target, groups, sample_weight, picked)

    @property
    def arrays(self) -> bool:
        """Whether rows came as an array."""
        return self.scan.source.width > 0

    @property
    def goal(self) -> Target | None:
        """The column to predict as the schema declares it, where it does."""
        found = None if self.scan.schema is None else self.scan.schema.target
        return found if found is not None and found.name == self.target else None

    def declared(self, target: Target) -> Callable[[Table], NDArray[Any]]:
        """How the column to predict is read."""
        if self.arrays:
            return ArrayColumn()
        own = self.scan.schema
        return TargetColumn(target, () if own is None else own.missing)

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """What the columns of the design are called; None where they are a schema's, or an array's."""
        return None if self.arrays or self.scan.schema is not None else self.names()

    def names(self) -> tuple[str, ...]:
        """The columns that predict."""
        if self.scan.schema is not None:
            return self.scan.schema.names
        if self.picked is not None:
            return self.picked
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
            "groups= and rows_per_person= belong together: the first names the person of each row, the second says how "
            "many rows of one person count.",
        )
        most = None if rows_per_person is None else check_count("rows_per_person", rows_per_person)
        bound = check_positive("weight_bound", weight_bound)
        reader = Reader(
            encode, answer, (*names, self.target), features, clip, intercept, answer.outputs, self.person,
            most, self.weight, bound, factor,
        )  # fmt: skip
        return stream(self.scan.source, reader, engine_of(self.scan.engine, self.scan.source.pieces))

    def words(self, rows_per_person: int | None, weight_bound: float) -> tuple[str, ...]:
        """What a guarantee says about people and weights, as of rows in memory."""
        people = () if self.person is None else (
            "the number of people is public", _PEOPLE_WORDS.format(most=rows_per_person)
        )  # fmt: skip
        weights = f"weights of rows cut to [0, {weight_bound:g}] and divided by that"
        return (*people, *(() if self.weight is None else (weights,)))


def later(
    records: Streamed, schema: Callable[[], Schema] | None, factors: Callable[[], Array] | None
) -> Callable[[], tuple[Held, int]] | None:
    """What makes the records of a fit that releases counts first: their columns, and then weights of their classes.

    Rows are as wide as those that everything was priced with; the second number says how many columns are filled.
    """
    if schema is None and factors is None:
        return None

    def made() -> tuple[Held, int]:
        reader = records.changed.reader
        columns = reader.features
        if schema is not None:
            chosen = schema()
            columns = chosen.width
            reader = replace(reader, encode=SchemaRows(chosen, reader.clip, reader.features - columns))
        if factors is not None:
            reader = replace(reader, factor=ClassFactors(factors()))
        return held(records.read_by(reader)), columns

    return made


def engine_of(engine: Any, pieces: Sequence[Piece] = ()) -> Engine:
    """Who reads and adds up: as was asked for; Dask's partitions where the current client has them; or this process."""
    if engine is None and any(partitions(piece) for piece in pieces):
        engine = current_client()
    return Here() if engine is None else engine if isinstance(engine, Here) else cluster_of(engine)
