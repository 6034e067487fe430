"""Gradient perturbation: every step sees a sum of clipped gradients with noise; all that follows is post-processing."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Literal

from tacit.calibrate import smallest_scale
from tacit.events import Event
from tacit.mechanisms import rules
from tacit.mechanisms.samplers import Everyone, Noise, Sampler
from tacit.noise import Source, add_gaussian, add_sphere, grid_slack
from tacit.problem import Problem, rounding_slack
from tacit.solvers.descent import Average, Descent, Schedule
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution


@dataclass(frozen=True)
class GradientPlan:
    """A calibrated noisy descent."""

    sampler: Sampler
    descent: Descent
    clip: float
    noise: Noise
    scale: float
    divisor: float
    decay: float
    events: tuple[Event, ...]
    theorem: str
    assumptions: tuple[str, ...]

    def run(self, problem: Problem, source: Source) -> Solution:
        """Descend along noisy mean gradients; sums are divided by a public number, never by an observed count."""
        records, steps = problem.facts.records, self.descent.steps
        batches = self.sampler.batches(records, steps, source)
        add = add_gaussian if self.noise == "gaussian" else add_sphere

        def gradient(weights: Array) -> Array:
            rows = next(batches)
            part = problem if rows is None else replace(problem, records=problem.records.take(rows))
            noisy = add(part.clipped_gradient(weights, self.clip), self.scale, source)
            return noisy / self.divisor + self.decay * weights

        return self.descent.run(gradient, problem.start())


@dataclass(frozen=True)
class GradientPerturbation:
    """Noisy gradient descent. Whatever is None is chosen by a rule from public facts (:mod:`tacit.mechanisms.rules`).

    ``clip`` bounds each record's gradient in each model; ``step`` is the step size on the mean gradient.
    """

    sampler: Sampler = Everyone()
    noise: Noise = "gaussian"
    steps: int | None = None
    clip: float | None = None
    step: float | None = None
    momentum: float | None = None
    schedule: Schedule | None = None
    average: Average | None = None
    radius: float = math.inf
    published: Literal["", "bassily-2014"] = ""
    site: Site = "gradient"

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Nothing of the loss: clipping bounds every record's gradient."""
        if calibration == "paper" and not self.published:
            return "This method has no published noise of its own; its proven calibration is exact. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> GradientPlan:
        """Steps and clip by rule, noise by exact price, then the step size by rule."""
        rule = rules.descent(budget, facts, self.sampler, self.noise)
        rule = rules.DescentRule(
            self.steps or rule.steps,
            min(self.clip or rule.clip, facts.radius * facts.loss.lipschitz),
            rule.momentum if self.momentum is None else self.momentum,
            self.schedule or rule.schedule,
            self.average or rule.average,
        )
        steps, clip = rule.steps, rule.clip
        norm = clip * math.sqrt(facts.models)
        arithmetic = norm * rounding_slack(facts)

        def released(scale: float) -> tuple[Event, ...]:
            slack = arithmetic + grid_slack(scale, facts.size)
            return (self.sampler.event(norm, slack, scale, facts.records, steps, self.noise),)

        if calibration == "paper" and budget.private:
            scale = bassily_scale(budget, norm, facts.records)
        else:
            scale = smallest_scale(released, budget, guess=norm * math.sqrt(steps) / budget.epsilon)
        divisor = self.sampler.expected(facts.records, steps)
        step = self.step or rules.step_size(facts, rule, scale, divisor, self.noise, facts.models)
        descent = Descent(steps, step, rule.momentum, rule.schedule, rule.average, self.radius)
        words = (
            f"each record's gradient clipped to norm {clip:.6g}",
            f"{steps} steps over {type(self.sampler).__name__.lower()}",
        )
        return GradientPlan(
            self.sampler, descent, clip, self.noise, scale, self.sampler.expected(facts.records, steps), regularization or 0.0,
            released(scale) if scale else (), self.sampler.theorem, words,
        )  # fmt: skip


def bassily_scale(budget: Budget, norm: float, records: int) -> float:
    """Noise of Bassily, Smith & Thakurta 2014, Algorithm 1: ``sigma^2 = 32 G^2 log(n/delta) log(1/delta) / epsilon^2``.

    It is set for n^2 steps on single records (their sums are n times ours) and used here for fewer: larger than needed.
    """
    logs = math.log(records / budget.delta) * math.log(1 / budget.delta)
    return norm * math.sqrt(32 * logs) / budget.epsilon
