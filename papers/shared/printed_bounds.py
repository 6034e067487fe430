"""Bounds that papers print, as numbers: the public sizes of the experiments, and tables made of points."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from papers.engine.figure import Finding, Point, Settings, Size, TextTable
from papers.shared.accuracy import SETS
from papers.shared.curves import LAMBDA
from papers.shared.intervals import Count
from papers.shared.statements import MOST
from tacit import datasets
from tacit.estimators.base import INTERCEPT
from tacit.schema import Schema

KINDS = ("LR", "MLP")


@dataclass(frozen=True)
class Letters:
    """Public numbers of one experiment; letters as in the papers. What a paper leaves open is 1.

    n training records, d features, p parameters, G Lipschitz, L smooth, ``strong`` the strong convexity (Delta or
    lambda), T steps, k influential records, D the bound of the parameters' norm, ``rate`` the step size alpha;
    ``kind`` the model, since some theorems are of convex losses only.
    """

    n: int
    d: int
    p: int
    epsilon: float
    delta: float
    G: float = 1.0
    L: float = 1.0
    strong: float = LAMBDA
    T: int = 100
    k: int = 1
    D: float = 1.0
    rate: float = 1.0
    kind: str = "LR"


def letters(data: str, kind: str, epsilon: float, delta: float | None, T: int | None, share: float = 1.0) -> Letters:
    """What the experiments have: rows of norm 1 and an intercept; a network's G and L are not known and taken as 1.

    ``share`` is k/n. ``delta`` None is n^(-3/2), at most 0.01; ``T`` None is n.
    """
    n = int(0.6 * SETS[data])
    d = Schema.load(datasets.SCHEMAS / f"{data}.toml").width
    square = 1 + INTERCEPT**2
    p = d + 1 if kind == "LR" else d * (d + 1) + 2 * (d + 1)
    lipschitz, smooth = (math.sqrt(square), square / 4) if kind == "LR" else (1.0, 1.0)
    price = min(n**-1.5, 0.01) if delta is None else delta
    return Letters(n, d, p, epsilon, price, lipschitz, smooth, T=T or n, k=max(1, round(share * n)), kind=kind)


Bounds = Mapping[str, Mapping[str, float | None]]
"""Row of the table -> quantity -> value; None where the paper gives none."""


@dataclass(frozen=True)
class Bounding:
    """A table of bounds: at which data sets, models and epsilons, T (None: n), and the function that gives its rows."""

    sets: tuple[str, ...]
    epsilons: tuple[float, ...]
    delta: float | None
    T: int | None
    bounds: Callable[[Letters], Bounds]
    share: float = 1.0

    def cells(self, size: Size) -> Iterator[Settings]:
        """The same at any size: nothing is drawn and nothing fitted."""
        for kind in KINDS:
            for epsilon in self.epsilons:
                for data in self.sets:
                    if kind == "LR" or SETS[data] > 1000:  # the papers have networks on large sets only
                        yield {"kind": kind, "epsilon": epsilon, "data": data, "delta": self.delta, "T": self.T}

    def measure(self, kind: str, epsilon: float, data: str, delta: float | None, T: int | None) -> list[Point]:
        """One point a row and quantity."""
        rows = self.bounds(letters(data, kind, epsilon, delta, T, self.share))
        shared = {"kind": kind, "epsilon": epsilon, "data": data}
        return [
            {**shared, "row": row, "quantity": quantity, "value": value}
            for row, quantities in rows.items()
            for quantity, value in quantities.items()
        ]


def show(points: Sequence[Point]) -> list[TextTable]:
    """One table for each quantity, model and epsilon: methods by data sets."""
    tables, seen = [], set()
    for quantity, kind, epsilon in dict.fromkeys((p["quantity"], p["kind"], p["epsilon"]) for p in points):
        mine = [p for p in points if (p["quantity"], p["kind"], p["epsilon"]) == (quantity, kind, epsilon)]
        sets = tuple(dict.fromkeys(p["data"] for p in mine))
        values = {(p["row"], p["data"]): p["value"] for p in mine}
        rows = tuple(
            (row, *(_text(values.get((row, data))) for data in sets)) for row in dict.fromkeys(p["row"] for p in mine)
        )
        if (quantity, kind, rows) not in seen:  # what does not depend on epsilon is shown once
            seen.add((quantity, kind, rows))
            tables.append(TextTable(f"{quantity}, {kind}, epsilon = {epsilon:g}", ("method", *sets), rows))
    return tables


def ratios(points: Sequence[Point], quantity: str, row: str, other: str) -> dict[tuple[str, str, float], float]:
    """The first row's value over the other's at every (data, kind, epsilon)."""
    values = {
        (p["data"], p["kind"], p["epsilon"], p["row"]): p["value"]
        for p in points
        if p["quantity"] == quantity and p["value"] is not None
    }
    keys = [key[:3] for key in values if key[3] == row and (*key[:3], other) in values]
    return {key: values[*key, row] / values[*key, other] for key in keys}


def span(found: Mapping[tuple[str, str, float], float]) -> str:
    """The smallest and largest ratio, with where."""
    low, high = min(found, key=found.__getitem__), max(found, key=found.__getitem__)
    return " to ".join(f"{found[at]:.3g} ({at[1]} on {at[0]}, epsilon {at[2]:g})" for at in (low, high))


def no_larger(found: Mapping[tuple[str, str, float], float], statement: str) -> Finding:
    """Is the first bound no larger than the other in most cells?"""
    if not found:
        return Finding(statement, None, "No rows.")
    count = Count.of(ratio <= 1 + 1e-12 for ratio in found.values())
    words = f"No larger in {count.told('cells')}; ours over theirs: {span(found)}."
    return Finding(statement, count.more_than(MOST), words)


def _text(value: float | None) -> str:
    """A bound is above 0; where a formula gives less, the budget was used up before any noise, and it is refused."""
    if value is None:
        return "not given"
    return f"{value:.2e}" if value > 0 else "refused"
