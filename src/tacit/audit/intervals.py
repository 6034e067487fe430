r"""From counts of right and wrong guesses to lower bounds on epsilon that hold with a stated confidence.

An attack says "first" on a set S of outcomes. With N runs on each of two neighbours let P(S) be estimated from the
first and Q(S) from the second. (epsilon, delta)-privacy means P(S) <= e^epsilon Q(S) + delta, so

.. math:: \epsilon \ge \log\frac{P(S)_{low} - \delta}{Q(S)^{up}}

with exact one-sided (Clopper-Pearson) limits, each at half the error probability. S must be fixed before these runs
are seen.

A mechanism that is known to be as private as *some* Gaussian mechanism has a sharper bound: the advantage P(S) - Q(S)
is at most the total variation distance ``2 Phi(mu/2) - 1``, which many runs measure well, and mu gives epsilon at
every delta. The number of errors, ``#(S missed on the first) + #(S on the second)``, is a sum of 2N independent
indicators, whose lower tail is at most that of a binomial with their mean (Hoeffding 1956, Theorem 4, for tails beyond
the mean minus one: those that confidence above 0.7 needs), so one exact limit suffices.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy.special import betaincinv, ndtri

from tacit.checks import check
from tacit.privacy import accounting
from tacit.privacy.accounting import gaussian_delta
from tacit.privacy.events import Event, Gaussian, PoissonGaussian
from tacit.rounding import border, geometric, narrow
from tacit.types import Array, Budget


def upper_rate(count: Array | float, trials: float, error: float) -> Array:
    """The largest success probability that shows at most ``count`` of ``trials`` with probability ``error``; exact."""
    count = np.asarray(count, dtype=np.float64)
    limit = betaincinv(np.minimum(count + 1, trials), np.maximum(trials - count, 1e-12), 1 - error)
    return np.asarray(np.where(count >= trials, 1.0, limit))


def lower_rate(count: Array | float, trials: float, error: float) -> Array:
    """The smallest success probability that shows at least ``count`` of ``trials`` with probability ``error``;
    exact."""
    return 1.0 - upper_rate(trials - np.asarray(count, dtype=np.float64), trials, error)


def clopper_pearson(hits: Array | float, false: Array | float, trials: float, delta: float, error: float) -> Array:
    """Lower bound on epsilon from ``hits`` of ``trials`` under P and ``false`` of ``trials`` under Q, at confidence 1
    - error.

    Edges: 0 where nothing is shown. Vectorised over the counts; for one set S chosen beforehand.
    """
    check(0 < error < 1, f"Expected 0 < error={error} < 1.")
    seen, wrong = lower_rate(hits, trials, error / 2), upper_rate(false, trials, error / 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shown = np.log(np.maximum(seen - delta, 1e-300) / wrong)
    return np.asarray(np.maximum(shown, 0.0))


def ceiling(trials: float, delta: float, error: float) -> float:
    """The largest epsilon that so many runs a side can show at all: every hit, no false alarm."""
    return float(clopper_pearson(trials, 0, trials, delta, error))


def advantage(errors: Array | float, trials: float, error: float) -> Array:
    """Lower bound on the total variation distance from the errors in 2 x ``trials`` guesses, at confidence 1 -
    error."""
    check(0 < error < 0.3, f"Expected 0 < error={error} < 0.3.")
    return np.asarray(np.maximum(0.0, 1.0 - 2.0 * upper_rate(errors, 2 * trials, error)))


def gaussian_parameter(distance: float) -> float:
    """The mu whose Gaussian mechanism has this total variation distance."""
    return float(-2.0 * ndtri(0.5 * (1.0 - distance))) if distance < 1 else math.inf


def gaussian_epsilon(mu: float, delta: float) -> float:
    """The epsilon of a mu-GDP mechanism at delta, rounded down: a lower bound stays one."""
    check(0 < delta < 1, f"A Gaussian mechanism needs 0 < delta={delta} < 1.")
    return border(lambda epsilon: gaussian_delta(mu, epsilon) > delta, relative=1e-9)[0]


Profile = Callable[[float], float]
"""From a total variation distance to the epsilon of the family's member that has it."""


def gaussian_profile(delta: float) -> Profile:
    """The family of Gaussian mechanisms: distance -> mu -> epsilon at delta."""
    return lambda distance: gaussian_epsilon(gaussian_parameter(distance), delta) if distance > 0 else 0.0


def profile_of(events: tuple[Event, ...], claimed: Budget) -> tuple[str, Profile] | None:
    """The sharper bound that the events of a plan allow, if any: a name, and total variation distance -> epsilon.

    Gaussian events are a Gaussian mechanism. With Poisson sampling the family has the same events with all noise
    scaled; its distance is delta(0). Other events have no tight distance, and Clopper-Pearson is used.
    """
    kinds = {type(event) for event in events}
    if kinds == {Gaussian}:
        return "gaussian", gaussian_profile(claimed.delta)
    if kinds and kinds <= {Gaussian, PoissonGaussian}:
        return "profile", lambda distance: _scaled_epsilon(events, claimed, distance)
    return None


def _scaled_epsilon(events: tuple[Event, ...], claimed: Budget, distance: float) -> float:
    """Epsilon of the same events with noise scaled until their distance delta(0) is the measured one; rounded down."""
    if distance <= 0:
        return 0.0

    known = [event for event in events if isinstance(event, Gaussian | PoissonGaussian)]

    def scaled(factor: float) -> tuple[Event, ...]:
        return tuple(replace(event, scale=event.scale * factor) for event in known)

    def far(factor: float) -> bool:
        return accounting.delta(scaled(factor), 0.0, claimed.adjacency) >= distance

    if far(50.0):
        return 0.0
    factor = narrow(far, 0.02, 50.0, halvings=9, middle=geometric)[1]
    return accounting.epsilon(scaled(factor), claimed.delta, claimed.adjacency)
