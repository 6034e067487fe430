r"""Weights whose error is known: noisy Newton steps without shrinkage, clipping or averaging at the end, for intervals.

*Squared loss.* One release from which the normal equations follow, and the residuals' variance:
``(sum y x, k sum x x^T, m sum y^2)``, with noise of one scale, y and x in units of their bounds. Then, at the solution,
``J = sum s^2 x x^T``, s the residuals.

*Logistic loss.* Some cheap steps as in :mod:`tacit.mechanisms.newton_steps` lead near the minimum. Then the gradient
is released there, for most of the budget, and at the middle of the step that it asks for the Hessian together with J, s
the slopes: with the curvature midway a step is right to second order. What is left of the error is counted, by the
length of that step; where it is too long, nothing is claimed.

No slope exceeds its bound, so no gradient is clipped, and there is no regulariser: what is solved is the plain problem,
with noise of known size (:mod:`tacit.linear.uncertainty`). The proof is on the docs' page "Intervals".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import ClassVar

import numpy as np

from tacit.linear.arithmetic import hessian_slack, largest_weight, rounding_slack
from tacit.linear.problem import Problem
from tacit.linear.records import Block
from tacit.linear.solvers.certain import least_strength
from tacit.linear.solvers.newton import Newton
from tacit.linear.symmetric import flat, square
from tacit.linear.uncertainty import Solved, System, Uncertainty, changed, remainder, solve, uncertainty
from tacit.linear.whole import Pieces, Whole, added
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.newton_steps import TOLERANCE, Layout, sensitivity
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.streams.watching import watch_steps
from tacit.types import Array, Budget, Calibration, Facts, Loss, Site, Solution

STEPS, MEANS = 10, 2
"""Cheap steps before the last one, and how many of them at least are averaged: the last ones."""
SETTLED = 0.5
"""Means are taken from the step on that changes scores by less than this, in root mean square."""
SHARES = (0.15, 0.6, 0.25)
"""The parts of mu^2 for the cheap steps, the last gradient, and the matrices midway."""
RESIDUALS = 0.08
"""The part of mu^2 for the residuals' J, after the normal equations."""
MIDDLE = 0.25
"""The weight of J beside the Hessian: with it the largest part of a record grows by 4 percent."""


def squares_sensitivity(gradient: float, hessian: float) -> Sensitivity:
    """Of ``(C y u, A u u^T, C y^2 / sqrt 2)``, |u| and |y| at most 1: squares are free when a record is replaced."""
    c, a = gradient**2, hessian**2
    replaced = 2 * c + 2 * a + c**2 / (2 * a) if c <= 2 * a else 4 * c
    return Sensitivity(math.sqrt(1.5 * c + a), math.sqrt(replaced))


def matrices_sensitivity(radius: float) -> Sensitivity:
    """Of ``(s (1 - s) x x^T, k s^2 x x^T)`` for ``0 <= s <= 1`` and ``|x| <= R``, with k = MIDDLE.

    The norm is ``R^2 s sqrt((1 - s)^2 + k^2 s^2)``, largest at the smaller root of ``2 (1 + k^2) s^2 - 3 s + 1``, or at
    s = 1; two parts' inner product is not negative.
    """
    k2 = MIDDLE**2
    s = (3 - math.sqrt(1 - 8 * k2)) / (4 * (1 + k2))
    norm = radius**2 * max(s * math.sqrt((1 - s) ** 2 + k2 * s**2), MIDDLE)
    return Sensitivity(norm, math.sqrt(2) * norm)


def both(
    system: System, solved: Solved, model: Array, doubt: Array, slopes: Array, noise: float, rest: float = 0.0
) -> dict[str, object]:
    """How sure the weights are if the model is right, with ``model`` as J, and with the J that was released.

    ``doubt`` belongs to the first; ``noise`` is the scale of the second, whose eigenvalues are raised to zero; ``rest``
    is what the move may be wrong beside, infinite where that is not known.
    """
    if solved.hidden or math.isinf(rest):
        return {"uncertainty": Uncertainty.unknown(solved), "robust_uncertainty": Uncertainty.unknown(solved)}
    values, vectors = np.linalg.eigh(slopes)
    middle = (vectors * np.maximum(values, 0.0)) @ vectors.T
    blurred = (noise * (solved.inverse**2).sum(axis=1)) ** 2
    return {
        "uncertainty": uncertainty(system, solved, model, doubt, rest),
        "robust_uncertainty": uncertainty(system, solved, middle, blurred, rest),
    }


@dataclass(frozen=True, kw_only=True)
class EquationsPlan(Plan):
    """The normal equations of the squared loss, then J; ``square`` is the weight of sum y^2, ``most`` a residual's cut.

    Predictions may leave the targets' range, so residuals are cut at twice its half: |y| counts once, and the
    prediction once. ``records`` is the public n: that of the table at hand is never asked.
    """

    records: int
    layout: Layout
    square: float
    clip: float
    most: float
    scales: tuple[float, float]

    def run(self, problem: Problem, source: Source) -> Solution:
        """Release, solve, and ask how sure the solution is."""
        start, (scale, blur) = problem.start(), self.scales
        exact = self.layout.pack(problem.clipped_gradient(start, self.clip), problem.hessian_alone(start))
        (squares,) = problem.records.add_up(TargetSquares(problem.loss.lipschitz / 2))
        released = add_gaussian(np.append(exact, self.square * squares), scale, source)
        gradient, hessian = self.layout.unpack(released[:-1])
        system = System(hessian, scale / self.layout.weight, scale)
        solved = solve(system, gradient[:, 0])
        weights = solved.move[:, None]
        slopes = square(add_gaussian(flat(self._residuals(problem, weights)), blur, source), len(weights))
        # The residuals' squares at the solution, less what solving for noise takes away from them.
        left = float(released[-1]) / self.square - float(gradient[:, 0] @ solved.inverse @ gradient[:, 0])
        left += float((solved.inverse * system.noise(solved.move)).sum())
        freedom = max(self.records - len(weights), 1)
        residual, long = max(left, 0.0) / freedom, float(solved.move @ solved.move)
        noise = (scale / self.square) ** 2 + 4 * long * scale**2 + (system.hessian_noise * long) ** 2
        doubt = np.diag(solved.inverse) ** 2 * (2 * residual**2 / freedom + noise / freedom**2)
        return Solution(weights, extras=both(system, solved, residual * hessian, doubt, slopes, blur))

    def _residuals(self, problem: Problem, weights: Array) -> Array:
        return problem.records.add_up(ResidualSquares(Pieces.of(weights, 1), self.most))[0]


@dataclass(frozen=True, kw_only=True)
class LastStepPlan(Plan):
    """``steps`` cheap steps, then one whose noise is known; ``scales`` of the steps, the gradient, and the matrices.

    ``records`` is the public n, ``constant`` the intercept's column (0: none), ``radius`` that of the rows.
    """

    records: int
    constant: float
    radius: float
    layout: Layout
    steps: int
    clip: float
    scales: tuple[float, float, float]
    largest: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Get near, release the gradient there and the curvature midway, solve, and ask how sure the solution is."""
        _, gradient_scale, scale = self.scales
        near, inverse = self._near(problem, source)
        gradient = add_gaussian(problem.clipped_gradient(near, self.clip), gradient_scale, source)
        middle = self._cut(near - 0.5 * inverse @ gradient)
        curves, slopes = matrices(problem, middle)
        released = add_gaussian(np.concatenate([flat(curves), MIDDLE * flat(slopes)]), scale, source)
        hessian, squares = (square(part, len(near)) for part in np.split(released, 2))
        system = System(hessian, scale, gradient_scale)
        solved = solve(system, gradient[:, 0])
        doubt = (scale * (solved.inverse**2).sum(axis=1)) ** 2
        off = (middle - near)[:, 0] - 0.5 * solved.move
        rest = remainder(system, solved, self._curvature(hessian), off)
        extras = both(system, solved, hessian, doubt, squares / MIDDLE, scale / MIDDLE, rest)
        return Solution(near + solved.move[:, None], steps=self.steps + 1, extras=extras)

    def _cut(self, weights: Array) -> Array:
        return np.clip(weights, -self.largest, self.largest)

    def _curvature(self, hessian: Array) -> float:
        """The sum of all curvatures, or less: the intercept's entry, or by the trace, since no row is longer than R."""
        if self.constant:
            return float(hessian[-1, -1]) / self.constant**2
        return float(np.trace(hessian)) / self.radius**2

    def _near(self, problem: Problem, source: Source) -> tuple[Array, Array]:
        """A point near the minimum and an inverse Hessian there.

        Newton steps, with eigenvalues raised to the noise's edge, until one changes scores by little; then the mean of
        where steps lead to, and of their Hessians. Without noise: the minimum.
        """
        weights, d = problem.start(), self.layout.features
        if not self.scales[0]:
            weak = replace(problem, strength=least_strength(problem.facts))
            return Newton(TOLERANCE * problem.facts.gradient).solve(weak).weights, np.zeros((d, d))
        mean, inverse, settled = np.zeros((d, d)), np.zeros((d, d)), 0
        for step in watch_steps(self.steps):
            exact = self.layout.pack(problem.clipped_gradient(weights, self.clip), problem.hessian_alone(weights))
            gradient, hessian = self.layout.unpack(add_gaussian(exact, self.scales[0], source))
            if step == 0:
                weights, gradient, hessian = self._even(gradient, hessian)
            rate = 1 / (1 + settled)
            mean += rate * (hessian - mean)
            values, vectors = np.linalg.eigh(mean)
            edge = self.scales[0] / self.layout.weight * math.sqrt(2 * d * rate)
            floor = max(edge, 1e-12 * float(np.abs(values).max()), 1e-300)
            inverse = (vectors / np.maximum(values, floor)) @ vectors.T
            move = -inverse @ gradient
            weights = self._cut(weights + rate * move)
            if settled or step + 1 >= self.steps - MEANS or changed(mean, self._curvature(mean), move[:, 0]) < SETTLED:
                settled += 1
        return weights, inverse

    def _even(self, gradient: Array, hessian: Array) -> tuple[Array, Array, Array]:
        """From gradient and Hessian at zero those where all scores are the log odds of the classes, and that point.

        At one score for all, slopes are those at zero plus p - 1/2, and curvatures 4 p (1 - p) times those at zero.
        A rare class thus needs no climb from zero, at which each step would change scores by one.
        """
        weights = np.zeros_like(gradient)
        if not self.constant:
            return weights, gradient, hessian
        least = min(max(self.scales[0] / (self.constant * self.records), 1e-9), 0.5)
        p = min(max(0.5 - float(gradient[-1, 0]) / (self.constant * self.records), least), 1 - least)
        weights[-1] = math.log(p / (1 - p)) / self.constant
        return weights, gradient + (p - 0.5) * 4 / self.constant * hessian[:, -1:], 4 * p * (1 - p) * hessian


def matrices(problem: Problem, weights: Array) -> tuple[Array, Array]:
    """``sum s (1 - s) x x^T`` and ``sum s^2 x x^T`` with s the sizes of the logistic loss's slopes, in one pass.

    Both are made from one s, cut to [0, 1], that depends on its record alone, to the last bit.
    """
    curves, slopes = problem.records.add_up(CurvesSlopes(problem.loss, Pieces.of(weights, 1)))
    return curves, slopes


@dataclass(frozen=True)
class TargetSquares:
    """One block's sum of squared targets, of size at most ``bound``."""

    bound: float

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        return (added(block.shares.weigh(block.targets[:, 0] ** 2), self.bound**2, block.most),)


@dataclass(frozen=True)
class ResidualSquares:
    """One block's ``sum r^2 x x^T`` with residuals cut at ``most``."""

    weights: Pieces = field(repr=False)
    most: float

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        left = (self.weights.scores(block.rows) - block.targets)[:, 0]
        return (block.outer(np.clip(left, -self.most, self.most) ** 2, self.most**2),)


@dataclass(frozen=True)
class CurvesSlopes:
    """One block's parts of :func:`matrices`."""

    loss: Loss
    weights: Pieces = field(repr=False)

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts."""
        s = np.clip(np.abs(self.loss.slope(self.weights.scores(block.rows), block.targets)[:, 0]), 0.0, 1.0)
        return block.outer(s * (1 - s), 1.0), block.outer(s**2, 1.0)


@dataclass(frozen=True)
class Unshrunk:
    """Newton steps without shrinkage, whose error is known: for intervals, not for the best predictions."""

    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """One score per record, with the squared or the plain logistic loss; rows that count alone."""
        if facts.models > 1 or facts.loss.coupled:
            return "Intervals are for two classes or a number as target; this model has several scores."
        if facts.loss.name not in ("squared", "logistic") or getattr(facts.loss, "margin", None):
            return "Intervals are for linear and logistic regression, without a margin. Use another method."
        if facts.rows_per_person is not None:
            return (
                "Intervals are for tables with one row per person so far, since rows of one person are not "
                "independent. Keep one row of each, and leave out groups and rows_per_person, also of the ledger."
            )
        if calibration == "paper":
            return "Steps without shrinkage have no published noise of their own here. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> EquationsPlan | LastStepPlan:
        """The normal equations and J for the squared loss; steps, a gradient and two matrices for the logistic one.

        There is no regulariser, whatever is asked for: estimators refuse one.
        """
        return _equations(budget, facts) if facts.loss.name == "squared" else _last_step(budget, facts)


Part = tuple[Sensitivity, int, int, float]
"""A release: its sensitivity, how many numbers it has, how often it is made, and its part of mu^2."""


def _shared(budget: Budget, parts: tuple[Part, ...]) -> tuple[tuple[float, ...], tuple[Event, ...]]:
    """The scales of these releases, and their events: together they cost the budget."""
    lengths = [moved.under(budget.adjacency) * math.sqrt(count / share) for moved, _, count, share in parts]

    def released(unit: float) -> tuple[Event, ...]:
        return tuple(
            Gaussian(moved.plus(grid_slack(unit * length, numbers)), unit * length, count)
            for (moved, numbers, count, _), length in zip(parts, lengths, strict=True)
        )

    unit = smallest_scale(released, budget, guess=1 / budget.epsilon)
    return tuple(unit * length for length in lengths), released(unit) if unit else ()


def _equations(budget: Budget, facts: Facts) -> EquationsPlan:
    bound, hessians = facts.loss.lipschitz / 2, hessian_slack(facts)
    clip, most = facts.radius * bound, facts.loss.lipschitz
    layout = Layout(facts.features, clip / facts.curvature)
    moved = squares_sensitivity(clip, clip).plus(2 * clip * (rounding_slack(facts, clip) + hessians))
    largest = (most * facts.radius) ** 2
    residuals = Sensitivity(largest, math.sqrt(2) * largest).plus(largest * hessians)
    half = facts.features * (facts.features + 1) // 2
    (first, second), events = _shared(
        budget, ((moved, layout.size + 1, 1, 1 - RESIDUALS), (residuals, half, 1, RESIDUALS))
    )
    words = (
        f"targets within {bound:g} of their middle (after scaling)",
        f"{RESIDUALS:.0%} of the budget (of mu^2) for the residuals' squares",
    )
    return EquationsPlan(
        records=facts.records, layout=layout, square=clip / (math.sqrt(2) * bound**2), clip=clip, most=most,
        scales=(first, second), events=events, theorem="unshrunk", assumptions=words,
    )  # fmt: skip


def _last_step(budget: Budget, facts: Facts) -> LastStepPlan:
    clip, size = facts.gradient, facts.features
    layout = Layout(size, clip / facts.curvature)
    gradients, hessians = clip * rounding_slack(facts, clip), hessian_slack(facts)
    (first, second, third), events = _shared(
        budget,
        (
            (sensitivity(clip, clip).plus(gradients + clip * hessians), layout.size, STEPS, SHARES[0]),
            (Sensitivity.of_record(clip).plus(gradients), size, 1, SHARES[1]),
            (matrices_sensitivity(facts.radius).plus(facts.radius**2 * hessians), size * (size + 1), 1, SHARES[2]),
        ),
    )
    words = f"no gradient clipped; {STEPS} Newton steps, then one with {SHARES[1]:.0%} of the budget (of mu^2)"
    return LastStepPlan(
        records=facts.records, constant=facts.constant, radius=facts.radius, layout=layout, steps=STEPS, clip=clip,
        scales=(first, second, third), largest=largest_weight(facts),
        events=events, theorem="unshrunk", assumptions=(words,),
    )  # fmt: skip


METHODS = (
    Method(
        name="unshrunk",
        mechanism=Unshrunk(),
        paper="Avella-Medina et al. 2023; Sheffet 2017",
        about="Newton steps without shrinkage, whose noise is known: for confidence intervals",
    ),
)
