r"""An audit of a single training run with many canaries (Steinke, Nasr & Jagielski 2023): for networks and large data.

Each of m canaries is put in or left out by a fair coin. From the one trained model the auditor guesses r of the coins,
abstaining from the others. If training is (epsilon, delta)-private under add-remove neighbours, the number of right
guesses V obeys

.. math:: P[V \ge v] \le P[W \ge v] + 2 m \delta \max_{1 \le i \le v} \frac{P[v > W \ge v - i]}{i},
    \quad W \sim Bin(r, e^\epsilon/(1 + e^\epsilon))

(their main theorem), which is a valid p-value for every epsilon; the largest epsilon that it rejects is the bound. For
replace-one neighbours the coin chooses between two versions of a canary, and the same argument holds.

Where all guesses are right, the last term is about :math:`2 \delta (1 + e^\epsilon)`, however many canaries there are:
no single run shows much more than :math:`\log(\alpha / 2 \delta)` at error :math:`\alpha`. A claim beyond the ceiling
cannot be refuted this way; a smaller delta, or less confidence, raises it. The second bound, for a trainer that is as
private as some Gaussian mechanism (:mod:`tacit.audit.onerun_gaussian`), has no such ceiling: that cannot reveal all at
once.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import binom

from tacit.audit.onerun_gaussian import best_gaussian_share, expected_right, gaussian_bound, guessed
from tacit.audit.pairs import Data
from tacit.audit.result import AuditResult
from tacit.checks import check
from tacit.ledger import refuse_open_ledger
from tacit.privacy.accounting import gaussian_mu
from tacit.rounding import border
from tacit.types import Array, Budget

SHARES = (1.0, 0.5, 0.2, 0.1, 0.05)
"""Shares of the canaries that are guessed; the error probability is divided among them."""
CHOICES = (1.0, 0.7, 0.5, 0.3, 0.2, 0.1)
"""Shares from which one is chosen beforehand."""
WEAK = 4.0
"""A trainer with so many times too little noise is the one to be caught."""


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
    return border(lambda epsilon: p_value(canaries, guesses, right, epsilon, delta) < error, most=64, halvings=40)[0]


def best_share(canaries: int, claimed: Budget, confidence: float) -> float:
    """The one share that should show most, chosen from public numbers before anything is trained.

    The scores are taken to be those of a Gaussian mechanism with a quarter of the noise that the claim needs, so that
    such a trainer is caught; where even that could not refute the claim, with all of the noise.
    """
    mu = gaussian_mu(claimed.epsilon, claimed.delta)

    def shown(share: float, mu: float) -> float:
        right = expected_right(canaries, share, mu)
        return bound(canaries, guessed(canaries, share), right, claimed.delta, 1 - confidence)

    caught, share = max((shown(share, WEAK * mu), share) for share in CHOICES)
    return share if caught > claimed.epsilon else max((shown(share, mu), share) for share in CHOICES)[1]


def audit_one_run(
    train: Callable[[Array, Array, np.random.Generator], Any],
    score: Callable[[Any, Data], Array],
    base: Data,
    canaries: Data,
    claimed: Budget,
    *,
    others: Data | None = None,
    shares: Sequence[float] = SHARES,
    gaussian_share: float | None = None,
    confidence: float = 0.999,
    seed: int | None = None,
    name: str = "one run",
) -> AuditResult:
    """Train once on ``base`` and a random half of the canaries; bound epsilon from how well their presence can be
    guessed.

    ``score(model, canaries)`` is larger for canaries that seem to have been in. ``others`` are the versions that stand
    in for absent canaries: give them for replace-one claims, leave them out for add-remove. ``shares`` of the canaries
    are guessed, those with the largest and the smallest scores; they must be chosen without looking at the model, and
    the fewer, the more each may show. The ceiling is what all guesses right would show.

    ``epsilon`` holds for any trainer; ``if_gaussian`` (where delta > 0) if training is as private as some Gaussian
    mechanism. It guesses ``gaussian_share`` of the canaries, by default the share that should show most, from public
    numbers. Each of the two exceeds the true epsilon with probability at most 1 - confidence by itself.
    """
    refuse_open_ledger("An audit, whose score reveals something about records,")
    check(len(shares) > 0 and all(0 < s <= 1 for s in shares), "Expected shares above 0 and up to 1, at least one.")
    check(gaussian_share is None or 0 < gaussian_share <= 1, "Expected gaussian_share above 0 and up to 1.")
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
    # Ties at random. By position would be valid too, since the coins do not depend on it; but a caller whose canaries
    # are sorted by strength would have all abstentions among the strong, or among the weak.
    order = np.lexsort((rng.random(count), scores))
    error = (1 - confidence) / len(shares)
    best, detail, ceiling = 0.0, (0, 0), 0.0
    for total in (guessed(count, share) for share in shares):
        if total == 0:
            continue
        right = _right(inside[order], total)
        shown = bound(count, total, right, claimed.delta, error)
        ceiling = max(ceiling, bound(count, total, total, claimed.delta, error))
        if shown >= best:
            best, detail = shown, (total, right)
    if_gaussian = None
    total = guessed(count, gaussian_share or best_gaussian_share(count, claimed, confidence)) if claimed.delta else 0
    if total:
        if_gaussian = gaussian_bound(count, total, _right(inside[order], total), claimed.delta, 1 - confidence)
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
        ceiling=ceiling,
        seconds=time.perf_counter() - start,
        seed=seed,
        if_gaussian=if_gaussian,
        first=scores[inside],
        second=scores[~inside],
    )


def _right(inside: NDArray[np.bool_], total: int) -> int:
    """Right guesses among the lowest and the highest scores, where the coins come in the order of the scores."""
    half = total // 2
    return int((~inside[:half]).sum() + inside[-half:].sum())
