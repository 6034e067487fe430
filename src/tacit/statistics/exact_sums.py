"""Exact sums over records, and how far one record can move them: what every statistic is made of.

A part is a vector to which each record adds numbers whose sizes add up to at most one; where a person is the unit, all
rows of the person together do. The proof of its sensitivity is on the docs' page "First tables". Numbers are whole
multiples of a power of two, each rounded to the nearest by itself, so that sums are exact in any order and no record's
rounding depends on another's.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.linalg import solve_triangular, toeplitz

from tacit.checks import check
from tacit.privacy.events import Sensitivity
from tacit.statistics.unit import FINER, UNIT, Codes, Steps, Unit
from tacit.types import Array

COARSE = 2**10
"""Steps in one of the coefficients that cumulative counts are mixed with."""


@dataclass(frozen=True)
class Part:
    """``size`` sums, wanted as precisely as ``weight`` says, a power of two.

    ``signed``: what a record adds may be negative. ``rising``: counts of ordered cells, mixed so that the noise of
    every cumulative count is about the same. ``most``: rows of a person that each add a number of their own.
    """

    size: int
    weight: float = 1.0
    signed: bool = False
    rising: bool = False
    most: int = 1

    def __post_init__(self) -> None:
        check(self.size >= 1 and math.frexp(self.weight)[0] == 0.5, "Expected parts of a size >= 1, weighed by 2**k.")
        check(not (self.signed and self.rising), "Expected cumulative counts of records, not of signed numbers.")

    @property
    def squares(self) -> tuple[float, float]:
        """The largest squared change when a record is added, and when one is replaced."""
        norm = (self.weight * self.most) ** 2 * (float((mixing(self.size) ** 2).sum()) if self.rising else 1.0)
        return norm, norm * (4.0 if self.signed else 1.0 if self.size == 1 else 2.0)

    def total(self, steps: Steps, codes: Codes | None = None, values: Array | None = None) -> Array:
        """What entries add up to: each its steps, times its value in [-1, 1], in the place of its code; none for -1.

        Edges: values beyond [-1, 1] are clipped; a part that is not signed takes those below 0 for 0.
        """
        check(not (self.rising and values is not None), "Expected cumulative counts to be of weights alone.")
        added = steps.astype(np.float64)
        if values is not None:
            added = np.rint(added * FINER * np.clip(values, -1.0 if self.signed else 0.0, 1.0)) / FINER
        places = np.zeros(len(steps), dtype=np.intp) if codes is None else codes
        kept = places >= 0
        check(places.max(initial=0) < self.size, "Expected every code to be of its part.")
        sums = np.bincount(places[kept], weights=added[kept], minlength=self.size) / UNIT
        if self.rising:
            sums = np.convolve(sums, mixing(self.size))[: self.size]
        return np.asarray(self.weight * sums)


@functools.lru_cache(maxsize=16)
def mixing(size: int) -> Array:
    r"""The first column f of a lower triangular Toeplitz matrix R whose square is nearly the summing matrix.

    f_k = binom(2k, k) / 4^k, rounded down to whole multiples of 1/COARSE. A record moves R x by at most ||f||, and
    cumulative counts A x = (A R^-1) R x get noise of about ||f|| times that of R x: log(size)/pi times that of one
    count, at every cell. Reference: Fichtenberger, Henzinger & Upadhyay 2023; Bennett 1977 for the square root.
    """
    found = np.ones(size)
    for place in range(1, size):
        found[place] = found[place - 1] * (2 * place - 1) / (2 * place)
    return np.floor(found * COARSE) / COARSE


@functools.lru_cache(maxsize=16)
def summing(size: int) -> Array:
    """The matrix A R^-1 that makes cumulative counts of mixed ones."""
    mixed = toeplitz(mixing(size), np.zeros(size))
    return np.cumsum(solve_triangular(mixed, np.eye(size), lower=True), axis=0)


@dataclass(frozen=True)
class Occurring:
    """Counts of the values that occur in a column, whatever they are: which ones is private, and so are the counts."""

    keys: tuple[str, ...]
    counts: Array
    weight: float = 1.0

    @classmethod
    def of(cls, keys: Sequence[str], unit: Unit, weight: float = 1.0) -> Occurring:
        """Each row's weight under its own key; an empty key says that a cell is missing, and counts for nothing.

        Keys are in order: how a person's weight is rounded among several then depends on those alone, and not on which
        ones other people have first.
        """
        places = {key: place for place, key in enumerate(sorted({key for key in keys if key}))}
        codes = np.fromiter((places.get(key, -1) for key in keys), np.intp, len(keys))
        counts = Part(max(len(places), 1)).total(*unit.entries(codes))
        return cls(tuple(places), counts[: len(places)], weight)

    def plus(self, other: Occurring) -> Occurring:
        """The counts of both, of rows of different people."""
        counts = dict(zip(self.keys, self.counts.tolist(), strict=True))
        for key, count in zip(other.keys, other.counts.tolist(), strict=True):
            counts[key] = counts.get(key, 0.0) + count
        keys = tuple(sorted(counts))
        return Occurring(keys, np.array([counts[key] for key in keys]), self.weight)


def weights_near(wanted: float) -> float:
    """The power of two nearest to a positive number."""
    return 2.0 ** round(math.log2(wanted))


@dataclass(frozen=True)
class Asked:
    """Public: the parts of one release, and the weights of its columns of unknown values.

    ``parted``: the parts are alike and each row counts in one of them only, so that all move as one does.
    """

    parts: tuple[Part, ...]
    unknown: tuple[float, ...] = ()
    parted: bool = False

    @property
    def squares(self) -> tuple[float, float]:
        """The largest squared change of all parts together when a record is added, and when one is replaced."""
        parts = self.parts[:1] if self.parted else self.parts
        squares = [(0.0, 0.0), *(part.squares for part in parts), *((w**2, 2 * w**2) for w in self.unknown)]
        added, replaced = (math.fsum(one) for one in zip(*squares, strict=True))
        return added, replaced

    def sensitivity(self) -> Sensitivity:
        """Of all parts together."""
        added, replaced = self.squares
        return Sensitivity(math.sqrt(added), math.sqrt(replaced))

    @property
    def size(self) -> int:
        """How many numbers can differ between neighbours by rounding, without those of unknown values."""
        return sum(part.size for part in self.parts)


@dataclass(frozen=True, eq=False, repr=False)
class Sums:
    """What is asked, answered exactly: private, and never shown."""

    parts: tuple[Part, ...]
    totals: tuple[Array, ...]
    occurring: tuple[Occurring, ...] = ()
    parted: bool = False

    def plus(self, other: Sums) -> Sums:
        """The sums over rows of different people, exact as both are."""
        totals = tuple(one + more for one, more in zip(self.totals, other.totals, strict=True))
        occurring = tuple(one.plus(more) for one, more in zip(self.occurring, other.occurring, strict=True))
        return replace(self, totals=totals, occurring=occurring)

    @property
    def asked(self) -> Asked:
        """The public side of it."""
        return Asked(self.parts, tuple(one.weight for one in self.occurring), self.parted)


@dataclass(frozen=True, eq=False)
class Released:
    """What came of it: numbers with noise, the noise's standard deviation, and of unknown values those above a cut."""

    parts: tuple[Part, ...]
    numbers: tuple[Array, ...]
    deviations: tuple[float, ...]
    shown: tuple[dict[str, float], ...] = ()

    def cumulative(self, place: int) -> Array:
        """Counts of all cells up to each one, of a part of rising counts."""
        return np.asarray(summing(self.parts[place].size) @ self.numbers[place])

    def part(self, place: int) -> tuple[Array, float]:
        """Numbers and their noise."""
        return self.numbers[place], self.deviations[place]


def split(values: Array, parts: Sequence[Part]) -> list[Array]:
    """A long vector, part by part."""
    ends = np.cumsum([part.size for part in parts])[:-1]
    return list(np.split(values, ends)) if parts else []
