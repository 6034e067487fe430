"""The Renyi price of random subsets: never below the theorem in 400 digits, tight, and converted as published."""

import math
from itertools import pairwise

import dp_accounting
import numpy as np
import pytest
from dp_accounting import rdp
from mpmath import mp, mpf

from tacit.privacy import subset
from tacit.privacy.subset import RenyiPrices, subset_prices

MOVED = (1e-5, 1e-3, 0.02, 0.1, 0.3, 0.7, 2.0, 5.0)


def differences(moved):
    """The exact forward differences of e^{i(i-1) moved^2/2} at 0, by their order."""
    row = [mp.exp(i * (i - 1) * mpf(moved) ** 2 / 2) for i in range(41)]
    found = {}
    for k in range(1, 41):
        row = [b - a for a, b in pairwise(row)]
        found[k] = row[0]
    return found


def exact(rate, moved, order):
    """The right-hand side of the theorem, and (order - 1) times the divergence that it allows."""
    known, m, q = differences(moved), mpf(moved) ** 2 / 2, mpf(rate)
    total = mpf(1)
    for j in range(2, order + 1):
        root = 4 * mp.sqrt(known[2 * (j // 2)] * known[2 * -(-j // 2)])
        total += mp.binomial(order, j) * q**j * min(root, 2 * mp.exp(j * (j - 1) * m))
    return mp.log(total)


@pytest.mark.parametrize("moved", MOVED)
def test_differences_are_bounded_from_above_and_small_ones_are_tight(moved):
    with mp.workdps(400):
        known, got = differences(moved), subset._differences(0.5 * moved**2)
        ratios = [float(mpf(float(got[k // 2 - 1])) / known[k]) for k in range(2, 41, 2)]
    assert min(ratios) >= 1
    assert max(ratios[:2]) < 1.02


@pytest.mark.parametrize("moved", MOVED)
@pytest.mark.parametrize("rate", [1e-4, 0.01, 0.2])
def test_prices_are_the_theorems_rounded_up(rate, moved):
    orders, prices = subset_prices(rate, moved)
    with mp.workdps(400):
        for order in (2, 3, 8, 17, 40):
            value = exact(rate, moved, order) / (order - 1)
            ratio = float(mpf(float(prices[orders == order][0])) / value)
            assert 1 <= ratio < 1.001, (order, ratio)


def test_between_whole_orders_chords():
    orders, prices = subset_prices(0.05, 0.5)
    logs = dict(zip(orders.round(6).tolist(), ((orders - 1) * prices).tolist(), strict=True))
    assert logs[3.3] == pytest.approx(0.7 * logs[3.0] + 0.3 * logs[4.0], rel=1e-12)
    assert logs[1.4] == pytest.approx(0.4 * logs[2.0], rel=1e-12)
    assert orders.min() == 1.1
    assert orders.max() == 1024


@pytest.mark.parametrize(("records", "batch", "ratio"), [(32_561, 256, 1.2), (5000, 50, 3.0), (1000, 100, 0.6)])
def test_no_order_is_dearer_than_by_dp_accounting_and_no_delta_cheaper_where_orders_agree(records, batch, ratio):
    theirs = rdp.RdpAccountant(neighboring_relation=dp_accounting.NeighboringRelation.REPLACE_ONE)
    inner = dp_accounting.GaussianDpEvent(ratio)
    theirs.compose(dp_accounting.SampledWithoutReplacementDpEvent(records, batch, inner), 200)
    ours = subset_prices(batch / records, 1 / ratio)
    ours = RenyiPrices(ours.orders, 200 * ours.prices)
    for delta in (1e-9, 1e-5, 1e-2):
        epsilon = theirs.get_epsilon(delta)
        assert ours.epsilon(delta) <= epsilon * (1 + 1e-8)
        assert ours.delta(epsilon) <= delta * (1 + 1e-6)
        assert ours.epsilon(delta) > 0.99 * epsilon


def test_conversion_by_hand():
    one = RenyiPrices(np.array([3.0]), np.array([0.5]))
    value = math.exp(2 * (0.5 - 1.2 + math.log(2 / 3))) / 3
    assert one.delta(1.2) == pytest.approx(value, rel=1e-8)
    assert one.epsilon(value) == pytest.approx(1.2, rel=1e-8)
    # Of two that are nearly the same the total variation is less.
    near, total = RenyiPrices(np.array([3.0]), np.array([0.001])), math.sqrt(-math.expm1(-0.001))
    assert near.delta(0.0) == pytest.approx(total, rel=1e-8)
    assert near.epsilon(total * (1 + 1e-8)) == 0.0
    assert near.epsilon(total * (1 - 1e-3)) > 0
    joint = one.plus(np.array([0.25]))
    assert joint.prices == pytest.approx(0.75, rel=1e-8)
    assert joint.prices[0] > 0.75


def test_all_records_are_a_plain_release_and_the_farthest_have_no_price():
    orders, prices = subset_prices(1.0, 0.3)
    np.testing.assert_allclose(prices, orders * 0.045, rtol=1e-8)
    assert np.isinf(subset_prices(0.5, 1001.0).prices).all()
    assert subset_prices(0.5, 1001.0).delta(1.0) == pytest.approx(1.0)
    with np.errstate(all="raise", under="ignore"):
        assert np.isfinite(subset_prices(1e-9, 999.0).prices).all()
        assert (subset_prices(0.3, 1e-6).prices > 0).all()
