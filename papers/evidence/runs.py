"""Runs of the plan that users run, counted: how often an event happens on either of two neighbouring data sets.

The event is fixed before any run is seen. Nothing is re-implemented and nothing is batched: every run is one call of
``plan.run``, which is what :class:`tacit.LogisticRegression` calls.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from tacit.audit.intervals import ceiling, clopper_pearson
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem, Records
from tacit.mechanisms.base import Plan
from tacit.privacy.noise import SeededSource
from tacit.types import Array, Facts, Solution

CONFIDENCE = 0.999
SEED = 2
"""Seed 1 was for exploring: what is recorded was measured once with this one, all settings fixed."""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How large a set of runs is, and the constants c that are tried."""

    records: int
    steps: int
    trials: int
    constants: tuple[float, ...]

    def part(self, share: float) -> int:
        """This share of the runs, for a look that takes less time."""
        return max(1, round(share * self.trials))


@dataclass(frozen=True, kw_only=True)
class Counts:
    """``hits`` of ``trials`` runs on the first data set and ``false`` of as many on the second."""

    trials: int
    hits: int
    false: int
    delta: float
    noiseless: float
    """The smallest fraction of steps without noise in any run; 0 for algorithms that always add it."""

    @property
    def epsilon(self) -> float:
        """The lower bound on epsilon at ``CONFIDENCE``."""
        return float(clopper_pearson(self.hits, self.false, self.trials, self.delta, 1 - CONFIDENCE))

    def to_dict(self) -> dict[str, Any]:
        """Plain data, with the bound and the most that so many runs could show."""
        most = ceiling(self.trials, self.delta, 1 - CONFIDENCE)
        return {**asdict(self), "epsilon": self.epsilon, "could_show": most, "confidence": CONFIDENCE}


def facts_of(records: int, columns: int) -> Facts:
    """The public facts of logistic regression on rows in the unit ball, without intercept: G = 1, curvature 1/4."""
    return Facts(records=records, features=columns, outputs=1, radius=1.0, loss=Logistic(), intercept=False)


def problem_of(rows: Array, labels: Array) -> Problem:
    """The private problem with these facts."""
    return Problem(Records.build(rows, labels, 1.0, 0.0), Logistic())


def lone_record(records: int, side: float) -> Problem:
    """All records at (1, 0) with label +1, but the last one at (0, side): alone in its direction."""
    rows = np.zeros((records, 2))
    rows[:, 0] = 1.0
    rows[-1] = (0.0, side)
    return problem_of(rows, np.ones(records))


def one_at_the_edge(records: int, side: float) -> Problem:
    """All records at 0 with labels in turn, but the last one at ``side``, label +1; labels add up to 0 or 1."""
    rows = np.zeros((records, 1))
    rows[-1] = side
    labels = np.where((records - np.arange(records)) % 2 == 0, -1.0, 1.0)
    return problem_of(rows, labels)


def between(low: float, high: float) -> Callable[[Solution], bool]:
    """The event: the only weight is between two numbers."""
    return lambda solution: low < float(solution.weights[0, 0]) < high


def second_positive(solution: Solution) -> bool:
    """The event: the weight in the lone record's direction is positive."""
    return float(solution.weights[1, 0]) > 0


def count_runs(
    plan: Plan, first: Problem, second: Problem, event: Callable[[Solution], bool], *, trials: int, delta: float,
    seed: int = SEED,
) -> dict[str, Any]:  # fmt: skip
    """``trials`` independent runs on each of two neighbours, as plain data: see :class:`Counts`."""
    counts, quiet = [], 1.0
    for side, problem in enumerate((first, second)):
        happened = 0
        for run in range(trials):
            solution = plan.run(problem, SeededSource((seed, side, run)))
            happened += bool(event(solution))
            share = solution.extras.get("noiseless")
            quiet = min(quiet, share if isinstance(share, float) else 0.0)
        counts.append(happened)
    return Counts(trials=trials, hits=counts[0], false=counts[1], delta=delta, noiseless=quiet).to_dict()
