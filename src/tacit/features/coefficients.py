"""Scattering coefficients of one image: wavelets, moduli, averages.

    S0 = x * phi,   S1 = |x * psi_1| * phi,   S2 = ||x * psi_1| * psi_2| * phi   with j1 < j2,

each at every 2^J-th pixel. Convolutions with wavelets are products of discrete Fourier transforms; what a wavelet of
scale j leaves is kept at every 2^j-th pixel, so the wavelets of later scales are those of scale j2 - j1 on that grid.
The average phi (a Gaussian of width 0.8 2^(J-1)) is separable: a small matrix from each side.

**Every call takes one image, and every array in it has a shape that follows from the image's shape alone.** So an
image's arithmetic is the same instructions in the same order whatever other images there are: no batch has a remainder
that is computed in another way than the rest.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import fft

from tacit.checks import check
from tacit.features.filters import WIDTH, gaussian, morlets
from tacit.types import Array

CUT = 1e15
"""Where scaled pixels are cut, each by itself, so that nothing overflows."""
FLOOR = 1e-6
"""Added to the variance of a group: that of pixels between 0 and 1 by rounding to 256 levels, (1 / 255)^2 / 12. What is
smaller than that is no picture, and is not enlarged to variance 1."""


def channels_of(scales: int, directions: int) -> int:
    """Coefficients a place and colour: 1 + JL + L^2 J(J-1)/2."""
    return 1 + scales * directions + directions**2 * scales * (scales - 1) // 2


def size_of(shape: tuple[int, ...], scales: int) -> tuple[int, int]:
    """Places, down and across: one for 2^J pixels, rounded up."""
    return -(-shape[0] // 2**scales), -(-shape[1] // 2**scales)


def width_of(shape: tuple[int, ...], scales: int, directions: int) -> int:
    """Numbers in the row of an image (height, width, colours)."""
    return shape[2] * channels_of(scales, directions) * math.prod(size_of(shape, scales))


@dataclass(frozen=True, eq=False, repr=False)
class Scatterer:
    """The filters for images of one shape (height, width, colours): all that does not depend on the image."""

    shape: tuple[int, int, int]
    scales: int
    directions: int
    channels: int = field(init=False)
    size: tuple[int, int] = field(init=False)
    _pixels: tuple[NDArray[np.intp], NDArray[np.intp]] = field(init=False)
    _wavelets: dict[tuple[int, int], list[tuple[Any, Array]]] = field(init=False)
    _averages: list[tuple[Array, Array]] = field(init=False)

    def __post_init__(self) -> None:
        J, L, step = self.scales, self.directions, 2**self.scales
        places = size_of(self.shape, J)
        padded = tuple(step * (count + 2) for count in places)
        known: dict[str, Any] = {
            "channels": channels_of(J, L),
            "size": places,
            "_pixels": tuple(
                np.pad(np.arange(length), (step, total - length - step), mode="reflect")
                for length, total in zip(self.shape, padded, strict=False)
            ),
            "_wavelets": {
                (start, scale): _aliases(padded, start, scale, L) for start in range(J) for scale in range(start, J)
            },
            "_averages": [
                (_average(padded[0] >> start, J - start), _average(padded[1] >> start, J - start).T)
                for start in range(J)
            ],
        }
        for name, value in known.items():
            object.__setattr__(self, name, value)

    def __call__(self, image: Array) -> Array:
        """Coefficients (colours, channels, places down, places across) of one image (height, width, colours).

        Channels: S0; S1 by j1, then direction; S2 by j1, j2, first direction, second direction.
        """
        J, L = self.scales, self.directions
        down, across = self._pixels
        planes = np.moveaxis(np.clip(image, -CUT, CUT)[down[:, None], across], -1, 0).copy()
        found = np.empty((len(planes), self.channels, *self.size))
        found[:, 0] = self._averaged(planes, 0)
        for colour, wave in enumerate(fft.fft2(planes)):
            place = 1 + J * L
            for j1 in range(J):
                moduli = self._moduli(wave, 0, j1)
                found[colour, 1 + j1 * L : 1 + (j1 + 1) * L] = self._averaged(moduli, j1)
                waves = fft.fft2(moduli)[:, None] if j1 < J - 1 else None
                for j2 in range(j1 + 1, J):
                    inner = self._averaged(self._moduli(waves, j1, j2), j2)
                    found[colour, place : place + L * L] = inner.reshape(L * L, *self.size)
                    place += L * L
        return found

    def _moduli(self, waves: Any, start: int, scale: int) -> Array:
        """|u * psi| at every k-th place of the grid that u is on, k = 2^(scale - start), for all u and all directions.

        The transform of every k-th place is the sum of the k x k aliases of the product.
        """
        product: Any = None
        for (down, across), wavelets in self._wavelets[start, scale]:
            alias = waves[..., down, across] * wavelets
            product = alias if product is None else np.add(product, alias, out=product)
        values = fft.ifft2(product, overwrite_x=True)
        # A square root of squares is rounded the same wherever a number lies in memory; a library's modulus may not be.
        squares = values.real**2
        squares += values.imag**2
        return np.asarray(np.sqrt(squares, out=squares))

    def _averaged(self, planes: Array, start: int) -> Array:
        """U * phi at every 2^J-th pixel inside the padding, of planes that have every 2^start-th."""
        left, right = self._averages[start]
        return np.asarray(left @ planes @ right)


def _aliases(padded: tuple[int, ...], start: int, scale: int, directions: int) -> list[tuple[Any, Array]]:
    """The wavelets' transforms on the grid of every 2^start-th pixel, cut into k x k parts that fold onto each other.

    With each part goes where it lies. The factor 1 / k^2 is that of the folded transform.
    """
    times = 2 ** (scale - start)
    height, width = (length >> scale for length in padded)
    wavelets = morlets((height * times, width * times), scale - start, directions) / times**2
    parts = [
        (slice(height * down, height * (down + 1)), slice(width * across, width * (across + 1)))
        for down in range(times)
        for across in range(times)
    ]
    return [(part, np.ascontiguousarray(wavelets[:, *part])) for part in parts]


def _average(length: int, scales: int) -> Array:
    """The matrix (places, length) that convolves with phi on a wrapped line and keeps every 2^scales-th place."""
    kernel = np.fft.ifft(gaussian(length, WIDTH * 2.0 ** (scales - 1))).real
    step = 2**scales
    kept = np.arange(step, length - step, step)
    return np.asarray(kernel[(kept[:, None] - np.arange(length)) % length])


@lru_cache(maxsize=4)
def scatterer_of(shape: tuple[int, int, int], scales: int, directions: int) -> Scatterer:
    """The filters, which are made once: public constants, so that keeping them tells nothing."""
    return Scatterer(shape, scales, directions)


@dataclass(frozen=True, eq=False, repr=False)
class Rule:
    """From the pixels of one image to its row: divide by ``scale``, scatter, normalise in ``groups`` if not None."""

    scatterer: Scatterer
    scale: float
    groups: int | None

    @property
    def width(self) -> int:
        """Numbers in a row."""
        return width_of(self.scatterer.shape, self.scatterer.scales, self.scatterer.directions)

    @property
    def settings(self) -> dict[str, Any]:
        """All that a row depends on beside its image."""
        return {
            "J": self.scatterer.scales, "L": self.scatterer.directions, "scale": self.scale, "groups": self.groups,
        }  # fmt: skip

    def __call__(self, pixels: NDArray[Any]) -> Array:
        """The row of one image (height, width, colours)."""
        image = pixels.astype(np.float64)
        check(np.isfinite(image).all(), "Expected finite pixels, found NaN or infinity; remove or fill them.")
        with np.errstate(over="ignore", under="ignore"):
            image /= self.scale  # infinity is cut, with all that is too large
        found = self.scatterer(image)
        return (found if self.groups is None else normalised(found, self.groups)).ravel()


def normalised(found: Array, groups: int) -> Array:
    """The coefficients of one image with mean 0 and variance 1 in each group of channels, and then norm 1 in all.

    Each colour's channels lie in ``groups`` groups, in their order. A group v becomes (v - mean) / sqrt(var + FLOOR),
    which is zero where v is constant; an image without any variation becomes zeros.
    """
    parts = found.reshape(found.shape[0] * groups, -1)
    parts = parts - parts.mean(axis=1, keepdims=True)
    parts /= np.sqrt((parts * parts).mean(axis=1, keepdims=True) + FLOOR)
    norm = np.sqrt((parts * parts).sum())
    return np.asarray(parts / norm if norm > 0 else parts)
