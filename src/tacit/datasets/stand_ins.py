"""Made-up records in place of a public set, for whoever has neither its file nor a way to fetch it.

A stand-in has the columns, the kinds and ranges of cells, and the counts that a set's documentation states; no number
in it comes from the set's file. So code that learns from the set runs, and nothing that it finds says anything about
the set. ``load`` and ``images`` make one up only inside :func:`standing_in`, and never because a file is absent.

A record's class, y = -1 or 1, pulls every column j to one of its ends. With a sign s_j and z_j from N(0, 1), drawn with
a fixed seed, Phi(z_j + y s_j a / (2 sqrt(d))) is the place of the cell between the bounds, or in the list of values:
the classes lie a = ``APART`` standard deviations apart, whatever the number d of columns is. A numeric target pulls by
its own place, y in [-sqrt(3), sqrt(3)]. An image is a blend of its class's picture and another's.
"""

from __future__ import annotations

import functools
import hashlib
import math
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtr

from tacit.checks import check, names_in
from tacit.datasets.readers import Images, Table
from tacit.schema import Number, Schema
from tacit.types import Array

APART = 3.0
"""Standard deviations between two classes: the best rule is right about 93 times in 100 where both are as frequent."""
BLENDED = (0.4, 1.0)
"""Share of an image that is the picture of its own class."""
MARK = "synthetic stand-in"


@dataclass(frozen=True)
class Counts:
    """Records of one part of a set, those of the last class, and those with a missing cell, as documented."""

    records: int
    positives: int = 0
    incomplete: int = 0


TABLES = {
    "adult": {"train": Counts(32_561, 7_841, 2_399), "test": Counts(16_281, 3_846, 1_221)},
    "bank_marketing": {"all": Counts(41_188, 4_640, 10_700)},
    "kddcup99": {"all": Counts(494_021, 396_743)},
    "breast_cancer": {"all": Counts(699, 241, 16)},
    "credit_card_fraud": {"all": Counts(984, 492)},
    "acs_pums_2024": {"all": Counts(1_358_274)},
}
PICTURES = {
    "mnist": ((28, 28), {"train": 60_000, "test": 10_000}),
    "cifar10": ((3, 32, 32), {"train": 50_000, "test": 10_000}),
}
NAMES = frozenset(TABLES) | frozenset(PICTURES)
"""Sets that can be made up; Iris needs no file."""

_Given = ParamSpec("_Given")
_Made = TypeVar("_Made")
_ASKED: ContextVar[frozenset[str]] = ContextVar("asked", default=frozenset())


@contextmanager
def standing_in(names: Collection[str]) -> Iterator[None]:
    """Inside, ``load`` and ``images`` give made-up records for these sets, whether their files are here or not.

    Edges: a set that cannot be made up raises. Threads that are started inside need a block of their own.
    """
    unknown = sorted(set(names_in("names", names)) - NAMES)
    check(not unknown, f"There are no stand-ins for {unknown[:9]}; expected names among {sorted(NAMES)}.")
    before = _ASKED.set(frozenset(names))
    try:
        yield
    finally:
        _ASKED.reset(before)


def asked(name: str) -> bool:
    """Whether a set is to be made up here and now."""
    return name in _ASKED.get()


def cached(function: Callable[_Given, _Made]) -> Callable[_Given, _Made]:
    """``functools.cache`` for what is read from data sets: made-up records are kept apart from those of files."""

    def apart(asked: frozenset[str], *given: Any, **named: Any) -> _Made:
        return function(*given, **named)

    kept: Any = functools.cache(apart)

    @functools.wraps(function)
    def call(*given: _Given.args, **named: _Given.kwargs) -> _Made:
        made: _Made = kept(_ASKED.get(), *given, **named)
        return made

    call.cache_clear = kept.cache_clear  # type: ignore[attr-defined]
    return call


def table(name: str, part: str, schema: Schema) -> Table:
    """Made-up records: the columns of the schema, and its target."""
    counts, target = TABLES[name][part], schema.target
    if target is None:
        raise ValueError(f"The schema of {name} has no target.")
    dice = _dice(name, part)
    if target.classes is None:
        share = dice.uniform(size=counts.records)
        pull = math.sqrt(3.0) * (2 * share - 1)
        aims: NDArray[Any] = _between(target.lower, target.upper, share**2)
    else:
        positive = dice.permutation(np.arange(counts.records) < counts.positives)
        pull = np.where(positive, 1.0, -1.0)
        aims = np.where(positive, str(target.classes[-1]), str(target.classes[0])).astype(object)
    signs = _dice(name).choice([-1.0, 1.0], len(schema.columns))  # the same for all parts
    made: Table = {}
    for column, sign in zip(schema.columns, signs, strict=True):
        place = ndtr(dice.standard_normal(counts.records) + sign * pull * APART / (2 * math.sqrt(len(signs))))
        if isinstance(column, Number):
            made[column.name] = _between(column.lower, column.upper, place)
        else:
            values = np.array(column.values, dtype=object if isinstance(column.values[0], str) else float)
            made[column.name] = values[np.minimum((place * len(values)).astype(int), len(values) - 1)]
    texts = [column.name for column in schema.columns if made[column.name].dtype == object]
    gaps = dice.permutation(counts.records)[: counts.incomplete]
    if texts:
        made[texts[0]][gaps] = schema.missing[0] if schema.missing else ""
    else:
        made[schema.columns[-1].name][gaps] = np.nan
    return made | {target.name: aims}


def images(name: str, part: str) -> Images:
    """Made-up images, as many of each of ten classes."""
    shape, counts = PICTURES[name]
    side, count = shape[-1] // 4, counts[part]
    coarse = _dice(name).uniform(size=(10, *shape[:-2], side, side)) > 0.6
    pictures = np.float32(255) * coarse.repeat(4, axis=-1).repeat(4, axis=-2)
    dice = _dice(name, part)
    labels = dice.permutation(np.arange(count) % 10)
    others = dice.integers(10, size=count)
    shares = dice.uniform(*BLENDED, size=(count, *(1 for _ in shape))).astype(np.float32)
    pixels = np.empty((count, *shape), np.uint8)
    for few in np.array_split(np.arange(count), max(1, count // 5_000)):
        pixels[few] = shares[few] * pictures[labels[few]] + (1 - shares[few]) * pictures[others[few]]
    return pixels, labels.astype(np.int64)


def _between(lower: Any, upper: Any, share: Array) -> Array:
    return float(lower) + (float(upper) - float(lower)) * share


def _dice(*words: str) -> np.random.Generator:
    """The same numbers for the same words, everywhere."""
    return np.random.default_rng(list(hashlib.sha256("/".join(words).encode()).digest()))
