r"""Noisy Newton steps: each releases a clipped gradient sum and a Hessian sum together; the step is post-processing.

One record's part of a release is ``(p u, k q u u^T)``: u the direction of its row, p its slope times the row's norm,
cut at the clip C, q its curvature times the squared norm, at most ``beta R^2``, and k a public weight. The symmetric
matrix is vectorised isometrically (off-diagonal entries times sqrt 2), and all coordinates get the same Gaussian
noise. With ``A = k beta R^2``:

* add-remove: the squared norm of a part is at most ``C^2 + A^2``;
* replace-one: two parts differ, squared, by at most ``max(4 C^2 + A^2, 2 C^2 + 2 A^2 + C^4/(2 A^2))``, the latter where
  ``C^2 <= 2 A^2``. Opposite gradients have parallel rows, and the Hessians of such rows do not differ by much; the
  worst cases taken apart would give ``4 C^2 + 2 A^2``.

The proof is on the docs' page "Noisy Newton steps".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np

from tacit.checks import check_count, check_positive
from tacit.linear.arithmetic import hessian_slack, largest_weight, rounding_slack
from tacit.linear.problem import Problem
from tacit.linear.solvers.certain import least_strength
from tacit.linear.solvers.newton import Newton
from tacit.linear.symmetric import flat, square
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.defaults import NORM
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.streams.watching import watch_steps
from tacit.types import Array, Budget, Calibration, Facts, Loss, Site, Solution

STEPS, BALANCE = 6, 1.0
"""Steps, and A/C: how the noise is shared between Hessian and gradient. Both were set on made-up designs."""
TOLERANCE = 1e-9
"""Without noise the plain minimiser is found to a gradient norm of this fraction of G."""


@dataclass(frozen=True)
class Layout:
    """The vector of one release: a gradient, and ``weight`` times a symmetric matrix, of ``features`` columns."""

    features: int
    weight: float

    @property
    def size(self) -> int:
        """d + d (d + 1) / 2."""
        return self.features * (self.features + 3) // 2

    def pack(self, gradient: Array, hessian: Array) -> Array:
        """One vector; its norm is that of ``(gradient, weight * hessian)``."""
        return np.concatenate([gradient.ravel(), self.weight * flat(hessian)])

    def unpack(self, vector: Array) -> tuple[Array, Array]:
        """The gradient, as a column, and the symmetric matrix that :meth:`pack` laid out."""
        return vector[: self.features, None], square(vector[self.features :] / self.weight, self.features)


def sensitivity(gradient: float, hessian: float) -> Sensitivity:
    """Of a release to which a record adds at most these norms, C and A of the module's docstring."""
    c, a = gradient**2, hessian**2
    turned = 2 * c + 2 * a + c**2 / (2 * a) if c <= 2 * a else 0.0
    return Sensitivity(math.sqrt(c + a), math.sqrt(max(4 * c + a, turned)))


@dataclass(frozen=True, kw_only=True)
class NewtonPlan(Plan):
    """Calibrated Newton steps; no step is longer than ``longest``, and no weight larger than ``largest``."""

    layout: Layout
    steps: int
    clip: float
    scale: float
    strength: float
    longest: float
    largest: float

    def run(self, problem: Problem, source: Source) -> Solution:
        r"""Release, then step: ``w <- w - r_t M^-1 (g + Lambda w)``, with ``r_t = 2/(t + 2)`` for t = 0, 1, ...

        The rates make the last point a mean of the steps' aims with weights 1, 2, .., T: near the minimum its noise has
        at most 4/3 of the variance that one release with the whole budget would have. M is the mean of the Hessians so
        far, by the same weights, with eigenvalues raised to the root mean square of its noise's, ``s sqrt((d + 1)/2)``.
        """
        if not self.scale:
            return Newton(TOLERANCE * problem.facts.gradient).solve(replace(problem, strength=self.strength))
        weights, d = problem.start(), self.layout.features
        mean, variance = np.zeros((d, d)), 0.0
        for t in watch_steps(self.steps):
            exact = self.layout.pack(problem.clipped_gradient(weights, self.clip), problem.hessian_alone(weights))
            gradient, hessian = self.layout.unpack(add_gaussian(exact, self.scale, source))
            rate = 2 / (t + 2)
            mean, variance = mean + rate * (hessian - mean), (1 - rate) ** 2 * variance + rate**2
            floor = self.scale / self.layout.weight * math.sqrt(variance * (d + 1) / 2)
            values, vectors = np.linalg.eigh(mean)
            pull = vectors.T @ (gradient + self.strength * weights)
            step = vectors @ (pull / (np.maximum(values, floor) + self.strength)[:, None])
            step *= self.longest / max(float(np.linalg.norm(step)), self.longest)
            weights = np.clip(weights - rate * step, -self.largest, self.largest)
        return Solution(weights, math.inf, self.steps)


@dataclass(frozen=True)
class NoisyNewton:
    """Noisy Newton steps. Whatever is None is chosen by a rule from public facts.

    ``clip`` bounds each record's gradient; None: the largest that one can have at the start, so that the first step
    clips nobody. ``balance`` is the largest weighted Hessian of a record over ``clip``. No step moves a score by more
    than ten times what takes the tangent of the loss at the start to zero: curvature that is not seen yet is not there.
    """

    steps: int | None = None
    clip: float | None = None
    balance: float | None = None
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if self.steps is not None:
            check_count("steps", self.steps)
        for name, value in (("clip", self.clip), ("balance", self.balance)):
            if value is not None:
                check_positive(name, value)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """One model of a smooth loss with bounded slope."""
        if facts.loss.coupled or facts.models > 1:
            return "Noisy Newton steps are for one score per record; this model has several. Use method='gradient'."
        if not (math.isfinite(facts.loss.smoothness) and math.isfinite(facts.loss.lipschitz)):
            return f"Noisy Newton steps need a smooth loss with bounded slope; {facts.loss.name} is not."
        if calibration == "paper":
            return "Noisy Newton steps have no published noise of their own here. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> NewtonPlan:
        """``steps`` joint Gaussian releases, priced exactly."""
        steps, slope = self.steps or STEPS, slope_at_zero(facts.loss)
        clip = min(self.clip or facts.radius * slope, facts.gradient)
        curve = clip * (self.balance or BALANCE)
        layout = Layout(facts.features, curve / facts.curvature)
        moved = sensitivity(clip, curve).plus(clip * rounding_slack(facts, clip) + curve * hessian_slack(facts))

        def released(scale: float) -> tuple[Event, ...]:
            return (Gaussian(moved.plus(grid_slack(scale, layout.size)), scale, steps),)

        scale = smallest_scale(released, budget, guess=2 * clip * math.sqrt(steps) / budget.epsilon)
        strength = (regularization or 0.0) * facts.records
        words = (
            f"each record's gradient clipped to norm {clip:.6g}, its Hessian's norm at most {facts.curvature:.6g}",
            f"{steps} Newton steps over everyone, Hessians weighted {layout.weight:.6g}",
        )
        return NewtonPlan(
            layout=layout, steps=steps, clip=clip, scale=scale, largest=largest_weight(facts),
            longest=2 * NORM * facts.loss.at_zero / (slope * facts.radius),
            strength=strength if scale else max(strength, least_strength(facts)),
            events=released(scale) if scale else (), theorem="newton", assumptions=words,
        )  # fmt: skip


def slope_at_zero(loss: Loss) -> float:
    """The largest slope of the prediction 0: a convex function of the target, so at an end of its range."""
    ends = (-1.0, 1.0) if isinstance(loss.targets, str) else loss.targets
    return float(np.abs(loss.slope(np.zeros((2, 1)), np.array(ends)[:, None])).max())


METHODS = (
    Method(
        name="newton",
        mechanism=NoisyNewton(),
        paper="Avella-Medina et al. 2023; Ganesh et al. 2023",
        about="a few noisy Newton steps, gradient and Hessian released together; for two classes and regressions",
    ),
)
