"""Covariances of several columns with public bounds, of all rows or of each group."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import check
from tacit.data.canonical import dense
from tacit.data.cells import Value
from tacit.ledger import Ledger
from tacit.settings import described
from tacit.statistics.asked_rows import Bounds, column_numbers, group_codes, group_values
from tacit.statistics.exact_sums import Asked, Part, Sums
from tacit.statistics.looked import Read, look
from tacit.statistics.release import Request, answer
from tacit.statistics.statistic import Statistic, quantile_of
from tacit.statistics.unit import Unit
from tacit.streams.scanned import Selected
from tacit.types import Adjacency


@described
@checked
def covariance(
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
    """The covariance matrix of columns between public bounds, one pair per column; with ``by`` one matrix per group.

    Sums, products and, where it is not public, the number of rows are released together. Intervals cover the noise, to
    first order; where the number of rows of a group is itself lost in noise they are everything that is possible. With
    ``groups`` every person weighs the same. The matrix is symmetric; with much noise it may have negative eigenvalues.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, columns = quantile_of(level), _columns(data)
    listed = isinstance(bounds, list | tuple | np.ndarray) and np.shape(bounds)[:1] == (len(columns),)
    check(listed, "Give bounds=[(lower, upper), ...]: one public pair for each column of data.")
    limits = [Bounds.of(pair, f"column {place} of data") for place, pair in enumerate(bounds)]
    labels, given = group_values(by, categories), {str(place): one for place, one in enumerate(columns)}
    looked = look(given if by is None else {**given, "by": (by, partial(group_codes, labels))}, groups, rows_per_person)
    unit, width, size = looked.unit, len(columns), max(len(labels), 1)
    counted = by is None and request.counted
    pairs = [(i, j) for i in range(width) for j in range(i, width)]
    parts = (
        *(Part(size, signed=True) for _ in limits),
        *(Part(size, signed=i != j) for i, j in pairs),
        *(() if counted else (Part(size),)),
    )
    adds = partial(_products, parts, limits)
    found = answer(request, unit, "covariance", [(Asked(parts), 1.0, lambda _: looked.add_up(adds))])
    released = found.stages[0]
    rows, uncertain = (np.full(1, float(unit.count)), 0.0) if counted else released.part(len(parts) - 1)
    safe, noise = np.maximum(rows, 1.0), released.deviations[0]
    means = [np.clip(total / safe, -1.0, 1.0) for total in released.numbers[:width]]
    value = np.zeros((size, width, width))
    reach = np.zeros_like(value)
    for (i, j), total in zip(pairs, released.numbers[width:], strict=False):
        unitless = np.clip(total / safe - means[i] * means[j], 0.0 if i == j else -1.0, 1.0)
        # To first order: the product's noise, that of both means, and that of the number of rows.
        others = (means[i] ** 2 + means[j] ** 2) if i != j else 4 * means[i] ** 2
        errors = np.sqrt(noise**2 * (1 + others) + ((unitless - means[i] * means[j]) * uncertain) ** 2) / safe
        lost = rows <= z * uncertain
        scale = limits[i].half * limits[j].half
        value[:, i, j] = value[:, j, i] = unitless * scale
        reach[:, i, j] = reach[:, j, i] = np.where(lost, 1.0, z * errors) * scale
    diagonal = np.eye(width, dtype=bool)
    low = np.where(diagonal, np.maximum(value - reach, 0.0), value - reach)
    whole = value, low, value + reach
    value, low, high = whole if labels else tuple(part[0] for part in whole)
    names = tuple(
        (*((group,) if labels else ()), i, j) for group in labels or ("",) for i, j in np.ndindex(width, width)
    )
    return Statistic("covariance", value, (low, high), level, found.guarantee, names)


def _columns(data: Any) -> list[tuple[Any, Read]]:
    """The columns of a matrix, or of a scan, each a column of numbers."""
    if isinstance(data, Selected):
        return [(Selected(data.scan, (name,)), column_numbers) for name in data.names]
    matrix = dense(data)
    check(matrix.ndim == 2 and matrix.shape[1] >= 1, "Expected data with one row per record and one column per number.")
    return [(matrix[:, place], column_numbers) for place in range(matrix.shape[1])]


def _products(parts: tuple[Part, ...], limits: list[Bounds], rows: Mapping[str, Any], unit: Unit) -> Sums:
    """Sums of numbers, and of their products, and where one more part asks for it, how many there are."""
    scaled = [one.scaled(rows[str(place)]) for place, one in enumerate(limits)]
    pairs = [(i, j) for i in range(len(limits)) for j in range(i, len(limits))]
    products = [*scaled, *(scaled[i] * scaled[j] for i, j in pairs)]
    totals = [part.total(*unit.entries(rows.get("by"), v)) for part, v in zip(parts, products, strict=False)]
    return Sums(parts, (*totals, *(part.total(*unit.entries(rows.get("by"))) for part in parts[len(products) :])))
