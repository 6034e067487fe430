r"""Gradients of single records that are functions of the record and the weights alone, bit for bit.

Records go through a network in chunks. What a record gets could depend on its chunk in two ways: on the chunk's *shape*
and the record's *position*, which decide in which order a library adds up, and, in a network that mixes records, on the
others' *values*. At a kink (ReLU, max pooling) one last digit of a sum decides between two gradients, so no bound on
rounding would help. Instead:

* every chunk has one public shape: the last one is filled with zero rows, whose gradients are thrown away;
* every chunk lies in fresh memory, and training runs on one thread, so that nothing but shape and position is left;
* :func:`safe_chunk` compares, on public random rows in double precision, the gradients of one row at every position and
  among different others. The chunk shrinks until all bits agree; in a chunk of one row there is nothing to agree on.

Docs page "Gradient perturbation", section "Networks", has the argument. *Edges*: a network whose gradients of one row
differ from call to call (a layer with a memory, or with randomness of its own) is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import nn

from tacit.checks import refuse
from tacit.nn.single import Gradients, Implementation

SMALLEST = 16
"""Rows in a chunk: powers of two from this one, so that loops over up to 16 numbers at a time leave no rest, which
another formula would compute, for some of the records; or 1."""
HELD = 1 << 26
"""Numbers that a chunk's gradients may have, whatever is faster: it is a limit of memory."""
COMPARED, FEWEST, MOST = 1 << 16, 8, 64
"""The check uses as many rows as give this many numbers to compare, within these limits."""


def chunks(images: torch.Tensor, labels: torch.Tensor, size: int) -> Iterator[tuple[torch.Tensor, torch.Tensor, int]]:
    """All records in chunks of one shape, in memory of their own, each with the number of rows that are records."""
    for start in range(0, len(labels), size):
        count = min(size, len(labels) - start)
        rows, codes = images.new_zeros((size, *images.shape[1:])), labels.new_zeros(size)
        rows[:count], codes[:count] = images[start : start + count], labels[start : start + count]
        yield rows, codes, count


@contextmanager
def settled() -> Iterator[None]:
    """One thread, and no choice of algorithms by timing: the shape of a chunk decides what is computed, and how."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True):
            yield
    finally:
        torch.set_num_threads(before)


def thrifty_chunk(implementation: Implementation, size: int, expected: float) -> int:
    """The chunk with the least work for batches of ``expected`` records, each of which leaves ``size`` numbers.

    With b records and chunks of c, on average b/c + 1/2 chunks are computed. Edges: 1 where 16 records are too large.
    """
    sizes = [1 << k for k in range(SMALLEST.bit_length() - 1, implementation.largest.bit_length())]
    fitting = [c for c in sizes if c * size <= (HELD if c == SMALLEST else min(HELD, implementation.held))]
    return min(fitting, key=lambda c: (expected / c + 0.5) * (implementation.call + c * size), default=1)


def safe_chunk(implementation: Implementation, network: nn.Module, shape: tuple[int, ...], expected: float) -> int:
    """The chunk for this network on records of this shape: the thrifty one, or a smaller one that passes the check.

    Guarantee: no record is an argument. Edges: 1 where no chunk passes; refused where not even repeated calls agree.
    """
    kind = next(network.parameters())
    chunk = thrifty_chunk(implementation, size_of(implementation, network, shape), expected)
    while chunk > 1 and not is_alone(implementation, network, shape, chunk):
        chunk = chunk // 2 if chunk > SMALLEST else 1
    if chunk == 1 and not is_alone(implementation, network, shape, 1):
        refuse(
            f"Expected a network whose gradient of a record is the same at every call, in {kind.dtype} on "
            f"{kind.device}. Remove layers that remember records or draw random numbers."
        )
    return chunk


def size_of(implementation: Implementation, network: nn.Module, shape: tuple[int, ...]) -> int:
    """How many numbers a record of this shape leaves in this implementation, found with a record of zeros."""
    kind = next(network.parameters())
    zeros = torch.zeros((1, *shape), dtype=kind.dtype, device=kind.device)
    found = implementation.gradients(network, None)(zeros, torch.zeros(1, dtype=torch.int64, device=kind.device))
    return sum(tensor.numel() for tensor in found.numbers())


def _lively(network: nn.Module, stream: torch.Generator) -> dict[str, torch.Tensor]:
    """Random weights under which units are on and off: at weights that switch them off a difference would not show."""

    def draw(p: torch.Tensor) -> torch.Tensor:
        fan = p.numel() // len(p) if p.ndim > 1 else 16
        return (torch.randn(p.shape, generator=stream, dtype=torch.float64) / math.sqrt(fan)).to(p)

    return {name: draw(p.detach()) for name, p in network.named_parameters()}


def is_alone(implementation: Implementation, network: nn.Module, shape: tuple[int, ...], chunk: int) -> bool:
    """Whether public random rows have the same gradients at all positions of a chunk and in all companies, to the bit.

    The weights are random too: orders of operations depend on shapes, and not on the weights that training comes to.
    Each row fills a chunk of its own. Then chunks hold these rows at every position, in turn with others: random rows,
    larger ones, and the zeros that fill a last chunk.
    """
    kind = next(network.parameters())
    count = min(MOST, max(FEWEST, COMPARED // size_of(implementation, network, shape)))
    stream = torch.Generator().manual_seed(20)
    with torch.no_grad():
        classes = network(torch.zeros((1, *shape), dtype=kind.dtype, device=kind.device)).shape[-1]
    rows = (2 * torch.rand((2 * count, *shape), generator=stream, dtype=torch.float64) - 1).to(kind)
    rows[count + 1 :: 4] *= 1e3
    rows[count + 3 :: 4] = 0.0
    labels = torch.randint(classes, (2 * count,), generator=stream).to(kind.device)
    gradients = implementation.gradients(network, _lively(network, stream))

    def of(index: torch.Tensor) -> Gradients:
        return gradients(rows[index], labels[index])

    known: list[Gradients] = []
    for k in range(count):
        full = of(torch.full((chunk,), k))
        known.append(full.take(torch.zeros(1, dtype=torch.int64)))  # a copy
        if not full.all_equal(known[k]):
            return False
    place = torch.arange(chunk)
    for turn in range(2 * count if chunk == 1 else 2):
        whose = (place + turn) % (2 * count)
        index = torch.where(whose % 2 == 0, whose // 2, count + whose // 2)
        mixed = of(index)
        rows_of = [(int(k), j) for j, k in enumerate(index) if k < count]
        if not all(mixed.take(slice(j, j + 1)).all_equal(known[k]) for k, j in rows_of):
            return False
    return True
