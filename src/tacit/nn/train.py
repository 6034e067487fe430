"""Private training of a network in double precision: Poisson batches, clipped sums, noise through the one door.

Gradients of single records come as factors for chains of known layers, and from ``torch.func`` for all other networks
(:mod:`tacit.nn.layered`); the rest of the chain is that of the linear models: the same sampler, event and noise on a
grid.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import ClassVar, Never

import numpy as np
import torch
from torch import nn

from tacit.checks import at_most, check
from tacit.data.shares import Shares
from tacit.mechanisms.base import Plan
from tacit.mechanisms.samplers import Poisson
from tacit.nn.alone import SMALLEST, chunks, safe_chunk, settled
from tacit.nn.layered import implementation_of
from tacit.nn.people_sum import people_rounding, people_sum
from tacit.nn.vmapped import VMAPPED
from tacit.privacy import accounting
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import Event, PoissonGaussian
from tacit.privacy.noise import Source, add_gaussian, grid_slack
from tacit.rounding import U
from tacit.types import Array, Budget, Calibration, Facts, Site, Solution, Targets

SMALLEST_CLIP = 1e-30
"""A norm is right to a relative error, and to an absolute one of 1e-70 where squares are too small for a number: far
below the rounding that is priced, at this clip and above."""


@dataclass(frozen=True, kw_only=True)
class NetworkLoss:
    """The constants of a network's loss, as far as they are public: none is known unless it is declared."""

    lipschitz: float = math.inf
    smoothness: float = math.inf
    name: str = "network"
    geometry: str = "two-sided"
    directions: int = 1
    coupled: bool = False
    outputs: int = 1
    targets: Targets = "classes"
    at_zero: float = math.inf

    @property
    def trace(self) -> float:
        """As of a loss of one score."""
        return self.smoothness

    def value(self, z: Array, y: Array) -> Never:
        """A network's loss is not a function of one margin."""
        raise NotImplementedError("The loss of a network is computed by the network.")

    slope = value

    def curve(self, z: Array, y: Array, u: Array) -> Never:
        """As :meth:`value`."""
        self.value(z, y)

    change = curve


@dataclass(frozen=True, eq=False)
class NetworkProblem:
    """What a plan trains: a network with its optimiser, on records; ``after_step`` sees the number of steps done."""

    network: nn.Module
    optimizer: torch.optim.Optimizer
    images: torch.Tensor
    labels: torch.Tensor
    after_step: Callable[[int], None] = lambda step: None
    shares: Shares = field(default_factory=Shares)

    @property
    def count(self) -> int:
        """Number of records: rows, or people where they have several."""
        return len(self.labels) if self.shares.starts is None else len(self.shares.starts)


@dataclass(frozen=True, kw_only=True)
class NetworkPlan(Plan):
    """A calibrated run: who takes part, how often, the clip and the noise."""

    sampler: Poisson
    steps: int
    clip: float
    scale: float
    divisor: float
    theorem: str = "sampled-gradient"

    def until(self, step: int) -> tuple[Event, ...]:
        """What the first steps release; nothing without noise."""
        return tuple(replace(event, count=step) for event in self.events if isinstance(event, PoissonGaussian) and step)

    def run(self, problem: NetworkProblem, source: Source, chunk: int | None = None) -> Solution:
        """Train the network in place. Empty batches take a noisy step like any other; sums are divided by a public
        number.

        The network is trained in double precision and handed back in the precision that it came in. ``chunk`` is what
        :func:`tacit.nn.alone.safe_chunk` gave for this network in double precision; None asks it, before the first
        record.
        """
        network, images, labels = problem.network, problem.images, problem.labels
        before = next(network.parameters()).dtype
        network.double()
        parameters = list(network.parameters())
        if chunk is None:
            with settled():
                implementation = implementation_of(network) if problem.shares.starts is None else VMAPPED
                chunk = safe_chunk(implementation, network, tuple(images.shape[1:]), self.divisor * problem.shares.most)
        for t, positions in enumerate(self.sampler.batches(problem.count, self.steps, source)):
            rows, shares = problem.shares.take(positions, len(labels))
            index = torch.from_numpy(rows).to(images.device)
            taken, codes = images[index].double(), labels[index]
            with settled():
                if shares.starts is None:
                    total = clipped_sum(network, taken, codes, self.clip, chunk)
                else:
                    total = people_sum(network, taken, codes, shares, self.clip, chunk)
            noisy = torch.from_numpy(add_gaussian(total, self.scale, source) / self.divisor)
            start = 0
            for p in parameters:
                piece = noisy[start : start + p.numel()].reshape(p.shape)
                p.grad = piece.to(device=p.device, dtype=p.dtype)
                start += p.numel()
            problem.optimizer.step()
            problem.after_step(t + 1)
        network.to(before)
        return Solution(np.concatenate([p.detach().cpu().numpy().ravel() for p in parameters]), steps=self.steps)


@dataclass(frozen=True, kw_only=True)
class NetworkDescent:
    """Noisy steps over Poisson batches, as many as are public before: the mechanism of every network.

    ``smoothing`` comes after the noise and costs nothing; it is here for the words of the guarantee.
    """

    rate: float
    steps: int
    clip: float
    smoothing: float = 0.0
    site: ClassVar[Site] = "gradient"
    pure: ClassVar[bool] = False

    def needs(self, facts: Facts, calibration: Calibration) -> str:
        """Nothing of the loss: clipping bounds every record's gradient."""
        return "" if calibration == "proven" else "Networks have no published noise of their own."

    def calibrate(
        self, budget: Budget, facts: Facts, regularization: float | None, calibration: Calibration
    ) -> NetworkPlan:
        """The noise of ``steps`` sums over Poisson batches, for a network of ``facts.size`` parameters."""
        check(self.clip >= SMALLEST_CLIP, f"Expected clip={self.clip:g} >= {SMALLEST_CLIP:g}.")
        sampler, size, several = Poisson(self.rate), facts.size, facts.rows_per_person
        arithmetic = rounding(self.clip, facts.records, size)
        if several is not None:
            arithmetic += people_rounding(self.clip, facts.records, several, size)

        def released(scale: float) -> tuple[Event, ...]:
            slack = arithmetic + grid_slack(scale, size)
            return (sampler.event(self.clip, slack, scale, facts.records, self.steps, "gaussian"),)

        guess = self.clip * max(0.5, self.rate * math.sqrt(self.steps) / min(budget.epsilon, 1e3))
        scale = smallest_scale(released, budget, guess=guess)
        divisor = sampler.expected(facts.records, self.steps)
        whose, units = ("record's", "records") if several is None else ("person's mean", "people")
        words = (
            f"each {whose} gradient clipped to norm {self.clip:.6g} in float64",
            f"{self.steps} steps over Poisson batches of {divisor:.6g} expected {units}, all of them taken",
            "each record's gradient is computed from it and the weights alone (checked for these shapes)",
            *((f"Laplacian smoothing with sigma = {self.smoothing:g} after the noise",) if self.smoothing else ()),
        )
        return NetworkPlan(
            sampler=sampler, steps=self.steps, clip=self.clip, scale=scale, divisor=divisor,
            events=released(scale) if scale else (), assumptions=words,
        )  # fmt: skip


def rounding(clip: float, records: int, size: int) -> float:
    r"""How far rounding lets one record move a computed sum beyond ``clip``, whatever the order of the additions.

    With :math:`u = 2^{-53}`, n records and p parameters: a norm is right to :math:`(p + 4)u` (squares, their sums, two
    roots, and for factors a product) and the division by it to u, so a shrunk gradient is at most
    :math:`C(1 + (p + 5)u)` long. A sum of at most n of them, with at most two products, errs by at most
    :math:`\gamma_{n+1} n C` (Higham 2002, section 3.1), and two sums are compared, with the record and without it:

    .. math:: C u \left(p + 5 + 2n(n + 2)\right),

    times 1.01 for terms of second order. The gradients themselves are the same in both sums (:mod:`tacit.nn.alone`).
    """
    return 1.01 * clip * U * (size + 5 + 2.0 * records * (records + 2))


def clipped_sum(
    network: nn.Module, images: torch.Tensor, labels: torch.Tensor, clip: float, chunk: int = SMALLEST
) -> Array:
    """Sum over records of loss gradients, each shrunk to norm at most ``clip``, as one vector in double precision.

    Guarantee: whatever numbers PyTorch returns for a record, its part of the sum has norm at most ``clip``, and with a
    ``chunk`` from :func:`tacit.nn.alone.safe_chunk` one record more or less leaves the others' parts as they are; both
    up to :func:`rounding`. Edges: no records give zeros; a record whose gradient is not finite counts as zero.
    """
    gradients = implementation_of(network).gradients(network, None)
    total = torch.zeros(sum(p.numel() for p in network.parameters()), dtype=torch.float64, device=images.device)
    for rows, codes, count in chunks(images, labels, chunk):
        found = gradients(rows, codes).take(slice(count))
        finite = torch.isfinite(found.norms)
        if not bool(finite.all()):
            found = found.take(finite)
        found.add(total, clip / torch.clamp(found.norms, min=clip))
    return np.asarray(total.cpu().numpy(), dtype=np.float64)


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
        spent = self.recipe.until(step)
        epsilon = accounting.epsilon(spent, self.budget.delta, self.budget.adjacency) if spent else math.inf
        done = 30 * step // self.recipe.steps
        text = f"\r[{'#' * done}{'.' * (30 - done)}] step {step}/{self.recipe.steps}, epsilon so far {at_most(epsilon)}"
        print(text, end="\n" if last else "", file=sys.stderr, flush=True)
