"""MNIST as rows, read once a process: 50,000 to train on, 10,000 to validate, 10,000 to test."""

from dataclasses import dataclass

import numpy as np

from tacit import datasets
from tacit.datasets.stand_ins import cached
from tacit.linear.losses import Softmax
from tacit.linear.problem import Problem, Records

HELD = 10_000
"""The last training images are the validation part (the paper: 50K/10K)."""


@dataclass(frozen=True)
class Part:
    """Pixels as float32 rows, and labels. The models clip rows to norm 1 (they are all longer)."""

    X: np.ndarray
    y: np.ndarray

    def first(self, rows):
        """The first rows; None: all."""
        return Part(self.X[:rows], self.y[:rows])

    @property
    def problem(self):
        """Softmax regression with a constant of 0.5, as the estimator has it."""
        return Problem(Records.build(self.X, self.y.astype(float), 1.0, 0.5), Softmax(10), 10)


@cached
def part(name):
    """'all' 60,000 training images, the first 50,000 ('train'), the last 10,000 ('validation'), or 'test'."""
    images, labels = datasets.images("mnist", "test" if name == "test" else "train")
    rows = {"train": slice(0, -HELD), "validation": slice(-HELD, None)}.get(name, slice(None))
    return Part(images[rows].reshape(len(images[rows]), -1).astype(np.float32), labels[rows])
