"""A prediction is the record's own: the same to the last bit whatever other rows there are, and at whatever place."""

import numpy as np
import pytest
from scipy import sparse

from tacit import LinearRegression, LogisticRegression, PoissonRegressor
from tacit.data.canonical import canonical
from tacit.linear.predictions import clipped_scores

WIDTHS = (1, 7, 20, 60, 129)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("outputs", [1, 3])
@pytest.mark.parametrize("container", [np.asarray, np.float32, sparse.csr_array])
def test_scores_of_a_row_do_not_depend_on_the_others(width, outputs, container, rng):
    X, weights = rng.normal(size=(203, width)), rng.normal(size=(width, outputs))
    whole = clipped_scores(canonical(container(X)), 1.0, weights)
    alone = np.vstack([clipped_scores(canonical(container(X[[place]])), 1.0, weights) for place in range(len(X))])
    assert np.array_equal(whole, alone)
    for start in (1, 2, 3):
        assert np.array_equal(clipped_scores(canonical(container(X[start:])), 1.0, weights), whole[start:])
    assert np.allclose(whole, np.minimum(1, 1 / np.linalg.norm(X, axis=1))[:, None] * X @ weights, atol=1e-5)


@pytest.mark.parametrize("width", [2, 20, 60])
def test_rows_at_the_border_all_get_one_label(width, rng):
    """403 equal rows whose score is within an ulp of 0: a product would part the last ones from the first."""
    X = np.tile(rng.normal(size=width) / width, (403, 1))
    model = LogisticRegression(classes=[0, 1], random_state=0).fit(X, rng.integers(0, 2, 403))
    for place in range(8):
        model.intercept_ = -(model.coef_ @ X[0]) * (1 + (place - 4) * 2.0**-53)
        assert len(np.unique(model.predict(X))) == 1
        assert len(np.unique(model.decision_function(X))) == 1


def test_probabilities_and_numbers_are_the_rows_own(rng):
    X = rng.normal(size=(203, 20))
    models = [
        LogisticRegression(random_state=0).fit(X, np.arange(203) % 2).predict_proba,
        LogisticRegression(random_state=0).fit(X, np.arange(203) % 3).predict_proba,
        LinearRegression(target_bound=4.0, random_state=0).fit(X, X[:, 0]).predict,
        PoissonRegressor(target_bound=9.0, random_state=0).fit(X, np.arange(203) % 9).predict,
    ]
    for ask in models:
        whole = ask(X)
        assert all(np.array_equal(ask(X[[place]])[0], whole[place]) for place in range(203))
        assert np.array_equal(ask(X[3:]), whole[3:])
