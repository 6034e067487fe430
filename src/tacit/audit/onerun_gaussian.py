r"""How many coins can be guessed from one run of a mechanism that is as private as a Gaussian one.

Each of m canaries is in by a fair coin; r coins are guessed, the others are not; C guesses are right. Say that training
is f-private (Dong, Roth & Su 2022) and :math:`g = (1 - f)^{-1}`; for a Gaussian mechanism
:math:`g(y) = \Phi(\Phi^{-1}(y) - \mu)`. Flip one coin whose guess is right: the model is about as likely as before, and
now one guess less is right. Averaged over coins, with :math:`t_i = P[C \ge i]`, for every i

.. math:: (r - i)\, t_i \ \ge\ \sum_{k > i} t_k
    + m\, g\Big(\frac1m \Big((i + 1)\, t_{i+1} + \sum_{k > i + 1} t_k\Big)\Big) .

The right side grows in every :math:`t_k`. So :math:`t_v \ge \tau` forces smallest values of :math:`t_{v-1}, ..., t_0`
one after the other, and where :math:`t_0` would have to exceed 1, :math:`P[C \ge v] < \tau`.

Reference: Mahloujifar, Melis & Chaudhuri 2025, Auditing f-differential privacy in one run. The proof is in
docs/theorems/audit.md.
"""

from __future__ import annotations

from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from tacit.audit.intervals import gaussian_epsilon
from tacit.checks import check
from tacit.privacy.accounting import gaussian_mu
from tacit.rounding import border, narrow
from tacit.types import Budget

SHARES = (1.0, 0.5, 0.3, 0.2, 0.15, 0.1, 0.07, 0.05, 0.03)
"""Shares of the canaries from which one is chosen beforehand."""
WEAK = 2.0
"""A trainer with so many times too little noise is the one to be caught."""
_SLACK = 1e-9
_LARGEST = 40.0


def impossible(canaries: int, guesses: int, right: int, mu: float, chance: float) -> bool:
    """Whether so many right guesses, or more, have a probability below ``chance`` for every mu-Gaussian-private
    training; rounded to the side of 'no'."""
    _check(canaries, guesses, right)
    least, above = chance, 0.0  # t_i, and the sum of all t_k with k > i
    for i in range(right - 1, -1, -1):
        share = ((i + 1) * least + above) / canaries
        above += least
        least = max(least, (above + canaries * float(ndtr(ndtri(min(share, 1.0)) - mu))) / (guesses - i))
        if least > 1 + _SLACK:
            return True
    return least > 1 + _SLACK


def p_value(canaries: int, guesses: int, right: int, mu: float) -> float:
    """An upper bound on the probability of so many right guesses if training is mu-Gaussian-private."""
    return narrow(lambda chance: not impossible(canaries, guesses, right, mu, chance), 0.0, 1.0, halvings=60)[1]


def least_mu(canaries: int, guesses: int, right: int, error: float) -> float:
    """The largest mu that so many right guesses refute at this error probability, rounded down; 0 where they show
    nothing."""
    check(0 < error < 1, f"Expected 0 < error={error} < 1.")
    if right == 0:
        return 0.0
    return border(lambda mu: impossible(canaries, guesses, right, mu, error), most=_LARGEST, halvings=24)[0]


def gaussian_bound(canaries: int, guesses: int, right: int, delta: float, error: float) -> float:
    """The epsilon at delta of the least private Gaussian mechanism that is refuted; 0 where none is."""
    return gaussian_epsilon(least_mu(canaries, guesses, right, error), delta)


def guessed(canaries: int, share: float) -> int:
    """How many canaries are guessed: an even number, half of them in and half of them out."""
    return 2 * int(share * canaries / 2)


def expected_right(canaries: int, share: float, mu: float) -> int:
    """Right guesses to be expected from the scores of a Gaussian mechanism, where those farthest out are guessed."""
    cut = brentq(lambda t: norm.sf(t) + norm.sf(t - mu) - share, mu / 2 - 1e-6, mu + 40.0)
    return int(guessed(canaries, share) * min(1.0, float(norm.sf(cut - mu)) / share))


def best_gaussian_share(canaries: int, claimed: Budget, confidence: float) -> float:
    """The share that should show most, from public numbers alone: for a trainer with half of the noise that the claim
    needs, or where that could not be caught, with all of it."""
    mu = gaussian_mu(claimed.epsilon, claimed.delta)
    usable = [share for share in SHARES if guessed(canaries, share) > 0] or [1.0]

    def shown(share: float, mu: float) -> float:
        total = guessed(canaries, share)
        return least_mu(canaries, total, expected_right(canaries, share, mu), 1 - confidence) if total else 0.0

    caught, share = max((shown(share, WEAK * mu), share) for share in usable)
    return share if caught > mu else max((shown(share, mu), share) for share in usable)[1]


def _check(canaries: int, guesses: int, right: int) -> None:
    check(
        0 <= right <= guesses <= canaries, f"Expected 0 <= right={right} <= guesses={guesses} <= canaries={canaries}."
    )
    check(guesses > 0, f"Expected guesses={guesses} > 0.")
