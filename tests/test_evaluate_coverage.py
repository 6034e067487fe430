"""Intervals hold the truth as often as they say: simulated tables with fixed seeds, few of them; benchmarks have more.

Of 120 tables at least 99 must be covered: at a coverage of 95% fewer are, with a probability below 1e-6 (binomial).
Without the variance of the noise, or without that of the sample, some score here falls short.
"""

import math

import numpy as np
import pytest
from scipy.special import expit

import tacit

TABLES, LEAST = 120, 99
LABELS = ["accuracy", "balanced_accuracy", "recall", "precision", "auc", "log_loss"]


class Odds:
    """Knows the log odds; says yes above a threshold."""

    classes_ = np.array([0, 1])

    def predict(self, X):
        return (X[:, 0] > -1).astype(int)

    def predict_proba(self, X):
        return np.column_stack([expit(-X[:, 0]), expit(X[:, 0])])


class Given:
    """Predicts what it is given."""

    def predict(self, X):
        return X[:, 0]


def misses(model, X, y, n, names, epsilon, rng, people=None, **settings):
    """How often the truth was below, or above, the interval of each score."""
    rows = np.arange(len(y)).reshape(-1, people or 1)
    shared = {} if people is None else {"groups": np.arange(len(y)) // people, "rows_per_person": people}
    truth = tacit.evaluate(model, X, y, epsilon=math.inf, metrics=names, **settings, **shared).scores
    held = dict.fromkeys(names, 0)
    for seed in range(TABLES):
        drawn = rows[rng.integers(len(rows), size=n)].ravel()
        own = {} if people is None else {"groups": np.arange(len(drawn)) // people, "rows_per_person": people}
        found = tacit.evaluate(
            model, X[drawn], y[drawn], epsilon=epsilon, metrics=names, random_state=seed, **settings, **own
        )
        for name, score in found.scores.items():
            held[name] += score.low <= truth[name].value <= score.high
    return held


def population(rng, rows=1, size=20_000):
    trait = np.repeat(rng.normal(size=size // rows), rows)
    odds = 1.5 * (0.8 * trait + 0.6 * rng.normal(size=size) if rows > 1 else trait) - 1
    return odds[:, None], (rng.random(size) < expit(odds)).astype(int)


@pytest.mark.parametrize(("n", "epsilon"), [(1500, 0.5), (400, 20.0)], ids=["noise rules", "sampling rules"])
def test_classes(n, epsilon, rng):
    X, y = population(rng)
    held = misses(Odds(), X, y, n, LABELS, epsilon, rng)
    assert min(held.values()) >= LEAST, held


@pytest.mark.parametrize(("n", "epsilon"), [(3000, 1.0), (400, 40.0)], ids=["noise rules", "sampling rules"])
def test_numbers(n, epsilon, rng):
    signal = rng.uniform(-0.7, 0.7, size=20_000)
    y = np.clip(signal + 0.3 * rng.normal(size=20_000), -1, 1)
    held = misses(Given(), signal[:, None], y, n, ["rmse", "mae", "bias", "r2"], epsilon, rng, bounds=(-1, 1))
    assert min(held.values()) >= LEAST, held


def test_people_whose_rows_are_alike(rng):
    X, y = population(rng, rows=4)
    held = misses(Odds(), X, y, 400, ["accuracy", "recall", "auc"], 20.0, rng, people=4)
    assert min(held.values()) >= LEAST, held
