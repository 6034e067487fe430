r"""The price of several releases together, where what each of them releases was fixed before the first.

Every bound that is proven for such a list is computed, each with the whole of delta, and the smallest is the price:

| bound | what is added |
| --- | --- |
| one accountant for all events | see :mod:`tacit.privacy.accounting` |
| basic composition | epsilons: at the releases' own deltas, at equal parts, and at those of a ledger's entries |
| Gaussian differential privacy | mu^2 |
| Renyi differential privacy, at any order | D_a |

A ledger's filters are the last three, with a share of delta each, because which of them ends up the smallest may there
depend on what came out. Here it cannot, so a list never costs more than the ledger that admits it has spent (docs' page
"The ledger").
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from contextlib import suppress

from tacit.checks import PrivacyError
from tacit.privacy import accounting
from tacit.privacy.events import Event, Gaussian, PoissonGaussian
from tacit.privacy.privacy_filters import (
    SPARE,
    best_order,
    block,
    gaussian_cost,
    gaussian_epsilon,
    part,
    renyi_costs,
    renyi_epsilon,
)
from tacit.rounding import sum_up
from tacit.types import Adjacency

_LEAST, _FACTOR = 1e-3, 40.0
"""The least distance of an order from 1, and the largest in units of that of the order that suits the other bounds."""
_PRECISION = 0.02
"""To which part of its distance from 1 the best order is found. Any order gives a bound."""


def price_of_list(
    lists: Sequence[tuple[Event, ...]], deltas: Sequence[float], delta: float, adjacency: Adjacency
) -> float:
    """The epsilon, at this delta, of releases of these events; ``deltas`` are those that each was made for.

    Edges: a release that has no price under this adjacency raises PrivacyError; infinite where no bound is finite.
    """
    numbers = range(1, len(lists) + 1)
    shares = [[delta / len(lists) for _ in lists], [delta * part(block(number)) for number in numbers]]
    shares += [list(deltas)] if math.fsum(deltas) <= delta else []
    found = [_added(lists, each, adjacency) for each in shares]
    together = tuple(event for events in lists for event in events)
    with suppress(PrivacyError):  # unless one accountant knows all of them
        found.append(accounting.epsilon(together, delta, adjacency))
    if delta > 0 and len(lists) > 1:
        gaussian = gaussian_epsilon(sum_up(gaussian_cost(events, adjacency) for events in lists), delta)
        sampled = all(isinstance(event, Gaussian | PoissonGaussian) for event in together)
        if not (sampled and min(found) < 0.999 * gaussian):  # there the accountant's is tight, and others take long
            found += [gaussian, _renyi(lists, delta, adjacency, min(gaussian, *found))]
    return min(found)


def _added(lists: Sequence[tuple[Event, ...]], deltas: Sequence[float], adjacency: Adjacency) -> float:
    return sum_up(accounting.epsilon(one, at, adjacency) for one, at in zip(lists, deltas, strict=True))


def _renyi(lists: Sequence[tuple[Event, ...]], delta: float, adjacency: Adjacency, known: float) -> float:
    """The smallest epsilon over orders around those that suit what is ``known`` to be enough.

    (a - 1) epsilon(a) is convex in the order a, because (a - 1) D_a is and the rest has the second derivative
    1/a^2 + 1/(a^2 (a - 1)); so epsilon(a) falls and then rises, and a search that narrows an interval finds its least.
    """
    if not 0 < known < math.inf:
        return known

    def at(distance: float) -> float:
        order = 1 + math.exp(distance)
        each = (
            renyi_costs(events, (order,), SPARE * delta * part(block(number)), adjacency)[0]
            for number, events in enumerate(lists, 1)
        )
        found = renyi_epsilon(sum_up(each), delta, order)
        return found if found < math.inf else 1e9 * known  # a search cannot compare infinities

    from scipy.optimize import minimize_scalar  # slow to import, and most commands do without it

    ends = (math.log(_LEAST), math.log(_FACTOR * (best_order(known, delta) - 1)))
    return float(minimize_scalar(at, bounds=ends, method="bounded", options={"xatol": _PRECISION}).fun)
