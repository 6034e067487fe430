"""The picture of an audit: how the scores fall under both data sets, and the errors of every threshold against the
claim."""

from __future__ import annotations

import io
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from tacit.checks import check
from tacit.report.pictures import available
from tacit.types import Array

_FIRST, _SECOND, _CLAIM = "#3c7fc0", "#d07a1f", "#2f9468"
_MOST = 400


@dataclass(frozen=True, kw_only=True)
class Scores:
    """Scores of runs on both data sets, the statistic's name, its threshold (None for none), and the claim."""

    first: Array
    second: Array
    attack: str
    threshold: float | None
    epsilon: float
    delta: float


def draw(scores: Scores, title: str) -> str:
    """An ``<svg>`` text: scores on the left; on the right false alarms against misses, with what the claim forbids."""
    check(available(), "Pictures need matplotlib. In Tacit's source: pip install '.[plot]'")
    check(len(scores.first) > 0 and len(scores.second) > 0, "This result contains no scores to draw.")
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.size": 10}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _densities(left, scores)
        _errors(right, scores)
        figure.suptitle(title, fontsize=11)
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _densities(axes: Any, scores: Scores) -> None:
    low, high = np.quantile(np.concatenate([scores.first, scores.second]), [0.001, 0.999])
    bins = np.linspace(low, high if high > low else low + 1, 60)
    for values, colour, name in ((scores.first, _FIRST, "first data set"), (scores.second, _SECOND, "second data set")):
        axes.hist(
            np.clip(values, bins[0], bins[-1]), bins=bins, density=True, histtype="step", color=colour, label=name
        )
    if scores.threshold is not None and bins[0] <= scores.threshold <= bins[-1]:
        axes.axvline(scores.threshold, color="0.4", linewidth=1, linestyle="--", label="threshold")
    axes.set_xlabel(f"score ({scores.attack})")
    axes.set_ylabel("density")
    axes.legend(frameon=False, fontsize=9)


def _errors(axes: Any, scores: Scores) -> None:
    one, two = np.sort(scores.first), np.sort(scores.second)
    edges = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0, 1, _MOST)))
    misses = np.searchsorted(one, edges, side="right") / len(one)
    false = 1 - np.searchsorted(two, edges, side="right") / len(two)
    axes.plot(np.r_[1.0, false, 0.0], np.r_[0.0, misses, 1.0], color=_FIRST, label="measured")
    x = np.linspace(0, 1, 501)
    grow, delta = math.exp(min(scores.epsilon, 700.0)), scores.delta
    allowed = np.maximum.reduce([1 - delta - grow * x, (1 - delta - x) / grow, np.zeros_like(x)])
    axes.fill_between(x, 0, allowed, color=_CLAIM, alpha=0.15, linewidth=0)
    axes.plot(x, allowed, color=_CLAIM, linewidth=1, label=f"forbidden below: ({scores.epsilon:g}, {delta:g})")
    axes.set_xlabel("false alarms")
    axes.set_ylabel("misses")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=9)
