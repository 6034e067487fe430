"""The one door for randomness: a source of random words, and noise that lives on a grid.

Every random decision of a private run (noise, sampling, permutations) is made of 64-bit words from one
:class:`Source`. By default they come from the operating system; a seeded source is for tests and experiments,
and the guarantee of a run says which of the two it had.

A released value is ``grid * (round(value / grid) + round(noise / grid))`` with a grid that depends on the noise scale
alone. The right-hand side is an integer sum, so no low bit of the value survives (Mironov 2012), and because
``k + round(g) = round(k + g)`` for a whole k, it is post-processing of the real-valued mechanism applied to the
*rounded* value: the privacy analysis of the continuous noise holds for the code, with the sensitivity of the rounded
value, which is at most ``sensitivity + grid * sqrt(size)`` (:func:`grid_slack`).
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from tacit.checks import check
from tacit.types import Array

GRID_BITS = 24
_LARGEST = 2.0**61

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
        return np.asarray(self._generator.random_raw(count), dtype=np.uint64)


def uniform(source: Source, count: int) -> Array:
    """Uniform numbers in the open interval (0, 1), on the midpoints of 2**53 equal cells."""
    return np.asarray(((source.words(count) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53, dtype=np.float64)


def gaussian(source: Source, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers by inversion, one word each: a sign bit and a 63-bit tail probability.

    ``z = sign * Phi^{-1}((k + 1/2) / 2**64)`` with k uniform on [0, 2**63): both tails reach |z| = 9.2, the same on
    either side.
    """
    words = source.words(math.prod(shape))
    tail = ((words >> np.uint64(1)).astype(np.float64) + 0.5) * 2.0**-64
    signs = 1.0 - 2.0 * (words & np.uint64(1)).astype(np.float64)
    return np.asarray((ndtri(tail) * signs).reshape(shape), dtype=np.float64)


def sphere(source: Source, shape: tuple[int, ...]) -> Array:
    """A vector with density proportional to ``exp(-||b||)``: norm ~ Gamma(size, 1), uniform direction.

    Reference: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1.
    """
    direction = gaussian(source, shape)
    norm = -float(np.log(uniform(source, direction.size)).sum())
    return np.asarray(direction * (norm / float(np.linalg.norm(direction))), dtype=np.float64)


def longest(size: int, noise: Literal["gaussian", "sphere"]) -> float:
    """A norm that :func:`gaussian` never draws (9.3 a number), and :func:`sphere` with probability below 1e-28.

    The latter is Chernoff's bound for a Gamma distribution of shape p at 2p + 80.
    """
    return 9.3 * math.sqrt(size) if noise == "gaussian" else 2.0 * size + 80.0


def choose(source: Source, count: int, rate: float) -> NDArray[np.bool_]:
    """Poisson sampling: each of ``count`` records takes part independently with probability ``rate``."""
    return np.asarray(uniform(source, count) < rate, dtype=np.bool_)


def permutation(source: Source, count: int) -> NDArray[np.intp]:
    """A uniformly random order of ``count`` records (ties among 64-bit keys have probability < count**2 / 2**65)."""
    return np.argsort(source.words(count), kind="stable")


def grid(scale: float, bits: int = GRID_BITS) -> float:
    """The spacing of releases with noise of this scale: a power of two about 2**-bits of it.

    Coarse enough that a cell of the grid holds thousands of the 2**64 words even six deviations out, fine enough that
    rounding adds little to the sensitivity.
    """
    return 2.0 ** (math.floor(math.log2(scale)) - bits)


def grid_slack(scale: float, size: int, bits: int = GRID_BITS) -> float:
    """How much rounding ``size`` values to the grid can add to the distance of two neighbours' values."""
    return grid(scale, bits) * math.sqrt(size)


def release_whole(values: Array, scale: float, unit_noise: Array, step: float) -> NDArray[np.int64]:
    """Values and scaled noise, each rounded to whole multiples of ``step``, and added: the release in grid steps."""
    whole = np.clip(values / step, -_LARGEST, _LARGEST)
    noise = unit_noise * (scale / step)
    return np.asarray(np.rint(whole).astype(np.int64) + np.rint(noise).astype(np.int64))


def release(values: Array, scale: float, unit_noise: Array) -> Array:
    """Round values and scaled noise to the grid and add them as integers.

    Edges: ``scale = 0`` gives the values back (an infinite budget); values are cut at 2**61 grid steps,
    which no calibrated mechanism reaches.
    """
    if scale == 0:
        return values
    check(math.isfinite(scale) and scale > 0, f"Expected scale={scale} > 0 and finite.")
    step = grid(scale)
    return np.asarray(release_whole(values, scale, unit_noise, step).astype(np.float64) * step, dtype=np.float64)


def add_gaussian(values: Array, scale: float, source: Source) -> Array:
    """Release values with Gaussian noise of the given standard deviation, on the grid."""
    return release(values, scale, gaussian(source, values.shape) if scale else values)


def add_sphere(values: Array, scale: float, source: Source) -> Array:
    """Release values with noise of density proportional to ``exp(-||b|| / scale)``, on the grid."""
    return release(values, scale, sphere(source, values.shape) if scale else values)
