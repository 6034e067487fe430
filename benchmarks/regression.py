"""Linear regression of income on the census table: RMSE on the scale [0, 1], beside least squares without privacy."""

import numpy as np
import peers
from markdown import spread, table, verdict
from pool import progress
from sklearn import linear_model

from tacit import LinearRegression, datasets

DELTA, HIGHEST = 1e-6, 200_000.0
SOME = 100_000
TARGETS = {("100,000", 0.1): 0.225, ("100,000", 1.0): 0.211, ("all", 0.1): 0.211, ("all", 1.0): 0.2096}


def census():
    """Rows scaled into the unit ball by public bounds (layout 'box'), and income / 200,000 clipped to [0, 1]."""
    X, y = datasets.load("acs_pums_2024").arrays()
    return X, y / HIGHEST


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the table."""
    del workers  # each fit is one pass over the records
    progress("regression: loading the census table")
    X, y = census()
    some = np.sort(np.random.default_rng(0).choice(len(y), SOME, replace=False))
    cases = {"100,000": (X[some], y[some])} | ({} if quick else {"all": (X, y)})
    rows = []
    for name, (rows_of, targets) in cases.items():
        errors: dict = {}
        for seed in range(seeds):
            order = np.random.default_rng(seed).permutation(len(targets))
            train, test = order[: int(0.8 * len(order))], order[int(0.8 * len(order)) :]
            for key, value in _errors(rows_of[train], targets[train], rows_of[test], targets[test], seed):
                errors.setdefault(key, []).append(value)
            progress(f"regression: {name} rows, seed {seed + 1} of {seeds}")
        rows += [_row(name, len(targets), *key, values) for key, values in errors.items()]
    return rows, _table(rows, tuple(cases))


def _errors(X, y, X_test, y_test, seed: int):
    def rmse(predictions) -> float:
        return float(np.sqrt(np.mean((predictions - y_test) ** 2)))

    for epsilon in (0.1, 1.0):
        model = LinearRegression(epsilon, delta=DELTA, target_bound=(0.0, 1.0), random_state=seed)
        yield ("auto", epsilon), rmse(model.fit(X, y).predict(X_test))
    predictions = linear_model.LinearRegression().fit(X, y).predict(X_test)
    yield ("scikit-learn, no privacy", None), rmse(predictions)
    yield ("scikit-learn, no privacy, predictions clipped", None), rmse(np.clip(predictions, 0, 1))
    yield ("the training mean", None), rmse(np.full(len(y_test), y.mean()))


def _row(name: str, records: int, method: str, epsilon: float | None, values: list[float]) -> dict:
    row = {
        "data": "acs_pums_2024", "rows": name, "records": records, "method": method, "epsilon": epsilon,
        "adjacency": "replace-one" if epsilon else "none", "delta": DELTA, "mean": float(np.mean(values)),
        "std": float(np.std(values, ddof=1)) if len(values) > 1 else 0.0, "seeds": len(values), "scores": values,
    }  # fmt: skip
    goal = TARGETS.get((name, epsilon)) if method == "auto" else None
    return row if goal is None else row | {"target": goal, "higher_is_better": False}


def _table(rows: list[dict], cases: tuple[str, ...]) -> str:
    lines = []
    for row in rows:
        epsilon = f"{row['epsilon']:g}" if row["epsilon"] else "∞"
        name = f"{row['rows']} ({row['records']:,})" if row["rows"] == "all" else row["rows"]
        other = peers.REGRESSION.get((row["rows"], row["epsilon"]), "")
        lines.append([name, row["method"], epsilon, spread(row), verdict(row), other])
    head = ["rows", "method", "ε", "RMSE", "target", "diffprivlib, *not of this run*"]
    note = f"Income in [0, 200,000] scaled to [0, 1]; random 80/20 split for each seed, replace-one, δ = {DELTA:g}."
    return f"### Linear regression, census table\n\n{note}\n\n{table(head, lines)}"
