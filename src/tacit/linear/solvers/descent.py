"""Gradient descent over the gradients it is given: plain, noisy or sampled. All after the noise is post-processing."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from tacit.checks import check, check_count, check_positive
from tacit.streams.watching import watch_steps
from tacit.types import Array, Solution

Schedule = Literal["constant", "linear", "inverse", "inverse-root"]
Average = Literal["last", "all", "tail", "ergodic"]
Optimizer = Literal["sgd", "adam"]
SECOND, TINY = 0.999, 1e-8
"""Adam's memory of squared gradients, and what keeps its division finite (Kingma & Ba 2014)."""


@dataclass(frozen=True, kw_only=True)
class Descent:
    """``steps`` steps ``v <- momentum v + g(w); w <- project(w - step_t v)``, or Adam's.

    ``schedule``: step_t is ``step``, or falls linearly to zero, or as 1/t, or as 1/sqrt(t). ``average``: the last
    iterate, the mean of all, the mean of the last half, or the mean of all starting points of steps weighted by step
    sizes (Theorem 4 of DP-LSSGD). ``radius``: iterates are projected onto that ball. ``largest``: no weight goes
    beyond it, so that gradients stay finite, and their rounding bounded, whatever step size was asked for.
    ``optimizer``: 'sgd', or 'adam', whose v is the mean of past gradients (memory ``momentum``) over the root of their
    mean square.
    """

    steps: int
    step: float
    momentum: float = 0.0
    schedule: Schedule = "constant"
    average: Average = "last"
    radius: float = math.inf
    optimizer: Optimizer = "sgd"
    largest: float = 1e150

    def __post_init__(self) -> None:
        check(self.optimizer in ("sgd", "adam"), f"Expected optimizer={self.optimizer!r} to be 'sgd' or 'adam'.")
        check_count("steps", self.steps)
        check_positive("step", self.step)
        check(0 <= self.momentum < 1, f"Expected 0 <= momentum={self.momentum} < 1.")
        check(self.radius > 0, f"Expected radius={self.radius} > 0.")
        check(self.largest > 0, f"Expected largest={self.largest} > 0.")

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
        weights, direction = start.copy(), self._adam(start) if self.optimizer == "adam" else self._heavy_ball(start)
        first = {"last": self.steps - 1, "tail": self.steps // 2}.get(self.average, 0)
        total, weight = np.zeros_like(start), 0.0
        for t in watch_steps(self.steps):
            if self.average == "ergodic":
                total += self.size(t) * weights
                weight += self.size(t)
            weights = weights - self.size(t) * direction(gradient(weights))
            weights = np.clip(weights, -self.largest, self.largest)
            norm = float(np.linalg.norm(weights))
            if norm > self.radius:
                weights = weights * (self.radius / norm)
            if t >= first and self.average != "ergodic":
                total += weights
        return Solution(total / (weight or self.steps - first), math.inf, self.steps)

    def _heavy_ball(self, start: Array) -> Callable[[Array], Array]:
        velocity = np.zeros_like(start)

        def move(gradient: Array) -> Array:
            nonlocal velocity
            velocity = self.momentum * velocity + gradient
            return velocity

        return move

    def _adam(self, start: Array) -> Callable[[Array], Array]:
        first, second, t = np.zeros_like(start), np.zeros_like(start), 0

        def move(gradient: Array) -> Array:
            nonlocal first, second, t
            t += 1
            first = self.momentum * first + (1 - self.momentum) * gradient
            second = SECOND * second + (1 - SECOND) * gradient**2
            root = np.sqrt(second / (1 - SECOND**t)) + TINY
            return np.asarray(first / (1 - self.momentum**t) / root)

        return move
