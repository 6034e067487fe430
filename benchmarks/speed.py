"""Fit time as a ratio to scikit-learn's without privacy: same matrix, same run, interleaved, medians.

CPU time is shown beside wall time: on a machine that others use too it is the steadier of the two, if threads are few.
"""

import contextlib
import statistics
import time

import regression
from data import official, synthetic
from markdown import table
from pool import progress
from sklearn import linear_model
from threadpoolctl import threadpool_limits

from tacit import LinearRegression, LogisticRegression, datasets
from tacit.checks import PrivacyError
from tacit.linear.losses import Logistic
from tacit.mechanisms import METHODS
from tacit.privacy import accounting
from tacit.types import ADJACENCIES, Budget, Facts

TARGET = 1.5
CALIBRATED = (0.1, 1.0, 8.0)


def run(seeds: int, quick: bool, workers: int, threads: int | None = None) -> tuple[list[dict], str]:
    """All rows, and the tables."""
    del workers  # nothing runs beside a measurement
    with threadpool_limits(threads) if threads else contextlib.nullcontext():
        rows = _default(3 if quick else 5, quick) + _methods(quick)
    for row in rows:
        row["threads"] = threads or "default"
    heads = ("data", "rows", "columns", "model", "ε", "seconds", "scikit-learn s", "ratio", "CPU ratio", "target 1.5")
    first = [_line(row) for row in rows if row["method"] == "auto"]
    second = [[*_line(row)[3:-1]] for row in rows if row["method"] != "auto"]
    title = f"### Fit time, threads: {threads or 'default'}"
    prices = _calibrations()
    parts = [
        title, table(heads, first), "Every method, Adult's training part, one fit each:", table(heads[3:-1], second),
        "Calibration alone, 32,561 records, δ = 10⁻⁵, milliseconds, the least of three:",
        table(("method", *(f"{a}, ε = {e:g}" for a in ADJACENCIES for e in CALIBRATED)), prices),
    ]  # fmt: skip
    return rows, "\n\n".join(parts)


def _calibrations() -> list[list[str]]:
    """A line a method: from a budget to a plan, with nothing kept of earlier prices."""
    facts = Facts(records=32_561, features=15, outputs=1, radius=1.0, loss=Logistic())
    lines = []
    for name, method in METHODS.items():
        if "logistic" in method.losses:
            budgets = [Budget(e, 0.0 if method.mechanism.pure else 1e-5, a) for a in ADJACENCIES for e in CALIBRATED]
            lines.append([name, *(_milliseconds(method.mechanism, budget, facts) for budget in budgets)])
    return lines


def _milliseconds(mechanism, budget: Budget, facts: Facts) -> str:
    spent = []
    for _ in range(3):
        accounting.forget()
        start = time.perf_counter()
        try:
            mechanism.calibrate(budget, facts, None, "proven")
        except ValueError:
            return "–"
        spent.append(time.perf_counter() - start)
    return f"{1e3 * min(spent):.1f}"


def _default(runs: int, quick: bool) -> list[dict]:
    X, y = datasets.load("adult").arrays()
    rows = [_logistic("adult", X, y, epsilon, runs) for epsilon in (1.0, 0.1)]
    X, labels, targets = synthetic(200_000 if quick else 2_000_000, 14)
    rows += [_logistic("synthetic", X, labels, epsilon, runs) for epsilon in (1.0, 0.1)]
    rows.append(_linear("synthetic", X, targets, runs))
    if not quick:
        rows.append(_linear("acs_pums_2024", *regression.census(), runs))
    return rows


def _methods(quick: bool) -> list[dict]:
    X, y = official("adult")[0]
    names = [name for name, method in METHODS.items() if "logistic" in method.losses]
    rows = []
    for name in names[:2] if quick else names:
        with contextlib.suppress(PrivacyError):
            rows.append(_logistic("adult", X, y, 1.0, 1, name))
    return rows


def _logistic(data: str, X, y, epsilon: float, runs: int, method: str = "auto") -> dict:
    private = LogisticRegression(epsilon, delta=1e-5, method=method)
    row = compare(private, linear_model.LogisticRegression(), X, y, runs)
    return row | {"data": data, "model": "LogisticRegression", "epsilon": epsilon, "method": method}


def _linear(data: str, X, y, runs: int) -> dict:
    private = LinearRegression(1.0, delta=1e-6, target_bound=(0.0, 1.0))
    row = compare(private, linear_model.LinearRegression(), X, y, runs)
    return row | {"data": data, "model": "LinearRegression", "epsilon": 1.0, "method": "auto"}


def compare(ours, theirs, X, y, runs: int) -> dict:
    """Ours and theirs in turn, ``runs`` times; medians, and the median of the ratios of neighbouring runs."""
    walls, cpus = [], []
    for _ in range(runs):
        pairs = [_seconds(model, X, y) for model in (theirs, ours)]
        walls.append((pairs[1][0], pairs[0][0]))
        cpus.append((pairs[1][1], pairs[0][1]))
    row = {
        "records": X.shape[0], "features": X.shape[1], "runs": runs, "chosen": ours.guarantee_.method,
        "seconds": statistics.median(a for a, _ in walls), "sklearn_seconds": statistics.median(b for _, b in walls),
        "mean": statistics.median(a / b for a, b in walls), "cpu_ratio": statistics.median(a / b for a, b in cpus),
        "walls": walls, "cpus": cpus, "target": TARGET, "higher_is_better": False,
    }  # fmt: skip
    progress(f"time: {row['records']:,} x {row['features']}, {row['chosen']}: ratio {row['mean']:.2f}")
    return row


def _seconds(model, X, y) -> tuple[float, float]:
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(X, y)
    return time.perf_counter() - wall, time.process_time() - cpu


def _line(row: dict) -> list[str]:
    name = f"{row['model']} ({row['chosen']})"
    verdict = "reached" if row["mean"] <= TARGET else "MISSED"
    return [
        row["data"], f"{row['records']:,}", str(row["features"]), name, f"{row['epsilon']:g}", f"{row['seconds']:.3f}",
        f"{row['sklearn_seconds']:.3f}", f"{row['mean']:.2f}", f"{row['cpu_ratio']:.2f}", verdict,
    ]  # fmt: skip
