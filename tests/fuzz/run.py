"""Fuzz the readers of files: ``python tests/fuzz/run.py 100000``. Prints what became of the mutations, and the slowest.

Exit code 1, with the mutation written to a file, when one of them was neither refused nor true.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.mutations import mutated, outcome
from fuzz.subjects import everything


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mutations", type=int, nargs="?", default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--keep", default="fuzz-failure", help="where to write a mutation that fails")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    rng, found, slowest, failures = random.Random(options.seed), Counter(), (0.0, ""), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        subjects = everything(folder)
        while found.total() + failures < options.mutations:
            subject = rng.choice(subjects)
            if subject.slow and rng.random() < 0.9:  # a price by a numerical accountant takes a hundred times longer
                continue
            raw, sealed = mutated(subject, rng)
            started = time.monotonic()
            try:
                found[f"{'resealed' if sealed else 'plain'}, {outcome(raw, folder / 'file', subject, sealed)}"] += 1
            except Exception:  # whatever it is: that is what is looked for
                failures += 1
                traceback.print_exc()
                Path(f"{options.keep}-{failures}").write_bytes(raw)
                print(f"FAILED: {subject.name}, written to {options.keep}-{failures}", file=sys.stderr)
            slowest = max(slowest, (time.monotonic() - started, subject.name))
    for label, count in sorted(found.items()):
        print(f"{label:22} {count:8,}")
    print(f"{'failed':22} {failures:8,}\nslowest: {slowest[0]:.2f} seconds ({slowest[1]})")
    return int(failures > 0)


if __name__ == "__main__":
    sys.exit(main())
