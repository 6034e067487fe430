r"""Noisy descent for the squared loss, with a clip that follows the residuals: how much it cuts is released as well.

The best clip is in proportion to the residuals, and their scale is private. So each step releases ``(sum_i g_i / C, k
sum_i (|g_i| / C - 1/2))``: gradients cut to norm C, and with a public weight k their norms. The mean of the latter is
the *level*, 1 where all are clipped, and the next C goes up or down by it. All coordinates get the same Gaussian noise.

* add-remove: a record's part has a squared norm of at most ``1 + k^2/4``;
* replace-one: two parts are, squared, at most ``max(4, 1 + k^2)`` apart: up to k = sqrt 3 the level costs nothing.

The proof is on the docs' page "A clip that follows the residuals".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tacit.checks import check, check_count
from tacit.linear.arithmetic import largest_slope, largest_weight, noisy_pieces, rounding_slack
from tacit.linear.parts import clip_slopes
from tacit.linear.person_clip import WIDER, people_sums, person_share, person_slack
from tacit.linear.problem import Problem
from tacit.linear.records import Block
from tacit.linear.solvers.certain import least_strength
from tacit.linear.solvers.descent import Descent
from tacit.linear.solvers.newton import Newton
from tacit.linear.whole import Pieces, Whole, added
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.defaults import precision
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.types import Adjacency, Array, Budget, Calibration, Facts, Loss, Site, Solution

STEPS, MOMENTUM = 160, 0.9
START, LOWEST = 0.02, 0.003
"""The first and the least clip, in R B: R the radius, B the targets' half range."""
WEIGHTS: dict[Adjacency, float] = {"add-remove": 0.5, "replace-one": math.sqrt(3)}
"""The level's weight k: 3 percent more noise under add-remove, none under replace-one."""
RATE, TRUST = 0.5, 0.1
"""How fast the clip moves (its logarithm, a step), and the deviation of a level's noise from which on it moves less."""
TOLERANCE = 1e-9
"""Without noise the plain minimiser is found to a gradient norm of this fraction of G."""


def aim(budget: Budget, facts: Facts) -> float:
    """The level to hold: 3/4 up to a precision M of 15, falling as ``1/sqrt(M)`` after it, and at least 0.03.

    A descent ends about C/M off, so with little precision the clip is the median residual, and bias is what that costs;
    with much of it the clip may grow beyond all residuals, while ``C/M`` still falls.
    """
    return max(0.03, 0.75 * min(1.0, math.sqrt(15.0 / precision(budget, facts))))


def sensitivity(weight: float) -> Sensitivity:
    """Of one release, in units of the clip."""
    return Sensitivity(math.hypot(1.0, weight / 2), max(2.0, math.hypot(1.0, weight)))


def clipped_sums(problem: Problem, weights: Array, clip: float, person: float = 1.0) -> tuple[Array, float]:
    """Sums over records of their gradients, each cut to norm ``clip``, and of the norms that are left.

    :func:`~tacit.linear.arithmetic.rounding_slack`, relative to the clip, covers the arithmetic of either. A person's
    gradient is the mean of those of the rows, cut to ``clip / person`` before.
    """
    facts = problem.facts
    largest = largest_slope(facts, clip / person)
    part = ClippedSums(problem.loss, Pieces.of(weights, 1), clip, person, largest, noisy_pieces(facts))
    total, sizes = problem.records.add_up(part)
    return total, float(sizes[0])


@dataclass(frozen=True)
class ClippedSums:
    """One block's part of :func:`clipped_sums`."""

    loss: Loss
    weights: Pieces = field(repr=False)
    clip: float
    person: float
    largest: float
    count: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts."""
        slopes, norms = self.loss.slope(self.weights.scores(block.rows), block.targets), block.norms[:, None]
        clip_slopes(slopes, norms, self.clip / self.person, coupled=False)
        if self.person < 1 and block.shares.starts is not None:
            return people_sums(block, slopes, self.clip, coupled=False)
        sizes = block.shares.weigh(np.abs(slopes) * norms)
        return block.gather(slopes, self.largest, self.count), added(sizes, self.clip, block.most)


@dataclass(frozen=True, kw_only=True)
class AdaptivePlan(Plan):
    """A calibrated descent; ``scale`` is the noise's in units of the clip.

    Steps are shorter in proportion where the clip is above ``calm``, all but the intercept's, which take up to ``lift``
    times as much: its noise is that of one weight, not of all.
    """

    descent: Descent
    weight: float
    scale: float
    divisor: float
    clips: tuple[float, float, float]
    level: float
    rate: float
    calm: float
    lift: float
    strength: float
    person: float = 1.0

    def run(self, problem: Problem, source: Source) -> Solution:
        """Clip, sum, noise, divide by a public number; then the step, and the next clip."""
        if not self.scale:
            return Newton(TOLERANCE * problem.facts.gradient).solve(replace(problem, strength=self.strength))
        lowest, clip, highest = self.clips

        def gradient(weights: Array) -> Array:
            nonlocal clip
            total, sizes = clipped_sums(problem, weights, clip, self.person)
            clipped = sizes / clip - 0.5 * problem.records.count
            noisy = add_gaussian(np.append(total / clip, self.weight * clipped), self.scale, source) / self.divisor
            mean = clip * noisy[:-1, None] + self.strength / self.divisor * weights
            mean *= min(1.0, self.calm / clip)
            if problem.facts.intercept:
                mean[-1] *= min(self.lift, max(1.0, clip / self.calm))
            off = (0.5 + noisy[-1] / self.weight) / self.level - 1
            clip = min(highest, max(lowest, clip * math.exp(self.rate * min(1.0, max(-1.0, off)))))
            return mean

        return self.descent.run(gradient, problem.start())


@dataclass(frozen=True)
class AdaptiveGradient:
    """Noisy descent with a clip that follows the residuals. Whatever is None is chosen by a rule from public facts.

    ``level`` is what the mean of min(1, gradient norm / clip) is brought to: near 1 for a small clip.
    """

    steps: int | None = None
    level: float | None = None
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_count("steps", self.steps)
        if self.level is not None:
            check(0 < self.level < 1, f"Expected 0 < level={self.level} < 1.")

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The squared loss of a bounded target, whose residuals the clip is to follow."""
        if facts.loss.name != "squared" or facts.models > 1 or not math.isfinite(facts.loss.lipschitz):
            return (
                f"A clip that follows residuals is for the squared loss, not {facts.loss.name}. Use method='gradient'."
            )
        if calibration == "paper":
            return "An adaptive clip has no published noise of its own here. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> AdaptivePlan:
        """``steps`` joint Gaussian releases, priced exactly; then step size and rate by the noise.

        The noise gathered along the way moves a score by at most 1.25 B, and by 0.25 M B where the precision M is
        small; steps stay below the stability limit of heavy-ball descent, 2 (1 + momentum) / curvature.
        """
        steps, weight = self.steps or STEPS, WEIGHTS[budget.adjacency]
        unit = facts.radius * facts.loss.lipschitz / 2
        lowest, start = LOWEST * unit, START * unit
        share = person_share(facts)
        person = share if share == 1 else share / WIDER  # of a row's clip
        # Grids are powers of two: next to a larger clip one can be twice as coarse as next to the least.
        arithmetic = (2 * rounding_slack(facts, lowest) + person_slack(facts)) / person
        moved = sensitivity(weight).plus((1 + weight) * arithmetic)

        def released(scale: float) -> tuple[Event, ...]:
            return (Gaussian(moved.plus(grid_slack(scale, facts.size + 1)), scale, steps),)

        scale = smallest_scale(released, budget, guess=2 * math.sqrt(steps) / budget.epsilon)
        strength = (regularization or 0.0) * facts.records
        step = 1.8 * (1 + MOMENTUM) / facts.curvature
        descent = Descent(
            steps=steps, step=step, momentum=MOMENTUM, schedule="linear", average="tail",
            largest=largest_weight(facts),
        )  # fmt: skip
        noise = max(scale, 1e-300) / facts.records
        goal = min(1.25, 0.25 * precision(budget, facts)) * unit / facts.radius**2
        time = sum(descent.size(t) for t in range(steps)) / (1 - MOMENTUM)
        words = (
            f"each record's gradient clipped to a norm from {lowest:.6g} to {facts.gradient:.6g}, set by a noisy mean",
            f"{steps} steps over everyone, clipped norms weighted {weight:.6g}",
        )
        return AdaptivePlan(
            descent=descent, weight=weight, scale=scale, divisor=float(facts.records),
            clips=(lowest, start, facts.gradient), level=self.level or aim(budget, facts),
            rate=RATE / (1 + (noise / (weight * TRUST)) ** 2),
            calm=goal * math.sqrt(steps) / (time * noise * math.sqrt(facts.size)), lift=math.sqrt(facts.size),
            strength=strength if scale else max(strength, least_strength(facts)), person=person,
            events=released(scale) if scale else (), theorem="adaptive", assumptions=words,
        )  # fmt: skip


METHODS = (
    Method(
        name="adaptive",
        mechanism=AdaptiveGradient(),
        paper="Andrew, Thakkar, McMahan & Ramaswamy 2021, over all records",
        about="noisy gradient descent for regression with a clip that follows the residuals",
    ),
)
