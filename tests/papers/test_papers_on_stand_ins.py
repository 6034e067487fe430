"""Figures whose data are not here: made up at the quick size or when asked for, never mixed with rows of real data."""

import csv

import pytest

from papers.engine import command, library
from papers.engine.figure import Size
from papers.engine.grid import grid

TEXT = """
from papers.engine.figure import Figure, Finding, panels
from tacit import datasets


def cells(size):
    return [{"seed": seed, "quick": size.quick} for seed in range(2)]


def measure(seed, quick):
    dataset = datasets.load("breast_cancer")
    return [{"method": "count", "status": None, "records": len(dataset), "read": dataset.name}]


def show(points):
    return panels(points, x="seed", y="records")


def check(points, expected):
    return [Finding("There are 699", all(p["records"] == 699 for p in points), "counted")]


CITATION = "A. Name. 2001."
FIGURES = (Figure("figure1", "T", "C.", "A.", cells, measure, show, check, needs=("breast_cancer",)),)
"""


@pytest.fixture
def words(tmp_path, monkeypatch):
    """A paper that needs a set, and a machine that has none and no network."""
    package = tmp_path / f"package_{tmp_path.name.replace('-', '_')}"
    (package / "only_2001").mkdir(parents=True)
    for file in (package / "__init__.py", package / "only_2001" / "__init__.py"):
        file.write_text("")
    (package / "only_2001" / "figures.py").write_text(TEXT)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("TACIT_DATA", raising=False)
    monkeypatch.setenv("TACIT_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("TACIT_OFFLINE", "1")
    return ["--all", "--package", package.name, "--out", str(tmp_path / "out"), "--workers", "1"]


def rows(out):
    with (out / "only_2001" / "figure1.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def test_the_quick_size_runs_on_stand_ins_and_says_so(words, tmp_path, capsys):
    assert command.main([*words, "--quick"]) == 0
    said = capsys.readouterr().out
    assert "Measured on a synthetic stand-in for breast_cancer" in said
    assert "MADE UP, because not here: breast_cancer." in said
    assert "cannot tell: There are 699\n    counted (synthetic stand-in for breast_cancer)" in said
    found = rows(tmp_path / "out")
    assert [row["stand_in"] for row in found] == ["breast_cancer"] * 2
    assert {row["read"] for row in found} == {"breast_cancer (synthetic stand-in)"}
    page = (tmp_path / "out" / "report.html").read_text()
    assert "1 of the figures are on synthetic stand-ins" in page
    assert "says nothing about the paper's data" in page
    assert "(synthetic stand-in for breast_cancer)" in (tmp_path / "out" / "only_2001" / "figure1-1.svg").read_text()
    assert command.main([*words, "--quick", "--draw"]) == 0
    assert "MADE UP" in capsys.readouterr().out
    assert [row["stand_in"] for row in rows(tmp_path / "out")] == ["breast_cancer"] * 2


def test_the_papers_size_is_left_out_unless_stand_ins_are_asked_for(words, tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(command, "_run", lambda cells, *rest: print([cell.settings for cell in cells]) or [])
    assert command.main(words) == 0
    said = capsys.readouterr().out
    assert said.startswith("[]\n")
    assert "Left out: the data set 'breast_cancer' is not here." in said
    assert command.main([*words, "--stand-ins"]) == 1  # nothing was stored
    assert "{'seed': 0, 'quick': False, 'stand_in': 'breast_cancer'}" in capsys.readouterr().out


def test_rows_of_stand_ins_and_of_data_have_keys_of_their_own():
    paper = library.load("papers", "kang_2020a")
    figure = next(figure for figure in paper.figures if "adult" in figure.needs)
    real, made = (grid(paper, figure, Size(quick=True), names) for names in ((), ("adult",)))
    assert not {cell.key for cell in real} & {cell.key for cell in made}
    assert [cell.asked for cell in made] == [cell.settings for cell in real]
    assert {(*cell.stand_ins,) for cell in made} == {("adult",)}
    assert all(cell.stand_ins == [] for cell in real)


def test_a_figure_with_rows_of_its_data_gets_no_stand_ins(words):
    paper = library.load(words[2], "only_2001")
    (figure,) = paper.figures
    cells = grid(paper, figure, Size(quick=True))
    job = command._job(paper, figure, Size(quick=True), {cells[0].key}, lambda name: "gone", True)
    assert list(job.cells) == cells
    assert job.left_out == "Left out: gone."
