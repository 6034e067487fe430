"""Statistics that tell two data sets apart from released parameters: fitted on one part of the runs, used on another.

An attack is a function from parameters (one row a run) to scores, larger on the first data set.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.audit.bounds import Profile, advantage, clopper_pearson, lower_rate, upper_rate
from tacit.types import Array

Score = Callable[[Array], Array]
Order = Literal["first", "second"]
_MOST_FITTED = 10_000
_SMALL = 30
_LUCK = 0.01
_TREES = 400


@dataclass(frozen=True)
class Attack:
    """A named statistic."""

    name: str
    score: Score


def fit_attacks(first: Array, second: Array, direction: Array | None, *, trees: bool = True) -> list[Attack]:
    """All statistics that these runs can support, fitted on them, from plain to flexible; without ``trees``, the quick
    ones."""
    first, second = first[:_MOST_FITTED], second[:_MOST_FITTED]
    size = first.shape[1]
    found = []
    if direction is not None and len(direction) <= size and direction.any():
        line = np.zeros(size)
        line[: len(direction)] = direction / np.linalg.norm(direction)
        found.append(_linear("projection", line, first, second))
    found.append(_linear("linear discriminant", _discriminant(first, second), first, second))
    if size <= _SMALL and min(len(first), len(second)) > 5 * size + 20:
        found.append(_likelihood(first, second))
    if trees and size <= _SMALL and min(len(first), len(second)) >= _TREES:
        found.append(_classifier(first, second))
    return found


def _linear(name: str, line: Array, first: Array, second: Array) -> Attack:
    sign = 1.0 if np.median(first @ line) >= np.median(second @ line) else -1.0
    return Attack(name, lambda runs: np.asarray(runs @ (sign * line)))


def _discriminant(first: Array, second: Array) -> Array:
    """(S + small I)^-1 (m1 - m2), with clipped values so that heavy tails do not rule."""
    both = np.vstack([first, second])
    low, high = np.quantile(both, [0.005, 0.995], axis=0)
    one, two = np.clip(first, low, high), np.clip(second, low, high)
    shift = one.mean(axis=0) - two.mean(axis=0)
    spread = np.vstack([one - one.mean(axis=0), two - two.mean(axis=0)])
    scale = spread.std(axis=0) + 1e-9 * np.abs(both).max() + 1e-100  # a number without noise must not divide by zero
    if spread.shape[1] > len(spread) // 4:
        return np.asarray(shift / scale**2)
    unit = spread / scale
    covariance = unit.T @ unit / len(unit) + 1e-6 * np.eye(len(scale))
    line = np.linalg.solve(covariance, shift / scale) / scale
    return np.asarray(line / (np.linalg.norm(line) or 1.0))


def _likelihood(first: Array, second: Array) -> Attack:
    """The log likelihood ratio of two fitted Gaussians."""

    def gaussian(runs: Array) -> Score:
        mean = runs.mean(axis=0)
        covariance = np.atleast_2d(np.cov(runs, rowvar=False))
        covariance = covariance + (1e-9 * np.trace(covariance) / len(mean) + 1e-300) * np.eye(len(mean))
        factor = np.linalg.cholesky(np.linalg.inv(covariance))
        constant = float(np.log(np.diag(factor)).sum())
        return lambda x: np.asarray(constant - 0.5 * (((x - mean) @ factor) ** 2).sum(axis=1))

    one, two = gaussian(first), gaussian(second)
    return Attack("Gaussian likelihood ratio", lambda runs: np.asarray(one(runs) - two(runs)))


def _classifier(first: Array, second: Array) -> Attack:
    """A density ratio by boosted trees; the seed does not matter to validity, only the split of the runs does."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, learning_rate=0.15, min_samples_leaf=max(20, len(first) // 100), random_state=0
    )
    with threadpool_limits(1):  # small trees: threads that wait for each other cost more than they give
        model.fit(np.vstack([first, second]), np.r_[np.ones(len(first)), np.zeros(len(second))])

    def score(runs: Array) -> Array:
        with threadpool_limits(1):
            return np.asarray(model.decision_function(runs), dtype=np.float64)

    return Attack("density-ratio classifier", score)


@dataclass(frozen=True)
class Event:
    """A set of outcomes fixed before it is scored: ``score > threshold``, or not, as a sign of the data set ``order``.

    ``bound`` says which bound it was chosen for: 'clopper-pearson' or 'profile'. ``expected`` is what was predicted.
    """

    attack: Attack
    threshold: float
    above: bool
    order: Order
    bound: Literal["clopper-pearson", "profile"]
    expected: float

    def counts(self, first: Array, second: Array) -> tuple[int, int]:
        """Hits and false alarms: how often the outcome falls into the set under the data set it speaks for, and the
        other."""
        inside = [int(((scores > self.threshold) == self.above).sum()) for scores in (first, second)]
        return (inside[0], inside[1]) if self.order == "first" else (inside[1], inside[0])


def choose_event(
    attack: Attack, first: Array, second: Array, *, trials: int, delta: float, error: float, profile: Profile | None
) -> Event:
    """The most promising threshold for scores of this attack, predicted for ``trials`` runs a side to come.

    Rates are first moved to the pessimistic end of what these runs allow: the best of many thresholds would otherwise
    be one that was lucky here.
    """
    one, two = np.sort(attack.score(first)), np.sort(attack.score(second))
    both = np.sort(np.concatenate([one, two]))
    ranks = np.unique(np.geomspace(1, len(both) // 2, 60).astype(int))
    edges = np.unique(both[np.concatenate([ranks - 1, len(both) - ranks])])
    best = Event(attack, float(np.median(both)), True, "first", "clopper-pearson", 0.0)
    for above in (True, False):
        inside = [_inside(side, edges, above) for side in (one, two)]
        orders: tuple[tuple[Order, Array, Array], ...] = (
            ("first", inside[0], inside[1]),
            ("second", inside[1], inside[0]),
        )
        for order, hits, false in orders:
            seen, wrong = lower_rate(hits, len(one), _LUCK), upper_rate(false, len(one), _LUCK)
            shown = clopper_pearson(np.floor(seen * trials), np.ceil(wrong * trials), trials, delta, error)
            at = int(np.argmax(shown))
            if shown[at] > best.expected:
                best = Event(attack, float(edges[at]), above, order, "clopper-pearson", float(shown[at]))
    if profile is None:
        return best
    edges = np.quantile(both, np.linspace(0.02, 0.98, 49))
    gap = (_inside(one, edges, True) - _inside(two, edges, True)) / len(one)
    turn = 1.0 if gap.sum() >= 0 else -1.0
    smooth = np.convolve(turn * gap, np.full(13, 1 / 13), mode="valid")  # a lucky threshold has unlucky neighbours
    at = 6 + int(np.argmax(smooth)) if smooth.max() > 0.5 * (turn * gap).max() else int(np.argmax(turn * gap))
    errors = math.ceil((1 - turn * gap[at] + 0.7 / math.sqrt(len(one))) * trials)
    expected = profile(float(advantage(errors, trials, error)))
    return Event(attack, float(edges[at]), turn > 0, "first", "profile", expected) if expected > best.expected else best


def _inside(ordered: Array, edges: Array, above: bool) -> Array:
    """How many of the sorted scores are above each edge, or not."""
    below = np.searchsorted(ordered, edges, side="right").astype(np.float64)
    return len(ordered) - below if above else below
