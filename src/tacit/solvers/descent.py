"""Gradient descent over whatever gradients it is given: plain, noisy or sampled. All after the noise is post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.checks import check, check_count, check_positive
from tacit.types import Array, Solution

Schedule = Literal["constant", "linear", "inverse", "inverse-root"]
Average = Literal["last", "all", "tail"]


@dataclass(frozen=True)
class Descent:
    """``steps`` steps ``v <- momentum v + g(w); w <- project(w - step_t v)``.

    ``schedule``: step_t is ``step``, or falls linearly to zero, or as 1/t, or as 1/sqrt(t). ``average``: the last iterate,
    the mean of all, or the mean of the last half. ``radius``: iterates are projected onto that ball.
    """

    steps: int
    step: float
    momentum: float = 0.0
    schedule: Schedule = "constant"
    average: Average = "last"
    radius: float = math.inf

    def __post_init__(self) -> None:
        check_count("steps", self.steps)
        check_positive("step", self.step)
        check(0 <= self.momentum < 1, f"Expected 0 <= momentum={self.momentum} < 1.")
        check(self.radius > 0, f"Expected radius={self.radius} > 0.")

    def size(self, t: int) -> float:
        """The step size at step t = 0, 1, ..."""
        factors = {
            "constant": 1.0,
            "linear": 1.0 - t / self.steps,
            "inverse": 1.0 / (t + 1),
            "inverse-root": 1.0 / math.sqrt(t + 1),
        }
        return self.step * factors[self.schedule]

    def run(self, gradient: Callable[[Array], Array], start: Array) -> Solution:
        """Descend from ``start``; ``gradient`` is called once a step, never more."""
        weights, velocity = start.copy(), np.zeros_like(start)
        first = {"last": self.steps - 1, "all": 0, "tail": self.steps // 2}[self.average]
        total = np.zeros_like(start)
        for t in range(self.steps):
            velocity = self.momentum * velocity + gradient(weights)
            weights = weights - self.size(t) * velocity
            norm = float(np.linalg.norm(weights))
            if norm > self.radius:
                weights = weights * (self.radius / norm)
            if t >= first:
                total += weights
        return Solution(total / (self.steps - first), math.inf, self.steps)
