r"""Kang et al. 2020b (DBDP-ERM), Theorem 2 and D_priv: a record that is never drawn is returned as it is.

Algorithm 2 returns the model *and* D_priv, "all (last version) perturbed data instances [...], if there is no
perturbation, [...] the original one" (line 18). T draws with replacement miss the last record with probability
``(1 - 1/n)^T``; then its row of D_priv is the record. On the neighbour, whose last record is another one, that row has
probability 0 (noise has a density). So for every epsilon

.. math:: \delta(\epsilon) \ge (1 - 1/n)^T,

for every c, c_1, w_t and line 9, and also where every record that is drawn gets noise. Runs show more: records that are
drawn and pass line 9 are returned as they are, too. Only T of more than ``(n - 1) log(1/delta)`` draws leave room.
Theorem 2 says "Algorithm 2 [...] is (epsilon, delta)-differential privacy", and this is what it returns; the text says
of D_priv that the original data are protected "to some extents". Read as a statement about the model alone it is the
subject of :mod:`papers.evidence.kang_2020b_2`.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from papers.evidence.runs import SEED, Setting, count_runs, facts_of, lone_record
from papers.evidence.text import constant, constants, counted, table
from tacit.checks import RefutedWarning
from tacit.published.perturbed_data import PerturbedData
from tacit.published.pi_dbdp_erm import PiDbdpErm, PiDbdpErmPlan
from tacit.types import Budget, Solution

CLAIM = Budget(0.3, 1e-4)
STRONG = 0.1
PASSES = (1.0, 5.0, 9.0)
"""T/n; the last is near log(1/delta)."""
NEAR = 1e-6
RUNS = Setting(records=20, steps=20, trials=1000, constants=(1.0, 1e6))


def plan_of(records: int, c: float, *, steps: int) -> PiDbdpErmPlan:
    """The mechanism that users run."""
    mechanism = PiDbdpErm(constant=c, steps=steps, local=10, step=0.05)
    return mechanism.calibrate(CLAIM, facts_of(records, 2), STRONG, "paper")


def missed(records: int, steps: int) -> float:
    """The probability that one record is never drawn: delta is at least this, at every epsilon."""
    return math.exp(steps * math.log1p(-1 / records))


def last_row_is_raw(solution: Solution) -> bool:
    """The event: the last row of D_priv is (0, 1), up to the grid of 2**-24 that rows are rounded to."""
    data = solution.extras["perturbed_data"]
    if not isinstance(data, PerturbedData):
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        rows, _ = data.release(raw_records=True)
    return bool(np.abs(rows[-1] - [0.0, 1.0]).max() < NEAR)


def exact() -> list[dict[str, Any]]:
    """The least delta at every epsilon, for the passes over the data of n records."""
    return [
        {"n": n, "deltas": [[passes, missed(n, round(passes * n))] for passes in PASSES]} for n in (20, 1_000, 45_222)
    ]


def run(setting: Setting, *, seed: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Count runs of the event."""
    n, found = setting.records, []
    for c in setting.constants:
        counts = count_runs(
            plan_of(n, c, steps=setting.steps), lone_record(n, 1.0), lone_record(n, -1.0), last_row_is_raw,
            trials=setting.part(share), delta=CLAIM.delta, seed=seed,
        )  # fmt: skip
        found.append({"n": n, "T": setting.steps, "c": c, **counts})
    return found


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study."""
    return {
        "claim": [CLAIM.epsilon, CLAIM.delta],
        "constants": [
            constant("ε", CLAIM.epsilon, "Theorem 2: any ε < c₁T/n², so c₁ > εn²/T; does not matter here"),
            constant("δ", CLAIM.delta, "Theorem 2: any δ > 0"),
            constant("λ", STRONG, "Theorem 3 and (14): strongly convex, H positive definite; does not matter here"),
            constant("G", 1.0, "Theorem 2: G-Lipschitz; does not matter here"),
        ],
        "exact": exact(),
        "runs": run(RUNS, seed=seed),
    }


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    heads = ["n", *(f"T = {passes:g} n" for passes in PASSES)]
    rows = [[f"{row['n']:,}", *(f"{value:.2g}" for _, value in row["deltas"])] for row in data["exact"]]
    return "\n".join([
        *constants(data), "",
        "Exact: what δ is at least, at every ε and for every c, because a record is never drawn:", "",
        *table(heads, rows), "",
        f"Runs of `PiDbdpErm`, claimed ({data['claim'][0]:g}, {data['claim'][1]:g}), the event that the last row of "
        "D_priv is the record itself:", "",
        *table(
            ["n", "T", "c", "least share of steps without noise", "first data set", "second",
             "epsilon at least", "could show"],
            [[str(r["n"]), str(r["T"]), f"{r['c']:g}", f"{r['noiseless']:.4g}", *counted(r)] for r in data["runs"]],
        ),
    ])  # fmt: skip
