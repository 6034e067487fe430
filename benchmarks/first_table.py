"""What it costs that nobody knows the table: schema and scaler paid for, against declared bounds; and coverage.

``python benchmarks/first_table.py`` trains on Adult's official split, all releases together at most epsilon = 1 in a
ledger; without one, epsilons and deltas are added.
``--validate`` uses a part of the training records instead of the test records; settings were chosen with it.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np

import tacit
from tacit import datasets, statistics
from tacit.estimators import AdditiveClassifier, LogisticRegression

DELTA, FIRST, REST = 1e-5, 0.2, 0.95
TARGET = "income"


def declared(model, train, seed):
    fitted, _ = model(train.schema, train.table, 1.0, seed)
    return fitted, fitted.guarantee_.epsilon


def found(model, train, seed):
    schema = statistics.private_schema(
        train.table, epsilon=FIRST, delta=DELTA, target=TARGET, missing=("?",), random_state=(1000 + seed)
    )
    fitted, _ = model(schema, train.table, REST, seed)
    return fitted, tacit.spent([schema.guarantee, fitted.guarantee_], delta=2 * DELTA)


def kept(model, train, seed):
    """Both releases in one ledger, the model with all that the schema left."""
    with tempfile.TemporaryDirectory() as folder:
        ledger = tacit.Ledger(Path(folder) / "study.sqlite", epsilon=1.0, delta=DELTA)
        with ledger:
            schema = statistics.private_schema(
                train.table, epsilon=FIRST, target=TARGET, missing=("?",), random_state=(1000 + seed)
            )
            fitted, _ = model(schema, train.table, "rest", seed)
        return fitted, ledger.spent()


def linear(schema, table, epsilon, seed):
    rows, labels = schema.encode(table), schema.encode_target(table)
    model = LogisticRegression(epsilon, delta=DELTA, classes=schema.target.classes, random_state=seed).fit(rows, labels)
    model.read = schema.encode
    return model, schema


def additive(schema, table, epsilon, seed):
    model = AdditiveClassifier(epsilon, delta=DELTA, schema=schema, random_state=seed).fit(table)
    model.read = lambda table: table
    return model, schema


def scaled(train, seed):
    """Schema, then a scaler on its rows' numbers, then the model: three releases."""
    schema = statistics.private_schema(
        train.table, epsilon=FIRST, delta=DELTA, target=TARGET, missing=("?",), random_state=(1000 + seed)
    )
    numbers = [column.name for column in schema.columns if column.numeric]
    texts = [column for column in schema.columns if not column.numeric]
    bounds = [(column.lower, column.upper) for column in schema.columns if column.numeric]
    scaler = statistics.PrivateScaler(FIRST, delta=DELTA, bounds=bounds, limit=2.0, random_state=2000 + seed)

    def columns(table):
        return np.column_stack([table[name] for name in numbers])

    scaler.fit(columns(train.table))
    others = tacit.Schema(columns=tuple(texts), missing=schema.missing)

    def read(table):
        return np.hstack([scaler.transform(columns(table)) / 4.0, others.encode(table, len(texts) ** 0.5)])

    clip = 3.0
    model = LogisticRegression(0.9, delta=DELTA, classes=schema.target.classes, clip=clip, random_state=seed)
    model.fit(read(train.table), schema.encode_target(train.table))
    model.read = read
    return model, tacit.spent([schema.guarantee, scaler.guarantee_, model.guarantee_], delta=3 * DELTA)


def accuracy(model, test):
    return float(np.mean(model.predict(model.read(test.table)) == test.schema.encode_target(test.table)))


def cost(seeds, validate):
    train = datasets.load("adult", split="train")
    train, test = train.divide(0.2) if validate else (train, datasets.load("adult", split="test"))
    print("| model | schema | total epsilon | accuracy | difference |\n| --- | --- | --- | --- | --- |")
    rows = {
        ("LogisticRegression", "declared"): lambda seed: declared(linear, train, seed),
        ("LogisticRegression", "found"): lambda seed: found(linear, train, seed),
        ("LogisticRegression", "found, in a ledger"): lambda seed: kept(linear, train, seed),
        ("LogisticRegression", "found, and scaled"): lambda seed: scaled(train, seed),
        ("AdditiveClassifier", "declared"): lambda seed: declared(additive, train, seed),
        ("AdditiveClassifier", "found"): lambda seed: found(additive, train, seed),
        ("AdditiveClassifier", "found, in a ledger"): lambda seed: kept(additive, train, seed),
    }
    base = {}
    for (name, kind), fit in rows.items():
        fits = [fit(seed) for seed in range(seeds)]
        scores = np.array([100 * accuracy(model, test) for model, _ in fits])
        base.setdefault(name, scores.mean())
        error = scores.std(ddof=1) / np.sqrt(seeds)
        total = max(total for _, total in fits)
        gap = scores.mean() - base[name]
        print(f"| `{name}` | {kind} | {total:.3f} | {scores.mean():.2f} ± {error:.2f} | {gap:+.2f} |", flush=True)


def coverage(tables):
    rng = np.random.default_rng(0)
    designs = {
        "normal": (lambda n: rng.normal(50, 15, n), 50.0, 50.0),
        "skewed": (lambda n: rng.exponential(10, n), 10.0, 10 * np.log(2)),
        "rare": (lambda n: np.where(rng.random(n) < 0.05, 80.0, rng.uniform(0, 5, n)), 6.375, 0.5 / 0.95 * 5),
    }
    print("| data | n | epsilon | neighbours | mean | population | by group | median | population |")
    print("| --- " * 9 + "|")
    for name, (draw, mean, median) in designs.items():
        for n, epsilon in ((100, 2.0), (1000, 0.3), (5000, 1.0)):
            for adjacency in ("replace-one", "add-remove"):
                held = []
                for _ in range(tables):
                    values, group = draw(n), (rng.random(n) < 0.3).astype(int)
                    clipped = np.clip(values, 0, 100)
                    common = {"epsilon": epsilon, "delta": 1e-5, "adjacency": adjacency}
                    seeds = iter(rng.integers(0, 2**31, 3).tolist())
                    one = statistics.mean(values, (0, 100), random_state=next(seeds), **common)
                    by = statistics.mean(
                        values, (0, 100), by=group, categories=[0, 1], random_state=next(seeds), **common
                    )
                    rank = statistics.quantiles(values, (0, 100), 0.5, random_state=next(seeds), **common)
                    own = np.sort(clipped)[(n + 1) // 2 - 1]
                    pairs = (
                        (one.interval, clipped.mean()), (one.population_interval, mean),
                        ((by.interval[0][1], by.interval[1][1]), clipped[group == 1].mean()),
                        (rank.interval, own), (rank.population_interval, median),
                    )  # fmt: skip
                    held.append([low <= truth <= high for (low, high), truth in pairs])
                shares = " | ".join(f"{100 * share:.1f}" for share in np.mean(held, axis=0))
                print(f"| {name} | {n:,} | {epsilon:g} | {adjacency} | {shares} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--validate", action="store_true")
    parser.add_argument("--coverage", type=int, metavar="TABLES", default=0)
    options = parser.parse_args()
    if options.coverage:
        coverage(options.coverage)
    else:
        cost(options.seeds, options.validate)
