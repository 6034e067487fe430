r"""Kang et al. 2020a, Theorem 1: exact after one step, and runs of ten.

*The law.* d = 1, half of the others at x = +1 with label +1 and half at x = -1 with label -1, so that y x = 1 for all
of them; the last one at x = +1 or -1 with label +1: only features differ, which is what gets the noise. One full step
from theta = 0 gives

.. math:: \theta_1 = \frac\alpha{2n}\sum_i y_i (x_i + z_i) \sim N\left(\frac{\alpha}{2n}(n - 1 \pm 1),
    \frac{\alpha^2\sigma^2}{4n}\right),

two Gaussians m = 2/(sigma sqrt(n)) apart. With sigma^2 of (9), ``m = 2 sqrt(n-1) Delta^(1/4) eps / (G sqrt(c
log(1/delta)))``, which grows with n: for every c there is an n from which on the conclusion is false. *One z for all*:
the noise on the gradient is z times the mean label, which is 0: theta_1 is a number, one for each data set, and no
epsilon holds for any c and any delta < 1. The others agree, so that ``l(theta_T) - l*``, which the proof hides in c
(equation 28), stays away from 0 and c has no cause to grow (:func:`gap`).

*Section 5.1's form.* It assumes ``l(y theta.x)``, which the regulariser is not. With ``(Delta/2) (y theta x)^2`` in its
place and all ``|x_i| = 1``, as here, the loss is of that form and Delta-strongly convex, G = 2 on ``|theta| <= 1``, and
its slope at theta_0 = 0 is the same: so are theta_1, m and every number of one step.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit

from papers.evidence.exact import shift_epsilon
from papers.evidence.runs import SEED, Setting, between, count_runs, facts_of, problem_of
from papers.evidence.text import constant, constants, counted, number, table
from tacit.linear.problem import Problem
from tacit.privacy.accounting import gaussian_mu
from tacit.privacy.noise import SeededSource
from tacit.published.data_perturbation import PublishedInput, PublishedPlan
from tacit.types import Budget

CLAIM = Budget(1.0, 1e-4)
STRONG = 1.0
DOMAIN = 1.0
RATE = 0.1
SIZES = (100, 1_000, 10_000, 100_000)
CONSTANTS = (1.0, 8.0, 64.0, 512.0)
OWN = Setting(records=1000, steps=10, trials=10_000, constants=(1.0, 8.0))
SHARED = Setting(records=1000, steps=1, trials=1000, constants=(1.0, 1e6))


def plan_of(records: int, c: float, *, steps: int = 1, shared: bool = False) -> PublishedPlan:
    """The mechanism that users run, at the study's constants: Delta = 1, radius 1, so G = 1 + 1 * 1 = 2."""
    mechanism = PublishedInput("input-kang-2020", constant=c, steps=steps, rate=RATE, shared=shared, domain=DOMAIN)
    return mechanism.calibrate(CLAIM, facts_of(records, 1), STRONG, "paper")


def separation(plan: PublishedPlan, records: int) -> float:
    """How many standard deviations the two data sets are apart after one step from zero."""
    return 2.0 / (plan.scale * math.sqrt(records))


def largest_false(records: int) -> float:
    """All c below this are false after one step: the separation is inversely proportional to sqrt(c)."""
    allowed = gaussian_mu(CLAIM.epsilon, CLAIM.delta)
    return (separation(plan_of(records, 1.0), records) / allowed) ** 2


def gap(theta: float) -> float:
    """``l(theta) - l*`` of the mean loss where all records agree: ``log(1 + e^-theta) + Delta/2 theta^2``."""

    def loss(at: float) -> float:
        return math.log1p(math.exp(-at)) + 0.5 * STRONG * at * at

    best = float(brentq(lambda at: STRONG * at - float(expit(-at)), 0.0, 1 / STRONG))
    return loss(theta) - loss(best)


def threshold(plan: PublishedPlan, records: int, seed: int) -> float:
    """Where the event ``theta > t`` of the runs starts: found in runs of their own and fixed for those that count.

    Three standard deviations above the lower mean, or half way between the two if that is more.
    """
    low, high = (
        [float(plan.run(problem_of_side(records, side), SeededSource((seed, 9, k))).weights[0, 0]) for k in range(200)]
        for side in (-1.0, 1.0)
    )
    return max(float(np.mean(low) + 3 * np.std(low)), float(np.mean(low) + np.mean(high)) / 2)


def problem_of_side(records: int, side: float) -> Problem:
    """Rows in turn +1 and -1 with labels that agree with them; the last row is ``side``, its label +1."""
    labels = np.where((records - np.arange(records)) % 2 == 0, -1.0, 1.0)
    rows = labels[:, None].copy()
    rows[-1] = side
    return problem_of(rows, labels)


def exact() -> list[dict[str, Any]]:
    """Exact epsilons over n and c after one step, and the c below which all are false."""
    rows = []
    for n in SIZES:
        cells = [[c, shift_epsilon(separation(plan_of(n, c), n), CLAIM.delta)] for c in CONSTANTS]
        rows.append({"n": n, "epsilons": cells, "false_below": largest_false(n)})
    return rows


def run(setting: Setting, *, shared: bool, seed: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Count runs: with noise of their own, of the event ``theta > t``; with one z for all, of the one number that
    the first data set gives."""
    n, found = setting.records, []
    for c in setting.constants:
        plan = plan_of(n, c, steps=setting.steps, shared=shared)
        # What the first data set gives where the noise cancels; the second gives (1 - 2/n) of it.
        place = 0.5 * plan.rate
        width = 1e-6 * place  # rows are rounded to a grid of 2**-24
        low, high = (place - width, place + width) if shared else (threshold(plan, n, seed), math.inf)
        counts = count_runs(
            plan, problem_of_side(n, 1.0), problem_of_side(n, -1.0), between(low, high), trials=setting.part(share),
            delta=CLAIM.delta, seed=seed,
        )  # fmt: skip
        found.append({"noise": "one for all" if shared else "own", "n": n, "T": setting.steps, "c": c, **counts})
    return found


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study."""
    return {
        "claim": [CLAIM.epsilon, CLAIM.delta],
        "constants": [
            constant("ε", CLAIM.epsilon, "Theorem 1: any ε > 0"),
            constant("δ", CLAIM.delta, "Theorem 1: any δ > 0"),
            constant("Δ", STRONG, "Theorem 1: the loss is Δ-strongly convex; logistic loss + (Δ/2)‖θ‖²"),
            constant("D", DOMAIN, "Theorem 2: ‖θ‖ ≤ D; ‖θ‖ ≤ 1/Δ holds for the minimiser"),
            constant("G", 1 + STRONG * DOMAIN, "Theorem 1: G-Lipschitz; 1 of the logistic loss on the unit ball + ΔD"),
            constant("θ₀", 0.0, "Algorithm 1 leaves the start open"),
            constant("α", RATE, "Algorithm 1 leaves it open; does not matter at T = 1"),
            constant("ℓ(θ₁) − ℓ*", gap(0.5 * RATE), "equation (28): the proof takes it for a constant, hidden in c"),
        ],
        "exact": exact(),
        "runs": [*run(OWN, shared=False, seed=seed), *run(SHARED, shared=True, seed=seed)],
    }


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    heads = [f"c = {c:g}" for c in CONSTANTS]
    lines = table(
        ["n", *heads, "false for every c below"],
        [
            [f"{row['n']:,}", *(number(value) for _, value in row["epsilons"]), number(row["false_below"])]
            for row in data["exact"]
        ],
    )
    return "\n".join([
        *constants(data), "",
        "Exact epsilon after one step, noise of its own for each record (claimed: 1):", "", *lines, "",
        "Runs of `PublishedInput`, claimed 1:", "",
        *table(
            ["noise", "n", "T", "c", "first data set", "second", "epsilon at least", "could show"],
            [
                [row["noise"], f"{row['n']:,}", str(row["T"]), f"{row['c']:g}", *counted(row)]
                for row in data["runs"]
            ],
        ),
    ])  # fmt: skip
