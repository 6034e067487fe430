"""Private networks: sensitivity of the sum, the guarantee, the noise through the door, files without pickle."""

import json
import math

import numpy as np
import pytest
import torch
from oracles import door
from safetensors import safe_open
from safetensors.torch import save_file
from sklearn.base import clone
from torch import nn

from tacit import Guarantee, PrivacyError
from tacit.files import load as load_file
from tacit.files import save
from tacit.mechanisms import Chosen
from tacit.nn import CNNClassifier, MLPClassifier, cifar_network, mlp_network, mnist_network
from tacit.nn.train import NetworkDescent, NetworkLoss, clipped_sum
from tacit.privacy.events import PoissonGaussian
from tacit.privacy.guarantee import checksum
from tacit.privacy.noise import choose
from tacit.training import calibrate
from tacit.types import Budget, Facts


def load(path, **options):
    return load_file(path, **options).model


def blobs(rng, n=240, features=6):
    y = rng.integers(0, 3, size=n)
    return np.clip(0.5 + 0.4 * np.eye(3, features)[y] + 0.1 * rng.normal(size=(n, features)), 0, 1), y


def per_record_gradients(network, images, labels):
    """The same gradients by plain backward passes, one record at a time."""
    rows = []
    for image, label in zip(images, labels, strict=True):
        network.zero_grad()
        nn.functional.cross_entropy(network(image[None]), label[None]).backward()
        rows.append(torch.cat([p.grad.flatten() for p in network.parameters()]).double().numpy())
    return np.stack(rows)


@pytest.mark.parametrize("build", [mnist_network, cifar_network, lambda: mlp_network(20, 10)])
def test_the_clipped_sum_is_the_sum_of_clipped_gradients(build):
    network = build()
    shape = {26_010: (1, 28, 28), 1_756_426: (3, 32, 32), 630: (20,)}[sum(p.numel() for p in network.parameters())]
    images, labels = torch.randn(5, *shape), torch.arange(5)
    rows = per_record_gradients(network, images, labels)
    norms = np.linalg.norm(rows, axis=1)
    for clip in (0.3, 1e6):
        expected = (rows * np.minimum(1, clip / norms)[:, None]).sum(axis=0)
        found = clipped_sum(network, images, labels, clip)
        assert found.dtype == np.float64
        assert np.abs(found - expected).max() < 1e-5 * max(1.0, np.abs(expected).max())


def test_one_record_moves_the_sum_by_the_clip_at_most_whatever_it_holds():
    network = mlp_network(4, 3)
    others, labels = torch.randn(6, 4), torch.randint(0, 3, (6,))
    base = clipped_sum(network, others, labels, 0.5)
    for record in (torch.zeros(4), 1e6 * torch.ones(4), torch.full((4,), math.nan), torch.full((4,), math.inf)):
        more = clipped_sum(network, torch.cat([others, record[None]]), torch.cat([labels, labels[:1]]), 0.5)
        assert np.isfinite(more).all()
        assert np.linalg.norm(more - base) <= 0.5 * (1 + 1e-4)
    assert np.array_equal(clipped_sum(network, others[:0], labels[:0], 0.5), np.zeros_like(base))


def test_chunks_do_not_change_the_sum():
    network = mlp_network(4, 3)
    x, y = torch.randn(50, 4), torch.randint(0, 3, (50,))
    whole = clipped_sum(network, x, y, 0.5)
    assert np.abs(clipped_sum(network, x, y, 0.5, 7) - whole).max() < 1e-6


def test_training_is_in_double_precision(rng, monkeypatch):
    """Chunks or not, sums are the same within what is paid for; in single precision they would not be."""
    kinds, true = set(), clipped_sum

    def watched(network, images, *args):
        kinds.add((images.dtype, next(network.parameters()).dtype))
        return true(network, images, *args)

    monkeypatch.setattr("tacit.nn.train.clipped_sum", watched)
    X, y = blobs(rng)
    model = MLPClassifier(
        1.0, delta=1e-5, classes=range(3), bounds=(-5.0, 5.0), batch=40, epochs=1, hidden=16, random_state=0
    ).fit(X, y)
    assert kinds == {(torch.float64, torch.float64)}
    assert next(model.network_.parameters()).dtype == torch.float32
    x, labels = torch.randn(128, 64, generator=torch.Generator().manual_seed(0)), torch.arange(128) % 3

    def company(dtype):
        torch.manual_seed(0)
        network = mlp_network(64, 3).to(dtype)
        with torch.no_grad():
            for p in network.parameters():
                p.mul_(30)
        parts = [clipped_sum(network, x[i : i + 1].to(dtype), labels[i : i + 1], 1.0, 1) for i in range(128)]
        return np.linalg.norm(clipped_sum(network, x.to(dtype), labels, 1.0) - np.sum(parts, axis=0))

    assert company(torch.float64) <= 1e-10
    assert company(torch.float32) > 1e-10, "vacuous: single precision would do"


@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_the_plan_spends_the_budget_and_no_more(adjacency):
    budget = Budget(1.0, 1e-5, adjacency)
    facts = Facts(records=10_000, features=500, outputs=1, radius=1.0, loss=NetworkLoss())
    recipe = calibrate(facts, Chosen("dp-sgd", NetworkDescent(rate=0.05, steps=100, clip=1.0), budget))
    from tacit.privacy import accounting

    price = accounting.epsilon(recipe.events, 1e-5, adjacency)
    assert 0.99 <= price <= 1.0
    assert accounting.epsilon(recipe.until(50), 1e-5, adjacency) < price
    (event,) = recipe.events
    assert isinstance(event, PoissonGaussian)
    assert event.clip > 1.0  # rounding is paid for


def test_the_sampler_that_runs_is_the_one_that_is_priced(rng, monkeypatch):
    X, y = blobs(rng)
    drawn = []
    monkeypatch.setattr(
        "tacit.mechanisms.samplers.choose", lambda source, n, rate: drawn.append((n, rate)) or choose(source, n, rate)
    )
    model = MLPClassifier(
        2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=40, epochs=2, hidden=4, random_state=0
    ).fit(X, y)
    (event,) = model.guarantee_.events
    assert drawn == [(240, event.rate)] * event.count
    assert event.rate == pytest.approx(40 / 240)


def test_noise_goes_through_the_door_at_the_stated_scale(rng):
    X, y = blobs(rng)
    with door() as calls:
        model = MLPClassifier(
            2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=40, epochs=1, hidden=4, random_state=0
        ).fit(X, y)
    (event,) = model.guarantee_.events
    assert len(calls) == event.count
    assert all(call.scale == event.scale for call in calls)
    assert {call.values.size for call in calls} == {6 * 4 + 4 + 4 * 3 + 3}


@pytest.mark.parametrize("settings", [{}, {"smoothing": 1.0}, {"optimizer": "adam", "step": 0.03}], ids=str)
def test_networks_learn_and_their_guarantee_verifies(settings, rng):
    X, y = blobs(rng, n=600)
    model = MLPClassifier(
        20.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=100, epochs=15, hidden=8, random_state=1, **settings
    ).fit(X, y)
    assert model.score(X, y) > 0.8
    assert model.guarantee_.verify() <= 20.0
    assert model.guarantee_.seeded
    again = Guarantee.from_json(model.guarantee_.to_json())
    assert again.verify() == model.guarantee_.verify()
    assert model.guarantee_.method == ("dp-lssgd" if "smoothing" in settings else "dp-sgd")


def test_seeds_repeat_and_operating_system_entropy_does_not(rng):
    X, y = blobs(rng)
    model = MLPClassifier(
        2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=60, epochs=1, hidden=4, random_state=3
    )
    torch.manual_seed(5)
    before = torch.random.get_rng_state()
    one, two = clone(model).fit(X, y), clone(model).fit(X, y)
    assert torch.equal(torch.random.get_rng_state(), before)  # PyTorch's own stream is left alone
    assert np.array_equal(one.decision_function(X), two.decision_function(X))
    model.set_params(random_state=None)
    one, two = clone(model).fit(X, y), clone(model).fit(X, y)
    assert not np.array_equal(one.decision_function(X), two.decision_function(X))
    assert not one.guarantee_.seeded


def test_no_budget_no_noise(rng):
    X, y = blobs(rng)
    model = MLPClassifier(math.inf, classes=range(3), bounds=(0, 1), batch=60, epochs=5, hidden=8, random_state=0).fit(
        X, y
    )
    assert model.guarantee_.events == ()
    assert "NOT PRIVATE" in str(model.guarantee_)


def test_progress_shows_epsilon_so_far(rng, capsys):
    X, y = blobs(rng)
    MLPClassifier(
        2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=60, epochs=1, hidden=4, random_state=0, verbose=True
    ).fit(X, y)
    shown = capsys.readouterr().err
    assert "step 4/4, epsilon so far 1.9" in shown or "step 4/4, epsilon so far 2" in shown


@pytest.mark.parametrize("kind", ["mlp", "cnn"])
def test_files_hold_the_model_and_no_pickle(kind, rng, tmp_path):
    images, y = rng.integers(0, 256, size=(40, 28, 28)).astype(np.uint8), rng.integers(0, 2, size=40)
    make = MLPClassifier if kind == "mlp" else CNNClassifier
    extra = {"hidden": 4} if kind == "mlp" else {}
    model = make(3.0, delta=1e-5, classes=[0, 1], batch=20, epochs=1, random_state=0, **extra).fit(images, y)
    path = tmp_path / "model.safetensors"
    save(model, path)
    raw = path.read_bytes()
    header = json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])
    assert "random_state" not in header["__metadata__"]["tacit"]
    other = load(path)
    assert np.array_equal(other.predict_proba(images), model.predict_proba(images))
    assert other.guarantee_ == model.guarantee_
    assert other.predict_proba(images).sum(axis=1) == pytest.approx(np.ones(40))
    path.write_bytes(raw.replace(b"smoothing", b"smoothinh", 1))
    with pytest.raises(PrivacyError, match="checksum"):
        load(path)
    path.write_bytes(raw[:100])
    with pytest.raises(PrivacyError, match="malformed"):
        load(path)
    with pytest.raises(ValueError, match="Expected a fitted model of Tacit"):
        save("not a model", path)


def test_inputs_are_clipped_to_public_bounds(rng):
    X, y = blobs(rng)
    model = MLPClassifier(
        2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=60, epochs=1, hidden=4, random_state=0
    ).fit(X, y)
    wild = X.copy()
    wild[0] = [np.nan, np.inf, -np.inf, 1e300, -5, 2]
    tame = X.copy()
    tame[0] = [0.5, 1, 0, 1, 0, 1]
    assert np.array_equal(model.decision_function(wild), model.decision_function(tame))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"classes": None}, "Expected classes"),
        ({"classes": [0, 1]}, "not among classes"),
        ({"optimizer": "lion"}, "Expected optimizer"),
        ({"activation": "sin"}, "Expected activation"),
        ({"bounds": (1.0, 0.0)}, "Expected bounds"),
        ({"bounds": None}, r"Expected bounds=\(lower, upper\)"),
        ({"clip": -1.0}, "Expected clip"),
        ({"smoothing": -1.0}, "Expected smoothing"),
        ({"epsilon": 0.0}, "Expected epsilon"),
    ],
)
def test_errors_say_what_to_change(settings, message, rng):
    X, y = blobs(rng)
    model = MLPClassifier(
        **{"epsilon": 1.0, "classes": range(3), "bounds": (0, 1), "epochs": 1, "hidden": 4, **settings}
    )
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


def test_images_have_shapes(rng):
    with pytest.raises(ValueError, match="Expected images"):
        CNNClassifier(1.0, classes=[0, 1], bounds=(0, 1), epochs=1).fit(rng.random((10, 784)), np.zeros(10, dtype=int))
    with pytest.raises(ValueError, match="16 pixels on each side"):
        CNNClassifier(1.0, classes=[0, 1], bounds=(0, 1), epochs=1).fit(rng.random((10, 8, 8)), np.zeros(10, dtype=int))


@pytest.mark.parametrize("kind", [MLPClassifier, CNNClassifier])
def test_only_bytes_have_bounds_of_their_own(kind, rng):
    """Numbers that happen to lie in 0 to 1 and numbers that do not are refused alike: no bound is guessed."""
    images, y = rng.integers(0, 256, size=(20, 16, 16)).astype(np.uint8), np.arange(20) % 2
    model = kind(3.0, delta=1e-5, classes=[0, 1], batch=10, epochs=1, random_state=0)
    for other in (images / 255.0, images.astype(int), images > 100):
        with pytest.raises(ValueError, match="Only bytes"):
            clone(model).fit(other, y)
    fitted = clone(model).fit(images, y)
    with pytest.raises(ValueError, match="Only bytes"):  # they would all count as black
        fitted.predict(images / 255.0)
    wide = clone(model).set_params(bounds=(0, 1)).fit(images / 255.0, y)
    assert wide.decision_function(images / 255.0) == pytest.approx(fitted.decision_function(images), abs=1e-3)


def test_a_file_of_an_older_version_keeps_its_bounds(rng, tmp_path):
    X, y = blobs(rng)
    model = MLPClassifier(2.0, delta=1e-5, classes=range(3), bounds=(0, 1), batch=60, epochs=1, hidden=4).fit(X, y)
    expected = model.predict(X)
    path = tmp_path / "old.safetensors"
    save(model, path)
    with safe_open(str(path), framework="pt") as file:
        content = json.loads(file.metadata()["tacit"])
        tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    del content["checksum"]
    del content["version"], content["tensors"], content["names"], content["earlier"]
    content["parameters"]["bounds"], content["bytes"] = None, False
    save_file(tensors, str(path), metadata={"tacit": json.dumps({**content, "checksum": checksum(content)})})
    with pytest.raises(PrivacyError, match="did not cover the weights"):
        load(path)
    old = load(path, accept_uncovered=True)
    assert old.bounds == (0.0, 1.0)
    assert np.array_equal(old.predict(X), expected)
