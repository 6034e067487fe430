"""A scaler that is paid for: right, bounded, and at home in scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tacit
from tacit import PrivateScaler

RNG = np.random.default_rng(0)
X = RNG.normal([100.0, 0.0, 1980.0], [2.0, 5.0, 20.0], (8000, 3))
LIMITS = [(80, 120), (-30, 30), (1900, 2030)]


@pytest.mark.parametrize("bounds", [None, LIMITS], ids=["found", "declared"])
@pytest.mark.parametrize("scale", ["deviation", "quartiles"])
def test_columns_come_out_centred_and_scaled(scale, bounds):
    scaler = PrivateScaler(1.0, bounds=bounds, scale=scale, random_state=1).fit(X)
    rows = scaler.transform(X)
    assert np.abs(rows.mean(axis=0)).max() < 0.2
    assert np.abs(rows.std(axis=0) - 1).max() < 0.3
    assert scaler.guarantee_.verify() <= 1.0
    assert (len(scaler.guarantee_.events), scaler.guarantee_.method) == (1 if bounds else 2, "scaler")


def test_what_comes_out_is_bounded_whatever_goes_in():
    scaler = PrivateScaler(1.0, limit=2.5, random_state=1).fit(X)
    assert np.abs(scaler.transform([[1e300, -1e300, 0.0]])).max() <= 2.5
    constant = PrivateScaler(1.0, random_state=1).fit(np.zeros((500, 1)))
    assert np.isfinite(constant.transform([[0.0]])).all()


def test_a_row_comes_out_the_same_in_any_company():
    scaler = PrivateScaler(1.0, random_state=1).fit(X)
    assert (scaler.transform(X)[:7] == np.vstack([scaler.transform(X[i : i + 1]) for i in range(7)])).all()


def test_it_is_at_home_in_a_pipeline():
    labels = (X[:, 0] + X[:, 1] / 5 > 100).astype(int)
    steps = make_pipeline(PrivateScaler(0.5, limit=2.0), tacit.LogisticRegression(1.0, classes=[0, 1], clip=2.0))
    model = clone(steps).set_params(privatescaler__random_state=0, logisticregression__random_state=0)
    assert model.fit(X, labels).score(X, labels) > 0.85
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=["a", "b", "c"])
    assert PrivateScaler(1.0).fit(frame).get_feature_names_out().tolist() == ["a", "b", "c"]
    assert PrivateScaler(1.0).fit(X).get_feature_names_out().tolist() == ["x0", "x1", "x2"]


def test_people_are_protected_whole():
    people = np.arange(8000) // 4
    scaler = PrivateScaler(1.0, bounds=LIMITS, rows_per_person=4, random_state=0).fit(X, groups=people)
    assert (scaler.guarantee_.unit, scaler.guarantee_.records) == ("person", 2000)
    assert np.abs(scaler.center_ - X.mean(axis=0)).max() < 2


def test_the_guarantee_stands_before_the_result(monkeypatch):
    def crash(*_):
        raise RuntimeError

    monkeypatch.setattr("tacit.statistics.release.SumsPlan.run", crash)
    scaler = PrivateScaler(1.0)
    with pytest.raises(RuntimeError):
        scaler.fit(X)
    assert scaler.guarantee_.epsilon == 1.0
    with pytest.raises(NotFittedError):
        scaler.transform(X)


@pytest.mark.parametrize(
    ("settings", "rows", "sentence"),
    [
        ({"limit": 0}, X, "limit=0 > 0"),
        ({"scale": "range"}, X, "scale='range'"),
        ({"bounds": [(0, 1)]}, X, "bounds of 3 columns"),
        ({"bounds": (1, 0)}, X, "lower=1, upper=0"),
        ({"epsilon": -1}, X, "epsilon=-1.0 > 0"),
        ({}, [[np.nan, 1.0]], "NaN or infinite"),
    ],
)
def test_bad_settings_are_one_sentence_and_cost_nothing(settings, rows, sentence):
    scaler = PrivateScaler(**settings)
    with pytest.raises(ValueError, match=sentence):
        scaler.fit(rows)
    assert not hasattr(scaler, "guarantee_")


def test_a_column_without_a_magnitude_is_warned_of():
    with pytest.warns(UserWarning, match=r"in the columns \[0, 1, 2\], which are clipped to -1 and 1"):
        scaler = PrivateScaler(0.001, random_state=0).fit(X[:50])
    assert scaler.bounds_ == [(-1.0, 1.0)] * 3


def test_a_copy_that_travels_charges_the_open_ledger(tmp_path):
    scaler = PrivateScaler(0.5)
    with tacit.Ledger(tmp_path / "study.sqlite", epsilon=1.0, delta=1e-5) as ledger:
        sent = pickle.loads(pickle.dumps(scaler))
    sent.fit(X)
    assert [entry.guarantee.method for entry in ledger.entries] == ["scaler"]
    with pytest.raises(tacit.PrivacyError):
        sent.set_params(epsilon=50.0).fit(X)


def test_fits_again_and_again_are_warned_of():
    steps = make_pipeline(PrivateScaler(0.5), LogisticRegression())
    with pytest.warns(tacit.MisuseWarning, match="fits PrivateScaler"):
        cross_val_score(steps, X, (X[:, 0] > 100).astype(int), cv=2)
    with pytest.warns(tacit.MisuseWarning, match="does not cover the step standardscaler"):
        make_pipeline(StandardScaler(), PrivateScaler(0.5)).fit(X)


def test_bounds_that_were_paid_for_are_taken():
    found = [tacit.statistics.private_bounds(X[:, place], epsilon=1.0) for place in (0, 1)]
    two = PrivateScaler(1.0, bounds=found).fit(X[:, :2])
    assert two.bounds_ == [tuple(one) for one in found]
    assert PrivateScaler(1.0, bounds=found[1]).fit(X[:, :2]).bounds_ == [tuple(found[1])] * 2
