"""The implementation for every network: ``torch.func`` computes all records' gradients, written out.

A network sees one record at a time, so that no layer can mix them; ``vmap`` makes one call of many.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.nn.functional import pad
from torch.overrides import TorchFunctionMode

from tacit.nn.single import Gradients, Implementation, Part, Weights, weights_of

WORDS = 8
"""Numbers in a line of memory: every row of a matrix product starts at one."""


class _Aligned(TorchFunctionMode):
    """Linear layers with zeros added to both sides of the weights, up to a multiple of 8.

    A library for products may add up a row that starts at an odd number of words in another order than its neighbour.
    Then chunks of one row would be all that passes the check; with this every row starts alike.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not nn.functional.linear:
            return func(*args, **(kwargs or {}))
        return _aligned_linear(*args, **(kwargs or {}))


def _aligned_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    scores = aligned_product(input, aligned(weight), len(weight))
    return scores if bias is None else scores + bias


def aligned(weight: torch.Tensor) -> torch.Tensor:
    """A matrix with zeros below and to the right, up to multiples of 8. Edges: one that needs none is not copied."""
    outputs, inputs = weight.shape
    below, right = -outputs % WORDS, -inputs % WORDS
    return pad(weight, (0, right, 0, below)) if below or right else weight


def aligned_product(rows: torch.Tensor, weight: torch.Tensor, outputs: int) -> torch.Tensor:
    """Rows times the transpose of an aligned matrix, whose first ``outputs`` rows are not filling."""
    right = weight.shape[1] - rows.shape[-1]
    scores = nn.functional.linear(pad(rows, (0, right)) if right else rows, weight)
    return scores if outputs == len(weight) else scores[..., :outputs]


def _gradients(network: nn.Module, at: Weights | None = None) -> Callable[[torch.Tensor, torch.Tensor], Gradients]:
    weights = weights_of(network, at)

    def loss(point: Weights, image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(functional_call(network, point, (image[None],)), label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))

    def gradients(images: torch.Tensor, labels: torch.Tensor) -> Gradients:
        with _Aligned():
            found = each(weights, images, labels)
        return Gradients.of([Part(found[name].flatten(start_dim=1)) for name in weights])

    return gradients


VMAPPED = Implementation(_gradients, largest=128, held=1 << 26, call=300_000)
