r"""Sufficient statistics for the squared loss: release ``A = sum x x^T`` and ``c = sum y x`` once, then solve.

A is vectorised isometrically (off-diagonal entries times sqrt 2): noise N(0, s_A^2) on its diagonal and
N(0, s_A^2/2) off it, symmetric; c gets N(0, s_c^2). In units of the noise one record contributes
``phi = (x x^T / s_A, y x / s_c)``. With a = R^4/s_A^2 and b = R^2 B^2/s_c^2:

* add-remove: ``||phi||^2 <= a + b``;
* replace-one: ``||phi - phi'||^2 = ||phi||^2 + ||phi'||^2 - 2 (u^2/s_A^2 + y y' u/s_c^2)`` with u = x.x', whose last term is smallest
  at ``|u| = min(R^2, B^2 s_A^2/(2 s_c^2))``, so it is at most ``2a + 2b + b^2/(2a)`` if b <= 2a, else ``4b``.
  (The two worst cases taken apart would give 2a + 4b: they cannot happen together.)

All that follows is post-processing, the choice of the ridge strength among many included.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.calibrate import smallest_scale
from tacit.events import Event, Gaussian, Sensitivity
from tacit.noise import Source, gaussian, grid_slack, release
from tacit.problem import Problem, rounding_slack
from tacit.types import Array, Budget, Calibration, Facts, Site

RATIO = 1.0
"""b/a: how the budget is shared between second moments and cross moments."""


def joint_sensitivity(ratio: float) -> Sensitivity:
    """Sensitivities of phi in units where a = 1 and b = ratio."""
    replaced = 2 + 2 * ratio + ratio**2 / 2 if ratio <= 2 else 4 * ratio
    return Sensitivity(math.sqrt(1 + ratio), math.sqrt(replaced))


@dataclass(frozen=True)
class StatisticsPlan:
    """Calibrated moments. ``scale`` is the noise in units where one record's second moment has norm at most 1."""

    scale: float
    moment_scale: float
    cross_scale: float
    regularization: float | None
    events: tuple[Event, ...]
    theorem: str
    assumptions: tuple[str, ...]

    def run(self, problem: Problem, source: Source) -> Array:
        """One pass for the moments, one release, then the solve."""
        moments, cross = second_moments(problem)
        size = len(cross)
        if self.scale:
            upper = np.triu_indices(size, 1)
            flat = np.concatenate([np.diag(moments), math.sqrt(2) * moments[upper]]) / self.moment_scale
            noisy = release(
                np.concatenate([flat, cross[:, 0] / self.cross_scale]), 1.0, gaussian(source, (len(flat) + size,))
            )
            moments = np.diag(noisy[:size] * self.moment_scale)
            moments[upper] = noisy[size : len(flat)] * (self.moment_scale / math.sqrt(2))
            moments = moments + np.triu(moments, 1).T
            cross = noisy[len(flat) :, None] * self.cross_scale
        return ridge(moments, cross, self.moment_scale, self.cross_scale, self.regularization)


def second_moments(problem: Problem) -> tuple[Array, Array]:
    """``sum x x^T`` and ``sum y x`` over the design, in one pass."""
    records = problem.records
    moments = np.zeros((records.features, records.features))
    cross = np.zeros((records.features, 1))
    for block, rows in records.blocks():
        targets = records.targets[rows]
        moments += records.hessian(block, rows, np.ones(len(targets)))
        cross += records.gather(block, rows, targets)
    return moments, cross


def ridge(moments: Array, cross: Array, moment_scale: float, cross_scale: float, strength: float | None) -> Array:
    """Solve in the eigenbasis of the noisy moments, never with an eigenvalue below the noise."""
    values, vectors = np.linalg.eigh(moments)
    floor = 1.5 * moment_scale * math.sqrt(2 * len(cross))
    lifted = np.maximum(values, 0.0) + max(floor, strength or 0.0, 1e-9)
    return np.asarray(vectors @ ((vectors.T @ cross) / lifted[:, None]))


@dataclass(frozen=True)
class SufficientStatistics:
    """Sufficient-statistics perturbation; ``ratio`` shares the budget between cross and second moments."""

    ratio: float = RATIO
    site: Site = "objective"

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The squared loss, whose minimiser depends on the records through two sums."""
        if facts.loss.name != "squared":
            return f"Sufficient statistics need the squared loss; {facts.loss.name} has none. Use method='gradient'."
        if calibration == "paper":
            return "Sufficient statistics have no published noise of their own here. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> StatisticsPlan:
        """One joint Gaussian mechanism in whitened units."""
        bound = facts.loss.lipschitz / 2
        base = joint_sensitivity(self.ratio).times(1 + rounding_slack(facts))
        count = facts.features * (facts.features + 3) // 2

        def released(scale: float) -> tuple[Event, ...]:
            return (Gaussian(base.plus(grid_slack(1.0, count) * scale), scale),)

        scale = smallest_scale(released, budget)
        words = (f"targets within {bound:g}", f"cross to second moments' share of the budget {self.ratio:g}")
        return StatisticsPlan(
            scale,
            scale * facts.radius**2,
            scale * facts.radius * bound / math.sqrt(self.ratio),
            None if regularization is None else regularization * facts.records,
            released(scale) if scale else (),
            "statistics",
            words,
        )
