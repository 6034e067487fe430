"""Statistics that tell two data sets apart from released parameters: fitted on one part of the runs, used on another.

An attack is a function from runs to scores, larger on the first data set. Numbers are weighed together; a label (which
attributes there are, the form or the exact value of one) is scored by how often it was seen on either side.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from tacit.audit.intervals import Profile, advantage, clopper_pearson, lower_rate, upper_rate
from tacit.audit.outcomes import Labels, Runs
from tacit.audit.values import NO_NUMBER
from tacit.types import Array

Score = Callable[[Runs], Array]
Order = Literal["first", "second"]
_MOST_FITTED = 10_000
_SMALL = 30
_LUCK = 0.01
_TREES = 400
_LABELS = 8


@dataclass(frozen=True)
class Attack:
    """A named statistic."""

    name: str
    score: Score


def fit_attacks(first: Runs, second: Runs, direction: Array | None, *, trees: bool = True) -> list[Attack]:
    """All statistics that these runs can support, fitted on them, from plain to flexible; without ``trees``, the quick
    ones."""
    first, second = first.part(0, _MOST_FITTED), second.part(0, _MOST_FITTED)
    found = _label_attacks(first, second)
    both = np.vstack([first.numbers, second.numbers])
    used = np.flatnonzero((both != both[0]).any(axis=0))  # a number that is always the same says nothing
    one, two = first.numbers[:, used], second.numbers[:, used]
    statistics: list[tuple[str, Callable[[Array], Array]]] = []
    if direction is not None and len(direction) <= both.shape[1] and direction.any():
        line = np.zeros(both.shape[1])
        line[: len(direction)] = direction / np.linalg.norm(direction)
        statistics.append(("projection", _towards(line[used], one, two)))
    statistics.append(("linear discriminant", _towards(_discriminant(one, two), one, two)))
    if (np.abs(both[:, used]) >= NO_NUMBER).any():
        fill = _filling(both[:, used])
        line = _discriminant(fill(one), fill(two))
        towards = _towards(line, fill(one), fill(two))
        statistics.append(("linear discriminant, gaps filled", lambda numbers: towards(fill(numbers))))
    if 0 < len(used) <= _SMALL and min(len(one), len(two)) > 5 * len(used) + 20:
        with suppress(np.linalg.LinAlgError):  # numbers that are the same up to rounding: the others will do
            statistics.append(("Gaussian likelihood ratio", _likelihood(one, two)))
    if trees and 0 < len(used) <= _SMALL and min(len(one), len(two)) >= _TREES:
        statistics.append(("density-ratio classifier", _classifier(one, two)))
    return found + [Attack(name, _of_numbers(score, used)) for name, score in statistics]


def _of_numbers(score: Callable[[Array], Array], used: NDArray[np.intp]) -> Score:
    def finite_score(runs: Runs) -> Array:
        with np.errstate(over="ignore", invalid="ignore"):  # what is no number is far away, and its square farther
            return np.nan_to_num(score(runs.numbers[:, used]))

    return finite_score


def _label_attacks(first: Runs, second: Runs) -> list[Attack]:
    """For the labels that tell most: how often each value was seen on the first data set, against the second."""
    ranked = []
    for column, name in enumerate(first.names):
        one, two = first.labels[:, column], second.labels[:, column]
        values, places = np.unique(np.concatenate([one, two]), return_inverse=True)
        if len(values) > 1 + len(one) // 2:  # never the same twice: noise
            continue
        counts = [np.bincount(part, minlength=len(values)) for part in (places[: len(one)], places[len(one) :])]
        gap = float(np.abs(counts[0] / len(one) - counts[1] / len(two)).sum())
        if gap > 0:
            weights = np.log((counts[0] + 0.5) / (counts[1] + 0.5))
            ranked.append((gap, Attack(name, _seen(column, values, weights))))
    ranked.sort(key=lambda entry: -entry[0])
    return [attack for _, attack in ranked[:_LABELS]]


def _seen(column: int, values: Labels, weights: Array) -> Score:
    """The weight of a run's label; 0 for one that was never seen."""

    def score(runs: Runs) -> Array:
        labels = runs.labels[:, column]
        at = np.minimum(np.searchsorted(values, labels), len(values) - 1)
        return np.where(values[at] == labels, weights[at], 0.0)

    return score


def _towards(line: Array, first: Array, second: Array) -> Callable[[Array], Array]:
    sign = 1.0 if np.median(first @ line) >= np.median(second @ line) else -1.0
    return lambda numbers: np.asarray(numbers @ (sign * line))


def _filling(both: Array) -> Callable[[Array], Array]:
    """A function that puts the median of a number where a run has none (it raised an error, say): what the other runs
    tell is then not hidden behind the gaps."""
    there = [column[np.abs(column) < NO_NUMBER] for column in both.T]
    centre = np.array([np.median(column) if len(column) else 0.0 for column in there])
    return lambda numbers: np.where(np.abs(numbers) >= NO_NUMBER, centre, numbers)


def _discriminant(first: Array, second: Array) -> Array:
    """(S + small I)^-1 (m1 - m2), with clipped values so that heavy tails do not rule."""
    both = np.vstack([first, second])
    if both.shape[1] == 0:
        return np.zeros(0)
    low, high = np.quantile(both, [0.005, 0.995], axis=0)
    one, two = np.clip(first, low, high), np.clip(second, low, high)
    shift = one.mean(axis=0) - two.mean(axis=0)
    spread = np.vstack([one - one.mean(axis=0), two - two.mean(axis=0)])
    # A number without noise must not divide by zero; the size of other numbers must not matter to it.
    scale = spread.std(axis=0) + 1e-9 * np.abs([low, high]).max(axis=0) + 1e-100
    if spread.shape[1] > len(spread) // 4:
        return np.asarray(shift / scale**2)
    unit = spread / scale
    covariance = unit.T @ unit / len(unit) + 1e-6 * np.eye(len(scale))
    line = np.linalg.solve(covariance, shift / scale) / scale
    return np.asarray(line / (np.linalg.norm(line) or 1.0))


def _likelihood(first: Array, second: Array) -> Callable[[Array], Array]:
    """The log likelihood ratio of two fitted Gaussians, of numbers in units of their own spread."""
    both = np.vstack([first, second])
    scale = both.std(axis=0) + 1e-9 * np.abs(both).max(axis=0) + 1e-100

    def gaussian(runs: Array) -> Callable[[Array], Array]:
        mean = runs.mean(axis=0)
        covariance = np.atleast_2d(np.cov(runs, rowvar=False))
        covariance = covariance + (1e-9 * np.trace(covariance) / len(mean) + 1e-300) * np.eye(len(mean))
        factor = np.linalg.cholesky(np.linalg.inv(covariance))
        constant = float(np.log(np.diag(factor)).sum())
        return lambda x: np.asarray(constant - 0.5 * (((x - mean) @ factor) ** 2).sum(axis=1))

    one, two = gaussian(first / scale), gaussian(second / scale)
    return lambda numbers: np.asarray(one(numbers / scale) - two(numbers / scale))


def _classifier(first: Array, second: Array) -> Callable[[Array], Array]:
    """A density ratio by boosted trees; the seed does not matter to validity, only the split of the runs does."""
    from sklearn.ensemble import HistGradientBoostingClassifier  # slow to import

    model = HistGradientBoostingClassifier(
        max_iter=60, max_leaf_nodes=8, learning_rate=0.15, min_samples_leaf=max(20, len(first) // 100), random_state=0
    )
    with threadpool_limits(1):  # small trees: threads that wait for each other cost more than they give
        model.fit(np.vstack([first, second]), np.r_[np.ones(len(first)), np.zeros(len(second))])

    def score(numbers: Array) -> Array:
        with threadpool_limits(1):
            return np.asarray(model.decision_function(numbers), dtype=np.float64)

    return score


@dataclass(frozen=True, kw_only=True)
class OutcomeSet:
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


@dataclass(frozen=True)
class Scoring:
    """How a set of outcomes will be scored: runs a side to come, the claim's delta, the error probability."""

    trials: int
    delta: float
    error: float


def choose_tail(attack: Attack, first: Runs, second: Runs, scoring: Scoring) -> OutcomeSet:
    """The most promising threshold for Clopper-Pearson's bound, predicted for the runs to come.

    Rates are first moved to the pessimistic end of what these runs allow: the best of many thresholds would otherwise
    be one that was lucky here.
    """
    one, two = np.sort(attack.score(first)), np.sort(attack.score(second))
    both = np.sort(np.concatenate([one, two]))
    trials = scoring.trials
    ranks = np.unique(np.geomspace(1, len(both) // 2, 60).astype(int))
    edges = np.unique(both[np.concatenate([ranks - 1, len(both) - ranks])])
    best = OutcomeSet(
        attack=attack,
        threshold=float(np.median(both)),
        above=True,
        order="first",
        bound="clopper-pearson",
        expected=0.0,
    )
    for above in (True, False):
        inside = [_inside(side, edges, above) for side in (one, two)]
        orders: tuple[tuple[Order, Array, Array], ...] = (
            ("first", inside[0], inside[1]),
            ("second", inside[1], inside[0]),
        )
        for order, hits, false in orders:
            seen, wrong = lower_rate(hits, len(one), _LUCK), upper_rate(false, len(one), _LUCK)
            shown = clopper_pearson(
                np.floor(seen * trials), np.ceil(wrong * trials), trials, scoring.delta, scoring.error
            )
            at = int(np.argmax(shown))
            if shown[at] > best.expected:
                best = replace(best, threshold=float(edges[at]), above=above, order=order, expected=float(shown[at]))
    return best


def choose_middle(attack: Attack, first: Runs, second: Runs, scoring: Scoring, profile: Profile) -> OutcomeSet:
    """The threshold that tells the data sets apart with fewest errors, for the bound of a family."""
    one, two = np.sort(attack.score(first)), np.sort(attack.score(second))
    edges = np.quantile(np.concatenate([one, two]), np.linspace(0.02, 0.98, 49))
    gap = (_inside(one, edges, True) - _inside(two, edges, True)) / len(one)
    turn = 1.0 if gap.sum() >= 0 else -1.0
    smooth = np.convolve(turn * gap, np.full(13, 1 / 13), mode="valid")  # a lucky threshold has unlucky neighbours
    at = 6 + int(np.argmax(smooth)) if smooth.max() > 0.5 * (turn * gap).max() else int(np.argmax(turn * gap))
    errors = math.ceil((1 - turn * gap[at] + 0.7 / math.sqrt(len(one))) * scoring.trials)
    expected = profile(float(advantage(errors, scoring.trials, scoring.error)))
    return OutcomeSet(
        attack=attack, threshold=float(edges[at]), above=turn > 0, order="first", bound="profile", expected=expected
    )


def _inside(ordered: Array, edges: Array, above: bool) -> Array:
    """How many of the sorted scores are above each edge, or not."""
    below = np.searchsorted(ordered, edges, side="right").astype(np.float64)
    return len(ordered) - below if above else below
