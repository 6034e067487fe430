"""The same numbers in many containers: what the tests of canonical form have in common."""

import decimal
import itertools
import tempfile

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
from hypothesis import strategies as st
from scipy import sparse

SIZES = (0.0, 5e-324, 1e-320, 1e-200, 1e-30, 0.1, 1.0, 7.0, 2.0**53, 3e38, 1e100, 1e154, 1.7e308)
FORMATS = ("csr", "csc", "coo", "bsr", "lil", "dok")
extreme = st.builds(lambda size, sign: sign * size, st.sampled_from(SIZES), st.sampled_from([1.0, -1.0]))
number = extreme | st.floats(-3, 3) | st.floats(allow_nan=False, allow_infinity=False)
single = st.floats(allow_nan=False, allow_infinity=False, width=32)


def tables(cell=number, most=5, columns=4):
    """Small matrices of finite numbers, a third of them zero."""
    cells = st.one_of(st.just(0.0), cell, cell)
    width = st.integers(1, columns)
    return width.flatmap(lambda d: st.lists(st.lists(cells, min_size=d, max_size=d), min_size=1, max_size=most)).map(
        np.array
    )


def dense_forms(X):
    """Containers that are not sparse, by name."""
    n, d = X.shape
    names = [f"x{place}" for place in range(d)]
    spread = np.full((2 * n, 3 * d), np.nan)
    spread[::2, 1::3] = X
    fixed = X.copy()
    fixed.flags.writeable = False
    shifted = np.frombuffer(b"\0" + X.tobytes(), dtype=np.uint8)[1:].view(np.float64).reshape(n, d)
    with tempfile.TemporaryFile() as file:
        mapped = np.memmap(file, dtype=np.float64, shape=(n, d), mode="w+")
    mapped[:] = X
    frame = pd.DataFrame(X, columns=names)
    halves = [pa.table(dict(zip(names, part.T, strict=True))) for part in (X[: n // 2], X[n // 2 :])]
    forms = {
        "array": X, "fortran": np.asfortranarray(X), "reversed": np.ascontiguousarray(X[::-1, ::-1])[::-1, ::-1],
        "strided": spread[::2, 1::3], "read-only": fixed, "unaligned": shifted, "mapped": mapped,
        "other bytes": X.astype(">f8"), "long double": X.astype(np.longdouble), "objects": X.astype(object),
        "lists": X.tolist(), "rows": list(X), "no mask": np.ma.array(X),
        "decimals": [[decimal.Decimal(repr(v)) for v in row] for row in X.tolist()],
        "pandas": frame, "nullable": frame.astype("Float64"), "arrow frame": frame.astype("double[pyarrow]"),
        "frame of objects": frame.astype(object), "polars": pl.DataFrame(X, schema=names),
        "chunks": pa.concat_tables(halves),
    }  # fmt: skip
    with np.errstate(over="ignore"):
        if np.array_equal(X.astype(np.float32), X):
            forms["float32"] = X.astype(np.float32)
            forms["float32 frame"] = frame.astype(np.float32)
            forms["some float32"] = frame.astype({names[0]: np.float32})
        if np.array_equal(X.astype(np.float16), X):
            forms["float16"] = X.astype(np.float16)
    if np.array_equal(X, np.rint(X)) and abs(X).max() < 2**53:
        forms["int64"] = X.astype(np.int64)
        forms["some int64"] = frame.astype({names[0]: np.int64})
        forms["Int64"] = frame.astype("Int64")
    if np.isin(X, [0.0, 1.0]).all():
        forms["bool"] = X.astype(bool)
    return forms


def thin_forms(X, rng):
    """Sparse containers, by name: entries in any order, some in two halves, some zeros stored."""
    forms = {}
    for form, kind in itertools.product(FORMATS, ("array", "matrix")):
        forms[f"{form} {kind}"] = getattr(sparse, f"{form}_{kind}")(X)
    with np.errstate(over="ignore"):
        single_too = np.array_equal(X.astype(np.float32), X)
    data, rows, columns = _messy(X, rng)
    for kind in (np.float64, np.float32) if single_too else (np.float64,):
        name, own = np.dtype(kind).name, data.astype(kind)  # halves above 1e-30 are exact in both
        forms[f"messy coo {name}"] = sparse.coo_array((own, (rows, columns)), shape=X.shape)
        forms[f"messy csr {name}"] = unsummed(own, rows, columns, X.shape)
        forms[f"messy csc {name}"] = unsummed(own, columns, rows, X.shape[::-1]).T
        wide = unsummed(own, rows, columns, X.shape)
        wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
        forms[f"messy int64 csr {name}"] = wide
    return forms


def unsummed(data, rows, columns, shape):
    """A CSR array that holds these entries as they are, in this order within a row."""
    order = np.argsort(rows, kind="stable")
    starts = np.r_[0, np.cumsum(np.bincount(rows, minlength=shape[0]))]
    return sparse.csr_array((data[order], columns[order], starts), shape=shape)


def _messy(X, rng):
    """Entries of X in random order; exact halves and stored zeros among them."""
    rows, columns = np.nonzero(X)
    data = X[rows, columns]
    halves = (rng.random(len(data)) < 0.5) & (abs(data) > 1e-30)
    data = np.where(halves, data / 2, data)
    zeros = rng.integers(0, [[X.shape[0]], [X.shape[1]]], size=(2, 3))
    data = np.r_[data, data[halves], np.zeros(3)]
    rows, columns = np.r_[rows, rows[halves], zeros[0]], np.r_[columns, columns[halves], zeros[1]]
    order = rng.permutation(len(data))
    return data[order], rows[order], columns[order]
