r"""Input perturbation with another convex regulariser than a ridge: the absolute values of the weights, or Huber's.

.. math::
   \Omega(w) = \tau \sum_j \phi_h(w_j), \qquad \phi_h(w) = w^2/(2h) \text{ for } |w| \le h, \text{ else } |w| - h/2 ,

and :math:`\phi_0(w) = |w|`; the intercept is free. Fukuchi, Tran & Sakuma 2017 (section 3.1) allow any convex
regulariser and set it to 0. It is *not* post-processing, because the sums are not released: the model's guarantee is
that of a perturbed minimiser. It is the same guarantee, because the same public function is added to the objective of
both neighbours (docs page "Input perturbation").

The ridge stays in the objective: the proof needs its strong convexity, so this is an elastic net. As for the quadratic
alone, floating point proposes a minimiser and fractions judge it; decimals of more and more digits follow, until
fractions agree. That it ends is proven on the same page: nothing is released that is not certified.
"""

from __future__ import annotations

import decimal
import math
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_positive, check_real
from tacit.mechanisms.input_solve import DIGITS, Quadratic, solve_decimals
from tacit.types import Array

Numbers = NDArray[Any]
"""Floats, or decimals as objects."""
NEAR = 4.0
SMALLEST_GAP = 1e-280
"""Without a budget, what counts as no gap: near the smallest floats nothing smaller can be told."""
SMALLEST, GREATEST = 1e-50, 1e50
"""A knee is 0 or at least the first: far above the smallest floats, so that rounding a weight moves its slope little.
Neither it nor a weight is beyond the second: squares stay below the largest floats."""
_MOST = 1e290
"""No gap's rounding may be larger: a gap that is no float could never be certified. Public sizes keep far below it."""


@dataclass(frozen=True)
class Penalty:
    """Omega/n: ``weight`` times the sum of :math:`\\phi_h` over all weights but the intercept's; h is ``knee``."""

    weight: float
    _: KW_ONLY
    knee: float = 0.0

    def __post_init__(self) -> None:
        for name in ("weight", "knee"):
            object.__setattr__(self, name, check_real(name, getattr(self, name)))
        check(
            check_positive("weight", self.weight) <= GREATEST,
            f"Expected weight={self.weight} to be at most {GREATEST:g}.",
        )
        fine = self.knee == 0 or SMALLEST <= self.knee <= GREATEST
        check(fine, f"Expected knee={self.knee} to be 0, or from {SMALLEST:g} to {GREATEST:g}.")

    def strengths(self, records: int, features: int, intercept: float) -> Array:
        """tau of every weight in the *sum* of losses."""
        found = np.full(features, self.weight * records)
        if intercept:
            found[-1] = 0.0
        return found

    def tidied(self, released: Array, scale: float) -> Array:
        """Released weights with zeros where absolute values had made zeros and the second noise hid them.

        Noise of this scale exceeds ``NEAR`` of it in one weight of 16,000. Of public numbers and what is released
        anyway: post-processing. An intercept as near to zero as that is set to zero with the others.
        """
        return released if self.knee else np.where(np.abs(released) <= NEAR * scale, 0.0, released)


@dataclass(frozen=True)
class System:
    """``w.A.w/2 - c.w + sum tau_j phi_h(w_j)`` over a ball, A positive definite; ``solve`` is for symmetric systems.

    How long is searched grows with ``digits``, those of the arithmetic.
    """

    matrix: Numbers
    target: Numbers
    strengths: Numbers
    knee: Any
    radius: Any
    solve: Callable[[Numbers, Numbers], Numbers]
    digits: int = 16

    def minimum(self) -> tuple[Numbers, Any]:
        """The minimiser and the ball's multiplier nu: the length of the point falls in nu, so halving finds it."""
        zero = 0 * self.radius
        point = self.free(zero, zero * self.target)
        if _length(point) <= self.radius:
            return point, zero
        low, high = zero, _length(self.target) / self.radius
        for _ in range(4 * self.digits):
            middle = (low + high) / 2
            point = self.free(middle, point)
            low, high = (middle, high) if _length(point) > self.radius else (low, middle)
        return self.free(high, point), high

    def free(self, nu: Any, point: Numbers) -> Numbers:
        """The minimiser without the ball and with nu/2 ||w||^2, or what so many rounds come to.

        A round is a sweep, which alone converges (slowly), and jumps towards the minimiser of the point's pattern,
        until that has the pattern itself. Jumps never go up. Where no zero is pulled away, it is the minimiser of all.
        """
        matrix = self.matrix + nu * np.eye(len(point), dtype=int)
        for _ in range(4 * self.digits):
            point = self.sweep(matrix, point)
            for _ in range(2 * len(point)):
                guess = self.on_pattern(matrix, point)
                if (self.signs(guess) == self.signs(point)).all():
                    break
                point = self.lowest(matrix, point, guess)
            if self.same_pattern(matrix, guess, point):
                return guess
            point = self.lowest(matrix, point, guess)
        return self.sweep(matrix, point)

    def sweep(self, matrix: Numbers, point: Numbers) -> Numbers:
        """Minimise in one weight after the other."""
        point = point.copy()
        for j in range(len(point)):
            point[j] = self.one(matrix[j, j], self.target[j] - matrix[j] @ point + matrix[j, j] * point[j], j)
        return point

    def lowest(self, matrix: Numbers, point: Numbers, guess: Numbers) -> Numbers:
        """The lowest point of the way from ``point`` to ``guess``: along it the objective is a quadratic in pieces.

        Pieces end where a weight crosses 0 (h = 0) or a knee; there it is put on it exactly, or 0 would be missed.
        """
        way, zero = guess - point, 0 * self.radius
        slope, bend = (matrix @ point - self.target) @ way, way @ matrix @ way
        edges = (-self.knee, self.knee) if self.knee else (zero,)
        moving = np.flatnonzero((way != 0) & (self.strengths > 0))
        turns: list[tuple[Any, Any, Any]] = [((edge - point[j]) / way[j], j, edge) for j in moving for edge in edges]
        found: Numbers = point
        low = zero
        for high, j, edge in [*sorted(turn for turn in turns if 0 < turn[0] < 1), (zero + 1, 0, guess[0])]:
            signs = self.signs(point + way * ((low + high) / 2))
            inner = np.where(signs == 0, self.strengths / self.knee, zero) if self.knee else zero * way
            push = slope + (self.strengths * signs + inner * point) @ way
            bent = bend + (inner * way) @ way
            if not bent > 0 or -push <= low * bent:
                break
            if -push < high * bent:
                found = point - way * (push / bent)
                break
            found, low = point + way * high, high
            found[j] = edge
        return found

    def one(self, curvature: Any, pull: Any, j: int) -> Any:
        """``argmin a w^2/2 - g w + tau phi_h(w)``."""
        tau = self.strengths[j]
        if abs(pull) <= tau + curvature * self.knee and tau > 0:
            return pull * self.knee / (curvature * self.knee + tau)
        return (pull - tau if pull > 0 else pull + tau) / curvature

    def signs(self, point: Numbers) -> Numbers:
        """-1 and 1 beyond the knee, 0 within it and where nothing is added."""
        beyond = (abs(point) > self.knee) & (self.strengths > 0)
        return np.where(beyond, np.where(point > 0, 1, -1), 0)

    def on_pattern(self, matrix: Numbers, point: Numbers) -> Numbers:
        """The stationary point if the same weights are beyond the knee as in ``point``."""
        signs = self.signs(point)
        inner, found = (signs == 0) & (self.strengths > 0), 0 * point
        kept = np.flatnonzero(~inner) if self.knee == 0 else np.arange(len(point))
        part = matrix[np.ix_(kept, kept)].copy()
        if self.knee > 0:
            for j in np.flatnonzero(inner):
                part[j, j] += self.strengths[j] / self.knee
        if len(kept):
            found[kept] = self.solve(part, (self.target - self.strengths * signs)[kept])
        return found

    def same_pattern(self, matrix: Numbers, guess: Numbers, point: Numbers) -> bool:
        """Whether a stationary point of a pattern has that pattern, so that it is the minimiser."""
        signs = self.signs(point)
        if (self.signs(guess) != signs).any():
            return False
        pulls = abs(self.target - matrix @ guess)
        return bool(((pulls <= self.strengths) | (signs != 0) | (self.strengths == 0) | (self.knee > 0)).all())


@dataclass(frozen=True)
class Penalised:
    """The objective of a collection with a penalty: ``quadratic``, and tau of every weight."""

    quadratic: Quadratic
    strengths: Array
    knee: float

    def gap(self, weights: Array, nu: float) -> float:
        r"""A bound on Lambda times the distance of ``weights`` from the minimiser, in fractions.

        As :meth:`Quadratic.gap`, with the subgradient s of Omega in the residual. Moving w to the sphere next to it
        scales it; s then moves by at most ``2 ||tau||/eta`` times the way, or not at all where h = 0.
        """
        residual = []
        for part, w, tau in zip(self.quadratic.residual(weights, nu), weights, self.strengths, strict=True):
            most = Fraction(float(tau))
            if self.knee == 0 and w == 0:
                residual.append(max(abs(part) - most, Fraction(0)))
            else:
                share = Fraction(float(w)) / Fraction(self.knee) if self.knee else Fraction(1 if w > 0 else -1)
                residual.append(part + most * min(max(share, Fraction(-1)), Fraction(1)))
        stiff = 2 * float(np.linalg.norm(self.strengths)) / self.quadratic.radius * (1 + 1e-9)
        return self.quadratic.gap_of(weights, nu, residual, stiff)

    def solve(self, tolerance: float | None = None) -> tuple[Array, float]:
        """A point and its gap: at most ``tolerance``, or as small as 53 bits allow (None). As many digits as it takes.

        Edges: zeros and infinity where ``A + Delta`` is not positive definite, and nowhere else.
        """
        largest = self.fine(np.full(len(self.strengths), self.quadratic.radius))
        check(largest < _MOST, "Records, radius and penalty are too large together to be added up in floating point.")
        digits = 0
        while True:
            found = self.attempt(digits)
            if found is not None and found[1] <= (self.fine(found[0]) if tolerance is None else tolerance):
                return found
            if not self.quadratic.definite:
                return np.zeros(len(self.strengths)), math.inf
            digits = 2 * digits or DIGITS

    def fine(self, weights: Array) -> float:
        """More than the gap that rounding such weights and their multiplier to 53 bits costs."""
        matrix, target = self.quadratic.floats
        size = float(np.trace(matrix)) + (len(target) + 1) * abs(self.quadratic.ridge)
        pulls = math.hypot(*target) + math.hypot(*self.strengths)  # which does not underflow, as a sum of squares does
        return max(16 * 2.0**-53 * (size * math.hypot(*weights) + pulls), SMALLEST_GAP)

    def attempt(self, digits: int) -> tuple[Array, float] | None:
        """The minimiser in floats (0) or in decimals of so many digits; None where they do not reach it."""
        with decimal.localcontext(decimal.Context(prec=max(digits, 28))), np.errstate(all="ignore"):
            if digits:
                matrix, target, radius = self.quadratic.decimals()
                strengths = np.array([decimal.Decimal(float(tau)) for tau in self.strengths])
                system = System(matrix, target, strengths, decimal.Decimal(self.knee), radius, solve_decimals, digits)
            else:
                matrix, target = self.quadratic.floats
                system = System(matrix, target, self.strengths, self.knee, self.quadratic.radius, np.linalg.solve)
            try:
                if not digits:
                    np.linalg.cholesky(matrix)
                point, nu = system.minimum()
                weights, multiplier = np.array([float(v) for v in point]), float(nu)
                return (weights, self.gap(weights, multiplier)) if np.isfinite(weights).all() else None
            except (np.linalg.LinAlgError, ArithmeticError):
                return None


def _length(point: Numbers) -> Any:
    square = sum(v * v for v in point)
    return square.sqrt() if isinstance(square, decimal.Decimal) else math.sqrt(square)
