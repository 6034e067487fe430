"""One audit under way: the clock, the seeds, how many runs were made, and the choice of a pair and of events.

Everything that is chosen here (pair, statistic, threshold, number of runs) is chosen from the first part of the runs
and from the clock; what is scored comes after.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.audit.attacks import Attack, OutcomeSet, Scoring, choose_middle, choose_tail, fit_attacks
from tacit.audit.intervals import Profile, gaussian_profile
from tacit.audit.outcomes import Runs
from tacit.audit.pairs import Pair
from tacit.audit.subjects import Subject
from tacit.checks import check
from tacit.types import Budget

OnProgress = Callable[[str, float], None]
SHARES, LEAST = (0.1, 0.25), 500
"""Share of the runs that choose, where a family is known and where not (tails take more to learn); the others are
scored. At least ``LEAST`` a side choose, or a quarter where runs are few."""
MOST_TRIALS = 1_000_000
_FIRST, _QUICK = 24, 100
"""Runs a side on each pair, at least; and where runs are looked at as they come, since they go on to teach."""
_CLEAR = 1.15
"""How many times the claim must be expected to show for a violation to be clear."""


def training_runs(trials: int, share: float) -> int:
    """Runs that choose, of so many on a side."""
    return min(max(int(share * trials), LEAST), trials // 4)


@dataclass(frozen=True, kw_only=True)
class Terms:
    """What the bounds are for.

    ``family`` names the family whose bound is computed ('' for none), ``profile`` is that bound, and ``known`` says
    whether the procedure is known to be of the family; where it is not, the bound is one *if* it is.
    """

    claimed: Budget
    error: float
    family: str = ""
    profile: Profile | None = None
    known: bool = False
    seconds: float = 15.0
    trials: int | None = None

    @property
    def rough(self) -> Profile | None:
        """What stands for ``profile`` in predictions, which are many."""
        return None if self.profile is None else gaussian_profile(self.claimed.delta)


@dataclass(frozen=True, kw_only=True)
class Selected:
    """A pair, the events to score on it, for how many runs a side, and the runs that they were chosen from."""

    pair: Pair
    plain: OutcomeSet
    middle: OutcomeSet | None
    trials: int
    sides: tuple[Runs, Runs]
    clear: bool = False

    @property
    def by_family(self) -> bool:
        """Whether the family's bound promised more, and the one without assumptions is not ``clear`` by itself."""
        return self.middle is not None and self.middle.expected > self.plain.expected and not self.clear


class Campaign:
    """The runs of one audit."""

    def __init__(
        self, subject: Subject, terms: Terms, seed: int, progress: OnProgress, *, made: int = 0, quick: bool = False
    ) -> None:
        self.subject, self.terms, self.seed, self.progress = subject, terms, seed, progress
        self.start, self.runs, self.draws = time.perf_counter(), made, 0
        self.quick = quick
        self.share = SHARES[0] if terms.known else SHARES[1]

    def both(self, pair: Pair, count: int) -> tuple[Runs, Runs]:
        """Fresh runs on both sides: every draw has a seed of its own."""
        self.runs += 2 * count
        self.draws += 2
        return self.subject.draw_both(pair, count, ((self.seed, self.draws - 1), (self.seed, self.draws)))

    def elapsed(self) -> float:
        """Seconds since the audit began."""
        return time.perf_counter() - self.start

    def choose(self, pairs: Sequence[Pair]) -> Selected:
        """The most promising pair, its events, and the runs to score on each side."""
        found: list[tuple[float, float, Pair, tuple[Runs, Runs]]] = []
        for number, pair in enumerate(pairs):
            self.progress(f"pair '{pair.name}'", 0.3 * number / (len(pairs) + 1))
            sides, rate = self._explore(pair, len(pairs))
            plain, middle = self.promise(pair, sides, self._affordable(rate), trees=len(pairs) == 1)
            other = middle.expected if middle is not None else 0.0
            # Of two pairs that few runs in the tails cannot tell apart, the middle can.
            hope = max(plain.expected, other) if self.terms.known else plain.expected + other
            found.append((hope, rate, pair, sides))
        nothing = all(sides[0].and_also(sides[1]).empty for *_, sides in found)
        check(not nothing, "Training gave nothing but NaN on both data sets. Expected parameters.")
        _, rate, pair, sides = max(found, key=lambda entry: entry[0])
        target, trials = self._affordable(rate), self.terms.trials
        if self.quick:
            plain, middle = self.promise(pair, sides, target, trees=False)
            return Selected(pair=pair, plain=plain, middle=middle, trials=target, sides=sides)
        fitted = training_runs(trials // 2 if trials is not None else int(target / (1 - self.share)), self.share)
        if len(sides[0]) < fitted:
            again, made = time.perf_counter(), self.runs
            sides = self.more(pair, sides, fitted - len(sides[0]))
            rate = max((time.perf_counter() - again) / (self.runs - made), 1e-9)
        target = self._affordable(rate, trained=True)
        plain, middle = self.promise(pair, sides, target, trees=True)
        return self._enough(Selected(pair=pair, plain=plain, middle=middle, trials=target, sides=sides))

    def more(self, pair: Pair, sides: tuple[Runs, Runs], count: int) -> tuple[Runs, Runs]:
        """Runs and so many more on each side."""
        one, two = self.both(pair, count)
        return sides[0].and_also(one), sides[1].and_also(two)

    def _explore(self, pair: Pair, pairs: int) -> tuple[tuple[Runs, Runs], float]:
        """First runs on a pair, as many as its part of the time or of the trials pays for, and seconds a run."""
        began, trials = time.perf_counter(), self.terms.trials
        share = 0.3 * self.terms.seconds / (pairs + 1)
        sides = self.both(pair, _FIRST)
        if sides[0].and_also(sides[1]).empty:
            return sides, 1e-9
        spent = time.perf_counter() - began
        rate = spent / (2 * _FIRST)
        most = 20_000 if trials is None else max(_FIRST, training_runs(trials // 2, self.share) // pairs)
        most = min(most, _QUICK) if self.quick else most
        while len(sides[0]) < most and (trials is not None or 3 * spent < share):
            more = min(most - len(sides[0]), most if trials is not None else len(sides[0]))
            again = time.perf_counter()
            sides = self.more(pair, sides, more)
            rate = max((time.perf_counter() - again) / (2 * more), 1e-9)  # of the last: the first ones warm up
            spent = time.perf_counter() - began
        return sides, rate

    def _affordable(self, rate: float, *, trained: bool = False) -> int:
        """Runs to score on each side: what ``trials`` leaves, or what the time left pays for; a part of that goes on
        runs that choose, unless these are made."""
        if self.terms.trials is not None:
            half = self.terms.trials // 2
            return max(10, half - training_runs(half, self.share))
        left = max(self.terms.seconds - self.elapsed(), 0.1 * self.terms.seconds)
        part = 1.0 if trained else 1 - self.share
        return int(np.clip(0.85 * part * left / (2 * rate), 100, MOST_TRIALS // 2))

    def promise(
        self, pair: Pair, sides: tuple[Runs, Runs], trials: int, *, trees: bool
    ) -> tuple[OutcomeSet, OutcomeSet | None]:
        """The best sets without a family and for it: statistics fitted on one half of these runs, their thresholds
        chosen on the other."""
        half = len(sides[0]) // 2
        attacks = fit_attacks(sides[0].part(0, half), sides[1].part(0, half), self.subject.direction(pair), trees=trees)
        plain = _best([self._tail(attack, sides, trials) for attack in attacks])
        if self.terms.rough is None:
            return plain, None
        return plain, _best([self._middle(attack, sides, trials) for attack in attacks])

    def _scoring(self, trials: int) -> Scoring:
        return Scoring(trials, self.terms.claimed.delta, self.terms.error)

    def _tail(self, attack: Attack, sides: tuple[Runs, Runs], trials: int) -> OutcomeSet:
        one, two = (side.part(len(side) // 2, None) for side in sides)
        return choose_tail(attack, one, two, self._scoring(trials))

    def _middle(self, attack: Attack, sides: tuple[Runs, Runs], trials: int) -> OutcomeSet:
        one, two = (side.part(len(side) // 2, None) for side in sides)
        profile = self.terms.rough or gaussian_profile(self.terms.claimed.delta)
        return choose_middle(attack, one, two, self._scoring(trials), profile)

    def _enough(self, chosen: Selected) -> Selected:
        """The fewest scored runs, doubling, that are expected to show a violation clearly; else all that are
        affordable. Where the family is not known, only what shows it without assumptions counts."""
        count, wanted = 500, _CLEAR * self.terms.claimed.epsilon
        while self.terms.trials is None and count < chosen.trials:
            plain = self._tail(chosen.plain.attack, chosen.sides, count)
            middle = self._middle(chosen.middle.attack, chosen.sides, count) if chosen.middle is not None else None
            clear = plain.expected > wanted
            fewer = replace(chosen, plain=plain, middle=middle, trials=count, clear=clear)
            if clear or (self.terms.known and middle is not None and middle.expected > wanted):
                return fewer
            count *= 2
        return replace(chosen, clear=chosen.plain.expected > wanted)


def _best(sets: list[OutcomeSet]) -> OutcomeSet:
    """From plain to flexible: a flexible one must promise clearly more."""
    best = sets[0]
    for one in sets[1:]:
        best = one if one.expected > 1.1 * best.expected + 0.02 else best
    return best
