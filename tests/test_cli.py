"""The command line, end to end in a temporary folder: results, exit codes, and sentences without private values."""

from __future__ import annotations

import csv
import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tacit.checks import counted
from tacit.cli import console
from tacit.cli.main import main
from tacit.data import tables
from tacit.files import load
from tacit.mechanisms import METHODS
from tacit.privacy.guarantee import checksum
from tacit.report import catalogue as survey

SCHEMA = """
missing = ["?"]
[target]
name = "income"
classes = ["<=50K", ">50K"]
[columns.age]
lower = 17
upper = 90
missing = true
[columns.job]
values = ["clerk", "miner"]
"""
SECRET = "Xanthippe-987654321"


def write_rows(path: Path, records: int = 200) -> None:
    generator = np.random.default_rng(3)
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["age", "job", "hours", "income"])
        for _ in range(records):
            age = int(generator.integers(17, 90))
            job = str(generator.choice(["clerk", "miner", SECRET, "?"]))
            writer.writerow([age if age % 7 else "?", job, age / 2, ">50K" if age > 45 else "<=50K"])


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "data.csv")
    (tmp_path / "schema.toml").write_text(SCHEMA)
    return tmp_path


FIT = "fit data.csv --target income --epsilon 1 --schema schema.toml --overwrite --out model.json"


def run(capsys: pytest.CaptureFixture[str], line: str, *more: str) -> tuple[int, str, str]:
    code = main([*line.split(), *more])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def test_fit_predict_verify_on_a_mixed_table(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, FIT)
    assert (code, err) == (0, "")
    assert "(1, 0.000354)-differential privacy, replace-one" in out  # 200**-1.5
    assert SECRET not in (folder / "model.json").read_text()
    assert SECRET not in out
    model, schema = load(folder / "model.json")
    assert schema is not None
    assert list(model.classes_) == ["<=50K", ">50K"]

    code, _, _ = run(capsys, "predict model.json data.csv --out predictions.csv --proba")
    assert code == 0
    with (folder / "predictions.csv").open(newline="") as file:
        rows = list(csv.reader(file))
    assert rows[0] == ["prediction", "probability of <=50K", "probability of >50K"]
    table = tables.read_table(folder / "data.csv")
    assert [row[0] for row in rows[1:]] == model.predict(schema.encode(table)).tolist()
    assert all(float(row[1]) + float(row[2]) == pytest.approx(1) for row in rows[1:])

    code, out, _ = run(capsys, "verify model.json")
    assert code == 0
    assert "VERIFIED" in out
    assert "add-remove neighbours" in out
    assert "replace-one neighbours" in out


def test_fit_without_a_schema_takes_numbers_and_a_declared_target(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = ["x,y,label", *(f"{v},{-v},{v % 2}" for v in range(60))]
    (folder / "numbers.csv").write_text("\n\n".join(lines))
    assert run(capsys, "fit numbers.csv --target label --classes 1,0 --epsilon 1 --out m.json --task svm")[0] == 0
    code, out, _ = run(capsys, "predict m.json numbers.csv")
    assert code == 0
    assert set(out.split()[1:]) <= {"0", "1"}
    code, _, err = run(capsys, "predict m.json numbers.csv --proba")
    assert code == 2
    assert "has no probabilities" in err

    fit = "fit numbers.csv --target x --target-bounds -5 60 --epsilon 2 --delta 1e-3 --adjacency add-remove --clip 2"
    code, out, _ = run(capsys, fit + " --method statistics --out r.json --progress")
    assert code == 0
    model, _ = load(folder / "r.json")
    assert (model.target_bound, model.clip, model.delta, model.adjacency) == ((-5.0, 60.0), 2.0, 1e-3, "add-remove")
    assert list(model.feature_names_in_) == ["y", "label"]
    (folder / "fewer.csv").write_text("y\n1\n")
    code, _, err = run(capsys, "predict r.json fewer.csv")
    assert (code, err) == (2, "tacit: The table lacks the columns ['label'] that the model was trained on.\n")


@pytest.mark.parametrize(
    ("options", "estimator"),
    [("--task poisson --typical 2", "PoissonRegressor"), ("--task quantile --quantile 0.9", "QuantileRegressor")],
)
def test_counts_and_quantiles_are_tasks(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, estimator: str
) -> None:
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f},{min(9, rng.poisson(1 + 3 * a))}" for a in rng.uniform(size=300)]
    Path("counts.csv").write_text("\n".join(["a,n", *lines]) + "\n")
    line = "fit counts.csv --epsilon 1 --target n --overwrite --out counts.json "
    assert run(capsys, f"{line} --target-bounds 0 9 {options}")[0] == 0
    assert json.loads(Path("counts.json").read_text())["estimator"] == estimator
    assert run(capsys, "verify counts.json")[0] == 0
    code, _, sentence = run(
        capsys, f"{line} --target-bounds 0 9 {options.partition(' --')[0]} --quantile 0.9 --typical 2"
    )
    assert code == 2
    assert "can only be used with --task" in sentence
    assert run(capsys, f"{line} --target-bounds 1 9 --task poisson")[0] == 2


def test_parquet_gives_what_csv_gives(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = tables.read_table(folder / "data.csv")
    parquet.write_table(arrow.table({name: list(column) for name, column in table.items()}), folder / "data.parquet")
    assert run(capsys, FIT.replace("data.csv", "data.parquet"), "--seed", "3")[0] == 0
    first = (folder / "model.json").read_text()
    assert run(capsys, FIT, "--seed", "3")[0] == 0
    assert (folder / "model.json").read_text() == first
    assert run(capsys, "predict model.json data.parquet")[0] == 0
    (folder / "bad.parquet").write_text("not parquet")
    code, _, err = run(capsys, FIT.replace("data.csv", "bad.parquet"))
    assert (code, err) == (2, "tacit: bad.parquet is not a readable Parquet file.\n")


def test_without_pyarrow_the_extra_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    code, _, err = run(capsys, FIT.replace("data.csv", "data.parquet"))
    assert code == 2
    assert "pip install '.[parquet]'" in err


def test_a_seed_warns_loudly_and_is_told_by_the_guarantee(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code, out, err = run(capsys, FIT, "--seed", "1")
    assert code == 0
    assert err.startswith("WARNING: --seed")
    assert "NOT for release" in out


def test_a_refuted_calibration_warns_and_does_not_verify(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    line = FIT.replace("--epsilon 1", "--epsilon 10") + " --method output-zhang-2017 --calibration paper"
    code, _, err = run(capsys, line)
    assert code == 0
    assert "WARNING: REFUTED" in err
    code, _, err = run(capsys, "verify model.json")
    assert code == 1
    assert "NOT VERIFIED" in err


def test_progress_only_when_asked_for(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, _, err = run(capsys, FIT, "--progress")
    assert [line.split()[0] for line in err.splitlines()] == ["Reading", "Encoding", "Training"]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_on_a_terminal_progress_is_drawn_and_results_stay_apart(
    folder: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stderr", screen := Terminal())
        assert main(FIT.split()) == 0
        assert main(["predict", "model.json", "data.csv"]) == 0
        with console.progress() as say:
            say("[halfway]", 0.5)
            print("a result")
    assert "Training on 200 records" in screen.getvalue()
    assert "of 200 rows" in screen.getvalue()
    assert "[halfway]" in screen.getvalue()  # what is said is no markup
    out = capsys.readouterr().out
    assert out.startswith("(1, 0.000354)-differential privacy")
    assert "prediction\n" in out
    assert out.endswith("a result\n")
    assert "\x1b" not in out


def test_tables_are_plain_text_unless_on_a_terminal(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR", "COLUMNS"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    rows = [["[b]one", "1.0"], ["two", "10.0"], ["three"]]
    console.print_table(["name", "long" * 50], rows, numbers=True)
    out = capsys.readouterr().out
    # Six letters of the longest name, two spaces, and 200 of the header, below whose end numbers end; no wrapping.
    assert [len(line) for line in out.splitlines()] == [208, 208, 208, 5]
    assert out.splitlines()[1].split() == ["[b]one", "1.0"]
    assert "\x1b" not in out
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen := Terminal())
        console.print_table(["name", "value"], rows)
    assert "\x1b[1m" in screen.getvalue()


@pytest.mark.parametrize("width", [60, 80, 130])
def test_tables_are_as_wide_as_the_terminal(width: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    with monkeypatch.context() as patch:
        patch.setattr(sys, "stdout", screen := Terminal())
        assert main(["methods"]) == 0
        console.print_table(["name", "count", "long"], [["one", "1", "word " * 99], ["two", "1,000", "w" * 400]])
    text = re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())
    lines = text.splitlines()
    assert max(map(len, lines)) <= width
    assert max(map(len, lines)) > 0.9 * min(width, 110)
    assert text.count("word") == 99  # folded, not cut
    assert text.count("w") >= 499
    first, second = (next(line for line in lines if line.startswith(name)) for name in ("one ", "two "))
    assert first.index("word") == second.index("www")
    assert first.index("1") == second.index("1,000") + 4  # numbers end below each other
    assert ("losses" in lines[0]) == (width >= 110)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (FIT.replace("data.csv", "absent.csv"), "absent.csv: No such file or directory."),
        (FIT.replace("schema.toml", "absent.toml"), "absent.toml: No such file or directory."),
        (FIT.replace("model.json", "no/model.json"), "The folder of --out no/model.json does not exist."),
        (FIT.replace("--target income", "--target age"), "Target 'age' has missing numbers"),
        (FIT.replace("--target income", "--target ages"), "LOWER UPPER for numbers. Did you mean 'age'"),
        (FIT + " --classes a,b --target-bounds 0 1", "Give one of the two."),
        (FIT + " --classes a,b", "The schema declares its target."),
        (FIT + " --task regression", "needs bounds"),
        (FIT.replace("--epsilon 1", "--epsilon 0"), "Expected epsilon=0.0 > 0."),
        (FIT + " --delta 2", "delta=2.0"),
        (FIT + " --clip -1", "Expected clip=-1.0 > 0"),
        (FIT + " --method magic", "Unknown method 'magic'"),
        (FIT + " --method statistics", "need the squared loss"),
        (FIT + " --method dp-sgd-subset --adjacency add-remove", "replace-one neighbours only"),
        ("fit data.csv --epsilon 1 --out model.json", "Name the column to predict"),
        ("fit data.csv --epsilon 1 --out model.json --target income", "Declare what is public about the target"),
        ("fit data.csv --epsilon 1 --out model.json --target wage --classes a,b", "no column 'wage'"),
        ("fit data.csv --epsilon 1 --out model.json --target income --classes <=50K,>50K", "Column 'age' has cells"),
        ("fit data.csv --epsilon 1 --out model.json --target job --classes clerk,miner", "label outside classes"),
        ("fit data.csv --epsilon 1 --out model.json --target job --target-bounds 0 1", "cells that are not numbers"),
        ("fit data.csv --epsilon 1 --out model.json --schema schema.toml --delta 0", "'objective-chaudhuri-2011'"),
        ("fit data.csv --epsilon 1 --out model.json --schema schema.toml --method objective --delta 0", "pure method"),
        ("predict schema.toml data.csv --keep name", "not readable JSON"),
        ("predict schema.toml data.csv", "not readable JSON"),
    ],
)  # fmt: skip
def test_errors_are_one_sentence_and_nothing_is_written(
    folder: Path, capsys: pytest.CaptureFixture[str], line: str, says: str
) -> None:
    code, out, err = run(capsys, line)
    assert code == 2
    assert out == ""
    assert says in err
    assert err.startswith("tacit: ")
    assert err.count("\n") == 1
    assert SECRET not in err
    assert {path.name for path in folder.iterdir()} == {"data.csv", "schema.toml"}


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b"", "is empty"),
        (b"age,age\n1,2\n", "same name to two columns"),
        (f"age,job,income\n1,clerk,{SECRET},9\n".encode(), "Line 2 of data.csv has 4 cells"),
        (f"age,job,income\n1,{SECRET},\xff\n".encode("latin-1"), "not UTF-8"),
        (b'age,job,income\n1,"' + b"x" * 2_000_000 + b'",a\n', "not a readable CSV file"),
        (f"age,job,income\n1,clerk,{SECRET}\n".encode(), "label outside classes"),
        (b"job,income\nclerk,>50K\n", "The table has no column 'age', which the schema names."),
        (b"age,job,income\n", "data.csv has no rows"),
        (b"age;job;income\n30;clerk;>50K\n", None),  # the first line tells the separator
        (b"age\tjob\tincome\n30\tclerk\t>50K\n", None),
        (b"age,job,income\n30,clerk,?\n", "has a missing label"),
        (b'age,job,income\n"27,5",clerk,>50K\n?,clerk,>50K\n', "Column 'age' has no cell that is a number"),
        (b"age,job,income\n1,clerk,>50K\n", None),
    ],
)
def test_tables_that_do_not_fit_get_a_sentence(
    folder: Path, capsys: pytest.CaptureFixture[str], raw: bytes, says: str | None
) -> None:
    (folder / "data.csv").write_bytes(raw)
    code, _, err = run(capsys, FIT)
    if says is None:  # one record of one class is still a table: the label set is declared
        assert code == 0
        return
    assert code == 2
    assert says in err
    assert SECRET not in err
    assert not (folder / "model.json").exists()


def test_verify_takes_models_and_bare_guarantees_and_notices_tampering(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(capsys, FIT)
    model: dict[str, Any] = json.loads((folder / "model.json").read_text())
    (folder / "g.json").write_text(json.dumps(model["guarantee"]))
    assert run(capsys, "verify g.json")[0] == 0

    lie = {**model["guarantee"], "epsilon": 0.5}
    (folder / "g.json").write_text(json.dumps(lie))
    code, _, err = run(capsys, "verify g.json")
    assert code == 1
    assert "checksum" in err
    content = {key: value for key, value in lie.items() if key != "checksum"}
    (folder / "g.json").write_text(json.dumps({**content, "checksum": checksum(content)}))
    code, _, err = run(capsys, "verify g.json")  # resealed: the recorded noise still gives the lie away
    assert code == 1
    assert "cost epsilon" in err

    extreme = {
        "kind": "Gaussian",
        "sensitivity": {"add_remove": 1.0, "replace_one": 2.0},
        "scale": 1e-300,
        "count": 10**18,
    }
    content["events"] = [extreme]
    (folder / "g.json").write_text(json.dumps({**content, "checksum": checksum(content)}))
    code, _, err = run(capsys, "verify g.json")
    assert code == 1
    assert "NOT VERIFIED" in err

    for foreign in ("{}", "<!doctype html>", "", '{"guarantee": 1}'):
        (folder / "g.json").write_text(foreign)
        for command in ("verify", "statement"):
            code, _, err = run(capsys, f"{command} g.json")
            assert code == 2
            assert err.startswith("tacit: g.json: This is not a Tacit file: ")
            assert "VERIFIED" not in err
    assert run(capsys, "verify absent.json")[0] == 2
    run(capsys, FIT.replace("--epsilon 1", "--epsilon inf"))
    code, out, err = run(capsys, "verify model.json")
    assert code == 1
    assert "NOT PRIVATE" in out


def test_methods_lists_every_method_once(capsys: pytest.CaptureFixture[str]) -> None:
    code, out, _ = run(capsys, "methods")
    assert code == 0
    lines = {line.split()[0]: line for line in out.split("\n\n")[0].splitlines()[1:]}
    assert set(lines) == set(METHODS)
    assert "replace-one" in lines["output-wu-2017"]
    assert "both" in lines["objective"]
    assert "refuted at epsilon 10" in lines["output-zhang-2017"]
    assert "squared" in lines["statistics"]


def test_survey_agrees_with_what_the_methods_say_of_themselves() -> None:
    for method in METHODS.values():
        assert survey.entry(method).both == ("replace-one only" not in method.about), method.name


def test_help_and_usage_errors_are_argparse(capsys: pytest.CaptureFixture[str]) -> None:
    for line, code in (("--help", 0), ("fit --help", 0), ("--version", 0), ("", 2), ("fit", 2), ("unknown", 2)):
        with pytest.raises(SystemExit) as caught:
            main(line.split())
        assert caught.value.code == code
    assert "No accuracy is printed" in " ".join(capsys.readouterr().out.split())


# --- cells that say something and are no numbers --------------------------------------------------------------------
def test_some_unreadable_cells_are_said_without_quoting_them(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = (folder / "data.csv").read_text().splitlines()
    (folder / "mixed.csv").write_text("\n".join([*rows, f'"27,5",clerk,{SECRET},>50K', "63 years,clerk,1,>50K"]))
    said = "WARNING: some cells of 'age' are not numbers and count as missing. If they have a decimal comma, add"
    code, _, err = run(capsys, FIT.replace("data.csv", "mixed.csv") + " --allow-unreadable")
    assert code == 0
    assert err.startswith(said)
    assert err.count("\n") == 1
    assert "27" not in err
    assert "63" not in err
    code, _, err = run(capsys, "predict model.json mixed.csv")
    assert code == 0
    assert err.startswith(said)
    assert run(capsys, "predict model.json data.csv")[2] == ""  # '?' and empty cells are declared as missing

    (folder / "commas.csv").write_text('age,job\n"27,5",clerk\n"31,0",miner\n,clerk\n')
    code, out, err = run(capsys, "predict model.json commas.csv")
    assert (code, out) == (2, "")
    assert "Column 'age' has no cell that is a number. Is there a decimal comma" in err
    assert "31" not in err
    (folder / "empty.csv").write_text("age,job\n,clerk\n?,miner\n")
    assert run(capsys, "predict model.json empty.csv")[::2] == (0, "")
    (folder / "header.csv").write_text("age,job\n")
    assert run(capsys, "predict model.json header.csv")[::2] == (2, "tacit: header.csv has no rows.\n")


def test_one_person_s_unreadable_cell_is_refused(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = "protocol --schema schema.toml --epsilon 2 --delta 1e-3 --cohort 100 --out p.json"
    assert run(capsys, command)[0] == 0
    (folder / "mine.csv").write_text(f"age,job,income\n{SECRET} years,clerk,>50K\n40,clerk,>50K\n")
    code, _, err = run(capsys, "contribute mine.csv --protocol p.json --out s.jsonl")
    assert code == 2
    assert "Column 'age' has a cell that is not a number. Is there a decimal comma" in err
    assert SECRET not in err
    assert not (folder / "s.jsonl").exists()
    (folder / "mine.csv").write_text("age,job,income\n,clerk,>50K\n40,clerk,>50K\n")
    assert run(capsys, "contribute mine.csv --protocol p.json --out s.jsonl")[0] == 0


def test_one_is_not_several(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "protocol --schema schema.toml --epsilon 2 --delta 1e-3 --cohort 100 --out p.json")[0] == 0
    (folder / "mine.csv").write_text("age,job,income\n40,clerk,>50K\n40,clerk,?\n")
    code, out, err = run(capsys, "contribute mine.csv --protocol p.json --out s.jsonl")
    assert code == 0
    assert "Wrote s.jsonl: 1 submission for protocol" in out
    assert "1 row left out" in err
    code, out, _ = run(capsys, "collect s.jsonl --protocol p.json --database d.sqlite")
    assert code == 0
    assert out.startswith("s.jsonl: 1 submission added.\n1 contributor in all;")
    assert counted(0, "row") == "0 rows"
    assert counted(1_000, "copy", "copies") == "1,000 copies"


# --- what goes beside a prediction, and beside a guarantee ----------------------------------------------------------
def test_predictions_keep_a_column_to_join_by(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(capsys, FIT)
    plain = run(capsys, "predict model.json data.csv")[1].split()
    code, out, _ = run(capsys, "predict model.json data.csv --keep hours --keep job --keep hours")
    assert code == 0
    rows = list(csv.reader(out.splitlines()))
    assert rows[0] == ["hours", "job", "prediction"]
    assert [row[2] for row in rows] == plain
    table = tables.read_table(folder / "data.csv")
    assert [row[0] for row in rows[1:]] == list(table["hours"])
    assert [row[1] for row in rows[1:]] == list(table["job"])
    code, out, err = run(capsys, "predict model.json data.csv --keep wage")
    assert (code, out) == (2, "")
    assert "lacks the columns ['wage'] that are to be kept" in err


def test_a_kept_column_of_parquet_is_not_changed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    run(capsys, FIT)
    names = arrow.array([7, None, 9007199254740993])
    parquet.write_table(arrow.table({"age": [20, 30, 40], "job": ["clerk"] * 3, "name": names}), folder / "t.parquet")
    out = run(capsys, "predict model.json t.parquet --keep name")[1]
    assert [row.split(",")[0] for row in out.splitlines()] == ["name", "7", "", "9007199254740993"]


@pytest.mark.parametrize(
    ("options", "words"),
    [("--delta 1e-4", ()), ("--delta 0.1", ("delta is above 1/n",)),
     ("--epsilon 20 --delta 0.1", ("epsilon is above 10", "delta is above 1/n"))],
)  # fmt: skip
def test_weak_numbers_are_noted(
    folder: Path, capsys: pytest.CaptureFixture[str], options: str, words: tuple[str, ...]
) -> None:
    code, out, err = run(capsys, f"{FIT} {options}")
    assert code == 0
    assert [line.startswith(f"NOTE: {word}") for line, word in zip(err.splitlines(), words, strict=True)] == [
        True for _ in words
    ]
    assert ("NOTE" in out) == bool(words)
    assert all(word in out for word in words)
    assert ("NOTE" in run(capsys, "verify model.json")[1]) == bool(words)


@pytest.mark.parametrize(
    ("method", "how"),
    [("input-kang-2020", "PublishedInput(constant=...)"),
     ("dbdp-erm", "PublishedInput(paper='dbdp-erm', constant=...)"), ("pi-dbdp-erm", "PiDbdpErm(constant=...)"),
     ("pidp-sgd", "PidpSgd(constant=..., contribution_constant=...)")],
)  # fmt: skip
@pytest.mark.parametrize("calibration", ["paper", "proven"])
def test_methods_with_an_open_constant_are_objects(
    folder: Path, capsys: pytest.CaptureFixture[str], method: str, how: str, calibration: str
) -> None:
    code, _, err = run(capsys, f"{FIT} --method {method} --calibration {calibration}")
    assert code == 2
    assert f"runs from Python only, as an object: method={how}, calibration='paper'" in err
    assert "REFUTED" in err
