r"""Gradients of single records, whole or as factors, and what a way to compute them has to say about itself.

A linear layer with input :math:`a` and gradient :math:`b` at its output has the gradient :math:`b a^T`. It need not be
written out: its norm is :math:`\|b\|\,\|a\|`, and a weighted sum over records is the one product

.. math:: \sum_i f_i\, b_i a_i^T = (f \circ B)^T A .

Reference: Goodfellow 2015, *Efficient per-example gradient computations*.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import nn
from torch.linalg import vector_norm

Weights = dict[str, torch.Tensor]
LONGEST = 2.0**300
"""A record with a longer right factor counts as one whose gradient is not finite: a left factor's numbers under 1e-162,
whose squares are 0, could matter beside it. As it is, the norms of all parts are right to 1e-70 at least."""


@dataclass(frozen=True)
class Part:
    """One parameter's gradients, one row per record: the rows of ``left``, or their outer products with ``right``'s.

    ``last`` is the shape of a row that has the second axis of the parameter, the channels, in the last place.
    """

    left: torch.Tensor
    right: torch.Tensor | None = None
    last: torch.Size | None = None

    @property
    def size(self) -> int:
        """How many numbers one record's gradient has."""
        return self.left.shape[1] * (1 if self.right is None else self.right.shape[1])

    def norms(self) -> torch.Tensor:
        """Each record's norm, in double precision. Edges: infinite where the right factor is longer than LONGEST."""
        left: torch.Tensor = vector_norm(self.left, dim=1, dtype=torch.float64)
        if self.right is None:
            return left
        right = vector_norm(self.right, dim=1, dtype=torch.float64)
        return torch.where(right <= LONGEST, left * right, torch.inf)

    def add(self, total: torch.Tensor, factors: torch.Tensor) -> None:
        """Add all records' gradients times their factors to a flat vector in double precision."""
        if self.last is not None:
            outputs, *size, channels = self.last
            total.view(outputs, channels, *size).movedim(1, -1).add_((factors @ self.left.double()).view(self.last))
        elif self.right is None:
            total.addmv_(self.left.double().T, factors)
        else:
            weighted = factors[:, None] * self.left
            total.view(weighted.shape[1], -1).addmm_(weighted.T, self.right.double())

    def take(self, rows: slice | torch.Tensor) -> Part:
        """Some of the records."""
        return Part(self.left[rows], None if self.right is None else self.right[rows], self.last)

    def numbers(self) -> list[torch.Tensor]:
        """All that a record leaves here."""
        return [self.left] if self.right is None else [self.left, self.right]


@dataclass(frozen=True)
class Gradients:
    """One row per record: the parts of its gradient, in the order of the parameters, and the norm of the whole."""

    parts: list[Part]
    norms: torch.Tensor

    @staticmethod
    def of(parts: list[Part]) -> Gradients:
        """These parts, with the norms that follow."""
        return Gradients(parts, torch.stack([part.norms() for part in parts]).norm(dim=0))

    def take(self, rows: slice | torch.Tensor) -> Gradients:
        """Some of the records."""
        return Gradients([part.take(rows) for part in self.parts], self.norms[rows])

    def add(self, total: torch.Tensor, factors: torch.Tensor) -> None:
        """Add all gradients times their factors to one vector in double precision."""
        for part, piece in zip(self.parts, torch.split(total, [part.size for part in self.parts]), strict=True):
            part.add(piece, factors)

    def numbers(self) -> list[torch.Tensor]:
        """All that a record leaves: what must not depend on its company."""
        return [*(tensor for part in self.parts for tensor in part.numbers()), self.norms]

    def all_equal(self, one: Gradients) -> bool:
        """Whether every row has the bits of a single one."""
        pairs = zip(self.numbers(), one.numbers(), strict=True)
        return all(bool((_bits(mine) == _bits(other)).all()) for mine, other in pairs)


def _bits(values: torch.Tensor) -> torch.Tensor:
    return values.contiguous().view(torch.int64 if values.dtype == torch.float64 else torch.int32)


@dataclass(frozen=True)
class Implementation:
    """How the gradients of single records are computed, and what that costs.

    ``gradients(network, weights)`` is the function of a chunk's records and labels, at these weights (None: the
    network's own). As measured on one thread, chunks of more than ``largest`` rows, or with more than ``held`` numbers
    in their parts, are not faster, and a call costs, besides its arithmetic, as much as ``call`` numbers of a part.
    """

    gradients: Callable[[nn.Module, Weights | None], Callable[[torch.Tensor, torch.Tensor], Gradients]]
    largest: int
    held: int
    call: int


def weights_of(network: nn.Module, at: Weights | None) -> Weights:
    """The weights by name, without a history: those given, or the network's own."""
    return {name: p.detach() for name, p in network.named_parameters()} if at is None else at
