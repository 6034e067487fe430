"""A whole walk over single records in one Triton kernel: a program a network, its weights in registers.

A walk has up to a million steps, each of some ten thousand multiplications: as single PyTorch calls they would be
mostly waiting. Single precision; normal numbers are PyTorch's, a stretch of the walk at a time. :func:`agreement` holds
it to PyTorch's steps.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from papers.perceptrons.stack import POWERS, TOLERANCE, Stack
from papers.perceptrons.walking import Noise, Normals, Records, Walk, walk_by_steps

WARPS = 4
"""Of a program: with 8, a step took five times as long on an H200."""
HELD = 2**29
"""Normal numbers that are held at a time."""


@triton.jit
def _hidden(w, bias, row):
    scores = tl.sum(w * row[None, :], axis=1) + bias
    return 1.0 - 2.0 / (tl.exp(2.0 * scores) + 1.0)


@triton.jit
def _error(zero, one, zero_bias, one_bias, hidden, label):
    """e of class 1; that of class 0 is its negative. No difference of near numbers, however sure the network is."""
    score = tl.sum((one - zero) * hidden, axis=0) + one_bias - zero_bias
    sign = 2.0 * label - 1.0
    return -sign / (1.0 + tl.exp(sign * score))


@triton.jit
def _back(w, bent, slope, g, k, a, b, c):
    rows = bent * a + slope * b + k * (tl.sum(g * a, axis=0) + c) * g
    return tl.sum(w * rows[:, None], axis=0)


@triton.jit
def _passed_on(w, bias, zero, one, zero_bias, one_bias, row, label, inside, POWERS: tl.constexpr, RISE: tl.constexpr):
    """Stack.passed_on."""
    hidden = _hidden(w, bias, row)
    error = _error(zero, one, zero_bias, one_bias, hidden, label)
    k = tl.abs(error) * (1.0 - tl.abs(error))
    slope = 1.0 - hidden * hidden
    back = error * (one - zero)
    bent, g, inner = -2.0 * hidden * slope * back, (zero - one) * slope, slope * back
    nothing = hidden * 0.0
    u = _back(w, bent, slope, g, k, inner, nothing, 0.0)
    p = _back(w, bent, slope, g, k, nothing, nothing, -2.0 * error)
    q = _back(w, bent, slope, g, k, nothing, hidden, 0.0)
    heavy, middle = tl.sum(row * row, axis=0) + 1.0, tl.sum(hidden * hidden, axis=0) + 1.0
    light, plain = 2.0 * error * error, tl.sum(inner * inner, axis=0)
    v = tl.where(inside, u + p + q + row + 1e-3, 0.0)
    largest, before, round = plain * 0.0 + 1.0, plain * 0.0, 0
    while (round < POWERS) & ((round == 0) | (largest > before * RISE)):
        before = tl.where(round == 0, 0.0, largest)
        v = v / tl.maximum(tl.sqrt(tl.sum(v * v, axis=0)), 1e-30)
        moved = tl.sum(w * v[None, :], axis=1)
        c = k * tl.sum(g * moved, axis=0)
        image = _back(w, bent, slope, g, k, heavy * (c * g + bent * moved), light * slope * moved, 2.0 * middle * c)
        image += plain * v + tl.sum(row * v, axis=0) * u + tl.sum(u * v, axis=0) * row
        image += tl.sum(q * v, axis=0) * p + tl.sum(p * v, axis=0) * q
        largest = tl.sum(v * image, axis=0)
        v = image
        round += 1
    return tl.maximum(tl.sqrt(tl.maximum(largest, 0.0)), 1e-12)


@triton.jit(do_not_specialize=["size", "steps", "d"])
def _walk(
    flat, x, y, picks, quiet, rates, scales, normals, size, steps, ridge, d,
    D: tl.constexpr, ON_ROWS: tl.constexpr, POWERS: tl.constexpr, RISE: tl.constexpr,
):  # fmt: skip
    network = tl.program_id(0).to(tl.int64)
    i, j = tl.arange(0, D), tl.arange(0, D)
    inner, inside = i < d, j < d
    square, place = inner[:, None] & inside[None, :], i[:, None] * d + j[None, :]
    base, after = flat + network * size, d * d
    w = tl.load(base + place, mask=square, other=0.0)
    bias = tl.load(base + after + i, mask=inner, other=0.0)
    zero = tl.load(base + after + d + i, mask=inner, other=0.0)
    one = tl.load(base + after + 2 * d + i, mask=inner, other=0.0)
    zero_bias, one_bias = tl.load(base + after + 3 * d), tl.load(base + after + 3 * d + 1)
    rate, scale = tl.load(rates + network), tl.load(scales + network)
    for t in range(steps):
        at, still = tl.load(picks + network * steps + t), tl.load(quiet + network * steps + t)
        row = tl.load(x + at * d + j, mask=inside, other=0.0)
        label = tl.load(y + at).to(tl.float32)
        if ON_ROWS:  # noqa: SIM102 - one is known before the kernel is built, the other is not
            if still == 0:
                norm = _passed_on(
                    w, bias, zero, one, zero_bias, one_bias, row, label, inside, POWERS, RISE
                )  # fmt: skip
                own = tl.load(normals + (network * steps + t) * d + j, mask=inside, other=0.0)
                row += scale / tl.sqrt(norm) * own
        hidden = _hidden(w, bias, row)
        error = _error(zero, one, zero_bias, one_bias, hidden, label)
        delta = (1.0 - hidden * hidden) * error * (one - zero)
        w -= rate * (delta[:, None] * row[None, :] + ridge * w)
        bias -= rate * (delta + ridge * bias)
        zero -= rate * (ridge * zero - error * hidden)
        one -= rate * (ridge * one + error * hidden)
        zero_bias -= rate * (ridge * zero_bias - error)
        one_bias -= rate * (ridge * one_bias + error)
        if not ON_ROWS:  # noqa: SIM102
            if still == 0:
                from_here, size_of = normals + (network * steps + t) * size, rate * scale
                w -= size_of * tl.load(from_here + place, mask=square, other=0.0)
                bias -= size_of * tl.load(from_here + after + i, mask=inner, other=0.0)
                zero -= size_of * tl.load(from_here + after + d + i, mask=inner, other=0.0)
                one -= size_of * tl.load(from_here + after + 2 * d + i, mask=inner, other=0.0)
                zero_bias -= size_of * tl.load(from_here + after + 3 * d)
                one_bias -= size_of * tl.load(from_here + after + 3 * d + 1)
    tl.store(base + place, w, mask=square)
    tl.store(base + after + i, bias, mask=inner)
    tl.store(base + after + d + i, zero, mask=inner)
    tl.store(base + after + 2 * d + i, one, mask=inner)
    tl.store(base + after + 3 * d, zero_bias)
    tl.store(base + after + 3 * d + 1, one_bias)


def launch(stack: Stack, records: Records, plan: Walk, noise: Normals) -> None:
    """Take all steps of the walk, in place, a stretch at a time; one that is all quiet needs no noise on gradients."""
    width = stack.columns if plan.on_rows else stack.flat.shape[1]
    networks, together = len(plan.picks), max(1, HELD // (len(plan.picks) * width))
    for picks, quiet in zip(plan.picks.split(together, dim=1), plan.quiet.split(together, dim=1), strict=True):
        steps = picks.shape[1]
        still = not plan.on_rows and bool(quiet.all())  # for rows it is not worth to wait for the answer
        normals = plan.scales if still else noise.normal(networks, steps, width)
        _walk[(networks,)](
            stack.flat, records.x, records.y, picks.contiguous(), quiet.to(torch.int8).contiguous(), plan.rates,
            plan.scales, normals, stack.flat.shape[1], steps, stack.ridge, stack.columns,
            D=max(16, triton.next_power_of_2(stack.columns)), ON_ROWS=plan.on_rows, POWERS=POWERS, RISE=1 + TOLERANCE,
            num_warps=WARPS,
        )  # fmt: skip


class Given:
    """Normal numbers that were drawn before: all of them, or those of the next step."""

    def __init__(self, drawn: torch.Tensor) -> None:
        self.drawn, self.steps = drawn, iter(drawn.unbind(1))

    def normal(self, *shape: int) -> torch.Tensor:
        """All where three numbers are asked for (networks, steps, width)."""
        return self.drawn if len(shape) == 3 else next(self.steps)


def agreement(device: str, columns: int = 100, networks: int = 8, steps: int = 50) -> str:
    """How far the kernel is from PyTorch's steps with the same noise, on made-up records: relative to how far they go.

    Raises where that is more than single precision explains.
    """
    noise = Noise(torch.Generator(device).manual_seed(3), torch.device(device), torch.float32)
    x = noise.normal(500, columns)
    records = Records(x / x.norm(dim=1, keepdim=True), (noise.uniform(500) < 0.5).long())
    start, words = 0.2 * noise.normal(networks, columns * columns + 3 * columns + 2), []
    start[: networks // 2, -2] -= 25.0  # half of the networks are very sure of class 1
    for on_rows in (False, True):
        quiet = noise.uniform(networks, steps) < 0.3
        quiet[0] = False  # so that noise is drawn at every step
        rates, scales = 0.05 + 0.1 * noise.uniform(networks), 0.1 + noise.uniform(networks)
        plan = Walk(noise.picks(networks, steps, 500), quiet, rates, scales, on_rows)
        drawn = noise.normal(networks, steps, columns if on_rows else start.shape[1])
        ends = []
        for way in (launch, walk_by_steps):
            stack = Stack(start.clone(), columns, 1e-3)
            way(stack, records, plan, Given(drawn))
            ends.append(stack.flat)
        apart = float((ends[0] - ends[1]).abs().max() / (ends[1] - start).abs().max())
        words.append(f"{apart:.1e} with noise on {'rows' if on_rows else 'gradients'}")
        if not apart < 1e-3:
            raise ArithmeticError(f"The kernel differs from PyTorch's steps: {words[-1]}.")
    return ", ".join(words)
