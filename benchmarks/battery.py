"""A battery for linear regression: does `auto` lose by more budget, or to a method that could have been named?

python benchmarks/battery.py --half B --seeds 5 --workers 2

Designs of rows times targets, in two halves: the rules were set on half A and are shown on half B. Every case is fitted
for several numbers of records and epsilons. What is recorded is the test RMSE, its ratio to the better of plain least
squares and the training mean (the *peer*), and for `auto` two verdicts: the ratio to the best named method, and the
ratio to its own best at any smaller epsilon.
"""

import argparse
import itertools
import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from markdown import table
from pool import each
from sklearn.linear_model import LinearRegression as LeastSquares

from tacit import LinearRegression

CASES = {
    "A": (("sphere", 10, "linear"), ("sphere", 10, "narrow"), ("correlated", 20, "noisy"), ("correlated", 20, "income"),
          ("box", 8, "linear"), ("box", 8, "skewed"), ("categories", 24, "income"), ("categories", 24, "nothing"),
          ("heavy", 5, "outliers"), ("heavy", 5, "skewed"), ("ill", 40, "linear"), ("ill", 40, "skewed")),
    "B": (("flats", 2, "prices"), ("gaussian", 30, "linear"), ("gaussian", 30, "skewed"), ("sparse", 120, "linear"),
          ("sparse", 120, "income"), ("mixed", 60, "narrow"), ("mixed", 60, "outliers"), ("ill", 12, "noisy"),
          ("ill", 12, "income"), ("heavy", 20, "linear"), ("box", 3, "skewed"), ("box", 3, "nothing")),
}  # fmt: skip
RECORDS = (300, 2000, 20_000, 200_000)
EPSILONS = (0.05, 0.1, 0.3, 1.0, 3.0, 10.0)
METHODS = ("adaptive", "gradient", "statistics", "newton", "objective", "output")
MOST_NUMBERS = 5_000_000
"""Larger tables (records times columns) are left out: their descents take minutes."""
TESTS = 20_000


def rows(kind: str, n: int, d: int, rng) -> np.ndarray:
    """Design rows; the model clips them to norm 1."""
    return DESIGNS[kind](n, d, rng)


def sphere(n: int, d: int, rng) -> np.ndarray:
    """Directions, all equally likely."""
    normal = rng.normal(size=(n, d))
    return normal / np.linalg.norm(normal, axis=1, keepdims=True)


def correlated(n: int, d: int, rng) -> np.ndarray:
    """One common factor, and a mean that is not zero."""
    normal = rng.normal(size=(n, d))
    return 0.5 * (0.6 * rng.normal(size=(n, 1)) + 0.8 * normal + 0.7) / np.sqrt(d)


def box(n: int, d: int, rng) -> np.ndarray:
    """As a schema makes them: columns in [0, 1] over sqrt d, half of them binary."""
    normal = rng.normal(size=(n, d))
    raw = 0.7 * rng.normal(size=(n, 1)) + normal + np.linspace(-1, 1, d)
    return np.where(np.arange(d) < d // 2, raw > 0, 1 / (1 + np.exp(-raw))) / np.sqrt(d)


def ill(n: int, d: int, rng) -> np.ndarray:
    """Eigenvalues 1/k^2."""
    normal, falling = rng.normal(size=(n, d)), 1 / np.arange(1, d + 1)
    turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
    return 0.7 * (normal * falling) @ turn / np.linalg.norm(falling)


def heavy(n: int, d: int, rng) -> np.ndarray:
    """Student's t with two degrees of freedom."""
    return 0.4 * rng.normal(size=(n, d)) / np.sqrt(d) / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)


def mixed(n: int, d: int, rng) -> np.ndarray:
    """Ten numbers in [0, 1], and five columns of categories."""
    numbers = 1 / (1 + np.exp(-rng.normal(size=(n, 10))))
    return np.hstack([numbers / np.sqrt(20), np.sqrt(0.5) * _one_hot(n, d - 10, 5, rng)])


def sparse(n: int, d: int, rng) -> np.ndarray:
    """About five words of a falling frequency."""
    return (rng.random((n, d)) < np.minimum(0.5, 1.5 / np.arange(1, d + 1))) / np.sqrt(8)


def flats(n: int, d: int, rng) -> np.ndarray:
    """A size and a number of rooms."""
    return np.column_stack([rng.uniform(20, 200, n) / 300, rng.integers(1, d + 6, n) / 10])


def _one_hot(n: int, d: int, columns: int, rng) -> np.ndarray:
    size = d // columns
    chance = 1 / np.arange(1, size + 1)
    picked = [np.eye(size)[rng.choice(size, n, p=chance / chance.sum())] for _ in range(columns)]
    return np.hstack(picked) / np.sqrt(columns)


DESIGNS = {
    "sphere": sphere, "correlated": correlated, "box": box, "ill": ill, "heavy": heavy, "mixed": mixed,
    "sparse": sparse, "flats": flats,
    "gaussian": lambda n, d, rng: 0.9 * rng.normal(size=(n, d)) / np.sqrt(d),
    "categories": lambda n, d, rng: _one_hot(n, d, 3, rng),  # three columns of d / 3 categories
}  # fmt: skip


def targets(kind: str, X: np.ndarray, rng) -> np.ndarray:
    """Targets in [-1, 1]."""
    n, d = X.shape
    if kind == "prices":
        return np.clip(np.exp(11 + 2.4 * X[:, 0] + 0.5 * X[:, 1] + rng.normal(0, 0.3, n)) / 1e6 - 1, -1, 1)
    signal = X @ rng.normal(size=d)
    signal = (signal - signal.mean()) / signal.std()
    other = rng.normal(size=n)
    if kind == "income":
        pay = np.exp(0.6 * signal + 0.5 * other)
        return np.minimum(pay / (1.5 * pay.mean()), 2) - 1
    if kind == "nothing":
        return np.clip(0.3 + 0.1 * other, -1, 1)
    if kind == "outliers":
        return np.where(rng.random(n) < 0.02, 1.0, np.clip(-0.3 + 0.1 * (signal + 0.5 * other), -1, 1))
    if kind == "skewed":
        skewed = (np.exp(other) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
        return np.clip(0.2 * signal + 0.2 * skewed - 0.2, -1, 1)
    deviation, noise = {"linear": (0.25, 0.3), "noisy": (0.25, 2.0), "narrow": (0.02, 0.5)}[kind]
    return np.clip(deviation * (signal + noise * other) / np.hypot(1, noise), -1, 1)


def measure(kind: str, d: int, target: str, n: int, epsilon: float, adjacency: str, methods, seeds: int) -> dict:
    """One cell: mean test RMSE of each method over seeds of the noise, and of the two peers without privacy."""
    rng = np.random.default_rng([len(kind), d, len(target), n])
    X = rows(kind, n + TESTS, d, rng)
    y = targets(target, X, rng)
    train, test = (X[:n], y[:n]), (X[n:], y[n:])

    def rmse(predictions) -> float:
        return float(np.sqrt(np.mean((predictions - test[1]) ** 2)))

    def models(method: str, number: int) -> list[LinearRegression]:
        settings = {"delta": 1e-6, "adjacency": adjacency, "method": method, "target_bound": 1.0}
        return [LinearRegression(epsilon, random_state=seed, **settings).fit(*train) for seed in range(number)]

    found, low = {}, {}
    chosen = models("auto", 1)[0].guarantee_.method
    for method in dict.fromkeys([*methods, chosen]):
        predictions = [model.predict(test[0]) for model in models(method, seeds)]
        found[method] = [rmse(each) for each in predictions]
        low[method] = float(np.mean([test[1].mean() - each.mean() for each in predictions]) / test[1].std())
    found["auto"], low["auto"] = found[chosen], low[chosen]  # the same fits, seed by seed
    least = rmse(np.clip(LeastSquares().fit(*train).predict(test[0]), -1, 1))
    return {
        "data": f"{kind} {d}, {target}", "records": n, "epsilon": epsilon, "adjacency": adjacency, "chosen": chosen,
        "rmse": {m: float(np.mean(v)) for m, v in found.items()}, "scores": found, "too_low": low, "least": least,
        "average": rmse(np.full(len(test[1]), train[1].mean())), "method": "auto", "seeds": seeds, "seconds": 0.0,
        "mean": float(np.mean(found["auto"])), "std": float(np.std(found["auto"])),
    }  # fmt: skip


def cells(half: str, seeds: int, methods, adjacencies, workers: int, lines: Path | None) -> Iterator[dict]:
    """All cells of a half, each written as a line of JSON as it comes."""
    grid = itertools.product(CASES[half], RECORDS, EPSILONS, adjacencies)
    jobs = [(*case, n, epsilon, adjacency, methods, seeds) for case, n, epsilon, adjacency in grid
            if n * case[1] <= MOST_NUMBERS and n >= 20 * case[1]]  # fmt: skip
    for row in each(measure, jobs, workers, f"battery {half}"):
        if lines:
            with lines.open("a") as out:
                out.write(json.dumps(row) + "\n")
        yield row


def behind(row: dict) -> float:
    """RMSE of `auto` over that of the best named method."""
    return row["rmse"]["auto"] / min(value for method, value in row["rmse"].items() if method != "auto")


def losses(found: list[dict]) -> dict[tuple, float]:
    """For each cell, RMSE of `auto` over the least that it had at a smaller epsilon."""
    place = ("data", "records", "adjacency")
    ordered = sorted(found, key=lambda row: (*(row[key] for key in place), row["epsilon"]))
    lost = {}
    for where, group in itertools.groupby(ordered, key=lambda row: tuple(row[key] for key in place)):
        best = np.inf
        for row in group:
            lost[*where, row["epsilon"]] = row["rmse"]["auto"] / best
            best = min(best, row["rmse"]["auto"])
    return lost


def summary(found: list[dict]) -> str:
    """One line a case: over its cells, the worst and the mean of each verdict."""
    lost, lines = losses(found), []
    for name in dict.fromkeys(row["data"] for row in found):
        of = [row for row in found if row["data"] == name]
        late = [lost[row["data"], row["records"], row["adjacency"], row["epsilon"]] for row in of]
        peer = [row["rmse"]["auto"] / min(row["least"], row["average"]) for row in of]
        lines.append([name, str(len(of)), f"{np.exp(np.mean(np.log(peer))):.3f}", f"{max(map(behind, of)):.3f}",
                      f"{max(late):.3f}", f"{max(abs(row['too_low']['auto']) for row in of):.2f}"])  # fmt: skip
    head = ["rows, columns, target", "cells", "auto over peer", "worst over best named", "worst over smaller ε", "bias"]
    return table(head, lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--half", choices=sorted(CASES), default="B")
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--adjacencies", nargs="+", default=["replace-one", "add-remove"])
    parser.add_argument("--lines", type=Path)
    given = parser.parse_args()
    found = cells(given.half, given.seeds, given.methods, given.adjacencies, given.workers, given.lines)
    print(summary(list(found)))


if __name__ == "__main__":
    main()
