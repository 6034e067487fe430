"""The audit: choose a pair and an attack on some runs, fix the set of outcomes, score it on fresh ones.

Everything that is chosen (pair, statistic, threshold, kind of bound, number of runs) is chosen from the first part of the runs and
from the clock; the bound is computed once, on the second part, which nothing was chosen from. So it holds at its full confidence.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.audit.attacks import Event, choose_event, fit_attacks
from tacit.audit.bounds import Profile, advantage, ceiling, clopper_pearson, gaussian_profile
from tacit.audit.pairs import Data, Pair, Task, library
from tacit.audit.result import AuditResult
from tacit.audit.subjects import Planned, Subject, planned, profile_of, subject_of
from tacit.checks import check, check_positive
from tacit.types import Array, Budget

Progress = Callable[[str, float], None]
TRAINING = 0.25
"""Share of the runs that choose; the others are scored."""
MOST_TRIALS = 400_000
_FIRST = 24
_CLEAR = 1.15


@dataclass(frozen=True)
class _Setting:
    delta: float
    error: float
    profile: Profile | None


def audit(
    train: Any, claimed: Budget, *, pairs: Sequence[Pair] | None = None, family: str | None = None, confidence: float = 0.999,
    trials: int | None = None, seconds: float = 15.0, task: Task | None = None, records: int = 32, clip: float = 1.0, bound: float = 1.0,
    loss: str = "logistic", regularization: float | None = None, intercept: float = 0.0, columns: int = 2, seed: int | None = None,
    name: str | None = None, progress: Progress | None = None,
) -> AuditResult:  # fmt: skip
    """A lower bound on the epsilon of a training procedure at the claimed delta, valid with probability ``confidence``.

    ``train``: a method's name (with its ``loss``, ``regularization``, ``intercept``), an estimator with ``fit`` and ``coef_``, or a
    function ``train(X, y, rng) -> parameters``. ``pairs``: neighbouring data sets; None is the library's, for ``task`` with
    ``records`` rows of norm ``clip`` and targets within ``bound``. ``family='gaussian'`` adds the Gaussian-DP bound, for a
    procedure that is known to be as private as some Gaussian mechanism; methods bring their own. ``trials``: runs in all on the
    pair that is chosen; None takes as many as fit in ``seconds``, fewer where fewer show a violation.

    Guarantee: if the procedure is (epsilon, delta)-private under the adjacency of the claim, the bound exceeds epsilon with
    probability at most 1 - confidence, whatever the procedure. Edges: two sets that cannot be told apart give 0.
    """
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
    given = pairs is not None
    chosen = tuple(pairs or library(
        claimed.adjacency, task=task or "classification", records=records, clip=clip, bound=bound, columns=columns
    ))  # fmt: skip
    check(chosen, "Expected at least one pair of data sets.")
    family_name, profile = "", None
    if isinstance(subject, Planned):
        family_name, profile = profile_of(subject.plan.events, claimed) or ("", None)
    elif family:
        family_name, profile = family, gaussian_profile(claimed.delta)
    start = time.perf_counter()
    seed = secrets.randbits(48) if seed is None else seed
    setting = _Setting(claimed.delta, 1 - confidence, profile)
    run = _Run(subject, setting, claimed, start, seconds, trials, seed, progress or (lambda stage, part: None))
    pair, event, training = run.choose(chosen, given)
    return run.score(pair, event, training, family_name, name or subject.name, confidence)


class _Run:
    """One audit under way: the clock, the seeds, and how many runs were made."""

    def __init__(
        self, subject: Subject, setting: _Setting, claimed: Budget, start: float, seconds: float, trials: int | None, seed: int,
        progress: Progress,
    ) -> None:  # fmt: skip
        self.subject, self.setting, self.claimed, self.start = subject, setting, claimed, start
        self.seconds, self.trials, self.seed, self.progress = seconds, trials, seed, progress
        self.runs, self.draws = 0, 0

    def draw(self, data: Data, count: int) -> Array:
        """Fresh runs: every draw has a seed of its own."""
        self.draws += 1
        self.runs += count
        return self.subject.draw(data, count, (self.seed, self.draws))

    def elapsed(self) -> float:
        return time.perf_counter() - self.start

    def choose(self, pairs: tuple[Pair, ...], given: bool) -> tuple[Pair, Event, tuple[float, int]]:
        """The most promising pair, its event, and (seconds for one run, runs to score a side)."""
        found: list[tuple[float, Pair, Array, Array]] = []
        share = TRAINING * self.seconds / (len(pairs) + 1)
        rate = 0.0
        for number, pair in enumerate(pairs):
            self.progress(f"pair '{pair.name}'", number / (len(pairs) + 1) * TRAINING)
            began = time.perf_counter()
            sides = [self.draw(data, _FIRST) for data in (pair.first, pair.second)]
            size = _FIRST
            spent = time.perf_counter() - began
            most = self._most_training(len(pairs))
            while size < most and (self.trials is not None or spent < 0.3 * share):
                more = min(most - size, size if self.trials is None else most)
                sides = [np.vstack([old, self.draw(data, more)]) for old, data in zip(sides, (pair.first, pair.second), strict=True)]
                size += more
                spent = time.perf_counter() - began
            rate = max(spent / (2 * size), 1e-9)
            event = self._promise(pair, sides[0], sides[1], self._affordable(rate))
            found.append((event.expected, pair, sides[0], sides[1]))
        _, pair, first, second = max(found, key=lambda entry: entry[0])
        target = self._affordable(rate)
        wanted = int(TRAINING / (1 - TRAINING) * target)
        if len(first) < wanted:
            first, second = (
                np.vstack([old, self.draw(data, wanted - len(old))]) for old, data in ((first, pair.first), (second, pair.second))
            )
        event = self._promise(pair, first, second, target)
        return pair, event, (rate, self._enough(pair, first, second, event, target))

    def _most_training(self, pairs: int) -> int:
        if self.trials is None:
            return 20_000
        return max(_FIRST, int(TRAINING * self.trials / 2) if pairs == 1 else int(TRAINING * self.trials / 2 / (pairs + 1)))

    def _affordable(self, rate: float) -> int:
        """Runs to score on each side: what ``trials`` leaves, or what the time left pays for."""
        if self.trials is not None:
            return max(50, int((1 - TRAINING) * self.trials / 2))
        left = max(self.seconds - self.elapsed(), 0.1 * self.seconds)
        return int(np.clip(0.8 * (1 - TRAINING) * left / (2 * rate), 100, MOST_TRIALS // 2))

    def _promise(self, pair: Pair, first: Array, second: Array, trials: int) -> Event:
        """The best event: statistics fitted on one half of these runs, their thresholds chosen on the other."""
        half = len(first) // 2
        attacks = fit_attacks(first[:half], second[:half], pair.direction)
        options = [
            choose_event(
                attack, first[half:], second[half:], trials=trials, delta=self.setting.delta, error=self.setting.error,
                profile=self.setting.profile,
            )
            for attack in attacks
        ]  # fmt: skip
        return max(options, key=lambda event: event.expected)

    def _enough(self, pair: Pair, first: Array, second: Array, event: Event, most: int) -> int:
        """The fewest scored runs, doubling, that are expected to show a violation clearly; else all that are affordable."""
        if self.trials is not None:
            return most
        half, count = len(first) // 2, 500
        while count < most:
            again = choose_event(
                event.attack, first[half:], second[half:], trials=count, delta=self.setting.delta, error=self.setting.error,
                profile=self.setting.profile,
            )  # fmt: skip
            if again.expected > _CLEAR * self.claimed.epsilon:
                return count
            count *= 2
        return most

    def score(
        self, pair: Pair, event: Event, plan: tuple[float, int], family: str, name: str, confidence: float
    ) -> AuditResult:
        """Fresh runs on the chosen pair, one count, one bound."""
        _, trials = plan
        parts: list[tuple[Array, Array]] = []
        piece = max(1, -(-trials // 10))
        for done in range(0, trials, piece):
            self.progress("scoring", TRAINING + (1 - TRAINING) * done / trials)
            count = min(piece, trials - done)
            parts.append((event.attack.score(self.draw(pair.first, count)), event.attack.score(self.draw(pair.second, count))))
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
    first: Callable[[np.random.Generator, int], Array], second: Callable[[np.random.Generator, int], Array], claimed: Budget, *,
    family: str | None = None, confidence: float = 0.999, trials: int | None = None, seconds: float = 15.0, seed: int | None = None,
    name: str = "sampler", progress: Progress | None = None,
) -> AuditResult:  # fmt: skip
    """Audit a record-level (local) mechanism: two functions that draw ``trials`` submissions of one record each, as rows.

    ``first`` and ``second`` privatise two records that an attacker wants to tell apart. All else is as in :func:`audit`.
    """
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
    run = _Run(Local(), setting, claimed, time.perf_counter(), seconds, trials, seed, progress or (lambda stage, part: None))
    chosen, event, plan = run.choose((pair,), given=True)
    return run.score(chosen, event, plan, family or "", name, confidence)
