"""Worst-case neighbours: pairs of small data sets on which a training procedure has most to hide.

One record differs; the others are arranged so that nothing else stands in its way. Few records are enough: what
matters is the ratio of one record's pull to the noise, and small sets train fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from tacit.checks import check, check_count, check_positive
from tacit.data.canonical import column, dense
from tacit.types import Adjacency, Array

Task = Literal["classification", "regression", "multiclass"]
TASKS: tuple[Task, ...] = ("classification", "regression", "multiclass")


@dataclass(frozen=True)
class Data:
    """Rows and targets."""

    rows: Array = field(repr=False)
    targets: Array = field(repr=False)

    def __post_init__(self) -> None:
        check(len(self.rows) == len(self.targets) > 0, "Expected as many targets as rows, and at least one.")


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets, and the direction (in the space of rows) in which they differ."""

    name: str
    about: str
    first: Data
    second: Data
    direction: Array = field(repr=False)

    @classmethod
    def of(cls, first: tuple[Array, Array], second: tuple[Array, Array], name: str = "given") -> Pair:
        """A user's own pair: (rows, targets) twice. The direction is where their weighted sums differ most."""
        one, two = (Data(np.asarray(dense(x), dtype=np.float64), np.asarray(column(y))) for x, y in (first, second))
        check(one.rows.shape[1] == two.rows.shape[1], "Expected both data sets to have the same columns.")
        pull = _pull(one) - _pull(two)
        return cls(name, "given by the caller", one, two, pull if pull.any() else np.ones_like(pull))


def _pull(data: Data) -> Array:
    """Sum of target times row: the direction in which these records pull a linear model."""
    try:
        return np.asarray(data.rows.T @ data.targets.astype(np.float64))
    except ValueError:  # labels that are not numbers
        return np.asarray(data.rows.sum(axis=0))


def library(
    adjacency: Adjacency,
    *,
    task: Task = "classification",
    records: int = 16,
    clip: float = 1.0,
    bound: float = 1.0,
    columns: int = 2,
) -> tuple[Pair, ...]:
    """The pairs that every audit tries, for rows of norm ``clip`` and targets within ``bound``.

    Classes are -1 and +1, or 0, 1, 2 for several. Under replace-one the last record is changed; under add-remove it is
    left out of the second set. ``columns`` beyond two are zero.
    """
    check(task in TASKS, f"Expected task={task!r} to be one of {', '.join(TASKS)}.")
    check_count("records", records)
    check(records >= 4 and columns >= 2, "Expected records >= 4 and columns >= 2.")
    one, two = check_positive("clip", clip) * np.eye(columns)[:2]
    high, low = (0.0, 1.0) if task == "multiclass" else (bound, -bound)
    labels = np.resize([0.0, 1.0, 2.0] if task == "multiclass" else [high, low], records - 1)
    zero, same = np.zeros((records - 1, columns)), np.tile(one, (records - 1, 1))
    constant = np.full(records - 1, high)
    lean = 0.4
    left, right = (-lean * one + side * math.sqrt(1 - lean**2) * two for side in (1, -1))
    cases: list[tuple[str, str, Array, Array, tuple[Array, float], tuple[Array, float]]] = [
        (
            "label",
            "others zero, labels balanced; the last record at the clip, its label flipped",
            zero,
            labels,
            (one, high),
            (one, low),
        ),
        (
            "zero",
            "others zero, labels balanced; the last record at the clip, or zero",
            zero,
            labels,
            (one, high),
            (0 * one, high),
        ),
        (
            "turned",
            "others zero, labels balanced; the last record at the clip, or at a right angle with the other label",
            zero,
            labels,
            (one, high),
            (two, low),
        ),
        (
            "unused",
            "others duplicates in one direction; the last record alone in another, its label flipped",
            same,
            constant,
            (two, high),
            (two, low),
        ),
        (
            "opposed",
            "others duplicates; two records that both contradict them, far apart",
            same,
            constant,
            (left, high),
            (right, high),
        ),
        ("duplicate", "all records the same; the label of the last flipped", same, constant, (one, high), (one, low)),
    ]
    made = []
    for name, about, rows, targets, (row, target), (other, flipped) in cases:
        full = Data(np.vstack([rows, row]), np.append(targets, target))
        if adjacency == "replace-one":
            made.append(Pair(name, about, full, Data(np.vstack([rows, other]), np.append(targets, flipped)), one))
            continue
        if name in ("zero", "turned"):
            continue
        less = Data(rows, targets)
        if name == "duplicate":
            full = Data(full.rows, np.append(targets, flipped))
        made.append(
            Pair(f"{name}, left out", about.split(", its")[0] + "; left out of the second set", full, less, one)
        )
    directions = {"unused": two, "opposed": left - right, "turned": one + two}
    return tuple(
        Pair(p.name, p.about, p.first, p.second, directions.get(p.name.split(",")[0], p.direction)) for p in made
    )
