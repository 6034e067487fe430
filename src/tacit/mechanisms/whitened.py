r"""Training in coordinates that a noisy second moment makes even: a preconditioner that is paid for.

``C = sum_i x_i x_i^T`` of the design rows is released once, with symmetric Gaussian noise, for a share of the budget. A
row's part has the Frobenius norm ``||x||^2 <= R^2``, and two parts' inner product is not negative, so the sensitivity
is R^2 (add-remove) and sqrt(2) R^2 (replace-one). Everything about the map follows from that release: eigenvalues of C
above the noise's edge ``s sqrt(2 d)`` are divided out, the others are divided by the edge as if they were there, and
one number makes rows R long again in the root mean square. Each row goes through the map and is clipped to R once
more; then another mechanism trains, calibrated together with the first release, on rows of the same public facts as
before. The weights are mapped back: scores are linear in the rows as they were.

A mapped row is a function of its record and the map, to the last bit. Rows and map are rounded to 26 bits first; then
all sums of products are whole multiples of one step, below 2**53 of them, and exact in whatever order they are added.

The proof is on the docs' page "Whitened rows".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit.checks import check
from tacit.data.rows import Design
from tacit.linear.expected import expected_curvature
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem, Records, hessian_slack
from tacit.linear.symmetric import flat, square
from tacit.mechanisms.base import Mechanism, Method, Plan
from tacit.mechanisms.defaults import mu, whitened_length
from tacit.mechanisms.gradient import GradientPerturbation
from tacit.mechanisms.objective import ObjectivePerturbation
from tacit.mechanisms.samplers import Poisson
from tacit.privacy.events import Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution, Spread

SHARE, EDGE = 0.08, 0.6
"""The part of mu^2 that the second moment costs, and the floor under its eigenvalues in units of the noise's edge."""
WIDEST = 5000
"""The most columns: the release has d (d + 1)/2 numbers, and their eigenvalues take d^3 operations."""
WIDER = 1.4
"""What the inner noise's spread is multiplied by: the map is noisy too, and scores are more curved here than there.
Measured on refits of one table (docs page "Additive models")."""
BITS = 26
"""Of rows and of the map: products of both, added up, stay below 2**53 steps."""


def second_moment(problem: Problem) -> Array:
    """``sum_i x_i x_i^T`` over design rows, the intercept's constant among them."""
    records, size = problem.records, problem.records.features
    total = np.zeros((size, size))
    for block, rows in records.blocks():
        records.add_hessian(total, block, rows, np.ones(rows.stop - rows.start))
    return total


def whitening(second: Array, floor: float, records: int, length: float) -> Array:
    """The map, as a matrix W with ``z = x W``: from the released second moment and public numbers alone.

    Mapped rows have the mean square ``length^2``: one for each of the k eigenvalues above the floor, and what is left
    of the trace over the floor, are the sum of ``|z|^2`` where ``W = V max(values, floor)^(-1/2)``.
    """
    values, vectors = np.linalg.eigh(second)
    above = values > floor
    rest = max(float(values.sum() - values[above].sum()), 0.0)
    total = max(float(above.sum()) + rest / floor, 1e-3)
    return np.asarray(vectors * (length * np.sqrt(records / (total * np.maximum(values, floor)))))


def mapped(problem: Problem, weights: Array) -> Problem:
    """The same problem with rows ``z = x W``, clipped to the radius that they had before."""
    design, facts = problem.records.design, problem.facts
    row_step = _step(facts.radius)
    step = _step(float(np.linalg.norm(weights, 2)))
    even = np.rint(weights / step) * step
    rows = np.empty((facts.records, weights.shape[1]), dtype=design.matrix.dtype)
    columns = design.matrix.shape[1]
    for block, at in problem.records.blocks():
        dense: Any = block.toarray() if hasattr(block, "toarray") else block
        short = np.rint(dense * (design.scales[at, None] / row_step)) * row_step
        rows[at] = short @ even[:columns]
        if design.intercept:
            rows[at] += np.rint(design.intercept / row_step) * row_step * even[columns]
    return replace(problem, records=Records(Design(rows, facts.radius), problem.records.targets))


def _step(size: float) -> float:
    """A power of two of which ``size`` is fewer than 2**26."""
    return 2.0 ** (math.floor(math.log2(size)) + 1 - BITS)


@dataclass(frozen=True, kw_only=True)
class WhitenedPlan(Plan):
    """A calibrated second moment, and the plan that trains in its coordinates."""

    inner: Plan
    scale: float
    floor: float
    length: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Release the second moment; map; train; map the weights back."""
        noisy = add_gaussian(flat(second_moment(problem)), self.scale, source)
        second = square(noisy, problem.records.features)
        even = whitening(second, self.floor, problem.records.count, self.length)
        solution = self.inner.run(mapped(problem, even), source)
        spread = partial(self._spread, problem.facts, second, even, solution.weights[:, 0])
        return replace(solution, weights=even @ solution.weights, spread=spread)

    def _spread(self, facts: Facts, second: Array, even: Array, weights: Array) -> Spread | None:
        """The inner noise, in coordinates in which the released second moment is diagonal; for the logistic loss.

        The Hessian is about kappa times that moment, with kappa the mean curvature of scores that have the mean and the
        variance which the weights and the moment give them. Rows are at most R long, so the moment's trace is at most
        n R^2: mapped rows that are longer were cut.
        """
        if not isinstance(facts.loss, Logistic) or facts.outputs > 1:
            return None
        masses = second[:, -1] / facts.constant if facts.intercept else None
        moments = np.maximum(np.einsum("ij,ij->j", even, second @ even), 0.0)
        moments *= min(1.0, facts.records * facts.radius**2 / max(float(moments.sum()), 1e-300))
        mean = 0.0 if masses is None else float(masses @ even @ weights) / facts.records
        variance = float(moments @ weights**2) / facts.records - mean**2
        kappa = expected_curvature(facts.loss, mean, math.sqrt(max(variance, 0.0)))
        variances = self.inner.variances(kappa * moments)
        return None if variances is None else Spread(WIDER**2 * variances, even, masses)


@dataclass(frozen=True)
class Whitened:
    """Another mechanism, in the coordinates of a noisy second moment. ``share``: the part of mu^2 that it may cost."""

    inner: Mechanism
    share: float = SHARE
    edge: float = EDGE
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check(0 < self.share < 1, f"Expected 0 < share={self.share} < 1.")
        check(0 < self.edge < math.inf, f"Expected edge={self.edge} > 0 and finite.")

    @property
    def site(self) -> Site:
        """Where the other mechanism's noise enters."""
        return self.inner.site

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """What the other needs, and rows that are not too wide."""
        if calibration == "paper":
            return "Whitened rows have no published noise of their own. Use calibration='proven'."
        if facts.features > WIDEST:
            return f"Whitening takes at most {WIDEST:,} columns; these rows have {facts.features:,}. Leave it out."
        return self.inner.needs(facts, calibration)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> WhitenedPlan:
        """The second moment by its share; then the other mechanism with what is left, both priced together."""
        size, square_radius = facts.features * (facts.features + 1) // 2, facts.radius**2
        moved = Sensitivity(square_radius, math.sqrt(2) * square_radius).plus(square_radius * hessian_slack(facts))
        scale = 0.0
        released: tuple[Gaussian, ...] = ()
        if budget.private:
            bare = moved.under(budget.adjacency) / (math.sqrt(self.share) * mu(budget))
            scale = bare / (1 - grid_slack(bare, size) / bare)
            released = (Gaussian(moved.plus(grid_slack(scale, size)), scale),)
        rest = replace(budget, spent=(*budget.spent, *released))
        plain = replace(facts, intercept=False, constant=0.0)
        inner = self.inner.calibrate(rest, plain, regularization, calibration)
        words = (
            f"{self.share:.3g} of the budget (of mu^2) for the second moment of all rows",
            f"rows mapped by it, and clipped to norm {facts.radius:.6g} again",
        )
        noisy_edge = scale * math.sqrt(2 * facts.features)  # of the spectrum of the noise alone
        return WhitenedPlan(
            inner=inner, scale=scale, floor=max(self.edge * noisy_edge, 1e-6 * facts.records * square_radius),
            length=facts.radius * whitened_length(budget, facts), events=(*released, *inner.events), theorem="whitened",
            assumptions=(*words, *inner.assumptions),
        )  # fmt: skip


METHODS = tuple(
    Method(name=f"whitened-{name}", mechanism=Whitened(inner), paper=paper, about=about)
    for name, inner, paper, about in (
        (
            "objective",
            ObjectivePerturbation(),
            "Kifer et al. 2012, on whitened rows",
            "objective perturbation in the coordinates of a noisy second moment",
        ),
        (
            "gradient",
            GradientPerturbation(),
            "Wang, Ye & Xu 2017, on whitened rows",
            "noisy gradient descent in the coordinates of a noisy second moment",
        ),
        (
            "dp-sgd",
            GradientPerturbation(Poisson(0.05)),
            "Abadi et al. 2016, on whitened rows",
            "Poisson-sampled batches in the coordinates of a noisy second moment",
        ),
    )
)
