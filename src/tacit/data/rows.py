"""Row norms, and the multipliers that clip every row to a public norm, without a copy of the matrix.

A row's norm is a sum in the order of its columns, so that it depends on the row's numbers alone: not on other rows, not
on zeros, and not on whether they are stored.
"""

from __future__ import annotations

import copy
import itertools
import math
from collections.abc import Iterator
from dataclasses import InitVar, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check, check_positive
from tacit.data.canonical import canonical, thin
from tacit.types import Array

HUGE = 1e100
"""Where entries are cut, each by itself, so that no product with weights overflows."""
_BLOCK = 2**17
_FEW = 128
"""Up to this many columns it is faster to add column to column than to add along rows."""


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Rows in canonical form with the multipliers that keep every design row (s_i x_i, c) within a public radius.

    Made from raw rows, and from nothing else: there is no way to give it a matrix that is not canonical, or multipliers
    and norms that are not the matrix's own. So nothing can be trained on that was not clipped.

    ``matrix`` is read-only; it shares the memory of X where X was canonical. ``norms`` are those of design rows:
    hypot(min(||x_i||, clip), c).

    Edges: entries are cut at +-1e100, each by itself; NaN and infinity raise.
    """

    X: InitVar[Any]
    clip: float
    intercept: float = 0.0
    matrix: Any = field(init=False)
    scales: Array = field(init=False)
    norms: Array = field(init=False)

    def __post_init__(self, X: Any) -> None:
        matrix = _cut(canonical(X))
        scales, norms = _clip(matrix, self.clip)
        self._set(matrix, scales, np.hypot(norms, self.intercept, out=norms))

    def _set(self, matrix: Any, scales: Array, norms: Array) -> None:
        if thin(matrix):
            parts = tuple(_sealed(part) for part in (matrix.data, matrix.indices, matrix.indptr))
            matrix = sparse.csr_array(parts, shape=matrix.shape)
        else:
            matrix = _sealed(matrix)
        for name, value in (("matrix", matrix), ("scales", _sealed(scales)), ("norms", _sealed(norms))):
            object.__setattr__(self, name, value)

    @property
    def radius(self) -> float:
        """Largest norm that a design row can have: public."""
        return math.hypot(self.clip, self.intercept)

    def take(self, rows: NDArray[np.intp]) -> Design:
        """The rows at these positions (a copy of them)."""
        part = copy.copy(self)
        part._set(self.matrix[rows], self.scales[rows], self.norms[rows])
        return part

    def block(self, rows: slice) -> Any:
        """Consecutive rows in float64: a view, or a copy of what is stored as float32."""
        block = _csr_rows(self.matrix, rows) if thin(self.matrix) else self.matrix[rows]
        return block.astype(np.float64, copy=False)

    def times(self, weights: Array) -> Array:
        """Clipped rows times weights, without the intercept; each row's by itself, as in :func:`row_products`."""
        records, features = self.matrix.shape
        step = max(64, 2 * _BLOCK // max(1, features))
        columns = weights.reshape(features, math.prod(weights.shape[1:]))
        scores = np.empty((records, columns.shape[1]))
        for start in range(0, records, step):
            rows = slice(start, min(start + step, records))
            scores[rows] = row_products(self.block(rows), columns)
        scores *= self.scales[:, None]
        return scores.reshape(records, *weights.shape[1:])


def row_products(block: Any, weights: Array) -> Array:
    """Rows times columns of weights: each row's result is the same to the last bit, whatever the other rows are.

    A matrix product may add up a row's terms in an order that depends on the row's place and on the number of rows.
    Where a decision hangs on the result, a neighbour's presence must not move it by an ulp.
    """
    if thin(block):  # the sparse product walks along one row at a time
        return np.asarray(block @ weights, dtype=np.float64)
    products = np.zeros((len(block), weights.shape[1]))
    if block.size:
        starts, terms = np.arange(0, block.size, block.shape[1]), np.empty(block.shape)
        for place, column in enumerate(weights.T):
            # Each row is a segment that is added up by itself: no product, and no loop over several rows.
            np.multiply(block, column, out=terms)
            products[:, place] = np.add.reduceat(terms.ravel(), starts)
    return products


def row_norms(X: Any) -> Array:
    """Euclidean norm of every row.

    Edges: right to d+8 ulps from denormals to 1e308; ``inf`` where the norm itself overflows; NaN or infinity raise.
    """
    mantissas, exponents = _row_sizes(canonical(X))
    with np.errstate(over="ignore", under="ignore"):
        norms: Array = np.ldexp(mantissas, exponents)
    return norms


def row_scales(X: Any, clip: float) -> Array:
    """Multipliers s_i = min(1, clip / ||x_i||), rounded so that ||s_i x_i|| <= clip holds in floating point.

    The limit is lowered by d+8 ulps, which pays for rounding in the norm, in s_i and in the float64 product s_i x_i.

    Edges: a zero row has s_i = 1; NaN or infinity in X raise; float32 rows are to be multiplied in float64.
    """
    return _clip(canonical(X), clip)[0]


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, which cannot be written to through what is returned."""
    view = array.view()
    view.flags.writeable = False
    return view


def _cut(matrix: Any) -> Any:
    """The matrix with entries of at most 1e100."""
    entries = matrix.data if thin(matrix) else matrix
    # The extremes are taken without a temporary of the matrix's size.
    if entries.size and max(float(entries.max()), -float(entries.min())) > HUGE and np.isfinite(entries).all():
        matrix = matrix.copy()
        entries = matrix.data if thin(matrix) else matrix
        np.clip(entries, -HUGE, HUGE, out=entries)
    return matrix


def _csr_rows(matrix: Any, rows: slice) -> Any:
    """A row block of a CSR matrix that shares its memory."""
    low, high = int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop])
    pointers = matrix.indptr[rows.start : rows.stop + 1] - matrix.indptr[rows.start]
    shape = (rows.stop - rows.start, matrix.shape[1])
    return sparse.csr_array((matrix.data[low:high], matrix.indices[low:high], pointers), shape=shape)


def _clip(X: Any, clip: float) -> tuple[Array, Array]:
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
    mantissas = np.zeros(X.shape[0])
    exponents = np.zeros(X.shape[0], dtype=np.intc)
    for rows, values, places in _blocks(X):
        count = rows.stop - rows.start
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            squares = _sums(values * values, places, count)
            ordinary = (squares > 1e-280) & (squares < 1e280)
            if not ordinary.all():
                largest = _largest(abs(values), places, count)
                check(
                    np.isfinite(largest).all(),
                    "Expected finite numbers in X, found NaN or infinity; remove or fill them.",
                )
                exponents[rows] = np.where(ordinary, 0, np.frexp(largest)[1])
                shifts = -exponents[rows]
                squares = _sums(
                    np.ldexp(values, shifts[:, None] if places is None else shifts[places]) ** 2, places, count
                )
        mantissas[rows] = np.sqrt(squares)
    return mantissas, exponents


def _sums(values: Array, places: NDArray[np.intp] | None, count: int) -> Array:
    """Sums of rows, one term after the other in the order of the columns: a zero more or less changes no bit.

    Three ways to the same bits. Values of dense rows are overwritten.
    """
    if places is not None:
        return np.asarray(np.bincount(places, values, count), dtype=np.float64)
    if values.shape[1] > _FEW:
        return np.add.accumulate(values, axis=1, out=values)[:, -1]
    total = values[:, 0].copy()
    for column in range(1, values.shape[1]):
        total += values[:, column]
    return np.asarray(total)


def _largest(values: Array, places: NDArray[np.intp] | None, count: int) -> Array:
    if places is None:
        return np.asarray(values.max(axis=1))
    largest = np.zeros(count)
    np.maximum.at(largest, places, values)
    return largest


def _blocks(X: Any) -> Iterator[tuple[slice, Array, NDArray[np.intp] | None]]:
    """Blocks of rows in float64: where they are, their values, and of stored entries the row that each belongs to."""
    records, features = X.shape
    if not thin(X):
        step = max(1, _BLOCK // max(1, features))
        for start in range(0, records if features else 0, step):
            rows = slice(start, min(start + step, records))
            yield rows, np.asarray(X[rows], dtype=np.float64), None
        return
    edges = np.searchsorted(X.indptr, np.arange(0, X.indptr[-1], _BLOCK))
    for start, stop in itertools.pairwise(np.unique([*edges, 0, records]).tolist()):
        low, high = X.indptr[[start, stop]]
        places = np.repeat(np.arange(stop - start), np.diff(X.indptr[start : stop + 1]))
        yield slice(start, stop), np.asarray(X.data[low:high], dtype=np.float64), places
