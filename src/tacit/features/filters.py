"""Morlet wavelets and the Gaussian low-pass, as discrete Fourier transforms in closed form.

A filter f is sampled on the whole numbers and wrapped around a grid of n points. By Poisson's formula the transform of
that is the sum of the continuous transform over its aliases, sum_k F(w + 2 pi k) at w = 2 pi m / n, so nothing is
sampled in space. A Gaussian of width sigma has F(w) = exp(-sigma^2 w^2 / 2). Scale j has sigma = 0.8 2^j and centre
frequency 3 pi / 4 / 2^j; wavelets are 4 / L as wide along their direction's normal, in frequency, as along it.

References: S. Mallat, "Group invariant scattering", CPAM 2012; E. Oyallon and S. Mallat, "Deep roto-translation
scattering for object classification", CVPR 2015; for the constants M. Andreux et al., "Kymatio", JMLR 2020.
"""

from __future__ import annotations

import math

import numpy as np

from tacit.types import Array

WIDTH = 0.8
CENTRE = 0.75 * math.pi
_ALIASES = 3
"""Turns of 2 pi to either side: what lies farther out is below exp(-38) from two directions on."""


def gaussian(size: int, width: float) -> Array:
    """Transform of a Gaussian of integral 1 on a line of ``size`` points (real and even)."""
    turns = 2 * math.pi * np.arange(-_ALIASES, _ALIASES + 1)
    waves = 2 * math.pi * np.fft.fftfreq(size)[:, None] + turns
    return np.asarray(np.exp(-((width * waves) ** 2) / 2).sum(axis=1))


def morlets(shape: tuple[int, int], scale: int, directions: int) -> Array:
    """Transforms (L, height, width) of the wavelets of one scale, at the angles pi l / L; all are real.

    psi(w) = G(w - xi) - kappa G(w), where kappa makes the wrapped wavelet have mean zero exactly.
    """
    return np.stack([_morlet(shape, scale, math.pi * turn / directions, 4 / directions) for turn in range(directions)])


def _morlet(shape: tuple[int, int], scale: int, angle: float, slant: float) -> Array:
    width, centre = WIDTH * 2.0**scale, CENTRE / 2.0**scale
    down, across = (2 * math.pi * np.fft.fftfreq(size) for size in shape)
    shifted, still = np.zeros(shape), np.zeros(shape)
    for turn_down in range(-_ALIASES, _ALIASES + 1):
        for turn_across in range(-_ALIASES, _ALIASES + 1):
            u, v = down[:, None] + 2 * math.pi * turn_down, across + 2 * math.pi * turn_across
            along = math.sin(angle) * u + math.cos(angle) * v
            aside = math.cos(angle) * u - math.sin(angle) * v
            normal = np.exp(-((width * aside / slant) ** 2) / 2)
            shifted += normal * np.exp(-((width * (along - centre)) ** 2) / 2)
            still += normal * np.exp(-((width * along) ** 2) / 2)
    wavelet = shifted - shifted[0, 0] / still[0, 0] * still
    wavelet[0, 0] = 0.0
    return np.asarray(wavelet)
