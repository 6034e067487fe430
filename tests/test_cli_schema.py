"""``tacit schema``, and CSV files as people have them: the same table in any writing gives the same model."""

import bz2
import datetime
import gzip
import json
import tomllib
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather, parquet

from tacit import Ledger, Schema, scan
from tacit.cli import inputs
from tacit.cli.main import main
from tacit.data.tables import read_table
from tacit.files import stated

HEAD = ["age", "capital.gain", "sex", "ill"]
FILLED = """
[target]
name = "ill"
classes = ["no", "yes"]
[columns.age]
lower = 18
upper = 90
[columns.capital.gain]
lower = 0
upper = 100
[columns.sex]
values = ["female", "male"]
"""
FIT = "--schema s.toml --epsilon 1 --seed 1 --method output --precondition no --overwrite --out"


def rows(count=60):
    rng = np.random.default_rng(0)
    for age, gain, sex in zip(
        rng.integers(18, 90, count), rng.uniform(0, 100, count), rng.choice(["female", "male"], count), strict=True
    ):
        yield [str(age), f"{gain:.2f}", str(sex), "yes" if age > 50 else "no"]


def text(separator=",", decimal=".", line="\n", head=HEAD):
    lines = [separator.join(head), *(separator.join(r).replace(".", decimal) for r in rows())]
    return line.join([*lines, ""])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("s.toml").write_text(FILLED, encoding="utf-8")
    Path("plain.csv").write_text(text(), encoding="utf-8")
    return tmp_path


def run(capsys, line):
    code = main(line.split())
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def weights(path):
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return content["coef"], content["intercept"]


WRITINGS = {
    "f.csv.gz": (gzip.compress(text().encode()), ""),
    "f.csv.bz2": (bz2.compress(text().encode()), ""),
    "semicolons.csv": (text(";", ",").encode(), "--decimal ,"),
    "tabs.tsv": (text("\t").encode(), ""),
    "bars.csv": (text("|").encode(), ""),
    "marked.csv": (text(line="\r\n").encode("utf-8-sig"), ""),
    "wide.csv": (text(line="\r\n").encode("utf-16"), ""),
    "latin.csv": (text(head=[*HEAD[:3], " ill "], line="\n\n").encode("latin-1"), "--encoding latin-1"),
    "quoted.csv": (text().replace("age,", '"age",').replace("female", '"female"').encode(), ""),
}


@pytest.mark.parametrize("name", WRITINGS)
@pytest.mark.parametrize("small", [True, False])
def test_a_table_in_any_writing_gives_the_same_model(folder, capsys, monkeypatch, name, small):
    assert run(capsys, f"fit plain.csv {FIT} plain.json")[0] == 0
    if not small:
        monkeypatch.setattr(inputs, "SMALL", 0)
    raw, options = WRITINGS[name]
    Path(name).write_bytes(raw)
    assert run(capsys, f"fit {name} {FIT} m.json {options}")[::2] == (0, run(capsys, f"fit plain.csv {FIT} x.json")[2])
    assert weights("m.json") == weights("plain.json")
    assert run(capsys, f"predict m.json {name} {options}") == run(capsys, "predict m.json plain.csv")
    for command in ("evaluate m.json {} --epsilon 1 --seed 1", "describe {} --epsilon 1 --seed 1 --schema s.toml"):
        assert run(capsys, f"{command.format(name)} {options}") == run(capsys, command.format("plain.csv"))


def test_contributors_have_such_files_too(folder, capsys):
    protocol = "protocol --schema s.toml --epsilon 1 --delta 1e-4 --cohort 50 --record-epsilon 5 --out p.json"
    assert run(capsys, protocol)[0] == 0
    Path("f.csv").write_bytes(text(";", ",").encode("utf-16"))
    assert run(capsys, "contribute plain.csv --protocol p.json --seed 1 --out one.jsonl")[0] == 0
    assert run(capsys, "contribute f.csv --protocol p.json --seed 1 --decimal , --out two.jsonl")[0] == 0
    assert len(Path("one.jsonl").read_bytes()) > 0
    code, _, err = run(capsys, "contribute f.csv --protocol p.json --seed 1 --out three.jsonl")
    assert code == 2
    assert "--decimal ," in err


def test_decimal_commas_are_numbers_wherever_cells_are_read(folder, capsys, monkeypatch):
    """Without a schema too, as weights, and where kinds and bounds are found."""
    rng = np.random.default_rng(0)
    lines = [
        f"{a:.2f};{w:.1f};{a > 0.5:d}" for a, w in zip(rng.uniform(size=3000), rng.uniform(size=3000), strict=True)
    ]
    Path("point.csv").write_text("\n".join(["a;w;y", *lines]), encoding="utf-8")
    Path("comma.csv").write_text("\n".join(["a;w;y", *lines]).replace(".", ","), encoding="utf-8")
    common = "--epsilon 2 --seed 1"
    for small in (2**23, 0):
        monkeypatch.setattr(inputs, "SMALL", small)
        for command in (
            f"fit {{}} --target y --classes 0,1 --weight w {common} --overwrite --out m.json",
            f"evaluate m.json {{}} --target y {common}",
            f"fit {{}} --target a --target-bounds 0 1 {common} --overwrite --out n.json",
            f"evaluate n.json {{}} --target a --target-bounds 0 1 {common}",
            "predict n.json {}",
            f"describe {{}} {common}",
        ):
            shown = [run(capsys, command.format(name))[:2] for name in ("point.csv", "comma.csv --decimal ,")]
            assert shown[0] == shown[1]
            assert shown[0][0] == 0
    for name, more in (("point", ""), ("comma", "--decimal ,")):
        assert run(capsys, f"schema {name}.csv --private {common} --out {name}.toml {more}")[0] == 0
    assert Schema.load("comma.toml").columns == Schema.load("point.toml").columns
    assert {"a", "w"} <= set(Schema.load("comma.toml").names)


def test_python_reads_the_same_files(folder):
    Path("f.csv").write_bytes(text(";", ",").encode())
    table = read_table("f.csv", decimal=",")
    schema = Schema.load("s.toml")
    np.testing.assert_array_equal(schema.encode(table), schema.encode(read_table("plain.csv")))
    assert scan("f.csv", schema, decimal=",").names == tuple(HEAD)


def test_a_skeleton_depends_on_the_first_line_alone(folder, capsys):
    code, skeleton, _ = run(capsys, "schema plain.csv --numbers age,capital.gain --categories sex --target ill")
    assert code == 0
    assert list(tomllib.loads(skeleton)["columns"]) == HEAD[:3]
    Path("plain.csv").write_bytes(",".join(HEAD).encode() + b'\n\xff"unreadable","')
    assert run(capsys, "schema plain.csv --numbers age,capital.gain --categories sex --target ill")[1] == skeleton
    assert run(capsys, "schema check s.toml plain.csv")[0] == 0  # it reads no cell either
    code, _, err = run(capsys, "schema check s.toml plain.csv --curator")
    assert (code, "not UTF-8" in err) == (2, True)


def test_a_skeleton_is_written_once_and_refused_until_filled_in(folder, capsys):
    assert run(capsys, "schema plain.csv --numbers age --missing ? --out new.toml")[0] == 0
    assert tomllib.loads(Path("new.toml").read_text(encoding="utf-8"))["missing"] == ["?"]
    code, _, err = run(capsys, "schema plain.csv --out new.toml")
    assert (code, "already exists. Choose another name, or add --overwrite" in err) == (2, True)
    for line in (f"fit plain.csv {FIT.replace('s.toml', 'new.toml')} m.json --target ill", "schema check new.toml"):
        code, _, err = run(capsys, line)
        assert code == 2
        assert "leaves open what is known about 'age', 'capital.gain', 'sex', 'ill'." in err


def test_types_that_files_declare_are_taken_and_nothing_else_of_them(folder, capsys):
    day = datetime.date(2020, 1, 1)
    table = pa.table(
        {"n": [1.5], "k": [3], "b": [True], "t": ["secret"], "day": [day], "none": pa.nulls(1), "y": [0],
         "d": pa.array(["secret"]).dictionary_encode()}
    )  # fmt: skip
    parquet.write_table(table, "t.parquet")
    feather.write_feather(table, "t.arrow")
    shown = [run(capsys, f"schema {name} --target y")[1].partition("\n")[2] for name in ("t.parquet", "t.arrow")]
    assert shown[0] == shown[1]
    assert "secret" not in shown[0]
    entries = tomllib.loads(shown[0])
    number, category = {"lower": "?", "upper": "?"}, {"values": []}
    assert entries["target"] == {"name": "y"} | number
    assert entries["columns"] == {
        "n": number, "k": number, "b": {"values": [False, True]}, "t": category, "none": {}, "d": category,
    }  # fmt: skip
    assert '# "day" is left out: it contains dates' in shown[0]


def test_bounds_and_categories_can_be_paid_for(folder, capsys, monkeypatch):
    Ledger("l.sqlite", epsilon=4, delta=1e-3)
    Path("many.csv").write_text("\n".join([",".join(HEAD), *(",".join(r) for r in rows(2000))]), encoding="utf-8")
    options = "--private --epsilon 2 --delta 1e-4 --target ill --categories ill,sex --ledger l.sqlite --out found"
    code, out, _ = run(capsys, f"schema many.csv {options}.toml")
    assert (code, "(2, 0.0001)-differential privacy" in out) == (0, True)
    found = Schema.load("found.toml")
    assert (found.target.classes, set(found.names)) == (("no", "yes"), set(HEAD[:3]))
    assert "states the price of both together" in out
    assert "epsilon = 2 and delta" in Path("found.toml").read_text(encoding="utf-8")
    assert len(Ledger("l.sqlite").entries) == 1
    monkeypatch.setattr(inputs, "SMALL", 0)
    assert run(capsys, f"schema many.csv {options}.json")[0] == 0
    assert set(Schema.load("found.json").names) == set(HEAD[:3])
    for kind in ("toml", "json"):
        code, out, err = run(capsys, f"schema check found.{kind} many.csv")
        assert (code, "found in records, at a price of epsilon = 2 and delta = 0.0001" in out) == (0, True)
        fit = f"fit many.csv --schema found.{kind} --delta 1e-4 --epsilon 1 --overwrite --out {kind}.model"
        code, out, err = run(capsys, fit)
        assert (code, out.startswith("(3, 0.0002)-differential privacy")) == (0, True), (out, err)
        (whole,) = stated(f"{kind}.model")
        assert whole.verify() == 3.0
        for more, sentence in (("--adjacency add-remove", "--adjacency replace-one"), ("--person age", "neither")):
            code, _, err = run(capsys, f"{fit} {more}")
            assert (code, sentence in err) == (2, True)
    text = Path("found.toml").read_text(encoding="utf-8")
    for old, new in (('\\"epsilon\\": 2.0', '\\"epsilon\\": 0.5'), ("left_out", "left")):
        assert old in text
        Path("changed.toml").write_text(text.replace(old, new), encoding="utf-8")
        assert run(capsys, "fit many.csv --schema changed.toml --epsilon 1 --out no.model")[0] != 0
        assert not Path("no.model").exists()
    code = run(capsys, f"schema many.csv {options}2.toml")[0]
    assert (code, Path("found2.toml").exists()) == (2, False)  # the budget is spent


def test_people_are_not_described(folder, capsys):
    lines = [",".join(["who", *HEAD]), *(f"p{place // 2}," + ",".join(r) for place, r in enumerate(rows(2000)))]
    Path("visits.csv").write_text("\n".join(lines), encoding="utf-8")
    options = "schema visits.csv --person who"
    assert "who" not in tomllib.loads(run(capsys, options)[1])["columns"]
    code, out, _ = run(capsys, f"{options} --rows-per-person 2 --private --epsilon 3 --out found.toml")
    assert (code, "1,000 people" in out, "who" in Schema.load("found.toml").names) == (0, True, False)


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("schema plain.csv --epsilon 1", "--epsilon can only be used with --private."),
        ("schema plain.csv --rows-per-person 1", "--rows-per-person can only be used with --private."),
        ("schema plain.csv --curator", "--curator can only be used with `tacit schema check`."),
        ("schema plain.csv --private --out a.toml", "--private needs --epsilon"),
        ("schema plain.csv --private --epsilon 1", "--private needs --out"),
        ("schema plain.csv --private --epsilon 1 --out a.toml --person age", "belong together"),
        ("schema plain.csv --numbers ages", "The table has no column 'ages'. Did you mean 'age'?"),
        ("schema plain.csv --numbers age --categories age", "'age' is among --numbers and --categories."),
        ("schema plain.csv --target pay", "The table has no columns ['pay']."),
        ("schema plain.csv --out plain.csv", "and would be overwritten"),
        ("schema absent.csv", "absent.csv: No such file or directory."),
        ("schema plain.csv --out a.json", "Expected --out a.json to end in .toml."),
        ("schema plain.csv --private --epsilon 1 --out a.txt", "Expected --out a.txt to end in .toml or .json."),
        ("schema plain.csv --person who", "The table has no column 'who'."),
        ("schema check s.toml --private", "--private cannot be used with check."),
        ("schema check s.toml --seed 0", "--seed cannot be used with check."),
        ("schema check s.toml --target Sex", "nothing about 'Sex'"),
        ("schema check", "Name the schema: tacit schema check SCHEMA.toml"),
        ("schema check s.toml --curator", "--curator looks at a table."),
        ("schema check absent.toml", "absent.toml: No such file or directory."),
    ],
)
def test_what_does_not_go_together_is_one_sentence(folder, capsys, line, sentence):
    code, out, err = run(capsys, line)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert sentence in err


def test_a_check_says_what_fits_and_quotes_cells_for_the_curator_alone(folder, capsys):
    Path("plain.csv").write_text(text().replace("female", "Female").replace("age", "Age"), encoding="utf-8")
    code, out, _ = run(capsys, "schema check s.toml plain.csv --curator")
    assert code == 1
    assert "The table lacks 'age'. Did you mean 'Age'?" in out
    assert "'sex' has cells that are not among its values: 'Female'" in out  # the other columns are looked at
    Path("plain.csv").write_text(text().replace("female", "Female"), encoding="utf-8")
    code, public, _ = run(capsys, "schema check s.toml plain.csv")
    assert (code, "NOT PRIVATE" in public, "Female" in public) == (0, False, False)
    assert "3 columns; the target is 'ill', one of no, yes.\nA row becomes 5 numbers" in public
    assert "the target is 'sex', one of female, male" in run(capsys, "schema check s.toml --target sex")[1]
    code, out, _ = run(capsys, "schema check s.toml plain.csv --curator")
    assert out.startswith(public)
    assert out.index("NOT PRIVATE") < out.index("(did you mean 'female'?)")


@pytest.mark.parametrize(
    ("table", "code", "last"),
    [
        ("age,ill\n50,no\n60,yes\n", 0, ["In these columns, every cell fits."]),
        ("age,ill\n50,no\n,yes\n60,no\n", 0, ["In these columns, every cell that is not missing fits."]),
        ("age,ill\n50,no\n7,yes\n99,no\n", 0, ["'age' has cells beyond its bounds (2): moved to the bounds."]),
        (
            "age,ill\n50,no\n55,\n60,yes\n", 1,
            [
                "'ill' is the target, and missing in 1 row: remove them first.",
                "A fit would be refused because of 'ill'.",
            ],
        ),
        (
            "age,ill\n50,no\n55,No\n60,yes\n", 1,
            [
                "'ill' has cells that are not among its values: 'No' in 1 (did you mean 'no'?).",
                "A fit would be refused because of 'ill'.",
            ],
        ),
        (
            "age,ill\nx,no\ny,yes\n", 1,
            [
                "'age' has cells that are not numbers: 'x' in 1, 'y' in 1.",
                "'age' has no cell that the schema describes: to the model it says nothing.",
                "A fit would be refused because of 'age'.",
            ],
        ),
        ("ill\nno\nyes\n", 1, ["In these columns, every cell fits."]),
    ],
)  # fmt: skip
def test_a_curators_check_says_what_a_fit_would_do(folder, capsys, table, code, last):
    Path("t.csv").write_text(table)
    Path("t.toml").write_text('target.name = "ill"\ntarget.classes = ["no", "yes"]\ncolumns.age.lower = 18\n'
                              'columns.age.upper = 90\n')  # fmt: skip
    found, out, _ = run(capsys, "schema check t.toml t.csv --curator")
    assert found == code
    assert out.splitlines()[-len(last) - 1 :] == ["", *last]
    assert run(capsys, "fit t.csv --schema t.toml --epsilon 1 --delta 1e-3 --out m.json")[0] == 2 * code


def test_a_curators_check_needs_a_column_to_look_at(folder, capsys):
    Path("t.csv").write_text("x,y\n1,2\n")
    code, _, err = run(capsys, "schema check s.toml t.csv --curator")
    assert (code, "The table has none of the columns that the schema names" in err) == (2, True)


@pytest.mark.filterwarnings("default:For the curator")
@pytest.mark.parametrize("small", [True, False])
def test_the_curator_is_told_of_a_column_that_matches_nothing(folder, capsys, monkeypatch, small):
    if not small:
        monkeypatch.setattr(inputs, "SMALL", 0)
    other = text().replace("female", "Female")
    Path("plain.csv").write_text(other, encoding="utf-8")
    assert "declared value" not in run(capsys, f"fit plain.csv {FIT} m.json")[2]
    Path("plain.csv").write_text(other.replace("male", "Male").replace("FeMale", "Female"), encoding="utf-8")
    code, out, err = run(capsys, f"fit plain.csv {FIT} n.json")
    assert code == 0
    assert err.count("For the curator, not for release: no row has a declared value in column 'sex'") == 1
    assert "<other>" not in out


@pytest.mark.filterwarnings("default:For the curator")
def test_a_column_may_match_only_far_down(folder, capsys, monkeypatch):
    monkeypatch.setattr(inputs, "SMALL", 0)
    monkeypatch.setattr("tacit.data.delimited.BATCH", 10)
    lines = text().splitlines()
    Path("plain.csv").write_text("\n".join([*(line.replace("ale", "") for line in lines[:-1]), lines[-1]]))
    assert "declared value" not in run(capsys, f"fit plain.csv {FIT} m.json")[2]


def test_another_target_than_the_schemas(folder, capsys):
    assert run(capsys, f"fit plain.csv {FIT} m.json --target sex")[0] == 0
    content = json.loads(Path("m.json").read_text(encoding="utf-8"))
    assert content["schema"]["target"] == {"name": "sex", "classes": ["female", "male"]}
    assert [name for name, _ in content["schema"]["columns"]] == ["age", "capital.gain"]
    assert run(capsys, "evaluate m.json plain.csv --epsilon 1 --seed 1")[0] == 0
    assert run(capsys, f"fit plain.csv {FIT.replace('output', 'auto')} n.json --target age")[0] == 0
    assert (
        run(capsys, f"fit plain.csv {FIT.replace('output', 'auto')} n.json --target age --target-bounds 0 120")[0] == 0
    )
    assert json.loads(Path("n.json").read_text(encoding="utf-8"))["schema"]["target"]["upper"] == 120


@pytest.mark.parametrize("small", [True, False])
def test_a_column_without_a_name_does_not_predict(folder, capsys, monkeypatch, small):
    if not small:
        monkeypatch.setattr(inputs, "SMALL", 0)
    lines = [f"{place},{place % 7},{place % 2}" for place in range(40)]
    Path("index.csv").write_text("\n".join([",a,y", *lines]), encoding="utf-8")
    fit = "fit index.csv --target y --classes 0,1 --epsilon 1 --out m.json"
    code, _, err = run(capsys, fit)
    assert (code, "A column of the table has no name." in err) == (2, True)
    Path("index.csv").write_text("\n".join(["b,a,y", *lines]), encoding="utf-8")
    code, _, err = run(capsys, fit)
    assert (code, "a column of large numbers outweighs all others" in err) == (0, True)
