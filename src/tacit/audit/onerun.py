r"""An audit of a single training run with many canaries (Steinke, Nasr & Jagielski 2023): for networks and large data.

Each of m canaries is put in or left out by a fair coin. From the one trained model the auditor guesses r of the coins,
abstaining from the others. If training is (epsilon, delta)-private under add-remove neighbours, the number of right
guesses V obeys

.. math:: P[V \ge v] \le P[W \ge v] + 2 m \delta \max_{1 \le i \le v} \frac{P[v > W \ge v - i]}{i},
    \quad W \sim Bin(r, e^\epsilon/(1 + e^\epsilon))

(their main theorem), which is a valid p-value for every epsilon; the largest epsilon that it rejects is the bound. For
replace-one neighbours the coin chooses between two versions of a canary, and the same argument holds.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.stats import binom

from tacit.audit.pairs import Data
from tacit.audit.result import AuditResult
from tacit.checks import check
from tacit.types import Array, Budget

SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)
"""Shares of the canaries that are guessed; the error probability is divided among them."""


def p_value(canaries: int, guesses: int, right: int, epsilon: float, delta: float) -> float:
    """An upper bound on the probability of so many right guesses if training is (epsilon, delta)-private."""
    check(
        0 <= right <= guesses <= canaries, f"Expected 0 <= right={right} <= guesses={guesses} <= canaries={canaries}."
    )
    check(epsilon >= 0 and 0 <= delta <= 1, f"Expected epsilon={epsilon} >= 0 and 0 <= delta={delta} <= 1.")
    chance = 1.0 / (1.0 + np.exp(-epsilon))
    tail = float(binom.sf(right - 1, guesses, chance))
    if delta == 0 or right == 0:
        return min(1.0, tail)
    below = np.cumsum(binom.pmf(np.arange(right - 1, -1, -1), guesses, chance))  # P[right > W >= right - i]
    steepest = float((below / np.arange(1, right + 1)).max())
    return min(1.0, tail + 2 * canaries * delta * steepest)


def bound(canaries: int, guesses: int, right: int, delta: float, error: float) -> float:
    """The largest epsilon whose p-value is below ``error``, rounded down; 0 where nothing is shown."""
    if p_value(canaries, guesses, right, 0.0, delta) >= error:
        return 0.0
    low, high = 0.0, 1.0
    while high < 64 and p_value(canaries, guesses, right, high, delta) < error:
        low, high = high, 2 * high
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if p_value(canaries, guesses, right, middle, delta) < error else (low, middle)
    return low


def audit_one_run(
    train: Callable[[Array, Array, np.random.Generator], Any],
    score: Callable[[Any, Data], Array],
    base: Data,
    canaries: Data,
    claimed: Budget,
    *,
    others: Data | None = None,
    confidence: float = 0.999,
    seed: int | None = None,
    name: str = "one run",
) -> AuditResult:
    """Train once on ``base`` and a random half of the canaries; bound epsilon from how well their presence can be
    guessed.

    ``score(model, canaries)`` is larger for canaries that seem to have been in. ``others`` are the versions that stand
    in for absent canaries: give them for replace-one claims, leave them out for add-remove.
    """
    check(
        (others is None) == (claimed.adjacency == "add-remove"),
        "Replace-one claims need others=, add-remove ones do not.",
    )
    start = time.perf_counter()
    seed = secrets.randbits(48) if seed is None else seed
    rng = np.random.default_rng(seed)
    count = len(canaries.rows)
    check(others is None or len(others.rows) == count, "Expected as many others as canaries.")
    inside = rng.random(count) < 0.5
    parts = [base, Data(canaries.rows[inside], canaries.targets[inside])] if inside.any() else [base]
    if others is not None and not inside.all():
        parts.append(Data(others.rows[~inside], others.targets[~inside]))
    rows, targets = np.vstack([p.rows for p in parts]), np.concatenate([p.targets for p in parts])
    scores = np.asarray(score(train(rows, targets, rng), canaries), dtype=np.float64)
    order = np.argsort(scores + 0.0 * rng.random(count), kind="stable")
    best, detail = 0.0, (count, 0)
    for share in SHARES:
        half = int(share * count / 2)
        if half == 0:
            continue
        right = int((~inside[order[:half]]).sum() + inside[order[-half:]].sum())
        shown = bound(count, 2 * half, right, claimed.delta, (1 - confidence) / len(SHARES))
        if shown >= best:
            best, detail = shown, (2 * half, right)
    error = (1 - confidence) / len(SHARES)
    return AuditResult(
        subject=name,
        claimed=claimed.epsilon,
        delta=claimed.delta,
        adjacency=claimed.adjacency,
        epsilon=best,
        confidence=confidence,
        trials=count,
        runs=1,
        attack=f"{detail[1]} of {detail[0]} guesses right",
        pair="canaries",
        bound="one run",
        clopper_pearson=0.0,
        ceiling=bound(count, count, count, claimed.delta, error),
        seconds=time.perf_counter() - start,
        seed=seed,
        first=scores[inside],
        second=scores[~inside],
    )
