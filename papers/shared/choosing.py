"""Equal chances: every method of a figure tries as many settings, and validation records choose, by several noisy fits.

One fit says little: at a small epsilon the noise of two fits with the same setting differs by more than two settings
do. So a setting's score is the mean over :data:`FITS` fits, each with noise of its own. Where the best value lies at an
edge of the grid, the grid is extended beyond it, so that no method is held back by where its grid happened to end.
Validation records are private, and all this is done on them at no charge, as the papers do: for readers, not for use.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

FITS = 3
"""Noisy fits of which the mean validation accuracy is a setting's score."""
EXTENSIONS = 16
"""How many settings may be tried beyond the edges of a grid. A choice that still lies at one says so."""

NETWORK_EXTENSIONS = 6
"""The same for perceptrons: fewer, cut for time."""

Chosen = Mapping[str, Any]
Score = tuple[float, float]
"""The mean accuracy, and minus the mean loss, which decides where accuracies are equal."""


@dataclass(frozen=True)
class Axis:
    """Values of one setting, each about the same factor above the last.

    Below ``lowest`` or above ``highest`` a value has no meaning (less than one step) or is not run (more passes than
    the figure's text says): a grid that ends there has no edge there. One value alone needs the ``factor`` by which
    it may be moved.
    """

    name: str
    values: tuple[float, ...]
    lowest: float = 0.0
    highest: float = math.inf
    factor: float = 0.0

    def beyond(self, at: float, tried: Sequence[float]) -> float | None:
        """The next value where ``at`` is the least or the largest that was tried; None inside, or at a limit."""
        values = sorted(set(tried))
        several = len(self.values) > 1
        factor = self.factor or ((self.values[-1] / self.values[0]) ** (1 / (len(self.values) - 1)) if several else 0.0)
        moves = ((values[0], 1 / factor), (values[-1], factor)) if factor else ()
        found = [self._near(at * move) for edge, move in moves if at == edge]
        return next((value for value in found if value not in values), None)

    def _near(self, value: float) -> float:
        """A whole number where all values are, else three digits; within the limits."""
        whole = all(isinstance(v, int) for v in self.values)
        return min(max(max(1, round(value)) if whole else float(f"{value:.3g}"), self.lowest), self.highest)


@dataclass(frozen=True)
class Choice:
    """The setting with the best score, how many were tried, and whether it lies inside of what was tried."""

    setting: Chosen
    score: float
    tried: int
    inside: bool

    @property
    def words(self) -> str:
        """The setting in words."""
        return ", ".join(f"{name} = {value:g}" for name, value in self.setting.items())


def choose(
    axes: Sequence[Axis], score: Callable[[Sequence[Chosen]], Sequence[Score]], extensions: int = EXTENSIONS
) -> Choice:
    """Try all combinations; while the best has an extreme value on some axis, try it with the value beyond.

    ``score`` is asked for all combinations at once, then for one setting at a time.
    """
    names, results = [axis.name for axis in axes], dict[tuple[float, ...], Score]()

    def extend(*settings: tuple[float, ...]) -> None:
        results.update(zip(settings, score([dict(zip(names, v, strict=True)) for v in settings]), strict=True))

    extend(*itertools.product(*(axis.values for axis in axes)))
    for _ in range(extensions):
        further = _beyond(axes, results)
        if further is None:
            break
        extend(further)
    best = max(results, key=lambda values: results[values])
    inside = not extensions or _beyond(axes, results) is None
    return Choice(dict(zip(names, best, strict=True)), results[best][0], len(results), inside)


def _beyond(axes: Sequence[Axis], results: Mapping[tuple[float, ...], Score]) -> tuple[float, ...] | None:
    """The best setting with its first extreme value moved on, unless that was tried; None where none is extreme.

    A value is extreme on its axis among the settings that agree with the best on all others.
    """
    best = max(results, key=lambda values: results[values])
    for place, axis in enumerate(axes):
        rest = (*best[:place], *best[place + 1 :])
        tried = [values[place] for values in results if (*values[:place], *values[place + 1 :]) == rest]
        value = axis.beyond(best[place], tried)
        if value is not None:
            return (*best[:place], value, *best[place + 1 :])
    return None


def count(axes: Sequence[Axis]) -> int:
    """Settings in the grid before it is extended."""
    return math.prod(len(axis.values) for axis in axes)
