"""The problem: sums against brute force, dense against CSR, blocks against one block, and clipping that holds."""

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from instances import LOSSES, MAIN_LOSSES, label, outputs_of, random_problem, random_weights, targets_of
from oracles import problem_of
from scipy import sparse

from tacit.linear import records as blocks_of
from tacit.linear.arithmetic import (
    gradient_rounding,
    hessian_slack,
    largest_weight,
    minimum_reach,
    rounding_slack,
)
from tacit.linear.losses import HuberHinge, Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton

every_loss = pytest.mark.parametrize("loss", LOSSES, ids=label)


def design(problem):
    """The design rows, written out."""
    return problem.records.design.dense(slice(None))


def brute_gradient(problem, weights):
    rows = design(problem)
    slopes = problem.loss.slope(rows @ weights, problem.records.targets)
    total = sum(np.outer(rows[i], slopes[i]) for i in range(len(rows))) + problem.strength * weights
    return total if problem.linear is None else total + problem.linear


@every_loss
@pytest.mark.parametrize("intercept", [0.0, 0.7])
def test_gradient_and_hessian_against_brute_force(loss, intercept, rng):
    base = random_problem(loss, rng, intercept=intercept)
    linear = random_weights(base, rng)
    problem = Problem(base.records, loss, base.outputs, strength=0.3, linear=linear)
    weights = random_weights(problem, rng)
    facts, long = problem.facts, float(np.linalg.norm(weights))
    rounding = gradient_rounding(facts, long) + 1e-12
    np.testing.assert_allclose(problem.gradient(weights), brute_gradient(problem, weights), rtol=0, atol=rounding)
    rows, y, size = design(problem), problem.records.targets, weights.size
    value = loss.value(rows @ weights, y).sum() + 0.15 * (weights**2).sum() + (linear * weights).sum()
    most = facts.records * facts.models * (loss.at_zero + loss.lipschitz * facts.radius * long)
    assert float(problem.value(weights).sum()) == pytest.approx(value, abs=most * 2.0**-33)
    hessian = np.zeros((size, size))
    for column in range(size):
        unit = np.zeros(size)
        unit[column] = 1.0
        u = unit.reshape(weights.shape)
        image = rows.T @ loss.curve(rows @ weights, y, rows @ u) + 0.3 * u
        # curved scores are rounded to 40 digits, of four times their bound at most
        few = 4 * facts.records * facts.curvature * math.sqrt(loss.outputs) * 2.0**-41 + 1e-12
        np.testing.assert_allclose(problem.hessian_times(weights, u), image, rtol=0, atol=few)
        hessian[:, column] = image.ravel()
    assert np.linalg.eigvalsh(0.5 * (hessian + hessian.T)).min() >= 0.3 - 1e-9
    if not loss.coupled:
        slope, full = problem.gradient_and_hessian(weights, 2)
        np.testing.assert_array_equal(slope, problem.gradient(weights))
        np.testing.assert_allclose(full, hessian, atol=1e-10)
        _, rough = problem.gradient_and_hessian(weights, 1)
        slack = problem.records.count * problem.facts.curvature * hessian_slack(problem.facts)
        np.testing.assert_allclose(rough, hessian, atol=slack)


@every_loss
def test_dense_csr_and_float32_agree(loss, rng):
    X = np.where(rng.random((50, 6)) < 0.5, 0.0, rng.normal(size=(50, 6))).astype(np.float32).astype(float)
    X[7] = 0.0
    y = targets_of(loss, 50, rng)
    forms = [X, sparse.csr_array(X), X.astype(np.float32), sparse.csr_array(X.astype(np.float32))]
    problems = [Problem(Records.build(M, y, 0.8, 0.5), loss, outputs_of(loss)) for M in forms]
    weights = random_weights(problems[0], rng)
    for other in problems[1:]:
        np.testing.assert_array_equal(other.gradient(weights), problems[0].gradient(weights))
        np.testing.assert_array_equal(other.value(weights), problems[0].value(weights))
        clipped = [p.clipped_gradient(weights, 0.2) for p in (other, problems[0])]
        np.testing.assert_array_equal(*clipped)
        for outer in () if loss.coupled else (1, 2):
            hessians = [p.gradient_and_hessian(weights, outer)[1] for p in (other, problems[0])]
            np.testing.assert_array_equal(*hessians)


@every_loss
@pytest.mark.parametrize("thin", [False, True])
def test_blocks_equal_one_block(loss, thin, rng, monkeypatch):
    problem = random_problem(loss, rng, n=500, d=3)
    if thin:
        records = problem.records
        matrix = sparse.csr_array(records.design.matrix)
        problem = Problem(Records.build(matrix[:, :-1], records.targets, 1.0, 0.5), loss, problem.outputs)
    weights = random_weights(problem, rng)
    whole = problem.gradient(weights), problem.value(weights), problem.clipped_gradient(weights, 0.3)
    monkeypatch.setattr(blocks_of, "MOST_ROWS", blocks_of.most_rows(problem.records.features))  # grids stay
    monkeypatch.setattr(blocks_of, "BLOCK_NUMBERS", 1)
    problem = replace(problem, records=replace(problem.records))  # which made its sparse blocks once
    assert len(list(problem.records.blocks())) == 8, "64 rows a block at least"
    parts = problem.gradient(weights), problem.value(weights), problem.clipped_gradient(weights, 0.3)
    for one, many in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(many, one)


def adversarial_rows(d, rng):
    plain = rng.normal(size=d)
    huge = np.full(d, 1.7e308)
    huge[::2] *= -1
    return [
        plain, -plain, 1e-3 * plain, 1e300 * np.sign(plain), huge, np.zeros(d), np.full(d, 5e-324), np.full(d, 1e-160),
        np.eye(d)[0] * 1e200,
    ]  # fmt: skip


@pytest.mark.parametrize("loss", LOSSES, ids=label)
@pytest.mark.parametrize("clip", [1e-12, 0.1, 1.0, 1e6])
def test_every_record_is_clipped(loss, clip, rng):
    """One record's part of a clipped sum has at most the declared norm, for adversarial rows, targets and weights."""
    d, gradient_clip = 4, 0.3 * clip
    for intercept in (0.0, 0.5 * clip):
        for row in adversarial_rows(d, rng):
            for size in (0.0, 1.0, 1e8):
                problem = problem_of(
                    row[None], targets_of(loss, 1, rng), loss, clip=clip, intercept=intercept, outputs=outputs_of(loss)
                )
                assert np.linalg.norm(design(problem)) <= problem.records.design.radius * (1 + 1e-15)
                assert np.linalg.norm(design(problem)) <= problem.records.design.norms[0] * (1 + 1e-14)
                weights = random_weights(problem, rng, scale=size / clip)
                for anchor in (None, random_weights(problem, rng)):
                    part = problem.clipped_gradient(weights, gradient_clip, anchor)
                    assert np.isfinite(part).all()
                    assert np.linalg.norm(part) <= gradient_clip * (1 + rounding_slack(problem.facts, gradient_clip))


@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
def test_change_by_one_record(loss, rng):
    """Adding a record moves the clipped sum by at most the clip, replacing one by twice that, rounding included."""
    n, d, clip = 200, 4, 0.3
    X, y = rng.normal(size=(n, d)), targets_of(loss, n, rng)
    k = outputs_of(loss)
    largest = 0.0
    for row in adversarial_rows(d, rng):
        X2, y2 = np.vstack([X[:-1], row]), np.vstack([y[:-1], targets_of(loss, 1, rng)])
        first, second = (problem_of(A, t, loss, intercept=0.5, outputs=k) for A, t in ((X, y), (X2, y2)))
        without = problem_of(X[:-1], y[:-1], loss, intercept=0.5, outputs=k)
        slack = clip * rounding_slack(first.facts, clip)
        for scale in (0.0, 1.0, 100.0):
            weights = random_weights(first, rng, scale)
            sums = [p.clipped_gradient(weights, clip) for p in (first, second, without)]
            replaced = np.linalg.norm(sums[0] - sums[1])
            assert replaced <= 2 * clip + slack
            assert np.linalg.norm(sums[1] - sums[2]) <= clip + slack
            largest = max(largest, replaced)
    assert largest > clip, "vacuous: no pair moves the sum by more than half of what is declared"


@pytest.mark.parametrize("outputs", [1, 3])
def test_independent_models_are_clipped_one_by_one(outputs, rng):
    y = rng.choice([-1.0, 1.0], size=(1, outputs))
    problem = Problem(Records.build(rng.normal(size=(1, 3)), y, 1.0, 0.0), Logistic(), outputs)
    part = problem.clipped_gradient(random_weights(problem, rng, 5.0), 0.1)
    most = 0.1 * (1 + rounding_slack(problem.facts, 0.1))
    assert (np.linalg.norm(part, axis=0) <= most).all()
    assert np.linalg.norm(part) <= most * np.sqrt(problem.facts.models)


@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
def test_the_order_of_rows_does_not_matter(loss, rng, monkeypatch):
    monkeypatch.setattr(blocks_of, "BLOCK_NUMBERS", 1)
    problem = random_problem(loss, rng, n=2000, d=3)
    weights = random_weights(problem, rng)
    permuted = Problem(problem.records.take(rng.permutation(2000)), loss, problem.outputs)
    for sums in (lambda p: p.clipped_gradient(weights, 0.3), lambda p: p.gradient(weights), lambda p: p.value(weights)):
        np.testing.assert_array_equal(sums(problem), sums(permuted))


def cancelling(rng, n, d):
    """Rows whose products with the weights cancel: all that is left of a score is its rounding."""
    weights = rng.normal(size=(d, 1))
    rows = rng.normal(size=(n, d))
    rows -= (rows @ weights) @ weights.T / (weights.T @ weights)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), weights / np.abs(weights).max()


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared()], ids=label)
def test_weights_of_any_size_cost_no_more(loss, rng):
    """Scores that cancel are all rounding. Added up in an order that depends on the row's place, they would move every
    slope when one record leaves; exact ones move one record's part."""
    n, d, clip = 20_001, 33, 0.3
    X, direction = cancelling(rng, n, d)
    y = rng.choice([-1.0, 1.0], size=(n, 1))
    first, second = (problem_of(A, t, loss) for A, t in ((X, y), (X[1:], y[1:])))
    slack = rounding_slack(first.facts, clip)
    assert slack < 1e-4
    for size in (1.0, largest_weight(first.facts), 1e17, 1e20, 1e100):
        sums = [p.clipped_gradient(size * direction, clip) for p in (first, second)]
        assert np.linalg.norm(np.subtract(*sums)) <= clip * (1 + slack)


@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
def test_a_minimiser_is_within_the_reach_that_its_slack_is_for(loss, rng):
    """Separable records and weak regularisers make it long; the slack at its own norm is below the public one."""
    X = rng.normal(size=(60, 3)) * 1e-3
    for strong, noise in itertools.product((1e-4, 1e-2, 1.0), (0.0, 3.0)):
        plain = problem_of(X, targets_of(loss, 60, rng), loss, intercept=0.5, outputs=outputs_of(loss))
        linear = random_weights(plain, rng, noise)
        solution = Newton(1e-7).solve(replace(plain, strength=strong, linear=linear))
        assert np.linalg.norm(solution.weights) <= minimum_reach(plain.facts, strong, float(np.linalg.norm(linear)))


def test_column_is_one_of_several_models(rng):
    y = rng.choice([-1.0, 1.0], size=(30, 3))
    problem = Problem(Records.build(rng.normal(size=(30, 4)), y, 1.0, 0.5), HuberHinge(), 3, 0.1)
    weights = random_weights(problem, rng)
    for j in range(3):
        np.testing.assert_allclose(
            problem.column(j).gradient(weights[:, [j]])[:, 0], problem.gradient(weights)[:, j], atol=1e-13
        )


def test_no_records_at_all():
    """An empty batch has a zero gradient: it takes a noisy step like any other."""
    problem = problem_of(np.ones((2, 3)), np.ones(2), Logistic(), intercept=0.5)
    empty = Problem(problem.records.take(np.zeros(0, dtype=np.intp)), Logistic())
    np.testing.assert_array_equal(empty.clipped_gradient(np.ones((4, 1)), 0.5), np.zeros((4, 1)))
