r"""Kang et al. 2023 (PIDP-SGD), Theorem 5: a bound on epsilon without sampling, for all constants.

*The data.* d = 2; n - 1 records at (1, 0) and the last one at (0, +1) or (0, -1), all labels +1: only features differ.
theta~ = 0, a start without data; R = 1 round of T steps.

*The bound.* With one round the influences are those at theta~ = 0, where gradients are ``-y x/2`` and the Hessian is
diagonal with ``h_1 = lambda + (n-1)/(4n)`` and ``h_2 = lambda + 1/(4n)``. So line 10 is decided by independent noise on
known numbers: a step is noisy with a probability p that is two normal tails a coordinate (:func:`noisy`), the same in
every step, whatever was drawn before. As long as no step was noisy, theta_2 is 0 until the last record is drawn and has
its sign from then on, because a step multiplies theta_2 by 1 - alpha lambda > 0 and adds something of the record's sign
if it is drawn. So the event S = ``theta_2 > 0`` has

.. math:: P(S) \ge (1 - \bar p)^T - \left(\tfrac{n-1}{n}(1 - p_{other})\right)^T, \qquad Q(S) \le 1 - (1 - \bar p')^T,

and ``epsilon >= log((P(S) - delta)/Q(S))``.

*All constants.* sigma does not enter: c is free. ``sigma_(c) = c' G R sqrt(log(1.25 R/delta_2))/(n zeta eps_2)`` and
the influences fall as 1/n while the threshold of line 10 does not depend on n, so T p falls faster than any power of
n at T = n and at T = n^2. P(S) goes to 1 - 1/e (T = n) or to 1 (T = n^2), Q(S) to 0: for all c, c', zeta, G and r,
and all delta < 1 - 1/e or < 1, no epsilon holds once n is large.

*Small delta.* All that needs delta well above 1/n: the threshold of line 10 falls with delta_1, and for delta < 1/n
nearly every step of this example is noisy. There a single step is enough (:func:`one_step`), because the theorem does
not ask for ``epsilon < c_1 T/n^2``. With T = 1 theta_2 is ``alpha (side/2 - b)`` where the last record was drawn and
``-alpha b`` where it was not, b being the noise, or 0 without. So ``theta_2 > alpha/4`` has probability at least
``Phi(1/(4 sigma))/n`` on the first data set and at most ``Phi(-1/(4 sigma))`` on the second, for every c'; and sigma
falls as sqrt(log n)/n.
"""

from __future__ import annotations

import math
from typing import Any

from scipy.special import log_ndtr, ndtr

from papers.evidence.runs import SEED, Setting, count_runs, facts_of, lone_record, second_positive
from papers.evidence.text import constant, constants, counted, number, table
from tacit.published.pidp_sgd import PidpSgd, PidpSgdPlan
from tacit.types import Budget

EPSILON = 1.0
STRONG = 1.0
DOMAIN = 1.0
STEP = 1e-3
CONSTANT = 8.0
CONSTANTS = (1.0, 2.0, 8.0, 32.0, 128.0)
"""c': for zeta or G other than those of the study read c' G/zeta."""
DELTAS = (0.1, 0.01, 1e-3, 1e-5)
RARE = 0.1
"""n delta of the single step."""
SINGLE = ((10**4, 50.0), (10**6, 1000.0))
"""n and c of the single step."""
RUNS = Setting(records=20_000, steps=6000, trials=300, constants=(2.0,))
RUNS_DELTA = 0.01


def plan_of(records: int, other: float, delta: float, steps: int, c: float = CONSTANT) -> PidpSgdPlan:
    """The mechanism that users run: zeta = lambda = 1, r = 1, so G = 1 + lambda r = 2; eps_1 = 3/4; ``other`` is c'."""
    mechanism = PidpSgd(constant=c, contribution_constant=other, rounds=1, local=steps, step=STEP, domain=DOMAIN)
    return mechanism.calibrate(Budget(EPSILON, delta), facts_of(records, 2), STRONG, "paper")


def noisy(plan: PidpSgdPlan, influence: tuple[float, float]) -> float:
    """The probability that a step on a record of this influence is noisy: lines 7 to 10."""
    limit, quiet = min(1.0, plan.ratio) * plan.threshold, []
    for value in influence:
        centre, spread = 2 * (value + plan.error), plan.contribution_scale
        quiet.append(float(ndtr(-(limit - centre) / spread) + ndtr((-limit - centre) / spread)))
    first, second = (min(1.0, tail) for tail in quiet)
    return first + second - first * second


def rates(plan: PidpSgdPlan, records: int, side: float) -> tuple[float, float]:
    """The probabilities of noise in a step on one of the others, and on the last record at (0, side)."""
    strong = plan.regularization
    others = noisy(plan, (-0.5 / (records * strong + (records - 1) / 4), 0.0))
    return others, noisy(plan, (0.0, -0.5 * side / (records * strong + 0.25)))


def exact_bound(plan: PidpSgdPlan, records: int, delta: float) -> dict[str, float]:
    """P(S) from below, Q(S) from above, and the bound on epsilon; nothing is sampled."""
    steps, n = plan.rounds * plan.local, records
    (others, last), (others_second, last_second) = (rates(plan, n, side) for side in (1.0, -1.0))
    mean, mean_second = (((n - 1) * a + b) / n for a, b in ((others, last), (others_second, last_second)))

    def power(chance: float) -> float:
        return math.exp(steps * math.log1p(-chance)) if chance < 1 else 0.0

    hit = power(mean) - power(1 / n + (n - 1) / n * others)
    false = -math.expm1(steps * math.log1p(-mean_second)) if mean_second < 1 else 1.0
    shown = math.log((hit - delta) / max(false, 1e-300)) if hit > delta else 0.0
    return {"hit": hit, "false": false, "epsilon": max(0.0, shown)}


def first_false(other: float, delta: float) -> int:
    """The first n of 10, 20, 50, 100, ... at which the bound exceeds the claim with one pass, T = n."""
    for power in range(1, 20):
        for lead in (1, 2, 5):
            n = int(lead * 10**power)
            if exact_bound(plan_of(n, other, delta, n), n, delta)["epsilon"] > EPSILON:
                return n
    raise ArithmeticError("No n up to 1e20 was enough.")


def one_step(records: int, c: float, delta: float) -> dict[str, float]:
    """T = 1 and the event that theta_2 is above alpha/4: the bound on epsilon, for every c'."""
    margin = 0.25 / plan_of(records, CONSTANT, delta, 1, c).scale
    hit, false = float(ndtr(margin)) / records, float(log_ndtr(-margin))
    shown = math.log(hit - delta) - false if hit > delta else 0.0
    return {"n": records, "c": c, "delta": delta, "hit": hit, "false": math.exp(false), "epsilon": max(0.0, shown)}


def exact() -> dict[str, Any]:
    """The bound at the study's n for several T, the n from which on it exceeds the claim, and the single step."""
    n, other = RUNS.records, RUNS.constants[0]
    bounds = [
        {"T": steps, **exact_bound(plan_of(n, other, RUNS_DELTA, steps), n, RUNS_DELTA)} for steps in (6000, n, n * n)
    ]
    firsts = [{"delta": delta, "n": [[c, first_false(c, delta)] for c in CONSTANTS]} for delta in DELTAS]
    single = [one_step(records, c, RARE / records) for records, c in SINGLE]
    return {
        "n": n, "contribution_constant": other, "delta": RUNS_DELTA, "bounds": bounds, "first_false": firsts,
        "one_step": single,
    }  # fmt: skip


def run(setting: Setting, delta: float, *, seed: int, share: float = 1.0) -> list[dict[str, Any]]:
    """Count runs of the event; the setting's constants are c'."""
    n, found = setting.records, []
    for other in setting.constants:
        plan = plan_of(n, other, delta, setting.steps)
        counts = count_runs(
            plan, lone_record(n, 1.0), lone_record(n, -1.0), second_positive, trials=setting.part(share), delta=delta,
            seed=seed,
        )  # fmt: skip
        found.append({"n": n, "T": setting.steps, "c": CONSTANT, "contribution_constant": other, **counts})
    return found


def listed() -> list[dict[str, Any]]:
    """Every constant of the runs: given ones, those of the loss, and what lines 7 to 14 compute from them."""
    facts, plan = facts_of(RUNS.records, 2), plan_of(RUNS.records, RUNS.constants[0], RUNS_DELTA, RUNS.steps)
    return [
        constant("ε", EPSILON, "Theorem 5: any ε₁, ε₂ > 0; section 7 goes up to 3"),
        constant("ε₁", 0.75, "section 7: ε₁ = 3ε₂ = 3ε/4"),
        constant("ε₂", 0.25, "section 7: ε₂ = ε/4"),
        constant("δ", RUNS_DELTA, "Theorem 5: any δ₁, δ₂ > 0"),
        constant("δ₁", RUNS_DELTA / 2, "half of δ, as the paper does not say"),
        constant("δ₂", RUNS_DELTA / 2, "the other half"),
        constant("c", CONSTANT, 'Theorem 5: "for some constants c, c\'"; does not matter where no noise is added'),
        constant("c'", RUNS.constants[0], "the same; other values in the second table"),
        constant("n", RUNS.records, "any; other values in the second table"),
        constant("λ", STRONG, 'Remark 5: "most of the algorithms are regularized"'),
        constant("ζ", STRONG, "Theorem 4: ‖H‖ ≥ ζ; read as the smallest eigenvalue, which is the most noise"),
        constant("r", DOMAIN, "section 3.1: the radius of the parameter space; no iterate is longer than 1/λ = 1"),
        constant("G", facts.gradient + STRONG * DOMAIN,
                 "Theorem 5: G-Lipschitz; 1 of the logistic loss on the unit ball + λr"),
        constant("L", facts.curvature + STRONG, "Theorem 4: L-smooth; 1/4 of the logistic loss on the unit ball + λ"),
        constant("C", 1 / (6 * math.sqrt(3)),
                 "Theorem 4: C-Hessian-Lipschitz; the largest third derivative of the logistic loss, 1/(6√3)"),
        constant("E", plan.error, "line 7: the bound of Theorem 4, (2LG + CG²/ζ)/(ζn)²; added to every coordinate"),
        constant("R", plan.rounds, "Algorithm 1; one round"),
        constant("T", plan.local, "Algorithm 1: T = T_local R; other values in the first table"),
        constant("σ", plan.scale, "Theorem 5: cG√(T log(1/δ₁))/(nε₁), the least that is allowed"),
        constant("σ_(c)", plan.contribution_scale,
                 "Theorem 5: c'GR√(log(1.25R/δ₂))/(nζε₂), the least that is allowed"),
        constant("threshold", plan.threshold, "lines 9 and 10: 2r e^ε₁ δ₁/(e^ε₁ − 1)"),
        constant("share of it", plan.ratio, "line 10: log(t/(t − |c|)) ≤ 2ε₁ is |c| ≤ (1 − e^(−2ε₁)) t"),
        constant("θ̃", 0.0, "Algorithm 1, line 2, where it is not defined: a start without data"),
        constant("α", plan.rate, "Algorithm 1 leaves it open; the event does not depend on it"),
    ]  # fmt: skip


def measure(seed: int = SEED) -> dict[str, Any]:
    """The study."""
    return {
        "claim": [EPSILON, RUNS_DELTA], "constants": listed(), "exact": exact(),
        "runs": run(RUNS, RUNS_DELTA, seed=seed),
    }  # fmt: skip


def markdown(data: dict[str, Any]) -> str:
    """The tables of the documentation."""
    found = data["exact"]
    least = min(row["delta"] * n for row in found["first_false"] for _, n in row["n"])
    return "\n".join([
        *constants(data), "",
        f"Computed, not sampled: n = {found['n']:,}, c' = {found['contribution_constant']:g}, any c, claimed "
        f"(1, {found['delta']:g}):", "",
        *table(
            ["T", "probability of S on the first data set, at least", "on the second, at most", "epsilon at least"],
            [
                [f"{row['T']:,}", f"{row['hit']:.4f}", f"{row['false']:.1e}", f"**{number(row['epsilon'])}**"]
                for row in found["bounds"]
            ],
        ), "",
        "The first n of 10, 20, 50, 100, ... at which that bound exceeds the claimed 1 with one pass (T = n), any c:",
        "",
        *table(
            ["delta", *(f"c' = {c:g}" for c in CONSTANTS)],
            [[f"{row['delta']:g}", *(f"{n:,}" for _, n in row["n"])] for row in found["first_false"]],
        ), "",
        f"In every cell δ is at least {least:g}/n. A single step (T = 1) at δ = {RARE:g}/n, the event that the second "
        "weight is above α/4, any c', claimed (1, δ):", "",
        *table(
            ["n", "c", "probability on the first data set, at least", "on the second, at most", "epsilon at least"],
            [
                [f"{row['n']:,}", f"{row['c']:g}", f"{row['hit']:.1e}", f"{row['false']:.1e}",
                 f"**{number(row['epsilon'])}**"]
                for row in found["one_step"]
            ],
        ), "",
        f"Runs of `PidpSgd`, claimed (1, {found['delta']:g}):", "",
        *table(
            ["n", "T", "c", "c'", "least share of steps without noise", "first data set", "second",
             "epsilon at least", "could show"],
            [
                [f"{row['n']:,}", f"{row['T']:,}", f"{row['c']:g}", f"{row['contribution_constant']:g}",
                 f"{row['noiseless']:g}", *counted(row)]
                for row in data["runs"]
            ],
        ), "",
        *(
            f"On the first data set the first table expects {found['bounds'][0]['hit'] * row['trials']:.0f} of "
            f"{row['trials']}."
            for row in data["runs"]
        ),
    ])  # fmt: skip
