"""Orders, types and files that a protocol meets from outside: each has its own answer, and none is silent."""

import json

import numpy as np
import pytest

from tacit import LogisticRegression, PrivacyError, files
from tacit.cli.main import main
from tacit.privacy.guarantee import checksum
from tacit.protocol import Database, Protocol
from tacit.protocol import agreement as module
from tacit.protocol import database as words
from tacit.schema import Category, Number, Schema, Target

AGE, PAY = Number("age", 0, 100), Number("pay", 0, 1e5)
NUMBER = Target("y", lower=-1, upper=1)
FEW = {"epsilon": 2.0, "delta": 1e-3, "cohort": 400}


def plain(**more):
    return Protocol.create(**{**FEW, "columns": 3, "target": NUMBER, **more})


# --- the order of the columns ---------------------------------------------------------------------------------------
def test_the_order_of_the_columns_is_in_the_fingerprint():
    one, other = (Protocol.create(**FEW, schema=Schema(pair, NUMBER)) for pair in ((AGE, PAY), (PAY, AGE)))
    assert one.fingerprint != other.fingerprint
    sent = one.perturb_table({"age": [10] * 3, "pay": [9e4] * 3}, [0.5] * 3)
    assert Database(other).add(sent).refused == {words.FOREIGN: 3}


def exchanged(columns):
    """The same columns in the other order, in either form."""
    return dict(reversed(columns.items())) if isinstance(columns, dict) else columns[::-1]


def test_exchanged_columns_in_a_file_are_found(tmp_path):
    schema = Schema((AGE, PAY), Target("y", classes=(0, 1)))
    data = json.loads(Protocol.create(**FEW, schema=schema).to_json())
    data["schema"]["columns"] = exchanged(data["schema"]["columns"])
    with pytest.raises(PrivacyError, match="changed"):
        Protocol.from_json(json.dumps(data))
    rng = np.random.default_rng(0)
    model = LogisticRegression(5.0, classes=[0, 1]).fit(rng.uniform(size=(60, 2)), np.arange(60) % 2)
    files.save(model, tmp_path / "m.json", schema)
    data = json.loads((tmp_path / "m.json").read_text())
    assert files.models.from_dict(data)[1] == schema
    data["schema"]["columns"] = exchanged(data["schema"]["columns"])
    with pytest.raises(PrivacyError, match="checksum"):
        files.models.from_dict(data)


def test_model_files_with_a_mapping_of_columns_are_read(tmp_path):
    schema = Schema((PAY, AGE), Target("y", classes=(0, 1)))
    model = LogisticRegression(5.0, classes=[0, 1]).fit(np.eye(2).repeat(30, axis=0), np.arange(60) % 2)
    files.save(model, tmp_path / "m.json", schema)
    data = json.loads((tmp_path / "m.json").read_text())
    data["schema"]["columns"] = dict(data["schema"]["columns"])
    del data["checksum"]
    assert files.models.from_dict({**data, "checksum": checksum(data)})[1] == schema


def test_the_grid_and_the_version_are_in_the_fingerprint(monkeypatch):
    protocol = plain()
    text, data = protocol.to_json(), json.loads(protocol.to_json())
    for changed in ({"version": 1}, {"grid": {"row_bits": 12, "cross_bits": 36}}):
        content = {k: v for k, v in {**data, **changed}.items() if k != "fingerprint"}
        with pytest.raises(PrivacyError, match="another version"):
            Protocol.from_json(json.dumps({**content, "fingerprint": checksum(content)[:32]}))
    monkeypatch.setattr(module, "GRID", {"row_bits": 12, "cross_bits": 36})
    assert plain().fingerprint != protocol.fingerprint
    with pytest.raises(PrivacyError, match="another version"):
        Protocol.from_json(text)


# --- types ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "more",
    [
        {"cohort": np.int64(400)},
        {"clip": np.float32(1)},
        {"epsilon": np.float32(2)},
        {"epsilon": 2},
        {"columns": np.int32(3)},
        {"target": Target("y", lower=np.int64(-1), upper=np.int32(1))},
    ],
)
def test_numbers_of_numpy_are_numbers(more):
    protocol = plain(**more)
    again = Protocol.from_json(protocol.to_json())
    assert again == protocol
    assert again.fingerprint == protocol.fingerprint == plain().fingerprint


def test_classes_and_bounds_of_numpy_are_written():
    schema = Schema((Number("a", np.int64(0), np.float32(1)),), Target("y", classes=tuple(np.array([0, 1]))))
    protocol = Protocol.create(**FEW, schema=schema)
    assert Protocol.from_json(protocol.to_json()) == protocol


@pytest.mark.parametrize("more", [{"cohort": 0}, {"cohort": 2.5}, {"columns": 0}, {"clip": 0}, {"clip": -1}])
def test_impossible_numbers_are_named(more):
    with pytest.raises(ValueError, match=f"Expected {next(iter(more))}(=| )"):
        plain(**more)


# --- the command line -----------------------------------------------------------------------------------------------
@pytest.fixture
def folder(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    schema = {"columns": {"age": {"lower": 0, "upper": 100}}, "target": {"name": "pay", "lower": 0, "upper": 10}}
    (tmp_path / "s.json").write_text(json.dumps(schema))
    lines = [f"{a:.2f},{a / 12:.2f}" for a in np.random.default_rng(0).uniform(0, 100, size=300)]
    (tmp_path / "d.csv").write_text("age,pay\n" + "\n".join(lines) + "\n")
    code, out, _ = run(capsys, "protocol --schema s.json --epsilon 2 --delta 1e-3 --cohort 250 --out p.json")
    assert code == 0
    assert "NO PROTECTION" in out
    return tmp_path


def run(capsys, line):
    code = main(line.split())
    out, err = capsys.readouterr()
    return code, out, err


def test_the_command_line_gives_one_model(folder, capsys):
    train = "train --protocol p.json --database b.sqlite --out "
    collect = "collect --protocol p.json --database b.sqlite "
    code, out, err = run(capsys, "contribute d.csv --protocol p.json --out u.jsonl")
    assert code == 0
    assert "NO PROTECTION" in err
    assert "--record-epsilon" in err
    assert run(capsys, "collect --status --protocol p.json --database b.sqlite")[0] == 2
    assert not (folder / "b.sqlite").exists()
    code, out, err = run(capsys, collect + "u.jsonl")
    assert code == 0
    assert "Not trained yet" in out
    assert run(capsys, train + "one.json")[0] == 0
    code, out, err = run(capsys, train + "two.json")
    assert code == 0
    assert "Nothing new was released" in out
    assert (folder / "one.json").read_text() == (folder / "two.json").read_text()
    assert run(capsys, "verify one.json")[0] == 0
    assert run(capsys, "contribute d.csv --protocol p.json --out more.jsonl")[0] == 0
    code, out, err = run(capsys, collect + "more.jsonl")
    assert code == 0
    assert "More submissions cannot join that model" in out
    code, out, err = run(capsys, train + "three.json")
    assert code == 2
    assert "--accept-record-guarantee" in err
    assert not (folder / "three.json").exists()
    code, out, err = run(capsys, train + "three.json --accept-record-guarantee")
    assert code == 0
    assert "one record" in out
    assert run(capsys, "verify three.json")[0] == 0
    code, out, err = run(capsys, collect + "--status")
    assert code == 0
    assert "one record only" in out


def test_a_protected_record_is_not_called_unprotected(folder, capsys):
    line = "protocol --schema s.json --epsilon 2 --delta 1e-3 --cohort 250 --record-epsilon 5 --out q.json"
    code, out, err = run(capsys, line)
    assert code == 0
    assert "NO PROTECTION" not in out + err
    code, out, err = run(capsys, "contribute d.csv --protocol q.json --out u.jsonl --seed 3")
    assert code == 0
    assert "NO PROTECTION" not in out + err
    assert run(capsys, "collect u.jsonl --protocol q.json --database b.sqlite")[0] == 0
    code, out, err = run(capsys, "train --protocol q.json --database b.sqlite --out m.json")
    assert out.count("a seeded generator") == 2


def test_the_honest_fraction_on_the_command_line(folder, capsys):
    line = "protocol --overwrite --schema s.json --epsilon 2 --delta 1e-3 --cohort 250 --out q.json --honest "
    code, out, _ = run(capsys, line + "0.5")
    assert code == 0
    assert "at least 125 of the 250 contributors (honest = 0.5)" in " ".join(out.split())
    assert Protocol.load("q.json").numbers.honest == 0.5
    assert Protocol.load("p.json").numbers.honest == 0.9
    assert "every one of the 250 contributors" in " ".join(run(capsys, line + "1")[1].split())
    for wrong, sentence in (
        ("0", "honest=0.0 > 0"),
        ("1.5", "honest=1.5 <= 1"),
        ("0.9 --calibration paper", "honest=1.0"),
    ):
        code, _, err = run(capsys, line + wrong)
        assert code == 2
        assert sentence in err


def test_old_protocol_files_are_refused_with_a_sentence(folder, capsys):
    data = json.loads((folder / "p.json").read_text())
    del data["numbers"]["honest"], data["fingerprint"]
    data["version"] = 2
    (folder / "old.json").write_text(json.dumps({**data, "fingerprint": checksum(data)[:32]}))
    code, _, err = run(capsys, "contribute d.csv --protocol old.json --out u.jsonl")
    assert code == 2
    assert "another version of Tacit" in err
    assert "Create it again" in err


def test_verify_says_that_less_than_promised_was_spent(folder, capsys):
    run(capsys, "contribute d.csv --protocol p.json --out u.jsonl")
    run(capsys, "collect u.jsonl --protocol p.json --database b.sqlite")
    run(capsys, "train --protocol p.json --database b.sqlite --out m.json")
    code, out, _ = run(capsys, "verify m.json")
    assert code == 0
    (line,) = [line for line in out.splitlines() if "the released model: epsilon" in line]
    assert line.endswith("(at most the promised 2)")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [("age,pay\n", "has no rows"), ("age,pay\n5,none\n", "nothing to contribute")],
)
def test_nothing_to_contribute_is_an_error(folder, capsys, content, sentence):
    (folder / "none.csv").write_text(content)
    code, _, err = run(capsys, "contribute none.csv --protocol p.json --out u.jsonl")
    assert code == 2
    assert sentence in err
    assert not (folder / "u.jsonl").exists()


def test_a_cohort_of_none_is_named(folder, capsys):
    line = "protocol --schema s.json --epsilon 2 --delta 1e-3 --cohort 0 --out q.json"
    code, _, err = run(capsys, line)
    assert code == 2
    assert "cohort=0" in err


def test_collect_says_when_a_file_does_not_belong(folder, capsys):
    collect = "collect --protocol p.json --database b.sqlite "
    run(capsys, "contribute d.csv --protocol p.json --out u.jsonl")
    assert run(capsys, collect + "u.jsonl")[0] == 0
    assert run(capsys, collect + "u.jsonl")[0] == 0  # the same file again: all of it belongs, nothing is doubled
    (folder / "empty.jsonl").write_text("")
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"age": [1.0], "pay": [2.0]}), folder / "raw.parquet")
    for name in ("d.csv", "raw.parquet", "empty.jsonl"):
        code, out, err = run(capsys, collect + name)
        assert code == 1
        assert "not a file of submissions (raw records?" in out
        assert "nothing in it belongs" in err
    assert run(capsys, collect + "u.jsonl absent.jsonl")[0] == 1
    run(capsys, "protocol --schema s.json --epsilon 3 --delta 1e-3 --cohort 250 --out other.json")
    run(capsys, "contribute d.csv --protocol other.json --out other.jsonl")
    assert run(capsys, collect + "other.jsonl")[0] == 1
    cut = (folder / "other.jsonl").read_text().splitlines()[0][:40]
    (folder / "damaged.jsonl").write_text(cut + "\n")
    code, out, err = run(capsys, collect + "damaged.jsonl")
    assert code == 1
    assert "damaged or cut off" in out
    assert run(capsys, collect.rstrip())[0] == 2


def test_one_record_of_single_cells_and_text_in_a_number():
    schema = Schema((Number("rooms", 1, 8), Category("heat", ("gas", "oil"))), Target("rent", lower=0, upper=3000))
    protocol = Protocol.create(schema=schema, epsilon=1.0, delta=1e-6, cohort=1000)
    single, listed = (protocol.rows(x, 700) for x in ({"rooms": 3, "heat": "gas"}, {"rooms": [3], "heat": ["gas"]}))
    for one, other in zip(single, listed, strict=True):
        assert np.array_equal(one, other)
    assert protocol.rows({"rooms": None, "heat": "gas"}, 700)[0].shape == (1, protocol.numbers.features)
    for cells in ("many", ["many"], [3, "4,5"]):
        x = {"rooms": cells, "heat": "gas" if cells == "many" else ["gas"] * len(cells)}
        with pytest.raises(ValueError, match=r"Column 'rooms' has .* cell that is"):
            protocol.perturb_table(x, [700] * (1 if cells == "many" else len(cells)))


def test_the_command_line_replaces_nothing_and_says_what_it_added(folder, capsys):
    line = "protocol --schema s.json --epsilon 2 --delta 1e-3 --cohort 9000 --record-epsilon 5 --out p.json"
    before = (folder / "p.json").read_text()
    code, _, err = run(capsys, line)
    assert code == 2
    assert "add --overwrite to replace it" in err
    assert (folder / "p.json").read_text() == before
    assert run(capsys, line + " --force")[0] == 0
    assert (folder / "p.json").read_text() != before
    collect = "collect --protocol p.json --database b.sqlite "
    code, _, err = run(capsys, collect + "absent.jsonl")
    assert code == 2
    assert "nothing to collect" in err
    assert not (folder / "b.sqlite").exists()
    run(capsys, "contribute d.csv --protocol p.json --out u.jsonl")
    assert run(capsys, collect + "u.jsonl")[0] == 0
    code, out, _ = run(capsys, "train --protocol p.json --database b.sqlite --out m.json")
    assert code == 0
    assert "fewer than the 9,000" in out
    assert "added the missing noise" in out


def test_each_guarantee_says_whom_it_counts_on_itself():
    protocol = Protocol.create(
        epsilon=2.0, delta=1e-3, cohort=250, columns=2, target=Target("y", lower=-1, upper=1), record_epsilon=5.0
    )
    model, record = (" ".join(str(one).split()) for one in (protocol.guarantee(), protocol.record_guarantee()))
    assert "TRUST FOR THE MODEL" in model
    assert "TRUST FOR ONE RECORD" not in model
    assert "TRUST FOR ONE RECORD" in record
    assert "TRUST FOR THE MODEL" not in record
    assert "to train once" not in record
    assert "for 1 record;" in record
