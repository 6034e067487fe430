"""Private training of a network: Poisson batches, clipped sums in double precision, noise through the one door.

PyTorch computes gradients of single records (expanded weights through Opacus, the fastest route for these networks);
the rest of the chain is that of the linear models: the same sampler, the same event, the same noise on a grid.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from opacus.grad_sample.utils import wrap_model
from torch import nn

from tacit import accounting
from tacit.calibrate import smallest_scale
from tacit.events import PoissonGaussian
from tacit.mechanisms.samplers import Poisson
from tacit.noise import Source, add_gaussian, grid_slack
from tacit.types import Array, Budget

ROUNDING = 1e-4
"""Relative slack in the sensitivity for float32: how much the *other* records' gradients may move, all together."""
CHUNK = 256
"""Records whose gradients are held at a time: memory, and nothing else, depends on it."""

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
        slack = ROUNDING * clip + (grid_slack(scale, size) if scale else 0.0)
        return NetworkPlan(sampler, steps, clip, scale, sampler.expected(records, steps), slack)

    guess = clip * max(0.5, rate * math.sqrt(steps) / min(budget.epsilon, 1e3))
    return of(smallest_scale(lambda scale: of(scale).released(), budget, guess=guess))


def clipped_sum(model: nn.Module, images: torch.Tensor, labels: torch.Tensor, clip: float) -> Array:
    """Sum over records of loss gradients, each shrunk to norm at most ``clip``, as one vector in double precision.

    ``model`` is wrapped for per-record gradients. Guarantee: whatever numbers PyTorch returns for a record, its part of
    the sum has norm at most ``clip`` up to 1e-12: norms and sums are in float64. Edges: no records give zeros; a record
    whose gradient is not finite counts as zero.
    """
    parameters = [p for p in model.parameters() if p.requires_grad]
    totals = [torch.zeros(p.numel(), dtype=torch.float64, device=p.device) for p in parameters]
    for start in range(0, len(labels), CHUNK):
        part = slice(start, start + CHUNK)
        for p in parameters:
            p.grad = None
            p.grad_sample = None  # type: ignore[attr-defined]
        nn.functional.cross_entropy(model(images[part]), labels[part], reduction="sum").backward()  # type: ignore[no-untyped-call]
        with torch.no_grad():
            rows = [p.grad_sample.reshape(len(labels[part]), -1).double() for p in parameters]  # type: ignore[attr-defined]
            norms = torch.stack([row.square().sum(dim=1) for row in rows]).sum(dim=0).sqrt()
            factors = clip / torch.clamp(norms, min=clip)
            finite = torch.isfinite(norms)
            for total, row in zip(totals, rows, strict=True):
                total.add_(factors[finite] @ row[finite])
    for p in parameters:
        p.grad_sample = None  # type: ignore[attr-defined]
    return np.asarray(torch.cat(totals).cpu().numpy(), dtype=np.float64)


def train(
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    images: torch.Tensor,
    labels: torch.Tensor,
    recipe: NetworkPlan,
    source: Source,
    after_step: Callable[[int], None],
) -> None:
    """Run the plan. Empty batches take a noisy step like any other; sums are divided by a public number."""
    model = wrap_model(network, "ew", batch_first=True, loss_reduction="sum")
    parameters = [p for p in network.parameters() if p.requires_grad]
    for t, rows in enumerate(_batches(recipe, len(labels), source)):
        index = torch.from_numpy(rows).to(images.device)
        total = clipped_sum(model, images[index], labels[index], recipe.clip)
        noisy = torch.from_numpy(add_gaussian(total, recipe.scale, source) / recipe.divisor)
        start = 0
        for p in parameters:
            piece = noisy[start : start + p.numel()].reshape(p.shape)
            p.grad = piece.to(device=p.device, dtype=p.dtype)
            start += p.numel()
        optimizer.step()
        after_step(t + 1)


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
        text = f"\r[{'#' * done}{'.' * (30 - done)}] step {step}/{self.recipe.steps}, epsilon so far {epsilon:.3f}"
        print(text, end="\n" if last else "", file=sys.stderr, flush=True)
