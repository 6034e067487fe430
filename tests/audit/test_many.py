"""Runs made together are the real thing: run j is, bit for bit, the one that the plan makes from column j of the draws.

Sums over records are exact, and all that follows a release is the same arithmetic. Minima are reached with Hessians that
are rounded in another way, so that they agree as well as both are certified.
"""

import functools
import math
from dataclasses import replace

import numpy as np
import pytest

from tacit.audit.pairs import target_values
from tacit.audit.planned import run_many
from tacit.linear import losses
from tacit.linear.arithmetic import gradient_rounding
from tacit.linear.losses import HuberHinge, Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms import METHODS
from tacit.mechanisms.base import Plan
from tacit.mechanisms.objective import TOLERANCE, ObjectivePlan
from tacit.privacy.noise import SeededSource, choose, grid_slack, subset
from tacit.privacy.normals import Draws, draw
from tacit.types import Budget

LOSSES = {loss.name: loss for loss in losses.LOSSES}
TRIALS = 4


class Tape:
    """Keeps every draw: normal draws and coins as a whole, since they share words or take several, and words else."""

    seeded = True

    def __init__(self, seed):
        self.inner, self.drawn = SeededSource(seed), []

    def words(self, count):
        self.drawn.append(self.inner.words(count))
        return self.drawn[-1]

    def normals(self, count):
        self.drawn.append(draw(self.inner, count).places)
        return self.drawn[-1]

    def coins(self, count, rate):
        self.drawn.append(choose(self.inner, count, rate))
        return self.drawn[-1]


class Column:
    """Plays the draws of one run: number i of run j is number i * trials + j of a draw."""

    seeded = True

    def __init__(self, tape, run):
        self.draws, self.run = iter(tape.drawn), run

    def words(self, count):
        found = next(self.draws).reshape(-1, TRIALS)[:, self.run]
        assert len(found) == count
        return found

    normals = words

    def coins(self, count, rate):
        return self.words(count)

    def subset(self, count, size):
        return np.sort(np.argsort(self.words(count), kind="stable")[:size])


@pytest.fixture(autouse=True)
def taped(monkeypatch):
    """Normal draws, coins and subsets from a tape come from its own list."""

    def from_tape(source, count):
        return Draws(source.normals(count), {}) if hasattr(source, "normals") else draw(source, count)

    def coins(source, count, rate):
        return source.coins(count, rate) if hasattr(source, "coins") else choose(source, count, rate)

    def some(source, count, size):
        return source.subset(count, size) if hasattr(source, "subset") else subset(source, count, size)

    monkeypatch.setattr("tacit.privacy.normals.draw", from_tape)
    monkeypatch.setattr("tacit.mechanisms.samplers.choose", coins)
    monkeypatch.setattr("tacit.mechanisms.samplers.subset", some)


def problem_for(loss, n=24, models=1):
    rng = np.random.default_rng(5)
    y = rng.choice(target_values(loss.targets, loss.outputs), (n, models))
    return Problem(Records.build(rng.normal(size=(n, 3)), y, 1.0, 0.5), loss, models * loss.outputs)


@functools.cache
def plan_of(name):
    """One plan a method, from its first loss: its numbers are as good as any for training with another."""
    method = METHODS[name]
    problem = problem_for(LOSSES[method.losses[0]])
    budget = Budget(4.0, 0.0 if method.mechanism.pure else 1e-3)
    return method.mechanism.calibrate(budget, problem.facts, None, "proven")


def assert_columns_are_runs(plan, problem, *, ordered=False):
    """Compare runs made together with those of ``plan.run``; ``ordered``: each of these draws an order first."""
    assert plan.at_once(problem)
    tape = Tape(3)
    together = run_many(plan, problem, TRIALS, tape)
    if ordered:  # one batch holds all records, so that their order does not matter
        tape.drawn[0] = np.repeat(np.arange(problem.records.count, dtype=np.uint64), TRIALS)
    alone = np.stack([plan.run(problem, Column(tape, j)).weights.ravel() for j in range(TRIALS)])
    if isinstance(plan, ObjectivePlan):
        apart = 2 * (TOLERANCE * plan.scale + plan.slack) / plan.strength + 2 * grid_slack(plan.polish_scale, alone.shape[1])
        assert np.linalg.norm(together - alone, axis=1).max() <= apart < 1e-3 * np.abs(alone).max()
    else:
        np.testing.assert_array_equal(together, alone)
    assert len({row.tobytes() for row in together}) == TRIALS


def is_together(name, plan, problem):
    """Whether a plan is to make its runs at once: where it has a way of its own, but for two that cannot."""
    own = type(plan).run_many is not Plan.run_many
    coupled = isinstance(plan, ObjectivePlan) and problem.loss.coupled  # one Hessian for all scores of a model
    return own and not coupled and name != "song-2013"  # each of its runs has batches of its own


@pytest.mark.parametrize(("name", "loss"), [(m, loss) for m in METHODS for loss in METHODS[m].losses])
def test_many_runs_are_runs_of_the_plan(name, loss):
    problem, plan = problem_for(LOSSES[loss]), plan_of(name)
    assert bool(plan.at_once(problem)) == is_together(name, plan, problem)
    if plan.at_once(problem):
        assert_columns_are_runs(plan, problem, ordered="wu-2017" in name)
    else:
        source = SeededSource(1)
        expected = np.stack([plan.run(problem, source).weights.ravel() for _ in range(3)])
        assert np.array_equal(run_many(plan, problem, 3, SeededSource(1)), expected)


@pytest.mark.parametrize("name", ["gradient", "dp-sgd", "dp-lssgd", "dp-svrg", "output"])
def test_runs_of_several_models_each(name):
    assert_columns_are_runs(plan_of(name), problem_for(Logistic(), models=2))


def test_gradients_that_are_not_clipped():
    plan = replace(plan_of("gradient"), clip=math.inf)
    for loss in (Logistic(), LOSSES["softmax"]):
        assert_columns_are_runs(plan, problem_for(loss))


def test_projected_steps_tie_runs_together():
    """The norm of a projection is that of one run: many side by side must not share it."""
    problem, plan = problem_for(Logistic()), plan_of("gradient")
    plan = replace(plan, descent=replace(plan.descent, radius=0.1))
    assert np.linalg.norm(run_many(plan, problem, 3, SeededSource(1)), axis=1).max() == pytest.approx(0.1)


@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("strength", [0.1, 50.0])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), HuberHinge(0.01), Squared()], ids=str)
def test_models_solved_together_equal_models_solved_alone(loss, strength, intercept):
    rng = np.random.default_rng(1)
    n, d, models = 300, 6, 12
    records = Records.build(rng.normal(size=(n, d)), np.sign(rng.normal(size=n)), 1.0, intercept)
    linear = 20 * rng.normal(size=(records.features, models))
    problem = Problem(records, loss, models, strength=strength, linear=linear)
    tolerance = 1e-6
    weights, gaps, _ = Newton(tolerance).solve_columns(problem)
    for j in range(models):
        one = Newton(tolerance)._solve_one(problem.column(j))
        assert one.gap <= tolerance + 1e-9
        # Both are within tolerance / Lambda of the minimum; mostly they take the same steps and agree to 1e-15.
        assert np.linalg.norm(weights[:, [j]] - one.weights) <= 2 * tolerance / strength
    assert gaps.max() <= tolerance + 1e-9
    tight = Newton(1e-9)
    both = tight.solve_columns(replace(problem, strength=max(strength, 1.0)))[0][:, :5]
    alone = [tight._solve_one(replace(problem, strength=max(strength, 1.0)).column(j)).weights for j in range(5)]
    assert np.abs(both - np.hstack(alone)).max() <= 1e-9


def test_one_vs_rest_and_sparse_and_blocks_are_solved_together():
    from scipy import sparse

    rng = np.random.default_rng(2)
    n, d = 3000, 30
    rows = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.2)
    targets = np.where(rng.integers(0, 3, n)[:, None] == np.arange(3), 1.0, -1.0)
    for matrix in (rows, sparse.csr_array(rows)):
        problem = Problem(Records.build(matrix, targets, 1.0, 0.5), Logistic(), 3, strength=5.0)
        together = Newton(1e-8).solve(problem)
        alone = [Newton(1e-9)._solve_one(problem.column(j)).weights for j in range(3)]
        assert np.abs(together.weights - np.hstack(alone)).max() <= 1e-8
        reach = float(np.linalg.norm(together.weights, axis=0).max())
        assert together.gap <= 1e-8 + 2 * math.sqrt(3) * gradient_rounding(problem.column(0).facts, reach)


def test_parts_on_several_threads_are_repeatable_and_independent():
    """More runs than fit in one part: the same from the same seed, and no two alike."""
    problem, plan = problem_for(Logistic(), 3000), plan_of("gradient")
    found = [run_many(plan, problem, 35, SeededSource(4)) for _ in range(2)]
    assert np.array_equal(*found)
    assert len({row.tobytes() for row in found[0]}) == 35
