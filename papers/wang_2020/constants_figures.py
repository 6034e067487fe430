"""Grids, tables and checks of the constants: Tables 1, 3 and 4, and Figure 2."""

import itertools
import math
from dataclasses import replace

from papers.engine.figure import Finding, TextTable, mean_of, panels


def letter_cells(letter):
    """One cell holds the whole table."""
    return lambda size: [{"letter": letter}]


def show_letters(points):
    """The paper's layout, three digits."""
    sizes = sorted({p["size"] for p in points})
    sigmas = sorted({p["sigma"] for p in points})
    rows = [
        (f"d = {size}", *(f"{mean_of(points, 'value', sigma=sigma, size=size):.3f}" for sigma in sigmas))
        for size in sizes
    ]
    return [TextTable("Closed form", ("σ", *map(str, sigmas)), tuple(rows))]


def check_letters(points, expected):
    """The printed digits, and the closed form against the sum."""
    (letter,) = {p["letter"] for p in points}
    printed = expected["table_3_gamma" if letter == "gamma" else "table_4_beta"]
    off = [p for p in points if round(p["value"], 3) != printed[str(p["sigma"])]]
    apart = max(abs(p["value"] - p["sum"]) for p in points)
    return [
        Finding(
            f"{letter} has the printed values, whatever d.",
            not off,
            f"{len(points) - len(off)} of {len(points)} agree.",
        ),
        Finding(f"The closed form of {letter} is the sum.", apart < 1e-12, f"They differ by at most {apart:.1e}."),
    ]


def signal_cells(size):
    """Repetitions of the noise."""
    return [{"run": run} for run in range(size.pick(5, 1))]


def show_signals(points):
    """Both signals as lines (of the plane, the row where it is largest), and a table of errors."""
    first = [p for p in points if p["run"] == 0]
    names = {"line": "sin x, σ = 10", "plane": "sin x sin y at y = π/2, σ = 100"}
    drawn = [replace(panel, title=names[panel.title]) for panel in panels(first, x="place", y="value", by="signal")]
    rows = [
        (names[signal], *(f"{mean_of(points, 'error', signal=signal, method=m):.4f}" for m in ("noisy", "smoothed")))
        for signal in names
    ]
    return [*drawn, TextTable("Root mean squared error, whole signal", ("signal", "noisy", "smoothed"), tuple(rows))]


def check_signals(points, expected):
    """Smoothing removes noise."""
    del expected
    found = []
    for signal in ("line", "plane"):
        before, after = (mean_of(points, "error", signal=signal, method=m) for m in ("noisy", "smoothed"))
        found.append(Finding(
            f"Smoothing removes noise efficiently ({signal}).", after < before,
            f"Error {before:.3f} before, {after:.3f} after.",
        ))  # fmt: skip
    return found


def utility_cells(size):
    """Table 1 with numbers."""
    quick = size.quick
    rest = {"epochs": 5, "rows": 6_000} if quick else {"epochs": 50, "rows": None}
    grid = itertools.product((0.2,) if quick else (0.3, 0.2, 0.1), (0.0, 1.0, 3.0) if quick else (0.0, 1.0, 2.0, 3.0))
    return [{"epsilon": e, "smoothing": s, "run": 0, **rest} for e, s in grid]


def show_utility(points):
    """Bounds beside what was measured."""
    head = ("ε", "method", "step", "D in the metric of A", "γ", "Theorem 4: bound on the gap", "gap", "β",
            "Theorem 7: bound on the squared gradient", "squared gradient")  # fmt: skip
    rows = tuple(
        (f"{p['epsilon']:g}", p["method"],
         *(f"{p[y]:.3g}" for y in
           ("step", "distance", "gamma", "convex_bound", "gap", "beta", "nonconvex_bound", "gradient")))
        for p in points
    )  # fmt: skip
    return [TextTable("Utility bounds with their constants, at the experiment's parameters", head, rows)]


def check_utility(points, expected):
    """The bounds hold; whether they say anything; whether they fall with sigma, and the measured gaps with them."""
    del expected
    found = [
        Finding("The bound of Theorem 4 holds, with the constants of its proof and steps of at most 1/(2L).",
            all(p["gap"] <= p["convex_bound"] for p in points),
            f"It is at least {min(p['convex_bound'] / p['gap'] for p in points):.3g} times the gap."),
        Finding("Not in the paper: the bound of Theorem 7 for an iterate drawn at random holds, with the constants of "
                "its proof (in this convex problem).",
            all(p["gradient"] <= p["nonconvex_bound"] for p in points),
            f"It is at least {min(p['nonconvex_bound'] / p['gradient'] for p in points):.3g} times the mean squared "
            "gradient. Over DP-SGD's: " + "; ".join(_beside(points, e) for e in sorted({p["epsilon"] for p in points},
                                                                                     reverse=True)) + "."),
        Finding("Not in the paper: Theorem 4's bound is below the gap of the first weights.",
            all(p["convex_bound"] < p["start_gap"] for p in points),
            f"The bounds are between {min(p['convex_bound'] for p in points):.3g} and "
            f"{max(p['convex_bound'] for p in points):.3g}; without training the gap is {points[0]['start_gap']:.3g}."),
    ]  # fmt: skip
    for epsilon in sorted({p["epsilon"] for p in points}, reverse=True):
        mine = {p["smoothing"]: p for p in points if p["epsilon"] == epsilon}
        plain, smooth = mine[0.0], [mine[s] for s in sorted(mine) if s]
        found.append(Finding(
            f"The bound of DP-LSSGD is below that of DP-SGD at ε = {epsilon:g}.",
            all(p["convex_bound"] < plain["convex_bound"] for p in smooth),
            "Bound over DP-SGD's: " + _ratios(smooth, plain, "convex_bound") + "; √γ: "
            + ", ".join(f"{math.sqrt(p['gamma']):.2f}" for p in smooth) + "; gap over DP-SGD's: "
            + _ratios(smooth, plain, "gap") + ".",
        ))  # fmt: skip
    return found


def _beside(points, epsilon):
    """The bounds of Theorem 7 over the one without smoothing, beside the root of beta."""
    mine = {p["smoothing"]: p for p in points if p["epsilon"] == epsilon}
    smooth = [mine[s] for s in sorted(mine) if s]
    roots = ", ".join(f"{math.sqrt(p['beta']):.2f}" for p in smooth)
    return f"{_ratios(smooth, mine[0.0], 'nonconvex_bound')} at ε = {epsilon:g} (√β: {roots})"


def _ratios(points, plain, y):
    return ", ".join(f"{p[y] / plain[y]:.2f} (σ = {p['smoothing']:g})" for p in points)
