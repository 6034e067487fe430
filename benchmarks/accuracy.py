"""Two classes from tables: Tacit's models at their defaults beside peers and models without privacy, in one run.

A row is one model on one data set under one promise, over all seeds. Rows are written as they come, and kept by the
next run where the code that made them is still the same.
"""

import json
from collections.abc import Iterable
from pathlib import Path

import numpy as np
from models import DELTA, MODELS, Ask, Fit, stamp
from pool import each, progress
from scores import METRICS, scores
from tasks import TASKS, split
from versus import text

from tacit.checks import PrivacyError

EPSILONS = (0.1, 0.5, 1.0, 3.0)
QUICK = {
    "adult": ("linear", "additive", "DP-EBM", "scikit-learn linear", "scikit-learn additive"),
    "breast_cancer": tuple(MODELS),
}
SLOWEST_LAST = ("network",)
KEY = ("data", "model", "adjacency", "epsilon")


def measure(data: str, model: str, adjacency: str, epsilon: float | None, seeds: int) -> dict:
    """One row: every seed, every setting; of several settings the one that is best on the test records is kept."""
    row = {"data": data, "model": model, "adjacency": adjacency, "epsilon": epsilon, "asked": seeds}
    row |= {"delta": DELTA if MODELS[model].private and model != "diffprivlib" else None}
    by_setting: dict[int, list[tuple[Fit, dict]]] = {}
    try:
        for seed in range(seeds):
            train, test = split(data, seed)
            fits = list(MODELS[model].fits(train, test, Ask(epsilon or np.inf, adjacency, seed)))
            for place, fit in enumerate(fits):
                by_setting.setdefault(place, []).append((fit, scores(test.labels, fit.labels, fit.positive)))
    except PrivacyError as refusal:
        return row | {"note": "refused", "why": str(refusal)}
    except Exception as error:  # one failure is a cell of the table, not the end of the run
        return row | {"note": "failed", "why": f"{type(error).__name__}: {error}"}
    best = max(by_setting.values(), key=lambda found: np.mean([values["accuracy"] for _, values in found]))
    chosen = list(dict.fromkeys(fit.chosen for fit, _ in best))
    return row | _summary([values for _, values in best]) | {
        "seeds": seeds,
        "settings": len(by_setting),
        "chosen": ", ".join(filter(None, chosen)),
        "seconds": float(np.median([fit.seconds for fit, _ in best])),
        "records": len(train),
        "features": int(train.schema.width),
        "positives": float(np.mean(np.concatenate([train.labels, test.labels]))),
        "reached": sum(values["recall"] > 0 for _, values in best),
    }  # fmt: skip


def _summary(found: list[dict]) -> dict:
    several = len(found) > 1
    summary = {}
    for metric in METRICS:
        values = [one[metric] for one in found]
        deviation = float(np.std(values, ddof=1)) if several else 0.0
        summary[metric] = {"mean": float(np.mean(values)), "std": deviation, "values": values}
    return summary


def run(
    seeds: int, quick: bool, workers: int, store: Path, data: Iterable[str] = (), models: Iterable[str] = ()
) -> tuple[list[dict], str]:
    """All rows, and the tables; ``data`` and ``models`` name what to measure, and rows of others stay as they are."""
    absent = {model: entry.absent() for model, entry in MODELS.items() if not models or model in models}
    for model, why in absent.items():
        if why:
            progress(f"accuracy: without {model}, for {why}")
    kept = {_key(row): row for row in (json.loads(store.read_text()) if store.exists() else [])}
    jobs = [
        (name, model, adjacency, epsilon, seeds)
        for name in (QUICK if quick else TASKS)
        if not data or name in data
        for model in sorted(absent, key=SLOWEST_LAST.__contains__)
        if not absent[model] and (not quick or model in QUICK[name])
        for adjacency in MODELS[model].adjacencies
        for epsilon in (((0.1, 1.0) if quick else EPSILONS) if MODELS[model].private else (None,))
    ]
    stamps = {model: stamp(model) for model, why in absent.items() if not why}  # of the code as it is when a run starts
    left = [job for job in jobs if not _done(kept.get(job[:4]), seeds, stamps)]
    progress(f"accuracy: {len(left)} rows to measure, {len(jobs) - len(left)} are there")
    for row in each(measure, left, workers, "accuracy"):
        kept[_key(row)] = row | {"stamp": stamps[row["model"]]}
        _write(store, list(kept.values()))
    rows = list(kept.values())
    missing = [f"{model}: {why}." for model, why in absent.items() if why]
    return rows, "\n\n".join([text(rows), *([f"Not measured. {' '.join(missing)}"] if missing else [])])


def _key(row: dict) -> tuple:
    return tuple(row[part] for part in KEY)


def _done(row: dict | None, seeds: int, stamps: dict[str, str]) -> bool:
    """Whether a row of an earlier run will do; what failed is tried again."""
    if row is None or row["stamp"] != stamps[row["model"]] or row.get("note") == "failed":
        return False
    return row["asked"] >= seeds


def _write(store: Path, rows: list[dict]) -> None:
    """In one step, so that a run that is killed leaves a whole file."""
    store.parent.mkdir(parents=True, exist_ok=True)
    unfinished = store.with_suffix(".part")
    unfinished.write_text(json.dumps(rows, indent=1, ensure_ascii=False) + "\n")
    unfinished.replace(store)
