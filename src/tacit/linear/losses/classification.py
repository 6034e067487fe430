"""Losses of classifiers. Labels are -1 and +1; softmax takes class numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import expit, logsumexp, softmax

from tacit.checks import check, check_positive
from tacit.linear.losses.base import Scalar, cut_change
from tacit.types import Array, Targets

__all__ = ["HuberHinge", "Logistic", "Softmax", "pair_probabilities", "probabilities"]

MARGIN = 32.0
"""The largest margin a. ``a - y z`` is rounded by at most ``a + |z|`` ulps, which changes a slope by a quarter of that:
for a = 32 by 8 of the 64 ulps that rounding bounds hold for the evaluation of a slope
(:func:`tacit.linear.problem.rounding_slack`). A larger one is of no use: the slope at 0 is 1 to within 1e-14 from there
on."""
_PAIRS = 2**13
"""Pairs of probabilities that are made at a time."""


def check_margin(margin: float) -> None:
    """Raise unless the margin is one that rounding bounds allow."""
    check(0 <= margin <= MARGIN, f"Expected 0 <= margin={margin} <= {MARGIN:g}.")


@dataclass(frozen=True)
class Logistic(Scalar):
    """``log(1 + exp(margin - y z))`` for y in {-1, +1}. Third derivative at most 1/(6 sqrt 3).

    A margin above zero asks for scores beyond it, as the hinge does. With s the slope's size the curvature is s (1 -
    s) whatever the margin, so no constant changes; but near z = 0, where a strongly regularised model lives, s grows
    from 1/2 towards 1: more signal for the same noise. Probabilities come from :func:`probabilities`.
    """

    margin: float = 0.0
    name: ClassVar[str] = "logistic"
    geometry: ClassVar[str] = "logistic"
    targets: ClassVar[Targets] = "signs"
    lipschitz: ClassVar[float] = 1.0
    """The slope is -y s with s = sigma(margin - y z) below 1."""
    smoothness: ClassVar[float] = 0.25
    """s (1 - s) <= 1/4."""

    def __post_init__(self) -> None:
        check_margin(self.margin)

    @property
    def at_zero(self) -> float:
        """log(1 + e^margin)."""
        return float(np.logaddexp(0.0, self.margin))

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each prediction."""
        return np.asarray(np.logaddexp(0.0, self.margin - y * z))

    def slope(self, z: Array, y: Array) -> Array:
        """First derivative in z."""
        s = self._short(z, y)
        s *= -y
        return s

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative times u."""
        s = self._short(z, y)
        return np.asarray(s * (1.0 - s) * u)

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """``s(t + r) - s(t) = (1 - e^-r) s(t + r) (1 - s(t))`` with t = margin - y z and r = -y u, both signs of r."""
        t, r = self.margin - y * z, -y * u
        low, high = np.minimum(t, t + r), np.maximum(t, t + r)
        return np.asarray(-y * np.sign(r) * -np.expm1(-np.abs(r)) * expit(high) * expit(-low))

    def _short(self, z: Array, y: Array) -> Array:
        """``s = 1 / (1 + e^(y z - margin))`` in place, by numpy's vectorised exp; where that overflows, 0."""
        s = np.multiply(y, z)
        s -= self.margin
        with np.errstate(over="ignore"):
            np.exp(s, out=s)
        s += 1.0
        return np.reciprocal(s, out=s)


@dataclass(frozen=True)
class HuberHinge(Scalar):
    """The hinge loss with its corner rounded over a width 2h (Chaudhuri et al. 2011, section 5).

    With m = y z: 0 for m > 1 + h; (1 + h - m)^2 / (4h) for |1 - m| <= h; 1 - m below.
    """

    smoothing: float = 0.5
    name: ClassVar[str] = "huber-hinge"
    geometry: ClassVar[str] = "monotone"
    targets: ClassVar[Targets] = "signs"
    lipschitz: ClassVar[float] = 1.0
    """The slope lies between -1 and 0 (times y)."""

    def __post_init__(self) -> None:
        check(check_positive("smoothing", self.smoothing) <= 1e6, f"Expected smoothing={self.smoothing} <= 1e6.")

    @property
    def at_zero(self) -> float:
        """1 where the corner ends above 0, (1 + h)^2 / (4h) for wider ones."""
        return float(self.value(np.zeros(1), np.ones(1))[0])

    @property
    def smoothness(self) -> float:
        """1/(2h) inside the corner, 0 outside."""
        return 0.5 / self.smoothing

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each prediction."""
        short = 1.0 + self.smoothing - y * z
        inside = np.clip(short, 0.0, 2.0 * self.smoothing)
        return np.asarray(inside**2 / (4.0 * self.smoothing) + np.maximum(short - 2.0 * self.smoothing, 0.0))

    def slope(self, z: Array, y: Array) -> Array:
        """First derivative in z."""
        short = 1.0 + self.smoothing - y * z
        return np.asarray(-y * np.clip(short / (2.0 * self.smoothing), 0.0, 1.0))

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative times u."""
        return np.asarray(np.where(np.abs(1.0 - y * z) <= self.smoothing, self.smoothness, 0.0) * u)

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """The slope at z + u less that at z."""
        width = 2.0 * self.smoothing
        return np.asarray(-y * cut_change((1.0 + self.smoothing - y * z) / width, -y * u / width, 0.0, 1.0))


@dataclass(frozen=True)
class Softmax:
    """Cross-entropy of K scores, the true class's lowered by ``margin``; y holds class numbers 0 .. K-1.

    The slope is p - e_y: its squared norm is at most (1 - p_y)^2 + (1 - p_y)^2 <= 2, and its entries add to zero, so it
    lives in K - 1 directions. The second derivative diag(p) - p p^T has largest eigenvalue at most 1/2 and
    trace 1 - ||p||^2 <= 1 - 1/K.
    """

    classes: int
    margin: float = 0.0
    name: ClassVar[str] = "softmax"
    geometry: ClassVar[str] = "simplex"
    targets: ClassVar[Targets] = "classes"
    smoothness: ClassVar[float] = 0.5
    """Largest eigenvalue of diag(p) - p p^T."""

    def __post_init__(self) -> None:
        check(self.classes >= 2, f"Expected classes={self.classes} >= 2.")
        check_margin(self.margin)

    def _lowered(self, z: Array, y: Array) -> Array:
        lowered = z.copy()
        lowered[np.arange(len(z)), y.astype(np.intp).ravel()] -= self.margin
        return lowered

    @property
    def lipschitz(self) -> float:
        """The square root of two, not one."""
        return math.sqrt(2.0)

    @property
    def at_zero(self) -> float:
        """log(1 + (K - 1) e^margin)."""
        return float(np.logaddexp(0.0, math.log(self.classes - 1) + self.margin))

    @property
    def trace(self) -> float:
        """Largest trace of diag(p) - p p^T."""
        return 1.0 - 1.0 / self.classes

    @property
    def directions(self) -> int:
        """The slope's entries add to zero."""
        return self.classes - 1

    @property
    def coupled(self) -> bool:
        """The columns are scores of one model."""
        return True

    @property
    def outputs(self) -> int:
        """One score per class."""
        return self.classes

    def value(self, z: Array, y: Array) -> Array:
        """Loss of each row, as a column."""
        z = self._lowered(z, y)
        picked = np.take_along_axis(z, y.astype(np.intp).reshape(-1, 1), axis=1)
        return np.asarray(logsumexp(z, axis=1, keepdims=True) - picked)

    def slope(self, z: Array, y: Array) -> Array:
        """Gradient in the scores of each row."""
        p = np.asarray(softmax(self._lowered(z, y), axis=1))
        p[np.arange(len(z)), y.astype(np.intp).ravel()] -= 1.0
        return p

    def curve(self, z: Array, y: Array, u: Array) -> Array:
        """Second derivative of each row times the rows of u."""
        p = softmax(self._lowered(z, y), axis=1)
        return np.asarray(p * (u - (p * u).sum(axis=1, keepdims=True)))

    def change(self, z: Array, y: Array, u: Array) -> Array:
        """With q = e^u - 1 (u shifted to a largest entry of 0): ``p (q - <p, q>) / (1 + <p, q>)``.

        That is exact for small u; where u spans more than 1, the difference of the two slopes has an error of ulps of u
        anyway.
        """
        z = self._lowered(z, y)
        z, u = z - z.max(axis=1, keepdims=True), u - u.max(axis=1, keepdims=True)
        p, q = softmax(z, axis=1), np.expm1(u)
        moved = (p * q).sum(axis=1, keepdims=True)
        wide = u.min(axis=1, keepdims=True) < -1.0
        near = p * (q - moved) / np.where(wide, 1.0, 1.0 + moved)
        return np.asarray(np.where(wide, softmax(z + u, axis=1) - p, near))


def probabilities(scores: Array, margin: float) -> Array:
    r"""Class probabilities from the scores of a model trained with a margin a.

    The expected loss at scores z is stationary when the class probabilities satisfy
    ``eta_j = sum_y eta_y p_j(z - a e_y)``; detailed balance solves this: with u = e^z,

    .. math:: \eta_j \propto u_j \left(\sum_k u_k - (1 - e^{-a}) u_j\right)

    For a = 0 it is softmax; the order of the classes is that of the scores for every a.
    """
    lines = np.ascontiguousarray(scores.T)  # a class after the other: sums over few classes are fast then
    u = np.exp(lines - lines.max(axis=0))
    weights = u * (u.sum(axis=0) + math.expm1(-margin) * u)
    weights /= weights.sum(axis=0)
    return np.asarray(weights.T)


def pair_probabilities(margins: Array, margin: float) -> Array:
    """:func:`probabilities` of two classes with scores -z/2 and z/2, (n, 2) for n numbers z: the same bits.

    With e = e^-|z| and c = e^-a - 1 they are as e (1 + e + c e) to 1 + e + c. A few numbers at a time stay in cache.
    """
    found, shift = np.empty((2, len(margins))), math.expm1(-margin)
    for start in range(0, len(margins), _PAIRS):
        z = margins[start : start + _PAIRS]
        u = np.exp(-np.abs(z))
        likelier = u + 1.0
        rarer = u * (likelier + shift * u)
        likelier += shift
        both = likelier + rarer
        likelier /= both
        rarer /= both
        found[0, start : start + len(z)] = np.where(z > 0, rarer, likelier)
        found[1, start : start + len(z)] = np.where(z > 0, likelier, rarer)
    return found.T


LOSSES = (Logistic(), Softmax(3), HuberHinge())
"""One of each kind, as methods and contract tests take them."""
