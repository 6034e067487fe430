"""The rule of thumb on the docs' page "Scores on private records": how wide an interval is, before anybody pays."""

import math

import numpy as np
import pytest

import tacit


class Ranks:
    """A classifier that takes the first column as its score."""

    classes_ = np.array([0, 1])

    def decision_function(self, X):
        return X[:, 0] - 1.19

    def predict(self, X):
        return (X[:, 0] > 1.19).astype(int)


@pytest.mark.parametrize(("metric", "factor"), [("accuracy", 6), ("recall", 8), ("auc", 12)])
@pytest.mark.parametrize(("n", "epsilon", "share"), [(3000, 0.3, 0.11), (10_000, 0.1, 0.11), (10_000, 0.1, 0.3)])
def test_half_widths_are_as_the_page_says(metric, factor, n, epsilon, share):
    """Within a quarter for the median of nine seeded runs; the sampling error is added as squares."""
    widths = []
    for seed in range(9):
        rng = np.random.default_rng(seed)
        y = (np.arange(n) < share * n).astype(int)
        X = (rng.normal(size=n) + 1.19 * y)[:, None]
        score = tacit.evaluate(Ranks(), X, y, epsilon=epsilon, metrics=[metric], random_state=seed).scores[metric]
        widths.append((score.high - score.low) / 2)
    rare = 1.0 if metric == "accuracy" else share
    noise = factor / (rare * epsilon * n)
    p, count = {"accuracy": (0.15, n), "recall": (0.5, share * n), "auc": (0.2, share * n)}[metric]
    sampling = 1.96 * math.sqrt(p * (1 - p) / count) * (0.6 if metric == "auc" else 1.0)
    assert np.median(widths) == pytest.approx(math.hypot(noise, sampling), rel=0.25)
