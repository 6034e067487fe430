"""The assembly line: the public river and the private river meet here, and the guarantee is stated here and only here.

public :  facts, budget -> mechanism.calibrate -> plan (scales, events) -> guarantee
private:  records -> problem -> plan.run -> weights
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace

from tacit._version import __version__
from tacit.checks import at_most, plain_numbers, refuse
from tacit.linear.problem import Problem
from tacit.mechanisms.base import Mechanism, Plan
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source
from tacit.privacy.theorems import THEOREMS
from tacit.types import Budget, Calibration, Facts, Solution, Status


class RefutedWarning(UserWarning):
    """The paper's noise was asked for by name, and it does not give, or cannot be shown to give.

    What the paper says.
    """


@dataclass(frozen=True)
class Prepared:
    """A run that is priced but has not seen a record."""

    plan: Plan
    guarantee: Guarantee
    record_guarantee: Guarantee | None = None


def prepare(
    facts: Facts,
    mechanism: Mechanism,
    budget: Budget,
    *,
    method: str,
    seeded: bool,
    regularization: float | None = None,
    calibration: Calibration = "proven",
    assumptions: tuple[str, ...] = (),
) -> Prepared:
    """The public river: compare needs, calibrate, price, and state the guarantee. No record is an argument."""
    facts, mechanism, budget = plain_numbers(facts), plain_numbers(mechanism), plain_numbers(budget)
    unmet = mechanism.needs(facts, calibration)
    if unmet:
        refuse(unmet)
    plan = mechanism.calibrate(budget, facts, plain_numbers(regularization), calibration)
    return state(plan, facts, budget, method=method, seeded=seeded, calibration=calibration, assumptions=assumptions)


def state(
    plan: Plan,
    facts: Facts,
    budget: Budget,
    *,
    method: str,
    seeded: bool,
    calibration: Calibration = "proven",
    assumptions: tuple[str, ...] = (),
) -> Prepared:
    """The guarantee of a calibrated plan, and where people perturb their own records, the guarantee of one record."""
    guarantee = Guarantee(
        epsilon=budget.epsilon,
        delta=budget.delta,
        adjacency=budget.adjacency,
        status=_status(plan, budget, method),
        method=method,
        theorem=plan.theorem if plan.events else "none",
        records=facts.records,
        events=plan.events,
        assumptions=(
            f"every row clipped to norm {facts.radius:.6g}, intercept included",
            *assumptions,
            *plan.assumptions,
        ),
        seeded=seeded,
        calibration=calibration,
        version=__version__,
    )
    released = getattr(plan, "record_events", ())
    if not released:
        return Prepared(plan, guarantee)
    theorem = getattr(plan, "record_theorem", plan.theorem)
    record = replace(
        guarantee,
        epsilon=accounting.epsilon(released, budget.delta, budget.adjacency),
        events=released,
        theorem=theorem,
        status=THEOREMS[theorem].status,
        records=1,
        protects="one record, as it leaves its owner",
    )
    return Prepared(plan, guarantee, record)


def _status(plan: Plan, budget: Budget, method: str) -> Status:
    """The theorem's status, unless the price of the very events exceeds the budget.

    Then the paper's promise is refuted where the price is exact (Gaussian releases), or where an audit measured more
    than was promised; where the price is only an upper bound, or the theorem is neither proven nor refuted, the
    promise is no more than claimed. Both warn.
    """
    if not plan.events:
        return "proven"
    price = accounting.epsilon(plan.events, budget.delta, budget.adjacency)
    row = THEOREMS[plan.theorem]
    fits = price <= budget.epsilon * (1 + 1e-6)
    if fits and row.status == "proven":
        return "proven"
    asked = f"epsilon={budget.epsilon:g} under {budget.adjacency} neighbours"
    status: Status = "refuted"
    if fits and row.status == "claimed":
        status = "claimed"
        words = f"is said to give {asked}; we can neither prove nor refute it (docs page {row.page!r})."
    elif fits:
        words = (
            f"is not known to give {asked}: audits measured more than its theorem promises (docs page {row.page!r}). "
            "Use a proven method."
        )
    elif all(isinstance(event, Gaussian) for event in plan.events):
        words = f"does not give {asked}; what is released costs epsilon={at_most(price)}. Use calibration='proven'."
    else:
        status = "claimed"
        words = f"cannot be confirmed to give {asked}; we can prove epsilon={at_most(price)}. Use calibration='proven'."
    sentence = f"{status.upper()}: the published noise of {method} {words}"
    warnings.warn(sentence, RefutedWarning, stacklevel=2)
    return status


def fit(problem: Problem, prepared: Prepared, source: Source, spend: Callable[[Guarantee], None]) -> Solution:
    """The private river. The guarantee is handed to ``spend`` before the result exists, so a crash cannot hide it."""
    spend(prepared.guarantee)
    return prepared.plan.run(problem, source)
