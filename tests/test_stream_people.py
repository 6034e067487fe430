"""Who is one person in a table that is read again: as in memory, in one order, and the same in every pass."""

import datetime
import decimal

import numpy as np
import pytest

from tacit.data.people import people_of
from tacit.data.texts import Texts
from tacit.linear.streamed import Here, stream
from tacit.streams import Source, open_source
from tacit.streams.frames import FramePiece
from tacit.streams.reader import NumberRows, Reader
from tacit.streams.scanned import array_source
from tacit.streams.states import FileState

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")


def no_targets(table):
    return np.zeros((len(table["x"]), 1))


READER = Reader(NumberRows(("x",)), no_targets, ("x",), 1, 1.0, 0.5, person="p", rows_per_person=9)


def source_of(*columns):
    """A piece for each column of names."""
    pieces = [
        FramePiece({"x": np.ones(len(names)), "p": names}, ("x", "p"), len(names), f"piece {place}")
        for place, names in enumerate(columns)
    ]
    return Source(tuple(pieces), ("x", "p"))


def people_in(records):
    return sum(len(block.shares.starts) for block in records.blocks())


SAME = {
    "spaces": pa.array(["a", "a", "a "]),
    "a last NUL": pa.array(["a", "a\0", "a\0"]),
    "numerals": pa.array(["01", "1", "1.0"]),
    "accents": pa.array(["e\u0301", "\u00e9"]),
    "dictionary": pa.array(["a", "b", "b"]).dictionary_encode(),
    "bytes": pa.array([b"a", b"b", b"b"]),
    "whole numbers": pa.array([-3, 2**62, 2**62 + 1, 2**62 + 1]),
    "no sign": pa.array([2**63, 2**63 + 1], pa.uint64()),
    "fractions": pa.array([-0.0, 0.0, 9.0, 10.5, 2.0**60]),
    "truths": pa.array([False, True, True]),
    "decimals": pa.array([decimal.Decimal("9.5"), decimal.Decimal("10.5")]),
    "dates": pa.array([datetime.date(999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2000, 1, 1)]),
    "objects": np.array([9, 10, 10, 2**70], dtype=object),
    "NumPy's text": np.array(["a", "a ", "b"]),
}


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("kind", SAME)
def test_people_are_told_apart_as_in_memory(kind, cut):
    names = SAME[kind]
    expected = people_of(names, len(names), 9).count
    assert len(set(np.asarray(names, dtype=object).tolist())) == expected
    records = stream(source_of(names[:cut], names[cut:]), READER)
    assert records.count == people_in(records) == expected


NOBODY = {
    "a null": pa.array(["a", None]), "an empty text": pa.array(["", "a"]), "bytes": pa.array([b"", b"a"]),
    "a number": pa.array([1, None]), "a large number": pa.array([2**60, None]), "no number": np.array([1.0, np.nan]),
    "no date": np.array(["2000-01-01", "NaT"], dtype="datetime64[D]"), "NumPy's text": np.array(["", "a"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOBODY)
def test_nobodys_rows_are_refused_as_in_memory(kind):
    with pytest.raises(ValueError, match="missing value"):
        people_of(NOBODY[kind], 2, 9)
    with pytest.raises(ValueError, match=r"^piece 0: column 'p' names nobody in some rows\.$"):
        stream(source_of(NOBODY[kind]), READER)


OTHERS = {
    "whole numbers without a sign": np.array([7, 8], dtype=np.uint64), "fractions": np.array([7.0, 8.0]),
    "text": np.array(["7", "8"], dtype=object), "truths": np.array([True, True]),
    r"datetime64\[ns\]": np.array(["2000-01-01"], dtype="datetime64[ns]"),
}  # fmt: skip


class Uneven:
    """A piece whose batches differ in the type of a column."""

    key, rows = "uneven", 3

    def __init__(self, *names):
        self.names = names

    def tables(self, columns=None):
        for names in self.names:
            yield {"x": np.ones(len(names)), "p": names}


@pytest.mark.parametrize("kind", OTHERS)
def test_a_column_that_changes_its_type_is_refused(kind):
    """NumPy would join whole numbers of two kinds as fractions, which do not tell large ones apart."""
    sentence = f"column 'p' holds {kind}, and whole numbers before"
    first, other = np.array([6, 7]), OTHERS[kind]
    with pytest.raises(ValueError, match=rf"^piece 1: {sentence}"):
        stream(source_of(first, other), READER)
    with pytest.raises(ValueError, match=rf"^uneven: {sentence}"):
        stream(Source((Uneven(first, other),), ("x", "p")), READER)
    with pytest.raises(ValueError, match=rf"^uneven: {sentence}"):
        list(READER.chunks(Uneven(first, other)))


@pytest.mark.parametrize("names", [[1, "a"], [1, 1.5], [datetime.date(2000, 1, 1)] * 2, [(1,), (2,)]])
def test_names_without_one_order_are_refused(names):
    column = np.fromiter(names, dtype=object)
    with pytest.raises(ValueError, match=r"^piece 0: column 'p' names people by several kinds of cells, or by such"):
        stream(source_of(column), READER)


@pytest.mark.parametrize(
    ("names", "people"),
    [
        ("9 10 10 100 A9 a", 6 - 1), ("007 07 7 8", 4), (f"{'9' * 24} {'1' * 25}", 2), ("1.0 1.5", 2),
        ("10 9", 0), ("9 10 9", 0), ("a A", 0), ("a 10", 0), ("1.0 1", 0),
    ],
)  # fmt: skip
def test_whole_numbers_of_csv_files_come_by_size_and_then_text(names, people):
    cells = names.split()
    for cut in range(len(cells)):
        source = source_of(Texts(cells[:cut]), Texts(cells[cut:]))
        if people:
            records = stream(source, READER)
            assert records.count == people_in(records) == people == people_of(cells, len(cells), 9).count
        else:
            with pytest.raises(ValueError, match="must follow one another"):
                stream(source, READER)


CHANGES = {
    "one person for six": [[1, 1, 1], [1, 1, 1]],
    "somebody in two files": [[1, 2, 4], [4, 5, 6]],
    "fewer in one file": [[1, 1, 3], [4, 5, 6]],
    "not in order": [[1, 3, 2], [4, 5, 6]],
}


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("change", CHANGES)
def test_people_are_counted_again_in_every_pass(change, threads, tmp_path, monkeypatch):
    """As many rows, of other people: noise and divisors are for those that were counted.

    That a file was written to is seen before; here it is not, as where a partition is worked out anew.
    """
    monkeypatch.setattr(FileState, "check", lambda self: None)

    def write(files):
        for place, names in enumerate(files):
            parquet.write_table(pa.table({"x": np.ones(len(names)), "p": names}), tmp_path / f"{place}.parquet")

    write([[1, 2, 3], [4, 5, 6]])
    records = stream(open_source(tmp_path), READER, Here(threads))
    assert records.count == sum(records.each(count_people)) == 6 == people_in(records)
    write(CHANGES[change])
    sentence = "must follow one another" if change == "not in order" else r"^[01]\.parquet changed while it was read"
    for again in (records, records.take(np.array([0, 5]))):
        with pytest.raises(ValueError, match=sentence):
            again.each(count_people)
        with pytest.raises(ValueError, match=sentence):
            people_in(again)


def count_people(piece, taken):
    return sum(len(chunk.shares.starts) for chunk in READER.chunks(piece))


def test_rows_in_memory_and_on_disk_are_counted_in_every_pass():
    cells = [1.0, 2.0, 3.0]
    (piece,) = open_source({"x": cells}).pieces
    arrays = array_source(np.ones((3, 1)), np.ones(3))
    assert [len(table["x"]) for table in piece.tables()] == [3]
    assert [len(table["rows"]) for table in arrays.pieces[0].tables()] == [3]
    del cells[1:]
    arrays.pieces[0].arrays["rows"] = np.ones((2, 1))
    for changed in (piece, *arrays.pieces):
        with pytest.raises(ValueError, match="another number of rows than when it was opened"):
            list(changed.tables())
