"""The price of a selection: exact outputs of small mechanisms, Renyi accounting, and what is composed with it."""

import itertools
import json
import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp

from tacit import PrivacyError
from tacit.privacy import accounting, events
from tacit.privacy.events import Claimed, Gaussian, Objective, PoissonGaussian, Selection, Sensitivity, Sphere
from tacit.privacy.selection import Profile, selected
from tacit.privacy.tails import gaussian_delta

GAUSSIAN = Gaussian(Sensitivity(1.0, 2.0), 10.0)
SCORE = Gaussian(Sensitivity(1.0, 1.0), 25.0)
OBJECTIVE = Objective(slope=1.0, trace=0.25, strength=5.0, scale=10.0, geometry="logistic")
EPSILONS = (0.0, 0.1, 0.5, 1.0, 2.0, 4.0)


def generated(x, stop):
    """E[x^K] for K geometric from 1 on."""
    return stop * x / (1 - (1 - stop) * x)


def hockey_stick(p, q, epsilon):
    return float(np.maximum(p - math.exp(epsilon) * q, 0.0).sum())


def best_of(law, scores, stop):
    """The exact law of the output with the best score, ties broken by a coin."""
    out = np.zeros_like(law)
    for score in np.unique(scores):
        tied, below = scores == score, law[scores < score].sum()
        here = law[tied].sum()
        if here > 0:
            won = generated(below + here, stop) - generated(below, stop)
            out[tied] = law[tied] * won / here
    return out


def pairs():
    """Small mechanisms: random ones, randomised response, Gaussians in cells, and one that fails with delta."""
    rng = np.random.default_rng(0)
    for _ in range(6):
        law = rng.dirichlet(np.ones(6), 2)
        yield law[0], law[1], rng.integers(0, 4, 6)
    for epsilon in (0.2, 1.0):
        e = math.exp(epsilon)
        two = np.array([e, 1.0]) / (1 + e)
        yield two, two[::-1], np.array([0, 1])
        yield two, two[::-1], np.array([1, 0])
        yield (
            np.array([0.99 * two[0], 0.99 * two[1], 0.01, 0]),
            np.array([0.99 * two[1], 0.99 * two[0], 0, 0.01]),
            (np.array([0, 1, 3, 2])),
        )
    edges = np.linspace(-6, 6.5, 60)
    phi = np.vectorize(lambda x: 0.5 * math.erfc(-x / math.sqrt(2)))
    for order in (np.arange(59), -np.arange(59), rng.permutation(59)):
        yield np.diff(phi(edges)), np.diff(phi(edges - 0.5)), order


@pytest.mark.parametrize("stop", [0.9, 0.5, 0.1, 0.01])
def test_the_bound_holds_for_every_output_law_that_can_be_written_down(stop):
    closest = math.inf
    for p, q, scores in pairs():

        def profile(epsilon, p=p, q=q):
            return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))

        bound = selected(Profile.of(profile), stop)
        chosen = best_of(p, scores, stop), best_of(q, scores, stop)
        assert chosen[0].sum() == pytest.approx(generated(p.sum(), stop), rel=1e-9)
        for epsilon, (a, b) in itertools.product(EPSILONS, (chosen, chosen[::-1])):
            exact = hockey_stick(a, b, epsilon)
            assert exact <= bound(epsilon) * (1 + 1e-12) + 1e-15
            if exact > 1e-12:
                closest = min(closest, bound(epsilon) / exact)
    assert closest < 2  # it is not above everything by its size


def test_the_law_of_the_best_is_that_of_trials_that_are_run():
    rng = np.random.default_rng(3)
    law, scores, stop, runs = np.array([0.2, 0.3, 0.1, 0.4]), np.array([2, 0, 1, 2]), 0.3, 50_000
    counts = rng.geometric(stop, runs)
    drawn = rng.choice(4, size=(runs, counts.max()), p=law)
    tried = np.where(np.arange(counts.max()) < counts[:, None], scores[drawn], -1)
    found = np.bincount(drawn[np.arange(runs), tried.argmax(axis=1)], minlength=4) / runs  # the first of equals
    expected = best_of(law, scores, stop)
    error = 6 * np.sqrt(expected * (1 - expected) / runs)  # two-sided, four cells: false alarm below 1e-8
    assert (np.abs(found - expected) <= error).all()


def renyi(mu, stop, delta):
    orders = [1 + x / 10 for x in range(1, 100)] + list(range(12, 64)) + [2**k for k in range(6, 14)]
    accountant = rdp.RdpAccountant(orders=orders)
    trial = dp_accounting.GaussianDpEvent(1 / mu)
    accountant.compose(dp_accounting.dp_event.RepeatAndSelectDpEvent(trial, 1 / stop, 1.0))
    return accountant.get_epsilon(delta)


@pytest.mark.parametrize("mu", [0.01, 0.1, 0.5, 1.5])
@pytest.mark.parametrize("trials", [1.5, 4, 16, 100])
def test_it_never_costs_more_than_renyi_accounting_says(mu, trials):
    event = Selection(candidates=((Gaussian(Sensitivity(mu, mu), 1.0),),), stop=1 / trials)
    for delta in (1e-2, 1e-5, 1e-9):
        price = accounting.epsilon((event,), delta, "replace-one")
        assert price < renyi(mu, event.stop, delta)
        assert price >= accounting.epsilon(event.candidates[0], delta, "replace-one")
        assert accounting.delta((event,), price, "replace-one") <= delta


def test_one_trial_costs_what_it_is_and_more_trials_cost_more():
    for base in ((GAUSSIAN,), (OBJECTIVE, GAUSSIAN, SCORE)):
        prices = [
            accounting.epsilon((Selection(candidates=(base,), stop=stop),), 1e-6, "replace-one")
            for stop in (1.0, 0.99, 0.5, 0.1, 0.01)
        ]
        assert prices[0] == accounting.epsilon(base, 1e-6, "replace-one")
        assert prices == sorted(prices)
        assert prices[1] < 1.02 * prices[0]


def test_a_trial_of_several_candidates_has_the_mean_of_their_profiles():
    weak, strong = (Gaussian(Sensitivity(1.0, 1.0), 2.0),), (Gaussian(Sensitivity(1.0, 1.0), 20.0),)
    mixed = Selection(candidates=(weak, strong), stop=1.0)
    for epsilon in (0.1, 0.7, 2.0):
        mean = (gaussian_delta(0.5, epsilon) + gaussian_delta(0.05, epsilon)) / 2
        assert accounting.delta((mixed,), epsilon, "replace-one") == pytest.approx(mean, rel=1e-6)


def test_gaussian_releases_beside_it_are_composed_with_its_losses():
    alone = Selection(candidates=((GAUSSIAN,),), stop=1.0)
    joint = accounting.epsilon((alone, GAUSSIAN), 1e-6, "replace-one")
    exact = accounting.epsilon((GAUSSIAN, GAUSSIAN), 1e-6, "replace-one")
    assert exact <= joint <= 1.005 * exact
    several = Selection(candidates=((GAUSSIAN,),), stop=0.2)
    apart = [accounting.epsilon((one,), 5e-7, "replace-one") for one in (several, GAUSSIAN)]
    assert accounting.epsilon((several, GAUSSIAN), 1e-6, "replace-one") < 0.85 * sum(apart)
    with pytest.raises(PrivacyError, match="together"):
        accounting.epsilon((several, several), 1e-6, "replace-one")


def test_a_profile_covers_the_curve_that_it_was_made_of():
    for mu in (1e-6, 0.05, 1.0, 6.0):
        made = Profile.of(lambda e, mu=mu: gaussian_delta(mu, e))
        assert made.masses.sum() + made.beyond == pytest.approx(1.0, abs=1e-9)
        for epsilon in np.linspace(-3 * mu, 6 * mu, 50):
            kept = float(made.masses @ np.maximum(0.0, 1 - math.exp(epsilon) / made.ratios[1:])) + made.beyond
            exact = gaussian_delta(mu, float(epsilon))
            assert exact <= kept * (1 + 1e-6) + 1e-12
            assert kept <= 1.1 * exact + 1e-12


@pytest.mark.parametrize("stop", [0.8, 0.2, 0.02])
@pytest.mark.parametrize("total", [0.3, 2.0])
def test_the_maximum_over_scores_is_found(stop, total):
    """Beside all scores tried one by one, where pieces are long: randomised response has three corners."""
    kept = 1 / (1 + math.exp(-total))
    made = Profile.of(lambda e: max(0.0, kept - math.exp(e) * (1 - kept)))
    x = np.concatenate([np.linspace(0.0, 1.0, 20_001), 1 - np.geomspace(1e-6, 1.0, 5_000)])
    lines = made.deltas[:, None] + made.ratios[:, None] * x
    bound = selected(made, stop)
    for epsilon in (0.0, 0.1, 0.5 * total, total, 2 * total):
        slopes = stop / (1 - (1 - stop) * np.minimum(lines.min(axis=0), 1.0)) ** 2, stop / (1 - (1 - stop) * x) ** 2
        tried = slopes[0] - math.exp(epsilon) / made.ratios[1:, None] * slopes[1]
        expected = float(made.masses @ np.maximum(tried.max(axis=1), 0.0)) + made.beyond / stop
        assert expected <= bound(epsilon) <= expected * (1 + 1e-3) + 1e-8


def test_profiles_that_end_above_zero_still_have_a_price():
    """A curve with a floor of delta: its infinite losses are counted once a trial."""
    bound = selected(Profile.of(lambda e: min(1.0, gaussian_delta(0.1, e) + 1e-9)), 0.25)
    assert bound(1.5) == pytest.approx(4e-9, rel=0.05)


def test_selections_survive_json_and_refuse_what_they_cannot_hold():
    event = Selection(candidates=((OBJECTIVE, GAUSSIAN, SCORE), (GAUSSIAN, SCORE)), stop=0.25)
    data = json.loads(json.dumps(events.to_dict(event)))
    assert events.from_dict(data) == event
    with pytest.raises(ValueError, match="no selection within"):
        events.from_dict({**data, "candidates": [[data]]})
    for wrong in ([], [[]], "x", [["x"]], [[1]], [data["candidates"][0]] * 65):
        with pytest.raises(ValueError, match="Expected"):
            events.from_dict({**data, "candidates": wrong})
    for stop in (0.0, 1.5, math.nan, True, "1", 1e-5):
        with pytest.raises(ValueError, match="stop"):
            Selection(candidates=((GAUSSIAN,),), stop=stop)
    for foreign in (Claimed(1.0, 0.0, "paper"), Sphere(Sensitivity(1.0, 2.0), 3.0), event):
        with pytest.raises(ValueError, match="and nothing else"):
            Selection(candidates=((foreign,),), stop=0.5)


def test_the_other_adjacency_and_no_delta_have_no_price():
    event = Selection(candidates=((GAUSSIAN, SCORE),), stop=0.5)
    with pytest.raises(PrivacyError, match="replace-one"):
        accounting.epsilon((event,), 1e-6, "add-remove")
    assert accounting.epsilon((event,), 0.0, "replace-one") == math.inf


def test_sampled_steps_can_be_tried_too():
    steps = PoissonGaussian(clip=1.0, scale=5.0, rate=0.05, count=50)
    prices = [
        accounting.epsilon((Selection(candidates=((steps, SCORE),), stop=stop),), 1e-6, "replace-one")
        for stop in (1.0, 0.2)
    ]
    assert prices[0] < prices[1] < 2 * prices[0]
