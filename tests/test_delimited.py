"""CSV files: Arrow's reader gives the standard library's cells, or leaves the file to it."""

import bz2
import gzip
import lzma

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tacit.data import delimited
from tacit.data.cells import numbers
from tacit.data.delimited import Dialect, batches, count_rows, header_of
from tacit.data.tables import read_table

pytest.importorskip("pyarrow", reason="without it there is one reader only")

SIGNS = st.sampled_from(",;\t")
WELL = st.text('ab1é ."', max_size=4).map(lambda text: '"' + text.replace('"', '""') + '"')
LOOSE = st.text('ab1. "\r\n,;\t\x00', max_size=4)
PLAIN = st.text("ab1é. \ufeff", max_size=4)
FILES = st.tuples(
    SIGNS,
    st.integers(1, 3),
    st.lists(st.lists(PLAIN | WELL | LOOSE, min_size=3, max_size=3), max_size=8),
    st.sampled_from(["\n", "\r\n", "\r"]),
    st.booleans(),
    st.sampled_from(["utf-8", "utf-8-sig", "latin-1", "utf-16"]),
)


def read(path, dialect):
    """Every cell, or what was refused."""
    cells = {}
    try:
        for table in batches(path, dialect):
            for name, column in table.items():
                cells.setdefault(name, []).extend(column.tolist())
    except ValueError as error:
        return str(error)
    return cells


def by_the_standard_library(path, dialect):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_fast", lambda *rest: iter([None]))
        return read(path, dialect)


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    return tmp_path_factory.mktemp("files") / "f.csv"


@pytest.mark.parametrize("size", [8, 24, 2**16])
@given(file=FILES)
@settings(max_examples=150, deadline=None)
def test_both_readers_give_the_same(place, size, file):
    sign, width, rows, line, ended, encoding = file
    lines = [sign.join("abc"[:width]), *(sign.join(row[:width]) for row in rows)]
    place.write_bytes((line.join(lines) + (line if ended else "")).encode(encoding, "replace"))
    dialect = Dialect(sign, encoding=encoding)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(delimited, "_BLOCK", size)
        patch.setattr(delimited, "BATCH", 3)
        assert read(place, dialect) == by_the_standard_library(place, dialect)


def test_arrow_is_used_where_it_can_be(tmp_path, monkeypatch):
    """Otherwise the test above would compare the standard library with itself."""
    monkeypatch.setattr(delimited, "_slow", lambda *rest: pytest.fail("the slow road"))
    monkeypatch.setattr(delimited, "_BLOCK", 64)
    (tmp_path / "f.csv").write_text("a,b\n" + '1, x\n"2","y, ""z"""\n\n"3","w\nv"\n' * 20, encoding="utf-8")
    cells = read(tmp_path / "f.csv", Dialect())
    assert cells == {"a": ["1", "2", "3"] * 20, "b": ["x", 'y, "z"', "w\nv"] * 20}


@pytest.mark.parametrize("odd", ['3, "c,d"', '3,"  d"', '3,5" pipe', "3," + "d" * 300])
def test_the_standard_library_reads_on_where_arrow_stops(tmp_path, monkeypatch, odd):
    monkeypatch.setattr(delimited, "_BLOCK", 128)
    path = tmp_path / "f.csv"
    path.write_text("a,b\n" + "1,x\n" * 100 + odd + "\n2,y\n", encoding="utf-8")
    used = []
    slow = delimited._slow
    monkeypatch.setattr(delimited, "_slow", lambda *rest: used.append(rest[-1]) or slow(*rest))
    cells = read(path, Dialect())
    assert 0 < used[0] < 101
    assert cells == by_the_standard_library(path, Dialect())
    assert len(cells["a"]) == 102


@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize(("encoding", "sign"), [("utf-8", ";"), ("latin-1", "\t"), ("utf-16", "|")])
def test_dialects(tmp_path, suffix, encoding, sign):
    text = sign.join("äb") + "\n" + sign.join(["27,5", "é"]) + "\n"
    path = tmp_path / f"f.csv{suffix}"
    path.write_bytes(gzip.compress(text.encode(encoding)) if suffix else text.encode(encoding))
    table = read_table(path, separator=sign, decimal=",", encoding=encoding)
    assert numbers(table["ä"]).tolist() == [27.5]
    assert table["b"].tolist() == ["é"]
    dialect = Dialect(sign, ",", encoding)
    assert (header_of(path, dialect), count_rows(path, dialect)) == (["ä", "b"], 1)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"a,b\n1\n", "Line 2 of f.csv has 1 cell, but its first line names 2."),
        (
            b"a,b\n1,\xff\n",
            "f.csv is not UTF-8 text. Name its encoding (--encoding cp1252 for many files from Windows; in Python, "
            "encoding='cp1252'), or save it as UTF-8.",
        ),
        (b"a,a\n1,2\n", "f.csv gives the same name to two columns in its first line: 'a'."),
        (
            b"a,,\n1,,\n",
            "f.csv has two columns without a name in its first line: are there separators at the ends of its lines?",
        ),
        (
            "a,b\n1,2\n".encode("utf-16-le"),
            "f.csv has zero bytes in its first line: is it UTF-16? Then use --encoding utf-16-le.",
        ),
        (b"PK\3\4...", "f.csv is a zip archive or an Excel workbook. Unpack it, or save the sheet as CSV."),
        (b"PAR1...", "f.csv is a Parquet file. Let its name end in .parquet."),
        (b"", "f.csv is empty: expected a line with the names of the columns."),
        (b"a,b\n1,2\n" * 50 + b"1,secret,\n", "Line 101 of f.csv has 3 cells, but its first line names 2."),
    ],
)
def test_faults_are_one_sentence_and_quote_nothing(tmp_path, content, sentence):
    (tmp_path / "f.csv").write_bytes(content)
    with pytest.raises(ValueError) as caught:  # noqa: PT011
        read_table(tmp_path / "f.csv")
    assert str(caught.value) == sentence
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


@pytest.mark.parametrize("sign", [";", "\t", "|"])
@pytest.mark.parametrize("quote", ["", '"'])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_the_first_line_says_what_separates_cells(tmp_path, sign, quote, encoding):
    """And the mark before it that a file is UTF-16. Cells do not: they hold more commas than anything else."""
    path = tmp_path / "f.csv"
    text = sign.join(f"{quote}{name}{quote}" for name in "ab") + "\r\n" + f"1,5{sign}2,3,4\r\n" * 3
    path.write_bytes(text.encode(encoding))
    assert read(path, Dialect()) == {"a": ["1,5"] * 3, "b": ["2,3,4"] * 3}
    assert (header_of(path, Dialect()), count_rows(path, Dialect())) == (["a", "b"], 3)


def test_a_separator_that_is_named_is_the_only_one(tmp_path):
    (tmp_path / "f.csv").write_text("a;b\n1;2\n", encoding="utf-8")
    assert read(tmp_path / "f.csv", Dialect(",")) == {"a;b": ["1;2"]}
    assert read_table(tmp_path / "f.csv", ["a;b"])["a;b"].tolist() == ["1;2"]  # the lone column that is asked for
    (tmp_path / "f.csv").write_text("a;b,c\n1,2\n", encoding="utf-8")
    assert read(tmp_path / "f.csv", Dialect()) == {"a;b": ["1"], "c": ["2"]}  # a comma comes first


@pytest.mark.parametrize(("suffix", "pack"), [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)])
def test_compressed_files_are_known_by_their_names_and_by_their_bytes(tmp_path, suffix, pack):
    text = "a,b\n" + "1,é\n" * 1000
    for name in (f"f.csv.{suffix}", "f.csv"):
        path = tmp_path / name
        path.write_bytes(pack(text.encode()))
        assert read(path, Dialect()) == {"a": ["1"] * 1000, "b": ["é"] * 1000}
        for size in (len(path.read_bytes()) // 2, len(path.read_bytes()) - 1):
            path.write_bytes(path.read_bytes()[:size])
            with pytest.raises(
                ValueError, match=r"^f\.csv.* is not a readable (gzip|bzip2|xz) file, or it was cut off"
            ):
                read_table(path)


@pytest.mark.parametrize("cut", [5, 40])
def test_a_gzip_file_that_was_cut_off_is_named(tmp_path, cut):
    path = tmp_path / "f.csv.gz"
    path.write_bytes(gzip.compress(b"a,b\n" + b"1,2\n" * 1000)[:cut])
    with pytest.raises(ValueError, match=r"^f.csv.gz is not a readable gzip file, or it was cut off\.$"):
        read_table(path)
    path.write_bytes(b"a,b\n1,2\n")
    with pytest.raises(ValueError, match=r"^f.csv.gz is not a readable gzip file, or it was cut off\.$"):
        read_table(path)


@pytest.mark.parametrize("wrong", [{"separator": "ab"}, {"separator": " "}, {"separator": "é"}, {"decimal": "x"}])
def test_a_dialect_that_nobody_writes_is_refused(wrong):
    with pytest.raises(ValueError, match=r"^Expected the"):
        Dialect(**wrong)
    with pytest.raises(ValueError, match="known encoding"):
        Dialect(encoding="klingon")


def test_a_mark_within_the_file_is_text(tmp_path):
    (tmp_path / "f.csv").write_bytes(b"\xef\xbb\xbfa,b\n\xef\xbb\xbf3,4\n")
    assert read(tmp_path / "f.csv", Dialect()) == {"a": ["\ufeff3"], "b": ["4"]}


def test_a_character_that_is_cut_by_a_block_is_checked(tmp_path, monkeypatch):
    monkeypatch.setattr(delimited, "_BLOCK", 8)
    (tmp_path / "f.csv").write_bytes(b"a\n1234567\xc3" + b"\n1\n")
    assert read(tmp_path / "f.csv", Dialect()).startswith("f.csv is not UTF-8 text")
    (tmp_path / "f.csv").write_bytes(b"a\n1234567\xc3" + b"\xa9\n1\n")
    assert read(tmp_path / "f.csv", Dialect()) == {"a": ["1234567é", "1"]}
    (tmp_path / "f.csv").write_bytes(b"a\n12345\n7\xc3" + b"\n123456\n" + b"\xa9\n")
    assert read(tmp_path / "f.csv", Dialect()).startswith("f.csv is not UTF-8 text")


@pytest.mark.parametrize("block", [64, 2**22])
def test_a_quote_that_nobody_closes_swallows_no_row(tmp_path, monkeypatch, block):
    """At the end of a file, and where a later cell is quoted: rows between the two would be one cell."""
    monkeypatch.setattr(delimited, "_BLOCK", block)
    path = tmp_path / "f.csv"
    rows = ["1,x"] * 100
    for odd, sentence in (
        ([*rows, '1,"x', *rows], r"^f\.csv ends within quotes that open after line 101: it was cut off, or a quote is"),
        ([*rows, '1,"x', *rows, '1,"x"', *rows], r"^f\.csv is not a readable CSV file, at line 203\.$"),
    ):
        path.write_text("\n".join(["a,b", *odd, ""]), encoding="utf-8")
        for reading in (lambda: count_rows(path, Dialect()), lambda: read_table(path)):
            with pytest.raises(ValueError, match=sentence):
                reading()
        assert read(path, Dialect()) == by_the_standard_library(path, Dialect())
    path.write_text('"a,b\n1,x\n', encoding="utf-8")
    with pytest.raises(ValueError, match=r"^f\.csv is not a readable CSV file"):
        read_table(path)


@pytest.mark.parametrize("encoding", ["base64", "rot13", "no such"])
def test_an_encoding_that_is_not_of_text_is_none(encoding):
    with pytest.raises(ValueError, match=r"^Expected a known encoding"):
        Dialect(encoding=encoding)


def test_utf_16_without_a_mark_is_named(tmp_path):
    (tmp_path / "f.csv").write_bytes("a\n1\n".encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"^f\.csv is not utf-16 text"):
        read_table(tmp_path / "f.csv", encoding="utf-16")
