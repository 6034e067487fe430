r"""Performance-improving DBDP-ERM (Kang et al. 2020b, Algorithm 2) as published. **Refuted.**

It starts at the exact minimiser, walks over single records, and leaves the noise on a record out where its influence
``c_z = H^{-1} grad/n`` changes the model little. Start and noiseless steps disclose records, and whether there is noise
depends on the data: there are data sets, inside the premises of the theorem, on which no noise is added at all,
whatever the open constant is (:mod:`papers.evidence`). It runs with ``calibration='paper'`` only, warns, and reports
the fraction of noiseless steps. The proven form of the idea is :mod:`tacit.mechanisms.individual`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import check_fields
from tacit.checks import check_count, check_positive
from tacit.linear.problem import Problem
from tacit.mechanisms.base import Plan
from tacit.privacy.events import COUNT
from tacit.privacy.noise import Source
from tacit.published.contract import LAMBDA, claims, given, unmet
from tacit.published.models import LinearModel, Model, normal_rows, picks_of
from tacit.published.perturbed_data import PerturbedData
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

THEOREM = "Kang et al. 2020b, Theorem 2"
Test = Literal["norm", "elements"]


def unchanged(moves: Array, weights: Array, epsilon: float, test: Test) -> NDArray[np.bool_]:
    """Line 9, a row of ``moves`` a record: is ``||(c_t + w)/w||`` between e^-epsilon and e^epsilon?

    The division is element-wise; 'elements' asks every ratio by itself instead of their norm.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = (moves + weights) / weights
    sizes = np.linalg.norm(ratios, axis=1, keepdims=True) if test == "norm" else ratios
    return np.asarray(((sizes >= math.exp(-epsilon)) & (sizes <= math.exp(epsilon))).all(axis=1))


@dataclass(frozen=True, kw_only=True)
class PiDbdpErmPlan(Plan):
    """Algorithm 2, its numbers fixed: T = ``rounds * local`` steps of size ``rate``; ``scale`` is sigma_t sqrt(w_t)."""

    rounds: int
    local: int
    rate: float
    regularization: float
    scale: float
    epsilon: float
    test: Test

    def run(self, problem: Problem, source: Source) -> Solution:
        """Train a linear score from its exact minimiser."""
        return self.train(LinearModel(problem, self.regularization), source)

    def train(self, model: Model, source: Source) -> Solution:
        """Lines 2 to 19. Extras: ``noiseless``, and ``perturbed_data``: D_priv, raw rows and all."""
        model.minimise()  # line 2
        influence, noiseless = model.influence(source), 0
        released, touched = model.rows(slice(None))[:, : model.columns], np.zeros(model.count, dtype=np.bool_)  # line 4
        for _ in range(self.rounds):  # line 5
            picks = picks_of(source, model.count, self.local)  # line 7
            quiet = unchanged(influence(picks), model.flat, self.epsilon, self.test) | (self.scale == 0)  # 8 and 9
            rows, labels = model.rows(picks), model.labels[picks]
            for t, normal in enumerate(normal_rows(model, quiet, model.columns, source)):
                row, label = rows[t], labels[t : t + 1]
                if normal is not None:  # line 12
                    noisy = row[: model.columns]
                    noisy += self.scale / math.sqrt(model.passed_on(row, label)) * normal
                    released[picks[t]] = noisy  # line 18: the last version, else the original
                    touched[picks[t]] = True
                model.step(row[None], label, self.rate)  # lines 10 and 12
            noiseless += int(quiet.sum())
        total = self.rounds * self.local
        kept = PerturbedData(released, model.labels.ravel(), touched)
        extras = {"noiseless": noiseless / total, "perturbed_data": kept}
        return Solution(model.flat[:, None], steps=total, extras=extras)


@dataclass(frozen=True, kw_only=True)
class PiDbdpErm:
    """Performance-improving DBDP-ERM (Algorithm 2), as published. Status: refuted.

    ``constant`` is c of equation (15), required; sigma_t is read as ``c G sqrt(T log(1/delta)) / (sqrt(w_t) n eps)``,
    as its proof and Table 1 have it. ``test`` is line 9: 'norm' as printed, the Euclidean norm of the element-wise
    ratios, which is near sqrt(m) for m parameters and so never lets a record pass at epsilon < log(m)/2; or
    'elements', every ratio by itself. T is one pass over the data in rounds of 10 (the paper's T_local), and the step
    size 1/L, unless given.
    """

    proven_form: ClassVar[str] = "individual"
    open_constants: ClassVar[tuple[str, ...]] = ("constant",)

    constant: float | None = None
    steps: int | None = None
    local: int = 10
    step: float | None = None
    test: Test = "norm"
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_count("local", self.local, COUNT)
        if self.steps is not None:
            check_count("steps", self.steps, COUNT)
        if self.step is not None:
            check_positive("step", self.step)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The paper's calibration, its constant, and one smooth score."""
        return unmet("PiDbdpErm", self, facts, calibration)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PiDbdpErmPlan:
        """Equation (15), but for 1/sqrt(w_t)."""
        claim = claims(budget, THEOREM)
        strong = check_positive("regularization", LAMBDA if regularization is None else regularization)
        rounds = max(1, (self.steps or facts.records) // self.local)
        scale = 0.0
        if budget.private:
            root = math.sqrt(rounds * self.local * math.log(1 / budget.delta))
            scale = given("constant", self.constant) * facts.gradient * root / (facts.records * budget.epsilon)
        words = (f"regularization lambda = {strong:g}", f"{rounds} rounds of {self.local} steps on single records")
        return PiDbdpErmPlan(
            rounds=rounds, local=self.local, rate=self.step or 1 / (facts.curvature + strong), regularization=strong,
            scale=scale, epsilon=budget.epsilon, test=self.test,
            events=claim, theorem="pi-dbdp-erm", assumptions=words,
        )  # fmt: skip
