"""Quantiles from cumulative counts on a public grid, with intervals that hold whatever the numbers are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.optimize import isotonic_regression

from tacit.arguments import checked
from tacit.checks import check, check_count, check_real, is_number
from tacit.data.cells import Value
from tacit.ledger import Ledger
from tacit.settings import described
from tacit.statistics.asked_rows import Bounds, parted_rows
from tacit.statistics.exact_sums import Asked, Part, Released, Sums, summing
from tacit.statistics.release import Request, answer
from tacit.statistics.statistic import Statistic, quantile_of, shaped
from tacit.statistics.unit import Unit
from tacit.types import Adjacency, Array

CELLS = 512
"""Cells of the grid where none are asked for: the noise of a cumulative count grows with their logarithm only."""
MOST_CELLS = 2048
QUARTILES = (0.25, 0.5, 0.75)


@dataclass(frozen=True, eq=False)
class Ranks:
    """Where quantiles lie: cumulative counts at the grid's edges, from the first one's 0 on, and their noise.

    ``count`` is how many records there are in all, where that is public.
    """

    edges: Array
    counts: Array
    deviation: float
    count: float | None = None

    @classmethod
    def of(cls, released: Released, place: int, edges: Array, count: float | None) -> Ranks:
        """From one part of a release."""
        return cls(edges, np.append(0.0, released.cumulative(place)), released.deviations[place], count)

    def at(self, share: float, z: float = 2.0) -> float:
        """The quantile: where the rising curve nearest to the counts, straight between edges, reaches its rank.

        Never outside of its own interval.
        """
        total = self._total
        rising = np.clip(np.asarray(isotonic_regression(self.counts).x), 0.0, total)
        rising[0], rising[-1] = 0.0, total
        return float(np.clip(_inverse(rising, self.edges, share * total), *self.interval(share, z)))

    def interval(self, share: float, z: float, sampling: bool = False) -> tuple[float, float]:
        """Edges between which the quantile lies: those at which its rank cannot be told from the count.

        If the quantile lies in the cell that ends at edge k, the true count there is at least its rank, so the noisy
        one falls short of it by more than z deviations with probability (1 - level)/2 only; the cell's other edge
        likewise. ``sampling`` adds the binomial variance of a rank.
        """
        total, errors = self._total, self._errors(share)
        if sampling:
            errors = np.sqrt(errors**2 + max(total, 1.0) * share * (1 - share))
        excess = np.asarray(isotonic_regression(self.counts).x) - share * total
        last = len(self.edges) - 1
        reached = np.flatnonzero(excess[1:] >= -z * errors[1:])
        short = np.flatnonzero(excess[:-1] <= z * errors[:-1])
        low = int(reached[0]) if len(reached) else last
        high = int(short[-1]) + 1 if len(short) else 0
        return float(self.edges[min(low, high)]), float(self.edges[max(low, high)])

    @property
    def _total(self) -> float:
        return max(float(self.counts[-1]), 1.0) if self.count is None else float(self.count)

    def _errors(self, share: float) -> Array:
        """The deviation of each cumulative count less the rank that is asked for."""
        rows = np.vstack([np.zeros(len(self.edges) - 1), summing(len(self.edges) - 1)])
        if self.count is None:
            rows = rows - share * rows[-1]
        return self.deviation * np.asarray(np.linalg.norm(rows, axis=1))


def _inverse(rising: Array, edges: Array, height: float) -> float:
    """Where a rising curve, straight between edges, reaches a height; in the middle where it is flat there."""
    first = int(np.searchsorted(rising, height, side="left"))
    last = int(np.searchsorted(rising, height, side="right")) - 1
    if first <= last:
        return 0.5 * float(edges[first] + edges[last])
    share = (height - rising[last]) / (rising[first] - rising[last])
    return float(edges[last] + share * (edges[first] - edges[last]))


def _rising(parts: tuple[Part, ...], limits: Bounds, rows: Mapping[str, Any], unit: Unit) -> Sums:
    """Counts of cells, of all rows or of each group's."""
    places, codes = limits.cells(rows["data"], parts[0].size), rows.get("by")
    if codes is None:
        return Sums(parts, (parts[0].total(*unit.entries(places)),))
    own = [np.where(codes == group, places, -1) for group in range(len(parts))]
    return Sums(parts, tuple(parts[0].total(*unit.entries(cell)) for cell in own), parted=True)


@described
@checked
def quantiles(
    data: Any,
    bounds: Any = None,
    shares: Sequence[float] | float = QUARTILES,
    *,
    epsilon: float,
    by: Any = None,
    categories: Sequence[Value] | None = None,
    cells: int = CELLS,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """Quantiles of numbers between public bounds, of all rows or of each group, with two intervals.

    All of them come from one release, of cumulative counts on a grid of even cells. With ``groups`` every person weighs
    the same. Labels are shares, after the group if any.

    Parameters
    ----------
    shares : float or sequence of floats
        Which quantiles, between 0 and 1.
    cells : int
        How many cells the grid has; no quantile is known more finely than a cell.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, limits = quantile_of(level), Bounds.of(bounds)
    one = is_number(shares)
    listed = shares if isinstance(shares, Sequence | np.ndarray) and np.ndim(shares) > 0 else [shares]
    wanted = [check_real("every one of shares", share) for share in listed]
    check(wanted and all(0 < share < 1 for share in wanted), "Expected shares between 0 and 1: 0.5 is the median.")
    fine = check_count("cells", cells)
    check(2 <= fine <= MOST_CELLS, f"Expected 2 <= cells={fine} <= {MOST_CELLS}.")
    edges = limits.edges(fine)
    rows, parted = parted_rows(data, by, categories, groups, rows_per_person)
    unit, parts = rows.unit, (Part(fine, rising=True),) * max(len(parted), 1)
    adds = partial(_rising, parts, limits)
    found = answer(request, unit, "quantiles", [(Asked(parts, parted=True), 1.0, lambda _: rows.add_up(adds))])
    count = float(unit.count) if request.counted and not parted else None
    curves = [Ranks.of(found.stages[0], place, edges, count) for place in range(len(parts))]
    single = one and not parted

    def ends(sampling: bool) -> tuple[Any, Any]:
        pairs = np.array([curve.interval(share, z, sampling) for curve in curves for share in wanted])
        return shaped(pairs[:, 0], single), shaped(pairs[:, 1], single)

    labels = tuple((group, share) for group in parted for share in wanted) if parted else tuple(wanted)
    points = np.array([curve.at(share, z) for curve in curves for share in wanted])
    return Statistic(
        "quantile", shaped(points, single), ends(False), level, found.guarantee, () if single else labels, ends(True)
    )
