"""The clip that follows the residuals: the sensitivity by brute force, the sums by loops, and where the clip ends."""

import itertools
import math

import numpy as np
import pytest

from tacit import LinearRegression, PrivacyError
from tacit.linear.arithmetic import rounding_slack
from tacit.linear.losses import Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import adaptive, defaults
from tacit.mechanisms.adaptive import WEIGHTS, AdaptiveGradient, clipped_sums, sensitivity
from tacit.privacy.noise import SeededSource
from tacit.types import ADJACENCIES, Budget, Facts


@pytest.mark.parametrize("weight", [0.1, 0.5, 1.0, math.sqrt(3), 2.0, 5.0])
def test_no_two_records_are_further_apart_and_some_are_as_far(weight):
    """Parts (a, k (|a| - 1/2)) of vectors in the unit disc, all pairs of a grid."""
    sizes, angles = np.linspace(0, 1, 21), np.linspace(0, math.pi, 19)
    moved = sensitivity(weight)
    alone = max(s**2 + weight**2 * (s - 0.5) ** 2 for s in sizes)
    apart = max(
        s**2 + r**2 - 2 * s * r * math.cos(t) + weight**2 * (s - r) ** 2
        for s, r, t in itertools.product(sizes, sizes, angles)
    )
    assert moved.add_remove == pytest.approx(math.sqrt(alone), rel=1e-12)
    assert moved.replace_one == pytest.approx(math.sqrt(apart), rel=1e-12)


def test_under_replace_one_the_level_is_free():
    assert sensitivity(WEIGHTS["replace-one"]).replace_one == 2.0
    assert sensitivity(WEIGHTS["add-remove"]).add_remove < 1.04


def problem_of(rng, n=300, d=4):
    records = Records.build(rng.normal(size=(n, d)), rng.uniform(-1, 1, n), 1.0, 0.5)
    return Problem(records, Squared())


def test_the_sums_are_those_of_a_loop(rng):
    problem = problem_of(rng)
    weights = rng.normal(size=problem.start().shape)
    X = problem.records.design.dense(slice(None))
    for clip in (0.01, 0.3, 5.0):
        total, sizes = np.zeros(5), 0.0
        for row, y in zip(X, problem.records.targets[:, 0], strict=True):
            gradient = (min(1.0, max(-1.0, float(row @ weights[:, 0]))) - y) * row
            gradient *= min(1.0, clip / np.linalg.norm(gradient))
            total, sizes = total + gradient, sizes + float(np.linalg.norm(gradient))
        found = clipped_sums(problem, weights, clip)
        # A part is rounded once, a score to 28 digits, and a norm is rounded up by half a diagonal of the rows' grid.
        off = 300 * (clip * rounding_slack(problem.facts, clip) + np.linalg.norm(weights) * 3 * 2.0**-27 + 2.0**-21)
        assert found[0][:, 0] == pytest.approx(total, abs=off)
        assert found[1] == pytest.approx(sizes, abs=off)
        np.testing.assert_array_equal(found[0], problem.clipped_gradient(weights, clip))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("deviation", [0.01, 0.2])
def test_the_clip_ends_in_proportion_to_the_residuals(rng, monkeypatch, adjacency, deviation):
    """The last clips' mean level is what was aimed at, whatever the deviation of the residuals."""
    seen = []

    def watched(problem, weights, clip, person):
        total, sizes = clipped_sums(problem, weights, clip)
        seen.append((clip, sizes / clip / problem.records.count))
        return total, sizes

    monkeypatch.setattr(adaptive, "clipped_sums", watched)
    X = rng.normal(size=(20_000, 3)) / 3
    y = np.clip(0.3 * X[:, 0] + deviation * rng.normal(size=len(X)), -1, 1)
    problem = Problem(Records.build(X, y, 1.0, 0.5), Squared())
    budget = Budget(0.5, 1e-6, adjacency)
    plan = AdaptiveGradient().calibrate(budget, problem.facts, None, "proven")
    plan.run(problem, SeededSource(0))
    assert len(seen) == plan.descent.steps == plan.events[0].count
    clips, levels = np.array(seen[-20:]).T
    assert levels.mean() == pytest.approx(plan.level, rel=0.15)
    assert clips.min() < 20 * deviation


def test_the_aim_is_a_function_of_the_precision_alone():
    facts = Facts(records=5000, features=11, outputs=1, radius=1.118, loss=Squared())
    aims = [adaptive.aim(Budget(epsilon, 1e-6), facts) for epsilon in (0.01, 0.1, 1.0, 10.0, 1000.0)]
    assert aims == sorted(aims, reverse=True)
    assert aims[0] == 0.75
    sharp = defaults.precision(Budget(1.0, 1e-6), facts)
    assert aims[2] == pytest.approx(0.75 * math.sqrt(15 / sharp))


def test_what_is_refused():
    facts = Facts(records=5000, features=11, outputs=1, radius=1.118, loss=Squared())
    assert AdaptiveGradient().needs(facts, "proven") == ""
    for other, calibration in (
        (Facts(records=5000, features=11, outputs=1, radius=1.118, loss=Logistic()), "proven"),
        (Facts(records=5000, features=11, outputs=2, radius=1.118, loss=Squared()), "proven"),
        (facts, "paper"),
    ):
        assert AdaptiveGradient().needs(other, calibration)
    for settings in ({"steps": 0}, {"level": 0.0}, {"level": 1.0}, {"level": math.nan}):
        with pytest.raises(ValueError, match="Expected"):
            AdaptiveGradient(**settings)
    with pytest.raises(PrivacyError, match="no calibration"):
        LinearRegression(1.0, method="adaptive", calibration="paper", target_bound=1.0).fit([[0.1]] * 20, [0.1] * 20)


def test_without_noise_it_is_least_squares(rng):
    X = rng.normal(size=(500, 3)) / 4
    y = np.clip(X @ [0.3, -0.2, 0.1] + 0.05 * rng.normal(size=500), -1, 1)
    model = LinearRegression(math.inf, method="adaptive", target_bound=1.0, clip=10.0).fit(X, y)
    design = np.column_stack([X, np.ones(500)])
    assert model.coef_ == pytest.approx(np.linalg.lstsq(design, y, rcond=None)[0][:3], abs=1e-4)
