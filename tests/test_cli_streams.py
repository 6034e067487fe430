"""The command line on tables in several files: the same bits as from one small file, and words about how far it is."""

from __future__ import annotations

import gzip
import itertools
import json
import math
import sys
from pathlib import Path

import numpy as np
import pytest

from tacit.cli import console, inputs
from tacit.cli.main import main
from tacit.data import delimited, tables
from tacit.linear import streamed
from tacit.streams import columnar
from tacit.streams.watching import watch_pass, watch_steps, watched

pyarrow = pytest.importorskip("pyarrow", reason="Parquet files: pip install '.[parquet]'")
from pyarrow import feather, parquet  # noqa: E402

SCHEMA = """
[columns.age]
lower = 18
upper = 90
[columns.job]
values = ["clerk", "miner"]
"""
CUTS = (0, 250, 251, 251, 600)
"""Files of 250 rows, one, none and the rest; a person's rows are in the first two."""


def make_table() -> pyarrow.Table:
    rng = np.random.default_rng(0)
    rows = CUTS[-1]
    age = rng.integers(18, 90, rows)
    return pyarrow.table({
        "person": np.repeat([f"p{place:03d}" for place in range(rows // 3)], 3), "age": age,
        "job": rng.choice(["clerk", "miner", "other"], rows), "days": age / 2.0, "weight": rng.uniform(0, 1, rows),
        "ill": np.where(age + rng.normal(0, 10, rows) > 50, "yes", "no"),
    })  # fmt: skip


def write_text(table: pyarrow.Table, path: Path, separator: str, decimal: str, encoding: str) -> None:
    lines = [separator.join(table.column_names)]
    lines += [separator.join(str(c).replace(".", decimal) for c in row.values()) for row in table.to_pylist()]
    with (gzip.open if path.suffix == ".gz" else open)(path, "wb") as file:
        file.write(("\n".join(lines) + "\n").encode(encoding))


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(columnar, "BATCH", 64)
    monkeypatch.setattr(delimited, "BATCH", 64)
    for name in ("SMALL", "SMALL_COSTLY"):  # small tables are not held in memory here
        monkeypatch.setattr(streamed, name, 0)
    monkeypatch.setattr(streamed, "SPARE", math.inf)
    table = make_table()
    parquet.write_table(table, "one.parquet")
    Path("schema.toml").write_text(SCHEMA)
    for kind in ("parquet", "arrow", "csv", "gz"):
        Path(kind).mkdir()
    for place, (start, stop) in enumerate(itertools.pairwise(CUTS)):
        part = table.slice(start, stop - start)
        parquet.write_table(part, f"parquet/{place}.parquet", row_group_size=100)
        feather.write_feather(part, f"arrow/{place}.arrow")
        write_text(part, Path(f"csv/{place}.csv"), ",", ".", "utf-8")
        write_text(part, Path(f"gz/{place}.csv.gz"), ";", ",", "utf-16")
    return tmp_path


def run(capsys, line):
    code = main(line.split())
    captured = capsys.readouterr()
    return code, captured.out, captured.err


PLACES = [
    "parquet/*.parquet",
    "parquet",
    "parquet/0.parquet parquet/1.parquet parquet/3.parquet",
    "arrow/*.arrow",
    "csv",
    "gz --separator ; --decimal , --encoding utf-16",
]


FIT = "--schema schema.toml --epsilon 2 --seed 1 --target ill --classes no,yes --overwrite --out"
ONE_PASS = (
    "--schema schema.toml --epsilon 2 --seed 1 --target days --target-bounds 0 45 --method statistics --overwrite --out"
)


@pytest.mark.parametrize("place", PLACES)
def test_files_in_a_folder_give_the_model_of_one_file(folder, capsys, place):
    assert run(capsys, f"fit one.parquet {ONE_PASS} one.json")[0] == 0
    code, _, err = run(capsys, f"fit {place} {ONE_PASS} many.json")
    assert code == 0, err
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


@pytest.mark.parametrize(
    "options",
    ["--person person --rows-per-person 2", "--weight weight --method gradient"],
)
def test_people_weights_and_methods_from_several_files(folder, capsys, options):
    assert run(capsys, f"fit one.parquet {FIT} one.json {options}")[0] == 0
    assert run(capsys, f"fit parquet {FIT} many.json {options}")[0] == 0
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


def test_a_large_file_is_streamed_and_numbers_need_no_schema(folder, capsys, monkeypatch):
    parquet.write_table(parquet.read_table("one.parquet").select(["days", "age", "weight"]), "numbers.parquet")
    line = "fit numbers.parquet --target days --target-bounds 0 45 --epsilon 2 --seed 1 --clip 100 --out"
    assert run(capsys, f"{line} one.json")[0] == 0
    monkeypatch.setattr(inputs, "SMALL", 0)
    monkeypatch.setattr(tables, "read_table", None)
    assert run(capsys, f"{line} many.json")[0] == 0
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()
    assert json.loads(Path("many.json").read_text())["names"] == ["age", "weight"]
    assert run(capsys, "predict many.json numbers.parquet --out said.csv")[0] == 0
    assert run(capsys, "evaluate many.json numbers.parquet --epsilon 1 --target days")[0] == 0


@pytest.mark.parametrize("place", PLACES)
def test_predictions_of_several_files_are_those_of_one_in_order(folder, capsys, place):
    assert run(capsys, f"fit one.parquet {FIT} one.json")[0] == 0
    assert run(capsys, "predict one.json one.parquet --proba --keep person --out one.csv")[0] == 0
    assert run(capsys, f"predict one.json {place} --proba --keep person --out many.csv")[0] == 0
    assert Path("many.csv").read_bytes() == Path("one.csv").read_bytes()
    assert run(capsys, f"predict one.json {place} --proba --keep person")[1] == Path("one.csv").read_text()
    assert run(capsys, f"predict one.json {place} --proba --keep person --out many.parquet")[0] == 0
    table = parquet.read_table("many.parquet")
    assert table["person"].to_pylist() == parquet.read_table("one.parquet")["person"].to_pylist()
    rows = [line.split(",") for line in Path("one.csv").read_text().splitlines()]
    assert table.column_names == rows[0]
    assert [list(map(str, row.values())) for row in table.to_pylist()] == rows[1:]


@pytest.mark.parametrize("options", ["", "--person person --rows-per-person 2", "--adjacency add-remove --delta 1e-6"])
def test_scores_of_several_files_are_those_of_one(folder, capsys, options):
    assert run(capsys, f"fit one.parquet {FIT} one.json")[0] == 0
    line = f"--epsilon 1 --seed 3 --metrics accuracy,auc,log_loss,calibration {options} --overwrite --out"
    assert run(capsys, f"evaluate one.json one.parquet {line} one.scores")[0] == 0
    for place in ("parquet/*.parquet", "csv"):
        code, _, err = run(capsys, f"evaluate one.json {place} {line} many.scores")
        assert code == 0, err
        assert Path("many.scores").read_bytes() == Path("one.scores").read_bytes()


def test_lines_say_how_far_a_pass_is_where_they_are_asked_for(folder, capsys, monkeypatch):
    monkeypatch.setattr(inputs, "SMALL", 0)
    assert run(capsys, f"fit parquet {ONE_PASS} one.json")[2].count("\n") == 1  # of the seed
    monkeypatch.setattr(console, "LONG", 0.0)
    for place, within in (("one.parquet", {0, 64, 128, 600}), ("parquet", {0, 600})):
        _, _, err = run(capsys, f"fit {place} {ONE_PASS} one.json --progress")
        lines = [line for line in err.splitlines() if line.startswith("Pass 1:")]
        assert lines[0] == "Pass 1: 0 of 600 rows"
        done = [int(line.split()[2]) for line in lines]
        assert done == sorted(done)
        assert within <= set(done)
        assert "0:00:00 left in this pass" in lines[-1]
        assert lines[-1].endswith(" per second")
    assert run(capsys, f"fit parquet {ONE_PASS} one.json --progress off")[2].count("\n") == 1
    _, _, err = run(capsys, "predict one.json parquet --out said.csv --progress on")
    assert "Pass 1: 600 of 600 rows" in err


def test_a_pass_is_told_at_its_pace(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    said = []
    tell = console.Passes(lambda text, share=None: said.append((text, share)), 5.0, at_once=False)
    for seconds, done in ((0, 0), (4, 100), (10, 250), (12, 300), (40, 1000)):
        now[0] = 100.0 + seconds
        tell(3, done, 1000)
    assert said == [
        ("Pass 3: 250 of 1,000 rows, 0:00:30 left in this pass, 25 per second", 0.25),
        ("Pass 3: 1,000 of 1,000 rows, 0:00:00 left in this pass, 25 per second", 1.0),
    ]
    tell(4, 0, 0)
    now[0] += 5.0
    tell(4, 0, 0)
    assert said[-1] == ("Pass 4: 0 of 0 rows", None)


def test_steps_tell_how_long_all_of_them_take(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    said = []
    tell = console.Passes(lambda text, share=None: said.append((text, share)), 5.0, at_once=False)
    with watched(tell, tell.step):
        for _ in watch_steps(4):  # of records that are held
            now[0] += 10.0
        assert said == [
            ("Step 2 of 4, 0:00:30 left", 0.25),
            ("Step 3 of 4, 0:00:20 left", 0.5),
            ("Step 4 of 4, 0:00:10 left", 0.75),
        ]
        said.clear()
        for step in watch_steps(4):  # of streamed ones: a pass in each
            with watch_pass(1000) as done:
                now[0] += 6.0
                done(500)
                now[0] += 6.0
                if step == 1:
                    break
    assert said == [
        ("Step 1 of 4. Pass 1: 0 of 1,000 rows", 0.0),
        ("Step 1 of 4, 0:00:42 left. Pass 1: 500 of 1,000 rows, 83 per second", 0.125),
        ("Step 2 of 4, 0:00:36 left", 0.25),
        ("Step 2 of 4, 0:00:30 left. Pass 2: 500 of 1,000 rows, 83 per second", 0.375),
    ]


def test_time_is_left_where_a_share_is_known(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(console.time, "monotonic", lambda: now[0])
    said = []
    passes = console.Passes(lambda text, share=None: said.append(text), 0.0)
    say = console.Timed(lambda text, share=None: said.append(text), passes)
    for seconds, share in ((0, None), (0, 0.0), (10, 0.25), (20, 0.5), (5, 0.1), (9, 0.2), (1, 1.0)):
        now[0] += seconds
        say("Audit", share)
        if share is not None:  # the trainings of an audit are not told one by one
            passes.step(1, 2)
            passes(1, 5, 10)
    assert said == [
        "Audit", "Audit", "Audit, 0:00:30 left", "Audit, 0:00:30 left", "Audit", "Audit, 0:00:36 left", "Audit",
    ]  # fmt: skip


def test_a_training_by_steps_tells_them(folder, capsys, monkeypatch):
    monkeypatch.setattr(console, "LONG", 0.0)
    fit = "fit one.parquet --schema schema.toml --target ill --classes no,yes --epsilon 1 --overwrite --out s.json"
    _, _, err = run(capsys, f"{fit} --method gradient --progress")
    steps = [line.split()[1:4] for line in err.splitlines() if line.startswith("Step ")]
    total = steps[0][2].rstrip(",.")
    assert [int(step[0]) for step in steps] == [*range(2, int(total) + 1)]


def test_a_terminal_gets_no_words_where_progress_is_off(folder, capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with console.progress("off") as say:
        say("nothing")
    assert capsys.readouterr().err == ""


def test_statements_of_a_pattern_of_files(folder, capsys):
    for name in ("a", "b"):
        fit = f"fit one.parquet --schema schema.toml --epsilon 1 --target ill --classes no,yes --out {name}.json"
        assert main(fit.split()) == 0
    capsys.readouterr()
    code, out, _ = run(capsys, "statement *.json")
    assert code == 0
    assert [name for name in ("a.json", "b.json") if out.count(f"File {name}, SHA-256") == 1] == ["a.json", "b.json"]
    assert len(json.loads(run(capsys, "statement a.json b.json --json")[1])) == 2
    code, _, err = run(capsys, "statement absent*.json")
    assert (code, err) == (2, "tacit: No file matches 'absent*.json'.\n")


@pytest.mark.parametrize("options", ["", "--person person --rows-per-person 2"])
def test_a_first_table_of_several_files_is_that_of_one(folder, capsys, options):
    line = f"--schema schema.toml --epsilon 1 --seed 1 {options} --out"
    assert run(capsys, f"describe one.parquet {line} one.json")[0] == 0
    assert run(capsys, f"describe parquet {line} many.json")[0] == 0
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


@pytest.mark.parametrize("options", ["--additive --slots 4", "--class-weight balanced"])
def test_curves_and_balanced_classes_from_several_files(folder, capsys, options):
    assert run(capsys, f"fit one.parquet {FIT} one.json {options}")[0] == 0
    assert run(capsys, f"fit parquet {FIT} many.json {options}")[0] == 0
    assert Path("many.json").read_bytes() == Path("one.json").read_bytes()


@pytest.mark.parametrize("kind", ["parquet", "csv"])
def test_unreadable_cells_are_told_wherever_they_stand(folder, capsys, kind):
    """In the last file, or behind the first batch of one: refused before anything is paid for, unless it is allowed."""
    good, bad = [str(age) for age in range(20, 90)] * 3, ["63 years"] * 10
    schema = '[target]\nname = "ill"\nclasses = ["no", "yes"]\n[columns.age]\nlower = 18\nupper = 90\n'
    Path("texts.toml").write_text(schema)

    def write(name, cells):
        table = pyarrow.table({"age": cells, "ill": ["yes", "no"] * (len(cells) // 2)})
        if kind == "csv":
            write_text(table, Path(f"{name}.csv"), ",", ".", "utf-8")
        else:
            parquet.write_table(table, f"{name}.parquet")
        return f"{name}.{kind}"

    first, last, long, none = write("u1", good), write("u2", bad), write("u3", good + bad), write("u4", bad)
    words = "some cells of 'age' are not numbers and count as missing"
    fit = "fit {} --schema texts.toml --epsilon 1 --seed 1 --overwrite --out u.json"
    for data in (f"{first} {last}", f"{first} {long}", long):
        for line in (
            f"{fit.format(data)} --allow-unreadable", f"predict u.json {data}",
            f"evaluate u.json {data} --epsilon 1 --seed 1 --allow-unreadable",
        ):  # fmt: skip
            assert main(line.split()) == 0
            assert capsys.readouterr().err.count(words) == 1, line
    assert main(fit.format(first).split()) == 0
    assert words not in capsys.readouterr().err
    assert main(fit.format(f"{last} {none}").split()) == 2
    assert "Column 'age' has no cell that is a number." in capsys.readouterr().err
