"""Audits that look at the runs as they come and stop when a violation is shown.

Batch by batch: from all earlier runs an attack, a threshold and a guess at both rates are chosen; fresh runs are made;
the wagers of :mod:`tacit.audit.betting` win or lose on them. Since every choice comes before the runs that it is scored
on, and the capital of a wager is limited at all times at once, looking costs nothing and stopping is free.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tacit.audit.attacks import Attack, Order, fit_attacks
from tacit.audit.betting import Wager, growth
from tacit.audit.course import Chosen, Course
from tacit.audit.outcomes import Runs
from tacit.audit.result import AuditResult
from tacit.types import Array

_BATCH, _FASTER = 50, 1.25
"""The first batch, runs a side, and how batches grow."""
_CAUTION = 1.0
"""Standard deviations by which guesses are moved towards each other: a guess that is too bold loses."""
_EDGES = 40


@dataclass(frozen=True)
class Guess:
    """A set of results, ``score > threshold`` (or not), and a guess at its rates on the side it speaks for and the
    other."""

    attack: Attack
    threshold: float
    above: bool
    order: Order
    rates: tuple[float, float]
    growth: float

    def counts(self, first: Array, second: Array) -> tuple[int, int]:
        """How many runs fall into the set, on its own side and on the other."""
        one, two = (int(((scores > self.threshold) == self.above).sum()) for scores in (first, second))
        return (one, two) if self.order == "first" else (two, one)


def follow(course: Course, chosen: Chosen, name: str) -> AuditResult:
    """Batches until the claim is refuted, or the runs or the time are used up.

    Where the family is known and Gaussian, its wager decides; else the one without assumptions does, and the other is
    made beside it.
    """
    setting = course.setting
    gaussian = setting.family == "gaussian"
    known = gaussian and setting.known
    wagers = [Wager(setting.claimed, setting.error, gaussian=False)]
    wagers += [Wager(setting.claimed, setting.error, gaussian=True)] if gaussian else []
    main = wagers[int(known)]
    limit = setting.trials // 2 if setting.trials is not None else chosen.trials + len(chosen.sides[0])
    sides, scored, batch, fitted = chosen.sides, 0, _BATCH, 0
    guesses: list[Guess] = []
    attacks: list[Attack] = []
    while len(sides[0]) < limit and not main.done:
        if setting.trials is None and course.elapsed() > setting.seconds:
            break
        if len(sides[0]) >= 2 * fitted:  # statistics are fitted anew when there are twice as many runs
            fitted = len(sides[0])
            half = fitted // 2
            attacks = fit_attacks(sides[0].part(0, half), sides[1].part(0, half), chosen.pair.direction)
        later = sides[0].part(fitted // 2, None), sides[1].part(fitted // 2, None)
        guesses = [_guess(attacks, later, wager) for wager in wagers]
        count = min(int(batch), limit - len(sides[0]))
        one, two = course.both(chosen.pair, count)
        for wager, guess in zip(wagers, guesses, strict=True):
            hits, false = guess.counts(guess.attack.score(one), guess.attack.score(two))
            wager.bet(guess.rates, hits, false, count)
        sides = sides[0].and_also(one), sides[1].and_also(two)
        scored, batch = scored + count, batch * _FASTER
        course.progress("scoring", min(0.99, 0.3 + 0.7 * len(sides[0]) / limit))
    course.progress("done", 1.0)
    guess = guesses[int(known)] if guesses else _guess(fit_attacks(*sides, chosen.pair.direction), sides, main)
    first, second = (guess.attack.score(side) for side in sides)
    return AuditResult(
        subject=name, claimed=setting.claimed.epsilon, delta=setting.claimed.delta,
        adjacency=setting.claimed.adjacency, epsilon=main.epsilon, confidence=1 - setting.error, trials=scored,
        runs=course.runs, attack=guess.attack.name, pair=chosen.pair.name,
        bound="sequential, gaussian" if known else "sequential", clopper_pearson=wagers[0].epsilon,
        ceiling=main.most(max(scored, 1)), seconds=course.elapsed(), seed=course.seed, threshold=guess.threshold,
        if_gaussian=wagers[1].epsilon if gaussian and not known else None, first=first, second=second,
    )  # fmt: skip


def _guess(attacks: list[Attack], sides: tuple[Runs, Runs], wager: Wager) -> Guess:
    """The attack and threshold whose wager against the claim should grow fastest, and cautious guesses at its rates."""
    best: Guess | None = None
    for attack in attacks:
        one, two = (np.sort(attack.score(side)) for side in sides)
        edges = np.unique(np.quantile(np.concatenate([one, two]), _LEVELS, method="lower"))
        above = [(len(side) - np.searchsorted(side, edges, side="right"), len(side)) for side in (one, two)]
        for up in (True, False):
            inside = [count if up else total - count for count, total in above]
            for order, hits, false in (("first", *inside), ("second", *inside[::-1])):
                p1, q1 = _cautious(hits, len(one), -1), _cautious(false, len(two), 1)
                rate = growth(p1, q1, wager.grow[wager.target], wager.add[wager.target])
                at = int(np.argmax(rate))
                if best is None or rate[at] > best.growth * 1.05:
                    rates = float(p1[at]), float(q1[at])
                    side: Order = "first" if order == "first" else "second"
                    best = Guess(attack, float(edges[at]), up, side, rates, float(rate[at]))
    assert best is not None  # there is always the linear discriminant
    return best


_TAIL = np.geomspace(0.002, 0.5, _EDGES // 2)
_LEVELS = np.concatenate([_TAIL, 1 - _TAIL])


def _cautious(count: Array, total: int, sign: int) -> Array:
    """A rate from so many of a total, moved down or up by its uncertainty, and never 0 or 1."""
    rate = (count + 0.5) / (total + 1)
    moved = rate + sign * _CAUTION * np.sqrt(rate * (1 - rate) / (total + 1))
    return np.asarray(np.clip(moved, 0.5 / (total + 1), 1 - 0.5 / (total + 1)))
