"""What a first table says: plain entries of each column, read from released numbers, and their text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import at_most
from tacit.privacy.guarantee import Guarantee
from tacit.readable import plain
from tacit.schema import Schema
from tacit.schema.columns import Column
from tacit.statistics.aggregates import positive, quotient
from tacit.statistics.asked_rows import Bounds
from tacit.statistics.ranks import QUARTILES, Ranks
from tacit.types import Array

MOST_VALUES = 20
"""The most values of a category that are counted, the others together."""
Reading = tuple[int, Array, float]
"""A part's place in its release, its numbers and their noise."""
Entry = dict[str, Any]


@dataclass(frozen=True, eq=False, repr=False)
class Description:
    """What a table looks like, column by column, with intervals that cover the noise, and the guarantee of all of it.

    ``columns`` has plain entries by name; an interval is a list of two. Numbers are clipped to their ``bounds`` first:
    where a share of them lies beyond, mean and deviation are of clipped numbers. ``schema`` is what was declared or
    found; None where no column stood out from the noise. ``left_out`` names the columns that did not.
    """

    records: int | None
    columns: dict[str, Entry]
    schema: Schema | None
    level: float
    guarantee: Guarantee
    left_out: tuple[str, ...] = ()

    @property
    def guarantee_(self) -> Guarantee:
        """The guarantee, under the name that models have for it."""
        return self.guarantee

    def to_dict(self) -> dict[str, Any]:
        """Plain data that JSON can hold, the guarantee and the schema included."""
        return {
            "records": self.records,
            "level": self.level,
            "columns": self.columns,
            "left_out": list(self.left_out),
            "schema": None if self.schema is None else self.schema.to_dict(),
            "guarantee": self.guarantee.to_dict(),
        }

    def rows(self) -> list[list[str]]:
        """Lines of text: name, missing share, then numbers or frequent values, each with its interval."""
        return [[name, _percent(entry, "missing"), *_words(entry)] for name, entry in self.columns.items()]

    @property
    def caution(self) -> str:
        """What a reader must know: that numbers are clipped, and which columns nothing is said of."""
        lost = f"; nothing stands out from the noise in {', '.join(self.left_out)}" if self.left_out else ""
        return f"{CAUTION}{lost}"

    def __repr__(self) -> str:
        rows = [list(HEADER), *self.rows()]
        widths = [max(len(row[place]) for row in rows) for place in range(len(HEADER) - 1)]
        lines = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), row[-1]]) for row in rows
        ]
        budget = f"epsilon={at_most(self.guarantee.epsilon)}, delta={at_most(self.guarantee.delta, 3)}"
        whom = "people" if self.guarantee.rows_per_person else "rows"
        count = "" if self.records is None else f"{self.records:,} {whom}; "
        return "\n".join([f"{count}{budget}; {100 * self.level:g}% intervals cover the noise; {self.caution}", *lines])


CAUTION = "numbers are clipped to the bounds, and all statistics describe the clipped numbers"
HEADER = ("column", "missing", "bounds", "beyond", "mean", "deviation", "quartiles, or frequent values")


def _percent(entry: Entry, name: str) -> str:
    low, high = entry[f"{name}_interval"]
    return f"{100 * entry[name]:.1f}% ({100 * low:.1f} to {100 * high:.1f})"


def _words(entry: Entry) -> list[str]:
    def with_ends(value: float, ends: Sequence[float]) -> str:
        return f"{plain(value, 4)} ({plain(ends[0], 4)} to {plain(ends[1], 4)})"

    if "mean" in entry:
        quartiles = zip(entry["quartiles"], entry["quartile_intervals"], strict=True)
        return [
            " to ".join(plain(end, 9) for end in entry["bounds"]),
            _percent(entry, "clipped"),
            with_ends(entry["mean"], entry["mean_interval"]),
            with_ends(entry["deviation"], entry["deviation_interval"]),
            ", ".join(with_ends(value, ends) for value, ends in quartiles),
        ]
    shares = zip(entry["values"], entry["shares"], entry["share_intervals"], strict=True)
    listed = [f"{value} {100 * share:.1f}% ({100 * a:.1f} to {100 * b:.1f})" for value, share, (a, b) in shares]
    return ["", "", "", "", ", ".join(listed[:4]) + (f", and {len(listed) - 4} more" if len(listed) > 4 else "")]


def missing_entry(
    count: float, deviation: float, everybody: float, uncertain: float, z: float, *, there: bool
) -> Entry:
    """The share of missing cells, from how many are missing, or how many are ``there``."""
    share = count / everybody
    reach = z * np.hypot(deviation, share * uncertain) / everybody
    absent = 1.0 - share if there else share
    return {"missing": _within(absent), "missing_interval": [_within(absent - reach), _within(absent + reach)]}


def clipped_entry(present: Reading, beyond: Reading, limits: Bounds, z: float) -> Entry:
    """The bounds, and the share of cells beyond them: what is said of the column is said of clipped cells."""
    (_, rows, _), (_, outside, deviation) = present, beyond
    share, reach = float(outside[0] / max(rows[0], 1.0)), z * deviation / max(float(rows[0]), 1.0)
    ends = [_within(share - reach), _within(share + reach)]
    return {"bounds": [limits.lower, limits.upper], "clipped": _within(share), "clipped_interval": ends}


def _within(share: float) -> float:
    return float(np.clip(share, 0.0, 1.0))


def moments_entry(present: Reading, sums: Reading, squares: Reading, limits: Bounds, z: float) -> Entry:
    """Mean and standard deviation of the cells that are there."""
    (_, rows, uncertain), (_, total, noise), (_, second, rough) = present, sums, squares
    safe = np.maximum(rows, 1.0)
    estimate = np.clip(total / safe, -1.0, 1.0)
    spread = second - 2 * estimate * total + estimate**2 * rows
    roughly = np.sqrt(rough**2 + 4 * (estimate * noise) ** 2 + (estimate**2 * uncertain) ** 2)
    variance = positive(spread, roughly)
    ends = quotient(total, rows, np.full(1, noise**2), uncertain, z)
    wider = quotient(total, rows, noise**2 + variance, uncertain, z)
    deviations = [
        limits.half * float(np.sqrt(np.clip(value / safe, 0.0, 1.0))[0])
        for value in (variance, spread - z * roughly, spread + z * roughly)
    ]
    return {
        "mean": limits.middle + limits.half * float(estimate[0]),
        "mean_interval": [limits.middle + limits.half * float(end[0]) for end in ends],
        "mean_population_interval": [limits.middle + limits.half * float(end[0]) for end in wider],
        "deviation": deviations[0],
        "deviation_interval": [min(deviations[:2]), max(deviations[::2])],
    }


def quartiles_entry(ranks: Ranks, z: float) -> Entry:
    """Quartiles of the cells that are there, with both intervals."""
    return {
        "quartiles": [ranks.at(share, z) for share in QUARTILES],
        "quartile_intervals": [list(ranks.interval(share, z)) for share in QUARTILES],
        "quartile_population_intervals": [list(ranks.interval(share, z, sampling=True)) for share in QUARTILES],
    }


def shares_entry(column: Column, counts: Array, deviation: float, z: float) -> Entry:
    """Shares of the listed values, and of all others together, among the cells that are there."""
    present = counts[:-1]
    rows = np.maximum(present.sum(), 1.0)
    shares = present / rows
    reach = z * deviation * np.sqrt(np.maximum(1 - 2 * shares + len(present) * shares**2, 0.0)) / rows
    labels = [*map(str, column.values[:MOST_VALUES]), "<other>"]
    order = [*np.argsort(-shares[:-1], kind="stable").tolist(), len(shares) - 1]
    return {
        "values": [labels[place] for place in order],
        "shares": [_within(shares[place]) for place in order],
        "share_intervals": [[_within(shares[i] - reach[i]), _within(shares[i] + reach[i])] for i in order],
    }
