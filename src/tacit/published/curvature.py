r"""The inverse Hessian of a network for many right-hand sides: its largest curvatures, and one number for the rest.

:math:`H \approx U \mathrm{diag}(v) U^T`, from k steps of Lanczos' method on Hessian-vector products; then with
:math:`\eta` = regulariser + damping

.. math:: (H + \eta I)^{-1} g \approx \frac1\eta\left(g - U \frac{v}{v + \eta} U^T g\right).

Directions of negative curvature, and those beyond the first k, count as flat: the papers assume a positive definite
Hessian, which a network's is not. It takes k products in all, where conjugate gradients need some for every record.
NOT PRIVATE.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tacit.types import Array


@dataclass(frozen=True)
class InverseHessian:
    """``directions`` are the columns of U, ``curvatures`` is v > 0, ``floor`` is eta."""

    directions: Array
    curvatures: Array
    floor: float

    @classmethod
    def of(cls, hessian: Callable[[Array], Array], start: Array, rank: int, floor: float) -> InverseHessian:
        """From a Hessian times a vector; ``start`` is any vector with a part in every direction, such as noise."""
        values, vectors = largest(hessian, start, min(rank, len(start)))
        kept = values > 0
        return cls(np.ascontiguousarray(vectors[:, kept]), values[kept], floor)

    def times(self, rows: Array) -> Array:
        """The inverse times each row."""
        shares = self.curvatures / (self.curvatures + self.floor)
        return np.asarray((rows - ((rows @ self.directions) * shares) @ self.directions.T) / self.floor)


def largest(times: Callable[[Array], Array], start: Array, rank: int) -> tuple[Array, Array]:
    """Approximate eigenvalues and eigenvectors of a symmetric map at the ends of its spectrum: Lanczos' method.

    Every new direction is made orthogonal to all earlier ones, twice. Edges: it stops where the map has no new
    direction to show, which makes it exact.
    """
    basis = np.zeros((len(start), rank))
    basis[:, 0] = start / np.linalg.norm(start)
    projected = np.zeros((rank, rank))
    for k in range(rank):
        image = times(basis[:, k])
        projected[:, k] = basis.T @ image
        scale = np.linalg.norm(image)
        for _ in range(2):
            image = image - basis @ (basis.T @ image)
        rest = np.linalg.norm(image)
        if rest <= 1e-10 * scale or k + 1 == rank:
            break
        basis[:, k + 1] = image / rest
    values, turns = np.linalg.eigh(projected[: k + 1, : k + 1], UPLO="U")  # below the diagonal nothing was filled in
    return values, basis[:, : k + 1] @ turns
