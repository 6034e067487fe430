"""What it costs to bring records into canonical form, by container: CPU seconds of a fit, and of the conversion alone.

python benchmarks/containers.py [--before SRC]

With ``--before`` the same fits are timed with another copy of the package (its ``src`` folder), in turns within one
run, and the ratio of the smallest times is shown.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from markdown import table
from scipy import sparse

OWN = Path(__file__).resolve().parent.parent / "src"
DENSE, THIN, DENSITY = (100_000, 50), (100_000, 1000), 0.01
FITTED = {"dense float64": 5, "dense float32": 5, "CSR": 1}
"""Containers whose fits are timed, and how often in one turn; with a thousand columns a fit takes half a minute."""


def containers() -> dict[str, Any]:
    """The same numbers in several containers: dense ones, and sparse ones of another table."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=DENSE)
    csr = sparse.random_array(THIN, density=DENSITY, rng=rng, format="csr")
    coo = csr.tocoo()
    order = rng.permutation(coo.nnz)
    shuffled = sparse.coo_array((coo.data[order], (coo.row[order], coo.col[order])), shape=THIN)
    return {
        "dense float64": X, "dense float32": X.astype(np.float32), "dense int64": np.rint(X).astype(np.int64),
        "dense Fortran order": np.asfortranarray(X), "CSR": csr, "CSR float32": csr.astype(np.float32),
        "CSC": csr.tocsc(), "COO unsorted": shuffled,
    }  # fmt: skip


def least(rounds: int, task: Callable[[], object]) -> float:
    """CPU seconds of the fastest of several rounds."""
    seconds = []
    for _ in range(rounds):
        start = time.process_time()
        task()
        seconds.append(time.process_time() - start)
    return min(seconds)


def fits() -> dict[str, float]:
    """CPU seconds of a seeded fit for each container, in this process."""
    from tacit import LogisticRegression

    found, forms = {}, containers()
    for name, rounds in FITTED.items():
        X = forms[name]
        y = np.random.default_rng(1).integers(0, 2, X.shape[0])
        model = LogisticRegression(classes=[0, 1], random_state=0)
        found[name] = least(rounds, lambda model=model, X=X, y=y: model.fit(X, y))
    return found


def timed(source: Path) -> dict[str, float]:
    """:func:`fits` with the package of this folder, in a process of its own."""
    environment = {**os.environ, "PYTHONPATH": str(source)}
    done = subprocess.run([sys.executable, __file__, "--fits"], env=environment, check=True, stdout=subprocess.PIPE)
    return json.loads(done.stdout)


def conversions() -> str:
    """A table: seconds from the container to clipped rows, and the memory that they take beside it."""
    from tacit.data.rows import Design

    rows = []
    for name, X in containers().items():
        design = Design(X, 1.0)
        matrix, given = design.matrix, X.data if sparse.issparse(X) else X
        shared = np.shares_memory(matrix.data if sparse.issparse(matrix) else matrix, given)
        rows.append([name, f"{least(3, lambda X=X: Design(X, 1.0)):.3f}", "shared" if shared else "a copy"])
    return table(("container", "CPU seconds to clipped rows", "memory"), rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, help="src folder of another copy of the package")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--fits", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.fits:
        print(json.dumps(fits()))
        return
    print(conversions(), end="\n\n", flush=True)
    sources = [OWN] if options.before is None else [OWN, options.before]
    runs: dict[Path, list[dict[str, float]]] = {source: [] for source in sources}
    for turn in range(options.turns):
        for source in sources if turn % 2 else reversed(sources):
            runs[source].append(timed(source))
    rows = []
    for name in FITTED:
        times = [min(run[name] for run in runs[source]) for source in sources]
        rows.append(
            [name, *(f"{seconds:.3f}" for seconds in times), *([f"{times[0] / times[-1]:.3f}"] * (len(times) > 1))]
        )
    print(table(("container", "CPU seconds of a fit", *(["before", "ratio"] * (len(sources) > 1))), rows))


if __name__ == "__main__":
    main()
