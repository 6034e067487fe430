"""Steps on single records, one record a network and step: with PyTorch, or on a GPU by one kernel for the whole walk.

Noise is on the gradient (PIDP-SGD) or on the row (PI-DBDP-ERM), where a step is not quiet.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import torch

from papers.perceptrons.stack import Stack


@dataclass(frozen=True)
class Records:
    """Rows and labels that all networks share."""

    x: torch.Tensor
    y: torch.Tensor

    @property
    def count(self) -> int:
        """n."""
        return len(self.y)


class Normals(Protocol):
    """Where normal numbers come from."""

    def normal(self, *shape: int) -> torch.Tensor:
        """Standard normal numbers."""


@dataclass(frozen=True)
class Noise:
    """One generator for choices and for normal numbers; ``kind`` is their device and type."""

    generator: torch.Generator
    device: torch.device
    dtype: torch.dtype

    def normal(self, *shape: int) -> torch.Tensor:
        """Standard normal numbers."""
        return torch.randn(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def uniform(self, *shape: int) -> torch.Tensor:
        """Numbers in [0, 1)."""
        return torch.rand(shape, generator=self.generator, device=self.device, dtype=self.dtype)

    def picks(self, networks: int, steps: int, records: int) -> torch.Tensor:
        """A record for each network and step, with replacement."""
        return torch.randint(records, (networks, steps), generator=self.generator, device=self.device)


@dataclass(frozen=True)
class Walk:
    """Which records, at which steps nothing is added; step sizes and scales, a number a network."""

    picks: torch.Tensor
    quiet: torch.Tensor
    rates: torch.Tensor
    scales: torch.Tensor
    on_rows: bool


def walk(stack: Stack, records: Records, plan: Walk, noise: Normals) -> None:
    """Take all steps, in place."""
    if stack.flat.is_cuda:
        from papers.perceptrons.kernel import launch

        launch(stack, records, plan, noise)
    else:
        walk_by_steps(stack, records, plan, noise)


def walk_by_steps(stack: Stack, records: Records, plan: Walk, noise: Normals) -> None:
    """The same with PyTorch, step by step: what the kernel is held to."""
    for t in range(plan.picks.shape[1]):
        x, y, loud = records.x[plan.picks[:, t]], records.y[plan.picks[:, t]], ~plan.quiet[:, t]
        scales = torch.where(loud, plan.scales, torch.zeros_like(plan.scales))
        if plan.on_rows and bool(loud.any()):
            x = x + (scales / stack.passed_on(x, y).sqrt())[:, None] * noise.normal(*x.shape)
        gradients = stack.gradients(x[:, None], y[:, None])[:, 0]
        if not plan.on_rows and bool(loud.any()):
            gradients += scales[:, None] * noise.normal(*gradients.shape)
        stack.flat -= plan.rates[:, None] * gradients
