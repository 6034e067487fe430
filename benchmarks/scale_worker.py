"""One measurement of :mod:`scale` in a process of its own: a fit from files, or a bare scan that does its products.

Prints one line of JSON: seconds of each pass, and the highest resident memory of the process.
"""

import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from memory import resident
from scale_rows import LABEL, NAMES

BATCH = 2**16
BARE_PASSES = 3


def clock() -> np.ndarray:
    """Seconds by the wall, and of the processor in all threads: the steadier of the two on a machine that is shared."""
    return np.array([time.perf_counter(), time.process_time()])


def main(kind: str, model: str, folder: str) -> dict:
    """``kind``: 'tacit', 'arrow' or 'polars'; ``model``: 'linear' or 'logistic'."""
    files = sorted(Path(folder).glob("*.parquet"))
    passes, note = fit(model, folder) if kind == "tacit" else bare(kind, model, files)
    return {"kind": kind, "model": model, "passes": passes, "note": note, "peak": resident("VmHWM")}


def fit(model: str, folder: str) -> tuple[list[list[float]], str]:
    """Tacit's own; a pass begins when the watcher is told that nothing of it is done."""
    from tacit import LinearRegression, LogisticRegression
    from tacit.streams.watching import watched

    begins, ends = {}, {}

    def watch(number: int, done: int, rows: int) -> None:
        begins.setdefault(number, clock())
        ends[number] = clock()

    linear = LinearRegression(1.0, delta=1e-9, target_bound=(0.0, 1.0), method="statistics", random_state=0)
    private = linear if model == "linear" else LogisticRegression(1.0, delta=1e-9, classes=[0, 1], random_state=0)
    with watched(watch):
        for _ in range(BARE_PASSES if model == "linear" else 1):  # one pass each
            private.fit(folder, LABEL)
    return [(ends[number] - begins[number]).tolist() for number in begins], private.guarantee_.method


def bare(kind: str, model: str, files: list[Path]) -> tuple[list[list[float]], str]:
    """The same rows, clip and products with nothing else: no checks, no grid, sums as BLAS adds them."""
    batches = {"arrow": arrow_batches, "polars": polars_batches}[kind]
    weights, passes = np.full(len(NAMES) + 1, 0.1), []
    for _ in range(BARE_PASSES):
        begin = clock()
        total = np.zeros((len(NAMES) + 1, len(NAMES) + 2))
        for columns, targets in batches(files):
            X = np.empty((len(targets), len(NAMES) + 1))
            for place, column in enumerate(columns):
                X[:, place] = column
            X[:, -1] = 1.0
            X[:, :-1] *= np.minimum(1.0, 1 / np.sqrt((X[:, :-1] ** 2).sum(axis=1)))[:, None]
            y = targets.astype(np.float64)
            if model == "linear":
                slopes, scaled = y, X
            else:
                chances = 1 / (1 + np.exp(-(X @ weights)))
                slopes, scaled = chances - y, X * (chances * (1 - chances))[:, None]
            total[:, :-1] += X.T @ scaled
            total[:, -1] += X.T @ slopes
        passes.append((clock() - begin).tolist())
    return passes, "bare"


def arrow_batches(files: list[Path]) -> Iterator[tuple[list[np.ndarray], np.ndarray]]:
    """Arrow's scanner with its defaults: it reads ahead, and decodes columns in threads."""
    from pyarrow import dataset

    scanner = dataset.dataset([str(file) for file in files]).scanner(columns=[*NAMES, LABEL], batch_size=BATCH)
    for batch in scanner.to_batches():
        yield [batch[name].to_numpy() for name in NAMES], batch[LABEL].to_numpy()


def polars_batches(files: list[Path]) -> Iterator[tuple[list[np.ndarray], np.ndarray]]:
    """Polars' streaming engine with its defaults."""
    import polars

    for frame in polars.scan_parquet(files).collect_batches(chunk_size=BATCH):
        yield [frame[name].to_numpy() for name in NAMES], frame[LABEL].to_numpy()


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
