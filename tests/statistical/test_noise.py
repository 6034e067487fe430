"""Noise has the scale that it says, and the tests would see a wrong one.

False-alarm rate of every test: at most 1e-6, from the exact distribution of its statistic, written as ALPHA.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from joblib import Parallel, delayed
from scipy import stats
from sklearn.base import clone

from tacit import LogisticRegression
from tacit.noise import (
    SeededSource,
    SystemSource,
    add_gaussian,
    add_sphere,
    choose,
    gaussian,
    grid,
    permutation,
    sphere,
    uniform,
)

ALPHA = 1e-6
SOURCES = [SystemSource(), SeededSource(7)]


def scale_is(sample, scale):
    """Chi-square test that centred normal noise has this standard deviation."""
    total = float((np.asarray(sample) ** 2).sum()) / scale**2
    low, high = stats.chi2.ppf([ALPHA / 2, 1 - ALPHA / 2], np.size(sample))
    return low <= total <= high


@pytest.mark.parametrize("source", SOURCES, ids=["system", "seeded"])
def test_gaussian_noise_is_normal_and_a_wrong_scale_is_seen(source):
    sample = gaussian(source, (40_000,))
    assert stats.kstest(sample, "norm").pvalue > ALPHA
    assert scale_is(sample, 1.0)
    assert not scale_is(sample, 1.05)
    assert not scale_is(sample, 0.95)
    assert stats.kstest(1.1 * sample, "norm").pvalue < ALPHA


@pytest.mark.parametrize("scale", [1e-9, 0.3, 5e7])
def test_released_noise_has_its_scale_at_any_size(scale):
    values = np.full(40_000, 3.0 * scale)
    noise = add_gaussian(values, scale, SystemSource()) - values
    assert scale_is(noise, scale)
    assert not scale_is(noise, 1.05 * scale)


def test_both_tails_are_reached_alike():
    sample = gaussian(SystemSource(), (200_000,))
    for threshold in (1.0, 2.0, 3.0):
        up, down = int((sample > threshold).sum()), int((sample < -threshold).sum())
        assert stats.binomtest(up, up + down).pvalue > ALPHA
        assert stats.binomtest(up + down, sample.size, 2 * stats.norm.sf(threshold)).pvalue > ALPHA


@pytest.mark.parametrize("size", [1, 2, 25])
def test_sphere_noise_has_a_gamma_norm_and_no_direction(size):
    sample = np.array([sphere(SystemSource(), (size,)) for _ in range(4_000)])
    norms = np.linalg.norm(sample, axis=1)
    assert stats.kstest(norms, "gamma", args=(size,)).pvalue > ALPHA
    assert stats.kstest(norms * 1.15, "gamma", args=(size,)).pvalue < ALPHA
    signs = int((sample[:, 0] > 0).sum())
    assert stats.binomtest(signs, len(sample)).pvalue > ALPHA


def test_released_values_are_whole_multiples_of_the_grid():
    values = np.random.default_rng(0).normal(size=1_000)
    for add in (add_gaussian, add_sphere):
        for scale in (1e-6, 0.7, 900.0):
            steps = add(values, scale, SystemSource()) / grid(scale)
            assert np.array_equal(steps, np.rint(steps))


def test_the_release_forgets_all_but_the_rounded_value():
    scale = 0.5
    value, hidden = np.full(100, 1.0), np.full(100, 1.0 + grid(scale) / 8)
    first, second = (add_gaussian(v, scale, SeededSource(3)) for v in (value, hidden))
    assert np.array_equal(first, second)


def test_poisson_sampling_has_its_rate():
    taken = int(choose(SystemSource(), 200_000, 0.03).sum())
    assert stats.binomtest(taken, 200_000, 0.03).pvalue > ALPHA
    assert stats.binomtest(taken, 200_000, 0.036).pvalue < ALPHA


def test_permutations_are_uniform():
    places = np.array([permutation(SystemSource(), 5)[0] for _ in range(20_000)])
    counts = np.bincount(places, minlength=5)
    assert stats.chisquare(counts).pvalue > ALPHA
    assert np.array_equal(np.sort(permutation(SystemSource(), 100)), np.arange(100))


def test_uniforms_never_reach_the_ends():
    sample = uniform(SystemSource(), 100_000)
    assert 0 < sample.min() < sample.max() < 1
    assert stats.kstest(sample, "uniform").pvalue > ALPHA


def test_ten_thousand_draws_do_not_repeat():
    assert len(np.unique(SystemSource().words(10_000))) == 10_000


def test_output_noise_of_repeated_fits_has_the_scale_of_the_guarantee():
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(60, 3)), np.arange(60) % 2
    model = LogisticRegression(2.0, method="output", fit_intercept=False)
    fits = [clone(model).fit(X, y) for _ in range(600)]
    exact = LogisticRegression(
        math.inf, method="output", fit_intercept=False, regularization=_strength(fits[0]) / 60
    ).fit(X, y)
    noise = np.array([fit.coef_[0] - exact.coef_[0] for fit in fits])
    (scale,) = fits[0].guarantee_.noise.values()
    assert scale_is(noise, scale)
    assert not scale_is(noise, 1.25 * scale)
    assert not scale_is(noise, 0.8 * scale)


def _strength(model):
    """Lambda, as the guarantee records it."""
    (line,) = (words for words in model.guarantee_.assumptions if words.startswith("regularization Lambda"))
    return float(line.split("=")[1])


def _coefficients(model, X, y):
    return clone(model).fit(X, y).coef_.ravel()


def test_workers_and_clones_never_share_noise():
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(50, 4)), np.arange(50) % 2
    rows = Parallel(n_jobs=2)(delayed(_coefficients)(LogisticRegression(1.0), X, y) for _ in range(8))
    assert len({tuple(row) for row in rows}) == 8
    classes = LogisticRegression(1.0, method="gradient").fit(X, np.arange(50) % 3).coef_
    assert len({tuple(row) for row in classes}) == 3
