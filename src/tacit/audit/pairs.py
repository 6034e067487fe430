"""Worst-case neighbours: pairs of small data sets on which a training procedure has most to hide.

One record differs; the others are arranged so that nothing else stands in its way. Few records are enough: what
matters is the ratio of one record's pull to the noise, and small sets train fast.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from tacit.arguments import checked
from tacit.checks import check, check_choice, check_count, check_positive, pair_of, shown
from tacit.data.canonical import column, dense
from tacit.types import Adjacency, Array, Targets

Record = tuple[Array, float]
"""A row and its target."""


LARGEST = 10**6
"""The most records, columns and classes of a made-up pair."""


@dataclass(frozen=True)
class Data:
    """Rows and targets."""

    rows: Array = field(repr=False)
    targets: Array = field(repr=False)

    def __post_init__(self) -> None:
        check(len(self.rows) == len(self.targets) > 0, "Expected as many targets as rows, and at least one.")

    def and_also(self, record: Record) -> Data:
        """The same with one record more."""
        row, target = record
        return Data(np.vstack([self.rows, row]), np.append(self.targets, target))


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
        for side, data in (("first", first), ("second", second)):
            right = isinstance(data, tuple | list) and len(data) == 2 and all(np.ndim(part) for part in data)
            check(right, f"Expected {side} to be a pair of rows and targets, (X, y), not {shown(data)}.")
        check(isinstance(name, str), f"Expected name to be text, not {shown(name)}.")
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


def check_targets(targets: Targets) -> Targets:
    """Targets as a loss declares them: words, or the two ends of a range."""
    if isinstance(targets, str):
        check_choice("targets", targets, ("signs", "classes"))
        return targets
    low, high = pair_of("targets", targets)
    check(math.isfinite(low) and low < high < math.inf, f"Expected targets={low, high} to be a range (low, high).")
    return low, high


def target_values(targets: Targets, classes: int = 3) -> tuple[float, ...]:
    """The values that targets of pairs take, the two that are farthest apart first."""
    known = check_targets(targets)
    if isinstance(known, str):
        return (1.0, -1.0) if known == "signs" else tuple(float(number) for number in range(classes))
    low, high = known
    return high, low


@checked
def library(
    adjacency: Adjacency,
    *,
    targets: Targets = "signs",
    classes: int = 3,
    records: int = 16,
    clip: float = 1.0,
    columns: int = 2,
) -> tuple[Pair, ...]:
    """The pairs that every audit tries, for rows of norm ``clip`` and ``targets`` as a loss declares them.

    Targets are -1 and +1, the numbers of so many ``classes``, or the two ends of a range. Under replace-one the last
    record is changed; under add-remove it is left out of the second set. ``columns`` beyond two are zero.
    """
    for name, value, least in (("classes", classes, 1), ("records", records, 4), ("columns", columns, 2)):
        check(check_count(name, value, LARGEST) >= least, f"Expected {name}={value} >= {least}.")
    one, two = check_positive("clip", clip) * np.eye(columns)[:2]
    values = target_values(targets, classes)
    high, low = values[:2]
    zero = Data(np.zeros((records - 1, columns)), np.resize(values, records - 1))
    same = Data(np.tile(one, (records - 1, 1)), np.full(records - 1, high))
    lean = 0.4
    left, right = (-lean * one + side * math.sqrt(1 - lean**2) * two for side in (1, -1))
    balanced = "others zero, labels balanced; the last record at the clip"
    alone = "others duplicates in one direction; the last record alone in another"
    flipped = "all records the same; the label of the last flipped"
    if adjacency == "add-remove":
        return (
            _left_out("label", balanced, zero, (one, high), one),
            _left_out("unused", alone, same, (two, high), two),
            _left_out("opposed", "others duplicates; a record that contradicts them", same, (left, high), left - right),
            _left_out("duplicate", flipped, same, (one, low), one),
        )
    contradicting = "others duplicates; two records that both contradict them, far apart"
    turned = f"{balanced}, or at a right angle with the other label"
    return (
        _replaced("label", f"{balanced}, its label flipped", zero, (one, high), (one, low), one),
        _replaced("zero", f"{balanced}, or zero", zero, (one, high), (0 * one, high), one),
        _replaced("turned", turned, zero, (one, high), (two, low), one + two),
        _replaced("unused", f"{alone}, its label flipped", same, (two, high), (two, low), two),
        _replaced("opposed", contradicting, same, (left, high), (right, high), left - right),
        _replaced("duplicate", flipped, same, (one, high), (one, low), one),
    )


def _replaced(name: str, about: str, others: Data, record: Record, other: Record, direction: Array) -> Pair:
    return Pair(name, about, others.and_also(record), others.and_also(other), direction)


def _left_out(name: str, about: str, others: Data, record: Record, direction: Array) -> Pair:
    about = f"{about}; left out of the second set"
    return Pair(f"{name}, left out", about, others.and_also(record), others, direction)
