"""D_priv: what is in it, that it does not leave by accident, and that it discloses records."""

import copy
import math
import pickle
import warnings

import numpy as np
import pytest
from oracles import problem_of
from scipy.stats import binom

from papers.evidence import kang_2020b_data
from papers.evidence.runs import lone_record
from tacit import LogisticRegression, PrivacyError, RefutedWarning
from tacit.linear.losses import Logistic
from tacit.privacy.accounting import gaussian_delta
from tacit.privacy.noise import SeededSource
from tacit.published import PiDbdpErm, PublishedInput
from tacit.types import Budget


def released(data):
    with pytest.warns(RefutedWarning, match="raw records"):
        return data.release(raw_records=True)


def run_of(mechanism, problem, epsilon=0.3):
    plan = mechanism.calibrate(Budget(epsilon, 1e-3), problem.facts, 0.1, "paper")
    return plan.run(problem, SeededSource(3)).extras


def test_all_records_are_there_perturbed_or_raw(rng):
    """Below log(m)/2 every record that is drawn has noise, and 30 draws leave most of 200 records as they were."""
    X = rng.normal(size=(200, 4))
    y = rng.choice([-1.0, 1.0], 200)
    problem = problem_of(X, y, Logistic(), intercept=0.5)
    extras = run_of(PiDbdpErm(constant=1.0, steps=30), problem)
    data = extras["perturbed_data"]
    rows, labels = released(data)
    raw = problem.records.design.dense(slice(None))[:, :4]
    same = (rows == raw).all(axis=1)
    assert extras["noiseless"] == 0.0
    assert data.untouched == pytest.approx(same.mean())
    assert 170 <= same.sum() < 200
    assert np.array_equal(labels, y)
    assert math.isinf(data.feature_epsilon(1e-3))


def test_it_leaves_on_an_explicit_word_only_and_no_file_holds_it(rng):
    X = rng.normal(size=(60, 3))
    model = LogisticRegression(1.0, delta=1e-3, method=PiDbdpErm(constant=1.0, steps=20), calibration="paper")
    with pytest.warns(RefutedWarning):
        model.fit(X, X[:, 0] > 0)
    data = model.perturbed_data_
    with pytest.raises(PrivacyError, match=r"raw records.*input-local"):
        data.release()
    assert repr(data) == "PerturbedData(NOT PRIVATE)"
    assert len(released(data)[0]) == 60
    for passed_on in (copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        with pytest.raises(PrivacyError, match="in no file"):
            passed_on.perturbed_data_.release(raw_records=True)
        assert math.isnan(passed_on.perturbed_data_.untouched)


def test_features_of_algorithm_1_have_a_price_where_labels_are_public(rng):
    problem = problem_of(rng.normal(size=(50, 3)), rng.choice([-1.0, 1.0], 50), Logistic())
    own, shared = (
        PublishedInput("dbdp-erm", constant=1.0, batch=0.5, steps=4, shared=shared) for shared in (False, True)
    )
    scale = 0.5 * problem.facts.gradient * math.sqrt(4 * math.log(1e3)) / 0.3
    price = run_of(own, problem)["perturbed_data"].feature_epsilon(1e-4, radius=2.0)
    assert gaussian_delta(4.0 / scale, price) == pytest.approx(1e-4, rel=1e-3)
    assert math.isinf(run_of(shared, problem)["perturbed_data"].feature_epsilon(1e-4))


def test_a_record_that_is_never_drawn_is_returned_as_it_is():
    """In (1 - 1/n)^T of the runs at least, never on the neighbour: a false-alarm rate of 1e-6."""
    n, steps, trials = 20, 20, 60
    plan = kang_2020b_data.plan_of(n, 1e6, steps=steps)
    hits = []
    for side in (1.0, -1.0):
        problem = lone_record(n, side)
        hits.append(sum(kang_2020b_data.last_row_is_raw(plan.run(problem, SeededSource(k))) for k in range(trials)))
    assert hits[0] >= binom.ppf(1e-6, trials, kang_2020b_data.missed(n, steps)) >= 4
    assert hits[1] == 0


def test_what_may_be_passed_on_has_a_proof(rng):
    """The proven form of the same offer: every row has noise, and model and record have their guarantees."""
    X = rng.normal(size=(80, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RefutedWarning)
        model = LogisticRegression(1.0, delta=1e-3, method="input-local", random_state=0).fit(X, X[:, 0] > 0)
    rows, _ = model.perturbed_data_
    assert not (rows[:, None, :] == X[None]).all(axis=2).any()
    assert model.guarantee_.verify() <= 1.0
    assert model.record_guarantee_.status == "proven"
