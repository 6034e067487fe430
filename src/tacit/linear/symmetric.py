"""Symmetric matrices as vectors of the same norm: the diagonal, then the entries above it times sqrt 2."""

from __future__ import annotations

import math

import numpy as np

from tacit.types import Array


def flat(matrix: Array) -> Array:
    """d (d + 1)/2 numbers whose Euclidean norm is the matrix's Frobenius norm."""
    side = matrix[np.triu_indices(len(matrix), 1)]
    side *= math.sqrt(2)
    return np.concatenate([np.diag(matrix), side])


def square(vector: Array, size: int) -> Array:
    """The symmetric matrix, ``size`` a side, that :func:`flat` laid out."""
    matrix = np.zeros((size, size))
    matrix[np.triu_indices(size, 1)] = vector[size:] / math.sqrt(2)
    matrix += matrix.T
    matrix[np.diag_indices(size)] = vector[:size]
    return matrix
