"""Gradients as factors: those of ``torch.func``, the layers that may be computed so, and factors out of all bounds."""

import math

import numpy as np
import pytest
import torch
from torch import nn

from tacit.mechanisms import Poisson
from tacit.nn import MLPClassifier, cifar_network, mlp_network, mnist_network
from tacit.nn.layered import LAYERED, implementation_of, is_layered
from tacit.nn.single import LONGEST, Gradients, Part
from tacit.nn.train import NetworkPlan, NetworkProblem, clipped_sum
from tacit.nn.vmapped import VMAPPED
from tacit.privacy.noise import SeededSource

NETWORKS = {
    "perceptron": (lambda: mlp_network(37, 3, 13, "relu"), (37,)),
    "one layer, no bias": (lambda: nn.Sequential(nn.Linear(8, 3, bias=False)), (8,)),
    "chains in a chain": (
        lambda: nn.Sequential(nn.Sequential(nn.Linear(5, 4), nn.Sigmoid()), nn.Identity(), nn.Linear(4, 3)), (5,)
    ),
    "several rows a record": (
        lambda: nn.Sequential(nn.Linear(5, 4), nn.Tanh(), nn.Flatten(), nn.Linear(24, 3)), (6, 5)
    ),
    "mnist": (lambda: mnist_network(3, "relu"), (1, 28, 28)),
    "cifar": (lambda: cifar_network(3, "elu", (3, 16, 17)), (3, 16, 17)),
    "oblong filters": (
        lambda: nn.Sequential(
            nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(0, 2)), nn.ELU(), nn.AvgPool2d(2),
            nn.Conv2d(3, 5, (2, 3), bias=False), nn.MaxPool2d((1, 2), ceil_mode=True), nn.Flatten(), nn.LazyLinear(3),
        ), (2, 11, 9),
    ),
}  # fmt: skip


def built(name):
    torch.manual_seed(0)
    build, shape = NETWORKS[name]
    network = build().double()
    network(torch.zeros(1, *shape, dtype=torch.float64))
    return network, shape


def dense(found):
    """Each record's gradient, written out."""
    total = torch.zeros(len(found.norms), sum(part.size for part in found.parts), dtype=torch.float64)
    for i, row in enumerate(total):
        found.take(slice(i, i + 1)).add(row, torch.ones(1, dtype=torch.float64))
    return total


@pytest.mark.parametrize("name", NETWORKS)
def test_factors_are_the_gradients_of_torch_func(name):
    network, shape = built(name)
    assert implementation_of(network) is LAYERED
    rows, labels = torch.randn(6, *shape, dtype=torch.float64), torch.arange(6) % 3
    rows[3], rows[4] = 0.0, 7.0  # maxima with ties
    one, other = (implementation.gradients(network, None)(rows, labels) for implementation in (LAYERED, VMAPPED))
    assert torch.allclose(dense(one), dense(other), rtol=1e-12, atol=1e-13)
    assert torch.allclose(one.norms, other.norms, rtol=1e-12, atol=0.0)
    assert torch.allclose(one.norms, dense(one).norm(dim=1), rtol=1e-12, atol=0.0)
    assert (one.norms[:3] > 0.01).all(), "vacuous: no gradients"


@pytest.mark.parametrize("name", NETWORKS)
def test_a_record_counts_with_its_gradient_cut_to_the_clip(name):
    """A clip that is not applied to a layer, or a layer that is left out of the norm, shows here."""
    network, shape = built(name)
    rows, labels = 3 * torch.randn(4, *shape, dtype=torch.float64), torch.arange(4) % 3
    norms = LAYERED.gradients(network, None)(rows, labels).norms
    for i, norm in enumerate(norms.tolist()):
        for clip in (0.3 * norm, 3 * norm):
            found = clipped_sum(network, rows[i : i + 1], labels[i : i + 1], clip)
            assert np.linalg.norm(found) == pytest.approx(min(norm, clip), rel=1e-12)


class Sub(nn.Linear):
    """A layer that does as it likes."""


def twice():
    layer = nn.Linear(4, 4)
    return nn.Sequential(layer, nn.Tanh(), layer)


@pytest.mark.parametrize(
    "network",
    [
        nn.Linear(4, 3), nn.Sequential(nn.Linear(4, 3), nn.ReLU()), nn.Sequential(nn.Conv2d(1, 2, 3), nn.Flatten()),
    ],
)  # fmt: skip
def test_known_layers_are_taken(network):
    assert is_layered(network)


@pytest.mark.parametrize(
    "network",
    [
        nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)), nn.Sequential(nn.Linear(4, 4), nn.Softmax(dim=0)),
        nn.Sequential(nn.Linear(4, 4), nn.Dropout()), nn.Sequential(nn.Linear(4, 4), nn.ReLU(inplace=True)),
        nn.Sequential(nn.Flatten(0), nn.Linear(4, 4)), nn.Sequential(Sub(4, 3)), nn.Sequential(nn.Tanh()), twice(),
        nn.Sequential(nn.Conv2d(2, 4, 3, groups=2)), nn.Sequential(nn.Conv2d(1, 2, 3, padding="same")),
        nn.Sequential(nn.Conv2d(1, 2, 3, dilation=2)),
        nn.Sequential(nn.Conv2d(1, 2, 3, padding=1, padding_mode="circular")),
        nn.Sequential(nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))),
        nn.Sequential(nn.Linear(4, 4), nn.MaxPool2d(2, return_indices=True)), nn.Sequential(nn.GRU(4, 4)),
    ],
)  # fmt: skip
def test_what_may_mix_records_or_is_not_known_takes_the_other_implementation(network):
    assert implementation_of(network) is VMAPPED


def test_factors_whose_squares_leave_the_numbers_do_not_hide_a_gradient():
    """1e-170 squared is 0: beside 1e153 the product is longer than some clip, and would be seen as 0."""
    left = torch.tensor([[1e-170, 0.0], [1e-170, 0.0], [0.0, 2.0]], dtype=torch.float64)
    right = torch.tensor([[1e153], [1e60], [3.0]], dtype=torch.float64)
    assert Part(left, right).norms().tolist() == [math.inf, 0.0, 6.0]
    assert LONGEST * 1e-162 < 1e-70
    assert Gradients.of([Part(left, right), Part(left)]).norms[0] == math.inf
    network = nn.Sequential(nn.Linear(1, 2, bias=False)).double()
    for row in (1e100, 1e160):  # finite gradients, too long to be told
        rows, labels = torch.tensor([[row], [1.0]], dtype=torch.float64), torch.tensor([1, 1])
        assert np.array_equal(clipped_sum(network, rows[:1], labels[:1], 1e-3), np.zeros(2))
        assert np.array_equal(
            clipped_sum(network, rows, labels, 1e-3), clipped_sum(network, rows[1:], labels[1:], 1e-3)
        )


def test_a_clip_below_all_norms_that_can_be_told_is_refused(rng):
    X, y = rng.random((20, 3)), np.arange(20) % 2
    with pytest.raises(ValueError, match=r"clip=1e-31 >= 1e-30"):
        MLPClassifier(1.0, delta=1e-5, classes=[0, 1], bounds=(0, 1), clip=1e-31).fit(X, y)


def test_weights_that_are_held_fast_do_not_shift_the_others_gradients():
    network = mlp_network(4, 3, 5).double()
    network[1].weight.requires_grad_(False)
    rows, labels = torch.randn(7, 4, dtype=torch.float64), torch.arange(7) % 3
    expected = clipped_sum(network, rows, labels, 1.0)[-3:] / 7
    before = network[3].bias.detach().clone()
    optimizer = torch.optim.SGD([p for p in network.parameters() if p.requires_grad], lr=1.0)
    plan = NetworkPlan(sampler=Poisson(1.0), steps=1, clip=1.0, scale=0.0, divisor=7.0, events=())
    plan.run(NetworkProblem(network, optimizer, rows, labels), SeededSource(0))
    np.testing.assert_allclose((before - network[3].bias.detach()).numpy(), expected, atol=1e-12)
