"""Releases, number by number: the grid, what is rounded to it, what noise is added, and the constants behind slacks."""

import math

import numpy as np
import pytest

from tacit.privacy import normals
from tacit.privacy.noise import (
    GRID_BITS,
    SeededSource,
    add_gaussian,
    add_sphere,
    draw_error,
    gaussian,
    gaussian_steps,
    grid,
    grid_slack,
    longest,
    release,
    release_whole,
    sphere,
    sphere_steps,
    whole_values,
)

RARE = 88.722839111673  # 128 log 2


class Silent:
    """No word may be drawn."""

    seeded = True

    def words(self, count):
        raise AssertionError("a word was drawn")


def test_grids():
    """A power of two, at most 2**-bits of the scale and more than half of that."""
    assert GRID_BITS == 24
    assert [grid(scale) for scale in (1.0, 1.999, 2.0, 0.999, 3e-9)] == [2**-24, 2**-24, 2**-23, 2**-25, 2**-53]
    assert [grid(3.0, bits) for bits in (0, 10, 36)] == [2.0, 2**-9, 2**-35]
    assert grid_slack(5.0, 9) == 3 * 2**-22
    for bad in (0.0, -1.0, math.inf, math.nan):
        with pytest.raises(ValueError, match=rf"^Expected scale={bad} > 0 and finite\.$"):
            grid(bad)
    assert grid_slack(5.0, 16, 10) == 4 * 2**-8


def test_lengths_and_errors():
    assert longest(9, "gaussian") == pytest.approx(3 + math.sqrt(2 * RARE), rel=1e-12, abs=0)
    assert longest(9, "sphere") == pytest.approx(18 + RARE / 0.796, rel=1e-12, abs=0)
    three, four = longest(3, "gaussian"), longest(4, "gaussian")
    assert draw_error(3, "gaussian") == pytest.approx(2**-52 * (math.sqrt(3) + three), rel=1e-12, abs=0)
    long = 2 * longest(3, "sphere")
    assert draw_error(3, "sphere") == pytest.approx(2**-50 * (long + 2 * (three + four)), rel=1e-12, abs=0)


def test_draws_in_double_precision_are_as_near_as_stated():
    """Against the same draws with 128 digits more: far below the bound for one number, never above it."""
    for seed in range(20):
        draws = normals.draw(SeededSource(seed), 5)
        near, more = draws.numbers(), SeededSource(99)
        for i in range(5):
            one = draws.interval(i)
            one.refine(more)
            one.refine(more)
            assert abs(near[i] - one.place / 2**one.bits) <= 2**-52 * max(1.0, abs(near[i]))
    assert gaussian(SeededSource(1), (2, 3)).shape == sphere(SeededSource(1), (2, 3)).shape == (2, 3)
    np.testing.assert_array_equal(gaussian(SeededSource(1), (2, 3)).ravel(), normals.draw(SeededSource(1), 6).numbers())
    np.testing.assert_array_equal(sphere(SeededSource(1), (2, 3)).ravel(), normals.sphere_numbers(SeededSource(1), 6))


def test_values_in_whole_steps():
    values = np.array([0.0, 0.24, 0.26, -0.26, 1.3, -1e300, 1e300, math.inf, -math.inf])
    most = 2**61
    assert whole_values(values, 0.5).tolist() == [0, 0, 1, -1, 3, -most, most, most, -most]
    assert whole_values(values, 0.5).dtype == np.int64


def test_releases():
    """Values to the nearest step, noise in steps, added as whole numbers, times the step."""
    step = grid(1.0)
    out = release(np.array([0.4 * step, 2.6 * step, -7.0]), 1.0, np.array([5, -4, 1]))
    assert (out / step).tolist() == [5, -1, 1 - 7 * 2**24]
    values = np.array([1.0, math.pi])
    assert release(values, 0.0, np.array([1, 2])) is values
    for bad in (-1.0, math.inf, math.nan):
        sentence = rf"^Expected scale={bad} > 0 and finite\.$"
        for add in (add_gaussian, add_sphere):
            with pytest.raises(ValueError, match=sentence):
                add(values, bad, SeededSource(1))
        with pytest.raises(ValueError, match=sentence):
            release(values, bad, np.array([1, 2]))


@pytest.mark.parametrize(("add", "steps"), [(add_gaussian, gaussian_steps), (add_sphere, sphere_steps)])
def test_noise_of_a_release_is_the_draw_of_its_scale(add, steps):
    values, scale = np.array([[1.0, -2.0, 0.3]]), 1.7
    out = add(values, scale, SeededSource(4))
    noise = steps(SeededSource(4), (1, 3), scale, grid(scale))
    np.testing.assert_array_equal(out, (np.rint(values / grid(scale)) + noise) * grid(scale))
    assert noise.shape == (1, 3)
    assert add(values, 0.0, Silent()) is values
    draw = normals.whole if add is add_gaussian else normals.sphere_whole
    assert steps(SeededSource(4), (1, 3), 3.0, 0.25).ravel().tolist() == draw(SeededSource(4), 3, 12.0).tolist()


def test_releases_in_whole_steps():
    values = np.array([[0.26, -1.3]])
    noise = gaussian_steps(SeededSource(8), (1, 2), 3.0, 0.5)
    assert release_whole(values, 3.0, SeededSource(8), 0.5).tolist() == (noise + np.array([[1, -3]])).tolist()
