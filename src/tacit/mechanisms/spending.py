"""What each record itself spent in a run with individual accounting: for the curator, not private, not released."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from tacit.checks import counted
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Sensitivity
from tacit.types import Array

KNOTS = 256
"""Points at which epsilon is computed exactly; in between it is rounded up to the next."""


@dataclass(frozen=True, eq=False, repr=False)
class Spent:
    """Each record's own account. NOT PRIVATE: it is computed from the records and must stay with whoever holds them.

    ``mu`` is the Gaussian-DP parameter that record i reached (under the fit's adjacency; the worst replacement for it
    is taken to spend no more than it did), ``steps`` in how many of ``total`` steps its gradient was taken whole.

    A pickled or copied model may travel; this table does not travel with it: it comes back empty.
    """

    mu: Array
    steps: NDArray[np.intp]
    total: int

    def epsilon(self, delta: float) -> Array:
        """Each record's own epsilon at this delta, rounded up to one of at most 256 values.

        It is a statement after the fact, about the path that was taken: the guarantee is that none exceeds the fit's.
        """
        if not self.mu.size or not np.isfinite(self.mu).all():
            return np.asarray(self.mu, dtype=np.float64)
        knots = np.linspace(0.0, float(self.mu.max()), KNOTS)
        prices = [0.0] + [_epsilon(float(mu), delta) for mu in knots[1:]] if knots[-1] > 0 else [0.0] * KNOTS
        places = np.searchsorted(knots, self.mu, side="left")
        return np.asarray(prices)[np.minimum(places, KNOTS - 1)]

    def histogram(self, delta: float, bins: int = 20) -> tuple[NDArray[np.intp], Array]:
        """Counts of records over equal cells of epsilon, and the edges of the cells."""
        values = self.epsilon(delta)
        finite = values[np.isfinite(values)]
        counts, edges = np.histogram(finite, bins=bins, range=(0.0, float(finite.max(initial=0.0)) or 1.0))
        return counts.astype(np.intp), np.asarray(edges, dtype=np.float64)

    def text(self, delta: float, bins: int = 10, width: int = 50) -> str:
        """The histogram in characters, for a terminal."""
        counts, edges = self.histogram(delta, bins)
        most = max(1, int(counts.max(initial=0)))
        rows = [
            f"{low:8.4f} to {high:8.4f}  {count:8d}  {'#' * math.ceil(width * int(count) / most)}"
            for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True)
        ]
        return "\n".join(["each record's own epsilon (NOT PRIVATE: for the curator only)", *rows])

    def __repr__(self) -> str:
        return f"<Spent: accounts of {counted(self.mu.size, 'record')}, for the curator only>"

    def __reduce__(self) -> tuple[Any, ...]:
        return (Spent, (np.zeros(0), np.zeros(0, dtype=np.intp), self.total))

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return self


def _epsilon(mu: float, delta: float) -> float:
    return accounting.epsilon((Gaussian(Sensitivity.of_record(mu), 1.0),), delta, "add-remove")
