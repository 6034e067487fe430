"""Seconds and memory of parts of a training step, as multiples of a step of the same size, and how they grow.

Seconds are processor time, the median of several calls in turn. Memory is the largest amount that a call holds beyond
what was there before: what NumPy says to ``tracemalloc``, or, where it is more (FFTs have buffers of their own) and
Linux tells it, the growth of the process's resident memory.
"""

from __future__ import annotations

import contextlib
import math
import statistics
import time
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy import stats

from papers.engine.figure import Panel, Point, Settings, Size, TextTable, panels

CALLS, FEWEST, LONG = 7, 3, 1.0
"""Calls timed: seven, or at least three where they take a second together."""
BLOCK = 10_000
"""Columns of a design that are held; a wider one repeats them, so that a batch of a million parameters fits."""
LEAST = 1_000
"""Below so many parameters the calls themselves are most of the time: exponents start here."""
FEW, LARGEST = 300, 2_000
"""m of the smallest and the largest matrix in an exponent: m x m numbers and the time of an inverse set the limit."""
SIZES = (100, 300, 500, 1_000, 2_000, 10_000, 30_000, 100_000, 300_000, 1_000_000)
STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
RESIDENT = 4 * 2**20
"""Growth of resident memory below this is the allocator's own."""


@dataclass(frozen=True)
class Power:
    """``value ~ m^slope`` with a 95% confidence interval (Student's t of the least-squares line of logarithms)."""

    slope: float
    low: float
    high: float

    def __str__(self) -> str:
        if math.isnan(self.slope):
            return "not measured"
        return f"m^{self.slope:.2f} ({self.low:.2f} to {self.high:.2f})"

    def near(self, wanted: float, within: float = 0.25) -> bool | None:
        """Is the exponent what is said, interval and all; None where the interval straddles the edge, or is absent."""
        if wanted - within <= self.low and self.high <= wanted + within:
            return True
        return False if self.high < wanted - within or self.low > wanted + within else None


@dataclass(frozen=True)
class Design:
    """``rows`` x ``size`` numbers, of which at most ``BLOCK`` columns are held."""

    block: np.ndarray
    size: int

    @classmethod
    def of(cls, rows: int, size: int, seed: int) -> Design:
        """Rows of norm 1."""
        block = np.random.default_rng(seed).standard_normal((rows, min(size, BLOCK)))
        repeats = math.ceil(size / block.shape[1])
        return cls(block / np.linalg.norm(block, axis=1, keepdims=True) / math.sqrt(repeats), size)

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """``X w``."""
        wide = self.block.shape[1]
        parts = (weights[at : at + wide] for at in range(0, self.size, wide))
        return np.asarray(sum(self.block[:, : len(part)] @ part for part in parts))

    def sums(self, slopes: np.ndarray) -> np.ndarray:
        """``X^T s``."""
        wide, found = self.block.shape[1], np.empty(self.size)
        for at in range(0, self.size, wide):  # the same numbers, but each multiplied as if they were others
            part = found[at : at + wide]
            np.matmul(slopes, self.block[:, : len(part)], out=part)
        return found


def cells(size: Size) -> list[Settings]:
    """Every m, in runs of their own; quick: up to 10,000."""
    sizes = [m for m in SIZES if m <= 10_000 or not size.quick]
    return [{"m": m, "run": run} for m in sizes for run in range(size.pick(3, 1))]


def cost(m: int, calls: Mapping[str, Callable[[], object]], kept: Mapping[str, float]) -> list[Point]:
    """Seconds and bytes of each call; all take turns, so that a slow moment of the machine meets them all.

    ``kept`` counts the numbers that a part holds all the time, and that its calls therefore do not add.
    """
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()  # caches and libraries are warm
    for _ in range(CALLS):
        for name, call in calls.items():
            if len(times[name]) < FEWEST or sum(times[name]) < LONG:
                times[name].append(_seconds(call))
    held = {name: _held(call) + 8 * kept.get(name, 0) for name, call in calls.items()}
    return [
        {"what": name, "status": None, "seconds": statistics.median(times[name]), "bytes": held[name],
         "vectors": held[name] / (8 * m)}
        for name in calls
    ]  # fmt: skip


def power(points: Sequence[Point], what: str, y: str = "seconds", least: int = LEAST) -> Power:
    """How a cost grows with m, from the points with m of at least ``least``; NaN for fewer than three sizes."""
    mine = [p for p in points if p["what"] == what and p["m"] >= least and p[y]]
    if len({p["m"] for p in mine}) < 3:
        return Power(math.nan, math.nan, math.nan)
    x, z = np.log([[p["m"], p[y]] for p in mine]).T
    line = stats.linregress(x, z)
    half = float(stats.t.ppf(0.975, len(mine) - 2) * line.stderr)
    return Power(float(line.slope), float(line.slope) - half, float(line.slope) + half)


def shares(points: Sequence[Point], what: str, unit: str, y: str = "seconds", least: int = LEAST) -> dict[int, float]:
    """Cost over that of ``unit``: medians over runs of the ratio in the same run, by m."""
    found: dict[int, list[float]] = {}
    for p in points:
        if p["what"] == what and p["m"] >= least:
            others = [q[y] for q in points if q["what"] == unit and (q["m"], q["run"]) == (p["m"], p["run"])]
            if others:
                found.setdefault(p["m"], []).append(p[y] / others[0])
    return {m: statistics.median(values) for m, values in sorted(found.items())}


def span(values: Mapping[int, float]) -> str:
    """The smallest and the largest share."""
    return f"{min(values.values()):.2g} to {max(values.values()):.2g}" if values else "an unmeasured number of"


def show(points: Sequence[Point], unit: str) -> list[Panel | TextTable]:
    """Seconds and memory over m, and a table: shares of one unit at every m, with exponents."""
    whats, sizes = list(dict.fromkeys(p["what"] for p in points)), sorted({p["m"] for p in points})
    drawn: list[Panel | TextTable] = [
        *panels(points, x="m", y="seconds", line="what", x_scale="log", y_scale="log", y_name="processor seconds"),
        *panels(points, x="m", y="vectors", line="what", x_scale="log", y_scale="log",
                y_name="memory held, in vectors of m numbers"),
    ]  # fmt: skip
    for y, words in (("seconds", f"Seconds over those of: {unit}"), ("vectors", "Memory in vectors of m numbers")):
        rows = []
        for what in whats:
            if y == "seconds":
                values = shares(points, what, unit, least=0)
            else:
                values = {m: statistics.median(p[y] for p in points if p["what"] == what and p["m"] == m)
                          for m in sizes if any(p["what"] == what and p["m"] == m for p in points)}  # fmt: skip
            most = max(p["m"] for p in points if p["what"] == what)
            grows = power(points, what, "seconds" if y == "seconds" else "bytes", LEAST if most == sizes[-1] else FEW)
            cells = (f"{values[m]:.2g}" if m in values else "" for m in sizes)
            rows.append((what, *cells, str(grows)))
        drawn.append(TextTable(words, ("part", *(f"m = {m:,}" for m in sizes), "grows as"), tuple(rows)))
    return drawn


def _seconds(call: Callable[[], object]) -> float:
    """Of as many calls as take two milliseconds: the clock of the processor is coarse."""
    repeats = 1
    while True:
        start = time.process_time()
        for _ in range(repeats):
            call()
        passed = time.process_time() - start
        if passed > 2e-3:
            return passed / repeats
        repeats *= 4


def _held(call: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        before = tracemalloc.get_traced_memory()[0]
        call()
        traced = tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()
    grown = 0
    with contextlib.suppress(OSError):  # not Linux, or not allowed: what was traced stands
        CLEAR.write_text("5", encoding="ascii")  # the peak starts anew
        before = _resident("VmRSS")
        call()
        grown = _resident("VmHWM") - before
    return max(traced, grown if grown > RESIDENT else 0)


def _resident(name: str) -> int:
    (line,) = (line for line in STATUS.read_text(encoding="ascii").splitlines() if line.startswith(name))
    return 1024 * int(line.split()[1])
