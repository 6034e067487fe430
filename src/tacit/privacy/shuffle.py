r"""Amplification by shuffling: what many local releases cost once nobody knows whose is whose.

Each of n people releases something that is epsilon_0-private by itself. With probability ``e^{-epsilon_0}`` a release
is a clone of the differing person's: it says nothing about its owner. The number C of clones is Bin(n - 1,
e^{-epsilon_0}), A ~ Bin(C, 1/2) of them look like the one version, and the two neighbours are at most as far apart as
the laws of

.. math:: (A + \Delta,\; C - A + 1 - \Delta) \quad\text{and}\quad (A + 1 - \Delta,\; C - A + \Delta),
          \qquad \Delta \sim \mathrm{Bern}\left(\tfrac{e^{\epsilon_0}}{1 + e^{\epsilon_0}}\right).

Reference: Feldman, McMillan & Talwar 2022 ("Hiding among the clones"), Theorems 3.1 and 3.2.
"""

from __future__ import annotations

import functools
import math

import numpy as np
from scipy.special import betainc, gammaln, xlog1py, xlogy

from tacit.checks import check, check_count, check_positive
from tacit.types import Array

_MISSED = 1e-15
"""Probability of the clone counts that are left out of the sum; it is added to delta."""


def _at_least(count: Array, least: Array) -> Array:
    """P(Bin(count, 1/2) >= least), for whole numbers; 1 where least <= 0 and 0 where least > count."""
    inside = (least > 0) & (least <= count)
    k = np.where(inside, least, 1.0)
    tail = betainc(k, np.where(inside, count - k + 1.0, 1.0), 0.5)
    return np.where(least <= 0, 1.0, np.where(inside, tail, 0.0))


_LAST = 32 * 2.0**-53
"""What the chances' exponentials and quotients may lose."""
_LARGE = 500.0
"""Above this epsilon a release hides nobody: its own price stands."""
COARSE = 1e-5
"""Width of a block of clone counts, relative to them."""
_TRUSTED = 1e-10
"""Relative error that the incomplete beta function may have: ten thousand times what tests see."""


def _mass(trials: int, chance: float, counts: Array) -> Array:
    """P(Bin(trials, chance) = counts), rounded up: logarithms of factorials lose some u times their size."""
    logs = gammaln(trials + 1.0) - gammaln(counts + 1) - gammaln(trials - counts + 1)
    logs += xlogy(counts, chance) + xlog1py(trials - counts, -chance)
    size = abs(float(gammaln(trials + 1.0))) + trials * (abs(math.log(chance)) + 1)
    return np.asarray(np.exp(logs + 64 * 2.0**-53 * size))


@functools.lru_cache(maxsize=8)
def _clones(trials: int, chance: float) -> tuple[Array, Array]:
    """Numbers of clones and their probabilities, rounded up; neighbouring numbers count as the least of them.

    One clone more is a post-processing (add a fair coin to A), so fewer clones never cost less. A block is COARSE of
    its numbers wide: the price at c moves like ``exp(-k c)``, ``k c`` some log(1/delta), so delta rises by COARSE
    log(1/delta), relative.
    """
    from scipy.stats import binom  # slow to import, and prices of other noise do without it

    clones = binom(trials, chance)
    low, high = int(clones.ppf(_MISSED / 4)), int(clones.isf(_MISSED / 4))
    counts = np.arange(low, high + 1, dtype=np.float64)
    starts = np.arange(0, len(counts), max(1, int(COARSE * low)))
    return counts[starts], np.add.reduceat(_mass(trials, chance, counts), starts)


def shuffled_delta(local: float, records: int, epsilon: float) -> float:
    r"""An upper bound on delta(epsilon) of n shuffled releases, each of pure epsilon ``local``: the pair of binomials.

    Given C = c the first coordinate a in 0..c+1 is a sufficient statistic, and the likelihood ratio grows with it: the
    best event is ``a >= a*``: with p = e^eps_0/(1 + e^eps_0) = 1 - q, a* is the least whole number of at least
    ``(c + 1)(e^eps p - q) / ((1 + e^eps)(p - q))``.

    Edges: epsilon >= local gives 0; one record gives the price of the local release, and so does, up to rounding, a
    ``local`` above 500, where nobody is a clone.
    """
    check_positive("local", local)
    check_count("records", records)
    if epsilon >= local:
        return 0.0
    if local > _LARGE:
        return -math.expm1(epsilon - local)
    e, chance = math.exp(epsilon), math.exp(-local)
    p, q = 1 / (1 + chance), chance / (1 + chance)
    c, mass = _clones(records - 1, chance)
    # a (p - e q) >= (c + 1 - a)(e p - q): the likelihood ratio is at least e^epsilon.
    gain, loss = p - e * q + _LAST * (p + e * q), e * p - q - _LAST * (e * p + q)
    border = (c + 1) * (loss / (gain + loss))
    # Where the border is a whole number up to rounding, either side of it may be the better event.
    inner = np.maximum(
        _advantage(gain, loss, c, np.ceil(border - 1e-9 - 1e-12 * c)),
        _advantage(gain, loss, c, np.ceil(border + 1e-9 + 1e-12 * c)),
    )
    return min(1.0, float(mass @ np.maximum(inner, 0.0)) * (1 + 1e-9) + _MISSED)


def _advantage(gain: float, loss: float, count: Array, least: Array) -> Array:
    """``gain P(A >= least - 1) - loss P(A >= least)``, rounded up: the difference keeps the error of its terms."""
    first, second = gain * _at_least(count, least - 1), loss * _at_least(count, least)
    return np.asarray(first - second + _TRUSTED * (first + second))


def price_of_local_delta(local: float, records: int, epsilon: float) -> float:
    """What a unit of the releases' own delta_0 adds to delta: ``1 + 2 (e^eps + 1)(n - 1) e^{-eps_0}``.

    The differing release is pure but for a part of mass delta_0, and every other one is within ``2 delta_0
    e^{-eps_0}`` of a release with the clones of the pure case; the proof is on the docs' page "Local perturbation and
    shuffling". (Feldman, McMillan & Talwar 2022, Theorem 3.8, has another term of the same order.)
    """
    return 1 + 2 * (math.exp(epsilon - local) + math.exp(-local)) * (records - 1)


def shuffled_approximate_delta(local: float, local_delta: float, records: int, epsilon: float) -> float:
    """The same for (local, local_delta)-private releases: plus :func:`price_of_local_delta` times ``local_delta``.

    Edges: above ``local`` the local guarantee itself is the price.
    """
    if epsilon >= local:
        return local_delta
    extra = price_of_local_delta(local, records, epsilon) * local_delta
    return min(1.0, shuffled_delta(local, records, epsilon) + extra)


def shuffled_epsilon_closed_form(local: float, records: int, delta: float) -> float:
    r"""The closed form of Theorem 3.1, a check on the numerical bound; ``local`` where its condition fails.

    .. math:: \epsilon = \log\left(1 + \frac{e^{\epsilon_0} - 1}{e^{\epsilon_0} + 1}
              \left(\frac{8\sqrt{e^{\epsilon_0} \log(4/\delta)}}{\sqrt n} + \frac{8 e^{\epsilon_0}}{n}\right)\right)
    """
    check(0 < delta < 1, f"Expected 0 < delta={delta} < 1.")
    if local > math.log(records / (16 * math.log(2 / delta))):
        return local
    e = math.exp(local)
    inner = 8 * math.sqrt(e * math.log(4 / delta) / records) + 8 * e / records
    return min(local, math.log1p((e - 1) / (e + 1) * inner))
