"""Scattering as a step of a scikit-learn pipeline: images in, rows of norm 1 out, each by itself."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import NotFittedError
from threadpoolctl import threadpool_limits

from tacit.arguments import check_fields
from tacit.checks import check, check_count, check_positive
from tacit.data.canonical import plain
from tacit.features import kept
from tacit.features.coefficients import Rule, channels_of, scatterer_of, size_of, width_of
from tacit.settings import described

_BLOCK = 64
"""Images that a thread takes at a time; their number changes no result."""
_WIDEST = 64
_MOST_THREADS = 1024
_FORMS = "Expected images (n, height, width) or (n, height, width, colours); for flat rows declare shape=(28, 28)."


@described
class Scattering(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Wavelet scattering coefficients of images, normalised by record: ``fit`` learns nothing, so it costs nothing.

    ``J`` scales and ``L`` directions give 1 + JL + L^2 J(J-1)/2 channels per colour, each at every 2^J-th pixel; for
    J=2, L=8 these are 81 channels of 7 x 7 for images of 28 x 28. A row of the result depends on its own image and the
    settings alone, to the last bit.

    Reference: E. Oyallon and S. Mallat, "Deep roto-translation scattering for object classification", CVPR 2015.

    Edges: a group without variation becomes zeros, and so does a black image; pixels that are NaN or infinite raise.
    Scaled pixels are cut at +-1e15.

    Parameters
    ----------
    J : int
        The number of scales.
    L : int
        The number of directions.
    shape : tuple of ints or None
        (height, width) or (height, width, colours) of images that are given as flat rows.
    scale : float
        The public number that pixels are divided by.
    groups : int or None
        Each colour's channels lie in this many groups, each of which gets mean 0 and variance 1 within its record; then
        the row gets norm 1. None leaves the coefficients as they are.
    threads : int or None
        How many threads work. None: as many as there are processors.
    cache : path or None
        A folder that keeps results.
    verbose : bool
        Whether a bar is shown on a terminal.
    """

    def __init__(
        self,
        J: int = 2,
        L: int = 8,
        *,
        shape: tuple[int, ...] | None = None,
        scale: float = 255.0,
        groups: int | None = 9,
        threads: int | None = None,
        cache: str | Path | None = None,
        verbose: bool = False,
    ) -> None:
        self.J = J
        self.L = L
        self.shape = shape
        self.scale = scale
        self.groups = groups
        self.threads = threads
        self.cache = cache
        self.verbose = verbose

    @property
    def places(self) -> int:
        """How many places a channel has: the columns of a row come in runs of this many, one run per channel.

        It follows from the images' shape, so it is known once that is declared, or after ``fit``.
        """
        shape = getattr(self, "shape_", None) or self._declared()
        if shape is None:
            raise NotFittedError("The number of places follows from the images' shape: declare shape=, or fit first.")
        return math.prod(size_of(shape, self._settings(shape)[0]))

    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings and note the images' shape; nothing else is learned."""
        return self.note(self._images(X).shape[1:])

    def note(self, shape: tuple[int, ...]) -> Self:
        """Check the settings for images of this shape (height, width, colours), and note it: all that ``fit`` does."""
        check_fields(self)
        scales, directions, *_ = self._settings(shape)
        self.shape_, self.n_features_in_ = shape, math.prod(shape)
        self._n_features_out = width_of(shape, scales, directions)
        return self

    @property
    def width(self) -> int:
        """Numbers in a row, once the images' shape is known."""
        return int(self._n_features_out)

    def transform(self, X: Any) -> NDArray[np.float32]:
        """One row per image, in float32: colours, then channels, then places down and across.

        Channels are S0; S1 by scale and direction; S2 by both scales, then both directions.
        """
        images = self._images(X)
        shape = getattr(self, "shape_", images.shape[1:])
        check(images.shape[1:] == shape, f"Expected images of shape {shape}, as in fit, found {images.shape[1:]}.")
        rule = self._rule(shape)
        if self.cache is None:
            return self._computed(images, rule)
        path = kept.place(self.cache, images, rule.settings)
        rows = kept.read(path, (len(images), rule.width))
        if rows is None:
            rows = self._computed(images, rule)
            kept.write(path, rows)
        return rows

    def _computed(self, images: NDArray[Any], rule: Rule) -> NDArray[np.float32]:
        rows = np.empty((len(images), rule.width), dtype=np.float32)

        def compute(start: int) -> int:
            stop = min(start + _BLOCK, len(images))
            for place in range(start, stop):
                rows[place] = rule(images[place])
            return stop - start

        threads = (os.cpu_count() or 1) if self.threads is None else check_count("threads", self.threads, _MOST_THREADS)
        # One thread of BLAS each: how a product is divided among threads must not depend on what else is running.
        with (
            threadpool_limits(1, user_api="blas"),
            _bar(self.verbose, len(images)) as advance,
            ThreadPoolExecutor(threads) as pool,
        ):
            for count in pool.map(compute, range(0, len(images), _BLOCK)):
                advance(count)
        return rows

    def _images(self, X: Any) -> NDArray[Any]:
        """The images as (n, height, width, colours), in the type that they came in."""
        array = plain(X)
        shape = self._declared()
        if shape is None:
            check(array.ndim in (3, 4), _FORMS)
            return array if array.ndim == 4 else array[..., None]
        given = shape[: len(self.shape or ())]
        fits = array.shape[1:] in (given, (math.prod(shape),))
        check(fits, f"Expected X to have {math.prod(shape)} columns, or images of shape {given}.")
        return array.reshape(len(array), *shape)

    def _declared(self) -> tuple[int, ...] | None:
        """(height, width, colours) of the images, where a shape was declared."""
        if self.shape is None:
            return None
        sizes = self.shape if isinstance(self.shape, tuple | list) else ()
        check(len(sizes) in (2, 3), "Expected shape to be (height, width) or (height, width, colours).")
        return (*(check_count("every number of shape", size) for size in sizes), *(1,) * (3 - len(sizes)))

    def _rule(self, shape: tuple[int, ...]) -> Rule:
        """What is done to every image of this shape."""
        scales, directions, scale, groups = self._settings(shape)
        return Rule(scatterer_of((shape[0], shape[1], shape[2]), scales, directions), scale, groups)

    def _settings(self, shape: tuple[int, ...]) -> tuple[int, int, float, int | None]:
        """J, L, scale and groups, once they are checked for images of this shape; no filter is made yet."""
        scales, directions = check_count("J", self.J), check_count("L", self.L)
        check(2 <= directions <= _WIDEST, f"Expected L={directions} to be from 2 to {_WIDEST}.")
        smallest = 2 ** min(scales, 60)
        check(
            min(shape[:2]) >= smallest and shape[2] >= 1,
            f"Expected images of at least {smallest} x {smallest} pixels for J={scales}; lower J, or enlarge them.",
        )
        scale = check_positive("scale", self.scale)
        groups, channels = (
            None if self.groups is None else check_count("groups", self.groups),
            channels_of(scales, directions),
        )
        check(
            channels % (groups or 1) == 0,
            f"Expected groups={groups} to divide {channels}, the channels of a colour.",
        )
        return scales, directions, scale, groups

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.three_d_array = True
        return tags


@contextmanager
def _bar(wanted: bool, total: int) -> Iterator[Any]:
    """What to call with the number of images that are done: a bar on a terminal where it is wanted, else nothing."""
    if not (wanted and sys.stderr.isatty()):
        yield lambda count: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as shown:
        task = shown.add_task("scattering", total=total)
        yield lambda count: shown.advance(task, count)
