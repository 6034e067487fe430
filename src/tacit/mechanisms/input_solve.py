r"""The minimiser of a collection's quadratic over the ball, with a certificate in exact arithmetic.

The sums are whole numbers, so how far a point is from the minimiser can be computed without any rounding: floating
point proposes, fractions judge. Where floating point does not reach the public tolerance, decimal arithmetic of more
and more digits does; it always ends, because the tolerance is more than what rounding the true minimiser to 53 bits
costs (:meth:`tacit.mechanisms.input.InputNumbers.tolerance`). So no result depends on how hard the sums are to solve:
only the time does. Nothing is given up, except where the quadratic is not positive definite, which is decided exactly.
"""

from __future__ import annotations

import decimal
import math
from dataclasses import KW_ONLY, dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.linear.solvers.ball import minimise
from tacit.mechanisms.moments import Sums
from tacit.types import Array

DIGITS = 40
"""Decimal digits of the first slow solve; twice as many for each that follows, for as long as it takes."""
_UP = 1 + 1e-12


@dataclass(frozen=True)
class Quadratic:
    """``w.(A + Delta)w/2 - c.w`` over the ball of ``radius``: A and c by ``sums`` in grid steps, Delta is ``ridge``."""

    sums: Sums
    _: KW_ONLY
    row_step: float
    cross_step: float
    ridge: float
    radius: float

    @classmethod
    def of(cls, matrix: Array, target: Array, radius: float) -> Quadratic:
        """Of a symmetric matrix and a vector in floats, rounded to about 2**-100 of their largest entries."""
        row = 2.0 ** ((math.frexp(float(np.abs(matrix).max()))[1] - 100) // 2)
        cross = 2.0 ** max(math.frexp(float(np.abs(target).max()))[1] - 100, -1000)
        second = np.array([[int(v) for v in line] for line in matrix / row / row], dtype=object)
        sums = Sums.exactly(1, second, np.array([int(v) for v in target / cross], dtype=object))
        return cls(sums, row_step=row, cross_step=cross, ridge=0.0, radius=radius)

    @cached_property
    def floats(self) -> tuple[Array, Array]:
        """A + Delta and c, rounded."""
        second, cross = self.sums.moments(self.row_step, self.cross_step)
        return second + self.ridge * np.eye(len(cross)), cross

    def gap(self, weights: Array, nu: float) -> float:
        r"""A bound on Lambda times the distance of ``weights`` from the minimiser; nu >= 0 is the ball's multiplier.

        Let ``off`` be the distance to the sphere (nu > 0) or to the ball, at most ``| ||w||^2 - eta^2 | / eta``, and
        ``T = tr A + |Delta| + nu``, which is at least the norm of ``A + Delta + nu`` and at least Lambda. The point of
        the sphere (ball) next to w minimises the problem with c moved by at most ``||r|| + T off``, r the residual
        ``(A + Delta + nu) w - c``, and the minimiser moves by at most 1/Lambda of that. So ``||r|| + 2 T off`` is
        enough, and all of it is computed in fractions.
        """
        return self.gap_of(weights, nu, self.residual(weights, nu))

    def gap_of(self, weights: Array, nu: float, residual: list[Fraction], stiff: float = 0.0) -> float:
        """The gap of a residual; ``stiff`` is what else than A, Delta and nu moves it with the point."""
        radius = Fraction(self.radius)
        squares = sum(part**2 for part in residual)
        beyond = sum(Fraction(float(w)) ** 2 for w in weights) - radius**2
        off = (abs(beyond) if nu > 0 else max(beyond, Fraction(0))) / radius
        trace = Fraction(self.row_step) ** 2 * int(sum(self.sums.second.diagonal()))
        size = trace + abs(Fraction(self.ridge)) + Fraction(nu) + Fraction(stiff)
        return (_root(Fraction(squares)) + 2 * float(size * off)) * _UP

    @cached_property
    def definite(self) -> bool:
        """Whether ``A + Delta`` is positive definite: by its leading minors, in whole numbers (Bareiss 1968).

        They are not needed where floating point finds it so with 32 times the room that its rounding could take.
        """
        rough = self.floats[0]
        room = 2.0**-48 * len(rough) * float(np.abs(rough.diagonal()).sum())
        try:
            np.linalg.cholesky(rough - room * np.eye(len(rough)))
            return True
        except np.linalg.LinAlgError:
            pass
        step, ridge = Fraction(self.row_step) ** 2, Fraction(self.ridge)
        common = math.lcm(step.denominator, ridge.denominator)
        rest, before = self.sums.second * int(step * common), 1
        for j in range(len(rest)):
            rest[j, j] += int(ridge * common)
        while len(rest):
            pivot = rest[0, 0]
            if pivot <= 0:
                return False
            rest, before = (pivot * rest[1:, 1:] - np.outer(rest[1:, 0], rest[0, 1:])) // before, pivot
        return True

    def solve(self, tolerance: float) -> tuple[Array, float]:
        """A point and its gap, which is at most ``tolerance`` wherever ``A + Delta`` is positive definite."""
        try:
            weights, gap = self.fast()
        except np.linalg.LinAlgError:  # an iteration of LAPACK that did not converge
            weights, gap = np.zeros(len(self.sums.cross)), math.inf
        digits = DIGITS
        while not gap <= tolerance and self.definite:
            weights, gap = self.slow(digits) or (weights, gap)
            digits *= 2
        return weights, gap

    def fast(self) -> tuple[Array, float]:
        """Eigendecomposition and secular equation, then three refinements by residuals in double precision."""
        quadratic, cross = self.floats
        first = minimise(quadratic, cross, self.radius)
        weights, nu = first.weights, first.multiplier
        shifted = quadratic + nu * np.eye(len(cross))
        best, least = weights, math.inf
        for _ in range(3):
            residual = self.residual(weights, nu)
            gap = self.gap_of(weights, nu, residual)
            if gap < least:
                best, least = weights, gap
            step = np.array([float(part) for part in residual])
            weights = weights - np.linalg.lstsq(shifted, step, rcond=None)[0]
            if nu > 0:
                weights = weights * (self.radius / float(np.linalg.norm(weights)))
        return best, least

    def residual(self, weights: Array, nu: float) -> list[Fraction]:
        """``(A + Delta + nu) w - c``, without any rounding: weights are whole numbers over one power of two."""
        exact = [Fraction(float(w)) for w in weights]
        common = max(w.denominator for w in exact)
        whole = np.array([w.numerator * (common // w.denominator) for w in exact], dtype=object)
        row, cross = Fraction(self.row_step) ** 2 / common, Fraction(self.cross_step)
        shift = Fraction(self.ridge) + Fraction(nu)
        parts = zip(self.sums.second @ whole, exact, self.sums.cross, strict=True)
        return [row * t + shift * w - cross * c for t, w, c in parts]

    def decimals(self) -> tuple[NDArray[Any], NDArray[Any], decimal.Decimal]:
        """A + Delta, c and the radius in the digits of the context."""
        step, pull = _decimal(Fraction(self.row_step) ** 2), _decimal(Fraction(self.cross_step))
        whole = np.array([[decimal.Decimal(int(v)) * step for v in line] for line in self.sums.second])
        target = np.array([decimal.Decimal(int(v)) * pull for v in self.sums.cross])
        return whole + _eye(len(target)) * _decimal(Fraction(self.ridge)), target, _decimal(Fraction(self.radius))

    def slow(self, digits: int) -> tuple[Array, float] | None:
        r"""Newton's method on the secular equation in decimals; None where A + Delta is not positive definite.

        ``1/||w(nu)|| - 1/eta`` with ``w(nu) = (A + Delta + nu)^{-1} c`` increases and is concave in nu >= 0, so from
        nu = 0 the steps go up to the root and never pass it. Reference: Conn, Gould & Toint 2000, Lemma 7.3.2. The
        number of steps grows with the digits, so some number of digits is enough.
        """
        with decimal.localcontext(decimal.Context(prec=digits)):
            matrix, target, radius = self.decimals()
            eye = _eye(len(target))
            nu, small = decimal.Decimal(0), decimal.Decimal(10) ** (-digits // 2)
            for _ in range(10 * digits):
                lower = _cholesky(matrix + eye * nu)
                if lower is None:
                    return None
                point = _back(lower, _forward(lower, target))
                length = sum(v * v for v in point).sqrt()
                if length <= radius * (1 + small):
                    break
                inner = sum(v * v for v in _forward(lower, point))
                nu += (length * length / inner) * (length - radius) / radius
            weights, multiplier = np.array([float(v) for v in point]), float(nu)
        return weights, self.gap(weights, multiplier)


def _root(square: Fraction) -> float:
    """The square root, also where the square is no float."""
    shift = (square.numerator.bit_length() - square.denominator.bit_length()) // 2
    return math.ldexp(math.sqrt(float(square / Fraction(4) ** shift)), shift)


def _eye(size: int) -> NDArray[Any]:
    return np.array([[decimal.Decimal(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)


def solve_decimals(matrix: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    """A positive definite system of decimals; an ArithmeticError where it is not."""
    lower = _cholesky(matrix)
    if lower is None:
        raise ArithmeticError("not positive definite")
    return _back(lower, _forward(lower, right))


def _decimal(value: Fraction) -> decimal.Decimal:
    return decimal.Decimal(value.numerator) / decimal.Decimal(value.denominator)


def _cholesky(matrix: NDArray[Any]) -> NDArray[Any] | None:
    """The lower factor of a positive definite matrix of decimals, or None."""
    lower = np.zeros_like(matrix)
    for j in range(len(matrix)):
        column = matrix[j:, j] - lower[j:, :j] @ lower[j, :j] if j else matrix[:, 0]
        if column[0] <= 0:
            return None
        lower[j:, j] = column / column[0].sqrt()
    return lower


def _forward(lower: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    found = right.copy()
    for j in range(len(right)):
        found[j] = found[j] / lower[j, j]
        found[j + 1 :] = found[j + 1 :] - lower[j + 1 :, j] * found[j]
    return found


def _back(lower: NDArray[Any], right: NDArray[Any]) -> NDArray[Any]:
    found = right.copy()
    for j in reversed(range(len(right))):
        found[j] = found[j] / lower[j, j]
        found[:j] = found[:j] - lower[j, :j] * found[j]
    return found
