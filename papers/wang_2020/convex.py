"""Multi-class logistic regression on MNIST: Table 2, and Figures 1, 3 and 4. Losses and accuracies are not private."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from papers.wang_2020.digits import part
from tacit import LogisticRegression
from tacit.linear.solvers.descent import Descent
from tacit.mechanisms import GradientPerturbation, Poisson
from tacit.privacy.noise import SeededSource
from tacit.privacy.theorems import THEOREMS
from tacit.types import Budget

DELTA, BATCH, DECAY = 1e-5, 128, 1e-4
STEP = 100.0
"""The paper's step 1/t is for raw pixels, rows of norm about 10; ours have norm 1, so a score needs a step of 100/t."""
EPSILONS = (0.30, 0.25, 0.20, 0.15, 0.10)
SIGMAS = (0.0, 1.0, 2.0, 3.0)


def name_of(sigma):
    """The method's name in the figures."""
    return f"DP-LSSGD, σ = {sigma:g}" if sigma else "DP-SGD, σ = 0"


def budget_of(epsilon):
    """None is no privacy."""
    return math.inf if epsilon is None else epsilon


def descent_of(records, epochs, sigma, a=1.0):
    """The paper's own run: batches of 128 (Poisson), clip 1, steps a/t."""
    steps = max(1, round(epochs * records / BATCH))
    return GradientPerturbation(
        Poisson(BATCH / records), steps=steps, clip=1.0, step=a * STEP, momentum=0.0, schedule="inverse",
        smoothing=sigma,
    )  # fmt: skip


def accuracy(epsilon, smoothing, run, rows):
    """Table 2: descent over all records with the library's rules, test accuracy in percent."""
    train, test = part("all").first(rows), part("test")
    model = LogisticRegression(
        epsilon, delta=DELTA, classes=range(10), random_state=run, method=GradientPerturbation(smoothing=smoothing)
    ).fit(train.X, train.y)
    score = 100 * model.score(test.X, test.y)
    return [{"method": name_of(smoothing), "status": model.guarantee_.status, "accuracy": score}]


def step_sizes(epsilon, smoothing, a, run, epochs, rows):
    """Figure 4: test accuracy in percent with steps a/t."""
    train, test = part("train").first(rows), part("test")
    model = LogisticRegression(
        epsilon, delta=DELTA, classes=range(10), random_state=run, regularization=DECAY,
        method=descent_of(len(train.y), epochs, smoothing, a),
    ).fit(train.X, train.y)  # fmt: skip
    score = 100 * model.score(test.X, test.y)
    return [{"method": name_of(smoothing), "status": model.guarantee_.status, "accuracy": score}]


@dataclass(frozen=True)
class Watched:
    """A descent that shows some of its iterates to ``seen(step, weights)``; the steps are the plan's own."""

    descent: Descent
    seen: Callable
    marks: frozenset

    @property
    def steps(self):
        """How many there are."""
        return self.descent.steps

    def run(self, gradient, start):
        """The descent, watched."""
        step = 0

        def shown(weights):
            nonlocal step
            if step in self.marks:
                self.seen(step, weights)
            step += 1
            return gradient(weights)

        solution = self.descent.run(shown, start)
        if self.steps in self.marks:
            self.seen(self.steps, solution.weights)
        return solution


def marks_of(steps, count=25):
    """Steps at which to look: spread evenly over the logarithm, first and last among them."""
    return frozenset({0, steps, *(round(steps ** (i / count)) for i in range(count + 1))})


def losses(epsilon, smoothing, run, epochs, rows):
    """Figures 1 and 3: training and validation loss along the way."""
    train, held = part("train").first(rows), part("validation").first(rows)
    problem, other = train.problem, held.problem
    mechanism = descent_of(len(train.y), epochs, smoothing)
    plan = mechanism.calibrate(Budget(budget_of(epsilon), DELTA), problem.facts, DECAY, "proven")
    status = None if epsilon is None else THEOREMS[plan.theorem].status
    points = []

    def seen(step, weights):
        points.append({
            "method": name_of(smoothing), "status": status, "step": step,
            "training": float(problem.value(weights)[0]) / len(train.y),
            "validation": float(other.value(weights)[0]) / len(held.y),
        })  # fmt: skip

    watched = Watched(plan.descent, seen, marks_of(plan.descent.steps))
    replace(plan, descent=watched).run(problem, SeededSource((run, 3)))
    return points
