"""The published algorithms and DP-SGD for a stack: each network has its own plan, the loop is one.

Plans are those that the library's ``calibrate`` gives, and loops follow the library's line by line; but choices and
noise are PyTorch's, and PIDP-SGD's test of a noisy contribution is drawn from its exact probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch

from papers.perceptrons.curvature import Inverses, inverses
from papers.perceptrons.stack import Stack
from papers.perceptrons.walking import Noise, Records, Walk, walk

TOGETHER = 2**16
"""Steps of a walk whose records are chosen at a time, as in :mod:`tacit.published.pidp_sgd`."""
HELD = 2**28
"""Numbers of single records' gradients that are held at a time."""
HOPELESS = math.log(1e-12)
"""The logarithm of a probability that counts as zero."""


def column(plans: Sequence[Any], name: str, noise: Noise) -> torch.Tensor:
    """One number a network."""
    return torch.tensor([float(getattr(plan, name)) for plan in plans], device=noise.device, dtype=noise.dtype)


def curvatures(stack: Stack, records: Records, settings: Any, noise: Noise) -> Inverses:
    """The approximate inverse Hessians at the weights of now, each from records of its own choice."""
    networks, some = len(stack.flat), min(settings.curvature_records, records.count)
    chosen = noise.uniform(networks, records.count).argsort(dim=1)[:, :some]
    hessian = stack.hessian(records.x[chosen], records.y[chosen])
    start = noise.normal(*stack.flat.shape)
    return inverses(hessian.times, start, settings.rank, settings.regularization + settings.damping)


def influences(stack: Stack, records: Records, inverse: Inverses, picks: torch.Tensor) -> torch.Tensor:
    """``H^-1 grad / n`` of each network's picks, flat."""
    return inverse.times(stack.gradients(records.x[picks], records.y[picks])) / records.count


def quiet_chance(own: torch.Tensor, deviation: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    r"""The probability that every coordinate of ``2 c + N(0, deviation^2)`` is below ``limit`` in size.

    .. math:: \prod_j \left(1 - Q\left(\frac{t - 2c_j}\sigma\right) - Q\left(\frac{t + 2c_j}\sigma\right)\right)

    Lines 8 to 10 of PIDP-SGD draw each coordinate; the answer alone is used. Edges: not finite is not quiet.
    """
    bound, spread = limit[:, None, None], math.sqrt(2) * deviation[:, None, None]
    beyond = torch.erfc((bound - 2 * own) / spread) + torch.erfc((bound + 2 * own) / spread)
    return torch.nan_to_num(torch.log1p(-0.5 * beyond).sum(2).exp(), nan=0.0)


def hopeful(size: int, deviation: torch.Tensor, limit: torch.Tensor) -> torch.Tensor:
    """The networks of which a step could be quiet: where it could if no record had any influence at all."""
    least = size * torch.log1p(-torch.erfc(limit.double() / (math.sqrt(2) * deviation.double())))
    return (least > HOPELESS).nonzero()[:, 0]


def pidp_sgd(stack: Stack, records: Records, plans: Sequence[Any], settings: Any, noise: Noise) -> torch.Tensor:
    """Lines 3 to 19; the fraction of steps without noise, by network."""
    rates, scales, errors = (column(plans, name, noise) for name in ("rate", "scale", "error"))
    deviations, limits = column(plans, "contribution_scale", noise), column(plans, "threshold", noise)
    limits = limits * column(plans, "ratio", noise)  # below both of lines 9 and 10: the ratio is less than 1
    some = hopeful(stack.flat.shape[1], deviations, limits)
    networks, quiet_steps = len(plans), torch.zeros(len(plans), device=noise.device, dtype=torch.float64)
    for _ in range(plans[0].rounds):
        part = Stack(stack.flat[some], stack.columns, stack.ridge)  # theta_r^(g): decisions first, then steps
        inverse = curvatures(part, records, settings, noise) if len(some) else None
        for start in range(0, plans[0].local, TOGETHER):
            picks = noise.picks(networks, min(TOGETHER, plans[0].local - start), records.count)
            quiet = torch.zeros_like(picks, dtype=torch.bool)
            if inverse is not None:
                chances = _chances(part, records, inverse, picks[some], errors[some], deviations[some], limits[some])
                quiet[some] = noise.uniform(*chances.shape) < chances
            walk(stack, records, Walk(picks, quiet, rates, scales, on_rows=False), noise)
            quiet_steps += quiet.sum(1)
    return quiet_steps / (plans[0].rounds * plans[0].local)


def _chances(
    stack: Stack, records: Records, inverse: Inverses, picks: torch.Tensor, errors: torch.Tensor,
    deviations: torch.Tensor, limits: torch.Tensor,
) -> torch.Tensor:  # fmt: skip
    """Of a quiet step, for every pick; where there are more picks than records, records are asked once."""
    several = picks.shape[1] >= records.count
    asked = torch.arange(records.count, device=picks.device).expand(len(picks), -1) if several else picks
    chances = torch.cat([
        quiet_chance(influences(stack, records, inverse, part) + errors[:, None, None], deviations, limits)
        for part in asked.split(max(1, HELD // stack.flat.numel()), dim=1)
    ], dim=1)  # fmt: skip
    return chances.gather(1, picks) if several else chances


def unchanged(
    moves: torch.Tensor, weights: torch.Tensor, epsilons: torch.Tensor, by_norm: torch.Tensor
) -> torch.Tensor:
    """Line 9 of PI-DBDP-ERM, as :func:`tacit.published.pi_dbdp_erm.unchanged`; by the norm, or element by element."""
    ratios = (moves + weights[:, None]) / weights[:, None]
    most, norms = epsilons[:, None].exp(), ratios.norm(dim=2)
    inside = (norms >= 1 / most) & (norms <= most)
    low, high = ratios.amin(dim=2), ratios.amax(dim=2)
    return torch.where(by_norm[:, None], inside, (low >= 1 / most) & (high <= most))


def pi_dbdp_erm(stack: Stack, records: Records, plans: Sequence[Any], settings: Any, noise: Noise) -> torch.Tensor:
    """Lines 3 to 19, from the near minimiser; the fraction of steps without noise, by network."""
    rates, scales, epsilons = (column(plans, name, noise) for name in ("rate", "scale", "epsilon"))
    by_norm = torch.tensor([plan.test == "norm" for plan in plans], device=noise.device)
    inverse = curvatures(stack, records, settings, noise)
    quiet_steps = torch.zeros(len(plans), device=noise.device, dtype=torch.float64)
    for _ in range(plans[0].rounds):
        picks = noise.picks(len(plans), plans[0].local, records.count)
        quiet = unchanged(influences(stack, records, inverse, picks), stack.flat, epsilons, by_norm)
        walk(stack, records, Walk(picks, quiet, rates, scales, on_rows=True), noise)
        quiet_steps += quiet.sum(1)
    return quiet_steps / (plans[0].rounds * plans[0].local)


def perturbed_input(stack: Stack, records: Records, plans: Sequence[Any], settings: Any, noise: Noise) -> None:
    """Noise on all rows once (one draw for all where the plan says so), then plain descent."""
    del settings
    rates, scales = column(plans, "rate", noise), column(plans, "scale", noise)
    (n, d), size = records.x.shape, max(1, round(plans[0].batch * records.count))
    drawn = noise.normal(len(plans), 1 if plans[0].shared else n, d)
    rows = records.x + scales[:, None, None] * drawn
    labels = records.y.expand(len(plans), -1)
    for _ in range(plans[0].steps):
        x, y = rows, labels
        if size < n:
            chosen = noise.uniform(len(plans), n).topk(size, dim=1).indices
            x, y = rows.gather(1, chosen[:, :, None].expand(-1, -1, d)), labels.gather(1, chosen)
        stack.flat -= rates[:, None] * stack.mean_gradient(x, y)


def dp_sgd(stack: Stack, records: Records, plans: Sequence[Any], settings: Sequence[Any], noise: Noise) -> None:
    """Poisson batches, clipped sums, noise, smoothing, momentum, steps that fall linearly: :mod:`tacit.nn`."""
    clips, scales = column(plans, "clip", noise), column(plans, "scale", noise)
    rates, momenta = column(settings, "step", noise), column(settings, "momentum", noise)
    sigmas = column(settings, "smoothing", noise)
    (steps, rate, divisor), n = (plans[0].steps, plans[0].sampler.rate, plans[0].divisor), records.count
    moving, smooths, most = torch.zeros_like(stack.flat), bool((sigmas > 0).any()), _largest_batch(n, rate)
    for t in range(steps):
        chosen, taken = _batches(noise.uniform(len(plans), n), rate, most)
        total = stack.clipped_sum(records.x[chosen], records.y[chosen], taken.to(noise.dtype), clips[:, None])
        noisy = (total + scales[:, None] * noise.normal(*total.shape)) / divisor
        moving = momenta[:, None] * moving + (smoothed(stack, noisy, sigmas) if smooths else noisy)
        stack.flat -= (1 - min(t, steps - 1) / steps) * rates[:, None] * moving


def smoothed(stack: Stack, gradients: torch.Tensor, sigmas: torch.Tensor) -> torch.Tensor:
    """``(I - sigma L)^-1`` of every layer by itself, as :func:`tacit.nn.hook.smooth_tensor`."""
    found = []
    for part in stack.layers(gradients.contiguous()):
        flat = part.flatten(1)
        size = flat.shape[1]
        angles = torch.pi * torch.arange(size // 2 + 1, device=flat.device, dtype=flat.dtype) / size
        factors = 1 / (1 + 4 * sigmas[:, None] * torch.sin(angles) ** 2)
        found.append(torch.fft.irfft(torch.fft.rfft(flat) * factors, n=size))
    return torch.cat(found, dim=1)


def _largest_batch(records: int, rate: float) -> int:
    """Room for a Poisson batch: eight standard deviations above its mean."""
    mean = rate * records
    return records if rate >= 1 else min(records, math.ceil(mean + 8 * math.sqrt(mean) + 8))


def _batches(coins: torch.Tensor, rate: float, most: int) -> tuple[torch.Tensor, torch.Tensor]:
    """In each row, the positions of coins below the rate, filled up to ``most``; and which of them are meant.

    No number of records is looked at, so that nothing has to wait for the device.
    """
    if rate >= 1:
        return torch.arange(most, device=coins.device).expand(len(coins), -1), torch.ones_like(coins, dtype=torch.bool)
    lowest = coins.topk(most, dim=1, largest=False, sorted=False)
    return lowest.indices, lowest.values < rate
