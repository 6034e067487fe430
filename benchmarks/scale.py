"""Fits from Parquet files of 10^6 to 10^8 rows: memory, passes, and seconds a pass beside a bare scan of the files.

python benchmarks/scale.py --folder /data/scale --full

Every fit and every scan is a process of its own (:mod:`scale_worker`), one after the other, with two threads each. Bare
scans read with Arrow or polars, clip, and do the same products in NumPy. Seconds a pass are the median of a process's
passes; on a machine that is shared, those of the processor are the steadier. Files are removed after each size.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import time
from pathlib import Path

from markdown import table
from scale_rows import FEATURES, write

SIZES = (10**6, 10**7)
FULL = 10**8
KINDS = ("arrow", "polars", "tacit")
MODELS = ("linear", "logistic")
GOAL_RATIO, GOAL_BYTES, GOAL_FLAT = 1.4, 10**9, 1.1
THREADS = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "ARROW_NUM_THREADS": "2", "POLARS_MAX_THREADS": "2"}
"""Two that read; one in each product, all of which are so small that two would only wait for one another."""


def measured(kind: str, model: str, folder: Path) -> dict:
    """One process: seconds a pass, by the wall and of the processor, and its highest resident memory."""
    command = [sys.executable, str(Path(__file__).with_name("scale_worker.py")), kind, model, str(folder)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env=os.environ | THREADS)
    return json.loads(done.stdout)


def compared(rows: int, folder: Path) -> list[dict]:
    """All processes of one size; what Tacit does first is read from the disk's cache as what others do."""
    begin = time.perf_counter()
    files = write(folder, rows)
    size = sum(file.stat().st_size for file in files)
    print(f"{rows:,} rows: {size / 1e9:.2f} GB written in {time.perf_counter() - begin:.0f} s", file=sys.stderr)
    found = []
    for model in MODELS:
        for kind in KINDS:
            one = measured(kind, model, folder) | {"rows": rows, "bytes": size}
            one["wall"], one["cpu"] = (statistics.median(part) for part in zip(*one["passes"], strict=True))
            found.append(one)
            print(f"{rows:,} {model} {kind}: {one['wall']:.2f} s a pass", file=sys.stderr, flush=True)
    return found


def line(one: dict, others: list[dict]) -> list[str]:
    """One fit beside the bare scans of its files."""
    bare = {other["kind"]: other for other in others if (other["rows"], other["model"]) == (one["rows"], one["model"])}
    ratios = [f"{one[clock] / bare[kind][clock]:.2f}" for clock in ("wall", "cpu") for kind in KINDS[:2]]
    passes = 1 if one["model"] == "linear" else len(one["passes"])  # the linear fit is repeated
    total = sum(wall for wall, _ in one["passes"][:passes])
    return [
        f"{one['rows']:,}", f"{one['model']} ({one['note']})", str(passes), f"{total:.1f}",
        f"{one['wall']:.2f}", f"{one['cpu']:.2f}", *ratios, f"{one['peak'] / 1e6:.0f}",
    ]  # fmt: skip


def verdicts(fits: list[dict], bare: list[dict]) -> list[str]:
    """The goals, each with what was measured."""
    largest = max(one["rows"] for one in fits)
    peak = max(one["peak"] for one in fits if one["rows"] == largest)
    flat = max(
        max(one["peak"] for one in fits if one["model"] == model)
        / min(one["peak"] for one in fits if one["model"] == model)
        for model in MODELS
    )
    scans = {(other["kind"], other["model"]): other["wall"] for other in bare if other["rows"] == largest}
    last = [one for one in fits if one["rows"] == largest]
    pairs = [
        (f"peak memory at {largest:,} rows, MB", peak / 1e6, GOAL_BYTES / 1e6),
        ("most over least memory of a model", flat, GOAL_FLAT),
    ]
    for kind in KINDS[:2]:
        slowest = max(one["wall"] / scans[kind, one["model"]] for one in last)
        pairs.append((f"a pass over a bare scan by {kind} at {largest:,} rows", slowest, GOAL_RATIO))
    words = ("reached", "MISSED")
    return [f"{what}: {value:.2f} (goal {goal:g}: {words[value > goal]})" for what, value, goal in pairs]


def main() -> None:
    """All sizes, and one table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, required=True, help="where files are made, and removed after")
    parser.add_argument("--full", action="store_true", help="10^8 rows too: 9 GB of files")
    parser.add_argument("--rows", type=int, nargs="*", help="other numbers of rows")
    parser.add_argument("--out", type=Path, help="a file for the rows of the table, as JSON")
    given = parser.parse_args()
    sizes = given.rows or [*SIZES, *([FULL] if given.full else [])]
    found = []
    for rows in sizes:
        folder = given.folder / f"rows-{rows}"
        try:
            found += compared(rows, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if given.out:
            given.out.write_text(json.dumps(found, indent=1) + "\n")
    fits = [one for one in found if one["kind"] == "tacit"]
    bare = [one for one in found if one["kind"] != "tacit"]
    head = (
        "rows", "model", "passes", "fit s", "s a pass", "CPU s a pass", "over Arrow", "over polars", "CPU over Arrow",
        "CPU over polars", "peak MB",
    )  # fmt: skip
    print(f"### Fits from Parquet, {FEATURES} columns, {os.cpu_count()} cores\n")
    print(table(head, [line(one, bare) for one in fits]))
    heads = ("rows", "bare scan", "s a pass", "CPU s a pass", "peak MB")
    scans = [
        (one["rows"], f"{one['kind']}, {one['model']}", one["wall"], one["cpu"], one["peak"] / 1e6) for one in bare
    ]
    cells = [[f"{rows:,}", what, f"{wall:.2f}", f"{cpu:.2f}", f"{peak:.0f}"] for rows, what, wall, cpu, peak in scans]
    print("\n" + table(heads, cells) + "\n")
    print("\n".join(f"* {verdict}" for verdict in verdicts(fits, bare)))


if __name__ == "__main__":
    main()
