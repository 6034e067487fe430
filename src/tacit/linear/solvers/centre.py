r"""The objective seen from one point c: its gradient there, and how the gradient changes from there.

``grad F(c + s) = grad F(c) + sum_i x_i [slope(z_i + x_i.s) - slope(z_i)] + Lambda s`` with the scores z at c. The
bracket is the loss's ``change``, whose error is a few ulps of ``x_i.s``, and sums are exact, so the error of the whole
shrinks with s:

.. math:: \|\text{computed} - \text{exact}\| \le \eta L \|s\|, \qquad \eta = (d + k + 72)\, 2^{-53}

for d features, k scores, and L the largest curvature of the objective. What remains is the rounding of the n scores at
c. It is the same for every s, so it is that of *another* objective, as smooth and as convex, whose gradient is nowhere
farther from the true one than rounding makes it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from tacit.linear.arithmetic import gradient_rounding, linear_rounding
from tacit.linear.parts import NormSquares, SecondMoment, Slants
from tacit.linear.problem import Problem
from tacit.linear.whole import Pieces
from tacit.types import Array

DENSE_SIZE = 1500
"""Up to this many features the largest curvature is that of the Gram matrix; above, the sum of squared row norms."""
LADDER, FINER = 24, 31
"""Sizes of a step that one pass tries: powers of two at first, then evenly between two of them."""


def gap_at(problem: Problem, weights: Array, norm: float) -> float:
    """A bound on the norm of the exact gradient: the computed one, its rounding, and that of adding the linear term."""
    linear = 0.0 if problem.linear is None else float(np.linalg.norm(problem.linear))
    return norm + gradient_rounding(problem.facts, float(np.linalg.norm(weights))) + linear_rounding(linear)


@dataclass(frozen=True)
class Centre:
    """The objective around ``weights``."""

    problem: Problem
    weights: Array = field(repr=False)

    @cached_property
    def gradient(self) -> Array:
        """The gradient at the centre."""
        return self.problem.gradient(self.weights)

    @cached_property
    def gap(self) -> float:
        """A bound on the norm of the exact gradient at the centre."""
        return gap_at(self.problem, self.weights, float(np.linalg.norm(self.gradient)))

    def moved(self, step: Array) -> Array:
        """The gradient at ``centre + step``: one pass over the records."""
        changed = self.problem.changed_gradient(self.weights, step)
        return self.gradient + self.problem.strength * step + changed

    def best_size(self, direction: Array) -> float:
        """The t > 0 that minimises the objective along ``centre + t direction``, a descent direction, to a thousandth.

        The derivative along the line, ``<grad, p> + sum_i <u_i, change_i(t u_i)> + t Lambda ||p||^2`` with u = X p,
        increases with t; it is above 0 from ``-<grad, p> / (Lambda ||p||^2)`` on. A pass tries many sizes at once.
        """
        fall = float((self.gradient * direction).sum())
        stiff = self.problem.strength * float((direction**2).sum())
        top = 4.0
        for _ in range(1000):
            sizes = [top * 2.0**-k for k in range(LADDER, -1, -1)]
            rising = self._rising(direction, sizes, fall, stiff)
            if not any(rising):
                top *= 2.0**LADDER
            elif rising[0]:
                top *= 2.0**-LADDER
            else:
                break
        high = sizes[rising.index(True)]
        low = 0.5 * high
        for _ in range(2):
            sizes = list(np.linspace(low, high, FINER + 2)[1:])
            rising = [*self._rising(direction, sizes[:-1], fall, stiff), True]
            place = rising.index(True)
            low, high = (sizes[place - 1] if place else low), sizes[place]
        return float(high)

    def _rising(self, direction: Array, sizes: list[float], fall: float, stiff: float) -> list[bool]:
        """Whether the objective rises at each of these sizes."""
        problem, length = self.problem, float(np.linalg.norm(direction))
        part = Slants(problem.loss, Pieces.of(self.weights), Pieces.of(direction), tuple(map(float, sizes)), length)
        slants = problem.records.add_up(part)
        return [fall + float(slant) + size * stiff >= 0 for slant, size in zip(slants, sizes, strict=True)]

    def largest_curvature(self) -> float:
        """L: at least the largest eigenvalue of every Hessian, from the rows; at most the public n beta + Lambda."""
        records, smooth = self.problem.records, self.problem.loss.smoothness
        top = float(records.add_up(NormSquares())[0])
        if records.features <= DENSE_SIZE:
            (gram,) = records.add_up(SecondMoment(2))
            top = min(top, float(np.linalg.eigvalsh(gram)[-1]) + 1e-6 * top)
        return smooth * top + self.problem.strength
