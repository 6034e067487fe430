"""Kept rows measured again with the code of now: ``python -m papers.pages.again --cells 100``.

Rows name the state of the code that made them, and code goes on. Cells are drawn at random from those that took a core
at most so many seconds, measured again, and compared with what is kept, number by number. Times and memory that a
figure measures differ every time, so figures of costs are left out; so are cells that a GPU trained, and those of
:mod:`papers.kang_2020b.walks`, whose choices and noise are those of the fits beside them.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

from papers.engine import workers
from papers.engine.figure import Size
from papers.engine.grid import Cell, grid
from papers.engine.progress import side_by_side
from papers.kang_2020b.walks import walk_cells
from papers.pages.kept import ROWS, all_papers, kept_points

TIMED = ("costs",)
"""Figures that measure seconds and bytes."""
ELSEWHERE = 1e-9
"""Relative differences up to this are those of another processor's arithmetic."""


def candidates(most: float) -> Iterator[tuple[Cell, list[dict[str, Any]]]]:
    """Cells with kept points that a core can measure again in so many seconds."""
    together = {cell.key for cell in walk_cells()}
    for paper in all_papers():
        for figure in paper.figures:
            table = ROWS / paper.name / f"{figure.name}.csv"
            if figure.name in TIMED or not table.exists():
                continue
            cells = {cell.key[:12]: cell for cell in grid(paper, figure, Size())}
            found = kept_points(table)
            shared = set(side_by_side([seconds for _, seconds, _ in found]))
            for key, seconds, points in found:
                cell = cells.get(key)
                if cell and seconds <= most and seconds not in shared and cell.key not in together:
                    yield cell, points


def same(kept: Any, now: Any) -> bool:
    """Equal values; numbers up to the last digits, and in a table nothing is written for an empty text."""
    if kept is None:
        return now is None or now == ""
    if isinstance(kept, float) and isinstance(now, (int, float)) and not isinstance(now, bool):
        return math.isclose(kept, now, rel_tol=ELSEWHERE, abs_tol=1e-12) or (math.isnan(kept) and math.isnan(now))
    if isinstance(kept, int) and isinstance(now, float):
        return same(float(kept), now)
    if isinstance(kept, list) and isinstance(now, list):
        return len(kept) == len(now) and all(map(same, kept, now))
    return bool(kept == now)


def differences(kept: Sequence[dict[str, Any]], now: Sequence[dict[str, Any]]) -> list[str]:
    """Names of what differs; a name that only one of them has counts where its value is not empty."""
    if len(kept) != len(now):
        return ["number of points"]
    found = []
    for before, after in zip(kept, now, strict=True):
        found += [name for name in {*before, *after} if not same(before.get(name), after.get(name))]
    return sorted(set(found))


def main(arguments: Sequence[str] | None = None) -> int:
    """0 when all are the same."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cells", type=int, default=60, help="how many; default: 60")
    parser.add_argument("--most", type=float, default=10.0, metavar="SECONDS", help="of one cell; default: 10")
    parser.add_argument("--workers", type=int, default=workers.cores())
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args(arguments)
    offered = list(candidates(options.most))
    drawn = random.Random(options.seed).sample(offered, min(options.cells, len(offered)))
    points, counts = {cell.key: kept for cell, kept in drawn}, Counter[str]()
    for outcome in workers.outcomes([cell for cell, _ in drawn], options.workers):
        now = None if outcome.points is None else json.loads(outcome.points)
        if now is None:
            print(f"Failed: {outcome.cell}: {outcome.error}", flush=True)
            counts["failed"] += 1
            continue
        merged = [{**outcome.cell.settings, **point} for point in now]
        found = differences(points[outcome.cell.key], merged)
        counts["different" if found else "the same"] += 1
        if found:
            print(f"Different in {', '.join(found)}: {outcome.cell}", flush=True)
    print(f"{counts['the same']} of {len(drawn)} cells are the same ({len(offered)} take at most {options.most:g} s).")
    return int(counts["the same"] < len(drawn))


if __name__ == "__main__":
    sys.exit(main())
