"""The mini-batch algorithm run well: batch, epochs and schedule, and a step size, chosen on the validation images.

Every sigma gets the same three combinations of batch, epochs and schedule, each with steps over two decades, judged by
the mean validation accuracy of several noisy fits. Where the best step is the first or the last one tried, the next one
is tried too, for every sigma. The choice looks at private validation images and is not priced, as the paper's own is
not.
"""

from dataclasses import dataclass

import numpy as np

from papers.wang_2020.digits import part
from papers.wang_2020.forms import SIGMAS, STATUSES, exact_noise
from papers.wang_2020.side_by_side import Pass, Recipe, train

DECADE_PARTS = 2
"""Two step sizes a decade."""
MOST = 4
"""Times that a grid is extended."""


@dataclass(frozen=True)
class Setting:
    """A pass, a schedule, and the middle of the steps that are tried first."""

    shared: Pass
    schedule: str
    middle: float

    def rate(self, place):
        """The step at this place of the grid; 0 is the middle."""
        return self.middle * 10 ** (place / DECADE_PARTS)

    def words(self, place):
        """As the rows show it."""
        steps = f"{self.rate(place):.3g}/t" if self.schedule == "step" else f"{self.rate(place):.3g}, falling linearly"
        return f"batch {self.shared.batch}, {self.shared.epochs} epochs, step {steps}"


def settings(epochs=None):
    """The paper's number of epochs or fewer, its batch or a larger one, its schedule or one that falls linearly.

    The paper's own batches and epochs together are in none of them: ``between`` has them with linear steps.
    """
    return tuple(
        Setting(Pass(min(most, epochs or most), batch), schedule, middle)
        for most, batch, schedule, middle in (
            (50, 1024, "linear", 0.1),
            (10, 1024, "linear", 0.3),
            (10, 128, "step", 1),
        )
    )


def choose(epsilon, fits, rows, epochs):
    """Validation accuracy by (setting, place, sigma), the mean over ``fits``; extended until no edge is best."""
    offered, scores = settings(epochs), {}
    wanted = {(s, place) for s in offered for place in range(-DECADE_PARTS, DECADE_PARTS + 1)}
    for _ in range(1 + MOST):
        for setting in offered:
            places = sorted(place for s, place in wanted if s is setting)
            if places:
                scores |= _score(setting, places, epsilon, fits, rows)
        wanted = {
            (setting, beyond)
            for setting, place, _ in (best_of(scores, sigma) for sigma in SIGMAS)
            for beyond in (place - 1, place + 1)
            if (setting, beyond, SIGMAS[0]) not in scores
        }
        if not wanted:
            break
    return scores


def best_of(scores, sigma):
    """The best setting and place for one sigma."""
    return max((key for key in scores if key[2] == sigma), key=scores.get)


def measure(epsilon, runs, fits, rows, epochs):
    """Every candidate's validation accuracy, then test accuracies with what was chosen for each sigma."""
    scores = choose(epsilon, fits, rows, epochs)
    shared = {"method": "run well", "status": STATUSES["well"], "epsilon": epsilon}
    points = [
        {**shared, "smoothing": sigma, "tried": setting.words(place), "validation": score}
        for (setting, place, sigma), score in scores.items()
    ]
    train_part, test = part("train").first(rows), part("test")
    for sigma in SIGMAS:
        best = setting, place, _ = best_of(scores, sigma)
        for run in range(runs):
            models = _trained(setting, [(place, sigma)], epsilon, train_part, (run, 1))
            accuracy = float(models.evaluate(test.X, test.y, setting.shared.scaling)[1][0])
            points.append({
                **shared, "smoothing": sigma, "run": run, "chosen": setting.words(place), "validation": scores[best],
                "accuracy": accuracy,
            })  # fmt: skip
    return points


def _score(setting, places, epsilon, fits, rows):
    train_part, held = part("train").first(rows), part("validation").first(rows)
    models = [(place, sigma) for place in places for sigma in SIGMAS]
    seen = [
        _trained(setting, models, epsilon, train_part, (fit, 2)).evaluate(held.X, held.y, setting.shared.scaling)[1]
        for fit in range(fits)
    ]
    means = np.mean(seen, axis=0)
    return {(setting, *model): float(mean) for model, mean in zip(models, means, strict=True)}


def _trained(setting, models, epsilon, records, seed):
    """Models of one setting side by side."""
    noise = exact_noise(epsilon, setting.shared, len(records.y))
    recipes = [Recipe(noise, sigma, setting.rate(place), setting.schedule) for place, sigma in models]
    return train(records.X, records.y, recipes, setting.shared, seed)
