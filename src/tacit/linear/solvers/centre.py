r"""The objective seen from one point c: its gradient there, and how the gradient changes from there.

``grad F(c + s) = grad F(c) + sum_i x_i [slope(z_i + x_i.s) - slope(z_i)] + Lambda s``, the scores z computed once. The
bracket is the loss's ``change``, whose error is a few ulps of ``x_i.s``, so the error of the whole sum shrinks with s:

.. math:: \|\text{computed} - \text{exact}\| \le \eta L \|s\|, \qquad \eta = (d + k + m + n/m + 64)\, 2^{-53}

for d features, k scores, n records added up in blocks of m, and L the largest curvature of the objective. What
remains is the rounding of the n scores at c. It is the same for every s, so it is that of *another* objective, as
smooth and as convex, whose gradient is nowhere farther from the true one than rounding makes it.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from tacit.linear.problem import Problem, blocks_of
from tacit.rounding import border
from tacit.types import Array, Facts

UNIT = 2.0**-53
DENSE_SIZE = 1500
"""Up to this many features the largest curvature is that of the Gram matrix; above, the sum of squared row norms."""


def rows_at_once(records: int) -> int:
    """m: blocks of about sqrt(n) rows, so that m + n/m is small; 64 at least, which is where calls stop to matter."""
    return max(64, math.isqrt(records))


def relative_rounding(facts: Facts) -> float:
    """eta: the relative error of a change of the gradient, from public facts."""
    several = facts.rows_per_person or 1
    rows = facts.records * several
    m = min(rows, rows_at_once(rows))
    return (facts.features + facts.outputs + m + several - 1 + rows / m + 64) * UNIT


def gradient_rounding(facts: Facts, reach: float) -> float:
    """How far a computed gradient can be from the exact one, for weights within the norm ``reach``.

    Half of :func:`tacit.linear.problem.rounding_slack`, which is for two sums, times G; and sharper for what is not
    clipped: a score is wrong by at most (d + 8) ulps of the norms of row and weights, and a slope by the loss's
    curvature times that. The 64 ulps of a slope hold its own evaluation, a margin's a quarter of ulps included.
    """
    n, (m, blocks) = facts.records, blocks_of(facts)
    sums = facts.features + facts.outputs + m + blocks + 64
    scores = (facts.features + 8) * (1 + facts.radius * reach) * facts.loss.smoothness / facts.loss.lipschitz
    return (n + 1) * (sums + scores) * UNIT * facts.gradient


def linear_rounding(linear: float) -> float:
    """What adding a linear term of this norm to a gradient can round off: it is added once, to a sum of that size."""
    return 8 * UNIT * linear


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
    def scores(self) -> Array:
        """Every record's scores at the centre."""
        records = self.problem.records
        parts = [records.predict(block, rows, self.weights) for block, rows in self._blocks()]
        return np.vstack(parts)

    @cached_property
    def gradient(self) -> Array:
        """The gradient at the centre, from these very scores."""
        problem, total = self.problem, self.problem.strength * self.weights
        for block, rows in self._blocks():
            slopes = problem.loss.slope(self.scores[rows], problem.records.targets[rows])
            total = total + problem.records.gather(block, rows, slopes)
        return total if problem.linear is None else total + problem.linear

    @cached_property
    def gap(self) -> float:
        """A bound on the norm of the exact gradient at the centre."""
        return gap_at(self.problem, self.weights, float(np.linalg.norm(self.gradient)))

    def moved(self, step: Array) -> Array:
        """The gradient at ``centre + step``: one pass over the records."""
        problem, total = self.problem, self.gradient + self.problem.strength * step
        for block, rows in self._blocks():
            along = problem.records.predict(block, rows, step)
            changes = problem.loss.change(self.scores[rows], problem.records.targets[rows], along)
            total = total + problem.records.gather(block, rows, changes)
        return total

    def best_size(self, direction: Array) -> float:
        """The t > 0 that minimises the objective along ``centre + t direction``, a descent direction, to a thousandth.

        The derivative along the line, ``<grad, p> + sum_i <u_i, change_i(t u_i)> + t Lambda ||p||^2`` with u = X p,
        increases with t and takes no pass over the rows: it is bracketed by doubling, then bisected.
        """
        problem, records = self.problem, self.problem.records
        along = np.vstack([records.predict(block, rows, direction) for block, rows in self._blocks()])
        fall = float((self.gradient * direction).sum())
        stiff = problem.strength * float((direction**2).sum())

        def falls(t: float) -> bool:  # at most until t = -fall / stiff
            change = problem.loss.change(self.scores, records.targets, t * along)
            return fall + float(records.shares.weigh(along * change, slice(None)).sum()) + t * stiff < 0

        return border(falls, relative=1e-3, halvings=100)[1]

    def largest_curvature(self) -> float:
        """L: at least the largest eigenvalue of every Hessian, from the rows; at most the public n beta + Lambda."""
        records, smooth = self.problem.records, self.problem.loss.smoothness
        top = float(records.shares.weigh(records.design.norms**2, slice(None)).sum())
        if records.features <= DENSE_SIZE:
            gram = np.zeros((records.features, records.features))
            for block, rows in records.blocks():
                records.add_hessian(gram, block, rows, np.ones(rows.stop - rows.start))
            top = min(top, float(np.linalg.eigvalsh(gram)[-1]) + 1e-6 * top)
        return smooth * top + self.problem.strength

    def _blocks(self) -> Iterator[tuple[Any, slice]]:
        return self.problem.records.blocks(rows_at_once(self.problem.records.rows))
