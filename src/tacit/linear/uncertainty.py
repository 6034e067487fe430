r"""How sure the solution of a noisy linear system is: variances that count sampling and noise, and what noise hides.

Released are a gradient g at a public point and a Hessian H, both with noise; the weights move from that point by
``-H^-1 g``. Let t be the move that the population asks for. The residual of the system there,

    ``r(t) = -g - H t = e + n - N t``,

has mean 0: e is what sampling adds, of covariance J; n is the gradient's noise, of variance s_g^2 in each coordinate;
N is the Hessian's, symmetric, of variance s_H^2 on the diagonal and half of that beside it. So ``N t`` has the
covariance ``(s_H^2/2)(|t|^2 I + t t^T)``, and with ``B = H^-1`` the error of the move has

    ``P(t) = B (J + s_g^2 I + (s_H^2/2)(|t|^2 I + t t^T)) B``.

P depends on t. Therefore an interval is made as Fieller (1954) made his: it holds every value that is within so many
deviations of what was found, *with the deviation that belongs to this value*. It need not be symmetric, and it has no
end where the curvature may be nothing but noise. Derivation and coverage: the docs' page "Intervals".
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tacit.reading import floats, need
from tacit.types import Array

CLEAR = 1.5
"""A Hessian's eigenvalue counts as seen when it is so many times the edge of the noise among the weak ones."""
HIDDEN = 1e30
"""How fast the variance grows with the distance where nothing is known: no interval then has an end."""
FAR = 1.0
"""A last step that changes scores by so much is too long for its error to be known."""
BLURRED = 0.4
"""The most of an error's variance that may come from a curvature's noise, where the curvature changes with weights."""
MANY = 1e12
"""Degrees of freedom, at most."""
_NUMBERS = ("variance", "tilt", "growth", "freedom")


@dataclass(frozen=True)
class System:
    """What was released of the curvature, and how noisy it and the gradient are."""

    hessian: Array = field(repr=False)
    hessian_noise: float
    gradient_noise: float

    def noise(self, move: Array) -> Array:
        """The covariance of ``n - N t``."""
        half = self.hessian_noise**2 / 2
        even = self.gradient_noise**2 + half * float(move @ move)
        return np.asarray(even * np.eye(len(move)) + half * np.outer(move, move))

    def drift(self, inverse: Array) -> Array:
        """``E[N B N] = (s_H^2/2)(tr(B) I + B)``: B times this is the relative bias of a noisy inverse."""
        half = self.hessian_noise**2 / 2
        return np.asarray(half * (float(np.trace(inverse)) * np.eye(len(inverse)) + inverse))


@dataclass(frozen=True)
class Solved:
    """A move, the inverse that gave it, whether noise hides a part of it, and the weight that is seen least."""

    move: Array
    inverse: Array
    hidden: bool
    weakest: int


def solve(system: System, gradient: Array) -> Solved:
    r"""``-H^-1 g``, corrected for the first-order bias of a noisy inverse.

    Noise in a space of k dimensions has eigenvalues up to ``s_H sqrt(2 k)``. Eigenvalues that are CLEAR times that for
    all d dimensions are seen; the others are k weak ones, and are seen where they are CLEAR times the edge for k. Where
    one is not, the least eigenvalue is raised to that edge: the move is then a stabilised one, of unknown bias.
    """
    values, vectors = np.linalg.eigh(system.hessian)
    least = max(1e-12 * float(np.abs(values).max()), 1e-300)
    edge = CLEAR * system.hessian_noise * math.sqrt(2.0)
    weak = max(int((values <= edge * math.sqrt(len(values))).sum()), 1)
    floor = max(edge * math.sqrt(weak), least)
    inverse = np.asarray((vectors / np.maximum(values, floor)) @ vectors.T)
    move = -inverse @ gradient
    hidden = bool(values[0] <= floor)
    if not hidden:
        move = move - inverse @ system.drift(inverse) @ move
    return Solved(move, inverse, hidden, int(np.abs(vectors[:, 0]).argmax()))


@dataclass(frozen=True)
class Uncertainty:
    """Of each weight: the variance ``a + b h + c h^2`` of its error, were it h above what was found.

    ``freedom`` are degrees of freedom of Student's t: few where the variance itself is noisy. ``weakest`` is the place
    of the weight that is seen least. All numbers are finite; where the noise hides the weights, c is HIDDEN.
    """

    variance: Array = field(repr=False)
    tilt: Array = field(repr=False)
    growth: Array = field(repr=False)
    freedom: Array = field(repr=False)
    weakest: int

    @classmethod
    def unknown(cls, solved: Solved) -> Uncertainty:
        """Of weights that the noise hides."""
        one = np.ones(len(solved.move))
        return cls(one, 0 * one, HIDDEN * one, MANY * one, solved.weakest)

    @classmethod
    def from_dict(cls, entries: Any, size: int) -> Uncertainty:
        """What :meth:`to_dict` wrote, of so many weights, each number checked."""
        need(isinstance(entries, dict) and set(entries) == {*_NUMBERS, "weakest"}, "Its errors lack fields.")
        variance, tilt, growth, freedom = (floats(entries[name]) for name in _NUMBERS)
        whole = all(array.shape == (size,) for array in (variance, tilt, growth, freedom))
        need(whole, "Its errors are not one per weight.")
        need(min(variance.min(), growth.min(), freedom.min()) >= 0, "Its variances are below zero.")
        need(type(entries["weakest"]) is int and 0 <= entries["weakest"] < size, "Its weakest weight is none.")
        return cls(variance, tilt, growth, freedom, entries["weakest"])

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {**{name: getattr(self, name).tolist() for name in _NUMBERS}, "weakest": self.weakest}

    def reach(self, level: float) -> tuple[Array, Array]:
        """How far intervals of this level reach below and above what was found.

        With q the quantile, the roots of ``h^2 = q^2 (a -+ b h + c h^2)``; infinite where ``c q^2`` is one or more.
        """
        from scipy import stats  # slow to import, and a model without intervals does without it

        q2 = stats.t.ppf((1 + level) / 2, self.freedom) ** 2
        left = 1 - q2 * self.growth
        ends = []
        for side in (-1.0, 1.0):
            lean = side * q2 * self.tilt
            with np.errstate(invalid="ignore", divide="ignore"):
                root = (lean + np.sqrt(lean**2 + 4 * left * q2 * self.variance)) / (2 * left)
            ends.append(np.where(left > 0, root, math.inf))
        return ends[0], ends[1]

    def p_values(self, distance: Array) -> Array:
        """Two-sided, of the values at this distance above what was found: one less the level that just reaches them."""
        from scipy import stats

        variance = self.variance + self.tilt * distance + self.growth * distance**2
        away = np.abs(distance) / np.sqrt(np.maximum(variance, 1e-300))
        return np.asarray(2 * stats.t.sf(away, self.freedom))


def changed(hessian: Array, curvature: float, move: Array) -> float:
    """How far a move changes scores, in root mean square by curvature, of which ``curvature`` is the sum."""
    if curvature <= 0:
        return math.inf
    return math.sqrt(max(float(move @ hessian @ move), 0.0) / curvature)


def remainder(system: System, solved: Solved, curvature: float, off: Array) -> float:
    r"""How wrong a move by the logistic loss's curvature near its middle is beside its noise: in units of sqrt(B_jj).

    With t and o the changes of scores (:func:`changed`) by the move and by what the middle is ``off``, and S the sum of
    curvatures, ``sqrt(S) t (o + t^2/8)``. Infinite where the move itself is in doubt: from t = FAR on, and where more
    than BLURRED of an error's variance is the curvature's noise, so that a curvature that falls along the way is seen
    too late.
    """
    moved, inverse = system.noise(solved.move), solved.inverse
    blur = inverse @ (moved - system.noise(0 * solved.move)) @ inverse
    whole = inverse @ (system.hessian + moved) @ inverse
    long, beside = (changed(system.hessian, curvature, move) for move in (solved.move, off))
    if not long < FAR or (np.diag(blur) > BLURRED * np.diag(whole)).any():
        return math.inf
    return math.sqrt(curvature) * long * (beside + long**2 / 8)


def uncertainty(system: System, solved: Solved, middle: Array, doubt: Array, rest: float = 0.0) -> Uncertainty:
    """Of the weights after a move that was seen: ``middle`` is J, ``doubt_j`` the variance of ``(B J B)_jj``.

    Degrees of freedom are ``2 v^2 / doubt`` for a variance v (Satterthwaite 1946). Beside its random error the move may
    be wrong by ``rest sqrt(B_jj)``, whose square is added to the variance: an interval then holds as often.
    """
    inverse, move = solved.inverse, solved.move
    cover = inverse @ (middle + system.noise(move)) @ inverse
    variance = np.diag(cover).copy()
    paths = cover / np.maximum(variance, 1e-300)  # column j: how the weights move along when weight j moves by one
    turned, squares = np.diag(inverse @ paths), (inverse**2).sum(axis=1)
    s2 = system.hessian_noise**2
    tilt = s2 * (squares * (move @ paths) + (inverse @ move) * turned)
    growth = s2 / 2 * (squares * (paths**2).sum(axis=0) + turned**2)
    freedom = np.minimum(2 * variance**2 / np.maximum(doubt, 1e-300), MANY)
    return Uncertainty(variance + rest**2 * np.diag(inverse), tilt, growth, freedom, solved.weakest)
