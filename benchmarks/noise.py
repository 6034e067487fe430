"""Speed of exact Gaussian noise on the grid, as a ratio to NumPy's generator: same run, interleaved, medians.

``release``: values with noise, as every mechanism gives them out, against ``values + scale * standard_normal``.
"""

import statistics
import time

import numpy as np
from markdown import table

from tacit.privacy.noise import SeededSource, SystemSource, add_gaussian, gaussian_steps, grid, sphere_steps

SCALE = 1.37


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
    return rows, "### Exact noise\n\n" + table(heads, lines)


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
    times: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(repeats):
        for name, draw in ways.items():
            again = max(1, 20_000 // size)
            start = time.perf_counter()
            for _ in range(again):
                draw()
            times[name].append((time.perf_counter() - start) / again / size * 1e9)
    return {"draws": size, **{name: statistics.median(each) for name, each in times.items()}}
