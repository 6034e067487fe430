"""Minima end certified, whatever the records: measured in extended precision, on problems made to be hard."""

import itertools
import math
from dataclasses import replace
from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from adversarial import case, exact_norm
from digits import digits, slope_of
from instances import LOSSES, MAIN_LOSSES, bend, label, outputs_of, random_problem, random_weights, targets_of
from oracles import problem_of
from scipy import sparse

from tacit import LinearSVC, LogisticRegression
from tacit.checks import PrivacyError
from tacit.linear.arithmetic import U, gradient_rounding, relative_rounding
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers import certain
from tacit.linear.solvers.accelerated import (
    Accelerated,
    _descend,
    largest_condition,
    passes_bound,
    reduction,
    steps_bound,
)
from tacit.linear.solvers.centre import Centre
from tacit.linear.solvers.certain import check_certifiable, least_strength, solve, solve_columns, solver_slack
from tacit.linear.solvers.searched import Searched, coupled_hessian
from tacit.mechanisms import ObjectivePerturbation, Output, defaults
from tacit.mechanisms.output import Minimum, certified
from tacit.types import Budget, Facts

# --- changes of slopes --------------------------------------------------------------------------------------------
DYADIC = [
    *MAIN_LOSSES, Logistic(2.0), Logistic(32.0), HuberHinge(2.0**-7), HuberHinge(2.0**-20), Squared(2.0), Softmax(2),
    Softmax(5, 8.0),
]  # fmt: skip


def on_grid(numbers, bits=12):
    """Numbers whose sums with public constants are exact."""
    return np.round(numbers * 2**bits) / 2**bits


@pytest.mark.parametrize("loss", DYADIC, ids=label)
def test_a_change_of_slope_is_right_to_ulps_of_the_step(loss, rng):
    """Scores on a grid on which margins are exact: what is left is the error of the change itself."""
    with mpmath.workdps(60):
        for size, scale in itertools.product((0.5, 4.0, 30.0), (1e-18, 1e-12, 1e-6, 1e-2, 1.0, 30.0)):
            z = on_grid(rng.uniform(-size, size, size=(4, outputs_of(loss))))
            y = on_grid(targets_of(loss, 4, rng))
            if not loss.coupled:
                z[0] = on_grid(bend(loss, y[:1]), 24)[0]
            u = scale * rng.normal(size=z.shape)
            found = loss.change(z, y, u)
            for i in range(4):
                before = [mpmath.mpf(float(v)) for v in z[i]]
                after = [a + mpmath.mpf(float(v)) for a, v in zip(before, u[i], strict=True)]
                target = mpmath.mpf(float(y[i, 0]))
                exact = [b - a for a, b in zip(*(slope_of(loss, v, target) for v in (before, after)), strict=True)]
                error = mpmath.sqrt(mpmath.fsum((e - float(f)) ** 2 for e, f in zip(exact, found[i], strict=True)))
                assert error <= 32 * U * loss.smoothness * np.linalg.norm(u[i]), (size, scale)


def test_a_difference_of_slopes_is_not_that_precise():
    """Why changes are needed: the plain difference is wrong by ulps of the slope."""
    z, y, u = np.full((1, 1), 0.3), np.ones((1, 1)), np.full((1, 1), 1e-15)
    loss = Logistic()
    exact = 1e-15 * loss.curve(z, y, np.ones_like(z))[0, 0]  # the next term is 1e-15 of it
    plain = (loss.slope(z + u, y) - loss.slope(z, y))[0, 0]
    assert abs(plain - exact) > 1e10 * U * 1e-15
    assert abs(loss.change(z, y, u)[0, 0] - exact) < 16 * U * 1e-15


# --- the centre ---------------------------------------------------------------------------------------------------
def in_digits(problem, weights):
    """The gradient at mpmath weights, in 60 digits."""
    records = problem.records
    x = exactly(records.design.dense(slice(None)))
    rows = zip(x @ weights, exactly(records.targets[:, 0]), strict=True)
    slopes = np.array([slope_of(problem.loss, list(z), y) for z, y in rows], dtype=object)
    return x.T @ slopes + mpmath.mpf(problem.strength) * weights


def exactly(array):
    """An array of mpmath numbers."""
    return np.asarray(digits(array))


@pytest.mark.parametrize("loss", [*MAIN_LOSSES, HuberHinge(2.0**-20), Squared(2.0)], ids=label)
def test_rounding_of_gradients_and_of_their_changes(loss, rng):
    """Both bounds hold, and a difference of gradients would break that of the change by far."""
    problem = replace(random_problem(loss, rng, n=30, d=3), strength=0.1)
    weights, step = random_weights(problem, rng, 3.0), random_weights(problem, rng, 1e-11)
    centre = Centre(problem, weights)
    with mpmath.workdps(60):
        before = in_digits(problem, exactly(weights))
        rounding = (before - exactly(problem.gradient(weights))).astype(float)
        change = (in_digits(problem, exactly(weights) + exactly(step)) - before).astype(float)
    assert np.linalg.norm(rounding) <= gradient_rounding(problem.facts, float(np.linalg.norm(weights)))
    limit = relative_rounding(problem.facts) * centre.largest_curvature() * np.linalg.norm(step)
    if loss.geometry in ("logistic", "simplex"):  # others may have a kink between the score and the rounded one
        own = centre.moved(step) - centre.gradient  # the sum with the gradient is rounded once more
        assert np.linalg.norm(own - change) <= limit + 4 * U * np.linalg.norm(centre.gradient)
    plain = problem.gradient(weights + step) - problem.gradient(weights)
    assert np.linalg.norm(plain - change) > 3 * limit, "vacuous: a plain difference would do"


@pytest.mark.parametrize("loss", LOSSES, ids=label)
def test_the_largest_curvature_is_one_and_is_at_most_the_public_one(loss, rng):
    problem = replace(random_problem(loss, rng, n=50, d=4), strength=0.01)
    top = Centre(problem, problem.start()).largest_curvature()
    assert top <= 50 * problem.facts.curvature + 0.01
    for _ in range(5):
        weights, direction = random_weights(problem, rng), random_weights(problem, rng)
        image = problem.hessian_times(weights, direction)
        assert np.linalg.norm(image) <= top * np.linalg.norm(direction)


@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
def test_the_best_size_is_the_minimum_along_the_line(loss, rng):
    problem = replace(random_problem(loss, rng, n=50, d=4), strength=0.3)
    for scale in (1e-6, 1.0, 1e6):
        centre = Centre(problem, random_weights(problem, rng))
        direction = -scale * centre.gradient
        size = centre.best_size(direction)
        ahead, behind = (
            float((problem.gradient(centre.weights + t * size * direction) * direction).sum()) for t in (1.0, 0.998)
        )
        assert behind <= 1e-12 * scale <= 1e-12 * scale + ahead


def test_the_hessian_of_coupled_scores(rng):
    problem = replace(random_problem(Softmax(3), rng, n=20, d=4), strength=0.3)
    weights, direction = random_weights(problem, rng), random_weights(problem, rng)
    image = coupled_hessian(problem, weights) @ direction.ravel()
    np.testing.assert_allclose(image.reshape(weights.shape), problem.hessian_times(weights, direction), rtol=1e-10)


# --- accelerated descent ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("condition", [1.5, 30.0, 1e4])
@pytest.mark.parametrize("kind", ["none", "with", "against", "resonant", "random"])
def test_descent_with_errors_stays_below_its_bound(condition, kind, rng):
    """A quadratic whose gradient is wrong by E at every step: ``2.42 sqrt(cond) E + sqrt(2 cond) e^(-k theta/2) r``."""
    curves = np.geomspace(1.0, condition, 7)[:, None]
    least = np.ones((7, 1))
    size = {"none": 0.0}.get(kind, 1e-3)
    calls = itertools.count()

    def moved(step):
        gradient = curves * (step - least)
        turn = np.cos(math.sqrt(1 / math.sqrt(condition)) * next(calls))
        errors = {
            "with": gradient, "against": least - step, "resonant": np.sign(turn) * np.ones_like(step),
            "random": rng.normal(size=step.shape), "none": gradient,
        }  # fmt: skip
        error = errors[kind]
        return gradient + size * error / max(np.linalg.norm(error), 1e-300)

    centre = SimpleNamespace(problem=SimpleNamespace(strength=1.0), weights=np.zeros((7, 1)), moved=moved)
    first = np.linalg.norm(curves * least)
    for steps in (1, 10, 100, 1000):
        at, _ = _descend(centre, condition, -1.0, steps)
        bound = 2.42 * math.sqrt(condition) * size
        bound += math.sqrt(2 * condition) * math.exp(-steps / (2 * math.sqrt(condition))) * first
        assert np.linalg.norm(curves * (at - least)) <= bound + 1e-12 * first


def test_the_steps_that_are_promised_suffice(rng):
    """And a tenth of them does not: the bound is not so loose that it says nothing."""
    curves = np.geomspace(1.0, 1e4, 9)[:, None]
    least = rng.normal(size=(9, 1))
    centre = SimpleNamespace(
        problem=SimpleNamespace(strength=1.0), weights=np.zeros((9, 1)), moved=lambda s: curves * (s - least)
    )
    goal = 1e-4 * np.linalg.norm(curves * least)
    promised = steps_bound(1e4, 1e-4)
    at, used = _descend(centre, 1e4, goal, promised)
    assert np.linalg.norm(curves * (at - least)) <= goal
    assert used <= promised
    at, _ = _descend(centre, 1e4, goal, promised // 10)
    assert np.linalg.norm(curves * (at - least)) > goal


@pytest.mark.parametrize("loss", [*MAIN_LOSSES, Logistic(2.0), HuberHinge(1e-3)], ids=label)
@pytest.mark.parametrize("noise", [0.0, 100.0])
def test_accelerated_descent_alone_ends_certified_within_its_passes(loss, noise, rng):
    problem = random_problem(loss, rng, n=40, d=5)
    facts = problem.facts
    strong = facts.records * facts.curvature / 3e4
    linear = random_weights(problem, rng, noise)
    full = replace(problem, strength=strong, linear=linear)
    tau = 1e-7 * max(noise, facts.gradient)
    limit = tau + solver_slack(facts, strong, float(np.linalg.norm(linear)))
    solution = Accelerated(limit).solve(full, full.start())
    assert exact_norm(full, solution.weights) <= solution.gap <= limit
    centre = Centre(full, full.start())
    condition = centre.largest_curvature() / strong
    assert solution.steps <= passes_bound(facts, condition, float(np.linalg.norm(centre.gradient)) / (0.9 * tau))


def test_refinement_ends_where_a_certificate_allows_nothing_but_rounding(rng):
    """tau = 0: the five roundings of the slack are what is left, and they suffice."""
    problem = replace(random_problem(HuberHinge(0.01), rng, n=40, d=5), strength=1.0)
    limit = solver_slack(problem.facts, 1.0)
    solution = Accelerated(limit).solve(problem, problem.start())
    assert exact_norm(problem, solution.weights) <= solution.gap <= limit


# --- the whole ----------------------------------------------------------------------------------------------------
def assert_certified(full, tau, slack, name=""):
    result = solve(full, tau, slack)
    gap = float(np.linalg.norm(result.gaps))
    assert exact_norm(full, result.weights) <= gap <= (tau + slack) * (1 + 1e-12), name
    return result


@pytest.mark.parametrize("part", range(3))
def test_hard_problems_end_certified(part):
    """Every loss and every kind of rows, but of few records; ``benchmarks/adversarial_solves.py`` has 10,000."""
    solved = searched = 0
    for number in range(120 * part, 120 * part + 120):
        hard = case(7 * number)
        if hard.problem.records.count * hard.problem.outputs <= 200:
            searched += assert_certified(hard.problem, hard.tau, hard.slack, hard.name).searched > 0
            solved += 1
    assert solved >= 60
    assert searched > 0, "vacuous: ordinary Newton steps would do"


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(0.01), Squared(0.1), Softmax(3)], ids=label)
@pytest.mark.parametrize("thin", [False, True])
def test_the_proven_descent_takes_over_where_the_others_stop(loss, thin, rng, monkeypatch):
    """Both are stopped after one step; the result is as certified as ever."""
    monkeypatch.setattr(certain, "QUICK", 1)
    monkeypatch.setattr(certain, "Searched", lambda limit: Searched(limit, steps=1))
    plain = random_problem(loss, rng, n=90, d=5)
    if thin:
        rows = plain.records
        matrix = sparse.csr_array(rows.design.matrix[:, : rows.design.columns])
        plain = replace(plain, records=Records.build(matrix, rows.targets, rows.clip, rows.intercept))
    strong = 90 * plain.facts.curvature / 1e4
    full = replace(plain, strength=strong, linear=random_weights(plain, rng, 3.0))
    slack = solver_slack(plain.facts, strong, float(np.linalg.norm(full.linear)))
    assert assert_certified(full, 3e-7, slack).passes > 20


def test_columns_are_certified_each(rng, monkeypatch):
    monkeypatch.setattr(certain, "QUICK", 1)
    y = rng.choice([-1.0, 1.0], size=(60, 4))
    plain = Problem(Records.build(rng.normal(size=(60, 3)), y, 1.0, 0.5), HuberHinge(1e-3), 4)
    full = replace(plain, strength=1.0, linear=random_weights(plain, rng, 3.0))
    slack = solver_slack(full.column(0).facts, 1.0, 20.0)
    result = solve_columns(full, 1e-7, slack)
    for j in range(4):
        column = full.column(j)
        assert exact_norm(column, result.weights[:, [j]]) <= result.gaps[j] <= 1e-7 + slack
    assert result.searched > 0
    np.testing.assert_array_equal(certified(full, 2e-7, 2 * slack), solve(full, 2e-7, 2 * slack).weights)


def clustered(seed, n=350, d=30):
    rng = np.random.default_rng(seed)
    middles = rng.normal(size=(45, d))[rng.integers(0, 45, n)]
    x = middles + rng.normal(size=(n, d)) * 10 ** rng.uniform(-7, -1)
    y = np.sign(x @ rng.normal(size=d))
    y[rng.random(n) < rng.choice([0, 0.01, 0.1, 0.3])] *= -1
    return x, y


@pytest.mark.parametrize("seed", [9, 25])
def test_neighbours_stay_within_the_stated_sensitivity_on_a_narrow_hinge(seed):
    """Newton's method by itself gave up on one of two such neighbours: they came out five times as far apart."""
    x, y = clustered(seed)
    settings = {"delta": 1e-5, "method": "output", "smoothing": 1e-6, "regularization": 0.00505, "classes": [-1, 1]}
    there = x.copy()
    there[0] = -x[0]
    models = [LinearSVC(1.0, fit_intercept=False, random_state=0, **settings).fit(rows, y) for rows in (x, there)]
    event = models[0].guarantee_.events[0]
    assert np.linalg.norm(models[0].coef_ - models[1].coef_) <= event.sensitivity.replace_one
    problem = replace(problem_of(x, y, HuberHinge(1e-6)), strength=350 * 0.00505)
    slack = solver_slack(problem.facts, problem.strength)
    assert_certified(problem, 1e-6, slack)


@pytest.mark.parametrize("seed", [0, 3])
def test_objective_perturbation_of_a_narrow_hinge_at_large_epsilon(seed):
    x, y = clustered(seed)
    problem = problem_of(x, y, HuberHinge(0.05), intercept=0.5)
    least = least_strength(problem.facts) / 350
    for strength in (least, 10 * least):
        plan = ObjectivePerturbation().calibrate(Budget(16.0, 1e-5), problem.facts, strength, "proven")
        linear = plan.scale * np.random.default_rng(seed).normal(size=(31, 1))
        assert_certified(replace(problem, strength=plan.strength, linear=linear), 1e-7 * plan.scale, plan.slack)


@pytest.mark.parametrize("ratio", [2e-8, 7e-8, 5e-7])
@pytest.mark.parametrize("loss", [Logistic(), Logistic(32.0), Softmax(3), Softmax(3, 32.0)], ids=label)
def test_weak_regularisers_of_smooth_losses(loss, ratio, rng):
    x, _ = clustered(3, n=200, d=10)
    plain = problem_of(x, targets_of(loss, 200, rng), loss, outputs=outputs_of(loss))
    strong = ratio * 200 * plain.facts.curvature
    check_certifiable(plain.facts, strong)
    tau, slack = 1e-6 * plain.facts.gradient, solver_slack(plain.facts, strong)
    result = assert_certified(replace(plain, strength=strong), tau, slack)
    assert result.weights.any()


def test_a_linear_term_longer_than_foreseen_ends_too(rng):
    problem = replace(random_problem(Logistic(), rng), strength=1e-3, linear=np.full((5, 1), 1e9))
    weights = certified(problem, 1e-7, 0.0)
    assert exact_norm(problem, weights) <= 1e-7 + solver_slack(problem.facts, 1e-3, 1e9 * math.sqrt(5))


# --- what is refused, and what is chosen --------------------------------------------------------------------------
def test_the_threshold_follows_from_rounding_and_from_passes():
    facts = problem_of(np.ones((350, 30)), np.ones(350), HuberHinge(1e-6)).facts
    assert 48 * relative_rounding(facts) * largest_condition(facts) ** 1.5 == pytest.approx(1)
    assert relative_rounding(facts) == (30 + 1 + 72) * 2.0**-53
    assert least_strength(facts) == pytest.approx(350 * 5e5 / 1e8, rel=1e-6), "there passes decide"
    wide = Facts(records=10**8, features=20_000, outputs=1, radius=1.0, loss=Logistic())
    assert largest_condition(wide) < 1e8
    assert least_strength(wide) == 10**8 * 0.25 / (largest_condition(wide) - 1), "there rounding does"
    for chosen in (facts, wide):
        condition = chosen.records * chosen.curvature / least_strength(chosen) + 1
        assert reduction(chosen, condition) <= 7 / 16 * (1 + 1e-9)
        assert passes_bound(chosen, condition, 1e12 * chosen.records) < 3e7
        check_certifiable(chosen, least_strength(chosen))
        with pytest.raises(PrivacyError, match="regularization >="):
            check_certifiable(chosen, 0.99 * least_strength(chosen))


@pytest.mark.parametrize("mechanism", [ObjectivePerturbation(), Output()])
def test_weaker_regularisers_are_refused_by_both_mechanisms(mechanism):
    facts = problem_of(np.ones((200, 3)), np.ones(200), HuberHinge(), intercept=0.5).facts
    with pytest.raises(PrivacyError, match="regularization >="):
        mechanism.calibrate(Budget(25.0, 1e-6), facts, 1e-10, "proven")


@pytest.mark.parametrize("loss", [*MAIN_LOSSES, HuberHinge(1e-4)], ids=label)
@pytest.mark.parametrize("noise", ["gaussian", "sphere"])
def test_what_the_rules_choose_is_admitted(loss, noise):
    sizes = itertools.product((1, 50, 10**5, 10**9), (1, 100, 10**5), (1e-3, 1.0, 50.0, 1e6, math.inf))
    for n, d, epsilon in sizes:
        facts = Facts(
            records=n, features=d, outputs=outputs_of(loss), radius=1.118, loss=loss, intercept=True, constant=0.5
        )
        budget = Budget(epsilon, 0.0 if noise == "sphere" else 1e-6)
        check_certifiable(facts, defaults.output_strength(budget, facts, noise))
        check_certifiable(facts, defaults.objective_strength(budget, facts, noise))


@pytest.mark.parametrize("margin", [-1.0, 32.1, 1000.0, math.inf, math.nan])
def test_margins_beyond_what_rounding_bounds_hold_are_refused(margin, rng):
    for build in (Logistic, lambda a: Softmax(3, a)):
        with pytest.raises(ValueError, match=r"Expected .*margin"):
            build(margin)
    x, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"Expected .*margin"):
        LogisticRegression(1.0, delta=1e-5, margin=margin, classes=[0, 1]).fit(x, y)


def test_the_price_of_a_minimum_holds_its_slack():
    facts = problem_of(np.ones((350, 30)), np.ones(350), HuberHinge(1e-6)).facts
    moved = Minimum(2.0).sensitivity(facts).add_remove
    assert moved == pytest.approx((facts.gradient + 2e-6 * facts.gradient + 2 * solver_slack(facts, 2.0)) / 2.0)
