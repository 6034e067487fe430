"""Two workers of dask.distributed against one, and what a pass costs the driver.

    python benchmarks/dask_workers.py [--rows 10000000] [--folder DIR]

The ratio is that of the least times of several passes over the same Parquet files, in one run; a pass in this process,
without Dask, is measured beside it. Where others use the cores, the CPU time of the busiest worker says more.

The driver's costs are those of pieces that have nothing to read: what is left is Dask's own, for every piece and every
pass. The tree: how long it takes that sums of d x d numbers are merged on the workers, and the driver gets one, against
all of them coming to the driver.
"""

from __future__ import annotations

import argparse
import math
import shutil
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
import pyarrow
from distributed import Client, LocalCluster
from pyarrow import parquet

from tacit.data import tables
from tacit.linear.cluster import Cluster, Sent
from tacit.linear.losses import Logistic
from tacit.linear.parts import GradientHessian
from tacit.linear.streamed import Adding, Changed, Here, added_once, stream
from tacit.linear.whole import Pieces, Whole
from tacit.streams import open_source
from tacit.streams.frames import FramePiece
from tacit.streams.reader import NumberRows, Reader

FEATURES, GROUP, FILE = 14, 2**17, 2**20
ONE, TWO = "1 worker", "2 workers"
ENVIRONMENT = "distributed.nanny.pre-spawn-environ"
NAMES = tuple(f"x{place}" for place in range(FEATURES))


def write(folder: Path, rows: int) -> None:
    """Parquet files of standard normal columns and a label, a million rows each."""
    rng = np.random.default_rng(0)
    for first in range(0, rows, FILE):
        size = min(FILE, rows - first)
        X = rng.standard_normal((size, FEATURES), dtype=np.float32)
        table = pyarrow.table([*X.T, np.where(X[:, 0] > 0, 1.0, -1.0)], names=[*NAMES, "y"])
        parquet.write_table(table, folder / f"{first:012}.parquet", row_group_size=GROUP)


def targets(table: Any) -> Any:
    """The label."""
    return tables.numbers(table, ["y"])


def fastest(work: Callable[[], Any], times: int) -> float:
    """Least seconds of several runs."""
    found = math.inf
    for _ in range(times):
        start = time.perf_counter()
        work()
        found = min(found, time.perf_counter() - start)
    return found


@dataclass(frozen=True)
class Square:
    """A task that gives a sum of d x d numbers at once."""

    size: int

    def __call__(self, piece: Any, taken: Any) -> tuple[Whole, ...]:
        """Zeros."""
        return (Whole(np.zeros((1, self.size, self.size)), np.zeros((1, self.size, self.size)), (1.0,)),)


def part() -> GradientHessian:
    """A step of Newton's method for a logistic regression."""
    return GradientHessian(Logistic(), Pieces.of(np.full((FEATURES + 1, 1), 0.1)), 1.0, 2, 1)


def workers(count: int, *, keep: bool = True) -> LocalCluster:
    """A cluster of processes of one thread each; ``keep``: they keep memory that they will soon need again.

    Otherwise, by Dask's default, every array of more than 128 kB is given back to the system, and asked for anew.
    """
    own = {"MALLOC_TRIM_THRESHOLD_": ""} if keep else {}
    with dask.config.set({ENVIRONMENT: {**dask.config.get(ENVIRONMENT), **own}}):
        return LocalCluster(n_workers=count, threads_per_worker=1, dashboard_address=":0")


def reader() -> Reader:
    """The columns as they are."""
    return Reader(NumberRows(NAMES), targets, (*NAMES, "y"), FEATURES, 1.0, 0.5)


def busiest(client: Client, work: Callable[[], Any]) -> float:
    """CPU seconds, while this is done, of the worker that needed most."""
    before = client.run(time.process_time)
    work()
    return max(after - before[worker] for worker, after in client.run(time.process_time).items())


def compare(rows: int, folder: Path, times: int) -> None:
    """Passes over files: one worker, two, and this process."""
    source = open_source(str(folder / "*.parquet"))
    seconds = {"this process": fastest(partial(stream(source, reader(), Here()).add_up, part()), times)}
    busy = {}
    for name, count, keep in ((ONE, 1, True), (TWO, 2, True), ("1 worker as Dask starts it", 1, False)):
        with workers(count, keep=keep) as own, Client(own) as client:
            run = partial(stream(source, reader(), Cluster(client)).add_up, part())
            run()  # workers import what they need
            seconds[name] = fastest(run, times)
            busy[name] = min(busiest(client, run) for _ in range(times))
    print(f"{rows:,} rows x {FEATURES}, {len(source.pieces)} pieces; least seconds of {times} passes:")
    print("  " + ", ".join(f"{name}: {value:.2f}" for name, value in seconds.items()))
    print(f"  two workers: {seconds[ONE] / seconds[TWO]:.2f} times as fast as one")
    print("  CPU seconds of the busiest worker: " + ", ".join(f"{name}: {value:.2f}" for name, value in busy.items()))
    print(f"  by CPU time, as on cores that nobody else uses: {busy[ONE] / busy[TWO]:.2f} times")
    task = Adding(Changed(reader()), part())
    each = [len(Sent.of(place, piece, None).pickled) for place, piece in enumerate(source.pieces)]
    print(f"  sent in a pass: {len(Sent.of(task).pickled):,} bytes once, {max(each):,} for a piece", flush=True)


def driver(times: int) -> None:
    """What pieces and passes cost apart from reading."""
    with workers(2) as own, Client(own) as client:
        engine, task, costs = Cluster(client), Adding(Changed(reader()), part()), {}
        for count in (10, 100, 1000):
            pieces, none = [FramePiece({}, (), 0, f"piece {place}") for place in range(count)], [None] * count
            engine.add_up(task, pieces, none)
            start = time.process_time()
            seconds = fastest(partial(engine.add_up, task, pieces, none), times)
            costs[count] = (time.process_time() - start) / times
            print(f"  {count:>5} empty pieces: {seconds:.3f} s a pass, driver's CPU {costs[count]:.3f} s")
        print(f"  {1e3 * (costs[1000] - costs[100]) / 900:.2f} ms of CPU for each more piece", flush=True)
        pieces, none = pieces[:64], none[:64]
        for size in (14, 200, 1000):
            square = Square(size)
            tree = fastest(partial(engine.add_up, square, pieces, none), times)
            every = fastest(lambda square=square: added_once(engine.run(square, pieces, none), 64), times)
            print(f"  64 sums of {size} x {size}: merged on workers {tree:.3f} s, all to the driver {every:.3f} s")


def main() -> None:
    """Write, measure, remove."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--folder", type=Path, help="where files are written, and removed; default: a temporary one")
    parser.add_argument("--times", type=int, default=3)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="dask-workers-", dir=options.folder))
    try:
        write(folder, options.rows)
        compare(options.rows, folder, options.times)
        driver(options.times)
    finally:
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
