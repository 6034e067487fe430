r"""Input perturbation for quadratic losses: contributors perturb their own records, the sums make the model.

A record (x, y) becomes ``q = sqrt(c2) x``, ``p = c1 y x``; what leaves its owner is ``q + u`` and ``p + r``, Gaussian
noise on a grid. The model is

.. math::
   \arg\min_{\|w\| \le \eta} \sum_i \tfrac12 (\tilde q_i \cdot w)^2 - \tilde p_i \cdot w
   + \tfrac{\Delta_{in}}{2}\|w\|^2 .

The ridge ``Delta_in = Lambda - kappa`` takes back what the noise u of the honest contributors is certain to add to the
second moments (kappa, a lower bound on their smallest eigenvalue), so the noise on the rows does not shrink the model.
Two guarantees: the model's, which counts on a declared fraction of honest contributors, and the record's, which counts
on nobody else. The proof is on the docs' page "Input perturbation".

Reference: Fukuchi, Tran & Sakuma 2017 (calibration='paper'); the repair is ours.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from tacit.checks import check, check_count, check_real, refuse
from tacit.mechanisms.input_penalty import Penalised, Penalty
from tacit.mechanisms.input_solve import Quadratic
from tacit.mechanisms.moments import LARGEST, Sums, Whole
from tacit.privacy import accounting
from tacit.privacy.events import Event, Gaussian, InputMinimum, Sensitivity
from tacit.privacy.noise import Source, add_gaussian, gaussian_steps, grid, grid_slack, release_whole
from tacit.types import Array, Solution

ROW_BITS, CROSS_BITS = 20, 36
"""Submissions are rounded to 2**-20 (rows) and 2**-36 (cross part) of their noise: whole numbers, added exactly."""
TOLERANCE = 1e-10
"""The solve stops at a residual of this fraction of the noise scale, plus what double precision cannot hold."""
POLISH = 2e-3
"""Price (mu) of hiding the unfinished solve, as a fraction of the main price."""
BEYOND = 1e-24
"""Probability that the row part, or the cross part, of one honest submission is beyond its limit: a price for all of
them together, times 1 + e^epsilon, that no delta notices."""
ROUNDING_TAIL = 1e-24
"""Probability that the rounding errors of all submissions together are larger than the polishing noise allows for."""
HASH_BITS = 128
"""Submissions are known by a hash of so many bits."""
BLOCK = 1 << 13
SMALLEST, GREATEST = 1e-50, 1e50
"""Sizes that a public number may have: their products and squares are far from where double precision ends."""
_U = 2.0**-52


@lru_cache(maxsize=1024)
def honest_among(fraction: float, count: int) -> int:
    """``ceil(fraction count)``, the fraction taken as the decimal that it was written as."""
    return math.ceil(Fraction(repr(float(fraction))) * count)


@dataclass(frozen=True, kw_only=True)
class InputNumbers:
    """Every public number of an input-perturbation run. Plain numbers only: this is what a protocol publishes.

    ``features`` counts the design's columns, the intercept's constant among them; ``cohort`` is the smallest number of
    contributors whose noise alone is enough; scales are standard deviations of one contributor's noise. ``honest`` is
    the fraction of contributors, whatever their number, who add their noise and keep it to themselves: only their noise
    counts. ``ridge`` None takes ``strength`` (Lambda) minus what their row noise adds for certain; a number is
    used as it stands.
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
    strength: float
    tail: float
    ridge: float | None = None
    honest: float

    def __post_init__(self) -> None:
        check_count("features", self.features)
        check_count("cohort", self.cohort)
        for name in ("clip", "curvature", "slope", "radius", "row_scale", "cross_scale", "strength"):
            _check_size(name, getattr(self, name))
        if self.intercept != 0:
            _check_size("intercept", self.intercept)
        if self.ridge is not None and self.ridge != 0:
            _check_size("the size of ridge", abs(self.ridge))
        check(0 < self.tail < 1, f"Expected 0 < tail={self.tail} < 1.")
        check(0 < self.honest <= 1, f"Expected 0 < honest={self.honest} <= 1.")
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
        """B_q and B_p; rounding a row and its noise to the grid adds at most one step per coordinate."""
        reach, root = math.hypot(self.clip, self.intercept), math.sqrt(self.features)
        row_step, cross_step = self.steps
        return math.sqrt(self.curvature) * reach + root * row_step, self.slope * reach + root * cross_step

    @cached_property
    def limits(self) -> tuple[int, int]:
        """The largest norms of q and of p, in grid steps, that are counted.

        d standard normals are longer than ``sqrt(d) + sqrt(2 log(1/BEYOND))`` with probability at most BEYOND (the norm
        is 1-Lipschitz, its mean at most sqrt(d)), so an honest submission passes each limit but for that. It is never
        drawn again: that would change its distribution. The price of refusing it is in :meth:`rare`.
        """
        reach = math.sqrt(self.features) + math.sqrt(2 * math.log(1 / BEYOND))
        (row, cross), (row_step, cross_step) = self.bounds, self.steps
        largest = (row + reach * self.row_scale) / row_step, (cross + reach * self.cross_scale) / cross_step
        return math.ceil(largest[0] * (1 + 1e-9)), math.ceil(largest[1] * (1 + 1e-9))

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

    def sure(self, count: int) -> int:
        """How many of ``count`` contributors are honest for certain."""
        return honest_among(self.honest, count)

    def missing(self, count: int) -> int:
        """How many contributors' noise the database adds, so that the noise is the cohort's."""
        return max(0, self.sure(self.cohort) - self.sure(count))

    def noise_scale(self, count: int) -> float:
        """sigma_b: the noise on the sum of p that is there for certain, after topping it up to the cohort's."""
        return self.cross_scale * math.sqrt(self.sure(count) + self.missing(count))

    def expected_scale(self, count: int) -> float:
        """The noise on the sum of p if all contributors are honest: at least :meth:`noise_scale`."""
        return self.cross_scale * math.sqrt(count + self.missing(count))

    def rare(self, count: int) -> float:
        r"""Probability that the run is not the one that is analysed, whatever the records are.

        That is: an honest submission is beyond a limit and refused, or the top-up is (2n + 1 times BEYOND); an honest
        submission has the very numbers (or the hash) of another one and is taken for a copy; or the rounding errors add
        up to more than is hidden. A coordinate's noise of scale s, rounded to steps of h, takes each value with
        probability at most ``h/(s sqrt(2 pi))``, so two submissions of which one is honest agree with at most the
        product over all 2d coordinates.
        """
        row, cross = self.steps
        same = row * cross / (2 * math.pi * self.row_scale * self.cross_scale)
        pairs = count * (count - 1) / 2
        return min(1.0, ROUNDING_TAIL + (2 * count + 1) * BEYOND + pairs * (same**self.features + 2.0**-HASH_BITS))

    @cached_property
    def _minima(self) -> dict[int, InputMinimum]:
        return {}

    def minimum(self, count: int) -> InputMinimum:
        """The main event of a model of ``count`` contributors; all that else depends on it asks for it too."""
        if count not in self._minima:
            self._minima[count] = self._minimum(count)
        return self._minima[count]

    def _minimum(self, count: int) -> InputMinimum:
        row, cross = self.bounds
        bare = InputMinimum(
            features=self.features, records=count, honest=self.sure(count), row=row, cross=cross, radius=self.radius,
            row_scale=self.row_scale, scale=self.noise_scale(count), ridge=0.0, tail=self.tail, rare=self.rare(count),
        )  # fmt: skip
        ridge = self.strength - accounting.input_convexity(bare) if self.ridge is None else self.ridge
        return replace(bare, ridge=ridge)

    def hidden(self, count: int) -> Gaussian:
        """The second, tiny noise on the weights, which hides that the solve is not exact."""
        strength = accounting.input_convexity(self.minimum(count))
        moved = 2 * (self.tolerance(count) + self.rounding(count)) / strength
        row, cross = self.bounds
        share = POLISH * min(1.0, (row**2 * self.radius + cross) / self.noise_scale(count))
        scale = moved / share
        moved += grid_slack(scale, self.features)
        return Gaussian(Sensitivity(moved, moved), scale)

    def tolerance(self, count: int) -> float:
        """The residual that the solve must reach: public, and above what double precision cannot hold.

        Rounding the true minimiser and its multiplier to 53 bits gives a gap (:class:`Quadratic`) of at most
        ``6 2^-53 ((tr A + |Delta|) eta + ||c||)``; the limits on submissions bound both, whoever sent them.
        """
        (row, cross), scale = self._longest(), self.noise_scale(count)
        size = (count * row**2 + abs(self.minimum(count).ridge)) * self.radius + count * cross
        size += scale * (math.sqrt(self.features) + math.sqrt(2 * math.log(1 / BEYOND)))
        return TOLERANCE * scale + 16 * 2.0**-53 * size

    def check_penalty(self, strengths: Array, count: int) -> None:
        """Refuse a penalty beside which what the sums may hold is lost in rounding.

        Rounding the minimiser to 53 bits moves Omega's slope by at most ``2^-53 ||tau||`` and leaves the sphere by
        ``2^-52 eta``, which :meth:`Penalised.gap` counts with ``4 ||tau||/eta``: less than ``10 2^-53 ||tau||``
        together, for which the tolerance has room beside what :meth:`tolerance` counts.
        """
        most = self.tolerance(count) / (32 * 2.0**-53)
        check(
            float(np.linalg.norm(strengths)) <= most,
            f"The penalty is beyond {most:.4g}, what any submissions could pull: all weights would be 0. Lower it.",
        )

    def _longest(self) -> tuple[float, float]:
        """The limits as numbers."""
        return self.limits[0] * self.steps[0], self.limits[1] * self.steps[1]

    def rounding(self, count: int) -> float:
        """How far rounding moves the sum of all cross noise, but for probability ROUNDING_TAIL (Hoeffding 1963)."""
        terms = max(count, self.cohort) + 1
        one = self.steps[1] * math.sqrt(0.5 * terms * math.log(2 * self.features / ROUNDING_TAIL))
        return one * math.sqrt(self.features)

    def events(self, count: int) -> tuple[Event, ...]:
        """What the model releases."""
        return self.minimum(count), self.hidden(count)

    def perturb(self, design: Array, targets: Array, source: Source) -> tuple[Whole, Whole]:
        """Submissions, in grid steps: one row per record, with one row of fresh noise each.

        ``design`` rows have norm at most hypot(clip, intercept), targets lie in [-1, 1]: checked here, before any noise
        is drawn, because noise of a fixed scale hides nothing longer.
        """
        self._check_bounded(design, targets)
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

    def _check_bounded(self, design: Array, targets: Array) -> None:
        """Refuse rows and targets beyond their bounds; what a norm's and a scaling's rounding may add is allowed.

        A sum of d squares is right to (d + 2) u, and a target that was scaled to some u. A mu that is larger by so
        little is within what prices are rounded up by, a part in 1e9.
        """
        most = math.hypot(self.clip, self.intercept) * (1 + (self.features + 16) * _U)
        within = (np.linalg.norm(design, axis=1) <= most).all() and (np.abs(targets) <= 1 + 16 * _U).all()
        if design.shape[1] != self.features or not within:  # NaN is not within
            refuse("A record is beyond the bounds that its noise was made for; nothing was released.")

    def train(self, sums: Sums, source: Source, penalty: Penalty | None = None) -> Solution:
        """Top the noise up to the cohort's, minimise over the ball, hide the rest of the solve.

        A public convex ``penalty`` in the objective does not change the price.
        Edges: zeros where the quadratic is not positive definite, which is among the rare events of the row noise, and
        nowhere else: the solve takes as long as it takes.
        """
        check(sums.count >= 1, "There are no submissions to train on.")
        missing = self.missing(sums.count)
        if missing:
            scale = self.cross_scale * math.sqrt(missing)
            sums = sums.topped(gaussian_steps(source, (self.features,), scale, self.steps[1]))
        ridge, tolerance = self.minimum(sums.count).ridge, self.tolerance(sums.count)
        row_step, cross_step = self.steps
        quadratic = Quadratic(sums, row_step=row_step, cross_step=cross_step, ridge=ridge, radius=self.radius)
        if penalty is None:
            weights, gap = quadratic.solve(tolerance)
        else:
            strengths = penalty.strengths(sums.count, self.features, self.intercept)
            self.check_penalty(strengths, sums.count)
            weights, gap = Penalised(quadratic, strengths, penalty.knee).solve(tolerance)
        out = self.hidden(sums.count).scale
        released = add_gaussian(weights if gap <= tolerance else np.zeros(self.features), out, source)
        shown = released if penalty is None else penalty.tidied(released, out)
        return Solution(shown[:, None], gap)


def _check_size(name: str, value: float) -> None:
    number = check_real(name, value)
    check(SMALLEST <= number <= GREATEST, f"Expected {name}={value} to be from {SMALLEST:g} to {GREATEST:g}.")


def _mu(events: tuple[Gaussian, ...]) -> float:
    """The joint mu of one record's Gaussian releases."""
    return math.sqrt(sum(((event.sensitivity.replace_one or 0.0) / event.scale) ** 2 for event in events))


def record_epsilon(numbers: InputNumbers, delta: float) -> float:
    """The exact epsilon of one submission at this delta."""
    if not numbers.record_events:
        refuse("Without noise a submission has no guarantee.")
    return accounting.epsilon(numbers.record_events, delta, "replace-one")
