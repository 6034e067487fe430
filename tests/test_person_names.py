"""Who is one person: the same people whatever the table is kept in, and nobody twice."""

import datetime
import decimal
import io
import json
import uuid
import warnings

import numpy as np
import pandas as pd
import pytest

import tacit
from tacit.cli import inputs
from tacit.cli.main import main
from tacit.data.people import people_of
from tacit.data.person_names import names_of
from tacit.data.texts import Texts

FORMS = {
    "five": [
        5, 5.0, "5", " 5", "5\t", "\u00a05\u3000", "05", "5.0", "+5", "5e0", "5,0", " 05,0", "5,00", "\ufeff5", b"5",
        b"5 ", decimal.Decimal("5.00"),
        np.int8(5), np.uint64(5), np.float32(5), np.str_("5 "), np.bytes_(b"5"),
    ],
    "a truth": [True, np.True_, 1, "1", "true", "True "],
    "a fraction": [2.5, "2.5", "2.50 ", decimal.Decimal("2.5")],
    "a large number": [2**70, str(2**70), decimal.Decimal(2**70), decimal.Decimal(f"{2**70}.0")],
    "very many digits": ["5" * 5000, "0" + "5" * 5000],
    "the largest float that is exact": [2.0**53 - 1, "9007199254740991.0", "9007199254740991,0", 2**53 - 1],
    "a word": ["a", "a ", "\na", "a\0", b"a", np.str_("a")],
    "a letter with an accent": [
        "Ren\u00e9", "Rene\u0301", " Rene\u0301\ufeff", "\ufeffRen\u00e9", "Rene\u0301".encode(),
        "Ren\u00e9".encode("utf-8-sig"), np.str_("Rene\u0301"),
    ],
    "bytes that are no text": [b"\xff", b"\xff "],
    "a day": [
        datetime.date(2000, 1, 1), datetime.datetime(2000, 1, 1), np.datetime64("2000-01-01"), "2000-01-01",
        "2000-01-01 00:00:00", "2000-01-01T00:00", "2000-01-01 00:00:00+00:00", "2000-01-01T00:00:00Z",
        np.datetime64("2000-01-01", "ns"), pd.Timestamp("2000-01-01"), pd.Timestamp("2000-01-01", tz="UTC"),
        pd.Timestamp("2000-01-01 01:00", tz="Europe/Berlin"),
    ],
    "a moment": [datetime.datetime(999, 1, 1, 12, 30), np.datetime64("0999-01-01T12:30"), "0999-01-01T12:30:00.000000",
        "0999-01-01 12:30:00"],
    "a UUID": [uuid.UUID(int=7), str(uuid.UUID(int=7))],
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_all_forms_of_a_name_are_one_person(form):
    cells = FORMS[form]
    assert people_of(cells, len(cells), 1).count == 1
    assert people_of(np.fromiter(cells, dtype=object), len(cells), 1).count == 1
    for cell in cells:  # each in a column of its own type
        assert str(names_of(np.array([cell]))[0]) == names_of(cells)[0]


def test_names_that_differ_are_different_people_and_stay_as_they_are():
    cells = [
        "a",
        "A",
        "a b",
        "ab",
        "1a",
        1,
        1.5,
        "1,5",
        "1,01",
        "1234e56",
        "12345e67",
        "a1,0",
        "1,0b",
        -1,
        2**53,
        2**53 + 1,
        "inf",
        "nan",
        "2000-01-02",
        b"\xff",
    ]
    names = names_of(cells)
    assert len(set(names.tolist())) == len(cells)
    assert names_of(names).tolist() == names.tolist()


TEXT = ["7", "7 ", "07", "x", " x", "8"]
"""Three people."""


def containers():
    polars, pa = pytest.importorskip("polars"), pytest.importorskip("pyarrow")
    numbers = [7, 7, 7, 9, 9, 8]
    yield np.array(numbers, dtype=np.float16)
    yield from (TEXT, tuple(TEXT), np.array(TEXT), np.array(TEXT, dtype=object), np.array(TEXT, dtype="S"), Texts(TEXT))
    yield from (pd.Series(TEXT), pd.Series(TEXT, dtype="string"), pd.Series(TEXT, dtype="category"), pd.Index(TEXT))
    yield from (polars.Series(TEXT), polars.Series(TEXT, dtype=polars.Categorical), pd.DataFrame({"p": TEXT}))
    yield from (pa.array(TEXT), pa.chunked_array([TEXT[:2], TEXT[2:]]), pa.array(TEXT).dictionary_encode())
    yield from (
        Texts(pa.array(TEXT)),
        Texts(["7,0", "7,0\0", *TEXT[2:]], ","),
        pd.Series([7, 7.0, *TEXT[2:]], dtype="category"),
    )
    for kind in ("int8", "uint64", "float64", "float32", object, "Int64", "category"):
        yield pd.Series(numbers).astype(kind)
    yield from (polars.Series(numbers), polars.Series(numbers, dtype=polars.Int128), pa.array(numbers))
    yield from (pa.array(numbers, pa.decimal128(9, 2)), pd.Series(pd.to_datetime(numbers, unit="D")))


def test_every_container_has_the_same_people():
    for groups in containers():
        people = people_of(groups, len(TEXT), 2)
        assert (people.count, sorted(people.sizes)) == (3, [1, 2, 2]), repr(groups)


def test_a_column_that_pandas_reads_in_pieces_names_nobody_twice():
    """In one piece all names are numbers, in the next one is a word, and pandas makes texts of all others there."""
    lines = ["id,x", *(f"{place % 4000:06d},1" for place in range(8000)), "guest,1"]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        pieces = pd.read_csv(io.StringIO("\n".join(lines)), chunksize=4000)
        table = pd.concat(pieces, ignore_index=True)
    assert {type(name) for name in table["id"]} >= {int, str}
    scaler = tacit.PrivateScaler(1.0, bounds=(0, 1), rows_per_person=2).fit(table[["x"]], groups=table["id"])
    assert scaler.guarantee_.records == 4001


@pytest.mark.parametrize(
    "groups",
    [
        [2.0**53, 1], np.array([1, -(2.0**60)]), pd.Series([2.0**60, 2**60], dtype=object),
        np.array([2**24, 1], dtype=np.float32), np.array([np.inf, 2**11], dtype=np.float16), [np.float32(2**24), 1],
        ["1.2345678901234568e+18", "a"], np.array(["1.23457E+12", "7"]), pd.Series(["7", "1,23457E+12"]),
    ],
)  # fmt: skip
def test_floats_that_may_be_several_whole_numbers_are_refused(groups):
    with pytest.raises(ValueError, match=r"^groups names people by numbers that were rounded"):
        people_of(groups, 2, 1)


ROUNDED = [
    "9007199254740992.0", "-9007199254740992.00", "9007199254740992.", "9007199254740992,0", "09007199254740994,00",
    "5" * 5000 + ".0", "1e+16", "1E+12", "12E+12", "1e16", "-1e16", "1E12", "1e+05",
]  # fmt: skip


@pytest.mark.parametrize("text", ROUNDED)
def test_texts_of_rounded_numbers_are_refused_wherever_they_are(text):
    """Beside them the same person may be written in full: 9007199254740993 is 9007199254740992.0 as a float."""
    for groups in (
        [text, "7"],
        [text.encode(), "7"],
        np.array([text, "7"]),
        Texts([text, "7"]),
        Texts([text, "7"], ","),
    ):
        with pytest.raises(ValueError, match=r"^groups names people by numbers that were rounded"):
            names_of(groups)


def test_large_whole_numbers_are_names():
    texts = ["9007199254740992", "9007199254740993", " 09007199254740993", "1" * 5000]
    for groups in (texts, Texts(texts), Texts(texts, ",")):
        assert len(set(names_of(groups).tolist())) == 3


def test_a_person_is_one_in_a_list_as_in_a_file_with_a_decimal_comma():
    cells = ["5", "5,0", "5,00", "05,000"]
    assert set(names_of(cells).tolist()) == set(names_of(Texts(cells, ",")).tolist()) == {"5"}


@pytest.mark.parametrize("command", ["fit", "describe", "evaluate"])
def test_small_files_large_files_and_several_files_have_the_same_people(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    schema = {"columns": {"age": {"lower": 0, "upper": 99}}, "target": {"name": "ill", "classes": ["no", "yes"]}}
    (tmp_path / "schema.json").write_text(json.dumps(schema))
    head, rows = "who,age,ill\n", []
    for place in range(60):
        number = place % 2 == 0
        rows += (
            [f"{place:03d},30,no\n", f"{place} ,40,yes\n"]
            if number
            else [f"p{place:02d},30,no\n", f" p{place:02d},9,no\n"]
        )
    rows.sort(key=lambda row: (row.strip()[0] == "p", row.split(",")[0].strip().lstrip("p0").zfill(3)))
    (tmp_path / "whole.csv").write_text(head + "".join(rows))
    (tmp_path / "one.csv").write_text(head + "".join(rows[:31]))
    (tmp_path / "two.csv").write_text(head + "".join(rows[31:]))
    tail = ["--epsilon", "1", "--person", "who", "--rows-per-person", "1", "--overwrite", "--out"]
    before = {"fit": ["--schema", "schema.json"], "describe": ["--schema", "schema.json"], "evaluate": []}[command]
    model = ["model.json"] if command == "evaluate" else []
    if model:
        assert main(["fit", "whole.csv", "--schema", "schema.json", *tail, "model.json"]) == 0
    for small, files in ((2**23, ["whole.csv"]), (0, ["whole.csv"]), (2**23, ["one.csv", "two.csv"])):
        monkeypatch.setattr(inputs, "SMALL", small)
        code = main([command, *model, *files, *before, *tail, "out.json"])
        assert code == 0, capsys.readouterr().err
        assert '"records": 60' in (tmp_path / "out.json").read_text()
