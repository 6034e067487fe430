"""Record and replay: on a neighbour, with every output and every shared random word frozen, a run must do the same.

Same number of releases, same shapes, same scales, and each released statistic moves by no more than its event declares.
Nothing here is statistical.
"""

import math
from dataclasses import replace

import numpy as np
import pytest
from instances import REGRESSORS, loss_of
from oracles import CENTRAL, covers, declared, largest_move, record_fit, replay_fit, replay_violations

import tacit.mechanisms.gradient as gradient_module
import tacit.mechanisms.objective as objective_module
import tacit.mechanisms.svrg as svrg_module
from tacit import LinearSVC, LogisticRegression, PrivacyError
from tacit.mechanisms import METHODS, Disjoint, GradientPerturbation, Poisson, Subset, Whitened
from tacit.types import ADJACENCIES, Facts

N, D = 30, 3
ESTIMATORS = {
    "logistic": (LogisticRegression(classes=[0, 1]), 2),
    "softmax": (LogisticRegression(classes=[0, 1, 2]), 3),
    "one-vs-rest": (LogisticRegression(classes=[0, 1, 2], multiclass="one-vs-rest"), 3),
    "svc": (LinearSVC(classes=[0, 1], fit_intercept=False), 2),
    "svc-3": (LinearSVC(classes=[0, 1, 2]), 3),
    **{kind.__name__: (kind(target_bound=2.0), 0) for kind in REGRESSORS},
}
SMALLER = {
    "dp-sgd": GradientPerturbation(Poisson(0.3), steps=20),
    "dp-sgd-subset": GradientPerturbation(Subset(8), steps=20),
    "dp-lssgd": GradientPerturbation(Poisson(0.3), steps=20, smoothing=2.0),
    "bassily-2014": GradientPerturbation(Poisson(0.1), steps=40, momentum=0.0, schedule="inverse-root"),
    "song-2013": GradientPerturbation(Disjoint(), noise="sphere", steps=5),
    "whitened-dp-sgd": Whitened(GradientPerturbation(Poisson(0.3), steps=20)),
}
"""The same classes as in METHODS, with settings that sample at n = 30 and take fewer steps."""


def data(classes, rng):
    X = rng.normal(size=(N, D))
    y = X @ np.ones(D) if not classes else np.arange(N) % classes
    return X, y


def last_rows(X, y, classes):
    """Rows that an adversary would put in the last place: (name, row, target)."""
    other = -5.0 if not classes else (int(y[-1]) + 1) % classes
    far = 1e6 if not classes else 0
    return [
        ("flipped", X[-1], other),
        ("opposite", -X[-1], y[-1]),
        ("extreme", np.full(D, 1e300), other),
        ("largest", np.array([1.7e308, -1.7e308, 1.7e308]), other),
        ("zero", np.zeros(D), far),
        ("denormal", np.full(D, 5e-324), other),
        ("duplicate", X[0], y[0]),
    ]


def neighbours(X, y, classes, adjacency):
    """Pairs (D, D') that differ in the last record."""
    for name, row, target in last_rows(X, y, classes):
        if adjacency == "replace-one":
            yield name, (X, y), (np.vstack([X[:-1], row]), np.append(y[:-1], target))
        elif name in ("flipped", "largest", "zero"):  # what a row adds by itself, the others show above
            yield name, (X, y), (np.vstack([X, row]), np.append(y, target))
    if adjacency == "add-remove":
        yield "removed", (X, y), (X[:-1], y[:-1])


def configured(kind, method, adjacency):
    estimator, classes = ESTIMATORS[kind]
    fresh = type(estimator)(**estimator.get_params())
    fresh.set_params(epsilon=0.5, delta=1e-4, method=SMALLER.get(method, method), adjacency=adjacency)
    return fresh, classes


def supported(kind, method):
    """Whether the method takes what the estimator asks of it, several models among it."""
    estimator, classes = ESTIMATORS[kind]
    loss = loss_of(type(estimator), 2 if kind == "one-vs-rest" else classes)
    facts = replace(Facts.example(loss), outputs=3 if kind in ("one-vs-rest", "svc-3") else loss.outputs)
    return not METHODS[method].mechanism.needs(facts, "proven")


CASES = [
    (kind, method, adjacency)
    for kind in ESTIMATORS
    for method in CENTRAL
    for adjacency in ADJACENCIES
    if supported(kind, method) and covers(method, adjacency)
]


@pytest.fixture(autouse=True)
def generous_scales(request, monkeypatch):
    """Numerical accountants take seconds to find the smallest scale; what is replayed here does not depend on it."""
    sampled = {"dp-sgd", "dp-lssgd", "dp-sgd-subset", "bassily-2014", "dp-svrg", "whitened-dp-sgd"}
    if "method" in request.fixturenames and request.getfixturevalue("method") in sampled:
        for module in (gradient_module, svrg_module):
            monkeypatch.setattr(module, "smallest_scale", lambda released, budget, guess=1.0: 10 * guess)


@pytest.mark.parametrize(("kind", "method", "adjacency"), CASES)
def test_replay_on_neighbours(kind, method, adjacency, rng):
    estimator, classes = configured(kind, method, adjacency)
    X, y = data(classes, rng)
    trace = record_fit(estimator, X, y)
    events = trace.guarantee.events
    assert trace.calls
    assert all(call.scale > 0 for call in trace.calls)
    moved = 0.0
    for name, _, (X2, y2) in neighbours(X, y, classes, adjacency):
        calls = replay_fit(trace, estimator, X2, y2)
        assert replay_violations(events, trace.calls, calls, adjacency) == [], name
        limit = declared(events, trace.calls[0], adjacency)
        moved = max(moved, 1.0 if limit is None else largest_move(trace.calls, calls) / limit)
    assert moved > 0.01, "vacuous: no neighbour changes anything"


@pytest.mark.parametrize("method", ["gradient", "dp-sgd", "dp-sgd-subset", "song-2013", "statistics", "output"])
def test_replay_is_tight(method, rng):
    """Some neighbour moves a release by a good part of what is declared: the check sees real changes."""
    kind = "LinearRegression" if method == "statistics" else "logistic"
    estimator, classes = configured(kind, method, "replace-one")
    X, y = data(classes, rng)
    X *= 10.0
    trace = record_fit(estimator, X, y)
    limit = declared(trace.guarantee.events, trace.calls[0], "replace-one")
    moves = [
        largest_move(trace.calls, replay_fit(trace, estimator, X2, y2)) / limit
        for _, _, (X2, y2) in neighbours(X, y, classes, "replace-one")
    ]
    assert max(moves) > (0.2 if method == "output" else 0.5)
    assert max(moves) <= 1.0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("kind", list(ESTIMATORS))
@pytest.mark.parametrize("method", ["objective", "objective-chaudhuri-2011"])
def test_objective_replay(kind, method, adjacency, rng, monkeypatch):
    """The linear term and the tolerance are the same on neighbours, and the minimisers are as near as they must be."""
    seen, true_certified = [], objective_module.certified

    def watched(problem, tau, slack):
        weights = true_certified(problem, tau, slack)
        seen.append((problem.linear, tau, problem.strength, weights))
        gap = np.linalg.norm(problem.gradient(weights))
        assert gap <= 2 * tau + 1e-12, "the solver stopped early"
        return weights

    monkeypatch.setattr(objective_module, "certified", watched)
    estimator, classes = configured(kind, method, adjacency)
    X, y = data(classes, rng)
    trace = record_fit(estimator, X, y)
    event = trace.guarantee.events[0]
    models = 1 if event.geometry == "simplex" else event.outputs
    limit = event.slope * math.sqrt(models) * (1 if adjacency == "add-remove" else 2) / event.strength
    for name, _, (X2, y2) in neighbours(X, y, classes, adjacency):
        replay_fit(trace, estimator, X2, y2)
        first, second = seen[0], seen.pop()
        np.testing.assert_array_equal(first[0], second[0], err_msg=name)
        assert first[1:3] == second[1:3]
        assert np.linalg.norm(first[3] - second[3]) <= limit * (1 + 1e-6) + 1e-12, name


SECRET = 73571.25


def refusals(X, y, classes):
    """Bad records, and the one word that the refusal must hold."""
    nan, inf = X.copy(), X.copy()
    nan[-1, 0], inf[-1, 0] = np.nan, np.inf
    nan[0, 0] = inf[0, 0] = SECRET
    yield nan, y
    yield inf, y
    if classes:
        labels = y.astype(float)
        labels[-1] = SECRET
        yield X, labels
        yield X, np.where(np.arange(len(y)) == 3, "classified", y.astype(str))
    else:
        for bad in (np.nan, np.inf):
            targets = y.copy()
            targets[-1], targets[0] = bad, SECRET
            yield X, targets


@pytest.mark.parametrize("method", ["auto", "objective", "gradient", "output"])
@pytest.mark.parametrize("kind", list(ESTIMATORS))
def test_bad_records_are_refused_and_nothing_is_spent(kind, method, rng):
    estimator, classes = configured(kind, method, "replace-one")
    X, y = data(classes, rng)
    for X2, y2 in refusals(X, y, classes):
        fresh = type(estimator)(**estimator.get_params())
        with pytest.raises(ValueError) as caught:  # noqa: PT011
            fresh.fit(X2, y2)
        sentence = str(caught.value)
        assert "73571" not in sentence
        assert "classified" not in sentence.replace("classes", "")
        assert not hasattr(fresh, "guarantee_"), "a refusal must not spend"
        assert not hasattr(fresh, "coef_")


def test_an_adjacency_that_is_not_covered_is_refused(rng):
    X, y = data(2, rng)
    for method in ("dp-sgd-subset", "output-wu-2017", "output-wu-2017-strong"):
        model = LogisticRegression(method=method, adjacency="add-remove", classes=[0, 1])
        with pytest.raises(PrivacyError, match="replace-one"):
            model.fit(X, y)
        assert not hasattr(model, "guarantee_")
