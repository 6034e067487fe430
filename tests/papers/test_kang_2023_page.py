"""The page of Kang et al. 2023: numbers that it types in (zeta, contributions, noise), and its own statements."""

import csv
import functools
import itertools
import math
import statistics

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution

from papers.engine.figure import Size
from papers.engine.library import load
from papers.engine.under_way import rows_of
from papers.kang_2023 import escapes, one_record
from papers.kang_2023.contributions import contributions
from papers.kang_2023.figures import (
    DELTA,
    EPSILONS,
    NORM,
    OURS,
    PLAIN,
    PRETRAINED,
    ROUND,
    ROUNDS,
    SHARE,
    SPLIT,
)
from papers.shared import printed_bounds
from papers.shared import statements as says
from papers.shared.accuracy import with_gaps
from papers.shared.curves import REFERENCE, RIDGE
from papers.shared.sgd_baselines import ABADI, SMOOTHED
from tacit import datasets
from tacit.nn.train import NetworkLoss
from tacit.privacy import accounting
from tacit.privacy.events import PoissonGaussian, SubsetGaussian
from tacit.published import PidpSgd
from tacit.types import Budget, Facts

ADULT = 27_133
PAGE = (rows_of("papers").parent / "papers" / "kang_2023.md").read_text(encoding="utf-8")


def stored(data):
    if not datasets.stored(data):
        pytest.skip(f"{data} is not stored here")


@pytest.mark.parametrize(
    ("data", "start", "optimum", "shares"),
    [
        ("kddcup99", 0.220, 0.030, ("0%", "0%", "0%", "1%", "60%")),
        ("adult", 0.187, 0.116, ("0%", "0%", "83%", "97%", "96%")),
        ("bank_marketing", 0.197, 0.071, ("0%", "0%", "1%", "77%", "93%")),
    ],
)
def test_zeta_is_above_the_norm_of_the_hessian_on_two_sets(data, start, optimum, shares):
    """And how many steps of ten rounds would be without noise with the norm itself, at epsilon = 0.1, ..., 3."""
    stored(data)
    first, best = contributions(data, "start"), contributions(data, "optimum")
    assert (first.norm, best.norm) == pytest.approx((start, optimum), abs=6e-4)
    plans = [best.plan(epsilon, DELTA, best.norm, ROUNDS, 0.1) for epsilon in (0.1, 0.5, 1.0, 2.0, 3.0)]
    assert [f"{best.quiet(plan):.0%}" for plan in plans] == list(shares)


def test_the_shares_of_the_figure_are_those_of_its_zeta():
    """The computed share against what the runs of the figure had (Adult, ten rounds, epsilon = 1: 51%)."""
    stored("adult")
    best = contributions("adult", "optimum")
    plan = best.plan(1.0, DELTA, NORM, ROUNDS, 0.1)
    assert best.quiet(plan) == pytest.approx(0.51, abs=0.01)
    # With the smallest eigenvalue, E alone is beyond the limit of lines 9 and 10, 2 r delta_1 (1 + e^-epsilon_1).
    for epsilon in (0.01, 3.0):
        plan = best.plan(epsilon, DELTA, 1e-3, 1, 0.1)
        limit = 20 * DELTA / 2 * (1 + math.exp(-0.75 * epsilon))
        assert plan.ratio * plan.threshold == pytest.approx(limit)
        assert plan.error == pytest.approx(0.233, abs=1e-3)
        assert plan.error > 10 * limit
        assert best.quiet(plan) < 1e-9


@pytest.mark.parametrize("data", ["kddcup99", "adult", "bank_marketing"])
def test_contributions_are_precise(data):
    """Remark 5: of the eight records of largest influence c_z is off by less than half a percent of its length."""
    stored(data)
    best = contributions(data, "optimum")
    lengths = np.linalg.norm(best.values, axis=1)
    largest = np.argsort(lengths)[-8:]
    assert 0.013 < lengths.max() < 0.0205
    assert best.errors(largest).max() < 0.005


@pytest.mark.parametrize(("epsilon", "times"), [(0.01, 0.7), (0.1, 1.3), (3.0, 2.75)])
def test_the_noise_of_dp_sgd_beside_equation_1(epsilon, times):
    """50 batches of 5%: noise on the sum of gradients over G, as a multiple of (1) with c = 1."""
    needed = _least(lambda scale: PoissonGaussian(clip=1, scale=scale, rate=0.05, count=50), epsilon, DELTA, 0.5, 100)
    assert needed / (0.05 * math.sqrt(50 * math.log(1 / DELTA)) / epsilon) == pytest.approx(times, abs=0.06)


@pytest.mark.parametrize(
    ("epsilon", "low", "high", "share"),
    [
        (0.01, 0.655, 0.775, "1.3 to 1.5 times the least that gives (ε, δ) at\nε = 0.01"),
        (0.1, 3.36, 3.58, "0.28 to 0.30 of it at 0.1"),
        (1.0, 25.4, 25.6, "a 25th at 1"),
        (3.0, 65.8, 66.3, "a 66th at 3"),
    ],
)
def test_the_noise_of_pidp_sgd_beside_the_least(epsilon, low, high, share):
    """Two passes over Adult with noise in every step: the least that gives (epsilon, delta) over Theorem 5's, c = 1."""
    steps = 2 * ADULT
    scale = math.sqrt(steps * math.log(2 / DELTA)) / (ADULT * 0.75 * epsilon)
    assert _lies_between(low, high, scale, steps, epsilon)
    assert share in PAGE


def _lies_between(low, high, scale, steps, epsilon):
    """Is the least noise for (epsilon, delta) at least low and at most high times this scale?"""
    too_little = one_record.delta(low * scale, ADULT, steps, epsilon, "reached") > DELTA
    return too_little and one_record.delta(high * scale, ADULT, steps, epsilon, "dominating") <= DELTA


@pytest.mark.parametrize(("records", "steps", "scale", "epsilon"), [(100, 50, 1.0, 0.3), (1000, 2000, 0.7, 1.0)])
def test_noise_on_one_record_beside_two_other_accountants(records, steps, scale, epsilon):
    """The pair that is reached is that of Poisson batches with 2 G, both ways; Renyi prices are above the other."""
    reached, enough = (one_record.delta(scale, records, steps, epsilon, side) for side in ("reached", "dominating"))
    sampled = PoissonGaussian(clip=2, scale=scale, rate=1 / records, count=steps)
    assert reached <= accounting.delta((sampled,), epsilon, "add-remove") * 1.001
    both = privacy_loss_distribution.from_gaussian_mechanism(
        scale, sensitivity=2, sampling_prob=1 / records, value_discretization_interval=1e-5
    )
    assert reached == pytest.approx(both.self_compose(steps).get_delta_for_epsilon(epsilon), rel=0.01)
    subset = SubsetGaussian(clip=1, scale=scale, batch=1, records=records, count=steps)
    assert reached < enough < accounting.delta((subset,), epsilon, "replace-one")


@functools.cache
def perceptrons():
    """The rows of the perceptrons, with gaps."""
    numbers = ("epsilon", "accuracy", "loss", "noiseless", "records", "tried")
    with (rows_of("papers") / "kang_2023" / "figures1-2-mlp.csv").open(encoding="utf-8", newline="") as file:
        lines = [{k: float(v) if k in numbers and v else v for k, v in line.items()} for line in csv.DictReader(file)]
    return with_gaps([{**line, "resplit": False} for line in lines])


def of(method, data, epsilon, key):
    """What the rows of one cell have."""
    place = (method, data, epsilon)
    return [p[key] for p in perceptrons() if (p["method"], p["data"], p["epsilon"]) == place]


def passes(method, data, epsilon):
    (chosen,) = set(of(method, data, epsilon, "chosen"))
    return float(chosen.split("passes = ")[1])


@pytest.mark.parametrize(
    ("ours", "y", "better", "worse", "sentence"),
    [
        (OURS, "accuracy", (9, 8), (0, 0), "in 9 and 8 of 12 cells, worse in none"),
        (OURS, "gap", (10, 11), (0, 0), "its gap is smaller in 10 and 11, larger in none"),
        (ROUND, "accuracy", (7, 7), (0, 0), "In one round it is more accurate in 7 and 7"),
        (PRETRAINED, "accuracy", (11, 11), (0, 0), "from a pre-trained network in 11 and 11, worse in none"),
        (PLAIN, "accuracy", (8, 7), (1, 1), "in 8 and 7 of 12 cells, and less in one each"),
    ],
)
def test_perceptrons_that_lead(ours, y, better, worse, sentence):
    assert sentence in PAGE
    for other, more, fewer in zip((ABADI, SMOOTHED), better, worse, strict=True):
        found = says.beats(perceptrons(), "s", ours, (other,), y=y, least=0.5).seen
        assert f" in {more} of 12 cells" in found
        assert f"worse in {fewer} " in found
        if (ours, y) == (OURS, "accuracy"):
            assert found.split("median lead ")[1].split(")")[0] in PAGE


def test_perceptrons_at_small_epsilons():
    assert "clearly behind nowhere, and ahead on all three sets at 0.1" in PAGE
    for other in (ABADI, SMOOTHED):
        assert "worse in 0 " in says.beats(perceptrons(), "s", OURS, (other,)).seen
        tenth = [p for p in perceptrons() if p["epsilon"] == 0.1]
        assert " in 3 of 3 cells" in says.beats(tenth, "s", OURS, (other,)).seen


def test_perceptrons_with_noise_in_every_step_or_in_few():
    """c' = 0.1 against c' = 1; in two of the four cells that are better, both are the same algorithm."""
    assert "With perceptrons c' = 0.1 is more accurate in 4 cells and less in none" in PAGE
    assert "4 of 12 cells (8 undecided), worse in 0" in says.beats(perceptrons(), "s", OURS, (PLAIN,), least=0.5).seen
    assert "the gap is smaller in 6 and larger in 1" in PAGE
    found = says.beats(perceptrons(), "s", OURS, (PLAIN,), y="gap", least=0.5).seen
    assert "6 of 12 cells (5 undecided), worse in 1" in found
    for data, lead in (("adult", 0.0080), ("bank_marketing", 0.0114)):
        assert max(of(OURS, data, 0.5, "noiseless") + of(PLAIN, data, 0.5, "noiseless")) == 0
        both = [statistics.mean(of(method, data, 0.5, "accuracy")) for method in (OURS, PLAIN)]
        assert both[0] - both[1] == pytest.approx(lead, abs=5e-5)
        assert round(100 * lead) == 1
    assert "differ by about a point only because settings were chosen twice" in PAGE
    for data, last in (("kddcup99", 0.5), ("adult", 1.0), ("bank_marketing", 1.0)):
        shares = {epsilon: of(OURS, data, epsilon, "noiseless") for epsilon in EPSILONS}
        assert max(max(share) for epsilon, share in shares.items() if epsilon <= last) == 0
        assert min(min(share) for epsilon, share in shares.items() if epsilon > last) > 0.97
    assert max(p["noiseless"] for p in perceptrons() if p["method"] == PLAIN) == 0


@pytest.mark.parametrize(
    ("method", "epsilon", "low", "high"), [(OURS, 0.5, 13.6, 13.9), (OURS, 1.0, 9.1, 9.45), (PLAIN, 3.0, 23.5, 24.1)]
)
def test_the_noise_of_perceptrons_beside_the_least(method, epsilon, low, high):
    """The setting chosen on Adult: the least that gives (epsilon, delta) where G = 1 holds, over the plan's."""
    local = max(1, round(passes(method, "adult", epsilon) * ADULT / ROUNDS))
    facts = Facts(
        records=ADULT, features=13_110, outputs=1, radius=1.0,
        loss=NetworkLoss(lipschitz=1.0, smoothness=1.0, name="perceptron"),
    )  # fmt: skip
    method = PidpSgd(constant=1.0, contribution_constant=0.1, rounds=ROUNDS, local=local, zeta=NORM)
    plan = method.calibrate(Budget(epsilon, DELTA), facts, RIDGE, "paper")
    assert _lies_between(low, high, plan.scale, ROUNDS * local, epsilon)
    shares = {0.5: "a 14th of [the least that gives (ε, δ)]", 1.0: "a ninth at 1", 3.0: "a 24th at 3 with c' = 1"}
    assert shares[epsilon] in PAGE


def test_perceptrons_from_the_minimiser_and_their_lengths():
    at = {epsilon: statistics.mean(of(PRETRAINED, "adult", epsilon, "accuracy")) for epsilon in EPSILONS}
    assert "from 0.8487 at ε = 2 to 0.8352 at 3" in PAGE
    assert (at[2.0], at[3.0]) == pytest.approx((0.8487, 0.8352), abs=5e-5)
    chosen = {e: set(of(PRETRAINED, "adult", e, "chosen")).pop().split(",")[0].split(" = ")[1] for e in EPSILONS}
    assert [float(chosen[e]) < 0.01 for e in EPSILONS] == [True] * 5 + [False]  # the grid begins at 0.01
    assert max(of(PRETRAINED, "adult", 3.0, "tried")) == 9  # the grid, and one other length
    best = max(statistics.mean(of(other, "adult", 0.01, "accuracy")) for other in (ABADI, SMOOTHED))
    assert "(a pre-trained network by 0.0701)" in PAGE
    assert at[0.01] - best == pytest.approx(0.0701, abs=5e-5)
    plain = [next(p for p in perceptrons() if (p["data"], p["method"]) == (d, REFERENCE)) for d in LEAST]
    assert [round(p["records"] * p["loss"]) for p in plain] == list(LEAST.values())
    assert "(perceptrons: 47, 8,772 and 4,022)" in PAGE
    assert "by DP-SGD in 13 of its 18, by DP-LSSGD in 16" in PAGE
    assert "Six choices, all of PIDP-SGD from a pre-trained network, lie at an edge of what was tried" in PAGE
    edges = [(p["method"], p["data"], p["epsilon"]) for p in perceptrons() if p["inside"] == "False"]
    assert (len(set(edges)), {method for method, *_ in edges}) == (6, {PRETRAINED})
    ends = ("epochs = 30", "passes = 20")
    longest = {
        method: {
            (p["data"], p["epsilon"]) for p in perceptrons() if p["method"] == method and p["chosen"].endswith(ends)
        }
        for method in (ABADI, SMOOTHED, OURS, PLAIN, ROUND, PRETRAINED)
    }
    assert [len(longest[method]) for method in (ABADI, SMOOTHED, OURS)] == [13, 16, 10]
    assert sum(len(cells) for cells in longest.values()) == 58
    assert "That longest run was chosen in 58 of 108 cells" in PAGE
    for method in (ABADI, SMOOTHED):  # all cells from 1/2 on
        assert {(data, epsilon) for data in LEAST for epsilon in EPSILONS[2:]} <= longest[method]


LEAST = {"kddcup99": 47, "adult": 8772, "bank_marketing": 4022}
"""n times the least mean loss of perceptrons."""


def test_theorem_3_with_the_least_losses_of_the_sets():
    """Its rate at the best tau, 2 sqrt(a (a + L*)) with a = m/(n epsilon)^2, over a + 1/n: 2.5 to 96 times as large."""
    found = []
    for data, least in (("kddcup99", 0.10868), ("adult", 0.41017), ("bank_marketing", 0.30067)):
        for epsilon in (0.01, 0.1, 3.0):
            f = printed_bounds.letters(data, "LR", epsilon, DELTA, None)
            a = f.p / (f.n * epsilon) ** 2
            found.append(2 * math.sqrt(a * (a + least)) / (a + 1 / f.n))
    assert (min(found), max(found)) == pytest.approx((2.5, 96), rel=0.02)
    wide = []
    for (data, least), epsilon in itertools.product(LEAST.items(), EPSILONS):
        f = printed_bounds.letters(data, "MLP", epsilon, DELTA, None)
        a = f.p / (f.n * epsilon) ** 2
        wide.append(2 * math.sqrt(a * (a + least / f.n)) / (a + 1 / f.n))
    assert (min(wide), max(wide)) == pytest.approx((2, 89), rel=0.01)
    assert "2.5 to 96 times as large (perceptrons: 2 to 89)" in PAGE


def test_every_step_noisy_is_the_papers_dp_sgd():
    """Three quarters of epsilon and half of delta: 1.4 times the noise of (1) with the whole budget."""
    assert 4 / 3 * math.sqrt(math.log(2 / DELTA) / math.log(1 / DELTA)) == pytest.approx(1.4, abs=0.002)


def _least(event, epsilon, delta, low, high):
    """The least noise with which these events are (epsilon, delta)-private when one record is replaced."""
    for _ in range(9):
        middle = math.sqrt(low * high)
        enough = accounting.epsilon((event(middle),), delta, "replace-one") <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return high


def shares(values, spread=0.001):
    """Steps without noise over epsilon, three seeds, one data set."""
    return [
        {"data": "a", "method": "ours", "epsilon": epsilon, "noiseless": value + spread * k}
        for epsilon, value in values.items() for k in (-1, 0, 1)
    ]  # fmt: skip


def test_steps_without_noise_are_judged_at_the_ends_and_in_between():
    bump = shares({0.1: 0.1, 1.0: 0.99, 3.0: 0.9})
    assert escapes.more_escape(bump, "s", "ours").holds
    falls = escapes.never_fewer(bump, "s", "ours")
    assert falls.holds is False
    assert "99.0% to 90.0%" in falls.seen
    assert escapes.never_fewer(shares({0.1: 0.1, 1.0: 0.5, 3.0: 0.9}), "s", "ours").holds
    assert escapes.more_escape(shares({0.1: 0.9, 3.0: 0.1}), "s", "ours").holds is False
    for spread in (0.9, 0.05):
        unclear = escapes.never_fewer(shares({0.1: 0.5, 1.0: 0.49}, spread), "s", "ours")
        assert unclear.holds is None
        assert "1 steps of epsilon (1 undecided)" in unclear.seen
    assert escapes.more_escape(shares({0.1: 0.5, 1.0: 0.6}, 0.5), "s", "ours").holds is None
    for ask in (escapes.more_escape, escapes.never_fewer):
        assert ask(shares({1.0: 0.5}), "s", "ours").holds is None


@pytest.mark.parametrize(
    ("ours", "spread", "wanted"), [(0.801, 0.001, True), (0.85, 0.001, False), (0.75, 0.001, False), (0.82, 0.02, None)]
)
def test_a_small_difference_is_small_on_both_sides(ours, spread, wanted):
    points = [
        {"data": "a", "method": method, "epsilon": epsilon, "accuracy": value + spread * k}
        for method, value in (("ours", ours), ("other", 0.8)) for epsilon in (0.01, 1.0) for k in (-1, 0, 1)
    ]  # fmt: skip
    assert escapes.near(points, "s", "ours", ("other",), below=0.1).holds is wanted
    assert escapes.near(points, "s", "ours", ("other",), below=0.001).holds is None


def test_the_improved_bounds_are_judged_in_every_cell_and_with_their_own_budget():
    """Theorem 6 has 3/4 of epsilon and half of delta: (4/3)^2 log(2000)/log(1000) = 1.956 times k/n."""
    assert pytest.approx(16 / 9 * math.log(2000) / math.log(1000)) == SPLIT
    paper = load("papers", "kang_2023")
    figure = paper.figure("table1")
    points = [point for cell in figure.cells(Size()) for point in figure.measure(**cell)]
    found = dict(zip(paper.expected["table1"], figure.check(points, paper.expected), strict=True))
    assert found["population_improved"].holds is False
    assert "12 of 18" in found["population_improved"].seen
    assert f"{SPLIT * SHARE:.3g} for k = n/10" in found["empirical_improved"].seen
    more = [{**p, "value": 6 * p["value"]} if p["row"].startswith("PIDP") else p for p in points]
    again = dict(zip(paper.expected["table1"], figure.check(more, paper.expected), strict=True))
    assert again["empirical_improved"].holds is False  # k = 0.6 n: larger than theorem 1
