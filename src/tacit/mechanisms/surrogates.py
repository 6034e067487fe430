r"""Quadratic losses ``c2 z^2 / 2 - c1 y z`` of the score z: what input perturbation can learn from sums.

The squared loss is one (c2 = c1 = 1, y within [-1, 1]). The logistic loss is ``-y z / 2`` plus an even function, log(2
cosh(z/2)), so every quadratic for it has c1 = 1/2; 'paper' takes the second-order expansion at 0 (c2 = 1/4), which is
our reading of Fukuchi et al. 2017, who name none; 'least-squares' the parabola nearest to the even part on the range of
scores that the ball of weights allows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.checks import check

NAMES = ("squared", "paper", "least-squares")


@dataclass(frozen=True)
class Surrogate:
    """A quadratic loss of the score; ``curvature`` is c2 and ``slope`` c1."""

    name: str
    curvature: float
    slope: float

    @classmethod
    def named(cls, name: str, reach: float) -> Surrogate:
        """'squared', 'paper' or 'least-squares' on scores within ``reach``."""
        check(name in NAMES, f"Expected surrogate={name!r} to be one of {', '.join(NAMES)}.")
        if name == "squared":
            return cls(name, 1.0, 1.0)
        return cls(name, 0.25 if name == "paper" else _nearest(reach), 0.5)


def _nearest(reach: float) -> float:
    """Twice the slope of the least-squares line of log(2 cosh(z/2)) over z^2, z uniform on [-reach, reach]."""
    nodes, weights = np.polynomial.legendre.leggauss(64)
    z = 0.5 * reach * (nodes + 1)
    squares = z * z
    even = np.logaddexp(0.5 * z, -0.5 * z)
    centred = squares - weights @ squares / 2
    return float(2 * (weights @ (centred * even)) / (weights @ (centred * squares)))
