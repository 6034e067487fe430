r"""Input perturbation for quadratic losses: contributors perturb their own records, the sums make the model.

A record (x, y) becomes ``q = sqrt(c2) x``, ``p = c1 y x``; what leaves its owner is ``q + u`` and ``p + r``, Gaussian
noise on a grid. The model is

.. math::
   \arg\min_{\|w\| \le \eta} \sum_i \tfrac12 (\tilde q_i \cdot w)^2 - \tilde p_i \cdot w
   + \tfrac{\Delta_{in}}{2}\|w\|^2 .

The ridge ``Delta_in = Lambda - kappa`` takes back what the noise u is certain to add to the second moments (kappa, a
lower bound on their smallest eigenvalue), so the noise on the rows does not shrink the model. Two guarantees: the
model's, and the record's. The proof is on the docs' page "Input perturbation".

Reference: Fukuchi, Tran & Sakuma 2017 (calibration='paper'); the repair is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np

from tacit import accounting, curves
from tacit.checks import check, check_count, check_positive, refuse
from tacit.events import Event, Gaussian, InputMinimum, Sensitivity
from tacit.mechanisms.moments import LARGEST, Sums, Whole
from tacit.noise import Source, add_gaussian, gaussian_steps, grid, grid_slack, release_whole
from tacit.solvers.ball import minimise
from tacit.types import Array, Solution

ROW_BITS, CROSS_BITS = 20, 36
"""Submissions are rounded to 2**-20 (rows) and 2**-36 (cross part) of their noise: whole numbers, added exactly."""
TOLERANCE = 1e-10
"""The solve stops at a residual of this fraction of the noise scale, plus what double precision cannot hold."""
POLISH = 2e-3
"""Price (mu) of hiding the unfinished solve, as a fraction of the main price."""
REACH = 9.3
"""No noise drawn by :func:`tacit.noise.gaussian` is larger than this many standard deviations."""
BLOCK = 1 << 13


@dataclass(frozen=True)
class InputNumbers:
    """Every public number of an input-perturbation run. Plain numbers only: this is what a protocol publishes.

    ``features`` counts the design's columns, the intercept's constant among them; ``cohort`` is the smallest number of
    contributors whose noise alone is enough; scales are standard deviations of one contributor's noise. ``ridge`` None
    takes ``regularization`` (Lambda) minus what the row noise adds for certain; a number is used as it stands.
    """

    features: int
    cohort: int
    clip: float
    intercept: float
    curvature: float
    slope: float
    radius: float
    row_scale: float
    cross_scale: float
    regularization: float
    tail: float
    ridge: float | None = None

    def __post_init__(self) -> None:
        check_count("features", self.features)
        check_count("cohort", self.cohort)
        for name in ("clip", "curvature", "slope", "radius", "row_scale", "cross_scale", "regularization"):
            check_positive(name, getattr(self, name))
        check(0 <= self.intercept < math.inf, f"Expected intercept={self.intercept} >= 0 and finite.")
        check(0 < self.tail < 1, f"Expected 0 < tail={self.tail} < 1.")
        check(
            self.limits[0] <= LARGEST and self.limits[1] <= 2**52,
            "The noise is too small for this many contributors to be added exactly.",
        )

    @cached_property
    def steps(self) -> tuple[float, float]:
        """Grid steps of the row and of the cross part."""
        return grid(self.row_scale, ROW_BITS), grid(self.cross_scale, CROSS_BITS)

    @property
    def bounds(self) -> tuple[float, float]:
        """B_q and B_p; rounding a row and its noise to the grid adds at most one step a coordinate."""
        reach, root = math.hypot(self.clip, self.intercept), math.sqrt(self.features)
        row_step, cross_step = self.steps
        return math.sqrt(self.curvature) * reach + root * row_step, self.slope * reach + root * cross_step

    @property
    def limits(self) -> tuple[int, int]:
        """The largest entries, in grid steps, that an honest submission can have."""
        (row, cross), (row_step, cross_step) = self.bounds, self.steps
        largest = (row + REACH * self.row_scale) / row_step, (cross + REACH * self.cross_scale) / cross_step
        return math.ceil(largest[0]), math.ceil(largest[1])

    @property
    def record_events(self) -> tuple[Event, ...]:
        """What one contributor releases: one joint Gaussian mechanism, priced exactly.

        Two records differ most when x' = -x and y' = y (or y' = -y, if the intercept's constant is larger than the
        clip: p then differs by it alone), or, if the row noise is large, when x' = x and y' = -y: p then differs by
        both.
        """
        row_slack, cross_slack = (step * math.sqrt(self.features) for step in self.steps)
        row = Sensitivity(None, 2 * math.sqrt(self.curvature) * self.clip + row_slack)
        cross = Sensitivity(None, 2 * self.slope * max(self.clip, self.intercept) + cross_slack)
        flipped = Sensitivity(None, 2 * self.slope * math.hypot(self.clip, self.intercept) + cross_slack)
        both = (Gaussian(row, self.row_scale), Gaussian(cross, self.cross_scale))
        label = (Gaussian(flipped, self.cross_scale),)
        return both if _mu(both) >= _mu(label) else label

    def noise_scale(self, count: int) -> float:
        """sigma_b: the noise on the sum of p, after topping it up to the cohort's."""
        return self.cross_scale * math.sqrt(max(count, self.cohort))

    def minimum(self, count: int) -> InputMinimum:
        """The main event of a model of ``count`` contributors."""
        row, cross = self.bounds
        bare = InputMinimum(
            self.features, count, row, cross, self.radius, self.row_scale, self.noise_scale(count), 0.0, self.tail
        )
        ridge = self.regularization - accounting.input_convexity(bare) if self.ridge is None else self.ridge
        return InputMinimum(**{**bare.__dict__, "ridge": ridge})

    def hidden(self, count: int) -> Gaussian:
        """The second, tiny noise on the weights, which hides that the solve is not exact."""
        strong = accounting.input_convexity(self.minimum(count))
        moved = 2 * (self.tolerance(count) + self.rounding(count)) / strong
        row, cross = self.bounds
        share = POLISH * min(1.0, (row**2 * self.radius + cross) / self.noise_scale(count))
        scale = moved / share
        moved += grid_slack(scale, self.features)
        return Gaussian(Sensitivity(moved, moved), scale)

    def tolerance(self, count: int) -> float:
        """The residual that the solve must reach: public, a little above what double precision can hold."""
        row, cross = self.bounds
        size = count * ((row**2 + self.features * self.row_scale**2) * self.radius + cross)
        return TOLERANCE * self.noise_scale(count) + 16 * 2.0**-53 * size

    def rounding(self, count: int) -> float:
        """How far rounding moves the sum of all cross noise, but for probability ROUNDING_TAIL (Hoeffding 1963)."""
        terms = max(count, self.cohort) + 1
        one = self.steps[1] * math.sqrt(0.5 * terms * math.log(2 * self.features / curves.ROUNDING_TAIL))
        return one * math.sqrt(self.features)

    def events(self, count: int) -> tuple[Event, ...]:
        """What the model releases."""
        return self.minimum(count), self.hidden(count)

    def perturb(self, design: Array, targets: Array, source: Source) -> tuple[Whole, Whole]:
        """Submissions, in grid steps: one row a record, with one row of fresh noise each.

        ``design`` rows have norm at most hypot(clip, intercept), targets lie in [-1, 1].
        """
        count, d = design.shape
        q = np.empty((count, d), dtype=np.int64)
        p = np.empty((count, d), dtype=np.int64)
        row_step, cross_step = self.steps
        root = math.sqrt(self.curvature)
        for start in range(0, count, BLOCK):
            rows = slice(start, start + BLOCK)
            x, y = design[rows], targets[rows, None]
            q[rows] = release_whole(root * x, self.row_scale, source, row_step)
            p[rows] = release_whole((self.slope * y) * x, self.cross_scale, source, cross_step)
        return q, p

    def train(self, sums: Sums, source: Source) -> Solution:
        """Top the noise up to the cohort's, minimise over the ball, hide the rest of the solve."""
        check(sums.count >= 1, "There are no submissions to train on.")
        missing = self.cohort - sums.count
        cross = sums.cross
        if missing > 0:
            scale = self.cross_scale * math.sqrt(missing)
            cross = cross + gaussian_steps(source, (self.features,), scale, self.steps[1]).astype(object)
        whole = Sums(sums.count, sums.second, cross)
        weights, gap = self._solve(whole)
        reached = gap <= self.tolerance(sums.count)
        out = self.hidden(sums.count).scale
        released = add_gaussian(weights if reached else np.zeros(self.features), out, source)
        return Solution(released[:, None], gap)

    def _solve(self, sums: Sums) -> tuple[Array, float]:
        """The minimiser, refined by residuals in exact arithmetic, and the exact bound on its residual."""
        second, cross = sums.moments(*self.steps)
        quadratic = second + self.minimum(sums.count).ridge * np.eye(self.features)
        first = minimise(quadratic, cross, self.radius)
        weights, nu = first.weights, first.multiplier
        shifted = quadratic + nu * np.eye(self.features)
        best, least = weights, math.inf
        for _ in range(3):
            residual = self._residual(sums, weights, nu)
            length = float(np.linalg.norm(weights))
            off = abs(length - self.radius) if nu > 0 else max(0.0, length - self.radius)
            gap = float(np.linalg.norm(residual)) + (float(np.abs(quadratic).sum(axis=0).max()) + nu) * off
            if gap < least:
                best, least = weights, gap
            weights = weights - np.linalg.lstsq(shifted, residual, rcond=None)[0]
            if nu > 0:
                weights = weights * (self.radius / float(np.linalg.norm(weights)))
        return best, least

    def _residual(self, sums: Sums, weights: Array, nu: float) -> Array:
        """``(A + Delta_in + nu) w - c`` of the whole-number sums, without any rounding but the last."""
        row, cross = (Fraction(step) for step in self.steps)
        shift = Fraction(self.minimum(sums.count).ridge) + Fraction(nu)
        exact = [Fraction(float(w)) for w in weights]
        totals = [sum(int(a) * w for a, w in zip(line, exact, strict=True)) for line in sums.second]
        parts = zip(totals, exact, sums.cross, strict=True)
        return np.array([float(row**2 * t + shift * w - cross * int(c)) for t, w, c in parts])


def _mu(events: tuple[Gaussian, ...]) -> float:
    """The joint mu of one record's Gaussian releases."""
    return math.sqrt(sum(((event.sensitivity.replace_one or 0.0) / event.scale) ** 2 for event in events))


def record_epsilon(numbers: InputNumbers, delta: float) -> float:
    """The exact epsilon of one submission at this delta."""
    if not numbers.record_events:
        refuse("Without noise a submission has no guarantee.")
    return accounting.epsilon(numbers.record_events, delta, "replace-one")
