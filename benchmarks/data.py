"""The matrices of the benchmarks: public bounds from the schemas, nothing learned from the records."""

import functools

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tacit import datasets
from tacit.schema import Schema

TITLES = {
    "adult": "Adult, official split 32,561 / 16,281, a missing value is a category",
    "digits": "scikit-learn's digits, random 80/20 split for each seed",
    "mnist": "MNIST, official split 60,000 / 10,000",
}


@functools.lru_cache(maxsize=1)
def digits():
    """All rows and labels of scikit-learn's digits; rows of norm at most 1."""
    pixels, labels = load_digits(return_X_y=True)
    schema = Schema.from_dict({"columns": {f"p{i}": {"lower": 0, "upper": 16} for i in range(64)}})
    return schema.encode({f"p{i}": column for i, column in enumerate(pixels.T)}), labels


@functools.lru_cache(maxsize=1)
def official(name: str):
    """Training and test part of a set with an official split."""
    return tuple(datasets.load(name, split=part).arrays() for part in ("train", "test"))


def split(name: str, seed: int):
    """Training and test part: the official ones, or 80/20 drawn with the seed."""
    if name in ("adult", "mnist"):
        return official(name)
    X, y = digits()
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.2, random_state=seed)
    return (X_train, y_train), (X_test, y_test)


def synthetic_blocks(records: int, features: int, seed: int = 0, step: int = 50_000):
    """Rows of norm at most 1 with labels and targets in [0, 1] from a linear model, a block at a time."""
    rng = np.random.default_rng(seed)
    weights = rng.normal(size=features) * 4
    for start in range(0, records, step):
        size = min(step, records - start)
        rows = rng.uniform(-1, 1, (size, features)) / np.sqrt(features)
        scores = rows @ weights
        labels = rng.random(size) < 1 / (1 + np.exp(-scores))
        targets = np.clip(0.5 + 0.1 * scores + 0.1 * rng.normal(size=size), 0, 1)
        yield slice(start, start + size), rows, labels.astype(np.int64), targets


def synthetic(records: int, features: int):
    """The whole of :func:`synthetic_blocks`: rows, labels, targets."""
    X, labels, targets = np.empty((records, features)), np.empty(records, dtype=np.int64), np.empty(records)
    for rows, block, some_labels, some_targets in synthetic_blocks(records, features):
        X[rows], labels[rows], targets[rows] = block, some_labels, some_targets
    return X, labels, targets
