"""Individual accounting: no account exceeds B, neighbours move all sums by sqrt(B) in all, broken twins are caught."""

import copy
import math
import pickle
from dataclasses import replace

import numpy as np
import pytest
from account_twins import Common, Forgetful, Lenient
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles import FALSE_ALARM, problem_of, record, replay
from scipy import sparse, stats

import tacit.mechanisms.individual as module
from tacit import LogisticRegression
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import GradientPerturbation, Individual
from tacit.mechanisms.individual import Account
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource
from tacit.types import ADJACENCIES, Budget

RULES = ("ration", "leave")
BUDGET = Budget(1.0, 1e-5, "replace-one")


def loud_problem(n, *, extra=None, scale=5.0):
    """Records with random labels on long rows: gradients stay large, so that accounts run out. Short rows are quiet."""
    rng = np.random.default_rng(3)
    X, y = scale * rng.normal(size=(n, 3)), rng.choice([-1.0, 1.0], size=n)
    if extra is not None:
        X, y = np.vstack([X, extra[0]]), np.append(y, extra[1])
    return problem_of(X, y, Logistic(), intercept=0.1)


def total_move(first, second):
    """The norm of all moves together, in units of noise."""
    squares = [float(((a.values - b.values) ** 2).sum()) / a.scale**2 for a, b in zip(first, second, strict=True)]
    return math.sqrt(sum(squares))


def worst_move(plan, adjacency, scale=5.0):
    """The largest total move over neighbours whose differing records stay loud, relative to what is declared."""
    limit = plan.events[0].sensitivity.under(adjacency) / plan.events[0].scale
    # A record orthogonal to all others is never learned: it is at full slope throughout, and exhausts its account.
    worst = 0.0
    for row in (np.array([4.0, -4.0, 4.0]), np.array([0.1, 0.0, 0.0])):
        with_first = loud_problem(40, extra=(row, 1.0), scale=scale)
        extra = None if adjacency == "add-remove" else (row, -1.0)
        other = loud_problem(40, extra=extra, scale=scale)
        trace = record(plan, with_first)
        worst = max(worst, total_move(trace.calls, replay(trace, other)) / limit)
    return worst


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("rule", RULES)
def test_neighbours_move_all_releases_together_by_at_most_the_declared(rule, adjacency):
    budget = Budget(0.5, 1e-5, adjacency)
    for share in (0.02, 0.1, 1.0):
        plan = Individual(steps=60, share=share, rule=rule).calibrate(budget, loud_problem(40).facts, None, "proven")
        assert worst_move(plan, adjacency) <= 1.0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_the_bound_is_reached_where_a_record_exhausts_its_account(adjacency):
    plan = Individual(steps=60, share=0.02, rule="leave", clip=0.3).calibrate(
        Budget(0.5, 1e-5, adjacency), loud_problem(40).facts, None, "proven"
    )
    assert worst_move(plan, adjacency) > 0.9


@pytest.mark.parametrize(("twin", "rule"), [(Forgetful, "leave"), (Lenient, "ration"), (Common, "leave")])
def test_broken_twins_are_caught(twin, rule, monkeypatch):
    monkeypatch.setattr(module, "Account", twin)
    moves = [
        worst_move(
            Individual(steps=60, share=0.02, rule=rule, clip=0.3).calibrate(
                Budget(0.5, 1e-5, adjacency), loud_problem(40).facts, None, "proven"
            ),
            adjacency,
            scale,
        )
        for adjacency in ADJACENCIES
        for scale in (5.0, 0.05)
    ]
    assert max(moves) > 1.1


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.lists(st.floats(0, 4), min_size=3, max_size=3), min_size=1, max_size=30),
    st.floats(0.5, 20),
    st.sampled_from(RULES),
)
def test_accounts_hold_for_any_gradients(squares, limit, rule):
    table = np.array(squares)
    account = Account(3, len(table), limit, 1 + 2.0**-40, rule)
    spent = np.zeros(3)
    for t, row in enumerate(table):
        factors = account.admit(slice(0, 3), row)
        account.close_step()
        assert ((factors >= 0) & (factors <= 1)).all()
        spent += factors**2 * row
        assert (spent <= limit * (1 + 1e-12)).all()
        if rule == "ration":  # never less than uniform accounting with the same noise would allow
            assert (factors**2 * row >= np.minimum(row, limit / len(table)) * (1 - 1e-9)).all(), t
    assert (spent <= account.spent * (1 + 1e-12) + 1e-300).all()


@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared(), Softmax(3)])
def test_a_records_charge_does_not_depend_on_its_company(loss, rng):
    """To the last bit: a decision about one record must not hang on the block layout that another record shifts."""
    n, d = 700, 37
    X = rng.normal(size=(n, d))
    y = rng.integers(0, 3, n).astype(float) if loss.coupled else np.where(rng.random(n) < 0.5, 1.0, -1.0)
    weights = rng.normal(size=(d + 1, 3 if loss.coupled else 1))

    def charges(matrix, targets):
        seen = np.zeros(len(targets))

        def admit(rows, squares):
            seen[rows] = squares
            return np.ones_like(squares)

        records = Records.build(matrix, targets, 1.0, 0.5)
        Problem(records, loss, weights.shape[1]).admitted_gradient(weights, 0.7, admit)
        return seen

    alone = charges(X, y)
    order = rng.permutation(n)
    np.testing.assert_array_equal(charges(X[order], y[order]), alone[order])
    for start in (1, 3, 64):
        np.testing.assert_array_equal(charges(X[start:], y[start:]), alone[start:])
    thin = np.where(np.abs(X) > 1, X, 0.0)
    whole = charges(sparse.csr_array(thin), y)
    np.testing.assert_array_equal(charges(sparse.csr_array(thin[5:]), y[5:]), whole[5:])


def test_admitting_everyone_is_the_clipped_gradient(rng):
    problem = problem_of(rng.normal(size=(50, 4)), rng.choice([-1.0, 1.0], 50), Logistic(), intercept=0.5)
    weights = rng.normal(size=(5, 1))
    full = problem.admitted_gradient(weights, 0.3, lambda rows, squares: np.ones_like(squares))
    np.testing.assert_allclose(full, problem.clipped_gradient(weights, 0.3), rtol=1e-12)
    none = problem.admitted_gradient(weights, 0.3, lambda rows, squares: np.zeros_like(squares))
    np.testing.assert_array_equal(none, np.zeros_like(weights))


def test_a_full_share_is_plain_noisy_descent():
    facts = loud_problem(200).facts
    plain = GradientPerturbation(steps=40, clip=0.4, step=0.1).calibrate(BUDGET, facts, None, "proven")
    same = Individual(steps=40, clip=0.4, step=0.1, share=1.0).calibrate(BUDGET, facts, None, "proven")
    assert same.scale == pytest.approx(plain.scale, rel=2e-4)  # plain descent pays up to 1e-4 for rounded scores
    problem = loud_problem(200)
    one = plain.run(problem, SeededSource(1)).weights
    two = replace(same, scale=plain.scale).run(problem, SeededSource(1)).weights
    np.testing.assert_allclose(one, two, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
def test_the_price_fits_and_little_is_wasted(epsilon, adjacency):
    budget = Budget(epsilon, 1e-6, adjacency)
    plan = Individual().calibrate(budget, loud_problem(5000).facts, None, "proven")
    price = accounting.epsilon(plan.events, 1e-6, adjacency)
    assert 0.99 * epsilon < price <= epsilon
    more = Individual().calibrate(Budget(2 * epsilon, 1e-6, adjacency), loud_problem(5000).facts, None, "proven")
    assert more.scale < plan.scale


def test_without_noise_it_learns(rng):
    X = rng.normal(size=(400, 3))
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    model = LogisticRegression(math.inf, method=Individual(steps=300, share=1.0)).fit(X, y)
    assert model.score(X, y) > 0.95
    assert np.isinf(model.spent_.mu).all()


def test_the_curators_table(rng):
    X = rng.normal(size=(300, 3)) * rng.uniform(0.05, 2, size=(300, 1))
    y = (X @ [1.0, -2.0, 0.5] > 0).astype(int)
    model = LogisticRegression(1.0, delta=1e-4, method="individual", random_state=0).fit(X, y)
    own = model.spent_.epsilon(1e-4)
    assert own.shape == (300,)
    assert 0 < own.min() < own.max() <= 1.0
    right = model.predict(X) == y  # what the model gets right pulls less at it
    assert own[right].mean() < own[~right].mean()
    counts, edges = model.spent_.histogram(1e-4)
    assert counts.sum() == 300
    assert edges[0] == 0
    assert "NOT PRIVATE" in model.spent_.text(1e-4)
    # Rounded up: never below the exact value.
    for value, mu in zip(own[:5], model.spent_.mu[:5], strict=True):
        assert accounting.gaussian_delta(mu, value) <= 1e-4 * (1 + 1e-9)


def test_the_curators_table_does_not_travel(rng):
    X, y = rng.normal(size=(100, 3)), np.arange(100) % 2
    model = LogisticRegression(1.0, method="individual", random_state=0).fit(X, y)
    assert pickle.loads(pickle.dumps(model)).spent_.mu.size == 0
    assert copy.deepcopy(model).spent_.mu.size == 100  # stays in this process
    assert "0." not in repr(model.spent_)


def test_the_filled_martingale_is_exactly_gaussian():
    """The lemma of the proof: v_t chosen from the past, with squares that add up to B, gives N(0, B)."""
    rng, runs, steps, limit = np.random.default_rng(11), 20000, 12, 2.0
    total, left = np.zeros(runs), np.full(runs, limit)
    forgetful = np.zeros(runs)
    for t in range(steps):
        noise = rng.normal(size=runs)
        wish = np.where(total > 0, 0.9, 0.2) if t else np.full(runs, 0.5)  # depends on the past: the point of the lemma
        size = np.minimum(wish, left)
        forgetful += np.sqrt(wish * (left > 0)) * noise
        total += np.sqrt(size) * noise
        left -= size
    filled = total + np.sqrt(left) * rng.normal(size=runs)
    assert stats.kstest(filled / math.sqrt(limit), "norm").pvalue > FALSE_ALARM
    assert stats.kstest(forgetful / math.sqrt(limit), "norm").pvalue < FALSE_ALARM
