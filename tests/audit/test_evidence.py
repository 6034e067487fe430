"""Evidence against papers: exact laws by a second road, premises, the code that users run, and the records."""

import contextlib
import io
import itertools
import json
import math
import re
from pathlib import Path

import mpmath
import numpy as np
import pytest
from scipy import stats
from scipy.special import expit

from papers import evidence
from papers.evidence import (
    STUDIES,
    kang_2020a,
    kang_2020b_1,
    kang_2020b_2,
    kang_2020b_data,
    kang_2023,
    load,
    markdown,
    runs,
    wang_2020,
)
from papers.evidence.exact import mixture_delta, mixture_epsilon, shift_epsilon
from papers.evidence.runs import Setting
from papers.wang_2020.side_by_side import Models, Recipe, mean_gradients
from tacit import LogisticRegression
from tacit.audit.intervals import clopper_pearson
from tacit.checks import RefutedWarning
from tacit.privacy.noise import SeededSource
from tacit.published import PiDbdpErm, PidpSgd, PublishedInput

ALARM = 1e-6
"""False alarms of every statistical test here."""


# --- the exact computations, by a second road -------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("m", "q", "epsilon"), [(1.47, 0.05, 0.5), (5.71, 1 / 300, 3.0), (2.0, 0.3, 0.0), (0.4, 0.01, 0.002), (9, 1e-4, 12)]
)
def test_the_mixture_is_that_of_quadrature(m, q, epsilon):
    """The integral of the positive part of p - e^epsilon q, in 30 digits."""
    with mpmath.workdps(30):

        def density(x, centre):
            return (1 - mpmath.mpf(q)) * mpmath.npdf(x) + mpmath.mpf(q) * mpmath.npdf(x, centre)

        def log_ratio(x):
            return mpmath.log(density(x, m) / density(x, -m)) - epsilon

        t = mpmath.findroot(log_ratio, (-1 if epsilon == 0 else 0, m + 10), solver="anderson")
        nodes = [t, *(t + k for k in (1, 2, 4, 8, 16, 40))]
        found = mpmath.quad(lambda x: density(x, m) - mpmath.exp(epsilon) * density(x, -m), nodes)
    assert mixture_delta(m, q, epsilon) == pytest.approx(float(found), rel=1e-9)


def test_the_figures_of_dbdp_erm():
    """n = 90,000 and delta = 1e-4 with c = 1, 2, 8; and c = 8 falls at delta = 1e-6. The separation from the print."""
    for batch, c, delta, epsilon in (
        (300, 1, 1e-4, 20.46),
        (300, 2, 1e-4, 3.03),
        (300, 8, 1e-4, 0.01),
        (6245, 8, 1e-6, 1.125),
    ):
        m = math.sqrt(batch) / (c * math.sqrt(math.log(1 / delta)))
        assert kang_2020b_1.separation(kang_2020b_1.plan_of(batch, c, delta), batch) == pytest.approx(m)
        assert mixture_epsilon(m, 1 / batch, delta) == pytest.approx(epsilon, abs=6e-3)


def test_dbdp_erm_at_the_sizes_of_the_experiments():
    """m = sqrt(|B|) epsilon/(c sqrt(log(1/delta))) from the print, n = 42,000 and |B| = 205: 13.08 for a claim of 1."""
    for claimed, c, epsilon in ((1.0, 1.0, 13.08), (1.0, 2.0, 0.59), (0.1, 1.0, 0.0026)):
        m = math.sqrt(205) * claimed / (c * math.sqrt(math.log(1000)))
        assert mixture_epsilon(m, 205 / 42_000, 1e-3) == pytest.approx(epsilon, rel=0.02)
        assert kang_2020b_1.after_one_step(42_000, claimed, c) == pytest.approx(epsilon, rel=0.02)


def test_every_constant_of_dbdp_erm_falls():
    """The proof's bound at |B| = 1/(2 delta) is below the exact epsilon and exceeds the claim for c up to 10^4."""
    for c, delta in ((1, 1e-4), (8, 1e-7), (100, 1e-9), (1e4, 1e-13)):
        batch, q = round(1 / (2 * delta)), 2 * delta
        m = math.sqrt(batch) / (c * math.sqrt(math.log(1 / delta)))
        proof = math.log(2 * delta * stats.norm.cdf(m / 2) - delta) - stats.norm.logsf(m / 2)
        assert 1 < proof <= mixture_epsilon(m, q, delta) + 1e-6


def test_input_perturbation_needs_a_constant_that_grows_with_n():
    """Just below the limit the exact epsilon exceeds the claim, just above it does not; the limit grows as n - 1."""
    for n in (100, 10_000):
        limit = kang_2020a.largest_false(n)
        below, above = (
            shift_epsilon(kang_2020a.separation(kang_2020a.plan_of(n, f * limit), n), 1e-4) for f in (0.999, 1.001)
        )
        assert above < 1 < below
    assert kang_2020a.largest_false(10_000) / kang_2020a.largest_false(100) == pytest.approx(9999 / 99)


@pytest.mark.parametrize("batch", [2, 4])
def test_batches_without_noise_are_counted(batch):
    """All batches of n = 4 and 16 records, one by one."""
    n = batch**2
    labels = runs.one_at_the_edge(n, 1.0).records.targets[:, 0]
    assert labels.sum() == 0
    sums = [labels[list(chosen)].sum() == 0 and n - 1 in chosen for chosen in itertools.combinations(range(n), batch)]
    assert kang_2020b_1.seen_without_noise(batch) == pytest.approx(np.mean(sums))


def test_no_run_of_algorithm_2_is_noisy():
    """All 4^7 ways of drawing four records in seven steps, line 9 written again; the bound is above and below e."""
    n, steps, strong = 4, 7, kang_2020b_2.STRONG
    rate = kang_2020b_2.rate_that_keeps(steps)
    x = np.array([[1.0, 0.0]] * (n - 1) + [[0.0, 1.0]])
    theta = np.array(kang_2020b_2.minimum(n))
    slopes = expit(-(x @ theta))
    assert np.abs(-(slopes @ x) / n + strong * theta).max() < 1e-12, "the start is the minimiser"
    inverse = np.linalg.inv((x.T * (slopes * (1 - slopes))) @ x / n + strong * np.eye(2))
    reached, largest, smallest, steepest = theta[None], 0.0, np.inf, 0.0
    for _ in range(steps):
        moves = []
        for row in x:
            gradients = -expit(-(reached @ row))[:, None] * row + strong * reached
            norms = np.linalg.norm((gradients @ inverse / n + reached) / reached, axis=1)
            largest, smallest = max(largest, norms.max()), min(smallest, norms.min())
            steepest = max(steepest, np.linalg.norm(gradients, axis=1).max())
            moves.append(reached - rate * gradients)
        reached = np.vstack(moves)
        assert np.linalg.norm(reached, axis=1).max() <= 1 / strong
    assert reached[:, 1].min() > 0, "the sign of the last record's weight stays"
    assert smallest >= 1
    assert steepest <= 2, "the loss is 2-Lipschitz where the steps are"
    assert largest <= kang_2020b_2.largest_norm(n, kang_2020b_2.KEPT) < math.e
    plan = kang_2020b_2.plan_of(20, 1.0, steps=400, rate=kang_2020b_2.rate_that_keeps(400))
    assert plan.run(runs.lone_record(20, 1.0), SeededSource(3)).extras["noiseless"] == 1.0


def test_the_box_of_the_page_is_inside_its_proof():
    """The counterexample that readers run keeps enough of the start, so that no order of draws gets noise."""
    page = (Path(__file__).parents[2] / "docs" / "papers" / "kang_2020b.md").read_text(encoding="utf-8")
    (box,) = (block for block in re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S) if "inverse" in block)
    names: dict = {}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(compile(box, "the box", "exec"), names)
    kept = (1 - names["alpha"] * names["strength"]) ** len(names["norms"])
    assert names["strength"] == kang_2020b_2.STRONG
    assert kept >= kang_2020b_2.KEPT
    assert max(names["norms"]) <= kang_2020b_2.largest_norm(names["n"], kept) < math.e


def test_a_single_step_of_pidp_sgd_shows_the_record():
    """Written again from Theorem 5, and the event counted in runs of four records; at c = 1e9 nothing is shown."""
    found = kang_2023.one_step(10**4, 50.0, 1e-5)
    sigma = 50 * 2 * math.sqrt(math.log(2e5)) / (10**4 * 0.75)
    expected = math.log((stats.norm.cdf(0.25 / sigma) / 10**4 - 1e-5) / stats.norm.sf(0.25 / sigma))
    assert found["epsilon"] == pytest.approx(expected, rel=1e-9)
    assert kang_2023.one_step(10**4, 1e9, 1e-5)["epsilon"] < 1
    n, runs_of, delta = 4, 400, 0.025
    plan, chances = kang_2023.plan_of(n, 1.0, delta, 1, 0.05), kang_2023.one_step(n, 0.05, delta)
    limit = math.sqrt(math.log(2 / ALARM) / (2 * runs_of))  # Hoeffding
    for side, low, high in ((1.0, chances["hit"], 1 / n), (-1.0, 0.0, chances["false"])):
        solutions = (plan.run(runs.lone_record(n, side), SeededSource((5, run))) for run in range(runs_of))
        seen = np.mean([solution.weights[1, 0] > kang_2023.STEP / 4 for solution in solutions])
        assert low - limit < seen < high + limit


def test_how_often_pidp_sgd_is_noisy():
    """n = 60, where two thirds of the steps are noisy: 20,000 steps against the computed rate, and a wrong one."""
    n, steps = 60, 20_000
    plan = kang_2023.plan_of(n, 0.5, 0.1, steps)
    others, last = kang_2023.rates(plan, n, 1.0)
    expected = 1 - ((n - 1) * others + last) / n
    assert 0.2 < expected < 0.8
    seen = plan.run(runs.lone_record(n, 1.0), SeededSource(4)).extras["noiseless"]
    limit = math.sqrt(math.log(2 / ALARM) / (2 * steps))  # Hoeffding
    assert abs(seen - expected) < limit
    wrong = kang_2023.rates(kang_2023.plan_of(n, 0.6, 0.1, steps), n, 1.0)[0]
    assert abs(seen - (1 - wrong)) > limit


# --- the code that users run ------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("mechanism", "plan", "problem", "strong", "delta"),
    [
        (PublishedInput(constant=8.0, steps=10, rate=0.1, domain=1.0), kang_2020a.plan_of(100, 8.0, steps=10),
         kang_2020a.problem_of_side(100, 1.0), 1.0, 1e-4),
        (PublishedInput("dbdp-erm", constant=2.0, steps=1, batch=0.1, start=0.0), kang_2020b_1.plan_of(10, 2.0, 1e-4),
         runs.one_at_the_edge(100, 1.0), 0.0, 1e-4),
        (PiDbdpErm(constant=8.0, steps=400, local=10, step=0.05), kang_2020b_2.plan_of(20, 8.0, steps=400, rate=0.05),
         runs.lone_record(20, 1.0), 0.1, 1e-4),
        (PidpSgd(constant=8.0, contribution_constant=2.0, rounds=1, local=500, step=1e-3, domain=1.0),
         kang_2023.plan_of(1000, 2.0, 0.1, 500), runs.lone_record(1000, 1.0), 1.0, 0.1),
    ],
    ids=["2020a", "2020b-1", "2020b-2", "2023"],
)  # fmt: skip
def test_the_studies_run_what_users_run(mechanism, plan, problem, strong, delta):
    """``fit`` with the same seed gives the same weights, bit for bit."""
    model = LogisticRegression(
        1.0, delta=delta, method=mechanism, calibration="paper", regularization=strong, fit_intercept=False,
        random_state=5, classes=[-1.0, 1.0], clip=1.0,
    )  # fmt: skip
    with pytest.warns(RefutedWarning):
        model.fit(problem.records.design.matrix, problem.records.targets[:, 0])
    assert np.array_equal(model.coef_.ravel(), plan.run(problem, SeededSource(5)).weights.ravel())


def _distance(values, law):
    """Kolmogorov's, and the limit that Dvoretzky, Kiefer, Wolfowitz and Massart give at ``ALARM``."""
    return stats.kstest(values, law).statistic, math.sqrt(math.log(2 / ALARM) / (2 * len(values)))


def test_the_law_of_one_step_is_the_one_that_is_computed():
    """4,000 runs each: own noise of both papers. A noise scale that is wrong by a factor 1.5 is noticed."""
    plan, problem = kang_2020b_1.plan_of(4, 1.0, 1e-4), runs.one_at_the_edge(16, 1.0)
    unit = 0.5 * plan.rate * plan.scale / 2
    theta = np.array([plan.run(problem, SeededSource((6, k))).weights[0, 0] for k in range(4000)]) / unit
    m = kang_2020b_1.separation(plan, 4)
    for factor, right in ((1.0, True), (1.5, False)):
        found, limit = _distance(theta * factor, lambda x: 0.75 * stats.norm.cdf(x) + 0.25 * stats.norm.cdf(x - m))
        assert (found < limit) == right
    plan, problem = kang_2020a.plan_of(10, 1.0), kang_2020a.problem_of_side(10, -1.0)
    unit = 0.5 * plan.rate * plan.scale / math.sqrt(10)
    theta = np.array([plan.run(problem, SeededSource((7, k))).weights[0, 0] for k in range(4000)])
    for factor, right in ((1.0, True), (1.5, False)):
        found, limit = _distance(factor * (theta - 0.5 * plan.rate * 0.8) / unit, stats.norm.cdf)
        assert (found < limit) == right


def test_the_table_of_pidp_sgd_lists_every_constant():
    """From the listed constants alone, by the formulas of the print: the noise, E, the threshold, and the rate at which
    steps are noisy, as :func:`noisy` has them from the plan."""
    k = {row["constant"]: row["value"] for row in load("kang-2023")["constants"]}
    plan = kang_2023.plan_of(k["n"], k["c'"], k["δ"], k["T"], k["c"])
    sigma = k["c"] * k["G"] * math.sqrt(k["T"] * math.log(1 / k["δ₁"])) / (k["n"] * k["ε₁"])
    other = k["c'"] * k["G"] * k["R"] * math.sqrt(math.log(1.25 * k["R"] / k["δ₂"])) / (k["n"] * k["ζ"] * k["ε₂"])
    error = (2 * k["L"] * k["G"] + k["C"] * k["G"] ** 2 / k["ζ"]) / (k["ζ"] * k["n"]) ** 2
    threshold = 2 * k["r"] * math.exp(k["ε₁"]) * k["δ₁"] / math.expm1(k["ε₁"])
    share = -math.expm1(-2 * k["ε₁"])
    computed = {"σ": sigma, "σ_(c)": other, "E": error, "threshold": threshold, "share of it": share}
    assert {name: k[name] for name in computed} == pytest.approx(computed)
    used = [plan.scale, plan.contribution_scale, plan.error, plan.threshold, plan.ratio]
    assert used == pytest.approx(list(computed.values()))
    assert (plan.rate, plan.rounds, plan.local, plan.regularization) == (k["α"], k["R"], k["T"], k["λ"])
    assert k["ε"] == k["ε₁"] + k["ε₂"]
    assert k["δ"] == k["δ₁"] + k["δ₂"]
    tail = stats.norm(
        2 * (0.5 / (k["n"] * k["λ"] + 0.25) + error), other
    )  # the last record's own coordinate at (0, -1)
    rest = stats.norm(2 * error, other)
    noisy = 1 - math.prod(1 - law.sf(share * threshold) - law.cdf(-share * threshold) for law in (tail, rest))
    assert kang_2023.rates(plan, k["n"], -1.0)[1] == pytest.approx(noisy, rel=1e-3)
    x = np.linspace(-8, 8, 160_001)
    s = expit(x)
    assert np.abs(s * (1 - s) * (1 - 2 * s)).max() == pytest.approx(k["C"], rel=1e-6)


# --- premises, by a check of their own --------------------------------------------------------------------------------
def test_the_noise_is_at_least_what_the_theorems_ask():
    """Each sigma written again from the print."""
    log = math.log(1e4)
    for n, c, steps in ((1000, 8.0, 10), (100, 1.0, 1)):
        plan = kang_2020a.plan_of(n, c, steps=steps)
        assert plan.scale**2 == pytest.approx(c * 2**2 * steps * log / (n * (n - 1) * math.sqrt(1.0) * 1.0**2))
    assert kang_2020b_1.plan_of(300, 8.0, 1e-4).scale == pytest.approx(8 * (1 / 300) * 1 * math.sqrt(log) / 1)
    plan = kang_2023.plan_of(20_000, 2.0, 0.01, 6000)
    assert plan.scale == pytest.approx(8 * 2 * math.sqrt(6000 * math.log(200)) / (20_000 * 0.75))
    assert plan.contribution_scale == pytest.approx(2 * 2 * 1 * math.sqrt(math.log(1.25 / 0.005)) / (20_000 * 1 * 0.25))
    plan = kang_2020b_2.plan_of(10, 8.0, steps=2000, rate=0.05)
    assert plan.scale == pytest.approx(8 * math.sqrt(2000 * log) / (10 * 1))


def test_the_constants_are_those_of_the_losses():
    """G, Delta, zeta and I on a grid of the unit ball of records and parameters, with and without the regulariser."""
    theta, x = (grid.ravel() for grid in np.meshgrid(np.linspace(-1, 1, 401), np.linspace(-1, 1, 401)))
    s = expit(-theta * x)
    slope, curve = -s * x, s * (1 - s) * x**2
    assert np.abs(slope).max() <= 1
    assert np.abs(slope + theta).max() <= 2
    assert (curve + 1).min() >= 1
    mixed = np.abs(-s + s * (1 - s) * theta * x)
    assert mixed.min() == pytest.approx(kang_2020b_1.infimum())
    for n in (10, 20_000):
        rows = runs.lone_record(n, 1.0).records.design.matrix
        assert np.linalg.eigvalsh(rows.T @ rows).min() / n * 0.2 + 1.0 >= 1.0, "zeta is lambda"


@pytest.mark.parametrize("pair", [kang_2020a.problem_of_side, runs.one_at_the_edge, runs.lone_record])
def test_neighbours_differ_in_the_features_of_one_record(pair):
    first, second = pair(40, 1.0).records, pair(40, -1.0).records
    assert np.array_equal(first.targets, second.targets)
    assert np.flatnonzero((first.design.matrix != second.design.matrix).any(axis=1)).tolist() == [39]
    assert np.linalg.norm(first.design.matrix, axis=1).max() <= 1


def test_iterates_stay_in_the_parameter_space():
    """Without noise a step is a mean of theta and a point of norm at most 1/lambda = 1 = r."""
    plan = kang_2023.plan_of(500, 1.0, 0.1, 2000)
    assert plan.rate * plan.regularization <= 1
    solution = plan.run(runs.lone_record(500, 1.0), SeededSource(8))
    assert np.linalg.norm(solution.weights) <= 1


def test_the_recorded_runs_are_inside_the_premises():
    for row in load("kang-2020b-algorithm-2")["runs"]:
        assert row["T"] >= row["n"] ** 2, "epsilon = 1 < c_1 T/n^2 for every c_1 > 1"
    assert {row["noiseless"] for row in load("kang-2020b-algorithm-2")["runs"] if row["test"] == "norm"} == {1.0}
    for row in load("kang-2020b-algorithm-1")["runs"]:
        assert row["batch"] ** 2 == row["n"]
    for row in load("kang-2023")["runs"]:
        assert (row["noiseless"], row["c"], row["contribution_constant"]) == (1.0, 8.0, 2.0)


# --- the records ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", STUDIES)
def test_records_are_whole(name):
    """Bounds follow from the counts, by Clopper-Pearson written again; every study has runs above its claim."""
    data = load(name)
    assert (data["format"], data["study"], data["seed"], data["confidence"]) == ("tacit-evidence-2", name, 2, 0.999)
    for row in data["runs"]:
        assert row["delta"] == data["claim"][1]
        low = stats.beta.ppf(5e-4, row["hits"], row["trials"] - row["hits"] + 1)
        high = stats.beta.ppf(1 - 5e-4, row["false"] + 1, row["trials"] - row["false"])
        assert row["epsilon"] == pytest.approx(max(0.0, math.log((low - row["delta"]) / high)))
    assert max(row["epsilon"] for row in data["runs"]) > data["claim"][0]


def _flat(value):
    if isinstance(value, dict):
        return [part for key in value for part in _flat(value[key])]
    if isinstance(value, list | tuple):
        return [part for entry in value for part in _flat(entry)]
    return [value]


@pytest.mark.parametrize("module", [kang_2020a, kang_2020b_1, kang_2020b_2, kang_2020b_data, kang_2023, wang_2020])
def test_what_is_computed_is_computed_again(module):
    name = {study.measure: name for name, study in STUDIES.items()}[module.measure]
    now, then = _flat(module.exact()), _flat(load(name)["exact"])
    assert len(now) == len(then)
    for here, there in zip(now, then, strict=True):
        assert here is there is None or here == pytest.approx(there, rel=1e-6)


@pytest.mark.parametrize(
    "again",
    [
        lambda: kang_2020a.run(Setting(records=1000, steps=10, trials=200, constants=(1.0,)), shared=False, seed=11),
        lambda: kang_2020a.run(Setting(records=100, steps=1, trials=100, constants=(1e6,)), shared=True, seed=11),
        lambda: kang_2020b_1.run(Setting(records=16, steps=1, trials=800, constants=(1e6,)), shared=True, seed=11),
        lambda: kang_2020b_2.run(Setting(records=4, steps=200, trials=70, constants=(1e6,)), 0.2, "norm", seed=11),
        lambda: kang_2023.run(Setting(records=500, steps=500, trials=140, constants=(1.0,)), 0.1, seed=11),
    ],
    ids=["2020a", "2020a-shared", "2020b-1-shared", "2020b-2", "2023"],
)
def test_a_small_run_shows_the_same(again):
    """An algorithm that kept its claim would be accused with probability ``ALARM``."""
    (row,) = again()
    assert float(clopper_pearson(row["hits"], row["false"], row["trials"], row["delta"], ALARM)) > 1


def test_the_statistic_of_the_release_tells_the_two_data_sets_apart():
    """One epoch at a noise of 0.05, where the two means are 40 deviations apart; and at 50, where nothing is seen."""
    setting = Setting(records=60_000, steps=wang_2020.STEPS, trials=1, constants=(4.0,))
    for noise, least in ((0.05, 50.0), (50.0, None)):
        recipe = Recipe(noise, 0.0, wang_2020.RATE, "epoch", "mean")
        first, second = (wang_2020.attacked(side, recipe, setting, (12,)) for side in (1.0, -1.0))
        assert abs(first) < 0.1 > abs(second) if least is None else first > least > -least > second


def test_the_first_step_of_the_release_is_the_mixture_that_is_computed():
    """The mean of a batch with the last record is the clipped unit vector that the law has, from w = 0."""
    recipe = Recipe(0.0, 0.0, 1.0, "epoch", "mean")
    for side in (1.0, -1.0):
        X, y = wang_2020.data(side, 128)
        models = Models([recipe], 1, np.random.default_rng(0))
        models.weights[:], models.intercepts[:] = 0, 0
        mean, _ = mean_gradients(models, X, y, 128, np.array([False]))
        expected = side * (0.1 - np.eye(10)[0])
        assert mean[0, :, 0] == pytest.approx(expected / np.linalg.norm(expected), abs=1e-6)


def test_the_small_run_accuses_no_algorithm_that_is_private_enough():
    """c = 5000 at n = 100 is above the limit of one step: the same test says nothing."""
    (row,) = kang_2020a.run(Setting(records=100, steps=1, trials=300, constants=(5000.0,)), shared=False, seed=11)
    assert float(clopper_pearson(row["hits"], row["false"], row["trials"], row["delta"], ALARM)) < 1


def test_recording_writes_what_loading_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "HERE", tmp_path)
    monkeypatch.setattr(kang_2020b_2, "FORGOTTEN", Setting(records=4, steps=20, trials=5, constants=(1.0,)))
    monkeypatch.setattr(kang_2020b_2, "ELEMENTS", Setting(records=4, steps=20, trials=5, constants=(1.0,)))
    path = evidence.record("kang-2020b-algorithm-2")
    assert json.loads(path.read_text(encoding="utf-8")) == evidence.load("kang-2020b-algorithm-2")
    with pytest.raises(ValueError, match="Unknown study"):
        evidence.load("nothing")


def test_the_documentation_shows_the_recorded_evidence():
    """Written by ``python -m papers.evidence --page > docs/audit-evidence.inc``."""
    page = Path(__file__).parents[2] / "docs" / "audit-evidence.inc"
    assert page.read_text(encoding="utf-8") == markdown()


def test_the_audit_of_the_audit_is_recorded():
    alarms = json.loads((evidence.HERE / "false-alarms.json").read_text())
    assert alarms["audits"] == 1000
    assert alarms["confidence"] == 0.999
    assert max(alarms["violations"].values()) <= 3
    rows = json.loads((evidence.HERE / "power.json").read_text())["rows"]
    assert all(row["gaussian"][1] >= 0.7 for row in rows), "the median audit reaches 0.7 of epsilon"
