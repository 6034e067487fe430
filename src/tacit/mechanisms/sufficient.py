r"""Sufficient statistics for the squared loss: release all moments once, then solve; the rest is post-processing.

In units R = B = 1 one record contributes ``phi = (sqrt p x x^T, sqrt q x, sqrt r y x, sqrt s y, sqrt k)``: second
moments, means, cross moments, the target's mean and the count, each weighted by how precisely it is wanted; the
symmetric matrix is vectorised isometrically (off-diagonal entries times sqrt 2). All coordinates get the same
Gaussian noise.

* add-remove: ``||phi||^2 <= p + q + r + s + k``;
* replace-one (the count is public, k = 0): with T = x.x' and unit rows (shorter rows can be completed to unit length
  in fresh dimensions, which leaves T and raises everything else), ``||phi - phi'||^2 = 2p(1 - T^2) + 2q(1 - T) + 2r(1
  - y y' T) + s(y - y')^2`` for targets at +-1 (it is convex in them), so the largest value over T is, for y = y' and
  y = -y', ``2p + 2(q + r) + (q + r)^2/(2p)`` and ``2p + 2(q + r) + (q - r)^2/(2p) + 4s``.

The default weights (1, 1/2, 1/2, 1/2, 1/2) give 6 for replace-one; the worst cases taken apart would give 8.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np

from tacit.arguments import check_fields
from tacit.linear.arithmetic import (
    added_rounding,
    hessian_slack,
    several,
    slope_pieces,
    slope_rounding,
    written,
)
from tacit.linear.problem import Problem
from tacit.linear.records import Block
from tacit.linear.symmetric import flat, square
from tacit.linear.whole import Whole, added
from tacit.mechanisms.base import Method, Plan
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.types import Adjacency, Array, Budget, Calibration, Facts, Site, Solution, Spread

CROSS_DIGITS = 28
"""Binary digits of a target."""


@dataclass(frozen=True, kw_only=True)
class Weights:
    """Precision weights of second moments, means, cross moments, the target's mean and the count."""

    second: float = 1.0
    mean: float = 0.5
    cross: float = 0.5
    target: float = 0.5
    count: float = 0.5

    def sensitivity(self) -> Sensitivity:
        """Of the weighted moments, in units R = B = 1.

        Replacing is taken to move no less than adding: a record of weight 0 has no count in it either.
        """
        p, q, r, s = self.second, self.mean, self.cross, self.target
        same = 2 * p + 2 * (q + r) + (q + r) ** 2 / (2 * p) if q + r <= 2 * p else 4 * (q + r)
        opposite = 2 * p + 2 * (q + r) + (q - r) ** 2 / (2 * p) if abs(q - r) <= 2 * p else 4 * max(q, r)
        alone = p + q + r + s + self.count
        return Sensitivity(math.sqrt(alone), math.sqrt(max(same, opposite + 4 * s, alone)))


SLOPE_ONLY = Weights(mean=0.0, target=0.0, count=0.0)
"""Without an intercept the means are not released."""


@dataclass(frozen=True)
class MomentSums:
    """One block's sums of x x^T over design rows, of y x / B and x, and of 1."""

    bound: float
    count: int

    def __call__(self, block: Block) -> tuple[Whole, ...]:
        """The block's parts."""
        both = np.column_stack([block.targets[:, 0] / self.bound, np.ones(block.count)])
        heads = added(block.shares.weigh(np.ones(block.count)), 1.0, block.most)
        return block.outer(None, 1.0), block.gather(both, 1.0, self.count), heads


@dataclass(frozen=True)
class Moments:
    """Sums over records of x x^T, x, y x, y and 1, in units R = B = 1."""

    second: Array = field(repr=False)
    mean: Array = field(repr=False)
    cross: Array = field(repr=False)
    target: float = field(repr=False)
    count: float

    @classmethod
    def of(cls, problem: Problem) -> Moments:
        """One pass over the records; rows without the intercept's constant."""
        facts, records, bound = problem.facts, problem.records, problem.loss.lipschitz / 2
        c, d = records.intercept, facts.features - facts.intercept
        second, sums, count = records.add_up(MomentSums(bound, slope_pieces(facts, CROSS_DIGITS)))
        cross, means = sums.T / records.clip
        target = float(sums[d, 0]) / c if c else 0.0
        mean = means[:d] if c else np.zeros(d)
        return cls(second[:d, :d] / records.clip**2, mean, cross[:d], target, float(count))

    def pack(self, weights: Weights) -> Array:
        """The weighted vector phi summed over records."""
        blocks = [
            math.sqrt(weights.second) * flat(self.second),
            math.sqrt(weights.mean) * self.mean,
            math.sqrt(weights.cross) * self.cross,
            np.array([math.sqrt(weights.target) * self.target, math.sqrt(weights.count) * self.count]),
        ]
        return np.concatenate(blocks)

    @classmethod
    def unpack(cls, vector: Array, weights: Weights, d: int) -> Moments:
        """The moments that :meth:`pack` laid out; blocks of weight zero come back as zero."""
        half = d * (d + 1) // 2
        second = square(vector[:half] / math.sqrt(weights.second), d)
        rest = vector[half:] / np.sqrt([weights.mean or math.inf] * d + [weights.cross] * d + [
            weights.target or math.inf, weights.count or math.inf])  # fmt: skip
        return cls(second, rest[:d], rest[d : 2 * d], float(rest[2 * d]), float(rest[2 * d + 1]))


@dataclass(frozen=True, kw_only=True)
class StatisticsPlan(Plan):
    """Calibrated moments; ``scale`` is the noise of every weighted coordinate."""

    weights: Weights
    adjacency: Adjacency
    scale: float
    strength: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """One pass, one release, one solve."""
        moments, c, clip = Moments.of(problem), problem.records.intercept, problem.records.clip
        d = len(moments.mean)
        released = add_gaussian(moments.pack(self.weights), self.scale, source)
        noisy = Moments.unpack(released, self.weights, d)
        known = self.adjacency == "replace-one" and not problem.records.weighted
        count = float(problem.records.count) if known or not self.weights.count else max(noisy.count, 1.0)
        solved = solve(noisy, count, self.scale, self.weights, self.strength)
        bound = problem.loss.lipschitz / 2
        unit, basis = bound / clip, solved.directions
        weights = unit * solved.slope
        if c:
            weights = np.append(weights, bound * solved.constant / c)
            basis = np.vstack([basis, np.zeros(d)])
        masses = clip * noisy.mean if self.weights.mean else None
        return Solution(weights[:, None], spread=partial(Spread, unit**2 * solved.variances, basis, masses))


class Solved(NamedTuple):
    """Slope and constant, and the variances that the moments' noise gives the slope in independent directions."""

    slope: Array
    constant: float
    variances: Array
    directions: Array


def solve(moments: Moments, n: float, scale: float, weights: Weights, strength: float) -> Solved:
    r"""Least squares from noisy moments, aware of their noise; never with a negative eigenvalue.

    The means are shrunk by their known noise and the system is centred. Eigenvalues of the centred second moments that
    stand out from the noise (by more than its edge, s sqrt(2d)) are kept, the bulk is shrunk towards its mean, and the
    solution in each eigendirection is the posterior mean of an errors-in-variables model, ``w_i = l tau g_i / (l^2 tau
    + v0 + v1 tau + r l)``, averaged over the prior variance tau and the residuals' own variance r by their marginal
    likelihood. Where l is far above the noise this is plain least squares, where it is far below it is zero.
    """
    d = len(moments.cross)
    noise = [scale / math.sqrt(w) if w else 0.0 for w in (weights.second, weights.mean, weights.cross, weights.target)]
    s1, s2, s3, s4 = noise
    middle = float(np.clip(moments.target / n * 0.1 / (0.1 + (s4 / n) ** 2), -1, 1))
    centre = moments.mean / n
    centre = centre * max(1 - d * (s2 / n) ** 2 / max(float(centre @ centre), 1e-300), 0.0)
    centre = centre / max(1.0, float(np.linalg.norm(centre)))
    long = float(centre @ centre)
    values, vectors = np.linalg.eigh(moments.second - n * np.outer(centre, centre))
    pull = vectors.T @ (moments.cross - n * middle * centre)
    mean = float(values.mean())
    mean_noise = s1**2 / d + 4 * s2**2 * long / d**2
    spread_noise = s1**2 * (d * (d + 1) / 2 - 1) + s2**2 * long * (d + 1)
    spread = max(float(((values - mean) ** 2).sum()) - spread_noise, 2 * d * s1**2)
    share = spread_noise / max(spread_noise + spread, 1e-300)
    bulk = (1 - share) * (values - mean) + min(max(mean, 0.0), n / d)
    lifted = np.maximum(np.where(values - mean > s1 * math.sqrt(2 * d), values, bulk), 0.0) + strength
    if not scale:  # no noise to allow for: plain (ridge) least squares
        exact = np.where(lifted > 1e-12 * n, pull / np.maximum(lifted, 1e-300), 0.0)
        return Solved(vectors @ exact, middle - float(centre @ (vectors @ exact)), np.zeros(d), vectors)
    v0 = s3**2 + s2**2 * middle**2 + s4**2 * long / d
    v1 = spread_noise * (1 - share) / d + 2 * mean_noise
    total = max(float(lifted.sum()), d * math.sqrt(mean_noise), 1e-12 * n)
    tau = n / total * np.logspace(-8, 0, 93)[:, None, None]
    own = np.logspace(-5, -1, 9)[:, None]
    variance = lifted**2 * tau + v0 + v1 * tau + own * lifted + 1e-300
    misfit = 0.5 * (np.log(variance) + pull**2 / variance).sum(axis=2)
    belief = np.exp(misfit.min() - misfit)[:, :, None]
    belief /= belief.sum()
    shrunk = (belief * lifted * tau / variance).sum(axis=(0, 1))
    slope = vectors @ (shrunk * pull)
    noisy = shrunk**2 * (v0 + v1 * float((belief * tau).sum()))
    return Solved(slope, middle - float(centre @ slope), noisy, vectors)


def _rounding(weights: Weights, facts: Facts) -> float:
    """What rounding adds to the sensitivity, in units R = B = 1: of rows in outer products, targets, weights.

    A row's weight is rounded where it multiplies the row, as targets are, and where weights are counted.
    """
    square = facts.radius**2 - facts.constant**2
    rows = math.sqrt(weights.second) * hessian_slack(facts) * facts.radius**2 / square
    targets = slope_rounding(facts, 1.0, slope_pieces(facts, CROSS_DIGITS))
    first = math.sqrt(weights.mean + weights.cross + weights.target)
    counts = math.sqrt(weights.count) * added_rounding(facts)
    parts = (weights.sensitivity().add_remove or 0.0) * written(facts)
    return rows + 2 * (first * targets + counts) + parts + (facts.features + several(facts) + 64) * 2.0**-50


@dataclass(frozen=True)
class SufficientStatistics:
    """Sufficient-statistics perturbation. ``weights`` None: the default, with or without an intercept."""

    weights: Weights | None = None
    site: ClassVar[Site] = "objective"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The squared loss, whose minimiser depends on the records through sums."""
        if facts.loss.name != "squared":
            return f"Sufficient statistics need the squared loss; {facts.loss.name} has none. Use method='gradient'."
        if calibration == "paper":
            return "Sufficient statistics have no published noise of their own here. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> StatisticsPlan:
        """One joint Gaussian mechanism."""
        weights = self.weights or (Weights() if facts.intercept else SLOPE_ONLY)
        base = weights.sensitivity().plus(_rounding(weights, facts))
        size = (facts.features + 1) * (facts.features + 4) // 2

        def released(scale: float) -> tuple[Event, ...]:
            return (Gaussian(base.plus(grid_slack(scale, size)), scale),)

        scale = smallest_scale(released, budget)
        words = (
            f"targets within {facts.loss.lipschitz / 2:g} of their middle (after scaling)",
            f"moments weighted {weights}",
        )
        return StatisticsPlan(
            weights=weights, adjacency=budget.adjacency, scale=scale,
            strength=(regularization or 0.0) * facts.records / facts.radius**2,
            events=released(scale) if scale else (), theorem="statistics", assumptions=words,
        )  # fmt: skip


METHODS = (
    Method(
        name="statistics",
        mechanism=SufficientStatistics(),
        paper="Dwork et al. 2014; Wang 2018",
        about="second and cross moments released once",
    ),
)
