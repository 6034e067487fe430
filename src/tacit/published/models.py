"""What the papers' algorithms train: the small contract that each is written for once, and linear scores that keep it.

Perceptrons keep it in :mod:`tacit.published.perceptron`. The regulariser (lambda/2)||w||^2 is part of every
record's loss. NOT PRIVATE: what noise there is, the algorithms add.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.influence.linear import Influence
from tacit.linear.problem import Problem
from tacit.linear.records import in_memory
from tacit.linear.solvers.newton import Newton
from tacit.privacy.noise import Source, gaussian, uniform
from tacit.types import Array

Picks = NDArray[np.intp]


class Model(Protocol):
    """Records, a regularised loss, and weights that steps move."""

    @property
    def count(self) -> int:
        """n."""

    @property
    def columns(self) -> int:
        """Columns of a row that noise may be added to, the first ones: all but the intercept's constant."""

    @property
    def labels(self) -> NDArray[Any]:
        """One entry per record, along the first axis."""

    @property
    def flat(self) -> Array:
        """The weights as one vector."""

    @property
    def together(self) -> bool:
        """The noise of a round is drawn in one call: few weights. Else record by record, where it is needed."""

    def rows(self, picks: Picks | slice) -> Array:
        """A copy of the rows at these positions."""

    def step(self, rows: Array, labels: NDArray[Any], rate: float, noise: Array | None = None) -> None:
        """One descent step on the mean loss of these rows, with noise on its gradient or without."""

    def influence(self, source: Source) -> Callable[[Picks], Array]:
        """``c_z = H^{-1} grad loss(w, z) / n``, a flat row per record: H of the mean objective stays that of now."""

    def passed_on(self, row: Array, label: NDArray[Any]) -> float:
        """``w_t = ||grad_x grad_w loss||_2`` of one record: how much of a noise on x its gradient gets."""

    def minimise(self) -> None:
        """Go to the minimiser, or near one."""


def picks_of(source: Source, records: int, count: int) -> Picks:
    """Line 'choose a data instance randomly': uniform, with replacement."""
    return np.minimum((uniform(source, count) * records).astype(np.intp), records - 1)


def normal_rows(model: Model, quiet: NDArray[np.bool_], size: int, source: Source) -> Iterator[Array | None]:
    """For each step of a round a standard normal vector, or None where it is quiet."""
    drawn = gaussian(source, (len(quiet), size)) if model.together else None
    for place, still in enumerate(quiet):
        if still:
            yield None
        else:
            yield gaussian(source, (size,)) if drawn is None else drawn[place]


class LinearModel:
    """A linear score with the loss of a problem, from zero weights."""

    together = True

    def __init__(self, problem: Problem, regularization: float) -> None:
        self.count = problem.records.count
        self.records = in_memory(problem.records)
        self.columns = self.records.design.columns
        self.labels: Array = self.records.targets
        self.problem = replace(problem, strength=regularization * self.count)
        self.regularization = regularization
        self.weights = problem.start()
        self.flat: Array = self.weights[:, 0]  # a view

    def rows(self, picks: Picks | slice) -> Array:
        """Design rows: clipped, with the intercept's constant."""
        return self.records.design.dense(picks)

    def step(self, rows: Array, labels: NDArray[Any], rate: float, noise: Array | None = None) -> None:
        """One descent step."""
        slopes = self.problem.loss.slope(rows @ self.weights, labels)
        gradient = rows.T @ slopes / len(rows) + self.regularization * self.weights
        if noise is not None:
            gradient += noise[:, None]
        self.weights -= rate * gradient

    def influence(self, source: Source) -> Callable[[Picks], Array]:
        """With the exact inverse."""
        inverse = Influence.at(self.problem, self.weights).inverse * self.count  # of the mean, not of the sum

        def contributions(picks: Picks) -> Array:
            rows = self.rows(picks)
            slopes = self.problem.loss.slope(rows @ self.weights, self.labels[picks])
            return np.asarray((slopes * rows + self.regularization * self.weights.T) @ inverse / self.count)

        return contributions

    def passed_on(self, row: Array, label: NDArray[Any]) -> float:
        """Slope times the identity plus curvature times x w^T: two directions matter.

        In the orthonormal basis of w and x its Gram matrix is 2 x 2; all other directions have |slope|.
        """
        z, y = (row @ self.weights)[None], label.reshape(1, 1)
        slope = float(self.problem.loss.slope(z, y)[0, 0])
        curve = float(self.problem.loss.curve(z, y, np.ones_like(z))[0, 0])
        x, inner = row[: self.columns], self.flat[: self.columns]
        length = float(np.linalg.norm(inner))
        along = float(x @ inner) / length if length else 0.0
        across = math.sqrt(max(0.0, float(x @ x) - along**2))
        cross = slope * curve * length
        top = slope**2 + 2 * cross * along + (curve * length) ** 2 * float(row @ row)
        middle, half = 0.5 * (top + slope**2), 0.5 * (top - slope**2)
        return max(math.sqrt(max(slope**2, middle + math.hypot(half, cross * across))), 1e-12)

    def minimise(self) -> None:
        """The exact minimiser."""
        tolerance = 1e-9 * self.problem.facts.gradient * math.sqrt(self.count)
        self.weights[:] = Newton(tolerance).solve(self.problem).weights
