"""Several classes: softmax against one-vs-rest, by the default and by each of the two methods that it could be."""

import peers
from data import TITLES, split
from markdown import spread, table
from pool import each
from trial import trial

from tacit import LogisticRegression

DELTA = 1e-5
EPSILONS = (0.3, 1.0, 3.0)
ADJACENCIES = ("replace-one", "add-remove")
WAYS = ("softmax", "one-vs-rest")
METHODS = {"digits": ("auto", "gradient", "objective"), "mnist": ("auto",)}


def private(name: str, adjacency: str, method: str, multiclass: str, epsilon: float, seeds: int) -> dict:
    """One way of handling several classes."""

    def make(seed: int) -> LogisticRegression:
        return LogisticRegression(
            epsilon, delta=DELTA, method=method, multiclass=multiclass, adjacency=adjacency, random_state=seed
        )

    facts = {"adjacency": adjacency, "method": method, "multiclass": multiclass, "epsilon": epsilon, "delta": DELTA}
    return trial(name, seeds, make, **facts)


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the tables."""
    sets = {"digits": seeds} if quick else {"digits": seeds, "mnist": 1}
    jobs = [
        (name, adjacency, method, way, epsilon, count)
        for name, count in sets.items()
        for adjacency in ADJACENCIES
        for method in METHODS[name]
        for way in WAYS
        for epsilon in EPSILONS
    ]
    rows = list(each(private, jobs, workers, "multiclass"))
    return rows, "\n\n".join(_table(name, rows) for name in sets)


def _table(name: str, rows: list[dict]) -> str:
    found = {
        (row["adjacency"], row["method"], row["multiclass"], row["epsilon"]): row for row in rows if row["data"] == name
    }
    lines = []
    for adjacency in ADJACENCIES:
        for method in METHODS[name]:
            for way in WAYS:
                cells = [found[adjacency, method, way, epsilon] for epsilon in EPSILONS]
                seconds = max(cell.get("seconds", 0.0) for cell in cells)
                lines.append([adjacency, method, way, *(spread(cell, True) for cell in cells), f"{seconds:.1f}"])
        if adjacency == "add-remove" and name in peers.MULTICLASS:
            values = [f"{100 * peers.MULTICLASS[name][epsilon]:.2f}" for epsilon in EPSILONS]
            lines.append([adjacency, "DP-SGD, Opacus' noise, *not of this run*", "softmax", *values, ""])
    (X, y), _ = split(name, 0)
    head = ["neighbours", "method", "classes by", *(f"ε = {epsilon:g}" for epsilon in EPSILONS), "s a fit"]
    title = f"### {TITLES[name]}: test accuracy in percent, n = {len(y):,}, d = {X.shape[1]}, δ = {DELTA:g}"
    return title + "\n\n" + table(head, lines)
