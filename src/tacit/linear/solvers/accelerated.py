r"""Accelerated descent with a bound on its passes that rounding cannot break.

For an objective with curvatures between Lambda and L let ``theta = sqrt(Lambda/L)``. One step is

.. math:: y = \frac{x + \theta z}{1 + \theta}, \quad x^+ = y - \frac{g}{L}, \quad
          z^+ = (1 - \theta) z + \theta y - \frac{\theta}{\Lambda} g, \qquad g = \nabla F(y) + e .

With ``V = F(x) - F* + (Lambda/2)||z - w*||^2`` and e = 0 each step multiplies V by 1 - theta (Nesterov 2004, section
2.2). With errors of norm at most E, ``sqrt V`` falls by 1 - theta/2 a step until it is ``1.21 sqrt(2/Lambda) E``, and
the gradient at x is at most ``sqrt(2 L V)``: an error is multiplied by 2.42 sqrt(L/Lambda). The descent therefore works
on *changes* from a centre (:mod:`tacit.linear.solvers.centre`), whose error shrinks with the distance, and moves the
centre when the gradient norm has fallen by a factor: iterative refinement.

The proof, with all constants, is on the docs' page "Output perturbation".

Reference: Nesterov 2004, *Introductory lectures on convex optimization*, section 2.2; d'Aspremont 2008, *Smooth
optimization with approximate gradient*.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.linear.arithmetic import relative_rounding
from tacit.linear.problem import Problem
from tacit.linear.solvers.centre import Centre
from tacit.types import Array, Facts, Solution

DEEPEST, SHALLOWEST = 1e-6, 7 / 16
"""By what factor the gradient norm falls before the centre moves: as deep as rounding permits, within these."""
LOOK = 50
"""Steps between looks at the gradient at x, each a pass of its own; that at y is known without."""


def largest_condition(facts: Facts) -> float:
    """The largest L / Lambda at which rounding leaves the descent its halving: ``48 eta cond^(3/2) <= 1``."""
    return math.pow(48 * relative_rounding(facts), -2 / 3)


def reduction(facts: Facts, condition: float) -> float:
    """rho: the factor that one centre reaches, ``21 eta cond^(3/2)``, within :data:`DEEPEST` and 7/16."""
    return min(SHALLOWEST, max(DEEPEST, 21 * relative_rounding(facts) * math.pow(condition, 1.5)))


def steps_bound(condition: float, factor: float) -> int:
    """Steps after which the gradient norm has fallen by ``factor``: ``2 sqrt(cond) log(3.5 sqrt(2 cond) / rho)``."""
    return math.ceil(2 * math.sqrt(condition) * math.log(3.5 * math.sqrt(2 * condition) / factor)) + 1


def passes_bound(facts: Facts, condition: float, fall: float) -> int:
    """Passes over the records, at most, until the gradient norm is at 1/``fall`` of the first, or at its rounding.

    A centre multiplies it by 1/2, or by 4/3 rho where that is less, and takes :func:`steps_bound` steps, a look every
    :data:`LOOK`, and a few passes for itself.
    """
    factor = reduction(facts, condition)
    centres = math.ceil(math.log(max(fall, 1.0)) / -math.log(min(0.5, 4 / 3 * factor))) + 1
    steps = steps_bound(condition, factor)
    return centres * (steps + steps // LOOK + 4)


@dataclass(frozen=True)
class Accelerated:
    """Descend until the certified gradient norm is at most ``limit``. It does not stop before that."""

    limit: float

    def solve(self, problem: Problem, start: Array) -> Solution:
        """``steps`` counts passes over the records.

        Edges: ends for every problem whose condition is at most :func:`largest_condition` and whose limit is above four
        times the gradient's rounding; below that nothing is proven and it may go on for ever.
        """
        centre, passes = Centre(problem, start), 2
        smooth = centre.largest_curvature()
        condition = smooth / problem.strength
        factor = reduction(problem.facts, condition)
        most = steps_bound(condition, factor)
        while not centre.gap <= self.limit:
            norm = float(np.linalg.norm(centre.gradient))
            wanted = 0.4 * (self.limit - (centre.gap - norm))  # the rest is for the rounding at the next centre
            step, used = _descend(centre, smooth, max(factor * norm, wanted), most)
            centre = Centre(problem, centre.weights + step)
            passes += used + 2
        return Solution(centre.weights, centre.gap, passes)


def _descend(centre: Centre, smooth: float, goal: float, most: int) -> tuple[Array, int]:
    """A step from the centre to a gradient norm of at most ``goal``, and the passes it took."""
    strength = centre.problem.strength
    theta = math.sqrt(strength / smooth)
    x = z = np.zeros_like(centre.weights)
    for k in range(1, most + 1):
        y = (x + theta * z) / (1 + theta)
        gradient = centre.moved(y)
        if float(np.linalg.norm(gradient)) <= goal:
            return y, k + k // LOOK
        x = y - gradient / smooth
        z = (1 - theta) * z + theta * y - (theta / strength) * gradient
        if k % LOOK == 0 and float(np.linalg.norm(centre.moved(x))) <= goal:
            return x, k + k // LOOK
    return x, most + most // LOOK
