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


def uniform(source: Source, count: int) -> Array:
    """Uniform numbers in the open interval (0, 1), on the midpoints of 2**53 equal cells.

    For simulations and for throws whose exact probabilities no price depends on; coins are tossed by :func:`choose`.
    """
    return np.asarray(((source.words(count) >> np.uint64(11)) + 0.5) * 2.0**-53)


def choose(source: Source, count: int, rate: float) -> NDArray[np.bool_]:
    """``count`` independent coins that are True with probability ``rate``, exactly: Poisson sampling of records.

    A word w, read as the first 64 binary digits of a uniform number, is compared with the digits of the rate, which is
    a double and so has finitely many: w below the first 64 of them is True, above is False, and where they are equal
    the rest of the rate decides by a coin of its own.

    Edges: 0 is never, 1 is always.
    """
    check(0 <= rate <= 1, f"Expected 0 <= rate={rate} <= 1.")
    words = source.words(count)
    if rate == 1:
        return np.full(count, True)
    scaled = math.ldexp(rate, 64)  # exact: a power of two
    first = math.floor(scaled)
    taken = np.asarray(words < np.uint64(first))
    rest = scaled - first
    if rest:
        ties = np.flatnonzero(words == np.uint64(first))
        if len(ties):
            taken[ties] = choose(source, len(ties), rest)
    return taken


def permutation(source: Source, count: int) -> NDArray[np.intp]:
    """A uniformly random order of ``count`` records: by sorting random keys, drawn anew in the rare case of a tie."""
    while True:
        keys = source.words(count)
        order = np.argsort(keys)
        placed = keys[order]
        if not (placed[1:] == placed[:-1]).any():
            return order
