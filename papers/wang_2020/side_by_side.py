"""Softmax regression by noisy mini-batches, many models at once: what the paper prints and what its code does.

All models of one pass see the same batches in the same order, and noise of the same draws, each scaled by its own
standard deviation: two models of a pass differ by their recipes and by nothing else, so their differences are paired.
Single precision; losses and accuracies are not private.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import scipy.fft

from tacit.linear.smoothing import coefficients

CLASSES, DECAY, CLIP = 10, 1e-4, 1.0
MEAN, DEVIATION = 0.1307, 0.3081
"""Of MNIST's pixels in [0, 1]: the constants of the released code. Public numbers by now, and not priced."""

Scaling = Literal["normalised", "pixels", "rows", "as they are"]
Sampling = Literal["shuffled", "poisson"]


@dataclass(frozen=True)
class Recipe:
    """How one model learns.

    ``noise`` is the standard deviation on each coordinate of the mean gradient. ``schedule`` is what ``rate`` is
    multiplied by at step t = 1, 2, ...: 'step' is 1/t, 'epoch' 1/t with the t at which the epoch began, 'linear' falls
    to 0 at the last step, 'constant' is 1. ``clips`` is whose norm is bounded by 1: each 'record's gradient, or the
    'mean' of the batch.
    """

    noise: float
    smoothing: float = 0.0
    rate: float = 1.0
    schedule: Literal["step", "epoch", "linear", "constant"] = "step"
    clips: Literal["record", "mean"] = "record"


@dataclass(frozen=True)
class Pass:
    """What all models of one pass share. The released code shuffles and cuts; what is priced here is drawn."""

    epochs: int
    batch: int
    scaling: Scaling = "normalised"
    sampling: Sampling = "poisson"

    def steps_an_epoch(self, records: int) -> int:
        """The last batch of a shuffled epoch may be short, as in the released code."""
        return -(-records // self.batch) if self.sampling == "shuffled" else max(1, round(records / self.batch))

    def steps(self, records: int) -> int:
        """Of the whole pass."""
        return self.epochs * self.steps_an_epoch(records)

    def rate(self, records: int) -> float:
        """With what probability a record is in a Poisson batch."""
        return min(1.0, self.batch / records)

    def batches(self, records: int, draws: np.random.Generator) -> Iterator[np.ndarray]:
        """Positions: cut from a fresh order every epoch, or a coin for every record in every step."""
        for _ in range(self.epochs):
            count = self.steps_an_epoch(records)
            if self.sampling == "shuffled":
                yield from np.split(draws.permutation(records), range(self.batch, records, self.batch))
            else:  # as many as heads fall, then who: the same law as a coin for each, and quicker
                for size in draws.binomial(records, self.rate(records), count):
                    yield draws.choice(records, size, replace=False, shuffle=False)


def scaled(rows: np.ndarray, scaling: Scaling) -> np.ndarray:
    """Pixels of 0 to 255 as the model sees them."""
    if scaling == "as they are":
        return rows
    if scaling == "rows":
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)
    unit = rows * np.float32(1 / 255)
    return unit if scaling == "pixels" else (unit - np.float32(MEAN)) * np.float32(1 / DEVIATION)


class Models:
    """Weights of shape (models, classes, features) and intercepts, as the layer of the released code starts them."""

    def __init__(self, recipes: Sequence[Recipe], features: int, draws: np.random.Generator) -> None:
        self.count, self.features, bound = len(recipes), features, features**-0.5
        start = draws.uniform(-bound, bound, (CLASSES, features + 1)).astype(np.float32)
        self.weights = np.repeat(start[None, :, :-1], self.count, axis=0)
        self.intercepts = np.repeat(start[None, :, -1], self.count, axis=0)

    def scores(self, rows: np.ndarray) -> np.ndarray:
        """Of shape (rows, models, classes)."""
        flat = rows @ self.weights.reshape(-1, self.features).T
        return flat.reshape(len(rows), self.count, CLASSES) + self.intercepts

    def evaluate(self, X: np.ndarray, y: np.ndarray, scaling: Scaling) -> tuple[np.ndarray, np.ndarray]:
        """Mean loss and accuracy in percent of every model; 2,000 rows at a time."""
        loss, right = np.zeros(self.count), np.zeros(self.count)
        for k in range(0, len(y), 2000):
            scores, labels = self.scores(scaled(X[k : k + 2000], scaling)).astype(np.float64), y[k : k + 2000]
            right += (scores.argmax(axis=2) == labels[:, None]).sum(axis=0)
            top = scores.max(axis=2)
            mass = top + np.log(np.exp(scores - top[:, :, None]).sum(axis=2))
            loss += (mass - scores[np.arange(len(labels)), :, labels]).sum(axis=0)
        return loss / len(y), 100 * right / len(y)


def mean_gradients(
    models: Models, rows: np.ndarray, labels: np.ndarray, divisor: float, by_record: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Of weights and of intercepts, clipped as each recipe says: every record's by its norm, or the means' by theirs.

    A record's gradient is the outer product of its residual r and (x, 1), of norm ``|r| sqrt(|x|^2 + 1)``. The released
    code divides the mean for the weights, and the mean for the intercepts, each by its own norm where that exceeds 1.
    """
    residuals = models.scores(rows)
    residuals -= residuals.max(axis=2, keepdims=True)
    np.exp(residuals, out=residuals)
    residuals /= residuals.sum(axis=2, keepdims=True)
    residuals[np.arange(len(labels)), :, labels] -= 1
    if by_record.any():
        norms = np.linalg.norm(residuals, axis=2) * np.sqrt(np.square(rows).sum(axis=1) + 1)[:, None]
        residuals *= np.where(by_record, 1 / np.maximum(1, norms / CLIP), 1).astype(np.float32)[:, :, None]
    residuals *= np.float32(1 / divisor)
    weights = (residuals.reshape(len(rows), models.count * CLASSES).T @ rows).reshape(models.weights.shape)
    intercepts = residuals.sum(axis=0)
    if not by_record.all():
        weights /= _excess(weights, by_record)[:, None, None]
        intercepts /= _excess(intercepts, by_record)[:, None]
    return weights, intercepts


def _excess(means: np.ndarray, by_record: np.ndarray) -> np.ndarray:
    """How far each model's mean is beyond the clip norm; 1 where it is not, and where records are clipped."""
    norms = np.linalg.norm(means.reshape(len(means), -1), axis=1)
    return np.where(by_record, 1, np.maximum(1, norms / CLIP)).astype(np.float32)


def smoothed(values: np.ndarray, factors: np.ndarray) -> np.ndarray:
    """Every model's numbers in the order of its tensor (across the classes, as in the released code), by one FFT."""
    flat = values.reshape(len(values), -1)
    again = scipy.fft.irfft(scipy.fft.rfft(flat, axis=1) * factors, n=flat.shape[1], axis=1)
    return again.reshape(values.shape)


def rates(recipes: Sequence[Recipe], step: int, began: int, steps: int) -> np.ndarray:
    """Every model's step size at this step, in an epoch that began at step ``began``."""
    falling = {"step": 1 / step, "epoch": 1 / began, "linear": 1 - (step - 1) / steps, "constant": 1.0}
    return np.array([recipe.rate * falling[recipe.schedule] for recipe in recipes], dtype=np.float32)


def train(
    X: np.ndarray, y: np.ndarray, recipes: Sequence[Recipe], shared: Pass, seed: tuple[int, ...],
    seen: Callable[[int, Models], None] = lambda step, models: None,
) -> Models:  # fmt: skip
    """Train all models; ``seen(step, models)`` is shown every iterate, the start as step 0."""
    draws, noise = (np.random.default_rng((*seed, which)) for which in (0, 1))
    models = Models(recipes, X.shape[1], draws)
    sizes = (CLASSES * models.features, CLASSES)
    factors = [np.array([coefficients(n, r.smoothing) for r in recipes], dtype=np.float32) for n in sizes]
    deviations = np.array([recipe.noise for recipe in recipes], dtype=np.float32)[:, None, None]
    by_record = np.array([recipe.clips == "record" for recipe in recipes])
    smooths, each = any(recipe.smoothing for recipe in recipes), shared.steps_an_epoch(len(y))
    seen(0, models)
    for step, chosen in enumerate(shared.batches(len(y), draws), start=1):
        divisor = len(chosen) if shared.sampling == "shuffled" else shared.batch
        weights, intercepts = mean_gradients(models, scaled(X[chosen], shared.scaling), y[chosen], divisor, by_record)
        weights += deviations * noise.standard_normal(weights.shape[1:], dtype=np.float32)
        intercepts += deviations[:, 0] * noise.standard_normal(CLASSES, dtype=np.float32)
        if smooths:
            weights, intercepts = smoothed(weights, factors[0]), smoothed(intercepts, factors[1])
        size = rates(recipes, step, 1 + (step - 1) // each * each, shared.steps(len(y)))
        models.weights -= size[:, None, None] * (weights + np.float32(DECAY) * models.weights)
        models.intercepts -= size[:, None] * (intercepts + np.float32(DECAY) * models.intercepts)
        seen(step, models)
    return models
