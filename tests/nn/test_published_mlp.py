"""Three papers' algorithms on a perceptron: derivatives against autograd, the printed noise, refusals, the claim."""

import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats
from sklearn.base import clone
from torch import nn
from torch.func import functional_call, grad, jacrev
from torch.nn.utils import parameters_to_vector

from tacit import Guarantee, PrivacyError, RefutedWarning, spent
from tacit.influence.network import NetworkInfluence
from tacit.nn import MLPClassifier, mlp_network
from tacit.nn.train import NetworkLoss
from tacit.privacy.noise import SeededSource
from tacit.published import PidpSgd, PublishedMLPClassifier
from tacit.published import perceptron as published_perceptron
from tacit.published.curvature import InverseHessian, largest
from tacit.published.networks import METHODS
from tacit.published.perceptron import Perceptron, Settings
from tacit.types import Budget, Facts

ALARM = 1e-6
SMALL = {
    "steps": 20,
    "classes": [0, 1],
    "constant": 1.0,
    "contribution_constant": 1.0,
    "delta": 1e-3,
    "random_state": 0,
}


def blobs(rng, n=120, features=4):
    y = rng.integers(0, 2, size=n)
    X = 0.3 * rng.normal(size=(n, features))
    X[:, 0] += np.where(y == 1, 0.8, -0.8)
    return 0.999 * X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True)), y  # within the ball: not clipped


def quietly(model, X, y):
    """The test about the warning is another one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        return model.fit(X, y)


def d_priv(model):
    """Rows and labels, by the explicit word that it asks for."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RefutedWarning)
        return model.perturbed_data_.release(raw_records=True)


def flat(model):
    return parameters_to_vector(model.network_.parameters()).detach().numpy()


def agrees(noise, scale):
    """A two-sided test of the variance of centred normal numbers; a true scale fails with probability ALARM."""
    square = float((np.asarray(noise) ** 2).sum()) / scale**2
    return stats.chi2.ppf(ALARM / 2, np.size(noise)) < square < stats.chi2.isf(ALARM / 2, np.size(noise))


def check_scale(noise, scale):
    """The noise has this scale, and the test would have seen ten per cent more or less."""
    assert agrees(noise, scale)
    assert not agrees(1.1 * noise, scale)
    assert not agrees(noise / 1.1, scale)


# --- the perceptron -------------------------------------------------------------------------------------------------
NOTHING = np.zeros((0, 6)), np.zeros(0, dtype=np.int64)


def perceptron(activation, classes=2, records=NOTHING, **settings):
    network = mlp_network(6, classes, 5, activation)
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(2.5)
    return Perceptron(network, *records, Settings(activation=activation, **settings))


def loss_of(model):
    def loss(weights, x, y):
        return nn.functional.cross_entropy(functional_call(model.network, weights, (x[None],)), y[None])

    return loss, {name: weight.detach() for name, weight in model.network.named_parameters()}


def joined(parts, width=None):
    """PyTorch's answers by name as one array, one row a parameter."""
    return torch.cat(
        [part.reshape(-1) if width is None else part.reshape(-1, width) for part in parts.values()]
    ).numpy()


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
@pytest.mark.parametrize("classes", [2, 3])
def test_derivatives_equal_autograd(activation, classes, rng):
    x, y = rng.normal(size=(8, 6)), rng.integers(0, classes, size=8)
    model = perceptron(activation, classes, (x, y), regularization=0.1)
    loss, weights = loss_of(model)
    pairs = list(zip(torch.from_numpy(x), torch.from_numpy(y), strict=True))
    rows = np.stack([joined(grad(loss)(weights, *pair)) for pair in pairs]) + 0.1 * model.flat
    assert model.gradients(slice(None)) == pytest.approx(rows, abs=1e-12)
    assert model.mean_gradient(model.passes(x, y), x) == pytest.approx(rows.mean(axis=0), abs=1e-12)
    before, noise = model.flat.copy(), rng.normal(size=model.flat.shape)
    model.step(x, y, 0.5, noise)
    assert model.flat == pytest.approx(before - 0.5 * (rows.mean(axis=0) + noise), abs=1e-12)
    assert np.array_equal(parameters_to_vector(model.filled().parameters()).detach().numpy(), model.flat)


@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
@pytest.mark.parametrize("classes", [2, 3])
def test_how_noise_on_a_record_is_passed_on(activation, classes, rng):
    """w_t against the singular values of the whole mixed derivative: from below, within its tolerance."""
    model = perceptron(activation, classes)
    loss, weights = loss_of(model)
    for x in rng.normal(size=(10, 6)):
        mixed = joined(jacrev(grad(loss), argnums=1)(weights, torch.from_numpy(x), torch.tensor(1)), 6)
        norm = float(np.linalg.norm(mixed, 2))
        found = model.passed_on(x, np.array([1]))
        assert found <= max(norm, 1e-12) * (1 + 1e-9)
        assert found == pytest.approx(norm, rel=2e-3, abs=1e-11)


def cross_entropies(scores, labels):
    return nn.functional.cross_entropy(scores, labels, reduction="none")


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # torch's own
@pytest.mark.parametrize("activation", ["tanh", "relu", "elu"])
def test_hessian_products_equal_those_of_influence_functions(activation, rng):
    x, y = rng.normal(size=(20, 6)), rng.integers(0, 3, size=20)
    model = perceptron(activation, 3, (x, y))
    v = rng.normal(size=model.flat.shape)
    other = NetworkInfluence(model.network, cross_entropies, torch.from_numpy(x), torch.from_numpy(y), damping=0.0)
    names = [name for name, _ in model.network.named_parameters()]
    image = other.times({n: torch.from_numpy(part.copy()) for n, part in zip(names, model.layers(v), strict=True)})
    assert model.hessian(slice(None))(v) == pytest.approx(joined(image), abs=1e-12)


def test_the_inverse_is_exact_with_all_directions_and_improves_with_their_number(rng):
    """Against the dense Hessian, its negative curvatures taken as flat."""
    model = perceptron("tanh", 2, (rng.normal(size=(60, 6)), rng.integers(0, 2, size=60)), regularization=0.0)
    size, times = len(model.flat), model.hessian(slice(None))
    dense = np.stack([times(row) for row in np.eye(size)])
    assert dense == pytest.approx(dense.T, abs=1e-12)
    values, vectors = np.linalg.eigh(dense)
    assert values[0] < 0
    rows = model.gradients(slice(5))
    exact = (rows @ vectors / (np.maximum(values, 0.0) + 0.02)) @ vectors.T
    errors = []
    for rank in (size, 30, 10):
        inverse = InverseHessian.of(times, rng.normal(size=size), rank, 0.02)
        errors.append(np.abs(inverse.times(rows) - exact).max() / np.abs(exact).max())
    assert errors[0] < 1e-8
    assert errors[0] < errors[1] < errors[2]


def krylov(times, start, steps):
    """Lanczos' method written again, every direction made orthogonal to all earlier ones: Ritz values and vectors."""
    basis = np.zeros((len(start), steps))
    for k in range(steps):
        for _ in range(2):
            start = start - basis @ (basis.T @ start)
        basis[:, k] = start / np.linalg.norm(start)
        start = times(basis[:, k])
    values, turns = np.linalg.eigh(basis.T @ np.stack([times(column) for column in basis.T], axis=1))
    return values, basis @ turns


@pytest.mark.parametrize("rank", [1, 5, 20])
def test_the_curvatures_are_those_of_one_krylov_space(rank, rng):
    """The space of ``rank + 1`` products, which begins at H times the start."""
    model = perceptron("tanh", 3, (rng.normal(size=(60, 6)), rng.integers(0, 3, size=60)))
    times = model.hessian(slice(None))
    start = rng.normal(size=model.flat.shape)
    values, vectors = largest(times, start, rank)
    again, directions = (part[..., -rank:] for part in krylov(times, times(start), rank + 1))
    assert values == pytest.approx(again, abs=1e-10)
    assert np.abs((vectors * directions).sum(axis=0)) == pytest.approx(np.ones(rank), abs=1e-8)
    assert np.array_equal(largest(times, start, rank)[1], vectors)


def test_pretraining_finds_a_point_without_slope(rng):
    model = perceptron("tanh", 2, blobs(rng, features=6), regularization=0.01, pretraining=500)
    model.minimise()
    assert np.linalg.norm(model.gradients(slice(None)).mean(axis=0)) < 1e-3


def test_pretraining_again_is_remembered_and_other_records_are_not_mistaken_for_it(rng, monkeypatch):
    monkeypatch.setattr(published_perceptron, "_PRETRAINED", {})
    data, other = blobs(rng, features=6), blobs(rng, features=6)
    found = []
    for records in (data, data, other):
        torch.manual_seed(0)
        model = perceptron("tanh", 2, records, regularization=0.01, pretraining=20)
        start = model.flat.copy()
        model.minimise()
        found.append(model.flat.copy())
        assert not np.array_equal(found[-1], start)
    assert len(published_perceptron._PRETRAINED) == 2
    assert np.array_equal(found[0], found[1])
    assert not np.array_equal(found[0], found[2])


# --- the noise, as printed ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("condition", ["strongly-convex", "polyak-lojasiewicz"])
def test_noise_of_input_perturbation(shared, condition, rng):
    """Equations (9) and (12) of Kang et al. 2020a: c = 3, G = 2, T = 2, epsilon 0.5."""
    X, y = blobs(rng, 40, 3000)
    model = PublishedMLPClassifier(
        "input-perturbation", 0.5, constant=3.0, delta=1e-4, lipschitz=2.0, steps=2, regularization=0.04, hidden=1,
        shared=shared, condition=condition, classes=[0, 1], random_state=1,
    )  # fmt: skip
    rows, labels = d_priv(quietly(model, X, y))
    noise = rows - X
    scale = math.sqrt(3 * 4 * 2 * math.log(1e4) / (40 * 39 * 0.25) / (0.2 if condition == "strongly-convex" else 1))
    check_scale(noise[0] if shared else noise, scale)
    assert np.allclose(noise[0], noise[1], atol=1e-12) == shared
    assert np.array_equal(labels, y)  # labels are not perturbed


def test_noise_of_dbdp_erm(rng):
    """Equation (10) of Kang et al. 2020b, q = 0.2."""
    X, y = blobs(rng, 50, 200)
    model = PublishedMLPClassifier(
        "dbdp-erm", 2.0, constant=0.5, delta=1e-3, steps=7, batch=0.2, hidden=2, classes=[0, 1], random_state=1
    )
    rows, _ = d_priv(quietly(model, X, y))
    check_scale(rows - X, 0.5 * 0.2 * math.sqrt(7 * math.log(1e3)) / 2)


def test_noise_of_pidp_sgd(rng):
    """Theorem 5 of Kang et al. 2023. One step of the same source without a budget: the difference is alpha b."""
    X, y = blobs(rng, 60, 100)
    settings = {"delta": 0.02, "rounds": 1, "local": 1, "step": 0.5, "rank": 4, "regularization": 0.01, "domain": 4.0}
    models = [
        quietly(PublishedMLPClassifier("pidp-sgd", epsilon, **{**SMALL, **settings, "constant": 2.0}), X, y)
        for epsilon in (2.0, math.inf)
    ]
    assert [model.noiseless_ for model in models] == [0.0, 1.0]
    noise = (flat(models[1]) - flat(models[0])) / 0.5
    check_scale(noise, 2.0 * (1 + 0.01 * 4) * math.sqrt(math.log(1 / 0.01)) / (60 * 0.75 * 2.0))


def test_noise_of_pi_dbdp_erm(rng):
    """Equation (15) with w_t by autograd. Steps of 1e-13 leave the pre-trained model, where w_t is taken."""
    X, y = blobs(rng, 50, 600)
    settings = {"steps": 8, "local": 8, "step": 1e-13, "hidden": 2, "rank": 4}
    model = PublishedMLPClassifier("pi-dbdp-erm", 0.5, **{**SMALL, **settings})
    rows, _ = d_priv(quietly(model, X, y))
    (moved,) = np.nonzero((rows != X).any(axis=1))
    assert 4 <= len(moved) <= 8
    assert model.noiseless_ == 0.0
    loss, weights = loss_of(Perceptron(model.network_, X, y, Settings()))
    points = [(torch.from_numpy(X[i]), torch.tensor(y[i])) for i in moved]
    w = [np.linalg.norm(joined(jacrev(grad(loss), argnums=1)(weights, *point), 600), 2) for point in points]
    check_scale((rows - X)[moved] * np.sqrt(w)[:, None], math.sqrt(8 * math.log(1e3)) / (50 * 0.5))


# --- which steps are without noise ----------------------------------------------------------------------------------
def test_steps_without_noise_are_plain_steps(rng):
    """Where every contribution is small, PIDP-SGD's round is the same as without a budget."""
    X, y = blobs(rng)
    settings = {**SMALL, "rounds": 1, "contribution_constant": 1e-9, "domain": 1e4, "zeta": 1.0, "hidden": 3}
    claimed, plain = (quietly(PublishedMLPClassifier("pidp-sgd", e, **settings), X, y) for e in (1.0, math.inf))
    assert claimed.noiseless_ == 1.0
    assert claimed.guarantee_.status == "refuted"
    assert np.array_equal(flat(claimed), flat(plain))


def test_blocks_do_not_change_a_decision(rng):
    facts = Facts(records=100, features=50, outputs=1, radius=1.0, loss=NetworkLoss(lipschitz=1.0, smoothness=10.0))
    mechanism = PidpSgd(constant=1.0, contribution_constant=1.0, local=10)
    plan = replace(mechanism.calibrate(Budget(1.0, 0.02), facts, 0.01, "paper"), contribution_scale=0.0)
    own = 0.5 * plan.ratio * plan.threshold * rng.uniform(-1.0, 1.0, size=(30, 50))
    own[::3, 47] = plan.threshold
    whole = plan.small(own, SeededSource(1), 50)
    assert np.array_equal(plan.small(own, SeededSource(1), 7), whole)
    assert np.array_equal(whole, np.arange(30) % 3 != 0)


def test_the_printed_norm_never_lets_a_record_pass_at_small_epsilon(rng):
    X, y = blobs(rng)
    found = [
        quietly(PublishedMLPClassifier("pi-dbdp-erm", 1.0, test=test, **{**SMALL, "regularization": 0.1}), X, y)
        for test in ("norm", "elements")
    ]
    assert found[0].noiseless_ == 0.0
    assert found[1].noiseless_ > 0.0


# --- the face -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("method", METHODS)
def test_refuted_loud_and_repeatable(method, rng):
    X, y = blobs(rng)
    model = PublishedMLPClassifier(method, 1.0, **SMALL)
    with pytest.warns(RefutedWarning, match=f"REFUTED: the published noise of {method}") as seen:
        model.fit(X, y)
    assert len(seen) == 1
    guarantee = Guarantee.from_json(model.guarantee_.to_json())
    assert guarantee == model.guarantee_
    assert guarantee.status == "refuted"
    assert guarantee.seeded
    assert "which nothing enforces" in str(guarantee)
    with pytest.raises(PrivacyError, match="refuted"):
        guarantee.verify()
    assert spent([guarantee], delta=0.1) == math.inf
    assert np.array_equal(flat(quietly(clone(model), X, y)), flat(model))
    assert not np.array_equal(flat(quietly(clone(model).set_params(random_state=None), X, y)), flat(model))
    assert model.predict_proba(X).sum(axis=1) == pytest.approx(np.ones(len(X)))


@pytest.mark.parametrize("method", METHODS)
def test_no_budget_no_noise_and_it_learns(method, rng):
    X, y = blobs(rng, 300)
    settings = {} if METHODS[method] == 1.0 else {"steps": 600, "step": 0.1}
    model = PublishedMLPClassifier(method, math.inf, **{**SMALL, "steps": 200, **settings}).fit(X, y)  # no warning
    assert model.guarantee_.events == ()
    assert "NOT PRIVATE" in str(model.guarantee_)
    assert model.score(X, y) > 0.95
    assert getattr(model, "noiseless_", 1.0) == 1.0
    if method != "pidp-sgd":
        assert np.array_equal(d_priv(model)[0], X)


def test_labels_of_any_kind_and_rows_of_any_length(rng):
    X, y = blobs(rng, 300)
    names = np.array(["no", "yes"])
    settings = {**SMALL, "steps": 200, "classes": names}
    model = PublishedMLPClassifier("input-perturbation", math.inf, **settings).fit(50.0 * X, names[y])
    assert np.linalg.norm(d_priv(model)[0], axis=1).max() <= 1.0
    assert set(d_priv(model)[1]) == {"no", "yes"}
    assert model.score(50.0 * X, names[y]) > 0.95
    inside = PublishedMLPClassifier("input-perturbation", math.inf, bounds=(-1.0, 1.0), **settings)
    inside.fit(np.vstack([X, np.full((1, 4), np.nan)]), np.append(names[y], "no"))
    assert d_priv(inside)[0] == pytest.approx(np.vstack([X, np.zeros((1, 4))]) / 2)


def test_what_an_earlier_fit_left_is_forgotten(rng):
    X, y = blobs(rng)
    model = quietly(PublishedMLPClassifier("pi-dbdp-erm", 1.0, **SMALL), X, y)
    quietly(model.set_params(method="pidp-sgd"), X, y)
    assert not hasattr(model, "perturbed_data_")
    quietly(model.set_params(method="dbdp-erm"), X, y)
    assert not hasattr(model, "noiseless_")


def test_mean_loss(rng):
    X, y = blobs(rng)
    model = quietly(PublishedMLPClassifier("dbdp-erm", 1.0, regularization=0.2, **SMALL), X, y)
    plain = -np.log(model.predict_proba(X)[np.arange(len(y)), y]).mean()
    assert model.mean_loss(X, y) == pytest.approx(plain + 0.1 * (flat(model) ** 2).sum())
    assert model.mean_loss(X, y, 0.0) == pytest.approx(plain)
    settings = {"classes": [0, 1], "bounds": (0, 1), "batch": 30, "epochs": 1, "hidden": 3, "random_state": 0}
    other = MLPClassifier(1.0, delta=1e-5, **settings).fit(X, y)
    plain = -np.log(other.predict_proba(X)[np.arange(len(y)), y]).mean()
    assert other.mean_loss(X, y) == pytest.approx(plain, rel=1e-6)
    assert other.mean_loss(X, y, 2.0) == pytest.approx(plain + (flat(other).astype(float) ** 2).sum(), rel=1e-6)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"constant": None}, "constant"),
        ({"delta": 0.0}, "delta > 0"),
        ({"classes": [0, 1, 2]}, "two classes"),
    ],
)
def test_what_is_refused(method, settings, message, rng):
    model = PublishedMLPClassifier(method, 1.0, **{**SMALL, **settings})
    with pytest.raises(PrivacyError, match=message):
        model.fit(*blobs(rng))
    assert not hasattr(model, "network_")


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "dp-sgd"}, "Expected method"),
        ({"contribution_constant": None}, "constant"),
        ({"classes": None}, "Expected classes"),
        ({"activation": "sin"}, "Expected activation"),
        ({"test": "mean"}, "Expected test"),
        ({"step": 0.0}, "Expected step"),
        ({"lipschitz": -1.0}, "Expected lipschitz"),
        ({"damping": -1.0}, "Expected damping"),
        ({"rank": 0}, "Expected rank"),
        ({"pretraining": 1.5}, "Expected pretraining"),
        ({"rounds": 0}, "Expected rounds"),
        ({"bounds": (1.0, 0.0)}, "Expected bounds"),
        ({"epsilon": 0.0}, "Expected epsilon"),
    ],
)
def test_errors_say_what_to_change(settings, message, rng):
    model = PublishedMLPClassifier(**{"method": "pidp-sgd", **SMALL, **settings})
    with pytest.raises(ValueError, match=message):
        model.fit(*blobs(rng))


def test_decisions_of_a_long_round_are_those_of_its_first_weights(rng, monkeypatch):
    """A round in several stretches: every influence is asked before the first step of the round."""
    from tacit.published import pidp_sgd

    x, y = blobs(rng)
    calls = []
    step, gradients = Perceptron.step, Perceptron.gradients
    monkeypatch.setattr(pidp_sgd, "TOGETHER", 5)
    monkeypatch.setattr(Perceptron, "step", lambda self, *rest: calls.append("step") or step(self, *rest))
    monkeypatch.setattr(Perceptron, "gradients", lambda self, picks: calls.append("asked") or gradients(self, picks))
    quietly(PublishedMLPClassifier("pidp-sgd", 1.0, **{**SMALL, "steps": None}, rounds=2, local=12), x, y)
    runs = [name for name, _ in itertools.groupby(calls)]
    assert runs == ["asked", "step", "asked", "step"]
    assert calls.count("step") == 24
