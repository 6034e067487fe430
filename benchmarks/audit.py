"""Batched training against looping over fits: 10,000 logistic regressions with n = 1,000 and d = 20.

``python benchmarks/audit.py validity`` measures the audits' own false alarms and power instead.
"""

import json
import sys
import time

import numpy as np

from tacit import LogisticRegression
from tacit.audit.planned import run_many
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem, Records
from tacit.mechanisms import METHODS
from tacit.privacy.noise import SeededSource
from tacit.types import Budget


def main(runs=10_000, looped=100):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(1000, 20)), np.sign(rng.normal(size=1000))
    problem = Problem(Records.build(X, y, 1.0, 0.0), Logistic())
    found = {}
    for name in ("objective", "gradient", "output"):
        plan = METHODS[name].mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
        start = time.perf_counter()
        run_many(plan, problem, runs, SeededSource(1))
        together = time.perf_counter() - start
        start = time.perf_counter()
        for seed in range(looped):
            plan.run(problem, SeededSource(seed))
        alone = (time.perf_counter() - start) / looped * runs
        model = LogisticRegression(method=name, delta=1e-5, margin=0.0, fit_intercept=False, classes=[-1, 1])
        start = time.perf_counter()
        for seed in range(looped):
            model.set_params(random_state=seed).fit(X, y)
        fits = (time.perf_counter() - start) / looped * runs
        found[name] = {
            "seconds together": round(together, 2),
            "seconds looping over plan.run": round(alone, 1),
            "seconds looping over fit": round(fits, 1),
            "times faster than fits": round(fits / together, 1),
            "times faster than plan.run": round(alone / together, 1),
        }
    print(json.dumps(found, indent=1))


if __name__ == "__main__":
    if sys.argv[1:] == ["validity"]:
        from audit_validity import main
    main()
