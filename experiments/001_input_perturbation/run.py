"""The census experiment of Fukuchi, Tran & Sakuma 2017 (Figures 1 and 2): RMSE and accuracy over the number of records.

    python experiments/001_input_perturbation/run.py [--splits 10] [--draws 10] [--out results.json]

100 trials are 10 random splits (4:1) times 10 draws of noise. A split's sums over prefixes are computed once and
shared by all sizes, methods and draws; the noise of n contributors is drawn from its exact distribution at a cost that
does not depend on n (``tacit.protocol.expect.noisy_second``). The IPUMS extract of the paper is not free to share: the
records are those of the American Community Survey 2024 (1,358,274 people, 13 features). A training split has 1,086,620
of them; for n = 2^21 its records are used again until there are enough, which a table of this size cannot avoid.
"""

import argparse
import json
import math
import time
import warnings
from pathlib import Path

import numpy as np

from tacit import LogisticRegression, datasets
from tacit.calibrate import smallest_scale
from tacit.events import InputMinimum
from tacit.mechanisms import rules
from tacit.mechanisms.input_plan import Setting, proven, published
from tacit.mechanisms.surrogates import Surrogate
from tacit.noise import SeededSource, gaussian, sphere
from tacit.protocol.expect import draw
from tacit.solvers.ball import minimise
from tacit.types import Budget

SIZES = tuple(2**k for k in range(7, 22, 2))
EPSILONS = (0.1, 1.0)
DELTA = 0.01
INTERCEPT = 0.5
RADIUS = {"regression": 3.0, "classification": 8.05}
BASELINE_ROWS = 2**21  # rows that the central classifiers, which pass over the data, may take per size and epsilon


def load(rows=None):
    """Design rows, targets in [-1, 1], labels."""
    data = datasets.load("acs_pums_2024")
    X, income = data.arrays()
    X, income = X[:rows], np.asarray(income, dtype=float)[:rows]
    design = np.hstack([X, np.full((len(X), 1), INTERCEPT)])
    return design, (income - 1e5) / 1e5, np.where(income > 5e4, 1.0, -1.0)


def prefix_sums(design, targets, order, sizes):
    """Second and cross moments of the first n records in this order, for every n; records repeat when they run out."""
    found, start = {}, 0
    second, cross = np.zeros((design.shape[1],) * 2), np.zeros(design.shape[1])
    for n in sorted(sizes):
        if n > len(order):
            rest = prefix_sums(design, targets, order, [n - len(order)])[n - len(order)]
            full = prefix_sums(design, targets, order, [len(order)])[len(order)]
            found[n] = (full[0] + rest[0], full[1] + rest[1])
            continue
        for begin in range(start, n, 2**16):
            rows = order[begin : min(begin + 2**16, n)]
            x = design[rows]
            second += x.T @ x
            cross += x.T @ targets[rows]
        start = n
        found[n] = (second.copy(), cross.copy())
    return found


def objective_noise(setting, budget, calibration):
    """Central objective perturbation over the same ball: Kifer et al.'s noise and ridge, or the corners' price."""
    smooth = setting.row**2
    if calibration == "paper":
        lipschitz = smooth * setting.radius + setting.cross
        inner = 8 * math.log(2 / budget.delta) + 4 * budget.epsilon
        return lipschitz * math.sqrt(inner) / budget.epsilon, 2 * smooth / budget.epsilon

    def loss(pair):
        return pair[1] * setting.radius**2 / 8 + setting.features * pair[0] ** 2 / (
            2 * (pair[1] + setting.cohort * smooth / (4 * setting.features))
        )

    pairs = []
    for share in (0.03, 0.06, 0.1, 0.15, 0.22, 0.3, 0.4):
        strong = smooth / math.expm1(share * budget.epsilon)
        noise = smallest_scale(
            lambda s, strong=strong: (
                InputMinimum(
                    setting.features, setting.cohort, setting.row, setting.cross, setting.radius, 0.0, s, strong, 0.5
                ),
            ),
            budget,
        )
        pairs.append((noise, strong))
    return min(pairs, key=loss)


def output_weights(setting, budget, second, cross, source):
    """Output perturbation with noise of density exp(-eps ||b|| / sensitivity), Chaudhuri et al. 2011."""
    lipschitz = setting.row**2 * setting.radius + setting.cross
    noise = 2 * lipschitz * setting.features / budget.epsilon
    strong = math.cbrt(2 * setting.cohort * setting.row**2 * noise**2 / rules.NORM**2)
    best = minimise(second + strong * np.eye(setting.features), cross, setting.radius).weights
    return best + (2 * lipschitz / (strong * budget.epsilon)) * sphere(source, (setting.features,))


def quadratic_weights(task, setting, n, epsilon, second, cross, draws, source, numbers):
    """All methods that learn from sums: name -> (draws, d) weights."""
    d, budget = setting.features, Budget(epsilon, DELTA)
    loss = setting.surrogate
    second, cross = loss.curvature * second, loss.slope * cross
    found = {}
    for calibration, chosen in numbers.items():
        if chosen is not None:
            found[f"Input ({calibration})"] = [draw(chosen, second, cross, n, source) for _ in range(draws)]
        if task == "regression":
            noise, strong = objective_noise(setting, budget, calibration)
            found[f"Obj-Gauss ({calibration})"] = [
                minimise(second + strong * np.eye(d), cross + noise * gaussian(source, (d,)), setting.radius).weights
                for _ in range(draws)
            ]
    if task == "regression":
        found["Output"] = [output_weights(setting, budget, second, cross, source) for _ in range(draws)]
        found["NP"] = [minimise(second + 1e-9 * n * np.eye(d), cross, 1e6).weights]
    return found


def classifiers(design, labels, train, n, epsilon, draws, seed):
    """The central classifiers, on the data themselves; as many trials as BASELINE_ROWS allows."""
    rows = np.resize(train, n) if n > len(train) else train[:n]
    X, y, found = design[rows, :-1], labels[rows], {}
    for name, method, calibration in (
        ("Obj-Gauss (paper)", "objective", "paper"), ("Obj-Gauss (proven)", "objective", "proven"),
        ("Output", "output-chaudhuri-2011", "proven"), ("NP", "objective", "none"),
    ):  # fmt: skip
        plain = calibration == "none"
        budget = math.inf if plain else epsilon
        found[name] = []
        for trial in range(1 if plain else draws):
            model = LogisticRegression(
                budget, delta=DELTA, method=method, calibration="proven" if plain else calibration, classes=[-1, 1],
                margin=0.0, regularization=1e-6 if plain else None, random_state=seed + trial,
            ).fit(X, y)  # fmt: skip
            found[name].append(np.append(model.coef_[0], model.intercept_[0] / INTERCEPT))
    return found


def run(sizes=SIZES, splits=10, draws=10, rows=None, epsilons=EPSILONS, say=print):
    """Mean RMSE and accuracy: {task: {epsilon: {method: {n: value}}}}, and the record's epsilon of Input."""
    warnings.simplefilter("ignore")
    design, targets, labels = load(rows)
    results, record = {}, {}
    for task in ("regression", "classification"):
        radius = RADIUS[task]
        name = "squared" if task == "regression" else "paper"
        loss = Surrogate.named(name, radius * math.hypot(1, INTERCEPT))
        values = targets if task == "regression" else labels
        plans = {}
        for n in sizes:
            for epsilon in epsilons:
                setting, budget = Setting(design.shape[1], n, 1.0, INTERCEPT, loss, radius), Budget(epsilon, DELTA)
                pair = {"proven": proven(setting, budget, None, None)}
                try:
                    pair["paper"] = published(setting, budget, None)
                except ValueError:
                    pair["paper"] = None
                plans[n, epsilon] = setting, pair
                record[f"{task} {epsilon} {n}"] = [
                    None if p is None else [p.row_scale, p.cross_scale] for p in pair.values()
                ]
        scores = {}
        for split in range(splits):
            started = time.monotonic()
            order = np.random.default_rng((1, split)).permutation(len(design))
            test, train = order[: len(order) // 5], order[len(order) // 5 :]
            sums = prefix_sums(design, values, train, sizes)
            away, aim = design[test[:20000]], values[test[:20000]]
            source = SeededSource((2, split))
            for n in sizes:
                for epsilon in epsilons:
                    setting, pair = plans[n, epsilon]
                    found = quadratic_weights(task, setting, n, epsilon, *sums[n], draws, source, pair)
                    if task == "classification":
                        few = min(draws, BASELINE_ROWS // (n * splits))
                        if few or split == 0:
                            found |= classifiers(design, labels, train, n, epsilon, max(few, 1), 100 * split)
                    for method, weights in found.items():
                        raw = away @ np.array(weights).T
                        value = (
                            np.sqrt(np.mean((raw - aim[:, None]) ** 2, axis=0))
                            if task == "regression"
                            else np.mean((raw > 0) == (aim[:, None] > 0), axis=0)
                        )
                        scores.setdefault((epsilon, method, n), []).extend(value.tolist())
            say(f"{task}: split {split + 1} of {splits} took {time.monotonic() - started:.1f} s")
        results[task] = {}
        for (epsilon, method, n), value in scores.items():
            results[task].setdefault(str(epsilon), {}).setdefault(method, {})[str(n)] = [
                float(np.mean(value)),
                len(value),
            ]
    return {"results": results, "scales": record}


def table(results):
    """Markdown tables."""
    lines = []
    for task, by_epsilon in results["results"].items():
        for epsilon, methods in by_epsilon.items():
            sizes = list(methods["NP"])
            lines.append(f"\n{'RMSE' if task == 'regression' else 'accuracy'}, epsilon = {epsilon}, delta = {DELTA}\n")
            lines.append("| method | " + " | ".join(f"2^{round(math.log2(int(n)))}" for n in sizes) + " |")
            lines.append("| --- |" + " --- |" * len(sizes))
            for method, values in methods.items():
                cells = [f"{values[n][0]:.4f}" if n in values else "" for n in sizes]
                lines.append(f"| {method} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rows", type=int, help="use only the first rows of the table")
    parser.add_argument("--out", default=str(Path(__file__).parent / "results.json"))
    options = parser.parse_args()
    began = time.monotonic()
    outcome = run(splits=options.splits, draws=options.draws, rows=options.rows)
    outcome["seconds"] = time.monotonic() - began
    Path(options.out).write_text(json.dumps(outcome, indent=1))
    print(table(outcome))
    print(f"\n{outcome['seconds']:.0f} seconds")
