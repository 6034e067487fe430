"""The filter of a ledger: Renyi prices, limits, and an adversary who chooses depending on what came out."""

import math

import numpy as np
import pytest
from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.rdp import RdpAccountant
from scipy import integrate

from tacit.privacy import accounting, privacy_filters
from tacit.privacy.calibrate import smallest_scale
from tacit.privacy.events import (
    Gaussian,
    Objective,
    PoissonGaussian,
    Response,
    Sensitivity,
    Shuffled,
    Sphere,
    SubsetGaussian,
)
from tacit.privacy.privacy_filters import Filters, Price, block, orders_for, part
from tacit.privacy.renyi import curve_points, renyi_prices
from tacit.types import Budget

ORDERS = (2.0, 3.0, 5.0, 8.0)


def filter_of(epsilon, delta, adjacency="replace-one"):
    return Filters(epsilon, delta, adjacency, orders_for(epsilon, delta))


def nothing(kept):
    return Price(renyi=tuple(0.0 for _ in kept.orders))


def gaussian(mu, count=1):
    return (Gaussian(Sensitivity(mu, mu), 1.0, count),)


def sampled(scale, rate=0.01, count=200):
    return (PoissonGaussian(clip=1.0, scale=scale, rate=rate, count=count),)


def objective(scale, geometry="logistic"):
    return (
        Objective(slope=1.0, trace=0.25, strength=20.0, scale=scale, geometry=geometry),
        Gaussian(Sensitivity(1e-9, 2e-9), 1.0),
    )


def priced(events, adjacency, spare, orders=ORDERS):
    end = accounting.epsilon(events, spare, adjacency) * 1.1
    points = curve_points(lambda e: accounting.delta(events, e, adjacency), end)
    return np.array(renyi_prices(points, orders, spare))


@pytest.mark.parametrize("mu", [1e-3, 0.05, 0.3, 1.0])
def test_the_renyi_price_of_a_gaussian_curve_is_the_known_one(mu):
    ratio = priced(gaussian(mu), "replace-one", 1e-40) / (np.array(ORDERS) * mu**2 / 2)
    assert (ratio >= 1).all()
    assert (ratio <= 1.01).all()


@pytest.mark.parametrize(("rate", "scale", "count"), [(0.01, 1.0, 300), (0.1, 4.0, 100)])
def test_the_renyi_price_of_poisson_samples_is_never_below_that_of_dp_accounting(rate, scale, count):
    events = sampled(scale, rate, count)
    ours = priced(events, "add-remove", 1e-33, ORDERS[:3])
    theirs = []
    for order in ORDERS[:3]:
        one = RdpAccountant([order])
        one.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(scale)), count)
        theirs.append(one.get_epsilon(1e-5) - math.log1p(-1 / order) + math.log(1e-5 * order) / (order - 1))
    # Ours prices both directions of neighbours at once; that is why it may be above.
    assert (ours >= np.array(theirs) * (1 - 1e-9)).all()
    assert (ours <= np.array(theirs) * 1.06).all()


def test_the_formula_against_quadrature_for_randomised_response():
    pure, order = 0.7, 6.0
    kept = 1 / (1 + math.exp(-pure))
    true = math.log(kept**order * (1 - kept) ** (1 - order) + (1 - kept) ** order * kept ** (1 - order)) / (order - 1)

    def curve(e):
        return max(0.0, kept - math.exp(e) * (1 - kept))

    found, _ = integrate.quad(
        lambda e: (math.exp((order - 1) * e) + math.exp(-order * e)) * curve(e), 0, pure, epsabs=1e-12
    )
    assert math.log1p(order * (order - 1) * found) / (order - 1) == pytest.approx(true, rel=1e-9)
    (ours,) = renyi_prices(curve_points(curve, 1.001 * pure), (order,), 0.0)
    assert true <= ours <= 1.01 * true


def test_what_is_cut_off_is_cut_off_once():
    # A release that tells everything with probability p has no Renyi price, and has one up to p.
    def curve(e):
        return 1e-6 + max(0.0, 0.1 - 0.1 * e)

    points = curve_points(curve, 2.0)
    assert renyi_prices(points, (4.0,), 1e-7) == (math.inf,)
    assert renyi_prices(points, (4.0,), 1e-6)[0] < 1
    assert renyi_prices(curve_points(curve, 0.5), (4.0,), 1e-6) == (math.inf,)  # the rest of the curve is not known


def test_parts_of_delta_add_up_to_at_most_one():
    assert [block(number) for number in (1, 2, 3, 4, 5, 8, 9)] == [0, 1, 2, 2, 3, 3, 4]
    assert sum(part(block(number)) for number in range(1, 2**14 + 1)) == pytest.approx(1 - 1 / 16, rel=1e-9)
    assert math.fsum((privacy_filters.GAUSSIAN, privacy_filters.RENYI, privacy_filters.BASIC)) <= 1


GRID = [(0.1, 1e-9), (1.0, 1e-5), (3.0, 1e-6), (10.0, 1e-3)]


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_the_limits_of_all_filters_together_use_up_delta_and_no_more(epsilon, delta):
    kept = filter_of(epsilon, delta)
    shares = [accounting.gaussian_delta(math.sqrt(kept.most.gaussian), epsilon)]
    for order, most in zip(kept.orders, kept.most.renyi, strict=True):
        moment = (order - 1) * (most - epsilon + math.log1p(-1 / order)) - math.log(order)
        spare = privacy_filters.SPARE * privacy_filters.RENYI * delta / len(kept.orders)  # all entries together
        shares.append(math.exp(moment) + spare)
    shares.append(privacy_filters.BASIC * delta)
    assert 0.999 * delta < sum(shares) <= delta


@pytest.mark.parametrize(
    "events",
    [
        gaussian(0.3, 4), sampled(1.5, 0.2, 30), sampled(3.0, 1.0, 5), (Sphere(Sensitivity(1, 2), 3.0),),
        (Response(0.7),), (Response(3.0), *gaussian(0.5)),
        (SubsetGaussian(clip=1.0, scale=9.0, batch=50, records=99, count=3),), sampled(0.5, 0.1, 2),
    ],
    ids=lambda events: "+".join(type(event).__name__ for event in events),
)  # fmt: skip
def test_the_gaussian_filter_prices_by_a_gaussian_that_is_at_least_as_bad(events):
    mu = math.sqrt(filter_of(1.0, 1e-5).price(events, 1).gaussian)
    for epsilon in np.linspace(0, 4, 33):
        exact = accounting.delta(events, float(epsilon), "replace-one")
        assert accounting.gaussian_delta(mu, float(epsilon)) >= exact * (1 - 1e-6) - 1e-13


def test_an_entry_has_its_part_of_the_basic_filters_delta():
    kept, events = filter_of(1.0, 1e-5), objective(20.0)
    for number in (1, 2, 3, 1000):
        at = privacy_filters.BASIC * 1e-5 * part(block(number))
        assert kept.price(events, number).basic == accounting.epsilon(events, at, "replace-one")


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_gaussian_releases_add_up_like_square_roots(epsilon, delta):
    kept = filter_of(epsilon, delta)
    mu = accounting.gaussian_mu(epsilon / 10, delta)
    price, total, count = kept.price(gaussian(mu), 1), nothing(kept), 0
    costs = []
    while kept.certify(total.plus(price)):
        total, count = total.plus(price), count + 1
        costs.append(kept.spent(total))
    assert 35 <= count <= 100  # the square of 10, less what the shares of delta take and what small epsilons cost more
    exact = [accounting.epsilon(gaussian(mu, k + 1), delta, "replace-one") for k in range(count)]
    assert all(cost >= true for cost, true in zip(costs, exact, strict=True))
    assert all(cost <= 1.15 * true for cost, true in zip(costs, exact, strict=True))


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-5)])
def test_unlike_releases_together_cost_less_than_the_sum(epsilon, delta):
    kept, budget = filter_of(epsilon, delta, "add-remove"), Budget(epsilon / 6, delta, "add-remove")
    lists = [gaussian(accounting.gaussian_mu(budget.epsilon, delta)), sampled(smallest_scale(sampled, budget))]
    total = nothing(kept)
    for number in range(1, 7):
        total = total.plus(kept.price(lists[number % 2], number))
    assert kept.certify(total)
    assert kept.spent(total) < 0.85 * epsilon


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
@pytest.mark.parametrize("kind", ["gaussian", "objective", "two-sided", "sphere"])
def test_spent_and_certified_agree_and_nothing_is_free(epsilon, delta, kind):
    made = {
        "gaussian": lambda scale: gaussian(1 / scale), "objective": objective,
        "two-sided": lambda scale: objective(scale, "two-sided"), "sphere": lambda s: (Sphere(Sensitivity(1, 2), s),),
    }[kind]  # fmt: skip
    kept = filter_of(epsilon, delta)
    events = made(10 * max(1, 3 / epsilon))
    total, single = nothing(kept), accounting.epsilon(events, delta, "replace-one")
    for number in range(1, 60):
        total = total.plus(kept.price(events, number))
        assert kept.certify(total) == (kept.spent(total) <= epsilon * (1 + 1e-9))
        assert kept.spent(total) >= single * (1 - 1e-9)
    assert kept.room(total, 60) <= epsilon


@pytest.mark.parametrize(("epsilon", "delta"), GRID)
def test_the_room_that_is_left_is_room_for_a_gaussian_release(epsilon, delta):
    kept = filter_of(epsilon, delta)
    total = kept.price(objective(20 / epsilon), 1)
    for number in range(2, 12):
        left = kept.room(total, number)
        mu = accounting.gaussian_mu(left, delta)
        assert kept.certify(total.plus(kept.price(gaussian(mu), number)))
        assert not kept.certify(total.plus(kept.price(gaussian(1.01 * mu), number)))
        total = total.plus(kept.price(gaussian(mu / 4), number))


def test_pure_budgets_add_epsilons():
    kept = filter_of(1.0, 0.0)
    price = kept.price((Sphere(Sensitivity(1, 2), 8.0),), 1)  # epsilon = 1/4, exactly
    total = nothing(kept)
    for number in range(1, 5):
        total = total.plus(price)
        assert kept.certify(total) == (number <= 4)
    assert not kept.certify(total.plus(price))
    assert kept.price(gaussian(1e-3), 1).basic == math.inf
    assert kept.room(price, 2) == pytest.approx(0.75)


def test_prices_survive_json_with_infinities():
    price = Price(math.inf, (1.0, math.inf), 0.5)
    assert Price.from_dict(price.to_dict()) == price
    with pytest.raises(ValueError, match="numbers >= 0"):
        Price.from_dict({"gaussian": -1.0, "basic": 0.0, "renyi": []})


# --- an adversary ------------------------------------------------------------------------------------------------


def response_delta(pure, e):
    kept = 1 / (1 + math.exp(-pure))
    return max(0.0, kept - math.exp(e) * (1 - kept)) + max(0.0, (1 - kept) - math.exp(e) * kept)


def largest(admits, high):
    low = 0.0
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if admits(middle) else (low, middle)
    return low


def second_steps(kept, first):
    """delta(e) of the largest releases of several kinds that the filter still admits after the first."""
    total = kept.price(first, 1)
    alone = kept.certify(total)

    def admitted(events):
        return alone and kept.certify(total.plus(kept.price(events, 2)))

    found = [lambda e: max(0.0, -math.expm1(e))]
    mu = largest(lambda m: m < 1e-9 or admitted(gaussian(m)), 10.0)
    if mu > 1e-6:
        found.append(lambda e: accounting.gaussian_delta(mu, e))
    pure = largest(lambda p: p < 1e-9 or admitted((Response(p),)), 20.0)
    if pure > 1e-6:
        found.append(lambda e: response_delta(pure, e))
    leak = privacy_filters.BASIC * kept.delta * part(1)
    for share in (0.2, 0.5, 0.9):  # tells everything with a small probability, else randomised response
        if share * pure > 1e-6 and admitted((Shuffled(share * pure, leak, 1),)):
            found.append(lambda e, p=share * pure: leak + (1 - leak) * response_delta(p, e))
    return found


def adaptive_delta(kept, first, losses, weights):
    """Exact for the adversary who picks, for every outcome of the first release, the second that tells most."""
    steps = second_steps(kept, first)
    return sum(w * max(step(kept.epsilon - loss) for step in steps) for loss, w in zip(losses, weights, strict=True))


def outcomes(kind, size):
    """Losses of the first release and their probabilities."""
    if kind == "response":
        kept = 1 / (1 + math.exp(-size))
        return [size, -size], [kept, 1 - kept]
    x, w = np.polynomial.hermite_e.hermegauss(60)
    return list(size * x + size**2 / 2), list(w / w.sum())


@pytest.mark.parametrize("kind", ["response", "gaussian"])
@pytest.mark.parametrize("fraction", [0.2, 0.5, 0.8, 0.95])
@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 0.05), (1.0, 1e-3), (3.0, 1e-5)])
def test_no_adversary_who_looks_first_gets_more_than_delta(kind, fraction, epsilon, delta):
    kept = filter_of(epsilon, delta)
    size = fraction * (epsilon if kind == "response" else math.sqrt(kept.most.gaussian))
    first = (Response(size),) if kind == "response" else gaussian(size)
    assert adaptive_delta(kept, first, *outcomes(kind, size)) <= delta


def test_filters_that_each_took_the_whole_delta_would_fail(monkeypatch):
    """The shares are needed: the same adversary breaks a filter whose filters have all of delta."""
    for name in ("GAUSSIAN", "RENYI", "BASIC"):
        monkeypatch.setattr(privacy_filters, name, 1.0)
    privacy_filters._price.cache_clear()
    worst = 0.0
    for fraction in (0.2, 0.5, 0.8):
        kept = filter_of(3.0, 1e-5)
        mu = fraction * math.sqrt(kept.most.gaussian)
        worst = max(worst, adaptive_delta(kept, gaussian(mu), *outcomes("gaussian", mu)))
    privacy_filters._price.cache_clear()
    assert worst > 1.4e-5
