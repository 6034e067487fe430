"""Test accuracy of logistic regression on Adult by every method that takes it, and by the default."""

from data import TITLES
from markdown import spread, table, verdict
from pool import each
from trial import trial

from tacit import LogisticRegression
from tacit.mechanisms import METHODS

DELTA = 1e-5
EPSILONS = (0.1, 0.25, 0.5, 1.0, 3.0)
ADJACENCIES = ("replace-one", "add-remove")
TARGETS = {
    ("replace-one", 0.1): 0.820, ("replace-one", 1.0): 0.839, ("replace-one", 3.0): 0.842, ("add-remove", 0.1): 0.831,
    ("add-remove", 0.25): 0.836, ("add-remove", 0.5): 0.838, ("add-remove", 1.0): 0.840, ("add-remove", 3.0): 0.843,
}  # fmt: skip
"""Of the default."""


def private(adjacency: str, method: str, epsilon: float, seeds: int) -> dict:
    """One method; the noise is drawn with the seed."""

    def make(seed: int) -> LogisticRegression:
        return LogisticRegression(epsilon, delta=DELTA, method=method, adjacency=adjacency, random_state=seed)

    row = trial("adult", seeds, make, adjacency=adjacency, method=method, epsilon=epsilon, delta=DELTA)
    if method == "auto" and (adjacency, epsilon) in TARGETS:
        row |= {"target": TARGETS[adjacency, epsilon], "higher_is_better": True}
    return row


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the tables."""
    epsilons = (0.1, 1.0) if quick else EPSILONS
    names = ["auto", *(name for name, method in METHODS.items() if "logistic" in method.losses)]
    jobs = [(way, method, epsilon, seeds) for way in ADJACENCIES for method in names for epsilon in epsilons]
    rows = list(each(private, jobs, workers, "methods"))
    return rows, text(rows)


def text(rows: list[dict]) -> str:
    """A table for each adjacency."""
    found = {(row["adjacency"], row["method"], row["epsilon"]): row for row in rows}
    epsilons = sorted({row["epsilon"] for row in rows})
    known = {row["method"] for row in rows}
    names = [name for name in METHODS if name in known]
    parts = [f"{TITLES['adult']}: test accuracy in percent, δ = {DELTA:g}."]
    for adjacency in ADJACENCIES:
        lines = []
        for method in ("auto", *names):
            cells = [found[adjacency, method, epsilon] for epsilon in epsilons]
            lines.append([f"**{method}**" if method == "auto" else method, *(spread(cell, True) for cell in cells)])
        defaults = [found[adjacency, "auto", epsilon] for epsilon in epsilons]
        lines.insert(1, ["auto chose", *(row.get("chosen", "") for row in defaults)])
        lines.insert(1, ["auto's target", *(verdict(row, True) for row in defaults)])
        slow = [m for m in names for e in epsilons if found[adjacency, m, e].get("seconds", 0) > 3]
        note = f"\n\nSlower than 3 CPU seconds a fit, so fewer seeds: {', '.join(dict.fromkeys(slow))}." if slow else ""
        head = ["method", *(f"ε = {epsilon:g}" for epsilon in epsilons)]
        parts.append(f"Neighbours: {adjacency}.\n\n" + table(head, lines) + note)
    return "\n\n".join(parts)
