"""People with several rows: a person as the unit of privacy, beside group privacy at the same epsilon and delta.

python benchmarks/people.py --seeds 5

Group privacy trains the same default method on single rows, at ``epsilon/m`` and ``delta / sum_{i < m} e^{i
epsilon/m}``: m rows of one person are then (epsilon, delta)-private together. What is compared is how much worse either
is than the same model without privacy, on test rows of other people: 1 - AUC of classifiers, mean squared error,
Poisson deviance. Made-up people share a part of their rows and of their targets; all have m rows, or from 1 to m. The
real tables have no people: their rows are put into groups at random.
"""

import argparse
import functools
import math
from itertools import product

import numpy as np
from markdown import table
from sklearn.metrics import mean_poisson_deviance, mean_squared_error, roc_auc_score
from tasks import split

from tacit import AdditiveClassifier, LinearRegression, LogisticRegression, PoissonRegressor

EPSILON, COLUMNS, ALIKE = 1.0, 10, 0.3
SIZES = (2, 5, 10, 20)
MOST = 20.0
"""The largest count."""


def made_up(kind: str, people: int, rows: np.ndarray, seed: int):
    """Rows of norm about 1, targets, and whose they are; ``ALIKE`` is the part of the variance that people share."""
    rng, groups = np.random.default_rng(seed), np.repeat(np.arange(people), rows)
    weights = np.random.default_rng(0).normal(size=COLUMNS)
    shared, own = rng.normal(size=(people, COLUMNS + 1))[groups], rng.normal(size=(len(groups), COLUMNS + 1))
    both = math.sqrt(ALIKE) * shared + math.sqrt(1 - ALIKE) * own
    X = both[:, 1:] / math.sqrt(COLUMNS) / 1.3
    scores = 3 * both[:, 1:] @ weights / math.sqrt(COLUMNS) + both[:, 0]
    if kind == "logistic":
        return X, (rng.random(len(scores)) < 1 / (1 + np.exp(-scores))).astype(int), groups
    if kind == "linear":
        return X, np.clip(scores, -10, 10), groups
    return X, np.minimum(rng.poisson(np.exp(1 + scores / 6)), MOST).astype(float), groups


MODELS = {
    "logistic": functools.partial(LogisticRegression, classes=[0, 1]),
    "linear": functools.partial(LinearRegression, target_bound=(-10, 10)),
    "Poisson": functools.partial(PoissonRegressor, target_bound=MOST),
}


def risk(kind: str, model, X, y) -> float:
    """The error on test rows."""
    if kind in ("logistic", "additive"):
        return 1 - roc_auc_score(y, model.predict_proba(X)[:, 1])
    return (mean_squared_error if kind == "linear" else mean_poisson_deviance)(y, model.predict(X))


def compared(kind: str, make, train, test, groups, most: int, seed: int) -> tuple[float, float, float]:
    """Errors without privacy, with people as the unit, and by group privacy."""
    people = len(np.unique(groups))
    delta = people**-1.5
    part = EPSILON / most
    group_delta = delta / sum(math.exp(i * part) for i in range(most))
    models = (
        make(math.inf).fit(*train),
        make(EPSILON, delta=delta, rows_per_person=most, random_state=seed).fit(*train, groups=groups),
        make(part, delta=group_delta, random_state=seed).fit(*train),
    )
    return tuple(risk(kind, model, *test) for model in models)


def line(name: str, m: int, errors: list) -> list[str]:
    """The means over seeds, and the ratio of what privacy costs."""
    plain, person, group = np.mean(errors, axis=0)
    spread = np.std(np.subtract(errors, np.array(errors)[:, :1]), axis=0)
    cells = [f"{cost - plain:.4f} ± {wide:.4f}" for cost, wide in ((person, spread[1]), (group, spread[2]))]
    return [name, str(m), f"{plain:.4f}", *cells, f"{(group - plain) / (person - plain):.1f}"]


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="fits for each mean (default: 5)")
    parser.add_argument("--people", type=int, default=4000, help="made-up people (default: 4000)")
    parser.add_argument("--only", help="logistic, linear, Poisson, adult, bank_marketing or kddcup99")
    options = parser.parse_args()
    lines = []
    for kind, make in MODELS.items():
        if options.only not in (None, kind):
            continue
        test = made_up(kind, 4000, np.full(4000, 5), 99)[:2]
        for most in SIZES:
            for words, low in (("m rows each", most), ("1 to m rows", 1)):
                errors = []
                for seed in range(options.seeds):
                    rows = np.random.default_rng(seed).integers(low, most + 1, options.people)
                    X, y, groups = made_up(kind, options.people, rows, 100 + seed)
                    errors.append(compared(kind, make, (X, y), test, groups, most, seed))
                lines.append(line(f"{kind}, made up, {words}", most, errors))
                print(*lines[-1], sep=" | ", flush=True)
    for name, kind in product(("adult", "bank_marketing", "kddcup99"), ("logistic", "additive")):
        if options.only not in (None, name):
            continue
        train, test = split(name, 0)
        form = (lambda some: some.form("rows")) if kind == "logistic" else (lambda some: some.table)
        make = functools.partial(LogisticRegression, classes=np.unique(train.labels).tolist())
        make = make if kind == "logistic" else functools.partial(AdditiveClassifier, schema=train.schema)
        for most in SIZES:
            errors = [
                compared(
                    kind, make, (form(train), train.labels), (form(test), test.labels),
                    np.random.default_rng(seed).permutation(len(train)) // most,
                    most, seed,
                )
                for seed in range(options.seeds)
            ]  # fmt: skip
            lines.append(line(f"{kind}, {name} in groups", most, errors))
            print(*lines[-1], sep=" | ", flush=True)
    head = ["model", "m", "no privacy", "a person as unit, above", "group privacy, above", "ratio"]
    print("\n" + table(head, lines))


if __name__ == "__main__":
    main()
