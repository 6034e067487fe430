"""Pictures of terms: small ones side by side, one a column, each with the band of the noise. Needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.estimators.terms import Term

LINE, FAINT = "#3c7fc0", 0.25
ACROSS, MOST_VALUES, SKEWED = 4, 14, 100.0
"""Pictures in a row; values of a category that are shown; a range over its first knot from which on sizes are shown."""
_ABSENT = "Pictures of terms need matplotlib. Install it with: pip install 'tacit[plot]'."


def draw_terms(terms: Sequence[Term]) -> Any:
    """A matplotlib Figure: curves of numbers, dots for values of categories, squares of pairs."""
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(_ABSENT) from error
    across = min(ACROSS, len(terms))
    down = math.ceil(len(terms) / across)
    figure = Figure(figsize=(3.4 * across, 2.7 * down), layout="constrained")
    for place, term in enumerate(terms):
        axes = figure.add_subplot(down, across, place + 1)
        {"number": _curve, "category": _values, "pair": _squares}[term.kind](axes, term)
        title = term.name if term.of is None else f"{term.name} (score of {term.of})"
        axes.set_title(title, loc="left", fontsize=10, fontweight="bold")
        axes.tick_params(labelsize=8)
    known = all(term.lower is not None for term in terms)
    words = "bands: 95% of the noise" if known else "the interval of the noise is not known for this method"
    figure.suptitle(f"What each column adds to the score; {words}", fontsize=10)
    return figure


def _curve(axes: Any, term: Term) -> None:
    """A broken line over knots, or steps over bins; missing cells are a dotted level."""
    points, count = np.array(term.points), len(term.points) - term.steps

    def ends(row: tuple[float, ...]) -> Any:  # a step's height, at both of its ends
        return np.array([*row[:count], *([row[count - 1]] if term.steps else [])])

    axes.plot(points, ends(term.values), color=LINE, drawstyle="steps-post" if term.steps else "default", linewidth=1.6)
    if term.lower is not None and term.upper is not None:
        where = "post" if term.steps else None
        axes.fill_between(points, ends(term.lower), ends(term.upper), step=where, color=LINE, alpha=FAINT, linewidth=0)
    if len(term.values) > count:
        axes.axhline(term.values[-1], color=LINE, linestyle=":", linewidth=1.2, label=term.labels[-1])
        axes.legend(fontsize=7, frameon=False)
    if points[0] >= 0 and points[-1] > SKEWED * points[1]:
        axes.set_xscale("symlog", linthresh=points[1])
    axes.axhline(0.0, color="0.5", linewidth=0.8, zorder=0)


def _values(axes: Any, term: Term) -> None:
    """A dot a value with the noise as a line, from the lowest up; of long lists the surest that are not 0."""
    values = np.array(term.values)
    doubt = np.ones_like(values) if term.upper is None else np.array(term.upper) - values
    sure = np.argsort(-np.abs(values) / np.maximum(doubt, 1e-300), kind="stable")[:MOST_VALUES]
    shown = sure[np.argsort(values[sure], kind="stable")]
    heights = np.arange(len(shown))
    if term.lower is not None and term.upper is not None:
        low, high = np.array(term.lower)[shown], np.array(term.upper)[shown]
        axes.hlines(heights, low, high, color=LINE, alpha=FAINT, linewidth=4)
    axes.plot(values[shown], heights, "o", color=LINE, markersize=3.5)
    axes.set_yticks(heights, [term.labels[place][:16] for place in shown])
    axes.tick_params(axis="y", length=0)
    axes.axvline(0.0, color="0.5", linewidth=0.8, zorder=0)


def _squares(axes: Any, term: Term) -> None:
    """The first column's slots from top to bottom, the second's from left to right."""
    first, second = term.sides
    grid = np.array(term.values).reshape(len(first), len(second))
    reach = float(np.abs(grid).max()) or 1.0
    picture = axes.imshow(grid, cmap="RdBu_r", vmin=-reach, vmax=reach, aspect="auto")
    axes.set_yticks(range(len(first)), [label[:12] for label in first])
    axes.set_xticks(range(len(second)), [label[:12] for label in second], rotation=60, ha="right")
    axes.figure.colorbar(picture, ax=axes)
