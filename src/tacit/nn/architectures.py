"""The networks: of the paper for MNIST and CIFAR-10, and a perceptron with one hidden layer. No layer mixes records."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import nn

from tacit.arguments import checked
from tacit.checks import check, check_choice, check_count, shown

ACTIVATIONS: dict[str, Callable[[], nn.Module]] = {"tanh": nn.Tanh, "relu": nn.ReLU, "elu": nn.ELU}
"""Bounded activations keep gradients small, which suits clipping (Papernot et al. 2021): tanh is the default."""
MOST_UNITS = 10**7
"""The most units of a layer: far more than fit into memory with another layer as wide."""
MOST_PIXELS = 10**4
"""The most channels, and pixels per side, of an image."""
ALPHA = 0.001
"""Of the local response normalisation. TensorFlow's tutorial has 0.001 / 9 and sums over 9 channels; PyTorch takes
their mean."""


def _activation(name: str) -> nn.Module:
    check_choice("activation", name, ACTIVATIONS)
    return ACTIVATIONS[name]()


@checked
def mlp_network(features: int, classes: int, hidden: int | None = None, activation: str = "tanh") -> nn.Sequential:
    """One hidden layer, by default as wide as the input."""
    features, classes = check_count("features", features, MOST_UNITS), check_count("classes", classes, MOST_UNITS)
    width = features if hidden is None else check_count("hidden", hidden, MOST_UNITS)
    return nn.Sequential(
        nn.Flatten(), nn.Linear(features, width), _activation(activation), nn.Linear(width, classes)
    )  # fmt: skip


@checked
def mnist_network(
    classes: int = 10, activation: str = "tanh", shape: tuple[int, int, int] = (1, 28, 28)
) -> nn.Sequential:
    """The network of TensorFlow Privacy's MNIST tutorial (and of Opacus' example): 26,010 parameters.

    16 filters of 8x8 with stride 2, 32 of 4x4 with stride 2, each followed by 2x2 max pooling with stride 1; 32 units.
    The paper has ReLU; other image shapes than 1x28x28 are taken as they come.
    """
    classes, shape = check_count("classes", classes, MOST_UNITS), _shape(shape)
    layers = nn.Sequential(
        nn.Conv2d(shape[0], 16, 8, stride=2, padding=3), _activation(activation), nn.MaxPool2d(2, 1),
        nn.Conv2d(16, 32, 4, stride=2), _activation(activation), nn.MaxPool2d(2, 1), nn.Flatten(),
    )  # fmt: skip
    layers.extend([nn.Linear(_width(layers, shape), 32), _activation(activation), nn.Linear(32, classes)])
    return layers


@checked
def cifar_network(
    classes: int = 10, activation: str = "tanh", shape: tuple[int, int, int] = (3, 32, 32)
) -> nn.Sequential:
    """The network of TensorFlow's CIFAR-10 tutorial: 1,756,426 parameters.

    Two layers of 64 filters of 5x5 with 3x3 max pooling of stride 2 and local response normalisation, then 384 and 192
    units.
    """
    classes, shape = check_count("classes", classes, MOST_UNITS), _shape(shape)
    layers = nn.Sequential(
        nn.Conv2d(shape[0], 64, 5, padding=2), _activation(activation), nn.MaxPool2d(3, 2, padding=1),
        nn.LocalResponseNorm(9, alpha=ALPHA, beta=0.75), nn.Conv2d(64, 64, 5, padding=2), _activation(activation),
        nn.LocalResponseNorm(9, alpha=ALPHA, beta=0.75), nn.MaxPool2d(3, 2, padding=1), nn.Flatten(),
    )  # fmt: skip
    layers.extend(
        [
            nn.Linear(_width(layers, shape), 384), _activation(activation),
            nn.Linear(384, 192), _activation(activation), nn.Linear(192, classes),
        ]
    )  # fmt: skip
    return layers


def _shape(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """Channels, height and width of images that the layers can take."""
    check(
        isinstance(shape, tuple | list) and len(shape) == 3,
        f"Expected shape to be (channels, height, width), not {shown(shape)}.",
    )
    channels, height, width = (check_count("every number of shape", size, MOST_PIXELS) for size in shape)
    check(
        min(height, width) >= 16,
        f"Expected images of shape (channels, height, width) with at least 16 pixels on each side, got {tuple(shape)}.",
    )
    return channels, height, width


def _width(layers: nn.Sequential, shape: tuple[int, int, int]) -> int:
    """Numbers that the layers make of one image."""
    with torch.no_grad():
        return int(layers(torch.zeros(1, *shape)).numel())
