"""Output perturbation: train without noise by a method whose result moves little, then add noise to it once.

Sensitivity of the result when one record is added (twice that when one is replaced), with G the gradient bound:

* exact minimiser of ``sum loss + (Lambda/2)||w||^2``: ``G / Lambda``; stopping at ``||gradient|| <= tau`` adds ``2
  tau / Lambda``;
* T gradient steps of size ``eta <= 1/((n+1) beta + Lambda)``: ``(G/Lambda)(1 - (1 - eta Lambda)^T)``, or ``G eta T``
  for Lambda = 0;
* k passes of permutation SGD with batches of b (replace-one only): ``2 k G eta / b``, or ``2 G / Lambda`` with
  decreasing steps.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Protocol

import numpy as np

from tacit.arguments import check_fields
from tacit.checks import check, check_count, refuse
from tacit.linear.arithmetic import U, certain_pieces, gradient_rounding
from tacit.linear.problem import Problem
from tacit.linear.records import in_memory
from tacit.linear.solvers.certain import check_certifiable, solve, solver_slack
from tacit.linear.solvers.descent import Descent
from tacit.mechanisms import defaults
from tacit.mechanisms.base import Method, Plan
from tacit.mechanisms.many import SOLVED_NUMBERS, add_columns, by_run
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import COUNT, Event, Gaussian, Sensitivity, Sphere
from tacit.privacy.noise import Source, add_gaussian, add_sphere, grid_slack, permutation
from tacit.streams.watching import watch_steps
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution


class Trainer(Protocol):
    """A deterministic way to train (given the source) whose sensitivity is known."""

    @property
    def theorem(self) -> str:
        """What the sensitivity rests on."""

    @property
    def strength(self) -> float:
        """Lambda of the objective that it minimises."""

    def sensitivity(self, facts: Facts) -> Sensitivity:
        """How far the result can move between neighbours, rounding included."""

    def fixed(self, records: int) -> bool:
        """Whether the result is the same for every source, up to the order in which sums are added."""

    def train(self, problem: Problem, source: Source) -> Array:
        """The unperturbed result."""


@dataclass(frozen=True)
class Minimum:
    """The regularised minimiser, to a certified gradient norm of ``tolerance`` times G."""

    strength: float
    tolerance: float = 1e-6
    theorem: str = "gaussian-output"

    def sensitivity(self, facts: Facts) -> Sensitivity:
        """``(G + 2 tau) / Lambda``, tau with the rounding of the gradient."""
        tau = self.tolerance * facts.gradient + solver_slack(facts, self.strength)
        return Sensitivity.of_record(facts.gradient / self.strength).plus(2 * tau / self.strength)

    def fixed(self, records: int) -> bool:
        """Nothing is drawn."""
        return True

    def train(self, problem: Problem, source: Source) -> Array:
        """Minimise."""
        full, facts = replace(problem, strength=self.strength), problem.facts
        return certified(full, self.tolerance * facts.gradient, solver_slack(facts, self.strength))


def certified(problem: Problem, tau: float, slack: float) -> Array:
    """The minimiser to a certified gradient norm of tau, and ``slack`` for the rounding of the gradient.

    Guarantee: what is returned is certified, whatever the records; only the time it takes depends on them. The proof,
    for every Lambda that :func:`check_certifiable` admits, is on the docs' page "Output perturbation".
    """
    return solve(problem, tau, slack).weights


@dataclass(frozen=True, kw_only=True)
class Steps:
    """Full gradient steps on the mean objective (Zhang et al. 2017)."""

    count: int
    strength: float
    step: float
    theorem: str = "descent-output"

    @classmethod
    def build(cls, count: int, strength: float, facts: Facts) -> Steps:
        """Steps of size ``1/((n+1) beta + Lambda)``.

        Public, and a contraction for both neighbours, one of n + 1 records too.
        """
        return cls(count=count, strength=strength, step=1.0 / ((facts.records + 1) * facts.curvature + strength))

    def sensitivity(self, facts: Facts) -> Sensitivity:
        """Sum of the injected differences, each contracted by the later steps."""
        eta, strength = self.step, self.strength
        time = -math.expm1(self.count * math.log1p(-eta * strength)) / strength if strength else eta * self.count
        rounding = gradient_rounding(facts, 2 * (facts.records + 1) * facts.gradient * time)
        return Sensitivity.of_record(facts.gradient * time).plus(4 * rounding * time)

    def fixed(self, records: int) -> bool:
        """Nothing is drawn."""
        return True

    def train(self, problem: Problem, source: Source) -> Array:
        """Descend from zero."""
        full = replace(problem, strength=self.strength)
        return Descent(steps=self.count, step=self.step).run(full.gradient, problem.start()).weights


@dataclass(frozen=True, kw_only=True)
class Passes:
    """Permutation SGD (Wu et al. 2017).

    Constant steps for convex, ``min(1/(beta + lambda), 1/(lambda t))`` for strongly convex.
    """

    passes: int
    batch: int
    step: float
    strength: float
    theorem: str = "permutation-output"

    def sensitivity(self, facts: Facts) -> Sensitivity:
        """One batch a pass differs, by ``2 G eta / b``; each step of either run adds what rounding does.

        To a batch's gradient, at most ``rounding * G``, and to the weights, four roundings of numbers of their size.
        """
        strength = self.strength
        moved = 2 * facts.gradient / strength if strength else 2 * self.passes * facts.gradient * self.step / self.batch
        longest = 1 / strength if strength else self.passes * self.step / self.batch
        reach = 2 * (facts.records + self.batch) * facts.gradient * longest
        one, pieces = replace(facts, records=self.batch), certain_pieces(facts)
        rounding, batches = (
            gradient_rounding(one, reach, pieces) / facts.gradient,
            math.ceil(facts.records / self.batch),
        )
        return Sensitivity(None, moved * (1 + 2 * rounding * batches) + 8 * U * reach * self.passes * batches)

    def fixed(self, records: int) -> bool:
        """Only where one batch holds all records, in whatever order: batches are sorted."""
        return records <= self.batch

    def train(self, problem: Problem, source: Source) -> Array:
        """One random order, used in every pass; sums are divided by the public batch size."""
        facts, records = problem.facts, in_memory(problem.records)
        order = permutation(source, facts.records)
        batches = [
            replace(problem, records=records.take(np.sort(order[i : i + self.batch])))
            for i in range(0, facts.records, self.batch)
        ]
        weights, mean, pieces = problem.start(), self.strength / facts.records, certain_pieces(facts)
        for t in watch_steps(self.passes * len(batches)):
            size = min(1 / (facts.curvature + mean), 1 / (mean * (t + 1))) if mean else self.step
            gradient = batches[t % len(batches)].gradient(weights, pieces) / self.batch + mean * weights
            weights = weights - size * gradient
        return weights


@dataclass(frozen=True, kw_only=True)
class OutputPlan(Plan):
    """A calibrated output perturbation."""

    trainer: Trainer
    noise: Literal["gaussian", "sphere"]
    scale: float

    def run(self, problem: Problem, source: Source) -> Solution:
        """Train, then release with noise."""
        add = add_gaussian if self.noise == "gaussian" else add_sphere
        return Solution(add(self.trainer.train(problem, source), self.scale, source))

    def at_once(self, problem: Problem) -> int:
        """All runs, where they differ in nothing but the noise."""
        return SOLVED_NUMBERS if self.trainer.fixed(problem.records.count) else 0

    def run_many(self, problem: Problem, trials: int, source: Source) -> Array:
        """Train once, release so many times."""
        if not self.at_once(problem):
            return super().run_many(problem, trials, source)
        once = self.trainer.train(problem, source).reshape(-1, 1)
        return by_run(add_columns(np.repeat(once, trials, axis=1), self.scale, source, self.noise), trials)


@dataclass(frozen=True)
class Output:
    """Output perturbation.

    ``trainer``: 'minimum', 'descent' (Zhang et al. 2017), 'passes' or 'passes-strong' (Wu et al. 2017). ``noise``:
    'gaussian', or 'sphere' for pure epsilon (Chaudhuri et al. 2011). ``steps`` is the length of a descent, taken as
    given; None: as many as the noise leaves worth taking, by a rule from public facts.
    """

    trainer: Literal["minimum", "descent", "passes", "passes-strong"] = "minimum"
    noise: Literal["gaussian", "sphere"] = "gaussian"
    passes: int = 10
    batch: int = 64
    steps: int | None = None
    site: ClassVar[Site] = "output"

    def __post_init__(self) -> None:
        check_fields(self)
        check_count("passes", self.passes, COUNT)
        check_count("batch", self.batch, COUNT)
        if self.steps is None:
            return
        check(self.trainer == "descent", f"Trainer '{self.trainer}' takes no steps=: it is the length of a 'descent'.")
        check_count("steps", self.steps, defaults.MOST_STEPS)

    @property
    def pure(self) -> bool:
        """With sphere noise."""
        return self.noise == "sphere"

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """A Lipschitz loss; the step methods a smooth one too."""
        if not math.isfinite(facts.loss.lipschitz):
            return f"Output perturbation needs a loss with bounded slope; {facts.loss.name} has none. Bound the target."
        if self.trainer != "minimum" and not math.isfinite(facts.loss.smoothness):
            return (
                f"Output perturbation of gradient steps needs a smooth loss; {facts.loss.name} is not. Use HuberHinge."
            )
        if calibration == "paper" and self.noise == "sphere":
            return "The published sphere noise is the proven one. Use calibration='proven'."
        return ""

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> OutputPlan:
        """Sensitivity from the trainer, scale from the budget."""
        trainer = self._trainer(budget, facts, regularization)
        sensitivity = trainer.sensitivity(facts)
        if budget.adjacency == "add-remove" and sensitivity.add_remove is None:
            refuse("Permutation SGD is analysed for replace-one neighbours only. Use adjacency='replace-one'.")
        moved = sensitivity.under(budget.adjacency)

        def released(scale: float) -> tuple[Event, ...]:
            padded = sensitivity.plus(grid_slack(scale, facts.size))
            return (Gaussian(padded, scale) if self.noise == "gaussian" else Sphere(padded, scale),)

        if calibration == "paper" and budget.private:
            # The classical Gaussian noise that Zhang et al. and Wu et al. use; proven for epsilon < 1 only.
            scale = moved * math.sqrt(2 * math.log(1.25 / budget.delta)) / budget.epsilon
        else:
            scale = smallest_scale(released, budget, guess=moved)
        theorem = "sphere-output" if self.noise == "sphere" else trainer.theorem
        words = (f"regularization Lambda = {trainer.strength:.6g}", f"trained by {trainer}")
        return OutputPlan(
            trainer=trainer, noise=self.noise, scale=scale, events=released(scale) if scale else (), theorem=theorem,
            assumptions=words,
        )  # fmt: skip

    def _trainer(self, budget: Budget, facts: Facts, regularization: float | None) -> Trainer:
        given = None if regularization is None else regularization * facts.records
        strength = defaults.output_strength(budget, facts, self.noise) if given is None else given
        batch = min(self.batch, facts.records)
        if self.trainer in ("minimum", "passes-strong") and not strength > 0:
            refuse("Output perturbation of a minimiser needs regularization > 0; leave it out to have it chosen.")
        if self.trainer == "minimum":
            check_certifiable(facts, strength)
            return Minimum(strength)
        if self.trainer == "passes-strong":
            return Passes(passes=self.passes, batch=batch, step=0.0, strength=strength)
        time = defaults.output_time(budget, facts)
        if self.trainer == "descent":
            rule = min(max(1, math.ceil(time * facts.curvature)), defaults.MOST_STEPS)
            count = rule if self.steps is None else int(self.steps)
            return Steps.build(count, 0.0 if given is None else given, facts)
        if given:
            return Passes(passes=self.passes, batch=batch, step=0.0, strength=given)
        step = min(2 / facts.curvature, time * batch / (self.passes * facts.records))
        return Passes(passes=self.passes, batch=batch, step=step, strength=0.0)


METHODS = (
    Method(
        name="output",
        mechanism=Output(),
        paper="Chaudhuri et al. 2011, Gaussian",
        about="Gaussian noise on the minimiser",
    ),
    Method(
        name="output-chaudhuri-2011",
        mechanism=Output(noise="sphere"),
        paper="Chaudhuri et al. 2011, Algorithm 1",
        about="pure epsilon: Gamma-norm noise on the minimiser",
    ),
    Method(
        name="output-zhang-2017",
        mechanism=Output("descent"),
        paper="Zhang et al. 2017",
        about="Gaussian noise on the end of a short descent; 'paper': classical noise",
        calibrations=("proven", "paper"),
    ),
    Method(
        name="output-wu-2017",
        mechanism=Output("passes"),
        paper="Wu et al. 2017, Algorithm 1",
        about="Gaussian noise on permutation SGD, convex (replace-one only); 'paper': classical noise",
        calibrations=("proven", "paper"),
    ),
    Method(
        name="output-wu-2017-strong",
        mechanism=Output("passes-strong"),
        paper="Wu et al. 2017, Algorithm 2",
        about="the same with a regulariser and falling steps (replace-one only)",
        calibrations=("proven", "paper"),
    ),
)
