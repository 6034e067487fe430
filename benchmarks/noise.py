"""Speed of exact Gaussian noise on the grid, and of exact samples, over NumPy's: same run, interleaved, medians.

``release``: values with noise, as every mechanism gives them out, against ``values + scale * standard_normal``. Coins,
subsets and orders are the operating system's words; NumPy's ``random(n) < rate``, ``choice`` and ``permutation`` are
neither exact nor secret.
"""

import statistics
import time

import numpy as np
from markdown import table

from tacit.privacy.noise import (
    SeededSource,
    SystemSource,
    add_gaussian,
    choose,
    gaussian_steps,
    grid,
    permutation,
    sphere_steps,
    subset,
)

SCALE = 1.37
RATE, BATCH = 0.01, 256


def run(seeds: int, quick: bool, workers: int) -> tuple[list[dict], str]:
    """All rows, and the table."""
    del workers  # nothing runs beside a measurement
    rows = [
        _row(size, max(5, 3 * seeds)) for size in ((1 << 10, 1 << 20) if quick else (20, 1 << 10, 1 << 14, 1 << 20))
    ]
    names = ("NumPy", "seeded", "system", "release, seeded", "sphere, seeded")
    heads = ("draws", *(f"{name}, ns a draw" for name in names), "NumPy / seeded", "NumPy / system")
    lines = [
        [f"{row['draws']:,}", *(f"{row[name]:.1f}" if name in row else "" for name in names)]
        + [f"{row['NumPy'] / row[name]:.2f}" for name in ("seeded", "system")]
        for row in rows
    ]
    samples = [_samples(size, max(5, 3 * seeds)) for size in ((10_000,) if quick else (10_000, 1_000_000))]
    kinds = ("coins", "subset", "order")
    titles = ("records", *(f"{kind}, ms (over NumPy)" for kind in kinds))
    cells = [
        [f"{row['records']:,}", *(f"{row[kind]:.3f} ({row[kind] / row[f'NumPy {kind}']:.2f})" for kind in kinds)]
        for row in samples
    ]
    return [*rows, *samples], "### Exact noise\n\n" + table(heads, lines) + "\n\n" + table(titles, cells)


def _samples(size: int, repeats: int) -> dict:
    """Milliseconds of a Poisson sample at RATE, a subset of BATCH and an order of so many records."""
    generator, system = np.random.default_rng(1), SystemSource()
    ways = {
        "coins": lambda: choose(system, size, RATE),
        "NumPy coins": lambda: generator.random(size) < RATE,
        "subset": lambda: subset(system, size, BATCH),
        "NumPy subset": lambda: generator.choice(size, BATCH, replace=False),
        "order": lambda: permutation(system, size),
        "NumPy order": lambda: generator.permutation(size),
    }
    return {"records": size, **{name: 1e3 * spent for name, spent in _seconds(ways, repeats, 1).items()}}


def _seconds(ways: dict, repeats: int, again: int) -> dict[str, float]:
    """Median seconds of each way, in turn so that all meet the same machine."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, draw in ways.items():
            start = time.perf_counter()
            for _ in range(again):
                draw()
            times[name].append((time.perf_counter() - start) / again)
    return {name: statistics.median(each) for name, each in times.items()}


def _row(size: int, repeats: int) -> dict:
    generator, seeded, system = np.random.default_rng(1), SeededSource(1), SystemSource()
    step, values = grid(SCALE), np.ones(size)
    ways = {
        "NumPy": lambda: SCALE * generator.standard_normal(size),
        "seeded": lambda: gaussian_steps(seeded, (size,), SCALE, step),
        "system": lambda: gaussian_steps(system, (size,), SCALE, step),
        "release, seeded": lambda: add_gaussian(values, SCALE, seeded),
    }
    if size < 1 << 16:  # pure noise is for small models
        ways["sphere, seeded"] = lambda: sphere_steps(seeded, (size,), SCALE, step)
    spent = _seconds(ways, repeats, max(1, 20_000 // size))
    return {"draws": size, **{name: 1e9 * each / size for name, each in spent.items()}}
