"""A method of Tacit as the subject of an audit: calibrated once, then run thousands of times."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.arguments import checked
from tacit.audit.outcomes import Runs
from tacit.audit.pairs import Data, Pair
from tacit.audit.subjects import Seed, Subject
from tacit.checks import check, check_choice, check_count, shown
from tacit.data.people import people_of
from tacit.data.shares import Shares
from tacit.linear.losses import LOSSES
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import Mechanism, choose_method
from tacit.mechanisms.base import Plan
from tacit.privacy.events import COUNT
from tacit.privacy.noise import SeededSource, Source
from tacit.training import calibrate
from tacit.types import RADII, Array, Budget, Calibration, Facts, Loss

THREADS = min(4, os.cpu_count() or 1)
_LOSSES: dict[str, Loss] = {loss.name: loss for loss in LOSSES}


@dataclass(frozen=True, kw_only=True)
class Planned(Subject):
    """A method with its loss, calibrated for a public number of records; rows are clipped as for a user."""

    plan: Plan
    loss: Loss
    clip: float
    intercept: float
    name: str
    rows_per_person: int | None = None

    def problem(self, data: Data) -> Problem:
        """The problem that the plan trains on; of people, each has all rows that count, and all alike."""
        rows, targets, shares = np.ascontiguousarray(data.rows), data.targets, Shares()
        if self.rows_per_person is not None:
            whose = np.repeat(np.arange(len(rows)), self.rows_per_person)
            rows, targets = rows[whose], targets[whose]
            shares = Shares.of(people_of(whose, len(whose), self.rows_per_person), None)
        records = Records.build(rows, targets, self.clip, self.intercept, shares)
        return Problem(records, self.loss, self.loss.outputs)

    def draw(self, data: Data, trials: int, seed: Seed) -> Runs:
        """Many runs at once."""
        return Runs.of(run_many(self.plan, self.problem(data), trials, SeededSource(seed)))

    def direction(self, pair: Pair) -> Array:
        """With several scores per model: in those of the two classes that pairs tell apart, in opposite directions."""
        if self.loss.outputs == 1:
            return pair.direction
        return np.asarray(np.kron(pair.direction, np.r_[1.0, -1.0, np.zeros(self.loss.outputs - 2)]))


def run_many(plan: Plan, problem: Problem, trials: int, source: Source) -> Array:
    """Independent runs of a plan, one per row: in parts that fit in a cache, on several threads."""
    width = max(1, plan.at_once(problem) // max(1, problem.records.count * problem.outputs))
    counts = [min(width, trials - done) for done in range(0, trials, width)]
    if len(counts) == 1 or not plan.at_once(problem):
        return plan.run_many(problem, trials, source)
    # A source for each part, so that what a part draws does not depend on which thread is first.
    keys = source.words(4 * len(counts)).reshape(-1, 4)
    sources = [SeededSource(tuple(int(word) for word in key)) if source.seeded else source for key in keys]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(THREADS) as threads:
        return np.vstack(list(threads.map(lambda *part: plan.run_many(problem, *part), counts, sources)))


@checked
def planned(
    method: str | Mechanism,
    claimed: Budget,
    *,
    loss: str | Loss = "logistic",
    records: int,
    features: int,
    clip: float = 1.0,
    intercept: float = 0.0,
    regularization: float | None = None,
    calibration: Calibration = "proven",
    rows_per_person: int | None = None,
) -> Planned:
    """A method calibrated to the claim, for this many records and columns; for people with so many rows each."""
    if isinstance(loss, str):
        check_choice("loss", loss, _LOSSES)
    least, most = RADII
    check(least <= clip <= most, f"Expected clip={clip:g} to be between {least:g} and {most:g}.")
    check(0 <= intercept <= most, f"Expected intercept={intercept:g} to be from 0 to {most:g}.")
    if regularization is not None:
        check(0 <= regularization <= most, f"Expected regularization={regularization} to be from 0 to {most:g}.")
    check_count("records", records, COUNT)
    check_count("features", features, COUNT)
    chosen: Loss = _LOSSES[loss] if isinstance(loss, str) else loss
    check(isinstance(chosen, Loss), f"Expected loss to be a loss or its name, not {shown(loss)}.")
    wide = features + (1 if intercept else 0)
    facts = Facts(
        records=records,
        features=wide,
        outputs=chosen.outputs,
        radius=float(np.hypot(clip, intercept)),
        loss=chosen,
        intercept=bool(intercept),
        rows_per_person=rows_per_person,
    )
    decided = choose_method(method, claimed, facts, calibration)
    plan = calibrate(facts, decided, regularization, calibration)
    name = f"{decided.name}, {chosen.name} loss"
    return Planned(plan=plan, loss=chosen, clip=clip, intercept=intercept, name=name, rows_per_person=rows_per_person)
