"""Exact normal draws: with the random words forced, probabilities of cells are computed from what the code does.

The second road is mpmath: the probability of a cell of the grid is a difference of normal distribution functions. What
the code does is measured by scripting its words: for every entry of the table that can lead to a cell, the share of
second words that are taken is found by bisection.
"""

import decimal
import itertools
import math
from dataclasses import dataclass, field
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from oracles import count_violations, shape_violations
from scipy import stats

from tacit.privacy import normals
from tacit.privacy.noise import SeededSource, SystemSource, choose, grid, longest, permutation

ENTRIES = 1 << 15
RATIO = 2.0**24 * 1.37
TABLE = normals._TABLE


@dataclass
class Script:
    """Gives out these words, then fails: nothing more must be asked for, unless ``then`` goes on."""

    script: list
    then: object = None
    asked: int = field(default=0)
    seeded: bool = True

    def words(self, count):
        given, self.script = self.script[:count], self.script[count:]
        self.asked += count
        if len(given) < count:
            assert self.then is not None, "more words were asked for than the script has"
            given = given + self.then.words(count - len(given)).tolist()
        return np.array(given, dtype=np.uint64)


class Again(Exception):
    """The draw asks for a word to begin again."""


@dataclass
class Once(Script):
    """A script that tells when the draw begins again."""

    def words(self, count):
        if count and not self.script:
            raise Again
        return super().words(count)


def taken(words):
    """Whether the draw that these words begin is kept, and where it is."""
    try:
        draws = normals.draw(Once(list(words)), 1)
    except Again:
        return None
    return draws.interval(0)


def is_at(interval, x):
    """Whether a draw was kept there; if not, the words that are left may have made another one."""
    return interval is not None and abs(interval.place / 2.0**interval.bits - float(x)) < 1e-12


def share(word, *between):
    """How many of the 2**64 last words are taken after ``word``: by bisection, as they are taken up to a limit."""
    low, high = -1, 1 << 64
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if taken([word, *between, middle]) is not None else (low, middle)
    return Fraction(high, 1 << 64)


def entries(column):
    """The entries of the table for a column of boxes: positive columns from 0 on, negative ones from -1 down."""
    return np.flatnonzero(TABLE.columns >> 49 == column).tolist()


def exactly(number):
    """A fraction for mpmath."""
    return mpmath.mpf(number.numerator) / number.denominator


def mass(x):
    """Area under the code's curve, in boxes, of a sliver at x that is as wide as a column: the taken shares, added."""
    column = math.floor(Fraction(x) * 32)
    place = math.floor((Fraction(x) * 32 - column) * 2**49)
    total = Fraction(0)
    for entry in entries(column):
        word = (entry << 49) | place
        total += 1 if entry < TABLE.quick else share(word)
    return exactly(total)


def tail_mass(x):
    """The same in the tail: column j comes with probability 2**-(j+1), is 16 times wider, and has two entries."""
    size = abs(Fraction(x))
    j = math.floor((size - 6) * 2)
    place = math.floor(((size - 6) * 2 - j) * 2**53)
    entry = TABLE.boxes if x > 0 else TABLE.boxes + 1
    heads = (1 << j) - 1  # j ones, then a zero
    return exactly(share(entry << 49, heads, place << 11) / 2 ** (j + 1) / 16)


def test_the_table_covers_the_curve():
    """Every column is at least as high as the curve there, boxes called safe are under it, and all entries are used."""
    columns = TABLE.columns >> 49
    assert sorted(set(columns.tolist())) == list(range(-192, 192))
    for i in range(192):
        inner, outer = (mpmath.mpf(normals.FACTOR) * mpmath.exp(-(mpmath.mpf(k) ** 2) / 2048) for k in (i, i + 1))
        for column in (i, -1 - i):
            mine = np.flatnonzero(columns == column)
            assert sorted(TABLE.levels[mine].tolist()) == list(range(len(mine)))
            assert len(mine) >= inner
            assert len(mine) < inner + 1 + 1e-6
            assert TABLE.levels[mine[mine < TABLE.quick]].max(initial=-1) + 1 <= outer
    assert TABLE.boxes == len(TABLE.columns) == len(TABLE.levels) <= ENTRIES - 2
    assert mpmath.mpf(2) ** -5 >= normals.FACTOR * mpmath.exp(-18)  # the tail's first column is above the curve


@pytest.mark.parametrize("x", [0.0, 0.013, -0.5, 1.2345, -2.0, 3.3, -4.71, 5.999, -5.97])
def test_density_in_the_bulk(x):
    """The taken area at x is A exp(-x^2/2), to what 2**64 second words can show."""
    exact = normals.FACTOR * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
    assert float(abs(mass(x) - exact)) < 1e-12


@pytest.mark.parametrize("x", [6.0, -6.2, 8.0, -8.0, 8.49, 9.0])
def test_density_in_the_tail(x):
    """The same where a draw in 10**10 and fewer come: relative to 2**-64 of the column's height, which is tiny."""
    exact = normals.FACTOR * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
    j = math.floor((abs(x) - 6) * 2)
    assert float(abs(tail_mass(x) - exact)) <= 2.0 ** (-64 - j - 5) * 1.01 + 1e-14 * float(exact)


@pytest.mark.parametrize("digits", [2, 3, 28])
def test_the_context_of_decimal_numbers_does_not_matter(digits):
    """A program that set its decimal numbers to few digits, to other rounding or to traps draws the same noise."""
    expected = tail_mass(6.2)
    with decimal.localcontext() as context:
        context.prec, context.rounding, context.Emin = digits, decimal.ROUND_UP, -5
        context.traps[decimal.Inexact] = True
        assert tail_mass(6.2) == expected


@pytest.mark.parametrize("x", [10.0, -10.3, 14.0, -14.0, 30.0])
def test_far_tail_takes_more_words_and_has_no_end(x):
    """Far out the curve is far below 2**-64 of a column: y gets as many words as it takes, and so does a draw at 30.

    A y that is a millionth below the curve is taken, a millionth above it is not.
    """
    j = math.floor((abs(x) - 6) * 2)
    place = math.floor(((Fraction(abs(x)) - 6) * 2 - j) * 2**53)
    start = [(TABLE.boxes if x > 0 else TABLE.boxes + 1) << 49, (1 << j) - 1, place << 11]
    with mpmath.workdps(500):
        height = mpmath.mpf(normals.FACTOR) * mpmath.mpf(2) ** (j + 5) * mpmath.exp(-(mpmath.mpf(x) ** 2) / 2)
        count = math.ceil((-float(mpmath.log(height, 2)) + 40) / 64)
        near = {kept: int(height * (1 - kept * mpmath.mpf("1e-6")) * 2 ** (64 * count)) for kept in (1, -1)}
    for kept, y in near.items():
        digits = [(y >> (64 * (count - 1 - k))) & (2**64 - 1) for k in range(count)]
        script = [*start, digits[0], *itertools.chain(*((0, digit) for digit in digits[1:]))]  # words of x are zero
        assert is_at(taken(script), x) == (kept == 1)


@pytest.mark.parametrize("z", [0.01, 1.01, 3.01, 5.51])
@pytest.mark.parametrize("ratio", [RATIO, 2.0**20, 2.0**36 * 1.9, 2.0**44 * 1.1])
def test_probabilities_of_cells(z, ratio):
    """P[whole = k] against differences of the normal distribution function, to 1e-11; a shift by half fails.

    The cell's borders are found in the words: the first of the 2**49 places of a column that rounds to k, and to k + 1.
    """
    k = round(z * ratio)
    lower, upper = (mpmath.mpf(k) + s * mpmath.mpf("0.5") for s in (-1, 1))
    with mpmath.workdps(40):
        exact = mpmath.quad(mpmath.npdf, [lower / ratio, upper / ratio])
    # Density at the middle times the width: the cell is a few millionths wide, so the curvature's part is below 1e-12.
    total = normals.FACTOR * mpmath.sqrt(2 * mpmath.pi)
    assert float(mass(k / ratio) / total / ratio / exact) == pytest.approx(1.0, abs=1e-11)
    column = math.floor(z * 32)
    entry = entries(column)[0]
    assert entry < TABLE.quick or z > 3.4
    if entry < TABLE.quick:
        for border in (lower, upper):
            place = math.floor((Fraction(int(2 * border), 2) / Fraction(ratio) * 32 - column) * 2**49)
            low = normals.whole(Script([(entry << 49) | (place - 1)], then=SeededSource(1)), 1, ratio)[0]
            high = normals.whole(Script([(entry << 49) | (place + 1)], then=SeededSource(1)), 1, ratio)[0]
            assert (low, high) == (int(border - 0.5), int(border + 0.5))


@pytest.mark.parametrize("ratio", [RATIO, 2.0**36 * 1.3])
def test_on_a_border_more_digits_decide(ratio):
    """A draw whose interval holds a border is decided by its next word, on the exact side of it."""
    k = round(1.2 * ratio)
    border = (Fraction(k) + Fraction(1, 2)) / Fraction(ratio)
    column = math.floor(border * 32)
    place = math.floor((border * 32 - column) * 2**49)
    entry = entries(column)[0]
    word = (entry << 49) | place
    cut = math.floor(((border * 32 - column) * 2**49 - place) * 2**64)  # where in the interval the border lies
    for second, expected in ((cut - 1, k), (cut + 1, k + 1), (0, k), (2**64 - 1, k + 1)):
        source = Script([word, second])
        assert normals.whole(source, 1, ratio)[0] == expected
        assert source.asked == 2


def test_on_the_curve_more_digits_decide():
    """A second word that meets the curve within what doubles can tell is decided with more digits, exactly."""
    x = Fraction(1, 2) + Fraction(1, 77)
    column = math.floor(x * 32)
    place = math.floor((x * 32 - column) * 2**49)
    x = (Fraction(column) + Fraction(place, 2**49)) / 32
    curve = normals.FACTOR * mpmath.exp(-(mpmath.mpf(x.numerator) ** 2) / mpmath.mpf(x.denominator) ** 2 / 2)
    level = int(mpmath.floor(curve))
    (entry,) = (e for e in entries(column) if TABLE.levels[e] == level)
    with mpmath.workdps(80):
        curve = normals.FACTOR * mpmath.exp(-((mpmath.mpf(x.numerator) / x.denominator) ** 2) / 2)
        digits = int(mpmath.floor((curve - level) * 2**64))
    word = (entry << 49) | place
    slope = float(curve) * float(x) * 2.0**-54 * 2.0**64  # how far the curve falls over the interval, in second words
    assert taken([word, digits - 10 - int(slope)]).bits == normals.BITS
    assert taken([word, digits + 10]) is None
    near = taken([word, digits - int(slope / 2), 0, 0])  # on the curve inside the interval: at its start, it is under
    assert is_at(near, x)
    assert near.bits > normals.BITS
    assert not is_at(taken([word, digits - int(slope / 2), 2**64 - 1, 0]), x)  # at its end, above


def test_middles_are_within_the_promise_and_symmetric():
    source = SeededSource(3)
    draws = normals.draw(source, 10_000)
    numbers = draws.numbers()
    for i in range(0, 10_000, 97):
        one = draws.interval(i)
        for _ in range(2):
            one.refine(source)
        assert abs(Fraction(float(numbers[i])) - Fraction(one.place, 1 << one.bits)) <= Fraction(
            max(1.0, abs(float(numbers[i]))) * 2.0**-52
        )
    mirrored = normals.Draws(-1 - draws.places, {})
    np.testing.assert_array_equal(mirrored.numbers(), -normals.Draws(draws.places, {}).numbers())


def test_rounding_is_that_of_the_draw():
    """whole() of the same words as numbers(): the same draws, rounded; a million of them, two-sided bulk tests."""
    count = 300_000
    steps = normals.whole(SeededSource(9), count, RATIO)
    numbers = normals.draw(SeededSource(9), 1 << 17).numbers()
    assert np.abs(steps[: 1 << 17] - RATIO * numbers).max() <= 0.5 + 1e-7
    unit = normals.whole(SystemSource(), count, RATIO) / RATIO
    assert shape_violations(unit, "norm") == []
    assert shape_violations(1.05 * unit, "norm")
    edges = stats.norm.ppf(np.linspace(0, 1, 65))
    assert count_violations(np.histogram(unit, edges)[0], [count / 64] * 64) == []
    assert count_violations(np.histogram(1.05 * unit, edges)[0], [count / 64] * 64)
    low = (normals.whole(SystemSource(), count, RATIO) & 15).astype(int)  # the last bits are uniform
    assert count_violations(np.bincount(low, minlength=16), [count / 16] * 16) == []


def test_small_ratios():
    """A grid as coarse as the noise itself: probabilities of the cells, with 0.3 and 1.7 steps a deviation."""
    for ratio, far in ((0.3, 0), (1.7, 2)):
        steps = normals.whole(SystemSource(), 200_000, ratio)
        cells = np.arange(-far, far + 1)
        expected = 200_000 * (stats.norm.cdf((cells + 0.5) / ratio) - stats.norm.cdf((cells - 0.5) / ratio))
        counts = [(steps == c).sum() for c in cells]
        assert count_violations([*counts, 200_000 - sum(counts)], [*expected, 200_000 - sum(expected)]) == []


@pytest.mark.parametrize("bad", [0.0, -1.0, 2.0**52, math.inf, math.nan])
def test_ratios_out_of_range_are_refused(bad):
    for noise in (normals.whole, normals.sphere_whole):
        with pytest.raises(ValueError, match="ratio"):
            noise(SeededSource(0), 3, bad)


# --- the sphere -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 3, 10, 400])
def test_sphere_rounds_as_an_ideal_draw(size):
    """Against the same words in 60 digits: every coordinate, 2**40 steps a unit, where doubles alone are often off."""
    for seed in range(12):
        steps = normals.sphere_whole(SeededSource(seed), size, 2.0**40)
        draws, source = normals.draw(SeededSource(seed), 2 * size + 1), SeededSource(1000)
        with mpmath.workdps(60):
            ends = []
            for i in range(2 * size + 1):
                one = draws.interval(i)
                one.refine(source)
                ends.append(mpmath.mpf(one.place) / mpmath.mpf(2) ** one.bits)
            norm = mpmath.sqrt(sum(y * y for y in ends[size:]))
            for i in range(size):  # digits beyond the first 54 are this test's own: they move it by 2**-14 steps or so
                assert abs(int(steps[i]) - mpmath.mpf(2) ** 40 * ends[i] * norm) < 0.5 + 2.0**-13 * float(norm + 1) * 4


def test_sphere_borders_are_decided_exactly():
    """One coordinate, a border inside the interval: the next words decide, on the exact side."""
    source = SeededSource(4)
    ratio = 2.0**43
    hits = 0
    for seed in range(300):
        recorded = Recorded(SeededSource(seed))
        steps = normals.sphere_whole(recorded, 1, ratio)
        if recorded.asked > 3:  # digits were drawn
            hits += 1
            again = normals.sphere_whole(Script(recorded.given, then=source), 1, ratio)
            assert again == steps
    assert hits >= 1


@dataclass
class Recorded:
    """A source that keeps what it gave."""

    inner: object
    given: list = field(default_factory=list)
    seeded: bool = True

    @property
    def asked(self):
        return len(self.given)

    def words(self, count):
        words = self.inner.words(count)
        self.given += words.tolist()
        return words


@pytest.mark.parametrize("size", [1, 2, 5, 40])
def test_sphere_norms_and_directions(size):
    draws = np.array([normals.sphere_whole(SystemSource(), size, RATIO) / RATIO for _ in range(4000)])
    norms = np.linalg.norm(draws, axis=1)
    assert shape_violations(norms, stats.gamma(size).cdf) == []
    assert shape_violations((1.25 if size < 40 else 1.05) * norms, stats.gamma(size).cdf)
    signs = (draws > 0).sum(axis=0)[0]
    assert count_violations([signs, 4000 - signs], [2000, 2000]) == []


def test_one_parameter_has_laplace_tails():
    """P[|b| > t] = e^-t: with one coordinate the product of |z| and ||y|| has no last value; counts to e^-9."""
    draws = np.abs([normals.sphere_numbers(SystemSource(), 1)[0] for _ in range(30_000)])
    edges = [0, 1, 2, 4, 6, math.inf]
    expected = [30_000 * (math.exp(-a) - math.exp(-b)) for a, b in itertools.pairwise(edges)]
    assert count_violations(np.histogram(draws, [*edges[:-1], 1e9])[0], expected) == []


# --- lengths, coins, orders -------------------------------------------------------------------------------------------
@pytest.mark.parametrize("size", [1, 2, 10, 1000])
def test_longest(size):
    """Exceeded with probability at most 2**-128, against the exact tails."""
    with mpmath.workdps(120):
        chi = mpmath.gammainc(mpmath.mpf(size) / 2, mpmath.mpf(longest(size, "gaussian")) ** 2 / 2, regularized=True)
        gamma = mpmath.gammainc(size, longest(size, "sphere"), regularized=True)
        assert chi <= mpmath.mpf(2) ** -128
        assert gamma <= mpmath.mpf(2) ** -128
    assert longest(size, "gaussian") < math.sqrt(size) + 14
    assert longest(size, "sphere") < 2 * size + 115


def test_coins_are_exact():
    """The byte below the rate's first 8 digits, and on a tie the next 64, and the rest."""
    third = 1 / 3
    first, rest = divmod(Fraction(third) * 2**8, 1)
    second = int(rest * 2**64)
    assert rest * 2**64 == second  # a double near 1/3 has 54 digits
    for words, expected in (([first - 1, 0], True), ([first + 1, 0], False), ([first, second - 1], True)):
        assert choose(Script(words), 1, third)[0] == expected
    assert not choose(Script([first, second]), 1, third)[0]
    tiny = 3 * 2.0**-78  # 0.046875 of 2**-72: the byte and the next word must be 0, the last below 3 * 2**58
    for words, expected in (([0, 0, 3 * 2**58 - 1], True), ([0, 0, 3 * 2**58], False), ([0, 1], False), ([1], False)):
        assert choose(Script(words), 1, tiny)[0] == expected
    assert choose(Script([]), 1, 1.0)[0]
    assert not choose(Script([0]), 1, 0.0)[0]
    for bad in (-0.1, 1.1, math.nan):
        with pytest.raises(ValueError, match="rate"):
            choose(Script([0]), 1, bad)


def test_orders_are_drawn_again_on_ties():
    source = Script([5, 5, 1, 7, 3, 1])
    assert permutation(source, 3).tolist() == [2, 1, 0]
    assert source.asked == 6


def test_grids_stay_in_range():
    """Every scale has 2**24 to 2**25 steps a deviation, far below what whole() takes."""
    for scale in (1e-300, 1e-9, 1.0, 1.999, 2.0, 1e300):
        assert 2.0**24 <= scale / grid(scale) < 2.0**25
