"""Audits of audits: false alarms of mechanisms exactly at their claims, and what is found where noise is missing.

``python benchmarks/audit.py validity`` runs all (some ten minutes on one core) and writes ``audit-validity.json``
beside this file. Every count of false alarms comes with the most that a right level allows: the count that a binomial
with the stated error exceeds with probability 1e-6.
"""

import datetime
import json
import math
from pathlib import Path

import numpy as np
from scipy.stats import binom

from tacit import Budget
from tacit._version import __version__
from tacit.audit import Batched, audit, audit_samplers, library, onerun
from tacit.audit import onerun_gaussian as coins
from tacit.privacy.accounting import gaussian_mu

HERE = Path(__file__).parent
CLAIM, PAIR = Budget(1.0, 1e-5), library("replace-one")[:1]
ERROR = 0.05
"""False alarms are counted at this error probability, where they can be seen; the tests are the same at all."""
SEEDS = 200_000
"""Nothing was tuned on seeds from here on."""


def gaussian_mechanism(factor=1.0, claim=CLAIM):
    """One number with sensitivity 2 and exactly the noise that the claim needs, times a factor."""
    scale = factor * 2.0 / gaussian_mu(claim.epsilon, claim.delta)
    return Batched(lambda X, y, rng, runs: y @ X[:, :1] + scale * rng.standard_normal((runs, 1)), "gaussian mechanism")


def response(bit, epsilon):
    """Randomised response: the mechanism for which the plain bound is tight."""
    keep = math.exp(epsilon) / (1 + math.exp(epsilon))
    return lambda rng, runs: np.where(rng.random(runs) < keep, bit, 1 - bit)


def allowed(audits, error=ERROR):
    """The largest count of false alarms that a test of this level shows, but for once in a million times."""
    return int(binom.isf(1e-6, audits, error))


def right_guesses(canaries, guesses, mu, rng):
    """Right guesses from ideal scores: N(0, 1), or N(mu, 1) where the canary is in."""
    inside = rng.random(canaries) < 0.5
    ordered = inside[np.argsort(mu * inside + rng.standard_normal(canaries))]
    half = guesses // 2
    return int((~ordered[:half]).sum() + ordered[-half:].sum())


def one_run_alarms(audits=1000):
    """Trainers exactly at their claim, many numbers of canaries and of guesses: how often the Gaussian bound passes."""
    rows = []
    for epsilon, canaries, share in (
        (1.0, 100, 1.0), (1.0, 1000, 0.2), (3.0, 200, 0.5), (3.0, 1000, 0.1), (3.0, 5000, 0.07), (8.0, 1000, 0.3),
        (8.0, 5000, 0.1), (8.0, 500, 1.0),
    ):  # fmt: skip
        mu, total = gaussian_mu(epsilon, 1e-5), coins.guessed(canaries, share)
        rng = np.random.default_rng((SEEDS, canaries, total))
        refuted = {}
        alarms = 0
        for _ in range(audits):
            right = right_guesses(canaries, total, mu, rng)
            if right not in refuted:
                refuted[right] = coins.impossible(canaries, total, right, mu, ERROR)
            alarms += refuted[right]
        rows.append(
            {"epsilon": epsilon, "canaries": canaries, "guesses": total, "audits": audits, "error": ERROR,
             "false alarms": alarms, "allowed": allowed(audits)}
        )  # fmt: skip
    return rows


def one_run_power(audits=100):
    """Both bounds on ideal scores at the claim, 99.9% confidence: 10%, 50% and 90% quantiles."""
    rows = []
    for canaries in (1000, 5000):
        for epsilon in (1.0, 3.0, 8.0):
            claim = Budget(epsilon, 1e-5)
            mu = gaussian_mu(epsilon, 1e-5)
            shares = onerun.best_share(canaries, claim, 0.999), coins.best_gaussian_share(canaries, claim, 0.999)
            totals = [coins.guessed(canaries, share) for share in shares]
            plain, family = [], []
            for seed in range(SEEDS, SEEDS + audits):
                right = [right_guesses(canaries, total, mu, np.random.default_rng(seed)) for total in totals]
                plain.append(onerun.bound(canaries, totals[0], right[0], 1e-5, 1e-3))
                family.append(coins.gaussian_bound(canaries, totals[1], right[1], 1e-5, 1e-3))
            rows.append(
                {"epsilon": epsilon, "canaries": canaries, "audits": audits, "guesses": totals,
                 "one run": quantiles(plain), "if gaussian": quantiles(family)}
            )  # fmt: skip
    return rows


def quantiles(values):
    return [round(float(q), 3) for q in np.quantile(values, (0.1, 0.5, 0.9))]


def fixed_alarms(audits=1000, runs=1000):
    """Both verdicts of the default audit, on a Gaussian mechanism exactly at its claim."""
    claim = Budget(1.0, 0.01)
    found = [
        audit(gaussian_mechanism(claim=claim), claim, pairs=PAIR, trials=runs, confidence=1 - ERROR, seed=seed)
        for seed in range(SEEDS, SEEDS + audits)
    ]
    return {
        "audits": audits, "runs in each": runs, "error": ERROR, "allowed": allowed(audits),
        "without assumptions": sum(r.epsilon > 1 for r in found),
        "if gaussian": sum(r.if_gaussian > 1 for r in found),
    }  # fmt: skip


def sequential_alarms(audits=1000, runs=2000):
    """Stopping at every look that shows a violation, on mechanisms exactly at their claim."""
    common = {"trials": runs, "confidence": 1 - ERROR, "sequential": True}
    seeds = range(SEEDS, SEEDS + audits)
    family = [audit(gaussian_mechanism(), CLAIM, pairs=PAIR, family="gaussian", seed=s, **common) for s in seeds]
    pure = Budget(1.0, 0.0)
    plain = [audit_samplers(response(0, 1.0), response(1, 1.0), pure, seed=s, **common) for s in seeds]
    return {
        "audits": audits, "runs in each": runs, "error": ERROR, "allowed": allowed(audits),
        "gaussian mechanism, family": sum(r.verdict == "violated" for r in family),
        "randomised response, plain": sum(r.verdict == "violated" for r in plain),
    }  # fmt: skip


def sequential_power(audits=60, fixed=40_000):
    """Runs until half of the noise (and a third) is seen to be missing, at 99.9% confidence."""
    rows = []
    for factor, family, most in ((0.5, "gaussian", fixed), (1 / 3, "gaussian", fixed), (1 / 3, None, 10 * fixed)):
        found = [
            audit(gaussian_mechanism(factor), CLAIM, pairs=PAIR, family=family, trials=most, sequential=True, seed=s)
            for s in range(SEEDS, SEEDS + audits)
        ]
        rows.append(
            {"share of the noise": round(factor, 3), "family": family or "none", "most runs": most, "audits": audits,
             "found": sum(r.verdict == "violated" for r in found), "runs": quantiles([r.runs for r in found])}
        )  # fmt: skip
    return rows


def default_power(audits=40, runs=20_000):
    """The default audit, no family given, of half of the noise: which of its verdicts finds it."""
    found = [
        audit(gaussian_mechanism(0.5), CLAIM, pairs=PAIR, trials=runs, seed=s) for s in range(SEEDS, SEEDS + audits)
    ]
    return {
        "audits": audits, "runs in each": runs, "without assumptions": quantiles([r.epsilon for r in found]),
        "if gaussian": quantiles([r.if_gaussian for r in found]),
        "found": {kind: sum(r.verdict == kind for r in found) for kind in ("violated", "violated if gaussian")},
    }  # fmt: skip


def main():
    parts = {
        "one run, false alarms": one_run_alarms, "one run, ideal scores": one_run_power,
        "fixed, false alarms": fixed_alarms, "fixed, half of the noise": default_power,
        "sequential, false alarms": sequential_alarms, "sequential, power": sequential_power,
    }  # fmt: skip
    found = {"version": __version__, "date": datetime.date.today().isoformat()}
    for name, part in parts.items():
        found[name] = part()
        print(name, json.dumps(found[name]), flush=True)
        (HERE / "audit-validity.json").write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
