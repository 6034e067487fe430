"""Heterogeneity: influence functions against retraining, and individual accounting beside uniform accounting.

python benchmarks/heterogeneity.py --part influence,table,bills,regime,shrinking,few --seeds 3 --quick
"""

import argparse
import functools
import itertools
import math
import time

import numpy as np
from sklearn.metrics import log_loss

import tacit
from tacit import datasets
from tacit.influence import influence_of
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem, Records
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms import GradientPerturbation, Individual
from tacit.types import Budget, Facts

SETS = {"adult": {"complete": True}, "bank_marketing": {}, "kddcup99": {"rows": 70000}}
EPSILONS = (0.1, 0.5, 1.0, 3.0)


def load(name, quick=False):
    options = dict(SETS[name], rows=8000) if quick else SETS[name]
    X, y = datasets.load(name, **options).arrays()
    order = np.random.default_rng(1).permutation(len(y))
    cut = int(0.8 * len(y))
    return X[order[:cut]], y[order[:cut]], X[order[cut:]], y[order[cut:]]


def influence(seeds, quick):
    """200 records of Adult: predicted against retrained models; all n influences against five fits."""
    options = {"rows": 8000} if quick else {}
    X, labels = datasets.load("adult", complete=True, **options).arrays()
    y = np.where(labels == np.unique(labels)[1], 1.0, -1.0)
    problem = Problem(Records.build(X, y, 1.0, 0.5), Logistic(), strength=1e-3 * len(y))
    start = time.perf_counter()
    Newton(1e-9 * problem.facts.gradient * math.sqrt(len(y))).solve(problem)
    fit = time.perf_counter() - start
    model = influence_of(X, y, regularization=1e-3)
    start = time.perf_counter()
    again = type(model).at(model.problem, model.weights)
    measured = again.measure(model.problem)
    every = time.perf_counter() - start
    picked = np.random.default_rng(5).choice(len(y), 200, replace=False)
    true, predicted = [], []
    for record in picked:
        one = Problem(problem.records.take(np.array([record])), problem.loss)
        weights = model.weights
        for _ in range(6):  # Newton steps with the Hessian of all records; the gradient certifies where they end
            gradient = problem.gradient(weights) - one.gradient(weights)
            if np.linalg.norm(gradient) < 1e-8:
                break
            weights = weights - model.inverse @ gradient
        assert np.linalg.norm(gradient) < 1e-7
        true.append((weights - model.weights).ravel())
        predicted.append(model.vector(record).ravel())
    true, predicted = np.array(true), np.array(predicted)
    errors = np.linalg.norm(true - predicted, axis=1)
    norms = np.linalg.norm(true, axis=1)
    print(f"Adult, n = {len(y)}, {model.weights.size} parameters, lambda = 0.001, {len(picked)} records retrained")
    print(f"correlation of all coordinates  {np.corrcoef(true.ravel(), predicted.ravel())[0, 1]:.6f}")
    print(f"correlation of norms            {np.corrcoef(norms, measured.norms[picked])[0, 1]:.6f}")
    print(f"largest error {errors.max():.3g}, relative {np.max(errors / norms):.3g}")
    print(f"bound of Theorem 4 {model.error_bound():.3g}")
    print(f"one fit {fit:.2f} s; all {len(y)} influences {every:.2f} s = {every / fit:.2f} fits")


def score(X, y, X2, y2, epsilon, method, seed):
    model = tacit.LogisticRegression(epsilon, method=method, random_state=seed, classes=np.unique(y)).fit(X, y)
    chances = model.predict_proba(X2)
    return model.score(X2, y2), log_loss(y2, chances, labels=model.classes_), getattr(model, "spent_", None)


METHODS = {
    "default": "auto",
    "uniform": "gradient",
    "individual, ration": Individual(),
    "individual, leave": Individual(rule="leave"),
}


def table(seeds, quick):
    """Accuracy and log-loss on held-out records, over epsilon; how many steps were taken whole."""
    print("| data | epsilon | method | accuracy | log-loss | whole steps, mean | all steps whole |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name in SETS:
        data = load(name, quick)
        for epsilon in (1.0,) if quick else EPSILONS:
            for label, method in METHODS.items():
                found = [score(*data, epsilon, method, seed) for seed in range(seeds)]
                spent = found[0][2]
                steps = " | "
                if spent:
                    steps = f"{spent.steps.mean():.0f} of {spent.total} | {np.mean(spent.steps == spent.total):.0%}"
                means = [np.mean([f[i] for f in found]) for i in (0, 1)]
                print(f"| {name} | {epsilon:g} | {label} | {means[0]:.4f} | {means[1]:.4f} | {steps} |", flush=True)


def regime(seeds, quick):
    """Synthetic records with flipped labels, epsilon 0.3: accuracy / log-loss at the same noise and step size."""
    n, d = (4000, 20) if quick else (20000, 40)
    print("| flipped labels | account / default | uniform | individual, ration | individual, leave |")
    print("| --- | --- | --- | --- | --- |")
    for flips in (0.0, 0.01, 0.05, 0.2):
        rng = np.random.default_rng(2)
        X = rng.normal(size=(2 * n, d)) / math.sqrt(d)
        clean = X @ rng.normal(size=d) * math.sqrt(d) > 0
        y = np.where(rng.random(2 * n) < flips, ~clean, clean).astype(int)
        data = X[:n], y[:n], X[n:], y[n:]
        for share in (0.25, 0.1, 0.03):
            radius, budget = math.hypot(1.0, 0.5), Budget(0.3, n**-1.5)
            facts = Facts(records=n, features=d + 1, outputs=1, radius=radius, loss=Logistic(), intercept=True)
            plan = Individual(share=share).calibrate(budget, facts, None, "proven")
            step = plan.descent.step  # the same for all three
            methods = [
                GradientPerturbation(steps=80, clip=math.sqrt(share) * radius, step=step),
                Individual(steps=80, share=share, step=step),
                Individual(steps=80, share=share, step=step, rule="leave"),
            ]
            found = [[score(*data, 0.3, m, s)[:2] for s in range(seeds)] for m in methods]
            cells = [f"{np.mean([a for a, _ in f]):.4f} / {np.mean([v for _, v in f]):.4f}" for f in found]
            print(f"| {flips:.0%} | {share / 0.25:.2f} | " + " | ".join(cells) + " |", flush=True)


def residuals(n, d, noise):
    """Rows on the sphere, and targets whose residuals shrink from the target to the noise as a model learns."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2 * n, d))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    signal = X @ rng.normal(size=d)
    y = 0.8 * signal / np.abs(signal).max()
    return X, np.clip(y + noise * y.std() * rng.normal(size=2 * n), -1, 1)


def errors(method, X, y, epsilon, seeds):
    """RMSE on the second half of the records over the target's deviation, for each seed."""
    n = len(y) // 2
    model = tacit.LinearRegression(epsilon, delta=1e-5, method=method, fit_intercept=False, target_bound=1.0)
    fits = [model.set_params(random_state=s).fit(X[:n], y[:n]).predict(X[n:]) for s in range(seeds)]
    return np.array([np.sqrt(np.mean((fit - y[n:]) ** 2)) for fit in fits]) / y.std()


def few(seeds, quick):
    """The same regression in few steps: as many settings for each, the best chosen by some seeds, shown for others."""
    n, d = (2000, 5) if quick else (5000, 10)
    sizes, clips, shares = (1.0, 3.0, 10.0), (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 1.0), (0.03, 0.1, 0.3, 0.6)
    print("| epsilon | noise / signal | steps | momentum | uniform | individual, ration | individual, leave |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    grid = itertools.product((0.3,) if quick else (0.3, 1.0), (0.1, 0.5), (3, 5, 10, 20), (0.0, 0.9))
    for epsilon, noise, steps, momentum in grid:
        X, y = residuals(n, d, noise)
        common = {"steps": steps, "momentum": momentum}
        families = [[GradientPerturbation(clip=c, step=a, **common) for a in sizes for c in clips]]
        families += [
            [
                Individual(clip=c, step=a, share=b, rule=rule, **common)
                for a in sizes
                for c in (0.5, 1.0)
                for b in shares
            ]
            for rule in ("ration", "leave")
        ]
        cells = []
        for family in families:
            best = min(family, key=lambda method: errors(method, X, y, epsilon, seeds).mean())
            fresh = errors(best, X, y, epsilon, 5 * seeds)[seeds:]
            cells.append(f"{fresh.mean():.4f} ± {fresh.std() / math.sqrt(len(fresh)):.4f}")
        print(f"| {epsilon:g} | {noise:g} | {steps} | {momentum:g} | " + " | ".join(cells) + " |", flush=True)


def shrinking(seeds, quick):
    """Linear regression where every record is loud at first and quiet at last; each method with its best settings.

    RMSE over the target's deviation, the best of a grid chosen on the test records: what each could reach at most.
    """
    n, d = (2000, 5) if quick else (5000, 10)
    steps, sizes, clips, shares = ((80, 300), (0.3, 1.0, 3.0), (0.02, 0.05, 0.1, 0.2, 0.5), (0.02, 0.05, 0.1, 0.3))
    print("| epsilon | noise / signal | uniform | individual, ration | individual, leave |")
    print("| --- | --- | --- | --- | --- |")
    for epsilon, noise in itertools.product((0.1, 0.3), (0.1, 0.5)):
        X, y = residuals(n, d, noise)

        def error(method, X=X, y=y, epsilon=epsilon):
            return float(errors(method, X, y, epsilon, seeds).mean())

        grids = [[GradientPerturbation(steps=t, clip=c, step=a) for t in steps for a in sizes for c in clips]]
        grids += [
            [Individual(steps=t, clip=c, step=a, share=b, rule=rule)
             for t in steps for a in sizes for c in (0.2, 0.5) for b in shares]
            for rule in ("ration", "leave")
        ]  # fmt: skip
        best = [min(error(method) for method in grid) for grid in grids]
        print(f"| {epsilon:g} | {noise:g} | " + " | ".join(f"{value:.4f}" for value in best) + " |", flush=True)


def bills(seeds, quick):
    """What each record itself spent of epsilon = 1: quantiles, for both rules."""
    print("| data | rule | 10% | 25% | 50% | 75% | 90% | at the limit |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for name in SETS:
        X, y, *_ = load(name, quick)
        for rule in ("ration", "leave"):
            model = tacit.LogisticRegression(1.0, method=Individual(rule=rule), random_state=0, classes=np.unique(y))
            own = model.fit(X, y).spent_.epsilon(model.guarantee_.delta)
            cells = [f"{q:.2f}" for q in np.quantile(own, [0.1, 0.25, 0.5, 0.75, 0.9])]
            print(f"| {name} | {rule} | " + " | ".join(cells) + f" | {np.mean(own > 0.97):.0%} |", flush=True)


PARTS = {"influence": influence, "table": table, "bills": bills, "regime": regime, "shrinking": shrinking, "few": few}


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", default=",".join(PARTS))
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--quick", action="store_true", help="small data, one epsilon")
    options = parser.parse_args()
    for part in options.part.split(","):
        print(f"\n## {part}", flush=True)
        functools.partial(PARTS[part], options.seeds, options.quick)()


if __name__ == "__main__":
    main()
