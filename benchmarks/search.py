"""Searching for settings beside zero tuning, at the same total epsilon: test accuracy on real tables.

python benchmarks/search.py --seeds 10 --data adult,bank_marketing

Candidates: a linear model of the columns as they are (zero tuning), or of curves with 4, 8 or 16 knots a number.
`best` is the candidate that is best on the test set on average, with the whole epsilon: nobody could know it.
"""

import argparse
import functools

import numpy as np
from markdown import table
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import make_pipeline
from tasks import Records, split

from tacit import LogisticRegression, PrivateSearch

SETS = ("adult", "bank_marketing", "breast_cancer", "credit_card_fraud", "kddcup99")
EPSILONS = (0.5, 1.0, 3.0)
KNOTS = (4, 8, 16)


class Encoded(TransformerMixin, BaseEstimator):
    """Rows of a task by their places, encoded once for all fits: an encoding is row by row."""

    def __init__(self, name: str, knots: int = 0):
        self.name = name
        self.knots = knots

    def fit(self, X, y=None):
        """Nothing is learned."""
        return self

    def transform(self, X):
        """The rows at these places."""
        return encoded(self.name, self.knots)[np.asarray(X)[:, 0]]

    def __sklearn_is_fitted__(self):
        return True


@functools.lru_cache(maxsize=len(KNOTS) + 1)
def encoded(name: str, knots: int):
    """All rows of a task, as they are (0) or with so many knots a number."""
    whole = Records(name, np.arange(sum(map(len, split(name, 0)))))
    schema = whole.schema.additive(knots, "knots") if knots else whole.schema
    return schema.encode(whole.table)


def records(name: str, seed: int, rows: int | None):
    """Places and labels of training and test records; only some training ones where ``rows`` says so."""
    train, test = split(name, seed)
    if rows is not None:
        train = Records(name, np.random.default_rng(seed).permutation(train.places)[:rows])
    return (train.places[:, None], train.labels), (test.places[:, None], test.labels)


def accuracies(name: str, epsilon: float, seed: int, rows: int | None, trials: float | None):
    """Of every candidate with the whole epsilon, and of the search; and which it chose."""
    train, test = records(name, seed, rows)
    model = make_pipeline(Encoded(name), LogisticRegression(epsilon, classes=(0, 1), random_state=seed))
    found = [model.set_params(encoded__knots=knots).fit(*train).score(*test) for knots in (0, *KNOTS)]
    grid = {"encoded__knots": KNOTS}
    search = PrivateSearch(
        model.set_params(encoded__knots=0), grid, epsilon, trials=trials, random_state=10**6 + seed
    ).fit(*train)
    chosen = search.best_params_.get("encoded__knots", 0)
    return found, search.score(*test), (0, *KNOTS).index(chosen)


def compared(names: list[str], seeds: int, rows: int | None, trials: float | None) -> str:
    """One line a set and epsilon; differences are of runs with the same split and seed."""
    lines = []
    for name in names:
        runs = {e: [] for e in EPSILONS}
        for seed in range(seeds):
            for epsilon in EPSILONS:
                runs[epsilon].append(accuracies(name, epsilon, seed, rows, trials))
        for epsilon, found in runs.items():
            alone = 100 * np.array([one[0] for one in found])
            searched = 100 * np.array([one[1] for one in found])
            gain = searched - alone[:, 0]
            error = gain.std(ddof=1) / np.sqrt(seeds)
            counts = np.bincount([one[2] for one in found], minlength=len(KNOTS) + 1)
            best = alone.mean(axis=0).max()
            lines.append([
                name, f"{epsilon:g}", f"{alone[:, 0].mean():.2f}", f"{searched.mean():.2f}",
                f"{gain.mean():+.2f} ± {error:.2f}", f"{best:.2f}", " ".join(map(str, counts)),
            ])  # fmt: skip
            print(*lines[-1], flush=True)
    words = ["data", "ε", "zero tuning", "search", "gain ± standard error", "best", "chosen: lines, 4, 8, 16 knots"]
    return table(words, lines)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--data", default=",".join(SETS), help="sets, with commas")
    parser.add_argument("--rows", type=int, help="training records to draw (default: all)")
    parser.add_argument("--trials", type=float, help="trials on average (default: the rule's)")
    given = parser.parse_args()
    print(compared(given.data.split(","), given.seeds, given.rows, given.trials))


if __name__ == "__main__":
    main()
