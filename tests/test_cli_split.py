"""``tacit split``: two files that make up the table, nobody in both, and sides that depend on no cell."""

import csv
import signal

import numpy as np
import pytest

from tacit.cli import split
from tacit.cli.main import main
from tacit.privacy.sources import SeededSource

OUT = ["--out-train", "a.csv", "--out-test", "b.csv"]


def written(name, rows):
    with open(name, "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([["who", "age", "word"], *rows])


def found(name):
    with open(name, newline="", encoding="utf-8") as file:
        header, *rows = csv.reader(file)
    assert header == ["who", "age", "word"]
    return rows


@pytest.fixture
def rows(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = [[f"p{place % 500}", str(place), 'a "b", c'] for place in range(2000)]
    written("t.csv", made)
    return made


@pytest.mark.parametrize("more", [[], ["--person", "who"]])
def test_two_files_make_up_the_table_and_tell_nothing(more, rows, capsys):
    assert main(["split", "t.csv", "--test", "0.3", *OUT, *more]) == 0
    train, test = found("a.csv"), found("b.csv")
    assert sorted(train + test) == sorted(rows)
    for part in (train, test):
        assert part == sorted(part, key=lambda row: int(row[1]))  # in their order
    people = {row[0] for row in train} & {row[0] for row in test}
    assert bool(people) == (not more)
    told = capsys.readouterr()
    assert told.out == "Wrote a.csv and b.csv.\n"
    assert not any(sign.isdigit() for sign in told.err)
    assert ("use --person" in told.err) == (not more)


def test_about_that_share_is_set_aside(rows, monkeypatch):
    monkeypatch.setattr(split, "SystemSource", lambda: SeededSource(1))
    for more, units in (([], 2000), (["--person", "who"], 500)):
        assert main(["split", "t.csv", "--test", "0.3", *OUT, *more, "--overwrite"]) == 0
        deviation = np.sqrt(0.3 * 0.7 / units)
        assert abs(len(found("b.csv")) / 2000 - 0.3) < 5 * deviation


@pytest.mark.parametrize("more", [[], ["--person", "who"]])
def test_no_cell_decides_the_side_of_a_row(more, rows, monkeypatch):
    sides = []
    for word, age in (("x", 0), ("y", 7)):
        written("other.csv", [[who, str(int(number) + age), word] for who, number, _ in rows])
        monkeypatch.setattr(split, "SystemSource", lambda: SeededSource(1))
        assert main(["split", "other.csv", *OUT, *more, "--overwrite"]) == 0
        sides.append([int(row[1]) - age for row in found("b.csv")])
    assert sides[0] == sides[1]
    assert sides[0]


def test_the_key_is_fresh_every_time(rows):
    """Equal sides of 500 people by chance: once in 2**161."""
    sides = []
    for _ in range(2):
        assert main(["split", "t.csv", "--person", "who", *OUT, "--overwrite"]) == 0
        sides.append({row[0] for row in found("b.csv")})
    assert sides[0] != sides[1]


def test_a_person_is_one_however_the_name_is_written(rows):
    pyarrow = pytest.importorskip("pyarrow", reason="Parquet files: pip install '.[parquet]'")
    from pyarrow import parquet

    for name, forms in (("one", ["{}", " {}"]), ("two", ["0{}", "{}.0"])):
        written(f"{name}.csv", [[form.format(place), "1", "x"] for place in range(1, 300) for form in forms])
    assert main(["split", "one.csv", "two.csv", "--person", "who", "--test", "0.5", *OUT]) == 0
    sides = [{float(row[0]) for row in found(name)} for name in ("a.csv", "b.csv")]
    assert not sides[0] & sides[1]
    assert sides[0] | sides[1] == set(range(1, 300))

    table = pyarrow.table({"who": [1, 2, 3, 4] * 50, "age": [0.5] * 200, "word": ["x", None] * 100})
    parquet.write_table(table, "t.parquet")
    line = "split t.parquet --person who --test 0.5 --out-train a.parquet --out-test b.parquet"
    assert main(line.split()) == 0
    parts = [parquet.read_table(f"{name}.parquet") for name in "ab"]
    assert [part.schema for part in parts] == [table.schema] * 2
    assert sum(len(part) for part in parts) == 200
    assert not {*parts[0]["who"].to_pylist()} & {*parts[1]["who"].to_pylist()}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_split_that_is_ended_leaves_no_rows_behind(number, rows, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(split, "_picked", lambda *part: signal.raise_signal(number))
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        assert main(["split", "t.csv", *OUT]) == 128 + number
    finally:
        signal.signal(signal.SIGINT, before)
    assert capsys.readouterr().err == "tacit: interrupted.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["t.csv"]


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--test", "0"], "Expected --test 0 to be a share between 0 and 1"),
        (["--test", "nan"], "Expected --test nan to be a share"),
        (["--out-test", "a.csv"], "--out-train and --out-test name the same file"),
        (["--out-train", "t.csv"], "is the input t.csv and would be overwritten"),
        (["--out-test", "old.csv"], "--out-test old.csv already exists. Choose another name, or add --overwrite"),
        (["--person", "whom"], "The table has no column 'whom'. Did you mean 'who'?"),
        (["--person", "word"], "has missing values or empty names in some rows"),
    ],
)
def test_what_is_wrong_is_told_and_nothing_is_written(more, sentence, rows, tmp_path, capsys):
    (tmp_path / "old.csv").write_text("what was there")
    written("t.csv", [*rows, ["p1", "7", ""]])
    assert main(["split", "t.csv", *OUT, *more]) == 2
    assert sentence in capsys.readouterr().err
    assert not (tmp_path / "a.csv").exists()
    assert not (tmp_path / "b.csv").exists()
    assert (tmp_path / "old.csv").read_text() == "what was there"
