"""Strangers' estimators with exact Gaussian noise, and leaks beside it: the audit must see each, and only them."""

import warnings

import numpy as np
from sklearn.base import BaseEstimator

from tacit.privacy.accounting import gaussian_mu

MU = gaussian_mu(1.0, 1e-5)
"""The Gaussian mechanism of a claim of (1, 1e-5)."""


class NoisySum(BaseEstimator):
    """The sum of label times row, with the noise that (1, 1e-5) needs under replace-one, times a factor."""

    def __init__(self, factor=1.0, leak="", random_state=None):
        self.factor, self.leak, self.random_state = factor, leak, random_state

    def fit(self, X, y):
        state = {"seed": 0, "unset": self.random_state or 0}.get(self.leak, self.random_state)
        rng = np.random.default_rng(state)
        pull = X.T @ y
        self.coef_ = (pull + self.factor * 2 / MU * rng.standard_normal(len(pull)))[None]
        self.intercept_ = np.zeros(1)
        flipped, nonce = bool(y[-1] < 0), int(rng.integers(10**17, 10**18))
        leaks = {
            "classes_": lambda: np.unique(y[-2:]),
            "n_iter_": lambda: int(1000 * abs(pull).sum()) + 7 * flipped,
            "dtype_": lambda: np.zeros(2, dtype=np.float32 if flipped else np.float64),
            "shape_": lambda: rng.standard_normal((3, 1) if flipped else (1, 3)),
            "words_": lambda: {"a": ["x", {"label": "minus" if flipped else "plus"}]},
            "plain": lambda: float(pull[0]),  # no underscore at its end
            "kept_": lambda: Holder(y),
            "report_": lambda: f"run {nonce}: exact sum {pull}",
            "weak_": lambda: f"run {nonce}, took {rng.random():.3f}s: sum {pull[0] + 0.05 * rng.standard_normal()}",
            "named_": lambda: f"{nonce:x}-{nonce % 97:x} is the run, label {'minus' if flipped else 'plus'}",
            "bytes_": lambda: bytes(f"{nonce} {pull[0]}", "utf-8"),
            "texts_": lambda: np.array([f"{nonce}", f"{pull[0]}"]),
        }
        if self.leak == "warning":
            warnings.warn(f"Run {nonce}: the sum {pull[0]} is large.", stacklevel=2)
        if self.leak in ("error", "cause") and rng.random() < 0.5:
            return self
        if self.leak == "error":
            raise ValueError(f"Run {nonce}: the sum {pull[0]} is too large.") from KeyError("pull")
        if self.leak == "cause":
            raise ValueError("Too large.") from KeyError(f"{nonce}: {pull[0] + 0.05 * rng.standard_normal()}")
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
