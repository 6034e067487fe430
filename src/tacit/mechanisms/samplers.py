"""Who takes part in a step. A sampler draws the records *and* states the event that is priced: they cannot disagree."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check, check_count, check_real
from tacit.privacy.events import Event, Gaussian, PoissonGaussian, Sensitivity, Sphere, SubsetGaussian
from tacit.privacy.noise import Source, choose, subset, uniform

Rows = NDArray[np.intp] | None
Mask = NDArray[np.bool_]
Noise = Literal["gaussian", "sphere"]


class Sampler(Protocol):
    """The way records are chosen for each of ``steps`` noisy sums."""

    def batches(self, records: int, steps: int, source: Source) -> Iterator[Rows]:
        """Positions of the records of each step; None for all of them."""

    def masks(self, records: int, steps: int, trials: int, source: Source) -> Iterator[Mask | None]:
        """The same draws for so many runs: at each step who takes part, records x runs; None for all in all runs."""

    def expected(self, records: int, steps: int) -> float:
        """The public number that sums are divided by."""

    def event(self, norm: float, slack: float, scale: float, records: int, steps: int, noise: Noise) -> Event:
        """What is released when one record's part of a sum has at most this norm, and arithmetic adds this slack."""

    @property
    def theorem(self) -> str:
        """What the price rests on."""


def _single(norm: float, slack: float, scale: float, steps: int, noise: Noise) -> Event:
    moved = Sensitivity.of_record(norm).plus(slack)
    if noise == "sphere":
        check(steps == 1, "Sphere noise is for records that are used once. Use sampler Disjoint.")
        return Sphere(moved, scale)
    return Gaussian(moved, scale, steps)


@dataclass(frozen=True)
class Everyone:
    """All records in every step."""

    theorem: str = "gradient"

    def batches(self, records: int, steps: int, source: Source) -> Iterator[Rows]:
        """Nothing to draw."""
        return itertools.repeat(None, steps)

    def masks(self, records: int, steps: int, trials: int, source: Source) -> Iterator[Mask | None]:
        """Nothing to draw."""
        return itertools.repeat(None, steps)

    def expected(self, records: int, steps: int) -> float:
        """n."""
        return float(records)

    def event(self, norm: float, slack: float, scale: float, records: int, steps: int, noise: Noise) -> Event:
        """``steps`` Gaussian releases."""
        return _single(norm, slack, scale, steps, noise)


@dataclass(frozen=True)
class Poisson:
    """Each record joins each step independently with probability ``rate``; empty batches take a noisy step too."""

    rate: float
    theorem: str = "sampled-gradient"

    def __post_init__(self) -> None:
        check(0 < check_real("rate", self.rate) <= 1, f"Expected 0 < rate={self.rate} <= 1.")

    def batches(self, records: int, steps: int, source: Source) -> Iterator[NDArray[np.intp]]:
        """A fresh coin for every record and step."""
        for _ in range(steps):
            yield np.flatnonzero(choose(source, records, self.rate))

    def masks(self, records: int, steps: int, trials: int, source: Source) -> Iterator[Mask | None]:
        """A fresh coin for every record, step and run."""
        for _ in range(steps):
            yield choose(source, records * trials, self.rate).reshape(records, trials)

    def expected(self, records: int, steps: int) -> float:
        """rate * n, whatever the batch turns out to be."""
        return self.rate * records

    def event(self, norm: float, slack: float, scale: float, records: int, steps: int, noise: Noise) -> Event:
        """Sampled Gaussian sums."""
        check(noise == "gaussian", "Poisson sampling is priced for Gaussian noise only.")
        return PoissonGaussian(clip=norm + slack, scale=scale, rate=self.rate, count=steps)


@dataclass(frozen=True)
class Subset:
    """A uniformly random subset of exactly ``batch`` records in every step (replace-one only)."""

    batch: int
    theorem: str = "subset-gradient"

    def __post_init__(self) -> None:
        check_count("batch", self.batch)

    def batches(self, records: int, steps: int, source: Source) -> Iterator[Rows]:
        """A fresh subset each."""
        for _ in range(steps):
            yield subset(source, records, self.batch)

    def masks(self, records: int, steps: int, trials: int, source: Source) -> Iterator[Mask | None]:
        """The first ``batch`` places of a fresh random order in every run."""
        for _ in range(steps):
            order = np.argsort(source.words(records * trials).reshape(records, trials), axis=0, kind="stable")
            mask = np.zeros((records, trials), dtype=bool)
            np.put_along_axis(mask, order[: self.batch], True, axis=0)
            yield mask

    def expected(self, records: int, steps: int) -> float:
        """The batch size."""
        return float(min(self.batch, records))

    def event(self, norm: float, slack: float, scale: float, records: int, steps: int, noise: Noise) -> Event:
        """Gaussian sums over subsets."""
        check(noise == "gaussian", "Subsets are priced for Gaussian noise only.")
        return SubsetGaussian(
            clip=norm + slack, scale=scale, batch=min(self.batch, records), records=records, count=steps
        )


@dataclass(frozen=True)
class Disjoint:
    """Each record is thrown, independently and uniformly, into one of the ``steps`` batches: it is used once."""

    theorem: str = "disjoint-gradient"

    def batches(self, records: int, steps: int, source: Source) -> Iterator[Rows]:
        """One throw for every record, then the batches in turn."""
        place = self._throw(records, steps, source)
        order = np.argsort(place, kind="stable")
        yield from np.split(order, np.searchsorted(place[order], np.arange(1, steps)))

    def masks(self, records: int, steps: int, trials: int, source: Source) -> Iterator[Mask | None]:
        """One throw for every record and run, then the batches in turn."""
        place = self._throw(records * trials, steps, source).reshape(records, trials)
        yield from (place == step for step in range(steps))

    def _throw(self, count: int, steps: int, source: Source) -> NDArray[np.intp]:
        return np.minimum((uniform(source, count) * steps).astype(np.intp), steps - 1)

    def expected(self, records: int, steps: int) -> float:
        """n / steps, whatever the batch turns out to be."""
        return records / steps

    def event(self, norm: float, slack: float, scale: float, records: int, steps: int, noise: Noise) -> Event:
        """One release, as far as any single record is concerned."""
        return _single(norm, slack, scale, 1, noise)
