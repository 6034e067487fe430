"""Records in blocks that stay in cache, and what every sum over records is made of: one block's part of it.

A part is an exact sum (:mod:`tacit.linear.whole`) of what single records give: blocks may be of any size, in any order,
and on any machine. So whoever holds the rows, :class:`Records` in memory among them, promises two things: a few public
numbers, and :meth:`Held.add_up`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from tacit.checks import check, refuse
from tacit.data.canonical import column, dense, thin
from tacit.data.rows import Design, room
from tacit.data.shares import Shares
from tacit.linear.whole import Whole, gathered, outer_sum
from tacit.types import Array

BLOCK_NUMBERS = 1 << 18
"""Numbers of the matrix in one block: two megabytes, so that the second use of a block finds it in cache."""


LEAST_ROWS, MOST_ROWS = 64, 4096
"""Dense blocks have at least so many rows; sparse ones at most so many, or as many as dense ones have."""


CARRIED = 2**20
"""Sums are carried after so many blocks."""


def block_rows(features: int) -> int:
    """Rows in one dense block: a power of two, at least 64."""
    return max(LEAST_ROWS, 1 << (max(1, BLOCK_NUMBERS // max(1, features)).bit_length() - 1))


def most_rows(features: int, rows_per_person: int | None = None) -> int:
    """The most rows in one block, of whatever kind: public, for the grids of slopes and outer products depend on it."""
    return max(MOST_ROWS, block_rows(features), rows_per_person or 1)


@dataclass(frozen=True, eq=False, repr=False)
class Block:
    """A few records: design rows in float64, dense or sparse, with all that sums need.

    ``radius`` and ``step`` are those of the design; ``first`` is the place of the block's first row among all rows.
    """

    rows: Any
    norms: Array
    targets: Array
    shares: Shares
    radius: float
    step: float
    first: int = 0

    @property
    def count(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @cached_property
    def _turned(self) -> Any:
        """The transpose of sparse rows, which takes longer to make than a product of few."""
        return self.rows.T if thin(self.rows) else None

    @property
    def most(self) -> int:
        """The most rows that a block of such rows has."""
        return most_rows(self.rows.shape[1], self.shares.rows_per_person)

    def design(self) -> Array:
        """The design rows, dense."""
        return np.asarray(self.rows.toarray() if thin(self.rows) else self.rows)

    def gather(self, slopes: Array, largest: float, count: int = 1) -> Whole:
        """Transposed design rows times weighted slopes of size at most ``largest``: the part of a gradient."""
        return gathered(self.rows, self.shares.weigh(slopes), self.step, largest, self.most, count, self._turned)

    def outer(self, curves: Array | None, largest: float, count: int = 1) -> Whole:
        """``sum_i c_i x_i x_i^T`` for one column of numbers c from 0 to ``largest``, weighted; None: all are 1."""
        weighed = self.shares.weights if curves is None else self.shares.weigh(curves)
        roots = None if weighed is None else np.sqrt(weighed)
        return outer_sum(self.rows, math.sqrt(largest) * self.radius, self.most, count, roots)

    def signed_outer(self, curves: Array, largest: float, count: int = 1) -> Whole:
        """As :meth:`outer`, for numbers of either sign."""
        above = self.outer(np.maximum(curves, 0.0), largest, count)
        return above.plus(self.outer(np.maximum(-curves, 0.0), largest, count).negative())


Part = Callable[[Block], tuple[Whole, ...]]
"""A block's parts of one sum or several. It goes to other processes with what it needs: a plain object, no closure."""


Change = Callable[[Any], Array]
"""Design rows of a block, dense or sparse, as other rows, one by one: a plain object too."""


class Held(Protocol):
    """Records, wherever they are."""

    @property
    def count(self) -> int:
        """Number of records: of rows, or of people where they have several."""

    @property
    def features(self) -> int:
        """Columns of the design, the intercept's among them."""

    @property
    def clip(self) -> float:
        """Largest norm of a row without the intercept's constant."""

    @property
    def radius(self) -> float:
        """Largest norm that a design row can have."""

    @property
    def intercept(self) -> float:
        """The constant of the last column; 0: there is none."""

    @property
    def weighted(self) -> bool:
        """Whether rows came with weights of their own."""

    @property
    def rows_per_person(self) -> int | None:
        """The most rows of one person; None: every row is a record."""

    def add_up(self, part: Part) -> list[Array]:
        """The sums over all records, as doubles: of what ``part`` gives for each block."""

    def take(self, positions: NDArray[np.intp]) -> Self:
        """The records at these positions, in rising order."""

    def pick(self, columns: NDArray[np.intp]) -> Self:
        """The same records with some of the columns of their targets, where there are several."""

    def mapped(self, change: Change, clip: float, intercept: float) -> Self:
        """The same records with other rows, clipped once more: each a function of the design row it was."""

    def blocks(self) -> Iterator[Block]:
        """All records in turn; a block is to be used before the next is asked for."""


def in_memory(records: Held) -> Records:
    """The same records, where they are in memory: what looks at them again and again, one by one, needs that."""
    if not isinstance(records, Records):
        refuse("This method looks at single rows again and again, so they must fit into memory. Use method='auto'.")
    return records


def total(sums: Iterator[tuple[Whole, ...]]) -> tuple[Whole, ...]:
    """The sums of blocks' parts, one after the other."""
    first = next(sums)
    found = first
    for place, more in enumerate(sums):
        if found is first:
            found = tuple(some.copy() for some in first)
        for some, other in zip(found, more, strict=True):
            some.add(other)
            if place % CARRIED == CARRIED - 1:
                some.carry()
    if found is not first:
        for some in found:
            some.carry()
    return found


@dataclass(frozen=True)
class Records:
    """Design rows within a public radius, and targets: (n, 1), or (n, k) for k independent models. In memory.

    Built by :meth:`build`. Rows come as a :class:`~tacit.data.rows.Design`, which is canonical and clipped by
    construction.
    """

    design: Design = field(repr=False)
    targets: Array = field(repr=False)
    shares: Shares = field(default_factory=Shares, repr=False)

    def __post_init__(self) -> None:
        check(isinstance(self.design, Design), "Expected rows as tacit.data.rows.Design(X, clip), which clips them.")
        check(len(self.targets) == self.rows, "Expected as many targets as rows.")
        self.shares.check_for(self.rows)

    @classmethod
    def build(cls, matrix: Any, targets: Any, clip: float, intercept: float, shares: Shares | None = None) -> Records:
        """Clip every row of a matrix in any container to ``clip`` and append the constant ``intercept``.

        Edges: entries are first cut at +-1e100, so that no product overflows. NaN, infinity and masked cells raise.
        """
        values = np.asarray(dense(column(targets)), dtype=np.float64)
        check(
            np.isfinite(values).all(),
            "Expected finite numbers as targets, found NaN or infinity; remove or fill them.",
        )
        return cls(
            Design(matrix, clip, intercept),
            values if values.ndim == 2 else values.reshape(len(values), 1),
            shares or Shares(),
        )

    @classmethod
    def joined(cls, parts: Iterable[Records], rows: int, spooled: bool = False) -> Records:
        """The records of all parts, of which there is one at least, one after the other; at most so many rows.

        ``spooled``: rows and targets lie in a file without a name, of which the system keeps in memory what it likes.
        """
        shares: list[Shares] = []
        targets, seen = np.zeros((0, 1)), 0

        def designs() -> Iterator[Design]:
            nonlocal targets, seen
            for part in parts:
                if not shares:
                    targets = room((rows, part.targets.shape[1]), np.float64, spooled)
                targets[seen : seen + part.rows] = part.targets
                seen += part.rows
                shares.append(part.shares)
                yield part.design

        design = Design.joined(designs(), rows, spooled)
        return cls(design, targets[:seen], Shares.joined(shares))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return int(self.design.matrix.shape[0])

    @property
    def count(self) -> int:
        """Number of records: of rows, or of people where they have several."""
        return self.rows if self.shares.starts is None else len(self.shares.starts)

    @property
    def features(self) -> int:
        """Columns of the design, the intercept's among them."""
        return int(self.design.matrix.shape[1])

    @property
    def clip(self) -> float:
        """Largest norm of a row without the intercept's constant."""
        return self.design.clip

    @property
    def radius(self) -> float:
        """Largest norm that a design row can have."""
        return self.design.radius

    @property
    def intercept(self) -> float:
        """The constant of the last column; 0: there is none."""
        return self.design.intercept

    @property
    def weighted(self) -> bool:
        """Whether rows came with weights of their own."""
        return self.shares.weighted

    @property
    def rows_per_person(self) -> int | None:
        """The most rows of one person; None: every row is a record."""
        return self.shares.rows_per_person

    def take(self, positions: NDArray[np.intp]) -> Records:
        """The records at these positions (a copy of their rows)."""
        rows, shares = self.shares.take(positions, self.rows)
        return replace(self, design=self.design.take(rows), targets=self.targets[rows], shares=shares)

    def pick(self, columns: NDArray[np.intp]) -> Records:
        """The same rows with some of the targets, where there are several."""
        return replace(self, targets=self.targets[:, columns]) if self.targets.shape[1] > 1 else self

    def mapped(self, change: Change, clip: float, intercept: float) -> Records:
        """The same records with other rows, which are copied."""
        designs = (Design(change(block.rows), clip, intercept) for block in self.blocks())
        return replace(self, design=Design.joined(designs, self.rows, self.design.spooled))

    def add_up(self, part: Part) -> list[Array]:
        """The sums over all blocks."""
        return [whole.value() for whole in total(part(block) for block in self.blocks())]

    def blocks(self) -> Iterator[Block]:
        """Consecutive rows, as many as stay in cache; a person's are in one block.

        Dense rows are all copied to one place: a block is to be used before the next is asked for. Blocks of sparse
        rows, which are views, and an only block are made once: making them would take as long as a pass.
        """
        once = thin(self.design.matrix) or self.rows <= self._block_rows
        return iter(self._made_once) if once else self._made()

    @property
    def _block_rows(self) -> int:
        """Rows of a block; where a person has several, it may have as many more as end the last person's."""
        wanted = _sparse_rows(self.design.matrix) if thin(self.design.matrix) else block_rows(self.features)
        return max(1, wanted + 1 - self.shares.most)

    @cached_property
    def _made_once(self) -> tuple[Block, ...]:
        blocks = tuple(self._made())
        for block in blocks:
            (block.rows.data if thin(block.rows) else block.rows).flags.writeable = False
        return blocks

    def _made(self) -> Iterator[Block]:
        design, scattered, rows_each = self.design, thin(self.design.matrix), self._block_rows
        most = rows_each + self.shares.most - 1
        order: Any = "F" if not scattered and design.matrix.flags.f_contiguous else "C"
        room = np.empty((0 if scattered else min(most, self.rows), self.features), order=order)
        slices = self.shares.slices(self.rows, rows_each) if self.rows else iter([slice(0, 0)])
        for at in slices:
            rows: Any = design.block(at) if scattered else room[: at.stop - at.start]
            if not scattered:
                rows[:] = design.matrix[at]
            yield Block(
                rows, design.norms[at], self.targets[at], self.shares.part(at), self.radius, design.step, at.start
            )  # fmt: skip


def _sparse_rows(matrix: sparse.csr_array) -> int:
    """Rows of which the stored numbers stay in cache."""
    each = max(1, matrix.nnz // max(1, matrix.shape[0]))
    return min(MOST_ROWS, block_rows(each))
