"""Losses of regressions, for targets within a public range."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tacit.checks import check, check_positive
from tacit.linear.losses.base import Scalar, cut_change
from tacit.types import Array, Targets

__all__ = ["Pinball", "PoissonLoss", "Squared"]


@dataclass(frozen=True)
class Squared(Scalar):
    """``(z - y)^2 / 2`` where |z| <= B, continued linearly outside, for targets |y| <= B.

    A prediction outside the targets' range is never needed, and the linear continuation makes the loss 2B-Lipschitz on
    the whole space, so no bounded domain for the weights is needed: the loss is convex, once continuously
    differentiable, with curvature 1 inside and 0 outside. ``bound = inf`` is the plain square, which has no Lipschitz
    constant and is refused by the mechanisms that need one.
    """

    bound: float = 1.0
    name: ClassVar[str] = "squared"
    geometry: ClassVar[str] = "two-sided"
    smoothness: ClassVar[float] = 1.0
    """One."""

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


@dataclass(frozen=True)
class PoissonLoss(Scalar):
    """``m - t log m`` for counts t and their mean ``m = start e^z``, both as parts of a declared bound B: t in [0, 1].

    It is Poisson's negative log-likelihood ``e^s - y s`` of y = B t and s = log(B m), divided by B, plus t log B, which
    no weight can change. A mean above the bound is never needed: from m = 1 on the loss is continued by its tangent.
    With v = z + log(start) the slope is ``min(e^v, 1) - t``: within [-t, 1 - t], so within [-1, 1]; the curvature is
    e^v <= 1 below v = 0 and 0 above, where it jumps: there is no bound on a third derivative. No loss is negative: m
    and -t log m are not while m <= 1, and beyond it is ``1 + (1 - t) v``. ``start`` is the mean that the score 0 stands
    for; no constant but ``at_zero`` depends on it.
    """

    start: float = 0.1
    name: ClassVar[str] = "poisson"
    geometry: ClassVar[str] = "two-sided"
    targets: ClassVar[Targets] = (0.0, 1.0)
    lipschitz: ClassVar[float] = 1.0
    """|min(m, 1) - t| <= 1."""
    smoothness: ClassVar[float] = 1.0
    """m <= 1."""

    def __post_init__(self) -> None:
        check(0 < self.start <= 1, f"Expected 0 < start={self.start} <= 1.")

    @property
    def at_zero(self) -> float:
        """start - log(start), for t = 1."""
        return self.start - math.log(self.start)

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each prediction."""
        v = z + math.log(self.start)
        inside = np.minimum(v, 0.0)
        return np.asarray(np.exp(inside) - y * inside + (1.0 - y) * (v - inside))

    def slope(self, z: Array, y: Array) -> Array:
        """First derivative in z."""
        return np.asarray(np.exp(np.minimum(z + math.log(self.start), 0.0)) - y)

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative times u."""
        v = z + math.log(self.start)
        return np.asarray(np.where(v <= 0.0, np.exp(np.minimum(v, 0.0)), 0.0) * u)

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """With r the step of v = min(v, 0) and h the higher of its ends: ``sign(r) e^h (1 - e^-|r|)``, for any u."""
        v = z + math.log(self.start)
        step, highest = cut_change(v, u, -math.inf, 0.0), np.minimum(np.maximum(v, v + u), 0.0)
        return np.asarray(np.sign(step) * np.exp(highest) * -np.expm1(-np.abs(step)))


@dataclass(frozen=True)
class Pinball(Scalar):
    """``q (y - z)`` where z < y and ``(1 - q) (z - y)`` where z > y, the corner rounded over a width 2h: |y| <= 1.

    The mean of the plain loss over shifts of z within [-h, h]: ``(h - |z - y|)^2 / (4h)`` is added where |z - y| < h.
    The slope is ``clip((z - y)/(2h) + 1/2, 0, 1) - q``: within [-q, 1 - q]; the curvature is 1/(2h) in the corner and 0
    outside. No loss is negative: neither part is.

    What rounding the corner costs: where the mean slope is 0, the mean over shifts s of P(y < z + s) is q, so P(y < z -
    h) <= q <= P(y < z + h): the q quantile is within h of z. It is at most h/4 that the plain loss there exceeds its
    least: the two losses are apart by no more. Where the density is constant across the corner there is no bias at all.
    """

    quantile: float = 0.5
    smoothing: float = 0.05
    name: ClassVar[str] = "pinball"
    geometry: ClassVar[str] = "two-sided"
    targets: ClassVar[Targets] = (-1.0, 1.0)

    def __post_init__(self) -> None:
        check(0 < self.quantile < 1, f"Expected 0 < quantile={self.quantile} < 1.")
        check(check_positive("smoothing", self.smoothing) <= 1e6, f"Expected smoothing={self.smoothing} <= 1e6.")

    @property
    def lipschitz(self) -> float:
        """The longer of q and 1 - q."""
        return max(self.quantile, 1.0 - self.quantile)

    @property
    def at_zero(self) -> float:
        """Reached at an end of the range, for the loss is convex in y: the longer of q and 1 - q while h <= 1."""
        return float(self.value(np.zeros(2), np.array([-1.0, 1.0])).max())

    @property
    def smoothness(self) -> float:
        """1/(2h) inside the corner, 0 outside."""
        return 0.5 / self.smoothing

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each prediction."""
        over = z - y
        plain = np.maximum(-self.quantile * over, (1.0 - self.quantile) * over)
        return np.asarray(plain + np.maximum(self.smoothing - np.abs(over), 0.0) ** 2 / (4.0 * self.smoothing))

    def slope(self, z: Array, y: Array) -> Array:
        """First derivative in z."""
        return np.asarray(np.clip((z - y) / (2.0 * self.smoothing) + 0.5, 0.0, 1.0) - self.quantile)

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative times u."""
        return np.asarray(np.where(np.abs(z - y) <= self.smoothing, self.smoothness, 0.0) * u)

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """The slope at z + u less that at z."""
        width = 2.0 * self.smoothing
        return cut_change((z - y) / width, u / width, -0.5, 0.5)


LOSSES = (Squared(), PoissonLoss(), Pinball(0.9))
"""One of each kind, as methods and contract tests take them."""
