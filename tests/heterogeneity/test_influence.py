"""Influence functions against retraining without the record, and the error bound of Theorem 4."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from oracles import problem_of
from scipy import sparse
from scipy.optimize import brentq
from scipy.special import expit

from tacit import datasets
from tacit.influence import Influence, error_bound, influence_of
from tacit.linear.losses import Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton


def regression_data(rng, n=300, d=4):
    X = rng.normal(size=(n, d))
    return X, np.where(X @ np.linspace(-1, 1, d) + 0.7 * rng.normal(size=n) > 0, 1.0, -1.0)


def retrained(problem, record):
    """The exact minimiser without one record, the regulariser kept whole."""
    keep = np.delete(np.arange(problem.records.count), record)
    rest = Problem(problem.records.take(keep), problem.loss, problem.outputs, problem.strength)
    return Newton(1e-10).solve(rest).weights


@pytest.mark.parametrize(
    ("loss", "outputs"),
    [(Logistic(), 1), (Squared(math.inf), 1), (Softmax(3), 3)],
    ids=["logistic", "square", "softmax"],
)
def test_influence_predicts_retraining(loss, outputs, rng):
    X, y = regression_data(rng)
    targets = (np.arange(300) % 3).astype(float) if loss.coupled else y
    records = Records.build(X, targets, 10.0, 0.5)
    problem = Problem(records, loss, outputs, strength=5.0)
    weights = Newton(1e-10).solve(problem).weights
    influence = Influence.at(problem, weights)
    true, predicted = [], []
    for record in range(0, 300, 15):
        true.append((retrained(problem, record) - weights).ravel())
        predicted.append(influence.vector(record).ravel())
    assert np.corrcoef(np.ravel(true), np.ravel(predicted))[0, 1] > 0.999


def test_all_measures_agree_with_the_vectors(rng):
    X, y = regression_data(rng)
    influence = influence_of(X, y, regularization=0.01)
    X2, y2 = regression_data(rng, 50)
    test = problem_of(X2, y2, Logistic(), intercept=0.5)
    measured = influence.measure(test)
    vectors = np.vstack([block for _, block in influence.vectors()])
    np.testing.assert_allclose(measured.norms, np.linalg.norm(vectors, axis=1), rtol=1e-10)
    np.testing.assert_allclose(vectors[17], influence.vector(17).ravel(), rtol=1e-10)
    step = 1e-4
    moved = test.value(influence.weights + step * influence.vector(17)) - test.value(influence.weights)
    assert measured.test[17] == pytest.approx(float(moved[0]) / step / 50, rel=1e-3)
    assert (measured.own >= 0).all()
    # Self-influence is the first-order rise of the record's own loss.
    one = Problem(influence.problem.records.take(np.array([17])), Logistic())
    rise = one.value(influence.weights + step * influence.vector(17)) - one.value(influence.weights)
    assert measured.own[17] == pytest.approx(float(rise[0]) / step, rel=1e-3)


def test_sparse_rows_give_the_same(rng):
    X, y = regression_data(rng)
    X = np.where(np.abs(X) > 0.8, X, 0.0)
    dense, thin = influence_of(X, y), influence_of(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.measure().norms, thin.measure().norms, rtol=1e-8)


def test_theorem_4_holds_with_a_regulariser(rng):
    X, y = regression_data(rng, 200)
    influence = influence_of(X, y, regularization=0.05)
    bound = influence.error_bound()
    worst = 0.0
    for record in range(0, 200, 5):
        move = retrained(influence.problem, record) - influence.weights
        worst = max(worst, float(np.linalg.norm(move - influence.vector(record))))
    assert 0 < worst <= bound / 2  # half of it suffices: docs/theorems/heterogeneity.md
    assert bound == pytest.approx(
        error_bound(200, math.hypot(1, 0.5), 1.25 / 4, 1.25**1.5 / (6 * math.sqrt(3)), 0.05), rel=1e-12
    )


def test_theorem_4_is_false_with_curvature_at_the_minimum_alone():
    """One record of the other class holds the minimiser; without it there is none, at a finite bound."""
    X, y = np.ones((5, 1)), np.array([1.0, 1.0, 1.0, 1.0, -1.0])
    problem = problem_of(X, y, Logistic())
    weights = Newton(1e-12).solve(problem).weights  # sigma(w) = 4/5
    assert weights[0, 0] == pytest.approx(math.log(4), rel=1e-6)
    influence = Influence.at(problem, weights)
    bound = influence.error_bound(zeta=0.16)  # sigma (1 - sigma), the curvature at the minimiser
    rest = Problem(problem.records.take(np.arange(4)), Logistic())
    far = weights + 10 * (bound + abs(float(influence.vector(4)[0, 0])))
    assert rest.value(far)[0] < rest.value(weights + influence.vector(4))[0]
    assert rest.gradient(far)[0, 0] < 0  # still falling there: the minimiser without the record is at infinity


def with_and_without(margins, last):
    """Minimisers of the mean of log(1 + exp(-t)) + t^2/2 over the records y x = ``margins``, with ``last`` and not."""
    rows = [np.append(margins, last), np.array(margins)]
    return [float(brentq(lambda t, x=x: np.mean(-x * expit(-x * t)) + t, -1, 1, xtol=1e-15)) for x in rows]


@pytest.mark.parametrize(("margins", "last"), [([1.0, 1.0], -1.0), ([1.0, 0.3, -0.2], -1.0), ([-0.5], 1.0)])
@pytest.mark.parametrize("edge", [None, 0.0, 1e-4])
def test_theorem_4_needs_minimisers_inside(margins, last, edge):
    """The regulariser is a part of each loss, lambda = zeta = 1: half suffices inside, and nothing near the edge."""
    margins = np.tile(margins, 300)
    n = len(margins) + 1
    best, far = with_and_without(margins, last)
    gradient = -last * expit(-last * best) + best
    rows = np.append(margins, last)
    hessian = np.mean(rows**2 * expit(rows * best) * expit(-rows * best)) + 1
    assert abs(far) > abs(best)
    moved = far if edge is None else best + np.clip(far - best, -edge, edge)  # the ball ends ``edge`` behind the best
    error = abs(moved - best - gradient / hessian / n)
    half = error_bound(n, 2.0, 1.25, 1 / (6 * math.sqrt(3)), 1.0) / 2  # G = 1 + 1 on the ball of radius 1 = 1/lambda
    assert 0 < error <= half if edge is None else error > 2 * half


def test_refusals(rng):
    X, y = regression_data(rng, 20)
    flat = problem_of(np.hstack([X, np.zeros((20, 1))]), y, Logistic())
    with pytest.raises(ValueError, match="positive definite"):
        Influence.at(flat, np.zeros((5, 1)))
    two = Problem(flat.records, Logistic(), 2, 1.0)
    with pytest.raises(ValueError, match="one model"):
        Influence.at(two, np.zeros((5, 2)))
    bounded = Problem(flat.records, Squared(), 1, 1.0)
    with pytest.raises(ValueError, match="Lipschitz Hessian"):
        Influence.at(bounded, np.zeros((5, 1))).error_bound()


def leave_one_out(influence, record, steps=6):
    """Retraining without the record by Newton steps with the full Hessian; the gradient certifies the answer."""
    problem = influence.problem
    one = Problem(problem.records.take(np.array([record])), problem.loss)
    weights, size = influence.weights, problem.facts.gradient
    for _ in range(steps):
        gradient = problem.gradient(weights) - one.gradient(weights)
        if np.linalg.norm(gradient) < 1e-8 * size:
            break
        weights = weights - influence.inverse @ gradient
    assert np.linalg.norm(problem.gradient(weights) - one.gradient(weights)) < 1e-7 * size
    return weights


def test_adult():
    """Correlation above 0.99 over retrained models (the benchmark does 200)."""
    try:
        data = datasets.load("adult", complete=True)
    except FileNotFoundError:
        pytest.skip("the Adult files are not here")
    X, labels = data.arrays()
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    influence = influence_of(X, y, regularization=1e-4)
    picked = np.random.default_rng(5).choice(len(y), 12, replace=False)
    true = np.array([(leave_one_out(influence, i) - influence.weights).ravel() for i in picked])
    predicted = np.array([influence.vector(i).ravel() for i in picked])
    assert np.corrcoef(true.ravel(), predicted.ravel())[0, 1] > 0.99


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
def test_networks_agree_with_linear_models(rng):
    torch = pytest.importorskip("torch")
    from tacit.influence.network import NetworkInfluence

    X, y = regression_data(rng, 120)
    X = np.rint(2**16 * X) / 2**16  # on the grid of rows of norm 100, so that both see the same
    influence = influence_of(X, y, regularization=0.05, clip=100.0, intercept=0.0)
    model = torch.nn.Linear(4, 1, bias=False).double()
    with torch.no_grad():
        model.weight.copy_(torch.tensor(influence.weights.T))
    net = NetworkInfluence(
        model,
        lambda z, t: torch.nn.functional.softplus(-t * z[:, 0]),
        torch.tensor(X),
        torch.tensor(y),
        regularization=0.05,
        damping=0.0,
        tolerance=1e-10,
    )
    np.testing.assert_allclose(net.vector(7)["weight"].numpy().ravel(), influence.vector(7).ravel(), rtol=1e-6)
    test = problem_of(X[:30], y[:30], Logistic(), clip=100.0)
    rises = net.on(torch.tensor(X[:30]), torch.tensor(y[:30])).numpy()
    np.testing.assert_allclose(rises, influence.measure(test).test, rtol=1e-6, atol=1e-12)


def test_the_docs_page_runs():
    page = Path(__file__).parents[2] / "docs" / "influence.md"
    blocks = re.findall(r"^```python\n(.*?)^```$", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page.name, "exec"), names)
    assert len(blocks) == 2


@pytest.mark.parametrize(
    "labels", [[0, 1], [1.0, 2.0], ["no", "yes"], [False, True]], ids=["0-1", "1-2", "text", "truth"]
)
def test_any_two_labels_give_the_same_influence(labels, rng):
    X, y = regression_data(rng)
    named = np.asarray(labels)[(y > 0).astype(int)]
    expected, given = influence_of(X, y), influence_of(X, named)
    np.testing.assert_array_equal(given.weights, expected.weights)
    np.testing.assert_array_equal(given.measure().norms, expected.measure().norms)
    assert (given.measure().norms > 0).all()  # label 0 as a target had none
    np.testing.assert_array_equal(influence_of(X, named.tolist()).weights, expected.weights)


@pytest.mark.parametrize("labels", [[31, 32, 33], [31.5, math.nan], ["q31", None], [31, 31]])
def test_other_labels_are_refused_and_not_quoted(labels, rng):
    X, _ = regression_data(rng, 30)
    y = np.array(labels, dtype=object if None in labels else None)[np.arange(30) % len(labels)]
    with pytest.raises(ValueError, match=r"exactly two labels|missing labels") as caught:
        influence_of(X, y)
    assert "31" not in str(caught.value)


def test_the_squared_loss_takes_numbers_only(rng):
    X, _ = regression_data(rng, 30)
    y = rng.normal(size=30)
    assert influence_of(X, y, loss=Squared(math.inf)).problem.records.targets[:, 0] == pytest.approx(y)
    for bad in (np.array(["q31"] * 30), np.full(30, math.nan)):
        with pytest.raises(ValueError, match="finite numbers") as caught:
            influence_of(X, bad, loss=Squared(math.inf))
        assert "q31" not in str(caught.value)
    with pytest.raises(ValueError, match="softmax"):
        influence_of(X, np.arange(30) % 3, loss=Softmax(3))
