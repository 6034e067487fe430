r"""Individual accounting: noisy gradient descent in which every record pays for its own gradients only.

Uniform accounting charges every record ``clip^2`` a step. Here record i is charged ``||v_i||^2``, the square of its
own part of the sum, and its parts are held to ``sum ||v_i||^2 <= B`` over the whole run. Given the releases so far,
what the others contribute does not depend on record i, so adding it moves the sums by vectors that depend on the past
only and have at most B in all. Such a run is sqrt(B)/scale-GDP: the privacy loss is a martingale whose quadratic
variation is B at most, and filled up to B by a dummy release it is exactly Gaussian. Replacing a record moves the
sums by v_t - v'_t, of at most ``(2 sqrt B)^2`` in all (Minkowski). The proof is on the docs' page "Individual
accounting".

So the price is that of *one* Gaussian release with sensitivity sqrt(B), whatever the number of steps. Rounding (to the
grid, and of the sums) adds at most ``slack`` in each of T steps: ``sqrt(T) slack`` on top of sqrt(B), Minkowski again.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import check_fields
from tacit.checks import check_count, check_positive
from tacit.linear.arithmetic import rounding_slack
from tacit.linear.problem import Problem
from tacit.linear.records import in_memory
from tacit.linear.smoothing import smooth_weights
from tacit.linear.solvers.descent import Average, Descent, Schedule
from tacit.mechanisms import defaults
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.samplers import Everyone
from tacit.mechanisms.spending import Spent
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

Rule = Literal["ration", "leave"]


class Account:
    """The running account of every record of one run: private numbers, never released.

    'leave': a record is in while its own sum, this step included, is at most ``limit``. 'ration': it is always in, its
    gradient shrunk, where it must be, to what is left of its account over the steps that are left; so it never gets
    less than ``limit / steps``, and what it saves with small gradients it can use for large ones.

    Either way record i's charge is a function of its own gradients, the number of the step and public constants, and
    adds up to at most ``limit``. ``up`` covers the rounding of norms, squares and sums: no record is charged less
    than the exact square of its part, and the exact sum of these stays within ``limit``.
    """

    def __init__(self, records: int, steps: int, limit: float, up: float, rule: Rule) -> None:
        self.remaining, self.limit, self.up, self.rule = steps, limit, up, rule
        self.spent: Array = np.zeros(records)
        self.whole: NDArray[np.intp] = np.zeros(records, dtype=np.intp)

    def admit(self, rows: slice, squares: Array) -> Array:
        """Charge the records of a block for this step; give the factors that their gradients are multiplied by."""
        wanted = self.up * squares
        allowed = np.maximum(self.limit - self.spent[rows], 0.0)
        if self.rule == "ration":
            allowed /= self.remaining
        whole = np.asarray(wanted <= allowed, dtype=np.bool_)
        part = np.sqrt(allowed / np.maximum(wanted, allowed)) if self.rule == "ration" else 0.0
        self.spent[rows] += np.where(whole, wanted, allowed if self.rule == "ration" else 0.0)
        self.whole[rows] += whole
        return np.asarray(np.where(whole, 1.0, part))

    def close_step(self) -> None:
        """One step less is left."""
        self.remaining -= 1


@dataclass(frozen=True, kw_only=True)
class IndividualPlan(Plan):
    """A calibrated noisy descent with an account for each record. ``limit`` is B; ``factor`` is 2 for replace-one."""

    descent: Descent
    clip: float
    limit: float
    scale: float
    divisor: float
    decay: float
    factor: float
    rule: Rule
    smoothing: float = 0.0

    def run(self, problem: Problem, source: Source) -> Solution:
        """Descend; extras hold ``spent``, each record's own account, which is for the curator and not private."""
        facts, steps, rows = problem.facts, self.descent.steps, in_memory(problem.records).rows
        up = 1.0 + (facts.features + steps + 64) * 2.0**-50
        account = Account(rows, steps, self.limit, up, self.rule)

        def gradient(weights: Array) -> Array:
            total = problem.admitted_gradient(weights, self.clip, account.admit)
            account.close_step()
            noisy = add_gaussian(total, self.scale, source) / self.divisor + self.decay * weights
            return smooth_weights(noisy, self.smoothing, facts.intercept) if self.smoothing else noisy

        solution = self.descent.run(gradient, problem.start())
        mu = self.factor * np.sqrt(account.spent) / self.scale if self.scale else np.full(rows, math.inf)
        return Solution(solution.weights, solution.gap, solution.steps, {"spent": Spent(mu, account.whole, steps)})


@dataclass(frozen=True, kw_only=True)
class Individual:
    """Noisy gradient descent with individual accounting. Whatever is None is chosen by a rule from public facts.

    ``share`` sets the account of every record, ``B = share * steps * models * clip^2``; None gives the noise that
    plain noisy descent with its own clip would have (1/4 for the logistic loss). With ``rule='leave'`` a
    record at the clip in every step is in for that share of the steps and then out, one with smaller gradients later.
    With ``rule='ration'`` nobody leaves: a record that needs more than its account allows has its gradient shrunk,
    never below ``sqrt(share) * clip``, the clip of plain noisy descent with the same noise. ``share = 1`` is plain
    noisy descent. Smoothing, momentum and averaging come after the noise, as in :class:`GradientPerturbation`.

    Guarantee: sqrt(B)/scale-GDP under add-remove, 2 sqrt(B)/scale under replace-one, on any data: also where every
    record exhausts its account. Edges: an infinite epsilon adds no noise, and the filter still works.
    Reference: Feldman & Zrnic 2021; Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023.
    """

    steps: int | None = None
    share: float | None = None
    rule: Rule = "ration"
    clip: float | None = None
    step: float | None = None
    momentum: float | None = None
    schedule: Schedule | None = None
    average: Average | None = None
    radius: float = math.inf
    smoothing: float = 0.0
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        defaults.check_descent(
            steps=self.steps, clip=self.clip, step=self.step, momentum=self.momentum, radius=self.radius,
            smoothing=self.smoothing,
        )  # fmt: skip
        if self.share is not None:
            check_positive("share", self.share)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Nothing of the loss: clipping bounds every record's gradient."""
        if calibration == "paper":
            return "Individual accounting has no published noise; its proven price is exact. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> IndividualPlan:
        """Steps, clip and account by rule, noise by exact price, then the step size by rule."""
        base = defaults.descent(budget, facts, Everyone(), "gaussian")
        steps = check_count("steps", base.steps if self.steps is None else self.steps)
        longest = facts.radius * facts.loss.lipschitz
        clip = min(self.clip or longest, longest)
        share = min(1.0, check_positive("share", (base.clip / clip) ** 2 if self.share is None else self.share))
        rule = defaults.DescentRule(
            steps=steps,
            clip=base.clip,
            momentum=base.momentum if self.momentum is None else self.momentum,
            schedule=self.schedule or base.schedule,
            average=self.average or base.average,
        )
        norm = clip * math.sqrt(facts.models)
        # A hair more, so that rounding the charge up does not cost a record the last of a whole number of full steps.
        limit = norm**2 * max(1.0, share * steps) * (1 + 1e-9)
        arithmetic = norm * rounding_slack(facts, clip)

        def released(scale: float) -> tuple[Event, ...]:
            slack = math.sqrt(steps) * (arithmetic + grid_slack(scale, facts.size))
            return (Gaussian(Sensitivity.of_record(math.sqrt(limit)).plus(slack), scale),)

        scale = smallest_scale(released, budget, guess=math.sqrt(limit) / budget.epsilon)
        divisor = float(facts.records)
        step = self.step or defaults.step_size(facts, rule, scale, divisor, "gaussian", facts.models, self.smoothing)
        descent = Descent(
            steps=steps,
            step=step,
            momentum=rule.momentum,
            schedule=rule.schedule,
            average=rule.average,
            radius=self.radius,
        )
        factor = 1.0 if budget.adjacency == "add-remove" else 2.0
        words = (
            f"each record's gradient clipped to norm {clip:.6g}",
            f"{steps} steps; the squared norms of each record's own parts add up to at most {limit:.6g} ({self.rule})",
        )
        return IndividualPlan(
            descent=descent, clip=clip, limit=limit, scale=scale, divisor=divisor, decay=regularization or 0.0,
            factor=factor, rule=self.rule, smoothing=self.smoothing,
            events=released(scale) if scale else (), theorem="individual", assumptions=words,
        )  # fmt: skip


METHODS = (
    Method(
        name="individual",
        mechanism=Individual(),
        paper="Feldman & Zrnic 2021; Smith & Thakurta 2022",
        about="noisy gradient descent in which each record pays for its own gradients: with small ones it stays longer",
    ),
)
