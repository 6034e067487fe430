"""Which charged releases rows were made with, where they are handed on outside of a pipeline.

``model.fit(scaler.transform(X), y)`` depends on what the scaler released, and an array says nothing about that. So what
``transform`` returns is noted, as long as it lives, and not by its content: a view of an array is known, by itself or
as a column of a table, and a copy is not.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

_NOTED: dict[int, tuple[weakref.ref[Any], tuple[Any, ...]]] = {}


def note_origin(rows: Any, releases: tuple[Any, ...]) -> None:
    """Note what these new rows were made with."""
    if releases:
        place = id(rows)
        _NOTED[place] = weakref.ref(rows, lambda _: _NOTED.pop(place, None)), releases


def handing_on(transform: Callable[[Any, Any], Any], behind: Callable[[Any, Any], tuple[Any, ...]]) -> Any:
    """A method ``transform``, which notes the array that it makes, and now also the data frame that is made of it.

    scikit-learn wraps the method when its class is made, so that ``set_output`` can choose a data frame. So this is put
    around the method afterwards. ``behind`` says what rows were made with.
    """

    @functools.wraps(transform)
    def noting(self: Any, X: Any) -> Any:
        rows = transform(self, X)
        if not isinstance(rows, np.ndarray):
            note_origin(rows, behind(self, X))
        return rows

    return noting


def releases_behind(rows: Any) -> tuple[Any, ...]:
    """What was noted about these rows, about the array that they are a view of, or about the columns of a table."""
    noted, releases = _NOTED.get(id(rows), (None, ()))
    if noted is not None and noted() is rows:
        return releases
    if isinstance(rows, np.ndarray):
        return releases_behind(rows.base)
    found: list[Any] = []
    for part in _parts(rows):
        found += [one for one in releases_behind(part) if not any(one is known for known in found)]
    return tuple(found)


def _parts(rows: Any) -> list[Any]:
    """The columns of a dict or of a pandas frame, and the array of a column, all without copying."""
    if isinstance(rows, Mapping):
        return list(rows.values())
    if not hasattr(rows, "iloc"):
        return []
    return [column for _, column in rows.items()] if rows.ndim == 2 else [rows.values]
