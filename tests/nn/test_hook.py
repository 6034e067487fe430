"""The one line beside Opacus: where smoothing comes in the step, and that nothing else changes."""

import copy
import warnings

import numpy as np
import pytest
import torch
from opacus import PrivacyEngine
from opacus.optimizers import DPOptimizer
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from tacit.linear.smoothing import smooth as smooth_array
from tacit.nn import mnist_network, smooth, smooth_tensor

# Opacus warns that its noise is not from a secure generator, and that hooks on inputs without gradients do not fire.
pytestmark = pytest.mark.filterwarnings("ignore")


def model_and_data(records=64, seed=0):
    torch.manual_seed(seed)
    model = nn.Sequential(nn.Linear(6, 5), nn.Tanh(), nn.Linear(5, 3))
    data = TensorDataset(torch.randn(records, 6), torch.randint(0, 3, (records,)))
    return model, data


OPTIMIZERS = {
    "sgd": lambda p: torch.optim.SGD(p, lr=0.1),
    "momentum": lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9),
    "adam": lambda p: torch.optim.Adam(p, lr=0.01),
}


def private(optimizer_name, sigma=None, seed=0, records=64, batch=16, poisson=True):
    model, data = model_and_data(records, seed)
    optimizer = OPTIMIZERS[optimizer_name](model.parameters())
    engine = PrivacyEngine()
    model, optimizer, loader = engine.make_private(
        module=model, optimizer=optimizer, data_loader=DataLoader(data, batch_size=batch), noise_multiplier=1.0,
        max_grad_norm=1.0, poisson_sampling=poisson, noise_generator=torch.Generator().manual_seed(seed),
    )  # fmt: skip
    if sigma is not None:
        optimizer = smooth(optimizer, sigma=sigma)
    return model, optimizer, loader, engine


def run(model, optimizer, loader, epochs=2):
    torch.manual_seed(1)
    for _ in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
    return torch.cat([p.detach().flatten() for p in model.parameters()])


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("shape", [(1,), (7,), (3, 4), (2, 3, 5, 5), (0, 3)])
def test_tensors_are_smoothed_as_arrays_are(shape, dtype, rng):
    values = rng.normal(size=shape)
    tensor = torch.from_numpy(values).to(dtype)
    expected = smooth_array(tensor.double().numpy(), 1.5)
    error = {torch.float64: 1e-12, torch.float32: 1e-6, torch.bfloat16: 1e-2, torch.float16: 2e-3}[dtype]
    smoothed = smooth_tensor(tensor, 1.5)
    assert smoothed.dtype == dtype
    assert smoothed.shape == tensor.shape
    assert np.allclose(smoothed.double().numpy(), expected, atol=error)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")
def test_smoothing_on_cuda_is_smoothing_on_the_cpu(rng):
    values = torch.from_numpy(rng.normal(size=(8, 9)))
    assert torch.allclose(smooth_tensor(values.cuda(), 2.0).cpu(), smooth_tensor(values, 2.0), atol=1e-12)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_zero_smoothing_is_opacus_bit_for_bit(name):
    plain = run(*private(name)[:3])
    assert torch.equal(run(*private(name, sigma=0.0)[:3]), plain)
    assert not torch.allclose(run(*private(name, sigma=1.0)[:3]), plain)


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_smoothing_comes_after_the_noise_and_before_the_moments(name):
    model, optimizer, loader, _ = private(name, sigma=2.0, poisson=False)
    twin, twin_optimizer, twin_loader, _ = private(name, poisson=False)
    inner = twin_optimizer.original_optimizer
    for (x, y), (x2, y2) in zip(loader, twin_loader, strict=True):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(x), y).backward()
        optimizer.step()
        twin_optimizer.zero_grad()
        nn.functional.cross_entropy(twin(x2), y2).backward()
        assert twin_optimizer.pre_step()  # clips, adds noise, divides
        for p in twin.parameters():
            p.grad = torch.from_numpy(smooth_array(p.grad.double().numpy(), 2.0)).float()
        inner.step()
    for p, q in zip(model.parameters(), twin.parameters(), strict=True):
        assert torch.allclose(p, q, atol=1e-5)


def test_the_accountant_is_untouched():
    spent = []
    for sigma in (None, 1.0):
        model, optimizer, loader, engine = private("sgd", sigma=sigma)
        run(model, optimizer, loader)
        spent.append(engine.get_epsilon(1e-5))
    assert spent[0] == spent[1]


def test_hooking_before_make_private_is_the_same():
    model, data = model_and_data()
    optimizer = smooth(torch.optim.SGD(model.parameters(), lr=0.1), sigma=1.0)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=DataLoader(data, batch_size=16), noise_multiplier=1.0,
        max_grad_norm=1.0, noise_generator=torch.Generator().manual_seed(0),
    )  # fmt: skip
    assert isinstance(optimizer, DPOptimizer)
    assert torch.equal(run(model, optimizer, loader), run(*private("sgd", sigma=1.0)[:3]))


def test_virtual_steps_are_smoothed_once():
    whole = run(*private("momentum", sigma=1.0, poisson=False)[:3], epochs=1)
    model, optimizer, loader, _ = private("momentum", sigma=1.0, poisson=False)
    with BatchMemoryManager(data_loader=loader, max_physical_batch_size=4, optimizer=optimizer) as small:
        parts = run(model, optimizer, small, epochs=1)
    assert torch.allclose(whole, parts, atol=1e-6)


def test_empty_batches_take_a_smoothed_noisy_step():
    model, optimizer, _, _ = private("sgd", sigma=1.0)
    before = [p.detach().clone() for p in model.parameters()]
    optimizer.zero_grad()
    nn.functional.cross_entropy(model(torch.zeros(0, 6)), torch.zeros(0, dtype=torch.long), reduction="sum").backward()
    optimizer.step()
    moved = [(a - b).flatten() for a, b in zip(before, model.parameters(), strict=True)]
    assert all(bool(m.abs().sum() > 0) for m in moved)
    roughness = [float(((m - m.roll(1)) ** 2).sum() / (2 * ((m - m.mean()) ** 2).sum())) for m in moved if len(m) > 10]
    assert max(roughness) < 0.75  # about 1 for white noise; smoothing with sigma = 1 leaves about 0.4


def test_parameter_groups_keep_their_own_strength_and_travel_with_the_state():
    model, _ = model_and_data()
    optimizer = torch.optim.SGD(
        [{"params": model[0].parameters()}, {"params": model[2].parameters(), "lr": 0.5}], lr=0.1
    )
    smooth(optimizer, sigma=1.0)
    optimizer.param_groups[1]["smoothing"] = 0.0
    gradients = [torch.randn_like(p) for p in model.parameters()]
    before = [p.detach().clone() for p in model.parameters()]
    for p, g in zip(model.parameters(), gradients, strict=True):
        p.grad = g.clone()
    optimizer.step()
    moved = [b - p.detach() for b, p in zip(before, model.parameters(), strict=True)]
    assert torch.allclose(moved[0], 0.1 * smooth_tensor(gradients[0], 1.0), atol=1e-6)
    assert torch.allclose(moved[2], 0.5 * gradients[2], atol=1e-6)
    state = copy.deepcopy(optimizer.state_dict())
    fresh = torch.optim.SGD([{"params": model[0].parameters()}, {"params": model[2].parameters()}], lr=9.0)
    smooth(fresh, sigma=5.0).load_state_dict(state)
    assert [group["smoothing"] for group in fresh.param_groups] == [1.0, 0.0]


def test_state_round_trip_goes_on_as_if_nothing_happened():
    model, optimizer, loader, _ = private("adam", sigma=1.0)
    run(model, optimizer, loader, epochs=1)
    saved = copy.deepcopy(optimizer.state_dict())
    weights = copy.deepcopy(model.state_dict())
    other, other_optimizer, _, _ = private("adam", sigma=1.0)
    other.load_state_dict(weights)
    other_optimizer.load_state_dict(saved)
    gradient = [torch.randn_like(p) for p in model.parameters()]
    for m, o in ((model, optimizer), (other, other_optimizer)):
        for p, g in zip(m.parameters(), gradient, strict=True):
            p.grad = g.clone()
        o.original_optimizer.step()
    for p, q in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.equal(p, q)


def test_smoothing_twice_is_smoothing_once_with_the_last_strength():
    model, _ = model_and_data()
    optimizer = smooth(smooth(torch.optim.SGD(model.parameters(), lr=1.0), sigma=5.0), sigma=1.0)
    parameter = model[0].weight
    before, gradient = parameter.detach().clone(), torch.randn_like(parameter)
    parameter.grad = gradient.clone()
    optimizer.step()
    assert torch.allclose(before - parameter.detach(), smooth_tensor(gradient, 1.0), atol=1e-6)


def test_what_cannot_be_smoothed_says_so():
    model, _ = model_and_data()
    with pytest.raises(ValueError, match="to be a torch"):
        smooth(model)
    optimizer = smooth(torch.optim.SGD(model.parameters(), lr=1.0))
    with pytest.raises(ValueError, match="without a closure"):
        optimizer.step(lambda: torch.zeros(()))
    table = nn.Embedding(5, 3, sparse=True)
    optimizer = smooth(torch.optim.SGD(table.parameters(), lr=1.0))
    table(torch.tensor([1])).sum().backward()
    with pytest.raises(ValueError, match="dense gradients"):
        optimizer.step()


def test_opacus_mnist_example_with_our_one_line(rng):
    """The training loop of Opacus' examples/mnist.py on random images; the one added line is marked."""
    images = torch.from_numpy(rng.random((64, 1, 28, 28), dtype=np.float32))
    train_loader = DataLoader(TensorDataset(images, torch.randint(0, 10, (64,))), batch_size=32)
    model = mnist_network(activation="relu")
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0)
    privacy_engine = PrivacyEngine(secure_mode=False)
    model, optimizer, train_loader = privacy_engine.make_private(
        module=model, optimizer=optimizer, data_loader=train_loader, noise_multiplier=1.0, max_grad_norm=1.0
    )
    optimizer = smooth(optimizer, sigma=1.0)  # <- the one line
    model.train()
    criterion, losses = nn.CrossEntropyLoss(), []
    for data, target in train_loader:
        optimizer.zero_grad()
        loss = criterion(model(data), target)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert np.isfinite(losses).all()
    assert 0 < privacy_engine.accountant.get_epsilon(delta=1e-5) < 100


def test_plain_training_warns_of_nothing():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model, _ = model_and_data()
        optimizer = smooth(torch.optim.Adam(model.parameters()), 1.0)
        nn.functional.cross_entropy(model(torch.randn(4, 6)), torch.zeros(4, dtype=torch.long)).backward()
        optimizer.step()
