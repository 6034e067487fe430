r"""How well scores rank the positives above the negatives: two numbers from which the area under the curve follows.

Rows have weights; a person's add up to one at most. With ``v = (weight of the others below - weight above)/2``, where
the others of a positive row are the negative ones, and of a negative row, with the opposite sign, the positive ones,

* ``D = sum over positive rows of weight v / n = (AUC - 1/2) n1 n0 / n``, ties counted as halves;
* ``Q = sum over all rows of weight v^2 / (n + 1)^2``, from which the sampling variance of D follows: it is
  ``sum v^2 / n^2 - (AUC - 1/2)^2 n1 n0 / n``.

One person moves D by at most 1, and by at most 5/8 when added or removed; and Q by at most 1/3. The proof is on the
docs' page "Scores of a model". No cells are involved, so nothing is lost to them.

Reference: DeLong, DeLong & Clarke-Pearson 1988, for the variance.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tacit.types import Array

PLUS = 1
"""Added to n in the scale of Q, so that no small n has a larger sensitivity."""


def rank_sums(scores: Array, positive: NDArray[np.bool_], weights: Array, people: int) -> tuple[float, float]:
    """D and Q; weights are multiples of 2**-24, so all masses are exact, and the last sums are rounded once."""
    levels, places = np.unique(scores, return_inverse=True)
    ones, zeros = (_masses(places, np.where(chosen, weights, 0.0), len(levels)) for chosen in (positive, ~positive))
    of_ones, of_zeros = _lead(zeros), -_lead(ones)
    squares = (ones * (of_ones / (people + PLUS)) ** 2, zeros * (of_zeros / (people + PLUS)) ** 2)
    return math.fsum(ones * (of_ones / people)), math.fsum(np.concatenate(squares))


def _masses(places: NDArray[np.intp], weights: Array, levels: int) -> Array:
    return np.asarray(np.bincount(places, weights, minlength=levels), dtype=np.float64)


def _lead(mass: Array) -> Array:
    """Half of: the mass below each level, less the mass above."""
    below = np.cumsum(mass) - mass
    return np.asarray(0.5 * (below - (mass.sum() - below - mass)))
