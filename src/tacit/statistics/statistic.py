"""What a statistic looks like: numbers, where the true ones lie, and the guarantee that they were released under."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from tacit.checks import at_most, check, check_real
from tacit.data.cells import Value
from tacit.privacy.guarantee import Guarantee
from tacit.types import Array

Interval = tuple[Array, Array]
_LINES = 20


@dataclass(frozen=True, eq=False, repr=False)
class Statistic:
    """A statistic of private records.

    ``interval`` covers the noise: with probability ``level`` the number that *these records* have without noise lies in
    it (of records clipped to the bounds). ``population_interval`` covers noise and sampling: with about that
    probability it contains the number of the population that the records, or people, were sampled from; None where none
    is offered. Each entry's interval is by itself. ``labels`` names the entries: groups, cells or ranks.
    """

    name: str
    value: Any
    interval: tuple[Any, Any]
    level: float
    guarantee: Guarantee
    labels: tuple[Value | tuple[Value, ...], ...] = ()
    population_interval: tuple[Any, Any] | None = None

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee, under the name that models have for it."""
        return self.guarantee

    def to_dict(self) -> dict[str, list[Any]]:
        """Columns of a plain table with one row per entry: pandas.DataFrame takes it as it is."""
        columns: dict[str, Any] = {self.name: self.value, "lower": self.interval[0], "upper": self.interval[1]}
        if self.population_interval is not None:
            columns |= dict(zip(("population_lower", "population_upper"), self.population_interval, strict=True))
        flat = {name: np.ravel(np.asarray(values)).tolist() for name, values in columns.items()}
        return ({"label": list(self.labels)} if self.labels else {}) | flat

    def __repr__(self) -> str:
        rows = self.to_dict()
        whom = "" if self.population_interval is None else "; in brackets: for the population, sampling included"
        budget = f"epsilon={at_most(self.guarantee.epsilon)}, delta={at_most(self.guarantee.delta, 3)}"
        lines = [f"{self.name} ({budget}; {100 * self.level:g}% intervals for these records{whom})"]
        for place, (value, low, high) in enumerate(
            list(zip(rows[self.name], rows["lower"], rows["upper"], strict=True))[:_LINES]
        ):
            label = f"{self.labels[place]}: " if self.labels else ""
            wider = (
                ""
                if self.population_interval is None
                else f" [{rows['population_lower'][place]:.6g}, {rows['population_upper'][place]:.6g}]"
            )
            lines.append(f"  {label}{value:.6g}  {low:.6g} to {high:.6g}{wider}")
        more = len(rows[self.name]) - _LINES
        return "\n".join([*lines, *([f"  and {more} more"] if more > 0 else [])])


def quantile_of(level: Any) -> float:
    """How many standard deviations to either side hold a normal number with this chance."""
    number = check_real("level", level)
    check(0 < number < 1, f"Expected 0 < level={number} < 1: the probability that an interval contains the truth.")
    return float(ndtri((1 + number) / 2))


def between(low: Any, high: Any, least: Any = -np.inf, most: Any = np.inf) -> Interval:
    """An interval, as far as it lies within what is possible."""
    return np.clip(low, least, most), np.clip(high, least, most)


def shaped(values: Array, one: bool) -> Any:
    """A plain number where there is one entry and no labels."""
    return float(values[0]) if one else values
