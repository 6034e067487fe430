"""Which charged releases rows were made with, where they are handed on outside of a pipeline.

``model.fit(scaler.transform(X), y)`` depends on what the scaler released, and an array says nothing about that. So the
array is noted, as long as it lives, and not by its content: a view of it is known, a copy is not.
"""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
from numpy.typing import NDArray

_NOTED: dict[int, tuple[weakref.ref[Any], tuple[Any, ...]]] = {}


def note_origin(rows: NDArray[Any], releases: tuple[Any, ...]) -> None:
    """Note what these new rows were made with."""
    place = id(rows)
    _NOTED[place] = weakref.ref(rows, lambda _: _NOTED.pop(place, None)), releases


def releases_behind(rows: Any) -> tuple[Any, ...]:
    """What was noted about these rows, or about the array that they are a view of."""
    while isinstance(rows, np.ndarray):
        noted, releases = _NOTED.get(id(rows), (None, ()))
        if noted is not None and noted() is rows:
            return releases
        rows = rows.base
    return ()
