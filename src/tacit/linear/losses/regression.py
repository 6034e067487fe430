"""Losses of regressions, for targets within a public range."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.checks import check
from tacit.linear.losses.base import Scalar, cut_change
from tacit.types import Array, Targets

__all__ = ["Squared"]


@dataclass(frozen=True)
class Squared(Scalar):
    """``(z - y)^2 / 2`` where |z| <= B, continued linearly outside, for targets |y| <= B.

    A prediction outside the targets' range is never needed, and the linear continuation makes the loss 2B-Lipschitz on
    the whole space, so no bounded domain for the weights is needed: the loss is convex, once continuously
    differentiable, with curvature 1 inside and 0 outside. ``bound = inf`` is the plain square, which has no Lipschitz
    constant and is refused by the mechanisms that need one.
    """

    bound: float = 1.0
    name: str = "squared"
    geometry: str = "two-sided"

    def __post_init__(self) -> None:
        check(self.bound > 0, f"Expected bound={self.bound} > 0.")

    @property
    def targets(self) -> Targets:
        """[-B, B]."""
        return -self.bound, self.bound

    @property
    def lipschitz(self) -> float:
        """|z - y| <= 2B."""
        return 2.0 * self.bound

    @property
    def at_zero(self) -> float:
        """B^2 / 2."""
        return 0.5 * self.bound**2

    @property
    def smoothness(self) -> float:
        """One."""
        return 1.0

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each prediction."""
        inside = np.clip(z, -self.bound, self.bound)
        return np.asarray(0.5 * (inside - y) ** 2 + (inside - y) * (z - inside))

    def slope(self, z: Array, y: Array) -> Array:
        """First derivative in z."""
        return np.asarray(np.clip(z, -self.bound, self.bound) - y)

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative times u."""
        return np.asarray(np.where(np.abs(z) <= self.bound, 1.0, 0.0) * u)

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """The slope at z + u less that at z."""
        return cut_change(z, u, -self.bound, self.bound)


LOSSES = (Squared(),)
"""One of each kind, as methods and contract tests take them."""
