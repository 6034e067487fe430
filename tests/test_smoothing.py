"""Laplacian smoothing: the solve, the constants of the paper, its noise and its bounds, and the link in the chain."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from instances import random_problem
from scipy import linalg

from tacit import LogisticRegression, PrivacyError
from tacit.linear.losses import Logistic, Softmax
from tacit.linear.smoothing import (
    beta,
    beta_sum,
    coefficients,
    convex_bound,
    gamma,
    gamma_sum,
    nonconvex_bound,
    paper_noise,
    smooth,
    smooth_weights,
)  # fmt: skip
from tacit.linear.solvers.descent import SECOND, TINY, Descent
from tacit.mechanisms import METHODS, GradientPerturbation
from tacit.mechanisms.samplers import Poisson
from tacit.privacy.noise import SeededSource
from tacit.types import Budget, Facts

SIGMAS = (0.0, 1e-6, 0.5, 1.0, 3.0, 10.0, 100.0)


def matrix(size, sigma):
    """A = I - sigma L, written down from equation (3); its off-diagonals add up where they meet (d <= 2)."""
    a = (1 + 2 * sigma) * np.eye(size)
    for i in range(size):
        a[i, (i + 1) % size] -= sigma
        a[i, (i - 1) % size] -= sigma
    return a


def cyclic_solve(values, sigma):
    """Solve A u = v by a banded factorisation and the Sherman-Morrison formula, without any Fourier transform."""
    size, corner = len(values), -(1 + 2 * sigma)
    bands = np.zeros((3, size))
    bands[0, 1:] = bands[2, :-1] = -sigma
    bands[1] = 1 + 2 * sigma
    bands[1, 0] -= corner
    bands[1, -1] -= sigma**2 / corner
    u, v = np.zeros(size), np.zeros(size)
    u[0], u[-1], v[0], v[-1] = corner, -sigma, 1.0, -sigma / corner
    left, right = linalg.solve_banded((1, 1), bands, np.stack([values, u], axis=1)).T
    return left - right * (v @ left) / (1 + v @ right)


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("size", [1, 2, 3, 4, 5, 16, 17, 100, 501, 1024])
def test_smoothing_is_the_dense_solve(size, sigma, rng):
    values = rng.normal(size=size)
    assert np.abs(smooth(values, sigma) - np.linalg.solve(matrix(size, sigma), values)).max() < 1e-10


@pytest.mark.parametrize("sigma", SIGMAS)
@pytest.mark.parametrize("size", [2000, 9973, 99_999, 100_000])
def test_smoothing_is_the_cyclic_solve_for_large_sizes(size, sigma, rng):
    values = rng.normal(size=size)
    assert np.abs(smooth(values, sigma) - cyclic_solve(values, sigma)).max() < 1e-10


def test_zero_smoothing_and_single_numbers_are_given_back_bit_for_bit(rng):
    values = rng.normal(size=(7, 3))
    assert smooth(values, 0.0) is values
    assert smooth_weights(values, 0.0, True) is values
    assert smooth(np.array([math.pi]), 5.0)[0] == math.pi
    assert smooth(np.zeros((0, 3)), 5.0).shape == (0, 3)


def test_smoothing_keeps_the_mean_and_the_shape(rng):
    values = rng.normal(size=(11, 6))
    assert smooth(values, 2.0).shape == values.shape
    assert smooth(values, 2.0).mean() == pytest.approx(values.mean(), abs=1e-12)


def test_parameter_matrices_follow_the_order_of_a_linear_layer(rng):
    weights = rng.normal(size=(6, 3))  # five features, an intercept, three outputs
    layer = weights[:5].T  # the weight of a PyTorch layer: (outputs, features)
    expected = np.linalg.solve(matrix(15, 2.0), layer.ravel()).reshape(3, 5)
    smoothed = smooth_weights(weights, 2.0, intercept=True)
    assert smoothed[:5] == pytest.approx(expected.T, abs=1e-12)
    assert np.array_equal(smoothed[5], weights[5])  # the intercepts of classes are not neighbours
    assert smooth_weights(weights, 2.0, intercept=False) == pytest.approx(
        np.linalg.solve(matrix(18, 2.0), weights.T.ravel()).reshape(3, 6).T, abs=1e-12
    )


def test_coefficients_are_cached_and_cannot_be_changed():
    assert coefficients(10, 1.0) is coefficients(10, 1.0)
    with pytest.raises(ValueError, match="read-only"):
        coefficients(10, 1.0)[0] = 2.0


@pytest.mark.parametrize("sigma", [-1.0, math.inf, math.nan])
def test_smoothing_must_be_a_number_of_at_least_zero(sigma):
    with pytest.raises(ValueError, match="Expected smoothing"):
        smooth(np.ones(3), sigma)
    with pytest.raises(ValueError, match="Expected smoothing"):
        GradientPerturbation(smoothing=sigma)


# --- the paper's constants ----------------------------------------------------------------------------------------
TABLE_3 = {1: 0.447, 2: 0.333, 3: 0.277, 4: 0.243, 5: 0.218}
TABLE_4 = {1: 0.268, 2: 0.185, 3: 0.149, 4: 0.128, 5: 0.114}


@pytest.mark.parametrize("size", [1000, 10_000, 100_000])
@pytest.mark.parametrize("sigma", [1, 2, 3, 4, 5])
def test_tables_3_and_4_to_three_digits(size, sigma):
    assert round(gamma(size, sigma), 3) == TABLE_3[sigma]
    assert round(beta(size, sigma), 3) == TABLE_4[sigma]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 7, 50, 1000])
@pytest.mark.parametrize("sigma", SIGMAS)
def test_propositions_5_and_8_are_the_sums(size, sigma):
    assert gamma(size, sigma) == pytest.approx(gamma_sum(size, sigma), rel=1e-11)
    assert beta(size, sigma) == pytest.approx(beta_sum(size, sigma), rel=1e-11)
    if sigma >= 0.5:  # Proposition 8 as printed; at sigma = 0 it is 0/0
        w, xi = (2 * sigma + 1 - math.sqrt(4 * sigma + 1)) / (2 * sigma), -math.sqrt(1 + 4 * sigma) / sigma
        top = 2 * w ** (2 * size + 1) - xi * w ** (2 * size) + 2 * xi * size * w**size - 2 * w + xi
        assert beta(size, sigma) == pytest.approx(top / (sigma**2 * xi**3 * (1 - w**size) ** 2), rel=1e-9)


def test_gamma_and_beta_are_what_smoothing_leaves_of_noise(rng):
    noise = rng.normal(size=(2000, 50))
    smoothed = np.stack([smooth(row, 2.0) for row in noise])
    # Means over 2000 independent vectors: the standard errors are 0.0016 and 0.0009, so 6 of them are below 0.01.
    assert (noise * smoothed).sum(axis=1).mean() / 50 == pytest.approx(gamma(50, 2.0), abs=0.01)
    assert (smoothed**2).sum(axis=1).mean() / 50 == pytest.approx(beta(50, 2.0), abs=0.01)


def quadratic_run(rng, sigma, noise, step, steps, size=30):
    """Smoothed noisy descent on F(w) = sum h_i (w_i - 1)^2 / 2 from zero, with F's own gradients (no batch)."""
    h = np.linspace(0.1, 1.0, size)
    w, values, norms, points = np.zeros(size), [], [], np.zeros(size)
    for _ in range(steps):
        gradient = h * (w - 1)
        points += w / steps
        norms.append(gradient @ smooth(gradient, sigma))
        w = w - step * smooth(gradient + noise * rng.normal(size=size), sigma)
    values = 0.5 * h @ (points - 1) ** 2
    return values, float(np.mean(norms)), h


@pytest.mark.parametrize("sigma", [0.0, 1.0, 5.0])
def test_the_bounds_of_theorems_4_and_7_hold_where_they_can_be_measured(sigma, rng):
    noise, step, steps, size = 0.3, 0.5, 200, 30
    runs = [quadratic_run(rng, sigma, noise, step, steps) for _ in range(20)]
    distance = np.ones(size) @ matrix(size, sigma) @ np.ones(size)
    convex = convex_bound(distance, [step] * steps, math.inf, 10.0, noise, size, sigma)
    gap = 0.5 * runs[0][2].sum()
    nonconvex = nonconvex_bound(gap, step, steps, 1.0, math.inf, 10.0, noise, size, sigma)
    assert np.mean([r[0] for r in runs]) <= convex
    assert np.mean([r[1] for r in runs]) <= nonconvex
    assert np.mean([r[1] for r in runs]) >= 0.05 * nonconvex  # the bound is not vacuous


@pytest.mark.parametrize(("step", "holds"), [(1.0, True), (3.0, False)])
def test_theorem_7_needs_small_steps(step, holds):
    """The Huber function with G = L = 1, no noise: with steps above 2/L they go to and fro, and the gradient stays."""
    steps, w, seen = 1000, step / 2, []
    gap = w - 0.5 if w > 1 else w**2 / 2
    for _ in range(steps):
        slope = float(np.clip(w, -1, 1))
        seen.append(slope**2)
        w -= step * slope
    bound = nonconvex_bound(gap, step, steps, 1.0, 16, 1.0, 0.0, 1, 0.0)
    assert bool(np.mean(seen) <= bound) is holds


def test_smoothing_lowers_both_bounds_where_noise_rules():
    bounds = [
        (
            convex_bound(1.0, [0.1] * 10, 128, 1.0, 1.0, 1000, s),
            nonconvex_bound(1.0, 0.1, 10, 1.0, 128, 1.0, 1.0, 1000, s),
        )
        for s in (0.0, 1.0, 3.0)
    ]
    assert bounds[0] > bounds[1] > bounds[2]
    assert all(a[1] > b[1] for a, b in itertools.pairwise(bounds))


# --- the paper's noise --------------------------------------------------------------------------------------------
def test_the_papers_own_table_fails_the_papers_conditions():
    for epsilon in (0.30, 0.25, 0.20, 0.15, 0.10):  # Table 2: MNIST, 50 epochs over 50,000 records in batches of 128
        with pytest.raises(PrivacyError, match="own Table 2"):
            paper_noise(epsilon, 1e-5, 1.0, 50 * 50_000 // 128, 128, 50_000)


def test_the_papers_noise_where_its_conditions_hold():
    epsilon, delta, records, batch, steps = 3.0, 1e-5, 10**6, 1, 2 * 10**6
    found = paper_noise(epsilon, delta, 1.0, steps, batch, records)
    alpha = math.log(1 / delta) / ((1 - found.mu) * epsilon) + 1
    assert found.alpha == pytest.approx(alpha)
    assert found.nu**2 == pytest.approx(20 * steps * alpha / (found.mu * records**2 * epsilon))
    assert 5 * batch**2 * steps * alpha / (found.mu * records**2 * epsilon) >= 1.5
    top, bottom = (
        found.mu * records**3 * epsilon,
        5 * batch**3 * steps * alpha + found.mu * batch * records**2 * epsilon,
    )
    assert alpha <= math.log(top / bottom)


def test_paper_calibration_refuses_by_name_and_runs_where_it_may(rng):
    X, y = rng.normal(size=(300, 4)), rng.integers(0, 2, size=300)
    with pytest.raises(PrivacyError, match="Theorem 2 of Wang et al"):
        LogisticRegression(0.3, delta=1e-5, method="dp-lssgd", calibration="paper", random_state=0).fit(X, y)
    problem = random_problem(Logistic(), rng, n=300)
    mechanism = replace(METHODS["dp-lssgd"].mechanism, sampler=Poisson(1 / 300), steps=5)
    plan = mechanism.calibrate(Budget(20.0, 1e-5), problem.facts, None, "paper")
    norm = plan.clip
    assert plan.scale == pytest.approx(paper_noise(20.0, 1e-5, norm, 5, 1.0, 300).nu)
    assert type(plan.sampler).__name__ == "Subset"


# --- the link in the chain ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("loss", [Logistic(), Softmax(3)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("sampler", [None, Poisson(0.3)])
def test_no_smoothing_is_the_plain_descent_bit_for_bit(loss, sampler, rng):
    problem = random_problem(loss, rng)
    settings = {"steps": 12} if sampler is None else {"steps": 12, "sampler": sampler}
    budget = Budget(1.0, 1e-5)
    runs = [
        mechanism.calibrate(budget, problem.facts, None, "proven").run(problem, SeededSource(3)).weights
        for mechanism in (GradientPerturbation(**settings), GradientPerturbation(**settings, smoothing=0.0))
    ]
    assert np.array_equal(*runs)
    plain = GradientPerturbation(**settings).calibrate(budget, problem.facts, None, "proven")
    assert plain.events == replace(plain, smoothing=2.0).events


def test_the_chain_is_clip_noise_smooth_moments_step(rng):
    problem, source = random_problem(Softmax(3), rng), SeededSource(5)
    mechanism = GradientPerturbation(steps=3, step=0.1, momentum=0.5, schedule="inverse", smoothing=1.5)
    plan = mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, 0.01, "proven")
    weights, velocity = problem.start(), 0.0
    unsmoothed = replace(plan, descent=Descent(steps=1, step=1.0), smoothing=0.0, decay=0.0)
    for t in range(3):
        # One plain step of size 1 from zero gives minus the noisy mean gradient; shift the problem to start at weights.
        noisy = _noisy(unsmoothed, problem, weights, source)
        velocity = 0.5 * velocity + smooth_weights(noisy + 0.01 * weights, 1.5, intercept=True)
        weights = weights - 0.1 / (t + 1) * velocity
    assert np.array_equal(plan.run(problem, SeededSource(5)).weights, weights)


def _noisy(plan, problem, weights, source):
    from tacit.privacy.noise import add_gaussian

    return add_gaussian(problem.clipped_gradient(weights, plan.clip), plan.scale, source) / plan.divisor


def test_adam_is_adam(rng):
    gradients = rng.normal(size=(4, 5, 2))
    descent = Descent(steps=4, step=0.1, momentum=0.9, optimizer="adam")
    given = iter(gradients)
    weights = descent.run(lambda w: next(given), np.zeros((5, 2))).weights
    first = second = expected = np.zeros((5, 2))
    for t, g in enumerate(gradients, start=1):  # Kingma & Ba 2014, Algorithm 1
        first, second = 0.9 * first + 0.1 * g, SECOND * second + (1 - SECOND) * g**2
        expected = expected - 0.1 * (first / (1 - 0.9**t)) / (np.sqrt(second / (1 - SECOND**t)) + TINY)
    assert weights == pytest.approx(expected, rel=1e-12)
    with pytest.raises(ValueError, match="Expected optimizer="):
        Descent(steps=1, step=1.0, optimizer="rmsprop")


def test_the_ergodic_average_weighs_starting_points_by_step_size():
    gradients = iter(np.ones((3, 1, 1)))
    weights = (
        Descent(steps=3, step=1.0, schedule="inverse", average="ergodic")
        .run(lambda w: next(gradients), np.zeros((1, 1)))
        .weights
    )
    # Points 0, -1, -3/2 before steps 1, 1/2, 1/3: (-1/2 - 1/2) / (11/6).
    assert weights[0, 0] == pytest.approx(-6 / 11)


@pytest.mark.parametrize("name", ["dp-lssgd", "ls-gradient"])
def test_methods_by_name_have_the_guarantee_of_the_unsmoothed_descent(name, rng):
    X, y = rng.normal(size=(400, 8)), rng.integers(0, 3, size=400)
    model = LogisticRegression(1.0, delta=1e-5, method=name, random_state=0).fit(X, y)
    assert model.guarantee_.status == "proven"
    assert model.guarantee_.verify() <= 1.0 * (1 + 1e-6)
    assert METHODS[name].mechanism.smoothing > 0


@pytest.mark.parametrize("loss", [Logistic(), Softmax(4)], ids=lambda loss: loss.name)
@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
def test_the_rules_do_not_depend_on_the_unit_of_the_rows(loss, optimizer):
    """Rows ten times as long need weights a tenth as large: SGD's step falls by 100 and Adam's by 10."""
    steps, clips = [], []
    for radius in (1.0, 10.0):
        facts = Facts(records=5000, features=20, outputs=4 if loss.coupled else 1, radius=radius, loss=loss)
        mechanism = GradientPerturbation(smoothing=1.0, optimizer=optimizer)
        plan = mechanism.calibrate(Budget(0.5, 1e-5), facts, None, "proven")
        steps.append(plan.descent.step)
        clips.append(plan.clip)
    assert clips[1] == pytest.approx(10 * clips[0])
    assert steps[0] == pytest.approx((100 if optimizer == "sgd" else 10) * steps[1], rel=1e-4)
