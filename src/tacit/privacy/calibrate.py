"""Budget -> noise scale, rounded to the private side: the scale returned is one whose price was computed and fits."""

from __future__ import annotations

import math
from collections.abc import Callable

from tacit.checks import PrivacyError, check, refuse
from tacit.privacy import accounting
from tacit.privacy.events import Event, PoissonGaussian, SubsetGaussian
from tacit.rounding import geometric, narrow
from tacit.types import Budget

Events = tuple[Event, ...]
_GROWTHS, _NARROWINGS = 200, 60
"""After so many prices a search ends: with a refusal, or with the smallest scale that was seen to fit."""


def fits(events: Events, budget: Budget) -> bool:
    """Whether the events cost at most the budget, together with what it has spent, and are admitted beside that."""
    events = (*budget.spent, *events)
    if budget.delta == 0:  # a Gaussian tail may underflow to zero; only pure noise has a price at delta = 0
        cheap = accounting.epsilon(events, 0.0, budget.adjacency) <= budget.epsilon
    else:
        cheap = accounting.delta(events, budget.epsilon, budget.adjacency) <= budget.delta
    return cheap and (budget.admits is None or budget.admits(events))


def smallest_scale(released: Callable[[float], Events], budget: Budget, guess: float = 1.0) -> float:
    """The smallest noise scale whose events fit the budget beside what it has spent; up to a tolerance, never below.

    ``released(scale)`` tells what would be released with that noise; its price must fall as the scale grows. The
    tolerance is 1e-9 for closed formulas and 5e-4 of the scale, or 2e-3 of epsilon, where a price takes a numerical
    accountant, so less than 1% of epsilon is wasted; 1e-3, and 1e-2 of the scale, where a ledger limits the budget.

    Edges: an infinite epsilon gives 0; a budget that no noise meets (delta = 0 with Gaussian noise, or an epsilon below
    what the determinant alone costs) is refused.
    """
    if not budget.private:
        return 0.0
    high = _grown(released, budget, guess)
    if high is None:
        refuse(
            f"No amount of this noise is (epsilon={budget.epsilon:g}, delta={budget.delta:g})-private here. "
            "Raise epsilon, use delta > 0, or raise the regularization."
        )
    low = high / 2
    while fits(released(low), budget):
        low, high = low / 2, low
        check(low > 1e-300, "The noise scale fell to zero: is the sensitivity zero?")
    sampled = any(isinstance(event, PoissonGaussian | SubsetGaussian) for event in released(high))
    if sampled and budget.admits is None:
        return _interpolate(released, budget, low, high)
    close = 1e-9 if budget.admits is None else 1e-2 if sampled else 1e-3  # what a ledger admits takes longer to compute
    return narrow(lambda scale: not fits(released(scale), budget), low, high, relative=close, middle=geometric)[1]


def _grown(released: Callable[[float], Events], budget: Budget, guess: float) -> float | None:
    """The first of guess, 4 guess, 16 guess, ... whose events fit; None where none does that can be written down."""
    high = guess
    for _ in range(_GROWTHS):
        try:
            if fits(released(high), budget):
                return high
        except PrivacyError:
            raise
        except ValueError:  # a scale beyond what events hold
            return None
        high *= 4.0
    return None


def _interpolate(released: Callable[[float], Events], budget: Budget, low: float, high: float) -> float:
    """Narrow a bracket with few prices: the logarithm of epsilon is nearly linear in that of the scale."""

    def excess(scale: float) -> float:
        price = accounting.epsilon((*budget.spent, *released(scale)), budget.delta, budget.adjacency)
        return math.log(max(price, 1e-300) / budget.epsilon)

    above, below = excess(low), excess(high)
    for _ in range(_NARROWINGS):
        if high / low <= 1 + 5e-4 or below > -2e-3:
            break
        share = above / (above - below) if math.isfinite(above) else 0.5
        # Aim a little to the private side, and never nearer to an end than a tenth of the bracket.
        middle = low * math.pow(high / low, min(0.9, max(0.1, share + 0.02)))
        value = excess(middle)
        if value <= 0 and fits(released(middle), budget):
            high, below = middle, value
        else:
            low, above = middle, max(value, 1e-12)
    return high
