"""What exact sums cost: one pass of gradients and Hessians beside the same pass with products as BLAS adds them.

python benchmarks/exact_sums.py

The same rows on the grid, the same blocks, the same loss; one thread, the least of several, seconds of the processor.
"""

import argparse
from functools import partial

import numpy as np
from fit_times import least
from markdown import table
from threadpoolctl import threadpool_limits

from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem
from tacit.linear.records import Records

SHAPES = ((400_000, 14), (60_000, 100), (6_000, 1000))
GOAL = 1.3


def plain(problem: Problem, weights: np.ndarray, hessian: bool) -> None:
    """The sums of a pass, block by block, in doubles."""
    size = len(weights)
    gradient, curvature = np.zeros((size, 1)), np.zeros((size, size))
    for block in problem.records.blocks():
        z = block.rows @ weights
        gradient += block.rows.T @ problem.loss.slope(z, block.targets)
        if hessian:
            roots = np.sqrt(problem.loss.curve(z, block.targets, np.ones_like(z)))
            scaled = block.rows * roots
            curvature += scaled.T @ scaled


def main() -> None:
    """A line a shape and pass."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=7)
    given = parser.parse_args()
    rng, lines = np.random.default_rng(0), []
    with threadpool_limits(1):
        for rows, features in SHAPES:
            X = rng.normal(0, 0.95 / np.sqrt(features), (rows, features))
            records = Records.build(X, np.sign(rng.normal(size=(rows, 1))), 1.0, 1.0)
            problem, weights = Problem(records, Logistic(), strength=100.0), np.full((features + 1, 1), 0.1)
            for name, exact, hessian in (
                ("gradient", problem.gradient, False),
                ("gradient and Hessian", problem.gradient_and_hessian, True),
                ("clipped gradient, for noise", partial(problem.clipped_gradient, clip=0.5), False),
            ):
                own, other = least(given.times, partial(exact, weights), partial(plain, problem, weights, hessian))
                verdict = "reached" if own <= GOAL * other else "MISSED"
                cells = [f"{rows:,} x {features}", name, f"{1e3 * own:.1f}", f"{1e3 * other:.1f}", f"{own / other:.2f}"]
                lines.append([*cells, verdict])
    print(table(("rows", "pass", "exact ms", "BLAS ms", "ratio", f"goal {GOAL}"), lines))


if __name__ == "__main__":
    main()
