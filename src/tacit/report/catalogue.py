"""What is known about the methods, worked out from their own code: status of each calibration, adjacencies covered."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from tacit.checks import PrivacyError, RefutedWarning
from tacit.linear.losses import LOSSES, Logistic, Squared
from tacit.mechanisms import METHODS, Chosen, Method
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED, PublishedMethod
from tacit.training import prepare
from tacit.types import Adjacency, Budget, Calibration, Facts, Status

_PAPER_EPSILONS = (0.1, 1.0, 10.0)
_RECORDS = 1000

HEADER = ("name", "noise in", "adjacency", "status", "losses", "paper")
PUBLISHED_HEADER = ("name", "noise in", "status", "paper", "proven form")
NOTES = (
    "method='auto' chooses among them from public facts: numbers of records and features, loss, epsilon and delta.",
    f"Losses: {', '.join(loss.name for loss in LOSSES)}. Status: of the proven calibration, which is the default, "
    "and of calibration='paper', the noise as published, where that differs. Every fit prices the noise it used, "
    f"and a guarantee whose noise falls short says refuted or claimed (looked up here for n = {_RECORDS:,}).",
)
WARNING = (
    "Published algorithms with no proof that holds, kept to reproduce and audit their papers: never for private "
    "records. They run with calibration='paper' only, need the constants that their papers leave open, and warn."
)


@dataclass(frozen=True)
class Entry:
    """One method: the status of each of its calibrations, in words, and whether add-remove neighbours are covered."""

    method: Method
    status: str
    both: bool

    @property
    def cells(self) -> tuple[str, ...]:
        """What a table shows of it, under HEADER."""
        method = self.method
        losses = "all" if len(method.losses) == len(LOSSES) else ", ".join(method.losses)
        adjacency = "both" if self.both else "replace-one"
        return (method.name, method.mechanism.site, adjacency, self.status, losses, method.paper)


def entry(method: Method) -> Entry:
    """Look at one method by pricing small runs of it. No records are involved."""
    plan = method.mechanism.calibrate(Budget(float("inf"), 1e-6), _facts(method), None, "proven")
    words: list[str] = [THEOREMS[plan.theorem].status]
    if "paper" in method.calibrations:
        found = {epsilon: _published(method, epsilon) for epsilon in _PAPER_EPSILONS}
        parts = [
            status if len(set(found.values())) == 1 else f"{status} at epsilon {_listed(found, status)}"
            for status in dict.fromkeys(found.values())
        ]
        words.append("paper: " + ", ".join(parts))
    try:
        _status(method, 0.1, "add-remove", "proven")
    except PrivacyError:
        return Entry(method, "; ".join(words), both=False)
    return Entry(method, "; ".join(words), both=True)


def published_status(method: PublishedMethod) -> Status:
    """The status of a method that only papers have, with 1 for the constants that its paper leaves open."""
    mechanism: Any = method.mechanism
    constants = {name: 1.0 for name in method.open_constants if getattr(mechanism, name) is None}
    return _status(replace(method, mechanism=replace(mechanism, **constants)), 1.0, "replace-one", "paper")


def entries() -> list[Entry]:
    """All methods to use."""
    return [entry(method) for method in METHODS.values()]


def published_cells() -> list[tuple[str, ...]]:
    """Methods that only reproduce a paper: what a table shows of them."""
    return [
        (
            method.name,
            method.mechanism.site,
            published_status(method),
            method.paper,
            repr(method.proven_form),
        )
        for method in PUBLISHED.values()
    ]


def listed() -> dict[str, Any]:
    """What ``tacit methods`` prints, in plain data: it is stored with the package, and read in no time."""
    return {
        "header": list(HEADER),
        "methods": [list(found.cells) for found in entries()],
        "notes": list(NOTES),
        "warning": WARNING,
        "published_header": list(PUBLISHED_HEADER),
        "published": [list(cells) for cells in published_cells()],
    }


def _facts(method: Method | PublishedMethod) -> Facts:
    return Facts.example(Logistic() if "logistic" in method.losses else Squared(), _RECORDS)


def _status(method: Method | PublishedMethod, epsilon: float, adjacency: Adjacency, calibration: Calibration) -> Status:
    budget = Budget(epsilon, 0.0 if method.mechanism.pure else _RECORDS**-1.5, adjacency)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        chosen = Chosen(method.name, method.mechanism, budget)
        prepared = prepare(_facts(method), chosen, seeded=False, calibration=calibration)
    return prepared.guarantee.status


def _published(method: Method, epsilon: float) -> str:
    """The status of the noise as published; some papers' conditions are not met by every run."""
    try:
        return _status(method, epsilon, "replace-one", "paper")
    except PrivacyError:
        return "conditions not met"


def _listed(found: dict[float, str], status: str) -> str:
    chosen: Sequence[str] = [f"{epsilon:g}" for epsilon, value in found.items() if value == status]
    return " and ".join(chosen)
