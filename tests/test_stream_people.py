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
    "spaces": (pa.array(["a", "a", "a ", " a\t", "b"]), 2),
    "a last NUL": (pa.array(["a", "a\0", "a\0"]), 1),
    "numerals": (pa.array(["01", "1", "1.0", "1.5"]), 2),
    "numerals by size": (pa.array(["9", "10", "A", "a"]), 4),
    "numerals by characters": (pa.array(["1", "10", "2", "A"]), 4),
    "zeros before": (pa.array(["008", "009", "010"]), 3),
    "accents": (pa.array(["e\u0301", "\u00e9", "\u00e9\u0301"]), 2),
    "dictionary": (pa.array(["a", "b", "b "]).dictionary_encode(), 2),
    "bytes": (pa.array([b"a", b"b", b"b\xff", b"b\xff"]), 3),
    "whole numbers": (pa.array([-3, 2**62, 2**62 + 1, 2**62 + 1]), 3),
    "no sign": (pa.array([2**63, 2**63 + 1], pa.uint64()), 2),
    "fractions": (pa.array([-0.0, 0.0, 9.0, 10.5, 11.0]), 4),
    "truths": (pa.array([False, True, True]), 2),
    "decimals": (pa.array([decimal.Decimal("9.50"), decimal.Decimal("9.5"), decimal.Decimal("10.5")]), 2),
    "dates": (pa.array([datetime.date(999, 12, 31), datetime.date(2000, 1, 1), datetime.date(2000, 1, 1)]), 2),
    "objects": (np.array([9, 10, "10", 10.0, 2**70, "a"], dtype=object), 4),
    "NumPy's text": (np.array(["a", "a ", "b"]), 2),
}


@pytest.mark.parametrize("cut", [1, 2])
@pytest.mark.parametrize("kind", SAME)
def test_people_are_told_apart_as_in_memory(kind, cut):
    names, expected = SAME[kind]
    assert people_of(names, len(names), 9).count == expected
    records = stream(source_of(names[:cut], names[cut:]), READER)
    assert records.count == people_in(records) == expected


NOBODY = {
    "a null": pa.array(["a", None]), "an empty text": pa.array(["", "a"]), "spaces": pa.array([" ", "a"]),
    "bytes": pa.array([b"", b"a"]),
    "a number": pa.array([1, None]), "a large number": pa.array([2**60, None]), "no number": np.array([1.0, np.nan]),
    "no date": np.array(["2000-01-01", "NaT"], dtype="datetime64[D]"), "NumPy's text": np.array(["", "a"]),
}  # fmt: skip


@pytest.mark.parametrize("kind", NOBODY)
def test_nobodys_rows_are_refused_as_in_memory(kind):
    with pytest.raises(ValueError, match=r"^groups has missing values or empty names in some rows\."):
        people_of(NOBODY[kind], 2, 9)
    with pytest.raises(ValueError, match=r"^piece 0: column 'p' has missing values or empty names in some rows\."):
        stream(source_of(NOBODY[kind]), READER)


OTHERS = {
    "whole numbers without a sign": np.array([7, 8], dtype=np.uint64), "fractions": np.array([7.0, 8.0]),
    "text": np.array(["7", "8 "], dtype=object), "a CSV file": Texts(["7 ", "08"]), "bytes": pa.array([b"7", b"8"]),
    "with one that is large": np.array([7, 8, 2**63], dtype=np.uint64), "with one that is none": Texts(["7", "8", "A"]),
    "nobody but the last": Texts(["07"]),
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
def test_a_column_that_changes_its_type_names_the_same_people(kind):
    """Libraries choose a type for each file, or for each batch: nobody may become two people by it."""
    first, other = np.array([6, 7]), OTHERS[kind]
    for source in (source_of(first, other), Source((Uneven(first, other),), ("x", "p"))):
        records = stream(source, READER)
        assert records.count == people_in(records) == 1 + len(other)


@pytest.mark.parametrize("names", [[(1,), (2,)], [datetime.time(1)], [1j]])
def test_names_of_no_known_kind_are_refused(names):
    column = np.fromiter(names, dtype=object)
    with pytest.raises(ValueError, match=r"^piece 0: column 'p' must contain numbers, text or dates\.$"):
        stream(source_of(column), READER)


def test_people_in_one_order_here_and_in_another_there_are_refused():
    """Each file is in some order, but both are not in one: somebody might come again."""
    by_characters, by_size = pa.array(["1", "10", "2"]), pa.array(["9", "10", "11"])
    with pytest.raises(ValueError, match="must be adjacent"):
        stream(source_of(by_characters, by_size), READER)


@pytest.mark.parametrize(
    ("names", "people"),
    [
        ("9 10 10 100 A9 a", 6 - 1), ("007 07 7 8", 2), (f"{'9' * 24} {'1' * 25}", 2), ("1.0 1 1.5", 2),
        ("Rene\u0301 Ren\u00e9 Z\u00e9", 2), ("Re\u0301a Rf R\u00e9a", 0), ("\ufeff1 1,0 2", 2),
        ("10 9", 2), ("a A", 0), ("9 10 9", 0), ("a 10", 0), ("2 10 3", 0), ("10 9 100", 0),
    ],
)  # fmt: skip
def test_text_comes_by_its_characters_or_with_numbers_first(names, people):
    cells = names.split()
    for cut in range(len(cells)):
        source = source_of(Texts(cells[:cut]), Texts(cells[cut:]))
        if people:
            records = stream(source, READER)
            assert records.count == people_in(records) == people == people_of(cells, len(cells), 9).count
        else:
            with pytest.raises(ValueError, match="must be adjacent"):
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
    sentence = "must be adjacent" if change == "not in order" else r"^[01]\.parquet changed while it was read"
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
