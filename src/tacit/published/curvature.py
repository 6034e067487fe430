r"""The inverse Hessian of a network for many right-hand sides: its largest curvatures, and one number for the rest.

:math:`H \approx U \mathrm{diag}(v) U^T`, the largest Ritz pairs of one Krylov space of Hessian-vector products; then
with :math:`\eta` = regulariser + damping

.. math:: (H + \eta I)^{-1} g \approx \frac1\eta\left(g - U \frac{v}{v + \eta} U^T g\right).

Directions of negative curvature, and those beyond the first k, count as flat: the papers assume a positive definite
Hessian, which a network's is not. It takes k + 2 products in all, where conjugate gradients need some for every record.
NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.linalg import LinearOperator, eigsh

from tacit.types import Array

ONE_SWEEP = 1e100
"""A tolerance that every Ritz pair meets, so that ARPACK stops before its first restart. To wait for accurate
eigenvectors takes several times as many products, and no paper says how its inverse was found."""


@dataclass(frozen=True)
class InverseHessian:
    """``directions`` are the columns of U, ``curvatures`` is v > 0, ``floor`` is eta."""

    directions: Array
    curvatures: Array
    floor: float

    @classmethod
    def of(cls, hessian: Callable[[Array], Array], start: Array, rank: int, floor: float) -> InverseHessian:
        """From a Hessian times a vector; ``start`` is any vector with a part in every direction, such as noise.

        Edges: with a rank of all directions or more the Hessian is formed, and the inverse is exact.
        """
        values, vectors = largest(hessian, start, rank)
        kept = values > 0
        return cls(np.ascontiguousarray(vectors[:, kept]), values[kept], floor)

    def times(self, rows: Array) -> Array:
        """The inverse times each row."""
        shares = self.curvatures / (self.curvatures + self.floor)
        return np.asarray((rows - ((rows @ self.directions) * shares) @ self.directions.T) / self.floor)


def largest(times: Callable[[Array], Array], start: Array, rank: int) -> tuple[Array, Array]:
    """The ``rank`` largest eigenvalues and eigenvectors of a symmetric map: all exactly, or fewer approximately."""
    size = len(start)
    if rank >= size:
        values, vectors = np.linalg.eigh(np.stack([times(row) for row in np.eye(size)]))
        return values, vectors
    operator = LinearOperator((size, size), matvec=times, dtype=np.float64)
    values, vectors = eigsh(operator, k=rank, ncv=rank + 1, which="LA", v0=start, tol=ONE_SWEEP)
    return values, vectors
