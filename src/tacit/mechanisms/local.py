r"""Input perturbation for any loss: every record is perturbed by its owner, and the model is trained as usual.

* 'input-local' (proven): Gaussian noise on x and randomised response on y make each record (epsilon_0, delta_0)-private
  by itself. The records are shuffled, so the model, and the perturbed data set itself, cost less
  (:mod:`tacit.privacy.shuffle`). Training knows the noise: it replaces x by its best linear guess from the noisy x
  (regression calibration; Carroll, Ruppert, Stefanski & Crainiceanu 2006).
* 'local-duchi-2013' (proven): one pass of SGD; each contributor sends one gradient through the l2-ball mechanism of
  Duchi, Jordan & Wainwright 2013.

What Kang et al. 2020a and 2020b publish is in :mod:`tacit.published`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from scipy.special import gammaln

from tacit.arguments import check_fields
from tacit.checks import check, check_count, check_part, check_positive, refuse
from tacit.data.rows import row_norms
from tacit.linear.problem import Problem, Records
from tacit.linear.records import in_memory
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms.base import Method, Plan, Released
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, Gaussian, Response, Sensitivity, Shuffled
from tacit.privacy.noise import Source, add_gaussian, choose, gaussian, grid_slack, permutation, uniform
from tacit.privacy.shuffle import price_of_local_delta, shuffled_delta
from tacit.rounding import narrow
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution

"""A clip that no perturbed row reaches: training on perturbed records is post-processing and needs none."""
CLASSES = ("logistic", "huber-hinge")
MOST = 500.0
"""The largest epsilon of a coin: what is rarer than e^-500 is not told from never."""


def lie(epsilon: float) -> float:
    """The chance 1/(1 + e^epsilon) of the false answer, rounded up: log((1 - p)/p) is at most epsilon.

    The exponential, the sum and the quotient are off by a few units of 2**-53; 2**-49 is more.
    """
    return min(0.5, (1 + 2.0**-49) / (1 + math.exp(epsilon)))


@dataclass(frozen=True, kw_only=True)
class LocalPlan(Plan):
    """Calibrated local perturbation: noise on x, a chance to flip y, and what training does about both."""

    scale: float
    label_epsilon: float
    regularization: float
    correct: bool
    theorem: str = "input-local"

    def perturb(self, records: Records, source: Source) -> tuple[Array, Array]:
        """The perturbed rows (without the intercept's constant) and labels, in a random order."""
        rows = np.empty((records.count, records.design.columns))
        for block in records.blocks():
            clean = block.design()[:, : rows.shape[1]]
            rows[block.first : block.first + block.count] = add_gaussian(clean, self.scale, source)
        labels = records.targets[:, 0].copy()
        if math.isfinite(self.label_epsilon):
            labels[choose(source, len(labels), lie(self.label_epsilon))] *= -1
        order = permutation(source, len(labels)) if self.scale else np.arange(len(labels))
        return rows[order], labels[order]

    def run(self, problem: Problem, source: Source) -> Solution:
        """Perturb, shuffle, correct, train."""
        rows, labels = self.perturb(in_memory(problem.records), source)
        used = calibrated_rows(rows, self.scale) if self.correct and self.scale else rows
        weights = trained(problem, used, labels, self.regularization)
        return Solution(weights, extras={"perturbed_data": (rows, labels)} if self.scale else {})


def calibrated_rows(rows: Array, scale: float) -> Array:
    """The best linear guess of every unperturbed row: ``m + (x - m) S (S + scale^2)^{-1}``, S the rows' own covariance.

    S is the observed covariance less the known noise, with no eigenvalue below a hundredth of the noise's part.
    """
    middle = rows.mean(axis=0)
    centred = rows - middle
    values, vectors = np.linalg.eigh(centred.T @ centred / len(rows))
    own = np.maximum(values - scale**2, 0.01 * scale**2 / math.sqrt(len(rows)))
    return np.asarray(middle + ((centred @ vectors) * (own / (own + scale**2))) @ vectors.T)


def trained(problem: Problem, rows: Array, labels: Array, regularization: float) -> Array:
    """The minimiser on perturbed records: post-processing, so no clip and no certificate is needed."""
    longest = float(row_norms(rows).max(initial=1e-300))
    records = Records.build(rows, labels[:, None], 2 * longest, problem.records.intercept)
    full = replace(problem, records=records, strength=regularization * len(labels))
    return Newton(1e-8 * len(labels)).solve(full).weights


@dataclass(frozen=True)
class LocalPerturbation:
    """Gaussian noise on x and randomised response on y, amplified by shuffling.

    ``label_share`` is the label's part of a record's epsilon; ``correct`` trains with the noise known; ``shuffle``
    False prices the model as one record.
    """

    label_share: float = 0.3
    correct: bool = True
    shuffle: bool = True
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_fields(self)
        check_part("label_share", self.label_share)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Two classes, and no published noise."""
        if facts.loss.name not in CLASSES or facts.outputs > 1:
            return "Local perturbation needs two classes and a logistic or hinge loss. Use method='input' for numbers."
        if calibration == "paper":
            return (
                "Local perturbation has no published noise of its own. Use 'input-kang-2020' or calibration='proven'."
            )
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> LocalPlan:
        """The largest local epsilon whose shuffled price fits, then the noise of one record."""
        decay = 1e-4 if regularization is None else regularization
        if not budget.private:
            return LocalPlan(scale=0.0, label_epsilon=math.inf, regularization=decay, correct=False, events=())
        _only_replace(budget)
        check(budget.delta > 0, "Local perturbation adds Gaussian noise: it needs delta > 0.")
        local, local_delta = self._local(budget, facts.records)
        label = min(self.label_share * local, MOST)
        reach = math.sqrt(facts.radius**2 - facts.constant**2)
        columns = facts.features - int(facts.intercept)

        def released(scale: float) -> tuple[Event, ...]:
            slack = grid_slack(scale, columns)
            return Gaussian(Sensitivity(None, 2 * reach + slack), scale), Response(label)

        scale = smallest_scale(released, Budget(local, local_delta), guess=reach)
        record = released(scale)
        central: tuple[Event, ...] = (
            (Shuffled(local, local_delta, facts.records),) if local > budget.epsilon else record
        )
        words = (
            f"each record ({local:.4g}, {local_delta:.3g})-private by itself: noise {scale:.4g} on x, "
            f"labels flipped with probability {1 / (1 + math.exp(label)):.4g}",
            "the order of the perturbed records tells nothing" if local > budget.epsilon else "no amplification",
        )
        return LocalPlan(
            scale=scale, label_epsilon=label, regularization=decay, correct=self.correct, events=central,
            assumptions=words, record=Released(record, "input-local-record"),
        )  # fmt: skip

    def _local(self, budget: Budget, records: int) -> tuple[float, float]:
        """The largest (epsilon_0, delta_0) that shuffling amplifies to the budget, or the budget itself."""
        if not self.shuffle or budget.epsilon > 50.0:
            return budget.epsilon, budget.delta
        half, most = budget.delta / 2, budget.epsilon + math.log(records + 1.0)
        low, _ = narrow(
            lambda local: shuffled_delta(local, records, budget.epsilon) <= half, budget.epsilon, most, halvings=40
        )
        delta = budget.delta / 2 / price_of_local_delta(low, records, budget.epsilon)
        gain = low > 1.3 * budget.epsilon  # the smaller delta_0 must be worth it
        return (low, delta) if gain else (budget.epsilon, budget.delta)


def _only_replace(budget: Budget) -> None:
    if budget.private and budget.adjacency != "replace-one":
        refuse("Local releases are analysed for replace-one neighbours, not add-remove. Use adjacency='replace-one'.")


@dataclass(frozen=True, kw_only=True)
class DuchiPlan(Plan):
    """One pass of SGD over privatised gradients, pure ``epsilon`` for each."""

    epsilon: float
    radius: float
    gradient: float
    batches: int
    theorem: str = "local-duchi-2013"

    def run(self, problem: Problem, source: Source) -> Solution:
        """Each contributor answers once, in random order; steps D/(B sqrt t), projection, mean of the second half."""
        order = permutation(source, problem.records.count)
        weights, total = problem.start(), np.zeros((problem.records.features, 1))
        half, size = self.batches // 2, problem.records.features
        loud = self.gradient if math.isinf(self.epsilon) else ball_size(self.gradient, self.epsilon, size)
        for step, rows in enumerate(np.array_split(order, self.batches)):
            part = in_memory(problem.records).take(rows)
            x = np.vstack([block.design().copy() for block in part.blocks()])
            slopes = problem.loss.slope(x @ weights, part.targets)
            answers = slopes * x
            if math.isfinite(self.epsilon):
                answers = ball_mechanism(answers, self.gradient, self.epsilon, source)
            rate = self.radius * math.sqrt(len(rows)) / (loud * math.sqrt(step + 1))
            weights = weights - rate * answers.mean(axis=0)[:, None]
            weights = weights * min(1.0, self.radius / max(float(np.linalg.norm(weights)), 1e-300))
            total += weights if step >= half else 0.0
        return Solution(total / (self.batches - half))


def ball_size(bound: float, epsilon: float, size: int) -> float:
    """B, the length of every answer: ``bound (e^eps + 1)/(e^eps - 1) sqrt(pi) Gamma((d+1)/2)/Gamma(d/2)``, unbiased."""
    shape = math.exp(float(gammaln((size + 1) / 2)) - float(gammaln(size / 2)))
    return bound / math.tanh(epsilon / 2) * math.sqrt(math.pi) * shape


def ball_mechanism(values: Array, bound: float, epsilon: float, source: Source) -> Array:
    """One answer for each row of norm at most ``bound``: unbiased, of one length, and pure epsilon-private.

    The row is rounded to +-bound times its direction; the answer is uniform on the half sphere around that end with
    probability e^eps/(1 + e^eps), else on the other half. Reference: Duchi, Jordan & Wainwright 2013, section 4.2.3.
    """
    count, size = values.shape
    norms = np.linalg.norm(values, axis=1)
    axes = gaussian(source, (count, size))
    known = norms > 0
    axes[known] = values[known]
    axes /= np.linalg.norm(axes, axis=1, keepdims=True)
    axes[uniform(source, count) >= 0.5 + np.minimum(norms / bound, 1.0) / 2] *= -1
    axes[choose(source, count, lie(epsilon))] *= -1
    answers = gaussian(source, (count, size))
    answers *= np.where((answers * axes).sum(axis=1, keepdims=True) < 0, -1.0, 1.0)
    return np.asarray(answers * (ball_size(bound, epsilon, size) / np.linalg.norm(answers, axis=1, keepdims=True)))


@dataclass(frozen=True)
class DuchiSgd:
    """Duchi, Jordan & Wainwright 2013: local SGD, pure epsilon for every contributor; ``radius`` bounds the weights."""

    radius: float = 5.0
    batches: int = 500
    site: ClassVar[Site] = "input"
    pure: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_fields(self)
        check_positive("radius", self.radius)
        check_count("batches", self.batches)

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """One score with a bounded slope."""
        if facts.outputs > 1 or not math.isfinite(facts.loss.lipschitz):
            return "Duchi et al. 2013 need one score and a loss with bounded slope. Use two classes."
        return "" if calibration == "proven" else "The published noise is the proven one. Use calibration='proven'."

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> DuchiPlan:
        """Everyone answers once with the whole epsilon."""
        _only_replace(budget)
        own = min(budget.epsilon, MOST) if budget.private else math.inf
        released: tuple[Event, ...] = (Response(own),) if budget.private else ()
        batches = min(self.batches, facts.records)
        words = (f"{batches} steps, every contributor answers once", f"weights within {self.radius:g}")
        slope = facts.radius * facts.loss.lipschitz
        return DuchiPlan(
            epsilon=own, radius=self.radius / facts.radius, gradient=slope, batches=batches, events=released,
            assumptions=words, record=Released(released, "local-duchi-2013") if released else None,
        )  # fmt: skip


METHODS = (
    Method(
        name="input-local",
        mechanism=LocalPerturbation(),
        paper="Feldman, McMillan & Talwar 2022",
        about="noise on every x, randomised response on every y, shuffled; two classes (replace-one only)",
    ),
    Method(
        name="local-duchi-2013",
        mechanism=DuchiSgd(),
        paper="Duchi, Jordan & Wainwright 2013",
        about="pure epsilon: everyone sends one privatised gradient (replace-one only)",
    ),
)
