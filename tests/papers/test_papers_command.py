"""The command over two small papers: what is written, what is said, and what is left out."""

import csv
import dataclasses
import io
import math
import re
import sqlite3
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest
import running
from rich.console import Console

from papers.engine import command, drawing, export, library
from papers.engine.chapters import assemble
from papers.engine.figure import Line, Panel, Size, TextTable
from papers.engine.grid import Cell, checked_points
from papers.engine.progress import Forecast, RunDisplay, duration, seconds_in
from papers.engine.store import Store, StoredCell
from papers.engine.versions import version_of
from tacit.report import pictures

pytest.importorskip("matplotlib", reason="pictures need the extra 'plot': pip install '.[plot]'")


@pytest.fixture(scope="module")
def done(tmp_path_factory):
    """The output folder, and the finished command."""
    folder = tmp_path_factory.mktemp("command")
    return folder / "out", running.in_a_process(folder, folder / "out", "--all", "--quick")


class Page(HTMLParser):
    """Tags are balanced, ids are unique, nothing is fetched: links lead inside or to files beside the page."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.tags, self.links = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("href", "xlink:href"):
                self.links.append(value)
            assert name not in ("src", "srcset", "onload")
        if tag not in ("meta", "br", "link"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in ("meta", "br", "link"):
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_failures_are_said_and_the_others_go_on(done):
    out, finished = done
    assert finished.returncode == 1
    assert "Failed: second_2000 figure2 (place=1, quick=True): ArithmeticError: one cell of three" in finished.stderr
    assert "(place=2, quick=True): Its process ended with code -9" in finished.stderr
    assert "2 cells failed" in finished.stderr
    assert "in fail" in (out / "failures.txt").read_text()  # the trace
    assert "RefutedWarning" not in finished.stderr
    assert len(running.stored(out)) == 8 + 3 + 1 + 3


def test_what_was_found_is_said(done):
    said = done[1].stdout
    assert "seen: Ours is better\n    1.600 against 1.050" in said  # means over epsilon 0.1, 1 and seeds 0, 1
    assert "NOT SEEN: Ours is twice as good" in said
    assert "cannot tell: It rains\n    the paper says often" in said
    assert "Left out: there is no 'no-such-set'" in said
    assert "Left out: the module 'no_such_module' is not installed." in said
    assert "KeyError: 'nothing to show'" in said


def test_rows_as_csv(done):
    rows = list(csv.DictReader(io.StringIO((done[0] / "first_1999" / "figure1.csv").read_text())))
    assert list(rows[0]) == [
        "cell", "method", "epsilon", "seed", "accuracy", "status", "note", "version", "cell_seconds"
    ]  # fmt: skip
    assert len(rows) == 2 * 8
    assert {(row["method"], row["epsilon"], row["seed"]) for row in rows if row["accuracy"] == "2.0"} == {
        ("ours", "1.0", "0"),
        ("theirs", "1.0", "1"),
    }
    assert all(float(row["cell_seconds"]) >= 0 for row in rows)
    assert {row["version"] for row in rows} == {version_of(library.folder_of("fakes"))}
    parts = list(csv.DictReader(io.StringIO((done[0] / "second_2000" / "table1.csv").read_text())))
    assert [(row["value"], row["parts"]) for row in parts] == [
        ("40.0", "[1, 2]"),
        ("41.0", "[1, 2]"),
        ("42.0", "[1, 2]"),
    ]


def test_rows_as_parquet(done):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet': pip install '.[parquet]'")
    table = parquet.read_table(done[0] / "first_1999" / "figure1.parquet").to_pydict()
    text = csv.DictReader(io.StringIO((done[0] / "first_1999" / "figure1.csv").read_text()))
    assert [None if not row["accuracy"] else float(row["accuracy"]) for row in text] == table["accuracy"]
    assert table["epsilon"][:2] == [0.1, 0.1]
    assert table["note"][:2] == [None, "no value"]


def test_values_of_several_kinds_are_text_in_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs the extra 'parquet': pip install '.[parquet]'")
    export.write(tmp_path, "x", [StoredCell("k", {"n": 1}, ({"v": "text"}, {"v": 2.5}, {"v": None}), "0", 0.1)])
    assert parquet.read_table(tmp_path / "x.parquet").to_pydict()["v"] == ["text", "2.5", None]


def test_the_report_is_one_page_that_fetches_nothing(done):
    text = (done[0] / "report.html").read_text()
    page = Page()
    page.feed(text)
    assert page.open == []
    assert len(set(page.ids)) == len(page.ids)
    assert "script" not in page.tags
    assert "img" not in page.tags
    assert page.tags.count("svg") == 2  # one panel in each paper; the others are tables, broken or left out
    assert not re.search(r"url\((?!#)", text)
    assert "@import" not in text
    assert "http" not in re.sub(r"http://www\.w3\.org/\d+/\w+", "", text)
    for link in page.links:
        if link.startswith("#"):
            assert link[1:] in page.ids, link
        elif link != "data:,":
            assert (done[0] / link).is_file(), link
    assert pictures.INK not in text
    assert len(text) < 300_000


def test_the_report_says_what_is_asked_of_it(done):
    text = (done[0] / "report.html").read_text()
    for words in (
        "A. &lt;Author&gt;. First &amp; foremost.", "Figure 1: lines &lt;of&gt; two", "Quick size", "Nothing differs.",
        '</span> seen</strong> Ours is better<br><small>1.600 against 1.050', "not seen</strong> Ours is twice as good",
        "cannot tell</strong> It rains", "proven: ours", "refuted: theirs", "no privacy: plain",
        "claimed, not proven here: count", 'href="first_1999/figure1.csv"',
        "Left out: the module", "one cell of three", "2 of 3 cells have no result", "0.1, 1.0",
        "<caption>Counts</caption>", "1 seen, 1 not seen, 1 cannot tell", "3 of 6 figures drawn",
    ):  # fmt: skip
        assert words in text, words


def test_pictures_are_files_with_bands_and_ways_of_drawing(done):
    svg = (done[0] / "first_1999" / "figure1-1.svg").read_text()
    root = ET.fromstring(svg)
    assert root.tag.endswith("svg")
    assert "prefers-color-scheme:dark" in svg
    assert "ours (proven)" in svg
    assert "theirs (refuted)" in svg
    assert svg.count("FillBetweenPolyCollection") + svg.count("PolyCollection") >= 2
    assert svg.count("stroke-dasharray") >= 2  # the refuted line, in the picture and in the legend
    assert (done[0] / "first_1999" / "figure1-1.png").read_bytes().startswith(b"\x89PNG")
    other = (done[0] / "second_2000" / "figure2-1.svg").read_text()
    ET.fromstring(other)
    assert "flat $ line (claimed)" in other
    assert "plain (no privacy)" in other


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (TextTable("t", ("a", "b"), (("1",),)), "as long as its head"),
        (TextTable("t", ("a",), ((1,),)), "must be text"),
        (Panel("p", "x", "y", (Line("l", None, (1.0,), (1.0,), (1.0,), ()),)), "of one length"),
        (Panel("p", "x", "y", (Line("l", "sure", (1.0,), (1.0,), (1.0,), (1.0,)),)), "unknown status 'sure'"),
    ],
)
def test_what_cannot_be_shown_is_said_and_not_drawn(part, sentence, tmp_path):
    paper = library.load("fakes", "first_1999")
    figure = dataclasses.replace(paper.figures[0], show=lambda points: [part])
    cell = StoredCell("key", {"method": "ours"}, ({"accuracy": 1.0},), "0", 1.0)
    result = assemble(paper, figure, 1, [cell], [], tmp_path)
    assert sentence in result.troubles[0]
    assert (result.parts, result.pictures) == ((), ())


def test_a_panel_with_nothing_that_can_be_shown_is_empty_and_no_crash():
    nothing = Line("l", "proven", (0.0, 1.0), (math.nan, -1.0), (math.nan, -2.0), (math.nan, 0.0))
    (picture,) = drawing.draw([Panel("", "x", "y", (nothing,), "log", "log")], "k")
    ET.fromstring(picture.inline)
    assert "no value that can be drawn" in picture.inline


def test_numbers_on_an_axis_have_room():
    line = Line("l", "proven", (0.01, 0.05, 0.1, 0.15, 0.2, 0.25), *[(1.0, 2.0, 3.0, 4.0, 5.0, 6.0)] * 3)
    (picture,) = drawing.draw([Panel("", "x", "y", (line,), "log")], "k")
    for number, shown in (
        ("0.01", True),
        ("0.05", True),
        ("0.1", True),
        ("0.15", True),
        ("0.2", False),
        ("0.25", True),
    ):
        assert (f">{number}<" in picture.inline) == shown, number


def test_a_label_keeps_its_colour_in_all_panels():
    def panel(*labels):
        return Panel("", "x", "y", tuple(Line(at, "proven", (1, 2), (1, 2), (0, 1), (2, 3)) for at in labels))

    first, second = drawing.draw([panel("a", "b"), panel("b")], "k")
    colours = [set(re.findall(r"stroke: (#\w{6}); stroke-width: 1\.8", picture.inline)) for picture in (first, second)]
    assert len(colours[0]) == 2
    assert len(colours[1]) == 1
    assert colours[1] < colours[0]
    assert colours[1] != set(re.findall(r"stroke: (#\w{6}); stroke-width: 1\.8", first.inline)[:1])


def test_the_list(capsys):
    assert command.main(["--list", "--package", "fakes"]) == 0
    said = capsys.readouterr().out
    assert re.search(r"figure1 +16 cells, +8 with --quick", said)
    assert "needs no-such-set" in said


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        ([], "Name a paper, or give --all"),
        (["first_1999", "--all"], "Name a paper, or give --all"),
        (["--all", "--figure", "figure1"], "--figure goes with one paper"),
        (["third_2001"], "There is no paper 'third_2001'; expected one of ['first_1999', 'second_2000']"),
        (["first_1999", "--figure", "figure9"], "first_1999 has no figure 'figure9'; expected one of ['figure1']"),
        (["first_1999", "--runs", "0"], "Expected --runs=0"),
        (["first_1999", "--workers", "0"], "Expected --workers=0"),
        (["first_1999", "--draw", "--again"], "--draw runs nothing"),
    ],
)
def test_mistakes_on_the_command_line(words, sentence, tmp_path, capsys):
    assert running.here(tmp_path, tmp_path / "out", *words) == 2
    assert sentence in capsys.readouterr().err


def test_a_figure_that_is_left_out_alone_is_a_failure(tmp_path, capsys):
    assert running.here(tmp_path, tmp_path / "out", "second_2000", "--figure", "figure3") == 1
    assert "Left out" in capsys.readouterr().out
    assert "Left out" in (tmp_path / "out" / "report.html").read_text()


def test_without_matplotlib(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(pictures, "available", lambda: False)
    assert running.here(tmp_path, tmp_path / "out", "first_1999") == 2
    assert "pip install '.[plot]'" in capsys.readouterr().err


def written(folder, text):
    """A package of one paper with this text; its name is new, since a module is imported once a process."""
    (folder / "only_2001").mkdir(parents=True)
    for file in (folder / "__init__.py", folder / "only_2001" / "__init__.py"):
        file.write_text("")
    (folder / "only_2001" / "figures.py").write_text(text)
    return ["--all", "--package", folder.name, "--out", str(folder / "out")]


def test_a_paper_that_needs_a_module_is_left_out(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert command.main(written(tmp_path / "package_that_needs", "import no_such_module\n")) == 0
    assert "Left out: No module named 'no_such_module'" in capsys.readouterr().out


def test_mistakes_in_a_package(tmp_path, capsys, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    assert command.main(written(tmp_path / "package_without_figures", "FIGURES = (1,)\n")) == 2
    assert "needs CITATION, a text, and FIGURES" in capsys.readouterr().err
    assert command.main(["--list", "--package", "no_such_package"]) == 2
    assert "There is no package 'no_such_package' here" in capsys.readouterr().err


def test_data_that_are_no_set_of_ours_are_looked_for_where_tacit_data_says(tmp_path, monkeypatch):
    monkeypatch.delenv("TACIT_DATA", raising=False)
    assert "no 'a-file' in the folder that TACIT_DATA names" in library.why_absent("a-file")
    monkeypatch.setenv("TACIT_DATA", str(tmp_path))
    assert library.why_absent("a-file")
    (tmp_path / "a-file").write_text("")
    assert library.why_absent("a-file") == ""


def test_a_set_that_cannot_be_had_says_why(tmp_path, monkeypatch):
    for name in ("TACIT_DATA", "TACIT_CACHE"):
        monkeypatch.setenv(name, str(tmp_path))
    monkeypatch.setenv("TACIT_OFFLINE", "1")
    assert "the data set 'adult' is not here. " in library.why_absent("adult")


def test_keys_follow_the_settings_and_nothing_else():
    def key(**change):
        return Cell(**{"package": "a", "paper": "1", "figure": "f", "settings": {"x": 1, "y": "a"}, **change}).key

    assert key() == key(package="elsewhere") == key(settings={"y": "a", "x": 1})
    assert len({key(), key(paper="2"), key(figure="g"), key(settings={"x": 2, "y": "a"}), key(settings={})}) == 5


def test_a_cell_is_stored_once(tmp_path):
    store = Store(tmp_path)
    cell = Cell("a", "1", "f", {"x": 1})
    store.add(cell, '[{"y":2}]', "0", 1.0)
    with pytest.raises(sqlite3.IntegrityError):
        store.add(cell, '[{"y":3}]', "0", 1.0)
    store.close()
    again = Store(tmp_path)
    assert again.cells([cell])[0].merged() == [{"x": 1, "y": 2}]
    again.close()


@pytest.mark.parametrize("points", [[], None, [1], "text"])
def test_points_that_are_none_are_refused(points):
    with pytest.raises(ValueError, match="must give a list"):
        checked_points(points, "first_1999 figure1")


def test_numbers_of_numpy_are_plain():
    assert (
        checked_points([{"a": np.float32(0.5), "b": np.int64(2), "c": np.arange(2)}], "")
        == '[{"a":0.5,"b":2,"c":[0,1]}]'
    )


def test_time_left_is_that_of_the_cells_left():
    slow, fast = (Cell("a", "1", name, {"x": 1}) for name in ("slow", "fast"))
    forecast = Forecast([slow, slow, fast, fast], 2, {("1", "slow"): 100.0})
    assert forecast.seconds() == pytest.approx(200)  # four cells of 100 seconds on two processes
    forecast.finished(fast, 10.0)
    assert forecast.seconds() == pytest.approx(105)  # 100 + 100 + 10
    forecast.finished(slow, 50.0)
    assert forecast.seconds() == pytest.approx(30)  # 50 + 10
    assert Forecast([slow], 1, {}).seconds() is None


def test_what_is_to_come_is_said_before_it_runs(tmp_path):
    slow, fast, other = (Cell("a", "1", name, {"x": 1}) for name in ("slow", "fast", "other"))
    (tmp_path / "1").mkdir()
    (tmp_path / "1" / "slow.csv").write_text("cell,y,cell_seconds\nk,1,4000\n,2,\nl,3,2000\n")  # kept once a cell
    before = seconds_in(tmp_path, [slow, fast])
    assert before == {("1", "slow"): 3000.0}
    assert seconds_in(tmp_path, [slow] * 3) == {}  # part of a grid
    (tmp_path / "1" / "fast.csv").write_text("cell,y,cell_seconds\nk,1,2.5\nl,3,2.5\n")
    assert seconds_in(tmp_path, [fast]) == {}  # networks side by side on a GPU
    before |= {("1", "fast"): 600.0}
    said = "2 cells to run, 2 at a time: about 30 min 0 s, by how long such cells took before"
    assert str(Forecast([slow, fast], 2, before)) == f"{said}."
    assert "(1 of 3 figures were not timed before: a guess)" in str(Forecast([slow, fast, other], 2, before))
    assert str(Forecast([slow], 1, {})) == "1 cells to run, 1 at a time; how long it takes is not known yet."


def test_cells_of_another_size_say_nothing_about_these(tmp_path):
    cells = [Cell("a", "1", "f", {"x": x}) for x in range(3)]
    store = Store(tmp_path)
    for cell, seconds in zip(cells, (1.0, 100.0, 200.0), strict=True):
        store.add(cell, "[]", "0", seconds)
    assert store.mean_seconds(cells[1:]) == {("1", "f"): 150.0}
    store.close()


def test_lines_where_nobody_watches():
    slow, fast = (Cell("a", "1", name, {"x": 1}) for name in ("slow", "fast"))
    stream, now = io.StringIO(), [0.0]
    display = RunDisplay(Forecast([slow, slow, fast, fast], 2, {}), 6, Console(file=stream), lambda: now[0])
    with display:
        assert stream.getvalue().startswith("4 cells to run")
        stream.seek(0), stream.truncate()
        display.finished(fast, 10.0)
        assert stream.getvalue() == ""  # a line was due at the start, and is not yet again
        now[0] = 60.0
        display.finished(slow, 50.0)
        assert stream.getvalue() == "8/10 cells, 30 s left  1 slow\n"
        display.finished(slow, 50.0, failed=True)
        display.finished(fast, 10.0)
    assert stream.getvalue().splitlines()[1:] == ["9/10 cells, 1 failed, 0 s left  1 fast"]


def test_a_bar_on_a_terminal():
    cell, stream = Cell("a", "1", "[red]", {"x": 1}), io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, color_system=None)
    with RunDisplay(Forecast([cell, cell], 1, {}), 2, console) as display:
        display.finished(cell, 3.0)
    assert "2/4 cells, time left not yet known" in stream.getvalue()
    assert "3/4 cells, 3.0 s left  1 [red]" in stream.getvalue()
    assert re.search(r"━{17,18}[^━]", stream.getvalue())  # three quarters of 24


def test_durations():
    assert [duration(s) for s in (0, 3.21, 45, 200, 7500)] == ["0 s", "3.2 s", "45 s", "3 min 20 s", "2 h 5 min"]


def test_sizes():
    assert [Size().pick(5, 2), Size(quick=True).pick(5, 2), Size(runs=3).pick(5, 2)] == [5, 2, 3]
