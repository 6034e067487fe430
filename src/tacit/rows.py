"""Row norms, and the multipliers that clip every row to a public norm, without a copy of the matrix."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check, check_positive
from tacit.types import Array

_BLOCK = 2**17


def row_norms(X: Any) -> Array:
    """Euclidean norm of every row of a dense array or a CSR matrix, without a copy of it.

    Edges: right to d+8 ulps from denormals to 1e308; ``inf`` where the norm itself overflows; NaN or infinity raise.
    """
    mantissas, exponents = _row_sizes(X)
    with np.errstate(over="ignore", under="ignore"):
        norms: Array = np.ldexp(mantissas, exponents)
    return norms


def row_scales(X: Any, clip: float) -> Array:
    """Multipliers s_i = min(1, clip / ||x_i||), rounded so that ||s_i x_i|| <= clip holds in floating point.

    The limit is lowered by d+8 ulps, which pays for rounding in the norm, in s_i and in the float64 product s_i x_i.

    Edges: a zero row has s_i = 1; NaN or infinity in X raise; float32 rows are to be multiplied in float64.
    """
    return clip_rows(X, clip)[0]


def clip_rows(X: Any, clip: float) -> tuple[Array, Array]:
    """The multipliers of :func:`row_scales`, and the norms min(||x_i||, clip) of the clipped rows, in one pass."""
    limit = check_positive("clip", clip)
    mantissas, exponents = _row_sizes(X)
    limit *= 1 - (X.shape[1] + 8) * 2.0**-52
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scales: Array = np.divide(limit, mantissas)
        np.ldexp(scales, -exponents, out=scales)
        norms: Array = np.ldexp(mantissas, exponents, out=mantissas)
    # A scale for a row beyond 1e140 may be denormal, where rounding is coarse: take the neighbour towards zero.
    np.nextafter(scales, 0.0, out=scales, where=exponents != 0)
    return np.minimum(scales, 1.0, out=scales), np.minimum(norms, clip, out=norms)


def _row_sizes(X: Any) -> tuple[Array, NDArray[np.intc]]:
    """Norms as mantissa * 2**exponent, which neither overflows nor underflows; the exponent is 0 for ordinary rows."""
    check(X.ndim == 2, "Expected X to have two dimensions: one row a record, one column a feature.")
    check(X.dtype.kind in "biuf", "Expected X to hold numbers; encode other columns with tacit.bounds.Schema.")
    mantissas = np.zeros(X.shape[0])
    exponents = np.zeros(X.shape[0], dtype=np.intc)
    for rows, values, starts in _blocks(X):
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = np.add.reduceat(values * values, starts)
            ordinary = (squares > 1e-280) & (squares < 1e280)
            if not ordinary.all():
                largest = np.maximum.reduceat(abs(values), starts)
                check(
                    np.isfinite(largest).all(),
                    "Expected finite numbers in X, found NaN or infinity; remove or fill them.",
                )
                exponents[rows] = np.where(ordinary, 0, np.frexp(largest)[1])
                shifts = np.repeat(-exponents[rows], np.diff(starts, append=len(values)))
                squares = np.add.reduceat(np.ldexp(values, shifts) ** 2, starts)
        mantissas[rows] = np.sqrt(squares)
    return mantissas, exponents


def _blocks(X: Any) -> Iterator[tuple[NDArray[np.intp], Array, NDArray[np.intp]]]:
    """Blocks of rows that are not empty: their positions, their values in one line, and where each row starts in it."""
    records, features = X.shape
    if not sparse.issparse(X):
        step = max(1, _BLOCK // max(1, features))
        for start in range(0, records if features else 0, step):
            dense = np.asarray(X[start : start + step], dtype=np.float64)
            yield np.arange(start, start + len(dense)), dense.ravel(), np.arange(0, dense.size, features)
        return
    matrix: Any = X
    check(matrix.format == "csr", "Expected a sparse X in CSR format; call X.tocsr().")
    edges = np.searchsorted(matrix.indptr, np.arange(0, matrix.indptr[-1], _BLOCK))
    for start, stop in itertools.pairwise(np.unique([*edges, 0, records]).tolist()):
        first, last = matrix.indptr[[start, stop]]
        pieces = (matrix.data[first:last], matrix.indices[first:last], matrix.indptr[start : stop + 1] - first)
        block = sparse.csr_array(pieces, shape=(stop - start, features))
        if not block.has_canonical_format:  # entries stored twice add up before they are squared
            block = block.copy()
            block.sum_duplicates()
        (filled,) = np.nonzero(np.diff(block.indptr))
        if len(filled):
            yield start + filled, np.asarray(block.data, dtype=np.float64), block.indptr[filled].astype(np.intp)
