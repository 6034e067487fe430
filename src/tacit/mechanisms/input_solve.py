r"""The minimiser of a collection's quadratic over the ball, with a certificate in exact arithmetic.

The sums are whole numbers, so how far a point is from the minimiser can be computed without any rounding: floating
point proposes, fractions judge. Where floating point does not reach the public tolerance, decimal arithmetic of more
and more digits does; it always ends, because the tolerance is more than what rounding the true minimiser to 53 bits
costs (:meth:`tacit.mechanisms.input.InputNumbers.tolerance`). So no result depends on how hard the sums are to solve.
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

DIGITS = (40, 80, 160, 320)
"""Decimal digits of the slow solve, in turn."""
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

    @cached_property
    def _floats(self) -> tuple[Array, Array]:
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
        return self._gap(weights, nu, self._residual(weights, nu))

    def _gap(self, weights: Array, nu: float, residual: list[Fraction]) -> float:
        radius = Fraction(self.radius)
        squares = sum(part**2 for part in residual)
        beyond = sum(Fraction(float(w)) ** 2 for w in weights) - radius**2
        off = (abs(beyond) if nu > 0 else max(beyond, Fraction(0))) / radius
        trace = Fraction(self.row_step) ** 2 * int(sum(self.sums.second.diagonal()))
        size = trace + abs(Fraction(self.ridge)) + Fraction(nu)
        return (math.sqrt(float(squares)) + 2 * float(size * off)) * _UP

    def solve(self, tolerance: float) -> tuple[Array, float]:
        """A point and its gap, which is at most ``tolerance`` wherever ``A + Delta`` is positive definite."""
        try:
            weights, gap = self.fast()
        except np.linalg.LinAlgError:  # an iteration of LAPACK that did not converge
            weights, gap = np.zeros(len(self.sums.cross)), math.inf
        for digits in DIGITS:
            if gap <= tolerance:
                break
            found = self.slow(digits)
            if found is not None and found[1] < gap:
                weights, gap = found
        return weights, gap

    def fast(self) -> tuple[Array, float]:
        """Eigendecomposition and secular equation, then three refinements by residuals in double precision."""
        quadratic, cross = self._floats
        first = minimise(quadratic, cross, self.radius)
        weights, nu = first.weights, first.multiplier
        shifted = quadratic + nu * np.eye(len(cross))
        best, least = weights, math.inf
        for _ in range(3):
            residual = self._residual(weights, nu)
            gap = self._gap(weights, nu, residual)
            if gap < least:
                best, least = weights, gap
            step = np.array([float(part) for part in residual])
            weights = weights - np.linalg.lstsq(shifted, step, rcond=None)[0]
            if nu > 0:
                weights = weights * (self.radius / float(np.linalg.norm(weights)))
        return best, least

    def _residual(self, weights: Array, nu: float) -> list[Fraction]:
        """``(A + Delta + nu) w - c``, without any rounding: weights are whole numbers over one power of two."""
        exact = [Fraction(float(w)) for w in weights]
        common = max(w.denominator for w in exact)
        whole = np.array([w.numerator * (common // w.denominator) for w in exact], dtype=object)
        row, cross = Fraction(self.row_step) ** 2 / common, Fraction(self.cross_step)
        shift = Fraction(self.ridge) + Fraction(nu)
        parts = zip(self.sums.second @ whole, exact, self.sums.cross, strict=True)
        return [row * t + shift * w - cross * c for t, w, c in parts]

    def slow(self, digits: int) -> tuple[Array, float] | None:
        r"""Newton's method on the secular equation in decimals; None where A + Delta is not positive definite.

        ``1/||w(nu)|| - 1/eta`` with ``w(nu) = (A + Delta + nu)^{-1} c`` increases and is concave in nu >= 0, so from
        nu = 0 the steps go up to the root and never pass it. Reference: Conn, Gould & Toint 2000, Lemma 7.3.2.
        """
        with decimal.localcontext(decimal.Context(prec=digits)):
            step, pull = _decimal(Fraction(self.row_step) ** 2), _decimal(Fraction(self.cross_step))
            size, radius = len(self.sums.cross), _decimal(Fraction(self.radius))
            eye = np.array([[decimal.Decimal(int(i == j)) for j in range(size)] for i in range(size)], dtype=object)
            whole = np.array([[decimal.Decimal(int(v)) * step for v in line] for line in self.sums.second])
            matrix = whole + eye * _decimal(Fraction(self.ridge))
            target = np.array([decimal.Decimal(int(v)) * pull for v in self.sums.cross])
            nu, small = decimal.Decimal(0), decimal.Decimal(10) ** (-digits // 2)
            for _ in range(400):
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
