"""Private training of a network in double precision: Poisson batches, clipped sums, noise through the one door.

``torch.func`` computes the gradients of single records (for these networks it was the fastest of the routes measured,
docs page "Smoothing"); the rest of the chain is that of the linear models: the same sampler, event and noise on a grid.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit.checks import at_most
from tacit.mechanisms.samplers import Poisson
from tacit.nn.alone import LARGEST, chunks, gradients_of, safe_chunk, settled
from tacit.privacy import accounting
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import PoissonGaussian
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.privacy.rounding import U
from tacit.types import Array, Budget

Batch = NDArray[np.intp]


@dataclass(frozen=True)
class NetworkPlan:
    """Everything public about a training run: who takes part, how often, the clip and the noise."""

    sampler: Poisson
    steps: int
    clip: float
    scale: float
    divisor: float
    slack: float

    def released(self, steps: int | None = None) -> tuple[PoissonGaussian, ...]:
        """What the first ``steps`` steps (None: all) release; nothing without noise."""
        count = self.steps if steps is None else steps
        if not self.scale or not count:
            return ()
        return (PoissonGaussian(self.clip + self.slack, self.scale, self.sampler.rate, count),)


def plan(budget: Budget, records: int, size: int, rate: float, steps: int, clip: float) -> NetworkPlan:
    """Calibrate the noise of ``steps`` sums over Poisson batches of a network with ``size`` parameters."""
    sampler = Poisson(rate)

    def of(scale: float) -> NetworkPlan:
        slack = rounding(clip, records, size) + (grid_slack(scale, size) if scale else 0.0)
        return NetworkPlan(sampler, steps, clip, scale, sampler.expected(records, steps), slack)

    guess = clip * max(0.5, rate * math.sqrt(steps) / min(budget.epsilon, 1e3))
    return of(smallest_scale(lambda scale: of(scale).released(), budget, guess=guess))


def rounding(clip: float, records: int, size: int) -> float:
    r"""How far rounding lets one record move a computed sum beyond ``clip``, whatever the order of the additions.

    With :math:`u = 2^{-53}`, n records and p parameters: a norm is right to :math:`(p + 3)u` (squares, their sums, two
    roots) and the division by it to u, so a shrunk gradient is at most :math:`C(1 + (p + 5)u)` long. A sum of at most n
    of them, products included, errs by at most :math:`\gamma_{n+1} n C` (Higham 2002, section 3.1), and two sums are
    compared, with the record and without it:

    .. math:: C u \left(p + 5 + 2n(n + 2)\right),

    times 1.01 for terms of second order. The gradients themselves are the same in both sums (:mod:`tacit.nn.alone`).
    """
    return 1.01 * clip * U * (size + 5 + 2.0 * records * (records + 2))


def clipped_sum(
    network: nn.Module, images: torch.Tensor, labels: torch.Tensor, clip: float, chunk: int = LARGEST
) -> Array:
    """Sum over records of loss gradients, each shrunk to norm at most ``clip``, as one vector in double precision.

    Guarantee: whatever numbers PyTorch returns for a record, its part of the sum has norm at most ``clip``, and with a
    ``chunk`` from :func:`tacit.nn.alone.safe_chunk` one record more or less leaves the others' parts as they are; both
    up to :func:`rounding`. Edges: no records give zeros; a record whose gradient is not finite counts as zero.
    """
    gradients = gradients_of(network)
    total = torch.zeros(sum(p.numel() for p in network.parameters()), dtype=torch.float64, device=images.device)
    for rows, codes, count in chunks(images, labels, chunk):
        found = gradients(rows, codes).take(slice(count))
        parts, norms = found.parts, found.norms
        finite = torch.isfinite(norms)
        if not bool(finite.all()):
            parts, norms = [part[finite] for part in parts], norms[finite]
        factors = clip / torch.clamp(norms, min=clip)
        total += torch.cat([factors @ part.double() for part in parts])
    return np.asarray(total.cpu().numpy(), dtype=np.float64)


def train(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    labels: torch.Tensor,
    recipe: NetworkPlan,
    source: Source,
    after_step: Callable[[int], None],
    chunk: int | None = None,
) -> None:
    """Run the plan. Empty batches take a noisy step like any other; sums are divided by a public number.

    The network is trained in double precision and handed back in the precision that it came in. ``chunk`` is what
    :func:`tacit.nn.alone.safe_chunk` gave for this network in double precision; None asks it, before the first record.
    """
    before = next(network.parameters()).dtype
    network.double()
    parameters = [p for p in network.parameters() if p.requires_grad]
    if chunk is None:
        with settled():
            chunk = safe_chunk(network, tuple(images.shape[1:]), recipe.divisor)
    for t, rows in enumerate(_batches(recipe, len(labels), source)):
        index = torch.from_numpy(rows).to(images.device)
        with settled():
            total = clipped_sum(network, images[index].double(), labels[index], recipe.clip, chunk)
        noisy = torch.from_numpy(add_gaussian(total, recipe.scale, source) / recipe.divisor)
        start = 0
        for p in parameters:
            piece = noisy[start : start + p.numel()].reshape(p.shape)
            p.grad = piece.to(device=p.device, dtype=p.dtype)
            start += p.numel()
        optimizer.step()
        after_step(t + 1)
    network.to(before)


def _batches(recipe: NetworkPlan, records: int, source: Source) -> Iterator[Batch]:
    yield from recipe.sampler.batches(records, recipe.steps, source)


class Progress:
    """A line on standard error with the steps done and the epsilon spent so far; both are public."""

    def __init__(self, recipe: NetworkPlan, budget: Budget, shown: bool) -> None:
        self.recipe, self.budget, self.shown = recipe, budget, shown
        self.every = max(1, recipe.steps // 20)

    def __call__(self, step: int) -> None:
        """Show the state after this many steps."""
        last = step == self.recipe.steps
        if not self.shown or (step % self.every and not last):
            return
        spent = self.recipe.released(step)
        epsilon = accounting.epsilon(spent, self.budget.delta, self.budget.adjacency) if spent else math.inf
        done = 30 * step // self.recipe.steps
        text = f"\r[{'#' * done}{'.' * (30 - done)}] step {step}/{self.recipe.steps}, epsilon so far {at_most(epsilon)}"
        print(text, end="\n" if last else "", file=sys.stderr, flush=True)
