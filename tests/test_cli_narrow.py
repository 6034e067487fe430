"""Tables on a terminal that is too narrow for them: no word is broken, and nothing is lost."""

import io
import re
import sys

import numpy as np
import pytest

from tacit import Ledger, statistics
from tacit.cli.main import main
from tacit.ledger.listening import labelled

SCHEMA = """
[columns.age]
lower = 18
upper = 90
[columns.ward]
values = ["north-eastern", "southern"]
"""


class Screen(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def shown(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    rows = [
        f"{age},{ward}"
        for age, ward in zip(rng.integers(18, 91, 300), ["southern", "north-eastern"] * 150, strict=True)
    ]
    (tmp_path / "t.csv").write_text("\n".join(["age,ward", *rows]) + "\n")
    (tmp_path / "s.toml").write_text(SCHEMA)
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)

    def run(width, line):
        monkeypatch.setenv("COLUMNS", str(width))
        with monkeypatch.context() as patch:
            patch.setattr(sys, "stdout", screen := Screen())
            assert main(line.split()) == 0
        return re.sub(r"\x1b\[[0-9;]*m", "", screen.getvalue())

    return run


@pytest.mark.parametrize("width", [40, 60, 80])
def test_a_first_table_has_a_line_for_each_cell_on_a_narrow_terminal(width, shown):
    text = shown(width, "describe t.csv --schema s.toml --epsilon 9 --delta 1e-6 --progress off")
    lines = text.partition("\n\n")[0].splitlines()
    assert lines[0] == "age"
    assert lines[1].startswith("  missing: ")
    assert "  bounds: 18 to 90" in lines
    assert "ward" in lines
    assert not any(line.startswith("  bounds:") for line in lines[lines.index("ward") :])  # a category has none
    assert max(map(len, lines)) <= width
    assert {"north-eastern", "southern"} <= set(" ".join(lines).split())


def test_a_first_table_is_one_on_a_wide_terminal(shown):
    text = shown(200, "describe t.csv --schema s.toml --epsilon 9 --delta 1e-6 --progress off")
    assert text.split()[:3] == ["column", "missing", "bounds"]


@pytest.mark.parametrize("width", [40, 60, 80, 120])
def test_a_ledger_breaks_no_word(width, shown):
    ledger = Ledger("l.sqlite", epsilon=3, delta=1e-4)
    with labelled("the first of all releases of this hospital"):
        statistics.count(["a", "b"] * 150, ["a", "b"], epsilon=1, ledger=ledger)
    text = shown(width, "ledger show l.sqlite").partition("\n\n")[0]
    assert max(map(len, text.splitlines())) <= width
    assert {"the", "first", "releases", "hospital", "all"} <= set(text.split())
    assert ("█" in text) == (width == 120)
    assert text.startswith("1\n  time (UTC): ") == (width < 72)
    assert f"{ledger.entries[0].time[:10]} {ledger.entries[0].time[11:19]}" in text


@pytest.mark.parametrize("width", [60, 80, 120])
def test_promises_fit_into_the_terminal(width, shown, tmp_path):
    ledger = Ledger("l.sqlite", epsilon=3, delta=1e-4, rows_per_person=8)
    rows = (tmp_path / "t.csv").read_text().splitlines()
    (tmp_path / "t.csv").write_text(
        "\n".join([f"{rows[0]},who", *(f"{row},p{i // 2}" for i, row in enumerate(rows[1:]))])
    )
    name = "spending-of-all-wards-linear.json"
    people = "--person who --rows-per-person 8"
    score = f"evaluate {name} t.csv --target ward {people} --epsilon 1 --ledger {ledger.address}"
    for line in (
        f"fit t.csv --schema s.toml --target ward {people} --epsilon 1 --out {name} --progress off",
        score,
        f"verify {name}",
        f"statement {name}",
        "ledger show l.sqlite",
        "ledger verify l.sqlite",
        "statement l.sqlite",
    ):
        text = shown(width, line)
        assert max(map(len, text.splitlines())) <= max(width, 76), line  # a digest is longer than 60 columns
        long = [part for part in text.splitlines() if len(part) > width]
        assert all(len(part.split()) <= 2 for part in long), line
        if name in line or "ledger show" in line:
            assert not re.search(r"spending-of-all(?!-wards-linear\.json)", text), line
