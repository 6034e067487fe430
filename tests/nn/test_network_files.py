"""Network files: one checksum covers weights, settings and guarantee; lying headers and swapped parts are refused."""

import json
import math

import numpy as np
import pandas
import pytest
import torch
from safetensors.numpy import load_file, save_file
from sklearn.pipeline import make_pipeline

import tacit
from tacit import PrivacyError, PrivateScaler, PrivateSearch, Schema
from tacit.cli.main import main
from tacit.files import load as load_model
from tacit.files import save, stated
from tacit.files import tensors as network_file
from tacit.nn import MLPClassifier
from tacit.privacy.guarantee import checksum
from tacit.schema import SchemaEncoder


def load(path, **options):
    return load_model(path, **options).model


def fitted(epsilon, **settings):
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(60, 4))
    settings = {"hidden": 4, "epochs": 1, "batch": 30, "delta": 1e-4, "bounds": (-1, 1), **settings}
    return MLPClassifier(epsilon, classes=(0, 1), **settings).fit(X, (X[:, 0] > 0).astype(int))


@pytest.fixture(scope="module")
def private():
    return fitted(1.0)


@pytest.fixture
def path(private, tmp_path):
    save(private, tmp_path / "net.safetensors")
    return tmp_path / "net.safetensors"


def parts(path):
    """Metadata and tensors, read by the safetensors library."""
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    return json.loads(header["__metadata__"]["tacit"]), load_file(str(path))


def write(path, content, tensors, seal=True):
    if seal:
        content = {key: value for key, value in content.items() if key != "checksum"}
        content = {**content, "checksum": checksum(content)}
    save_file(tensors, str(path), metadata={"tacit": json.dumps(content)})


def test_our_reader_agrees_with_the_library(private, path):
    read = network_file.read(path)
    theirs = load_file(str(path))
    assert set(read.arrays) == set(theirs)
    assert all(np.array_equal(read.arrays[name], theirs[name]) for name in theirs)
    assert read.guarantee == private.guarantee_
    assert network_file.holds_tensors(path)
    again = load(path)
    weights = private.network_.state_dict()
    assert all(torch.equal(value, weights[name]) for name, value in again.network_.state_dict().items())


def test_weights_without_noise_cannot_wear_another_guarantee(path, tmp_path):
    content, _ = parts(path)
    free = fitted(math.inf)
    tensors = {name: value.numpy() for name, value in free.network_.state_dict().items()}
    write(tmp_path / "forged.safetensors", content, tensors, seal=False)
    with pytest.raises(PrivacyError, match=r"forged\.safetensors: .* weights are not those that were saved"):
        load(tmp_path / "forged.safetensors")
    assert main(["verify", str(tmp_path / "forged.safetensors")]) == 1
    save(free, tmp_path / "free.safetensors")
    other, tensors = parts(tmp_path / "free.safetensors")
    write(tmp_path / "forged.safetensors", {**other, "guarantee": content["guarantee"]}, tensors)
    with pytest.raises(PrivacyError, match="epsilon is not the one that the guarantee states"):  # sealed again
        load(tmp_path / "forged.safetensors")


def test_every_part_of_the_tensors_is_covered(path):
    content, tensors = parts(path)
    names = sorted(tensors)
    first = tensors[names[0]]
    changed = {
        "a bit": {**tensors, names[0]: np.nextafter(first, 9, dtype=np.float32)},
        "a name": {**{name: tensors[name] for name in names[1:]}, "other": first},
        "a type": {**tensors, names[0]: first.astype(np.float64)},
        "a shape": {**tensors, names[0]: first.reshape(1, -1)},
        "one less": {name: tensors[name] for name in names[1:]},
        "one more": {**tensors, "other": first},
        "exchanged": {**tensors, "1.weight": tensors["1.weight"].T.copy()},
    }
    for what, these in changed.items():
        write(path, content, these, seal=False)
        with pytest.raises(PrivacyError, match="weights are not those"):
            load(path)
        write(path, {**content, "tensors": network_file.digest(these)}, these)
        if what in ("a bit", "exchanged"):  # sealed again: a checksum is no signature
            assert load(path).guarantee_.epsilon == 1.0
        else:
            with pytest.raises(PrivacyError, match="names, shapes and types"):
                load(path)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("shape", [10**9]), ("shape", [10**12, 10**12]), ("shape", []), ("shape", [True]), ("shape", 4),
        ("classes", [0]), ("classes", [1, 0]), ("classes", "ab"), ("kind", "Pipeline"), ("kind", ["MLPClassifier"]),
        ("bytes", 0), ("version", 5), ("version", True), ("format", "onnx"), ("parameters", {}), ("parameters", None),
        ("extra", 1), ("tensors", None), ("guarantee", {}), ("version", 1), ("names", ["a"]), ("names", [1, 2, 3, 4]),
    ],
)  # fmt: skip
def test_a_resealed_field_that_does_not_fit_is_refused(path, field, value):
    content, tensors = parts(path)
    write(path, {**content, field: value}, tensors)
    with pytest.raises(PrivacyError) as caught:
        load(path)
    assert str(caught.value).endswith(".")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("hidden", 10**9), ("hidden", -1), ("hidden", 10**18), ("epsilon", 2.0), ("epsilon", None), ("delta", 1e-3),
        ("adjacency", "add-remove"), ("smoothing", 1.0), ("smoothing", "0"), ("activation", "exec"), ("bounds", [0]),
        ("bounds", ["a", "b"]), ("random_state", 1), ("bounds", [0, 1, 2]),
    ],
)  # fmt: skip
def test_a_resealed_setting_that_does_not_fit_is_refused(path, name, value):
    """A width of a thousand million is refused before anything of that size is made."""
    content, tensors = parts(path)
    content["parameters"][name] = value
    write(path, content, tensors)
    with pytest.raises(PrivacyError):
        load(path)


def lying(raw, **changes):
    """The same file with another header: the first tensor's entry changed, or the whole header replaced."""
    length = int.from_bytes(raw[:8], "little")
    header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    name = next(key for key in header if key != "__metadata__")
    header[name] |= changes
    text = json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


def test_headers_that_lie_are_refused(path):
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    twice = raw[8 : 8 + length].rstrip()[:-1] + b',"__metadata__":{}}'
    files = {
        "longer than the file": (2**40).to_bytes(8, "little") + raw[8:],
        "longer than what is there": (len(raw)).to_bytes(8, "little") + raw[8:],
        "none": b"\0" * 8,
        "empty": b"",
        "cut": raw[:-1],
        "more": raw + b"\0",
        "a hole": lying(raw, data_offsets=[4, 20]),
        "beyond": lying(raw, data_offsets=[0, 2**62]),
        "negative": lying(raw, data_offsets=[-16, 0]),
        "no numbers": lying(raw, data_offsets="all"),
        "huge": lying(raw, shape=[10**12, 10**12]),
        "no shape": lying(raw, shape=None),
        "other type": lying(raw, dtype="BF16"),
        "odd type": lying(raw, dtype=["F32"]),
        "a field twice": len(twice).to_bytes(8, "little") + twice + raw[8 + length :],
        "a zip": b"PK\x03\x04" + raw,
        "a pickle": b"\x80\x04\x95" + raw,
    }
    for what, data in files.items():
        path.write_bytes(data)
        with pytest.raises(PrivacyError) as caught:
            load(path)
        assert str(caught.value).endswith("."), what


def test_a_file_is_written_whole_or_not_at_all(private, tmp_path, monkeypatch):
    with pytest.raises(FileNotFoundError):
        save(private, tmp_path / "absent" / "net.safetensors")
    monkeypatch.setattr("tacit.files.networks.LARGEST", 100)
    with pytest.raises(ValueError, match="at most"):
        save(private, tmp_path / "net.safetensors")
    assert not list(tmp_path.iterdir())
    monkeypatch.setattr("tacit.files.tensors.LARGEST", 100)
    (tmp_path / "net.safetensors").write_bytes((8).to_bytes(8, "little") + b"{" * 101)
    with pytest.raises(PrivacyError, match="larger than"):
        load(tmp_path / "net.safetensors")


def test_the_command_line_verifies_networks(path, tmp_path, capsys):
    assert main(["verify", str(path)]) == 0
    assert "VERIFIED." in capsys.readouterr().out
    save(fitted(math.inf), tmp_path / "free.safetensors")
    assert main(["verify", str(tmp_path / "free.safetensors")]) == 1
    out, err = capsys.readouterr()
    assert "NOT PRIVATE" in out
    assert "nothing to verify" in err
    (tmp_path / "t.csv").write_text("a\n1\n")
    assert main(["predict", str(path), str(tmp_path / "t.csv")]) == 2
    assert "predict from rows in memory" in capsys.readouterr().err


ROWS = np.random.default_rng(4).uniform(-1, 1, size=(60, 4))
FRAME = pandas.DataFrame(ROWS, columns=list("abcd"))
LABELS = (ROWS[:, 0] > 0).astype(int)


def network(epsilon=1.0, **settings):
    return MLPClassifier(epsilon, classes=(0, 1), bounds=(-1, 1), hidden=4, epochs=1, batch=30, delta=1e-4, **settings)


@pytest.fixture(scope="module")
def pipeline():
    columns = {name: {"lower": -1, "upper": 1} for name in "abcd"}
    schema = Schema.from_dict({"columns": columns, "target": {"name": "y", "classes": [0, 1]}})
    steps = SchemaEncoder(schema), PrivateScaler(0.5, bounds=(0, 1), limit=1.0), network()
    return make_pipeline(*steps).fit(FRAME, LABELS)


def test_a_pipeline_that_ends_in_a_network(pipeline, tmp_path, capsys):
    """One price for scaler and network, in the file, on the command line and without PyTorch."""
    path = tmp_path / "net.json"  # the content tells what it is, not the name
    save(pipeline, path)
    again, schema = load_model(path)
    assert schema == pipeline[0].schema
    assert np.array_equal(again.predict_proba(FRAME), pipeline.predict_proba(FRAME))
    (whole,) = stated(path)
    assert whole.guarantees == (pipeline[1].guarantee_, pipeline[2].guarantee_)
    assert 0.999 < whole.verify() == whole.epsilon <= 1.5
    assert main(["verify", str(path)]) == 0
    assert "everything in this file together" in capsys.readouterr().out
    FRAME.assign(y=LABELS).to_csv(tmp_path / "t.csv", index=False)
    assert main(["predict", str(path), str(tmp_path / "t.csv"), "--out", str(tmp_path / "said.csv")]) == 0
    assert np.array_equal(pandas.read_csv(tmp_path / "said.csv").prediction, pipeline.predict(FRAME))
    assert main(["evaluate", str(path), str(tmp_path / "t.csv"), "--epsilon", "1"]) == 0
    assert "auc" in capsys.readouterr().out


def test_every_part_of_such_a_file_is_covered(pipeline, tmp_path):
    path = tmp_path / "net.safetensors"
    save(pipeline, path)
    content, tensors = parts(path)
    scaler = content["steps"][1]
    for changed in (
        {**content, "steps": content["steps"][:1]},
        {**content, "steps": [content["steps"][0], {**scaler, "center": [0.0] * len(scaler["center"])}]},
        {**content, "model": {**content["model"], "classes": [0, 2]}},
        {**content, "last": "other"},
    ):
        write(path, changed, tensors, seal=False)
        with pytest.raises(PrivacyError, match="checksum does not match"):
            load(path)
    for wrong, sentence in (
        ({**content, "version": 2}, "later version"),
        ({**content, "model": {**content["model"], "classes": [0, 2]}}, "checksum does not match"),
        ({**content, "steps": content["steps"][::-1]}, "is not the first one"),
        ({**content, "model": None}, "not a Tacit network file"),
    ):
        write(path, wrong, tensors)
        for read in (load, stated):
            with pytest.raises(PrivacyError, match=sentence):
                read(path)
    people = scaler["guarantee"] | {"rows_per_person": 2}
    people["checksum"] = checksum({key: value for key, value in people.items() if key != "checksum"})
    write(path, {**content, "steps": [content["steps"][0], {**scaler, "guarantee": people}]}, tensors)
    for read in (load, stated):
        with pytest.raises(PrivacyError, match="not the one that the model was trained behind"):
            read(path)
    write(path, content, {name: np.nextafter(value, 9, dtype=np.float32) for name, value in tensors.items()})
    with pytest.raises(PrivacyError, match="weights are not those"):
        load(path)


def test_a_network_costs_what_it_was_trained_behind(tmp_path):
    path, behind = tmp_path / "net", PrivateScaler(0.5, bounds=(-1, 1), limit=1.0)
    pipeline = make_pipeline(behind, network()).fit(ROWS, LABELS)
    save(pipeline, path)
    (whole,) = stated(path)
    content, tensors = parts(path)
    save(pipeline[-1], path)
    assert stated(path) == (whole,)
    save(load(path), path)
    assert stated(path) == (whole,)
    write(path, content["model"], tensors)  # taken out of the pipeline's file
    assert stated(path) == (whole,)
    before = path.read_bytes()
    behind.fit(ROWS)
    with pytest.raises(PrivacyError, match="not the one that the model was trained behind"):
        save(pipeline, path)
    pipeline[-1].set_params(smoothing=-1)
    with pytest.raises(ValueError, match="Nothing was written"):
        save(pipeline[-1], path)
    assert path.read_bytes() == before


def test_networks_save_themselves_and_know_their_columns(tmp_path, capsys):
    model = network().fit(FRAME, LABELS)
    assert list(model.feature_names_in_) == list("abcd")
    with pytest.raises(ValueError, match="feature names"):
        model.predict(FRAME[list("badc")])
    model.save(tmp_path / "net")
    again = load(tmp_path / "net")
    assert list(again.feature_names_in_) == list("abcd")
    assert np.array_equal(again.predict_proba(FRAME), model.predict_proba(FRAME))
    FRAME[list("dcba")].assign(y=LABELS).to_csv(tmp_path / "t.csv", index=False)
    assert main(["predict", str(tmp_path / "net"), str(tmp_path / "t.csv"), "--out", str(tmp_path / "said.csv")]) == 0
    assert np.array_equal(pandas.read_csv(tmp_path / "said.csv").prediction, model.predict(FRAME))
    assert main(["evaluate", str(tmp_path / "net"), str(tmp_path / "t.csv"), "--epsilon", "1", "--target", "y"]) == 0
    assert not hasattr(model.fit(ROWS, LABELS), "feature_names_in_")
    with pytest.raises(ValueError, match="Save both as a pipeline"):
        model.save(tmp_path / "net", Schema.from_dict({"columns": {"a": {"lower": 0, "upper": 1}}}))


def test_what_a_search_or_a_ledger_decided_comes_back(tmp_path):
    search = PrivateSearch(network(), {"hidden": [np.int64(3)]}, 1.0, delta=1e-4, trials=1.5).fit(ROWS, LABELS)
    search.save(tmp_path / "search")
    assert np.array_equal(load(tmp_path / "search").predict_proba(ROWS), search.predict_proba(ROWS))
    assert stated(tmp_path / "search") == (search.guarantee_,)
    ledger = tacit.Ledger(tmp_path / "ledger", epsilon=1.0, delta=1e-4)
    rest = network("rest", ledger=ledger).fit(ROWS, LABELS)
    rest.save(tmp_path / "rest")
    assert load(tmp_path / "rest").epsilon == rest.guarantee_.epsilon


def test_people_of_a_network_are_those_of_its_guarantee(tmp_path):
    model = network(rows_per_person=2).fit(ROWS, LABELS, groups=np.arange(60) // 2)
    model.save(tmp_path / "net")
    content, tensors = parts(tmp_path / "net")
    assert load(tmp_path / "net").rows_per_person == 2
    content["parameters"]["rows_per_person"] = None
    write(tmp_path / "net", content, tensors)
    with pytest.raises(PrivacyError, match="unit is not the one"):
        load(tmp_path / "net")


def test_network_files_of_version_2_are_read(path, private):
    """They have no names of columns, and the first of them no rows_per_person; version 3 has nothing paid before."""
    content, tensors = parts(path)
    write(path, {**content, "version": 3}, tensors)
    with pytest.raises(PrivacyError, match="fields"):
        load(path)
    assert content.pop("earlier") == []
    write(path, {**content, "version": 3}, tensors)
    load(path)
    del content["names"], content["parameters"]["rows_per_person"]
    write(path, {**content, "version": 2}, tensors)
    rows = np.zeros((3, 4))
    assert np.array_equal(load(path).predict_proba(rows), private.predict_proba(rows))
    write(path, {**content, "version": 2, "names": None}, tensors)
    with pytest.raises(PrivacyError, match="fields"):
        load(path)
    write(path, {**content, "version": 3}, tensors)
    with pytest.raises(PrivacyError, match="fields"):
        load(path)
