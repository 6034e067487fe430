"""Bounds where nobody knows them: from noisy counts of magnitudes, on a grid that is the same for every column.

Cells part all numbers at 0 and at plus and minus 1, 2 and 5 times the powers of ten from 1e-12 to 1e12; each is parted
again into about ten. Both counts are released together: by the coarse ones it is decided which cells hold records at
all, by the fine ones how far the outermost two are filled.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.arguments import checked
from tacit.ledger import Ledger
from tacit.settings import described
from tacit.statistics.asked_rows import Bounds, column_numbers
from tacit.statistics.exact_sums import Asked, Part, Sums
from tacit.statistics.looked import look
from tacit.statistics.release import Request, answer
from tacit.statistics.unit import Codes, Unit
from tacit.types import Adjacency, Array

LOWEST, HIGHEST = -12, 12
NEAR = 0.05
"""An end this near to 0, beside the other, is moved out to 0: bounds are easier to read, and hardly wider."""
FINE = 0.5
"""The weight of fine counts beside coarse ones."""
WIDER = 0.2
"""How far bounds are moved out, of their distance."""
FALSELY = 1e-4
"""The most probable that any of a column's empty coarse cells stands out: then bounds are far too wide."""
BESIDE = 2.0
"""Deviations that are enough beside a cell that stands out: there an error costs a factor of two or so."""
CLEAR = 3.0
"""Deviations of its noise that fine counts within an outermost coarse cell must have to move a bound inwards to it."""
ELSE = "Declare bounds, which costs nothing, or raise epsilon."
_STEPS = {1: 10, 2: 12, 5: 10}
"""Fine cells between 1 and 2, 2 and 5, 5 and 10."""


@functools.lru_cache(maxsize=1)
def magnitudes() -> tuple[Array, Array]:
    """The ends of coarse and of fine cells, in order; the cell of 0 lies between the smallest two in size."""
    coarse, fine = [], []
    for power in range(LOWEST, HIGHEST):
        for first, steps in _STEPS.items():
            coarse.append(float(f"{first}e{power}"))
            last = {1: 2, 2: 5, 5: 10}[first]
            # Written as decimals, so that 0.3 is 0.3 and bounds are easy to read.
            fine += [float(f"{first + (last - first) * step / steps:.3f}e{power}") for step in range(steps)]
    end = float(f"1e{HIGHEST}")
    both = [np.array([*sizes, end]) for sizes in (coarse, fine)]
    return tuple(np.concatenate([-sizes[::-1], sizes]) for sizes in both)  # type: ignore[return-value]


def bound_parts() -> tuple[Part, Part]:
    """Counts of coarse and of fine cells."""
    coarse, fine = magnitudes()
    return Part(len(coarse) - 1), Part(len(fine) - 1, FINE)


def bound_totals(values: Array, unit: Unit) -> tuple[Array, Array]:
    """Both counts of a column; NaN is in no cell, numbers beyond the grid are in its outermost cells."""
    first, second = (_places(values, edges) for edges in magnitudes())
    coarse, fine = bound_parts()
    return coarse.total(*unit.entries(first)), fine.total(*unit.entries(second))


def _magnitudes(rows: Mapping[str, Any], unit: Unit) -> Sums:
    return Sums(bound_parts(), bound_totals(rows["data"], unit))


def _places(values: Array, edges: Array) -> Codes:
    """The cell of each number; an edge belongs to the cell that is nearer to 0, so that 100 is not in 100 to 200."""
    sizes = np.searchsorted(edges[edges > 0], np.abs(values), side="left")
    half = len(edges) // 2
    sizes = np.minimum(sizes, half - 1)
    places = half - 1 + np.where(values < 0, -sizes, sizes)
    return np.where(np.isnan(values), -1, places).astype(np.intp)


def bounds_from(coarse: Array, fine: Array, deviations: Sequence[float]) -> Bounds | None:
    """Bounds that leave out no more than what is lost in the noise: a few deviations of a count at each end, or less.

    An end that is near 0 beside the other is moved out to 0. None where no cell stands out: nothing is known of the
    column then. Any cell without records stands out with probability FALSELY at most, whatever the budget: of m counts
    of pure noise of deviation s one exceeds s z with probability m (1 - Phi(z)) at most.
    """
    edges, points = magnitudes()
    deviation, rough = deviations
    full = np.flatnonzero(coarse > -deviation * float(ndtri(FALSELY / len(coarse))))
    if not len(full):
        return None
    first, last = int(full[0]), int(full[-1])
    zero = len(coarse) // 2  # beside it lie the smallest numbers: those are no neighbours of 0
    while 0 < first != zero and coarse[first - 1] > BESIDE * deviation:
        first -= 1
    while zero != last < len(coarse) - 1 and coarse[last + 1] > BESIDE * deviation:
        last += 1
    low, high = float(edges[first]), float(edges[last + 1])
    inside = (points[:-1] >= low) & (points[1:] <= high)
    low = _filled(fine, points[:-1], inside & (points[1:] <= edges[first + 1]), rough, low)
    high = -_filled(fine[::-1], -points[:0:-1], (inside & (points[:-1] >= edges[last]))[::-1], rough, -high)
    near, tiny = NEAR * max(abs(low), abs(high)), float(edges[len(edges) // 2])
    low = 0.0 if -tiny <= low <= near else low  # outwards only: inwards it would cut off what was found
    high = 0.0 if -near <= high <= tiny else high
    return _widened(low, high) if low < high else Bounds(min(low, 0.0), max(high, 1.0))


def _widened(low: float, high: float) -> Bounds:
    """Bounds a little further out, but not beyond 0: tails thinner than the noise lie there. In three digits."""
    more = WIDER * (high - low)
    low = min(low, 0.0) if 0 <= low <= more else low - more
    high = max(high, 0.0) if -more <= high <= 0 else high + more
    return Bounds(float(f"{low:.3g}"), float(f"{high:.3g}"))


def _filled(counts: Array, starts: Array, inside: Any, deviation: float, otherwise: float) -> float:
    """Where the cells of the outermost coarse one begin to be filled: before, all together are lost in the noise.

    Where they never stand out together, none of the coarse cell is left out.
    """
    places = np.flatnonzero(inside)
    if not len(places):
        return otherwise
    heaped = np.cumsum(counts[places])
    filled = heaped > CLEAR * deviation * np.sqrt(np.arange(1, len(places) + 1))
    return float(starts[places[int(np.argmax(filled))]]) if filled.any() else otherwise


@described
@checked
def private_bounds(
    data: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
) -> Bounds:
    """Bounds of a column whose bounds are not known, with the guarantee that they were found under.

    About 1% of the records and a few dozen of them divided by epsilon may lie outside; they are clipped, as always.
    Where there are no records, bounds reach with probability 1e-4 at most.
    Edges: numbers of 1e12 and more are taken for 1e12; those below 1e-12 for 0. Where no magnitude stands out from the
    noise there are no bounds, and a sentence says so; the budget is spent, for that too is an answer.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    rows = look({"data": (data, column_numbers)}, groups, rows_per_person)
    found = answer(request, rows.unit, "bounds", [(Asked(bound_parts()), 1.0, lambda _: rows.add_up(_magnitudes))])
    released = found.stages[0]
    (coarse, fine), deviations = released.numbers, released.deviations
    bounds = bounds_from(coarse, fine, deviations)
    if bounds is None:
        raise ValueError(f"No magnitude of the numbers stands out from the noise. The budget was spent. {ELSE}")
    return replace(bounds, guarantee=found.guarantee)
