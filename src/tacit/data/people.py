"""Whose row each row is: where a person has several, all of them are protected at once.

``groups`` names the person of each row, and ``rows_per_person`` is declared. Of a person with more rows, the first so
many in the order of the table count: which ones depends on that person's rows alone. The number of people is public;
how many rows they have is not.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count
from tacit.data.cells import exact
from tacit.types import Array

UNDECLARED = "Declare rows_per_person: a public number that bounds how many rows of one person count."
_UNITS = 2.0**24
_NOTHING = ("NAType", "NaTType")
"""The classes of pandas' missing values."""
_UNNAMED = "Expected groups to name the person of every row, found a missing value; give every row a name or drop it."


@dataclass(frozen=True, eq=False, repr=False)
class People:
    """Rows that count, person after person: ``rows`` are their places in the table, person i's from ``starts[i]`` on.

    No person has more than ``most`` of them.
    """

    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    most: int

    @property
    def count(self) -> int:
        """Number of people: public."""
        return len(self.starts)

    @property
    def sizes(self) -> NDArray[np.intp]:
        """How many rows each person has, of those that count: private."""
        return np.diff(self.starts, append=len(self.rows))

    @property
    def shares(self) -> Array:
        """A weight for each of ``rows``, one over how many its person has: those of a person add up to one at most.

        They are rounded down to whole multiples of 2**-24, so that sums of them are exact for 500 million people.
        """
        return np.repeat(np.floor(_UNITS / self.sizes) / _UNITS, self.sizes)


def people_of(groups: Any, rows: int, rows_per_person: Any) -> People:
    """The people of a table with so many rows.

    Edges: a wrong length, missing names and a bound that is not a whole number >= 1 raise, and quote no name.
    """
    check(rows_per_person is not None, UNDECLARED)
    most = check_count("rows_per_person", rows_per_person)
    if getattr(groups, "shape", None) == (rows, 1) and hasattr(groups, "__array__"):
        groups = np.asarray(groups).ravel()
    names = names_of(groups)
    check(names.ndim == 1 and len(names) == rows, "Expected groups to name one person for each row of the table.")
    if names.dtype == object:  # numbers and texts mixed have no order, and need none
        try:
            places = {name: place for place, name in enumerate(dict.fromkeys(names.tolist()))}
        except TypeError:
            raise ValueError("Expected groups to hold numbers, text or dates.") from None
        codes = np.fromiter((places[name] for name in names.tolist()), dtype=np.intp, count=rows)
    else:
        codes = np.unique(names, return_inverse=True)[1].astype(np.intp, copy=False)
    order = np.argsort(codes, kind="stable")
    new = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rank = np.arange(rows) - np.repeat(new, np.diff(new, append=rows))
    kept = rank < most
    return People(order[kept], np.flatnonzero(rank[kept] == 0).astype(np.intp), most)


def names_of(groups: Any, unnamed: str = _UNNAMED) -> NDArray[Any]:
    """A column of names, as they are compared: exactly as they came, numbers by their value, text by its characters.

    Nothing is stripped, and no text is taken for a number: 'a' and 'a ', '1' and '1.0', 1 and '1' are two people.

    Edges: a missing name, and an empty text, raise ``unnamed``.
    """
    names = exact(groups)
    check(not _missing(names), unnamed)
    return names


def _missing(names: NDArray[Any]) -> bool:
    if names.dtype.kind in "UST":
        return bool((names == names.dtype.type()).any())
    if names.dtype.kind == "f":
        return bool(np.isnan(names).any())
    if names.dtype.kind in "mM":
        return bool(np.isnat(names).any())
    if names.dtype.kind != "O":
        return False
    return any(not name if isinstance(name, str | bytes) else _is_nobody(name) for name in names.ravel().tolist())


def _is_nobody(name: object) -> bool:
    return name is None or type(name).__name__ in _NOTHING or _is_nan(name)


def _is_nan(name: object) -> bool:
    """Whether this is a number or a date that is not one, of whatever library: it differs from itself."""
    if isinstance(name, int):
        return False
    try:
        return not bool(operator.eq(name, name))
    except (ArithmeticError, TypeError, ValueError):
        return True
