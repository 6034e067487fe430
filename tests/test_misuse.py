"""Misuse that shows, and notes for the curator: said once where it should be, and never where it should not."""

import re
import warnings

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.feature_selection import RFE, SelectKBest, SequentialFeatureSelector
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    cross_val_predict,
    cross_val_score,
    cross_validate,
    learning_curve,
    validation_curve,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    PolynomialFeatures,
    StandardScaler,
)

from tacit import (
    CuratorNote,
    Ledger,
    LinearRegression,
    LogisticRegression,
    MisuseWarning,
    PrivateScaler,
    PrivateSearch,
    Schema,
    save,
)
from tacit.audit.blackbox import Estimator
from tacit.audit.outcomes import WARNINGS
from tacit.audit.pairs import Data
from tacit.cli.main import main
from tacit.schema import SchemaEncoder

GRID = {"clip": [1.0, 2.0, 3.0]}


def model(**settings):
    return LogisticRegression(epsilon=1.0, delta=1e-5, classes=[0, 1], method="output", **settings)


def table(rows=120):
    rng = np.random.default_rng(5)
    X = rng.normal(size=(rows, 3)) / 3
    return X, (X[:, 0] > 0).astype(int)


def heard(run, *kinds):
    """What is said of these kinds, each time that it is said."""
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        run()
    return [str(entry.message) for entry in given if entry.category in kinds]


REPEATED = {
    "GridSearchCV": lambda X, y: GridSearchCV(model(), GRID, cv=2).fit(X, y),
    "RandomizedSearchCV": lambda X, y: RandomizedSearchCV(model(), GRID, n_iter=2, cv=2).fit(X, y),
    "HalvingGridSearchCV": lambda X, y: HalvingGridSearchCV(model(), GRID, cv=2).fit(X, y),
    "cross_val_score": lambda X, y: cross_val_score(model(), X, y, cv=KFold(3)),
    "cross_validate": lambda X, y: cross_validate(model(), X, y, cv=iter(list(KFold(3).split(X)))),
    "cross_val_predict": lambda X, y: cross_val_predict(model(), X, y, cv=2),
    "learning_curve": lambda X, y: learning_curve(model(), X, y, cv=2, train_sizes=[0.5, 1.0]),
    "validation_curve": lambda X, y: validation_curve(model(), X, y, param_name="clip", param_range=[1.0, 2.0], cv=2),
    "CalibratedClassifierCV": lambda X, y: CalibratedClassifierCV(model(), cv=2).fit(X, y),
    "RFE": lambda X, y: RFE(model(), n_features_to_select=1).fit(X, y),
    "SequentialFeatureSelector": lambda X, y: SequentialFeatureSelector(
        model(), n_features_to_select=1, cv=2
    ).fit(X, y),
    "BaggingClassifier": lambda X, y: BaggingClassifier(model(), n_estimators=3).fit(X, y),
    "StackingClassifier": lambda X, y: StackingClassifier([("a", model())], cv=2).fit(X, y),
    "VotingClassifier": lambda X, y: VotingClassifier([("a", model()), ("b", model())]).fit(X, y),
    "OneVsRestClassifier": lambda X, y: OneVsRestClassifier(model()).fit(X, y + (X[:, 1] > 0)),
}  # fmt: skip
FITS = {
    "GridSearchCV": 7, "RandomizedSearchCV": 5, "cross_val_score": 3, "cross_validate": 3, "cross_val_predict": 2,
    "validation_curve": 4, "CalibratedClassifierCV": 2, "BaggingClassifier": 3,
}  # fmt: skip


@pytest.mark.parametrize("name", REPEATED)
def test_repeated_fits_are_told_once_with_their_number(name, monkeypatch):
    fits = []
    monkeypatch.setattr(LogisticRegression, "_train", counted(LogisticRegression._train, fits))
    said = heard(lambda: REPEATED[name](*table()), MisuseWarning)
    assert len(said) == 1
    assert said[0].startswith(name)
    assert all(word in said[0] for word in ("tacit.PrivateSearch", "tacit.evaluate", "tacit.Ledger", "epsilon=1.0"))
    assert len(fits) >= 1
    if name in FITS:
        assert len(fits) == FITS[name]
        assert f"up to {FITS[name]} times" in said[0]
    else:
        assert "several times" in said[0]


def counted(run, fits):
    def again(self, *rest):
        fits.append(self)
        return run(self, *rest)

    return again


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_do_not_repeat_it_and_the_caller_hears_it(backend, capfd):
    X, y = table()
    with joblib.parallel_config(backend):
        said = heard(lambda: GridSearchCV(model(), GRID, cv=3, n_jobs=2).fit(X, y), MisuseWarning)
        said += heard(lambda: cross_val_score(model(), X, y, cv=3, n_jobs=2), MisuseWarning)
    assert [words.split(" fits ")[0] for words in said] == ["GridSearchCV", "cross_val_score()"]
    assert "MisuseWarning" not in capfd.readouterr().err


def test_a_number_that_would_be_too_small_is_not_said():
    X, y = table()
    nested = GridSearchCV(BaggingClassifier(model(), n_estimators=2), {"max_samples": [0.5, 1.0]}, cv=2)
    (said,) = heard(lambda: nested.fit(X, y), MisuseWarning)
    assert said.startswith("GridSearchCV fits LogisticRegression several times")
    (said,) = heard(lambda: cross_val_score(make_pipeline(Normalizer(), model()), X, y, cv=3), MisuseWarning)
    assert "up to 3 times" in said


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_ledger_pays_for_fits_and_not_for_the_scores_between_them(jobs, tmp_path, capfd):
    ledger = Ledger(tmp_path / "study.sqlite", epsilon=100, delta=1e-3)
    X, y = table()
    with ledger:
        (said,) = heard(lambda: GridSearchCV(model(), GRID, cv=2, n_jobs=jobs).fit(X, y), MisuseWarning)
    assert said.startswith("GridSearchCV fits LogisticRegression 7 times. The ledger is charged for each fit, but")
    (said,) = heard(lambda: cross_val_score(model(ledger=ledger), X, y, cv=2, n_jobs=jobs), MisuseWarning)
    assert said.startswith("cross_val_score() fits LogisticRegression 2 times. The ledger is charged")
    assert len(ledger.entries) == 9
    assert "MisuseWarning" not in capfd.readouterr().err


def test_plain_fits_and_copies_are_silent():
    X, y = table()
    assert heard(lambda: clone(model()).fit(X, y), MisuseWarning) == []
    assert heard(lambda: FixedThresholdClassifier(model()).fit(X, y), MisuseWarning) == []
    twice = model().fit(X, y)
    assert heard(lambda: twice.fit(X, y), MisuseWarning) == []


def called_by(module, run):
    """The function, called by a module of this name."""
    exec("def call(): return run()", names := {"__name__": module, "run": run})
    return names["call"]


@pytest.mark.parametrize(("room", "expected"), [("tacit.search.trials", 0), ("tacit.audit.runner", 0), ("others", 1)])
def test_rooms_that_answer_for_their_fits_are_silent(room, expected):
    fit = called_by(room, lambda: model().fit(*table()))
    assert len(heard(called_by("sklearn.model_selection._validation", fit), MisuseWarning)) == expected


class Shift(TransformerMixin, BaseEstimator):
    """Somebody's own, which learns."""

    def fit(self, X, y=None):
        self._mean = X.mean(axis=0)
        return self

    def transform(self, X):
        return X - self._mean


class Halved(TransformerMixin, BaseEstimator):
    """Somebody's own, which does not."""

    def __init__(self, by=2.0):
        self.by = by

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        return X / self.by


LEARNED = {
    "standardscaler (StandardScaler)": StandardScaler(),
    "pca (PCA)": PCA(2),
    "simpleimputer (SimpleImputer)": SimpleImputer(),
    "selectkbest (SelectKBest)": SelectKBest(k=2),
    "onehotencoder (OneHotEncoder)": OneHotEncoder(handle_unknown="ignore"),
    "shift (Shift)": Shift(),
    "columntransformer/a (MinMaxScaler)": ColumnTransformer([("a", MinMaxScaler(), [0]), ("b", Normalizer(), [1, 2])]),
    "featureunion/s (StandardScaler)": FeatureUnion([("s", StandardScaler()), ("p", "passthrough")]),
    "pipeline/standardscaler (StandardScaler)": make_pipeline(StandardScaler(), Normalizer()),
}
LEARNED_NOTHING = [
    FunctionTransformer(), Normalizer(), PolynomialFeatures(2), Halved(), "passthrough",
    SimpleImputer(strategy="constant", keep_empty_features=True),
    OneHotEncoder(categories=[[0.0]] * 3, handle_unknown="ignore"),
    ColumnTransformer([("a", Normalizer(), [0]), ("b", "drop", [1])], remainder="passthrough"),
]  # fmt: skip


@pytest.mark.parametrize("name", LEARNED)
def test_steps_that_learn_are_named(name):
    pipe = make_pipeline(Normalizer(), clone(LEARNED[name]), model())
    (said,) = heard(lambda: pipe.fit(*table()), MisuseWarning)
    assert f"does not cover the step {name} before it" in said
    assert "tacit.PrivateScaler" in said
    assert "tacit.Schema" in said


@pytest.mark.parametrize("step", LEARNED_NOTHING, ids=lambda step: type(step).__name__)
def test_steps_that_learn_nothing_are_silent(step):
    pipe = make_pipeline(step if isinstance(step, str) else clone(step), model())
    assert heard(lambda: pipe.fit(*table()), MisuseWarning) == []


def private_scaler():
    return PrivateScaler(1.0, bounds=(-2.0, 2.0))


COMPOSED = {
    "columns": lambda: ColumnTransformer([("a", private_scaler(), [0, 1])], remainder=private_scaler()),
    "a union": lambda: FeatureUnion([("a", private_scaler()), ("b", make_pipeline(Normalizer(), private_scaler()))]),
    "pipelines": lambda: make_pipeline(make_pipeline(Normalizer(), private_scaler()), private_scaler()),
    "a frozen one": lambda: FrozenEstimator(private_scaler().fit(table()[0])),
}


@pytest.mark.parametrize("memory", [False, True])
@pytest.mark.parametrize("kind", COMPOSED)
def test_a_private_scaler_within_other_steps_is_silent(kind, memory, tmp_path):
    pipe = make_pipeline(Normalizer(), COMPOSED[kind](), model(), memory=str(tmp_path) if memory else None)
    for _ in range(2):  # the second time its parts were fitted before
        assert heard(lambda: pipe.fit(*table()), MisuseWarning) == []


def test_steps_before_the_one_that_is_fitted_are_named_and_later_ones_are_not():
    pipe = make_pipeline(StandardScaler(), ColumnTransformer([("a", private_scaler(), [0])]), PCA(1), model())
    (said,) = heard(lambda: pipe.fit(*table()), MisuseWarning)
    assert said.startswith("The guarantee of PrivateScaler does not cover the step standardscaler (StandardScaler)")


@pytest.mark.parametrize("inner", [model, lambda: PrivateSearch(model(), {"clip": [0.9]}, 1.0, trials=1.5)])
def test_steps_of_an_outer_pipeline_are_named(inner):
    pipe = make_pipeline(StandardScaler(), make_pipeline(Normalizer(), inner()))
    (said,) = heard(lambda: pipe.fit(*table()), MisuseWarning)
    assert "does not cover the step standardscaler (StandardScaler) before it" in said


@pytest.mark.parametrize(
    "step",
    [lambda: FrozenEstimator(StandardScaler().fit(table()[0])),
     lambda: FunctionTransformer(StandardScaler().fit(table()[0]).transform)],
)  # fmt: skip
def test_of_a_step_that_was_fitted_earlier_nothing_is_claimed(step):
    """It may have learned from public records."""
    pipe = make_pipeline(step(), model())
    (said,) = heard(lambda: pipe.fit(*table()), MisuseWarning)
    assert "(StandardScaler) before LogisticRegression was fitted earlier" in said
    assert "If it learned from the same people" in said


def test_a_schema_before_a_fit_is_silent():
    X, y = table()
    bounds = {name: {"lower": -2.0, "upper": 2.0} for name in "abc"}
    encoder = SchemaEncoder(Schema.from_dict({"columns": bounds}))
    assert (
        heard(lambda: make_pipeline(encoder, model()).fit(dict(zip("abc", X.T, strict=True)), y), MisuseWarning) == []
    )


def test_a_search_over_a_pipeline_tells_both_once():
    search = GridSearchCV(make_pipeline(StandardScaler(), model()), {"logisticregression__clip": [1.0, 2.0]}, cv=2)
    said = heard(lambda: search.fit(*table()), MisuseWarning)
    assert sorted(words.split(" ")[0] for words in said) == ["GridSearchCV", "The"]


def test_networks_are_watched(recwarn):
    nn = pytest.importorskip("tacit.nn", reason="needs the extra 'torch': pip install '.[torch]'")
    X, y = table(40)
    network = nn.MLPClassifier(epsilon=1.0, delta=1e-5, classes=[0, 1], bounds=(-2.0, 2.0), hidden=2, epochs=1)
    (said,) = heard(lambda: cross_val_score(network, X, y, cv=2), MisuseWarning)
    assert "cross_val_score() fits MLPClassifier 2 times" in said


# --- notes for the curator -------------------------------------------------------------------------------------------
LEAD = "For the curator, not for release: "


def test_one_class_and_a_handful_of_rows_are_noted_and_kept_nowhere(tmp_path):
    X, _ = table(12)
    y = np.zeros(12, dtype=int)
    plain = model(random_state=0, fit_intercept=True).set_params(epsilon=np.inf)
    handful, alike = heard(lambda: plain.fit(X, y), CuratorNote)
    assert handful.startswith(f"{LEAD}the table has 12 records")
    assert alike.startswith(f"{LEAD}the model predicts the same class")
    assert (plain.predict(X) == 0).all()
    save(plain, tmp_path / "model.json")
    held = (tmp_path / "model.json").read_text() + repr(vars(plain)) + str(plain.guarantee_)
    assert "curator" not in held
    assert "the same class" not in held


def test_two_classes_in_enough_rows_are_not_noted():
    X, y = table(400)
    three = (X[:, 0] > 0) + 1 * (X[:, 1] > 0)
    exact = {"epsilon": np.inf, "method": "output"}
    assert heard(lambda: LogisticRegression(**exact, classes=[0, 1]).fit(X, y), CuratorNote) == []
    assert heard(lambda: LogisticRegression(**exact, classes=[0, 1, 2]).fit(X, three), CuratorNote) == []
    assert heard(lambda: LinearRegression(target_bound=1.0, **exact).fit(X, X[:, 0]), CuratorNote) == []


def test_networks_that_predict_one_class_are_noted():
    nn = pytest.importorskip("tacit.nn", reason="needs the extra 'torch': pip install '.[torch]'")
    X, _ = table(40)
    network = nn.MLPClassifier(
        epsilon=1e4, delta=1e-2, classes=[0, 1], bounds=(-2.0, 2.0), hidden=2, epochs=20, batch=20, random_state=0
    )
    said = heard(lambda: network.fit(X, np.ones(40, dtype=int)), CuratorNote)
    assert len(set(network.predict(X))) == 1
    assert [words for words in said if "the same class" in words]


def test_categories_that_match_nothing_are_noted():
    entries = {"columns": {"work": {"values": ["public", "private"]}, "age": {"lower": 0, "upper": 99}}}
    schema = Schema.from_dict(entries)
    wrong = {"work": ["Public ltd."] * 30, "age": np.arange(30)}
    (said,) = heard(lambda: schema.encode(wrong), CuratorNote)
    assert said.startswith(f"{LEAD}no row has a declared value in column 'work'")
    assert "ltd" not in said
    one_known = {"work": ["Public ltd."] * 29 + ["public"], "age": np.arange(30)}
    assert heard(lambda: schema.encode(one_known), CuratorNote) == []
    assert heard(lambda: schema.encode({"work": ["?"] * 3, "age": [1, 2, 3]}), CuratorNote) == []


class Telling:
    """Gives warnings of one category that depend on the records."""

    def __init__(self, category):
        self.category = category

    def fit(self, X, y):
        warnings.warn(f"{LEAD}{X[0, 0]}", self.category, stacklevel=2)
        self.coef_ = np.zeros(1)
        return self


class Inherited(CuratorNote):
    """Not the category itself."""


def test_audits_leave_out_exactly_this_category():
    X, y = table(20)

    def seen(category, first):
        data = Data(np.vstack([[first, 0.0, 0.0], X]), np.append(y, 0.0))
        return Estimator(Telling(category), "telling").outcome(data, np.random.SeedSequence(1))[WARNINGS].value

    assert seen(CuratorNote, 1.0) == seen(CuratorNote, 2.0)
    for category in (UserWarning, MisuseWarning, Inherited):
        assert seen(category, 1.0) != seen(category, 2.0)


def test_the_command_prints_notes_and_a_filter_turns_them_off(tmp_path, capsys):
    rows = "\n".join(f"{i / 10},{'yes' if i % 2 else 'no'}" for i in range(6))
    (tmp_path / "few.csv").write_text(f"a,b\n{rows}\n")
    more = "--target b --classes no,yes --epsilon 1 --overwrite --out"
    words = ["fit", str(tmp_path / "few.csv"), *more.split()]
    with warnings.catch_warnings():
        warnings.simplefilter("always", CuratorNote)
        assert main([*words, str(tmp_path / "model.json")]) == 0
    shown = capsys.readouterr()
    assert re.search(f"WARNING: {LEAD}the table has 6 records", shown.err)
    assert LEAD not in shown.out
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CuratorNote)
        assert main([*words, str(tmp_path / "model.json")]) == 0
    assert LEAD not in capsys.readouterr().err


def test_warnings_point_at_the_line_of_the_user():
    X, y = table(10)
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        cross_val_score(model(), X, y, cv=2)
    assert {entry.category for entry in given} == {MisuseWarning, CuratorNote}
    assert {entry.filename for entry in given} == {__file__}
