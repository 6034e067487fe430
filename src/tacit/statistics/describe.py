"""A first table: missing cells, mean, deviation and quartiles of each column, or its frequent values; one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Literal

import numpy as np

from tacit.arguments import checked
from tacit.checks import check, items_in
from tacit.data.cells import key_of, numbers
from tacit.data.curator import FEW
from tacit.estimators.legibility import note_scan
from tacit.ledger import Ledger
from tacit.ledger.listening import labelled
from tacit.schema import Category, Number, Schema
from tacit.schema.columns import Column
from tacit.schema.legible import Legible, note_textual
from tacit.settings import described
from tacit.statistics.asked_rows import Bounds
from tacit.statistics.categories import keys_of
from tacit.statistics.description import (
    MOST_VALUES,
    Description,
    Entry,
    clipped_entry,
    missing_entry,
    moments_entry,
    quartiles_entry,
    shares_entry,
)
from tacit.statistics.exact_sums import Asked, Part, Released, Sums
from tacit.statistics.finding import KINDS_SHARE, PUBLIC, Columns
from tacit.statistics.looked import InMemory, selected
from tacit.statistics.ranks import Ranks
from tacit.statistics.release import Request, answer
from tacit.statistics.statistic import quantile_of
from tacit.statistics.unit import Unit
from tacit.streams.scanned import Selected
from tacit.types import Adjacency, Array

FACTS_SHARE = 0.3
"""The part of the budget's mu^2 that finds bounds and categories where no schema declares them."""
CELLS = 256
"""Cells of a number's cumulative counts."""
PRESENT, BEYOND, SUM, SQUARES = Part(1, 0.5), Part(1, 0.5), Part(1, 0.5, signed=True), Part(1, 0.5)
RANKS = Part(CELLS, 0.5, rising=True)
NUMBER = (PRESENT, BEYOND, SUM, SQUARES, RANKS)
ALL = Part(1, 0.5)


@described
@checked
def describe(
    table: Any,
    *,
    epsilon: float | Literal["rest"],
    schema: Schema | None = None,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    label: str = "",
    random_state: Any = None,
    level: float = 0.95,
) -> Description:
    """Look at a whole table for one price; bounds and categories are found first where no ``schema`` declares them.

    Names of the columns and the types that the table gives them count as public. With ``groups`` every person weighs
    the same.

    Parameters
    ----------
    table : data frame, dict of columns, :func:`tacit.scan` or files
        The private table.
    schema : Schema or None
        Declared bounds and categories. None: found for a part of the budget.
    target : str or None
        The column that the found schema, which the description contains and models accept, is to predict.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z = quantile_of(level)
    check(schema is None or target is None, "A declared schema names its target itself; leave out target=.")
    known = None if schema is None else _plain(schema)
    markers = missing if schema is None else (*schema.missing, *items_in("missing", missing, "texts"))
    names = None if known is None else [column.name for column in known]
    stated = kinds if known is None else {c.name: "number" if isinstance(c, Number) else "text" for c in known}
    table = selected(table)
    looked = Columns.of(table, groups, rows_per_person, stated, markers, names)
    if known is not None:
        _note_textual(table, looked, tuple(column.name for column in known if column.numeric))
    first = looked.kinds_stages(KINDS_SHARE)
    before = [*first, *(looked.facts_stages(FACTS_SHARE) if known is None else [])]
    count = () if request.counted else (ALL,)
    numbered = [name for name in looked.names if looked.kinds.get(name) != "text"]
    texts = [name for name in looked.names if looked.kinds.get(name) == "text"]
    asked = Asked((*count, *NUMBER * len(numbered), *(Part(MOST_VALUES + 2) for _ in texts)))

    def columns_after(earlier: list[Released]) -> tuple[Column, ...]:
        return looked.found(earlier).columns if known is None else known

    def added(earlier: list[Released]) -> Sums:
        return looked.rows.add_up(partial(_column_sums, columns_after(earlier), count, looked.missing, looked.markers))

    share = 1.0 - sum(part for _, part, _ in before)
    with labelled(label):
        found = answer(request, looked.rows.unit, "describe", [*before, (asked, share, added)], assumptions=(PUBLIC,))
    released, columns = found.stages[-1], columns_after(found.stages[:-1])
    records = looked.rows.unit.count if request.counted else None
    everybody, uncertain = (float(looked.rows.unit.count), 0.0) if not count else _first(released)
    reading = iter(
        list(zip(range(len(released.parts)), released.numbers, released.deviations, strict=True))[len(count) :]
    )
    entries: dict[str, Entry] = {}
    for column in columns:
        if isinstance(column, Number):
            present, beyond, sums, squares, ranks = (next(reading) for _ in NUMBER)
            entry = missing_entry(present[1][0], present[2], everybody, uncertain, z, there=True)
            limits = Bounds(column.lower, column.upper)
            entry |= clipped_entry(present, beyond, limits, z)
            entry |= moments_entry(present, sums, squares, limits, z)
            entry |= quartiles_entry(Ranks.of(released, ranks[0], limits.edges(CELLS), None), z)
        else:
            _, counts, deviation = next(reading)
            entry = missing_entry(counts[-1], deviation, everybody, uncertain, z, there=False)
            entry |= shares_entry(column, counts, deviation, z)
        entries[column.name] = entry
    if known is not None:
        return Description(records, entries, schema, level, found.guarantee)
    facts = looked.found(found.stages[:-1], target)
    said = looked.schema(facts, found.guarantee, target) if facts.columns else None
    return Description(
        records, entries, said, level, found.guarantee, tuple(name for name in looked.names if name not in entries)
    )


def _note_textual(table: Any, looked: Columns, names: tuple[str, ...]) -> None:
    """Tell the curator of declared numbers that are text. NOT PRIVATE, and nothing of it is in the description."""
    legible = Legible(names, looked.missing)
    if isinstance(table, Selected):
        note_scan(table.scan, legible)
    elif isinstance(looked.rows, InMemory) and looked.rows.unit.length >= FEW:
        note_textual(legible.textual_in(looked.rows.columns))


def _plain(schema: Schema) -> tuple[Column, ...]:
    """The columns of a schema, its target among them, as numbers and categories.

    Edges: bounds that are too narrow for this many cells are refused here, before anything is charged.
    """
    target = schema.target
    more: tuple[Column, ...] = ()
    if target is not None and target.classes is not None:
        more = (Category(target.name, target.classes),)
    elif target is not None and target.lower is not None and target.upper is not None:
        more = (Number(target.name, target.lower, target.upper),)
    plain = all(isinstance(column, Number | Category) for column in schema.columns)
    check(plain, "Expected a schema of numbers and categories; curves are for models.")
    for column in (*schema.columns, *more):
        if isinstance(column, Number):
            Bounds(column.lower, column.upper).edges(CELLS)
    return (*schema.columns, *more)


def _first(released: Released) -> tuple[float, float]:
    return max(float(released.numbers[0][0]), 1.0), released.deviations[0]


def _column_sums(
    columns: tuple[Column, ...],
    count: tuple[Part, ...],
    missing: tuple[str, ...],
    markers: frozenset[str],
    rows: Mapping[str, Any],
    unit: Unit,
) -> Sums:
    """How many rows there are, where that is asked for, and then each column's numbers or values."""
    parts, totals = [*count], [part.total(*unit.entries()) for part in count]
    for column in columns:
        if isinstance(column, Number):
            parts += NUMBER
            totals += _number_totals(numbers(rows[column.name], missing), Bounds(column.lower, column.upper), unit)
        else:
            parts.append(Part(len(column.values[:MOST_VALUES]) + 2))
            totals.append(parts[-1].total(*unit.entries(_value_codes(column, rows[column.name], markers))))
    return Sums(tuple(parts), tuple(totals))


def _number_totals(values: Array, limits: Bounds, unit: Unit) -> list[Array]:
    """Of a number: cells that are there, their sum and squares in [-1, 1], and their counts by size."""
    places = np.where(np.isnan(values), -1, 0).astype(np.intp)
    scaled = limits.scaled(np.nan_to_num(values, nan=limits.middle))
    return [
        PRESENT.total(*unit.entries(places)),
        BEYOND.total(*unit.entries(np.where((values < limits.lower) | (values > limits.upper), 0, -1))),
        SUM.total(*unit.entries(places, scaled)),
        SQUARES.total(*unit.entries(places, scaled**2)),
        RANKS.total(*unit.entries(limits.cells(values, CELLS))),
    ]


def _value_codes(column: Column, cells: Any, markers: frozenset[str]) -> Any:
    """Listed values, then all others, then missing cells; no cell is refused, for the release is charged already."""
    values = column.values[:MOST_VALUES]
    places = {key_of(value): place for place, value in enumerate(values)} | {"": len(values) + 1}
    keys = keys_of(cells, markers)
    return np.fromiter((places.get(key, len(values)) for key in keys), np.intp, len(keys))
