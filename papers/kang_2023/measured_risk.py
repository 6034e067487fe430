"""Theorems 1 and 2 beside logistic regression on the paper's data: steps of size 1/L, on one record or on all.

The noise is equation (1)'s with c = 1, which the paper leaves open, so no guarantee is claimed of these models. Losses
are measured on the private records themselves: they are for readers of papers, not for release.
"""

from __future__ import annotations

import itertools
import math
import statistics
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import stats
from scipy.special import expit

from papers.engine.figure import Finding, Point, Settings, Size, TextTable, mean_of
from papers.kang_2023 import excess_risk as risk
from papers.shared.accuracy import LARGE, mean_loss, parts
from papers.shared.curves import LAMBDA, LINEAR_REFERENCE
from papers.shared.intervals import Count, mean
from tacit.estimators.base import INTERCEPT

DELTA = 1e-3
KINDS = ("one record", "all records")
CERTAIN = float(stats.norm.ppf(0.975))


def cells(size: Size) -> Iterator[Settings]:
    """One record a step, without and with noise; all records, with noise."""
    rows = 2000 if size.quick else None
    for data, seed in itertools.product(LARGE[1:2] if size.quick else LARGE, range(size.pick(3, 1))):
        for kind, epsilon in itertools.product(KINDS, (None, 1.0, 3.0)):
            if seed and kind == KINDS[1] and epsilon is None:
                continue  # nothing is drawn
            yield {"data": data, "kind": kind, "epsilon": epsilon, "seed": seed, "rows": rows}


def measure(data: str, kind: str, epsilon: float | None, seed: int, rows: int | None) -> list[Point]:
    """T = (L/mu) log n steps from 0; losses of training and test records, and both bounds."""
    train, _, test = parts(data, rows)
    design, signs = _design(*train)
    n, size = design.shape
    square = 1 + INTERCEPT**2
    lipschitz, smooth = math.sqrt(square), square / 4 + LAMBDA
    steps = math.ceil(smooth / LAMBDA * math.log(n))
    sigma = 0.0 if epsilon is None else risk.noise(n, lipschitz, steps, epsilon, DELTA)
    rng = np.random.default_rng(seed)
    theta, variance = np.zeros(size), 0.0
    for _ in range(steps):
        chosen = rng.integers(n) if kind == KINDS[0] else slice(None)
        some, labels = np.atleast_2d(design[chosen]), np.atleast_1d(signs[chosen])
        gradient = -(labels * expit(-labels * (some @ theta))) @ some / len(labels) + LAMBDA * theta
        theta = theta - (gradient + sigma * rng.standard_normal(size)) / smooth
    if kind == KINDS[0]:  # the variance of one record's gradient, at the last parameters
        slopes = expit(-signs * (design @ theta))
        variance = float((slopes**2 * (design**2).sum(1)).mean() - np.sum(((slopes * signs) @ design / n) ** 2))
    model = LINEAR_REFERENCE.make({}, math.inf, None, 0, train[0].shape).fit(*train)
    least = mean_loss(model, *train)
    inside, outside = _losses(theta, design, signs), _losses(theta, *_design(*test))
    excess = float(inside.mean()) - least
    error = math.sqrt(inside.var() / len(inside) + outside.var() / len(outside))
    return [{
        "n": n, "m": size, "steps": steps, "least": least, "excess": excess, "variance": variance,
        "gap": float(outside.mean() - inside.mean()), "error": error,
        "theorem_1": risk.theorem_1(math.log(2) - least, size, sigma, smooth, LAMBDA, steps),
        "theorem_2": risk.theorem_2(n, lipschitz, smooth, LAMBDA, max(excess, 0.0), least + excess),
    }]  # fmt: skip


def show(points: Sequence[Point]) -> list[TextTable]:
    """Means over the seeds."""
    head = ("data", "a step uses", "epsilon", "excess risk", "theorem 1", "gap on test records",
            "95% half-width", "theorem 2")  # fmt: skip
    rows = []
    for data, kind, epsilon in dict.fromkeys((p["data"], p["kind"], p["epsilon"]) for p in points):
        where = {"data": data, "kind": kind, "epsilon": epsilon}
        values = {y: _mean(points, y, where) for y in ("excess", "theorem_1", "gap", "error", "theorem_2")}
        values["error"] *= CERTAIN
        words = "no noise" if epsilon is None else f"{epsilon:g}"
        rows.append((data, kind, words, *(f"{value:.3g}" for value in values.values())))
    return [TextTable("Excess risk and generalization gap after T = (L/mu) log n steps of size 1/L", head, tuple(rows))]


def check(points: Sequence[Point], expected: Mapping[str, Any]) -> list[Finding]:
    """Theorem 2 with the measured excess; theorem 1 for both kinds of steps; 'optimization helps generalization'."""
    said = expected["theorems"]
    full = [p for p in points if p["kind"] == KINDS[1]]
    share = max(p["excess"] / p["theorem_1"] for p in full)
    top = max((p["gap"] + CERTAIN * p["error"]) / p["theorem_2"] for p in points)
    apart = [
        (_mean(points, "gap", {**at, "kind": KINDS[0]}) - _mean(points, "gap", {**at, "kind": KINDS[1]}),
         CERTAIN * 2 * max(p["error"] for p in points if p["data"] == at["data"]))
        for at in ({"data": data, "epsilon": None} for data in dict.fromkeys(p["data"] for p in points))
    ]  # fmt: skip
    clear = [gap > width for gap, width in apart]
    against = [gap < -width for gap, width in apart]
    return [
        Finding(said["measured_gap"], top <= 1, f"The gap, at the upper end of its interval, is at most {top:.2g} of "
                "the bound."),
        _one_record([p for p in points if p["kind"] == KINDS[0]], said["measured_one"]),
        Finding(said["measured_all"], share <= 1, f"The excess risk is at most {share:.2g} of the bound."),
        Finding(said["optimization"], True if all(clear) else False if any(against) else None,
            "Gap with one record a step minus the gap with all records, no noise: "
            + ", ".join(f"{gap:+.2g} ± {width:.2g}" for gap, width in apart) + "."),
    ]  # fmt: skip


def _one_record(points: Sequence[Point], statement: str) -> Finding:
    """The mean excess risk over seeds against the bound, with noise; without noise the bound has no meaning."""
    noisy = dict.fromkeys((p["epsilon"], p["data"]) for p in points if p["epsilon"] is not None)
    if not noisy:
        return Finding(statement, None, "No noise was measured.")
    words, below = [], []
    for epsilon, data in sorted(noisy):
        mine = [p for p in points if (p["epsilon"], p["data"]) == (epsilon, data)]
        limit = statistics.fmean(p["theorem_1"] for p in mine)
        over = mean([p["excess"] for p in mine]).above(limit)
        below.append(None if over is None else not over)
        excess = statistics.fmean(p["excess"] for p in mine)
        words.append(f"{excess:.3g} ({limit:.3g}) {data}, epsilon = {epsilon:g}")
    count = Count.of(below)
    silent = {data: _mean(points, "excess", {"data": data, "epsilon": None}) for _, data in noisy}
    return Finding(
        statement, count.all,
        f"Below in {count.told('cells')}; mean excess risk, and the bound in brackets: {'; '.join(words)}. As epsilon "
        "grows the bound goes to 0, and the excess risk does not: without any noise it is "
        + ", ".join(f"{data} {excess:.2g}" for data, excess in silent.items()) + ".",
    )  # fmt: skip


def _mean(points: Sequence[Point], y: str, where: Mapping[str, Any]) -> float:
    return mean_of(points, y, **where)


def _design(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Rows with the constant coordinate, and labels as -1 and +1."""
    return np.column_stack([X, np.full(len(X), INTERCEPT)]), 2.0 * y - 1.0


def _losses(theta: np.ndarray, design: np.ndarray, signs: np.ndarray) -> np.ndarray:
    return np.asarray(np.logaddexp(0.0, -signs * (design @ theta)) + LAMBDA / 2 * float(theta @ theta))
