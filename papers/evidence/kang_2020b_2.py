r"""Kang et al. 2020b (DBDP-ERM), Theorem 2: on a data set of Algorithm 2 no noise is ever added.

*The data.* d = 2; n - 1 records at (1, 0) and the last one at (0, +1) or (0, -1), all labels +1: only features differ.
The regulariser (lambda/2)||theta||^2 makes the Hessian positive definite, as the paper assumes.

*Why nothing is added* (last record at (0, 1); the other case is its mirror image). The start is the minimiser:
``(n-1)/n s(-a) = lambda a`` and ``1/n s(-b) = lambda b`` for its coordinates a, b > 0, with s the logistic function;
H is diagonal, h_1, h_2 >= lambda. A step multiplies both coordinates by 1 - alpha lambda and adds something positive to
one of them, so after t steps they are at least k a and k b with ``k = (1 - alpha lambda)^T``. In line 9 the ratios are
``1 + lambda/(n h_j)`` on the coordinate that the record does not use, between 1 and 1 + 1/n, and ``1 + lambda/(n h_j) -
s(-theta_j)/(n theta_j h_j)`` on the one that it uses, where s(-x)/x falls in x. So the norm of line 9 is at least
1 and at most a number that is computed (:func:`largest_norm`); where that is at most e^epsilon, **every** step of
**every** run passes the test and is made without noise. Then theta_2 keeps the sign of the last record: the event
``theta_2 > 0`` has probability 1 on one data set and 0 on the other, and no epsilon holds, for every c, every delta < 1
and, as T is free, every c_1 of the premise ``epsilon < c_1 T/n^2``. Start and steps stay where ``||theta|| <=
1/lambda``; there the loss is 2-Lipschitz, and everywhere if the regulariser goes on linearly outside.

That uses the start. :data:`FORGOTTEN` does not: there ``k`` is e^-10, some orders of draws get noise (the last record
is left out for the first 265 steps and then drawn, a chance below 1e-12), and runs show the same.
"""

from __future__ import annotations

import math
from typing import Any, Literal

from scipy.optimize import brentq
from scipy.special import expit

from papers.evidence.runs import SEED, Setting, count_runs, facts_of, lone_record, second_positive
from papers.evidence.text import constant, constants, counted, table
from tacit.published.pi_dbdp_erm import PiDbdpErm, PiDbdpErmPlan
from tacit.types import Budget

CLAIM = Budget(1.0, 1e-4)
STRONG = 0.1
LOCAL = 10
"""T_local of the paper."""
KEPT = 0.5
"""k of the exact argument: alpha is set so that (1 - alpha lambda)^T is this."""
SIZES = (10, 20, 100, 1_000, 45_222)
FORGOTTEN = Setting(records=10, steps=2000, trials=400, constants=(1.0, 1e6))
FORGETTING_RATE = 0.05
ELEMENTS = Setting(records=20, steps=400, trials=400, constants=(1.0, 8.0))
ELEMENTS_RATE = 1e-5
LIPSCHITZ = (
    "Theorem 2: G-Lipschitz; 1 is that of the logistic loss, which the noise of the runs has. With the regulariser it "
    "is 2 where ‖θ‖ ≤ 1/λ, so that c of noisy runs is half of what the table says; where no noise is added it does "
    "not matter"
)


def plan_of(
    records: int, c: float, *, steps: int, rate: float, test: Literal["norm", "elements"] = "norm"
) -> PiDbdpErmPlan:
    """The mechanism that users run."""
    mechanism = PiDbdpErm(constant=c, steps=steps, local=LOCAL, step=rate, test=test)
    return mechanism.calibrate(CLAIM, facts_of(records, 2), STRONG, "paper")


def rate_that_keeps(steps: int) -> float:
    """The step size with (1 - alpha lambda)^T = KEPT."""
    return -math.expm1(math.log(KEPT) / steps) / STRONG


def minimum(records: int) -> tuple[float, float]:
    """a and b: the coordinates of the exact minimiser."""

    def root(share: float) -> float:
        return float(brentq(lambda x: share * float(expit(-x)) - STRONG * x, 0.0, 1 / STRONG, xtol=1e-15, rtol=1e-14))

    return root((records - 1) / records), root(1 / records)


def largest_norm(records: int, kept: float) -> float:
    """The largest norm of line 9 that any record has at any step of any run that keeps at least ``kept``."""
    largest = 0.0
    starts = minimum(records)
    shares = ((records - 1) / records, 1 / records)
    curves = [STRONG + w * float(expit(x) * expit(-x)) for w, x in zip(shares, starts, strict=True)]
    idle = [1 + STRONG / (records * h) for h in curves]
    for used, other in ((0, 1), (1, 0)):
        least = kept * starts[used]
        lowest = idle[used] - float(expit(-least)) / (records * least * curves[used])
        largest = max(largest, math.hypot(max(abs(lowest), idle[used]), idle[other]))
    return largest


def exact() -> list[dict[str, Any]]:
    """For several n: the largest norm, and the limit e^epsilon below which no noise is ever added."""
    return [
        {"n": n, "largest_norm": largest_norm(n, KEPT), "limit": math.exp(CLAIM.epsilon), "kept": KEPT} for n in SIZES
    ]


def run(
    setting: Setting, rate: float, test: Literal["norm", "elements"], *, seed: int, share: float = 1.0
) -> list[dict[str, Any]]:
    """Count runs of the event."""
    n, found = setting.records, []
    for c in setting.constants:
        plan = plan_of(n, c, steps=setting.steps, rate=rate, test=test)
        counts = count_runs(
            plan, lone_record(n, 1.0), lone_record(n, -1.0), second_positive, trials=setting.part(share),
            delta=CLAIM.delta, seed=seed,
        )  # fmt: skip
        kept = (1 - rate * STRONG) ** setting.steps
        found.append({"test": test, "n": n, "T": setting.steps, "rate": rate, "kept": kept, "c": c, **counts})
    return found


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study: the exact argument, runs that forget the start, and runs with line 9 element by element."""
    return {
        "claim": [CLAIM.epsilon, CLAIM.delta],
        "constants": [
            constant("ε", CLAIM.epsilon, "Theorem 2: any ε < c₁T/n², so c₁ > n²/T (for a smaller c₁ a longer T)"),
            constant("δ", CLAIM.delta, "Theorem 2: any δ > 0"),
            constant("T_local", LOCAL, "section 5"),
            constant("λ", STRONG, "Theorem 3 and (14): strongly convex, H positive definite"),
            constant("G", 1.0, LIPSCHITZ),
        ],
        "exact": exact(),
        "runs": [
            *run(FORGOTTEN, FORGETTING_RATE, "norm", seed=seed),
            *run(ELEMENTS, ELEMENTS_RATE, "elements", seed=seed),
        ],
    }


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    return "\n".join([
        *constants(data), "",
        "Exact: the largest norm of line 9 over all records, steps and runs (no noise is added below e^epsilon = "
        f"{data['exact'][0]['limit']:.3f}):", "",
        *table(
            ["n", *(f"{row['n']:,}" for row in data["exact"])],
            [["largest norm", *(f"{row['largest_norm']:.3f}" for row in data["exact"])]],
        ), "",
        "Runs of `PiDbdpErm`, claimed (1, 1e-4), lambda = 0.1:", "",
        *table(
            ["line 9", "n", "T", "T/n²", "step size", "start kept", "c", "least share of steps without noise",
             "first data set", "second", "epsilon at least", "could show"],
            [
                [row["test"], str(row["n"]), f"{row['T']:,}", f"{row['T'] / row['n'] ** 2:g}", f"{row['rate']:g}",
                 f"{row['kept']:.1e}", f"{row['c']:g}", f"{row['noiseless']:.4g}", *counted(row)]
                for row in data["runs"]
            ],
        ),
    ])  # fmt: skip
