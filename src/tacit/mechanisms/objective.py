r"""Objective perturbation: minimise ``sum loss + (Lambda/2)||W||^2 + <B, W>`` with a random B; the minimiser is
private.

W <-> B is a bijection, so the density ratio of two neighbours' minimisers is a ratio of Hessian determinants times a
ratio of noise densities. With k the dimension of the subspace that one record's gradient stays in and tr the
largest trace of its Hessian, adding a record multiplies the determinant by at most ``(1 + tr/(k Lambda))^k``.
The proof, for both adjacencies, is on the docs' page "Objective perturbation".

The minimiser is computed to a gradient norm tau, and the release gets a second, tiny noise that hides the difference
(Iyengar et al. 2019): an unfinished solve does not void the guarantee.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import refuse
from tacit.linear.problem import Problem
from tacit.linear.solvers.certain import check_certifiable, solve_columns, solver_slack
from tacit.mechanisms import defaults
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.many import SOLVED_NUMBERS, add_columns, by_run, unit_columns
from tacit.mechanisms.output import certified
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Objective, Sensitivity, Sphere
from tacit.privacy.noise import Source, add_gaussian, add_sphere, draw_error, gaussian, grid_slack, longest, sphere
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

TOLERANCE = 1e-7
"""The solve stops at a gradient norm of this fraction of the noise scale."""
POLISH, POLISH_ADDED = 2e-2, 1e-2
"""Price (mu, or epsilon for pure noise) of hiding the unfinished solve, as a fraction of the main price: where the two
compose in quadrature, a fiftieth costs 2e-4 of the whole; where they are added, a hundredth costs just that."""


@dataclass(frozen=True, kw_only=True)
class ObjectivePlan(Plan):
    """A calibrated objective perturbation."""

    noise: Literal["gaussian", "sphere"]
    scale: float
    polish_scale: float
    slack: float
    strength: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Draw the linear term once, minimise, release on the grid with the polishing noise."""
        full = replace(problem, strength=self.strength)
        if not self.scale:
            return Solution(certified(full, TOLERANCE * problem.facts.gradient, self.slack))
        unit, add = (gaussian, add_gaussian) if self.noise == "gaussian" else (sphere, add_sphere)
        linear = self.scale * unit(source, (problem.records.features, problem.outputs))
        weights = certified(replace(full, linear=linear), TOLERANCE * self.scale, self.slack)
        return Solution(add(weights, self.polish_scale, source))

    def variances(self, curvature: Array) -> Array | None:
        """The linear term B moves the minimum by ``-(H + Lambda)^-1 B``, to first order."""
        if self.noise != "gaussian":
            return None
        return np.asarray((self.scale / (curvature + self.strength)) ** 2 + self.polish_scale**2)

    def at_once(self, problem: Problem) -> int:
        """All runs, as independent models of one problem, where a run is one scalar model with noise."""
        return SOLVED_NUMBERS if self.scale and not problem.loss.coupled and problem.outputs == 1 else 0

    def run_many(self, problem: Problem, trials: int, source: Source) -> Array:
        """The same steps, column by column: noise, a certified minimum, the polishing noise."""
        if not self.at_once(problem):
            return super().run_many(problem, trials, source)
        linear = self.scale * unit_columns(source, problem.records.features, trials, self.noise)
        full = replace(problem, strength=self.strength, outputs=trials, linear=linear)
        weights = solve_columns(full, TOLERANCE * self.scale, self.slack).weights
        return by_run(add_columns(weights, self.polish_scale, source, self.noise), trials)


@dataclass(frozen=True)
class ObjectivePerturbation:
    """Objective perturbation. ``noise``: 'gaussian', or 'sphere' for pure epsilon (Chaudhuri et al. 2011)."""

    noise: Literal["gaussian", "sphere"] = "gaussian"
    site: ClassVar[Site] = "objective"

    def __post_init__(self) -> None:
        check_fields(self)

    @property
    def pure(self) -> bool:
        """With sphere noise."""
        return self.noise == "sphere"

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """A convex loss with bounded slope and bounded curvature."""
        if not math.isfinite(facts.loss.smoothness):
            return f"Objective perturbation needs a smooth loss; {facts.loss.name} is not. Use HuberHinge."
        if not math.isfinite(facts.loss.lipschitz):
            return (
                f"Objective perturbation needs a loss with bounded slope; {facts.loss.name} has none. Bound the target."
            )
        if calibration == "paper" and (facts.loss.coupled or facts.models > 1):
            return "The paper's calibration is for one score per record. Use calibration='proven' for several classes."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> ObjectivePlan:
        """Choose Lambda with the noise, then the noise by its exact price."""
        paper = calibration == "paper"
        least = 2 * facts.curvature / budget.epsilon if paper and self.noise == "gaussian" else 0.0
        if regularization is None:
            strength = max(least, defaults.objective_strength(budget, facts, self.noise))
        else:
            strength = regularization * facts.records
        if not strength > 0:
            refuse("Objective perturbation needs regularization > 0; leave it out to have it chosen.")
        check_certifiable(facts, strength)
        if strength < least * (1 - 1e-9):
            refuse(f"Kifer et al. 2012 need regularization >= {least / facts.records:.6g} here.")
        theorem = "objective" if self.noise == "gaussian" else "objective-pure"
        share = POLISH if self.noise == "gaussian" and (facts.models == 1 or facts.loss.coupled) else POLISH_ADDED

        def slack(scale: float) -> float:  # of the gradient that certifies the minimum
            return solver_slack(facts, strength, scale * longest(facts.size, self.noise))

        # The linear term in double precision, near the ideal draw; its product with the scale rounds as much again.
        drawn = 2 * draw_error(facts.size, self.noise)

        def apart(scale: float) -> float:  # the points that the solver may stop at
            return 2 * ((TOLERANCE + drawn) * scale + slack(scale)) / strength

        def polish(scale: float) -> float:
            return apart(scale) / (share * min(1.0, facts.gradient / scale))

        def released(scale: float) -> tuple[Event, ...]:
            main = Objective(
                slope=facts.radius * facts.loss.lipschitz, trace=facts.radius**2 * facts.loss.trace, strength=strength,
                scale=scale, geometry=facts.loss.geometry, outputs=facts.outputs, noise=self.noise,
                rows=facts.rows_per_person or 1,
            )  # fmt: skip
            out = polish(scale)
            moved = apart(scale) + grid_slack(out, facts.size)
            hidden = Sensitivity(moved, moved)
            return main, (Gaussian(hidden, out) if self.noise == "gaussian" else Sphere(hidden, out))

        if not budget.private:
            scale = 0.0
        elif paper:
            scale = self._paper_scale(budget, facts, strength)
        else:
            scale = smallest_scale(released, budget, guess=2 * facts.gradient / budget.epsilon)
        words = (
            f"regularization Lambda = {strength:.6g}",
            f"solved to a gradient norm of {TOLERANCE:g} x the noise scale",
        )
        return ObjectivePlan(
            noise=self.noise, scale=scale, polish_scale=polish(scale) if scale else 0.0, slack=slack(scale),
            strength=strength, events=released(scale) if scale else (), theorem=theorem, assumptions=words,
        )  # fmt: skip

    def _paper_scale(self, budget: Budget, facts: Facts, strength: float) -> float:
        """Kifer et al. 2012's noise (Gaussian), or Chaudhuri et al. 2011's (sphere), as published."""
        if self.noise == "gaussian":
            return facts.gradient * math.sqrt(8 * math.log(2 / budget.delta) + 4 * budget.epsilon) / budget.epsilon
        left = budget.epsilon - 2 * math.log1p(facts.curvature / strength)
        if left <= 0:
            least = facts.curvature / math.expm1(budget.epsilon / 4)
            refuse(f"Chaudhuri et al. 2011 need regularization >= {least / facts.records:.6g} at this epsilon.")
        return 2 * facts.gradient / left


METHODS = (
    Method(
        name="objective",
        mechanism=ObjectivePerturbation(),
        paper="Kifer et al. 2012; Redberg et al. 2023",
        about="Gaussian linear term in the objective, exact price; 'paper': Kifer et al.'s noise",
        calibrations=("proven", "paper"),
    ),
    Method(
        name="objective-chaudhuri-2011",
        mechanism=ObjectivePerturbation("sphere"),
        paper="Chaudhuri et al. 2011, Algorithm 2",
        about="pure epsilon: Gamma-norm linear term",
        calibrations=("proven", "paper"),
    ),
)
