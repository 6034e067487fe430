"""A first table: missing cells, mean, deviation and quartiles of each column, or its frequent values; one release."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import at_most, check
from tacit.data.cells import codes_of, numbers
from tacit.ledger import Ledger
from tacit.privacy.guarantee import Guarantee
from tacit.schema import Category, Number, Schema
from tacit.schema.columns import Column
from tacit.statistics.asked_rows import Bounds
from tacit.statistics.categories import keys_of
from tacit.statistics.finding import KINDS_SHARE, PUBLIC, Columns
from tacit.statistics.parts import Asked, Part, Released, Sums
from tacit.statistics.ranks import QUARTILES, Ranks
from tacit.statistics.release import Request, Unit, answer
from tacit.statistics.statistic import quantile_of
from tacit.statistics.totals import positive, quotient
from tacit.types import Adjacency, Array

FACTS_SHARE = 0.3
"""The part of the budget's mu^2 that finds bounds and categories where no schema declares them."""
CELLS, MOST_VALUES = 256, 20
"""Cells of a number's cumulative counts; the most values of a category that are counted, the others together."""
PRESENT, BEYOND, SUM, SQUARES = Part(1, 0.5), Part(1, 0.5), Part(1, 0.5, signed=True), Part(1, 0.5)
RANKS = Part(CELLS, 0.5, rising=True)
NUMBER = (PRESENT, BEYOND, SUM, SQUARES, RANKS)
ALL = Part(1, 0.5)
Entry = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """What a table looks like, column by column, with intervals that cover the noise, and the guarantee of all of it.

    ``columns`` has plain entries by name; an interval is a list of two. Numbers are clipped to their ``bounds`` first:
    where a share of them lies beyond, mean and deviation are of clipped numbers. ``schema`` is what was declared or
    found; None where no column stood out of the noise.
    """

    records: int | None
    columns: dict[str, Entry]
    schema: Schema | None
    level: float
    guarantee: Guarantee

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee, under the name that models have for it."""
        return self.guarantee

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold, the guarantee and the schema included."""
        return {
            "records": self.records,
            "level": self.level,
            "columns": self.columns,
            "schema": None if self.schema is None else self.schema.to_dict(),
            "guarantee": self.guarantee.to_dict(),
        }

    def rows(self) -> list[list[str]]:
        """Lines of text: name, missing share, then numbers or frequent values, each with its interval."""
        return [[name, _percent(entry, "missing"), *_words(entry)] for name, entry in self.columns.items()]

    def __repr__(self) -> str:
        rows = [list(HEADER), *self.rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(HEADER) - 1)]
        lines = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
        ]
        budget = f"epsilon={at_most(self.guarantee.epsilon)}, delta={at_most(self.guarantee.delta, 3)}"
        whom = "people" if self.guarantee.rows_per_person else "rows"
        count = "" if self.records is None else f"{self.records:,} {whom}; "
        return "\n".join([f"{count}{budget}; {100 * self.level:g}% intervals cover the noise; {CAUTION}", *lines])


CAUTION = "numbers are clipped to the bounds, and what is said of them is said of clipped ones"
HEADER = ("column", "missing", "bounds", "beyond", "mean", "deviation", "quartiles, or frequent values")


def _percent(entry: Entry, name: str) -> str:
    low, high = entry[f"{name}_interval"]
    return f"{100 * entry[name]:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def _words(entry: Entry) -> list[str]:
    def with_ends(value: float, ends: Sequence[float]) -> str:
        return f"{value:.4g} ({ends[0]:.4g} to {ends[1]:.4g})"

    if "mean" in entry:
        quartiles = zip(entry["quartiles"], entry["quartile_intervals"], strict=True)
        return [
            "{:.4g} to {:.4g}".format(*entry["bounds"]),
            _percent(entry, "clipped"),
            with_ends(entry["mean"], entry["mean_interval"]),
            with_ends(entry["deviation"], entry["deviation_interval"]),
            ", ".join(with_ends(value, ends) for value, ends in quartiles),
        ]
    shares = zip(entry["values"], entry["shares"], entry["share_intervals"], strict=True)
    listed = [f"{value} {100 * share:.1f}% ({100 * a:.1f} to {100 * b:.1f})" for value, share, (a, b) in shares]
    return ["", "", "", "", ", ".join(listed[:4]) + (f", and {len(listed) - 4} more" if len(listed) > 4 else "")]


def describe(
    table: Any,
    *,
    epsilon: float,
    schema: Schema | None = None,
    target: str | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Description:
    """Look at a whole table for one price; bounds and categories are found first where no ``schema`` declares them.

    Names of the columns and the types that the table gives them count as public. ``missing`` lists markers of missing
    cells. With ``groups`` every person weighs the same. ``target`` names the column that the found schema, which the
    description holds and models take, is to predict.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z = quantile_of(level)
    check(schema is None or target is None, "A declared schema names its target itself; leave target= out.")
    known = None if schema is None else _plain(schema)
    markers = missing if schema is None else (*schema.missing, *missing)
    names = None if known is None else [column.name for column in known]
    stated = kinds if known is None else {c.name: "number" if isinstance(c, Number) else "text" for c in known}
    looked = Columns.of(table, lambda rows: Unit.of(rows, groups, rows_per_person), stated, markers, names)
    first = looked.kinds_stages(KINDS_SHARE)
    before = [*first, *(looked.facts_stages(FACTS_SHARE) if known is None else [])]
    count = () if request.counted else (ALL,)
    numbered = [name for name in looked.cells if looked.kinds.get(name) != "text"]
    texts = [name for name in looked.cells if looked.kinds.get(name) == "text"]
    asked = Asked((*count, *NUMBER * len(numbered), *(Part(MOST_VALUES + 2) for _ in texts)))

    def columns_after(earlier: list[Released]) -> tuple[Column, ...]:
        return looked.found(earlier).columns if known is None else known

    def added(earlier: list[Released]) -> Sums:
        steps = looked.unit.steps
        parts: list[Part] = [*count]
        totals = [ALL.total(steps)] if count else []
        for column in columns_after(earlier):
            cells = looked.cells[column.name]
            if isinstance(column, Number):
                parts += NUMBER
                totals += _number_totals(numbers(cells, markers), Bounds(column.lower, column.upper), steps)
            else:
                codes = _value_codes(column, cells, looked.markers)
                parts.append(Part(len(column.values[:MOST_VALUES]) + 2))
                totals.append(parts[-1].total(steps, codes))
        return Sums(tuple(parts), tuple(totals))

    share = 1.0 - sum(part for _, part, _ in before)
    found = answer(request, looked.unit, "describe", [*before, (asked, share, added)], assumptions=(PUBLIC,))
    released, columns = found.stages[-1], columns_after(found.stages[:-1])
    records = looked.unit.count if request.counted else None
    everybody, uncertain = (float(looked.unit.count), 0.0) if not count else _first(released)
    reading = iter(
        list(zip(range(len(released.parts)), released.numbers, released.deviations, strict=True))[len(count) :]
    )
    entries: dict[str, Entry] = {}
    for column in columns:
        if isinstance(column, Number):
            present, beyond, sums, squares, ranks = (next(reading) for _ in NUMBER)
            entry = _missing(present[1][0], present[2], everybody, uncertain, z)
            limits = Bounds(column.lower, column.upper)
            entry |= _clipped(present, beyond, limits, z)
            entry |= _moments(present, sums, squares, limits, z)
            entry |= _quartiles(Ranks.of(released, ranks[0], limits.edges(CELLS), None), z)
        else:
            _, counts, deviation = next(reading)
            entry = _missing(everybody - counts[-1], deviation, everybody, uncertain, z)
            entry |= _shares(column, counts, deviation, z)
        entries[column.name] = entry
    said = schema
    if said is None and columns:
        said = looked.schema(looked.found(found.stages[:-1], target), found.guarantee)
    return Description(records, entries, said, level, found.guarantee)


def _plain(schema: Schema) -> tuple[Column, ...]:
    """The columns of a schema, its target among them, as numbers and categories."""
    target = schema.target
    more: tuple[Column, ...] = ()
    if target is not None and target.classes is not None:
        more = (Category(target.name, target.classes),)
    elif target is not None and target.lower is not None and target.upper is not None:
        more = (Number(target.name, target.lower, target.upper),)
    plain = all(isinstance(column, Number | Category) for column in schema.columns)
    check(plain, "Expected a schema of numbers and categories; curves are for models.")
    return (*schema.columns, *more)


def _first(released: Released) -> tuple[float, float]:
    return max(float(released.numbers[0][0]), 1.0), released.deviations[0]


def _number_totals(values: Array, limits: Bounds, steps: Any) -> list[Array]:
    """Of a number: cells that are there, their sum and squares in [-1, 1], and their counts by size."""
    places = np.where(np.isnan(values), -1, 0).astype(np.intp)
    scaled = limits.scaled(np.nan_to_num(values, nan=limits.middle))
    return [
        PRESENT.total(steps, places),
        BEYOND.total(steps, np.where((values < limits.lower) | (values > limits.upper), 0, -1)),
        SUM.total(steps, places, scaled),
        SQUARES.total(steps, places, scaled**2),
        RANKS.total(steps, limits.cells(values, CELLS)),
    ]


def _value_codes(column: Column, cells: Any, markers: frozenset[str]) -> Any:
    """Listed values, then all others, then missing cells."""
    values = column.values[:MOST_VALUES]
    codes = codes_of(column.name, cells, values)
    absent = np.fromiter((not key for key in keys_of(cells, markers)), bool, len(cells))
    return np.where(absent, len(values) + 1, codes)


def _missing(present: float, deviation: float, everybody: float, uncertain: float, z: float) -> Entry:
    share = 1.0 - present / everybody
    reach = z * np.hypot(deviation, (1.0 - share) * uncertain) / everybody
    return {"missing": _within(share), "missing_interval": [_within(share - reach), _within(share + reach)]}


def _clipped(present: Any, beyond: Any, limits: Bounds, z: float) -> Entry:
    """The bounds, and the share of cells beyond them: what is said of the column is said of clipped cells."""
    (_, rows, _), (_, outside, deviation) = present, beyond
    share, reach = float(outside[0] / max(rows[0], 1.0)), z * deviation / max(float(rows[0]), 1.0)
    ends = [_within(share - reach), _within(share + reach)]
    return {"bounds": [limits.lower, limits.upper], "clipped": _within(share), "clipped_interval": ends}


def _within(share: float) -> float:
    return float(np.clip(share, 0.0, 1.0))


def _moments(present: Any, sums: Any, squares: Any, limits: Bounds, z: float) -> Entry:
    """Mean and standard deviation of the cells that are there."""
    (_, rows, uncertain), (_, total, noise), (_, second, rough) = present, sums, squares
    safe = np.maximum(rows, 1.0)
    estimate = np.clip(total / safe, -1.0, 1.0)
    spread = second - 2 * estimate * total + estimate**2 * rows
    roughly = np.sqrt(rough**2 + 4 * (estimate * noise) ** 2 + (estimate**2 * uncertain) ** 2)
    variance = positive(spread, roughly)
    ends = quotient(total, rows, np.full(1, noise**2), uncertain, z)
    wider = quotient(total, rows, noise**2 + variance, uncertain, z)
    deviations = [
        limits.half * float(np.sqrt(np.clip(value / safe, 0.0, 1.0))[0])
        for value in (variance, spread - z * roughly, spread + z * roughly)
    ]
    return {
        "mean": limits.middle + limits.half * float(estimate[0]),
        "mean_interval": [limits.middle + limits.half * float(end[0]) for end in ends],
        "mean_population_interval": [limits.middle + limits.half * float(end[0]) for end in wider],
        "deviation": deviations[0],
        "deviation_interval": deviations[1:],
    }


def _quartiles(ranks: Ranks, z: float) -> Entry:
    return {
        "quartiles": [ranks.at(share, z) for share in QUARTILES],
        "quartile_intervals": [list(ranks.interval(share, z)) for share in QUARTILES],
        "quartile_population_intervals": [list(ranks.interval(share, z, sampling=True)) for share in QUARTILES],
    }


def _shares(column: Column, counts: Array, deviation: float, z: float) -> Entry:
    """Shares of the listed values, and of all others together, among the cells that are there."""
    present = counts[:-1]
    rows = np.maximum(present.sum(), 1.0)
    shares = present / rows
    reach = z * deviation * np.sqrt(np.maximum(1 - 2 * shares + len(present) * shares**2, 0.0)) / rows
    labels = [*map(str, column.values[:MOST_VALUES]), "<other>"]
    order = [*np.argsort(-shares[:-1], kind="stable").tolist(), len(shares) - 1]
    return {
        "values": [labels[place] for place in order],
        "shares": [_within(shares[place]) for place in order],
        "share_intervals": [[_within(shares[i] - reach[i]), _within(shares[i] + reach[i])] for i in order],
    }
