"""How good the audit itself is: its power on a plain Gaussian mechanism, and its false alarms, run once and recorded.

``python -m papers.evidence.study`` writes ``power.json`` and ``false-alarms.json``.
"""

from __future__ import annotations

import datetime
import json
from typing import Any

import numpy as np

from papers.evidence import HERE
from tacit._version import __version__
from tacit.audit.pairs import library
from tacit.audit.runner import audit
from tacit.audit.subjects import Batched
from tacit.privacy.accounting import gaussian_mu
from tacit.types import Array, Budget


def gaussian_mechanism(claim: Budget, factor: float = 1.0) -> Batched:
    """One number with sensitivity 2 and exactly the noise that the claim needs, times a factor."""
    scale = factor * 2.0 / gaussian_mu(claim.epsilon, claim.delta)

    def release(X: Array, y: Array, rng: np.random.Generator, trials: int) -> Array:
        return np.asarray(y @ X[:, :1] + scale * rng.standard_normal((trials, 1)))

    return Batched(release, "gaussian mechanism")


def _seeds(count: int) -> range:
    """Seeds that nothing was tuned on."""
    return range(100_000, 100_000 + count)


def power(trials: int, repeats: int = 40, confidence: float = 0.999) -> dict[str, Any]:
    """The bounds of several audits at (1, 1e-5): the Gaussian-DP bound, and the best that Clopper-Pearson gives
    alone."""
    claim, pairs = Budget(1.0, 1e-5), library("replace-one")[:1]
    common: dict[str, Any] = {"pairs": pairs, "trials": trials, "confidence": confidence}
    family = [
        audit(gaussian_mechanism(claim), claim, family="gaussian", seed=s, **common).epsilon for s in _seeds(repeats)
    ]
    plain = [audit(gaussian_mechanism(claim), claim, seed=s, **common).epsilon for s in _seeds(repeats)]
    quantiles = (0.1, 0.5, 0.9)
    return {
        "runs in all": trials, "confidence": confidence, "audits": repeats, "quantiles": quantiles,
        "gaussian": [round(float(q), 3) for q in np.quantile(family, quantiles)],
        "clopper-pearson": [round(float(q), 3) for q in np.quantile(plain, quantiles)],
    }  # fmt: skip


def false_alarms(audits: int = 1000, trials: int = 2000, confidence: float = 0.999) -> dict[str, Any]:
    """Violations found in a mechanism that is exactly at its claim."""
    claim, pairs = Budget(1.0, 1e-5), library("replace-one")[:1]
    counts = {}
    for family in ("gaussian", None):
        found = [
            audit(
                gaussian_mechanism(claim),
                claim,
                pairs=pairs,
                family=family,
                trials=trials,
                confidence=confidence,
                seed=s,
            )
            for s in _seeds(audits)
        ]
        counts[family or "clopper-pearson"] = sum(result.verdict == "violated" for result in found)
    return {"audits": audits, "runs in each": trials, "confidence": confidence, "violations": counts}


def main() -> None:
    """Measure and write both files."""
    stamp = {"version": __version__, "date": datetime.date.today().isoformat(), "claim": [1.0, 1e-5]}
    rows = [power(20_000), power(40_000), power(20_000, confidence=0.95), power(400_000, repeats=10)]
    for name, data in (("power", {"rows": rows}), ("false-alarms", false_alarms())):
        (HERE / f"{name}.json").write_text(json.dumps({**stamp, **data}, indent=1) + "\n", encoding="utf-8")
        print(name, json.dumps(data), flush=True)


if __name__ == "__main__":
    main()
