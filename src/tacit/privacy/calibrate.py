"""Budget -> noise scale, rounded to the private side: the scale returned is one whose price was computed and fits."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Never

from tacit.checks import PrivacyError, check, refuse
from tacit.privacy import accounting
from tacit.privacy.events import SMALLEST, Event, PoissonGaussian, SubsetGaussian
from tacit.rounding import geometric, narrow
from tacit.types import Budget

Events = tuple[Event, ...]
Released = Callable[[float], Events]
_GROWTHS = 200
"""After so many prices a search ends: with a refusal, or with the smallest scale that was seen to fit."""
_AIM = 1e-4
"""How far within the budget a search aims, in the logarithm of mu; it ends at twice that."""
_LEAP = math.log(4.0)
"""The most by which the logarithm of a scale changes at once."""


def fits(events: Events, budget: Budget) -> bool:
    """Whether the events cost at most the budget, together with what it has spent, and are admitted beside that."""
    events = (*budget.spent, *events)
    if budget.delta == 0:  # a Gaussian tail may underflow to zero; only pure noise has a price at delta = 0
        cheap = accounting.epsilon(events, 0.0, budget.adjacency) <= budget.epsilon
    else:
        cheap = accounting.delta(events, budget.epsilon, budget.adjacency) <= budget.delta
    return cheap and (budget.admits is None or budget.admits(events))


def smallest_scale(released: Released, budget: Budget, guess: float = 1.0) -> float:
    """The smallest noise scale whose events fit the budget beside what it has spent; up to a tolerance, never below.

    ``released(scale)`` tells what would be released with that noise; its price must fall as the scale grows. The
    tolerance is 1e-9 for closed formulas, and 2e-4 of mu where a price takes a numerical accountant, so less than 0.1%
    of epsilon is wasted; where a ledger limits the budget further, it is 1e-3 and 1e-2 of the scale.

    Edges: an infinite epsilon gives 0; a budget that no noise meets (delta = 0 with Gaussian noise, or an epsilon below
    what the determinant alone costs) is refused.
    """
    if not budget.private:
        return 0.0
    sampled = any(isinstance(event, PoissonGaussian | SubsetGaussian) for event in _written(released, guess) or ())
    if sampled and budget.delta:
        low = _followed(released, replace(budget, admits=None), guess)
        if budget.admits is None or fits(released(low), budget):
            return low
        high = _grown(released, budget, 2 * low)
    else:
        high = _grown(released, budget, guess)
        low = high / 2
        while fits(released(low), budget):
            low, high = low / 2, low
            check(low > 1e-300, "The noise scale fell to zero: is the sensitivity zero?")
    close = 1e-9 if budget.admits is None else 1e-2 if sampled else 1e-3  # what a ledger admits takes longer to compute
    return narrow(lambda scale: not fits(released(scale), budget), low, high, relative=close, middle=geometric)[1]


def _written(released: Released, scale: float) -> Events | None:
    """What would be released; None for a scale beyond what events hold."""
    try:
        return released(scale)
    except PrivacyError:
        raise
    except ValueError:
        return None


def _grown(released: Released, budget: Budget, guess: float) -> float:
    """The first of guess, 4 guess, 16 guess, ... whose events fit; refused where none does that can be written down."""
    high = guess
    for _ in range(_GROWTHS):
        events = _written(released, high)
        if events is None:
            break
        if fits(events, budget):
            return high
        high *= 4.0
    return _no_noise(budget)


def _no_noise(budget: Budget) -> Never:
    refuse(
        f"No amount of this noise is (epsilon={budget.epsilon:g}, delta={budget.delta:g})-private here. "
        "Raise epsilon, use delta > 0, or raise the regularization."
    )


def _followed(released: Released, budget: Budget, guess: float) -> float:
    """The smallest scale by few prices, each the delta at the budget's epsilon; a scale that was seen to fit.

    A plain Gaussian release with that delta has some mu, whose logarithm is nearly a line in that of the scale (of
    slope -1 without sampling). So the next scale is where the line through the last two prices is _AIM within the
    budget; or the middle of the bracket, where that lies outside.
    """
    target = accounting.gaussian_mu(budget.epsilon, budget.delta)
    low, high, scale = 0.0, math.inf, guess
    before = math.nan, math.nan
    for _ in range(_GROWTHS):
        events = _written(released, scale)
        if events is None:
            break
        price = accounting.delta((*budget.spent, *events), budget.epsilon, budget.adjacency)
        low, high = (low, scale) if price <= budget.delta else (scale, high)
        mu = accounting.gaussian_mu(budget.epsilon, max(price, SMALLEST)) if price < 1 else math.inf
        here = math.log(scale), math.log(mu / target)
        if high <= low * (1 + _AIM) or (high == scale and here[1] >= -2 * _AIM):
            break
        slope = (here[1] - before[1]) / (here[0] - before[0])
        leap = (here[1] + _AIM) / (-slope if -math.inf < slope < 0 else 1.0)
        scale *= math.exp(min(_LEAP, max(-_LEAP, leap)))
        if not low < scale < high:
            scale = geometric(low, high)
        before = here
    return high if math.isfinite(high) else _no_noise(budget)
