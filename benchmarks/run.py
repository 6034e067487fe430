"""Benchmarks: accuracy beside peers, every method, regression, time, memory, noise, classes, smoothing.

Tables on stdout, rows in bench-<part>.json. Part accuracy takes up where it was stopped: rows that are there, and were
made by the same code, are not measured again.

python benchmarks/run.py --only accuracy,time --seeds 3 --quick
python benchmarks/run.py --only accuracy --data adult --model linear,DP-EBM
"""

import argparse
import json
import os
import platform
import time
from pathlib import Path

import accuracy
import memory
import methods
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
    "methods": methods.run,
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
    parser.add_argument("--data", default="", help="data sets of part accuracy, with commas (default: all)")
    parser.add_argument("--model", default="", help="models of part accuracy, with commas (default: all)")
    parser.add_argument("--out", type=Path, default=Path(), help="folder for the rows (default: here)")
    given = parser.parse_args()
    data, models = (list(filter(None, names.split(","))) for names in (given.data, given.model))
    for names, known in ((given.only.split(","), PARTS), (data, accuracy.TASKS), (models, accuracy.MODELS)):
        if not set(names) <= set(known):
            parser.error(f"expected names of {', '.join(known)}")
    if given.seeds < 1:
        parser.error("expected at least one seed")
    settings = {
        "time": {"threads": given.threads},
        "accuracy": {"store": given.out / "bench-accuracy.json", "data": data, "models": models},
    }
    seeds = min(given.seeds, 2) if given.quick else given.seeds
    versions = ", ".join(f"{module.__name__} {module.__version__}" for module in (numpy, scipy, sklearn))
    machine = f"{os.cpu_count()} cores, Python {platform.python_version()}, {versions}"
    print(f"# Tacit's benchmarks\n\n{machine}; {seeds} seeds.", flush=True)
    for part in given.only.split(","):
        start = time.perf_counter()
        rows, text = PARTS[part](seeds, given.quick, given.workers, **settings.get(part, {}))
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / f"bench-{part}.json").write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
        print(f"\n## {part}\n\n{text}", flush=True)
        progress(f"{part} took {time.perf_counter() - start:.0f} s")


if __name__ == "__main__":
    main()
