"""A stranger's estimators, for the audit to take as they are: the interface of scikit-learn, none of our code.

``StrangeLogistic`` stands in for the pure objective perturbation of other libraries (Chaudhuri et al. 2011); with
``bug=True`` it forgets half of the noise, as an implementation that took add-remove's sensitivity for replace-one
would.
"""

import numpy as np
from scipy.optimize import minimize
from sklearn.base import BaseEstimator, ClassifierMixin


class StrangeLogistic(ClassifierMixin, BaseEstimator):
    def __init__(self, epsilon=1.0, data_norm=1.0, C=0.01, bug=False, random_state=None):
        self.epsilon, self.data_norm, self.C = epsilon, data_norm, C
        self.bug, self.random_state = bug, random_state

    def fit(self, X, y):
        rng = np.random.default_rng(self.random_state)
        X = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True) / self.data_norm)
        self.classes_ = np.array([-1.0, 1.0])
        strength = 1 / self.C
        left = self.epsilon - np.log1p(self.data_norm**2 / (4 * strength))
        scale = (1.0 if self.bug else 2.0) * self.data_norm / left
        direction = rng.normal(size=X.shape[1])
        b = direction / np.linalg.norm(direction) * rng.gamma(X.shape[1], scale)

        def objective(w):
            margins = y * (X @ w)
            value = np.logaddexp(0, -margins).sum() + 0.5 * strength * w @ w + b @ w
            slopes = -y / (1 + np.exp(margins))
            return value, X.T @ slopes + strength * w + b

        self.coef_ = minimize(objective, np.zeros(X.shape[1]), jac=True, method="L-BFGS-B", tol=1e-12).x[None, :]
        self.intercept_ = np.zeros(1)
        return self
