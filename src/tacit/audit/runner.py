"""The audit: choose a pair and an attack on some runs, fix the set of outcomes, score it on fresh ones.

Everything that is chosen (pair, statistic, threshold, kind of bound, number of runs) is chosen from the first part of
the runs and from the clock; each bound is computed once, on the second part, which nothing was chosen from. So it holds
at its full confidence. An audit that may stop at any time is in :mod:`tacit.audit.sequential`.
"""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.audit.blackbox import BlackBox
from tacit.audit.campaign import Campaign, OnProgress, Selected, Terms
from tacit.audit.intervals import advantage, ceiling, clopper_pearson, gaussian_profile, profile_of
from tacit.audit.observed import observe
from tacit.audit.outcomes import RAISED
from tacit.audit.pairs import Pair, check_targets, library
from tacit.audit.planned import Planned, planned
from tacit.audit.result import AuditResult
from tacit.audit.sequential import follow
from tacit.audit.subjects import TWO_RECORDS, RecordSampler, Subject, of_samplers, subject_of
from tacit.checks import check, check_positive, items_in, shown
from tacit.ledger import refuse_open_ledger
from tacit.privacy.events import Event
from tacit.settings import described
from tacit.types import Array, Budget, Targets

SAME = (
    "Every run on the same data gave the same result, and a different one on the neighbour: its noise is the same each "
    "time (a fixed random_state or seed), or there is none. For anyone who knows it, epsilon is infinite."
)
UNSET = (
    "With random_state=None, as users leave it, all fits on the same data gave the same {names}, and a different one "
    "on the neighbour; only with a seed set for each fit were there differences. Its noise is the same each time. For "
    "anyone who knows it, epsilon is infinite."
)
REFUSED = (
    "It raised an error on one of the two data sets and not on the other. To compare it where it raises none, pass "
    "your own pairs=."
)
REFUSED_MORE = "It raised an error more often on one of the two data sets than on the other."


@described
@checked
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
    targets: Targets | None = None,
    records: int = 16,
    clip: float = 1.0,
    loss: str = "logistic",
    regularization: float | None = None,
    intercept: float = 0.0,
    columns: int = 2,
    ignore: Sequence[str] = (),
    seed: int | None = None,
    name: str | None = None,
    progress: OnProgress | None = None,
) -> AuditResult:
    """A lower bound on the epsilon of a training procedure at the claimed delta, valid with probability ``confidence``.

    Guarantee: if the procedure is (epsilon, delta)-private under the adjacency of the claim, the bound exceeds epsilon
    with probability at most 1 - confidence, whatever the procedure (with ``family``: if it is of the family); so with
    ``if_gaussian``, by itself, if it is Gaussian. Edges: two sets that cannot be distinguished give 0.

    Parameters
    ----------
    train : str, estimator or callable
        The name of a method, anything with ``fit``, or a function ``train(X, y, rng) -> parameters``.
    claimed : Budget
        What the procedure claims.
    pairs : Pair, sequence of Pairs or None
        Neighbouring data sets. None: those of the library, made by ``records``, ``clip``, ``columns`` and ``targets``.
    family : 'gaussian' or None
        'gaussian' says that the procedure is known to be as private as some Gaussian mechanism: the sharper Gaussian-DP
        bound may then be the result's. None: that bound is shown beside the other, as what holds *if* the noise is
        Gaussian; methods bring their own family.
    sequential : bool
        Look at the runs as they come, and stop as soon as they show a violation.
    confidence : float
        The probability with which the bound is valid.
    trials : int or None
        Runs in all on the pair that is chosen. None: as many as fit in ``seconds``, fewer where fewer show a violation.
    seconds : float
        The time to spend, where ``trials`` is None.
    targets : 'signs', 'classes', pair of floats or None
        The targets of the library's pairs; a pair is the range of numbers. None: what the loss takes, and signs for
        whatever has no known loss.
    records : int
        The rows of the library's pairs.
    clip : float
        The norm of their rows.
    loss : str
        The loss of a method that is given by name.
    regularization : float or None
        Its lambda.
    intercept : float
        Its constant coordinate; 0 for none.
    columns : int
        The columns of the library's pairs.
    ignore : sequence of str
        Attributes of an estimator that are public whatever the data, as ``classes_`` is where the labels are known.
    seed : int or None
        Makes the audit repeatable.
    name : str or None
        What the result is called.
    progress : callable or None
        Called as the audit goes on.
    """
    _check(claimed, family, confidence, trials, seconds)
    if isinstance(train, str):
        train = planned(
            train, claimed, loss=loss, records=records, features=columns, clip=clip, intercept=intercept,
            regularization=regularization,
        )  # fmt: skip
    thing = subject_of(train, name, items_in("ignore", ignore))
    targets = None if targets is None else check_targets(targets)
    given = (pairs,) if isinstance(pairs, Pair) else () if pairs is None else items_in("pairs", pairs, "pairs")
    events, classes = None, 3
    if isinstance(thing, Planned):
        events, targets, classes = thing.plan.events, targets or thing.loss.targets, thing.loss.outputs
    chosen = given or library(
        claimed.adjacency, targets=targets or "signs", classes=classes, records=records, clip=clip, columns=columns
    )
    check(all(isinstance(pair, Pair) for pair in chosen), "Expected pairs to be Pair objects: Pair.of(first, second).")
    seed = secrets.randbits(48) if seed is None else seed
    terms = _terms(claimed, family, 1 - confidence, seconds, trials, events)
    subject: Subject
    subject, made = observe(thing, chosen, (seed, 0)) if isinstance(thing, BlackBox) else (thing, 0)
    campaign = Campaign(subject, terms, seed, progress or (lambda stage, part: None), made=made, quick=sequential)
    return _run(campaign, chosen, name or subject.name)


def _check(claimed: Budget, family: str | None, confidence: float, trials: int | None, seconds: float) -> None:
    refuse_open_ledger("An audit, which trains again and again,")
    check(isinstance(claimed, Budget), "Expected claimed to be a Budget: tacit.Budget(epsilon, delta, adjacency).")
    check(0.7 < confidence < 1, f"Expected 0.7 < confidence={confidence} < 1.")
    check(family in (None, "gaussian"), f"Expected family={shown(family)} to be None or 'gaussian'.")
    check(trials is None or trials >= 100, f"Expected trials={trials} >= 100.")
    check_positive("seconds", seconds)


def _terms(
    claimed: Budget, family: str | None, error: float, seconds: float, trials: int | None,
    events: tuple[Event, ...] | None = None,
) -> Terms:  # fmt: skip
    """Events say of which family a plan is; that of a black box is known where it is given, and else tried."""
    name, profile, known = "", None, events is not None or family is not None
    if events is not None:
        name, profile = profile_of(events, claimed) or ("", None)
    elif claimed.delta > 0:  # at delta = 0 no Gaussian mechanism has a finite epsilon
        name, profile = "gaussian", gaussian_profile(claimed.delta)
    known = known and profile is not None
    return Terms(
        claimed=claimed, error=error, family=name, profile=profile, known=known, seconds=seconds, trials=trials
    )


def _run(campaign: Campaign, pairs: Sequence[Pair], name: str) -> AuditResult:
    chosen = campaign.choose(pairs)
    found = follow(campaign, chosen, name) if campaign.quick else _score(campaign, chosen, name)
    for sentence in _notes(campaign.subject, chosen, found.attack):
        found = found.noting(sentence)
    return found


def _notes(subject: Subject, chosen: Selected, attack: str) -> list[str]:
    """What the runs that chose showed besides: noise that repeats, errors."""
    one, two = chosen.sides
    names = subject.unchanging(one, two)
    found = [UNSET.format(names=", ".join(names))] if names else []
    if not names and one.constant and two.constant and not one.and_also(two).constant:
        found.append(SAME)
    if attack == RAISED:
        raised = {float(side.labels[:, side.names.index(RAISED)].mean()) for side in chosen.sides}
        found.append(REFUSED if raised == {0.0, 1.0} else REFUSED_MORE)
    return found


def _score(campaign: Campaign, chosen: Selected, name: str) -> AuditResult:
    """Fresh runs on the chosen pair; for each event one count and one bound."""
    terms, trials = campaign.terms, chosen.trials
    events = [chosen.plain] + ([chosen.middle] if chosen.middle is not None else [])
    parts: list[list[tuple[Array, Array]]] = [[] for _ in events]
    piece = max(1, -(-trials // 10))
    for done in range(0, trials, piece):
        campaign.progress("scoring", 0.3 + 0.7 * done / trials)
        one, two = campaign.both(chosen.pair, min(piece, trials - done))
        for part, event in zip(parts, events, strict=True):
            part.append((event.attack.score(one), event.attack.score(two)))
    scores = [tuple(np.concatenate([piece[side] for piece in part]) for side in (0, 1)) for part in parts]
    error, delta = terms.error, terms.claimed.delta
    plain = float(clopper_pearson(*chosen.plain.counts(*scores[0]), trials, delta, error))
    shown, most = plain, ceiling(trials, delta, error)
    family: float | None = None
    if chosen.middle is not None and terms.profile is not None and (chosen.by_family or not terms.known):
        hits, false = chosen.middle.counts(*scores[1])
        family = terms.profile(float(advantage(trials - hits + false, trials, error)))
    by_family = family is not None and terms.known
    if family is not None and by_family and terms.profile is not None:
        shown, most = family, terms.profile(float(advantage(0, trials, error)))
    event = events[int(by_family)]
    first, second = scores[int(by_family)]
    campaign.progress("done", 1.0)
    return AuditResult(
        subject=name, claimed=terms.claimed.epsilon, delta=delta, adjacency=terms.claimed.adjacency, epsilon=shown,
        confidence=1 - error, trials=trials, runs=campaign.runs, attack=event.attack.name, pair=chosen.pair.name,
        about=chosen.pair.about,
        bound=terms.family if by_family else "clopper-pearson", clopper_pearson=plain, ceiling=most,
        seconds=campaign.elapsed(), seed=campaign.seed, threshold=event.threshold,
        if_gaussian=None if by_family or terms.known else family, first=first, second=second,
    )  # fmt: skip


@checked
def audit_samplers(
    first: RecordSampler,
    second: RecordSampler,
    claimed: Budget,
    *,
    family: str | None = None,
    sequential: bool = False,
    confidence: float = 0.999,
    trials: int | None = None,
    seconds: float = 15.0,
    seed: int | None = None,
    name: str = "sampler",
    progress: OnProgress | None = None,
) -> AuditResult:
    """Audit a record-level (local) mechanism: two functions that draw ``trials`` submissions of one record each, as
    rows.

    All else is as in :func:`audit`.

    Parameters
    ----------
    first : callable
        Privatises one of two records that an attacker wants to tell apart.
    second : callable
        Privatises the other.
    """
    _check(claimed, family, confidence, trials, seconds)
    seed = secrets.randbits(48) if seed is None else seed
    terms = _terms(claimed, family, 1 - confidence, seconds, trials)
    subject = of_samplers(first, second)
    campaign = Campaign(subject, terms, seed, progress or (lambda stage, part: None), quick=sequential)
    return _run(campaign, (TWO_RECORDS,), name)
