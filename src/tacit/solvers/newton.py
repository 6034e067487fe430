"""Newton's method in double precision, with a certified gradient norm at the point it returns.

For a strongly convex objective with constant Lambda, ``||w - w*|| <= ||grad F(w)|| / Lambda``: the gap is what proofs need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit.problem import Problem, rounding_slack
from tacit.types import Array, Solution

DENSE_FEATURES = 1500
"""Above this many features no Hessian is formed: steps come from conjugate gradients on Hessian products."""


@dataclass(frozen=True)
class Newton:
    """Damped Newton steps until the gradient norm is below ``tolerance``.

    A step is accepted when the objective still falls at its end (then, by convexity, it fell all the way), when it halves the
    smallest gradient norm seen (that can happen only so often), or when it lowers the objective (Armijo): so the
    method converges from anywhere, kinks of the Huber hinge included. Independent models are solved one by one; softmax,
    and designs wider than :data:`DENSE_FEATURES`, use conjugate gradients.
    """

    tolerance: float
    steps: int = 1000

    def solve(self, problem: Problem) -> Solution:
        """Minimise; the gap bounds the norm of the exact gradient, rounding of its computation included."""
        if problem.loss.coupled or problem.outputs == 1:
            return self._solve_one(problem)
        inner = replace(self, tolerance=self.tolerance / math.sqrt(problem.outputs))
        parts = [inner._solve_one(problem.column(j)) for j in range(problem.outputs)]
        weights = np.hstack([part.weights for part in parts])
        gap = math.hypot(*(part.gap for part in parts))
        return Solution(weights, gap, max(part.steps for part in parts))

    def _solve_one(self, problem: Problem) -> Solution:
        weights = problem.start()
        dense = not problem.loss.coupled and problem.records.features <= DENSE_FEATURES
        rounding = 0.5 * rounding_slack(problem.facts) * problem.facts.gradient
        gradient, hessian = _derivatives(problem, weights, dense)
        best = norm = float(np.linalg.norm(gradient))
        step = 0
        while norm > self.tolerance and step < self.steps:
            step += 1
            direction = _direction(problem, weights, gradient, hessian, self.tolerance / norm)
            fall = float((gradient * direction).sum())
            size, accepted = 1.0, False
            while not accepted and size > 1e-12:
                trial = weights - size * direction
                trial_gradient, trial_hessian = _derivatives(problem, trial, dense)
                trial_norm = float(np.linalg.norm(trial_gradient))
                accepted = (
                    float((trial_gradient * direction).sum()) >= 0
                    or trial_norm <= max(0.5 * best, self.tolerance)
                    or _descends(problem, weights, trial, 1e-4 * size * fall)
                )
                size *= 0.5
            if not accepted:
                break
            weights, gradient, hessian, norm = trial, trial_gradient, trial_hessian, trial_norm
            best = min(best, norm)
        return Solution(weights, norm + rounding, step)


def _derivatives(problem: Problem, weights: Array, dense: bool) -> tuple[Array, Array | None]:
    return problem.gradient_and_hessian(weights) if dense else (problem.gradient(weights), None)


def _descends(problem: Problem, weights: Array, trial: Array, decrease: float) -> bool:
    return float(problem.value(trial).sum()) <= float(problem.value(weights).sum()) - decrease


def _direction(problem: Problem, weights: Array, gradient: Array, hessian: Array | None, goal: float) -> Array:
    """The Newton direction: by Cholesky, or by conjugate gradients to a residual that shrinks with the gradient."""
    if hessian is not None:
        try:
            return np.asarray(cho_solve(cho_factor(hessian), gradient))
        except np.linalg.LinAlgError:  # singular in floating point: a lifted Hessian still gives a descent direction
            lift = 1e-10 * float(np.trace(hessian)) * np.eye(len(hessian))
            return np.asarray(cho_solve(cho_factor(hessian + lift), gradient))
    residual, direction = gradient.copy(), np.zeros_like(gradient)
    search = residual.copy()
    square = start = float((residual**2).sum())
    target = max(min(0.1, math.sqrt(start)), 0.3 * goal) ** 2 * start
    for _ in range(max(50, min(gradient.size, 1000))):
        image = problem.hessian_times(weights, search)
        size = square / float((search * image).sum())
        direction += size * search
        residual -= size * image
        following = float((residual**2).sum())
        if following <= target:
            break
        search = residual + (following / square) * search
        square = following
    return direction
