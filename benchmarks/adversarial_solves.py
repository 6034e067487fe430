"""Ten thousand problems made to be hard to solve: every one must end certified, none may end at zero out of need.

python benchmarks/adversarial_solves.py --cases 10000 --first 0 --proven 40

The first table is of the solver as it is used, the second of accelerated descent alone, from zero, on the small ones:
its passes beside the bound that is proven for them. Norms are checked again in extended precision. Exit status 1 when
one fails.
"""

import argparse
import sys
import time
from pathlib import Path

import numpy as np
from markdown import table

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from adversarial import case, exact_norm

from tacit.linear.solvers.accelerated import Accelerated, passes_bound
from tacit.linear.solvers.centre import Centre
from tacit.linear.solvers.certain import solve

SMALL = 400
"""Rows of the problems that accelerated descent gets alone, and how many passes it may need."""
MOST_PASSES = 3e6


def used(numbers: range) -> tuple[list[dict], list[str]]:
    """One row a problem, as the mechanisms solve it, and the failures."""
    rows, failures = [], []
    for number in numbers:
        hard = case(number)
        start = time.perf_counter()
        result = solve(hard.problem, hard.tau, hard.slack)
        seconds = time.perf_counter() - start
        limit, gap = hard.tau + hard.slack, float(np.linalg.norm(result.gaps))
        exact = float(exact_norm(hard.problem, result.weights))
        if not exact <= gap <= limit * (1 + 1e-12):
            failures.append(f"{hard.name}: exact {exact:.3g}, gap {gap:.3g}, limit {limit:.3g}")
        rows.append({
            "loss": hard.loss, "newton": result.newton, "searched": result.searched, "passes": result.passes,
            "gap": gap / limit, "exact": exact / limit, "seconds": seconds,
            "zero": not result.weights.any() and exact > limit,
        })  # fmt: skip
    return rows, failures


def alone(numbers: range, most: int) -> tuple[list[dict], list[str]]:
    """Accelerated descent from zero on small problems of one model, passes against their bound."""
    rows, failures = [], []
    for number in numbers:
        hard = case(number)
        problem, limit = hard.problem, hard.tau + hard.slack
        if len(rows) == most:
            break
        models = 1 if problem.loss.coupled else problem.outputs
        if models > 1 or problem.records.count > SMALL:
            continue
        centre = Centre(problem, problem.start())
        condition = centre.largest_curvature() / problem.strength
        bound = passes_bound(problem.facts, condition, float(np.linalg.norm(centre.gradient)) / (0.9 * hard.tau))
        if bound > MOST_PASSES:
            continue
        solution = Accelerated(limit).solve(problem, problem.start())
        exact = float(exact_norm(problem, solution.weights))
        if not (exact <= solution.gap <= limit and solution.steps <= bound):
            failures.append(f"alone {hard.name}: exact {exact:.3g}, gap {solution.gap:.3g}, limit {limit:.3g}")
        rows.append({
            "loss": hard.loss, "condition": condition, "passes": solution.steps, "bound": bound,
            "exact": exact / limit,
        })  # fmt: skip
    return rows, failures


def main() -> int:
    """Both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--proven", type=int, default=40)
    options = parser.parse_args()
    numbers = range(options.first, options.first + options.cases)
    rows, failures = used(numbers)
    lines = []
    for loss in [*sorted({row["loss"] for row in rows}), "all"]:
        part = [row for row in rows if loss in ("all", row["loss"])]
        worst = {name: max(row[name] for row in part) for name in part[0] if name != "loss"}
        shares = [f"{100 * sum(row[name] > 0 for row in part) / len(part):.2f} %" for name in ("searched", "passes")]
        lines.append([
            loss, str(len(part)), *shares, *(str(worst[name]) for name in ("newton", "searched", "passes")),
            f"{worst['gap']:.3f}", f"{worst['exact']:.3f}", str(sum(row["zero"] for row in part)),
            f"{sum(row['seconds'] for row in part):.0f}", f"{worst['seconds']:.1f}",
        ])  # fmt: skip
    heads = (
        "loss", "problems", "past Newton", "past searched", "Newton steps", "searched steps", "passes", "gap/limit",
        "exact/limit", "zeros", "seconds", "slowest",
    )  # fmt: skip
    print(table(heads, lines), flush=True)
    rows, more = alone(numbers, options.proven)
    lines = []
    for loss in sorted({row["loss"] for row in rows}):
        part = [row for row in rows if row["loss"] == loss]
        lines.append([
            loss, str(len(part)), f"{max(row['condition'] for row in part):.1e}",
            str(max(row["passes"] for row in part)), f"{max(row['passes'] / row['bound'] for row in part):.3f}",
            f"{max(row['exact'] for row in part):.3f}",
        ])  # fmt: skip
    print(table(("loss", "alone", "largest condition", "most passes", "passes/bound", "exact/limit"), lines))
    print(*failures, *more, sep="\n")
    print(f"{len(failures) + len(more)} failures")
    return 1 if failures or more else 0


if __name__ == "__main__":
    sys.exit(main())
