"""The audit: choose a pair and an attack on some runs, fix the set of outcomes, score it on fresh ones.

Everything that is chosen (pair, statistic, threshold, kind of bound, number of runs) is chosen from the first part of
the runs and from the clock; the bound is computed once, on the second part, which nothing was chosen from. So it holds
at its full confidence.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.attacks import Attack, Event, choose_event, fit_attacks
from tacit.audit.bounds import Profile, advantage, ceiling, clopper_pearson, gaussian_profile
from tacit.audit.pairs import Data, Pair, Task, library
from tacit.audit.result import AuditResult
from tacit.audit.subjects import NO_NUMBER, Planned, Subject, planned, profile_of, subject_of
from tacit.checks import check, check_positive
from tacit.types import Array, Budget

Progress = Callable[[str, float], None]
SHARES, LEAST = (0.1, 0.25), 500
"""Share of the runs that choose, with a family's bound and without (tails take more to learn); the others are scored.
At least ``LEAST`` a side choose, or a quarter where runs are few."""
MOST_TRIALS = 1_000_000
_FIRST = 24
_CLEAR = 1.15


def training_runs(trials: int, share: float) -> int:
    """Runs that choose, of so many on a side."""
    return min(max(int(share * trials), LEAST), trials // 4)


@dataclass(frozen=True)
class _Setting:
    """What the bound is for. ``rough`` stands for ``profile`` in predictions, which are many."""

    delta: float
    error: float
    profile: Profile | None

    @property
    def rough(self) -> Profile | None:
        return None if self.profile is None else gaussian_profile(self.delta)


def audit(
    train: Any,
    claimed: Budget,
    *,
    pairs: Sequence[Pair] | Pair | None = None,
    family: str | None = None,
    confidence: float = 0.999,
    trials: int | None = None,
    seconds: float = 15.0,
    task: Task | None = None,
    records: int = 16,
    clip: float = 1.0,
    bound: float = 1.0,
    loss: str = "logistic",
    regularization: float | None = None,
    intercept: float = 0.0,
    columns: int = 2,
    seed: int | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """A lower bound on the epsilon of a training procedure at the claimed delta, valid with probability ``confidence``.

    ``train``: a method's name (with its ``loss``, ``regularization``, ``intercept``), an estimator with ``fit`` and
    ``coef_``, or a function ``train(X, y, rng) -> parameters``. ``pairs``: one or several of neighbouring data sets;
    None is the library's, for ``task`` with ``records`` rows of norm ``clip`` and targets within ``bound``.
    ``family='gaussian'`` adds the Gaussian-DP bound, for a procedure that is known to be as private as some Gaussian
    mechanism; methods bring their own. ``trials``: runs in all on the pair that is chosen; None takes as many as fit in
    ``seconds``, fewer where fewer show a violation.

    Guarantee: if the procedure is (epsilon, delta)-private under the adjacency of the claim, the bound exceeds epsilon
    with probability at most 1 - confidence, whatever the procedure. Edges: two sets that cannot be told apart give 0.
    """
    _check_claim(claimed)
    check(0.7 < confidence < 1, f"Expected 0.7 < confidence={confidence} < 1.")
    check(family in (None, "gaussian"), f"Expected family={family!r} to be None or 'gaussian'.")
    check(trials is None or trials >= 100, f"Expected trials={trials} >= 100.")
    check_positive("seconds", seconds)
    if isinstance(train, str):
        kinds: dict[str, Task] = {"squared": "regression", "softmax": "multiclass"}
        task = task or kinds.get(loss, "classification")
        train = planned(
            train, claimed, loss=loss, records=records, features=columns, clip=clip, intercept=intercept,
            regularization=regularization,
        )  # fmt: skip
    subject = subject_of(train, name)
    chosen = (pairs,) if isinstance(pairs, Pair) else tuple(pairs or library(
        claimed.adjacency, task=task or "classification", records=records, clip=clip, bound=bound, columns=columns
    ))  # fmt: skip
    check(all(isinstance(pair, Pair) for pair in chosen), "Expected pairs to be Pair objects: Pair.of(first, second).")
    family_name, profile = "", None
    if isinstance(subject, Planned):
        family_name, profile = profile_of(getattr(subject.plan, "events", ()), claimed) or ("", None)
    elif family:
        family_name, profile = family, gaussian_profile(claimed.delta)
    start = time.perf_counter()
    seed = secrets.randbits(48) if seed is None else seed
    setting = _Setting(claimed.delta, 1 - confidence, profile)
    run = _Run(subject, setting, claimed, start, seconds, trials, seed, progress or (lambda stage, part: None))
    return run.score(*run.choose(chosen), family_name, name or subject.name, confidence)


def _check_claim(claimed: Budget) -> None:
    check(isinstance(claimed, Budget), "Expected claimed to be a Budget: tacit.Budget(epsilon, delta, adjacency).")


class _Run:
    """One audit under way: the clock, the seeds, and how many runs were made."""

    def __init__(
        self,
        subject: Subject,
        setting: _Setting,
        claimed: Budget,
        start: float,
        seconds: float,
        trials: int | None,
        seed: int,
        progress: Progress,
    ) -> None:
        self.subject, self.setting, self.claimed, self.start = subject, setting, claimed, start
        self.seconds, self.trials, self.seed, self.progress = seconds, trials, seed, progress
        self.runs, self.draws = 0, 0
        self.share = SHARES[0] if setting.profile else SHARES[1]

    def draw(self, data: Data, count: int) -> Array:
        """Fresh runs: every draw has a seed of its own."""
        self.draws += 1
        self.runs += count
        return self.subject.draw(data, count, (self.seed, self.draws))

    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    def choose(self, pairs: tuple[Pair, ...]) -> tuple[Pair, Event, int]:
        """The most promising pair, its event, and the runs to score on each side."""
        found: list[tuple[float, float, Pair, list[Array]]] = []
        share = 0.3 * self.seconds / (len(pairs) + 1)
        for number, pair in enumerate(pairs):
            self.progress(f"pair '{pair.name}'", 0.3 * number / (len(pairs) + 1))
            began = time.perf_counter()
            sides = [self.draw(data, _FIRST) for data in (pair.first, pair.second)]
            nothing = all(bool((side == NO_NUMBER).all()) for side in sides)
            check(not nothing, "Training gave nothing but NaN on both data sets. Expected parameters.")
            spent = time.perf_counter() - began
            rate = spent / (2 * _FIRST)
            most = (
                20_000
                if self.trials is None
                else max(_FIRST, training_runs(self.trials // 2, self.share) // len(pairs))
            )
            while len(sides[0]) < most and (self.trials is not None or 3 * spent < share):
                more = min(most - len(sides[0]), most if self.trials is not None else len(sides[0]))
                again = time.perf_counter()
                sides = self._more(pair, sides, more)
                rate = max((time.perf_counter() - again) / (2 * more), 1e-9)  # of the last: the first ones warm up
                spent = time.perf_counter() - began
            event = self._promise(pair, sides, self._affordable(rate), trees=len(pairs) == 1)
            found.append((event.expected, rate, pair, sides))
        _, rate, pair, sides = max(found, key=lambda entry: entry[0])
        target = self._affordable(rate)
        fitted = training_runs(
            self.trials // 2 if self.trials is not None else int(target / (1 - self.share)), self.share
        )
        if len(sides[0]) < fitted:
            sides = self._more(pair, sides, fitted - len(sides[0]))
        event, trials = self._enough(sides, self._promise(pair, sides, target, trees=True), target)
        return pair, event, trials

    def _more(self, pair: Pair, sides: list[Array], count: int) -> list[Array]:
        return [
            np.vstack([old, self.draw(data, count)]) for old, data in zip(sides, (pair.first, pair.second), strict=True)
        ]

    def _affordable(self, rate: float) -> int:
        """Runs to score on each side: what ``trials`` leaves, or what the time left pays for."""
        if self.trials is not None:
            return max(10, self.trials // 2 - training_runs(self.trials // 2, self.share))
        left = max(self.seconds - self.elapsed(), 0.1 * self.seconds)
        return int(np.clip(0.85 * (1 - self.share) * left / (2 * rate), 100, MOST_TRIALS // 2))

    def _promise(self, pair: Pair, sides: list[Array], trials: int, *, trees: bool) -> Event:
        """The best event: statistics fitted on one half of these runs, their thresholds chosen on the other."""
        half = len(sides[0]) // 2
        attacks = fit_attacks(sides[0][:half], sides[1][:half], pair.direction, trees=trees)
        best = self._event(attacks[0], sides, trials)
        for attack in attacks[1:]:  # from plain to flexible: a flexible one must promise clearly more
            event = self._event(attack, sides, trials)
            best = event if event.expected > 1.1 * best.expected + 0.02 else best
        return best

    def _event(self, attack: Attack, sides: list[Array], trials: int) -> Event:
        half, setting = len(sides[0]) // 2, self.setting
        return choose_event(
            attack, sides[0][half:], sides[1][half:], trials=trials, delta=setting.delta, error=setting.error,
            profile=setting.rough,
        )  # fmt: skip

    def _enough(self, sides: list[Array], event: Event, most: int) -> tuple[Event, int]:
        """The fewest scored runs, doubling, that are expected to show a violation clearly; else all that are
        affordable."""
        count = 500
        while self.trials is None and count < most:
            fewer = self._event(event.attack, sides, count)
            if fewer.expected > _CLEAR * self.claimed.epsilon:
                return fewer, count
            count *= 2
        return event, most

    def score(self, pair: Pair, event: Event, trials: int, family: str, name: str, confidence: float) -> AuditResult:
        """Fresh runs on the chosen pair, one count, one bound."""
        parts: list[tuple[Array, Array]] = []
        piece = max(1, -(-trials // 10))
        for done in range(0, trials, piece):
            self.progress("scoring", 0.3 + 0.7 * done / trials)
            count = min(piece, trials - done)
            parts.append(
                (event.attack.score(self.draw(pair.first, count)), event.attack.score(self.draw(pair.second, count)))
            )
        first, second = (np.concatenate([part[side] for part in parts]) for side in (0, 1))
        hits, false = event.counts(first, second)
        error, delta = self.setting.error, self.setting.delta
        plain = float(clopper_pearson(hits, false, trials, delta, error))
        epsilon, most, kind = plain, ceiling(trials, delta, error), "clopper-pearson"
        if event.bound == "profile" and self.setting.profile is not None:
            kind = family
            epsilon = self.setting.profile(float(advantage(trials - hits + false, trials, error)))
            most = self.setting.profile(float(advantage(0, trials, error)))
        self.progress("done", 1.0)
        return AuditResult(
            subject=name, claimed=self.claimed.epsilon, delta=delta, adjacency=self.claimed.adjacency, epsilon=epsilon,
            confidence=confidence, trials=trials, runs=self.runs, attack=event.attack.name, pair=pair.name, bound=kind,
            clopper_pearson=plain, ceiling=most, seconds=self.elapsed(), seed=self.seed, threshold=event.threshold,
            first=first, second=second,
        )  # fmt: skip


def audit_samplers(
    first: Callable[[np.random.Generator, int], Array],
    second: Callable[[np.random.Generator, int], Array],
    claimed: Budget,
    *,
    family: str | None = None,
    confidence: float = 0.999,
    trials: int | None = None,
    seconds: float = 15.0,
    seed: int | None = None,
    name: str = "sampler",
    progress: Progress | None = None,
) -> AuditResult:
    """Audit a record-level (local) mechanism: two functions that draw ``trials`` submissions of one record each, as
    rows.

    ``first`` and ``second`` privatise two records that an attacker wants to tell apart. All else is as in
    :func:`audit`.
    """
    _check_claim(claimed)
    mark = np.zeros((1, 1)), np.ones((1, 1))

    class Local:
        name = "local"

        def draw(self, data: Data, count: int, key: tuple[int, ...]) -> Array:
            sampler = first if data.rows[0, 0] == 0 else second
            runs = np.asarray(sampler(np.random.default_rng(np.random.SeedSequence(key)), count), dtype=np.float64)
            return runs.reshape(count, -1)

    pair = Pair("two records", "", Data(mark[0], np.zeros(1)), Data(mark[1], np.zeros(1)), np.zeros(1))
    profile = gaussian_profile(claimed.delta) if family else None
    seed = secrets.randbits(48) if seed is None else seed
    setting = _Setting(claimed.delta, 1 - confidence, profile)
    run = _Run(
        Local(), setting, claimed, time.perf_counter(), seconds, trials, seed, progress or (lambda stage, part: None)
    )
    return run.score(*run.choose((pair,)), family or "", name, confidence)
