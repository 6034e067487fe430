"""Peak memory of a fit as a ratio to the matrix, the matrix included: resident memory of a process of its own.

Labels are made and the libraries warmed up (a small fit) before the first reading; then come the matrix and the fit. So
the ratio is (peak - before the matrix) / size of the matrix. Before each reading the allocator gives back what it keeps
of freed memory. As a script it is one such process.
"""

import ctypes
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from data import synthetic, synthetic_blocks
from markdown import table
from pool import progress
from sklearn import linear_model

from tacit import LinearRegression, LogisticRegression

TARGET = 1.3
MODELS = {
    "LogisticRegression": lambda: LogisticRegression(1.0, delta=1e-5),
    "LinearRegression": lambda: LinearRegression(1.0, delta=1e-6, target_bound=(0.0, 1.0)),
    "scikit-learn LogisticRegression": linear_model.LogisticRegression,
    "scikit-learn LinearRegression": linear_model.LinearRegression,
}


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the table."""
    del seeds, workers
    shapes = ((200_000, 14),) if quick else ((2_000_000, 14), (200_000, 500))
    rows = []
    for records, features in shapes:
        for model in MODELS:
            command = [sys.executable, __file__, model, str(records), str(features)]
            done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
            rows.append(json.loads(done.stdout))
            progress(f"memory: {model} {records:,} x {features}: {rows[-1]['mean']:.2f} times the matrix")
    head = ("rows", "columns", "model", "matrix MB", "fit's own peak MB", "peak / matrix", "target 1.3")
    return rows, "### Peak memory of a fit, the matrix included\n\n" + table(head, map(_line, rows))


def _line(row: dict) -> list[str]:
    ours = "scikit-learn" not in row["model"]
    verdict = ("reached" if row["mean"] <= TARGET else "MISSED") if ours else ""
    return [
        f"{row['records']:,}", str(row["features"]), row["model"], f"{row['matrix'] / 1e6:.0f}",
        f"{(row['peak'] - row['after']) / 1e6:.0f}", f"{row['mean']:.2f}", verdict,
    ]  # fmt: skip


def resident(field: str) -> int:
    """A line of /proc/self/status in bytes: VmRSS is now, VmHWM the highest since it was last reset."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(field):
            return 1024 * int(line.split()[1])
    raise OSError(f"Expected {field} in /proc/self/status; this part of the benchmark needs Linux.")


def trimmed() -> int:
    """Resident memory, once the allocator has given back what was freed."""
    ctypes.CDLL(None).malloc_trim(0)
    return resident("VmRSS")


def measure(model: str, records: int, features: int) -> dict:
    """Resident memory before the matrix, after it, and at the peak of the fit."""
    regression = model.endswith("LinearRegression")
    warm = synthetic(5_000, features)
    MODELS[model]().fit(warm[0], warm[2 if regression else 1])
    y = np.empty(records, dtype=np.float64 if regression else np.int64)
    for rows, _, labels, targets in synthetic_blocks(records, features):
        y[rows] = targets if regression else labels
    before = trimmed()
    X = np.empty((records, features))
    for rows, block, _, _ in synthetic_blocks(records, features):
        X[rows] = block
    after = trimmed()
    Path("/proc/self/clear_refs").write_text("5")  # the peak counts from here
    MODELS[model]().fit(X, y)
    peak = resident("VmHWM")
    return {
        "model": model, "records": records, "features": features, "matrix": X.nbytes, "before": before, "after": after,
        "peak": peak, "mean": (peak - before) / X.nbytes, "target": TARGET, "higher_is_better": False,
    }  # fmt: skip


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))))
