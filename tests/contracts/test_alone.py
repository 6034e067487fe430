"""What decides about one record is the same to the last bit whatever the other records are, and however they lie."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from scipy import sparse

from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.arithmetic import hessian_slack
from tacit.linear.problem import Problem, Records
from tacit.linear.records import block_rows
from tacit.linear.whole import Pieces

WIDTHS = [1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 1000, 4097, 8191, 8192, 8193, 9000]
FORMS = {
    "array": np.asarray, "fortran": np.asfortranarray, "float32": lambda X: X.astype(np.float32),
    "csr": sparse.csr_array, "csc": sparse.csc_matrix,
}  # fmt: skip


def rows_like(rng, n, d):
    """Rows of many lengths that are float32 numbers, some cells zero."""
    X = rng.normal(size=(n, d)) * rng.uniform(0.01, 3, size=(n, 1)) / np.sqrt(d) * (rng.random((n, d)) < 0.8)
    return X.astype(np.float32).astype(np.float64)


@settings(deadline=None, max_examples=60)
@given(
    st.sampled_from(WIDTHS),
    st.integers(1, 5),
    st.sampled_from(sorted(FORMS)),
    st.integers(1, 70),
    st.integers(1, 2),
    st.integers(0, 2**32),
)
@example(8193, 1, "array", 65, 2, 0)
@example(9000, 3, "fortran", 1, 2, 0)
def test_predictions_of_one_record_do_not_depend_on_its_block(d, outputs, form, n, pieces, seed):
    rng = np.random.default_rng(seed)
    n = min(n, max(2, 200_000 // d))
    X, weights = rows_like(rng, n, d), 3 * rng.normal(size=(d + 1, outputs))
    records = Records.build(FORMS[form](X), np.ones(n), 1.0, 0.5)

    def predicted(records, start, stop):
        return Pieces.of(weights, pieces).scores(records.design.block(slice(start, stop)))

    whole = predicted(records, 0, n)
    exact = records.design.dense(slice(0, n)) @ weights
    rounding = np.sqrt(d + 1) * 2.0**-27 if pieces == 1 else 4 * (d + 8) * 2.0**-53
    np.testing.assert_allclose(whole, exact, rtol=0, atol=1.2 * rounding * np.linalg.norm(weights))
    start, stop = sorted(rng.integers(0, n, 2))
    np.testing.assert_array_equal(predicted(records, start, stop + 1), whole[start : stop + 1])
    order = rng.permutation(n)
    np.testing.assert_array_equal(predicted(records.take(order), 0, n), whole[order])
    for place in (0, n // 2, n - 1):
        alone = Records.build(FORMS[form](X[[place]]), np.ones(1), 1.0, 0.5)
        np.testing.assert_array_equal(predicted(alone, 0, 1)[0], whole[place])


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("loss", [Logistic(), Squared(), HuberHinge(0.1), Softmax(3), Softmax(10)], ids=str)
@pytest.mark.parametrize("d", [3, 8192, 9000])
def test_charges_do_not_depend_on_the_last_block(d, loss, form, rng):
    """Blocks of 64 rows and a last one of a single row, which shifts when a record before it goes."""
    n = 65
    X, outputs = rows_like(rng, n, d), loss.classes if loss.coupled else 1
    y = rng.integers(0, outputs, n).astype(float) if loss.coupled else rng.choice([-1.0, 1.0], n)
    weights = 3 * rng.normal(size=(d + 1, outputs))
    assert d < 8000 or block_rows(d + 1) == 64

    def charges(keep):
        seen = np.zeros(len(keep))

        def admit(rows, squares):
            seen[rows] = squares
            return np.ones_like(squares)

        records = Records.build(FORMS[form](X[keep]), y[keep], 1.0, 0.5)
        Problem(records, loss, outputs).admitted_gradient(weights, 0.3, admit)
        return seen

    whole = charges(np.arange(n))
    for gone in (0, 1, 40):
        keep = np.delete(np.arange(n), gone)
        np.testing.assert_array_equal(charges(keep), whole[keep])
    assert charges(np.array([n - 1]))[0] == whole[n - 1]


def at_the_jump(loss, d, n, rng):
    """n equal rows, and weights with which their score is exactly where the curvature jumps."""
    X, jump = np.repeat(rng.normal(size=(1, d)) / (2 * np.sqrt(d)), n, axis=0), 1.0 - loss.smoothing
    problem, weights = Problem(Records.build(X, np.ones(n), 1.0, 0.5), loss), np.zeros((d + 1, 1))
    row = problem.records.design.block(slice(0, 1))
    weights[:-1] = np.rint(2**20 * rng.normal(size=(d, 1))) / 2**20  # few digits, so that one piece holds them
    weights[-1] = 2 * (jump - row @ weights)
    return problem, np.rint(2**20 * weights) / 2**20


@pytest.mark.parametrize("d", [3, 8, 33, 200])
def test_curvatures_at_a_jump_do_not_depend_on_the_company(d, rng):
    """An ulp would count a row or not, and a matrix product rounds rows at the end of a block in another way."""
    for n, _ in itertools.product((17, 1000, 3000), range(5)):
        problem, weights = at_the_jump(HuberHinge(), d, n, rng)
        whole = problem.hessian_alone(weights)
        for gone in (1, 2, 5, 7):
            fewer = replace(problem, records=problem.records.take(np.arange(gone, n)))
            moved = np.linalg.norm(whole - fewer.hessian_alone(weights))
            assert moved <= gone * problem.facts.curvature * (1 + hessian_slack(problem.facts))


@pytest.mark.parametrize("form", sorted(FORMS))
@pytest.mark.parametrize("loss", [Logistic(), Squared(), HuberHinge(0.1)], ids=str)
def test_the_sum_of_lone_hessians_is_the_hessian(loss, form, rng):
    records = Records.build(FORMS[form](rows_like(rng, 500, 6)), rng.choice([-1.0, 1.0], 500), 1.0, 0.5)
    problem, weights = Problem(records, loss), rng.normal(size=(7, 1))
    slack = 500 * problem.facts.curvature * hessian_slack(problem.facts)
    np.testing.assert_allclose(problem.hessian_alone(weights), problem.gradient_and_hessian(weights, 2)[1], atol=slack)
