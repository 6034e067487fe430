r"""Influence functions of linear models with the exact Hessian, all records in one pass over blocks of rows.

With ``S(w) = sum_i loss_i(w) + (Lambda/2)||w||^2`` and H its Hessian at w, the influence of record i is

.. math:: c_i = H^{-1} \nabla\ell_i(w) \approx w_{-i} - w,

the change of the minimiser when the record is left out (the papers write (1/n) H^{-1} with the Hessian of the mean).

NOT PRIVATE: all of it is for whoever holds the records.
Reference: Koh & Liang 2017; Kang et al. 2023, equation (3) and Theorem 4.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from tacit.arguments import checked
from tacit.checks import check, check_count, check_positive, shown
from tacit.data.canonical import column
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton
from tacit.linear.solvers.searched import coupled_hessian
from tacit.linear.whole import Pieces
from tacit.types import RADII, Array, Loss

LARGEST = 4000
"""Parameters of the largest model whose Hessian is formed: 128 megabytes."""
_THIRD = {"logistic": 1 / (6 * math.sqrt(3)), "squared": 0.0}


@dataclass(frozen=True)
class Measured:
    """What leaving each record out changes, to first order. NOT PRIVATE.

    ``norms``: the length of the model's move; ``own``: the rise of the record's own loss (self-influence, never
    negative); ``test``: the rise of the mean test loss (positive: the record helps), or None without test records.
    """

    norms: Array = field(repr=False)
    own: Array = field(repr=False)
    test: Array | None = field(repr=False)


@dataclass(frozen=True)
class Influence:
    """The influence of every record on a linear model at ``weights``; build it with :meth:`at` or :func:`influence_of`.

    ``problem`` is the sum of losses and its regulariser Lambda. Softmax models have one joint Hessian; of several
    independent models take one with ``problem.column(j)``.
    """

    problem: Problem
    weights: Array = field(repr=False)
    inverse: Array = field(repr=False)

    @classmethod
    def at(cls, problem: Problem, weights: Array) -> Influence:
        """Form and invert the Hessian at these weights.

        Edges: a Hessian that is not positive definite raises and asks for a regulariser; so does a model of more
        than 4,000 parameters, or several independent models at once.
        """
        check(problem.loss.coupled or problem.outputs == 1, "Expected one model; take problem.column(j) of several.")
        check(weights.size <= LARGEST, f"Expected at most {LARGEST} parameters for an exact Hessian.")
        joint = problem.loss.coupled
        hessian = coupled_hessian(problem, weights) if joint else problem.gradient_and_hessian(weights, 2)[1]
        try:
            factor = cho_factor(hessian)
        except LinAlgError:
            raise ValueError("The Hessian is not positive definite here. Use regularization > 0.") from None
        return cls(problem, weights, np.asarray(cho_solve(factor, np.eye(len(hessian)))))

    def gradients(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of records' loss gradients, one flat row per record."""
        loss, pieces = self.problem.loss, Pieces.of(self.weights)
        for block in self.problem.records.blocks():
            slopes, design = loss.slope(pieces.scores(block.rows), block.targets), block.design()
            rows = slice(block.first, block.first + block.count)
            yield rows, (design[:, :, None] * slopes[:, None, :]).reshape(len(design), -1)

    def vectors(self) -> Iterator[tuple[slice, Array]]:
        """Blocks of influence vectors c_i, one flat row per record (the weights' order): never all n at once."""
        for rows, gradients in self.gradients():
            yield rows, gradients @ self.inverse

    def vector(self, record: int) -> Array:
        """c_i of one record, in the shape of the weights: how the model moves when it is left out."""
        one = replace(self.problem, records=self.problem.records.take(np.array([record])))
        (_, row), *_ = replace(self, problem=one).vectors()
        return np.asarray(row[0].reshape(self.weights.shape))

    def measure(self, test: Problem | None = None) -> Measured:
        """Norm, self-influence and (with a test problem of the same design) influence on the mean test loss, of all n.

        The test problem's targets are coded as those of this one: -1 and +1 for a loss of labels.
        One blocked pass: n d^2 multiplications, the same as one Newton step, and no temporary larger than a block.
        """
        count = self.problem.records.count
        norms, own = np.zeros(count), np.zeros(count)
        rises = None if test is None else np.zeros(count)
        direction = np.zeros(0)
        if test is not None:
            plain = replace(test, strength=0.0, linear=None)
            direction = plain.gradient(self.weights).ravel() / test.records.count
        for rows, gradients in self.gradients():
            moves = gradients @ self.inverse
            norms[rows] = np.sqrt(np.einsum("ij,ij->i", moves, moves))
            own[rows] = np.einsum("ij,ij->i", moves, gradients)
            if rises is not None:
                rises[rows] = moves @ direction
        return Measured(norms, own, rises)

    def error_bound(self, zeta: float | None = None) -> float:
        """Theorem 4's bound on ``||(w_-i - w) - c_i||`` for every record, when w is the minimiser.

        ``zeta`` is the smallest curvature of the mean objective; None takes lambda = Lambda/n, which holds everywhere.
        """
        facts = self.problem.facts
        check(facts.loss.name in _THIRD, f"Theorem 4 needs a Lipschitz Hessian; none is known for {facts.loss.name}.")
        check(
            facts.loss.name != "squared" or not math.isfinite(facts.loss.lipschitz),
            "Theorem 4 needs a Lipschitz Hessian; the bounded square has a corner. Call error_bound with constants.",
        )
        convexity = self.problem.strength / facts.records if zeta is None else zeta
        third = facts.radius**3 * _THIRD[facts.loss.name]
        return error_bound(facts.records, facts.gradient, facts.curvature, third, convexity)


@checked
def influence_of(
    X: Any,
    y: Any,
    *,
    loss: Loss | None = None,
    regularization: float = 1e-3,
    clip: float = 1.0,
    intercept: float = 0.5,
) -> Influence:
    """Train the plain, non-private minimiser and give its influence functions.

    ``y``: for a loss of labels (logistic, Huber hinge) any two values, numbers or text: the first in sorted order
    counts as -1, the second as +1; for the squared loss finite numbers. ``regularization`` is lambda of the mean
    objective; rows are clipped to ``clip`` and get a constant coordinate of ``intercept`` times the clip, as in
    :mod:`tacit.estimators.base`. NOT PRIVATE.
    """
    check_positive("regularization", regularization)
    loss = Logistic() if loss is None else loss
    check(isinstance(loss, Loss) and not isinstance(loss, type), f"Expected loss to be a loss, not {shown(loss)}.")
    check(not loss.coupled, "Expected a loss of one score. Of a softmax model, build Influence.at(problem, weights).")
    least, most = RADII
    for name, value in (("clip", clip), ("intercept", intercept)):
        usual = least <= value <= most or (name == "intercept" and value == 0)
        check(usual, f"Expected {name}={shown(value)} to be between {least:g} and {most:g}.")
    clip, intercept = float(clip), float(intercept)
    targets = _values(y) if loss.geometry == "two-sided" else _signs(y)
    problem = Problem(Records.build(X, targets, clip, intercept * clip), loss, strength=regularization * len(targets))
    solution = Newton(1e-9 * problem.facts.gradient * math.sqrt(len(targets))).solve(problem)
    return Influence.at(problem, solution.weights)


@checked
def error_bound(records: int, lipschitz: float, smoothness: float, third: float, zeta: float) -> float:
    r"""Theorem 4 of Kang et al. 2023: ``(2 L G + C G^2 / zeta) / (zeta^2 n^2)``.

    It holds when the objective without the record is zeta-strongly convex, as with a regulariser lambda >= zeta; then
    half of it suffices (docs page "Heterogeneity"). With zeta taken at the minimiser alone, as the paper states it,
    it is false.
    """
    check_count("records", records)
    least, most = RADII
    check(least <= zeta <= most, f"Expected zeta={zeta} to be between {least:g} and {most:g}.")
    for name, value in (("lipschitz", lipschitz), ("smoothness", smoothness), ("third", third)):
        check(0 <= value <= most, f"Expected {name}={value} to be between 0 and {most:g}.")
    return (2 * smoothness * lipschitz + third * lipschitz**2 / zeta) / (zeta * records) ** 2


def _signs(y: Any) -> Array:
    """Two labels as -1 and +1, in their sorted order; no sentence quotes one."""
    labels = np.asarray(column(y)).ravel()
    try:
        known, codes = np.unique(labels, return_inverse=True)
    except TypeError:  # labels of several kinds, None among them, have no order
        known, codes = np.array([]), np.array([])
    missing = labels.dtype.kind == "f" and bool(np.isnan(labels).any())
    check(
        len(known) == 2 and not missing,
        "Expected y to contain exactly two labels and no missing one; with several classes, measure one against the "
        "rest.",
    )
    return np.asarray(2.0 * codes - 1.0)


def _values(y: Any) -> Array:
    """Targets as finite numbers; no sentence quotes one."""
    try:
        targets = np.asarray(column(y), dtype=np.float64).ravel()
    except (TypeError, ValueError):
        targets = np.array([np.nan])
    check(np.isfinite(targets).all(), "Expected finite numbers as targets of this loss.")
    return targets
