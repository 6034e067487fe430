"""Pictures as SVG text for a page in light or dark: neutral parts take the colour of the page's own text.

matplotlib is the extra ``plot`` and is imported only here, when a picture is drawn.
"""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from typing import Any

from tacit.estimators.drawing import draw_term, printable
from tacit.estimators.terms import Term

INK = "#010203"
"""Stands for the page's text colour until the SVG is written; no other part of a picture has this colour."""
PALETTE = ("#3c7fc0", "#d07a1f", "#2f9468", "#b4549b", "#c24b45", "#7a6fd0", "#8f7a2a", "#1f98a8", "#8a8f96")
MARKERS = "osD^vPX<>*"


@dataclass(frozen=True)
class Trace:
    """One line of a picture: a name, and mean and spread of the score at every epsilon."""

    name: str
    means: tuple[float, ...]
    spreads: tuple[float, ...]


@dataclass(frozen=True)
class Level:
    """A horizontal reference."""

    name: str
    value: float


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def curves(
    *, title: str, score: str, epsilons: Sequence[float], traces: Sequence[Trace], levels: Sequence[Level],
    limits: tuple[float, float], key: str,
) -> str:  # fmt: skip
    """Score over epsilon, as an ``<svg>`` element. ``key`` keeps its ids apart from those of other pictures."""
    from matplotlib.figure import Figure

    with _style():
        figure = Figure(figsize=(4.4, 4.2))
        axes = figure.add_axes((0.14, 0.37, 0.84, 0.56))
        for level, dashes in zip(levels, ("--", ":"), strict=False):
            axes.axhline(level.value, color=INK, alpha=0.6, linewidth=1, linestyle=dashes, label=level.name)
        for number, trace in enumerate(traces):
            shift = 1 + 0.02 * (number - (len(traces) - 1) / 2)  # so that spreads at one epsilon stand side by side
            axes.errorbar(
                [epsilon * shift for epsilon in epsilons], trace.means, yerr=trace.spreads, label=trace.name,
                color=PALETTE[number % len(PALETTE)], marker=MARKERS[number % len(MARKERS)], markersize=4.5,
                linewidth=1.6, elinewidth=1, capsize=2,
            )  # fmt: skip
        axes.set_xscale("log")
        axes.set_xticks(list(epsilons), [f"{epsilon:g}" for epsilon in epsilons])
        axes.minorticks_off()
        axes.set_ylim(*limits)
        axes.grid(visible=True, axis="y", color=INK, alpha=0.12, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_title(title, loc="left", fontsize=11, fontweight="bold")
        axes.set_xlabel("epsilon")
        axes.set_ylabel(score)
        place: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (0.0, 0.26), "ncol": 2, "columnspacing": 1.0}
        figure.legend(**place, frameon=False, fontsize=9, labelspacing=0.35, handlelength=1.6)
        return _svg(figure, f"{title}: {score} over epsilon", key)


def curve(term: Term, unit: str, key: str) -> str:
    """One term of an additive model, as an ``<svg>`` element; ``unit`` is that of its values."""
    from matplotlib.figure import Figure

    unit = printable(unit, 40)
    wide = term.kind == "pair" or not term.points
    with _style():
        figure = Figure(figsize=(3.7, 2.6))
        left, bottom = (0.32, 0.24 if term.kind == "pair" else 0.18) if wide else (0.15, 0.18)
        axes = figure.add_axes((left, bottom, 0.93 - left, 0.93 - bottom))
        draw_term(axes, term)
        if term.kind != "pair":
            (axes.set_xlabel if wide else axes.set_ylabel)(unit, fontsize=8, parse_math=False)
        return _svg(figure, f"{printable(term.name)}: {unit}", key)


@contextmanager
def _style() -> Iterator[None]:
    """Neutral parts in the page's ink, text as text. A letter that matplotlib's font lacks is drawn by the reader's."""
    import matplotlib

    style: dict[Any, Any] = {
        **dict.fromkeys(("axes.edgecolor", "axes.labelcolor", "text.color", "xtick.color", "ytick.color"), INK),
        **dict.fromkeys(("axes.spines.top", "axes.spines.right"), False),
        "svg.fonttype": "none", "svg.hashsalt": "tacit", "font.size": 10,
    }  # fmt: skip
    with matplotlib.rc_context(style), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        yield


def _svg(figure: Any, label: str, key: str) -> str:
    text = io.StringIO()
    nothing = {"Date": None, "Creator": None, "Format": None, "Type": None}
    figure.savefig(text, format="svg", transparent=True, metadata=nothing)
    return inline(text.getvalue(), label, key)


def inline(text: str, label: str, key: str) -> str:
    """The ``<svg>`` element alone: ids of its own, the page's fonts, the page's text colour for the neutral parts."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = re.sub(r'\bid="', f'id="{key}-', text)
    text = re.sub(r"url\(#", f"url(#{key}-", text)
    text = re.sub(r'href="#', f'href="#{key}-', text)
    text = re.sub(r"font: ([^;\"]*?px) [^;\"]*", r"font: \1 system-ui, sans-serif", text)
    text = re.sub(r'(<svg[^>]*?) height="[^"]*"', r"\1", text, count=1)
    spoken = f' role="img" aria-label="{escape(label)}"'
    text = re.sub(r'(<svg[^>]*?) width="[^"]*"', lambda found: found[1] + spoken, text, count=1)
    return text.replace(INK, "currentColor")
