"""The audit of all methods: every loss, both adjacencies, and the table that the documentation shows."""

from __future__ import annotations

import datetime
import json
import math
import multiprocessing
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

from tacit._version import __version__
from tacit.audit.campaign import OnProgress
from tacit.audit.canaries import CANARIES, NETWORKS, audit_network, available, network
from tacit.audit.exact import exact_epsilon, one_dimensional_pairs
from tacit.audit.planned import planned
from tacit.audit.result import AuditResult
from tacit.audit.runner import audit
from tacit.checks import PrivacyError, check, counted
from tacit.linear.losses import LOSSES, Logistic
from tacit.mechanisms import METHODS, Mechanism, ObjectivePerturbation, Output, Whitened
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED
from tacit.types import ADJACENCIES, Adjacency, Budget, Loss

Say = Callable[[str], None]
T = TypeVar("T")
RECORDS = 16


@dataclass(frozen=True)
class Stress:
    """Settings of a method under which its guarantee is nearly reached: what an audit can see is largest there."""

    mechanism: Mechanism
    loss: Loss
    regularization: float | None


def _small_steps(name: str, **settings: Any) -> Stress:
    """A noisy descent that stays near its start."""
    mechanism: Any = METHODS[name].mechanism
    return Stress(replace(mechanism, step=1e-3, momentum=0.0, schedule="constant", **settings), Logistic(5.0), None)


def _whitened(plain: Stress) -> Stress:
    """The same on whitened rows, with few steps: runs are made one by one there."""
    inner: Any = plain.mechanism
    return replace(plain, mechanism=Whitened(replace(inner, steps=8)))


STRESSED: dict[str, Stress] = {
    "objective": Stress(ObjectivePerturbation(), Logistic(5.0), 30.0 / RECORDS),
    "output": Stress(Output(), Logistic(5.0), 30.0 / RECORDS),
    **{name: _small_steps(name) for name in ("gradient", "ls-gradient", "dp-sgd", "dp-lssgd")},
    "whitened-objective": Stress(Whitened(ObjectivePerturbation()), Logistic(5.0), 30.0 / RECORDS),
    **{f"whitened-{name}": _whitened(_small_steps(name)) for name in ("gradient", "dp-sgd")},
    "individual": _small_steps("individual", steps=8),  # its runs are made one by one
}
"""A large margin keeps every slope near its largest; a strong regulariser or small steps keep the weights near zero."""
PEOPLE, ROWS = ("objective", "output"), 5
"""Methods that are also audited with people as records, each with so many rows, all alike: their mean is as long as one
row."""


@dataclass(frozen=True, kw_only=True)
class MethodAudit:
    """The audits of one method under one adjacency; ``exact`` is the exact epsilon over one-dimensional pairs, where
    known."""

    method: str
    status: str
    adjacency: Adjacency
    results: tuple[AuditResult, ...]
    exact: float | None
    seconds: float

    @property
    def worst(self) -> AuditResult:
        """The audit that measured most; a violation before all others."""
        return max(self.results, key=lambda result: (result.verdict != "consistent", result.epsilon))

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "method": self.method, "status": self.status, "adjacency": self.adjacency, "exact": self.exact,
            "seconds": round(self.seconds, 1), "audits": [result.to_dict() for result in self.results],
        }  # fmt: skip


def audit_method(
    name: str, claimed: Budget, *, losses: Iterable[str] | None = None, seconds: float = 8.0, confidence: float = 0.999,
    seed: int | None = None, say: Say = lambda text: None, progress: OnProgress | None = None, canaries: int = CANARIES,
) -> MethodAudit:  # fmt: skip
    """Audit a method with each of its losses, at its default settings and under stress where that is set.

    A network is trained once at either setting, whatever time that takes: ``canaries`` is for networks alone.
    """
    check(
        name not in PUBLISHED,
        f"The noise of {name!r} has a constant that its paper leaves open. Audits of it, at several constants, are "
        "recorded in the docs; `python -m papers.evidence` makes them again.",
    )
    check(name in METHODS or name in NETWORKS, f"Unknown method {name!r}. Known: {', '.join((*METHODS, *NETWORKS))}.")
    if name in NETWORKS:
        check(losses is None, f"{name} is a network, which has one loss. Leave out --loss.")
        return _network_row(name, claimed, confidence, seed, say, canaries)
    method, start = METHODS[name], time.perf_counter()
    claim = Budget(claimed.epsilon, 0.0 if method.mechanism.pure else claimed.delta, claimed.adjacency)
    options: dict[str, Any] = {"confidence": confidence, "records": RECORDS, "progress": progress}
    results, statuses = [], []
    for number, loss in enumerate(losses or method.losses):
        say(f"{name}, {loss} loss, {claimed.adjacency}")
        key = None if seed is None else seed + number
        subject = planned(name, claim, loss=loss, records=RECORDS, features=2)
        statuses.append(THEOREMS[subject.plan.theorem].status)
        results.append(audit(subject, claim, seconds=seconds, seed=key, **options))
    if name in STRESSED and losses is None:
        say(f"{name} under stress, {claimed.adjacency}")
        stress = STRESSED[name]
        subject = planned(
            stress.mechanism, claim, loss=stress.loss, records=RECORDS, features=2, regularization=stress.regularization
        )
        title = f"{name} under stress, {stress.loss.name} loss"
        # The audit that shows how tight the noise is gets more runs.
        results.append(audit(subject, claim, seconds=2 * seconds, seed=seed, name=title, **options))
    if name in PEOPLE and losses is None:
        say(f"{name} with {ROWS} rows per person, {claimed.adjacency}")
        stress = STRESSED[name]
        subject = planned(
            stress.mechanism, claim, loss=stress.loss, records=RECORDS, features=2,
            regularization=stress.regularization, rows_per_person=ROWS,
        )  # fmt: skip
        title = f"{name} with {ROWS} rows per person, {stress.loss.name} loss"
        results.append(audit(subject, claim, seconds=seconds, seed=seed, name=title, **options))
    return MethodAudit(
        method=name, status=statuses[0], adjacency=claimed.adjacency, results=tuple(results),
        exact=_exact(name, claim) if losses is None else None, seconds=time.perf_counter() - start,
    )  # fmt: skip


def audit_all(
    claimed: Budget, *, seconds: float = 8.0, confidence: float = 0.999, seed: int | None = None,
    say: Say = lambda text: None, methods: Iterable[str] | None = None, workers: int = 1,
    progress: OnProgress | None = None,
) -> list[MethodAudit]:  # fmt: skip
    """Audit every method under both adjacencies, so many at a time; those that refuse one are left out there.

    Networks come last, where PyTorch is installed.
    """
    names = methods or (*METHODS, *(NETWORKS if available() else ()))
    budgets = {adjacency: Budget(claimed.epsilon, claimed.delta, adjacency) for adjacency in ADJACENCIES}
    jobs = [(name, budget, seconds, confidence, seed) for name in names for budget in budgets.values()]
    if workers == 1:
        return [row for row in map(partial(_row, say), _numbered(jobs, len(jobs), progress)) if row is not None]
    # Ctrl-C reaches all processes: these end without a word, and the one that started them says it.
    with ProcessPoolExecutor(
        workers, multiprocessing.get_context("spawn"), signal.signal, (signal.SIGINT, signal.SIG_DFL)
    ) as pool:
        rows = _numbered(pool.map(partial(_row, None), jobs), len(jobs), progress)
        return [row for row in rows if row is not None and _told(say, row)]


def _numbered(things: Iterable[T], total: int, progress: OnProgress | None) -> Iterator[T]:
    """The same things, telling how many of them have gone by."""
    for done, thing in enumerate(things):
        if progress is not None:
            progress(f"Audit {done + 1} of {total}", done / total)
        yield thing


def _row(say: Say | None, job: tuple[str, Budget, float, float, int | None]) -> MethodAudit | None:
    name, budget, seconds, confidence, seed = job
    say = say or (lambda text: None)
    try:
        return audit_method(name, budget, seconds=seconds, confidence=confidence, seed=seed, say=say)
    except PrivacyError:
        say(f"{name} does not cover {budget.adjacency}")
        return None


def _network_row(
    name: str, claimed: Budget, confidence: float, seed: int | None, say: Say, canaries: int
) -> MethodAudit:  # fmt: skip
    start, results = time.perf_counter(), []
    for number, setting in enumerate(("default settings", "under stress")):
        model = network(claimed, stressed=number > 0)
        say(f"{name}, {setting}, {claimed.adjacency}, one run with {counted(canaries, 'canary', 'canaries')}")
        key = None if seed is None else seed + number
        results.append(
            audit_network(model, canaries=canaries, confidence=confidence, seed=key, name=f"{name}, {setting}")
        )
    return MethodAudit(
        method=name, status=THEOREMS[NETWORKS[name]].status, adjacency=claimed.adjacency, results=tuple(results),
        exact=None, seconds=time.perf_counter() - start,
    )  # fmt: skip


def _told(say: Say, row: MethodAudit) -> bool:
    say(f"{row.method}, {row.adjacency}: epsilon >= {_down(row.worst.epsilon)}")
    return True


def _exact(name: str, claim: Budget) -> float | None:
    """The largest exact epsilon over one-dimensional pairs, for the methods whose densities are known."""
    if name not in ("objective", "output"):
        return None
    worst, stress = 0.0, STRESSED[name]
    cases: list[tuple[str | Mechanism, Loss, float | None]] = [
        (name, loss, None) for loss in LOSSES if loss.outputs == 1 and loss.name in METHODS[name].losses
    ]
    for method, loss, strength in [*cases, (stress.mechanism, stress.loss, 30.0)]:
        pairs = one_dimensional_pairs(claim.adjacency, targets=loss.targets)
        made = {
            count: planned(
                method, claim, loss=loss, records=count, features=1,
                regularization=None if strength is None else strength / count,
            )
            for count in {len(pair.first.rows) for pair in pairs}
        }  # fmt: skip
        worst = max(worst, *(exact_epsilon(made[len(pair.first.rows)], pair, claim.delta) for pair in pairs))
    return worst


def to_json(rows: list[MethodAudit], claimed: Budget, confidence: float) -> str:
    """All results with date and version."""
    head = {
        "version": __version__,
        "date": datetime.date.today().isoformat(),
        "epsilon": claimed.epsilon,
        "delta": claimed.delta,
    }
    return json.dumps({**head, "confidence": confidence, "methods": [row.to_dict() for row in rows]}, indent=1)


def _down(epsilon: float) -> str:
    """A lower bound with two decimals, never above it."""
    return f"{math.floor(100 * epsilon) / 100:.2f}"


def markdown(rows: list[MethodAudit], claimed: Budget, confidence: float) -> str:
    """The table of the documentation."""
    head = (
        f"Measured by `tacit audit --all` of Tacit {__version__} on {datetime.date.today().isoformat()}: claimed "
        f"epsilon = {claimed.epsilon:g}, delta = {claimed.delta:g} (0 for the pure methods); every bound "
        f"at {100 * confidence:g}% confidence, and the largest of a method's (up to five) is shown.\n"
    )
    if any(row.method in NETWORKS for row in rows):
        head += "A network is trained once, and what is scored are its canaries: *one run*.\n"
    lines = [
        head,
        "| method | neighbours | status | measured | exact, one dimension | where | scored | could show | time |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in rows:
        worst = row.worst
        verdict = " **VIOLATED**" if worst.verdict == "violated" else ""
        if worst.if_gaussian is not None:
            word = ": **VIOLATED**" if worst.if_gaussian > worst.claimed else ""
            verdict += f" (if Gaussian ≥ {_down(worst.if_gaussian)}{word})"
        exact = "" if row.exact is None else f"{row.exact:.2f}"
        where = f"{worst.subject.removeprefix(row.method).strip(' ,')}; {worst.pair}; {worst.bound}"
        lines.append(
            f"| {row.method} | {row.adjacency} | {row.status} | ≥ {_down(worst.epsilon)}{verdict} | {exact} | {where} "
            f"| {worst.trials:,} | {worst.ceiling:.1f} | {row.seconds:.0f} s |"
        )
    return "\n".join(lines) + "\n"


__all__ = ["RECORDS", "STRESSED", "MethodAudit", "Stress", "audit_all", "audit_method", "markdown", "to_json"]
