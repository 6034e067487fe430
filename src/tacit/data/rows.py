"""Rows on a grid: every row is clipped to a public norm, and its numbers are rounded to whole steps of a public size.

A row's norm is a sum in the order of its columns, so that it depends on the row's numbers alone: not on other rows, not
on zeros, and not on whether they are stored. Rows that lie on the grid have at most :data:`BITS` binary digits a
number: sums of their products with numbers of few digits are exact in double precision, in whatever order they are
added (:mod:`tacit.linear.whole`), and float32 holds them, which takes half the memory. Sparse rows are stored in
float64, so that blocks of them are views: a copy for every pass would take longer than the pass.
"""

from __future__ import annotations

import copy
import itertools
import math
import mmap
import os
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import InitVar, dataclass, field
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check, check_positive
from tacit.data.canonical import canonical, thin
from tacit.types import Array

HUGE = 1e100
"""Where entries are cut, each by itself, so that no product overflows."""
BITS = 24
"""Binary digits of a number on the grid: as many as float32 holds."""
SINGLE = (1e-20, 1e20)
"""Clips of rows that float32 can hold, however small their numbers are: beyond, they are stored in double precision."""
_BLOCK = 2**17
_FEW = 128
"""Up to this many columns it is faster to add column to column than to add along rows."""
_NO_ROOM = (
    "An intercept's constant of {constant:g} is too large beside clip={clip:g}: both are on one grid of {digits} "
    "binary digits. Choose a smaller constant."
)
_NARROW = 16
"""Up to this many it is faster to copy a block, of which no other copy is made, column after column."""
_NOT_FINITE = "Expected finite numbers in X, found NaN or infinity; remove or fill them."


def grid_step(clip: float) -> float:
    """The step of the grid for rows of norm at most ``clip``: a power of two, of which the clip is at most 2**24."""
    mantissa, exponent = math.frexp(clip)
    return math.ldexp(1.0, exponent - (1 if mantissa == 0.5 else 0) - BITS)


def rounded_intercept(clip: float, intercept: float) -> float:
    """The constant of a design's last column: a whole number of steps too, also if rounding it makes them longer."""
    for _ in range(2):
        step = grid_step(math.hypot(clip, intercept))
        intercept = round(intercept / step) * step
    return intercept


def on_grid(values: Array, step: float, out: Array | None = None) -> Array:
    """Values of fewer than 2**51 steps rounded to whole steps, in place or into ``out``.

    Adding 1.5 * 2**52 steps rounds them off.
    """
    far = 1.5 * 2.0**52 * step
    rounded: Array = np.add(values, far, out=values if out is None else out)
    rounded -= far
    return rounded


@dataclass(frozen=True, eq=False, repr=False)
class Design:
    """Design rows ``(x_i min(1, clip / ||x_i||), c)``, in canonical form and on the grid, within a public radius.

    Made from raw rows, and from nothing else: there is no way to give it rows that are not canonical, or norms that
    are not theirs. So nothing can be trained on that was not clipped.

    ``matrix`` is read-only; its last column is the intercept's constant, itself a whole number of steps, where there
    is one. ``norms`` bound those of design rows: hypot(min(||x_i|| + sqrt(d)/2 steps, clip), c).

    Edges: entries are cut at +-1e100, each by itself; NaN and infinity raise.
    """

    X: InitVar[Any]
    clip: float
    intercept: float = 0.0
    matrix: Any = field(init=False)
    norms: Array = field(init=False)
    spooled: bool = field(init=False, default=False)

    def __post_init__(self, X: Any) -> None:
        clip = check_positive("clip", self.clip)
        object.__setattr__(self, "intercept", rounded_intercept(clip, self.intercept))
        rows = X if _by_columns(X) else canonical(X)
        matrix, norms = _clipped(rows, clip, self.intercept, self.step)
        self._set(matrix, _longer(norms, self.intercept, self.radius) if self.intercept else norms)

    def _set(self, matrix: Any, norms: Array) -> None:
        if thin(matrix):
            parts = tuple(_sealed(part) for part in (matrix.data, matrix.indices, matrix.indptr))
            matrix = sparse.csr_array(parts, shape=matrix.shape)
        else:
            matrix = _sealed(matrix)
        for name, value in (("matrix", matrix), ("norms", _sealed(norms))):
            object.__setattr__(self, name, value)

    @property
    def radius(self) -> float:
        """Largest norm that a design row can have: public."""
        return math.hypot(self.clip, self.intercept)

    @property
    def step(self) -> float:
        """The grid's."""
        return grid_step(self.radius)

    @property
    def columns(self) -> int:
        """Columns without the intercept's."""
        return int(self.matrix.shape[1]) - (1 if self.intercept else 0)

    def take(self, rows: NDArray[np.intp]) -> Design:
        """The rows at these positions (a copy of them)."""
        part = copy.copy(self)
        part._set(self.matrix[rows], self.norms[rows])
        return part

    @classmethod
    def joined(cls, parts: Iterable[Design], rows: int, spooled: bool = False) -> Design:
        """Dense designs of the same kind, of which there is one at least, one after the other; at most so many rows.

        Each is copied when it comes, so that no two need to be held at once. ``spooled``: to a file (:func:`room`).
        """
        matrix, norms, seen, whole = np.zeros((0, 0)), np.zeros(0), 0, None
        for part in parts:
            if whole is None:
                whole = copy.copy(part)
                matrix = room((rows, part.matrix.shape[1]), part.matrix.dtype, spooled)
                norms = room((rows,), np.float64, spooled)
                object.__setattr__(whole, "spooled", spooled)
            alike = (part.clip, part.intercept, part.matrix.dtype) == (whole.clip, whole.intercept, matrix.dtype)
            check(alike, "Expected designs of the same clip and constant.")
            matrix[seen : seen + len(part.norms)], norms[seen : seen + len(part.norms)] = part.matrix, part.norms
            seen += len(part.norms)
        if whole is None:
            raise ValueError("Expected at least one design.")
        whole._set(matrix[:seen], norms[:seen])
        return whole

    def dense(self, rows: NDArray[np.intp] | slice) -> Array:
        """The rows at these positions in float64, none of them sparse."""
        part: Any = self.matrix[rows]
        return np.asarray(part.toarray() if thin(part) else part, dtype=np.float64)

    def block(self, rows: slice) -> Any:
        """Consecutive rows in float64: a view, or a copy of what is stored as float32."""
        block = _csr_rows(self.matrix, rows) if thin(self.matrix) else self.matrix[rows]
        return block.astype(np.float64, copy=False)


def room(shape: tuple[int, ...], kind: Any, spooled: bool = False) -> NDArray[Any]:
    """Memory for an array that is to be filled; ``spooled``: in a file of the temporary folder, which has no name.

    Nobody else can open the file, and it is gone with the array, or with the process, however that ends.

    Edges: a disk without room for it raises OSError here, not where the array is filled.
    """
    if not spooled:
        return np.empty(shape, dtype=kind)
    size = max(1, math.prod(shape) * np.dtype(kind).itemsize)
    with tempfile.TemporaryFile() as file:
        os.posix_fallocate(file.fileno(), 0, size)
        mapped = mmap.mmap(file.fileno(), size)
    return np.frombuffer(mapped, dtype=kind, count=math.prod(shape)).reshape(shape)


def row_norms(X: Any) -> Array:
    """Euclidean norm of every row.

    Edges: right to d+8 ulps from denormals to 1e308; ``inf`` where the norm itself overflows; NaN or infinity raise.
    """
    matrix = canonical(X)
    norms = np.zeros(matrix.shape[0])
    for rows, values, places in _blocks(matrix):
        mantissas, exponents = _row_sizes(values, places, rows.stop - rows.start)
        with np.errstate(over="ignore", under="ignore"):
            norms[rows] = mantissas if exponents is None else np.ldexp(mantissas, exponents)
    return norms


def row_scales(X: Any, clip: float) -> Array:
    """Multipliers s_i = min(1, clip / ||x_i||), rounded so that ||s_i x_i|| <= clip holds in floating point.

    The limit is lowered by d+8 ulps, which pays for rounding in the norm, in s_i and in the float64 product s_i x_i.

    Edges: a zero row has s_i = 1; NaN or infinity in X raise; float32 rows are to be multiplied in float64.
    """
    matrix = canonical(X)
    scales = np.ones(matrix.shape[0])
    for rows, values, places in _blocks(matrix):
        scales[rows] = _clip(values, places, rows.stop - rows.start, clip, matrix.shape[1])[0]
    return scales


def _clipped(X: Any, clip: float, constant: float, step: float) -> tuple[Any, Array]:
    """The clipped rows on the grid, and bounds on their norms: block by block, each read once."""
    records, features = X.shape
    kind = np.float32 if SINGLE[0] <= clip <= SINGLE[1] and not thin(X) else np.float64
    rounding, norms = 0.5 * math.sqrt(features) * step, np.zeros(records)
    check(rounding < clip, _NO_ROOM.format(constant=constant, clip=clip, digits=BITS))
    matrix = _room(X, constant, kind)
    for rows, values, places in _blocks(X):
        sizes = _clip_rows(values, places, rows.stop - rows.start, clip - rounding, features)
        if places is None:
            matrix[rows, :features] = on_grid(values, step)
        else:
            stored = matrix.data[matrix.indptr[rows.start] : matrix.indptr[rows.stop]]
            stored[np.arange(len(values)) + (places if constant else 0)] = on_grid(values, step)
        norms[rows] = np.minimum(sizes + rounding, clip)
    return matrix, norms


def clipped_blocks(X: Any, clip: float) -> Iterator[tuple[slice, Any]]:
    """The rows of ``Design(X, clip)`` in float64, of a canonical X, block by block: for those who need them once."""
    features, step = X.shape[1], grid_step(clip)
    rounding = 0.5 * math.sqrt(features) * step
    for rows, values, places in _blocks(X, "F" if features <= _NARROW else "K"):
        _clip_rows(values, places, rows.stop - rows.start, clip - rounding, features)
        if places is None:
            yield rows, on_grid(values, step)
            continue
        starts = X.indptr[rows.start : rows.stop + 1]
        indices = X.indices[starts[0] : starts[-1]]
        shape = (rows.stop - rows.start, features)
        yield rows, sparse.csr_array((on_grid(values, step), indices, starts - starts[0]), shape=shape)


def _clip_rows(values: Array, places: NDArray[np.intp] | None, count: int, clip: float, features: int) -> Array:
    """Clip the rows of one block in place; their norms after it."""
    scales, sizes = _clip(values, places, count, clip, features, cut=True)
    if scales.min(initial=1.0) < 1:
        np.multiply(values, scales[:, None] if places is None else scales[places], out=values)
    return sizes


def _longer(norms: Array, constant: float, radius: float) -> Array:
    """hypot(norm, constant), at most the radius; in place, and by a root where squares are doubles, which is faster."""
    if not SINGLE[0] <= radius <= SINGLE[1]:
        return np.minimum(np.hypot(norms, constant, out=norms), radius, out=norms)
    norms *= norms
    norms += constant * constant
    return np.minimum(np.sqrt(norms, out=norms), radius, out=norms)


def _by_columns(X: Any) -> bool:
    """Whether rows lie column after column, as tables of few columns do: they are worked on, and stored, like that."""
    plain = type(X) is np.ndarray and X.dtype in (np.float32, np.float64) and X.ndim == 2 and X.flags.aligned
    return plain and 1 < X.shape[1] <= _FEW and bool(X.flags.f_contiguous)


def _room(X: Any, constant: float, kind: type[np.floating[Any]]) -> Any:
    """A matrix for the rows and, where it is not 0, the constant behind each, which is filled in."""
    (records, features), more = X.shape, 1 if constant else 0
    if not thin(X):
        dense = np.empty((records, features + more), dtype=kind, order="F" if _by_columns(X) else "C")
        dense[:, features:] = constant
        return dense
    starts = X.indptr + more * np.arange(records + 1, dtype=X.indptr.dtype)
    entries = np.empty(int(starts[-1]), dtype=kind)
    indices = X.indices
    if more:
        last = np.zeros(len(entries), dtype=bool)
        last[starts[1:] - 1] = True
        indices = np.empty(len(entries), dtype=X.indices.dtype)
        indices[last], entries[last] = features, constant
        indices[~last] = X.indices
    return sparse.csr_array((entries, indices, starts), shape=(records, features + more))


def _sealed(array: NDArray[Any]) -> NDArray[Any]:
    """The same memory, which cannot be written to through what is returned."""
    view = array.view()
    view.flags.writeable = False
    return view


def _csr_rows(matrix: Any, rows: slice) -> Any:
    """A row block of a CSR matrix that shares its memory."""
    low, high = int(matrix.indptr[rows.start]), int(matrix.indptr[rows.stop])
    pointers = matrix.indptr[rows.start : rows.stop + 1] - matrix.indptr[rows.start]
    shape = (rows.stop - rows.start, matrix.shape[1])
    return sparse.csr_array((matrix.data[low:high], matrix.indices[low:high], pointers), shape=shape)


def _clip(
    values: Array, places: NDArray[np.intp] | None, count: int, clip: float, features: int, *, cut: bool = False
) -> tuple[Array, Array]:
    """The multipliers of :func:`row_scales`, and the norms min(||x_i||, clip) of the clipped rows, of one block.

    ``cut``: entries are cut at +-1e100 first, in place.
    """
    limit = check_positive("clip", clip)
    mantissas, exponents = _row_sizes(values, places, count, cut=cut)
    limit *= 1 - (features + 8) * 2.0**-52
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        scales: Array = np.divide(limit, mantissas)
        norms = mantissas
        if exponents is not None:
            np.ldexp(scales, -exponents, out=scales)
            np.ldexp(norms, exponents, out=norms)
            # A scale for a row beyond 1e140 may be denormal, where rounding is coarse: the neighbour towards zero.
            np.nextafter(scales, 0.0, out=scales, where=exponents != 0)
    return np.minimum(scales, 1.0, out=scales), np.minimum(norms, clip, out=norms)


def _row_sizes(
    values: Array, places: NDArray[np.intp] | None, count: int, *, cut: bool = False
) -> tuple[Array, NDArray[np.intc] | None]:
    """Norms as mantissa * 2**exponent, which neither overflows nor underflows; the exponent is 0 for ordinary rows.

    None: all rows are ordinary. ``cut``: entries are cut at +-1e100 first, in place; short rows have none.
    """
    exponents = None
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = _square_sums(values, places, count)
        highest = squares.max(initial=1.0)
        if cut and not highest < HUGE**2:
            check(np.isfinite(values).all(), _NOT_FINITE)
            np.clip(values, -HUGE, HUGE, out=values)
            return _row_sizes(values, places, count)
        if not (squares.min(initial=1.0) > 1e-280 and highest < 1e280):
            ordinary = (squares > 1e-280) & (squares < 1e280)
            largest = _largest(abs(values), places, count)
            check(np.isfinite(largest).all(), _NOT_FINITE)
            exponents = np.where(ordinary, 0, np.frexp(largest)[1]).astype(np.intc)
            shifts = -exponents
            shifted = np.ldexp(values, shifts[:, None] if places is None else shifts[places])
            squares = _square_sums(shifted, places, count)
    return np.sqrt(squares), exponents


def _square_sums(values: Array, places: NDArray[np.intp] | None, count: int) -> Array:
    """Sums of squares of rows, one after the other in the order of the columns: a zero more or less changes no bit.

    Three ways to the same bits.
    """
    if places is not None:
        return np.asarray(np.bincount(places, values * values, count), dtype=np.float64)
    if values.shape[1] > _FEW:
        squares = values * values
        return np.add.accumulate(squares, axis=1, out=squares)[:, -1]
    squares = np.square(values)
    total = squares[:, 0].copy()
    for column in range(1, values.shape[1]):
        total += squares[:, column]
    return np.asarray(total)


def _largest(values: Array, places: NDArray[np.intp] | None, count: int) -> Array:
    if places is None:
        return np.asarray(values.max(axis=1))
    largest = np.zeros(count)
    np.maximum.at(largest, places, values)
    return largest


def _blocks(X: Any, order: Literal["K", "F"] = "K") -> Iterator[tuple[slice, Array, NDArray[np.intp] | None]]:
    """Blocks of rows, copied to float64: where they are, their values, and of stored entries the row of each.

    ``order`` is that of the copies of dense rows.
    """
    records, features = X.shape
    if not thin(X):
        step = max(1, _BLOCK // max(1, features))
        for start in range(0, records if features else 0, step):
            rows = slice(start, min(start + step, records))
            yield rows, X[rows].astype(np.float64, order=order), None
        return
    edges = np.searchsorted(X.indptr, np.arange(0, X.indptr[-1], _BLOCK))
    for start, stop in itertools.pairwise(np.unique([*edges, 0, records]).tolist()):
        low, high = X.indptr[[start, stop]]
        places = np.repeat(np.arange(stop - start), np.diff(X.indptr[start : stop + 1]))
        yield slice(start, stop), X.data[low:high].astype(np.float64), places
