"""Gradient perturbation: every step sees a sum of clipped gradients with noise; all that follows is post-processing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import check, check_positive, shown
from tacit.linear.arithmetic import largest_weight, rounding_slack
from tacit.linear.person_clip import person_share, person_slack, row_clip
from tacit.linear.problem import Problem
from tacit.linear.records import in_memory
from tacit.linear.smoothing import paper_noise, smooth_weights
from tacit.linear.solvers.descent import Average, Descent, Optimizer, Schedule
from tacit.mechanisms import defaults
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.many import STEP_NUMBERS, ManyRuns, by_run
from tacit.mechanisms.published_noise import bassily_scale, bassily_step, wang_scale
from tacit.mechanisms.samplers import Disjoint, Everyone, Noise, Poisson, Sampler, Subset
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event
from tacit.privacy.noise import Source, add_gaussian, add_sphere, grid_slack
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution, Spread

Published = Literal["", "bassily-2014", "lssgd-2020", "wang-2017"]


@dataclass(frozen=True, kw_only=True)
class GradientPlan(Plan):
    """A calibrated noisy descent; a person's gradient is cut to ``person`` times the clip of rows."""

    sampler: Sampler
    descent: Descent
    clip: float
    noise: Noise
    scale: float
    divisor: float
    decay: float
    smoothing: float = 0.0
    person: float = 1.0

    def run(self, problem: Problem, source: Source) -> Solution:
        """Clip, sum, noise, divide by a public number (never by an observed count); then smooth, moments and step."""
        if isinstance(self.sampler, Disjoint):
            in_memory(problem.records)  # priced as one release: a place that has another record in a later pass is two
        batches = self.sampler.batches(problem.records.count, self.descent.steps, source)
        solution = self._descend(problem, batches, source)
        return replace(solution, spread=partial(self._spread, len(solution.weights)))

    def _spread(self, size: int) -> Spread | None:
        """As if nothing were curved: curvature only shrinks what noise does."""
        variances = self.variances(np.zeros(1))
        return None if variances is None else Spread(np.repeat(variances, size))

    def variances(self, curvature: Array) -> Array | None:
        """The answers of the same descent, on a quadratic, to one unit of noise in each step, squared and added up."""
        free = math.isinf(self.descent.radius) and not self.smoothing and self.descent.optimizer == "sgd"
        if self.noise != "gaussian" or not free:
            return None
        steps, decay = iter(range(self.descent.steps)), curvature / self.divisor + self.decay

        def gradient(answers: Array) -> Array:
            slopes = answers * decay
            slopes[next(steps)] += 1.0
            return slopes

        answers = self.descent.run(gradient, np.zeros((self.descent.steps, len(curvature)))).weights
        return np.asarray((answers**2).sum(axis=0) * (self.scale / self.divisor) ** 2)

    def at_once(self, problem: Problem) -> int:
        """All runs, unless something ties them together, as joint noise and a projection of the weights would.

        People whose means are cut go one by one.
        """
        free = self.noise == "gaussian" and math.isinf(self.descent.radius)
        return STEP_NUMBERS if free and self.person == 1 else 0

    def run_many(self, problem: Problem, trials: int, source: Source) -> Array:
        """One descent, of all runs side by side."""
        if not self.at_once(problem):
            return super().run_many(problem, trials, source)
        masks = self.sampler.masks(problem.records.count, self.descent.steps, trials, source)
        return by_run(self._descend(ManyRuns(problem, trials), masks, source, trials).weights, trials)

    def _descend(
        self, problem: Problem | ManyRuns, batches: Iterator[Any], source: Source, trials: int = 1
    ) -> Solution:
        """Of a problem with a batch of positions a step, or of many runs with a mask."""
        add = add_gaussian if self.noise == "gaussian" else add_sphere
        intercept = problem.facts.intercept

        def gradient(weights: Array) -> Array:
            total = problem.part(next(batches)).clipped_gradient(weights, self.clip, person=self.person)
            noisy = add(total, self.scale, source)
            mean = noisy / self.divisor + self.decay * weights
            return smooth_weights(mean, self.smoothing, intercept, trials) if self.smoothing else mean

        return self.descent.run(gradient, problem.start())


@dataclass(frozen=True)
class GradientPerturbation:
    """Noisy gradient descent. Whatever is None is chosen by a rule from public facts
    (:mod:`tacit.mechanisms.defaults`).

    ``clip`` bounds each record's gradient in each model; ``step`` is the step size on the mean gradient. ``smoothing``
    is the sigma of Laplacian smoothing (:mod:`tacit.linear.smoothing`) over neighbouring features, for columns that
    have an order, such as pixels; 0 is none. ``optimizer`` is 'sgd' (with momentum) or 'adam'. ``published`` names the
    paper whose noise calibration='paper' takes; ``constant`` is the c that Wang et al. 2017 leave open.
    """

    sampler: Sampler = field(default_factory=Everyone)
    _: KW_ONLY
    noise: Noise = "gaussian"
    steps: int | None = None
    clip: float | None = None
    step: float | None = None
    momentum: float | None = None
    schedule: Schedule | None = None
    average: Average | None = None
    radius: float = math.inf
    published: Published = ""
    constant: float | None = None
    smoothing: float = 0.0
    optimizer: Optimizer = "sgd"
    site: ClassVar[Site] = "gradient"

    def __post_init__(self) -> None:
        check_fields(self)
        known = "Everyone(), Poisson(rate), Subset(batch) or Disjoint()"
        check(hasattr(type(self.sampler), "batches"), f"Expected sampler to be {known}, not {shown(self.sampler)}.")
        defaults.check_descent(
            steps=self.steps, clip=self.clip, step=self.step, momentum=self.momentum, radius=self.radius,
            smoothing=self.smoothing,
        )  # fmt: skip
        if self.constant is not None:
            check_positive("constant", self.constant)

    @property
    def pure(self) -> bool:
        """With sphere noise."""
        return self.noise == "sphere"

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Nothing of the loss: clipping bounds every record's gradient."""
        if calibration == "paper" and not self.published:
            return "This method has no published noise of its own; its exact price is proven. Use calibration='proven'."
        if calibration == "paper" and self.published == "wang-2017":
            if not isinstance(self.sampler, Everyone):
                return "The noise of Wang et al. 2017 is for gradients over all records. Use sampler Everyone."
            if self.constant is None:
                return (
                    "The noise of Wang et al. 2017 holds 'for some constant', which they do not give. Pass constant=..."
                )
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> GradientPlan:
        """Steps and clip by rule, noise by exact price, then the step size by rule."""
        sampler = self.sampler
        if calibration == "paper" and self.published == "lssgd-2020":  # its theorem is for batches without replacement
            sampler = Subset(max(1, round(sampler.expected(facts.records, 1))))
        rule = defaults.descent(budget, facts, sampler, self.noise)
        # Neither paper clips: its G is the loss's.
        whole = calibration == "paper" and self.published in ("bassily-2014", "wang-2017")
        usual = math.inf if whole else person_share(facts) * rule.clip
        record_clip = min(self.clip or usual, facts.radius * facts.loss.lipschitz)
        rule = defaults.DescentRule(
            steps=self.steps or rule.steps,
            clip=row_clip(facts, record_clip),
            momentum=rule.momentum if self.momentum is None else self.momentum,
            schedule=self.schedule or rule.schedule,
            average=self.average or rule.average,
        )
        steps, clip = rule.steps, rule.clip
        norm, person = record_clip * math.sqrt(facts.models), record_clip / clip
        arithmetic = norm / person * (rounding_slack(facts, clip) + person_slack(facts))

        def released(scale: float) -> tuple[Event, ...]:
            slack = arithmetic + grid_slack(scale, facts.size)
            return (sampler.event(norm, slack, scale, facts.records, steps, self.noise),)

        divisor = sampler.expected(facts.records, steps)
        if calibration == "paper" and budget.private:
            if self.published == "lssgd-2020":
                scale = divisor * paper_noise(budget.epsilon, budget.delta, norm, steps, divisor, facts.records).nu
            elif self.published == "wang-2017":
                scale = wang_scale(budget, norm, steps, check_positive("constant", self.constant or 0.0))
            else:
                scale = bassily_scale(budget, norm, facts.records, steps, divisor)
        else:
            scale = smallest_scale(released, budget, guess=norm * math.sqrt(steps) / budget.epsilon)
        printed = None
        if whole and scale and math.isfinite(self.radius) and self.published == "bassily-2014":
            printed = bassily_step(2 * self.radius, norm, facts.records, steps, scale / divisor, facts.size)
        step = (
            self.step
            or printed
            or defaults.step_size(facts, rule, scale, divisor, self.noise, facts.models, self.smoothing, self.optimizer)
        )
        descent = Descent(
            steps=steps,
            step=step,
            momentum=rule.momentum,
            schedule=rule.schedule,
            average=rule.average,
            radius=self.radius,
            optimizer=self.optimizer,
            largest=largest_weight(facts),
        )
        # Sphere noise is for records that are used once: one step over all records is one disjoint batch.
        theorem = "disjoint-gradient" if self.noise == "sphere" else sampler.theorem
        words = (
            f"{'each record' if person == 1 else 'each row'}'s gradient clipped to norm {clip:.6g}",
            *((f"each person's mean of them clipped to norm {record_clip:.6g}",) if person < 1 else ()),
            f"{steps} steps over {type(sampler).__name__.lower()}",
            *((f"Laplacian smoothing with sigma = {self.smoothing:g} after the noise",) if self.smoothing else ()),
        )
        return GradientPlan(
            sampler=sampler, descent=descent, clip=clip, noise=self.noise, scale=scale, divisor=divisor,
            decay=regularization or 0.0, smoothing=self.smoothing, person=person,
            events=released(scale) if scale else (), theorem=theorem, assumptions=words,
        )  # fmt: skip


METHODS = (
    Method(
        name="gradient",
        mechanism=GradientPerturbation(),
        paper="Wang, Ye & Xu 2017",
        about="noisy gradient descent over all records, exact price",
    ),
    Method(
        name="dp-sgd",
        mechanism=GradientPerturbation(Poisson(0.05)),
        paper="Abadi et al. 2016",
        about="Poisson-sampled batches, privacy loss distributions",
    ),
    Method(
        name="ls-gradient",
        mechanism=GradientPerturbation(smoothing=2.0),
        paper="Wang et al. 2020, over all records",
        about="noisy gradient descent with Laplacian smoothing, for columns in an order, such as pixels",
    ),
    Method(
        name="dp-lssgd",
        mechanism=GradientPerturbation(Poisson(0.05), smoothing=2.0, published="lssgd-2020"),
        paper="Wang et al. 2020",
        about="Poisson-sampled batches, noise, Laplacian smoothing; 'paper': Theorem 2's noise where it holds",
        calibrations=("proven", "paper"),
    ),
    Method(
        name="dp-sgd-subset",
        mechanism=GradientPerturbation(Subset(256)),
        paper="Abadi et al. 2016; Wang, Balle & Kasiviswanathan 2019",
        about="batches without replacement, Renyi accounting (replace-one only)",
    ),
    Method(
        name="song-2013",
        mechanism=GradientPerturbation(Disjoint(), noise="sphere"),
        paper="Song, Chaudhuri & Sarwate 2013",
        about="pure epsilon: one pass over disjoint batches",
    ),
    Method(
        name="bassily-2014",
        mechanism=GradientPerturbation(
            Poisson(0.01), steps=500, momentum=0.0, schedule="inverse-root", published="bassily-2014"
        ),
        paper="Bassily, Smith & Thakurta 2014",
        about="sampled steps with 1/sqrt(t) sizes; 'paper': their noise, n^2/T of their steps at once",
        calibrations=("proven", "paper"),
    ),
)
