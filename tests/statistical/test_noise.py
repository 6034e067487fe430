"""Noise is what it says: right scale, right shape, no repeats, fresh everywhere. Each check fails for a wrong scale.

False alarms: every check has a rate of at most 1e-6 (``FALSE_ALARM``), two-sided; sources are the operating system's,
so a run of this file raises a false alarm less than once in ten thousand.
"""

import itertools
import math

import joblib
import numpy as np
import pytest
from instances import random_problem
from oracles import (
    count_violations,
    door,
    repeat_violations,
    sampler_violations,
    scale_violations,
    shape_violations,
)
from scipy import stats

from tacit.linear.losses import Logistic
from tacit.mechanisms import Disjoint, GradientPerturbation, ObjectivePerturbation, Output, Poisson, Subset
from tacit.privacy.noise import (
    GRID_BITS,
    SeededSource,
    SystemSource,
    add_gaussian,
    add_sphere,
    choose,
    gaussian,
    gaussian_steps,
    grid,
    grid_slack,
    permutation,
    release,
    sphere,
    uniform,
)
from tacit.types import Budget

SYSTEM = SystemSource()
WRONG = (0.9, 1.1)
FAR = (0.8, 1.25)
"""For a thousand samples or so: seven standard errors of the scale and more."""


def test_gaussian():
    noise = gaussian(SYSTEM, (200, 100))
    assert scale_violations(noise, 1.0) == []
    assert shape_violations(noise, "norm") == []
    assert all(scale_violations(factor * noise, 1.0) for factor in WRONG)
    assert shape_violations(1.1 * noise, "norm")
    signs = (noise > 0).sum()
    assert count_violations([signs, noise.size - signs], [noise.size / 2] * 2) == []


def test_gaussian_tails():
    """Beyond 3: 0.27% of the mass. An inversion with too few bits, or a table that ends, shows here."""
    noise = np.abs(gaussian(SYSTEM, (1_000_000,)))
    edges = [0, 1, 2, 3, 4, math.inf]
    expected = [1_000_000 * 2 * (stats.norm.sf(a) - stats.norm.sf(b)) for a, b in itertools.pairwise(edges)]
    counts = np.histogram(noise, bins=[*edges[:-1], 100.0])[0]
    assert count_violations(counts, expected) == []


def test_uniform():
    draws = uniform(SYSTEM, 50_000)
    assert shape_violations(draws, "uniform") == []
    assert ((draws > 0) & (draws < 1)).all()


@pytest.mark.parametrize("size", [1, 2, 7])
def test_sphere(size):
    """Norm ~ Gamma(size, 1), direction uniform: any fixed coordinate of it has the law of a Gaussian direction's."""
    draws = np.array([sphere(SYSTEM, (size, 1)).ravel() for _ in range(4000)])
    norms = np.linalg.norm(draws, axis=1)
    assert shape_violations(norms, stats.gamma(size).cdf) == []
    assert all(shape_violations(factor * norms, stats.gamma(size).cdf) for factor in (0.8, 1.25))
    first = draws[:, 0] / norms
    if size == 1:
        assert count_violations([(first > 0).sum(), (first < 0).sum()], [2000, 2000]) == []
    else:
        law = stats.beta((size - 1) / 2, (size - 1) / 2, loc=-1, scale=2)
        assert shape_violations(first, law.cdf) == []


@pytest.mark.parametrize("scale", [1e-9, 0.37, 1.0, 1e12])
def test_add_gaussian(scale):
    values = np.full((5000,), 3.0 * scale)
    out = add_gaussian(values, scale, SYSTEM)
    assert scale_violations(out - values, scale) == []
    assert all(scale_violations(out - values, factor * scale) for factor in WRONG)
    step = grid(scale)
    np.testing.assert_array_equal(out / step, np.rint(out / step))
    assert scale * 2.0 ** -(GRID_BITS + 1) < step <= scale * 2.0**-GRID_BITS


def test_add_sphere():
    norms = [np.linalg.norm(add_sphere(np.zeros((3, 1)), 2.0, SYSTEM)) / 2.0 for _ in range(3000)]
    assert shape_violations(norms, stats.gamma(3).cdf) == []
    assert shape_violations(1.2 * np.array(norms), stats.gamma(3).cdf)


def test_low_bits_do_not_survive():
    """Two values that differ by less than the grid give the very same release; more, and it moves by whole steps."""
    step, unit = grid(1.0), gaussian_steps(SeededSource(1), (1000,), 1.0, grid(1.0))
    base = np.linspace(-1, 1, 1000)
    rounded = step * np.rint(base / step)
    out = release(rounded, 1.0, unit)
    np.testing.assert_array_equal(out, release(rounded + 0.4 * step, 1.0, unit))
    np.testing.assert_array_equal(out + step, release(rounded + step, 1.0, unit))
    assert np.abs(rounded - base).max() * math.sqrt(1000) <= grid_slack(1.0, 1000)


def test_release_edges():
    np.testing.assert_array_equal(release(np.array([0.1]), 0.0, np.array([5])), [0.1])
    for bad in (-1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match="scale"):
            release(np.zeros(1), bad, np.zeros(1, dtype=np.int64))
    assert np.isfinite(release(np.array([1e300, -1e300, np.inf]), 1.0, np.ones(3, dtype=np.int64))).all()


# --- no repeats ------------------------------------------------------------------------------------------------------
def test_ten_thousand_draws_never_repeat():
    assert repeat_violations([gaussian(SYSTEM, (1,)) for _ in range(10_000)]) == []
    assert repeat_violations([SYSTEM.words(1) for _ in range(10_000)]) == []
    stream = SeededSource(0)
    assert repeat_violations([gaussian(stream, (1,)) for _ in range(10_000)]) == []


def some_words(source):
    return source.words(4)


def test_processes_and_copies_never_share_words():
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(some_words)(SYSTEM) for _ in range(40))
    found += [some_words(SystemSource()) for _ in range(10)]
    assert repeat_violations(found) == []


def test_seeds():
    np.testing.assert_array_equal(SeededSource(3).words(5), SeededSource(3).words(5))
    assert repeat_violations([SeededSource(seed).words(4) for seed in range(200)]) == []
    assert repeat_violations([SeededSource((1, 2)).words(4), SeededSource((2, 1)).words(4)]) == []
    assert SeededSource(3).seeded
    assert not SYSTEM.seeded


# --- samplers ---------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rate", [0.01, 0.3, 0.9])
def test_choose(rate):
    taken = choose(SYSTEM, 100_000, rate).sum()
    assert count_violations([taken, 100_000 - taken], [100_000 * rate, 100_000 * (1 - rate)]) == []
    wrong = choose(SYSTEM, 100_000, min(1.0, 1.1 * rate)).sum()
    if rate < 0.9:
        assert count_violations([0.95 * wrong + 40, 100_000 - wrong], [100_000 * rate / 2, 100_000 * (1 - rate)])


def test_permutation():
    """All 24 orders of four records, equally often."""
    orders = list(itertools.permutations(range(4)))
    counts = dict.fromkeys(orders, 0)
    for _ in range(6000):
        counts[tuple(int(i) for i in permutation(SYSTEM, 4))] += 1
    assert count_violations(list(counts.values()), [6000 / 24] * 24) == []


def test_poisson_sampler():
    sampler = Poisson(0.2)
    event = sampler.event(1.0, 0.0, 1.0, 300, 100, "gaussian")
    assert sampler_violations(sampler, event, 300, 100, SYSTEM) == []
    assert sampler.expected(300, 100) == 60.0


def test_subset_sampler():
    batches = list(Subset(5).batches(20, 2000, SYSTEM))
    assert all(len(set(rows.tolist())) == 5 for rows in batches)
    counts = np.bincount(np.concatenate(batches), minlength=20)
    # Without replacement the counts spread less than Pearson's test expects, so the false alarm rate is lower still.
    assert count_violations(counts, [500] * 20) == []
    pairs = np.zeros((20, 20))
    for rows in batches:
        pairs[np.ix_(rows, rows)] += 1
    shared = pairs[np.triu_indices(20, 1)]
    assert np.abs(shared - 2000 * 20 / 380).max() < 6 * math.sqrt(2000 * 20 / 380)


def test_disjoint_sampler():
    """Each record in exactly one batch, every batch equally likely."""
    batches = list(Disjoint().batches(9000, 6, SYSTEM))
    assert sorted(np.concatenate(batches).tolist()) == list(range(9000))
    assert count_violations([len(rows) for rows in batches], [1500] * 6) == []
    place = [next(i for i, rows in enumerate(Disjoint().batches(3, 4, SYSTEM)) if 1 in rows) for _ in range(2000)]
    assert count_violations(np.bincount(place, minlength=4), [500] * 4) == []


# --- whole fits ------------------------------------------------------------------------------------------------------
def test_final_noise_of_output_perturbation(rng):
    """Over repeated fits the coefficients scatter around the minimiser with the scale that the guarantee states."""
    problem = random_problem(Logistic(), rng, n=50, d=3)
    plan = Output().calibrate(Budget(1.0, 1e-5), problem.facts, 0.1, "proven")
    exact = plan.trainer.train(problem, SYSTEM)
    noise = np.array([plan.run(problem, SYSTEM).weights - exact for _ in range(400)])
    assert scale_violations(noise, plan.events[0].scale) == []
    assert all(scale_violations(noise, factor * plan.events[0].scale) for factor in FAR)
    for column in range(noise.shape[1]):
        assert shape_violations(noise[:, column] / plan.scale, "norm") == []
    flat = noise.reshape(len(noise), -1)
    correlation = np.corrcoef(flat.T)[np.triu_indices(flat.shape[1], 1)]
    assert np.abs(correlation).max() < 6 / math.sqrt(len(noise))


def test_noise_of_every_gradient_step(rng):
    """Every step of every run: fresh noise of the stated scale on every coordinate."""
    problem = random_problem(Logistic(), rng, n=50, d=3)
    plan = GradientPerturbation(steps=40).calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
    added = []
    for _ in range(20):
        with door() as calls:
            plan.run(problem, SYSTEM)
        added += [call.output - call.values for call in calls]
    assert scale_violations(np.array(added), plan.events[0].scale) == []
    assert repeat_violations(added) == []


def test_linear_term_of_objective_perturbation(rng):
    """The gradient of the plain objective at the released point is minus the noise: recover it, and test its scale."""
    problem = random_problem(Logistic(), rng, n=50, d=3)
    plan = ObjectivePerturbation().calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
    drawn = []
    for _ in range(300):
        weights = plan.run(problem, SYSTEM).weights
        drawn.append(-(problem.gradient(weights) + plan.strength * weights))
    assert scale_violations(np.array(drawn), plan.events[0].scale) == []
    assert all(scale_violations(np.array(drawn), factor * plan.events[0].scale) for factor in FAR)
