"""Counts and quantiles on the census table: Poisson and quantile regression beside scikit-learn's without privacy.

python benchmarks/losses.py --seeds 5

Counts: persons in the household (1 to 20 by the data dictionary), by the share of Poisson deviance explained (D^2).
Quantiles: income within [0, 200,000], by mean pinball loss in dollars, and the share of test incomes below. Rows and
bounds are those of the census schema; its other columns predict. A random 80/20 split for each seed. Our predictions
stay inside the public range, so all others are cut to it too: else cutting would be compared, not models.
"""

import argparse
import math

import numpy as np
from markdown import table
from sklearn import linear_model
from sklearn.metrics import d2_tweedie_score, mean_pinball_loss

from tacit import PoissonRegressor, QuantileRegressor, datasets
from tacit.schema.schema import Schema

DELTA, RECORDS, EPSILONS = 1e-6, (6_250, 100_000), (0.5, 1.0, 3.0, math.inf)
MOST_PERSONS, HIGHEST_INCOME, QUANTILES = 20, 200_000, (0.5, 0.9)
FEW = 20_000
"""Records that scikit-learn's QuantileRegressor gets at most: it solves a linear program over all of them."""


def rows_for(data, target: str, upper: float):
    """Encoded rows without the target's column, and the target."""
    known = data.schema.to_dict()
    columns = [column for column in known["columns"] if column[0] != target]
    schema = Schema.from_dict({**known, "columns": columns, "target": {"name": target, "lower": 0, "upper": upper}})
    return schema.encode(data.table), schema.encode_target(data.table)


def halves(X, y, seed: int):
    """Training and test part."""
    order = np.random.default_rng(seed).permutation(len(y))
    train, test = order[: int(0.8 * len(order))], order[int(0.8 * len(order)) :]
    return X[train], y[train], X[test], y[test]


def _name(epsilon: float) -> str:
    return f"ε = {epsilon:g}" if math.isfinite(epsilon) else "the same without noise"


def counts(X, y, X_test, y_test, seed: int):
    """D^2 of each model."""
    for epsilon in EPSILONS:
        model = PoissonRegressor(epsilon, delta=DELTA, target_bound=MOST_PERSONS, random_state=seed).fit(X, y)
        yield _name(epsilon), (model.score(X_test, y_test),)
    plain = linear_model.PoissonRegressor(alpha=0.0, max_iter=1000).fit(X, y)
    means = np.minimum(plain.predict(X_test), MOST_PERSONS)
    yield "scikit-learn, no privacy", (float(d2_tweedie_score(y_test, means, power=1)),)
    yield "the training mean", (float(d2_tweedie_score(y_test, np.full(len(y_test), y.mean()), power=1)),)


def quantiles(quantile: float, X, y, X_test, y_test, seed: int):
    """Pinball loss of each model, and the share of test targets that are at most its prediction."""

    def measured(predictions):
        return float(mean_pinball_loss(y_test, predictions, alpha=quantile)), float(np.mean(y_test <= predictions))

    for epsilon in EPSILONS:
        model = QuantileRegressor(
            epsilon, quantile=quantile, delta=DELTA, target_bound=(0, HIGHEST_INCOME), random_state=seed
        )
        yield _name(epsilon), measured(model.fit(X, y).predict(X_test))
    plain = linear_model.QuantileRegressor(quantile=quantile, alpha=0.0, solver="highs").fit(X[:FEW], y[:FEW])
    few = f" ({FEW:,} records)" if len(y) > FEW else ""
    yield f"scikit-learn, no privacy{few}", measured(np.clip(plain.predict(X_test), 0, HIGHEST_INCOME))
    yield "the training quantile", measured(np.full(len(y_test), np.quantile(y, quantile)))


def main() -> None:
    """Print one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5, help="splits and fits for each mean (default: 5)")
    seeds = parser.parse_args().seeds
    lines = []
    for records in RECORDS:
        data = datasets.load("acs_pums_2024", rows=records)
        tasks = [("persons, D²", "NP", MOST_PERSONS, counts)]
        for q in QUANTILES:
            tasks.append((f"income, {q:g} quantile", "PINCP", HIGHEST_INCOME, lambda *given, q=q: quantiles(q, *given)))
        for title, target, upper, measure in tasks:
            X, y = rows_for(data, target, upper)
            found: dict = {}
            for seed in range(seeds):
                for name, numbers in measure(*halves(X, y, seed), seed):
                    found.setdefault(name, []).append(numbers)
            for name, values in found.items():
                (mean, *share), (deviation, *_) = np.mean(values, axis=0), np.std(values, axis=0, ddof=1)
                shown = f"{mean:.3f} ± {deviation:.3f}" if target == "NP" else f"{mean:,.0f} ± {deviation:,.0f}"
                below = f"{share[0]:.3f}" if share else ""
                lines.append([f"{int(0.8 * records):,}", title, name, shown, below])
    print(table(["records", "target", "model", "test", "share below"], lines))


if __name__ == "__main__":
    main()
