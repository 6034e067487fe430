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
from torch.func import functional_call, grad, vmap
from torch.linalg import vector_norm

from tacit import accounting
from tacit.calibrate import smallest_scale
from tacit.checks import at_most
from tacit.events import PoissonGaussian
from tacit.mechanisms.samplers import Poisson
from tacit.noise import Source, add_gaussian, grid_slack
from tacit.types import Array, Budget

ROUNDING = 1e-10
"""How much one record's gradient in double precision may depend on the rest of its chunk, relative to the clip, by the
order in which a product is added up. Measured: up to 1e-13 (in single precision it would be 1e-5)."""
CHUNK, CHUNK_NUMBERS = 128, 1 << 26
"""Records whose gradients are held at a time, and numbers: memory, and nothing else, depends on them."""

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
        slack = rounding(clip, records) + (grid_slack(scale, size) if scale else 0.0)
        return NetworkPlan(sampler, steps, clip, scale, sampler.expected(records, steps), slack)

    guess = clip * max(0.5, rate * math.sqrt(steps) / min(budget.epsilon, 1e3))
    return of(smallest_scale(lambda scale: of(scale).released(), budget, guess=guess))


def rounding(clip: float, records: int) -> float:
    """What all records of a batch together may add to the sensitivity: :data:`ROUNDING`, as if all took part."""
    return ROUNDING * clip * records


def clipped_sum(network: nn.Module, images: torch.Tensor, labels: torch.Tensor, clip: float) -> Array:
    """Sum over records of loss gradients, each shrunk to norm at most ``clip``, as one vector in double precision.

    Guarantee: whatever numbers PyTorch returns for a record, its part of the sum has norm at most ``clip`` up to 1e-12:
    norms and sums are in float64. Edges: no records give zeros; a record whose gradient is not finite counts as zero.
    """
    weights = {name: p.detach() for name, p in network.named_parameters()}
    total = torch.zeros(sum(p.numel() for p in weights.values()), dtype=torch.float64, device=images.device)

    def loss(point: dict[str, torch.Tensor], image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(functional_call(network, point, (image[None],)), label[None])

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))
    held = max(1, min(CHUNK, CHUNK_NUMBERS // max(1, len(total))))
    for start in range(0, len(labels), held):
        part = gradients(weights, images[start : start + held], labels[start : start + held])
        rows = [part[name].flatten(start_dim=1) for name in weights]
        norms = torch.stack([vector_norm(row, dim=1, dtype=torch.float64) for row in rows]).norm(dim=0)
        finite = torch.isfinite(norms)
        if not bool(finite.all()):
            rows, norms = [row[finite] for row in rows], norms[finite]
        factors = clip / torch.clamp(norms, min=clip)
        total += torch.cat([factors @ row.double() for row in rows])
    return np.asarray(total.cpu().numpy(), dtype=np.float64)


def train(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    labels: torch.Tensor,
    recipe: NetworkPlan,
    source: Source,
    after_step: Callable[[int], None],
) -> None:
    """Run the plan. Empty batches take a noisy step like any other; sums are divided by a public number.

    The network is trained in double precision and handed back in the precision that it came in.
    """
    before = next(network.parameters()).dtype
    network.double()
    parameters = [p for p in network.parameters() if p.requires_grad]
    for t, rows in enumerate(_batches(recipe, len(labels), source)):
        index = torch.from_numpy(rows).to(images.device)
        total = clipped_sum(network, images[index].double(), labels[index], recipe.clip)
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
