"""One door: the same numbers in any container are the same records, and no record's row depends on another's."""

import math
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from containers import dense_forms, extreme, number, single, tables, thin_forms, unsummed
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from tacit import LinearRegression, LogisticRegression, Schema, influence
from tacit.audit.pairs import Pair
from tacit.data.canonical import canonical
from tacit.data.rows import Design, row_norms
from tacit.linear.arithmetic import rounding_slack
from tacit.linear.losses import Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.protocol import Protocol

SECRET = 31415926.5
few = settings(deadline=None, max_examples=60)


def rows_of(design):
    """The design rows, in float64."""
    return design.dense(slice(None))


def same_bits(one, two):
    return np.array_equal(np.asarray(one) + 0.0, np.asarray(two) + 0.0)  # -0.0 is 0.0


# --- containers -----------------------------------------------------------------------------------------------------
@few
@given(tables() | tables(single) | tables(st.integers(-3, 3).map(float)), st.integers(0, 2**32))
def test_the_same_numbers_in_any_container_are_the_same_clipped_rows(X, seed):
    plain = Design(X, 0.7, 0.3)
    forms = {**dense_forms(X), **thin_forms(X, np.random.default_rng(seed))}
    for name, form in forms.items():
        design = Design(form, 0.7, 0.3)
        assert same_bits(rows_of(design), rows_of(plain)), name
        assert same_bits(design.norms, plain.norms), name


@pytest.mark.parametrize("d", [9, 127, 128, 129, 300])
def test_wide_rows_are_clipped_alike_however_they_are_stored(d, rng):
    """Norms are sums in the order of the columns; a sum in pairs would differ between the two."""
    X = rng.normal(size=(40, d)) * rng.uniform(0.1, 9, size=(40, 1)) * (rng.random((40, d)) < 0.5)
    X[3] = 0.0
    thin, dense = Design(sparse.csr_array(X), 1.0, 0.5), Design(X, 1.0, 0.5)
    assert same_bits(rows_of(thin), rows_of(dense))
    assert same_bits(thin.norms, dense.norms)
    pairs = np.sqrt((X**2).sum(axis=1))
    assert not same_bits(pairs, row_norms(X)), "an order of summation that this test tells apart"
    np.testing.assert_allclose(row_norms(X), pairs, rtol=1e-14)


@settings(deadline=None, max_examples=25)
@given(tables(number, 9) | tables(single, 9), st.integers(0, 2**32))
def test_the_same_numbers_in_any_container_give_the_same_gradients(X, seed):
    """To the last bit, dense or sparse: products of both kinds are exact."""
    rng = np.random.default_rng(seed)
    y, weights = rng.choice([-1.0, 1.0], len(X)), rng.normal(size=(X.shape[1] + 1, 1))

    def sums(form):
        problem = Problem(Records.build(form, y, 1.0, 0.5), Logistic())
        hessian = problem.gradient_and_hessian(weights)[1]
        return np.r_[problem.clipped_gradient(weights, 0.4).ravel(), hessian.ravel()]

    found = {name: sums(form) for name, form in {**dense_forms(X), **thin_forms(X, rng)}.items()}
    for name, seen in found.items():
        assert same_bits(seen, found["array"]), name


@pytest.mark.parametrize("method", ["auto", "individual"])
def test_the_same_numbers_in_any_container_give_the_same_model(method, rng):
    X = rng.normal(size=(150, 4)).astype(np.float32).astype(np.float64)
    X[rng.random(X.shape) < 0.4] = 0.0
    X[0], X[1, 0] = 3e38, 1e-30
    y = (X[:, 1] > 0).astype(int)

    def fit(form):
        model = LogisticRegression(method=method, classes=[0, 1], random_state=5).fit(form, y)
        return np.r_[model.coef_.ravel(), model.intercept_], model.decision_function(form)

    weights, scores = fit(X)
    for name, form in {**dense_forms(X), **thin_forms(X, rng)}.items():
        other, seen = fit(form)
        assert same_bits(other, weights), name
        assert same_bits(seen, scores), name


@few
@given(tables(number, 6), st.integers(0, 5), st.integers(0, 2**32))
def test_a_row_depends_on_no_other_record(X, place, seed):
    rng = np.random.default_rng(seed)
    forms = {**dense_forms(X), **thin_forms(X, rng)}
    place %= len(X)
    alone = Design(X[[place]], 0.7, 0.3)
    with np.errstate(over="ignore"):
        forms["beside float32"] = np.vstack([X, np.float32(X[:1])])
    for name, form in forms.items():
        if name == "beside float32" and not np.isfinite(form).all():
            continue
        whole = Design(form, 0.7, 0.3)
        assert same_bits(rows_of(whole)[place], rows_of(alone)[0]), name
        assert whole.norms[place] == alone.norms[0], name
        kept = whole.take(np.array([place]))
        assert same_bits(rows_of(kept), rows_of(alone)), name


# --- entries stored several times -------------------------------------------------------------------------------------
pieces = st.lists(st.tuples(st.integers(0, 2), extreme | st.floats(-1e300, 1e300)), max_size=8)


@few
@given(pieces, st.randoms(use_true_random=False), st.sampled_from([np.float64, np.float32]))
def test_a_sum_of_entries_depends_on_the_entries_alone(stored, random, kind):
    def built(entries, extra):
        columns = np.array([column for column, _ in entries], dtype=int)
        with np.errstate(over="ignore"):
            values = np.array([value for _, value in entries], dtype=kind)
        rows = np.zeros(len(entries), dtype=int)
        more = (np.r_[values, kind(7)], np.r_[rows, 1], np.r_[columns, 0]) if extra else (values, rows, columns)
        return unsummed(*more, (1 + extra, 3))

    form, shuffled = built(stored, False), built(random.sample(stored, len(stored)), True)
    one, two = canonical(form).astype(np.float64), canonical(shuffled).astype(np.float64)
    assert same_bits(np.nan_to_num(one.toarray()[0]), np.nan_to_num(two.toarray()[0]))
    exact = [math.fsum(float(kind(v)) for c, v in stored if c == place) for place in range(3) if _finite(stored, kind)]
    for place, total in enumerate(exact):
        size = sum(abs(float(kind(v))) for c, v in stored if c == place)
        if size < 1e308:
            assert one.toarray()[0, place] == pytest.approx(total, abs=8 * 2.0**-52 * size)


def _finite(stored, kind):
    with np.errstate(over="ignore"):
        return all(np.isfinite(kind(value)) and abs(value) < 1e306 for _, value in stored)


def test_sums_are_taken_in_float64_whatever_is_stored():
    def total(values, kind):
        places = np.zeros(len(values), dtype=int)
        return canonical(unsummed(np.array(values, dtype=kind), places, places, (1, 1))).toarray()[0, 0]

    assert total([1e8, 1.0, -1e8], np.float32) == 1.0
    assert total([200, 100], np.uint8) == 300.0
    assert total([True, True], bool) == 2.0
    assert total([2**62, 2**62, 2**62], np.int64) == 3 * 2.0**62


def test_a_sum_beyond_float64_is_refused_like_infinity():
    places = np.zeros(2, dtype=int)
    for values in ([1.7e308, 1.7e308], [math.inf, -math.inf], [math.nan, 1.0]):
        with pytest.raises(ValueError, match="Expected finite numbers in X"):
            Design(unsummed(np.array(values), places, places, (1, 1)), 1.0)


def test_no_flag_of_the_container_is_trusted():
    X = sparse.csr_array(np.array([[3e38, 1e31, 2.0]], dtype=np.float32))
    assert X.has_canonical_format
    X.indices[:] = 0  # the flag still says that each column stands once
    assert X.has_canonical_format
    np.testing.assert_allclose(Design(X, 1.0).matrix.toarray()[0], [1, 0, 0], rtol=1e-6)
    assert len(Design(X, 1.0).matrix.data) == 1


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("bad", [-1, 3, 10**6])
def test_indices_outside_the_shape_are_refused(form, bad):
    X = sparse.csr_array(np.eye(3)).asformat(form)
    if form == "coo":
        X.coords[0][1] = bad
    else:
        X.indices[1] = bad
    with pytest.raises(ValueError, match="it is damaged"):
        canonical(X)
    if form != "coo":
        X = sparse.csr_array(np.eye(3)).asformat(form)
        X.indptr[1] = bad
        with pytest.raises(ValueError, match="it is damaged"):
            canonical(X)


# --- sensitivity ------------------------------------------------------------------------------------------------------
CANCELLING = [
    (1e100, 1.0, -1e100), (3e38, 1e31, -3e38), (1e154, 1e140, -1e154), (1.6e308, 1e290, -1.6e308), (1e-320, 5e-324),
    (1.0, -1.0), (0.5,), (1e-200, 1e200, -1e200), (3e38, 3e38, -3e38, -3e38, 1e-30),
]  # fmt: skip


def crowd(rng, n=40, d=3):
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    return X, rng.choice([-1.0, 1.0], n)


def with_entries(X, values, kind):
    """The rows, and one more whose first column is stored in these pieces."""
    rows, columns = np.nonzero(X)
    data = np.r_[X[rows, columns], values].astype(kind)
    more = np.full(len(values), len(X))
    return unsummed(data, np.r_[rows, more], np.r_[columns, 0 * more], (len(X) + 1, X.shape[1]))


def moves_too_far(with_it, without, weights, clip=0.3):
    """Whether one record moves the clipped sum by more than is declared, rounding included."""
    moved = np.linalg.norm(with_it.clipped_gradient(weights, clip) - without.clipped_gradient(weights, clip))
    return moved > clip * (1 + rounding_slack(with_it.facts, clip))


def in_form(thin, form):
    """The CSR array in another container, entries as they are."""
    if form == "dense":
        return canonical(thin).toarray()
    if form == "coo":
        rows = np.repeat(np.arange(thin.shape[0]), np.diff(thin.indptr))
        return sparse.coo_array((thin.data, (rows, thin.indices)), shape=thin.shape)
    return thin.tocsc() if form == "csc" else thin


@pytest.mark.parametrize("values", CANCELLING, ids=str)
@pytest.mark.parametrize("form", ["csr", "csc", "coo", "dense"])
@pytest.mark.parametrize("loss", [Logistic(), Squared(1.0)], ids=["logistic", "squared"])
def test_one_record_moves_a_clipped_sum_by_no_more_than_is_declared(values, form, loss, rng):
    X, y = crowd(rng)
    for kind in (np.float64, np.float32) if max(values) < 3.4e38 else (np.float64,):
        with_it, without = (
            Problem(Records.build(in_form(with_entries(X, extra, kind), form), np.r_[y, 1.0], 1.0, 0.5), loss)
            for extra in (values, ())
        )
        without = replace(without, records=without.records.take(np.arange(len(X))))
        for size in (0.0, 1.0, 1e6):
            assert not moves_too_far(with_it, without, size * rng.normal(size=(4, 1)))


@few
@given(pieces, st.sampled_from(["csr", "csc", "coo", "dense"]), st.sampled_from([np.float64, np.float32]),
       st.sampled_from([0.0, 1.0, 1e6]), st.integers(0, 2**32))  # fmt: skip
def test_no_record_moves_a_clipped_sum_by_more_than_is_declared(stored, form, kind, size, seed):
    rng = np.random.default_rng(seed)
    X, y = crowd(rng, n=8)
    rows, columns = np.nonzero(X)
    places = np.array([place for place, _ in stored], dtype=int)
    with np.errstate(over="ignore"):
        data = np.r_[X[rows, columns], [value for _, value in stored]].astype(kind)
    entries = unsummed(data, np.r_[rows, 0 * places + len(X)], np.r_[columns, places], (len(X) + 1, 3))
    if not np.isfinite(canonical(entries).data).all():
        with pytest.raises(ValueError, match="Expected finite numbers in X"):
            Records.build(in_form(entries, form), np.r_[y, 1.0], 1.0, 0.5)
        return
    with_it = Problem(Records.build(in_form(entries, form), np.r_[y, 1.0], 1.0, 0.5), Logistic())
    without = replace(with_it, records=Records.build(in_form(entries[: len(X)], form), y, 1.0, 0.5))
    assert not moves_too_far(with_it, without, size * rng.normal(size=(4, 1)))


def test_that_measure_sees_products_of_rows_that_were_not_summed(rng):
    """The mistake that it is there for: norms of a copy that was summed as it was stored, products of the original."""
    X, y = crowd(rng)
    raw = with_entries(X, (3e38, 1e31, -3e38), np.float32)
    summed = raw.copy()
    summed.sum_duplicates()
    broken = Design(summed, 1.0, 0.5)
    constant = np.full((raw.shape[0], 1), 0.5, dtype=np.float32)
    object.__setattr__(broken, "matrix", sparse.csr_array(sparse.hstack([raw, constant], format="csr")))
    with_it = Problem(Records(broken, np.r_[y, 1.0][:, None]), Logistic())
    without = Problem(Records.build(X.astype(np.float32), y, 1.0, 0.5), Logistic())
    assert moves_too_far(with_it, without, np.zeros((4, 1)))


# --- what is shared, what is refused ----------------------------------------------------------------------------------
def test_containers_are_left_alone(rng, tmp_path):
    X = rng.normal(size=(50, 4))
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, shape=X.shape, mode="w+")
    mapped[:] = X
    fixed = np.memmap(tmp_path / "rows", dtype=np.float64, shape=X.shape, mode="r")
    for form in (X, X.astype(np.float32), mapped, fixed):
        before = form.copy()
        assert not np.shares_memory(Design(form, 1.0).matrix, form)
        np.testing.assert_array_equal(form, before)
    for form in (sparse.csr_array(X), sparse.csr_matrix(X.astype(np.float32))):
        before = form.toarray()
        assert not np.shares_memory(Design(form, 1.0).matrix.data, form.data)
        np.testing.assert_array_equal(form.toarray(), before)
        assert form.data.flags.writeable
        assert form.indptr.flags.writeable
    assert X.flags.writeable
    with pytest.raises(ValueError, match="read-only"):
        Design(X, 1.0).matrix[0] = 0.0
    messy = unsummed(np.array([3.0, 0.0, 8.0, 3.0]), np.zeros(4, dtype=int), np.array([1, 2, 0, 1]), (1, 3))
    kept = messy.data.copy(), messy.indices.copy(), messy.indptr.copy()
    np.testing.assert_array_equal(row_norms(messy), [10.0])
    for before, after in zip(kept, (messy.data, messy.indices, messy.indptr), strict=True):
        np.testing.assert_array_equal(before, after)


@pytest.mark.parametrize("X", [np.ones((2, 3)), sparse.csr_array(np.ones((2, 3)))], ids=["dense", "sparse"])
def test_an_intercept_that_leaves_rows_no_room_is_told(X):
    """The grid is for both: beside a huge constant its steps are longer than the rows."""
    for constant in (1e8, 1e300):
        with pytest.raises(ValueError, match=r"constant of 1e\+\d+ is too large beside clip=1: .* smaller constant"):
            Design(X, 1.0, constant)
    assert (np.abs(Design(X, 1.0, 1e3).matrix.sum(axis=1) - 1e3) > 1).all()


def test_records_cannot_be_built_around_the_door():
    with pytest.raises(ValueError, match="Design"):
        Records(np.eye(2), np.ones((2, 1)))
    with pytest.raises(TypeError):
        Design(np.eye(2), 1.0, 0.0, np.ones(2))
    with pytest.raises(AttributeError):
        Design(np.eye(2), 1.0).norms = np.full(2, 9.0)
    with pytest.raises(ValueError, match="read-only"):
        Design(np.eye(2), 1.0).norms[0] = 9.0
    with pytest.raises(ValueError, match="as many targets"):
        Records.build(np.eye(2), np.ones(3), 1.0, 0.0)
    with pytest.raises(ValueError, match="finite numbers as targets"):
        Records.build(np.eye(2), np.array([1.0, math.nan]), 1.0, 0.0)


def hidden(X):
    """The rows with one cell under a mask, which hides a number."""
    mask = np.zeros(X.shape, dtype=bool)
    mask.flat[1] = True
    return np.ma.array(np.where(mask, SECRET, X), mask=mask)


def test_nothing_is_read_from_under_a_mask(rng):
    X, y = rng.normal(size=(30, 3)), rng.integers(0, 2, 30)
    schema = Schema.from_dict({"columns": {"a": {"lower": 0, "upper": 1}}, "target": {"name": "t", "classes": [0, 1]}})
    protocol = Protocol.create(schema=schema, epsilon=1.0, delta=1e-6, cohort=1000)
    model = LogisticRegression(random_state=0).fit(X, y)
    doors = [
        lambda: model.fit(hidden(X), y), lambda: model.fit(list(hidden(X)), y), lambda: model.fit(X, hidden(y)),
        lambda: LogisticRegression(random_state=0).fit(X, y).predict(hidden(X)),
        lambda: LinearRegression(target_bound=1, random_state=0).fit(X, hidden(y * 1.0)),
        lambda: influence.influence_of(hidden(X), y), lambda: influence.influence_of(X, hidden(y)),
        lambda: protocol.rows(hidden(X[:, :1]), y), lambda: protocol.rows(X[:, :1], hidden(y)),
        lambda: Pair.of((hidden(X), y), (X, y)), lambda: Design(hidden(X), 1.0),
        lambda: Records.build(X, hidden(y * 1.0), 1.0, 0.0),
    ]  # fmt: skip
    for door in doors:
        with pytest.raises(ValueError, match=r"masked or missing cells|y has missing labels; remove those rows"):
            door()
    whole = np.ma.array(X, mask=np.zeros(X.shape, dtype=bool))
    np.testing.assert_array_equal(model.fit(whole, y).coef_, LogisticRegression(random_state=0).fit(X, y).coef_)


@pytest.mark.filterwarnings("ignore:X has feature names")
def test_networks_read_nothing_from_under_a_mask_and_any_container_alike(rng):
    nn = pytest.importorskip("tacit.nn")
    X, y = rng.normal(size=(20, 3)), rng.integers(0, 2, 20)
    X = X.astype(np.float16).astype(np.float64)
    model = nn.MLPClassifier(classes=[0, 1], bounds=(-0.1, 1.3), batch=5, epochs=1, random_state=0).fit(X, y)
    for rows, labels in ((hidden(X), y), (X, hidden(y))):
        with pytest.raises(ValueError, match=r"masked or missing cells|y has missing labels; remove those rows"):
            nn.MLPClassifier(classes=[0, 1], bounds=(0, 1)).fit(rows, labels)
    for name, form in dense_forms(X).items():
        np.testing.assert_array_equal(model.decision_function(form), model.decision_function(X), err_msg=name)


NA = pd.array([1, None], dtype="Int64")
MISSING = {
    "Int64": pd.DataFrame({"a": NA, "b": [1.0, 2.0]}), "Float64": pd.DataFrame({"a": NA}).astype("Float64"),
    "boolean": pd.DataFrame({"a": pd.array([True, None], dtype="boolean")}),
    "arrow frame": pd.DataFrame({"a": NA}).astype("int64[pyarrow]"),
    "objects": pd.DataFrame({"a": [1, None]}, dtype=object),
    "polars": pl.DataFrame({"a": [1, None]}), "polars bool": pl.DataFrame({"a": [True, None]}),
    "pyarrow": pa.table({"a": pa.chunked_array([[1], [None]])}), "lists": [[1.0], [None]],
    "dictionary": pa.table({"a": pa.chunked_array([pa.array([7, None]).dictionary_encode()])}),
}  # fmt: skip


@pytest.mark.parametrize("name", MISSING)
def test_missing_cells_are_refused_in_a_sentence(name):
    with pytest.raises(ValueError, match=r"NaN.*Schema.*missing = true"):
        LogisticRegression(classes=[0, 1]).fit(MISSING[name], [0, 1])


SPOILED = {
    "text": [[f"a{SECRET}"], [1.0]], "text array": np.array([[f"x{SECRET}"], ["1"]]), "number": [[SECRET], [math.nan]],
    "dict": np.array([[{SECRET: SECRET}], [1.0]], dtype=object), "complex": np.array([[SECRET + 1j], [1]]),
    "uneven": [[SECRET], [1.0, 2.0]], "flat": [SECRET, 1.0], "dates": np.array([["2020-01-01"], ["2021-01-01"]], "M8"),
    "frame": pd.DataFrame({"a": [f"x{SECRET}", "1"]}), "polars": pl.DataFrame({"a": [f"x{SECRET}", "1"]}),
    "pyarrow": pa.table({"a": [f"x{SECRET}", "1"]}), "infinity": np.array([[SECRET], [np.inf]]),
    "sparse infinity": sparse.csr_array(np.array([[SECRET], [np.inf]])), "huge": [[SECRET], [10**400]],
    "sparse complex": sparse.csr_array(np.array([[SECRET + 1j], [1]])), "bytes": [[b"\xff31415926"], [1.0]],
}  # fmt: skip


@pytest.mark.parametrize("name", SPOILED)
def test_no_error_quotes_a_record(name):
    for task in (
        lambda X: LogisticRegression(classes=[0, 1]).fit(X, [0, 1]),
        lambda X: LinearRegression(target_bound=1.0).fit(X, [0.0, 1.0]),
        lambda X: influence.influence_of(X, [0, 1]),
    ):
        with pytest.raises((ValueError, TypeError)) as caught:
            task(SPOILED[name])
        error: BaseException | None = caught.value
        while error is not None:
            assert "31415926" not in str(error)
            error = error.__cause__ or error.__context__


def test_labels_that_floats_cannot_tell_apart_are_refused(rng):
    X = rng.normal(size=(4, 2))
    big = 2**53
    mixed = [1.0, big + 1, big, 1.0]  # numpy makes floats of all: two classes would become one
    with pytest.raises(ValueError, match=r"below 2\*\*53"):
        LogisticRegression(classes=[1, big, big + 1]).fit(X, mixed)
    whole = LogisticRegression(classes=[1, big, big + 1], random_state=0).fit(X, [1, big + 1, big, 1])
    assert whole.classes_.tolist() == [1, big, big + 1]


@pytest.mark.parametrize(
    "labels",
    [
        pd.Series(["a", pd.NA, "b"] * 10, dtype="string"),
        pd.Series([True, pd.NA, False] * 10, dtype="boolean"),
        pd.Series([1, pd.NA, 0] * 10, dtype="Int64"),
        pd.Series(["a", None, "b"] * 10),
        pd.Series(["a", None, "b"] * 10, dtype="category"),
        ["a", None, "b"] * 10,
        np.array(["a", math.nan, "b"] * 10, dtype=object),
        np.ma.array([0, 1, 1] * 10, mask=[0, 1, 0] * 10),
        pl.Series(["a", None, "b"] * 10),
        pl.Series([True, None, False] * 10),
        pa.array(["a", None, "b"] * 10),
    ],
    ids=lambda labels: f"{type(labels).__module__}-{getattr(labels, 'dtype', '')}",
)
def test_missing_labels_are_one_sentence(labels, rng):
    with pytest.raises(ValueError, match=r"^y has missing labels; remove those rows\.$"):
        LogisticRegression(random_state=0).fit(rng.normal(size=(30, 2)), labels)


@pytest.mark.parametrize("kind", ["string", "boolean", "Int64", "category"])
def test_whole_labels_of_nullable_types_are_learned(kind, rng):
    labels = pd.Series([True, False, True] * 10 if kind != "string" else ["a", "b", "b"] * 10).astype(kind)
    assert len(LogisticRegression(random_state=0).fit(rng.normal(size=(30, 2)), labels).classes_) == 2


@pytest.mark.parametrize("estimator", [LogisticRegression(1.0), LinearRegression(1.0, target_bound=100.0)])
def test_complex_labels_are_refused_without_being_quoted(estimator):
    with pytest.raises(ValueError, match="not complex ones") as caught:
        estimator.fit(np.ones((4, 2)), np.array([41, 17, 93, 41]) + 0j)
    assert "41" not in str(caught.value)
