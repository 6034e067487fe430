r"""The price of the best of a random number of trials, from the privacy profile of one of them.

A trial draws y from Q, with a score in it. After each trial the run stops with probability ``stop`` = g, so K is
geometric, with the generating function ``phi(x) = g x / (1 - (1 - g) x)``; the y with the best score is released. With
F the distribution function of the score, ties broken by a coin,

.. math:: A(y) = \sum_k P(K = k)\, k\, F(y)^{k-1} Q(y) = \phi'(F(y))\, Q(y), \qquad
          \phi'(x) = \frac{g}{(1 - (1 - g) x)^2}

Let ``delta_Q(t)`` bound what neighbours Q and Q' differ by, in both directions, for every real t. Then F is at most
``T(F') = min_t delta_Q(t) + e^t F'``, because both are probabilities of one event, and phi' increases:

.. math:: \delta_A(\epsilon) = \int (\phi'(F) Q - e^\epsilon \phi'(F') Q')_+ \le E_Q[G(Q'/Q)], \qquad
          G(z) = \max_{0 \le x \le 1} (\phi'(T(x)) - e^\epsilon \phi'(x) z)_+

G is a maximum of falling lines: convex and falling, so a mixture of ``(a - z)_+``, whose means are ``a delta_Q(-log
a)``. So it may be computed for any pair of distributions whose profile is at least delta_Q: here, one of finitely many
losses (:class:`Profile`). The proof is on the docs' page "Private search".
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np

from tacit.privacy.tails import gaussian_delta
from tacit.rounding import below, narrow, up
from tacit.types import Array

POINTS = 128
"""Epsilons at which a trial's profile is computed, and as many of the other sign, which follow from them."""
_REST, _NEAREST, _FARTHEST = 1e-40, 2.0**-24, 512.0
"""Where the points end: when delta is as small as this; not before the second, and not after the third number."""
_UP = 1 + 1e-9
"""Covers the rounding of sums of a few hundred positive terms, and of where a maximum is looked for."""


@dataclass(frozen=True)
class Profile:
    """delta as a function of ``u = e^epsilon``: convex, from (0, 1) on, through corners; constant after the last.

    A true profile is convex in u, so it lies below every chord between two points above it: below this one. The
    distributions that have this one exactly have losses ``log ratios`` of probabilities ``masses``, and an infinite
    loss of probability ``beyond``.
    """

    ratios: Array
    deltas: Array
    masses: Array
    beyond: float

    @classmethod
    def of(cls, delta: Callable[[float], float]) -> Profile:
        """The profile through upper bounds at some epsilons; ``delta`` covers both orders of the neighbours.

        At a negative epsilon it is ``1 - e^epsilon (1 - delta(-epsilon))``: what one order loses, the other gains.
        """
        rest = max(_REST, 1.01 * delta(_FARTHEST))  # some curves end above 0
        far = _NEAREST
        while far < _FARTHEST and delta(far) > rest:
            far *= 2
        far = narrow(lambda e: delta(e) > rest, far / 2, far, halvings=6)[1]
        places = np.linspace(0.0, far, POINTS)
        values = [min(1.0, delta(float(e))) for e in places]
        points = [(Fraction(0), Fraction(1))]
        for e, d in zip(places[:0:-1], values[:0:-1], strict=True):
            ratio = math.exp(-e)
            points.append((Fraction(ratio), Fraction(min(1.0, up(1 - ratio + ratio * up(d))))))
        points += [(Fraction(math.exp(e)), Fraction(d)) for e, d in zip(places, values, strict=True)]
        return cls._through(points)

    @classmethod
    def _through(cls, points: list[tuple[Fraction, Fraction]]) -> Profile:
        """The lower hull of the points, and what it says of losses: both without rounding."""
        hull: list[tuple[Fraction, Fraction]] = []
        for u, d in points:
            while len(hull) > 1 and _turns_down(hull[-2], hull[-1], (u, d)):
                hull.pop()
            hull.append((u, d))
        slopes = [(d - c) / (v - u) for (u, c), (v, d) in pairwise(hull)]
        bends = [after - before for before, after in pairwise([*slopes, Fraction(0)])]
        masses = [up(float(u * bend)) for (u, _), bend in zip(hull[1:], bends, strict=True)]
        return cls(
            np.array([float(u) for u, _ in hull]), np.array([float(d) for _, d in hull]), np.array(masses),
            up(float(hull[-1][1])),
        )  # fmt: skip

    def beside(self, mu: float) -> Callable[[float], float]:
        """The delta of this release and Gaussian ones of a joint mu, together."""
        losses = np.log(self.ratios[1:])

        def delta(epsilon: float) -> float:
            parts = [m * gaussian_delta(mu, below(epsilon, t)) for m, t in zip(self.masses, losses, strict=True)]
            return _UP * (math.fsum(parts) + self.beyond)

        return delta


def _turns_down(a: tuple[Fraction, Fraction], b: tuple[Fraction, Fraction], c: tuple[Fraction, Fraction]) -> bool:
    """Whether b is on or above the chord from a to c."""
    return (b[1] - a[1]) * (c[0] - a[0]) >= (c[1] - a[1]) * (b[0] - a[0])


def selected(trial: Profile, stop: float) -> Callable[[float], float]:
    """delta_A(epsilon) of the best of a geometric number of trials, 1/stop of them on average; rounded up.

    T is the lower envelope of the lines ``delta_k + u_k x`` of the corners, and neighbouring lines meet where the
    profile's chord has the slope -x. On each piece the maximum is at an end, or where the derivative vanishes: with
    ``p = 1 - (1 - g) x`` and ``1 - (1 - g) T = a + u p``, where ``p = a / ((u/c)^(1/3) - u)``, ``c = e^epsilon z``.

    Edges: one trial (stop = 1) is priced as what it is, but for chords in the place of its profile.
    """
    go = 1 - stop
    u, d = trial.ratios[:, None], trial.deltas[:, None]
    meets = np.append(-np.diff(trial.deltas) / np.diff(trial.ratios), 0.0)
    low, high = meets[:, None], np.minimum(np.append(1.0, meets[:-1]), 1.0)[:, None]
    offset = 1 - go * d - u

    def weight(x: Array) -> Array:
        return np.asarray(stop / (1 - go * np.clip(x, 0.0, 1.0)) ** 2)

    tops = weight(d + u * low), weight(d + u * high)
    feet = weight(low), weight(high)

    def delta(epsilon: float) -> float:
        c = math.exp(min(epsilon, 700.0)) / trial.ratios[1:]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            level = (1 - offset / (np.cbrt(u / c) - u)) / go if go else np.zeros((len(u), len(c)))
        level = np.clip(np.nan_to_num(level, nan=0.0), low, high)
        most = np.maximum(_UP * tops[0] - c * feet[0], _UP * tops[1] - c * feet[1])
        most = np.maximum(most, _UP * weight(d + u * level) - c * weight(level)).max(axis=0)
        return _UP * (float(trial.masses @ np.maximum(most, 0.0)) + trial.beyond / stop)

    return delta
