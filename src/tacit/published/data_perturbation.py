"""Input perturbation as papers 000 and 003 publish it: noise on x only, then (mini-batch) gradient descent.

* 000, Kang et al. 2020a: ``sigma^2 = c G^2 T log(1/delta) / (n (n-1) sqrt(Delta) eps^2)`` (9), without sqrt(Delta) for
  Polyak-Lojasiewicz losses (12). Refuted: the noise on the gradient shrinks with n, so that no c is large enough.
* 003, Kang et al. 2020b (DBDP-ERM), Algorithm 1: ``sigma = c q G sqrt(T log(1/delta)) / eps`` (10). Refuted: no c is
  large enough for every delta.

``c`` is "some constant" in both papers: it has to be given. Both verdicts are computed exactly from this code's law
(:mod:`papers.evidence`).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count, check_positive
from tacit.linear.problem import Problem
from tacit.mechanisms.base import Plan
from tacit.mechanisms.input_plan import design
from tacit.privacy.events import Claimed
from tacit.privacy.noise import Source, gaussian, permutation
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

REFERENCES = {
    "input-kang-2020": "Kang et al. 2020a, Theorems 1 and 3",
    "dbdp-erm": "Kang et al. 2020b, Theorem 1",
}


@dataclass(frozen=True)
class PublishedPlan(Plan):
    """Perturbed features and plain descent."""

    scale: float
    shared: bool
    steps: int
    rate: float
    batch: float
    regularization: float

    def noise(self, shape: tuple[int, ...], source: Source) -> Array:
        """z for every row of n, or one row for all."""
        return np.asarray(gaussian(source, (1, *shape[1:]) if self.shared else shape) * self.scale)

    def batches(self, records: int, source: Source) -> Iterator[NDArray[np.intp] | slice]:
        """The records of every step: all, or a fraction without replacement."""
        size = max(1, round(self.batch * records))
        for _ in range(self.steps):
            yield slice(None) if size >= records else permutation(source, records)[:size]

    def run(self, problem: Problem, source: Source) -> Solution:
        """Perturb all rows once, then descend on them."""
        records = problem.records
        columns = records.matrix.shape[1]
        rows = np.vstack([design(records, place, block) for block, place in records.blocks()])
        rows[:, :columns] += self.noise((len(rows), columns), source)
        labels = records.targets
        weights = problem.start()
        for picked in self.batches(len(rows), source):
            x, y = rows[picked], labels[picked]
            slopes = problem.loss.slope(x @ weights, y)
            weights = weights - self.rate * (x.T @ slopes / len(x) + self.regularization * weights)
        data: tuple[Array, Array] = (rows[:, :columns], labels[:, 0])
        return Solution(weights, steps=self.steps, extras={"perturbed_data": data})


@dataclass(frozen=True)
class PublishedInput:
    """The published noise of ``paper`` ('input-kang-2020' or 'dbdp-erm'), with the constant c that papers leave open.

    ``shared`` draws one z for all records, as the text of 000 reads. ``condition``: 'strongly-convex' or
    'polyak-lojasiewicz'. ``domain`` is the radius of the parameter space: with the regulariser the Lipschitz constant
    is G = (that of the loss) + lambda * ``domain``; 0 leaves the regulariser out of G.
    """

    paper: str = "input-kang-2020"
    constant: float | None = None
    steps: int = 50
    rate: float = 1.0
    batch: float = 1.0
    shared: bool = False
    condition: str = "strongly-convex"
    domain: float = 0.0
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Its constant, two classes, and to be asked for by name."""
        if calibration != "paper":
            return f"{self.paper} has no proof. Ask for it with calibration='paper', or use method='input-local'."
        if self.constant is None:
            return f"{self.paper} leaves its constant open. Use method=PublishedInput({self.paper!r}, constant=...)."
        if facts.outputs > 1 or not math.isfinite(facts.loss.smoothness):
            return f"{self.paper} needs two classes and a smooth loss."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PublishedPlan:
        """The published formula."""
        check(self.paper in REFERENCES, f"Expected paper={self.paper!r} to be one of {', '.join(REFERENCES)}.")
        check_count("steps", self.steps)
        check(0 < self.batch <= 1, f"Expected 0 < batch={self.batch} <= 1.")
        kinds = ("strongly-convex", "polyak-lojasiewicz")
        check(self.condition in kinds, f"Expected condition={self.condition!r} to be one of {', '.join(kinds)}.")
        check(budget.delta > 0, "The published noise needs delta > 0.")
        c = check_positive("constant", self.constant or 0.0)
        strong = 0.01 if regularization is None else regularization
        check(0 <= self.domain < math.inf, f"Expected domain={self.domain} >= 0 and finite.")
        n, log, lipschitz = facts.records, math.log(1 / budget.delta), facts.gradient + strong * self.domain
        if self.paper == "dbdp-erm":
            scale = c * self.batch * lipschitz * math.sqrt(self.steps * log) / budget.epsilon
        else:
            check(strong > 0 and n > 1, "The published noise needs regularization > 0 and two records.")
            variance = c * lipschitz**2 * self.steps * log / (n * (n - 1) * budget.epsilon**2)
            scale = math.sqrt(variance / (math.sqrt(strong) if self.condition == "strongly-convex" else 1.0))
        rate = min(self.rate, 1 / (facts.curvature + strong))
        words = (
            f"noise {scale:.6g} on features, {'one draw for all' if self.shared else 'each its own'}; none on labels",
            f"constant c = {c:g}, {self.steps} steps, batch fraction {self.batch:g}, lambda = {strong:g}",
        )
        claim = (Claimed(budget.epsilon, budget.delta, REFERENCES[self.paper]),) if budget.private else ()
        return PublishedPlan(
            scale,
            self.shared,
            self.steps,
            rate,
            self.batch,
            strong,
            events=claim,
            theorem=self.paper,
            assumptions=words,
        )
