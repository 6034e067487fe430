r"""When a submission as good as tells its record: the one test of it, for whoever warns or refuses.

An epsilon says nothing without its delta: at a delta near 1 any noise has a small one. So the best guess counts too.
Two records give two joint Gaussians at a distance of at most mu of their scale, and whoever sees a submission and has
to tell which of two equally likely records is behind it is right with probability at most

.. math:: \tfrac12 (1 + TV) = \Phi(\mu / 2)

(Neyman & Pearson 1933), which does not depend on the delta at all.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from scipy.special import ndtr

from tacit.checks import PrivacyError
from tacit.privacy.events import Event, Gaussian

LITTLE = 10.0
"""Above this epsilon a submission as good as tells the record."""
GUESSED = 0.9
"""So does one from which the best guess between two records is right more often than this."""
_UP = 1 + 1e-9
"""More than a mu, and the distribution function, may be wrong by."""


def best_guess(released: Sequence[Event]) -> float:
    """How often the best guess between two equally likely records is right, at most, for what one person releases."""
    return min(1.0, _UP * float(ndtr(distance(released) / 2)))


def distance(released: Sequence[Event]) -> float:
    """mu: how far apart what two records release can be, in scales of the joint Gaussian noise, at most."""
    squares = 0.0
    for event in released:
        if not isinstance(event, Gaussian) or event.sensitivity.replace_one is None:
            raise PrivacyError("What one person sends is not Gaussian noise: nothing is known about an onlooker.")
        squares += event.count * (event.sensitivity.replace_one / event.scale) ** 2
    return _UP * math.sqrt(squares)


def little(epsilon: float, guess: float) -> bool:
    """Whether so large an epsilon, or so good a guess, is next to no protection; what is not a number is none."""
    return not (epsilon <= LITTLE and guess <= GUESSED)
