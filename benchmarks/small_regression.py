"""Linear regression with little data or little budget: the default beside sufficient statistics, test RMSE.

python benchmarks/small_regression.py --seeds 5

Synthetic rows: on the sphere; `box`, correlated, uncentred columns in [0, 1], half of them binary, over sqrt d; `ill`,
eigenvalues 1/k^2. Targets in [-1, 1]: `normal`, deviation 0.25, noise as many times the signal; `narrow`, the same with
deviation 0.02; `skewed`, lognormal noise; `income`, exp(signal + noise) cut at three times its mean.
"""

import argparse

import numpy as np
from markdown import table
from regression import census
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LinearRegression as LeastSquares

from tacit import LinearRegression

ROWS = (("sphere", "normal", 0.1), ("sphere", "normal", 0.5), ("sphere", "normal", 2), ("sphere", "narrow", 0.5),
        ("box", "normal", 0.1), ("box", "normal", 0.5), ("ill", "normal", 0.1), ("ill", "normal", 0.5),
        ("sphere", "skewed", 0.5), ("ill", "skewed", 2), ("box", "income", 0.3), ("sphere", "income", 1))  # fmt: skip
CASES = ((1000, 5, 0.05), (5000, 10, 0.1), (5000, 10, 0.3), (5000, 10, 0.6), (20_000, 30, 0.1))


def rows(kind: str, n: int, d: int, rng):
    """Design rows."""
    if kind == "sphere":
        X = rng.normal(size=(n, d))
        return X / np.linalg.norm(X, axis=1, keepdims=True)
    if kind == "ill":
        falling = 1 / np.arange(1, d + 1)
        turn, _ = np.linalg.qr(rng.normal(size=(d, d)))
        X = (rng.normal(size=(n, d)) * falling) @ turn * 0.7 / np.linalg.norm(falling)
        return X / np.maximum(1, np.linalg.norm(X, axis=1, keepdims=True))
    raw = 0.7 * rng.normal(size=(n, 1)) + rng.normal(size=(n, d)) + np.linspace(-1, 1, d)
    return np.where(np.arange(d) < d // 2, raw > 0, 1 / (1 + np.exp(-raw))) / np.sqrt(d)


def targets(kind: str, noise: float, X, rng):
    """Targets in [-1, 1]."""
    signal = X @ rng.normal(size=X.shape[1])
    signal = (signal - signal.mean()) / signal.std()
    other = rng.normal(size=len(signal))
    if kind == "income":
        pay = np.exp(0.6 * signal + noise * other)
        return np.minimum(pay / (1.5 * pay.mean()), 2) - 1
    if kind == "skewed":
        other = (np.exp(other) - np.exp(0.5)) / np.sqrt((np.e - 1) * np.e)
    deviation = 0.02 if kind == "narrow" else 0.25
    return np.clip(deviation * (signal + noise * other) / np.hypot(1, noise), -1, 1)


def errors(train, test, seeds, **settings):
    """What the default chose; RMSE of statistics and of the default (means over seeds), least squares and the mean."""
    low, high = settings["target_bound"]

    def rmse(predictions):
        return float(np.sqrt(np.mean((predictions - test[1]) ** 2)))

    found, chosen = [], ""
    for method in ("statistics", "auto"):
        models = [LinearRegression(method=method, random_state=s, **settings).fit(*train) for s in seeds]
        found.append(float(np.mean([rmse(model.predict(test[0])) for model in models])))
        chosen = models[0].guarantee_.method
    plain = LeastSquares().fit(*train).predict(test[0])
    return chosen, *found, rmse(np.clip(plain, low, high)), rmse(np.full(len(test[1]), train[1].mean()))


def synthetic(seeds: int) -> str:
    """RMSE over that of least squares without privacy."""
    lines = []
    for kind, target, noise in ROWS:
        cells = [f"{kind}, {target} {noise:g}"]
        for n, d, epsilon in CASES:
            rng = np.random.default_rng(11)
            X = rows(kind, n + 4000, d, rng)
            y = targets(target, noise, X, rng)
            _, old, new, least, _ = errors(
                (X[:n], y[:n]), (X[n:], y[n:]), range(seeds), epsilon=epsilon, target_bound=(-1.0, 1.0)
            )
            cells.append(f"{old / least:.2f} / {new / least:.2f}")
        lines.append(cells)
    return table(["rows, target, noise / signal", *(f"n = {n:,}, d = {d}, ε = {e:g}" for n, d, e in CASES)], lines)


def real(seeds: int) -> str:
    """RMSE; a random 80/20 split for each seed."""
    X, y = load_diabetes(return_X_y=True)  # columns have squares that add up to 1: rows of mean norm 0.15
    sets = {("diabetes", 442): (X, y / 350, {"clip": 0.2}, (0.1, 1.0, 3.0))}
    X, y = census()
    rng = np.random.default_rng(0)
    for n, epsilons in ((2000, (0.1, 1.0)), (5000, (0.1, 0.3, 1.0)), (20_000, (0.1, 0.3, 1.0))):
        some = np.sort(rng.choice(len(y), n, replace=False))
        sets["census", n] = X[some], y[some], {"delta": 1e-6}, epsilons
    lines = []
    for (name, n), (X, y, settings, epsilons) in sets.items():
        for epsilon in epsilons:
            found = []
            for seed in range(seeds):
                order = np.random.default_rng(seed).permutation(n)
                train, test = order[: int(0.8 * n)], order[int(0.8 * n) :]
                pair = (X[train], y[train]), (X[test], y[test])
                chosen, *values = errors(*pair, (seed,), epsilon=epsilon, target_bound=(0.0, 1.0), **settings)
                found.append(values)
            lines.append([name, f"{n:,}", f"{epsilon:g}", chosen, *(f"{v:.4f}" for v in np.mean(found, axis=0))])
    return table(["data", "rows", "ε", "auto chose", "statistics", "auto", "no privacy", "the mean"], lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    seeds = parser.parse_args().seeds
    print(synthetic(seeds), real(2 * seeds), sep="\n\n")


if __name__ == "__main__":
    main()
