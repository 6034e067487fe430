"""What people pass by mistake: settings of every wrong kind, and tables, labels and people of every wrong shape."""

from __future__ import annotations

import datetime
import decimal
import fractions
import math
from pathlib import Path

import numpy as np
import pandas as pd
from scipy import sparse

MARK = 7391.25
NAME = "Marguerite"
"""Cells of private tables here: no sentence may quote them."""


class Awkward:
    """Something whose comparison, truth and text all fail; nobody may rely on them."""

    def __eq__(self, other):
        raise RuntimeError("compared")

    __hash__ = None  # type: ignore[assignment]

    def __bool__(self):
        raise RuntimeError("asked for its truth")


SETTINGS = {
    "None": None,
    "empty text": "",
    "text": "abc",
    "number as text": "1",
    "unicode": "größe ☃\n",
    "long text": "x" * 100_000,
    "bytes": b"x",
    "nan": math.nan,
    "inf": math.inf,
    "-inf": -math.inf,
    "-1": -1,
    "0": 0,
    "2.5": 2.5,
    "1e-320": 1e-320,
    "1e300": 1e300,
    "10**30": 10**30,
    "10**400": 10**400,
    "True": True,
    "False": False,
    "[]": [],
    "[1]": [1],
    "(8, 8)": (8, 8),
    "{}": {},
    "{1: 2}": {1: 2},
    "set": {3},
    "object": object(),
    "awkward": Awkward(),
    "class": float,
    "function": abs,
    "complex": 1 + 2j,
    "array": np.array([1.0, 2.0]),
    "array of one": np.array([1.0]),
    "0-d array": np.array(1.0),
    "0-d array of text": np.array("abc"),
    "np.float16": np.float16(0.5),
    "np.float32": np.float32(0.5),
    "np.float64 nan": np.float64("nan"),
    "np.int8": np.int8(2),
    "np.uint64": np.uint64(2**63),
    "np.bool": np.bool_(True),
    "np.str": np.str_("abc"),
    "np.complex128": np.complex128(1j),
    "np.datetime64": np.datetime64("2020-01-01"),
    "np.datetime64 NaT": np.datetime64("NaT"),
    "date": datetime.date(2020, 1, 1),
    "timedelta": datetime.timedelta(1),
    "Decimal": decimal.Decimal("0.5"),
    "Decimal NaN": decimal.Decimal("NaN"),
    "Fraction": fractions.Fraction(1, 2),
    "range": range(3),
    "path": Path("no such folder") / "no such file",
    "Series": pd.Series([1.0, 2.0]),
    "DataFrame": pd.DataFrame({"a": [1.0]}),
    "pd.NA": pd.NA,
    "pd.NaT": pd.NaT,
}
"""For parameters that are public: the values themselves may stand in a sentence."""


def _ragged():
    rows = np.empty(2, dtype=object)
    rows[:] = [[MARK], [MARK, 1.0]]
    return rows


def tables(rows: int, columns: int) -> dict[str, object]:
    """Wrong tables, near a right one of this size; each is made anew, for some can be read only once."""
    right = np.full((rows, columns), MARK)
    frame = pd.DataFrame(right, columns=[f"c{place}" for place in range(columns)])
    holes, texts = right.copy(), right.astype(object)
    holes[0, 0], texts[0, 0] = np.nan, NAME
    return {
        "None": None,
        "text": NAME,
        "bytes": NAME.encode(),
        "a number": MARK,
        "True": True,
        "an object": object(),
        "a class": float,
        "a function": abs,
        "a generator": (row for row in right),
        "a set": {MARK},
        "a dict": {"a": [MARK] * rows},
        "a dict of scalars": {"a": MARK},
        "an empty dict": {},
        "an empty list": [],
        "a list of text": [NAME] * rows,
        "a list of None": [None] * rows,
        "a list of dicts": [{"a": MARK}] * rows,
        "ragged lists": [[MARK], [MARK, 1.0]],
        "a ragged array": _ragged(),
        "1-D": right[:, 0],
        "0-D": np.array(MARK),
        "3-D": right[:, :, None],
        "one row": right[:1],
        "no rows": right[:0],
        "no columns": right[:, :0],
        "too few rows": right[:-1],
        "too many rows": np.vstack([right, right]),
        "other columns": right[:, :1],
        "nan": holes,
        "all nan": np.full((rows, columns), np.nan),
        "inf": np.full((rows, columns), np.inf),
        "complex": right + 1j,
        "dates": np.full((rows, columns), np.datetime64("2020-01-01")),
        "durations": np.full((rows, columns), np.timedelta64(1, "D")),
        "texts among numbers": texts,
        "an array of texts": np.full((rows, columns), NAME),
        "an array of bytes": np.full((rows, columns), NAME.encode()),
        "an array of objects": np.full((rows, columns), object()),
        "a structured array": np.zeros(rows, dtype=[("a", float), ("b", "U5")]),
        "masked": np.ma.masked_equal(right, MARK),
        "huge": np.full((rows, columns), 1e308),
        "float16": right.astype(np.float16),
        **{form: getattr(sparse, f"{form}_array")(right) for form in ("csr", "csc", "coo", "bsr", "lil", "dok", "dia")},
        "a sparse row": sparse.coo_array(right[0]),
        "a sparse complex": sparse.csr_array(right + 1j),
        "a frame": frame,
        "a frame with other names": frame.rename(columns=str.upper),
        "a frame with equal names": frame.set_axis(["c0"] * columns, axis=1),
        "a frame of texts": frame.astype(object).mask(frame > 0, NAME),
        "a frame of dates": frame.map(lambda cell: pd.Timestamp("2020-01-01")),
        "an empty frame": frame.iloc[:0],
        "a Series": frame["c0"],
        "a Series of categories": frame["c0"].astype("category"),
        "a Series of NA": pd.Series([pd.NA] * rows, dtype="Int64"),
        "a list of mixed labels": [*([NAME, 1] * rows)][:rows],
        "a list of equal labels": [MARK] * rows,
        "labels with None": [None, *[NAME] * (rows - 1)],
        "a missing file": Path("no such folder") / "no such file.csv",
    }
