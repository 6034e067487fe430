"""The scikit-learn face: the estimator contract, every kind of input, and bad input that costs nothing."""

import math
import warnings

import joblib
import numpy as np
import pandas as pd
import polars as pl
import pytest
from instances import CLASSIFIERS, ESTIMATORS, REGRESSORS, loss_of
from oracles import CENTRAL
from scipy import sparse
from sklearn import linear_model
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics import mean_pinball_loss
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

import tacit.mechanisms.gradient
from tacit import (
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    MisuseWarning,
    PoissonRegressor,
    PrivacyError,
    QuantileRegressor,
    spent,
)
from tacit.mechanisms import METHODS, Output

pytestmark = pytest.mark.filterwarnings("ignore:No target_bound was given")
SAMPLED = ("dp-sgd", "dp-sgd-subset", "dp-lssgd", "bassily-2014", "dp-svrg")
"""Methods whose price takes seconds; contracts/ runs them."""


_WEIGHTS = {
    "check_all_zero_sample_weights_error": "whether all weights are 0 is private: such a fit must not fail",
    **dict.fromkeys(
        ("check_sample_weight_equivalence_on_dense_data", "check_sample_weight_equivalence_on_sparse_data"),
        "a row of weight 0 still counts in n, which the noise and delta are set by",
    ),
}


@parametrize_with_checks(
    [*(kind(epsilon=10.0, random_state=0) for kind in ESTIMATORS),
     *(kind(epsilon=10.0, random_state=0, target_bound=4.0) for kind in (PoissonRegressor, QuantileRegressor))],
    expected_failed_checks=lambda _: _WEIGHTS,
)  # fmt: skip
def test_scikit_learn_contract(estimator, check):
    check(estimator)


def table(rng, n=300, d=4, classes=2):
    X = rng.normal(size=(n, d))
    scores = X @ rng.normal(size=(d, classes))
    return X, scores.argmax(axis=1)


def data_for(kind, rng, **options):
    X, y = table(rng, **options)
    return X, (0.5 + 0.5 * np.tanh(X[:, 0]) if kind in REGRESSORS else y)


# --- learning and forms of input ------------------------------------------------------------------------------------
def test_they_learn_when_the_budget_is_large(rng):
    X, y = table(rng, n=3000)
    for kind in CLASSIFIERS:
        for classes in (2, 3):
            X, y = table(rng, n=3000, classes=classes)
            assert kind(epsilon=8.0, random_state=0).fit(X, y).score(X, y) > 0.75
    target = np.clip(X @ np.array([0.5, -0.3, 0.2, 0.1]) / np.maximum(1, np.linalg.norm(X, axis=1)), -1, 1)
    assert LinearRegression(epsilon=8.0, random_state=0).fit(X, target).score(X, target) > 0.7


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_dense_sparse_frames_and_lists_agree(kind, rng):
    X, y = data_for(kind, rng)
    X = np.where(np.abs(X) < 0.7, 0.0, X)
    names = [f"x{j}" for j in range(X.shape[1])]
    forms = {
        "csr": sparse.csr_array(X), "csr matrix": sparse.csr_matrix(X), "csc": sparse.csc_array(X),
        "pandas": pd.DataFrame(X, columns=names), "polars": pl.DataFrame(X, schema=names), "list": X.tolist(),
        "fortran": np.asfortranarray(X),
    }  # fmt: skip
    plain = kind(random_state=3).fit(X, y)
    for name, form in forms.items():
        targets = {"pandas": pd.Series(y), "polars": pl.Series(y)}.get(name, y)
        model = kind(random_state=3).fit(form, targets)
        np.testing.assert_allclose(model.coef_, plain.coef_, rtol=1e-6, atol=1e-9, err_msg=name)
        np.testing.assert_allclose(model.intercept_, plain.intercept_, rtol=1e-6, atol=1e-9)
        if kind in REGRESSORS:
            np.testing.assert_allclose(model.predict(form), plain.predict(X), rtol=1e-6, atol=1e-9)
        else:
            assert (model.predict(form) == plain.predict(X)).mean() > 0.99


def test_float32_is_close_to_float64(rng):
    X, y = table(rng)
    one, two = (LogisticRegression(random_state=3).fit(M, y) for M in (X, X.astype(np.float32)))
    np.testing.assert_allclose(one.coef_, two.coef_, atol=1e-3)


@pytest.mark.parametrize("classes", [2, 3, 5])
@pytest.mark.parametrize("multiclass", ["softmax", "one-vs-rest"])
def test_probabilities(classes, multiclass, rng):
    X, y = table(rng, classes=classes)
    model = LogisticRegression(epsilon=5.0, multiclass=multiclass, random_state=1).fit(X, y)
    p = model.predict_proba(X)
    assert p.shape == (len(X), classes)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, atol=1e-12)
    assert ((p >= 0) & (p <= 1)).all()
    scores = model.decision_function(X)
    assert scores.shape == ((len(X),) if classes == 2 else (len(X), classes))
    np.testing.assert_array_equal(model.classes_[p.argmax(axis=1)], model.predict(X))


def test_labels_of_any_kind(rng):
    X, y = table(rng, classes=3)
    names = np.array(["ash", "birch", "cedar"])
    model = LogisticRegression(classes=names, random_state=0).fit(X, names[y])
    np.testing.assert_array_equal(model.classes_, names)
    assert set(model.predict(X)) <= set(names)
    assert "declared" in " ".join(model.guarantee_.assumptions)
    taken = LogisticRegression(random_state=0).fit(X, names[y])
    assert "taken from y" in " ".join(taken.guarantee_.assumptions)
    np.testing.assert_array_equal(taken.coef_, model.coef_)


def test_a_declared_class_may_be_absent(rng):
    """The shape of the result comes from the declaration, not from the data."""
    X, y = table(rng)
    model = LogisticRegression(classes=[0, 1, 2], random_state=0).fit(X, y)
    assert model.coef_.shape == (3, X.shape[1])
    one = LogisticRegression(classes=[0, 1], random_state=0).fit(X, np.zeros(len(X), dtype=int))
    assert one.coef_.shape == (1, X.shape[1])


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("n", [1, 2, 3])
def test_few_records(kind, n, rng):
    X, y = rng.normal(size=(n, 3)), np.arange(n) % 2
    options = {} if kind in REGRESSORS else {"classes": [0, 1]}
    model = kind(random_state=0, **options).fit(X, y)
    assert np.isfinite(model.coef_).all()
    assert model.guarantee_.verify() <= 1.0
    assert model.guarantee_.delta == min(n**-1.5, 0.01)


@pytest.mark.parametrize("kind", ESTIMATORS)
@pytest.mark.parametrize("method", [m for m in CENTRAL if m not in SAMPLED])
def test_one_record_and_one_feature_with_every_method(kind, method):
    if loss_of(kind).name not in METHODS[method].losses:
        pytest.skip("not for this loss")
    options = {} if kind in REGRESSORS else {"classes": [0, 1]}
    model = kind(epsilon=0.3, method=method, random_state=0, **options).fit([[2.0]], [1])
    assert np.isfinite(model.coef_).all()
    assert model.guarantee_.verify() <= 0.3 * (1 + 1e-9)  # epsilon is computed to 1e-10, rounded up


def test_regression_range(rng):
    """A pair of bounds: targets outside are clipped, predictions stay inside, a shifted range shifts the model."""
    X = rng.normal(size=(500, 3))
    y = 10.0 + 5.0 * np.tanh(X[:, 0])
    model = LinearRegression(epsilon=5.0, target_bound=(5, 15), random_state=0).fit(X, y)
    assert ((model.predict(X) >= 5) & (model.predict(X) <= 15)).all()
    clipped = LinearRegression(epsilon=5.0, target_bound=(5, 15), random_state=0).fit(X, np.where(y > 14.9, 1e9, y))
    assert np.abs(clipped.predict(X) - model.predict(X)).max() < 5
    moved = LinearRegression(epsilon=5.0, target_bound=(105, 115), random_state=0).fit(X, y + 100)
    np.testing.assert_allclose(moved.predict(X), model.predict(X) + 100, atol=1e-6)


def counted(rng, n=20_000):
    X = rng.uniform(-1, 1, size=(n, 3)) / math.sqrt(3)
    return X, rng.poisson(4.0 * np.exp(2 * X[:, 0] - X[:, 1]))


def test_counts_are_learned_as_without_privacy(rng):
    """Coefficients are those of the logarithm of the mean, the score is scikit-learn's, and no mean is above B."""
    X, y = counted(rng)
    model = PoissonRegressor(epsilon=5.0, target_bound=40, random_state=0).fit(X, y)
    plain = linear_model.PoissonRegressor(alpha=0.0).fit(X, y)
    np.testing.assert_allclose([*model.coef_, model.intercept_], [*plain.coef_, plain.intercept_], atol=0.25)
    assert plain.score(X, y) - 0.01 < model.score(X, y) <= plain.score(X, y)
    plain.coef_, plain.intercept_ = model.coef_, model.intercept_
    assert model.score(X, y) == pytest.approx(plain.score(X, y))
    low = PoissonRegressor(epsilon=5.0, target_bound=2, random_state=0).fit(X, y).predict(X)
    assert ((low > 0) & (low <= 2)).all()


def test_a_typical_count_is_where_counts_start(rng):
    X, y = counted(rng, n=10)
    for typical in (0.5, 3.0):
        model = PoissonRegressor(epsilon=1e-6, delta=1e-6, target_bound=40, typical=typical, random_state=0)
        assert np.log(model.fit(X, y).predict(X) / typical) == pytest.approx(0, abs=0.5)
    for wrong in (0.0, -1.0, 41, math.inf, "many", True):
        with pytest.raises(ValueError, match="typical"):
            PoissonRegressor(target_bound=40, typical=wrong).fit(X, y)


@pytest.mark.parametrize("method", ["objective", "gradient"])
@pytest.mark.parametrize("quantile", [0.1, 0.5, 0.9])
def test_that_share_of_targets_is_below_a_quantile(quantile, method, rng):
    X = rng.uniform(-1, 1, size=(20_000, 2)) / math.sqrt(2)
    y = 100 + 20 * X[:, 0] + rng.normal(size=len(X)) * 15
    model = QuantileRegressor(epsilon=5.0, quantile=quantile, target_bound=(50, 200), method=method, random_state=0)
    assert np.mean(y <= model.fit(X, y).predict(X)) == pytest.approx(quantile, abs=0.03)


def test_a_smoothed_quantile_is_within_h_of_a_quantile(rng):
    """The bound of the docstring, on one column of zeros, so that the intercept is all there is."""
    y = rng.exponential(0.3, size=5000) - 0.5
    X, h = np.zeros((len(y), 1)), 0.2
    for q in (0.1, 0.9):
        model = QuantileRegressor(np.inf, quantile=q, target_bound=1.0, smoothing=h, regularization=1e-6)
        found = model.fit(X, y).intercept_
        assert abs(found - np.quantile(np.clip(y, -1, 1), q)) <= h
        assert (
            mean_pinball_loss(y, np.full(len(y), found), alpha=q)
            <= mean_pinball_loss(y, np.full(len(y), np.quantile(y, q)), alpha=q) + h / 4
        )
    for wrong in (0.0, 1.0, -0.5, math.nan, "half"):
        with pytest.raises(ValueError, match="quantile"):
            QuantileRegressor(quantile=wrong).fit(X, y)


def test_rows_are_clipped_the_same_way_in_prediction(rng):
    X, y = table(rng)
    model = LogisticRegression(random_state=0, fit_intercept=False).fit(X, y)
    np.testing.assert_allclose(model.decision_function(1e6 * X), model.decision_function(1e9 * X), rtol=1e-9)


# --- citizens -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_pipeline_clone_and_cross_validation(kind, rng):
    X, y = data_for(kind, rng)
    pipe = make_pipeline(FunctionTransformer(), kind(epsilon=2.0, random_state=0))
    with pytest.warns(MisuseWarning, match="3 times"):
        assert np.isfinite(cross_val_score(pipe, X, y, cv=3)).all()
    copy = clone(pipe).fit(X, y)
    assert not hasattr(clone(copy[-1]), "guarantee_"), "a guarantee belongs to a fit"
    assert copy[-1].guarantee_.epsilon == 2.0


def coefficients(estimator, X, y):
    return estimator.fit(X, y).coef_


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_parallel_fits_never_share_noise(kind, rng):
    X, y = data_for(kind, rng)
    model = kind()
    jobs = (joblib.delayed(coefficients)(estimator, X, y) for estimator in (model, model, clone(model), kind()))
    found = [*joblib.Parallel(n_jobs=2)(jobs), coefficients(model, X, y), coefficients(model, X, y)]
    for i, one in enumerate(found):
        for other in found[i + 1 :]:
            assert not np.isclose(one, other, rtol=1e-9, atol=0).any()


def test_noise_of_classes_is_distinct(rng):
    """One-vs-rest models of identical problems: only the noise differs, and it does in every coordinate."""
    X = rng.normal(size=(50, 3))
    model = LinearSVC(classes=[0, 1, 2, 3], random_state=0).fit(X, np.zeros(50, dtype=int))
    for a in range(1, 4):
        for b in range(a + 1, 4):
            assert not np.isclose(model.coef_[a], model.coef_[b], rtol=1e-9, atol=0).any()


def test_random_states(rng):
    X, y = table(rng)
    same = [LogisticRegression(random_state=5).fit(X, y).coef_ for _ in "ab"]
    np.testing.assert_array_equal(*same)
    generator = np.random.default_rng(5)
    moving = [LogisticRegression(random_state=generator).fit(X, y).coef_ for _ in "ab"]
    assert (moving[0] != moving[1]).all()
    state = np.random.RandomState(5)
    moving = [LogisticRegression(random_state=state).fit(X, y).coef_ for _ in "ab"]
    assert (moving[0] != moving[1]).all()
    assert LogisticRegression(random_state=5).fit(X, y).guarantee_.seeded
    assert not LogisticRegression().fit(X, y).guarantee_.seeded


def test_fits_are_priced_together(rng):
    X, y = table(rng)
    guarantees = [LogisticRegression(method="gradient").fit(X, y).guarantee_ for _ in range(3)]
    assert 1.0 < spent(guarantees, delta=guarantees[0].delta) < 3.0


# --- bad input gets a sentence, and nothing is spent ----------------------------------------------------------------
SECRET = "4711.25"
BAD_SETTINGS = [
    ({"epsilon": 0}, "epsilon"), ({"epsilon": -1.0}, "epsilon"), ({"epsilon": math.nan}, "epsilon"),
    ({"epsilon": "1"}, "epsilon to be a number"), ({"epsilon": None}, "epsilon to be a number"),
    ({"epsilon": True}, "epsilon to be a number"), ({"delta": "1e-5"}, "delta to be a number"),
    ({"delta": 1.0}, "delta"), ({"delta": -1e-3}, "delta"), ({"delta": 0.0}, "delta"), ({"delta": math.nan}, "delta"),
    ({"clip": 0.0}, "clip"), ({"clip": -1.0}, "clip"), ({"clip": math.inf}, "clip"), ({"clip": math.nan}, "clip"),
    ({"method": "magic"}, "Unknown method"), ({"method": 7}, "method"), ({"adjacency": "cousins"}, "adjacency"),
    ({"calibration": "wishful"}, "calibration"), ({"regularization": -1.0}, "regularization"),
    ({"regularization": math.nan}, "regularization"), ({"random_state": "seed"}, "random_state"),
    ({"method": "gradient", "calibration": "paper"}, "calibration"),
    ({"method": Output(), "regularization": 0.0}, "regularization"),
]  # fmt: skip


@pytest.mark.parametrize(("settings", "word"), BAD_SETTINGS, ids=str)
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_bad_settings(kind, settings, word, rng):
    X, y = data_for(kind, rng, n=40)
    model = kind(**settings)
    with pytest.raises(ValueError, match=word):
        model.fit(X, y)
    assert not hasattr(model, "guarantee_")
    assert not hasattr(model, "coef_")


def spoiled(X, y):
    """Bad data, and a word of the sentence that it gets."""
    nan, inf = X.copy(), X.copy()
    nan[0, 0], inf[0, 0] = np.nan, np.inf
    nan[1, 0] = inf[1, 0] = float(SECRET)
    yield nan, y, "NaN.*Schema.*missing = true"
    yield inf, y, "infinity"
    yield X[0], y, "2D|two dimensions|1D"
    yield X, y[:-1], "inconsistent|as many"
    yield X[:0], y[:0], "0 sample|minimum|empty"
    yield X[:, :0], y, "0 feature|minimum"
    yield X[None], y, "dim"
    yield X.astype(object).astype(str), np.array([f"a{SECRET}"] * len(y)), "umbers|classes"
    texts = X.astype(object)
    texts[3, 1] = f"call {SECRET}"
    yield texts, y, "Expected numbers in X"
    yield X + 1j * float(SECRET), y, "omplex"


@pytest.mark.parametrize("case", range(10))
@pytest.mark.parametrize("kind", ESTIMATORS)
def test_bad_data(kind, case, rng):
    X, y = data_for(kind, rng, n=40)
    X2, y2, word = list(spoiled(X, y))[case]
    model = kind()
    with pytest.raises((ValueError, TypeError), match=word) as caught:
        model.fit(X2, y2)
    assert SECRET not in str(caught.value)
    assert not hasattr(model, "guarantee_")
    assert not hasattr(model, "coef_")


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_bad_labels(kind, rng):
    X, y = table(rng, n=40)
    cases = [
        (np.zeros(40), {}, "two classes"),
        (np.where(np.arange(40) == 3, 4711, y), {"classes": [0, 1]}, "not among classes"),
        (np.where(np.arange(40) == 3, float(SECRET), y), {"classes": [0, 1]}, "label type"),
        (np.where(np.arange(40) == 3, f"x{SECRET}", y.astype(str)), {"classes": ["0", "1"]}, "not among classes"),
        (np.where(np.arange(40) == 3, f"x{SECRET}", y.astype(str)), {"classes": [0, 1]}, "classes"),
        (y, {"classes": ["no", "yes"]}, "classes"),
        (np.zeros(40, dtype=int), {"classes": [0]}, "two classes"),
        (rng.normal(size=40) + float(SECRET), {}, "ontinuous|label type"),
        (np.tile(y[:, None], (1, 2)), {}, "1d|shape|multi"),
    ]
    for labels, options, word in cases:
        model = kind(**options)
        with pytest.raises(ValueError, match=word) as caught:
            model.fit(X, labels)
        assert "4711" not in str(caught.value)
        assert not hasattr(model, "guarantee_")


@pytest.mark.parametrize("kind", REGRESSORS)
def test_bad_targets(kind, rng):
    X, _ = table(rng, n=40)
    y = rng.normal(size=40)
    cases = [
        (np.where(np.arange(40) == 3, np.nan, y), "NaN"), (np.where(np.arange(40) == 3, np.inf, y), "infinity"),
        (np.array([f"x{SECRET}"] * 40), "numbers as targets"), (np.tile(y[:, None], (1, 2)), "1d|shape"),
    ]  # fmt: skip
    for targets, word in cases:
        model = kind()
        with pytest.raises(ValueError, match=word) as caught:
            model.fit(X, targets)
        assert SECRET not in str(caught.value)
        assert not hasattr(model, "guarantee_")
    for bound in (0.0, -1.0, math.inf, math.nan, (1, 1), (2, 1), (0, math.inf), (1, 2, 3)):
        with pytest.raises(ValueError, match="target_bound"):
            kind(target_bound=bound).fit(X, y)


def test_needs_that_are_not_met(rng):
    X, y = table(rng, n=40)
    with pytest.raises(PrivacyError, match="squared loss"):
        LogisticRegression(method="statistics").fit(X, y)
    with pytest.raises(PrivacyError, match=r"several classes|one score"):
        LogisticRegression(method="objective", calibration="paper", classes=[0, 1, 2]).fit(X, y)
    with pytest.raises(ValueError, match="smoothing"):
        LinearSVC(smoothing=0.0).fit(X, y)
    with pytest.raises(ValueError, match="multiclass"):
        LogisticRegression(multiclass="both", classes=[0, 1, 2]).fit(X, y)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_a_crash_does_not_hide_what_was_spent(kind, rng, monkeypatch):
    """The guarantee is there before the coefficients: a crash in the run leaves the bill, not the model."""
    X, y = data_for(kind, rng, n=40)

    def crash(self, problem, source):
        raise RuntimeError("power failure")

    monkeypatch.setattr(tacit.mechanisms.gradient.GradientPlan, "run", crash)
    model = kind(method="gradient")
    with pytest.raises(RuntimeError, match="power"):
        model.fit(X, y)
    assert model.guarantee_.epsilon == 1.0
    assert not hasattr(model, "coef_")


def test_nothing_is_changed_in_place(rng):
    X, y = table(rng)
    X *= 1e200
    kept = X.copy()
    LogisticRegression(random_state=0).fit(X, y).predict(X)
    np.testing.assert_array_equal(X, kept)


def test_an_infinite_budget_says_that_it_is_not_private(rng):
    X, y = table(rng)
    model = LogisticRegression(epsilon=math.inf).fit(X, y)
    assert "NOT PRIVATE" in str(model.guarantee_)
    assert model.guarantee_.epsilon == math.inf
    assert model.score(X, y) > 0.8


def test_a_refit_forgets_what_another_method_left():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    model = LogisticRegression(1.0, delta=1e-3, method="individual", classes=[0, 1], random_state=0).fit(X, y)
    assert model.spent_ is not None
    model.set_params(method="input-local").fit(X, y)
    assert not hasattr(model, "spent_")
    assert model.record_guarantee_.status == "proven"
    model.set_params(method="objective").fit(X, y)
    assert not hasattr(model, "record_guarantee_")
    assert not hasattr(model, "perturbed_data_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_a_fit_that_is_interrupted_leaves_no_model_with_another_fits_guarantee(estimator, monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 2)), rng.integers(0, 2, 200)
    model = estimator(50.0, delta=1e-3, method="gradient", random_state=0).fit(X, y)

    def stop(*args):
        raise KeyboardInterrupt

    monkeypatch.setattr(tacit.mechanisms.gradient.GradientPlan, "run", stop)
    with pytest.raises(KeyboardInterrupt):
        model.set_params(epsilon=0.05).fit(X, y)
    assert model.guarantee_.epsilon <= 0.05  # what was spent is on record
    with pytest.raises(NotFittedError):
        model.predict(X)
    assert not hasattr(model, "coef_")


@pytest.mark.filterwarnings("always:No target_bound was given")
@pytest.mark.parametrize("kind", REGRESSORS)
def test_a_missing_target_bound_is_said(kind, rng):
    """The sentence is the same whatever the targets are: it depends on no record."""
    X, y = data_for(kind, rng)
    said = []
    for targets in (y, 1e6 * y):
        with pytest.warns(UserWarning, match=r"cut to \[-?\d, 1\]") as caught:
            model = kind(random_state=0).fit(X, targets)
        said.append(str(caught[0].message))
        assert caught[0].filename == __file__
    assert said[0] == said[1]
    assert any(text.startswith("targets clipped to [") for text in model.guarantee_.assumptions)
    same = kind(random_state=0, target_bound=1.0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        same.fit(X, 1e6 * y)
    np.testing.assert_array_equal(same.coef_, model.coef_)


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_predicting_quotes_no_cell_and_says_what_to_do_about_nan(kind, rng):
    X, y = data_for(kind, rng, n=40)
    model = kind(random_state=0).fit(X, y)
    with pytest.raises(ValueError, match=r"NaN.*Schema"):
        model.predict(np.where(np.arange(4) == 1, np.nan, X))
    with pytest.raises(ValueError, match="Schema") as caught:
        model.predict(np.full((2, 4), f"x{SECRET}", dtype=object))
    assert SECRET not in str(caught.value)


def test_the_margin_follows_the_method_that_was_chosen(rng):
    """It is objective perturbation's, on whitened rows or not, with two classes; and softmax descent's.

    A given one stays.
    """
    X = rng.normal(size=(2500, 3))
    y = (X[:, 0] > 0).astype(int)
    three = np.digitize(X[:, 0], [-0.5, 0.5])
    asked = [(name, 1.0, "auto") for name in ("objective", "gradient", "output", "whitened-gradient")]
    asked += [("auto", epsilon, whiten) for epsilon in (0.1, 5.0) for whiten in ("auto", False)]
    chosen = {
        (method, epsilon, whiten): LogisticRegression(
            epsilon, delta=1e-5, method=method, precondition=whiten, random_state=0
        ).fit(X, y)
        for method, epsilon, whiten in asked
    }
    assert {key: model.guarantee_.method for key, model in chosen.items() if key[0] == "auto"} == {
        ("auto", 0.1, "auto"): "gradient",
        ("auto", 0.1, False): "gradient",
        ("auto", 5.0, "auto"): "whitened-objective",
        ("auto", 5.0, False): "objective",
    }
    for model in chosen.values():
        assert (model.margin_ > 0) == model.guarantee_.method.endswith("objective")
    assert LogisticRegression(1.0, method="objective", random_state=0).fit(X, three).margin_ == 0
    assert LogisticRegression(1.0, method="gradient", random_state=0).fit(X, three).margin_ > 0  # coupled scores
    assert LogisticRegression(1.0, method="gradient", margin=1.5, random_state=0).fit(X, y).margin_ == 1.5
    assert LogisticRegression(np.inf, method="objective").fit(X, y).margin_ == 0
