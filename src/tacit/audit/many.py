"""Thousands of runs of one plan at once, as matrix products: each column of the parameters is a run of its own.

The code that trains is the plan's own. What is replaced are the draws, so that every column gets its own: word i of
run j is word ``i * trials + j`` of a draw. So the runs are those that ``plan.run`` makes one by one from the columns
of the words (the tests compare them), and they are independent, as the statistics of an audit need.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.linear.problem import Problem, Records
from tacit.linear.smoothing import coefficients
from tacit.linear.solvers.certain import solve_columns
from tacit.linear.solvers.descent import Descent
from tacit.mechanisms.base import Plan
from tacit.mechanisms.gradient import GradientPlan
from tacit.mechanisms.objective import TOLERANCE, ObjectivePlan
from tacit.mechanisms.output import Minimum, OutputPlan, Passes, Steps
from tacit.mechanisms.samplers import Disjoint, Everyone, Noise, Poisson, Sampler, Subset
from tacit.mechanisms.svrg import SvrgPlan
from tacit.privacy.noise import SeededSource, Source, choose, gaussian, grid, release, uniform
from tacit.privacy.normals import Whole
from tacit.types import Array, Solution

NUMBERS, STEP_NUMBERS = 1 << 19, 1 << 15
"""Predictions held at once; fewer for noisy steps, whose many passes over them are fastest in a small cache."""


def run_many(plan: Plan, problem: Problem, trials: int, source: Source) -> Array:
    """Independent runs of a plan on one data set: an array of runs x parameters (row-major order of the weights)."""
    numbers = STEP_NUMBERS if isinstance(plan, GradientPlan | SvrgPlan) else NUMBERS
    width = max(1, numbers // max(1, problem.records.count * problem.outputs))
    counts = [min(width, trials - i) for i in range(0, trials, width)]
    if len(counts) == 1 or not batched(plan, problem):
        return np.vstack([_chunk(plan, problem, count, source) for count in counts])
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(min(4, os.cpu_count() or 1)) as threads:
        return np.vstack(list(threads.map(lambda c, s: _chunk(plan, problem, c, s), counts, _split(source, counts))))


def _split(source: Source, counts: list[int]) -> list[Source]:
    """A source for each part, so that what a part draws does not depend on which thread is first."""
    keys = source.words(4 * len(counts)).reshape(-1, 4)
    return [SeededSource(tuple(int(word) for word in key)) if source.seeded else source for key in keys]


def batched(plan: Plan, problem: Problem) -> bool:
    """Whether :func:`run_many` trains all runs of this plan together; other plans are run one by one."""
    if isinstance(plan, OutputPlan):
        return _fixed(plan, problem)
    if isinstance(plan, ObjectivePlan):
        return not problem.loss.coupled and problem.outputs == 1 and plan.scale > 0
    return isinstance(plan, SvrgPlan) or (isinstance(plan, GradientPlan) and _separate(plan))


def _chunk(plan: Plan, problem: Problem, trials: int, source: Source) -> Array:
    if not batched(plan, problem):
        return np.stack([plan.run(problem, source).weights.ravel() for _ in range(trials)])
    if isinstance(plan, OutputPlan):
        once = plan.trainer.train(problem, source).reshape(-1, 1)
        return release(
            np.repeat(once, trials, axis=1), plan.scale, _steps(source, once.size, trials, plan.noise, plan.scale)
        ).T
    if isinstance(plan, ObjectivePlan):
        return _objective(plan, problem, trials, source)
    assert isinstance(plan, GradientPlan | SvrgPlan)  # for the type checker: batched() knows no others
    many = replace(plan, sampler=Many(plan.sampler, trials))
    if isinstance(many, GradientPlan) and many.smoothing:
        kept = {entry.name: getattr(many.descent, entry.name) for entry in fields(many.descent)}
        descent = SmoothDescent(**kept, smoothing=many.smoothing, intercept=problem.facts.intercept, trials=trials)
        many = replace(many, descent=descent, smoothing=0.0)
    return np.asarray(many.run(_columns(problem, trials), source).weights.reshape(-1, trials).T)


def _fixed(plan: OutputPlan, problem: Problem) -> bool:
    """Whether training draws nothing that matters: then it is done once."""
    trainer = plan.trainer
    return isinstance(trainer, Minimum | Steps) or (
        isinstance(trainer, Passes) and problem.records.count <= trainer.batch
    )


def _separate(plan: GradientPlan) -> bool:
    """Whether nothing in the steps ties the columns together: joint noise and projection do."""
    known = isinstance(plan.sampler, Everyone | Poisson | Subset | Disjoint)
    return known and plan.noise == "gaussian" and math.isinf(plan.descent.radius)


def unit_noise(source: Source, size: int, trials: int, noise: Noise = "gaussian") -> Array:
    """Noise vectors of ``size`` numbers as columns, each drawn as :mod:`tacit.privacy.noise` draws one."""
    if noise == "gaussian":
        return gaussian(source, (size, trials))
    both = gaussian(source, (2 * size + 1, trials))
    return np.asarray(both[:size] * np.linalg.norm(both[size:], axis=0))


def _steps(source: Source, size: int, trials: int, noise: Noise, scale: float) -> Whole:
    """The same noise in whole steps of the grid of its scale."""
    ratio = scale / grid(scale) if scale else 0.0
    return np.asarray(np.rint(unit_noise(source, size, trials, noise) * ratio).astype(np.int64))


def _objective(plan: ObjectivePlan, problem: Problem, trials: int, source: Source) -> Array:
    """The steps of ``ObjectivePlan.run``, column by column: noise, a certified minimum, the polishing noise."""
    size = problem.records.features
    linear = plan.scale * unit_noise(source, size, trials, plan.noise)
    strong = replace(problem, strength=plan.strength, outputs=trials, linear=linear)
    weights = solve_columns(strong, TOLERANCE * plan.scale, plan.slack).weights
    return release(weights, plan.polish_scale, _steps(source, size, trials, plan.noise, plan.polish_scale)).T


@dataclass(frozen=True)
class Many:
    """A sampler that draws for many runs at once: a mask of records x runs in the place of positions."""

    sampler: Sampler
    trials: int

    @property
    def theorem(self) -> str:
        """That of the sampler."""
        return self.sampler.theorem

    def expected(self, records: int, steps: int) -> float:
        """That of the sampler."""
        return self.sampler.expected(records, steps)

    def event(self, *args: Any) -> Any:
        """That of the sampler."""
        return self.sampler.event(*args)

    def batches(self, records: int, steps: int, source: Source) -> Iterator[Any]:
        """Who takes part in each step of each run."""
        shape, sampler = (records, self.trials), self.sampler
        count = records * self.trials
        if isinstance(sampler, Everyone):
            yield from (None for _ in range(steps))
        elif isinstance(sampler, Poisson):
            for _ in range(steps):
                yield choose(source, count, sampler.rate).reshape(shape)
        elif isinstance(sampler, Subset):
            for _ in range(steps):
                order = np.argsort(source.words(count).reshape(shape), axis=0, kind="stable")
                mask = np.zeros(shape, dtype=bool)
                np.put_along_axis(mask, order[: sampler.batch], True, axis=0)
                yield mask
        elif isinstance(sampler, Disjoint):
            place = np.minimum((uniform(source, count).reshape(shape) * steps).astype(np.intp), steps - 1)
            for step in range(steps):
                yield place == step
        else:
            raise NotImplementedError(f"No batched draws for {type(sampler).__name__}.")


@dataclass(frozen=True)
class SmoothDescent(Descent):
    """A descent that smooths the gradient of each run by itself, as :func:`tacit.linear.smoothing.smooth_weights` does
    for one."""

    smoothing: float = 0.0
    intercept: bool = False
    trials: int = 1

    def run(self, gradient: Callable[[Array], Array], start: Array) -> Solution:
        """Descend along smoothed gradients."""
        rows = len(start) - int(self.intercept)

        def smooth(part: Array) -> Array:
            count, outputs = len(part), part.shape[1] // self.trials
            if count * outputs <= 1:
                return part
            flat = part.reshape(count, outputs, self.trials).transpose(1, 0, 2).reshape(-1, self.trials)
            factors = coefficients(len(flat), float(self.smoothing))[:, None]
            flat = np.fft.irfft(np.fft.rfft(flat, axis=0) * factors, len(flat), axis=0)
            return np.asarray(flat.reshape(outputs, count, self.trials).transpose(1, 0, 2).reshape(part.shape))

        def smoothed(weights: Array) -> Array:
            raw = gradient(weights)
            return np.vstack([smooth(raw[:rows]), raw[rows:]])

        return super().run(smoothed, start)


@dataclass(frozen=True)
class MaskedRecords(Records):
    """Records of which each run takes its own: slopes of absent ones are zero."""

    mask: NDArray[np.bool_] | None = field(default=None)
    copies: int = 1

    def take(self, rows: Any) -> MaskedRecords:
        """Take a mask of records x runs; each run's mask is repeated for each of its columns."""
        return replace(self, mask=np.tile(rows, (1, self.copies)))

    def gather(self, block: Any, rows: slice, slopes: Array) -> Array:
        """Transposed design rows times the slopes of those who take part."""
        return super().gather(block, rows, slopes if self.mask is None else slopes * self.mask[rows])


@dataclass(frozen=True)
class CoupledProblem(Problem):
    """Many models with K coupled scores each: column ``k * trials + j`` is score k of run j."""

    trials: int = 1

    def _sum_gradients(self, weights: Array, clip: float, anchor: Array | None = None, admit: Any = None) -> Array:
        total = np.zeros_like(weights)
        classes = self.outputs // self.trials
        for block, rows in self.records.blocks():
            count = rows.stop - rows.start
            labels = np.repeat(self.records.targets[rows], self.trials, axis=0)

            def slopes_at(at: Array, block: Any = block, rows: slice = rows, labels: Array = labels) -> Array:
                z = self.records.predict(block, rows, at).reshape(rows.stop - rows.start, classes, self.trials)
                return self.loss.slope(z.transpose(0, 2, 1).reshape(-1, classes), labels)

            slopes = slopes_at(weights) if anchor is None else slopes_at(weights) - slopes_at(anchor)
            if clip < math.inf:
                sizes = np.linalg.norm(slopes, axis=1, keepdims=True)
                sizes *= np.repeat(self.records.norms[rows], self.trials)[:, None]
                slopes *= np.minimum(1.0, clip / np.maximum(sizes, clip * 0.5))
            wide = slopes.reshape(count, self.trials, classes).transpose(0, 2, 1).reshape(count, -1)
            total += self.records.gather(block, rows, wide)
        return total


def _columns(problem: Problem, trials: int) -> Problem:
    """The problem with one column (or K coupled ones) for each run."""
    kept = problem.records
    records = MaskedRecords(kept.design, kept.targets, None, problem.outputs)
    if problem.loss.coupled:
        return CoupledProblem(records, problem.loss, problem.outputs * trials, trials=trials)
    if problem.outputs > 1:
        records = replace(records, targets=np.repeat(kept.targets, trials, axis=1))
    return Problem(records, problem.loss, problem.outputs * trials)
