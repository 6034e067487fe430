"""Pictures as SVG text for a page in light or dark: neutral parts take the colour of the page's own text.

matplotlib is the extra ``plot`` and is imported only here, when a picture is drawn.
"""

from __future__ import annotations

import importlib.util
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from tacit.estimators.drawing import draw_term, printable
from tacit.estimators.terms import Term
from tacit.report.results import Row, Shape, Study

INK = "#010203"
"""Stands for the page's text colour until the SVG is written; no other part of a picture has this colour."""
PALETTE = ("#3c7fc0", "#d07a1f", "#2f9468", "#b4549b", "#c24b45", "#7a6fd0", "#8f7a2a", "#1f98a8", "#8a8f96")
MARKERS = "osD^vPX<>*"


def available() -> bool:
    """Whether matplotlib is installed."""
    return importlib.util.find_spec("matplotlib") is not None


def chart(study: Study, key: str) -> str:
    """Accuracy over epsilon, as an ``<svg>`` element: the default in bold, other methods in grey behind it.

    ``key`` keeps its ids apart from those of other pictures.
    """
    from matplotlib.figure import Figure

    ends, middle = (study.epsilons[0], study.epsilons[-1]), len(study.epsilons) // 2 - 1
    levels = ((study.plain_curves.accuracy, "without privacy"), (study.guess, "guessing the more frequent answer"))
    lines = (
        (study.curves, PALETTE[0], 3.0, "top", "private, a curve for each column"),
        (study.weights, PALETTE[1], 1.6, "bottom", "private, a weight for each column"),
    )
    with _style():
        figure = Figure(figsize=(5.0, 3.5))
        axes = figure.add_axes((0.12, 0.14, 0.85, 0.82))
        for row in study.others:
            axes.plot(study.epsilons, _accuracies(row), color=INK, alpha=0.16, linewidth=1)
        for level, (height, words) in enumerate(levels):
            axes.axhline(height, color=INK, alpha=0.7, linewidth=1, linestyle=("--", ":")[level])
            axes.annotate(f"{words}: {height:.1f}%", (ends[0], height), (0, 4), textcoords="offset points", fontsize=9)
        for row, color, width, side, words in lines:
            found = _accuracies(row)
            axes.plot(study.epsilons, found, color=color, linewidth=width, marker="o", markersize=1.5 * width + 2)
            height, aside = (max(found), 6) if side == "bottom" else (found[middle], -7)
            look: dict[str, Any] = {"fontsize": 9, "color": color, "fontweight": "bold", "va": side}
            axes.annotate(words, (study.epsilons[middle], height), (0, aside), textcoords="offset points", **look)
        axes.set_xscale("log")
        axes.set_xticks(list(study.epsilons), [f"{epsilon:g}" for epsilon in study.epsilons])
        axes.minorticks_off()
        axes.set_ylim(study.guess - 3, max(height for height, _ in levels) + 4)
        axes.grid(visible=True, axis="y", color=INK, alpha=0.1, linewidth=0.8)
        axes.set_axisbelow(True)
        axes.set_xlabel("epsilon (smaller is more private)")
        axes.set_ylabel("correct answers in percent")
        return _svg(figure, f"{study.headline}: correct answers in percent over epsilon", key)


def _accuracies(row: Row) -> list[float]:
    return [mean.accuracy for mean in row.means]


def curve(term: Term, unit: str, key: str, shape: Shape | None = None) -> str:
    """One term of an additive model, as an ``<svg>`` element; ``unit`` is that of its values, ``shape`` the truth."""
    from matplotlib.figure import Figure

    unit = printable(unit, 40)
    wide = term.kind == "pair" or not term.points
    with _style():
        figure = Figure(figsize=(3.7, 2.6))
        left, bottom = (0.32, 0.24 if term.kind == "pair" else 0.18) if wide else (0.15, 0.18)
        axes = figure.add_axes((left, bottom, 0.93 - left, 0.93 - bottom))
        draw_term(axes, term)
        if shape is not None:
            _lay_beside(axes, term, shape)
        if term.kind != "pair":
            (axes.set_xlabel if wide else axes.set_ylabel)(unit, fontsize=8, parse_math=False)
        return _svg(figure, f"{printable(term.name)}: {unit}", key)


def _lay_beside(axes: Any, term: Term, shape: Shape) -> None:
    """The true shape, in the ink of the page: a dashed line, or a ring at each value.

    The scale is that of the shape and the curve; a band that is wider runs off the picture.
    """
    reach = 1.4 * max(map(abs, (*shape.values, *term.values[: len(term.points) or -1], 1.0)))
    (axes.set_ylim if term.points else axes.set_xlim)(-reach, reach)
    if term.points:
        axes.plot(shape.points, shape.values, color=INK, linestyle=(0, (4, 2)), linewidth=1.2)
        return
    heights = dict(zip((label.get_text() for label in axes.get_yticklabels()), axes.get_yticks(), strict=True))
    places = [heights[printable(str(point))] for point in shape.points]
    axes.plot(shape.values, places, "o", color=INK, markersize=8, fillstyle="none")


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
