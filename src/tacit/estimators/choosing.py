"""What follows from released counts: where numbers are cut, and which pairs say more than their columns do alone.

All of this is post-processing: it sees noisy counts, and no record.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from tacit.schema import Bins, Hats, Schema
from tacit.schema.columns import Column
from tacit.types import Array


def even_cuts(points: Sequence[float], counts: Array, intervals: int) -> tuple[float, ...]:
    """Of the points that part the cells, those that cut the range into so many intervals of about equal mass.

    The interval with the largest mass is halved, as nearly as its points allow, until there are as many as asked for; a
    cell that holds most of the mass by itself is then an interval, and the rest is cut as if it were not there. Of
    points that halve equally well, that one is taken which leaves empty cells to the lighter side. The cumulative
    counts are made to rise first: halfway between the highest so far and the lowest from there on.

    Edges: fewer points than asked for are all taken. Counts of nothing but noise give cuts all the same.
    """
    rising = np.concatenate([[0.0], np.cumsum(counts[: len(points) + 1])])
    rising = (np.maximum.accumulate(rising) + np.minimum.accumulate(rising[::-1])[::-1]) / 2
    ends = [0, len(points) + 1]
    while len(ends) <= min(intervals, len(points) + 1):
        wide = [place for place in range(len(ends) - 1) if ends[place + 1] - ends[place] > 1]
        place = max(wide, key=lambda at: (rising[ends[at + 1]] - rising[ends[at]], ends[at + 1] - ends[at]))
        low, high = ends[place], ends[place + 1]
        half = (rising[low] + rising[high]) / 2
        near = np.abs(rising[low + 1 : high] - half)
        best = low + 1 + np.flatnonzero(near == near.min())
        ends.insert(place + 1, int(best[0] if rising[best[0]] > half else best[-1]))
    return tuple(float(points[end - 1]) for end in ends[1:-1])


def interaction(counts: Array, deviation: float) -> float:
    r"""How much a table of (slots of one, slots of the other, target) departs from a sum of two columns' effects.

    With ``t_ij`` the total of a cell and ``y_ijk`` its count of the target's cell k less what all records' share
    predicts, the least ``sum (y_ijk - t_ij (a_ik + b_jk))^2 / (t_ij + c)`` over a and b, less what noise of this
    standard deviation and sampling leave there on their own; c keeps cells that hold only noise from counting.
    """
    first, second, answers = counts.shape
    totals = np.maximum(counts.sum(axis=2), 0.0)
    all_counts = np.maximum(counts.sum(axis=(0, 1)), 0.0)
    shares = all_counts / max(float(all_counts.sum()), 1.0)
    spare = (first - 1) * (second - 1) / (first * second)
    weights = (totals + max(2.0 * deviation * np.sqrt(answers), 1.0)).ravel()
    sides = np.hstack([np.repeat(np.eye(first), second, axis=0), np.tile(np.eye(second), (first, 1))])
    root = np.sqrt(weights)[:, None]
    design = sides * totals.reshape(-1, 1) / root
    values = (counts - totals[:, :, None] * shares).reshape(-1, answers) / root
    left = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    noise = answers * deviation**2 * float((1.0 / weights).sum())
    sampling = float((totals.ravel() / weights).sum() * (shares * (1 - shares)).sum())
    return float((left**2).sum() - spare * (noise + sampling))


def strongest(scores: Sequence[float], wanted: int) -> list[int]:
    """The places of the largest scores, in order of place."""
    return sorted(sorted(range(len(scores)), key=lambda place: -scores[place])[:wanted])


def recut(schema: Schema, grids: Sequence[Bins], counts: Sequence[Array]) -> Schema:
    """The schema with the inner points of its curves at equal shares of the counts; as many as they had."""
    found = {grid.name: (grid.cuts, numbers) for grid, numbers in zip(grids, counts, strict=True)}
    return replace(schema, columns=tuple(_recut(column, found) for column in schema.columns))


def _recut(column: Column, found: Mapping[str, tuple[tuple[float, ...], Array]]) -> Column:
    if column.name not in found or not isinstance(column, Bins | Hats):
        return column
    points = even_cuts(*found[column.name], len(column.points) + 1)
    return type(column)(column.name, column.lower, column.upper, points, column.missing)
