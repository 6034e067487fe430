"""The audit: choose a pair and an attack on some runs, fix the set of outcomes, score it on fresh ones.

Everything that is chosen (pair, statistic, threshold, kind of bound, number of runs) is chosen from the first part of
the runs and from the clock; each bound is computed once, on the second part, which nothing was chosen from. So it holds
at its full confidence. An audit that may stop at any time is in :mod:`tacit.audit.sequential`.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tacit.audit.course import Chosen, Course, Progress, Setting
from tacit.audit.intervals import advantage, ceiling, clopper_pearson, gaussian_profile
from tacit.audit.outcomes import RAISED, Runs
from tacit.audit.pairs import Data, Pair, Task, library
from tacit.audit.result import AuditResult
from tacit.audit.sequential import follow
from tacit.audit.strangers import Estimator, Trained
from tacit.audit.subjects import Planned, Subject, planned, profile_of, subject_of
from tacit.audit.watching import Watched, watch
from tacit.checks import check, check_positive
from tacit.types import Array, Budget

SAME = (
    "Every run on the same data gave the same result, and another one on the neighbour: its noise is the same each "
    "time (a fixed random_state or seed), or there is none. For whoever knows it epsilon is infinite."
)
UNSET = (
    "With random_state=None, as users leave it, all fits on the same data gave the same {names}, and another one on "
    "the neighbour; only with a seed set for each fit were there differences. Its noise is the same each time. For "
    "whoever knows it epsilon is infinite."
)
REFUSED = (
    "It raised an error on one of the two data sets and not on the other. To compare it where it raises none, give "
    "pairs= of your own."
)
REFUSED_MORE = "It raised an error more often on one of the two data sets than on the other."


def audit(
    train: Any,
    claimed: Budget,
    *,
    pairs: Sequence[Pair] | Pair | None = None,
    family: str | None = None,
    sequential: bool = False,
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
    ignore: Sequence[str] = (),
    seed: int | None = None,
    name: str | None = None,
    progress: Progress | None = None,
) -> AuditResult:
    """A lower bound on the epsilon of a training procedure at the claimed delta, valid with probability ``confidence``.

    ``train``: a method's name (with its ``loss``, ``regularization``, ``intercept``), anything with ``fit``, or a
    function ``train(X, y, rng) -> parameters``. ``pairs``: one or several of neighbouring data sets; None is the
    library's, for ``task`` with ``records`` rows of norm ``clip`` and targets within ``bound``.
    ``family='gaussian'`` says that the procedure is known to be as private as some Gaussian mechanism: the sharper
    Gaussian-DP bound may then be the result's. Left out, that bound is shown beside the other as what holds *if* the
    noise is Gaussian; methods bring their own family. ``trials``: runs in all on the pair that is chosen; None takes as
    many as fit in ``seconds``, fewer where fewer show a violation. ``sequential`` looks at the runs as they come, and
    stops as soon as they show a violation. ``ignore`` names attributes of an estimator that are public whatever the
    data, as ``classes_`` is where the labels are known beforehand.

    Guarantee: if the procedure is (epsilon, delta)-private under the adjacency of the claim, the bound exceeds epsilon
    with probability at most 1 - confidence, whatever the procedure (with ``family``: if it is of the family); so with
    ``if_gaussian``, by itself, if it is Gaussian. Edges: two sets that cannot be told apart give 0.
    """
    _check(claimed, family, confidence, trials, seconds)
    if isinstance(train, str):
        kinds: dict[str, Task] = {"squared": "regression", "softmax": "multiclass"}
        task = task or kinds.get(loss, "classification")
        train = planned(
            train, claimed, loss=loss, records=records, features=columns, clip=clip, intercept=intercept,
            regularization=regularization,
        )  # fmt: skip
    thing = subject_of(train, name, ignore)
    chosen = (pairs,) if isinstance(pairs, Pair) else tuple(pairs or library(
        claimed.adjacency, task=task or "classification", records=records, clip=clip, bound=bound, columns=columns
    ))  # fmt: skip
    check(all(isinstance(pair, Pair) for pair in chosen), "Expected pairs to be Pair objects: Pair.of(first, second).")
    seed = secrets.randbits(48) if seed is None else seed
    setting = _setting(
        claimed, family, 1 - confidence, seconds, trials, thing.plan if isinstance(thing, Planned) else None
    )
    subject: Subject
    subject, made = watch(thing, chosen, (seed, 0)) if isinstance(thing, Estimator | Trained) else (thing, 0)
    course = Course(subject, setting, seed, progress or (lambda stage, part: None), made=made, quick=sequential)
    return _run(course, chosen, name or subject.name)


def _check(claimed: Budget, family: str | None, confidence: float, trials: int | None, seconds: float) -> None:
    check(isinstance(claimed, Budget), "Expected claimed to be a Budget: tacit.Budget(epsilon, delta, adjacency).")
    check(0.7 < confidence < 1, f"Expected 0.7 < confidence={confidence} < 1.")
    check(family in (None, "gaussian"), f"Expected family={family!r} to be None or 'gaussian'.")
    check(trials is None or trials >= 100, f"Expected trials={trials} >= 100.")
    check_positive("seconds", seconds)


def _setting(
    claimed: Budget, family: str | None, error: float, seconds: float, trials: int | None, plan: Any = None
) -> Setting:
    """A plan says by its events which family it is of; a stranger's is known where it is given, and else tried."""
    name, profile, known = "", None, plan is not None or family is not None
    if plan is not None:
        name, profile = profile_of(getattr(plan, "events", ()), claimed) or ("", None)
    elif claimed.delta > 0:  # at delta = 0 no Gaussian mechanism has a finite epsilon
        name, profile = "gaussian", gaussian_profile(claimed.delta)
    known = known and profile is not None
    return Setting(
        claimed=claimed, error=error, family=name, profile=profile, known=known, seconds=seconds, trials=trials
    )


def _run(course: Course, pairs: Sequence[Pair], name: str) -> AuditResult:
    chosen = course.choose(pairs)
    found = follow(course, chosen, name) if course.quick else _score(course, chosen, name)
    for sentence in _notes(course.subject, chosen, found.attack):
        found = found.noting(sentence)
    return found


def _notes(subject: Subject, chosen: Chosen, attack: str) -> list[str]:
    """What the runs that chose showed besides: noise that repeats, errors."""
    one, two = chosen.sides
    names = subject.unchanging(one, two) if isinstance(subject, Watched) else ()
    found = [UNSET.format(names=", ".join(names))] if names else []
    if not names and one.constant and two.constant and not one.and_also(two).constant:
        found.append(SAME)
    if attack == RAISED:
        raised = {float(side.labels[:, side.names.index(RAISED)].mean()) for side in chosen.sides}
        found.append(REFUSED if raised == {0.0, 1.0} else REFUSED_MORE)
    return found


def _score(course: Course, chosen: Chosen, name: str) -> AuditResult:
    """Fresh runs on the chosen pair; for each event one count and one bound."""
    setting, trials = course.setting, chosen.trials
    events = [chosen.plain] + ([chosen.middle] if chosen.middle is not None else [])
    parts: list[list[tuple[Array, Array]]] = [[] for _ in events]
    piece = max(1, -(-trials // 10))
    for done in range(0, trials, piece):
        course.progress("scoring", 0.3 + 0.7 * done / trials)
        one, two = course.both(chosen.pair, min(piece, trials - done))
        for part, event in zip(parts, events, strict=True):
            part.append((event.attack.score(one), event.attack.score(two)))
    scores = [tuple(np.concatenate([piece[side] for piece in part]) for side in (0, 1)) for part in parts]
    error, delta = setting.error, setting.claimed.delta
    plain = float(clopper_pearson(*chosen.plain.counts(*scores[0]), trials, delta, error))
    shown, most = plain, ceiling(trials, delta, error)
    family: float | None = None
    if chosen.middle is not None and setting.profile is not None and (chosen.by_family or not setting.known):
        hits, false = chosen.middle.counts(*scores[1])
        family = setting.profile(float(advantage(trials - hits + false, trials, error)))
    by_family = family is not None and setting.known
    if family is not None and by_family and setting.profile is not None:
        shown, most = family, setting.profile(float(advantage(0, trials, error)))
    event = events[int(by_family)]
    first, second = scores[int(by_family)]
    course.progress("done", 1.0)
    return AuditResult(
        subject=name, claimed=setting.claimed.epsilon, delta=delta, adjacency=setting.claimed.adjacency, epsilon=shown,
        confidence=1 - error, trials=trials, runs=course.runs, attack=event.attack.name, pair=chosen.pair.name,
        about=chosen.pair.about,
        bound=setting.family if by_family else "clopper-pearson", clopper_pearson=plain, ceiling=most,
        seconds=course.elapsed(), seed=course.seed, threshold=event.threshold,
        if_gaussian=None if by_family or setting.known else family, first=first, second=second,
    )  # fmt: skip


def audit_samplers(
    first: Callable[[np.random.Generator, int], Array],
    second: Callable[[np.random.Generator, int], Array],
    claimed: Budget,
    *,
    family: str | None = None,
    sequential: bool = False,
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
    _check(claimed, family, confidence, trials, seconds)
    mark = np.zeros((1, 1)), np.ones((1, 1))

    class Local:
        name = "local"

        def draw(self, data: Data, count: int, key: tuple[int, ...]) -> Runs:
            sampler = first if data.rows[0, 0] == 0 else second
            runs = np.asarray(sampler(np.random.default_rng(np.random.SeedSequence(key)), count), dtype=np.float64)
            return Runs.of(runs.reshape(count, -1))

    pair = Pair("two records", "", Data(mark[0], np.zeros(1)), Data(mark[1], np.zeros(1)), np.zeros(1))
    seed = secrets.randbits(48) if seed is None else seed
    setting = _setting(claimed, family, 1 - confidence, seconds, trials)
    local: Subject = Local()
    course = Course(local, setting, seed, progress or (lambda stage, part: None), quick=sequential)
    return _run(course, (pair,), name)
