"""Newton's method in double precision, with a certified gradient norm at the point it returns.

For a strongly convex objective with constant Lambda, ``||w - w*|| <= ||grad F(w)|| / Lambda``: the gap is what proofs
need.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from tacit.linear.arithmetic import gradient_rounding, linear_rounding
from tacit.linear.parts import ManyHessians
from tacit.linear.problem import Problem
from tacit.linear.records import block_rows
from tacit.linear.solvers.centre import gap_at
from tacit.linear.whole import Pieces
from tacit.types import Array, Facts, Solution

DENSE_FEATURES = 1500
"""Above this many features no Hessian is formed: steps come from conjugate gradients on Hessian products."""
TOGETHER_FEATURES = 64
"""Up to this many features independent models are solved together: their Hessians come out of one matrix product."""
TOGETHER_NUMBERS = 1 << 18
"""Predictions held at once by models that are solved together: 2 megabytes, which stay in cache."""


@dataclass(frozen=True)
class Newton:
    """Damped Newton steps until the gradient norm is below ``tolerance``, or below its own rounding.

    A step is accepted when the objective still falls at its end (then, by convexity, it fell all the way), when it
    halves the smallest gradient norm seen (that can happen only so often), or when it lowers the objective (Armijo):
    so the method converges from anywhere, kinks of the Huber hinge included. Independent models of few features are
    solved together, others one by one; softmax, and designs wider than :data:`DENSE_FEATURES`, use conjugate
    gradients.
    """

    tolerance: float
    steps: int = 1000

    def solve(self, problem: Problem) -> Solution:
        """Minimise; the gap bounds the norm of the exact gradient, rounding of its computation included."""
        if problem.loss.coupled or problem.outputs == 1:
            return self._solve_one(problem)
        inner = replace(self, tolerance=self.tolerance / math.sqrt(problem.outputs))
        weights, gaps, steps = inner.solve_columns(problem)
        return Solution(weights, float(np.linalg.norm(gaps)), steps)

    def solve_columns(self, problem: Problem) -> tuple[Array, Array, int]:
        """Minimise each of many independent models to ``tolerance``: the weights, the gap of each, the most steps.

        The steps are those that each model would take by itself. With few features every pass is a few matrix products
        for all of them.
        """
        if problem.records.features > TOGETHER_FEATURES:
            alone = [self._solve_one(problem.column(j)) for j in range(problem.outputs)]
            together = np.hstack([part.weights for part in alone])
            return together, np.array([part.gap for part in alone]), max(part.steps for part in alone)
        rows = min(problem.records.count, block_rows(problem.records.features))
        width = max(1, TOGETHER_NUMBERS // max(1, rows))
        starts = range(0, problem.outputs, width)
        parts = [self._solve_together(problem.columns(np.arange(i, min(i + width, problem.outputs)))) for i in starts]
        weights, gaps = np.hstack([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
        return weights, gaps, max(part[2] for part in parts)

    def _solve_together(self, problem: Problem) -> tuple[Array, Array, int]:
        weights, gradient = problem.start(), problem.gradient(problem.start())
        one = replace(problem, outputs=1).facts
        norms = np.linalg.norm(gradient, axis=0)
        best = norms.copy()
        going = np.flatnonzero(norms > self._goal(one, weights))
        step = 0
        while going.size and step < self.steps:
            step += 1
            direction = _directions(_hessians(problem.columns(going), weights[:, going]), gradient[:, going])
            falls = (gradient[:, going] * direction).sum(axis=0)
            moved, size = np.zeros(going.size, dtype=bool), 1.0
            while size > 1e-20 and not moved.all():
                left = np.flatnonzero(~moved)
                at = going[left]
                part, trial = problem.columns(at), weights[:, at] - size * direction[:, left]
                trial_gradient = part.gradient(trial)
                trial_norms = np.linalg.norm(trial_gradient, axis=0)
                good = (trial_gradient * direction[:, left]).sum(axis=0) >= 0
                good |= trial_norms <= np.maximum(0.5 * best[at], self.tolerance)
                if not good.all():
                    good |= part.value(trial) <= part.value(weights[:, at]) - 1e-4 * size * falls[left]
                weights[:, at[good]], gradient[:, at[good]] = trial[:, good], trial_gradient[:, good]
                norms[at[good]], moved[left[good]] = trial_norms[good], True
                size *= 0.5
            best = np.minimum(best, norms)
            going = going[moved & (norms[going] > self._goal(one, weights[:, going]))]
        reach = np.linalg.norm(weights, axis=0)
        rounding = np.array([gradient_rounding(one, float(size)) for size in reach])
        if problem.linear is not None:
            rounding += [linear_rounding(float(size)) for size in np.linalg.norm(problem.linear, axis=0)]
        return weights, norms + rounding, step

    def _goal(self, facts: Facts, weights: Array) -> Array:
        """The gradient norm to reach, of each column; of coupled scores, which count together, the first holds."""
        lengths = np.linalg.norm(weights, axis=None if facts.loss.coupled else 0)
        return np.array([max(self.tolerance, gradient_rounding(facts, float(long))) for long in np.atleast_1d(lengths)])

    def _solve_one(self, problem: Problem) -> Solution:
        weights = problem.start()
        dense = not problem.loss.coupled and problem.records.features <= DENSE_FEATURES
        gradient, hessian = derivatives(problem, weights, dense)
        best = norm = float(np.linalg.norm(gradient))
        step = 0
        while norm > self._goal(problem.facts, weights)[0] and step < self.steps:
            step += 1
            direction = newton_direction(problem, weights, gradient, hessian, self.tolerance / norm)
            fall = float((gradient * direction).sum())
            size, accepted = 1.0, False
            while not accepted and size > 1e-20:  # a kink may be that near when Lambda is tiny
                trial = weights - size * direction
                trial_gradient, trial_hessian = derivatives(problem, trial, dense)
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
        return Solution(weights, gap_at(problem, weights, norm), step)


def derivatives(problem: Problem, weights: Array, dense: bool) -> tuple[Array, Array | None]:
    """The gradient, and the Hessian of one scalar model if it is to be formed."""
    return problem.gradient_and_hessian(weights) if dense else (problem.gradient(weights), None)


def _hessians(problem: Problem, weights: Array) -> Array:
    """Hessians of independent models, models x features x features.

    ``H_j = sum_i c_ij x_i x_i^T``: the curvatures, models x rows, times the products of all pairs of features,
    rows x d(d+1)/2.
    """
    size = problem.records.features
    upper, lower = np.triu_indices(size)
    (packed,) = problem.records.add_up(ManyHessians(problem.loss, Pieces.of(weights, 1)))
    hessians = np.empty((len(packed), size, size))
    hessians[:, upper, lower] = hessians[:, lower, upper] = packed
    hessians[:, np.arange(size), np.arange(size)] += problem.strength
    return hessians


def _directions(hessians: Array, gradient: Array) -> Array:
    """Newton directions of independent models, features x models."""
    right = gradient.T[:, :, None]
    try:
        return np.asarray(np.linalg.solve(hessians, right)[:, :, 0].T)
    except np.linalg.LinAlgError:  # one is singular in floating point: lifted ones still give descent directions
        lift = 1e-10 * np.trace(hessians, axis1=1, axis2=2)[:, None, None] * np.eye(hessians.shape[1])
        return np.asarray(np.linalg.solve(hessians + lift, right)[:, :, 0].T)


def _descends(problem: Problem, weights: Array, trial: Array, decrease: float) -> bool:
    return float(problem.value(trial).sum()) <= float(problem.value(weights).sum()) - decrease


def newton_direction(problem: Problem, weights: Array, gradient: Array, hessian: Array | None, goal: float) -> Array:
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
