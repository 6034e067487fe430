"""Whose row each row is: where a person has several, all of them are protected at once.

``groups`` names the person of each row, and ``rows_per_person`` is declared. Of a person with more rows, the first so
many in the order of the table count: which ones depends on that person's rows alone. The number of people is public;
how many rows they have is not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count
from tacit.data.person_names import NOT_ONE_EACH, names_of
from tacit.types import MOST_ROWS_EACH, Array

UNDECLARED = "Declare rows_per_person: a public number that bounds how many rows of one person count."
_UNITS = 2.0**24


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
    """The people of a table with so many rows, told apart by :func:`tacit.data.person_names.names_of`.

    Edges: a wrong length, missing names and a bound that is not a whole number >= 1 raise, and quote no name.
    """
    check(rows_per_person is not None, UNDECLARED)
    most = check_count("rows_per_person", rows_per_person, MOST_ROWS_EACH)
    if getattr(groups, "shape", None) == (rows, 1) and hasattr(groups, "__array__"):
        groups = np.asarray(groups).ravel()
    names = names_of(groups)
    check(len(names) == rows, NOT_ONE_EACH)
    if names.dtype == object:
        places = {name: place for place, name in enumerate(dict.fromkeys(names.tolist()))}
        codes = np.fromiter((places[name] for name in names.tolist()), dtype=np.intp, count=rows)
    else:
        codes = np.unique(names, return_inverse=True)[1].astype(np.intp, copy=False)
    order = np.argsort(codes, kind="stable")
    new = np.flatnonzero(np.diff(codes[order], prepend=-1))
    rank = np.arange(rows) - np.repeat(new, np.diff(new, append=rows))
    kept = rank < most
    return People(order[kept], np.flatnonzero(rank[kept] == 0).astype(np.intp), most)
