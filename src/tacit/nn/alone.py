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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.linalg import vector_norm
from torch.nn.functional import pad
from torch.overrides import TorchFunctionMode

from tacit.checks import refuse

LARGEST, SMALLEST = 128, 16
"""Rows in a chunk: powers of two from one to the other, so that loops over up to 16 numbers at a time leave no rest,
which another formula would compute, for some of the records; or 1."""
WORDS = 8
"""Numbers in a line of memory: every row of a matrix product starts at one."""
HELD = 1 << 26
"""Numbers that a chunk's gradients may have."""
CALL = 300_000
"""What a call costs besides its arithmetic, in numbers of a gradient (measured, on one thread)."""
COMPARED, FEWEST, MOST = 1 << 16, 8, 64
"""The check uses as many rows as give this many numbers to compare, within these limits."""


@dataclass(frozen=True)
class Gradients:
    """One row a record: the parts of its gradient by parameter, and the norm of the whole."""

    parts: list[torch.Tensor]
    norms: torch.Tensor

    def take(self, rows: slice) -> Gradients:
        """Some of the records."""
        return Gradients([part[rows] for part in self.parts], self.norms[rows])

    def all_equal(self, one: Gradients) -> bool:
        """Whether every row has the bits of a single one."""
        pairs = zip((*self.parts, self.norms), (*one.parts, one.norms), strict=True)
        return all(bool((_bits(mine) == _bits(other)).all()) for mine, other in pairs)


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(torch.int64 if values.dtype == torch.float64 else torch.int32)


class _Aligned(TorchFunctionMode):
    """Linear layers with zeros added to both sides of the weights, up to a multiple of 8.

    A library for products may add up a row that starts at an odd number of words in another order than its neighbour.
    Then chunks of one row would be all that passes the check; with this every row starts alike.
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func is not nn.functional.linear:
            return func(*args, **(kwargs or {}))
        return _aligned_linear(*args, **(kwargs or {}))


def _aligned_linear(input: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor | None = None) -> torch.Tensor:
    outputs, inputs = weight.shape
    below, right = -outputs % WORDS, -inputs % WORDS
    scores = nn.functional.linear(pad(input, (0, right)), pad(weight, (0, right, 0, below)))
    scores = scores[..., :outputs]
    return scores if bias is None else scores + bias


def gradients_of(
    network: nn.Module, at: dict[str, torch.Tensor] | None = None
) -> Callable[[torch.Tensor, torch.Tensor], Gradients]:
    """The gradients of the cross-entropy of every record of a chunk, at these weights (None: the network's own)."""
    weights = {name: p.detach() for name, p in network.named_parameters()} if at is None else at

    def loss(point: dict[str, torch.Tensor], image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return nn.functional.cross_entropy(functional_call(network, point, (image[None],)), label[None])

    each = vmap(grad(loss), in_dims=(None, 0, 0))

    def gradients(images: torch.Tensor, labels: torch.Tensor) -> Gradients:
        with _Aligned():
            found = each(weights, images, labels)
        parts = [found[name].flatten(start_dim=1) for name in weights]
        norms = torch.stack([vector_norm(part, dim=1, dtype=torch.float64) for part in parts]).norm(dim=0)
        return Gradients(parts, norms)

    return gradients


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


def thrifty_chunk(size: int, expected: float) -> int:
    """The chunk with the least work for batches of ``expected`` records and gradients of ``size`` numbers.

    With b records and chunks of c, on average b/c + 1/2 chunks are computed. Edges: 1 where 16 gradients are too large.
    """
    sizes = [1 << k for k in range(SMALLEST.bit_length() - 1, LARGEST.bit_length())]
    fitting = [c for c in sizes if c * size <= HELD]
    return min(fitting, key=lambda c: (expected / c + 0.5) * (CALL + c * size), default=1)


def safe_chunk(network: nn.Module, shape: tuple[int, ...], expected: float) -> int:
    """The chunk for this network on records of this shape: the thrifty one, or a smaller one that passes the check.

    Guarantee: no record is an argument. Edges: 1 where no chunk passes; refused where not even repeated calls agree.
    """
    kind = next(network.parameters())
    size = sum(p.numel() for p in network.parameters())
    chunk = thrifty_chunk(size, expected)
    while chunk > 1 and not is_alone(network, shape, chunk):
        chunk = chunk // 2 if chunk > SMALLEST else 1
    if chunk == 1 and not is_alone(network, shape, 1):
        refuse(
            f"Expected a network whose gradient of a record is the same at every call, in {kind.dtype} on "
            f"{kind.device}. Remove layers that remember records or draw random numbers."
        )
    return chunk


def _lively(network: nn.Module, stream: torch.Generator) -> dict[str, torch.Tensor]:
    """Random weights under which units are on and off: at weights that switch them off a difference would not show."""

    def draw(p: torch.Tensor) -> torch.Tensor:
        fan = p.numel() // len(p) if p.ndim > 1 else 16
        return (torch.randn(p.shape, generator=stream, dtype=torch.float64) / math.sqrt(fan)).to(p)

    return {name: draw(p.detach()) for name, p in network.named_parameters()}


def is_alone(network: nn.Module, shape: tuple[int, ...], chunk: int) -> bool:
    """Whether public random rows have the same gradients at all positions of a chunk and in all companies, to the bit.

    The weights are random too: orders of operations depend on shapes, and not on the weights that training comes to.
    Each row fills a chunk of its own. Then chunks hold these rows at every position, in turn with others: random rows,
    larger ones, and the zeros that fill a last chunk.
    """
    kind = next(network.parameters())
    count = min(MOST, max(FEWEST, COMPARED // sum(p.numel() for p in network.parameters())))
    stream = torch.Generator().manual_seed(20)
    with torch.no_grad():
        classes = network(torch.zeros((1, *shape), dtype=kind.dtype, device=kind.device)).shape[-1]
    rows = (2 * torch.rand((2 * count, *shape), generator=stream, dtype=torch.float64) - 1).to(kind)
    rows[count + 1 :: 4] *= 1e3
    rows[count + 3 :: 4] = 0.0
    labels = torch.randint(classes, (2 * count,), generator=stream).to(kind.device)
    gradients = gradients_of(network, _lively(network, stream))

    def of(index: torch.Tensor) -> Gradients:
        return gradients(rows[index], labels[index])

    known: list[Gradients] = []
    for k in range(count):
        full = of(torch.full((chunk,), k))
        known.append(Gradients([part[:1].clone() for part in full.parts], full.norms[:1].clone()))
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
