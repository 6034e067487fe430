"""The rules for regressions: functions of public facts, the choice at a few points, and what the default reaches."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit import LinearRegression
from tacit.linear.losses import LOSSES, HuberHinge, Logistic, Squared
from tacit.mechanisms import Disjoint, GradientPerturbation, ObjectivePerturbation, defaults
from tacit.mechanisms.samplers import Everyone
from tacit.types import Budget, Facts

FACTS = Facts(
    records=5000, features=11, outputs=1, radius=math.hypot(1.0, 0.5), loss=Squared(), intercept=True, constant=0.5
)
BUDGET = Budget(0.1, 1e-5)


def test_the_precision_counts_adjacency_records_features_and_models():
    value = defaults.precision(BUDGET, FACTS)
    assert value == pytest.approx(defaults.mu(BUDGET) * 5000 / 22)
    assert defaults.precision(replace(BUDGET, adjacency="add-remove"), FACTS) == pytest.approx(2 * value)
    assert defaults.precision(BUDGET, replace(FACTS, records=15_000)) == pytest.approx(3 * value)
    assert defaults.precision(BUDGET, replace(FACTS, features=22)) == pytest.approx(value / 2)
    assert defaults.precision(BUDGET, replace(FACTS, outputs=4)) == pytest.approx(value / 2)


def test_the_clip_is_a_share_of_the_largest_residual_gradient():
    """It scales with the radius and the targets' half range, grows with the precision and ends at R B."""
    clip = defaults.regression_clip(BUDGET, FACTS)
    assert clip == pytest.approx(0.03 * FACTS.radius)
    assert defaults.regression_clip(BUDGET, replace(FACTS, radius=7.0)) == pytest.approx(0.03 * 7.0)
    assert defaults.regression_clip(BUDGET, replace(FACTS, loss=Squared(5.0))) == pytest.approx(5 * clip)
    clips = [defaults.regression_clip(BUDGET, replace(FACTS, records=n)) for n in (1, 5000, 50_000, 10**6, 10**9)]
    assert clips == sorted(clips)
    assert clips[1] < clips[2] < clips[3]
    assert clips[-1] == pytest.approx(FACTS.radius)


def test_a_plan_takes_the_clip_unless_it_is_set():
    plan = GradientPerturbation().calibrate(BUDGET, FACTS, None, "proven")
    assert plan.clip == defaults.regression_clip(BUDGET, FACTS)
    assert plan.descent.average == "tail"
    assert GradientPerturbation(clip=0.5).calibrate(BUDGET, FACTS, None, "proven").clip == 0.5
    other = replace(FACTS, loss=Logistic())
    assert GradientPerturbation().calibrate(BUDGET, other, None, "proven").clip == 0.5 * FACTS.radius


def test_noise_alone_moves_a_score_by_what_the_rule_says():
    """``t scale sqrt(d) / (sqrt(steps) n) R`` with t = sum of step sizes / (1 - momentum): 1.25 B, or 0.3 M B."""
    for records, moved in ((5000, 1.25), (1000, 0.3 * defaults.precision(BUDGET, replace(FACTS, records=1000)))):
        plan = GradientPerturbation().calibrate(BUDGET, replace(FACTS, records=records), None, "proven")
        descent = plan.descent
        time = sum(descent.size(t) for t in range(descent.steps)) / (1 - descent.momentum)
        noise = time * plan.scale * math.sqrt(FACTS.size) / (math.sqrt(descent.steps) * records)
        assert noise * FACTS.radius == pytest.approx(moved, rel=0.01)  # the scale holds a slack for rounding


@pytest.mark.parametrize(
    ("records", "features", "epsilon", "chosen"),
    [(442, 11, 3.0, "adaptive"), (5000, 11, 0.1, "adaptive"), (5000, 11, 3.0, "adaptive"),
     (80_000, 14, 1.0, "adaptive"), (80_000, 14, 3.0, "statistics"), (10**6, 14, 0.1, "statistics"),
     (10**6, 501, 0.1, "adaptive"), (10**6, 1001, 100.0, "adaptive"), (10, 5, math.inf, "statistics")],
)  # fmt: skip
def test_the_choice_at_a_few_points(records, features, epsilon, chosen):
    facts = replace(FACTS, records=records, features=features)
    assert defaults.prefer(Budget(epsilon, 1e-6), facts) == chosen


# --- what the default reaches; source and data are seeded, so these cannot fail by chance -----------------------------
def sphere(rng, n=5000, d=10):
    X = rng.normal(size=(2 * n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def error(X, y, method="auto", epsilon=0.1):
    """Root mean squared test error over the deviation of the test targets, mean of three fits."""
    n = len(y) // 2
    found = []
    for seed in range(3):
        model = LinearRegression(epsilon, delta=1e-5, method=method, target_bound=1.0, random_state=seed)
        model.fit(X[:n], y[:n])
        assert model.guarantee_.verify() <= epsilon * (1 + 1e-6)
        assert model.guarantee_.status == "proven"
        found.append(np.sqrt(np.mean((model.predict(X[n:]) - y[n:]) ** 2)))
    return float(np.mean(found) / y[n:].std())


@pytest.mark.parametrize(("deviation", "noise", "limit"), [(0.25, 0.1, 0.2), (0.02, 0.5, 0.95)])
def test_few_records_and_a_small_budget(rng, deviation, noise, limit):
    """Least squares reaches 0.10 and 0.45; targets of deviation 0.02 use a small part of their range [-1, 1]."""
    X = sphere(rng)
    signal = X @ rng.normal(size=10)
    y = np.clip(deviation * (signal / signal.std() + noise * rng.normal(size=len(X))) / math.hypot(1, noise), -1, 1)
    assert error(X, y) < limit
    assert error(X, y, "statistics") > 1.3 * limit


def test_skewed_noise_is_drawn_towards_its_median(rng):
    """What clipping costs: predictions are too low by a part of mean minus median, here 0.3 deviations.

    A clip that follows the residuals costs less of it than one from public facts alone.
    """
    X = sphere(rng)
    skewed = (np.exp(rng.normal(size=len(X))) - math.exp(0.5)) / math.sqrt((math.e - 1) * math.e)
    y = np.clip(0.2 * X[:, 0] + 0.2 * skewed, -1, 1)
    design = np.column_stack([X, np.ones(len(X))])
    least = np.mean((design @ np.linalg.lstsq(design, y, rcond=None)[0] - y) ** 2)
    found = {}
    for method in ("gradient", "auto"):
        model = LinearRegression(0.3, delta=1e-5, method=method, target_bound=1.0, random_state=0).fit(X, y)
        low = (y.mean() - model.predict(X).mean()) / y.std()
        found[model.guarantee_.method] = low, math.sqrt(np.mean((model.predict(X) - y) ** 2) / least)
    assert 0.1 < found["gradient"][0] < 0.35
    assert abs(found["adaptive"][0]) < 0.85 * found["gradient"][0]
    assert found["adaptive"][1] < min(1.02, found["gradient"][1])


def test_more_budget_never_loses_on_flats(rng):
    """Two columns and prices far below the declared range; moments lost half of R^2 here at epsilon 0.3."""
    n = 5000
    X = np.column_stack([rng.uniform(20, 200, 2 * n) / 300, rng.integers(1, 8, 2 * n) / 10])
    y = np.exp(11 + 2.4 * X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.3, 2 * n)) / 1e6 - 1
    errors = [error(X, y, epsilon=epsilon) for epsilon in (0.1, 0.3, 1.0, 3.0, 10.0)]
    assert errors[0] < 0.75
    for earlier, later in itertools.pairwise(errors):
        assert later < 1.01 * earlier


@pytest.mark.parametrize("noise", ["gaussian", "sphere"])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared()], ids=lambda loss: loss.name)
def test_the_noise_that_hides_the_solve_does_not_show(noise, loss):
    """In a score it deviates by less than a tenth of the noise that a flat objective leaves, or by a thirtieth."""
    for (n, d), epsilon in itertools.product(
        [(500, 10), (32_561, 114), (200_000, 100), (2_097_152, 14)], (0.1, 1, 3, 10)
    ):
        facts = Facts(
            records=n, features=d, outputs=1, radius=math.hypot(1.0, 0.5), loss=loss, intercept=True, constant=0.5
        )
        budget = Budget(epsilon, 0.0 if noise == "sphere" else 1e-6)
        plan = ObjectivePerturbation(noise).calibrate(budget, facts, None, "proven")
        each = math.sqrt(d) if noise == "sphere" else 1.0  # of one weight: the norm is about d, or sqrt(d)
        flat = facts.radius * each * plan.scale / (plan.strength + facts.curvature * n / d)
        assert facts.radius * each * plan.polish_scale < max(0.1 * flat, 0.1), (n, d, epsilon)


NUMBERS = [loss for loss in LOSSES if not isinstance(loss.targets, str) and loss.name != "squared"]


@pytest.mark.parametrize("loss", NUMBERS, ids=lambda loss: loss.name)
def test_losses_whose_slopes_balance_are_not_clipped(loss):
    """A clip below the longest slope would cut one side only, and move the mean or the quantile."""
    facts = Facts(records=5000, features=10, outputs=1, radius=1.118, loss=loss)
    for sampler in (Everyone(), Disjoint()):
        assert defaults.descent(Budget(1.0, 1e-6), facts, sampler, "gaussian").clip == facts.gradient


@pytest.mark.parametrize("loss", NUMBERS, ids=lambda loss: loss.name)
def test_one_release_from_the_precision_of_moments_on(loss):
    budget = Budget(1.0, 1e-6)
    for records, chosen in ((3000, "gradient"), (30_000, "objective")):
        facts = Facts(records=records, features=10, outputs=1, radius=1.118, loss=loss)
        assert (defaults.precision(budget, facts) >= defaults.SHARP) == (chosen == "objective")
        assert defaults.prefer(budget, facts) == chosen
