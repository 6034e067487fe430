r"""PIDP-SGD and performance-improving DBDP-ERM as published: noise only for records of large influence. **Refuted.**

Both walk over single records and leave the noise out where the record's influence ``c_z = H^{-1} grad/n`` is small. A
step on a record without noise discloses it, the second one starts at the exact minimiser, and whether there is noise
depends on the data: there are data sets, inside the premises of either theorem, on which no noise is added at all,
whatever the open constants are (:mod:`papers.evidence`). They run with ``calibration='paper'``
only, warn, and report the fraction of noiseless steps. The proven form of the idea is
:mod:`tacit.mechanisms.individual`.

The papers' "some constant c" has to be given. Where the print leaves a choice it is named in the docstrings and on the
docs' page "Heterogeneity".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_positive
from tacit.influence.linear import Influence, design_rows, error_bound
from tacit.linear.problem import Problem
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms.base import Plan
from tacit.privacy.events import Claimed
from tacit.privacy.noise import Source, gaussian, uniform
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

LAMBDA = 0.01
"""The papers regularise ("most of the algorithms are regularized") and do not say how much."""
PIDP_SGD = "Kang et al. 2023, Theorem 5"
PI_DBDP_ERM = "Kang et al. 2020b, Theorem 2"


def _unmet(name: str, facts: Facts, calibration: Calibration, *constants: float | None) -> str:
    if calibration != "paper":
        return f"{name} has no proven calibration: its theorem is refuted. Use method='individual' for the same idea."
    if None in constants:
        return f"{name}'s noise holds 'for some constant c', which the paper does not give. Pass {name}(constant=...)."
    if facts.outputs != 1 or facts.loss.coupled or not math.isfinite(facts.loss.smoothness * facts.loss.lipschitz):
        return f"{name} is built for one score and a smooth loss of bounded slope. Use two classes and a logistic loss."
    return ""


def picks_of(source: Source, records: int, count: int) -> NDArray[np.intp]:
    """Line 'choose a data instance randomly': uniform, with replacement."""
    return np.minimum((uniform(source, count) * records).astype(np.intp), records - 1)


def low(seen: Array, threshold: float, ratio: float) -> NDArray[np.bool_]:
    """Lines 9 and 10 of PIDP-SGD, by coordinate: |c| is below the threshold, and log(t/(t - |c|)) <= 2 eps_1."""
    return np.asarray((seen < threshold) & (seen <= ratio * threshold))


def unchanged(moves: Array, weights: Array, epsilon: float, test: Literal["norm", "elements"]) -> NDArray[np.bool_]:
    """Line 9 of PI-DBDP-ERM, a row of ``moves`` a record: is ``||(c_t + w)/w||`` between e^-epsilon and e^epsilon?

    The division is element-wise; 'elements' asks every ratio by itself instead of their norm.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (moves + weights) / weights
    sizes = np.linalg.norm(ratios, axis=1, keepdims=True) if test == "norm" else ratios
    return np.asarray(((sizes >= math.exp(-epsilon)) & (sizes <= math.exp(epsilon))).all(axis=1))


def _mean_hessian_inverse(problem: Problem, weights: Array) -> Array:
    """The inverse of the mean objective's Hessian."""
    return Influence.at(problem, weights).inverse * problem.records.count


def _contributions(problem: Problem, rows: Array, y: Array, weights: Array, inverse: Array) -> Array:
    """``c_z = H^{-1} grad loss(w, z) / n`` for some design rows, the regulariser being part of every record's loss."""
    strength = problem.strength / problem.records.count
    gradients = problem.loss.slope(rows @ weights, y) * rows + strength * weights.T
    return np.asarray(gradients @ inverse / problem.records.count)


@dataclass(frozen=True)
class PidpSgdPlan(Plan):
    """Algorithm 1 of PIDP-SGD, its numbers fixed."""

    rounds: int
    local: int
    step: float
    regularization: float
    scale: float
    contribution_scale: float
    threshold: float
    ratio: float
    error: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Lines 2 to 19. Extras: ``noiseless``, the fraction of steps without noise."""
        n = problem.records.count
        strong = replace(problem, strength=self.regularization * n)
        weights, noiseless = problem.start(), 0
        for _ in range(self.rounds):
            start, inverse = weights, _mean_hessian_inverse(strong, weights)  # line 4
            picks = picks_of(source, n, self.local)  # line 6
            rows, y = design_rows(problem.records, picks), problem.records.targets[picks]
            own = _contributions(strong, rows, y, start, inverse) + self.error  # line 7
            seen = np.abs(2 * own + self.contribution_scale * gaussian(source, own.shape))  # lines 8 and 9
            quiet = np.asarray(low(seen, self.threshold, self.ratio).all(axis=1))  # line 10
            noise = self.scale * gaussian(source, own.shape)
            for x, target, still, b in zip(rows, y, quiet, noise, strict=True):
                slope = problem.loss.slope((x @ weights)[None], target[None])[0]
                gradient = slope * x[:, None] + self.regularization * weights
                weights = weights - self.step * (gradient if still else gradient + b[:, None])  # lines 11 and 14
            noiseless += int(quiet.sum())
        total = self.rounds * self.local
        return Solution(weights, steps=total, extras={"noiseless": noiseless / total})


@dataclass(frozen=True)
class PidpSgd:
    """PIDP-SGD (Algorithm 1), as published. Status: refuted.

    ``constant`` is c of sigma and ``contribution_constant`` c' of sigma_(c): both required. ``domain`` is r, the
    radius of the parameter space, which enters the thresholds only (the algorithm does not project). ``share`` is
    eps_1/eps (3/4 in the paper) and delta_1/delta is ``delta_share``. The step size is 1/L of Theorem 6 unless given;
    T = ``rounds * local``, one pass over the data unless given. ``zeta`` bounds the Hessian from below: lambda unless
    given, which is what the proofs need; the print asks for its *norm* to exceed zeta, which any zeta below the
    largest eigenvalue meets. E of line 7 is Theorem 4's bound, added to every coordinate.
    """

    constant: float | None = None
    contribution_constant: float | None = None
    rounds: int = 10
    local: int | None = None
    step: float | None = None
    domain: float = 10.0
    zeta: float | None = None
    share: float = 0.75
    delta_share: float = 0.5
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The paper's calibration, its constants, and one smooth score."""
        return _unmet("PidpSgd", facts, calibration, self.constant, self.contribution_constant)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PidpSgdPlan:
        """Theorem 5's two noise scales and the thresholds of lines 9 and 10."""
        check(budget.delta > 0, "PIDP-SGD needs delta > 0.")
        strength = check_positive("regularization", LAMBDA if regularization is None else regularization)
        n, lipschitz = facts.records, facts.gradient + strength * self.domain
        smooth, zeta = facts.curvature + strength, strength if self.zeta is None else self.zeta
        local = self.local or max(1, n // self.rounds)
        first, second = self.share * budget.epsilon, (1 - self.share) * budget.epsilon
        delta, other = self.delta_share * budget.delta, (1 - self.delta_share) * budget.delta
        scale = contribution = 0.0
        if budget.private:
            root = math.sqrt(self.rounds * local * math.log(1 / delta))
            scale = (self.constant or 0.0) * lipschitz * root / (n * first)
            root = self.rounds * math.sqrt(math.log(1.25 * self.rounds / other))
            contribution = (self.contribution_constant or 0.0) * lipschitz * root / (n * zeta * second)
        third = facts.radius**3 / (6 * math.sqrt(3))
        words = (f"regularization lambda = {strength:g}", f"{self.rounds} rounds of {local} steps on single records")
        return PidpSgdPlan(
            self.rounds, local, self.step or 1 / smooth, strength, scale, contribution,
            2 * self.domain * delta / -math.expm1(-first), -math.expm1(-2 * first),
            error_bound(n, lipschitz, smooth, third, zeta),
            events=(Claimed(budget.epsilon, budget.delta, PIDP_SGD),) if budget.private else (), theorem="pidp-sgd", assumptions=words,
        )  # fmt: skip


@dataclass(frozen=True)
class PiDbdpErmPlan(Plan):
    """Algorithm 2 of DBDP-ERM, its numbers fixed."""

    rounds: int
    local: int
    step: float
    regularization: float
    scale: float
    epsilon: float
    test: Literal["norm", "elements"]

    def run(self, problem: Problem, source: Source) -> Solution:
        """Lines 2 to 19. Extras: ``noiseless``, and ``perturbed``: the last version of every perturbed record's row."""
        n, columns = problem.records.count, int(problem.records.matrix.shape[1])
        strong = replace(problem, strength=self.regularization * n)
        tau = 1e-9 * problem.facts.gradient * math.sqrt(n)
        weights = Newton(tau).solve(strong).weights  # line 2: the exact minimiser
        inverse = _mean_hessian_inverse(strong, weights)
        noiseless, perturbed = 0, dict[int, Array]()
        for _ in range(self.rounds):
            picks = picks_of(source, n, self.local)  # line 7
            rows, y = design_rows(problem.records, picks), problem.records.targets[picks]
            moves = _contributions(strong, rows, y, weights, inverse)  # line 8
            quiet = unchanged(moves, weights.T, self.epsilon, self.test)  # line 9
            noise = gaussian(source, (self.local, columns))
            for index, x, target, still, b in zip(picks, rows, y, quiet, noise, strict=True):
                if not still:  # line 12
                    x[:columns] += self.scale / math.sqrt(_passed_on(problem, x, target, weights, columns)) * b
                    perturbed[int(index)] = x[:columns]
                slope = problem.loss.slope((x @ weights)[None], target[None])[0]
                weights = weights - self.step * (slope * x[:, None] + self.regularization * weights)
            noiseless += int(quiet.sum())
        total = self.rounds * self.local
        return Solution(weights, steps=total, extras={"noiseless": noiseless / total, "perturbed": perturbed})


def _passed_on(problem: Problem, x: Array, target: Array, weights: Array, columns: int) -> float:
    """``w_t = ||grad_x grad_w loss||_2``: slope times the identity plus curvature times x w^T, two directions matter.

    In the orthonormal basis of w and x its Gram matrix is 2 x 2; all other directions have |slope|.
    """
    z = (x @ weights)[None]
    slope = float(problem.loss.slope(z, target[None])[0, 0])
    curve = float(problem.loss.curve(z, target[None], np.ones_like(z))[0, 0])
    inner = weights[:columns, 0]
    length = float(np.linalg.norm(inner))
    along = float(x[:columns] @ inner) / length if length else 0.0
    across = math.sqrt(max(0.0, float(x[:columns] @ x[:columns]) - along**2))
    cross = slope * curve * length
    top = slope**2 + 2 * cross * along + (curve * length) ** 2 * float(x @ x)
    middle, half = 0.5 * (top + slope**2), 0.5 * (top - slope**2)
    return max(math.sqrt(max(slope**2, middle + math.hypot(half, cross * across))), 1e-12)


@dataclass(frozen=True)
class PiDbdpErm:
    """Performance-improving DBDP-ERM (Algorithm 2), as published. Status: refuted.

    ``constant`` is c of equation (15), required; sigma_t is read as ``c G sqrt(T log(1/delta)) / (sqrt(w_t) n eps)``,
    as its proof and Table 1 have it. ``test`` is line 9: 'norm' as printed, the Euclidean norm of the element-wise
    ratios, which is near sqrt(m) for m parameters and so never lets a record pass at epsilon < log(m)/2; or
    'elements', every ratio by itself. T is one pass over the data in rounds of 10 (the paper's T_local), and the step
    size 1/L, unless given.
    """

    constant: float | None = None
    steps: int | None = None
    local: int = 10
    step: float | None = None
    test: Literal["norm", "elements"] = "norm"
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The paper's calibration, its constant, and one smooth score."""
        return _unmet("PiDbdpErm", facts, calibration, self.constant)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PiDbdpErmPlan:
        """Equation (15), but for 1/sqrt(w_t)."""
        check(budget.delta > 0, "PI-DBDP-ERM needs delta > 0.")
        strength = check_positive("regularization", LAMBDA if regularization is None else regularization)
        rounds = max(1, (self.steps or facts.records) // self.local)
        scale = 0.0
        if budget.private:
            root = math.sqrt(rounds * self.local * math.log(1 / budget.delta))
            scale = (self.constant or 0.0) * facts.gradient * root / (facts.records * budget.epsilon)
        words = (f"regularization lambda = {strength:g}", f"{rounds} rounds of {self.local} steps on single records")
        return PiDbdpErmPlan(
            rounds, self.local, self.step or 1 / (facts.curvature + strength), strength, scale, budget.epsilon,
            self.test, events=(Claimed(budget.epsilon, budget.delta, PI_DBDP_ERM),) if budget.private else (), theorem="pi-dbdp-erm",
            assumptions=words,
        )  # fmt: skip
