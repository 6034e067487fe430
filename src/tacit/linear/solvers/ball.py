r"""A quadratic over a ball, exactly: ``min w.A.w/2 - c.w`` subject to ``||w|| <= radius``, by one eigendecomposition.

In A's eigenvectors the minimiser is ``w_i(nu) = c_i / (a_i + nu)`` with the least nu >= max(0, -a_min) whose norm is
at most the radius; nu solves the secular equation ``||w(nu)|| = radius``, one real number. A need not be positive
definite.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from tacit.rounding import narrow
from tacit.types import Array


@dataclass(frozen=True)
class BallSolution:
    """The point, its multiplier nu, and a certified bound on the residual of the optimality conditions."""

    weights: Array
    multiplier: float
    gap: float


def minimise(quadratic: Array, linear: Array, radius: float) -> BallSolution:
    """The minimiser over the ball, with a certificate.

    ``gap`` bounds the norm of ``A w - c + nu w`` at the point of the sphere next to w (or at w, inside), so a
    lambda-strongly convex objective has its minimiser within ``gap / lambda`` of w.

    Edges: c = 0 gives 0 when A is positive semidefinite; the hard case (c orthogonal to the lowest eigenvector of an
    indefinite A) is completed along that eigenvector.
    """
    values, vectors = np.linalg.eigh(quadratic)
    pull = vectors.T @ linear
    scale = max(float(np.abs(values).max()), 1e-300)
    floor = max(0.0, -float(values[0]))

    def norm(nu: float) -> float:
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(pull == 0, 0.0, pull / (values + nu))
        return float(np.linalg.norm(parts))

    nu = floor
    if not (values[0] > 1e-14 * scale and norm(0.0) <= radius):
        most = floor + float(np.linalg.norm(pull)) / radius + 1e-300
        nu = narrow(lambda nu: norm(nu) > radius, floor, most, halvings=200)[1]
    gaps = values + nu
    point = np.where(gaps > 1e-14 * scale, pull / np.where(gaps > 1e-14 * scale, gaps, 1.0), 0.0)
    short = radius**2 - float(point @ point)
    if floor > 0 and short > 1e-12 * radius**2:  # the hard case
        point[0] = math.sqrt(short)
    weights = vectors @ point
    length = float(np.linalg.norm(weights))
    residual = float(np.linalg.norm(quadratic @ weights - linear + nu * weights))
    off = (scale + nu) * (abs(length - radius) if nu > 0 else max(0.0, length - radius))
    return BallSolution(weights, nu, residual + off)
