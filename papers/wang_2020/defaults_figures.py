"""Ours, not the paper's: the MNIST network with the library's own rules."""

import itertools

from papers.engine.figure import Finding, TextTable
from papers.wang_2020.comparing import difference
from papers.wang_2020.convolutional_figures import spread, values


def measure(**settings):
    """The classifier with its rules; see ``convolutional.defaults``."""
    from papers.wang_2020.convolutional import defaults as trained

    return trained(**settings)


def cells(size):
    """The library's classifier at two epsilons; quick: on 600 images, one epoch."""
    rest = {"epochs": 1, "rows": 600} if size.quick else {"epochs": None, "rows": None}
    kinds = [("sgd", 0.0), ("sgd", 1.0)] if size.quick else [(o, s) for o in ("sgd", "adam") for s in (0.0, 1.0, 2.0)]
    grid = itertools.product((3.0,) if size.quick else (1.2, 3.0), kinds, range(size.pick(3, 1)))
    return [{"epsilon": e, "optimizer": o, "smoothing": s, **rest, "run": run} for e, (o, s), run in grid]


def show(points):
    """Mean and interval of each optimiser and sigma."""
    epsilons, rows = sorted({p["epsilon"] for p in points}), []
    for optimizer, sigma in dict.fromkeys((p["optimizer"], p["smoothing"]) for p in points):
        groups = [values(points, optimizer=optimizer, smoothing=sigma, epsilon=e) for e in epsilons]
        rows.append((optimizer, f"{sigma:g}", *(spread(group) if group else "" for group in groups)))
    title = "Test accuracy in percent: mean ± half of the 95% interval"
    return [TextTable(title, ("optimiser", "σ", *(f"ε = {e:g}" for e in epsilons)), tuple(rows))]


def check(points, expected):
    """Whether smoothing helps at larger epsilons too."""
    del expected
    whole, found = all(p["rows"] is None for p in points), []
    for epsilon, optimizer in sorted({(p["epsilon"], p["optimizer"]) for p in points}):
        seen = difference(*(values(points, epsilon=epsilon, optimizer=optimizer, smoothing=s) for s in (1.0, 0.0)))
        found.append(Finding(
            f"Smoothing improves the classifier with its own rules (ε = {epsilon:g}, {optimizer}).",
            seen.above() if whole else None, f"With σ = 1 against none: {seen}.",
        ))  # fmt: skip
    return found
