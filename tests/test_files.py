"""Model files: exact round trips, and a sentence for whatever is not one."""

from __future__ import annotations

import copy
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from instances import REGRESSORS

from tacit import LinearRegression, LinearSVC, LogisticRegression, PrivacyError, Schema
from tacit.checks import at_most
from tacit.cli.main import main
from tacit.files import load, models, save, stated
from tacit.files.models import FORMAT, from_dict, guarantees_of
from tacit.mechanisms import ObjectivePerturbation
from tacit.privacy import accounting, events
from tacit.privacy.events import PoissonGaussian
from tacit.privacy.guarantee import EVENTS, Guarantee, checksum

SCHEMA = {
    "columns": {"age": {"lower": 0, "upper": 99, "missing": True}, "job": {"values": ["clerk", "miner"]}},
    "target": {"name": "rich", "classes": ["no", "yes"]},
}


BOUNDED = {kind.__name__: kind for kind in REGRESSORS}


def rows(count: int = 120, features: int = 3) -> np.ndarray[Any, Any]:
    return np.random.default_rng(5).normal(size=(count, features))


def fitted(kind: str) -> Any:
    X = rows()
    return BOUNDED[kind](2.0, target_bound=3.0).fit(X, np.exp(X[:, 0])) if kind in BOUNDED else _fitted(kind, X)


def _fitted(kind: str, X: np.ndarray[Any, Any]) -> Any:
    if kind == "regression":
        return LinearRegression(2.0, target_bound=(-3.0, 5.0), adjacency="add-remove").fit(X, X[:, 0])
    if kind == "svm":
        return LinearSVC(1.0, classes=[2, 4], smoothing=0.25).fit(X, np.where(X[:, 0] > 0, 2, 4))
    labels = np.array(["a", "b", "c"])[np.digitize(X[:, 0], [-0.5, 0.5])]
    if kind == "softmax":
        return LogisticRegression(1.0, delta=1e-4, clip=2.0).fit(X, labels)
    if kind == "one-vs-rest":
        return LogisticRegression(1.0, multiclass="one-vs-rest", fit_intercept=False).fit(X, labels)
    if kind in ("input", "input-local", "output-chaudhuri-2011"):
        return LogisticRegression(1.0, method=kind).fit(X, X[:, 0] > 0)
    return LogisticRegression(np.inf if kind == "no noise" else 1.0).fit(X, (X[:, 0] > 0).astype(float))


KINDS = (
    "binary",
    "softmax",
    "one-vs-rest",
    "svm",
    "regression",
    "output-chaudhuri-2011",
    "no noise",
    "input",
    "input-local",
    *BOUNDED,
)


@pytest.mark.parametrize("kind", KINDS)
def test_round_trip_keeps_every_fitted_attribute_and_every_bit(kind: str, tmp_path: Path) -> None:
    model = fitted(kind)
    save(model, tmp_path / "model.json")
    again, schema = load(tmp_path / "model.json")
    assert schema is None
    assert type(again) is type(model)
    before, after = vars(model), vars(again)
    table = {"perturbed_data_", "_extras"}  # what the contributors sent, not the model: no file holds it
    assert set(before) - table == set(after)  # a fitted attribute that the file forgets shows here
    for name, value in ((name, value) for name, value in before.items() if name not in table):
        assert np.array_equal(np.asarray(value, dtype=object), np.asarray(after[name], dtype=object)), name
    assert np.array_equal(model.predict(rows()), again.predict(rows()))
    assert again.guarantee_ == model.guarantee_
    if hasattr(model, "predict_proba"):
        assert np.array_equal(model.predict_proba(rows()), again.predict_proba(rows()))


def test_schema_and_names_travel_with_the_model(tmp_path: Path) -> None:
    schema = Schema.from_dict(SCHEMA)
    table = {"age": [20, None, 70, 31] * 10, "job": ["clerk", "miner", "king", "clerk"] * 10}
    X = schema.encode(table)
    model = LogisticRegression(1.0).fit(X, ["no", "yes", "yes", "no"] * 10)
    model.feature_names_in_ = np.asarray(schema.features, dtype=object)
    save(model, tmp_path / "model.json", schema)
    again, read = load(tmp_path / "model.json")
    assert read == schema
    assert list(again.feature_names_in_) == list(schema.features)


def test_a_schema_of_another_width_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="does not encode the columns"):
        save(
            fitted("binary"), tmp_path / "model.json", Schema.from_dict(SCHEMA | {"columns": {"a": {"values": ["x"]}}})
        )
    assert not list(tmp_path.iterdir())


def test_the_seed_is_never_written(tmp_path: Path) -> None:
    seed = 918273645
    model = LogisticRegression(1.0, random_state=seed, method=ObjectivePerturbation()).fit(rows(), rows()[:, 0] > 0)
    save(model, tmp_path / "model.json")
    assert str(seed) not in (tmp_path / "model.json").read_text()
    again, _ = load(tmp_path / "model.json")
    assert again.random_state is None
    assert again.method == "auto"
    assert again.guarantee_.seeded


def test_saving_needs_a_fitted_model_and_leaves_nothing_half_written(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="not fitted"):
        save(LogisticRegression(), tmp_path / "model.json")
    with pytest.raises(FileNotFoundError):
        save(fitted("binary"), tmp_path / "absent" / "model.json")
    with pytest.raises(ValueError, match="Expected a fitted"):
        save(object(), tmp_path / "model.json")  # type: ignore[arg-type]
    assert not list(tmp_path.iterdir())


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    path = tmp_path_factory.mktemp("files") / "model.json"
    save(fitted("softmax"), path)
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def resealed(data: dict[str, Any]) -> dict[str, Any]:
    """The same content under a fresh checksum: what an attacker who read this source would write."""
    content = {key: value for key, value in data.items() if key != "checksum"}
    return {**content, "checksum": checksum(content)}


FIELDS = (
    "format", "version", "estimator", "parameters", "settings", "classes", "coef", "intercept", "features", "names",
    "schema", "found", "slots", "errors", "guarantee", "record_guarantee", "earlier", "checksum",
)  # fmt: skip


@pytest.mark.parametrize("field", FIELDS)
def test_every_changed_or_missing_field_is_noticed(written: dict[str, Any], field: str) -> None:
    assert set(written) == set(FIELDS)
    from_dict(written)
    for value in ("changed", 7, None, [], {}, [[1.0]]):
        if value != written[field]:
            with pytest.raises(PrivacyError):
                from_dict({**written, field: value})
            if field != "checksum":
                with pytest.raises(PrivacyError):
                    from_dict(resealed({**written, field: value}))
    with pytest.raises(PrivacyError):
        from_dict({key: value for key, value in written.items() if key != field})


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("coef", 0, 0), "0.5"), (("coef", 0, 0), True), (("coef", 0, 0), 10**400), (("coef", 0), [1.0]),
        (("coef", 0), 1.0), (("coef", 0, 0), 1e999),
        (("intercept",), [0.0]), (("intercept", 0), None), (("classes",), ["a", "b"]), (("classes",), ["b", "a", "c"]),
        (("classes",), ["a", "a", "c"]), (("classes",), ["a", 1, "c"]), (("classes", 0), ["a"]), (("features",), 3.0),
        (("features",), True), (("names",), ["x"]), (("names",), [1, 2, 3]), (("schema",), SCHEMA), (("schema",), "x"),
        (("parameters", "epsilon"), 0.5), (("parameters", "epsilon"), "1"), (("parameters", "adjacency"), "add-remove"),
        (("parameters", "calibration"), "paper"), (("parameters", "clip"), 0), (("parameters", "clip"), "inf"),
        (("parameters", "method"), ["auto"]), (("parameters", "classes"), 3), (("parameters", "extra"), 1),
        (("parameters", "random_state"), 1), (("settings", "margin_"), "2"), (("settings", "coef_"), 1.0),
        (("estimator",), "Pipeline"), (("estimator",), ["LogisticRegression"]), (("version",), 99),
    ],
)  # fmt: skip
def test_a_resealed_file_with_a_wrong_type_shape_or_number_is_refused(
    written: dict[str, Any], path: tuple[Any, ...], value: Any
) -> None:
    data = copy.deepcopy(written)
    place: Any = data
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    with pytest.raises(PrivacyError):
        from_dict(resealed(data))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("epsilon", 0.0), ("epsilon", -1.0), ("delta", 1.5), ("delta", "0"), ("adjacency", "none"), ("status", "sure"),
        ("theorem", "mine"), ("records", "9"), ("records", 1.5), ("seeded", 1), ("assumptions", [1]), ("method", 3),
        ("events", [{"kind": "Sphere", "sensitivity": {"add_remove": 1, "replace_one": 2}, "scale": "1"}]),
        ("events", 3),
        ("events", [{"kind": "os.system"}]),
    ],
)  # fmt: skip
def test_a_resealed_guarantee_with_a_wrong_field_is_refused(written: dict[str, Any], field: str, value: Any) -> None:
    with pytest.raises(PrivacyError):
        Guarantee.from_dict(resealed({**written["guarantee"], field: value}))


def test_a_guarantee_of_another_model_does_not_fit(written: dict[str, Any]) -> None:
    other = fitted("regression").guarantee_.to_dict()
    with pytest.raises(PrivacyError, match="guarantee states"):
        from_dict(resealed({**written, "guarantee": other}))


@pytest.fixture(scope="module")
def contributed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """A model file with two guarantees."""
    path = tmp_path_factory.mktemp("files") / "model.json"
    save(fitted("input"), path)
    data: dict[str, Any] = json.loads(path.read_text())
    return data


def test_both_guarantees_travel_and_are_verified(
    contributed: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "model.json"
    path.write_text(json.dumps(contributed))
    model, _ = load(path)
    of_model, of_record = guarantees_of(from_dict(contributed)[0])
    assert (of_model, of_record) == (model.guarantee_, model.record_guarantee_)
    assert (of_model.epsilon, of_record.records) == (1.0, 1)
    assert of_record.verify() == pytest.approx(of_record.epsilon)
    assert main(["verify", str(path)]) == 0
    said = capsys.readouterr().out
    assert "the released model: epsilon = " in said
    assert f"one record, as it leaves its owner: epsilon = {at_most(of_record.verify(), 6)} at delta" in said
    path.write_text(json.dumps(contributed["record_guarantee"]))
    assert main(["verify", str(path)]) == 0  # alone too


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("epsilon", 0.5, "The released events cost epsilon"),
        ("records", 2, "does not belong"),
        ("method", "output", "does not belong"),
        ("adjacency", "add-remove", "does not belong"),
        ("delta", 0.5, "does not belong"),
        ("theorem", "mine", "malformed"),
        ("status", "claimed", "The status says 'claimed'"),
    ],
)
def test_a_false_guarantee_of_one_record_is_not_verified(
    contributed: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str], field: str, value: Any,
    sentence: str,
) -> None:  # fmt: skip
    record = resealed({**contributed["record_guarantee"], field: value})
    path = tmp_path / "model.json"
    path.write_text(json.dumps(resealed({**contributed, "record_guarantee": record})))
    assert main(["verify", str(path)]) == 1
    assert sentence in capsys.readouterr().err


def test_files_of_earlier_versions_are_read(written: dict[str, Any]) -> None:
    """The fifth version does not say what was paid for before a model; the fourth has no schemas that were paid for;
    the third knows no people and no weights; the second has no precondition=, for no rows were whitened; the first no
    guarantee of one record.
    """
    later = ("rows_per_person", "weight_bound", "class_weight", "inference")
    known = {key: value for key, value in written["parameters"].items() if key not in later}
    written = {key: value for key, value in written.items() if key != "earlier"}
    assert np.array_equal(from_dict(resealed({**written, "version": 5}))[0].coef_, np.asarray(written["coef"]))
    written = {key: value for key, value in written.items() if key != "found"}
    fourth = resealed({**written, "version": 4})
    assert np.array_equal(from_dict(fourth)[0].coef_, np.asarray(written["coef"]))
    with pytest.raises(PrivacyError, match="fields"):
        from_dict(resealed({**fourth, "found": None}))
    written = {key: value for key, value in written.items() if key != "errors"}
    third = from_dict(resealed({**written, "version": 3, "parameters": known}))[0]
    assert (third.rows_per_person, third.weight_bound, third.class_weight) == (None, 1.0, None)
    with pytest.raises(PrivacyError, match="parameters"):
        from_dict(resealed({**written, "version": 3}))
    parameters = {key: value for key, value in known.items() if key != "precondition"}
    second = {**written, "version": 2, "parameters": parameters}
    del second["slots"]  # which only additive models have
    first = resealed({key: value for key, value in {**second, "version": 1}.items() if key != "record_guarantee"})
    assert not hasattr(from_dict(first)[0], "record_guarantee_")
    assert from_dict(resealed(second))[0].precondition is False
    with pytest.raises(PrivacyError, match="fields"):
        from_dict(resealed({**first, "version": 2}))
    with pytest.raises(PrivacyError, match="fields"):
        from_dict(resealed({**second, "version": 1}))
    with pytest.raises(PrivacyError, match="parameters"):
        from_dict(resealed({**second, "parameters": written["parameters"]}))
    with pytest.raises(PrivacyError, match="parameters"):
        from_dict(resealed({**second, "version": 3, "slots": None}))
    with pytest.raises(PrivacyError, match="fields"):
        from_dict(resealed({**second, "version": 3}))
    for version in (0, -1, 7):
        with pytest.raises(PrivacyError, match="version"):
            from_dict(resealed({**written, "version": version}))


def test_a_guarantee_left_over_from_an_earlier_fit_is_not_written(tmp_path: Path) -> None:
    model, other = fitted("binary"), fitted("input")
    model.record_guarantee_ = other.record_guarantee_
    save(model, tmp_path / "model.json")
    assert not hasattr(load(tmp_path / "model.json").model, "record_guarantee_")


@pytest.mark.parametrize(
    "text",
    [
        "", "{", "[]", "3", "null", '"text"', "not json", "\x80", '{"format": "onnx"}', "[" * 100_000, '{"a":' * 50_000,
        f'{{"format": "{FORMAT}", "version": 1}}', f'{{"format": "{FORMAT}", "format": "{FORMAT}"}}', '{"a": NaN}',
        '{"a": -Infinity}', "9" * 10_000,
    ],
)  # fmt: skip
def test_foreign_and_deep_files_are_refused_in_a_sentence(tmp_path: Path, text: str) -> None:
    path = tmp_path / "foreign.json"
    path.write_bytes(text.encode("latin-1"))
    with pytest.raises(PrivacyError) as caught:
        load(path)
    assert str(caught.value).endswith(".")


def test_truncated_and_oversized_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "model.json"
    save(fitted("binary"), path)
    whole = path.read_bytes()
    for length in (1, len(whole) // 3, len(whole) - 3):
        path.write_bytes(whole[:length])
        with pytest.raises(PrivacyError):
            load(path)
    path.write_bytes(whole)
    monkeypatch.setattr("tacit.files.LARGEST", len(whole) - 1)
    with pytest.raises(PrivacyError, match="larger than"):
        stated(path)


@pytest.mark.filterwarnings("ignore:No target_bound was given")
def test_a_regression_without_a_declared_bound_comes_back(tmp_path: Path) -> None:
    X = rows()
    model = LinearRegression(2.0).fit(X, 9 * X[:, 0])
    save(model, tmp_path / "model.json")
    again, _ = load(tmp_path / "model.json")
    assert again.target_bound is None
    assert np.array_equal(again.predict(X), model.predict(X))


def test_a_guarantee_swapped_between_two_files_is_noticed(tmp_path: Path) -> None:
    """Under the old checksum, and where method, delta or epsilon differ under a new one too."""
    X = rows()
    files = []
    for method, epsilon, delta in (("output", 1.0, 1e-4), ("gradient", 1.0, 1e-4), ("output", 1.0, 1e-3)):
        save(LogisticRegression(epsilon, delta=delta, method=method).fit(X, X[:, 0] > 0), tmp_path / "model.json")
        files.append(json.loads((tmp_path / "model.json").read_text()))
    first, others = files[0], files[1:]
    for other in others:
        swapped = {**first, "guarantee": other["guarantee"]}
        with pytest.raises(PrivacyError, match="checksum does not match"):
            from_dict(swapped)
        with pytest.raises(PrivacyError, match=r"Its (method|delta) is not"):
            from_dict(resealed(swapped))
    free = LogisticRegression(np.inf, method="output").fit(X, X[:, 0] > 0)
    save(free, tmp_path / "free.json")
    dressed = {**json.loads((tmp_path / "free.json").read_text()), "guarantee": first["guarantee"]}
    with pytest.raises(PrivacyError, match="Its epsilon is not"):
        from_dict(resealed(dressed))


def test_a_model_without_noise_is_never_verified(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = fitted("no noise")
    with pytest.raises(PrivacyError, match="nothing to verify"):
        model.guarantee_.verify()
    save(model, tmp_path / "model.json")
    assert main(["verify", str(tmp_path / "model.json")]) == 1
    shown = capsys.readouterr()
    assert "nothing to verify" in shown.err
    assert shown.out.startswith("NOT VERIFIED.")
    assert "\nVERIFIED" not in shown.out


ODD = {
    "huge whole number": "1" + "0" * 400, "more digits than Python reads": "9" * 5000, "infinity": '{"a": 1e999}',
    "deep": "[" * 30 + "]" * 30, "half a character": '{"a": "\\ud800"}', "field twice": '{"a": 1, "a": 1}',
    "twice inside": '[{"a": {"b": 1, "b": 2}}]', "byte order mark": "\ufeff{}", "truncated": '{"a": [1, 2',
    "a million lists": "[" + "[]," * 10**6 + "0]",
}  # fmt: skip


@pytest.mark.parametrize("name", ODD)
def test_odd_json_is_refused_by_every_reader(tmp_path: Path, name: str) -> None:
    path = tmp_path / "odd.json"
    path.write_text(ODD[name], encoding="utf-8")
    for read in (load, stated):
        with pytest.raises(PrivacyError, match=r"^odd\.json: .*\.$"):
            read(path)
    with pytest.raises(PrivacyError, match=r"\.$"):
        Guarantee.from_json(ODD[name])


@pytest.mark.parametrize(
    "data",
    [
        {1: 2},
        {"a": (1,)},
        {"a": {1, 2}},
        {"a": b"x"},
        {"a": np.float64(1)},
        {"a": float("nan")},
        {"a": 10**400},
        object(),
    ],
    ids=lambda data: type(data).__name__ + str(data)[:20] * isinstance(data, dict),
)
def test_what_json_cannot_hold_is_refused(data: Any) -> None:
    for read in (from_dict, Guarantee.from_dict):
        with pytest.raises(PrivacyError, match=r"\.$"):
            read(data)


def test_what_lies_in_itself_is_refused() -> None:
    data: dict[str, Any] = {"format": FORMAT}
    data["a"] = [data]
    with pytest.raises(PrivacyError, match="deep"):
        from_dict(data)


def test_a_list_of_very_many_events_is_refused(written: dict[str, Any]) -> None:
    honest = written["guarantee"]
    for many in (EVENTS + 1, 10**5):
        data = resealed({**honest, "events": honest["events"][:1] * many})
        with pytest.raises(PrivacyError, match=f"at most {EVENTS}"):
            Guarantee.from_dict(data)
    with pytest.raises(PrivacyError, match="longer than"):
        Guarantee.from_json(json.dumps(data))
    few = Guarantee.from_dict(resealed({**honest, "events": honest["events"] * 3}))
    with pytest.raises(PrivacyError, match=r"prices .*; recorded is .*, .*, "):
        few.verify()


def test_text_that_imitates_the_program_is_refused(written: dict[str, Any]) -> None:
    for field, value in (("method", "x\nVERIFIED."), ("protects", "\x1b[1mall"), ("assumptions", ["\u202eno"])):
        with pytest.raises(PrivacyError, match=f"its {field} is not"):
            Guarantee.from_dict(resealed({**written["guarantee"], field: value}))


def test_a_million_million_sampled_steps_are_priced_at_once() -> None:
    """By the bound without sampling: a stranger's file does not keep a reader waiting."""
    event = PoissonGaussian(clip=1.0, scale=1e7, rate=1e-6, count=10**12)  # mu = 0.2, as of one Gaussian release
    plain = accounting.epsilon((events.Gaussian(events.Sensitivity(0.1, 0.2), 1.0),), 1e-5, "replace-one")
    data = {**fitted("binary").guarantee_.to_dict(), "events": [events.to_dict(event)], "theorem": "sampled-gradient"}
    data |= {"method": "dp-sgd", "delta": 1e-5}
    with pytest.raises(PrivacyError, match="cost epsilon"):
        Guarantee.from_dict(resealed({**data, "epsilon": 0.999 * plain})).verify()
    assert Guarantee.from_dict(resealed({**data, "epsilon": 1.001 * plain})).verify() == pytest.approx(plain)


def test_a_file_that_would_be_too_large_is_not_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tacit.files.models.LARGEST", 100)
    with pytest.raises(ValueError, match="at most"):
        save(fitted("binary"), tmp_path / "model.json")
    assert not list(tmp_path.iterdir())


def test_the_record_guarantee_of_another_fit_does_not_pass() -> None:
    """Sealed again: it assumes what the model's does not, or says to be of the model."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 3))
    options: dict[str, Any] = {"delta": 1e-5, "method": "input-local", "classes": [0, 1], "random_state": 1}
    one = LogisticRegression(1.0, **options).fit(X, (X[:, 0] > 0).astype(int))
    other = LogisticRegression(1.0, clip=50.0, **options).fit(X[:40], (X[:40, 0] > 0).astype(int))
    assert models._of_one_fit(one.guarantee_, one.record_guarantee_)
    assert not models._of_one_fit(one.guarantee_, other.record_guarantee_)
    assert not models._of_one_fit(one.guarantee_, replace(one.record_guarantee_, protects=one.guarantee_.protects))


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("parameters", "delta"), 5.0),
        (("parameters", "delta"), 1e150),
        (("settings", "margin_"), -1000.0),
        (("settings", "margin_"), 1e300),
    ],
)
def test_settings_that_no_fit_has_are_refused(written: dict[str, Any], path: tuple[str, str], value: float) -> None:
    data = copy.deepcopy(written)
    data[path[0]][path[1]] = value
    with pytest.raises(PrivacyError):
        from_dict(resealed(data))


def test_an_event_states_its_strength_once() -> None:
    event = events.to_dict(
        events.Objective(slope=1.0, trace=0.25, strength=1.0, scale=1.0, geometry="logistic", outputs=1)
    )
    renamed = {"regularization" if name == "strength" else name: value for name, value in event.items()}
    assert events.from_dict(renamed) == events.from_dict(event)  # as earlier versions wrote it
    with pytest.raises(ValueError, match="once"):
        events.from_dict({**event, "regularization": 1e-9})


@pytest.mark.parametrize("bound", [0, [5.0, -5.0], [1.0, 1.0]])
def test_ranges_that_are_none_are_refused(tmp_path: Path, bound: Any) -> None:
    save(fitted("regression"), tmp_path / "model.json")
    data = json.loads((tmp_path / "model.json").read_text())
    data["parameters"]["target_bound"] = bound
    with pytest.raises(PrivacyError):
        from_dict(resealed(data))
