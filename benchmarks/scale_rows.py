"""Parquet files of any number of rows, made a block at a time: what the benchmarks of scale read."""

from pathlib import Path

import numpy as np
import pyarrow
from pyarrow import parquet

FEATURES = 14
FILE, GROUP = 1_000_000, 100_000
"""Rows of a file, and of one of its row groups."""
NAMES = [f"x{place}" for place in range(FEATURES)]
LABEL = "y"


def write(folder: Path, rows: int, seed: int = 0) -> list[Path]:
    """Files of rows of about unit norm, a third of them longer; half of the columns float32; labels of 0 and 1."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=FEATURES) * 3
    kinds = [np.float32 if place % 2 else np.float64 for place in range(FEATURES)]
    fields = [(name, pyarrow.from_numpy_dtype(kind)) for name, kind in zip(NAMES, kinds, strict=True)]
    schema = pyarrow.schema([*fields, (LABEL, pyarrow.int8())])
    files = []
    for start in range(0, rows, FILE):
        files.append(folder / f"part-{start // FILE:05d}.parquet")
        with parquet.ParquetWriter(files[-1], schema, compression="none", use_dictionary=False) as writer:
            for first in range(start, min(start + FILE, rows), GROUP):
                size = min(GROUP, start + FILE - first, rows - first)
                X = rng.normal(0, 0.95 / np.sqrt(FEATURES), (size, FEATURES))
                y = rng.random(size) < 1 / (1 + np.exp(-X @ weights))
                columns = [X[:, place].astype(kind) for place, kind in enumerate(kinds)]
                writer.write_table(pyarrow.table([*columns, y.astype(np.int8)], schema=schema), row_group_size=GROUP)
    return files
