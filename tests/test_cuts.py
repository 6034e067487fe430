"""Cut points from public bounds: where each rule puts them, and that they rise strictly inside any range."""

from itertools import pairwise

import numpy as np
import pytest

from tacit.schema import Bins
from tacit.schema.cuts import SPACINGS, cut_points

TINY = 5e-324
RANGES = [
    (0, 1), (17, 90), (0, 99_999), (0, 4_356), (-1e6, 1e6), (-1e6, 10), (-0.5, 1e6), (1e9, 1e9 + 2), (-1e9 - 2, -1e9),
    (-1e100, 1e100), (0, 1e100), (TINY, 1.0), (1e-9, 2e-9), (0, 1e-100), (-500, -0.5), (-5, 0), (1e99, 1e99 + 2e90),
    (2**60, 2**61), (12_285, 1_484_705),
]  # fmt: skip


@pytest.mark.parametrize("bounds", RANGES, ids=repr)
@pytest.mark.parametrize("spacing", SPACINGS)
def test_points_rise_strictly_inside(bounds, spacing):
    for count in (1, 2, 3, 5, 12, 31, 1000):
        points = cut_points(*bounds, count, spacing)
        edges = [float(bounds[0]), *points, float(bounds[1])]
        assert all(left < right for left, right in pairwise(edges))
        assert len(points) == count - 1 if spacing in ("even", "log") else len(points) <= count - 1
        if points:
            Bins("a", *bounds, points)


def test_even_points_are_even():
    np.testing.assert_allclose(cut_points(17, 90, 12, "even"), 17 + 73 * np.arange(1, 12) / 12, atol=0.01)
    assert cut_points(0, 100, 4, "even") == cut_points(0, 100, 4, "auto") == (25, 50, 75)


def test_logarithmic_points():
    np.testing.assert_allclose(cut_points(1, 1e6, 6, "log"), 10.0 ** np.arange(1, 6), rtol=0.005)
    np.testing.assert_allclose(cut_points(0, 1e6, 7, "log"), 10.0 ** np.arange(6), rtol=0.005)
    points = np.array(cut_points(-1e4, 1e4, 10, "log"))
    np.testing.assert_array_equal(points, -points[::-1])
    np.testing.assert_allclose(points[4:], [0, 1, 10, 100, 1000], rtol=0.005)
    assert cut_points(0, 0.1, 4, "log")[0] == pytest.approx(1e-4)


def test_round_points():
    whole = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000)
    assert cut_points(0, 4356, 20, "round") == whole
    assert cut_points(0, 4356, 7, "round") == (1, 5, 20, 100, 500, 2000)
    assert cut_points(-4356, 0, 7, "round") == (-2000, -500, -100, -20, -5, -1)
    assert cut_points(-4356, 4356, 99, "round") == (*(-size for size in reversed(whole)), 0, *whole)
    assert cut_points(-4356, 2, 99, "round") == (*(-size for size in reversed(whole)), 0, 1)
    assert cut_points(17, 90, 12, "round") == (20, 50)
    assert cut_points(0, 4356, 2, "round") == (1,)  # nothing, or something
    assert cut_points(-4356, 4356, 2, "round") == (0,)
    assert cut_points(1e9, 1e9 + 1, 9, "round") == ()


def test_automatic_points_of_wide_ranges_are_half_round():
    assert cut_points(0, 1000, 8, "auto") == cut_points(0, 1000, 8, "even")
    wide = set(cut_points(0, 99_999, 17, "auto"))
    assert wide >= {*cut_points(0, 99_999, 9, "round"), *cut_points(0, 99_999, 9, "even")}
    assert len(wide) > 13
