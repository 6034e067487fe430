"""How often the intervals of `tacit.evaluate` hold the truth: simulated tables, every score, several settings.

python benchmarks/coverage.py --tables 1000

Records are drawn with replacement from a population of 100,000, on which the true scores are computed exactly. A good
model's score is two standard deviations apart between the classes, a bad one's a quarter; numbers have a model with
R^2 near 0.7 and one near 0. `people`: each has one to five rows with a latent trait in common, and scores are means
over people.
"""

import argparse
from itertools import product

import numpy as np
from markdown import table
from scipy.special import expit

import tacit

POPULATION = 100_000
LABELS = ("accuracy", "balanced_accuracy", "recall", "precision", "auc", "log_loss", "calibration", "confusion")
NUMBERS = ("rmse", "mae", "bias", "r2")
ROWS = 5


class Classifier:
    """Predicts from one column, the log odds, and says yes where they are above those of all records together."""

    classes_ = np.array([0, 1])

    def __init__(self, positives):
        self.threshold = np.log(positives / (1 - positives))

    def decision_function(self, X):
        return X[:, 0]

    def predict(self, X):
        return (X[:, 0] > self.threshold).astype(int)

    def predict_proba(self, X):
        chance = expit(X[:, 0])
        return np.column_stack([1 - chance, chance])


class Regressor:
    """Predicts the column that it is given."""

    def predict(self, X):
        return X[:, 0]


def labelled(positives, apart, rng, people=False):
    """Log odds, labels and people of a population: the model's scores are calibrated."""
    persons = np.repeat(np.arange(POPULATION // ROWS), rng.integers(1, ROWS + 1, POPULATION // ROWS))
    persons = persons if people else np.arange(POPULATION)
    y = (rng.random(persons[-1] + 1) < positives).astype(int)[persons]
    trait = rng.normal(size=persons[-1] + 1)[persons]
    own = np.sqrt(0.7) * trait + np.sqrt(0.3) * rng.normal(size=len(y)) if people else trait
    odds = apart * (apart * (y - 0.5) + own) + np.log(positives / (1 - positives))
    return odds[:, None], y, persons


def numbered(quality, rng):
    """Predictions and targets of a population, the targets a little skewed."""
    signal = rng.normal(size=POPULATION)
    y = np.clip(
        0.2 * (np.sqrt(quality) * signal + np.sqrt(1 - quality) * (rng.exponential(size=POPULATION) - 1)), -1, 1
    )
    return (0.2 * np.sqrt(quality) * signal)[:, None], y, np.arange(POPULATION)


def covered(model, population, n, epsilon, tables, rng, names, adjacency="replace-one", people=False):
    """For each score: how often its interval holds the truth, and its median width."""
    X, y, persons = population
    starts = np.flatnonzero(np.diff(persons, prepend=-1))
    sizes = np.diff(starts, append=len(y))
    shared = {"groups": persons, "rows_per_person": ROWS} if people else {}
    shared |= {} if hasattr(model, "classes_") else {"bounds": (-1, 1)}
    truth = tacit.evaluate(model, X, y, epsilon=np.inf, metrics=names, **shared).scores
    hits, widths = {name: [] for name in names}, {name: [] for name in names}
    for seed in rng.integers(2**62, size=tables).tolist():
        drawn = rng.integers(len(starts), size=n)
        rows = np.concatenate([np.arange(starts[k], starts[k] + sizes[k]) for k in drawn]) if people else drawn
        if people:
            shared["groups"] = np.repeat(np.arange(n), sizes[drawn])
        found = tacit.evaluate(
            model, X[rows], y[rows], epsilon=epsilon, delta=n**-1.5, metrics=names, adjacency=adjacency,
            random_state=seed, **shared,
        )  # fmt: skip
        for name, score in found.scores.items():
            low, value, high = (np.asarray(part) for part in (score.low, truth[name].value, score.high))
            hits[name].append((low <= value) & (value <= high))
            widths[name].append(high - low)
    return {name: (np.mean(hits[name], axis=0), np.median(widths[name], axis=0)) for name in names}


def shown(rates):
    """The coverage in percent; of a matrix or a curve, the least and the largest."""
    percent = 100 * np.atleast_1d(rates).ravel()
    return f"{percent[0]:.1f}" if len(percent) == 1 else f"{percent.min():.1f}-{percent.max():.1f}"


def main():
    """Print one table of classifiers and one of regressions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tables", type=int, default=1000)
    parser.add_argument("--records", type=int, nargs="+", default=[500, 2000, 20_000])
    parser.add_argument("--epsilons", type=float, nargs="+", default=[0.1, 0.5, 1.0])
    parser.add_argument("--adjacency", default="replace-one")
    parser.add_argument("--people", action="store_true", help="one to five rows a person")
    parser.add_argument("--metrics", nargs="+", default=[*LABELS, *NUMBERS])
    options = parser.parse_args()
    rng = np.random.default_rng(14)
    settings = {"adjacency": options.adjacency, "people": options.people}
    labels, numbers = ([name for name in names if name in options.metrics] for names in (LABELS, NUMBERS))
    kinds = [(share, apart) for share, apart in product((0.5, 0.05), (2.0, 0.25)) if labels]
    rows = []
    for positives, apart in kinds:
        population = labelled(positives, apart, rng, options.people)
        for n, epsilon in product(options.records, options.epsilons):
            found = covered(Classifier(positives), population, n, epsilon, options.tables, rng, labels, **settings)
            rows.append(
                [
                    f"{positives:g}",
                    "good" if apart > 1 else "bad",
                    f"{n:,}",
                    f"{epsilon:g}",
                    *(shown(found[k][0]) for k in labels),
                ]
            )
            print(*rows[-1], flush=True)
    print(table(["positives", "model", "n", "epsilon", *labels], rows) if rows else "")
    rows = []
    for quality in (0.7, 0.0) if numbers and not options.people else ():
        population = numbered(quality, rng)
        for n, epsilon in product(options.records, options.epsilons):
            found = covered(Regressor(), population, n, epsilon, options.tables, rng, numbers, options.adjacency)
            rows.append([f"{quality:g}", f"{n:,}", f"{epsilon:g}", *(shown(found[name][0]) for name in numbers)])
            print(*rows[-1], flush=True)
    print(table(["R2", "n", "epsilon", *numbers], rows) if rows else "")


if __name__ == "__main__":
    main()
