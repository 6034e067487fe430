"""Benchmarks: accuracy, regression, time, memory, noise, classes, smoothing.

Tables on stdout, rows in bench-<part>.json.

python benchmarks/run.py --only accuracy,time --seeds 3 --quick
"""

import argparse
import functools
import json
import os
import platform
import time
from pathlib import Path

import accuracy
import memory
import multiclass
import noise
import numpy
import regression
import scipy
import sklearn
import smoothing
import speed
from pool import progress

PARTS = {
    "accuracy": accuracy.run,
    "regression": regression.run,
    "time": speed.run,
    "memory": memory.run,
    "noise": noise.run,
    "multiclass": multiclass.run,
    "smoothing": smoothing.run,
}


def main() -> None:
    """Run the parts in turn, so that none disturbs the time or memory of another."""
    parser = argparse.ArgumentParser(
        description="Accuracy, time and memory of Tacit's private linear models, beside peers."
    )
    parser.add_argument("--only", default=",".join(PARTS), help="parts to run, with commas (default: all)")
    parser.add_argument("--seeds", type=int, default=10, help="fits for each mean (default: 10)")
    parser.add_argument("--quick", action="store_true", help="fewer data sets and budgets, smaller matrices, 2 seeds")
    parser.add_argument(
        "--workers", type=int, default=os.cpu_count(), help="processes for accuracies (default: all cores)"
    )
    parser.add_argument("--threads", type=int, help="threads of linear algebra in part time (default: the machine's)")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the rows (default: here)")
    given = parser.parse_args()
    unknown = [part for part in given.only.split(",") if part not in PARTS]
    if unknown or given.seeds < 1:
        parser.error(f"expected parts of {', '.join(PARTS)} and at least one seed")
    seeds = min(given.seeds, 2) if given.quick else given.seeds
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (numpy, scipy, sklearn))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    print(f"# Tacit's benchmarks\n\n{machine}; {seeds} seeds.", flush=True)
    for part in given.only.split(","):
        start = time.perf_counter()
        function = functools.partial(PARTS[part], threads=given.threads) if part == "time" else PARTS[part]
        rows, text = function(seeds, given.quick, given.workers)
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / f"bench-{part}.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        print(f"\n## {part}\n\n{text}", flush=True)
        progress(f"{part} took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
