"""Budget to noise: the price fits, hardly anything is wasted, and impossible budgets are refused."""

import math

import pytest

from tacit.checks import PrivacyError
from tacit.privacy import accounting, calibrate
from tacit.privacy.calibrate import fits, smallest_scale
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sensitivity, Sphere
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


@pytest.mark.parametrize("guess", [1e-2, 30.0])
@pytest.mark.parametrize("epsilon", [0.3, 4.0])
def test_sampled_prices_are_met_to_less_than_a_percent_of_epsilon_with_few_prices(epsilon, guess, monkeypatch):
    asked = []
    known = accounting.epsilon
    monkeypatch.setattr(accounting, "epsilon", lambda *words: asked.append(words) or known(*words))
    budget = Budget(epsilon, 1e-6)
    scale = smallest_scale(sampled, budget, guess)
    price = known(sampled(scale), 1e-6, "replace-one")
    assert fits(sampled(scale), budget)
    assert 0.995 * epsilon < price <= epsilon
    assert 2 <= len(asked) <= 12


def test_the_end_of_the_bracket_that_fits_is_returned(monkeypatch):
    """Interpolation starts from the bracket, keeps the side that fits, and trusts no price that does not."""
    budget = Budget(1.0, 1e-6)
    assert calibrate._interpolate(sampled, budget, 1.0, 1.0 + 1e-4) == 1.0 + 1e-4
    good = smallest_scale(sampled, budget)
    assert calibrate._interpolate(sampled, budget, good / 2, 2 * good) == pytest.approx(good, rel=5e-3)
    assert fits(sampled(calibrate._interpolate(sampled, budget, good / 1.01, 1.01 * good)), budget)
    # A price that says "fits" while delta says otherwise does not win.
    monkeypatch.setattr(calibrate, "fits", lambda events, _: False)
    assert calibrate._interpolate(sampled, budget, good / 2, 2 * good) == 2 * good


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
    assert scales[:4] == [1.0, 4.0, 16.0, 8.0]
    assert found == pytest.approx(8.0, rel=2e-9)
    # Then means of the logarithms, until the bracket is a billionth wide and not until no scale is left in it.
    assert scales[4:8] == [4.0, 8.0, math.sqrt(32.0), math.sqrt(8 * math.sqrt(32.0))]
    assert len(scales) == 6 + 30
    scales, found = probed(pure, Budget(3.9, 0.0), guess=8.0)
    assert scales[:6] == [8.0, 4.0, 2.0, 1.0, 0.5, 1.0]
    assert found == pytest.approx(2 / 3.9, rel=2e-9)
    assert probed(pure, Budget(2.0**-380, 0.0))[1] == pytest.approx(2.0**381, rel=2e-9)
    with pytest.raises(PrivacyError):
        smallest_scale(pure, Budget(2.0**-500, 0.0))


def test_interpolation_takes_few_prices_and_stops_at_its_tolerances():
    """The price of epsilon is nearly a power of the scale, so the second guess is within the tolerance."""
    budget = Budget(1.0, 1e-6)
    good = smallest_scale(sampled, budget)

    def asked(low, high):
        scales = []
        found = calibrate._interpolate(lambda scale: scales.append(scale) or sampled(scale), budget, low, high)
        return scales, found

    scales, _ = asked(good / 2, 2 * good)
    assert len(set(scales)) <= 6
    assert scales[:2] == [good / 2, 2 * good]
    # A little to the private side of where the line says.
    line = [accounting.epsilon(sampled(scale), 1e-6, "replace-one") for scale in scales[:2]]
    share = math.log(line[0]) / math.log(line[0] / line[1])
    assert scales[2] == pytest.approx(good / 2 * 4 ** (share + 0.02), rel=1e-6)
    # Near enough at once: no third price, whether by the bracket or by epsilon.
    assert len(asked(good, good * 1.0004)[0]) == 2
    assert len(asked(good / 2, good)[0]) == 2
    assert len(asked(good / 2, good * 1.02)[0]) > 2


def test_interpolation_survives_an_infinite_price():
    """Half of the bracket, in logarithms, when the low end has no price."""
    scales = []

    def released(scale):
        scales.append(scale)
        return (PoissonGaussian(clip=1.0, scale=scale, rate=0.9, count=50),)

    budget = Budget(1.0, 1e-9)
    good = smallest_scale(released, budget)
    scales.clear()
    found = calibrate._interpolate(released, budget, 1e-5, 4 * good)
    assert scales[2] == pytest.approx(1e-5 * (4e5 * good) ** 0.52, rel=1e-6)
    assert found == pytest.approx(good, rel=5e-3)
