"""Budget -> noise scale, rounded to the private side: the scale returned is one whose price was computed and fits."""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit import accounting
from tacit.checks import check, refuse
from tacit.events import Event, PoissonGaussian, SubsetGaussian
from tacit.types import Budget

Events = tuple[Event, ...]


def fits(events: Events, budget: Budget) -> bool:
    """Whether the events cost at most the budget."""
    return accounting.delta(events, budget.epsilon, budget.adjacency) <= budget.delta


def smallest_scale(released: Callable[[float], Events], budget: Budget, guess: float = 1.0) -> float:
    """The smallest noise scale whose events fit the budget, up to a tolerance and never below.

    ``released(scale)`` tells what would be released with that noise; its price must fall as the scale grows. The tolerance
    is 1e-9 for closed formulas and 5e-4 where a price takes a numerical accountant, so less than 1% of epsilon is
    wasted.

    Edges: an infinite epsilon gives 0; a budget that no noise meets (delta = 0 with Gaussian noise, or an epsilon below
    what the determinant alone costs) is refused.
    """
    if not budget.private:
        return 0.0
    high = guess
    for _ in range(200):
        if fits(released(high), budget):
            break
        high *= 4.0
    else:
        refuse(
            f"No amount of this noise is (epsilon={budget.epsilon:g}, delta={budget.delta:g})-private here. "
            "Raise epsilon, use delta > 0, or raise the regularization."
        )
    low = high / 2
    while fits(released(low), budget):
        low, high = low / 2, low
        check(low > 1e-300, "The noise scale fell to zero: is the sensitivity zero?")
    numerical = any(isinstance(event, PoissonGaussian | SubsetGaussian) for event in released(high))
    tolerance = 5e-4 if numerical else 1e-9
    while high / low > 1 + tolerance:
        middle = math.sqrt(low * high)
        low, high = (low, middle) if fits(released(middle), budget) else (middle, high)
    return high
