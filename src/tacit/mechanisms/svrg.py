"""DP-SVRG: a noisy full gradient at an anchor, then sampled steps on clipped gradient *differences* to the anchor.

Wang, Ye & Xu 2017 add noise to the inner steps only and account for them with a constant "c". Here the anchor's
gradient gets its own noise once, the differences theirs, and both are priced: Gaussian and Poisson-sampled Gaussian,
composed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import check, check_count
from tacit.linear.arithmetic import largest_weight, rounding_slack
from tacit.linear.person_clip import person_share, person_slack, row_clip
from tacit.linear.problem import Problem
from tacit.mechanisms import defaults
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.many import STEP_NUMBERS, ManyRuns, by_run
from tacit.mechanisms.samplers import Everyone, Poisson, Sampler
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, PoissonGaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.streams.watching import watch_steps
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

MOST_ROUNDS = 10**6
"""The most rounds, and the most steps of one: their product is a number of steps that can be priced."""


@dataclass(frozen=True, kw_only=True)
class SvrgPlan(Plan):
    """A calibrated variance-reduced descent. ``multiplier`` is noise scale over clip.

    The same for both kinds of sum.
    """

    records: int
    rounds: int
    inner: int
    sampler: Sampler
    clip: float
    difference_clip: float
    step: float
    decay: float
    anchor_scale: float
    inner_scale: float
    largest: float
    person: float = 1.0

    def run(self, problem: Problem, source: Source) -> Solution:
        """``rounds`` anchors, each followed by ``inner`` sampled steps; the next anchor is their average."""
        return self._descend(problem, partial(self.sampler.batches, problem.records.count, self.inner, source), source)

    def at_once(self, problem: Problem) -> int:
        """All runs: nothing ties them together. People whose means are cut go one by one."""
        return STEP_NUMBERS if self.person == 1 else 0

    def run_many(self, problem: Problem, trials: int, source: Source) -> Array:
        """One descent, of all runs side by side."""
        if not self.at_once(problem):
            return super().run_many(problem, trials, source)
        masks = partial(self.sampler.masks, problem.records.count, self.inner, trials, source)
        return by_run(self._descend(ManyRuns(problem, trials), masks, source).weights, trials)

    def _descend(self, problem: Problem | ManyRuns, batches: Callable[[], Iterator[Any]], source: Source) -> Solution:
        """Of a problem with a batch of positions a step, or of many runs with a mask."""
        n, anchor = self.records, problem.start()
        for _ in watch_steps(self.rounds):
            exact = problem.clipped_gradient(anchor, self.clip, person=self.person)
            full = add_gaussian(exact, self.anchor_scale, source) / n
            weights, total = anchor, np.zeros_like(anchor)
            for rows in batches():
                part = problem.part(rows)
                change = part.clipped_gradient(weights, self.difference_clip, anchor, person=self.person)
                change = add_gaussian(change, self.inner_scale, source) / self.sampler.expected(n, self.inner)
                weights = weights - self.step * (full + change + self.decay * weights)
                weights = np.clip(weights, -self.largest, self.largest)
                total += weights
            anchor = total / self.inner
        return Solution(anchor, steps=self.rounds * self.inner)


@dataclass(frozen=True)
class Svrg:
    """Variance-reduced noisy descent."""

    rounds: int = 10
    inner: int = 10
    rate: float = 0.1
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_count("rounds", self.rounds, MOST_ROUNDS)
        check_count("inner", self.inner, MOST_ROUNDS)
        check(0 < self.rate <= 1, f"Expected 0 < rate={self.rate} <= 1.")

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Nothing of the loss: clipping bounds every record's gradient."""
        if calibration == "paper":
            return "The published noise of DP-SVRG leaves its constant open. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> SvrgPlan:
        """One noise multiplier for anchors and differences, from the joint price."""
        chosen = defaults.descent(budget, facts, Everyone(), "gaussian")
        person_clip = person_share(facts) * chosen.clip
        clip = row_clip(facts, person_clip)
        difference, root, person = 0.5 * clip, math.sqrt(facts.models), person_clip / clip
        narrow = 0.5 * difference  # differences are of two slopes, so their grid is as of one slope cut at half
        slack = rounding_slack(facts, narrow) + person_slack(facts)

        def released(multiplier: float) -> tuple[Event, ...]:
            norms = [clip * root, difference * root]
            scales = [multiplier * norm for norm in norms]
            grown = [m * (person + slack) + grid_slack(s, facts.size) for m, s in zip(norms, scales, strict=True)]
            return (
                Gaussian(Sensitivity.of_record(grown[0]), scales[0], self.rounds),
                PoissonGaussian(clip=grown[1], scale=scales[1], rate=self.rate, count=self.rounds * self.inner),
            )

        multiplier = smallest_scale(released, budget, guess=math.sqrt(self.rounds) * 4 / budget.epsilon)
        scale = multiplier * clip * root
        shape = defaults.DescentRule(
            steps=self.rounds * self.inner, clip=clip, momentum=0.0, schedule="constant", average="last"
        )
        # An anchor's noise is used in all of its inner steps, so it adds up as if it were sqrt(inner) larger.
        step = defaults.step_size(facts, shape, scale * math.sqrt(self.inner), facts.records, models=facts.models)
        words = (
            f"gradients clipped to norm {clip:.6g}, differences to {difference:.6g}",
            f"{self.rounds} anchors, {self.inner} Poisson-sampled steps each at rate {self.rate:g}",
        )
        return SvrgPlan(
            records=facts.records, rounds=self.rounds, inner=self.inner, sampler=Poisson(self.rate), clip=clip,
            difference_clip=difference, step=step, decay=regularization or 0.0, anchor_scale=scale,
            inner_scale=multiplier * difference * root, largest=largest_weight(facts), person=person,
            events=released(multiplier) if multiplier else (), theorem="svrg", assumptions=words,
        )  # fmt: skip


METHODS = (
    Method(
        name="dp-svrg",
        mechanism=Svrg(),
        paper="Wang, Ye & Xu 2017",
        about="noisy anchors and sampled, clipped differences",
    ),
)
