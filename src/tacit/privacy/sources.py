"""Where randomness comes from: sources of 64-bit words, and exact coins and orders made of them.

Every random decision of a private run (noise, sampling, permutations) is made of 64-bit words from one
:class:`Source`. By default they come from the operating system; a seeded source is for tests and experiments,
and the guarantee of a run says which of the two it had.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.types import Array

Words = NDArray[np.uint64]


class Source(Protocol):
    """Where random words come from."""

    @property
    def seeded(self) -> bool:
        """True when the words can be predicted by whoever knows the seed."""

    def words(self, count: int) -> Words:
        """Give the next ``count`` random 64-bit words."""


@dataclass(frozen=True)
class SystemSource:
    """Words from the operating system's cryptographic generator. Holds no state, so copies never repeat noise."""

    seeded: bool = field(default=False, init=False)

    def words(self, count: int) -> Words:
        """Give ``count`` fresh words."""
        return np.frombuffer(os.urandom(8 * count), dtype=np.uint64)


@dataclass(frozen=True)
class SeededSource:
    """Words from a seeded generator, for tests and experiments: the same seed gives the same noise."""

    seed: int | tuple[int, ...]
    seeded: bool = field(default=True, init=False)
    _generator: np.random.PCG64 = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_generator", np.random.PCG64(np.random.SeedSequence(self.seed)))

    def words(self, count: int) -> Words:
        """Give the next ``count`` words of the stream."""
        return np.asarray(self._generator.random_raw(count))


def random_name() -> str:
    """A text of 128 random bits from the operating system: no two things that bear one bear the same."""
    return SystemSource().words(2).tobytes().hex()


def uniform(source: Source, count: int) -> Array:
    """Uniform numbers in the open interval (0, 1), on the midpoints of 2**53 equal cells.

    For simulations and for throws whose exact probabilities no price depends on; coins are tossed by :func:`choose`.
    """
    return np.asarray(((source.words(count) >> np.uint64(11)) + 0.5) * 2.0**-53)


def choose(source: Source, count: int, rate: float) -> NDArray[np.bool_]:
    """``count`` independent coins that are True with probability ``rate``, exactly: Poisson sampling of records.

    A byte, read as the first 8 binary digits of a uniform number, is compared with those of the rate, which is a double
    and so has finitely many: a byte below them is True, above is False. Where they are equal, once in 256, a word does
    the same with the next 64 digits, and so on. Words for that are asked for even if there are none such, so that who
    plays words back to a neighbour's run, by calls, gives each record the same coin.

    Edges: 0 is never, 1 is always.
    """
    check(0 <= rate <= 1, f"Expected 0 <= rate={rate} <= 1.")
    if rate == 1:
        return np.full(count, True)
    digits = source.words(-(-count // 8)).astype("<u8", copy=False).view(np.uint8)[:count]
    scaled = math.ldexp(rate, 8)  # exact: a power of two
    first = math.floor(scaled)
    taken = np.asarray(digits < first)
    places = np.flatnonzero(digits == first)
    while scaled > first:
        words, scaled = source.words(len(places)), math.ldexp(scaled - first, 64)
        first = math.floor(scaled)
        taken[places] = words < np.uint64(first)
        places = places[words == np.uint64(first)]
        if not len(places):
            break
    return taken


def subset(source: Source, count: int, size: int) -> NDArray[np.intp]:
    """A uniformly random subset of ``size`` of ``count`` records, in order; all of them where there are no more.

    The first ``size`` different ones of independent uniform places: by symmetry every subset is equally likely, however
    many places are drawn at a time. A large subset is what a small one leaves.
    """
    check(size >= 0, f"Expected size={size} >= 0.")
    if 2 * size > count:
        left = np.full(count, True)
        left[subset(source, count, max(count - size, 0))] = False
        return np.flatnonzero(left)
    places = np.zeros(0, dtype=np.intp)
    several = math.ceil(-count * math.log1p(-size / count) + 4 * math.sqrt(size)) if size else 0  # mostly enough
    while True:
        places = np.concatenate([places, _places(source, count, several)])
        found, first = np.unique(places, return_index=True)
        if len(found) >= size:
            return np.asarray(found[np.sort(np.argsort(first)[:size])])


def _places(source: Source, count: int, size: int) -> NDArray[np.intp]:
    """Independent uniform whole numbers below ``count``: words beyond its last multiple are drawn again."""
    if not size:
        return np.zeros(0, dtype=np.intp)
    last, words = np.uint64((1 << 64) // count * count - 1), source.words(size)
    while (words > last).any():
        words = np.concatenate([words[words <= last], source.words(size)])[:size]
    return np.asarray((words % np.uint64(count)).astype(np.intp))


def permutation(source: Source, count: int) -> NDArray[np.intp]:
    """A uniformly random order of ``count`` records: by sorting random keys, drawn anew in the rare case of a tie."""
    while True:
        keys = source.words(count)
        order = np.argsort(keys)
        placed = keys[order]
        if not (placed[1:] == placed[:-1]).any():
            return order
