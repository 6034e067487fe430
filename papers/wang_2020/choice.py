"""Were the constants of the rule for several classes well chosen? A grid around them, judged on validation images only.

The rule (``tacit.mechanisms.defaults``) was set while looking at MNIST's test accuracy. Here the models train on the
first 50,000 training images and are compared on the last 10,000; the test images take no part.
"""

import itertools

from papers.engine.figure import Finding, TextTable, mean_of
from papers.wang_2020.digits import part
from papers.wang_2020.forms import DELTA
from tacit import LogisticRegression
from tacit.mechanisms import GradientPerturbation
from tacit.types import Budget

RULE = {"steps": 80, "clip": 0.35, "time": 1.0}
GRID = {"steps": (40, 80, 160), "clip": (0.25, 0.35, 0.5), "time": (0.5, 0.7, 1.0, 1.4, 2.0)}
NEAR = 0.3
"""Points of accuracy: what one run differs from the next by at epsilon = 0.2."""


def cells(size):
    """One constant is changed at a time; quick: two of the epsilons' cells, on 5,000 images."""
    epsilons, rows = ((0.3,), 5_000) if size.quick else ((0.1, 0.3, 1.0), None)
    changed = [RULE, *({**RULE, name: value} for name in GRID for value in GRID[name] if value != RULE[name])]
    if size.quick:
        changed = [RULE, {**RULE, "steps": 40}, {**RULE, "clip": 0.5}, {**RULE, "time": 0.5}, {**RULE, "time": 2.0}]
    grid = itertools.product(epsilons, (2.0,) if size.quick else (0.0, 2.0), changed, range(size.pick(2, 1)))
    return [{"epsilon": e, "smoothing": s, **c, "run": run, "rows": rows} for e, s, c, run in grid]


def measure(epsilon, smoothing, steps, clip, time, run, rows):
    """Validation accuracy in percent with these constants; ``clip`` is a multiple of the row norm R."""
    train, held = part("train").first(rows), part("validation")
    facts, budget = train.problem.facts, Budget(epsilon, DELTA)
    mechanism = GradientPerturbation(steps=steps, clip=clip * facts.radius, smoothing=smoothing)
    step = time * mechanism.calibrate(budget, facts, None, "proven").descent.step
    mechanism = GradientPerturbation(steps=steps, clip=clip * facts.radius, step=step, smoothing=smoothing)
    model = LogisticRegression(epsilon, delta=DELTA, classes=range(10), random_state=run, method=mechanism)
    score = 100 * model.fit(train.X, train.y).score(held.X, held.y)
    return [{"accuracy": score, "status": model.guarantee_.status}]


def show(points):
    """Validation accuracy of every candidate."""
    columns = sorted({(p["epsilon"], p["smoothing"]) for p in points})
    rows = []
    for name, values in _candidates(points):
        found = [mean_of(points, "accuracy", epsilon=e, smoothing=s, **values) for e, s in columns]
        rows.append((name, *(f"{value:.2f}" for value in found)))
    head = ("constants", *(f"ε = {e:g}, σ = {s:g}" for e, s in columns))
    return [TextTable("Validation accuracy, one constant changed at a time", head, tuple(rows))]


def check(points, expected):
    """Within NEAR of the best candidate in each column."""
    del expected  # the statement is ours, not the paper's
    found = []
    for epsilon, smoothing in sorted({(p["epsilon"], p["smoothing"]) for p in points}):
        scores = {
            name: mean_of(points, "accuracy", epsilon=epsilon, smoothing=smoothing, **values)
            for name, values in _candidates(points)
        }
        best = max(scores, key=scores.get)
        found.append(Finding(
            f"The rule's constants are at or near the best on validation images (ε = {epsilon:g}, σ = {smoothing:g}).",
            scores[best] - scores["the rule"] <= NEAR,
            f"The rule: {scores['the rule']:.2f}; the best, {best}: {scores[best]:.2f}.",
        ))  # fmt: skip
    return found


def _candidates(points):
    """Name and values of every candidate that was measured, the rule first."""
    found = {}
    for p in points:
        values = {name: p[name] for name in RULE}
        odd = [f"{name} {value:g}" for name, value in values.items() if value != RULE[name]]
        found.setdefault(", ".join(odd) or "the rule", values)
    return found.items()
