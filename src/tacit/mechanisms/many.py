"""Many runs of one plan at once, as matrix products: what audits, which need thousands of runs, are made of.

Parameters of all runs stand side by side: with K scores per model, column ``k * trials + j`` is score k of run j. A
draw for all runs holds number i of run j at place ``i * trials + j``. So run j is the one that ``plan.run`` makes from
column j of the draws, and the runs are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace

import numpy as np

from tacit.checks import check
from tacit.linear.arithmetic import largest_slope, noisy_pieces
from tacit.linear.parts import clip_slopes
from tacit.linear.problem import Problem, Records
from tacit.linear.records import Block, in_memory
from tacit.linear.whole import Pieces, Whole
from tacit.mechanisms.samplers import Mask, Noise
from tacit.privacy.noise import Source, add_gaussian, gaussian, grid, release
from tacit.types import Array, Facts

SOLVED_NUMBERS, STEP_NUMBERS = 1 << 19, 1 << 15
"""Predictions to hold at once: of models that are solved for, and of noisy steps, whose many passes over them are
fastest in a small cache."""


@dataclass(frozen=True)
class ManyRuns:
    """One problem for many runs of a noisy descent: as :class:`Problem`, for parameters of all runs side by side.

    ``taking`` says which rows take part, rows x runs; None is all in all runs.
    """

    problem: Problem
    trials: int
    taking: Mask | None = field(default=None, repr=False)

    @property
    def records(self) -> Records:
        """The records, the same for every run."""
        return in_memory(self.problem.records)

    @property
    def facts(self) -> Facts:
        """The public facts about one run."""
        return self.problem.facts

    def start(self) -> Array:
        """All-zero parameters."""
        return np.zeros((self.records.features, self.problem.outputs * self.trials))

    def part(self, rows: Mask | None) -> ManyRuns:
        """The same with these records taking part in a step, all their rows."""
        starts = self.records.shares.starts
        if rows is not None and starts is not None:
            rows = np.repeat(rows, np.diff(starts, append=self.records.rows), axis=0)
        return replace(self, taking=rows)

    def clipped_gradient(
        self, weights: Array, clip: float, anchor: Array | None = None, *, person: float = 1.0
    ) -> Array:
        """For every run what :meth:`Problem.clipped_gradient` gives for the records that take part in it."""
        check(person == 1, "Expected runs one by one where the gradients of people are cut.")
        outputs, coupled, facts = self.problem.outputs, self.problem.loss.coupled, self.problem.facts
        largest = largest_slope(facts, clip, 1 if anchor is None else 2)
        pieces, anchored = Pieces.of(weights, 1), None if anchor is None else Pieces.of(anchor, 1)

        def part(block: Block) -> tuple[Whole, ...]:
            slopes = self._slopes(block, pieces)
            if anchored is not None:
                slopes -= self._slopes(block, anchored)
            if clip < math.inf:
                norms = block.norms[:, None]
                clip_slopes(slopes, np.repeat(norms, self.trials, axis=0) if coupled else norms, clip, coupled=coupled)
            if coupled:
                slopes = slopes.reshape(-1, self.trials, outputs).swapaxes(1, 2).reshape(-1, outputs * self.trials)
            if self.taking is not None:
                slopes = slopes * np.tile(self.taking[block.first : block.first + block.count], (1, outputs))
            return (block.gather(slopes, largest, noisy_pieces(facts)),)

        return self.records.add_up(part)[0]

    def _slopes(self, block: Block, weights: Pieces) -> Array:
        """Slopes in the columns of the weights; of coupled scores one row for each record and run, run by run."""
        loss, z, y = self.problem.loss, weights.scores(block.rows), block.targets
        if loss.coupled:
            z = z.reshape(len(z), -1, self.trials).swapaxes(1, 2).reshape(len(z) * self.trials, -1)
            return loss.slope(z, np.repeat(y, self.trials, axis=0))
        return loss.slope(z, np.repeat(y, self.trials, axis=1) if y.shape[1] > 1 else y)


def by_run(weights: Array, trials: int) -> Array:
    """Parameters that stand side by side as rows, one a run, each in the row-major order of its own matrix."""
    return np.asarray(weights.reshape(-1, trials).T)


def unit_columns(source: Source, size: int, trials: int, noise: Noise) -> Array:
    """Noise vectors of scale 1 as columns: Gaussian, or of density proportional to ``exp(-||b||)``."""
    if noise == "gaussian":
        return gaussian(source, (size, trials))
    both = gaussian(source, (2 * size + 1, trials))  # as in tacit.privacy.normals.sphere_numbers
    return np.asarray(both[:size] * np.linalg.norm(both[size:], axis=0))


def add_columns(values: Array, scale: float, source: Source, noise: Noise) -> Array:
    """Release every column of the values with noise of its own, on the grid.

    Sphere noise is rounded from double precision, not from an ideal draw: for audits, never for a release.
    """
    if noise == "gaussian" or not scale:
        return add_gaussian(values, scale, source)
    size, trials = values.shape
    steps = np.rint(unit_columns(source, size, trials, noise) * (scale / grid(scale)))
    return release(values, scale, steps.astype(np.int64))
