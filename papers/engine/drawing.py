"""Panels as pictures: SVG that follows the page into light or dark, and PNG. How a line looks says what is promised.

matplotlib is the extra ``plot`` and is imported only when a picture is drawn.
"""

from __future__ import annotations

import io
import math
import re
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from papers.engine.figure import Line, Panel
from tacit.report import pictures
from tacit.types import Status

DASHES: Mapping[Status | None, Any] = {
    "proven": "-",
    "claimed": (0, (6, 2, 1, 2)),
    "refuted": (0, (4, 2)),
    None: (0, (1, 1.6)),
}
LOOKS: Mapping[Status | None, str] = {
    "proven": "solid line",
    "claimed": "line of dashes and dots",
    "refuted": "dashed line",
    None: "grey dotted line",
}
WORDS: Mapping[Status | None, str] = {
    "proven": "proven",
    "claimed": "claimed, not proven here",
    "refuted": "refuted",
    None: "no privacy",
}
_GREY = "#8a8f96"
_COLOURS = (*(colour for colour in pictures.PALETTE if colour != _GREY), "#6f9a2c", "#d9629c", "#a0673f", "#5b8d92")
_PAPER_INK = "#22262b"
_RAISED = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")
_THEMES = (
    "<style>svg{color:#22262b;background:#fdfdfc}"
    "@media (prefers-color-scheme:dark){svg{color:#dfe3e7;background:#14171a}}</style>"
)


@dataclass(frozen=True)
class Picture:
    """One panel, drawn: an ``<svg>`` element for a page, an SVG file of its own, a PNG file."""

    inline: str
    svg: str
    png: bytes


def draw(panels: Sequence[Panel], key: str) -> list[Picture]:
    """Pictures of a figure's panels; a label has one colour in all of them. ``key`` keeps ids of a page apart."""
    labels = list(dict.fromkeys(line.label for panel in panels for line in panel.lines if line.status is not None))
    looks = {label: number for number, label in enumerate(labels)}
    return [_picture(panel, looks, f"{key}-{number}") for number, panel in enumerate(panels)]


def legend(line: Line) -> str:
    """A line's label with the status of its guarantee, unless the label says it."""
    status = line.status or "no privacy"
    return line.label if status in line.label.lower() else f"{line.label} ({status})"


def _picture(panel: Panel, looks: Mapping[str, int], key: str) -> Picture:
    text, image = io.StringIO(), io.BytesIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    _figure(panel, looks, pictures.INK, lambda figure: figure.savefig(
        text, format="svg", transparent=True, metadata=nothing))  # fmt: skip
    _figure(panel, looks, _PAPER_INK, lambda figure: figure.savefig(
        image, format="png", dpi=160, metadata={"Software": None}))  # fmt: skip
    short = re.sub(r"<[^>]*>", _shortened, text.getvalue())
    label = f"{panel.title}: {panel.y} over {panel.x}" if panel.title else f"{panel.y} over {panel.x}"
    inline = pictures.inline(short, label, key)
    alone = inline.replace(">", f">{_THEMES}", 1)
    return Picture(inline, f'<?xml version="1.0" encoding="utf-8"?>\n{alone}', image.getvalue())


def _shortened(tag: re.Match[str]) -> str:
    """A hundredth of a point is fine enough for places; words between tags keep their digits."""
    return re.sub(r"(\d\.\d\d)\d+", r"\1", tag[0])


def _figure(panel: Panel, looks: Mapping[str, int], ink: str, save: Any) -> None:
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {
        **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), ink),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
        "svg.fonttype": "none", "svg.hashsalt": "tacit", "font.size": 10,
    }  # fmt: skip
    with matplotlib.rc_context(style):
        words = ["\n".join(_wrapped(legend(line), 58)) for line in panel.lines]
        titles = _wrapped(panel.title, 42)
        # Inches, from the bottom: the legend, the axis' name and numbers, the picture, the title.
        below = 0.175 * sum(word.count("\n") + 1 for word in words) + 0.1
        above = 0.2 * len(titles) + 0.08
        high = below + 0.5 + 2.45 + above
        figure = Figure(figsize=(4.8, high))
        axes = figure.add_axes((0.15, (below + 0.5) / high, 0.83, 2.45 / high))
        for line, word in zip(panel.lines, words, strict=True):
            _draw_line(axes, panel, line, word, looks.get(line.label, 0))
        _frame(axes, panel, ink)
        axes.set_title("\n".join(titles), loc="left", fontsize=11, fontweight="bold")
        figure.legend(
            loc="lower left", bbox_to_anchor=(0.02, 0.0), ncol=1, frameon=False, fontsize=9, labelspacing=0.35,
            handlelength=3.2, borderaxespad=0.1, borderpad=0.2,
        )  # fmt: skip
        save(figure)


def _draw_line(axes: Any, panel: Panel, line: Line, word: str, number: int) -> None:
    kept = [
        (x, mean, low, high)
        for x, mean, low, high in zip(line.x, line.mean, line.low, line.high, strict=True)
        if _can_show(x, panel.x_scale) and _can_show(mean, panel.y_scale)
    ]
    places, means, lows, highs = zip(*kept, strict=True) if kept else ((), (), (), ())
    private = line.status is not None
    colour = _COLOURS[number % len(_COLOURS)] if private else _GREY
    if panel.y_scale == "log":  # a band that reaches zero leaves the picture at its lower edge
        lows = tuple(mean * 1e-6 if low <= 0 else low for low, mean in zip(lows, means, strict=True))
    faint = max(0.05, 0.3 / max(2, len(panel.lines)))  # many bands lie over each other
    axes.fill_between(places, lows, highs, facecolor=(colour, faint), edgecolor=(colour, 0.35), linewidth=0.6)
    axes.plot(
        places, means, label=word, color=colour, linestyle=DASHES[line.status], linewidth=1.8,
        marker=pictures.MARKERS[number % len(pictures.MARKERS)] if private else ".", markersize=4.5,
    )  # fmt: skip


def _frame(axes: Any, panel: Panel, ink: str) -> None:
    places = sorted({x for line in panel.lines for x in line.x if _can_show(x, panel.x_scale)})
    limits = _limits(panel)
    if limits and places:  # a logarithmic axis without a value cannot be drawn
        axes.set_xscale(panel.x_scale)
        axes.set_yscale(panel.y_scale)
        axes.set_ylim(*limits)
    else:
        axes.text(0.5, 0.5, "no value that can be drawn", ha="center", transform=axes.transAxes)
    if panel.x_scale == "log" and 1 < len(places) <= 8:
        axes.set_xticks(
            places, [_number(place) if shown else "" for place, shown in zip(places, _apart(places), strict=True)]
        )
        axes.minorticks_off()
    axes.grid(visible=True, axis="y", color=ink, alpha=0.12, linewidth=0.8)
    axes.set_axisbelow(True)
    axes.set_xlabel("\n".join(_wrapped(panel.x, 60)))
    axes.set_ylabel("\n".join(_wrapped(panel.y, 40)))


def _limits(panel: Panel) -> tuple[float, float] | None:
    """All means and, as far as they do not make the means unreadable, the bands."""
    means = [mean for line in panel.lines for mean in line.mean if _can_show(mean, panel.y_scale)]
    edges = [edge for line in panel.lines for edge in (*line.low, *line.high) if _can_show(edge, panel.y_scale)]
    if not means:
        return None
    into, back = (math.log10, lambda value: 10**value) if panel.y_scale == "log" else (float, float)
    least, most = _reach(into(mean) for mean in means)
    lowest, highest = _reach(into(edge) for edge in (*edges, *means))
    span = most - least or abs(most) or 1.0
    room = 0.04 * span
    return back(max(lowest, least - 0.35 * span) - room), back(min(highest, most + 0.35 * span) + room)


def _number(place: float) -> str:
    """A place on an axis: large powers of two as such, others with few digits."""
    power = math.frexp(place)[1] - 1
    if place >= 1024 and place == 2.0**power:
        return f"2{str(power).translate(_RAISED)}"
    return f"{place:.3g}"


def _apart(places: Sequence[float]) -> list[bool]:
    """Which of these places on a logarithmic axis get a number: from the largest down, those with room for it."""
    room = 0.09 * math.log(places[-1] / places[0])
    shown: list[bool] = []
    last = math.inf
    for place in reversed(places):
        shown.append(math.log(last / place) >= room if math.isfinite(last) else True)
        last = place if shown[-1] else last
    return shown[::-1]


def _wrapped(text: str, width: int) -> list[str]:
    return textwrap.wrap(text.replace("$", r"\$"), width)  # a dollar sign would begin mathematics


def _reach(values: Iterable[float]) -> tuple[float, float]:
    found = list(values)
    return min(found), max(found)


def _can_show(value: float, scale: str) -> bool:
    return math.isfinite(value) and (scale == "linear" or value > 0)
