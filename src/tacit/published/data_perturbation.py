"""Input perturbation as two papers publish it: noise on x only, then (mini-batch) gradient descent. **Refuted.**

* Kang et al. 2020a, Algorithm 1: ``sigma^2 = c G^2 T log(1/delta) / (n (n-1) sqrt(Delta) eps^2)`` (9), without
  sqrt(Delta) for Polyak-Lojasiewicz losses (12). The noise on the gradient shrinks with n: no c is large enough.
* Kang et al. 2020b (DBDP-ERM), Algorithm 1: ``sigma = c q G sqrt(T log(1/delta)) / eps`` (10). No c is large enough for
  every delta.

``c`` is "some constant" in both papers: it has to be given. Both verdicts are computed exactly from this code's law
(:mod:`papers.evidence`). The proven form of the idea is :mod:`tacit.mechanisms.local`.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import check_fields
from tacit.checks import check, check_choice, check_count, check_positive
from tacit.linear.problem import Problem
from tacit.mechanisms.base import Plan
from tacit.privacy.events import COUNT
from tacit.privacy.noise import Source, gaussian, permutation
from tacit.published.contract import LAMBDA, claims, given, unmet
from tacit.published.models import LinearModel, Model
from tacit.published.perturbed_data import PerturbedData
from tacit.types import RADII, Array, Budget, Calibration, Facts, Site, Solution

THEOREMS = {
    "input-kang-2020": "Kang et al. 2020a, Theorems 1 and 3",
    "dbdp-erm": "Kang et al. 2020b, Theorem 1",
}
STARTS = {"input-kang-2020": 0.0, "dbdp-erm": 1.0}
CONDITIONS = ("strongly-convex", "polyak-lojasiewicz")


@dataclass(frozen=True, kw_only=True)
class PublishedPlan(Plan):
    """Perturbed features and plain descent: ``steps`` steps of size ``rate`` on a fraction ``batch`` of the records."""

    scale: float
    shared: bool
    steps: int
    rate: float
    batch: float
    regularization: float
    start: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Train a linear score from first weights N(0, start^2/m) each, m of them."""
        model = LinearModel(problem, self.regularization)
        if self.start:  # DBDP-ERM: line 2
            model.flat[:] = self.start / math.sqrt(len(model.flat)) * gaussian(source, model.flat.shape)
        return self.train(model, source)

    def train(self, model: Model, source: Source) -> Solution:
        """Perturb all rows once, then descend on them. Extras: ``perturbed_data``, D_priv."""
        rows, labels = model.rows(slice(None)), model.labels
        perturbed = rows[:, : model.columns]
        perturbed += self.noise(perturbed.shape, source)  # line 3; DBDP-ERM: lines 3 and 4
        for picked in self.batches(len(rows), source):  # DBDP-ERM: line 6
            model.step(rows[picked], labels[picked], self.rate)  # line 7 of both
        touched = np.full(len(rows), self.scale > 0)
        kept = PerturbedData(perturbed, labels.ravel(), touched, None if self.shared else self.scale)
        return Solution(model.flat[:, None], steps=self.steps, extras={"perturbed_data": kept})

    def noise(self, shape: tuple[int, ...], source: Source) -> Array:
        """z for every row of n, or one row for all."""
        return np.asarray(gaussian(source, (1, *shape[1:]) if self.shared else shape) * self.scale)

    def batches(self, records: int, source: Source) -> Iterator[NDArray[np.intp] | slice]:
        """The records of every step: all, or a fraction without replacement."""
        size = max(1, round(self.batch * records))
        for _ in range(self.steps):
            yield slice(None) if size >= records else permutation(source, records)[:size]


@dataclass(frozen=True)
class PublishedInput:
    """The published noise of ``paper`` ('input-kang-2020' or 'dbdp-erm'), with the constant c that papers leave open.

    ``shared`` draws one z for all records, as the text of Kang et al. 2020a reads. ``condition``: 'strongly-convex' or
    'polyak-lojasiewicz'. ``domain`` is the radius of the parameter space: with the regulariser the Lipschitz constant
    is G = (that of the loss) + lambda * ``domain``; 0 leaves the regulariser out of G.

    ``start`` is the root mean square norm of the first weights, which are Gaussian: 1 for DBDP-ERM ("randomly", line
    2, by no law that it names), 0 for Kang et al. 2020a, who name none. A network has first weights of its own.
    """

    proven_form: ClassVar[str] = "input-local"
    open_constants: ClassVar[tuple[str, ...]] = ("constant",)

    paper: str = "input-kang-2020"
    _: KW_ONLY
    constant: float | None = None
    steps: int = 50
    rate: float = 1.0
    batch: float = 1.0
    shared: bool = False
    condition: str = "strongly-convex"
    domain: float = 0.0
    start: float | None = None
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_choice("paper", self.paper, THEOREMS)
        check_choice("condition", self.condition, CONDITIONS)
        check_count("steps", self.steps, COUNT)
        check_positive("rate", self.rate)
        check(0 < self.batch <= 1, f"Expected 0 < batch={self.batch} <= 1.")
        for name in ("domain", "start"):
            value = getattr(self, name)
            check(value is None or 0 <= value <= RADII[1], f"Expected {name}={value} >= 0, at most {RADII[1]:g}.")

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """The paper's calibration, its constant, and one smooth score."""
        return unmet(f"PublishedInput({self.paper!r})", self, facts, calibration)

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> PublishedPlan:
        """The published formula."""
        claim = claims(budget, THEOREMS[self.paper])
        c = given("constant", self.constant)
        strong = LAMBDA if regularization is None else regularization
        start = STARTS[self.paper] if self.start is None else self.start
        n, log, lipschitz = facts.records, math.log(1 / budget.delta), facts.gradient + strong * self.domain
        if self.paper == "dbdp-erm":
            scale = c * self.batch * lipschitz * math.sqrt(self.steps * log) / budget.epsilon
        else:
            check(strong > 0 and n > 1, "The published noise needs regularization > 0 and two records.")
            variance = c * lipschitz**2 * self.steps * log / (n * (n - 1) * budget.epsilon**2)
            scale = math.sqrt(variance / (math.sqrt(strong) if self.condition == "strongly-convex" else 1.0))
        words = (
            f"noise {scale:.6g} on features, {'one draw for all' if self.shared else 'each its own'}; none on labels",
            f"constant c = {c:g}, {self.steps} steps, batch fraction {self.batch:g}, lambda = {strong:g}",
            f"first weights of norm {start:g}, at random" if start else "first weights are 0",
        )
        return PublishedPlan(
            scale=scale, shared=self.shared, steps=self.steps, rate=float(self.rate),
            batch=self.batch, regularization=strong, start=start,
            events=claim, theorem=self.paper, assumptions=words,
        )  # fmt: skip
