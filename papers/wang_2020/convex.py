"""Multi-class logistic regression on MNIST: Table 2, and Figures 1, 3 and 4. Losses and accuracies are not private."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from papers.wang_2020 import tuned
from papers.wang_2020.digits import part
from papers.wang_2020.forms import DELTA, EPSILONS, NAMES, SIGMAS, STATUSES, name_of, recipe, shared_of
from papers.wang_2020.side_by_side import train
from tacit import LogisticRegression
from tacit.linear.solvers.descent import Descent
from tacit.mechanisms import GradientPerturbation

STEPS = (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)
"""The paper's a."""


def accuracy(form, rows, run=None, epochs=None, epsilon=None, smoothing=None, runs=None, fits=None):
    """Table 2: test accuracy in percent of one form. Side by side, or 'ours': descent over all records by the rules."""
    if form == "well":
        return tuned.measure(epsilon, runs, fits, rows, epochs)
    if form == "ours":
        train_part, test = part("all").first(rows), part("test")
        model = LogisticRegression(
            epsilon, delta=DELTA, classes=range(10), random_state=run, method=GradientPerturbation(smoothing=smoothing)
        ).fit(train_part.X, train_part.y)
        return [{"method": "ours", "status": model.guarantee_.status, "accuracy": 100 * model.score(test.X, test.y)}]
    grid = [{"epsilon": e, "smoothing": s} for e in EPSILONS for s in SIGMAS]
    found = _accuracies(form, grid, "all" if form == "released" else "train", run, epochs, rows)
    return [{"method": NAMES[form], **point} for point in found]


def step_sizes(form, run, epochs, rows):
    """Figure 4: test accuracy in percent with steps a/t of the form's own kind."""
    grid = [{"a": a, "epsilon": e, "smoothing": s} for a in STEPS for e in (0.1, 0.2) for s in (0.0, 1.0)]
    return [
        {"method": name_of(p["smoothing"]), **p}
        for p in _accuracies(form, grid, "all" if form == "released" else "train", run, epochs, rows)
    ]


def _accuracies(form, grid, name, run, epochs, rows):
    """Accuracy of every model of a grid after the last epoch; as released, also of the best, which none may pick."""
    records, test, shared = part(name).first(rows), part("test"), shared_of(form, epochs)
    recipes = [recipe(form, **cell, shared=shared, records=len(records.y)) for cell in grid]
    each, accuracies = shared.steps_an_epoch(len(records.y)), []

    def seen(step, models):
        if step == shared.steps(len(records.y)) or (form == "released" and step and step % each == 0):
            accuracies.append(models.evaluate(test.X, test.y, shared.scaling)[1])

    train(records.X, records.y, recipes, shared, (run, 4), seen)
    return [
        {**cell, "status": STATUSES[form], "noise": r.noise, "accuracy": float(last), "best": float(best)}
        for cell, r, last, best in zip(grid, recipes, accuracies[-1], np.max(accuracies, axis=0), strict=True)
    ]


def losses(form, run, epochs, rows, plain=False):
    """Figures 1 and 3: losses along the way, of the first 10,000 training images and of the 10,000 of validation.

    ``plain``: DP-SGD at every epsilon and at none.
    """
    pairs = (
        [(e, 0.0) for e in (None, 0.3, 0.2, 0.1)] if plain else [(e, s) for e in (0.2, 0.1) for s in (0.0, 1.0, 3.0)]
    )
    records, held, shared = part("train").first(rows), part("validation").first(rows), shared_of(form, epochs)
    recipes = [recipe(form, e, s, shared, len(records.y)) for e, s in pairs]
    marks, points = marks_of(shared.steps(len(records.y))), []
    looked_at = records.first(len(part("validation").y)), held

    def seen(step, models):
        if step not in marks:
            return
        both = [models.evaluate(p.X, p.y, shared.scaling)[0] for p in looked_at]
        for (epsilon, sigma), training, validation in zip(pairs, *both, strict=True):
            points.append({
                "epsilon": epsilon, "smoothing": sigma, "step": step, "method": name_of(sigma),
                "status": None if epsilon is None else STATUSES[form], "training": float(training),
                "validation": float(validation),
            })  # fmt: skip

    train(records.X, records.y, recipes, shared, (run, 3), seen)
    return points


def marks_of(steps, count=16):
    """Steps at which to look: spread evenly over the logarithm, first and last among them."""
    return frozenset({0, steps, *(round(steps ** (i / count)) for i in range(count + 1))})


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
