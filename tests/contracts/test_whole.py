"""Sums that do not depend on how they were added: exact, by fractions; and fits that are the same bits in any order."""

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from tacit import LinearRegression, LogisticRegression
from tacit.data.rows import Design
from tacit.linear import records as blocks_of
from tacit.linear import whole
from tacit.linear.records import Records, most_rows
from tacit.linear.whole import Pieces, Whole, added, digits_of, gathered, outer_sum, power, split

MOST = 4096


def fractions(array):
    return np.vectorize(Fraction, otypes=[object])(np.asarray(array, dtype=float))


def exactly(sums):
    """What a whole sum stands for, a step at a time, as fractions; without rounding."""
    steps = fractions(np.asarray(sums.steps)).reshape(-1, *[1] * (sums.high.ndim - 1))
    return ((fractions(sums.high) * 2**26 + fractions(sums.low)) * steps).sum(axis=0)


def hard_rows(rng, n, d, clip=1.0):
    """Rows at the clip with all entries of one sign, rows with one entry, tiny ones, and ordinary ones; on the grid."""
    kinds = [np.full((n, d), 9.0 * clip), -np.full((n, d), 9.0 * clip), clip * rng.normal(size=(n, d)),
             1e-9 * clip * rng.normal(size=(n, d)), np.eye(d)[rng.integers(0, d, n)] * clip]  # fmt: skip
    return Design(np.stack(kinds, axis=1)[np.arange(n), rng.integers(0, 5, n)], clip)


# --- powers and pieces ------------------------------------------------------------------------------------------------
def test_the_least_power_of_two_that_is_as_large():
    for size in (1.0, 0.5, 3.0, math.nextafter(1.0, 2.0), math.nextafter(1.0, 0.0), 1e300, 1e-100):
        assert size <= power(size) < 2 * size
        assert math.frexp(power(size))[0] == 0.5
    assert power(1e-300) == 2.0**-600, "what is next to nothing has a step that is small, and no denormal one"
    assert [digits_of(n) for n in (0, 1, 2, 3, 64, 65, 4096)] == [0, 0, 1, 2, 6, 7, 12]


@pytest.mark.parametrize("count", range(1, 7))
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e-8, 1.0, 1e8, 1e150, 1e300])
@pytest.mark.parametrize("d", [1, 5, 300])
def test_scores_are_exact_piece_by_piece_and_right_to_their_digits(d, scale, count, rng):
    clip = 1e-4 if scale == 1e300 else 1.0  # so that products stay below the largest double
    rows = hard_rows(rng, 7, d, clip).dense(slice(None))
    weights = scale * rng.uniform(0.5, 1, size=(d, 2)) * rng.choice([1e-6, 1.0], size=(d, 2))
    weights[:, 1] = scale / math.sqrt(d)
    pieces = Pieces.of(weights, count)
    products = fractions(rows) @ fractions(pieces.columns)
    assert (fractions(rows @ pieces.columns) == products).all()
    parts = fractions(pieces.columns).reshape(d, count, 2).sum(axis=1)
    left = np.abs((fractions(weights) - parts).astype(float))
    long = max(float(np.linalg.norm(weights / scale)) * scale, 2.0**-600)
    assert left.max() <= max(long * (math.sqrt(d) * 2.0**-26) ** count, 2.0**-627)
    scores = pieces.scores(rows)
    off = np.abs((fractions(scores) - products.reshape(7, count, 2).sum(axis=1)).astype(float))
    assert off.max() <= count * 2.0**-52 * clip * long


def test_weights_have_the_digits_that_leave_sums_exact_and_no_more(rng, monkeypatch):
    """At the bound: rows at the clip, and weights along them. With more digits the sum is not exact."""
    rows = Design(rng.uniform(0.9, 1, size=(1, 900)), math.nextafter(2.0, 0.0)).dense(slice(None))
    weights = rng.uniform(0.99, 1, size=(900, 1))

    def exact():
        pieces = Pieces.of(weights, 1)
        return (fractions(rows @ pieces.columns) == fractions(rows) @ fractions(pieces.columns)).all()

    assert exact()
    monkeypatch.setattr(whole, "WEIGHT_DIGITS", 34)
    assert not exact()


@pytest.mark.parametrize(("digits", "count"), [(1, 1), (11, 4), (17, 1), (17, 6), (29, 3)])
def test_what_splitting_leaves_is_half_a_step(digits, count, rng):
    for largest in (1.0, 0.7, 3e-50, 1e50):
        values = largest * np.r_[1.0, -1.0, rng.uniform(-1, 1, 50), 0.0, 1e-30][:, None]
        parts, steps = split(values, largest, digits, count)
        parts = np.hstack(parts)
        assert (np.abs(parts / np.asarray(steps)) <= 2.0**digits).all()
        assert (fractions(parts / np.asarray(steps)) % 1 == 0).all()
        left = fractions(values[:, 0]) - fractions(parts).sum(axis=1)
        assert max(abs(left)) <= Fraction(steps[-1]) / 2


# --- sums -------------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("rows", [1, 64, MOST])
@pytest.mark.parametrize(("count", "largest"), [(1, 1.0), (2, 1.9), (4, 1e-50), (6, 1e40)])
def test_rows_times_slopes_are_exact(rows, count, largest, rng):
    """Slopes at their bound and rows at the clip, all of one sign, so that the sum is as large as it can be."""
    design = hard_rows(rng, rows, 2) if rows < MOST else Design(np.full((rows, 2), 1.0), 1.0)
    slopes = largest * rng.uniform(-1, 1, size=(rows, 2))
    slopes[:, 0] = largest
    digits = whole.DIGITS - 24 - digits_of(MOST)
    parts, _ = split(slopes, largest, digits, count)
    parts = fractions(parts).sum(axis=0)
    expected = fractions(design.dense(slice(None))).T @ parts
    sums = gathered(design.dense(slice(None)), slopes, design.step, largest, MOST, count)
    assert (exactly(sums) == expected).all()
    np.testing.assert_allclose(sums.value(), expected.astype(float), rtol=2.0**-51, atol=0)
    thin = gathered(sparse.csr_array(design.dense(slice(None))), slopes, design.step, largest, MOST, count)
    np.testing.assert_array_equal(thin.value(), sums.value())


def test_a_digit_more_of_slopes_is_seen(rng, monkeypatch):
    design = Design(np.full((MOST, 1), 1.0), 1.0)
    slopes = rng.uniform(0.9, 1, size=(MOST, 1))

    def exact(digits):
        monkeypatch.setattr(whole, "DIGITS", digits)
        (parts,), _ = split(slopes, 1.0, digits - 24 - digits_of(MOST), 1)
        sums = gathered(design.dense(slice(None)), slopes, design.step, 1.0, MOST, 1)
        return (exactly(sums) == fractions(design.dense(slice(None))).T @ fractions(parts)).all()

    assert exact(53)
    assert not exact(56)


@pytest.mark.parametrize("rows", [1, 64, 1000])
@pytest.mark.parametrize("count", [1, 2])
def test_outer_products_are_exact_and_alike_in_sparse_rows(rows, count, rng):
    values = hard_rows(rng, rows, 3).dense(slice(None))
    digits = (53 - digits_of(MOST)) // 2
    parts, _ = split(values, 1.0, digits, count)
    parts = fractions(parts).sum(axis=0)
    sums = outer_sum(values, 1.0, MOST, count)
    assert (exactly(sums) == parts.T @ parts).all()
    roots = rng.uniform(size=rows)
    for weights in (None, roots):
        plain = outer_sum(values, 1.0, MOST, count, weights).value()
        for other in (sparse.csr_array(values), np.asfortranarray(values)):
            np.testing.assert_array_equal(outer_sum(other, 1.0, MOST, count, weights).value(), plain)
    scaled = outer_sum(values * roots[:, None], 1.0, MOST, count).value()
    np.testing.assert_array_equal(scaled, plain)
    np.testing.assert_allclose(sums.value(), values.T @ values, atol=rows * 2.0 ** (3 - digits * count))


def test_numbers_are_added_exactly(rng):
    values = rng.uniform(-1, 1, size=(MOST, 3))
    (parts,), _ = split(values, 1.0, 36, 1)
    assert (exactly(added(values, 1.0, MOST)) == fractions(parts).sum(axis=0)).all()


@pytest.mark.parametrize("thin", [False, True])
def test_sums_are_the_same_bits_in_any_split_and_order(thin, rng):
    design = hard_rows(rng, 3000, 4)
    slopes = rng.uniform(-1, 1, size=(3000, 2))
    slopes[:1500] = 1.0  # first the sum grows to what the low part does not hold
    slopes[1500:] = -1.0

    def summed(order, cuts):
        blocks = np.split(order, cuts)
        rows = [sparse.csr_array(design.dense(at)) if thin else design.dense(at) for at in blocks]
        sums = [
            (gathered(r, slopes[at], design.step, 1.0, MOST, 2), outer_sum(r, 1.0, MOST, 2))
            for r, at in zip(rows, blocks, strict=True)
        ]
        return [whole_sum.value() for whole_sum in blocks_of.total(iter(sums))]

    first = summed(np.arange(3000), [])
    for cuts in ([1], [1500], np.arange(64, 3000, 64), np.arange(1, 3000, 97), [0, 0, 3000]):
        for order in (np.arange(3000), rng.permutation(3000)):
            for one, other in zip(first, summed(order, cuts), strict=True):
                np.testing.assert_array_equal(one, other)


def test_more_blocks_than_a_low_part_could_count_are_added_exactly(rng):
    """2**30 blocks, by doubling; a record less is seen whatever their number, and the value is rounded once."""
    block = added(rng.uniform(0.5, 1, size=(MOST, 1)), 1.0, MOST)
    record, total = added(np.array([[0.3]]), 1.0, MOST), block
    for _ in range(30):
        total = total.plus(total)
    assert (exactly(total) == 2**30 * exactly(block)).all()
    assert (exactly(total.plus(record)) == 2**30 * exactly(block) + exactly(record)).all()
    assert (exactly(total.plus(record).plus(total.negative())) == exactly(record)).all()
    assert total.value()[0] == float(exactly(total)[0]), "Python rounds fractions to the nearest double, too"
    assert np.abs(total.low).max() < 2**26


def test_a_value_does_not_tell_how_the_sum_came_about(rng):
    step = (2.0**-40,)
    for high, low in itertools.product((2**40 + 1, -(2**40) - 1), (5.0, -7.0)):
        one = Whole(np.array([[float(high)]]), np.array([[low]]), step)
        other = Whole(np.array([[high - 1.0]]), np.array([[low + 2.0**26]]), step)
        assert one.value() == other.value()


# --- fits -------------------------------------------------------------------------------------------------------------
def people_table(rng, n=400, d=4):
    X = rng.normal(size=(n, d)).astype(np.float32).astype(np.float64) * (rng.random((n, d)) < 0.7)
    return X, (X[:, 0] + rng.normal(size=n) > 0).astype(int), np.repeat(np.arange(n // 2), 2)


MODELS = {
    "objective": lambda: LogisticRegression(method="objective", classes=[0, 1], random_state=3),
    "stiff": lambda: LogisticRegression(50.0, method="output", regularization=1e-6, classes=[0, 1], random_state=3),
    "gradient": lambda: LogisticRegression(method="gradient", classes=[0, 1], random_state=3),
    "newton": lambda: LogisticRegression(method="newton", classes=[0, 1], random_state=3),
    "whitened": lambda: LogisticRegression(method="whitened-gradient", classes=[0, 1], random_state=3),
    "statistics": lambda: LinearRegression(method="statistics", target_bound=2.0, random_state=3),
    "adaptive": lambda: LinearRegression(method="adaptive", target_bound=2.0, random_state=3),
    "unshrunk": lambda: LinearRegression(method="unshrunk", target_bound=2.0, random_state=3),
    "people": lambda: LogisticRegression(method="gradient", rows_per_person=2, classes=[0, 1], random_state=3),
    "people, cut": lambda: LinearRegression(method="adaptive", rows_per_person=2, target_bound=2.0, random_state=3),
}  # fmt: skip


def fitted(name, X, y, people):
    model = MODELS[name]().fit(X, y, **({"groups": people} if "people" in name else {}))
    return np.r_[model.coef_.ravel(), np.ravel(model.intercept_)]


@pytest.mark.parametrize("name", sorted(MODELS))
def test_a_fit_is_the_same_bits_in_any_order_block_and_container(name, rng, monkeypatch):
    X, y, people = people_table(rng)
    first = fitted(name, X, y, people)
    order = rng.permutation(len(y))
    np.testing.assert_array_equal(fitted(name, X[order], y[order], people[order]), first)
    np.testing.assert_array_equal(fitted(name, X.astype(np.float32), y, people), first)
    np.testing.assert_array_equal(fitted(name, sparse.csr_array(X), y, people), first)
    monkeypatch.setattr(blocks_of, "MOST_ROWS", most_rows(X.shape[1] + 1))  # grids stay as they are
    monkeypatch.setattr(blocks_of, "BLOCK_NUMBERS", 1)
    assert len(list(Records.build(X, y, 1.0, 0.5).blocks())) == 7
    np.testing.assert_array_equal(fitted(name, X, y, people), first)
