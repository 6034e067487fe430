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
