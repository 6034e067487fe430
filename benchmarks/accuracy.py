"""Test accuracy of logistic regression: every method on Adult, the default on other sets, beside peers."""

import peers
from data import TITLES, split
from markdown import spread, table, verdict
from pool import each
from sklearn import linear_model
from trial import trial

from tacit import LogisticRegression
from tacit.mechanisms import METHODS

DELTA = 1e-5
ADJACENCIES = ("replace-one", "add-remove")
OTHERS = ("bank_marketing", "kddcup99", "breast_cancer", "credit_card_fraud")
TARGETS = {
    ("replace-one", 0.1): 0.820, ("replace-one", 1.0): 0.839, ("replace-one", 3.0): 0.842, ("add-remove", 0.1): 0.831,
    ("add-remove", 0.25): 0.836, ("add-remove", 0.5): 0.838, ("add-remove", 1.0): 0.840, ("add-remove", 3.0): 0.843,
}  # fmt: skip
"""Adult, default, official split."""


def private(name: str, adjacency: str, method: str, epsilon: float, seeds: int) -> dict:
    """Tacit with one method; the split and the noise are drawn with the seed."""

    def make(seed: int) -> LogisticRegression:
        return LogisticRegression(epsilon, delta=DELTA, method=method, adjacency=adjacency, random_state=seed)

    row = trial(name, seeds, make, adjacency=adjacency, method=method, epsilon=epsilon, delta=DELTA)
    if name == "adult" and method == "auto" and (adjacency, epsilon) in TARGETS:
        row |= {"target": TARGETS[adjacency, epsilon], "higher_is_better": True}
    return row


def plain(name: str, C: float, seeds: int) -> dict:
    """scikit-learn without privacy, on the same matrix."""
    fits = 1 if name == "adult" else seeds
    row = trial(
        name, fits, lambda seed: linear_model.LogisticRegression(C=C, max_iter=2000), method=f"scikit-learn C={C:g}"
    )
    return row | {"adjacency": "none"}


def diffprivlib(name: str, C: float, epsilon: float, seeds: int) -> dict:
    """diffprivlib in this run, at its default C: pure epsilon, replace-one."""
    models, _ = peers.diffprivlib_models()

    def make(seed: int) -> object:
        return models.LogisticRegression(epsilon=epsilon, data_norm=1.0, C=C, max_iter=1000, random_state=seed)

    return trial(name, seeds, make, adjacency="replace-one", method=f"diffprivlib C={C:g}", epsilon=epsilon)


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the tables."""
    epsilons = (0.1, 1.0) if quick else peers.EPSILONS
    sets = ("breast_cancer",) if quick else OTHERS
    names = [name for name, method in METHODS.items() if "logistic" in method.losses]
    defaults = [
        (name, way, "auto", epsilon, seeds) for name in ("adult", *sets) for way in ADJACENCIES for epsilon in epsilons
    ]
    others = [("adult", way, method, epsilon, seeds) for way in ADJACENCIES for method in names for epsilon in epsilons]
    jobs = defaults + others
    rows = list(each(private, jobs, workers, "accuracy"))
    rows += each(
        plain, [(name, C, seeds) for name in ("adult", *sets) for C in (1.0, 100.0)], workers, "without privacy"
    )
    models, why = peers.diffprivlib_models()
    if models is not None:
        tasks = [(name, 1.0, epsilon, seeds) for name in ("adult", *sets) for epsilon in epsilons]
        rows += each(diffprivlib, tasks, workers, "diffprivlib")
    found = {(row["data"], row["adjacency"], row["method"], row.get("epsilon")): row for row in rows}
    parts = [_adult(found, names, epsilons)] + [_other(name, found, epsilons) for name in sets]
    return rows, "\n\n".join([*parts, " ".join(filter(None, (peers.NOTE, why)))])


def _head(first: str, epsilons) -> list[str]:
    return [first, *(f"ε = {epsilon:g}" for epsilon in epsilons)]


def _adult(found: dict, names: list[str], epsilons) -> str:
    parts = [f"### {TITLES['adult']}: test accuracy in percent, δ = {DELTA:g}"]
    for adjacency in ADJACENCIES:
        lines = []
        for method in ("auto", *names):
            cells = [found["adult", adjacency, method, epsilon] for epsilon in epsilons]
            lines.append([f"**{method}**" if method == "auto" else method, *(spread(cell, True) for cell in cells)])
        defaults = [found["adult", adjacency, "auto", epsilon] for epsilon in epsilons]
        lines.insert(1, ["auto chose", *(row.get("chosen", "") for row in defaults)])
        lines.insert(1, ["auto's target", *(verdict(row, True) for row in defaults)])
        lines += _references("adult", adjacency, found, epsilons)
        slow = [m for m in names for e in epsilons if found["adult", adjacency, m, e].get("seconds", 0) > 3]
        note = f"\n\nSlower than 3 CPU seconds a fit, so fewer seeds: {', '.join(dict.fromkeys(slow))}." if slow else ""
        parts.append(f"Neighbours: {adjacency}.\n\n" + table(_head("method", epsilons), lines) + note)
    return "\n\n".join(parts)


def _other(name: str, found: dict, epsilons) -> str:
    lines = []
    for adjacency in ADJACENCIES:
        cells = [found[name, adjacency, "auto", epsilon] for epsilon in epsilons]
        lines.append([f"**auto**, {adjacency}", *(spread(cell, True) for cell in cells)])
        lines.append(["auto chose", *(cell.get("chosen", "") for cell in cells)])
        lines += _references(name, adjacency, found, epsilons, plain_too=adjacency == ADJACENCIES[-1])
    (X, y), _ = split(name, 0)
    title = f"### {TITLES[name]}: test accuracy in percent, n = {len(y):,}, d = {X.shape[1]}, δ = {DELTA:g}"
    return title + "\n\n" + table(_head("method", epsilons), lines)


def _references(name: str, adjacency: str, found: dict, epsilons, plain_too: bool = True) -> list[list[str]]:
    lines = []
    if (name, "replace-one", "diffprivlib C=1", epsilons[0]) in found and adjacency == "replace-one":
        cells = [found[name, "replace-one", "diffprivlib C=1", epsilon] for epsilon in epsilons]
        lines.append(["diffprivlib C=1, this run", *(spread(cell, True) for cell in cells)])
    for peer, (kind, values) in peers.ACCURACY[name].items():
        if kind == adjacency:
            known = dict(zip(peers.EPSILONS, values, strict=True))
            lines.append([f"{peer}, *not of this run*", *(f"{100 * known[epsilon]:.2f}" for epsilon in epsilons)])
    if plain_too:
        for method in ("scikit-learn C=1", "scikit-learn C=100"):
            text = spread(found[name, "none", method, None], True)
            lines.append([f"{method}, no privacy", *([text] * len(epsilons))])
    return lines
