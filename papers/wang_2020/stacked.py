r"""Layers that hold many networks at once, with the gradients of single records (needs PyTorch).

The state between layers has the axes (groups, records, height, width, fold, channels): groups times fold is the number
of networks. Networks of a group see the same images, so the first convolution is one product for all of them; later
ones have a group for each. The mathematics is that of :mod:`tacit.nn.layered`: convolutions are linear layers on
patches, gradients of convolutions are written out, those of linear layers stay factors (Goodfellow 2015).
"""

import math
from dataclasses import dataclass
from itertools import product

import torch
from torch.nn import functional

from papers.wang_2020.runs import ALPHA


class _Patches(torch.autograd.Function):
    """(groups, records, h, w, fold, channels) to (groups * fold, records, places, filter * channels), and back."""

    @staticmethod
    def forward(ctx, images, size, stride):
        ctx.images, ctx.size, ctx.stride = images.shape, size, stride
        seen = images.unfold(2, size, stride).unfold(3, size, stride).permute(0, 4, 1, 2, 3, 6, 7, 5)
        ctx.seen = seen.shape
        return seen.flatten(5).flatten(3, 4).flatten(0, 1)

    @staticmethod
    def backward(ctx, back):
        pieces, found = back.reshape(ctx.seen), back.new_zeros(ctx.images)
        below, aside, step = ctx.seen[3], ctx.seen[4], ctx.stride
        for i, j in product(range(ctx.size), repeat=2):
            part = pieces[:, :, :, :, :, i, j].permute(0, 2, 3, 4, 1, 5)
            found[:, :, i : i + step * below : step, j : j + step * aside : step] += part
        return found, None, None


@dataclass(frozen=True)
class Filters:
    """A convolution: ``outputs`` filters of ``size`` x ``size``."""

    inputs: int
    outputs: int
    size: int
    stride: int = 1
    pad: int = 0

    @property
    def shapes(self):
        """Of weight and bias, as PyTorch has them."""
        return (self.outputs, self.inputs, self.size, self.size), (self.outputs,)

    def forward(self, state, weight, bias):
        """The next state, and the patches that the gradient needs. ``state`` of one fold serves all networks."""
        if self.pad:
            state = functional.pad(state, (0, 0, 0, 0, self.pad, self.pad, self.pad, self.pad))
        under = _Patches.apply(state, self.size, self.stride)
        groups, records, places, length = under.shape
        fold, high = len(weight) // groups, (state.shape[2] - self.size) // self.stride + 1
        across = weight.movedim(2, -1).reshape(groups, fold * self.outputs, length).mT
        offsets = bias.reshape(groups, 1, fold * self.outputs)
        scores = torch.baddbmm(offsets, under.view(groups, records * places, length), across)
        return scores.view(groups, records, high, -1, fold, self.outputs), under

    def gradients(self, under, back):
        """Each record's squared norm (networks, records); and what :meth:`total` needs."""
        groups, records, places, length = under.shape
        fold = back.shape[4]
        flat = back.reshape(groups * records, places, fold * self.outputs)
        weight = torch.bmm(flat.mT, under.view(groups * records, places, length))
        weight = weight.view(groups, records, fold, self.outputs * length).movedim(2, 1).flatten(0, 1)
        bias = flat.sum(1).view(groups, records, fold, self.outputs).movedim(2, 1).flatten(0, 1)
        squares = torch.linalg.vector_norm(weight, dim=2).square() + torch.linalg.vector_norm(bias, dim=2).square()
        return squares, (weight, bias)

    def total(self, parts, factors):
        """Sums over records of gradients times factors, in PyTorch's order of numbers."""
        weight, bias = (torch.bmm(factors[:, None], part).squeeze(1) for part in parts)
        shape = (-1, self.outputs, self.size, self.size, self.inputs)
        return weight.view(shape).movedim(-1, 2).flatten(1), bias


@dataclass(frozen=True)
class Dense:
    """A linear layer; images are read in PyTorch's order, channels first."""

    inputs: int
    outputs: int

    @property
    def shapes(self):
        """Of weight and bias."""
        return (self.outputs, self.inputs), (self.outputs,)

    def forward(self, state, weight, bias):
        """The next state, and the rows that the gradient needs."""
        rows = state.permute(0, 4, 1, 5, 2, 3).reshape(len(weight), state.shape[1], self.inputs)
        scores = torch.baddbmm(bias[:, None], rows, weight.mT)
        return scores[:, :, None, None, None], rows

    def gradients(self, rows, back):
        """As of :class:`Filters`, from the factors."""
        back = back.reshape(*rows.shape[:2], self.outputs)
        outer = back.square().sum(2)
        return outer * rows.square().sum(2) + outer, (rows, back)

    def total(self, parts, factors):
        """As of :class:`Filters`."""
        rows, back = parts
        weighted = factors[:, :, None] * back
        return torch.bmm(weighted.mT, rows).flatten(1), weighted.sum(1)


@dataclass(frozen=True)
class Pool:
    """The largest of ``size`` x ``size`` places."""

    size: int
    stride: int
    pad: int = 0

    def __call__(self, state):
        """The next state."""
        groups, records, high, wide, fold, channels = state.shape
        seen = state.reshape(groups * records, high, wide, fold * channels).movedim(3, 1)
        found = functional.max_pool2d(seen, self.size, self.stride, self.pad).movedim(1, 3)
        return found.reshape(groups, records, *found.shape[1:3], fold, channels)


@dataclass(frozen=True)
class ResponseNorm:
    """Local response normalisation over 9 channels, each network by itself."""

    alpha: float

    def __call__(self, state):
        """The next state."""
        seen = state.movedim(5, 2).flatten(0, 1).flatten(2)
        found = functional.local_response_norm(seen, 9, alpha=self.alpha, beta=0.75)
        return found.view(*state.shape[:2], state.shape[5], *state.shape[2:5]).movedim(2, 5)


def _mnist(activation, alpha):
    del alpha
    return (
        Filters(1, 16, 8, 2, 3), activation, Pool(2, 1), Filters(16, 32, 4, 2), activation, Pool(2, 1),
        Dense(512, 32), activation, Dense(32, 10),
    )  # fmt: skip


def _cifar(activation, alpha):
    norm = ResponseNorm(alpha)
    return (
        Filters(3, 64, 5, 1, 2), activation, Pool(3, 2, 1), norm, Filters(64, 64, 5, 1, 2), activation,
        norm, Pool(3, 2, 1), Dense(4096, 384), activation, Dense(384, 192), activation, Dense(192, 10),
    )  # fmt: skip


@dataclass(frozen=True)
class Stack:
    """Layers of one architecture, and where each parameter stands in a network's row of numbers."""

    layers: tuple

    @classmethod
    def of(cls, data, activation, alpha=ALPHA):
        """The paper's network for these images; ``alpha`` is that of CIFAR-10's response normalisation."""
        layers, function = {"mnist": _mnist, "cifar10": _cifar}[data], {"relu": torch.relu, "tanh": torch.tanh}
        return cls(layers(function[activation], alpha))

    @property
    def shapes(self):
        """Of all parameters, in PyTorch's order."""
        return [shape for layer in self.layers if isinstance(layer, Filters | Dense) for shape in layer.shapes]

    @property
    def sizes(self):
        """Numbers in each parameter."""
        return [math.prod(shape) for shape in self.shapes]

    def start(self, seed):
        """PyTorch's own rule: uniform within one over the root of the inputs of a unit, weights and biases alike."""
        generator, pieces, bound = torch.Generator().manual_seed(seed), [], 0.0
        for shape in self.shapes:
            bound = 1 / math.sqrt(math.prod(shape[1:])) if len(shape) > 1 else bound
            pieces.append((2 * torch.rand(shape, generator=generator, dtype=torch.float64) - 1).flatten() * bound)
        return torch.cat(pieces)

    def forward(self, weights, images):
        """Scores (networks, records, classes), and (layer, what its gradient needs, its output) of every layer.

        ``weights`` is (networks, numbers); ``images`` (groups, records, height, width, channels).
        """
        shapes, state, kept = iter(self.shapes), images[:, :, :, :, None], []
        pieces = iter(weights.split(self.sizes, dim=1))
        for layer in self.layers:
            if isinstance(layer, Filters | Dense):
                own = [next(pieces).reshape(-1, *next(shapes)) for _ in range(2)]
                state, needed = layer.forward(state, *own)
                if torch.is_grad_enabled() and not state.requires_grad:
                    state.requires_grad_()
                kept.append((layer, needed, state))
            else:
                state = layer(state)
        return state[:, :, 0, 0, 0], kept

    def clipped_sums(self, weights, images, labels, taken, clips):
        """Sums of single records' gradients, each shrunk to its network's clip (networks, numbers).

        ``labels`` and ``taken`` are (groups, records), ``taken`` 1 for records and 0 for what only fills a place;
        ``clips`` is (networks, 1), infinite where nothing is clipped. A gradient that is not finite counts as zero.
        """
        copies = len(weights) // len(images)
        with torch.enable_grad():
            scores, kept = self.forward(weights, images)
            codes = labels.repeat_interleave(copies, 0).flatten()
            loss = functional.cross_entropy(scores.flatten(0, 1), codes, reduction="sum")
            backs = torch.autograd.grad(loss, [output for _, _, output in kept])
        with torch.no_grad():
            found = [
                layer.gradients(needed.detach(), back) for (layer, needed, _), back in zip(kept, backs, strict=True)
            ]
            norms = torch.stack([squares for squares, _ in found]).sum(0).sqrt()
            factors = torch.where(torch.isfinite(norms), torch.clamp(clips / norms, max=1.0), 0.0)
            factors = factors * taken.repeat_interleave(copies, 0)
            sums = [layer.total(parts, factors) for (layer, _, _), (_, parts) in zip(kept, found, strict=True)]
        return torch.cat([piece for pair in sums for piece in pair], dim=1)
