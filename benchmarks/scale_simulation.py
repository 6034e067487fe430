"""Seconds a pass on a cluster, on paper: workers that read and add up, and a driver that adds up what they send.

python benchmarks/scale_simulation.py --cpu 0.3 --disk 1e9 --network 1e9

A pass takes as long as the slowest of three: the workers' processors and disks, each with its share of the rows; the
driver's network and the adding of every piece's sums; and then one solve. Numbers are parameters, measured by
``benchmarks/scale.py`` or stated.
"""

import argparse
import math

from markdown import table

CELL = 8
"""Bytes of a number."""


def simulated(rows: float, workers: int, given: argparse.Namespace) -> dict[str, float]:
    """Seconds of each part of a pass that forms Hessians, and of the whole."""
    size = given.columns + 1
    pieces = math.ceil(rows / given.piece)
    sums = 2 * CELL * (size * size + size)  # high and low parts
    waves = math.ceil(pieces / (workers * given.cores))
    compute = waves * given.piece / 1e6 * given.cpu
    read = math.ceil(pieces / workers) * given.piece * given.columns * CELL / given.disk
    network = pieces * sums / given.network
    driver = pieces * (given.task + 4 * sums / CELL / 1e9)
    solve = given.latency + size**3 / 3 / 5e9
    whole = max(compute, read, network, driver) + solve
    return {"workers' CPU": compute, "workers' disks": read, "network": network, "driver": driver, "pass": whole}


def main() -> None:
    """A line a number of rows and workers."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--columns", type=int, default=14)
    parser.add_argument("--cpu", type=float, default=0.32, help="seconds of a core for 10^6 rows")
    parser.add_argument("--cores", type=int, default=2, help="of one worker")
    parser.add_argument("--disk", type=float, default=1e9, help="bytes a second that a worker reads")
    parser.add_argument("--network", type=float, default=1e9, help="bytes a second that the driver receives")
    parser.add_argument("--task", type=float, default=1e-3, help="seconds of the driver for a piece, whatever its size")
    parser.add_argument("--latency", type=float, default=0.05, help="seconds to start and end a pass")
    parser.add_argument("--piece", type=float, default=2.0**20, help="rows of a piece")
    given = parser.parse_args()
    lines = []
    for rows in (1e9, 1e11):
        for workers in (10, 1000):
            parts = simulated(rows, workers, given)
            limit = max((name for name in parts if name != "pass"), key=parts.__getitem__)
            cells = [f"{rows:.0e}", f"{workers:,}", *(f"{seconds:,.1f}" for seconds in parts.values()), limit]
            lines.append(cells)
    print(table(("rows", "workers", "workers' CPU s", "disks s", "network s", "driver s", "pass s", "limit"), lines))


if __name__ == "__main__":
    main()
