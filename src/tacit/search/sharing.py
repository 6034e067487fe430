r"""How a search spends its budget: how many trials, and which part of each is for the score. Public numbers alone.

A trial of a fit of mu_f and a score of mu_s costs like one Gaussian release of ``mu^2 = mu_f^2 + mu_s^2``, and the best
of 1/stop trials like that with the price of :mod:`tacit.privacy.selection`. A score is a count of n records with noise
of standard deviation 1/mu_s: it tells models apart whose accuracies differ by about ``1 / (n mu_s)``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from tacit.checks import check, refuse
from tacit.privacy import accounting
from tacit.privacy.calibrate import fits
from tacit.privacy.events import Gaussian, Selection, Sensitivity
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import grid_slack
from tacit.privacy.theorems import MODEL
from tacit.rounding import border
from tacit.search.trials import SelectionPlan
from tacit.types import Budget

Rehearsal = Callable[[int, float, float], Guarantee]
"""What a candidate, by its place, promises with an epsilon and a delta of its own."""
WANTED = 0.002
"""The accuracy, as a part of all records, that a score should tell apart: it is given what that takes."""
SHARES = 0.02, 0.3
"""The least and the most that a score is given, of a trial's mu^2."""
PAYS = 1250.0
"""The n mu of a trial from which on a search pays: below, what trials cost is more than what they find, and the
estimator's own settings are used with the whole budget. Measured on the census table (docs, page "Search")."""
MOST_TRIALS = 16.0
_ROUNDS, _ENOUGH, _AIM, _LESS = 10, 0.985, 0.995, 0.95
"""Rehearsals at most; the part of epsilon that is spent well enough, the one that is aimed at, and a step down."""


class Unit(NamedTuple):
    """How many records there are, which is public, and where they are people the most rows of one."""

    records: int
    rows_per_person: int | None = None


@dataclass(frozen=True)
class Spending:
    """The probability to stop after a trial, the part of a trial's mu^2 that its score may cost, and a trial's mu."""

    stop: float
    share: float
    mu: float


def spending(budget: Budget, records: int, candidates: int, trials: float | None, share: float | None) -> Spending:
    """As asked for, or by rule: as many trials as candidates, on average, but one where a search would not pay."""
    check(trials is None or 1 <= trials <= 1e4, f"Expected 1 <= trials={trials} <= 10000, the mean number of trials.")
    check(share is None or 0 < share < 1, f"Expected 0 < share={share} < 1.")
    stop = 1 / (min(float(candidates), MOST_TRIALS) if trials is None else float(trials))
    mu = _trial(budget, stop)
    if trials is None and mu * records < PAYS:
        return Spending(1.0, 0.0, _trial(budget, 1.0))
    least, most = SHARES
    return Spending(stop, share or min(most, max(least, (WANTED * mu * records) ** -2)), mu)


def _trial(budget: Budget, stop: float) -> float:
    """The largest mu of a Gaussian trial that the budget allows."""
    if not budget.private:
        return math.inf
    check(budget.delta > 0, "A search needs delta > 0: its scores have Gaussian noise.")

    def fitting(mu: float) -> bool:
        return mu == 0 or fits((Selection(candidates=((Gaussian(Sensitivity(mu, mu), 1.0),),), stop=stop),), budget)

    return border(fitting, relative=1e-3)[0]


def calibrate_search(
    rehearse: Rehearsal, candidates: int, budget: Budget, spend: Spending, unit: Unit
) -> tuple[SelectionPlan, tuple[Guarantee, ...]]:
    """A plan whose events fit the budget, found by rehearsals, and what its candidates promise by themselves.

    All candidates get the same epsilon, and a delta of its part: that of the whole is up to 1/stop times theirs.
    """
    delta = budget.delta * spend.stop
    score = _score(spend) if budget.private and spend.stop < 1 else ()
    mu, part = spend.mu * math.sqrt(1 - spend.share), 1.0
    kept: tuple[SelectionPlan, tuple[Guarantee, ...]] | None = None
    before: tuple[float, float] | None = None
    for _ in range(_ROUNDS):
        epsilon = _epsilon(mu, delta, budget) if spend.stop < 1 else part * budget.epsilon
        promised = tuple(rehearse(place, epsilon, delta) for place in range(candidates))
        _check(promised, budget, unit)
        made = tuple(guarantee.events for guarantee in promised)
        events = (Selection(candidates=tuple((*one, *score) for one in made), stop=spend.stop),) if any(made) else ()
        price = accounting.epsilon(events, budget.delta, budget.adjacency) if events else budget.epsilon
        if not events or fits(events, budget):
            plan = SelectionPlan(
                events=events, theorem="selection", assumptions=_words(spend, candidates), fits=made, stop=spend.stop,
                epsilon=epsilon, delta=delta, scale=score[0].scale if score else 0.0,
            )  # fmt: skip
            kept = plan, promised
        if kept is not None and (price >= _ENOUGH * budget.epsilon or spend.stop == 1 or budget.admits is not None):
            return kept
        # A ledger may admit less than its rest has of a Gaussian release: then the price does not say how much less.
        change = _AIM * budget.epsilon / price
        if before is not None and mu != before[0]:  # prices of minimisers fall more slowly than mu: by the secant
            slope = math.log(price / before[1]) / math.log(mu / before[0])
            change **= 1 / min(1.0, max(0.2, slope))
        before = mu, price
        mu *= min(change, _LESS if budget.admits is not None else math.inf)
        part *= _LESS
    return kept if kept is not None else refuse("No noise was found with which this search fits its budget.")


def _epsilon(mu: float, delta: float, budget: Budget) -> float:
    if not budget.private:
        return math.inf
    return accounting.epsilon((Gaussian(Sensitivity(mu, mu), 1.0),), delta, budget.adjacency)


def _score(spend: Spending) -> tuple[Gaussian, ...]:
    """A sum to which a record adds from 0 to 1."""
    scale = 1 / (spend.mu * math.sqrt(spend.share))
    return (Gaussian(Sensitivity(1.0, 1.0).plus(grid_slack(scale, 1)), scale),)


def _check(promised: tuple[Guarantee, ...], budget: Budget, unit: Unit) -> None:
    """What the price of the whole rests on."""
    for guarantee in promised:
        proven = guarantee.status == "proven" and not guarantee.collection
        check(proven, "Expected candidates whose own guarantees are proven, and share no contributors' noise.")
        check(guarantee.protects == MODEL, f"Expected candidates that protect {MODEL}, not {guarantee.protects}.")
        check(
            guarantee.adjacency == budget.adjacency and (guarantee.records, guarantee.rows_per_person) == unit,
            "Expected all candidates to speak of the same neighbours, records and rows of a person as the search.",
        )


def _words(spend: Spending, candidates: int) -> tuple[str, ...]:
    if spend.stop == 1:
        return ("one trial of the first candidate, by rule: too few records for a search to pay",)
    return (
        f"the best of a geometric number of trials, {1 / spend.stop:.3g} on average, of {candidates} candidates",
        f"{spend.share:.3g} of a trial's mu^2 for its score, a noisy sum over the records that it was trained on",
        "what a model predicts for a record depends on that record and the model alone",
        "nobody sees the trials that were not released, nor how long all of them took",
    )
