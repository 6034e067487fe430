"""Newton steps of the best size: for objectives whose curvature changes abruptly, such as that of a narrow hinge.

Each step goes to the minimum along the Newton direction, found from changes of slopes (:meth:`Centre.best_size`), so
that neither values of the objective nor steps that are halved again and again stand in the way. It needs a few dozen
steps where ordinary Newton steps need thousands. There is no bound on their number, so there is a limit, and
:class:`~tacit.linear.solvers.accelerated.Accelerated` goes on from the best point.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from tacit.linear.parts import JointHessian
from tacit.linear.problem import Problem
from tacit.linear.solvers.centre import Centre
from tacit.linear.solvers.newton import DENSE_FEATURES, derivatives, newton_direction
from tacit.linear.whole import Pieces
from tacit.types import Array, Solution

COUPLED_SIZE = 400
"""Up to this many parameters the Hessian of coupled scores is formed; above, its products are used."""


@dataclass(frozen=True)
class Searched:
    """At most ``steps`` Newton steps of the best size, until the certified gradient norm is at most ``limit``."""

    limit: float
    steps: int = 300

    def solve(self, problem: Problem, start: Array) -> Solution:
        """The point of the smallest gap that was seen."""
        best = centre = Centre(problem, start)
        step = 0
        while best.gap > self.limit and step < self.steps:
            step += 1
            direction = -_direction(problem, centre)
            if not float((centre.gradient * direction).sum()) < 0:  # rounding has left no descent in it
                break
            following = centre.weights + centre.best_size(direction) * direction
            if np.array_equal(following, centre.weights):
                break
            centre = Centre(problem, following)
            best = centre if centre.gap < best.gap else best
        return Solution(best.weights, best.gap, step)


def _direction(problem: Problem, centre: Centre) -> Array:
    if problem.loss.coupled and centre.weights.size <= COUPLED_SIZE:
        hessian: Array | None = coupled_hessian(problem, centre.weights)
    else:
        dense = not problem.loss.coupled and problem.records.features <= DENSE_FEATURES
        hessian = derivatives(problem, centre.weights, dense)[1]
    if hessian is None:
        return newton_direction(problem, centre.weights, centre.gradient, None, 0.1)
    flat = newton_direction(problem, centre.weights, centre.gradient.reshape(-1, 1), hessian, 0.0)
    return flat.reshape(centre.weights.shape)


def coupled_hessian(problem: Problem, weights: Array) -> Array:
    """The Hessian of several coupled scores, in the order of ``weights.ravel()``."""
    features, outputs = weights.shape
    pairs = itertools.combinations_with_replacement(range(outputs), 2)
    sums = problem.records.add_up(JointHessian(problem.loss, Pieces.of(weights)))
    total = np.zeros((features, outputs, features, outputs))
    for (i, j), matrix in zip(pairs, sums, strict=True):
        total[:, i, :, j] = total[:, j, :, i] = matrix
    hessian = total.reshape(weights.size, weights.size)
    hessian[np.diag_indices(weights.size)] += problem.strength
    return hessian
