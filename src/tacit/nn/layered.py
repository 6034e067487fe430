r"""The implementation for chains of known layers: one pass forward and back for a whole chunk, gradients as factors.

The pass back stops at the layers' outputs: with the input of a linear layer they are the factors of its gradient
(:mod:`tacit.nn.single`). A convolution is the product :math:`W U` of its weights and the matrix :math:`U` of the
patches under the filter, made once: it serves the pass forward, and then the gradient :math:`B U^T`, which is small and
is written out.

A layer here sees many records at once, and must not mix them: so the layers are a list of known types, each with the
settings under which it does not. Any other network takes :mod:`tacit.nn.vmapped`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import product
from typing import Any

import torch
from torch import nn
from torch.nn.functional import pad

from tacit.nn.single import Gradients, Implementation, Part, Weights, weights_of
from tacit.nn.vmapped import VMAPPED, aligned, aligned_product

PLAIN = (nn.Identity, nn.Tanh, nn.ReLU, nn.ELU, nn.Sigmoid, nn.MaxPool2d, nn.AvgPool2d, nn.LocalResponseNorm)
"""Layers without weights that are called as they are: each number of the result is made from its own record's."""
Map = Callable[[torch.Tensor], torch.Tensor]


def _chain(network: nn.Module) -> Iterator[nn.Module]:
    """The layers in order; chains within chains are opened. Types are compared exactly: a subclass may do anything."""
    if type(network) is nn.Sequential:
        for layer in network:
            yield from _chain(layer)
    else:
        yield network


def _is_known(layer: nn.Module) -> bool:
    """Whether this layer computes each record's result from that record alone, as it is computed here."""
    if type(layer) is nn.Conv2d:
        numbers = not isinstance(layer.padding, str) and layer.padding_mode == "zeros"
        return numbers and layer.groups == 1 and layer.dilation == (1, 1)
    if type(layer) is nn.Flatten:
        return layer.start_dim == 1
    changes = getattr(layer, "inplace", False) or getattr(layer, "return_indices", False)
    return type(layer) is nn.Linear or (type(layer) in PLAIN and not changes)


def is_layered(network: nn.Module) -> bool:
    """Whether the network is a chain of known layers, each of which occurs once and holds its own weights."""
    layers = list(_chain(network))
    own = [id(p) for layer in layers for p in layer.parameters()]
    return all(map(_is_known, layers)) and bool(own) and own == [id(p) for p in network.parameters()]


def implementation_of(network: nn.Module) -> Implementation:
    """The fastest way to this network's gradients; it depends on the layers only."""
    return LAYERED if is_layered(network) else VMAPPED


class _Patches(torch.autograd.Function):
    """The numbers under a filter at every place: images (n, h, w, channels) become (n, places, filter x channels).

    Back, each number gets what its places have, added up in one order: slices of the filter, one after the other.
    """

    @staticmethod
    def forward(images: torch.Tensor, size: tuple[int, int], stride: tuple[int, int]) -> torch.Tensor:
        seen = images.unfold(1, size[0], stride[0]).unfold(2, size[1], stride[1])
        return seen.permute(0, 1, 2, 4, 5, 3).flatten(3).flatten(1, 2)

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: torch.Tensor) -> None:
        ctx.images, ctx.size, ctx.stride = inputs[0].shape, inputs[1], inputs[2]

    @staticmethod
    def backward(ctx: Any, back: torch.Tensor) -> Any:
        (count, high, wide, channels), (rows, columns), (down, right) = ctx.images, ctx.size, ctx.stride
        below, aside = (high - rows) // down + 1, (wide - columns) // right + 1
        pieces = back.view(count, below, aside, rows, columns, channels)
        found = back.new_zeros(ctx.images)
        for i, j in product(range(rows), range(columns)):
            found[:, i : i + down * below : down, j : j + right * aside : right] += pieces[:, :, :, i, j]
        return found, None, None


class _Dense:
    """A linear layer at these weights."""

    def __init__(self, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self.weight, self.bias, self.outputs = aligned(weight), bias, len(weight)

    def forward(self, rows: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The output, and what the gradient needs of the input."""
        scores = aligned_product(rows, self.weight, self.outputs)
        return scores if self.bias is None else scores + self.bias, rows

    def parts(self, rows: torch.Tensor, back: torch.Tensor) -> list[Part]:
        """Factors; where a record has several rows here the gradient is a sum over them, and is written out."""
        if rows.ndim == 2:
            return [Part(back, rows), *([] if self.bias is None else [Part(back)])]
        rows, back = rows.flatten(1, -2), back.flatten(1, -2)
        found = [Part((back.mT @ rows).flatten(1))]
        return found if self.bias is None else [*found, Part(back.sum(1))]


class _Filters:
    """A convolution at these weights: a linear layer on patches, channels last."""

    def __init__(self, layer: nn.Conv2d, weight: torch.Tensor, bias: torch.Tensor | None) -> None:
        self.layer, self.shape = layer, weight.movedim(1, -1).shape
        self.inner = _Dense(weight.movedim(1, -1).flatten(1), bias)

    def forward(self, images: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """The output, and what the gradient needs of the input."""
        size, stride, (above, aside) = self.layer.kernel_size, self.layer.stride, map(int, self.layer.padding)
        last = images.movedim(1, -1)
        framed = pad(last, (0, 0, aside, aside, above, above)) if above or aside else last
        under = _Patches.apply(framed, size, stride)  # type: ignore[no-untyped-call]
        scores, _ = self.inner.forward(under)
        places = (framed.shape[1] - size[0]) // stride[0] + 1
        return scores.reshape(len(scores), places, -1, self.inner.outputs).movedim(-1, 1), under

    def parts(self, under: torch.Tensor, back: torch.Tensor) -> list[Part]:
        """The gradient written out: it is smaller than its factors."""
        found = self.inner.parts(under, back.movedim(1, -1))
        return [replace(found[0], last=self.shape), *found[1:]]


def _gradients(network: nn.Module, at: Weights | None = None) -> Callable[[torch.Tensor, torch.Tensor], Gradients]:
    weights, names = weights_of(network, at), {id(p): name for name, p in network.named_parameters()}

    def placed(layer: nn.Module) -> _Dense | _Filters | Map:
        if isinstance(layer, nn.Linear | nn.Conv2d):
            weight, bias = (None if p is None else weights[names[id(p)]] for p in (layer.weight, layer.bias))
            assert weight is not None  # for the type checker
            return _Dense(weight, bias) if isinstance(layer, nn.Linear) else _Filters(layer, weight, bias)
        return layer

    layers = [placed(layer) for layer in _chain(network)]

    def gradients(images: torch.Tensor, labels: torch.Tensor) -> Gradients:
        state, inputs, outputs = images, [], []
        for layer in layers:
            if isinstance(layer, _Dense | _Filters):
                state, needed = layer.forward(state)
                inputs.append((layer, needed.detach()))
                outputs.append(state if state.requires_grad else state.requires_grad_())  # the first: back to here
            else:
                state = layer(state)
        backs = torch.autograd.grad(nn.functional.cross_entropy(state, labels, reduction="sum"), outputs)
        found = [layer.parts(needed, back) for (layer, needed), back in zip(inputs, backs, strict=True)]
        return Gradients.of([part for parts in found for part in parts])

    return gradients


LAYERED = Implementation(_gradients, largest=256, held=1 << 20, call=30_000)
