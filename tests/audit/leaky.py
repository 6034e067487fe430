"""Strangers' estimators with exact Gaussian noise, and leaks beside it: the audit must see each, and only them."""

import numpy as np
from sklearn.base import BaseEstimator

from tacit.accounting import gaussian_mu

MU = gaussian_mu(1.0, 1e-5)
"""The Gaussian mechanism of a claim of (1, 1e-5)."""


class NoisySum(BaseEstimator):
    """The sum of label times row, with the noise that (1, 1e-5) needs under replace-one, times a factor."""

    def __init__(self, factor=1.0, leak="", random_state=None):
        self.factor, self.leak, self.random_state = factor, leak, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(0 if self.leak == "seed" else self.random_state)
        pull = X.T @ y
        self.coef_ = (pull + self.factor * 2 / MU * rng.standard_normal(len(pull)))[None]
        self.intercept_ = np.zeros(1)
        flipped = bool(y[-1] < 0)
        leaks = {
            "classes_": lambda: np.unique(y[-2:]),
            "n_iter_": lambda: int(1000 * abs(pull).sum()) + 7 * flipped,
            "dtype_": lambda: np.zeros(2, dtype=np.float32 if flipped else np.float64),
            "shape_": lambda: rng.standard_normal((3, 1) if flipped else (1, 3)),
            "words_": lambda: {"a": ["x", {"label": "minus" if flipped else "plus"}]},
            "plain": lambda: float(pull[0]),  # no underscore at its end
            "kept_": lambda: Holder(y),
        }
        if self.leak in leaks:
            setattr(self, self.leak, leaks[self.leak]())
        if self.leak == "presence" and flipped:
            self.only_ = 1.0
        if self.leak == "wide" and flipped:
            self.coef_ = np.concatenate([self.coef_, self.coef_], axis=1)
        return self


class Holder:
    """An object with the labels inside."""

    def __init__(self, y):
        self.labels, self.count = list(y), len(y)


class Bare:
    """No get_params, no coef_, a fit that returns nothing; its noise is its own."""

    def __init__(self, factor):
        self.factor = factor
        self.rng = np.random.default_rng(5)

    def __deepcopy__(self, memo):
        """A copy goes on with noise of its own, as a library that asks the system for its seed would."""
        made = Bare(self.factor)
        made.rng = self.rng.spawn(1)[0]
        return made

    def fit(self, X, y):
        self.weights = list(X.T @ y + self.factor * 2 / MU * self.rng.standard_normal(X.shape[1]))


class Behind:
    """Only a property shows what fit made."""

    def fit(self, X, y):
        self._sum = X.T @ y
        return self

    @property
    def sum_(self):
        return self._sum


class Picky(BaseEstimator):
    """Refuses data with one label only."""

    def fit(self, X, y):
        if len(np.unique(y)) < 2:
            raise ValueError("one label")
        self.constant_ = 1.0
        return self
