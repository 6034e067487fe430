"""Reading and encoding a CSV table against the readers of others, and memory over a Parquet file, in processes apart.

    python benchmarks/tables.py               # 10^6 x 15 CSV, 10^7 x 14 Parquet; made in a temporary folder
    python benchmarks/tables.py --rows 100000

CPU seconds, the least of several in one process with one thread: ratios on a machine that others use too. Memory is
resident memory, and what a pass adds to it.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from markdown import table
from memory import resident

NUMBERS = tuple(f"x{place}" for place in range(8))
WORDS = {"work": ("private", "state", "own", "none"), "sex": ("f", "m"), "school": tuple(f"s{k}" for k in range(16))}
REPEATS = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**6)
    parser.add_argument("--part", choices=("csv", "parquet"), help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.part:
        print(json.dumps({"csv": time_csv, "parquet": walk_parquet}[options.part](options.file)))
        return
    with tempfile.TemporaryDirectory() as folder:
        text, large = Path(folder) / "t.csv", Path(folder) / "t.parquet"
        make_csv(text, options.rows)
        seconds = apart("csv", text)
        base = seconds["polars read"]
        lines = [[name, f"{value:.2f}", f"{value / base:.2f}"] for name, value in seconds.items()]
        print(f"### {options.rows:,} x 15 CSV\n\n" + table(("what", "CPU s", "over polars"), lines))
        make_parquet(large, 10 * options.rows)
        marks = apart("parquet", large)
        print(f"\n### One pass over {10 * options.rows:,} x 14 Parquet, {large.stat().st_size / 1e6:.0f} MB\n")
        print(table(("after", "resident MB"), [[name, f"{value / 1e6:.0f}"] for name, value in marks.items()]))


def apart(part: str, file: Path) -> dict[str, float]:
    """A part in a process of its own, with one thread."""
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "POLARS_MAX_THREADS"), "1")
    command = [sys.executable, __file__, "--part", part, "--file", str(file)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True, env={**os.environ, **threads})
    return json.loads(done.stdout)


def make_csv(path: Path, rows: int) -> None:
    import polars as pl

    rng = np.random.default_rng(0)
    columns = {name: rng.normal(size=rows).round(4) for name in NUMBERS}
    columns |= {"age": rng.integers(17, 90, rows), "hours": rng.integers(1, 99, rows)}
    columns |= {"gain": rng.integers(0, 100_000, rows)}
    columns |= {name: rng.choice(words, rows) for name, words in WORDS.items()}
    pl.DataFrame(columns | {"label": rng.choice(["no", "yes"], rows)}).write_csv(path)


def make_parquet(path: Path, rows: int) -> None:
    import pyarrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    names = [f"x{place}" for place in range(14)]
    with parquet.ParquetWriter(path, pyarrow.schema([(name, pyarrow.float64()) for name in names])) as file:
        for start in range(0, rows, 10**6):
            size = min(10**6, rows - start)
            file.write_table(pyarrow.table({name: rng.normal(size=size) for name in names}))


def least(work) -> float:
    """CPU seconds of the fastest of several runs."""
    times = []
    for _ in range(REPEATS):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    return min(times)


def time_csv(path: str) -> dict[str, float]:
    import pandas as pd
    import polars as pl

    from tacit.data.tables import read_table
    from tacit.schema import Category, Number, Schema, Target
    from tacit.streams import open_source

    bounds = {**dict.fromkeys(NUMBERS, (-3, 3)), "age": (17, 90), "hours": (1, 99), "gain": (0, 99_999)}
    numbers = [Number(name, *between) for name, between in bounds.items()]
    schema = Schema((*numbers, *(Category(*entry) for entry in WORDS.items())), Target("label", ("no", "yes")))
    source = open_source(path)

    def stream() -> None:
        for piece in source.pieces:
            for batch in piece.tables():
                schema.encode(batch)
                schema.encode_target(batch)

    whole = read_table(path)
    return {
        "polars read": least(lambda: pl.read_csv(path)),
        "pandas read": least(lambda: pd.read_csv(path)),
        "open_source (counts rows)": least(lambda: open_source(path)),
        "read_table": least(lambda: read_table(path)),
        "read_table and encode": least(lambda: schema.encode(read_table(path))),
        "check_readable": least(lambda: schema.check_readable(whole)),
        "a streamed pass: read, encode, target": least(stream),
    }


def walk_parquet(path: str) -> dict[str, float]:
    from tacit.streams import open_source

    marks = {"start": float(resident("VmRSS"))}
    pieces = open_source(path).pieces
    for place, piece in enumerate(pieces):
        for batch in piece.tables():
            np.column_stack([np.asarray(column) for column in batch.values()])
        if place in (0, len(pieces) // 2, len(pieces) - 1):
            marks[f"piece {place + 1} of {len(pieces)}"] = float(resident("VmRSS"))
    return {**marks, "highest": float(resident("VmHWM"))}


if __name__ == "__main__":
    main()
