r"""PIDP-SGD (Kang et al. 2023, Algorithm 1) as published: noise only for records of large influence. **Refuted.**

It walks over single records and leaves the noise out where the record's influence ``c_z = H^{-1} grad/n`` is small. A
step on a record without noise discloses it, and whether there is noise depends on the data: there are data sets, inside
the premises of the theorem, on which no noise is added at all, whatever the open constants are
(:mod:`papers.evidence`). It runs with ``calibration='paper'`` only, warns, and reports the fraction of noiseless steps.
The proven form of the idea is :mod:`tacit.mechanisms.individual`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import check_fields
from tacit.checks import check, check_count, check_part, check_positive
from tacit.influence.linear import error_bound
from tacit.linear.problem import Problem
from tacit.mechanisms.base import Plan
from tacit.privacy.events import COUNT
from tacit.privacy.noise import Source, gaussian
from tacit.published.contract import LAMBDA, claims, given, unmet
from tacit.published.models import LinearModel, Model, normal_rows, picks_of
from tacit.types import RADII, Array, Budget, Calibration, Facts, Site, Solution

THEOREM = "Kang et al. 2023, Theorem 5"
CHUNK = 64
"""Records whose contributions are held at a time, where the noise of a round is not drawn together."""
TOGETHER = 2**16
"""Steps of a round whose rows and noise are held at a time: what a round of many passes needs is bounded."""
BLOCK = 1024
"""Coordinates of noisy contributions that are drawn at a time there."""


@dataclass(frozen=True, kw_only=True)
class PidpSgdPlan(Plan):
    """Algorithm 1, its numbers fixed: T = ``rounds * local`` steps of size ``rate``."""

    rounds: int
    local: int
    rate: float
    regularization: float
    scale: float
    contribution_scale: float
    threshold: float
    ratio: float
    error: float
    pretrained: bool

    def run(self, problem: Problem, source: Source) -> Solution:
        """Train a linear score, from zero unless ``pretrained``."""
        return self.train(LinearModel(problem, self.regularization), source)

    def train(self, model: Model, source: Source) -> Solution:
        """Lines 2 to 19. Extras: ``noiseless``, the fraction of steps without noise."""
        if self.pretrained:  # line 2
            model.minimise()
        size, noiseless = len(model.flat), 0
        chunk, block = (TOGETHER, size) if model.together else (CHUNK, BLOCK)
        for _ in range(self.rounds):  # line 3
            influence = model.influence(source)  # line 4
            # Lines 7 to 10 ask for theta_r^(g), lines 11 and 14 for theta_t^(l): all decisions first, then the steps.
            stretches = [
                picks_of(source, model.count, min(TOGETHER, self.local - start))  # line 6
                for start in range(0, self.local, TOGETHER)
            ]
            decisions = []
            for picks in stretches:
                parts = (picks[first : first + chunk] for first in range(0, len(picks), chunk))
                own = (influence(part) + self.error for part in parts)  # line 7
                decisions.append(np.concatenate([self.small(part, source, block) for part in own]) | (self.scale == 0))
            for picks, quiet in zip(stretches, decisions, strict=True):
                rows, labels = model.rows(picks), model.labels[picks]
                for t, normal in enumerate(normal_rows(model, quiet, size, source)):
                    noise = None if normal is None else self.scale * normal  # line 13
                    model.step(rows[t : t + 1], labels[t : t + 1], self.rate, noise)  # lines 11 and 14
                noiseless += int(quiet.sum())
        total = self.rounds * self.local
        return Solution(model.flat[:, None], steps=total, extras={"noiseless": noiseless / total})

    def small(self, own: Array, source: Source, block: int) -> NDArray[np.bool_]:
        """Lines 8 to 10, a row per record: is ``c_t = 2 c_t^(o) + b^(c)`` small in every coordinate?

        Coordinates are drawn in blocks until one of them is not: the others cannot change the answer.
        """
        quiet = np.ones(len(own), dtype=np.bool_)
        for start in range(0, own.shape[1], block):
            (left,) = np.nonzero(quiet)
            if not len(left):
                break
            part = 2 * own[left, start : start + block]
            seen = np.abs(part + self.contribution_scale * gaussian(source, part.shape))
            # Line 9: |c| is below the threshold t; line 10: log(t/(t - |c|)) <= 2 eps_1.
            quiet[left] = ((seen < self.threshold) & (seen <= self.ratio * self.threshold)).all(axis=1)
        return quiet


@dataclass(frozen=True, kw_only=True)
class PidpSgd:
    """PIDP-SGD (Algorithm 1), as published. Status: refuted.

    ``constant`` is c of sigma and ``contribution_constant`` c' of sigma_(c): both required. ``domain`` is r, the
    radius of the parameter space, which enters the thresholds only (the algorithm does not project). ``share`` is
    eps_1/eps (3/4 in the paper) and delta_1/delta is ``delta_share``. The step size is 1/L of Theorem 6 unless given;
    T = ``rounds * local``, one pass over the data unless given. ``zeta`` bounds the Hessian from below: lambda unless
    given, which is what the proofs need; the print asks for its *norm* to exceed zeta, which any zeta below the
    largest eigenvalue meets. E of line 7 is Theorem 4's bound, added to every coordinate.

    Line 2 starts at a theta-tilde that the paper does not define: zero here (a network's random weights), which owes
    nothing to the records. ``pretrained`` starts at the minimiser instead, which is what the same authors call by that
    sign in 2020 (Kang et al. 2020b, line 2 of Algorithm 2), and which discloses the records whatever follows.
    """

    proven_form: ClassVar[str] = "individual"
    open_constants: ClassVar[tuple[str, ...]] = ("constant", "contribution_constant")

    constant: float | None = None
    contribution_constant: float | None = None
    rounds: int = 10
    local: int | None = None
    step: float | None = None
    domain: float = 10.0
    zeta: float | None = None
    share: float = 0.75
    delta_share: float = 0.5
    pretrained: bool = False
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_count("rounds", self.rounds, COUNT)
        check_part("share", self.share)
        check_part("delta_share", self.delta_share)
        least, most = RADII
        for name in ("domain", "step", "zeta"):
            value = getattr(self, name)
            check(value is None or least <= value <= most, f"Expected {name}={value} to be from {least:g} to {most:g}.")
        if self.local is not None:
            check_count("local", self.local, COUNT)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The paper's calibration, its constants, and one smooth score."""
        return unmet("PidpSgd", self, facts, calibration)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PidpSgdPlan:
        """Theorem 5's two noise scales and the thresholds of lines 9 and 10."""
        claim = claims(budget, THEOREM)
        strong = check_positive("regularization", LAMBDA if regularization is None else regularization)
        n, lipschitz = facts.records, facts.gradient + strong * self.domain
        smooth, zeta = facts.curvature + strong, strong if self.zeta is None else self.zeta
        local = self.local or max(1, n // self.rounds)
        first, second = self.share * budget.epsilon, (1 - self.share) * budget.epsilon
        delta, other = self.delta_share * budget.delta, (1 - self.delta_share) * budget.delta
        scale = contribution = 0.0
        if budget.private:
            root = math.sqrt(self.rounds * local * math.log(1 / delta))
            scale = given("constant", self.constant) * lipschitz * root / (n * first)
            root = self.rounds * math.sqrt(math.log(1.25 * self.rounds / other))
            other_constant = given("contribution_constant", self.contribution_constant)
            contribution = other_constant * lipschitz * root / (n * zeta * second)
        third = facts.radius**3 / (6 * math.sqrt(3))
        words = (
            f"regularization lambda = {strong:g}",
            f"{self.rounds} rounds of {local} steps on single records",
            f"first weights: {'the minimiser' if self.pretrained else 'public'}",
        )
        return PidpSgdPlan(
            rounds=self.rounds, local=local, rate=self.step or 1 / smooth, regularization=strong,
            scale=scale, contribution_scale=contribution,
            threshold=2 * self.domain * delta / -math.expm1(-first), ratio=-math.expm1(-2 * first),
            error=error_bound(n, lipschitz, smooth, third, zeta), pretrained=self.pretrained,
            events=claim, theorem="pidp-sgd", assumptions=words,
        )  # fmt: skip
