"""``model.save(path)``, a method of every estimator.

What writes files stands below all estimators, so they cannot import it: the package's own face hands it over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

_WRITERS: list[Callable[[], Callable[..., None]]] = []


def hand_over(find: Callable[[], Callable[..., None]]) -> None:
    """Name what finds the writer, which is loaded when a model is saved and not before."""
    _WRITERS[:] = [find]


class Saved:
    """An estimator that can be written to a file."""

    def save(self, path: str | Path, schema: Any = None) -> None:
        """Write the fitted model and its guarantee to one file: :func:`tacit.save`.

        ``schema``: the one that encoded the rows. :func:`tacit.load` reads the file, and ``tacit verify`` checks it.
        """
        (find,) = _WRITERS
        find()(self, path, schema)
