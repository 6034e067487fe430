"""Counts, sums, means and histograms, of all rows or of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import check_count
from tacit.data.cells import Value
from tacit.ledger import Ledger
from tacit.settings import described
from tacit.statistics.asked_rows import Bounds, group_codes, group_values, parted_rows
from tacit.statistics.exact_sums import Asked, Part, Sums
from tacit.statistics.looked import Read, look
from tacit.statistics.release import Request, answer
from tacit.statistics.statistic import Statistic, between, quantile_of, shaped
from tacit.statistics.unit import Codes, Unit
from tacit.types import Adjacency, Array

Rows = Mapping[str, Any]
SQUARES = 0.5
"""The weight of sums of squares, which only intervals need, beside that of sums."""
MOST_BINS = 10**6
FLOOR = 0.2
"""Of its own noise, what a sum of squares is at least taken for: chosen for intervals that hold where n is small."""


@described
@checked
def count(
    by: Any,
    categories: Sequence[Value] | None = None,
    *,
    epsilon: float,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """How many rows each declared category has; of labels that are not declared, nothing is said.

    With ``groups`` each person counts once in all, shared out among the categories of the person's rows. Without
    categories, under add-remove neighbours, the number of rows or people.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, one = quantile_of(level), categories is None
    labels = () if categories is None else group_values(by, categories)
    read: Read = _alike if one else partial(group_codes, labels)
    rows = look({"by": (by, read)}, groups, rows_per_person)
    unit, part = rows.unit, Part(max(len(labels), 1))
    if one and request.counted:
        raise ValueError("Under replace-one neighbours the number of rows is public: count them, or give categories.")
    found = answer(request, unit, "count", [(Asked((part,)), 1.0, lambda _: rows.add_up(partial(_counts, part)))])
    values, deviation = found.stages[0].part(0)
    most = unit.count if request.counted else np.inf
    reach = z * deviation + (unit.slack(True) if request.counted and unit.several else 0.0)
    interval = between(values - reach, values + reach, 0.0, most)
    return Statistic(
        "count", shaped(np.clip(values, 0.0, most), one), (shaped(interval[0], one), shaped(interval[1], one)), level,
        found.guarantee, labels,
    )  # fmt: skip


@described
@checked
def sum(
    data: Any,
    bounds: Any = None,
    *,
    epsilon: float,
    by: Any = None,
    categories: Sequence[Value] | None = None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """The sum of numbers between public bounds, in all or of each group.

    With ``groups`` every row counts in full, up to ``rows_per_person`` of a person: the noise grows with that number.
    Bounds that start at 0 or end there are best.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, limits = quantile_of(level), Bounds.of(bounds)
    rows, labels = parted_rows(data, by, categories, groups, rows_per_person)
    unit, one = rows.unit, by is None
    # Where n is public and rows are not parted, numbers are measured from the middle: that halves what one can move.
    centred = one and request.counted and not unit.several
    size = limits.half if centred else max(abs(limits.lower), abs(limits.upper))
    part = Part(max(len(labels), 1), signed=centred or limits.lower < 0, most=unit.most)
    adds = partial(_sums, part, limits, None if centred else size)
    found = answer(request, unit, "sum", [(Asked((part,)), 1.0, lambda _: rows.add_up(adds))])
    numbers, deviation = found.stages[0].part(0)
    total = numbers * size + (unit.length * limits.middle if centred else 0.0)
    reach = (z * deviation + (unit.most * unit.slack(False) if request.counted else 0.0)) * size
    interval = between(total - reach, total + reach)
    return Statistic(
        "sum", shaped(total, one), (shaped(interval[0], one), shaped(interval[1], one)), level, found.guarantee, labels
    )


@described
@checked
def mean(
    data: Any,
    bounds: Any = None,
    *,
    epsilon: float,
    by: Any = None,
    categories: Sequence[Value] | None = None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """The mean of numbers between public bounds, of all rows or of each group, with two intervals.

    With ``groups`` every person weighs the same. Sums, sums of squares and, where it is not public, the number of rows
    are released together; intervals of the quotient are Fieller's.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, limits = quantile_of(level), Bounds.of(bounds)
    looked, labels = parted_rows(data, by, categories, groups, rows_per_person)
    unit, size = looked.unit, max(len(labels), 1)
    parted = by is not None
    counted = not parted and request.counted
    parts = (Part(size, signed=True), Part(size, SQUARES), *(() if counted else (Part(size),)))
    adds = partial(_moments, parts, limits)
    found = answer(request, unit, "mean", [(Asked(parts), 1.0, lambda _: looked.add_up(adds))])
    released = found.stages[0]
    sums, squares = released.numbers[:2]
    rows, uncertain = (np.full(1, float(unit.count)), 0.0) if counted else released.part(2)
    (noise, rough) = released.deviations[:2]
    estimate = np.clip(sums / np.maximum(rows, 1.0), -1.0, 1.0)
    spread = squares - 2 * estimate * sums + estimate**2 * rows
    roughly = np.sqrt(rough**2 + 4 * (estimate * noise) ** 2 + (estimate**2 * uncertain) ** 2)
    variance, one = positive(spread, roughly), not parted
    loose = (2 if parted else 1) * unit.slack(parted) / np.maximum(rows, 1.0) if request.counted else 0.0

    def back(pair: tuple[Array, Array]) -> tuple[Any, Any]:
        ends = between(pair[0] - loose, pair[1] + loose, -1.0, 1.0)
        low, high = (shaped(limits.middle + limits.half * end, one) for end in ends)
        return low, high

    return Statistic(
        "mean", shaped(limits.middle + limits.half * estimate, one),
        back(quotient(sums, rows, noise**2 + 0 * sums, uncertain, z)), level, found.guarantee, labels,
        back(quotient(sums, rows, noise**2 + variance, uncertain, z)),
    )  # fmt: skip


@described
@checked
def histogram(
    data: Any,
    bounds: Any = None,
    bins: int = 10,
    *,
    epsilon: float,
    by: Any = None,
    categories: Sequence[Value] | None = None,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """Counts of numbers in even cells between public bounds; labels are (lower, upper), after the group if any.

    Numbers beyond the bounds are in the first and the last cell. With ``groups`` each person counts once in all.

    Parameters
    ----------
    bins : int
        The number of cells.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, limits, cells = quantile_of(level), Bounds.of(bounds), check_count("bins", bins, MOST_BINS)
    rows, parted = parted_rows(data, by, categories, groups, rows_per_person)
    unit = rows.unit
    edges = limits.edges(cells).tolist()
    pairs: list[tuple[Value, ...]] = list(pairwise(edges))
    labels = tuple((group, *pair) for group in parted for pair in pairs) if parted else tuple(pairs)
    part = Part(len(labels))
    adds = partial(_heights, part, limits, cells)
    found = answer(request, unit, "histogram", [(Asked((part,)), 1.0, lambda _: rows.add_up(adds))])
    counts, deviation = found.stages[0].part(0)
    most = unit.count if request.counted else np.inf
    reach = z * deviation + (unit.slack(True) if request.counted and unit.several else 0.0)
    interval = between(counts - reach, counts + reach, 0.0, most)
    return Statistic("histogram", np.clip(counts, 0.0, most), interval, level, found.guarantee, labels)


def _alike(cells: Any) -> Codes:
    """One group for all rows, whatever they say: they are only counted."""
    return np.zeros(len(cells), dtype=np.intp)


def _counts(part: Part, rows: Rows, unit: Unit) -> Sums:
    return Sums((part,), (part.total(*unit.entries(rows["by"])),))


def _sums(part: Part, limits: Bounds, size: float | None, rows: Rows, unit: Unit) -> Sums:
    """Of numbers over ``size``; None: measured from the middle of their bounds."""
    values = rows["data"]
    scaled = limits.scaled(values) if size is None else np.clip(values, limits.lower, limits.upper) / size
    return Sums((part,), (part.total(*unit.whole(rows.get("by"), scaled)),))


def _moments(parts: tuple[Part, ...], limits: Bounds, rows: Rows, unit: Unit) -> Sums:
    """Sums and squares and, where a third part asks for it, how many there are."""
    entries = unit.entries(rows.get("by"), limits.scaled(rows["data"]))
    # Squares of people's means, not of rows, tell how much people differ.
    squared = entries._replace(values=np.asarray(entries.values) ** 2)
    totals = (parts[0].total(*entries), parts[1].total(*squared), *(part.total(*entries[:2]) for part in parts[2:]))
    return Sums(parts, totals)


def _heights(part: Part, limits: Bounds, cells: int, rows: Rows, unit: Unit) -> Sums:
    places, codes = limits.cells(rows["data"], cells), rows.get("by")
    if codes is not None:
        places = np.where(codes < 0, -1, codes * cells + places)
    return Sums((part,), (part.total(*unit.entries(places)),))


def quotient(sums: Array, rows: Array, variance: Array, uncertain: float, z: float) -> tuple[Array, Array]:
    """Fieller's interval for the quotient of two independent normal numbers, within [-1, 1].

    All r with (sums - r rows)^2 <= z^2 (variance + r^2 uncertain^2): an interval where rows is beyond z of its own
    noise from 0, and everything where it is not.
    """
    lead = rows**2 - (z * uncertain) ** 2
    sure = (lead > 0) & (rows > 0)
    safe = np.where(sure, lead, 1.0)
    reach = z * np.sqrt((uncertain * sums) ** 2 + safe * variance) / safe
    middle = sums * rows / safe
    low, high = between(middle - reach, middle + reach, -1.0, 1.0)
    return np.where(sure, low, -1.0), np.where(sure, high, 1.0)


def positive(values: Array, deviation: Array) -> Array:
    """Sums of squares that noise may have made negative: at least FLOOR of that noise, for they are positive."""
    return np.maximum(values, FLOOR * deviation)
