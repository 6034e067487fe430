"""Throughput of perturbing a table against the bare generator, single submissions, and the database's memory.

    python benchmarks/input.py [--rows 2097152]

Ratios are of one run on one machine. The generator is the operating system's; the count of normals is the same. A
single submission is a transaction on a file, beside one that writes a row and nothing else.
"""

import argparse
import resource
import sqlite3
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from tacit.mechanisms.input import BLOCK
from tacit.privacy.noise import SystemSource, gaussian
from tacit.protocol import Database, Protocol
from tacit.schema import Target

COLUMNS = 13


def protocol(cohort, columns=COLUMNS):
    return Protocol.create(
        epsilon=1.0, delta=0.01, cohort=cohort, columns=columns, target=Target("y", lower=-1, upper=1), intercept=False
    )


def throughput(rows):
    """Rows a second of perturb and of the bare generator, alternating blocks so that both meet the same machine."""
    made, source = protocol(rows), SystemSource()
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-0.2, 0.2, size=(rows, COLUMNS)), rng.uniform(-1, 1, size=rows)
    spent = {"perturb": 0.0, "generator": 0.0}
    step = 16 * BLOCK
    for start in range(0, rows, step):
        part = slice(start, min(start + step, rows))
        count = part.stop - part.start
        began = time.perf_counter()
        made.perturb_table(X[part], y[part], source=source)
        spent["perturb"] += time.perf_counter() - began
        began = time.perf_counter()
        for first in range(0, count, BLOCK):
            gaussian(source, (min(BLOCK, count - first), 2 * COLUMNS))
        spent["generator"] += time.perf_counter() - began
    return rows / spent["perturb"], rows / spent["generator"]


def single(columns, count=50):
    """Milliseconds of one submission, of a bare transaction, both the least of some, and of training on 2,000."""
    made, rng = protocol(2000, columns), np.random.default_rng(0)
    table = made.perturb_table(rng.uniform(-0.01, 0.01, size=(2000, columns)), rng.uniform(-1, 1, size=2000))
    with tempfile.TemporaryDirectory() as folder, Database(made, Path(folder) / "base.sqlite") as base:
        bare = sqlite3.connect(Path(folder) / "bare.sqlite", isolation_level=None)
        bare.executescript("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE one (number INTEGER);")
        spent = {"submission": [], "transaction": []}
        for one in table.take(slice(0, count)).each():
            began = time.perf_counter()
            base.add(one)
            spent["submission"].append(time.perf_counter() - began)
            began = time.perf_counter()
            bare.execute("INSERT INTO one VALUES (1)")
            spent["transaction"].append(time.perf_counter() - began)
        bare.close()
        base.add(table.take(slice(count, None)))
        began = time.perf_counter()
        base.train()
        training = time.perf_counter() - began
    return 1e3 * min(spent["submission"]), 1e3 * min(spent["transaction"]), 1e3 * training


def memory(rows):
    """Peak memory, in MiB, of a process that collects this many submissions into a file."""
    made = protocol(2_000_000)
    with tempfile.TemporaryDirectory() as folder, Database(made, Path(folder) / "base.sqlite") as base:
        X, y = np.zeros((8192, COLUMNS)), np.zeros(8192)
        for start in range(0, rows, 8192):
            part = made.perturb_table(X, y)
            base.add(part.take(slice(0, min(8192, rows - start))))
        assert len(base) == rows
        base.train()
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_097_152)
    parser.add_argument("--memory", type=int)
    options = parser.parse_args()
    if options.memory:
        print(f"{memory(options.memory):.1f}")
        sys.exit()
    ours, bare = throughput(options.rows)
    print(f"{options.rows:,} rows: perturb {ours:,.0f} a second, generator {bare:,.0f}, ratio {ours / bare:.2f}")
    for columns in (14, 100, 400):
        one, bare, trained = single(columns)
        print(f"{columns} columns: one submission {one:.2f} ms ({bare:.2f} bare), training on 2,000 {trained:.0f} ms")
    for rows in (10_000, 2_000_000):
        found = subprocess.run(
            [sys.executable, __file__, "--memory", str(rows)], check=True, capture_output=True, text=True
        )
        print(f"database of {rows:,}: peak {found.stdout.strip()} MiB")
