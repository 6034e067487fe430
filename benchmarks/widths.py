"""How wide the intervals of scores are, before anybody pays: on made-up records, by the code that private ones get.

python benchmarks/widths.py --seeds 20

A classifier of an outcome that 11% have, with an AUC of 0.80 and about half of the outcomes found; a regression that
explains half of the variance of a target whose declared range is six standard deviations wide. Each score is asked for
alone, and `recall, precision, auc` also together. Half-widths are medians over made-up tables.
"""

import argparse
import math
from itertools import product

import numpy as np
from markdown import table
from scipy.special import ndtri

import tacit

SIZES, BUDGETS = (1000, 3000, 10_000, 30_000), (0.1, 0.3, 1.0)
SHARE, AUC, BOUNDS = 0.11, 0.8, (-3.0, 3.0)
ASKED = (("accuracy",), ("recall",), ("auc",), ("recall", "precision", "auc"), ("rmse",), ("r2",))


class Ranks:
    """A classifier that takes the first column as its score."""

    classes_ = np.array([0, 1])

    def decision_function(self, X: np.ndarray) -> np.ndarray:
        """Above 0 half of the outcomes."""
        return X[:, 0] - math.sqrt(2) * ndtri(AUC)

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The class by the sign of the score."""
        return (self.decision_function(X) > 0).astype(int)


class Reads:
    """A regression that predicts the first column."""

    def predict(self, X: np.ndarray) -> np.ndarray:
        """The column."""
        return X[:, 0]


def half_widths(names: tuple[str, ...], n: int, epsilon: float, seed: int) -> list[float]:
    """Of one made-up table's scores."""
    rng = np.random.default_rng([seed, n])
    if names[0] in ("rmse", "r2"):
        y = rng.normal(size=n)
        X = (0.5 * y + 0.5 * rng.normal(size=n))[:, None]
        found = tacit.evaluate(Reads(), X, y, epsilon=epsilon, metrics=names, bounds=BOUNDS, random_state=seed)
    else:
        y = (np.arange(n) < SHARE * n).astype(int)
        X = (rng.normal(size=n) + math.sqrt(2) * ndtri(AUC) * y)[:, None]
        found = tacit.evaluate(Ranks(), X, y, epsilon=epsilon, metrics=names, random_state=seed)
    return [(found.scores[name].high - found.scores[name].low) / 2 for name in names]


def shown(name: str, width: float) -> str:
    """Two digits; unknown where the interval is the whole range."""
    most = math.inf if name in ("rmse", "r2") else 0.5
    return f"±{width:.2g}" if width < most else "unknown"


def main() -> None:
    """Print one table: a line for each score and epsilon, a column for each number of records."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20, help="made-up tables for each median (default: 20)")
    seeds, lines = range(parser.parse_args().seeds), []
    for names, epsilon in product(ASKED, BUDGETS):
        medians = [
            np.median([half_widths(names, n, epsilon, seed) for seed in seeds], axis=0) for n in SIZES
        ]  # fmt: skip
        for place, name in enumerate(names):
            label = f"`{name}`" if len(names) == 1 else f"`{name}` of `{','.join(names)}`"
            lines.append([label, f"{epsilon:g}", *(shown(name, float(median[place])) for median in medians)])
    print(table(["score", "ε", *(f"n = {n:,}" for n in SIZES)], lines))


if __name__ == "__main__":
    main()
