"""Network files: one checksum covers weights, settings and guarantee; lying headers and swapped parts are refused."""

import json
import math

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file, save_file

from tacit import PrivacyError
from tacit.cli.main import main
from tacit.files import load as load_model
from tacit.files import save
from tacit.files import tensors as network_file
from tacit.nn import MLPClassifier
from tacit.privacy.guarantee import checksum


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
        ("bytes", 0), ("version", 3), ("version", True), ("format", "onnx"), ("parameters", {}), ("parameters", None),
        ("extra", 1), ("tensors", None), ("guarantee", {}),
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
