"""Pictures of terms: small ones side by side, one per column, each with the band of the noise. Needs matplotlib.

They are drawn in two colours and their transparency, so that they stand on light and on dark pages alike. Names are
text of whoever declared the schema: none of it is read as mathematics, and what cannot be printed is left out.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from tacit.estimators.terms import Term

LINE, WARM, GREY, FAINT = "#3c7fc0", "#d07a1f", "0.5", 0.25
ACROSS, MOST_VALUES, SKEWED = 4, 12, 20.0
"""Pictures in a row; values of a category that are shown; widest over narrowest gap from which on sizes are shown."""
LARGEST, MOST_SQUARES = 1e100, 1600
"""Numbers beyond are not drawn, since differences of them may be no numbers; nor are pairs of more squares."""
_ABSENT = "Pictures of terms need matplotlib. In Tacit's source: pip install '.[plot]'."


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
        draw_term(axes, term)
        title = term.name if term.of is None else f"{term.name} (score of {term.of})"
        axes.set_title(printable(title), loc="left", fontsize=10, fontweight="bold", parse_math=False)
    known = all(term.lower is not None for term in terms)
    words = "bands: 95% of the noise" if known else "the interval of the noise is not known for this method"
    figure.suptitle(f"What each column adds to the score; {words}", fontsize=10)
    return figure


def draw_term(axes: Any, term: Term) -> None:
    """One term's picture, without a title."""
    axes.tick_params(labelsize=8, length=2)
    if not drawable(term):
        axes.text(0.5, 0.5, "too large to draw", ha="center", va="center", fontsize=8, transform=axes.transAxes)
        axes.set_axis_off()
    elif term.kind == "pair":
        _squares(axes, term)
    elif term.points:
        _curve(axes, term)
    else:
        _values(axes, term)


def drawable(term: Term) -> bool:
    """Whether its squares can be told apart, and all its numbers are finite, and far from where that ends."""
    if term.kind == "pair" and len(term.values) > MOST_SQUARES:
        return False
    numbers = np.array([*term.points, *term.values, *(term.lower or ()), *(term.upper or ())])
    return bool((np.abs(numbers) < LARGEST).all())


def printable(text: str, most: int = 60) -> str:
    """The text on one line, without what cannot be printed, and cut where it is longer."""
    clean = "".join(letter if letter.isprintable() else " " for letter in text)
    return clean if len(clean) <= most else f"{clean[: most - 1].rstrip()}…"


def short(number: float, _: Any = None) -> str:
    """A number on an axis: 20,000 in full, 2 million as 2M."""
    text = f"{number:,g}" if abs(number) < 1e6 else f"{number:.3g}"
    for size, letters in ((1e9, "bn"), (1e6, "M")):
        if size <= abs(number) < 1000 * size:
            text = f"{number / size:g}{letters}"
    return f"\N{MINUS SIGN}{text[1:]}" if text.startswith("-") else text


def _curve(axes: Any, term: Term) -> None:
    """A broken line over knots, or steps over bins; missing cells are a dot of their own, to the right."""
    from matplotlib.ticker import FuncFormatter

    points, count = np.array(term.points), len(term.points) - term.steps

    def ends(row: tuple[float, ...]) -> Any:  # a step's height, at both of its ends
        return np.array([*row[:count], *([row[count - 1]] if term.steps else [])])

    axes.axhline(0.0, color=GREY, linewidth=0.8, zorder=0)
    if term.lower is not None and term.upper is not None:
        where = "post" if term.steps else None
        axes.fill_between(points, ends(term.lower), ends(term.upper), step=where, color=LINE, alpha=FAINT, linewidth=0)
    axes.plot(points, ends(term.values), color=LINE, drawstyle="steps-post" if term.steps else "default", linewidth=1.6)
    _scale(axes, points)
    axes.yaxis.set_major_formatter(FuncFormatter(short))
    if len(term.values) > count:
        place = {"transform": axes.get_yaxis_transform(), "clip_on": False}
        if term.lower is not None and term.upper is not None:
            axes.vlines(1.05, term.lower[-1], term.upper[-1], color=WARM, alpha=2 * FAINT, linewidth=4, **place)
        axes.plot([1.05], [term.values[-1]], "o", color=WARM, markersize=4, **place)
        axes.annotate(
            "missing", (1.05, 1.0), xycoords="axes fraction", ha="center", va="bottom", fontsize=7, color=WARM
        )


def _scale(axes: Any, points: Any) -> None:
    """Sizes instead of numbers where points crowd towards 0; short labels, and few.

    Points far from 0 are no sizes, however they crowd: days since 1970, for one.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    gaps, sizes = np.diff(points), np.abs(points[points != 0])
    near = float(sizes.min())
    if gaps.max() > SKEWED * gaps.min() and sizes.max() > SKEWED * near:
        axes.set_xscale("symlog", linthresh=near)
        axes.set_xticks(_sizes(float(points[0]), float(points[-1]), near))
        axes.minorticks_off()
    else:
        axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.set_xlim(points[0], points[-1])
    axes.xaxis.set_major_formatter(FuncFormatter(short))


def _sizes(low: float, high: float, near: float) -> list[float]:
    """0 and powers of ten from ``near`` on, on the sides of 0 that the range has: few, and where that is all, more."""
    last, first = math.floor(math.log10(max(abs(low), abs(high)))), math.floor(math.log10(near))
    step = max(1, math.ceil((last - first) / 4))
    factors = (5.0, 2.0, 1.0) if last - first <= 1 else (1.0,)
    sizes = [factor * 10.0**power for power in range(last, first - 1, -step) for factor in factors]
    return sorted(place for place in (*sizes, 0.0, *(-size for size in sizes)) if low <= place <= high)


def _values(axes: Any, term: Term) -> None:
    """A dot a value with the noise as a line, from the lowest up; of long lists the surest that are not 0.

    Values that are not listed, "other", stand below them. Often no record has one, and the number is noise alone: it
    does not decide about the scale, and an arrow at the side stands for a dot beyond it.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    values = np.array(term.values)
    doubt = np.ones_like(values) if term.upper is None else np.array(term.upper) - values
    sure = np.argsort(-np.abs(values) / np.maximum(doubt, 1e-300), kind="stable")[:MOST_VALUES]
    shown = sure[np.lexsort([values[sure], sure != len(values) - 1])]
    heights = np.arange(len(shown))
    axes.axvline(0.0, color=GREY, linewidth=0.8, zorder=0)
    if term.lower is not None and term.upper is not None:
        low, high = np.array(term.lower)[shown], np.array(term.upper)[shown]
        axes.hlines(heights, low, high, color=LINE, alpha=2 * FAINT, linewidth=4)
    axes.plot(values[shown], heights, "o", color=LINE, markersize=4)
    if shown[0] == len(values) - 1 and len(shown) > 1:
        ends = [term.values, *(row for row in (term.lower, term.upper) if row is not None)]
        reach = np.array([0.0, *(row[place] for row in ends for place in shown[1:])])
        width = float(np.ptp(reach)) or 1.0
        low, high = reach.min() - 0.06 * width, reach.max() + 0.06 * width
        axes.set_xlim(low, high)
        if not low <= values[shown[0]] <= high:
            side = int(values[shown[0]] > high)
            place = {"transform": axes.get_yaxis_transform(), "clip_on": False}
            axes.plot([side], [0], "<>"[side], color=LINE, markersize=5, **place)
    axes.xaxis.set_major_locator(MaxNLocator(5))
    axes.xaxis.set_major_formatter(FuncFormatter(short))
    axes.set_yticks(heights, [printable(term.labels[place], 18) for place in shown], parse_math=False)
    axes.set_ylim(-0.7, len(shown) - 0.3)
    axes.tick_params(axis="y", length=0)


def _squares(axes: Any, term: Term) -> None:
    """The first column's slots from top to bottom, the second's from left to right; warm adds, cold takes away.

    A number stands where the interval of the noise is on one side of 0, or is not known.
    """
    shape = (len(term.sides[0]), len(term.sides[1]))
    grid = np.array(term.values).reshape(shape)
    low, high = (grid if band is None else np.array(band).reshape(shape) for band in (term.lower, term.upper))
    reach = float(np.abs(grid).max()) or 1.0
    for (row, place), value in np.ndenumerate(grid):
        color, share = WARM if value > 0 else LINE, abs(value) / reach
        axes.fill_between([place, place + 1], row, row + 1, color=color, alpha=0.9 * share, linewidth=0)
        if low[row, place] > 0 or high[row, place] < 0:
            axes.text(place + 0.5, row + 0.5, f"{value:+.1f}", ha="center", va="center", fontsize=6.5)
    axes.text(1.0, 1.01, f"{grid.min():+.2g} to {grid.max():+.2g}", ha="right", fontsize=7, transform=axes.transAxes)
    axes.set_xlim(0, shape[1])
    axes.set_ylim(shape[0], 0)
    down, across = ([printable(label, 14) for label in labels] for labels in term.sides)
    axes.set_yticks(np.arange(shape[0]) + 0.5, down, parse_math=False, fontsize=7)
    axes.set_xticks(np.arange(shape[1]) + 0.5, across, parse_math=False, fontsize=7, rotation=40, ha="right")
    axes.tick_params(length=0)
