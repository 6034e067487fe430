"""Fits to tables that are read again give the bits of fits in memory: every estimator, method, source and batch."""

import contextlib
import math
import warnings
from itertools import pairwise

import numpy as np
import pytest

import tacit
from tacit import (
    AdditiveClassifier,
    AdditiveRegressor,
    LinearRegression,
    LinearSVC,
    LogisticRegression,
    PoissonRegressor,
    PrivacyError,
    QuantileRegressor,
)
from tacit.estimators.base import BY_ROW
from tacit.estimators.streaming import Asked
from tacit.linear import streamed
from tacit.linear.losses import Logistic
from tacit.linear.problem import Problem
from tacit.linear.records import Records
from tacit.mechanisms import Disjoint, GradientPerturbation
from tacit.mechanisms.registry import METHODS
from tacit.privacy.noise import SeededSource
from tacit.schema import Schema
from tacit.streams import columnar, queries, scanned
from tacit.streams import pieces as pieces_module
from tacit.types import Budget

pyarrow = pytest.importorskip("pyarrow")
ROWS = 240
ENDS = (0, 1, 1, 120, 121, ROWS)
"""Files of one row and of none among others."""
NAMES = ["a", "b", "c"]
SCHEMA = Schema.from_dict(
    {
        "columns": {
            "a": {"lower": -2, "upper": 2},
            "b": {"lower": -2, "upper": 2},
            "word": {"values": ["x", "y"]},
        },
        "target": {"name": "label", "classes": ["no", "yes"]},
    }
)
BOUNDED = Schema.from_dict({**SCHEMA.to_dict(), "target": {"name": "number", "lower": -2, "upper": 2}})


def made():
    rng = np.random.default_rng(7)
    table = {name: rng.normal(size=ROWS).round(3) for name in NAMES}
    score = table["a"] - table["b"] + 0.5 * rng.normal(size=ROWS)
    return table | {
        "word": rng.choice(["x", "y", "z"], ROWS).astype(object),
        "who": np.sort(rng.integers(0, 100, ROWS)),
        "weight": rng.uniform(0, 2, ROWS).round(3),
        "label": np.where(score > 0.3, "yes", "no").astype(object),
        "third": np.digitize(score, [-0.5, 0.5]),
        "number": score.round(3),
        "times": rng.poisson(np.exp(0.3 * score)),
    }


TABLE = made()
MATRIX = np.column_stack([TABLE[name] for name in NAMES])
COMMON = {"epsilon": 3.0, "delta": 1e-5, "random_state": 5, "weight_bound": 2.0}
TASKS = {
    "logistic": (LogisticRegression, {"classes": ["no", "yes"]}, "label"),
    "softmax": (LogisticRegression, {"classes": [0, 1, 2]}, "third"),
    "one-vs-rest": (LogisticRegression, {"classes": [0, 1, 2], "multiclass": "one-vs-rest"}, "third"),
    "svc": (LinearSVC, {"classes": [0, 1, 2]}, "third"),
    "linear": (LinearRegression, {"target_bound": 2.0}, "number"),
    "quantile": (QuantileRegressor, {"target_bound": 2.0}, "number"),
    "poisson": (PoissonRegressor, {"target_bound": 9.0}, "times"),
}
ONE_PASS = (LinearRegression, {"target_bound": 2.0, "method": "statistics"}, "number")
OWN = {"rows": {}, "people": {"groups": "who"}, "both": {"groups": "who", "sample_weight": "weight"}}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """The table in Parquet, CSV and Arrow files."""
    from pyarrow import csv, feather, parquet

    folder = tmp_path_factory.mktemp("people")
    for kind in ("parquet", "csv", "arrow"):
        (folder / kind).mkdir()
    for place, (start, stop) in enumerate(pairwise(ENDS)):
        part = pyarrow.table({name: column[start:stop] for name, column in TABLE.items()}, types())
        parquet.write_table(part, folder / f"parquet/{place}.parquet", row_group_size=70)
        csv.write_csv(part, folder / f"csv/{place}.csv")
        feather.write_feather(part, str(folder / f"arrow/{place}.arrow"), chunksize=70)
    return folder


def types():
    return pyarrow.table(TABLE).schema


def again(monkeypatch):
    """Tables as small as these are read once, into memory: now they are read as large ones are."""
    monkeypatch.setattr(streamed, "SMALL", 0)
    monkeypatch.setattr(streamed, "SMALL_COSTLY", 0)
    monkeypatch.setattr(streamed, "SPARE", math.inf)


def same(one, other):
    """The same numbers, to the last bit, and the same promise."""
    np.testing.assert_array_equal(one.coef_, other.coef_)
    np.testing.assert_array_equal(one.intercept_, other.intercept_)
    assert one.guarantee_ == other.guarantee_
    assert one.n_features_in_ == other.n_features_in_


def settings(own):
    return {**COMMON, **({"rows_per_person": 2} if "groups" in own else {})}


def both(kind, extra, target, own, X, table=TABLE, matrix=MATRIX):
    """The fit in memory, and the fit of a stream."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        arrays = {word: table[name] for word, name in own.items()}
        memory = kind(**settings(own) | extra).fit(matrix, table[target], **arrays)
        return memory, kind(**settings(own) | extra).fit(X, target, **own)


@pytest.mark.parametrize(("own", "reads"), [("rows", "kept"), ("people", "kept"), ("both", "again")])
@pytest.mark.parametrize("task", TASKS)
def test_every_estimator(task, own, reads, files, monkeypatch):
    if reads == "again" and task in ("logistic", "softmax", "linear"):  # the others differ in their loss alone
        again(monkeypatch)
    X = tacit.scan(files / "parquet")[NAMES]
    memory, found = both(*TASKS[task], OWN[own], X)
    same(memory, found)
    assert found.feature_names_in_.tolist() == NAMES


BLOCK_BY_BLOCK = ("input",)
"""Methods that draw noise for a block at a time: of the same law whatever the blocks are, and not of the same bits."""


@pytest.mark.parametrize("method", METHODS)
def test_every_method(method, tmp_path, monkeypatch):
    """Methods that look at single rows refuse, before anything is charged; all others give the same bits."""
    again(monkeypatch)
    monkeypatch.setattr(pieces_module, "BATCH", 25)
    few = {name: column[:60] for name, column in TABLE.items()}
    X, book = tacit.scan(few)[NAMES], tacit.Ledger(tmp_path / "book", epsilon=100, delta=1e-4)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for task in ("logistic", "linear"):
            kind, extra, target = TASKS[task]
            extra = {**COMMON, **extra, "method": method}
            try:
                memory = kind(**extra).fit(MATRIX[:60], few[target])
            except PrivacyError:  # not for this loss
                continue
            break
        if memory.guarantee_.theorem in BY_ROW:
            with pytest.raises(PrivacyError, match=r"must fit into memory\. Use method='auto'\.$"):
                kind(**extra, ledger=book).fit(X, target)
            assert not book.entries
            return
        found = kind(**extra).fit(X, target)
    assert found.guarantee_ == memory.guarantee_
    if method not in BLOCK_BY_BLOCK:
        same(memory, found)


def test_batches_that_share_no_record_need_records_whose_places_last(tmp_path, monkeypatch):
    """All of them are priced as one release; a place that has another record in a later pass would make it several."""
    again(monkeypatch)
    book = tacit.Ledger(tmp_path / "book", epsilon=100, delta=1e-4)
    model = LogisticRegression(**COMMON, classes=["no", "yes"], method="song-2013", ledger=book)
    with pytest.raises(PrivacyError, match="must fit into memory"):
        model.fit(tacit.scan(TABLE)[NAMES], "label")
    assert not book.entries
    asked = Asked.of(tacit.scan(TABLE)[NAMES], "label", None, None)
    problem = Problem(model._streamed(asked, model._answer(asked)), Logistic())
    plan = GradientPerturbation(Disjoint()).calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
    with pytest.raises(PrivacyError, match="must fit into memory"):
        plan.run(problem, SeededSource(0))


def sources(files):
    yield "parquet", str(files / "parquet/*.parquet")
    yield "csv", files / "csv"
    yield "arrow", [files / f"arrow/{place}.arrow" for place in range(len(ENDS) - 1)]
    yield "frame", tacit.scan(pyarrow.table(TABLE))
    whole = pyarrow.table(TABLE)
    yield "reader", pyarrow.RecordBatchReader.from_batches(whole.schema, whole.to_batches(max_chunksize=100))
    from pyarrow import dataset

    yield "dataset", dataset.dataset(files / "parquet")
    with contextlib.suppress(ImportError):
        import polars

        yield "polars", polars.scan_parquet(files / "parquet/*.parquet")
    with contextlib.suppress(ImportError):
        import duckdb

        yield "duckdb", duckdb.connect().read_parquet(str(files / "parquet/*.parquet"))


@pytest.mark.parametrize(("own", "reads"), [("rows", "kept"), ("both", "again")])
def test_every_source(own, reads, files, monkeypatch):
    if reads == "again":
        again(monkeypatch)
    seen = []
    for name, source in sources(files):
        seen.append(name)
        X = source if isinstance(source, scanned.Scan) else tacit.scan(source)
        same(*both(*ONE_PASS, OWN[own], X[NAMES]))
    assert {"parquet", "csv", "arrow", "reader", "dataset"} <= set(seen)


def test_arrays_on_disk(tmp_path, monkeypatch):
    monkeypatch.setattr(scanned, "LARGE", 0)
    again(monkeypatch)
    mapped = np.memmap(tmp_path / "rows", dtype=np.float64, mode="w+", shape=MATRIX.shape)
    mapped[:] = MATRIX
    for task, own in (("logistic", {}), ("linear", OWN["both"])):
        kind, extra, target = TASKS[task]
        arrays = {word: TABLE[name] for word, name in own.items()}
        memory = kind(**settings(own) | extra).fit(MATRIX, TABLE[target], **arrays)
        same(memory, kind(**settings(own) | extra).fit(mapped, TABLE[target], **arrays))
    with pytest.raises(ValueError, match="A label in y is not among classes"):
        LogisticRegression(classes=["no", "maybe"]).fit(mapped, TABLE["label"])


@pytest.mark.parametrize("batch", [1, 7, 10_000])
def test_any_batch(batch, files, monkeypatch):
    again(monkeypatch)
    for module in (pieces_module, columnar, queries, scanned):
        monkeypatch.setattr(module, "BATCH", batch)
    same(*both(*ONE_PASS, OWN["both"], tacit.scan(files / "parquet")[NAMES]))


@pytest.mark.parametrize("weights", ["balanced", {"no": 1.0, "yes": 3.0}])
@pytest.mark.parametrize("own", OWN)
def test_weights_of_classes(weights, own, files):
    kind, extra, target = TASKS["logistic"]
    extra = {**extra, "class_weight": weights}
    same(*both(kind, extra, target, OWN[own], tacit.scan(files / "parquet")[NAMES]))
    same(*both(LinearSVC, {"classes": [0, 1, 2], "class_weight": "balanced"}, "third", OWN[own],
               tacit.scan(files / "csv")[NAMES]))  # fmt: skip


@pytest.mark.parametrize("task", ["logistic", "linear"])
def test_inference(task, files):
    kind, extra, target = TASKS[task]
    memory, found = both(kind, {**extra, "inference": True}, target, {}, tacit.scan(files / "parquet")[NAMES])
    same(memory, found)
    one, other = memory.confidence_intervals(), found.confidence_intervals()
    np.testing.assert_array_equal(one.lower, other.lower)
    assert other.names[:3] == tuple(NAMES)


ADDITIVE = {
    "public": {"cuts": "even"},
    "cuts": {"cuts": "private"},
    "pairs": {"cuts": "private", "pairs": 1},
    "named pairs": {"cuts": "even", "pairs": [("a", "word")]},
    "balanced": {"cuts": "private", "pairs": 2, "class_weight": "balanced"},
}


READ = [*((case, own, "kept") for case in ADDITIVE for own in OWN), ("balanced", "both", "again")]


@pytest.mark.parametrize(("case", "own", "reads"), READ)
def test_additive_models(case, own, reads, files, monkeypatch):
    """The survey's counts, the schema that they choose, and the curves."""
    if reads == "again":
        again(monkeypatch)
    models = [(AdditiveClassifier, SCHEMA), (AdditiveRegressor, BOUNDED)]
    for kind, schema in models if "class_weight" not in ADDITIVE[case] else models[:1]:
        extra = {**settings(OWN[own]), **ADDITIVE[case], "schema": schema}
        memory = kind(**extra).fit(TABLE, **{word: TABLE[name] for word, name in OWN[own].items()})
        for X in (files / "parquet", tacit.scan(files / "csv"))[: 2 if case == "pairs" else 1]:
            found = kind(**extra).fit(X, **OWN[own])
            same(memory, found)
            assert memory.schema_ == found.schema_
            np.testing.assert_array_equal(memory.predict(TABLE), found.predict(TABLE))
            assert [str(term) for term in memory.terms_] == [str(term) for term in found.terms_]


def test_another_target_than_the_schema_declares(files):
    arguments = {**COMMON, "schema": SCHEMA, "classes": [0, 1, 2], "cuts": "private", "pairs": 1}
    memory = AdditiveClassifier(**arguments).fit(TABLE, TABLE["third"])
    found = AdditiveClassifier(**arguments).fit(files / "parquet", "third")
    same(memory, found)
    assert memory.schema_ == found.schema_
    assert found.schema_.target is None


def test_a_schema_of_a_scan(files, monkeypatch):
    memory = LogisticRegression(**COMMON, classes=["no", "yes"]).fit(SCHEMA.encode(TABLE), TABLE["label"])
    found = LogisticRegression(**COMMON).fit(tacit.scan(files / "csv", SCHEMA))
    same(memory, found)
    assert not hasattr(found, "feature_names_in_")
    again(monkeypatch)
    bounded = {**COMMON, "target_bound": (-3.0, 3.0), "method": "statistics"}
    memory = LinearRegression(**bounded).fit(BOUNDED.encode(TABLE), BOUNDED.encode_target(TABLE))
    same(memory, LinearRegression(**bounded).fit(tacit.scan(files / "csv", BOUNDED)))


def test_names_that_arrays_have(files):
    """A table may have columns of the names by which columns of arrays go."""
    table = {"rows": TABLE["a"], "targets": TABLE["label"], "b": TABLE["b"]}
    model = LogisticRegression(**COMMON, classes=["no", "yes"])
    found = model.fit(tacit.scan(table), "targets").coef_
    memory = LogisticRegression(**COMMON, classes=["no", "yes"]).fit(MATRIX[:, :2], TABLE["label"])
    np.testing.assert_array_equal(found, memory.coef_)


@pytest.mark.parametrize(("kind", "setting"), [("parquet", "SMALL"), ("csv", "SMALL_COSTLY")])
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_what_is_few_enough_is_kept(people, kind, setting, files, monkeypatch):
    """By public numbers alone: of rows or, where a person may have several, of people and the most of one."""
    asked = Asked.of(tacit.scan(files / kind)[NAMES], "label", "who" if people else None, None)
    model = LogisticRegression(classes=["no", "yes"], rows_per_person=5 if people else None)
    records = model._streamed(asked, model._answer(asked))
    again(monkeypatch)
    rows = 5 * len(np.unique(TABLE["who"])) if people else ROWS
    for limit, kept in ((4 * rows * 4, True), (4 * rows * 4 - 1, False)):
        monkeypatch.setattr(streamed, setting, limit)
        assert isinstance(streamed.held(records), Records) is kept


def test_rows_that_are_costly_to_read_are_kept_in_a_file_without_a_name(files, monkeypatch, tmp_path):
    """Same bits; the file is gone at once; plain numbers, and a disk without room, are read again."""
    memory = LogisticRegression(**COMMON, classes=["no", "yes"]).fit(tacit.scan(files / "csv")[NAMES], "label")
    again(monkeypatch)
    monkeypatch.setattr(streamed, "SPARE", 2.0)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    asked = Asked.of(tacit.scan(files / "csv")[NAMES], "label", None, None)
    model = LogisticRegression(**COMMON, classes=["no", "yes"])
    kept = streamed.held(model._streamed(asked, model._answer(asked)))
    assert isinstance(kept, Records)
    assert kept.design.spooled
    assert not list(tmp_path.iterdir())
    found = model.fit(tacit.scan(files / "csv")[NAMES], "label")
    np.testing.assert_array_equal(found.coef_, memory.coef_)
    plain = Asked.of(tacit.scan(files / "parquet")[NAMES], "label", None, None)
    assert not isinstance(streamed.held(model._streamed(plain, model._answer(plain))), Records)
    monkeypatch.setattr(streamed, "SPARE", math.inf)
    assert not isinstance(streamed.held(model._streamed(asked, model._answer(asked))), Records)


def test_records_are_joined_as_they_were(rng):
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    whole = Records.build(X, y, 1.0, 0.5)
    parts = [Records.build(X[a:b], y[a:b], 1.0, 0.5) for a, b in ((0, 0), (0, 7), (7, 30))]
    found = Records.joined(iter(parts), 40)
    np.testing.assert_array_equal(found.design.matrix, whole.design.matrix)
    np.testing.assert_array_equal(found.design.norms, whole.design.norms)
    assert not found.design.matrix.flags.writeable
    with pytest.raises(ValueError, match="same clip"):
        Records.joined(iter([parts[1], Records.build(X, y, 2.0, 0.5)]), 60)
    with pytest.raises(ValueError, match="at least one"):
        Records.joined(iter([]), 60)


MISUSE = {
    "no column to predict": (LogisticRegression, {}, {}, "Name the column to predict"),
    "an unknown column": (LogisticRegression, {}, {"y": "lable"}, "no column 'lable', which y names"),
    "targets as an array": (LogisticRegression, {}, {"y": [1, 2]}, "Expected y to name a column"),
    "people as an array": (
        LogisticRegression, {"rows_per_person": 2}, {"y": "label", "groups": [1, 2]}, "Expected groups to name a column"
    ),
    "unknown people": (
        LogisticRegression, {"rows_per_person": 2}, {"y": "label", "groups": "whom"}, "no column 'whom', which groups"
    ),
    "people without a bound": (
        LogisticRegression, {"classes": ["no", "yes"]}, {"y": "label", "groups": "who"}, "belong together"
    ),
    "a bound without people": (
        LogisticRegression, {"classes": ["no", "yes"], "rows_per_person": 2}, {"y": "label"}, "belong together"
    ),
    "one column for two things": (
        LogisticRegression, {"rows_per_person": 2}, {"y": "label", "groups": "label"}, "different columns"
    ),
    "labels that nobody declared": (LogisticRegression, {}, {"y": "label"}, "Declare the labels with classes="),
    "text without a schema": (
        LogisticRegression, {"classes": ["no", "yes"]}, {"y": "label"}, r"0\.parquet: Column 'word' .* in a schema"
    ),
    "no range": (AdditiveRegressor, {"schema": SCHEMA}, {"y": "number"}, "use target_bound="),
    "the target among the columns": (AdditiveClassifier, {"schema": SCHEMA}, {"y": "word"}, "as a column"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_one_sentence(case, files):
    kind, extra, given, sentence = MISUSE[case]
    model = kind(**COMMON | extra)
    with pytest.raises(ValueError, match=sentence):
        model.fit(tacit.scan(files / "parquet"), **given)
    assert not hasattr(model, "coef_")
    assert not hasattr(model, "guarantee_") or case == "text without a schema"


def test_schemas_and_picked_columns(files):
    scan = tacit.scan(files / "parquet", SCHEMA)
    model = LogisticRegression(**COMMON)
    for X, y, sentence in (
        (scan[NAMES], "label", "give the whole scan"),
        (tacit.scan(files / "parquet")[["a", "label"]], "label", "neither y, groups nor"),
        (tacit.scan(files / "parquet", Schema.from_dict({"columns": {"age": {"lower": 0, "upper": 1}}})), "label",
         r"lacks the columns \['age'\]"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=sentence):
            model.fit(X, y)
    with pytest.raises(ValueError, match="a different schema"):
        AdditiveClassifier(schema=BOUNDED).fit(scan, "label")
    for names, sentence in (
        (["a", "nothing"], r"no columns \['nothing'\]"),
        ([], "at least one"),
        (["a", "a"], "once"),
    ):
        with pytest.raises(ValueError, match=sentence):
            scan[names]


@pytest.mark.parametrize("reads", ["again", "kept"])
def test_a_label_in_a_later_file(reads, tmp_path, monkeypatch):
    """The sentence names the file and quotes nothing; no model is left, and what was spent is written down."""
    from pyarrow import parquet

    if reads == "again":
        again(monkeypatch)
    for place, label in enumerate(["no", "yes", "secret"]):
        columns = {"a": np.linspace(0, 1, 60), "label": ["no"] * 30 + [label] * 30}
        parquet.write_table(pyarrow.table(columns), tmp_path / f"{place}.parquet")
    book = tacit.Ledger(tmp_path / "book", epsilon=10, delta=1e-4)
    model = LogisticRegression(**COMMON, classes=["no", "yes"], ledger=book)
    model.coef_ = np.zeros((1, 1))
    with pytest.raises(ValueError, match=r"^2\.parquet: .*label outside classes") as caught:
        model.fit(str(tmp_path / "*.parquet"), "label")
    assert "secret" not in str(caught.value)
    assert not hasattr(model, "coef_")
    assert len(book.entries) == (1 if reads == "again" else 0)
    assert hasattr(model, "guarantee_") is (reads == "again")


def test_people_that_are_not_sorted(tmp_path):
    (tmp_path / "people.csv").write_text("a,who,label\n1,9,no\n2,10,yes\n3,10,no\n4,100,yes\n" * 1)
    model = LogisticRegression(**COMMON, classes=["no", "yes"], rows_per_person=2)
    model.fit(tmp_path / "people.csv", "label", groups="who")
    assert model.guarantee_.records == 3
    (tmp_path / "people.csv").write_text("a,who,label\n1,10,no\n2,9,yes\n3,10,no\n")
    with pytest.raises(ValueError, match="must be adjacent"):
        model.fit(tmp_path / "people.csv", "label", groups="who")


def test_what_does_not_stream_says_so(files):
    X = tacit.scan(files / "parquet")
    search = tacit.PrivateSearch(LogisticRegression(classes=["no", "yes"]), {"clip": [1.0, 2.0]})
    with pytest.raises(ValueError, match="fit one model"):
        search.fit(X, "label")
    with pytest.raises(ValueError, match="scales tables in memory"):
        tacit.PrivateScaler(bounds=(-2, 2), random_state=0).fit(X[NAMES]).transform(X)


def test_networks_say_so_too(files):
    pytest.importorskip("torch")
    with pytest.raises(ValueError, match="Read the table first"):
        tacit.MLPClassifier(classes=["no", "yes"]).fit(files / "parquet", "label")
