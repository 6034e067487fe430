"""Budget to noise: the price fits, hardly anything is wasted, and impossible budgets are refused."""

import math
from dataclasses import replace

import pytest

from tacit.checks import PrivacyError
from tacit.privacy import accounting
from tacit.privacy.calibrate import fits, smallest_scale
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sensitivity, Sphere, SubsetGaussian
from tacit.types import Budget

ONE = Sensitivity(1.0, 2.0)


def plain(scale):
    return (Gaussian(ONE, scale),)


def pure(scale):
    return (Sphere(ONE, scale),)


def sampled(scale):
    return (PoissonGaussian(clip=1.0, scale=scale, rate=0.2, count=5),)


@pytest.mark.parametrize("guess", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("adjacency", ["replace-one", "add-remove"])
def test_closed_prices_are_met_to_a_millionth(adjacency, guess):
    sensitivity = ONE.under(adjacency)
    scale = smallest_scale(pure, Budget(0.5, 0.0, adjacency), guess)
    assert sensitivity / 0.5 <= scale <= sensitivity / 0.5 * (1 + 2e-9)
    budget = Budget(0.5, 1e-6, adjacency)
    scale = smallest_scale(plain, budget, guess)
    assert fits(plain(scale), budget)
    assert not fits(plain(scale * (1 - 3e-9)), budget)


def in_subsets(scale):
    return (SubsetGaussian(clip=1.0, scale=scale, batch=20, records=1000, count=40),)


SAMPLED = {"poisson": sampled, "subset": in_subsets}


def asked_by(released, budget, **guess):
    """The scales whose price was asked for, each once, and the answer."""
    scales, found = probed(released, budget, **guess)
    return list(dict.fromkeys(scales)), found


@pytest.mark.parametrize("kind", SAMPLED)
@pytest.mark.parametrize("guess", [1e-2, 1.0, 30.0])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_sampled_prices_are_met_to_a_thousandth_of_epsilon_with_few_prices(kind, epsilon, guess):
    released, budget = SAMPLED[kind], Budget(epsilon, 1e-6)
    scales, scale = asked_by(released, budget, guess=guess)
    price = accounting.epsilon(released(scale), 1e-6, "replace-one")
    assert fits(released(scale), budget)
    assert 0.999 * epsilon < price <= epsilon * (1 + 1e-9)
    assert not fits(released(scale * (1 - 1e-3)), budget)
    assert len(scales) <= 12


def test_a_good_guess_is_answered_by_it():
    budget = Budget(1.0, 1e-6)
    good = smallest_scale(sampled, budget)
    assert asked_by(sampled, budget, guess=good) == ([good], good)


def test_the_second_scale_is_where_a_plain_release_would_fit():
    """Noise and mu are inverse without sampling; then the line through two prices is followed."""
    budget = Budget(1.0, 1e-6)
    good = smallest_scale(sampled, budget)
    scales, _ = asked_by(sampled, budget, guess=1.5 * good)
    target = accounting.gaussian_mu(1.0, 1e-6)
    logs = [
        math.log(accounting.gaussian_mu(1.0, accounting.delta(sampled(scale), 1.0, "replace-one")) / target)
        for scale in scales[:2]
    ]
    assert scales[1] == pytest.approx(1.5 * good * math.exp(logs[0] + 1e-4), rel=1e-9)
    slope = (logs[1] - logs[0]) / math.log(scales[1] / scales[0])
    assert scales[2] == pytest.approx(scales[1] * math.exp(-(logs[1] + 1e-4) / slope), rel=1e-9)


def test_only_a_scale_that_was_seen_to_fit_is_returned(monkeypatch):
    """Whatever the prices do: here they jump, and no line leads to where they fall below the budget."""
    budget, border = Budget(1.0, 1e-6), 7.77
    monkeypatch.setattr(
        accounting, "delta", lambda events, epsilon, adjacency: 1e-2 if events[-1].scale < border else 1e-9
    )
    for guess in (1e-3, 1.0, 50.0):
        scale = smallest_scale(sampled, budget, guess)
        assert border <= scale <= border * (1 + 1e-4)


def test_what_sampled_noise_never_meets_is_refused():
    """What was spent before costs all of the budget: more noise does not help."""
    gone = Gaussian(Sensitivity(1.0, 1.0), 1 / (1.0001 * accounting.gaussian_mu(1.0, 1e-6)))
    for released in SAMPLED.values():
        with pytest.raises(PrivacyError, match=r"No amount of this noise is \(epsilon=1, delta=1e-06\)-private here"):
            smallest_scale(released, Budget(1.0, 1e-6, spent=(gone,)))
        with pytest.raises(PrivacyError, match="No amount of this noise"):
            smallest_scale(released, Budget(1.0, 0.0))


@pytest.mark.parametrize("kind", SAMPLED)
def test_a_ledger_that_admits_less_is_obeyed_and_one_that_admits_all_costs_nothing(kind):
    released, budget = SAMPLED[kind], Budget(1.0, 1e-6)
    alone = smallest_scale(released, budget)
    assert smallest_scale(released, replace(budget, admits=lambda events: True)) == alone
    strict = smallest_scale(released, replace(budget, admits=lambda events: events[-1].scale >= 5 * alone))
    assert 5 * alone <= strict <= 5 * alone * 1.011


def test_no_budget_needs_no_noise_and_an_impossible_one_is_refused():
    assert smallest_scale(plain, Budget(math.inf, 1e-6)) == 0.0
    with pytest.raises(PrivacyError, match=r"\(epsilon=1, delta=0\)-private here. Raise epsilon, use delta > 0, or"):
        smallest_scale(plain, Budget(1.0, 0.0))
    strong = Objective(
        slope=1.0, trace=0.25, strength=0.25, scale=1.0, geometry="monotone"
    )  # the determinant alone costs log 2
    with pytest.raises(PrivacyError, match="raise the regularization"):
        smallest_scale(
            lambda scale: (Objective(slope=1.0, trace=0.25, strength=0.25, scale=scale, geometry="monotone"),),
            Budget(0.5, 1e-6),
        )
    assert accounting.delta((strong,), 1.0, "replace-one") <= 1
    with pytest.raises(ValueError, match=r"^The noise scale fell to zero: is the sensitivity zero\?$"):
        smallest_scale(lambda scale: pure(1.0), Budget(3.0, 0.0))


def test_fits_at_the_border():
    assert fits(pure(2.0), Budget(1.0, 0.0))
    assert not fits(pure(2.0 * (1 - 1e-15)), Budget(1.0, 0.0))
    assert not fits(plain(1e9), Budget(1.0, 0.0))
    delta = accounting.delta(plain(4.0), 1.0, "replace-one")
    assert fits(plain(4.0), Budget(1.0, delta))
    assert not fits(plain(4.0), Budget(1.0, delta * (1 - 1e-12)))
    assert fits(pure(1.0), Budget(1.0, 0.0, "add-remove"))
    assert not fits(pure(1.0), Budget(1.0, 0.0))


def probed(released, budget, **guess):
    """The scales whose price was asked for, in order, and the answer."""
    scales = []

    def watched(scale):
        scales.append(scale)
        return released(scale)

    return scales, smallest_scale(watched, budget, **guess)


def test_the_bracket_grows_by_four_from_one_and_then_halves():
    scales, found = probed(pure, Budget(0.25, 0.0))
    assert scales[:5] == [1.0, 1.0, 4.0, 16.0, 8.0]  # what kind of noise it is, then its prices
    assert found == pytest.approx(8.0, rel=2e-9)
    # Then means of the logarithms, until the bracket is a billionth wide and not until no scale is left in it.
    assert scales[5:8] == [4.0, math.sqrt(32.0), math.sqrt(8 * math.sqrt(32.0))]
    assert len(scales) == 6 + 30
    scales, found = probed(pure, Budget(3.9, 0.0), guess=8.0)
    assert scales[:6] == [8.0, 8.0, 4.0, 2.0, 1.0, 0.5]
    assert found == pytest.approx(2 / 3.9, rel=2e-9)
    assert probed(pure, Budget(2.0**-380, 0.0))[1] == pytest.approx(2.0**381, rel=2e-9)
    with pytest.raises(PrivacyError):
        smallest_scale(pure, Budget(2.0**-500, 0.0))


@pytest.mark.parametrize("count", [50, 10_000])
def test_the_search_survives_saturated_prices(count):
    """A guess whose delta is 1, or next to nothing, says on which side the answer is and no more."""

    def released(scale):
        return (PoissonGaussian(clip=1.0, scale=scale, rate=0.9, count=count),)

    budget = Budget(1.0, 1e-9)
    good = smallest_scale(released, budget, guess=math.sqrt(count))
    for guess in (1e-5, 1e5):
        assert smallest_scale(released, budget, guess) == pytest.approx(good, rel=4e-4)
