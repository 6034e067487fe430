"""The assembly line of linear models, networks, collections and audits: guarantees are made here, and only here.

    needs -> refuse -> calibrate -> state -> spend -> run

:func:`prepare` takes public facts and a budget, compares what the mechanism needs, calibrates, prices and states the
guarantee: no record is an argument. :func:`train` hands the guarantee over first, and runs the plan on the records
second, so that a crash cannot hide what was spent.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from tacit._version import __version__
from tacit.checks import RefutedWarning, at_most, plain_numbers, refuse
from tacit.ledger import Ledger, ledger_of
from tacit.ledger.listening import label_within, listener, note_charge
from tacit.mechanisms.base import Chosen, Plan
from tacit.privacy import accounting
from tacit.privacy.calibrate import fits
from tacit.privacy.events import Gaussian
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source
from tacit.privacy.theorems import COUNTED, MODEL, PEOPLE, RECORD, THEOREMS, after_counts
from tacit.types import Budget, Calibration, Facts, Solution, Status

UNSCALED = (
    "columns and rows were not scaled, filled in or chosen by looking at these records, unless that step is charged too"
)
ONE_RELEASE = "this is one release: all that is released about the same people adds up (tacit.Ledger keeps the total)"
"""What every guarantee of a model assumes."""


@dataclass(frozen=True)
class Prepared:
    """A run that is priced but has not seen a record."""

    plan: Plan
    guarantee: Guarantee
    record_guarantee: Guarantee | None = None


def clipped_rows(facts: Facts) -> str:
    """What linear models assume, and :class:`tacit.data.rows.Design` enforces."""
    if not facts.intercept:
        return f"every row clipped to norm {facts.radius:.6g}"
    clip = math.sqrt(max(facts.radius**2 - facts.constant**2, 0.0))
    return (
        f"every row clipped to norm {clip:.6g} ({facts.radius:.6g} with the intercept's column, which is "
        f"{facts.constant:.6g})"
    )


def prepare(
    facts: Facts,
    chosen: Chosen,
    *,
    seeded: bool,
    regularization: float | None = None,
    calibration: Calibration = "proven",
    assumptions: tuple[str, ...] = (),
) -> Prepared:
    """Compare needs, calibrate, price, and state the guarantee. No record is an argument."""
    plan = calibrate(facts, chosen, regularization, calibration)
    return state(
        plan, facts.records, chosen.budget, method=chosen.name, seeded=seeded, calibration=calibration,
        assumptions=assumptions, rows_per_person=facts.rows_per_person,
    )  # fmt: skip


def calibrate(
    facts: Facts, chosen: Chosen, regularization: float | None = None, calibration: Calibration = "proven"
) -> Plan:
    """The plan of the chosen mechanism, or a refusal that says which of its needs is not met."""
    facts, mechanism = plain_numbers(facts), plain_numbers(chosen.mechanism)
    unmet = mechanism.needs(facts, calibration)
    if unmet:
        refuse(unmet)
    budget = plain_numbers(chosen.budget)
    if budget.spent and calibration == "paper":
        refuse("A paper's noise is set for a fit that released nothing before. Use calibration='proven'.")
    if facts.rows_per_person is not None and calibration == "paper":
        refuse("A paper's noise protects one row, and people may have several here. Use calibration='proven'.")
    plan: Plan = mechanism.calibrate(budget, facts, plain_numbers(regularization), calibration)
    if facts.rows_per_person is not None and plan.theorem not in PEOPLE:
        refuse("This method protects one row, and people may have several here. Use method='auto'.")
    if budget.spent and not (plan.theorem in COUNTED and fits(plan.events, budget)):
        refuse("This method does not count what was released before it. Use another method.")
    return plan


def state(
    plan: Plan,
    records: int,
    budget: Budget,
    *,
    method: str,
    seeded: bool,
    calibration: Calibration = "proven",
    assumptions: tuple[str, ...] = (),
    record_assumptions: tuple[str, ...] | None = None,
    collection: str = "",
    rows_per_person: int | None = None,
    protects: str = MODEL,
) -> Prepared:
    """The guarantee of a calibrated plan, and where people perturb their own records, the guarantee of one record.

    ``record_assumptions`` are for the record's in the place of ``assumptions``; ``collection`` names the submissions
    whose noise the model shares.
    """
    budget = plain_numbers(budget)
    events = (*budget.spent, *plan.events)
    theorem = after_counts(plan.theorem) if budget.spent else plan.theorem if events else "none"
    guarantee = Guarantee(
        epsilon=budget.epsilon, delta=budget.delta, adjacency=budget.adjacency, status=_status(plan, budget, method),
        method=method, theorem=theorem, records=records, events=events,
        assumptions=(*assumptions, *plan.assumptions, UNSCALED, ONE_RELEASE), seeded=seeded, calibration=calibration,
        version=__version__, collection=collection, rows_per_person=rows_per_person, protects=protects,
    )  # fmt: skip
    if plan.record is None:
        return Prepared(plan, guarantee)
    own = assumptions if record_assumptions is None else record_assumptions
    record = replace(
        guarantee,
        epsilon=accounting.epsilon(plan.record.events, budget.delta, budget.adjacency),
        events=plan.record.events,
        theorem=plan.record.theorem,
        status=THEOREMS[plan.record.theorem].status,
        records=1,
        protects=RECORD,
        assumptions=(*own, *plan.assumptions),
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
    price = accounting.epsilon((*budget.spent, *plan.events), budget.delta, budget.adjacency)
    row = THEOREMS[plan.theorem]
    fitting = price <= budget.epsilon * (1 + 1e-6)
    if fitting and row.status == "proven":
        return "proven"
    asked = f"epsilon={budget.epsilon:g} under {budget.adjacency} neighbours"
    status: Status = "refuted"
    if fitting and row.status == "claimed":
        status = "claimed"
        words = f"is said to give {asked}; we can neither prove nor refute it ({row.place})."
    elif fitting:
        words = (
            f"is not known to give {asked}: audits measured more than its theorem promises ({row.place}). "
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


def charge(prepared: Prepared, ledger: Ledger | str | None, label: str = "") -> None:
    """Write the release down in its ledger, before anything of it exists; refused where the ledger has no room.

    A part of a larger release is told to whoever states that one, and charged with it. ``label``: what it is for.
    """
    hear = listener()
    if hear is not None:
        hear(prepared.guarantee)
        return
    book = ledger_of(ledger)
    if book is not None:
        book.charge(prepared.guarantee, label_within() or label)
        note_charge(prepared.guarantee)


def train(
    prepared: Prepared,
    problem: Any,
    source: Source,
    spend: Callable[[Prepared], None],
    *,
    ledger: Ledger | str | None = None,
    charged: bool = False,
) -> Solution:
    """Charge, spend, then run: ledger and guarantees hold the release before it exists, so a crash cannot hide it.

    ``charged``: a ledger holds it already, as a part of a larger release.
    """
    if not charged:
        charge(prepared, ledger)
    spend(prepared)
    return prepared.plan.run(problem, source)
