"""The exact sampler, piece by piece: its table as it is built, draws far out, rounding where doubles cannot tell."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from tacit.privacy import normals
from tacit.privacy.noise import SeededSource
from tacit.privacy.normals import BITS, FACTOR, Draws, _Interval

TABLE = normals._TABLE


class Given:
    """These words, then zeros."""

    seeded = True

    def __init__(self, *words):
        self.left, self.zeros = list(words), 0

    def words(self, count):
        given, self.left = self.left[:count], self.left[count:]
        self.zeros += count - len(given)
        return np.array(given + [0] * (count - len(given)), dtype=np.uint64)


def test_the_table_is_built_as_it_is_used():
    """Its parts are made when the module is loaded; made again they are the same, and fill 2**15 entries."""
    assert FACTOR == 400
    heights = normals._heights(FACTOR)
    assert len(heights) == 192
    assert 2 * sum(heights) + 2 <= 2**15 < 2 * sum(normals._heights(FACTOR + 1)) + 2
    curve = [400 * mpmath.exp(-(mpmath.mpf(i) ** 2) / 2048) for i in range(193)]
    assert heights == [int(mpmath.ceil(c)) + (c == 400) for c in curve[:-1]]  # the margin lifts 400 itself by a box
    again = normals._Table.build()
    for name in ("columns", "levels", "quick", "boxes"):
        np.testing.assert_array_equal(getattr(again, name), getattr(TABLE, name))
    assert again.columns.dtype == np.int64
    assert again.levels.dtype == np.float64
    safe = [int(mpmath.floor(c)) for c in curve[1:]]
    assert again.quick == 2 * sum(safe)
    assert again.boxes == 2 * sum(heights)
    pairs = set(zip((again.columns >> 49).tolist(), again.levels.tolist(), strict=True))
    assert pairs == {(c, k) for i, h in enumerate(heights) for k in range(h) for c in (i, -1 - i)}
    under = set(zip((again.columns[: again.quick] >> 49).tolist(), again.levels[: again.quick].tolist(), strict=True))
    assert under == {(c, k) for i, h in enumerate(safe) for k in range(h) for c in (i, -1 - i)}


@pytest.mark.parametrize("words", [1, 2])
@pytest.mark.parametrize("upper", [True, False])
def test_tails_have_columns_without_end(words, upper):
    """All-ones words are 64 heads each: the column is their number, and a y of zeros is under any curve."""
    entry = TABLE.boxes if upper else TABLE.boxes + 1
    heads = [2**64 - 1] * (words - 1) + [0b0111]
    place = (2**53 // 3) << 11
    (one,) = normals.draw(Given(entry << 49, *heads, place), 1).finer.values()
    column = 64 * (words - 1) + 3
    expected = (6 << BITS) + (column << (BITS - 1)) + 2**53 // 3
    shift = one.bits - BITS
    assert one.place >> shift == (expected if upper else -1 - expected)
    assert normals.draw(Given(entry << 49, *heads, place), 1).numbers()[0] == pytest.approx(
        (6 + 0.5 * column + 1 / 6) * (1 if upper else -1), rel=1e-15
    )


def test_leftover_entries_are_drawn_again():
    """The entry after the two tails is none: the draw begins again with the next word."""
    for entry in (TABLE.boxes + 2, 2**15 - 1):
        source = Given(entry << 49, (5 << 49) | 77)
        draws = normals.draw(source, 1)
        assert draws.places.tolist() == [TABLE.columns[5] + 77]
        assert (draws.finer, source.left, source.zeros) == ({}, [], 0)


def test_the_first_box_that_the_curve_crosses_is_compared():
    entry = TABLE.quick
    draws = Given(entry << 49, 0)
    normals.draw(draws, 1)
    assert draws.left == []  # a second word was taken
    again = Given((2**15 - 1) << 49, entry << 49, 0)
    normals.draw(again, 1)
    assert again.left == []
    quick = Given((entry - 1) << 49, 99)
    normals.draw(quick, 1)
    assert quick.left == [99]


def test_numbers_of_refined_draws():
    """The middle of the interval, however many digits it has."""
    finer = {0: _Interval(5, 3), 1: _Interval(-6, 3), 2: _Interval((7 << 64) + 12345, 66), 3: _Interval(-1, 1)}
    numbers = Draws(np.zeros(5, dtype=np.int64), finer).numbers()
    assert numbers[:2].tolist() == [5.5 / 8, -5.5 / 8]
    assert numbers[2] == float(Fraction(2 * ((7 << 64) + 12345) + 1, 2 << 66))
    assert numbers[3:].tolist() == [-0.25, 2.0**-55]
    assert numbers.dtype == np.float64


@pytest.mark.parametrize("x", [6.25, 10.0, -14.0])
@pytest.mark.parametrize("near", ["1e-6", "1e-25", "1e-60"])
def test_points_however_near_to_the_curve_are_on_the_right_side(x, near):
    """A y that is below the curve by 1e-60 of it is taken, and one that is above by as much is not."""
    j = math.floor((abs(x) - 6) * 2)
    place = math.floor(((Fraction(abs(x)) - 6) * 2 - j) * 2**53)
    start = [(TABLE.boxes + (x < 0)) << 49, (1 << j) - 1, place << 11]
    # The interval of a negative draw is [-k-1, -k): its digits are all ones at the end that is nearer to 0.
    digit = 0 if x > 0 else 2**64 - 1
    with mpmath.workdps(300):
        height = mpmath.mpf(FACTOR) * mpmath.mpf(2) ** (j + 5) * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
        count = math.ceil((-float(mpmath.log(height * mpmath.mpf(near), 2)) + 40) / 64)
        ends = {kept: int(height * (1 - kept * mpmath.mpf(near)) * 2 ** (64 * count)) for kept in (1, -1)}
    for kept, y in ends.items():
        digits = [(y >> (64 * (count - 1 - k))) & (2**64 - 1) for k in range(count)]
        script = [*start, digits[0], *itertools.chain(*((digit, d) for d in digits[1:]))]
        source = Given(*script, *([digit, 2**63] * 4), (3 << 49))
        finer = normals.draw(source, 1).finer
        taken = bool(finer) and abs(finer[0].place / 2.0 ** finer[0].bits - x) < 1e-9
        assert taken == (kept == 1)


def exact_products(draws, size, ratio, shift):
    """[ratio z ||y||] with every draw at the start of its interval plus ``shift`` of it, in whole numbers."""
    ends = [(Fraction(int(p)) + shift) / 2**BITS for p in draws.places]
    norm = sum(y * y for y in ends[size:])
    found = []
    for z in ends[:size]:
        square = (2 * ratio * z) ** 2 * norm
        found.append((1 if z >= 0 else -1) * ((math.isqrt(math.floor(square)) + 1) // 2))
    return found


@pytest.mark.parametrize("size", [1, 2, 3, 30])
@pytest.mark.parametrize("bits", [51.9, 49.3, 46.1, 42.7])
def test_sphere_noise_is_rounded_exactly_where_doubles_are_not(size, bits, monkeypatch):
    """With further digits forced to zero the draws are known: every coordinate against whole-number arithmetic."""
    ratio, differ = 2.0**bits, 0
    for seed in range(25):
        draws = normals.draw(SeededSource(seed), 2 * size + 1)
        assert not draws.finer
        monkeypatch.setattr(normals, "draw", lambda source, count, d=draws: Draws(d.places.copy(), {}))
        steps = normals.sphere_whole(Given(), size, ratio)
        expected = exact_products(draws, size, Fraction(ratio), Fraction(0))
        monkeypatch.undo()
        # Where digits were not drawn, any digits give the same: those of the start as well.
        assert steps.tolist() == expected
        numbers = draws.numbers()
        plain = np.rint(numbers[:size] * (ratio * math.sqrt(math.fsum(numbers[size:] ** 2))))
        differ += int((plain != np.array(expected, dtype=float)).sum())
    assert differ > 0 or bits < 48
    assert steps.dtype == np.int64


def test_sphere_noise_by_borders(monkeypatch):
    """One coordinate, the ratio chosen so that the border lies inside the interval of the product: digits decide."""
    border, met = Fraction(2**24) + Fraction(1, 2), 0
    for seed in range(120):
        draws = normals.draw(SeededSource(seed), 3)
        if (draws.places < 0).any():
            continue
        squares = [
            (Fraction(int(draws.places[0])) + s) ** 2 * sum((Fraction(int(p)) + s) ** 2 for p in draws.places[1:])
            for s in (0, 1)
        ]
        middle = Fraction(sum(math.isqrt(int(square)) for square in squares), 2 << (2 * BITS))
        ratio = float(border / middle)
        low, high = (Fraction(ratio) ** 2 * square / 4 ** (2 * BITS) for square in squares)
        if not low < border**2 < high:  # the ratio was rounded
            continue
        met += 1
        monkeypatch.setattr(normals, "draw", lambda source, count, d=draws: Draws(d.places.copy(), {}))
        found = {}
        for name, word in (("start", 0), ("end", 2**64 - 1)):
            source = Given(*[word] * 400)
            found[name] = int(normals.sphere_whole(source, 1, ratio)[0])
            assert len(source.left) < 400, "no digits were drawn"
        monkeypatch.undo()
        assert found == {"start": 2**24, "end": 2**24 + 1}
    assert met >= 3


def test_negative_draws_mirror_positive_ones(monkeypatch):
    """The noise is symmetric: mirrored intervals with mirrored digits round to the opposite numbers."""
    for seed in range(10):
        draws = normals.draw(SeededSource(seed), 9)
        mirrored = draws.places.copy()
        mirrored[:4] = -1 - mirrored[:4]
        found = []
        for places in (draws.places, mirrored):
            monkeypatch.setattr(normals, "draw", lambda source, count, p=places: Draws(p.copy(), {}))
            found.append(normals.sphere_whole(Given(), 4, 2.0**24 * 1.3))
        monkeypatch.undo()
        np.testing.assert_array_equal(found[0], -found[1])


def test_ratios_below_one_are_allowed():
    assert normals.sphere_whole(SeededSource(1), 3, 0.5).dtype == np.int64
    assert normals.whole(SeededSource(1), 3, 0.5).dtype == np.int64
    with pytest.raises(ValueError, match=r"^Expected 0 < ratio=0\.0 < 2\*\*52\.$"):
        normals.whole(SeededSource(1), 3, 0.0)
    with pytest.raises(ValueError, match=r"^Expected 0 < ratio=0\.0 < 2\*\*52\.$"):
        normals.sphere_whole(SeededSource(1), 3, 0.0)
