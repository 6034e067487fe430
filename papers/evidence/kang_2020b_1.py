r"""Kang et al. 2020b (DBDP-ERM), Theorem 1: exact for one step of Algorithm 1.

*The law.* T = 1 from theta_0 = 0, a batch of \|B\| = sqrt(n) records, so that q = 1/\|B\| as the theorem asks, no
regulariser, so G = 1. All other records are at x = 0, the last one at +1 or -1 with label +1: only features differ. The
step is ``theta_1 = alpha/(2|B|) sum_{i in B} y_i (x_i + b_i)``. With probability q the last record is in the batch, so

.. math:: \theta_1 \sim (1-q) N(0, s^2) + q N(\pm\tfrac{\alpha}{2|B|}, s^2), \qquad s =
    \frac{\alpha\sigma}{2\sqrt{|B|}},

which is :func:`~papers.evidence.exact.mixture_delta` with ``m = 1/(sigma sqrt|B|) = sqrt|B| eps / (c
sqrt(log(1/delta)))``.

*Every c.* Take \|B\| = 1/(2 delta), so q = 2 delta. The event ``x > m/2`` has P >= q Phi(m/2) and Q <= Phi(-m/2), so
``eps' >= log((2 delta Phi(m/2) - delta)/Phi(-m/2))``, and ``m^2 = eps^2/(2 c^2 delta log(1/delta))`` is unbounded as
delta falls: no constant c is large enough for every delta. *One b for all*: on a batch with balanced labels there is
no noise, so the record's sign is seen with probability q P(balanced), whatever c is.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import hypergeom

from papers.evidence.exact import mixture_epsilon
from papers.evidence.runs import SEED, Setting, between, count_runs, facts_of, one_at_the_edge
from papers.evidence.text import constant, constants, counted, number, table
from tacit.published.data_perturbation import PublishedInput, PublishedPlan
from tacit.types import Budget

DELTA = 1e-4
BATCH = 300
CONSTANTS = (1.0, 2.0, 8.0, 32.0, 100.0)
DELTAS = (1e-4, 1e-6, 1e-8, 1e-10)
EXPERIMENTS = {42_000: "KDDCup99", 27_133: "Adult", 24_712: "Bank"}
"""Training records of the large sets, 0.6 of each."""
EXPERIMENTS_DELTA = 1e-3
CLAIMS = ((1.0, 1.0), (1.0, 2.0), (0.5, 1.0), (0.1, 1.0), (0.01, 1.0))
"""Claimed epsilons of the experiments, each with a c."""
GRID = 40
"""Batch sizes that are tried for each delta, from 2 to 1/delta, in equal ratios, before the first is searched."""
OWN = Setting(records=22_500, steps=1, trials=20_000, constants=(1.0,))
SHARED = Setting(records=400, steps=1, trials=10_000, constants=(1.0, 1e6))


def plan_of(batch: int, c: float, delta: float, *, shared: bool = False) -> PublishedPlan:
    """The mechanism that users run: n = batch^2 records, one step, claimed (1, delta)."""
    mechanism = PublishedInput("dbdp-erm", constant=c, steps=1, batch=1 / batch, shared=shared, start=0.0)
    return mechanism.calibrate(Budget(1.0, delta), facts_of(batch**2, 1), 0.0, "paper")


def separation(plan: PublishedPlan, batch: int) -> float:
    """m: the move of a batch that holds the last record, in standard deviations of the noise on its mean."""
    return 1.0 / (plan.scale * math.sqrt(batch))


def exact_epsilon(batch: int, c: float, delta: float) -> float:
    """The exact epsilon at the claimed delta."""
    return mixture_epsilon(separation(plan_of(batch, c, delta), batch), 1 / batch, delta)


def first_false(c: float, delta: float) -> tuple[int, float] | None:
    """A small batch size at which the exact epsilon exceeds the claimed 1, and that epsilon; None where a grid of
    sizes up to 1/delta has none.

    Larger batches meet the record less often and have less noise on their mean: epsilon rises, then falls where q
    comes down to delta. The first of the grid that exceeds 1 is brought down by bisection.
    """
    sizes = sorted({int(size) for size in np.geomspace(2, 1 / delta, GRID, endpoint=False)})
    place = next((i for i, size in enumerate(sizes) if exact_epsilon(size, c, delta) > 1), None)
    if place is None:
        return None
    low, high = sizes[place - 1] if place else 1, sizes[place]
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if exact_epsilon(middle, c, delta) > 1 else (middle, high)
    return high, exact_epsilon(high, c, delta)


def after_one_step(records: int, claimed: float, c: float) -> float:
    """The exact epsilon at a size of the experiments, with the batches that they have: sqrt(n), rounded."""
    mechanism = PublishedInput("dbdp-erm", constant=c, steps=1, batch=records**-0.5, start=0.0)
    plan = mechanism.calibrate(Budget(claimed, EXPERIMENTS_DELTA), facts_of(records, 1), 0.0, "paper")
    batch = round(records**0.5)
    return mixture_epsilon(separation(plan, batch), batch / records, EXPERIMENTS_DELTA)


def seen_without_noise(batch: int) -> float:
    """One b for all: the probability that the last record is in the batch and the batch's labels add up to 0."""
    n = batch**2
    others = hypergeom(n - 1, n // 2 - 1, batch - 1)  # labels are balanced over all n; the last one's is +1
    return float(others.pmf(batch // 2 - 1)) / batch


def infimum() -> float:
    r"""The smallest ``|d/dx d/dtheta loss| = s(-v) |1 - s(v) v|``, v the margin, over \|theta\| <= 1 and \|x\| <= 1:
    it falls in v there, so it is at v = 1."""
    return float(expit(-1.0) * (1.0 - expit(1.0)))


def exact() -> dict[str, Any]:
    """Exact epsilons at n = 90,000 and at the sizes of the experiments, and the first n at which the conclusion is
    false, for several c and delta."""
    here = [[c, exact_epsilon(BATCH, c, DELTA)] for c in CONSTANTS]
    rows = []
    for delta in DELTAS:
        cells = []
        for c in CONSTANTS:
            size, epsilon = first_false(c, delta) or (None, None)
            cells.append({"c": c, "batch": size, "epsilon": epsilon})
        rows.append({"delta": delta, "cells": cells})
    shared = [{"batch": size, "seen": seen_without_noise(size)} for size in (20, 100, 300)]
    sets = [{"n": n, "epsilons": [[*claim, after_one_step(n, *claim)] for claim in CLAIMS]} for n in EXPERIMENTS]
    return {
        "batch": BATCH, "delta": DELTA, "epsilons": here, "first_false": rows, "one_for_all": shared,
        "experiments": sets,
    }  # fmt: skip


def run(setting: Setting, *, shared: bool, seed: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Count runs: with noise of their own, of theta beyond four of the noise's deviations; with one b for all, of the
    number that a batch without noise gives."""
    n, batch, found = setting.records, math.isqrt(setting.records), []
    for c in setting.constants:
        plan = plan_of(batch, c, DELTA, shared=shared)
        place = plan.rate / (2 * batch)
        deviation = place * plan.scale * math.sqrt(batch)  # of the noise on theta
        low, high = (place * (1 - 1e-6), place * (1 + 1e-6)) if shared else (4 * deviation, math.inf)
        counts = count_runs(
            plan, one_at_the_edge(n, 1.0), one_at_the_edge(n, -1.0), between(low, high), trials=setting.part(share),
            delta=DELTA, seed=seed,
        )  # fmt: skip
        found.append({"noise": "one for all" if shared else "own", "n": n, "batch": batch, "c": c, **counts})
    return found


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study."""
    return {
        "claim": [1.0, DELTA],
        "constants": [
            constant("ε", 1.0, "Theorem 1: any ε > 0"),
            constant("G", 1.0, "Theorem 1: G-Lipschitz; the logistic loss on the unit ball (section 2.1: ‖x‖ ≤ 1)"),
            constant("λ", 0.0, "Theorem 1 asks for no regulariser"),
            constant("T", 1, "Theorem 1: any T"),
            constant("q √n", 1.0, "Theorem 1: q is of the same order as 1 over the size of a batch, qn; so q = 1/√n"),
            constant(
                "I", infimum(), "Theorem 1: ‖∇ₓ∇θℓ‖ has an infimum I; for ‖θ‖ ≤ 1 (1/2 at θ₀, the only θ that is used)"
            ),
            constant("θ₀", 0.0, "Algorithm 1, line 2: at random, by no law that it names"),
        ],
        "exact": exact(),
        "runs": [*run(OWN, shared=False, seed=seed), *run(SHARED, shared=True, seed=seed)],
    }


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    found = data["exact"]
    heads = [f"c = {c:g}" for c in CONSTANTS]
    false_rows = [
        [
            f"{row['delta']:g}",
            *("none" if cell["batch"] is None else number(cell["batch"] ** 2) for cell in row["cells"]),
        ]
        for row in found["first_false"]
    ]
    sets = [
        [EXPERIMENTS[row["n"]], f"{row['n']:,}", *(_against(value, claimed) for claimed, _, value in row["epsilons"])]
        for row in found["experiments"]
    ]
    seen = ", ".join(f"{row['seen']:.2e} at n = {row['batch'] ** 2:,}" for row in found["one_for_all"])
    return "\n".join([
        *constants(data), "",
        f"Exact epsilon, noise of its own for each record, n = {found['batch'] ** 2:,}, batches of {found['batch']}, "
        f"delta = {found['delta']:g} (claimed: 1):", "",
        *table(heads, [[number(value) for _, value in found["epsilons"]]]), "",
        f"Exact epsilon after one step at the sizes and the delta of the experiments, {EXPERIMENTS_DELTA:g}, batches "
        "of √n (bold where it exceeds the claim):", "",
        *table(["set", "n", *(f"c = {c:g}, claimed {claimed:g}" for claimed, c in CLAIMS)], sets), "",
        "The first n at which the exact epsilon exceeds the claimed 1 (batches of √n; 'none': at no n up to 1/δ²):",
        "", *table(["delta", *heads], false_rows), "",
        "One b for all records: the last record is seen without any noise with probability " + seen + ", for every c; "
        "no epsilon holds for a delta below that.", "",
        "Runs of `PublishedInput`, claimed (1, 1e-4):", "",
        *table(
            ["noise", "n", "batch", "c", "first data set", "second", "epsilon at least", "could show"],
            [[r["noise"], f"{r['n']:,}", str(r["batch"]), f"{r['c']:g}", *counted(r)] for r in data["runs"]],
        ),
    ])  # fmt: skip


def _against(value: float, claimed: float) -> str:
    """Four decimals where it is small, in bold where it exceeds the claim."""
    text = f"{value:.2f}" if value >= 0.01 else f"{value:.4f}"
    return f"**{text}**" if value > claimed else text
