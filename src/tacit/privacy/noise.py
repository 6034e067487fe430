"""Noise that lives on a grid: the one door through which private values leave.

A released value is ``grid * (round(value / grid) + round(noise / grid))`` with a grid that depends on the noise scale
alone. The right-hand side is an integer sum, so no low bit of the value survives (Mironov 2012), and because
``k + round(g) = round(k + g)`` for a whole k, it is post-processing of the real-valued mechanism applied to the
*rounded* value: the privacy analysis of the continuous noise holds for the code, with the sensitivity of the rounded
value, which is at most ``sensitivity + grid * sqrt(size)`` (:func:`grid_slack`). The rounded noise is exactly that of
an ideal real-valued draw (:mod:`tacit.privacy.normals`).
"""

from __future__ import annotations

import math
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.privacy import normals
from tacit.privacy.normals import Whole
from tacit.privacy.sources import SeededSource, Source, SystemSource, Words, choose, permutation, subset, uniform
from tacit.types import Array

__all__ = [
    "GRID_BITS", "SeededSource", "Source", "SystemSource", "Words", "add_gaussian", "add_sphere", "choose",
    "draw_error", "gaussian",
    "gaussian_steps", "grid", "grid_slack", "longest", "permutation", "release", "release_whole", "sphere",
    "sphere_steps", "subset", "uniform",
]  # fmt: skip

GRID_BITS = 24
_LARGEST = 2.0**61
RARE = 128 * math.log(2)
"""Minus the logarithm of 2**-128: the chance of guessing a key of 128 bits, below which nothing is accounted for."""


def gaussian(source: Source, shape: tuple[int, ...]) -> Array:
    """Standard normal numbers z, each within ``2**-52 max(1, |z|)`` of an ideal draw."""
    return normals.draw(source, math.prod(shape)).numbers().reshape(shape)


def sphere(source: Source, shape: tuple[int, ...]) -> Array:
    """A vector with density proportional to ``exp(-||b||)``: norm ~ Gamma(size, 1), uniform direction.

    Near an ideal draw (:func:`draw_error`). Reference: Chaudhuri, Monteleoni & Sarwate 2011, Algorithm 1.
    """
    return normals.sphere_numbers(source, math.prod(shape)).reshape(shape)


def longest(size: int, noise: Literal["gaussian", "sphere"]) -> float:
    """A norm that noise exceeds with probability below 2**-128.

    A standard normal vector has ``P[||z|| > sqrt(p) + t] <= exp(-t^2/2)`` (its norm is 1-Lipschitz). For the sphere's
    noise, Gamma(p), Chernoff's bound at x = 2p + t is ``(x/p)^p exp(p - x) = exp(t ((log(2 + s) - 1)/s - 1))`` with
    s = t/p; the bracket is at most -0.796, for every s.
    """
    return 2.0 * size + RARE / 0.796 if noise == "sphere" else math.sqrt(size) + math.sqrt(2 * RARE)


def draw_error(size: int, noise: Literal["gaussian", "sphere"]) -> float:
    """How far, in norm, what :func:`gaussian` or :func:`sphere` gives is from an ideal draw, but for 2**-128.

    A standard normal number is within ``2**-52 max(1, |z|)``; a norm of p + 1 of them is within
    ``2**-50 (2 ||y|| + sqrt(p + 1))``, which ||z|| multiplies.
    """
    chi = longest(size, "gaussian")
    if noise == "gaussian":
        return 2.0**-52 * (math.sqrt(size) + chi)
    return 2.0**-50 * (2 * longest(size, "sphere") + math.sqrt(size + 1) * (chi + longest(size + 1, "gaussian")))


def grid(scale: float, bits: int = GRID_BITS) -> float:
    """The spacing of releases with noise of this scale: a power of two about 2**-bits of it.

    Fine enough that rounding adds little to the sensitivity.
    """
    check(math.isfinite(scale) and scale > 0, f"Expected scale={scale} > 0 and finite.")
    return 2.0 ** (math.floor(math.log2(scale)) - bits)


def grid_slack(scale: float, size: int, bits: int = GRID_BITS) -> float:
    """How much rounding ``size`` values to the grid can add to the distance of two neighbours' values."""
    return grid(scale, bits) * math.sqrt(size)


def gaussian_steps(source: Source, shape: tuple[int, ...], scale: float, step: float) -> Whole:
    """Gaussian noise of this standard deviation in whole steps: exactly an ideal draw that was rounded."""
    return normals.whole(source, math.prod(shape), scale / step).reshape(shape)


def sphere_steps(source: Source, shape: tuple[int, ...], scale: float, step: float) -> Whole:
    """Noise of density proportional to ``exp(-||b|| / scale)`` in whole steps: exactly an ideal draw, rounded."""
    return normals.sphere_whole(source, math.prod(shape), scale / step).reshape(shape)


def whole_values(values: Array, step: float) -> Whole:
    """Values in whole steps, cut at 2**61 of them, which no calibrated mechanism reaches."""
    return np.asarray(np.rint(np.clip(values / step, -_LARGEST, _LARGEST)).astype(np.int64))


def release_whole(values: Array, scale: float, source: Source, step: float) -> NDArray[np.int64]:
    """Values and Gaussian noise, each rounded to whole multiples of ``step``, and added: the release in steps."""
    return whole_values(values, step) + gaussian_steps(source, values.shape, scale, step)


def release(values: Array, scale: float, noise: Whole) -> Array:
    """Round values to the grid of this scale, and add noise that is in whole steps of it.

    Edges: ``scale = 0`` gives the values back (an infinite budget).
    """
    if scale == 0:
        return values
    step = grid(scale)
    return np.asarray((whole_values(values, step) + noise) * step)


_NONE = np.zeros((), dtype=np.int64)


def add_gaussian(values: Array, scale: float, source: Source) -> Array:
    """Release values with Gaussian noise of the given standard deviation, on the grid."""
    return release(values, scale, gaussian_steps(source, values.shape, scale, grid(scale)) if scale else _NONE)


def add_sphere(values: Array, scale: float, source: Source) -> Array:
    """Release values with noise of density proportional to ``exp(-||b|| / scale)``, on the grid."""
    return release(values, scale, sphere_steps(source, values.shape, scale, grid(scale)) if scale else _NONE)
