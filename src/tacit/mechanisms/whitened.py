r"""Training in coordinates that a noisy second moment makes even: a preconditioner that is paid for.

``C = sum_i x_i x_i^T`` of the design rows is released once, with symmetric Gaussian noise, for a share of the budget. A
row's part has the Frobenius norm ``||x||^2 <= R^2``, and two parts' inner product is not negative, so the sensitivity
is R^2 (add-remove) and sqrt(2) R^2 (replace-one). Everything about the map follows from that release: eigenvalues of C
above the noise's edge ``s sqrt(2 d)`` are divided out, the others are divided by the edge as if they were there, and
one number makes rows R long again in the root mean square. Each row goes through the map and is clipped to R once
more; then another mechanism trains, calibrated together with the first release, on rows of the same public facts as
before. The weights are mapped back: scores are linear in the rows as they were.

A mapped row is a function of its record and the map, to the last bit: rows and map are on grids, and products of both
exact (:mod:`tacit.linear.whole`).
Without noise (an infinite epsilon) there is no map: the other mechanism trains on the rows as they are.

The proof is on the docs' page "Whitened rows".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import check, check_count, check_part, check_positive
from tacit.data.canonical import thin
from tacit.linear.arithmetic import hessian_slack
from tacit.linear.expected import expected_hessian, sieved
from tacit.linear.losses import Logistic
from tacit.linear.parts import SecondMoment
from tacit.linear.problem import Problem
from tacit.linear.records import Block
from tacit.linear.symmetric import flat, square
from tacit.linear.whole import Pieces, Whole, outer_sum
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.defaults import share_of, whitened_length, whitening_rule
from tacit.mechanisms.gradient import GradientPerturbation, GradientPlan
from tacit.mechanisms.objective import ObjectivePerturbation
from tacit.mechanisms.samplers import Everyone, Poisson
from tacit.privacy.events import Sensitivity
from tacit.privacy.noise import Source, add_gaussian
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution, Spread

WIDEST = 5000
"""The most columns: the release has d (d + 1)/2 numbers, and their eigenvalues take d^3 operations."""


def second_moment(problem: Problem, runs: int = 1) -> Array:
    """``sum_i x_i x_i^T`` over design rows, the intercept's constant among them.

    Columns in runs of p (a channel's places): the sum over places of ``x x^T``, x the channels there, no intercept.
    """
    return problem.records.add_up(SecondMoment() if runs == 1 else RunMoment(runs))[0]


@dataclass(frozen=True)
class RunMoment:
    """One block's sum over rows and places of ``x x^T``, x the channels of a row at a place."""

    runs: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's part."""
        roots = np.sqrt(block.shares.weigh(np.ones(block.count)))
        channels = block.rows.shape[1] // self.runs  # one column more is the intercept's
        short = (block.design()[:, : channels * self.runs] * roots[:, None]).reshape(block.count, channels, self.runs)
        places = np.ascontiguousarray(short.swapaxes(1, 2)).reshape(block.count * self.runs, channels)
        return (outer_sum(places, block.radius, block.most * self.runs),)


def whitening(second: Array, floor: float, energy: float) -> Array:
    """The map, as a matrix W with ``z = x W``: from the released second moment and public numbers alone.

    Mapped rows have squared norms that add up to ``energy``, noise and clipping apart: where ``W = V max(values,
    floor)^(-1/2)``, they add up to one for each eigenvalue above the floor, and what is left of the trace over the
    floor. Its numbers are rounded to a grid on which products with rows are exact.
    """
    values, vectors = np.linalg.eigh(second)
    above = values > floor
    rest = max(float(values.sum() - values[above].sum()), 0.0)
    total = max(float(above.sum()) + rest / floor, 1e-3)
    even = vectors * np.sqrt(energy / total / np.maximum(values, floor))
    return Pieces.of(even, 1).columns


def mapped(problem: Problem, even: Array, runs: int = 1) -> Problem:
    """The same problem with rows ``z = x W``, clipped to the radius that they had before."""
    records = problem.records
    if runs == 1:
        return replace(problem, records=records.mapped(RowMap(Pieces.of(even, 1)), records.radius, 0.0))
    return replace(problem, records=records.mapped(RunMap(Pieces.of(even, 1), runs), records.clip, records.intercept))


@dataclass(frozen=True)
class RowMap:
    """Rows times a matrix: exact, so that a row's result is its own."""

    matrix: Pieces

    def __call__(self, rows: Any) -> Array:
        """The mapped rows."""
        return self.matrix.scores(rows)


@dataclass(frozen=True)
class RunMap:
    """Every place's channels times a matrix, and no intercept."""

    matrix: Pieces
    runs: int

    def __call__(self, rows: Any) -> Array:
        """The mapped rows."""
        channels = self.matrix.columns.shape[0]
        dense = np.asarray(rows.toarray() if thin(rows) else rows)[:, : channels * self.runs]
        places = dense.reshape(len(dense), channels, self.runs)
        return np.asarray(self.matrix.columns.T @ places).reshape(len(dense), channels * self.runs)


def unmapped(weights: Array, even: Array, runs: int = 1) -> Array:
    """Weights of mapped rows as weights of the rows that there were: the same scores."""
    if runs == 1:
        return np.asarray(even @ weights)
    columns = len(even) * runs
    top = np.tensordot(even, weights[:columns].reshape(len(even), runs, -1), axes=1).reshape(columns, -1)
    return np.concatenate([top, weights[columns:]])


@dataclass(frozen=True, kw_only=True)
class WhitenedPlan(Plan):
    """A calibrated second moment, and the plan that trains in its coordinates."""

    inner: Plan
    runs: int
    scale: float
    floor: float
    energy: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Release the second moment; map; train; map the weights back."""
        if not self.scale:
            return self.inner.run(problem, source)
        exact = second_moment(problem, self.runs)
        second = square(add_gaussian(flat(exact), self.scale, source), len(exact))
        even = whitening(second, self.floor, self.energy * self._counted(problem, second))
        solution = self.inner.run(mapped(problem, even, self.runs), source)
        spread = partial(self._spread, problem.facts, second, even, solution.weights[:, 0])
        return replace(solution, weights=unmapped(solution.weights, even, self.runs), spread=spread)

    def _counted(self, problem: Problem, second: Array) -> float:
        """What part of the records counts, where they have weights: from the released moment.

        The intercept's constant c gives c^2 times the sum of weights; without one, rows of norm R give R^2 times it.
        """
        facts = problem.facts
        if not problem.records.weighted:
            return 1.0
        constant = facts.intercept and self.runs == 1
        seen = float(second[-1, -1]) / facts.constant**2 if constant else float(np.trace(second)) / facts.radius**2
        least = self.scale / facts.radius**2
        return min(1.0, max(seen, least) / facts.records)

    def _spread(self, facts: Facts, second: Array, even: Array, weights: Array) -> Spread | None:
        r"""The inner noise, in coordinates in which the estimated Hessian is diagonal; for the logistic loss.

        Mapped weights move by ``-(W^T H W + Lambda)^-1 B``, and B prefers no direction: with ``W^T H W = U h U^T`` the
        weights move by ``W U u``, u independent, of variances that the inner plan has for the curvatures h. H is
        estimated from the second moment that was released (:func:`tacit.linear.expected.expected_hessian`). Mapped rows
        are cut at R: of squared norms with the mean m R^2 ``m (1 - exp(-1/m)) R^2`` is left, if their law is
        exponential. Rows of one length lose less: this errs on the wide side.

        Descents cut gradients, which leaves an unknown part of the curvature: theirs is taken as 0, the widest.
        """
        if not isinstance(facts.loss, Logistic) or facts.outputs > 1 or self.runs > 1:
            return None
        masses = second[:, -1] / facts.constant if facts.intercept else None
        if isinstance(self.inner, GradientPlan):
            widest = self.inner.variances(np.zeros(len(even)))
            return None if widest is None else Spread(widest, even, masses)
        moment = sieved(second, masses, facts.records, self.scale)
        length = float(np.trace(even.T @ moment @ even)) / (facts.records * facts.radius**2)
        left = -math.expm1(-1 / length) if length > 0 else 1.0
        hessian = expected_hessian(facts.loss, moment, masses, even @ weights, facts.records, self.scale, left)
        curvatures, turned = np.linalg.eigh(even.T @ hessian @ even)
        variances = self.inner.variances(np.maximum(curvatures, 0.0))
        return None if variances is None else Spread(variances, even @ turned, masses)


@dataclass(frozen=True)
class Whitened:
    """Objective or gradient perturbation in the coordinates of a noisy second moment.

    ``share``: the part of mu^2 that it may cost; ``edge``: the floor under its eigenvalues in units of the edge of the
    noise's spectrum. None: a rule. ``runs``: columns come in runs of so many (the places of a channel of an image) that
    share one map between channels, whose second moment is that of all places together.
    """

    inner: ObjectivePerturbation | GradientPerturbation
    share: float | None = None
    edge: float | None = None
    runs: int = 1
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        known = isinstance(self.inner, ObjectivePerturbation | GradientPerturbation) and not self.inner.pure
        check(known, "Expected inner to be objective or gradient perturbation with Gaussian noise, for whitened rows.")
        check_fields(self)
        sampler = self.inner.sampler if isinstance(self.inner, GradientPerturbation) else Everyone()
        check(
            isinstance(sampler, Everyone | Poisson),
            "Expected the sampler Everyone or Poisson, to train on whitened rows.",
        )
        if self.share is not None:
            check_part("share", self.share)
        if self.edge is not None:
            check_positive("edge", self.edge)
        check_count("runs", self.runs)

    @property
    def site(self) -> Site:
        """Where the other mechanism's noise enters."""
        return self.inner.site

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """What the other needs, and rows that are not too wide."""
        if calibration == "paper":
            return "Whitened rows have no published noise of their own. Use calibration='proven'."
        columns = facts.features - facts.intercept
        if self.runs > 1 and columns % self.runs:
            return f"Expected precondition={self.runs}, a run of columns, to divide their number, {columns:,}."
        if columns // self.runs > WIDEST:
            return f"Whitening takes at most {WIDEST:,} columns; these rows have {columns:,}. Use precondition=False."
        return self.inner.needs(facts, calibration)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> WhitenedPlan:
        """The second moment by its share; then the other mechanism with what is left, both priced together."""
        share, edge = whitening_rule(facts)
        share, edge, square_radius = self.share or share, self.edge or edge, facts.radius**2
        side = facts.features if self.runs == 1 else (facts.features - facts.intercept) // self.runs
        rounding = square_radius * hessian_slack(facts, self.runs)
        moved = Sensitivity(square_radius, math.sqrt(2) * square_radius).plus(rounding)
        released = share_of(budget, share, moved, side * (side + 1) // 2)
        scale = released[0].scale if released else 0.0
        rest = replace(budget, spent=(*budget.spent, *released))
        even = replace(facts, intercept=False, constant=0.0) if self.runs == 1 else facts
        inner = self.inner.calibrate(rest, even, regularization, calibration)
        included = ", the intercept's column included" if facts.intercept else ""
        words = (
            f"{share:.3g} of the budget (of mu^2) for the second moment of all rows",
            f"rows mapped by it, and clipped to norm {facts.radius:.6g} again{included}",
        )
        most = facts.records * square_radius  # that squared norms of rows add up to
        return WhitenedPlan(
            inner=inner, runs=self.runs, scale=scale, floor=max(edge * scale * math.sqrt(2 * side), 1e-6 * most),
            energy=most * whitened_length(budget, facts) ** 2, events=(*released, *inner.events), theorem="whitened",
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
