"""Thousands of runs of one plan: in parts that fit in a cache, on several threads."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from threadpoolctl import threadpool_limits

from tacit.linear.problem import Problem
from tacit.mechanisms.base import Plan
from tacit.privacy.noise import SeededSource, Source
from tacit.types import Array

THREADS = min(4, os.cpu_count() or 1)


def run_many(plan: Plan, problem: Problem, trials: int, source: Source) -> Array:
    """Independent runs of a plan on one data set: an array of runs x parameters (row-major order of the weights)."""
    width = max(1, plan.at_once(problem) // max(1, problem.records.count * problem.outputs))
    counts = [min(width, trials - done) for done in range(0, trials, width)]
    if len(counts) == 1 or not plan.at_once(problem):
        return plan.run_many(problem, trials, source)
    # A source for each part, so that what a part draws does not depend on which thread is first.
    keys = source.words(4 * len(counts)).reshape(-1, 4)
    sources = [SeededSource(tuple(int(word) for word in key)) if source.seeded else source for key in keys]
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(THREADS) as threads:
        return np.vstack(list(threads.map(lambda *part: plan.run_many(problem, *part), counts, sources)))
