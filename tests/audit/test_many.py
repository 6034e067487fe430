"""Batched runs are the real thing: column j is, to 1e-9, the run that the plan makes from column j's random draws."""

import functools
from dataclasses import replace

import numpy as np
import pytest

from tacit.audit.planned import run_many
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms import METHODS
from tacit.privacy.noise import SeededSource
from tacit.privacy.normals import Draws, draw
from tacit.types import Budget

LOSSES = {loss.name: loss for loss in (Logistic(), HuberHinge(), Squared(), Softmax(3))}
TRIALS = 4


class Tape:
    """Keeps every draw: normal draws as a whole, since each takes as many words as it needs, and words elsewhere."""

    seeded = True

    def __init__(self, seed):
        self.inner, self.drawn = SeededSource(seed), []

    def words(self, count):
        self.drawn.append(self.inner.words(count))
        return self.drawn[-1]

    def normals(self, count):
        self.drawn.append(draw(self.inner, count).places)
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


@pytest.fixture(autouse=True)
def taped(monkeypatch):
    """Normal draws from a tape come from its own list."""

    def from_tape(source, count):
        return Draws(source.normals(count), {}) if hasattr(source, "normals") else draw(source, count)

    monkeypatch.setattr("tacit.privacy.normals.draw", from_tape)


def problem_for(loss, n=24):
    rng = np.random.default_rng(5)
    outputs = 3 if loss.coupled else 1
    y = rng.integers(0, 3, n).astype(float) if loss.coupled else np.sign(rng.normal(size=n))
    return Problem(Records.build(rng.normal(size=(n, 3)), y, 1.0, 0.5), loss, outputs)


@functools.cache
def plan_of(name):
    """One plan a method, from its first loss: its numbers are as good as any for training with another."""
    method = METHODS[name]
    problem = problem_for(LOSSES[method.losses[0]])
    return method.mechanism.calibrate(Budget(4.0, 0.0 if method.mechanism.pure else 1e-3), problem.facts, None, "proven")


@pytest.mark.parametrize("name", METHODS)
def test_each_column_is_a_run_of_the_plan(name):
    plan = plan_of(name)
    for loss in METHODS[name].losses:
        problem = problem_for(LOSSES[loss])
        if not plan.at_once(problem):
            continue
        tape = Tape(3)
        together = run_many(plan, problem, TRIALS, tape)
        if "wu-2017" in name:  # one batch holds all: the order that a single run draws does not matter
            tape.drawn[0] = np.repeat(np.arange(problem.records.count, dtype=np.uint64), TRIALS)
        alone = np.stack([plan.run(problem, Column(tape, j)).weights.ravel() for j in range(TRIALS)])
        np.testing.assert_array_equal(together, alone, err_msg=loss)
        assert len({row.tobytes() for row in together}) == TRIALS


def test_the_methods_that_matter_are_batched():
    for name in ("objective", "objective-chaudhuri-2011", "output", "gradient", "dp-sgd", "dp-svrg", "output-wu-2017"):
        assert plan_of(name).at_once(problem_for(Logistic()))


@pytest.mark.parametrize("name", ["statistics", "individual", "song-2013"])
def test_what_cannot_be_batched_is_looped(name):
    problem, plan = problem_for(Squared() if name == "statistics" else Logistic()), plan_of(name)
    source = SeededSource(1)
    expected = np.stack([plan.run(problem, source).weights.ravel() for _ in range(3)])
    assert np.array_equal(run_many(plan, problem, 3, SeededSource(1)), expected)


@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("strong", [0.1, 50.0])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), HuberHinge(0.01), Squared()], ids=str)
def test_models_solved_together_equal_models_solved_alone(loss, strong, intercept):
    rng = np.random.default_rng(1)
    n, d, models = 300, 6, 12
    records = Records.build(rng.normal(size=(n, d)), np.sign(rng.normal(size=n)), 1.0, intercept)
    linear = 20 * rng.normal(size=(records.features, models))
    problem = Problem(records, loss, models, strength=strong, linear=linear)
    tolerance = 1e-6
    weights, gaps, _ = Newton(tolerance).solve_columns(problem)
    for j in range(models):
        one = Newton(tolerance)._solve_one(problem.column(j))
        assert one.gap <= tolerance + 1e-9
        # Both are within tolerance / Lambda of the minimum; mostly they take the same steps and agree to 1e-15.
        assert np.linalg.norm(weights[:, [j]] - one.weights) <= 2 * tolerance / strong
    assert gaps.max() <= tolerance + 1e-9
    tight = Newton(1e-9)
    both = tight.solve_columns(replace(problem, strength=max(strong, 1.0)))[0][:, :5]
    alone = [tight._solve_one(replace(problem, strength=max(strong, 1.0)).column(j)).weights for j in range(5)]
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
        assert together.gap <= 1e-7


def test_parts_on_several_threads_are_repeatable_and_independent():
    """More runs than fit in one part: the same from the same seed, and no two alike."""
    problem, plan = problem_for(Logistic(), 3000), plan_of("gradient")
    found = [run_many(plan, problem, 35, SeededSource(4)) for _ in range(2)]
    assert np.array_equal(*found)
    assert len({row.tobytes() for row in found[0]}) == 35
