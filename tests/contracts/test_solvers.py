"""Newton reaches its tolerance and tells the truth about its gap; descent does what a few lines would do."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from instances import LOSSES, MAIN_LOSSES, label, random_problem, random_weights, targets_of
from oracles import problem_of
from scipy import sparse

import tacit.linear.solvers.newton
from tacit.linear.arithmetic import gradient_rounding, largest_weight, linear_rounding
from tacit.linear.losses import HuberHinge, Logistic
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.descent import Descent
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms import METHODS
from tacit.privacy.noise import SeededSource
from tacit.types import Budget

STRENGTHS = (1e-6, 1e-2, 1.0, 1e6)


def solved(problem, strong, rng, tolerance=1e-9, noise=0.0):
    linear = random_weights(problem, rng, noise)
    full = replace(problem, strength=strong, linear=linear)
    tau = tolerance * full.facts.gradient
    solution = Newton(tau).solve(full)
    true_gap = float(np.linalg.norm(full.gradient(solution.weights)))
    assert true_gap <= solution.gap, "the gap is a bound on the gradient norm"
    rounding = gradient_rounding(full.facts, float(np.linalg.norm(solution.weights)))
    rounding += linear_rounding(float(np.linalg.norm(linear)))
    assert solution.gap <= tau * (1 + 1e-9) + 2 * rounding, (strong, solution.gap, solution.steps)
    return full, solution


@pytest.mark.parametrize("strong", STRENGTHS)
@pytest.mark.parametrize("loss", LOSSES, ids=label)
def test_newton_reaches_its_tolerance(loss, strong, rng):
    # A linear term makes weights of the order noise / Lambda, and 1e6 is where doubles end: none with a tiny Lambda.
    for n, d, noise in ((40, 4, 0.0), (3, 8, 5.0), (1, 1, 0.0), (200, 2, 50.0)):
        linear = noise if strong >= 1e-2 else 0.0
        full, solution = solved(random_problem(loss, rng, n=n, d=d), strong, rng, noise=linear)
        best = float(full.value(solution.weights).sum())
        for _ in range(5):
            other = solution.weights + random_weights(full, rng, 0.1)
            assert float(full.value(other).sum()) >= best - 1e-9 * abs(best)


@pytest.mark.parametrize("strong", [1e-8, 1e-3, 1.0])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), HuberHinge(0.01), HuberHinge(1e-4)], ids=label)
def test_newton_on_separable_data_and_kinks(loss, strong, rng):
    x = np.linspace(-1, 1, 30)[:, None]
    solved(problem_of(x, np.sign(x[:, 0]), loss, clip=10.0), strong, rng)
    x = np.array([10.0, 10.0, 10.0, 10.0, 3.0])[:, None]
    y = np.array([-1.0, -1.0, -1.0, -1.0, 1.0])
    for scale in (0.1, 1.0, 10.0):
        solved(problem_of(scale * x, y, loss, clip=100.0), strong * 335.0, rng)


def test_newton_does_not_cycle_over_a_kink(rng):
    """This very problem was left unsolved after 100 steps that each lowered the gradient norm by a trifle."""
    x = np.array([10.0, 10.0, 10.0, 10.0, 3.0])[:, None]
    problem = problem_of(x, [-1.0, -1.0, -1.0, -1.0, 1.0], HuberHinge(0.05), clip=10.0)
    _, solution = solved(problem, 335.6701005943348, rng, tolerance=1e-6)
    assert solution.steps <= 20


@pytest.mark.parametrize("seed", range(40))
def test_newton_on_many_hinge_problems(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(1, 60)), int(rng.integers(1, 6))
    loss = HuberHinge(float(10 ** rng.uniform(-3, 0)))
    problem = random_problem(loss, rng, n=n, d=d, clip=float(10 ** rng.uniform(-1, 2)), scale=100.0)
    solved(problem, float(10 ** rng.uniform(-4, 4)), rng, noise=float(10 ** rng.uniform(-2, 3)), tolerance=1e-7)


@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
def test_conjugate_gradients_find_the_same_point(loss, rng, monkeypatch):
    problem = replace(random_problem(loss, rng, n=60, d=5), strength=0.5)
    tau = 1e-10 * problem.facts.gradient
    usual = Newton(tau).solve(problem)
    monkeypatch.setattr(tacit.linear.solvers.newton, "DENSE_FEATURES", 1)
    other = Newton(tau).solve(problem)
    np.testing.assert_allclose(other.weights, usual.weights, atol=1e-7)
    assert other.gap <= tau + 2 * gradient_rounding(problem.facts, float(np.linalg.norm(other.weights)))


def test_wide_and_sparse(rng):
    """More features than the dense limit, more features than records."""
    matrix = sparse.random_array((80, 2000), density=0.01, rng=rng, format="csr")
    problem = Problem(Records.build(matrix, rng.choice([-1.0, 1.0], size=(80, 1)), 1.0, 0.5), Logistic())
    solved(problem, 0.1, rng, tolerance=1e-8)


def test_several_models_are_solved_as_one_by_one(rng):
    y = rng.choice([-1.0, 1.0], size=(50, 3))
    problem = Problem(Records.build(rng.normal(size=(50, 3)), y, 1.0, 0.5), HuberHinge(), 3, strength=0.2)
    together = Newton(1e-9).solve(problem)
    for j in range(3):
        alone = Newton(1e-10).solve(problem.column(j))
        apart = (alone.gap + together.gap) / problem.strength  # from the minimum, each
        assert np.linalg.norm(together.weights[:, [j]] - alone.weights) <= apart < 1e-5
    assert together.gap >= np.linalg.norm(problem.gradient(together.weights))


def test_an_unfinished_solve_says_so(rng):
    problem = replace(random_problem(Logistic(), rng, n=500), strength=1e-3)
    solution = Newton(1e-9, steps=1).solve(problem)
    assert solution.gap > 1e-3
    assert solution.steps == 1


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge()], ids=label)
def test_a_hessian_that_is_singular_in_floating_point(loss, rng):
    """Duplicate columns and a regulariser far below one ulp of the curvature: no traceback from LAPACK."""
    x = np.repeat(rng.normal(size=(200, 1)), 4, axis=1)
    problem = replace(problem_of(x, targets_of(loss, 200, rng), loss), strength=1e-18)
    solution = Newton(1e-6).solve(problem)
    assert np.isfinite(solution.weights).all()


def reference_descent(descent, gradient, start):
    """The same, written out."""
    w, v, seen = start, 0 * start, []
    for t in range(descent.steps):
        size = {
            "constant": descent.step,
            "linear": descent.step * (descent.steps - t) / descent.steps,
            "inverse": descent.step / (t + 1),
            "inverse-root": descent.step / math.sqrt(t + 1),
        }[descent.schedule]
        v = descent.momentum * v + gradient(w)
        w = w - size * v
        w = w * min(1.0, descent.radius / max(np.linalg.norm(w), 1e-300))
        seen.append(w)
    return {"last": seen[-1], "all": np.mean(seen, axis=0), "tail": np.mean(seen[descent.steps // 2 :], axis=0)}[
        descent.average
    ]


@pytest.mark.parametrize("steps", [1, 2, 7])
def test_descent_against_a_reference(steps, rng):
    target, calls = rng.normal(size=(3, 2)), []

    def gradient(w):
        calls.append(w)
        return w - target

    schedules, averages = ("constant", "linear", "inverse", "inverse-root"), ("last", "all", "tail")
    for schedule, average, momentum, radius in itertools.product(schedules, averages, (0.0, 0.9), (math.inf, 0.3)):
        descent = Descent(steps=steps, step=0.3, momentum=momentum, schedule=schedule, average=average, radius=radius)
        calls.clear()
        solution = descent.run(gradient, np.zeros((3, 2)))
        assert len(calls) == solution.steps == steps
        expected = reference_descent(descent, gradient, np.zeros((3, 2)))
        np.testing.assert_allclose(solution.weights, expected, atol=1e-14)
        assert np.linalg.norm(solution.weights) <= radius * (1 + 1e-12)


@pytest.mark.parametrize("method", ["gradient", "dp-sgd", "dp-svrg"])
def test_noisy_steps_never_evaluate_beyond_the_largest_weight(method, rng, monkeypatch):
    """With an absurd step every weight is at the cut: nothing overflows."""
    problem = random_problem(Logistic(), rng, n=30, d=4)
    plan = METHODS[method].mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
    wild = replace(plan, step=1e30) if method == "dp-svrg" else replace(plan, descent=replace(plan.descent, step=1e30))
    seen, true = [], Problem.clipped_gradient

    def watched(self, weights, *args, **given):
        seen.append(np.abs(weights).max())
        return true(self, weights, *args, **given)

    monkeypatch.setattr(Problem, "clipped_gradient", watched)
    wild.run(problem, SeededSource(1))
    assert max(seen) == largest_weight(problem.facts)


@pytest.mark.parametrize("bad", [{"steps": 0}, {"step": -1.0}, {"momentum": 1.0}, {"radius": 0.0}, {"largest": 0.0}])
def test_descent_refuses_bad_settings(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        Descent(**{"steps": 3, "step": 0.1, **bad})
