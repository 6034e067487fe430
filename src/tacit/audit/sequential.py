"""Audits that look at the runs as they come and stop when a violation is shown.

Batch by batch: from all earlier runs an attack, a threshold and a guess at both rates are chosen; fresh runs are made;
the wagers of :mod:`tacit.audit.betting` win or lose on them. Since every choice comes before the runs that it is scored
on, and the capital of a wager is limited at all times at once, looking costs nothing and stopping is free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from tacit.audit.attacks import Attack, Order, fit_attacks
from tacit.audit.betting import Wager, growth
from tacit.audit.campaign import Campaign, Selected
from tacit.audit.outcomes import Runs
from tacit.audit.result import AuditResult
from tacit.types import Array

_BATCH, _FASTER = 50, 1.25
"""The first batch, runs a side, and how batches grow."""
_CAUTION = 1.0
"""Standard deviations by which guesses are moved towards each other: a guess that is too bold loses."""
_AGAIN = 1.6
"""Attacks and thresholds are chosen anew when there are so many times more runs."""
_PLAIN = 1.1
_STEP = 3
_TAIL = np.geomspace(0.002, 0.5, 20)
_LEVELS = np.concatenate([_TAIL, 1 - _TAIL])


@dataclass(frozen=True, kw_only=True)
class Guess:
    """A set of results, ``score > threshold`` (or not), and how many runs fell into it on the side it speaks for and on
    the other, of ``runs`` on each that it was not fitted to."""

    attack: Attack
    threshold: float
    above: bool
    order: Order
    hits: int
    false: int
    runs: int
    growth: float = 0.0

    @property
    def rates(self) -> tuple[float, float]:
        """Cautious guesses at both rates."""
        return float(_cautious(self.hits, self.runs, -1)), float(_cautious(self.false, self.runs, 1))

    def counts(self, first: Runs, second: Runs) -> tuple[int, int]:
        """How many runs fall into the set, on its own side and on the other."""
        one, two = (int(((self.attack.score(r) > self.threshold) == self.above).sum()) for r in (first, second))
        return (one, two) if self.order == "first" else (two, one)

    def learned(self, hits: int, false: int, runs: int) -> Guess:
        """The same set, with more runs behind its rates."""
        return replace(self, hits=self.hits + hits, false=self.false + false, runs=self.runs + runs)


def follow(campaign: Campaign, chosen: Selected, name: str) -> AuditResult:
    """Batches until the claim is refuted, or the runs or the time are used up.

    Where the family is known and Gaussian, its wager decides; else the one without assumptions does, and the other is
    made beside it.
    """
    terms = campaign.terms
    gaussian = terms.family == "gaussian"
    known = gaussian and terms.known
    wagers = [Wager(terms.claimed, terms.error, gaussian=kind) for kind in ((False, True) if gaussian else (False,))]
    main = wagers[int(known)]
    limit = terms.trials // 2 if terms.trials is not None else chosen.trials + len(chosen.sides[0])
    sides, scored, batch, fitted = chosen.sides, 0, float(_BATCH), 0
    guesses: list[Guess] = []
    while not guesses or (len(sides[0]) < limit and not main.done):
        if guesses and terms.trials is None and campaign.elapsed() > terms.seconds:
            break
        if len(sides[0]) >= _AGAIN * fitted:
            fitted = len(sides[0])
            guesses = _guesses(sides, campaign.subject.direction(chosen.pair), wagers)
        count = max(1, min(int(batch), limit - len(sides[0])))
        one, two = campaign.both(chosen.pair, count)
        for number, (wager, guess) in enumerate(zip(wagers, guesses, strict=True)):
            hits, false = guess.counts(one, two)
            wager.bet(guess.rates, hits, false, count)
            guesses[number] = guess.learned(hits, false, count)
        sides = sides[0].and_also(one), sides[1].and_also(two)
        scored, batch = scored + count, batch * _FASTER
        campaign.progress("scoring", min(0.99, 0.3 + 0.7 * len(sides[0]) / limit))
    campaign.progress("done", 1.0)
    guess = guesses[int(known)]
    first, second = (guess.attack.score(side) for side in sides)
    return AuditResult(
        subject=name, claimed=terms.claimed.epsilon, delta=terms.claimed.delta,
        adjacency=terms.claimed.adjacency, epsilon=main.epsilon, confidence=1 - terms.error, trials=scored,
        runs=campaign.runs, attack=guess.attack.name, pair=chosen.pair.name, about=chosen.pair.about,
        bound="sequential, gaussian" if known else "sequential", clopper_pearson=wagers[0].epsilon,
        ceiling=main.most(max(scored, 1)), seconds=campaign.elapsed(), seed=campaign.seed, threshold=guess.threshold,
        if_gaussian=wagers[1].epsilon if gaussian and not known else None, first=first, second=second,
    )  # fmt: skip


def _guesses(sides: tuple[Runs, Runs], direction: Array, wagers: list[Wager]) -> list[Guess]:
    """For each wager the attack and threshold with which it should grow fastest: fitted on one half of these runs,
    chosen on the other."""
    half = len(sides[0]) // 2
    attacks = fit_attacks(sides[0].part(0, half), sides[1].part(0, half), direction)
    rest = sides[0].part(half, None), sides[1].part(half, None)
    sets = [candidate for attack in attacks for candidate in _candidates(attack, rest)]
    hits, false = np.array([guess.hits for guess in sets]), np.array([guess.false for guess in sets])
    p1, q1 = _cautious(hits, sets[0].runs, -1), _cautious(false, sets[0].runs, 1)
    found = []
    for wager in wagers:
        for target in range(wager.target, -1, -_STEP):  # where the claim seems to hold, a smaller one may not
            rate = growth(p1, q1, wager.grow[target], wager.add[target])
            if rate.max() > 0:
                break
        best = int(np.argmax(rate > rate.max() / _PLAIN))  # from plain to flexible, as good as the best
        found.append(replace(sets[best if rate.max() > 0 else 0], growth=float(rate.max())))
    return found


def _candidates(attack: Attack, sides: tuple[Runs, Runs]) -> list[Guess]:
    """All thresholds of an attack, both ways round."""
    one, two = (np.sort(attack.score(side)) for side in sides)
    found = []
    for edge in np.unique(np.quantile(np.concatenate([one, two]), _LEVELS, method="lower")):
        over = [len(side) - int(np.searchsorted(side, edge, side="right")) for side in (one, two)]
        for above in (True, False):
            first, second = over if above else [len(one) - count for count in over]
            guess = Guess(
                attack=attack, threshold=float(edge), above=above, order="first", hits=first, false=second,
                runs=len(one),
            )  # fmt: skip
            found += [guess, replace(guess, order="second", hits=second, false=first)]
    return found


def _cautious(count: Array | float, total: int, sign: int) -> Array:
    """A rate from so many of a total, moved down or up by its uncertainty, and never 0 or 1."""
    rate = (np.asarray(count, dtype=np.float64) + 0.5) / (total + 1)
    moved = rate + sign * _CAUTION * np.sqrt(rate * (1 - rate) / (total + 1))
    return np.asarray(np.clip(moved, 0.5 / (total + 1), 1 - 0.5 / (total + 1)))
