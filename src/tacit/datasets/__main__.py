"""``python -m tacit.datasets``: which public data sets are here; and fetch, or make, those that are not."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from tacit import datasets
from tacit.checks import check


def main(words: Sequence[str] | None = None) -> int:
    """0 when every set that was asked for is here; 1 when one could not be had, 2 when the names are wrong."""
    parser = argparse.ArgumentParser(prog="python -m tacit.datasets", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help="data sets to fetch; none: say which are here")
    parser.add_argument("--all", action="store_true", help="all of them")
    options = parser.parse_args(words)
    names = datasets.names() if options.all else options.names
    try:
        unknown = sorted(set(names) - set(datasets.names()))
        check(not unknown, f"Unknown data sets {unknown}; expected some of {list(datasets.names())}.")
    except ValueError as error:
        print(f"tacit.datasets: {error}", file=sys.stderr)
        return 2
    if not names:
        for name in datasets.names():
            print(f"{name:<18} {'here' if datasets.stored(name) else 'not here'}")
        return 0
    failures = [name for name in names if _failed(name)]
    return int(bool(failures))


def _failed(name: str) -> bool:
    """Have one set here, and say where it is or why it is not."""
    try:
        places = datasets.fetch(name)
    except (OSError, ValueError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return True
    for place in places:
        print(f"{name}: {place}")
    if not places:
        print(f"{name}: ships with scikit-learn")
    return False


if __name__ == "__main__":
    sys.exit(main())
