"""The picture of an audit: how the scores fall under both data sets, and the errors of every threshold against the
claim."""

from __future__ import annotations

import io
import math
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.checks import check
from tacit.report.pictures import available

if TYPE_CHECKING:
    from tacit.audit.result import AuditResult

_FIRST, _SECOND, _CLAIM = "#3c7fc0", "#d07a1f", "#2f9468"
_MOST = 400


def draw(result: AuditResult) -> str:
    """An ``<svg>`` text: scores on the left; on the right false alarms against misses, with what the claim forbids."""
    check(available(), "Pictures need matplotlib. Install it with: pip install 'tacit[plot]'")
    check(len(result.first) > 0 and len(result.second) > 0, "This result holds no scores to draw.")
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {"svg.fonttype": "none", "svg.hashsalt": "tacit", "font.size": 10}
    with matplotlib.rc_context(style):
        figure = Figure(figsize=(9.0, 3.8), layout="constrained")
        left, right = figure.subplots(1, 2)
        _scores(left, result)
        _errors(right, result)
        figure.suptitle(
            f"{result.subject}: epsilon >= {result.epsilon:.3g} ({100 * result.confidence:g}% confidence), claimed "
            f"{result.claimed:g}: {result.verdict}",
            fontsize=11,
        )
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None})
    return text.getvalue()[text.getvalue().index("<svg") :]


def _scores(axes: Any, result: AuditResult) -> None:
    low, high = np.quantile(np.concatenate([result.first, result.second]), [0.001, 0.999])
    bins = np.linspace(low, high if high > low else low + 1, 60)
    for values, colour, name in ((result.first, _FIRST, "first data set"), (result.second, _SECOND, "second data set")):
        axes.hist(
            np.clip(values, bins[0], bins[-1]), bins=bins, density=True, histtype="step", color=colour, label=name
        )
    if bins[0] <= result.threshold <= bins[-1] and result.bound != "one run":
        axes.axvline(result.threshold, color="0.4", linewidth=1, linestyle="--", label="threshold")
    axes.set_xlabel(f"score ({result.attack})")
    axes.set_ylabel("density")
    axes.legend(frameon=False, fontsize=9)


def _errors(axes: Any, result: AuditResult) -> None:
    one, two = np.sort(result.first), np.sort(result.second)
    edges = np.unique(np.quantile(np.concatenate([one, two]), np.linspace(0, 1, _MOST)))
    misses = np.searchsorted(one, edges, side="right") / len(one)
    false = 1 - np.searchsorted(two, edges, side="right") / len(two)
    axes.plot(np.r_[1.0, false, 0.0], np.r_[0.0, misses, 1.0], color=_FIRST, label="measured")
    x = np.linspace(0, 1, 501)
    grow, delta = math.exp(min(result.claimed, 700.0)), result.delta
    allowed = np.maximum.reduce([1 - delta - grow * x, (1 - delta - x) / grow, np.zeros_like(x)])
    axes.fill_between(x, 0, allowed, color=_CLAIM, alpha=0.15, linewidth=0)
    axes.plot(x, allowed, color=_CLAIM, linewidth=1, label=f"forbidden below: ({result.claimed:g}, {delta:g})")
    axes.set_xlabel("false alarms")
    axes.set_ylabel("misses")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1)
    axes.legend(frameon=False, fontsize=9)
