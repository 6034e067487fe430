"""Record and replay where a record is a person: all rows of one person are swapped, or a person comes or goes.

Each released sum moves by no more than its event declares, whatever the person's rows are. Nothing here is statistical.
"""

from dataclasses import replace

import numpy as np
import pytest
from oracles import CENTRAL, covers, declared, largest_move, record_fit, replay_fit, replay_violations
from test_replay import SMALLER, generous_scales, supported  # noqa: F401

import tacit.mechanisms.objective as objective_module
from tacit import LinearRegression, LogisticRegression, PrivacyError
from tacit.data.shares import Shares
from tacit.types import ADJACENCIES

PEOPLE, MOST, COLUMNS = 12, 3, 3
ESTIMATORS = {
    "logistic": (LogisticRegression(classes=[0, 1]), 2),
    "softmax": (LogisticRegression(classes=[0, 1, 2]), 3),
    "one-vs-rest": (LogisticRegression(classes=[0, 1, 2], multiclass="one-vs-rest"), 3),
    "LinearRegression": (LinearRegression(target_bound=2.0), 0),
}
OWN = {"statistics": "LinearRegression", "adaptive": "LinearRegression"}
FOR_ROWS = ("unshrunk",)
"""Methods that take single rows only."""
CASES = [
    (kind, method, adjacency)
    for method in CENTRAL
    if method not in FOR_ROWS
    for kind in ("logistic", "softmax", "one-vs-rest", "LinearRegression")
    for adjacency in ADJACENCIES
    if supported(kind, method) and covers(method, adjacency)
    if kind == OWN.get(method, "logistic") or method in ("gradient", "individual")
]


def table(classes, rng):
    """People with one row to more than count, and whose rows they are; the last of them is the one who differs."""
    sizes = np.append(rng.integers(1, MOST + 3, PEOPLE - 1), 2)
    groups = rng.permutation(np.repeat(np.arange(PEOPLE - 1), sizes[:-1]))
    groups = np.append(groups, [PEOPLE - 1, PEOPLE - 1])
    X = 3 * rng.normal(size=(len(groups), COLUMNS))
    y = X @ np.ones(COLUMNS) if not classes else rng.integers(0, classes, len(groups))
    return X, y, groups


def persons(classes):
    """Rows of a person whom an adversary would send: (name, rows, targets)."""
    far, high, low = np.full(COLUMNS, 1e300), 5.0 if not classes else 1, -5.0 if not classes else 0
    across = np.array([1e6, -1e6, 0.0])
    return [
        ("alike", [far] * MOST, [high] * MOST),
        ("alike, other target", [far] * MOST, [low] * MOST),
        ("across", [across] * MOST, [high] * MOST),
        ("opposite rows", [far, -far, far], [high, high, low]),
        ("more than count", [far] * (3 * MOST), [high] * MOST + [low] * (2 * MOST)),
        ("one row", [far], [low]),
        ("zeros", [np.zeros(COLUMNS)] * 2, [high, low]),
    ]


def with_last(data, rows, targets, *, replaced):
    """The table with the last person's rows replaced, or with one person more, whose rows are mixed with others'."""
    X, y, groups = data
    name = PEOPLE - 1 if replaced else PEOPLE
    kept = groups != name
    X, y = np.vstack([rows, X[kept]]), np.concatenate([targets, y[kept]]).astype(y.dtype)
    return X, y, np.concatenate([np.full(len(rows), name), groups[kept]])


def neighbours(data, classes, adjacency):
    for name, rows, targets in persons(classes):
        yield name, with_last(data, rows, targets, replaced=adjacency == "replace-one")
    if adjacency == "add-remove":
        X, y, groups = data
        yield "gone", (X[:-2], y[:-2], groups[:-2])


def configured(kind, method, adjacency):
    estimator, classes = ESTIMATORS[kind]
    fresh = type(estimator)(**estimator.get_params())
    return fresh.set_params(
        epsilon=0.5, delta=1e-4, method=SMALLER.get(method, method), adjacency=adjacency, rows_per_person=MOST
    ), classes


def violations(kind, method, adjacency, rng, weigh=lambda groups: None):
    """What a swapped person changes beyond what is declared, and the largest move in units of that."""
    estimator, classes = configured(kind, method, adjacency)
    X, y, groups = data = table(classes, rng)
    trace = record_fit(estimator, X, y, groups=groups, sample_weight=weigh(groups))
    events, found, moved = trace.guarantee.events, [], 0.0
    assert trace.guarantee.rows_per_person == MOST
    assert trace.guarantee.records == PEOPLE
    for name, (X2, y2, groups2) in neighbours(data, classes, adjacency):
        calls = replay_fit(trace, estimator, X2, y2, groups=groups2, sample_weight=weigh(groups2))
        found += [f"{name}: {words}" for words in replay_violations(events, trace.calls, calls, adjacency)]
        limit = declared(events, trace.calls[0], adjacency)
        moved = max(moved, 1.0 if limit is None else largest_move(trace.calls, calls) / limit)
    return found, moved


@pytest.mark.parametrize(("kind", "method", "adjacency"), CASES)
def test_a_whole_person_moves_no_more_than_declared(kind, method, adjacency, rng):
    found, moved = violations(kind, method, adjacency, rng)
    assert found == []
    assert moved > 0.01, "vacuous: no neighbour changes anything"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("kind", "method"), [("logistic", "gradient"), ("LinearRegression", "statistics")])
def test_so_does_a_person_whose_rows_have_weights(kind, method, adjacency, rng):
    """All weight at once comes or goes: the count of the moments moves too."""
    found, _ = violations(kind, method, adjacency, rng, lambda groups: np.where(groups >= PEOPLE - 1, 1.0, 0.25))
    assert found == []


@pytest.mark.parametrize(
    ("kind", "method"),
    [("logistic", "gradient"), ("logistic", "newton"), ("LinearRegression", "statistics"),
     ("LinearRegression", "adaptive")],
)  # fmt: skip
def test_the_replay_sees_shares_that_are_left_out(kind, method, rng, monkeypatch):
    """The test of the test: rows that all count in full are found."""
    monkeypatch.setattr(Shares, "check_for", lambda self, rows: None)
    monkeypatch.setattr(Shares, "of", classmethod(lambda cls, people, weights: cls(
        np.ones(len(people.rows)), people.starts, people.most)))  # fmt: skip
    if method in ("gradient", "adaptive"):  # the cut of the mean would hide it: it bounds whatever the weights are
        monkeypatch.setattr(f"tacit.mechanisms.{method}.person_share", lambda facts: 1.0)
        if method == "gradient":
            monkeypatch.setattr("tacit.mechanisms.gradient.row_clip", lambda facts, clip: clip)
    assert violations(kind, method, "add-remove", rng)[0]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("kind", ["logistic", "softmax", "one-vs-rest"])
def test_a_person_moves_the_perturbed_minimum_no_further_than_one_row(kind, adjacency, rng, monkeypatch):
    seen, true_certified = [], objective_module.certified

    def watched(problem, tau, slack):
        seen.append((problem.linear, true_certified(problem, tau, slack)))
        return seen[-1][1]

    monkeypatch.setattr(objective_module, "certified", watched)
    estimator, classes = configured(kind, "objective", adjacency)
    X, y, groups = data = table(classes, rng)
    trace = record_fit(estimator, X, y, groups=groups)
    event = trace.guarantee.events[0]
    assert event.rows == MOST
    models = 1 if event.geometry == "simplex" else event.outputs
    limit = event.slope * np.sqrt(models) * (1 if adjacency == "add-remove" else 2) / event.strength
    for name, (X2, y2, groups2) in neighbours(data, classes, adjacency):
        replay_fit(trace, estimator, X2, y2, groups=groups2)
        (linear, first), (again, second) = seen[0], seen.pop()
        np.testing.assert_array_equal(linear, again, err_msg=name)
        assert np.linalg.norm(first - second) <= limit * (1 + 1e-6) + 1e-12, name


@pytest.mark.parametrize("method", FOR_ROWS)
def test_methods_for_rows_refuse_people_and_spend_nothing(method, rng):
    X, y, groups = table(2, rng)
    model = LogisticRegression(method=method, rows_per_person=MOST)
    with pytest.raises(PrivacyError, match=r"one (row|person)"):
        model.fit(X, y, groups=groups)
    assert not hasattr(model, "guarantee_")


def test_a_guarantee_of_another_number_of_rows_is_refused(rng):
    X, y, groups = table(2, rng)
    model = LogisticRegression(method="objective", rows_per_person=MOST, random_state=0).fit(X, y, groups=groups)
    model.guarantee_.verify()
    for wrong in (None, 2):
        with pytest.raises(ValueError, match="rows per person"):
            replace(model.guarantee_, rows_per_person=wrong).verify()
