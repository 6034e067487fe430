"""Statistics of tables that are read again have the bits of those in memory, whosever the rows are."""

from itertools import pairwise

import numpy as np
import pytest

import tacit
from tacit import statistics
from tacit.statistics.exact_sums import Occurring, Part, Sums
from tacit.statistics.unit import Unit
from tacit.streams import columnar, pieces, scanned
from tacit.types import ADJACENCIES

pyarrow = pytest.importorskip("pyarrow")
ROWS, ENDS = 600, (0, 1, 1, 300, 301, 600)
KINDS = {"x": "number", "z": "number", "word": "text", "k": "number", "truth": "text"}


def made():
    rng = np.random.default_rng(3)
    return {
        "x": rng.uniform(-3, 13, ROWS).round(3),
        "z": rng.exponential(2e4, ROWS).round(1),
        "word": rng.choice(["a", "b", "c"], ROWS).astype(object),
        "k": rng.integers(0, 9, ROWS),
        "truth": rng.random(ROWS) < 0.4,
        "who": np.sort(rng.integers(0, 200, ROWS)),
    }


TABLE = made()
COMMON = {"epsilon": 20.0, "delta": 1e-3, "random_state": 3}


def grouped(table):
    return {"by": table["word"], "categories": ["a", "b"]}


def matrix(table):
    names = ["x", "z"]
    return table[names] if isinstance(table, scanned.Scan) else np.column_stack([table[name] for name in names])


ASKED = {
    "count": lambda t, **k: statistics.count(t["word"], ["a", "b"], **k),
    "count of one": lambda t, **k: statistics.count(t["word"], ["a"], **k),
    "rows": lambda t, **k: statistics.count(t["word"], **{**k, "adjacency": "add-remove"}),
    "sum": lambda t, **k: statistics.sum(t["x"], (-2, 10), **k),
    "sum by": lambda t, **k: statistics.sum(t["x"], (0, 10), **grouped(t), **k),
    "mean": lambda t, **k: statistics.mean(t["x"], (0, 10), **k),
    "mean by": lambda t, **k: statistics.mean(t["x"], (0, 10), **grouped(t), **k),
    "histogram": lambda t, **k: statistics.histogram(t["x"], (0, 10), **k),
    "histogram by": lambda t, **k: statistics.histogram(t["x"], (0, 10), 3, **grouped(t), **k),
    "quantiles": lambda t, **k: statistics.quantiles(t["x"], (0, 10), cells=64, **k),
    "quantiles by": lambda t, **k: statistics.quantiles(t["x"], (0, 10), 0.5, cells=64, **grouped(t), **k),
    "covariance": lambda t, **k: statistics.covariance(matrix(t), [(0, 10), (0, 1e5)], **k),
    "covariance by": lambda t, **k: statistics.covariance(matrix(t), [(0, 10), (0, 1e5)], **grouped(t), **k),
    "bounds": lambda t, **k: statistics.private_bounds(t["z"], **k),
    "categories": lambda t, **k: statistics.private_categories(t["word"], **k),
    "categories of numbers": lambda t, **k: statistics.private_categories(t["k"], **k),
}


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    from pyarrow import csv, parquet

    folder = tmp_path_factory.mktemp("looked")
    for kind in ("parquet", "csv"):
        (folder / kind).mkdir()
    for place, (start, stop) in enumerate(pairwise(ENDS)):
        part = pyarrow.table({name: c[start:stop] for name, c in TABLE.items()}, pyarrow.table(TABLE).schema)
        parquet.write_table(part, folder / f"parquet/{place}.parquet", row_group_size=97)
        csv.write_csv(part, folder / f"csv/{place}.csv")
    return folder


@pytest.fixture(params=["parquet", "csv"])
def scan(request, files, monkeypatch):
    for module in (pieces, columnar):
        monkeypatch.setattr(module, "BATCH", 50)
    return tacit.scan(files / request.param)


def told(people, table):
    return {"groups": table["who"], "rows_per_person": 2} if people else {}


def same(one, other):
    assert one.guarantee == other.guarantee
    if isinstance(one, statistics.Bounds):
        assert tuple(one) == tuple(other)
    else:
        assert one.labels == other.labels
        np.testing.assert_equal(one.to_dict(), other.to_dict())


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
@pytest.mark.parametrize("name", ASKED)
def test_every_statistic(name, people, adjacency, scan):
    known = {**COMMON, "adjacency": adjacency}
    ask = ASKED[name]
    same(ask(TABLE, **known, **told(people, TABLE)), ask(scan, **known, **told(people, scan)))


@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_whole_tables(people, scan, files):
    """Where nothing is declared, and where a schema is; groups by name."""
    names = [name for name in TABLE if name != "who"]
    own = {"groups": "who", "rows_per_person": 2} if people else {}
    table = {name: TABLE[name] for name in names}
    memory = statistics.describe(table, **COMMON, kinds=KINDS, **told(people, TABLE))
    found = statistics.describe(scan[names], **COMMON, kinds=KINDS, **own)
    np.testing.assert_equal(memory.to_dict(), found.to_dict())
    assert memory.schema == found.schema
    assert memory.guarantee == found.guarantee
    memory = statistics.describe(TABLE, **COMMON, schema=found.schema, **told(people, TABLE))
    found = statistics.describe(scan, **COMMON, schema=found.schema, **own)
    np.testing.assert_equal(memory.to_dict(), found.to_dict())
    arguments = {**COMMON, "kinds": {**KINDS, "k": "text"}, "target": "word", "missing": ("7",)}
    memory = statistics.private_schema(table, **arguments, **told(people, TABLE))
    assert memory == statistics.private_schema(scan[names], **arguments, **own)
    assert memory.guarantee == statistics.private_schema(scan[names], **arguments, **own).guarantee


def test_types_that_files_have(files):
    """Of a Parquet file they are public, as those of a data frame are; of a column of people nothing is told."""
    path = str(files / "parquet/*.parquet")
    memory = statistics.describe(pyarrow.table({n: c for n, c in TABLE.items() if n != "who"}), **COMMON,
                                 **told(True, TABLE))  # fmt: skip
    found = statistics.describe(path, **COMMON, groups="who", rows_per_person=2)
    np.testing.assert_equal(memory.to_dict(), found.to_dict())
    assert memory.guarantee == found.guarantee
    names = [name for name in TABLE if name != "who"]
    memory = statistics.private_schema({name: TABLE[name] for name in names}, **COMMON, kinds=KINDS)
    assert statistics.private_schema(path, columns=names, **COMMON, kinds=KINDS) == memory


@pytest.mark.parametrize("scale", ["deviation", "quartiles"])
@pytest.mark.parametrize("bounds", [None, (0, 10)])
@pytest.mark.parametrize("people", [False, True], ids=["rows", "people"])
def test_scalers(people, bounds, scale, scan):
    settings = {**COMMON, "bounds": bounds, "scale": scale, "rows_per_person": 2 if people else None}
    memory = statistics.PrivateScaler(**settings).fit(matrix(TABLE), groups=TABLE["who"] if people else None)
    found = statistics.PrivateScaler(**settings).fit(scan[["x", "z"]], groups="who" if people else None)
    np.testing.assert_array_equal(memory.center_, found.center_)
    np.testing.assert_array_equal(memory.scale_, found.scale_)
    assert memory.guarantee_ == found.guarantee_
    assert found.get_feature_names_out().tolist() == ["x", "z"]


def test_rounding_of_a_person_depends_on_that_person_alone():
    """A first row with another value moved every other person's shares by a step, when values counted as they came."""
    groups = np.array([0, *np.repeat(np.arange(1, 40), 3)])
    others = ["b", "a", "c"] * 39

    def counts(first):
        found = Occurring.of([first, *others], Unit.of(len(groups), groups, 3))
        return dict(zip(found.keys, found.counts.tolist(), strict=True))

    one, other = counts("a"), counts("b")
    assert one["a"] - other["a"] == 1.0
    assert other["b"] - one["b"] == 1.0


def test_sums_of_parts_are_sums_of_all():
    part = Part(3)
    pieces_of = [Sums((part,), (np.array(values),), (Occurring.of(keys, Unit.of(2)),)) for values, keys in (
        ([1.0, 2.0, 0.0], ["b", "a"]), ([0.5, 0.0, 1.0], ["c", "a"]),
    )]  # fmt: skip
    whole = pieces_of[0].plus(pieces_of[1])
    assert whole.totals[0].tolist() == [1.5, 2.0, 1.0]
    assert dict(zip(whole.occurring[0].keys, whole.occurring[0].counts.tolist(), strict=True)) == {
        "a": 2.0, "b": 1.0, "c": 1.0
    }  # fmt: skip


MISUSE = {
    "an unknown group": (lambda s, k: statistics.mean(s["x"], (0, 10), by="wrod", categories=["a"], **k), "'wrod'"),
    "an array beside a scan": (
        lambda s, k: statistics.mean(s["x"], (0, 10), by=TABLE["word"], categories=["a"], **k), "by to name a column"
    ),
    "a scan beside an array": (
        lambda s, k: statistics.mean(TABLE["x"], (0, 10), groups=s["who"], rows_per_person=1, **k), "to be an array"
    ),
    "two columns for one": (lambda s, k: statistics.mean(s[["x", "z"]], (0, 10), **k), "one column of the same scan"),
    "another scan": (
        lambda s, k: statistics.mean(s["x"], (0, 10), groups=tacit.scan(TABLE)["who"], rows_per_person=1, **k),
        "of the same scan",
    ),
    "people without a bound": (lambda s, k: statistics.mean(s["x"], (0, 10), groups="who", **k), "Declare rows_per"),
    "a bound without people": (lambda s, k: statistics.mean(s["x"], (0, 10), rows_per_person=2, **k), "with groups"),
    "an unknown column": (lambda s, k: statistics.mean(s["y"], (0, 10), **k), r"no columns \['y'\]"),
}  # fmt: skip


@pytest.mark.parametrize("case", MISUSE)
def test_misuse_is_one_sentence_and_costs_nothing(case, files, tmp_path):
    ask, sentence = MISUSE[case]
    book = tacit.Ledger(tmp_path / "book", epsilon=100, delta=1e-2)
    with pytest.raises(ValueError, match=sentence):
        ask(tacit.scan(files / "parquet"), {**COMMON, "ledger": book})
    assert not book.entries


def test_a_cell_that_is_no_number(files, tmp_path):
    """It is seen when it is read: the sentence names the file and quotes no cell, and what was spent stays so."""
    (tmp_path / "one.csv").write_text("x\n1\n2\n")
    (tmp_path / "two.csv").write_text("x\n3\nsecret\n")
    book = tacit.Ledger(tmp_path / "book", epsilon=100, delta=1e-2)
    with pytest.raises(ValueError, match=r"^two\.csv: Some cells of data are missing") as caught:
        statistics.mean(tacit.scan(str(tmp_path / "*.csv"))["x"], (0, 10), **COMMON, ledger=book)
    assert "secret" not in str(caught.value)
    assert len(book.entries) == 1
