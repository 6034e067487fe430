"""Sums over people of a network's gradients: each person's is the mean over the rows, cut as one.

Chunks of rows have one public shape (:mod:`tacit.nn.alone`), so a person's rows may lie in two of them: what is added
up of the last person goes on into the next chunk.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import nn

from tacit.data.shares import Shares
from tacit.nn.alone import chunks
from tacit.nn.vmapped import VMAPPED
from tacit.rounding import U
from tacit.types import Array

ROWS = 16.0
"""Where rows' own gradients are cut, in units of the clip: far above what matters, so that rounding has a bound."""


def people_rounding(clip: float, people: int, rows_per_person: int, size: int) -> float:
    """How far the means' own arithmetic lets one person move a sum, beyond :func:`tacit.nn.train.rounding`.

    A weighted mean of m rows of norm 16 C, cut to at most that, is right to ``(m + p + 8) u`` of 16 C; cutting it to C
    does not increase distances. There are at most n people, in two sums.
    """
    return 1.01 * ROWS * clip * U * 2.0 * people * (rows_per_person + size + 8)


def people_sum(
    network: nn.Module, images: torch.Tensor, labels: torch.Tensor, shares: Shares, clip: float, chunk: int
) -> Array:
    """Sum over people of their rows' weighted gradients, each person's shrunk to norm at most ``clip``.

    Guarantee: as :func:`tacit.nn.train.clipped_sum`, for people in the place of records. Edges: rows whose gradient is
    not finite count as zero.
    """
    assert shares.starts is not None  # for the type checker
    assert shares.weights is not None
    gradients, device = VMAPPED.gradients(network, None), images.device
    sizes = np.diff(shares.starts, append=len(labels))
    whose = torch.from_numpy(np.repeat(np.arange(len(sizes)), sizes)).to(device)
    weights = torch.from_numpy(shares.weights).to(device)
    total = torch.zeros(sum(p.numel() for p in network.parameters()), dtype=torch.float64, device=device)
    begun: list[torch.Tensor] | None = None
    start = 0
    for rows, codes, count in chunks(images, labels, chunk):
        found = gradients(rows, codes).take(slice(count))
        finite = torch.isfinite(found.norms)
        factors = torch.where(finite, ROWS * clip / torch.clamp(found.norms, min=ROWS * clip), 0.0)
        factors = factors * weights[start : start + count]
        places = whose[start : start + count] - whose[start]
        people = int(places[-1]) + 1
        means = []
        for part in found.parts:
            known = torch.where(finite[:, None], part.left.double(), 0.0)
            mean = torch.zeros((people, part.size), dtype=torch.float64, device=device)
            means.append(mean.index_add_(0, places, factors[:, None] * known))
        if begun is not None:
            for mean, before in zip(means, begun, strict=True):
                mean[0] += before
        start += count
        goes_on = start < len(labels) and bool(whose[start] == whose[start - 1])
        begun = [mean[-1].clone() for mean in means] if goes_on else None
        means = [mean[: people - goes_on] for mean in means]
        norms = torch.stack([torch.linalg.vector_norm(mean, dim=1) for mean in means]).norm(dim=0)
        cut = clip / torch.clamp(norms, min=clip)
        total += torch.cat([cut @ mean for mean in means])
    return np.asarray(total.cpu().numpy(), dtype=np.float64)
