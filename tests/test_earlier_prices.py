"""What was paid for before a model is a part of its price, wherever the model goes and whatever is fitted later."""

import copy
import dataclasses
import gc
import importlib.util
import json
import pickle
import re
import warnings
from functools import partial

import numpy as np
import pandas
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import FunctionTransformer

import tacit
from tacit import (
    AdditiveClassifier,
    AdditiveRegressor,
    LogisticRegression,
    PrivacyError,
    PrivateScaler,
    PrivateSearch,
    Schema,
)
from tacit.cli.main import main
from tacit.data import origins
from tacit.data.origins import releases_behind
from tacit.estimators.earlier import Earlier, remembered
from tacit.files import stated
from tacit.schema import SchemaEncoder
from tacit.statistics import private_bounds

RNG = np.random.default_rng(5)
X = RNG.normal(size=(400, 2))
Y = (X[:, 0] > 0).astype(int)
BEHIND = "not the one that the model was trained behind"


def scaler(epsilon=2.0):
    return PrivateScaler(epsilon, bounds=(-4, 4), delta=1e-5)


def logistic(epsilon=0.5, **settings):
    return LogisticRegression(epsilon, classes=[0, 1], delta=1e-5, **settings)


@pytest.fixture
def pipeline():
    return make_pipeline(scaler(), logistic()).fit(X, Y)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.json"


def price(path):
    (whole,) = stated(path)
    assert whole.verify() == whole.epsilon
    return whole.epsilon


@pytest.fixture
def whole(pipeline, tmp_path):
    """What the pipeline costs as it was fitted."""
    tacit.save(pipeline, tmp_path / "whole.json")
    found = price(tmp_path / "whole.json")
    assert found > 2.0
    return found


def test_a_model_alone_costs_what_it_was_trained_behind(pipeline, whole, path):
    for model in (pipeline[-1], pickle.loads(pickle.dumps(pipeline[-1])), copy.deepcopy(pipeline)[-1]):
        tacit.save(model, path)
        assert price(path) == whole
    tacit.save(tacit.load(path).model, path)  # read and written again
    assert price(path) == whole
    tacit.save(clone(pipeline[-1]).fit(X, Y), path)  # a new fit, without the scaler
    assert stated(path)[0].epsilon == 0.5
    tacit.save(pipeline[-1].fit(X, Y), path)
    assert stated(path)[0].epsilon == 0.5


def test_a_step_that_is_taken_out_stays_in_the_price(pipeline, whole, path):
    pipeline.set_params(privatescaler="passthrough")
    tacit.save(pipeline, path)
    assert price(path) == whole


def test_the_model_of_a_pipelines_file_states_the_whole_by_itself(whole, path, tmp_path, capsys):
    inner = json.loads((tmp_path / "whole.json").read_text())["model"]
    path.write_text(json.dumps(inner))
    assert price(path) == whole
    assert main(["verify", str(path)]) == 0
    assert "depends on 2 releases" in capsys.readouterr().out


@pytest.mark.parametrize("epsilon", [0.01, 2.0])
def test_a_scaler_that_was_fitted_again_is_refused(pipeline, epsilon, path):
    """Also with the same settings, whose guarantee is the same: it is another release."""
    path.write_text("old")
    pipeline[0].set_params(epsilon=epsilon).fit(X)
    with pytest.raises(PrivacyError, match=BEHIND):
        tacit.save(pipeline, path)
    assert path.read_text() == "old"


def test_a_scaler_in_two_pipelines_serves_one(path):
    shared = scaler()
    first = make_pipeline(shared, logistic()).fit(X, Y)
    shared.set_params(epsilon=0.1)
    second = make_pipeline(shared, logistic()).fit(X, Y)
    with pytest.raises(PrivacyError, match=BEHIND):
        tacit.save(first, path)
    tacit.save(second, path)
    tacit.save(first[-1], path)
    assert price(path) > 2.0


def test_parts_that_were_fitted_apart_are_refused(pipeline, path):
    other = scaler().fit(X)
    apart = logistic().fit(other.transform(X).copy(), Y)
    for parts in ((other, apart), (other, pipeline[-1]), (pipeline[0], apart)):
        with pytest.raises(PrivacyError, match=BEHIND):
            tacit.save(make_pipeline(*parts), path)
    assert not path.exists()


class Wrapper(TransformerMixin, BaseEstimator):
    """Somebody's step around one of ours; a setting that is fitted elsewhere is not what it uses."""

    def __init__(self, inner=None):
        self.inner = inner

    def fit(self, rows, y=None):
        self.inner_ = clone(self.inner).fit(rows)
        return self

    def transform(self, rows):
        return self.inner_.transform(rows)


def shifted(rows, by):
    return by.transform(rows)


FITTED = scaler().fit(X)
HIDDEN = {
    "a method": lambda: FunctionTransformer(FITTED.transform),
    "a global name": lambda: FunctionTransformer(lambda rows: FITTED.transform(rows) / 2),
    "an argument": lambda: FunctionTransformer(partial(shifted, by=FITTED)),
    "a named argument": lambda: FunctionTransformer(shifted, kw_args={"by": FITTED}),
    "a wrapper": lambda: Wrapper(FITTED),
    "a frozen step": lambda: FrozenEstimator(FITTED),
    "a frozen pipeline": lambda: FrozenEstimator(make_pipeline(FITTED)),
    "columns": lambda: ColumnTransformer([("all", scaler(), [0, 1])]),
    "both": lambda: FeatureUnion([("one", FrozenEstimator(FITTED)), ("two", FunctionTransformer(FITTED.transform))]),
}


@pytest.mark.parametrize("kind", HIDDEN)
def test_a_scaler_that_another_step_holds_is_seen_and_paid_for_once(kind, whole, path):
    held = make_pipeline(HIDDEN[kind](), logistic())
    for _ in range(2):  # also when it is fitted again
        with warnings.catch_warnings():
            warnings.simplefilter("error", tacit.MisuseWarning)  # nothing here learned without noise
            held.fit(X, Y)
        tacit.save(held[-1], path)
        assert price(path) == whole


def test_rows_that_a_scaler_gave_outside_of_a_pipeline_are_seen(whole, path):
    own = scaler().fit(X)
    rows = own.transform(X)
    model = logistic().fit(rows, Y)
    tacit.save(make_pipeline(own, model), path)
    assert price(path) == whole
    part = logistic().fit(rows[:300].T.T, Y[:300])  # a view of them
    tacit.save(part, path)
    assert price(path) == whole
    twice = scaler().fit(rows)
    tacit.save(logistic().fit(twice.transform(rows), Y), path)
    assert [one.method for one in stated(path)[0].guarantees] == ["scaler", "scaler", model.guarantee_.method]
    own.fit(X)  # the model depends on what it released before
    with pytest.raises(PrivacyError, match=BEHIND):
        tacit.save(make_pipeline(own, model), path)
    tacit.save(model.fit(X, Y), path)
    assert stated(path)[0].epsilon == 0.5


def found_bounds():
    """Every release gives the same numbers at the same price."""
    found = private_bounds(np.arange(-3000, 3000) / 1000, epsilon=1.0, delta=1e-6)
    return dataclasses.replace(found, lower=-4.0, upper=4.0)


def labels_of(model):
    return [one.label for one in remembered(model)]


def additive(kind, epsilon=0.5, **settings):
    columns = {"x0": {"lower": -4, "upper": 4}, "x1": {"lower": -4, "upper": 4}}
    return kind(epsilon, schema=Schema.from_dict({"columns": columns}), slots=3, delta=1e-5, **settings)


def the_models():
    return (
        logistic(),
        additive(AdditiveClassifier, classes=[0, 1]),
        additive(AdditiveClassifier, classes=[0, 1], pairs=1),
        additive(AdditiveRegressor, target_bound=1),
    )


@pytest.mark.parametrize("place", range(4))
def test_every_model_sees_rows_that_a_scaler_gave(place, path):
    own = scaler().fit(X)
    rows = own.transform(X)
    frame = clone(own).set_output(transform="pandas").fit(X).transform(X)
    tables = [rows, rows[::2], frame, frame.iloc[:300]]
    tables.append(clone(own).set_output(transform="polars").fit_transform(X))
    if place:
        tables += [{"x0": rows[:, 0], "x1": rows[:, 1]}, {"x0": X[:, 0], "x1": rows[:, 1]}]
    for table in tables:
        count = len(table["x0"]) if isinstance(table, dict) else len(table)
        model = the_models()[place].fit(table, Y[:count])
        assert labels_of(model) == ["the scaler"]
        model.save(path)
        assert price(path) > 2.0
        model.fit(np.array(rows), Y)  # a copy, which nobody can know
        assert labels_of(model) == []


def test_a_scan_of_such_a_table_and_targets_that_were_scaled_are_seen():
    frame = scaler().set_output(transform="pandas").fit_transform(X)
    frame["y"] = Y
    for model in the_models():
        assert labels_of(model.fit(tacit.scan(frame), "y")) == ["the scaler"]
    targets = scaler().fit_transform(X[:, :1]).ravel()
    for model in (tacit.LinearRegression(0.5, target_bound=4), additive(AdditiveRegressor, target_bound=4)):
        assert labels_of(model.fit(X, targets)) == ["the scaler"]


def test_what_an_encoder_with_a_found_schema_gives_is_seen(found):
    for container in ("default", "pandas", "polars"):
        rows = SchemaEncoder(found).set_output(transform=container).fit_transform(TABLE)
        model = LogisticRegression(0.5, classes=["no", "yes"], delta=1e-5).fit(rows, TABLE.ill)
        assert len(labels_of(model)) == 1


def test_bounds_are_told_apart_by_their_release_alone():
    """Neither by their address, which others get once they are freed, nor by which copy of them it is."""
    one, other = found_bounds(), found_bounds()
    assert len({one.release, other.release}) == 2
    copies = (copy.copy(one), copy.deepcopy(one), pickle.loads(pickle.dumps(one)), dataclasses.replace(one, upper=3.0))
    assert {same.release for same in copies} == {one.release}
    twice = make_pipeline(PrivateScaler(2.0, bounds=one), PrivateScaler(2.0, bounds=copy.deepcopy(one)), logistic())
    assert labels_of(clone(twice).fit(X, Y)[-1]).count("the bounds of the scaler") == 1
    rows = X
    for _ in range(3):  # bounds that nobody holds any more
        rows = PrivateScaler(2.0, bounds=found_bounds()).fit(rows).transform(rows)
        gc.collect()
    assert labels_of(logistic().fit(rows, Y)) == ["the bounds of the scaler", "the scaler"] * 3


def test_bounds_that_were_paid_for_are_paid_for_with_the_scaler(path):
    one, other = found_bounds(), found_bounds()
    array = np.array([one, other], dtype=object)
    for bounds, paid in ((one, 1), ([one, one], 1), (array, 2), ([one, other], 2), ([one, (-4, 4)], 1), ((-4, 4), 0)):
        scaled = PrivateScaler(2.0, bounds=bounds, delta=1e-5)
        pipeline = make_pipeline(scaled, logistic()).fit(X, Y)
        for saved in (pipeline, pipeline[-1], logistic().fit(scaled.transform(X), Y)):
            tacit.save(saved, path)
            methods = [one.method for one in stated(path)[0].guarantees]
            assert methods == ["bounds"] * paid + ["scaler", methods[-1]]
            tacit.save(tacit.load(path).model, path)
            assert [one.method for one in stated(path)[0].guarantees] == methods


@pytest.mark.parametrize("kind", ["linear", "network"])
def test_a_scaler_that_was_loaded_comes_with_what_was_paid_for_before_it(kind, path):
    model = logistic()
    if kind == "network":
        pytest.importorskip("torch")
        model = tacit.MLPClassifier(0.5, classes=[0, 1], bounds=(-4, 4), epochs=1, delta=1e-5)
    first, second = (PrivateScaler(2.0, bounds=found_bounds(), delta=1e-5) for _ in range(2))
    tacit.save(make_pipeline(first, second, model).fit(X, Y), path)
    loaded = tacit.load(path).model
    for place, whole in ((0, [first]), (1, [first, second])):
        prices = [*remembered(whole[-1]), Earlier("", whole[-1].guarantee_, whole[-1].digest)]
        for saved in (loaded, copy.deepcopy(loaded)):
            held = saved[place]
            for paid in (
                remembered(logistic().fit(held.transform(X), Y)),
                remembered(make_pipeline(FrozenEstimator(held), logistic()).fit(X, Y)[-1]),
            ):
                assert [one[1:] for one in paid] == [one[1:] for one in prices]
                assert len(paid) == 2 * place + 2


def test_what_has_no_price_together_is_refused_before_it_is_charged(found, tmp_path):
    """One protects rows and the other people."""
    ledger = tacit.Ledger(tmp_path / "book.ledger", epsilon=100, delta=1e-3)
    groups, people = np.arange(400) // 2, {"rows_per_person": 2, "delta": 1e-5, "ledger": ledger}
    rows, bounds = scaler().fit(X).transform(X), found_bounds()
    ours = PrivateScaler(2.0, bounds=(-4, 4), delta=1e-5, rows_per_person=2).fit(X, groups=groups).transform(X)
    schema = additive(AdditiveClassifier).schema
    plain = LogisticRegression(1.0, classes=[0, 1], rows_per_person=2, delta=1e-5)
    pipeline = make_pipeline(scaler(), LogisticRegression(1.0, classes=[0, 1], **people))
    names, found_names = np.arange(3000) // 2, {"rows_per_person": 2, "delta": 1e-5, "ledger": ledger}
    refused = {
        "linear": lambda: LogisticRegression(1.0, classes=[0, 1], **people).fit(rows, Y, groups=groups),
        "the other way": lambda: logistic(ledger=ledger).fit(ours, Y),
        "pipeline": lambda: pipeline.fit(X, Y, logisticregression__groups=groups),
        "additive": lambda: AdditiveClassifier(1.0, schema=schema, classes=[0, 1], **people).fit(rows, Y, groups),
        "found schema": lambda: AdditiveClassifier(1.0, schema=found, **found_names).fit(TABLE, groups=names),
        "search": lambda: PrivateSearch(plain, {"clip": [0.9]}, 1.0, delta=1e-5, ledger=ledger).fit(rows, Y, groups),
        "scaler": lambda: PrivateScaler(2.0, bounds=(-4, 4), **people).fit(rows, groups=groups),
        "bounds": lambda: PrivateScaler(2.0, bounds=bounds, **people).fit(X, groups=groups),
    }
    if importlib.util.find_spec("torch"):
        network = tacit.MLPClassifier(1.0, classes=[0, 1], bounds=(-4, 4), epochs=1, **people)
        refused["network"] = lambda: network.fit(rows, Y, groups=groups)
    for kind, fit in refused.items():
        with pytest.raises(PrivacyError, match="there is no price for both together"):
            fit()
        assert not ledger.entries, kind


def test_what_a_scaler_was_fitted_behind_comes_with_it(path):
    first = make_pipeline(scaler(), scaler()).fit(X)
    model = make_pipeline(FrozenEstimator(first[-1]), logistic()).fit(X, Y)[-1]
    tacit.save(model, path)
    assert [one.method for one in stated(path)[0].guarantees[:-1]] == ["scaler", "scaler"]


def test_notes_about_rows_live_as_long_as_the_rows():
    before = len(origins._NOTED)
    rows = scaler().fit(X).transform(X)
    assert len(origins._NOTED) == before + 1
    assert releases_behind(rows.copy()) == ()
    del rows
    assert len(origins._NOTED) == before


def test_pipelines_and_searches_around_a_model_are_seen(path):
    nested = make_pipeline(scaler(), make_pipeline("passthrough", logistic())).fit(X, Y)
    tacit.save(nested[-1][-1], path)
    assert price(path) > 2.0
    search = PrivateSearch(logistic(), {"clip": [0.9]}, 0.5, delta=1e-5, trials=1.5)
    tacit.save(make_pipeline(scaler(), search).fit(X, Y)[-1], path)
    assert stated(path)[0].guarantees[0].method == "scaler"


def test_files_of_earlier_versions_have_the_price_of_their_steps(whole, path, tmp_path):
    from tacit.files.sealing import sealed

    data = json.loads((tmp_path / "whole.json").read_text())
    inner = {key: value for key, value in data["model"].items() if key not in ("earlier", "checksum")}
    content = {key: value for key, value in data.items() if key != "checksum"}
    path.write_text(json.dumps(sealed({**content, "model": sealed({**inner, "version": 5})})))
    assert price(path) == whole
    tacit.save(tacit.load(path).model, path)
    assert price(path) == whole


@pytest.mark.parametrize(
    "entry",
    [None, {}, [1], [{}], [{"label": "a\nb", "guarantee": {}, "digest": ""}], [{"label": "a", "digest": "0" * 64}]],
)
def test_earlier_releases_that_are_none_are_refused(whole, entry, path, tmp_path):
    from tacit.files.sealing import sealed

    inner = json.loads((tmp_path / "whole.json").read_text())["model"]
    path.write_text(json.dumps(sealed({k: v for k, v in {**inner, "earlier": entry}.items() if k != "checksum"})))
    with pytest.raises(PrivacyError, match="malformed"):
        tacit.load(path)


@pytest.mark.parametrize("change", [{"epsilon": 3.0}, {"clip": -1}, {"method": "objective"}, {"fit_intercept": "no"}])
def test_what_could_not_be_read_back_replaces_nothing(change, path):
    model = logistic(method="output").fit(X, Y)
    tacit.save(model, path)
    before = path.read_bytes()
    model.set_params(**change)
    with pytest.raises(ValueError, match=r"Nothing was written.*set them back"):
        tacit.save(model, path)
    assert path.read_bytes() == before


TABLE = pandas.DataFrame({"age": RNG.integers(18, 90, 3000), "work": RNG.choice(["a", "b"], 3000)})
TABLE["ill"] = np.where(TABLE.age > 50, "yes", "no")


@pytest.fixture(scope="module")
def found():
    return tacit.private_schema(TABLE, epsilon=2.0, target="ill", delta=1e-5)


@pytest.mark.parametrize("kind", ["toml", "json"])
def test_a_found_schema_carries_its_price_in_its_file(found, kind, tmp_path, path):
    place = tmp_path / f"found.{kind}"
    found.save(place)
    place.write_text(re.sub(r'(upper"?.*?)[0-9.]+', r"\g<1>123.0", place.read_text(), count=1))
    loaded = Schema.load(place)
    assert loaded.columns[0].upper == 123.0  # an edited bound changes no price
    assert loaded.found == found.found
    assert loaded.with_target("work").found == Schema.from_dict(loaded.to_dict()).found == found.found
    AdditiveClassifier(0.5, schema=str(place), slots=3, delta=1e-5).fit(TABLE).save(path)
    assert price(path) == 2.5
    model = LogisticRegression(0.5, classes=["no", "yes"], delta=1e-5)
    encoded = make_pipeline(SchemaEncoder(str(place)), model).fit(TABLE, TABLE.ill)
    for saved, given in ((encoded, None), (encoded[-1], None), (encoded[-1], loaded)):
        tacit.save(saved, path, given)
        assert price(path) == 2.5
    scanned = LogisticRegression(0.5, classes=["no", "yes"], delta=1e-5).fit(tacit.scan(TABLE, loaded))
    for given in (None, loaded):
        tacit.save(scanned, path, given)
        assert price(path) == 2.5
    by_hand = LogisticRegression(0.5, classes=["no", "yes"], delta=1e-5).fit(loaded.encode(TABLE), TABLE.ill)
    for given in (None, loaded):
        tacit.save(by_hand, path, given)
        assert price(path) == 2.5
    called = make_pipeline(
        FunctionTransformer(loaded.encode), LogisticRegression(0.5, classes=["no", "yes"], delta=1e-5)
    )
    tacit.save(called.fit(TABLE, TABLE.ill)[-1], path)
    assert price(path) == 2.5
    tacit.save(by_hand, path, loaded)
    tacit.save(tacit.load(path).model, path)  # without its schema, whose release is in the weights
    assert price(path) == 2.5
    other = tacit.private_schema(TABLE, epsilon=2.0, target="ill", delta=1e-5)
    tacit.save(encoded[-1], path, other)  # found by another run: both are paid for
    assert price(path) == 4.5


def test_a_schema_whose_price_was_changed_is_refused(found, tmp_path):
    entries = found.to_dict()
    changed = {**entries["found"]["guarantee"], "epsilon": 0.1}
    cheaper = Schema.from_dict({**entries, "found": {**entries["found"], "guarantee": changed}})
    model = make_pipeline(SchemaEncoder(cheaper), logistic())
    with pytest.raises(PrivacyError, match="changed after it was written"):
        model.fit(TABLE, TABLE.age > 50)
    for wrong in ({}, {"guarantee": {}}, {"guarantee": "{", "left_out": []}, {"guarantee": {}, "left_out": [1]}, 3):
        with pytest.raises(ValueError, match="entry found"):
            Schema.from_dict({**entries, "found": wrong})


def test_the_page_of_a_model_states_the_price_of_everything_first(found, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    found.save("found.toml")
    TABLE.to_csv("table.csv", index=False)
    line = "fit table.csv --schema found.toml --epsilon 0.5 --delta 1e-5 --out m.json --report page.html"
    assert main(line.split()) == 0
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    total = page.index("the price of all of them together is epsilon = 2.5 at delta = 2e-05")
    assert total < page.index("This limits what anyone can learn")
