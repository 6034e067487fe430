"""The inverse Hessians of a stack: :mod:`tacit.published.curvature` for many networks at once.

One Krylov space of rank + 1 products by Lanczos with full reorthogonalisation, its Ritz pairs, the largest of them.
That is what ARPACK's first sweep gives there; it begins with the product of the start, not with the start itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Inverses:
    """``directions`` (networks, weights, rank) and ``shares``, v/(v + eta) of each, 0 where v is not positive."""

    directions: torch.Tensor
    shares: torch.Tensor
    floor: float

    def times(self, rows: torch.Tensor) -> torch.Tensor:
        """The inverse times each row: (networks, rows, weights)."""
        parts = (rows @ self.directions) * self.shares[:, None]
        return (rows - parts @ self.directions.mT) / self.floor


def inverses(times: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor, rank: int, floor: float) -> Inverses:
    """From Hessians times vectors; ``start`` has a part in every direction, such as noise.

    Edges: a network that is not finite any more has no curvature; the others are not touched by it.
    """
    values, vectors = largest(times, start, rank)
    known = torch.isfinite(values)
    kept = torch.where(known & (values > 0), values, torch.zeros_like(values))
    return Inverses(torch.nan_to_num(vectors, nan=0.0, posinf=0.0, neginf=0.0), kept / (kept + floor), floor)


def largest(
    times: Callable[[torch.Tensor], torch.Tensor], start: torch.Tensor, rank: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """The ``rank`` largest Ritz values and vectors of rank + 1 Lanczos steps; fewer where there are fewer weights."""
    count, size = start.shape
    steps = min(rank + 1, size)
    basis = torch.zeros(count, steps, size, dtype=start.dtype, device=start.device)
    small = torch.zeros(count, steps, steps, dtype=torch.float64, device=start.device)
    vector = times(start)
    for j in range(steps):
        for _ in range(2):  # twice is enough (Parlett 1998, section 6.9)
            done = basis[:, :j]
            vector = vector - ((done @ vector[:, :, None]).mT @ done)[:, 0]
        length = vector.norm(dim=1, keepdim=True)
        if j:
            small[:, j, j - 1] = small[:, j - 1, j] = length[:, 0].double()
        basis[:, j] = vector / length.clamp(min=1e-30)
        vector = times(basis[:, j])
        small[:, j, j] = (vector * basis[:, j]).sum(1).double()
    whole = torch.isfinite(small).all(2).all(1)
    safe = torch.where(whole[:, None, None], small, torch.zeros_like(small))
    values, turned = torch.linalg.eigh(safe)
    values, turned = values[:, -rank:], turned[:, :, -rank:]
    return values.to(start.dtype), basis.mT @ turned.to(start.dtype)
