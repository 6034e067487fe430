"""Recorded evidence: what audits measured for published algorithms, and how to measure it again.

``python -m tacit.audit.evidence`` measures and writes the JSON files beside this module; a status 'refuted' cites one
of them. Settings were found in exploring runs (seed 1); with the settings fixed, what is recorded was measured once, on
fresh runs (seed 2).
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from tacit._version import __version__
from tacit.audit.pairs import Pair
from tacit.audit.published import dbdp, dbdp_improving, input_perturbation, pidp_sgd
from tacit.audit.result import AuditResult
from tacit.audit.runner import audit
from tacit.audit.subjects import Batched
from tacit.checks import check
from tacit.types import Array, Budget

HERE = Path(__file__).parent
CLAIM = Budget(1.0, 1e-4)
CONSTANTS = (1.0, 2.0, 8.0)


@dataclass(frozen=True)
class Case:
    """A published algorithm with its settings, the pair it is audited on, and what had to be read into the paper."""

    name: str
    paper: str
    reading: str
    train: Callable[..., Array]
    options: dict[str, Any]
    records: int
    alone: bool
    trials: int

    def pair(self) -> Pair:
        """Others at zero with balanced labels (noise on them cancels or is small), or all in another direction."""
        n = self.records
        if self.alone:
            rows = np.vstack([np.tile([1.0, 0.0], (n - 1, 1)), [[0.0, 1.0]]])
            labels = np.where(np.arange(n - 1) % 4 == 0, -1.0, 1.0)
        else:
            rows = np.zeros((n, 1))
            rows[-1] = 1.0
            labels = np.where(np.arange(n - 1) % 2 == 0, -1.0, 1.0)
        return Pair.of((rows, np.append(labels, 1.0)), (rows, np.append(labels, -1.0)), "label of one record")

    def measure(self, c: float, *, trials: int | None = None, seed: int = 1) -> AuditResult:
        """Audit the algorithm with the paper's constant c at the common claim."""

        def train(X: Array, y: Array, rng: np.random.Generator, count: int) -> Array:
            return self.train(X, y, rng, count, epsilon=CLAIM.epsilon, delta=CLAIM.delta, c=c, **self.options)

        subject = Batched(train, f"{self.name}, c = {c:g}")
        return audit(subject, CLAIM, pairs=[self.pair()], trials=trials or self.trials, seed=seed)


_INDEPENDENT = "each record gets noise of its own; T = 10 full gradient steps of size 1, lambda = 0.01 = Delta, G = 1"
_SHARED = "one noise vector for all records, as the proof of Theorem 1 reads; otherwise as with independent noise"
_BATCH = (
    "T = 1 step from theta_0 = 0 on sqrt(n) records, so that q = 1 over the batch size, as Theorem 1 asks; noise of "
    "its own for each record"
)
_START = (
    "theta~ is the exact minimiser, as the paper says; T_local = 10, R = 5, lambda = 0.01, step 1; the differing "
    "record is alone in one direction"
)
_PIDP = (
    "theta~ is the exact minimiser (not defined in the paper; so in its predecessor); T_local = 10, R = 1, c' = c, "
    "epsilon and delta halved, lambda = 0.001, r = G/lambda = 1000, zeta the norm of the Hessian"
)
_PIDP_ZERO = _PIDP.replace(
    "theta~ is the exact minimiser (not defined in the paper; so in its predecessor)",
    "theta~ = 0, a start without data",
)
CASES: dict[str, Case] = {
    case.name: case
    for case in (
        Case(
            "kang-2020a-independent-1000",
            "Kang et al. 2020a, Theorem 1",
            _INDEPENDENT,
            input_perturbation,
            {},
            1000,
            False,
            40_000,
        ),
        Case(
            "kang-2020a-independent-10000",
            "Kang et al. 2020a, Theorem 1",
            _INDEPENDENT,
            input_perturbation,
            {},
            10_000,
            False,
            12_000,
        ),
        Case(
            "kang-2020a-shared",
            "Kang et al. 2020a, Theorem 1",
            _SHARED,
            input_perturbation,
            {"noise": "shared"},
            1001,
            False,
            40_000,
        ),
        Case("kang-2020b-algorithm-1", "Kang et al. 2020b, Theorem 1", _BATCH, dbdp, {}, 90_000, False, 1_600_000),
        Case("kang-2020b-algorithm-2", "Kang et al. 2020b, Theorem 2", _START, dbdp_improving, {}, 2000, True, 40_000),
        Case(
            "kang-2023", "Kang et al. 2023, Theorem 5", _PIDP, pidp_sgd, {"regularization": 0.001}, 2000, True, 40_000
        ),
        Case(
            "kang-2023-zero",
            "Kang et al. 2023, Theorem 5",
            _PIDP_ZERO,
            pidp_sgd,
            {"start": "zero", "regularization": 0.001},
            2000,
            True,
            200_000,
        ),
    )
}


def record(name: str, seed: int = 2) -> Path:
    """Measure one case for every constant and write its file."""
    check(name in CASES, f"Unknown case {name!r}. Known: {', '.join(CASES)}.")
    case = CASES[name]
    found = [{"c": c, **case.measure(c, seed=seed).to_dict()} for c in CONSTANTS]
    data = {
        "format": "tacit-evidence",
        "case": name,
        "paper": case.paper,
        "reading": case.reading,
        "records": case.records,
        "version": __version__,
        "date": datetime.date.today().isoformat(),
        "audits": found,
    }
    path = HERE / f"{name}.json"
    path.write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    return path


def load(name: str) -> dict[str, Any]:
    """The recorded evidence of a case."""
    check(name in CASES, f"Unknown case {name!r}. Known: {', '.join(CASES)}.")
    data: dict[str, Any] = json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))
    return data


def refuted(name: str) -> tuple[float, ...]:
    """The constants c for which the recorded evidence exceeds the claim."""
    return tuple(entry["c"] for entry in load(name)["audits"] if entry["verdict"] == "violated")


def markdown() -> str:
    """The recorded evidence as the table of the documentation."""
    lines = [
        "| algorithm | n | " + " | ".join(f"c = {c:g}" for c in CONSTANTS) + " | could show | reading |",
        "| --- | --- " + "| --- " * len(CONSTANTS) + "| --- | --- |",
    ]
    for name in CASES:
        data = load(name)
        cells = [
            f"**≥ {entry['epsilon']:.2f}**" if entry["verdict"] == "violated" else f"≥ {entry['epsilon']:.2f}"
            for entry in data["audits"]
        ]
        most = max(entry["ceiling"] for entry in data["audits"])
        bounds = " | ".join(cells)
        lines.append(
            f"| {data['paper']} (`{name}`) | {data['records']:,} | {bounds} | {most:.1f} | {data['reading']} |"
        )
    return "\n".join(lines) + "\n"
