"""One way to save: pipelines, searches and schemas that were paid for; one price for all that a file releases."""

import copy
import json
import math
import pickle
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression as PlainLogistic
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, StandardScaler

import tacit
from tacit import (
    AdditiveClassifier,
    LinearRegression,
    LogisticRegression,
    PrivacyError,
    PrivateScaler,
    PrivateSearch,
    Schema,
    spent,
)
from tacit.cli.main import main
from tacit.estimators.earlier import Earlier, remember
from tacit.features import Scattering
from tacit.files import stated
from tacit.files.pipelines import FORMAT
from tacit.privacy.guarantee import checksum
from tacit.privacy.together import Together
from tacit.schema import SchemaEncoder
from tacit.statistics import FoundSchema

pytestmark = pytest.mark.filterwarnings("ignore:No magnitude stands out from the noise")
RNG = np.random.default_rng(0)
X = RNG.normal([100.0, 0.0, 1980.0], [2.0, 5.0, 20.0], (600, 3))
Y = (X[:, 0] + X[:, 1] / 5 > 100).astype(int)
FRAME = pandas.DataFrame({"age": RNG.integers(18, 90, 600), "job": RNG.choice(["clerk", "miner"], 600)})
SCHEMA = Schema.from_dict(
    {
        "columns": {"age": {"lower": 18, "upper": 90}, "job": {"values": ["clerk", "miner"]}},
        "target": {"name": "ill", "classes": [0, 1]},
    }
)
ILL = (FRAME.age > 50).astype(int).to_numpy()
IMAGES = RNG.integers(0, 256, (40, 8, 8)).astype(np.uint8)


def logistic():
    return LogisticRegression(1.0, classes=[0, 1])


def scaled():
    return make_pipeline(PrivateScaler(0.5, limit=2.0), logistic()).fit(X, Y)


def encoded():
    return Pipeline([("table", SchemaEncoder(SCHEMA, 2.0)), ("nothing", "passthrough"), ("model", logistic())])


PIPELINES = {
    "scaler": lambda: (scaled(), X),
    "declared scaler": lambda: (
        make_pipeline(
            PrivateScaler(0.5, bounds=(-50, 2100), scale="quartiles", random_state=7),
            LinearRegression(2, target_bound=1),
        ).fit(pandas.DataFrame(X, columns=["a", "b", "c"]), X[:, 0] / 200),
        pandas.DataFrame(X, columns=["a", "b", "c"]),
    ),
    "encoder": lambda: (encoded().fit(FRAME, ILL), FRAME),
    "encoder and scaler": lambda: (
        make_pipeline(SchemaEncoder(SCHEMA), PrivateScaler(0.5, bounds=(-1, 1)), logistic()).fit(FRAME, ILL),
        FRAME,
    ),
    "images": lambda: (
        make_pipeline(Scattering(J=1, L=2, shape=(8, 8), groups=None), logistic()).fit(IMAGES, np.arange(40) % 2),
        IMAGES,
    ),
    "additive": lambda: (
        make_pipeline(AdditiveClassifier(1.0, schema=SCHEMA, slots=3)).fit(FRAME, ILL),
        FRAME,
    ),
}


@pytest.mark.parametrize("kind", PIPELINES)
def test_a_pipeline_comes_back_to_the_bit(kind, tmp_path):
    pipeline, rows = PIPELINES[kind]()
    tacit.save(pipeline, tmp_path / "any name.txt")
    again, schema = tacit.load(tmp_path / "any name.txt")
    assert [name for name, _ in again.steps] == [name for name, _ in pipeline.steps]
    assert np.array_equal(again.predict(rows), pipeline.predict(rows))
    if hasattr(pipeline, "predict_proba"):
        assert np.array_equal(again.predict_proba(rows), pipeline.predict_proba(rows))
    for (_, old), (_, new) in zip(pipeline.steps, again.steps, strict=True):
        assert type(old) is type(new)
        assert getattr(old, "guarantee_", None) == getattr(new, "guarantee_", None)
        fitted = {name for name in getattr(old, "__dict__", {}) if name.endswith("_") or name.startswith("_n")}
        assert fitted <= set(getattr(new, "__dict__", {})), kind
    front = pipeline.steps[0][1]
    assert schema == getattr(front, "schema_", getattr(front, "schema", None))
    assert np.array_equal(pickle.loads(pickle.dumps(again)).predict(rows), pipeline.predict(rows))


OLD = {
    "logistic-4.json": [6.768408490898518e-05, 0.9999998362695711],
    "additive-4.json": [0.13240584237518457, 0.5851414988428372],
    "network-2.safetensors": [0.3413938513888884, 0.5115612102367019],
}
"""Files that Tacit 0.2.0 wrote, and what their models said of the first class for two rows."""


@pytest.mark.parametrize("name", OLD)
def test_files_of_earlier_versions_are_read_as_they_were_written(name, capsys):
    if name.startswith("network"):
        pytest.importorskip("torch", reason="a network needs the extra 'torch'")
    path = Path(__file__).parent / "saved" / name
    rows = {"a": [0.5, -1.0], "b": ["x", "z"]} if name.startswith("additive") else np.array([[0.5, -0.25], [-1, 2]])
    assert tacit.load(path).model.predict_proba(rows)[:, 0] == pytest.approx(OLD[name], rel=1e-6)
    assert main(["verify", str(path)]) == 0


def test_every_estimator_saves_itself(tmp_path):
    for name, model in {
        "logistic": LogisticRegression(1.0).fit(X, Y),
        "linear": LinearRegression(1.0, target_bound=1).fit(X, Y),
        "additive": AdditiveClassifier(1.0, schema=SCHEMA, slots=3).fit(FRAME, ILL),
        "search": PrivateSearch(LogisticRegression(), {"clip": [0.5, 2.0]}, 1.0, trials=1.5).fit(X, Y),
    }.items():
        model.save(tmp_path / name)
        rows = FRAME if name == "additive" else X
        again = tacit.load(tmp_path / name).model
        assert np.array_equal(again.predict(rows), model.predict(rows))
        assert again.guarantee_ == model.guarantee_
    (promise,) = stated(tmp_path / "search")
    assert promise.method == "search"  # of all trials, not of the one that was chosen
    rows = SCHEMA.encode(FRAME)
    LogisticRegression(1.0).fit(rows, ILL).save(tmp_path / "with schema", SCHEMA)
    assert tacit.load(tmp_path / "with schema").schema == SCHEMA


def test_a_search_over_a_pipeline(tmp_path):
    search = PrivateSearch(encoded(), {"model__clip": [0.5, 2.0]}, 1.0, trials=1.5).fit(FRAME, ILL)
    search.save(tmp_path / "search.json")
    again = tacit.load(tmp_path / "search.json").model
    assert np.array_equal(again.predict_proba(FRAME), search.predict_proba(FRAME))
    assert stated(tmp_path / "search.json") == (search.guarantee_,)


def test_the_price_is_that_of_scaler_and_model_together(tmp_path, capsys):
    pipeline = scaled()
    tacit.save(pipeline, tmp_path / "model.json")
    (whole,) = stated(tmp_path / "model.json")
    scaler, model = (step.guarantee_ for _, step in pipeline.steps)
    assert whole.guarantees == (scaler, model)
    assert whole.delta == scaler.delta + model.delta
    assert max(scaler.epsilon, model.epsilon) < whole.epsilon <= scaler.epsilon + model.epsilon
    assert whole.epsilon == whole.verify() <= spent([scaler, model], delta=whole.delta)
    assert whole.epsilon >= spent([scaler, model], delta=2 * whole.delta)
    assert main(["verify", str(tmp_path / "model.json")]) == 0
    said = capsys.readouterr().out
    shown = float(said[1:].split(",")[0])  # the first number of all is the whole price, rounded up
    assert whole.epsilon <= shown < 1.0001 * whole.epsilon
    assert "the scaler (step 'privatescaler')" in said
    assert "VERIFIED." in said
    assert main(["statement", str(tmp_path / "model.json"), "--json"]) == 0
    (statement,) = json.loads(capsys.readouterr().out)
    assert statement["numbers"]["epsilon"] == whole.epsilon
    assert statement["registry"]["privacy_loss"]["privacy_parameters"] == {
        "epsilon": whole.epsilon,
        "delta": whole.delta,
    }
    assert main(["statement", str(tmp_path / "model.json"), "--html", str(tmp_path / "page.html")]) == 0
    assert "Everything in the file together" in (tmp_path / "page.html").read_text()


def test_a_schema_that_was_found_is_a_part_of_the_price(tmp_path):
    """It decides on the events of the model, so what is stated is added: no price of the events that came about."""
    table = FRAME.assign(ill=ILL)
    found = tacit.private_schema(table, epsilon=20.0, target="ill")
    assert isinstance(found, FoundSchema)
    rows = found.encode(table)
    LogisticRegression(1.0).fit(rows, ILL).save(tmp_path / "model.json", found)
    tacit.save(make_pipeline(SchemaEncoder(found), logistic()).fit(table, ILL), tmp_path / "pipeline.json")
    AdditiveClassifier(1.0, schema=found, slots=3).fit(table).save(tmp_path / "additive.json")
    for name in ("model", "pipeline", "additive"):
        schema = tacit.load(tmp_path / f"{name}.json").schema
        assert schema.guarantee == found.guarantee
        (whole,) = stated(tmp_path / f"{name}.json")
        assert whole.epsilon == whole.verify() == 21.0
        added = found.guarantee.epsilon_at(adjacency="add-remove")
        assert whole.epsilon_at(adjacency="add-remove") == added + 1.0 < 21.0
    assert tacit.load(tmp_path / "model.json").schema == found


def test_a_declared_schema_costs_nothing(tmp_path):
    tacit.save(encoded().fit(FRAME, ILL), tmp_path / "model.json")
    (promise,) = stated(tmp_path / "model.json")
    assert promise == tacit.load(tmp_path / "model.json").model[-1].guarantee_


def test_rows_and_people_have_no_price_together(tmp_path):
    people = np.arange(600) // 2
    model = LogisticRegression(1.0, rows_per_person=2)
    pipeline = make_pipeline(PrivateScaler(0.5, bounds=(-1, 2100)), model)
    refused = "protects single rows and the model protects all rows of a person"
    with pytest.raises(PrivacyError, match=refused):
        pipeline.fit(X, Y, logisticregression__groups=people)
    model.fit(X, Y, groups=people)
    remember(model, (Earlier("the scaler", pipeline[0].guarantee_, pipeline[0].digest),))  # as an older fit would
    for one in (model, pipeline):
        with pytest.raises(PrivacyError, match=refused):
            tacit.save(one, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())
    pipeline = make_pipeline(PrivateScaler(0.5, bounds=(-1, 2100), rows_per_person=1), model)
    pipeline.fit(X, Y, logisticregression__groups=people, privatescaler__groups=people)
    tacit.save(pipeline, tmp_path / "model.json")  # both protect whole people
    (whole,) = stated(tmp_path / "model.json")
    assert whole.verify() <= 1.5


def test_a_part_without_noise_has_no_price(tmp_path, capsys):
    for name, scaler, model in (("scaler", math.inf, 1.0), ("model", 1.0, math.inf)):
        pipeline = make_pipeline(PrivateScaler(scaler), LogisticRegression(model)).fit(X, Y)
        tacit.save(pipeline, tmp_path / name)
        assert np.array_equal(tacit.load(tmp_path / name).model.predict(X), pipeline.predict(X))
        assert math.isinf(stated(tmp_path / name)[0].epsilon)
        assert main(["verify", str(tmp_path / name)]) == 1
        assert "VERIFIED." not in capsys.readouterr().out.replace("NOT VERIFIED.", "")
        assert main(["statement", str(tmp_path / name)]) == 1
        assert "NOT PRIVATE" in capsys.readouterr().out


def test_a_record_is_priced_with_the_scaler_too(tmp_path):
    pipeline = make_pipeline(PrivateScaler(0.5), LogisticRegression(1.0, method="input-local")).fit(X, Y)
    tacit.save(pipeline, tmp_path / "model.json")
    of_model, of_record = stated(tmp_path / "model.json")
    assert of_record.guarantees[-1].records == 1
    assert of_record.epsilon > pipeline[-1].record_guarantee_.epsilon
    assert of_model.guarantees[0] == of_record.guarantees[0] == pipeline[0].guarantee_


class Stranger(StandardScaler):
    """Somebody's own step."""


@pytest.mark.parametrize(
    ("steps", "kind", "sentence"),
    [
        ([StandardScaler()], PrivacyError, r"'standardscaler' \(StandardScaler\).*guarantee does not cover it"),
        ([Stranger()], PrivacyError, "Use tacit.PrivateScaler, which is charged"),
        ([Normalizer()], ValueError, "learns nothing, so the guarantee stands"),
        ([FunctionTransformer(np.tanh)], ValueError, "is code, and files contain no code"),
        ([ColumnTransformer([("a", Normalizer(), [0, 1])])], ValueError, "one tacit.Schema and use SchemaEncoder"),
        ([make_pipeline(PrivateScaler())], ValueError, "can only contain steps that follow one another"),
    ],
)
@pytest.mark.filterwarnings("ignore::tacit.MisuseWarning")
def test_steps_of_others_are_refused(steps, kind, sentence, tmp_path):
    pipeline = make_pipeline(*steps, logistic()).fit(X, Y)
    with pytest.raises(kind, match=sentence):
        tacit.save(pipeline, tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_what_is_no_model_is_refused(tmp_path):
    path = tmp_path / "model.json"
    with pytest.raises(ValueError, match=r"make_pipeline\(scaler, model\)"):
        tacit.save(PrivateScaler().fit(X), path)
    for other in (PlainLogistic().fit(X, Y), make_pipeline(PrivateScaler(), PlainLogistic()).fit(X, Y)):
        with pytest.raises(ValueError, match=r"Expected a fitted model of Tacit.*LogisticRegression"):
            tacit.save(other, path)
    with pytest.raises(ValueError, match="leave out schema="):
        tacit.save(encoded().fit(FRAME, ILL), path, SCHEMA)
    for unfitted in (PrivateSearch(LogisticRegression(), {}), logistic(), make_pipeline(PrivateScaler(), logistic())):
        with pytest.raises(ValueError, match="not fitted"):
            tacit.save(unfitted, path)
    with pytest.raises(ValueError, match="a different number of columns"):
        tacit.save(make_pipeline(PrivateScaler().fit(X[:, :2]), logistic().fit(X, Y)), path)
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.json"
    pipeline = Pipeline([("encode", SchemaEncoder(SCHEMA)), ("scale", PrivateScaler(0.5)), ("model", logistic())])
    tacit.save(pipeline.fit(FRAME, ILL), path)
    return json.loads(path.read_text())


def resealed(data):
    content = {key: value for key, value in data.items() if key != "checksum"}
    return {**content, "checksum": checksum(content)}


def refused(data, path):
    path.write_text(json.dumps(data))
    for read in (tacit.load, stated):
        with pytest.raises(PrivacyError, match=r"\.$") as caught:
            read(path)
    return str(caught.value)


def leaves(value, path=()):
    if isinstance(value, dict | list):
        for key, entry in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(entry, (*path, key))
    else:
        yield path


def changed(data, path, value):
    data = copy.deepcopy(data)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    return data


def test_a_change_anywhere_is_noticed(written, tmp_path):
    assert written["format"] == FORMAT
    paths = list(leaves(written))
    assert {path[1] for path in paths if path[0] == "steps"} == {0, 1}
    for path in paths:
        refused(changed(written, path, "changed"), tmp_path / "model.json")


@pytest.mark.parametrize(
    ("path", "value", "sentence"),
    [
        (("version",), 2, "later version"), (("version",), True, "later version"), (("steps",), {}, "not a list"),
        (("extra",), 1, "fields"), (("last",), "encode", "names"), (("last",), "a__b", "names"),
        (("last",), "a\nVERIFIED.", "one line"), (("steps", 0, "kind"), "StandardScaler", "kinds"),
        (("steps", 0, "kind"), ["SchemaEncoder"], "kinds"), (("steps", 0, "extra"), 1, "fields of a step"),
        (("steps", 0, "clip"), 0, "clip"), (("steps", 0, "schema"), None, "no schema"),
        (("steps", 0, "found"), {}, "found"), (("steps", 1, "center"), [1.0], "each column"),
        (("steps", 1, "scales", 0), 0.0, "scales"), (("steps", 1, "scales", 0), "1", "numbers"),
        (("steps", 1, "bounds", 0), [1.0, 0.0], "bounds"), (("steps", 1, "limit"), -1, "settings"),
        (("steps", 1, "scale"), "range", "settings"), (("steps", 1, "declared"), 1, "declared"),
        (("steps", 1, "names"), ["a"], "one name"), (("steps", 1, "guarantee"), {}, "not a Tacit guarantee"),
        (("model",), {}, "not a Tacit model"), (("model",), None, "not a Tacit model"),
        (("model", "coef", 0, 0), 0.0, "changed after it was written"),
        (("steps", 1, "guarantee", "epsilon"), 0.1, "changed after it was written"),
    ],
)  # fmt: skip
def test_a_resealed_change_that_does_not_fit_is_refused(written, path, value, sentence, tmp_path):
    assert sentence in refused(resealed(changed(written, path, value)), tmp_path / "model.json")


def test_parts_that_do_not_fit_are_refused_even_when_sealed_again(written, tmp_path):
    path = tmp_path / "model.json"
    scaler = written["steps"][1]
    assert "is not that of a scaler" in refused(
        resealed(changed(written, ("steps", 1, "guarantee"), written["model"]["guarantee"])), path
    )
    found = {"guarantee": scaler["guarantee"], "left_out": []}
    assert "not that of a schema" in refused(resealed(changed(written, ("steps", 0, "found"), found)), path)
    assert "number of columns" in refused(
        resealed({**written, "steps": written["steps"][:1] * 0 + [scaler_of(2)]}), path
    )
    turned = resealed({**written, "steps": written["steps"][::-1]})
    assert "is not the first one" in refused(turned, path)
    false = resealed({**scaler["guarantee"], "epsilon": 0.1})
    path.write_text(json.dumps(resealed(changed(written, ("steps", 1, "guarantee"), false))))
    assert main(["verify", str(path)]) == 1  # it is read, and its noise does not give what it states


def scaler_of(columns):
    """What a file says of a scaler for so many columns."""
    from tacit.files.steps import write_step

    return write_step("scale", PrivateScaler(0.5).fit(X[:, :columns]))


def test_a_scaler_cannot_be_left_out_in_silence(written, tmp_path):
    """Without it the file is another one: refused under the old checksum; under a new one it has no scaler to apply."""
    path = tmp_path / "model.json"
    less = {**written, "steps": written["steps"][:1]}
    assert "checksum does not match" in refused(less, path)
    path.write_text(json.dumps(resealed(less)))
    assert [name for name, _ in tacit.load(path).model.steps] == ["encode", "model"]


@pytest.mark.parametrize("kind", ["scaler", "declared scaler", "encoder and scaler"])
def test_the_command_line_takes_pipelines(kind, tmp_path, capsys):
    pipeline, rows = PIPELINES[kind]()
    table = pandas.DataFrame(rows)
    named = kind != "scaler"
    tacit.save(pipeline, tmp_path / "model")
    truth = X[:, 0] / 200 if kind == "declared scaler" else Y if kind == "scaler" else ILL
    table.assign(truth=truth).to_csv(tmp_path / "table.csv", index=False)
    predict = ["predict", str(tmp_path / "model"), str(tmp_path / "table.csv"), "--out", str(tmp_path / "said.csv")]
    assert main(predict) == (0 if named else 2)
    if not named:
        assert "tacit.load(path).model.predict" in capsys.readouterr().err
        return
    assert np.array_equal(pandas.read_csv(tmp_path / "said.csv").prediction, pipeline.predict(rows))
    evaluate = ["evaluate", str(tmp_path / "model"), str(tmp_path / "table.csv"), "--epsilon", "1", "--target", "truth"]
    assert main(evaluate) == 0
    assert "rmse" in (said := capsys.readouterr().out) or "accuracy" in said


def test_prices_together_are_never_below_the_largest_part():
    """Whatever the order and the neighbours, and never above the plain sum."""
    scaler, model = (step.guarantee_ for _, step in scaled().steps)
    for parts in ((("a", scaler), ("b", model)), (("a", model), ("b", scaler))):
        whole = Together(parts)
        for adjacency in ("replace-one", "add-remove"):
            each = [one.epsilon_at(adjacency=adjacency) for one in (scaler, model)]
            assert max(each) < whole.epsilon_at(adjacency=adjacency) <= sum(each) * (1 + 1e-12)
    large = replace(scaler, delta=0.01)  # at this delta both together would cost less than the model at its own
    whole = Together((("a", large), ("b", model)))
    assert spent([large, model], delta=whole.delta) < model.epsilon_at() == whole.epsilon
    with pytest.raises(PrivacyError, match="add up to 1"):
        Together((("a", replace(scaler, delta=0.6)), ("b", replace(model, delta=0.6))))
    with pytest.raises(PrivacyError, match=r"^a: "):
        Together((("a", replace(scaler, epsilon=0.01)), ("b", model))).verify()
