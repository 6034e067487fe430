"""The pages about the papers say what the kept rows say, and no number on them is from elsewhere."""

import contextlib
import io
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from papers.engine import library, summary, under_way
from papers.engine.chapters import Chapter
from papers.engine.figure import Figure, Finding, Line, Panel, Size
from papers.engine.grid import STAND_IN, grid
from papers.engine.report import write_report
from papers.pages import changes, compared, included, kept, pictures
from papers.pages.excerpts import EXCERPTS

DOCS = Path(__file__).parents[2] / "docs"
NAMES = library.names("papers")
MEGABYTE = 1_000_000
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
BOX = re.compile(r"^:::\{admonition\} (.*?)\n(.*?)^:::$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+|\d+%")


def load(name):
    return library.load("papers", name)


def page_of(name):
    return (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def stands():
    return included.all_stands()


@pytest.fixture(scope="module")
def texts(stands):
    return included.texts(stands)


def test_what_the_pages_include_is_what_the_rows_say(texts):
    assert set(texts) == {path.name for path in (DOCS / "papers").glob("*.inc")}
    for name, text in texts.items():
        written = (DOCS / "papers" / name).read_text(encoding="utf-8")
        assert written == text, f"{name} is stale: run `python -m papers.pages`"


@pytest.mark.parametrize("name", NAMES)
def test_the_pictures_are_drawn_from_the_rows(name, stands):
    drawn = pictures.panels_of(name, {stand.figure.name: stand for stand in stands[name]})
    begun, whole = ({s.figure.name for s in stands[name] if part(s)} for part in (lambda s: s.done, lambda s: s.whole))
    files = [
        {excerpt.file for excerpt in EXCERPTS[name] if excerpt.file and excerpt.figure in rows}
        for rows in (whole, begun)
    ]
    assert files[0] <= set(drawn) <= files[1]  # of a grid that is under way a set may have no rows yet
    assert {path.name for path in (DOCS / "papers").glob(f"{name}-*.svg")} == set(drawn)
    for file, (_, panel) in drawn.items():
        path = DOCS / "papers" / file
        assert pictures.drawn_from(path) == pictures.fingerprint(panel), f"{file}: run `python -m papers.pages`"
        assert path.stat().st_size < pictures.MOST_BYTES


@pytest.mark.parametrize("name", NAMES)
def test_all_excerpts_are_found(name, stands):
    by_figure = {stand.figure.name: stand for stand in stands[name]}
    whole = [excerpt for excerpt in EXCERPTS[name] if excerpt.figure in by_figure and by_figure[excerpt.figure].whole]
    assert [excerpt.caption for excerpt in whole if excerpt.part(by_figure) is None] == []


def test_no_row_was_made_by_changed_files(stands):
    assert [version for version in included.versions_of(stands) if "dirty" in version] == []


def test_every_changed_verdict_has_a_reason(stands):
    reasons = changes.read_reasons()
    before = changes.read_before()
    waiting = changes.waiting(before, changes.under_way(stands))
    asked = {key: verdict for key, verdict in before.items() if key not in waiting}
    found = changes.changes(asked, changes.verdicts(stands), reasons, changes.read_reworded())
    assert changes.without_reason(found) == []
    assert changes.unused(found, reasons) == []


@pytest.mark.parametrize("name", NAMES)
def test_every_paper_has_a_page_that_includes_all(name):
    page = page_of(name)
    marks = re.findall(r'start-after: "<!-- ([\w ]+) -->"', page)
    assert page.index('"<!-- state -->"') < page.index("## What the paper proposes")  # before anything rests on it
    assert {"pictures", "tables", "seen", "not seen", "cannot tell", "own", "ran"} <= set(marks)
    assert page.startswith(f"# {summary.read('papers')[name].heading}\n")
    for title in ("proposes", "holds", "does not", "The guarantee", "How it was run", "use instead"):
        assert re.search(rf"^## .*{title}", page, re.MULTILINE), title
    readme = (library.folder_of("papers") / name / "README.md").read_text(encoding="utf-8")
    assert f"docs/papers/{name}.md" in readme


@pytest.mark.parametrize("name", ["index", *NAMES])
def test_prose_that_depends_on_rows_was_checked_against_them(name, stands, texts):
    """While rows are missing the page says so; when all are in, no sentence may wait for them."""
    whole = all(stand.whole for other in NAMES if name in ("index", other) for stand in stands[other])
    assert whole != texts[f"{name}.inc"].startswith("<!-- state -->\n\n**Under way.**")
    assert not whole or re.findall(r"<!-- check.*", page_of(name)) == []


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_prose_are_those_of_the_rows(name):
    page = page_of(name)
    part = page[page.index("## What holds") : page.index("## The guarantee")]
    prose = re.sub(r"```.*?```|<!--.*?-->|[Ss]ection [\d.]+", "", part, flags=re.DOTALL)
    known = NUMBER.findall((DOCS / "papers" / f"{name}.inc").read_text(encoding="utf-8"))
    assert [number for number in NUMBER.findall(prose) if number not in known] == []


@pytest.mark.parametrize("name", NAMES)
def test_what_an_erratum_computes_is_what_it_says(name):
    boxes = BOX.findall(page_of(name))
    assert boxes
    for title, text in boxes:
        if title.startswith("Erratum"):
            assert all(words in text for words in ("**As printed.**", "breaks.**", "**Repaired.**")), title
        for block in BLOCK.findall(text):
            said = [line.strip() for words in re.findall(r"print\(.*#(.*)$", block, re.M) for line in words.split("/")]
            shown = io.StringIO()
            with contextlib.redirect_stdout(shown):
                exec(compile(block, f"{name}: {title}", "exec"), {})
            assert shown.getvalue().splitlines() == said, title


def test_the_report_begins_with_the_summary(tmp_path):
    entries = summary.read("papers")
    assert list(entries) == NAMES
    chapters = [Chapter(name, "cited") for name in NAMES]
    write_report(tmp_path / "report.html", chapters, Size(), entries, "comes from trial runs")
    page = (tmp_path / "report.html").read_text(encoding="utf-8")
    for entry in entries.values():
        assert f"<strong>{entry.promise}</strong>" in page
        assert entry.who.replace("&", "&amp;") in page
    assert "<code>input-local</code>" in page
    assert "What it says of privacy rests on proofs and counterexamples; what it says of learning comes from tr" in page
    assert page.index("In everyday words") < page.index("<nav")


def test_the_report_says_whether_all_rows_are_kept(stands, monkeypatch):
    all_in = all(stand.whole for mine in stands.values() for stand in mine)
    done, cells = (sum(getattr(s, part) for mine in stands.values() for s in mine) for part in ("done", "cells"))
    said = under_way.basis("papers", NAMES)
    counted = f" {done:,} of {cells:,} cells of the papers' size have rows"
    assert said.startswith("rests on runs") if all_in else said.endswith(counted)
    monkeypatch.setattr(under_way, "kept_cells", lambda *place: (3, 3))
    assert under_way.basis("papers", NAMES) == "rests on runs of the papers' size, whatever the size of this report"


def test_a_summary_with_a_wrong_promise_is_refused():
    with pytest.raises(ValueError, match="A promise is one of"):
        summary.Entry("A 2020", "t", "does", "perhaps", "why", "learns", "use")


@pytest.mark.parametrize("name", ["index", "changes"])
def test_pages_of_all_papers_say_first_what_is_not_complete(name):
    page = page_of(name)
    mark = {"index": "state", "changes": "under way"}[name]
    assert re.findall(r'start-after: "<!-- ([\w ]+) -->"', page)[0] == mark


def a_stand(*findings, figure="figure1", cells=1, **parts):
    made = Figure(figure, "title", "claim", "about", lambda size: [], list, list, lambda points, expected: [])
    return kept.Stand(made, cells, 1, findings=tuple(Finding(*words, "") for words in findings), **parts)


def test_figures_that_are_not_complete_count_for_nothing_and_are_named():
    stands = [a_stand(("a", True)), a_stand(("b", None), figure="partly", cells=9), a_stand(figure="empty", cells=5)]
    said = included._state(stands)
    assert "3 of 15 runs are done, and 2 of 3 figures are not complete: `partly`, `empty`." in said
    assert included._state(stands[:1]) == "All 1 figures are complete (1 of 1 runs)."
    entry = summary.Entry("A 2020", "t", "does", "no", "why", "learns.", "use")
    assert "| learns. (In part from pilots.) |" in included._summary({"a": entry}, {"a": stands})
    assert "| learns. |" in included._summary({"a": entry}, {"a": stands[:1]})
    assert "| 1 | 0 | 0 | 2 of 3 | 3 of 15, incomplete |" in included._totals({"a": stands}, {}, {})
    assert included._without_rows(stands) == "Not yet judged, for want of rows, are the statements about `empty`."
    assert included._without_rows(stands[:1]) == ""


def test_what_was_said_of_a_figure_that_is_not_complete_waits():
    before = changes.verdicts({"a": [a_stand(("said", True)), a_stand(("other", True), figure="figure2")]})
    stands = {"a": [a_stand(("said", None), cells=2), a_stand(figure="figure2")]}
    assert changes.verdicts(stands) == {}
    assert changes.waiting(before, changes.under_way(stands)) == {("a", "figure1", "said"): "seen"}


def test_a_picture_names_the_lines_that_it_has():
    lines = tuple(Line(str(s), s, (1.0,), (1.0,), (1.0,), (1.0,)) for s in ("claimed", None))
    excerpt = EXCERPTS["fukuchi_2017"][0]
    said = included._picture(excerpt, Panel("t", "x", "y", lines), {"figure1": a_stand()})
    assert "guarantee: dashes and dots are claimed, grey dots have no privacy; a band" in said


def test_a_choice_of_every_split_is_the_one_of_most():
    found = [("short", 0.5), ("long", 0.7), ("long", 0.8)]
    points = [{"chosen": chosen, "validation": score, "resplit": True} for chosen, score in found]
    assert included._choice(points) == "long (2 of 3 splits, 0.7500)"
    assert (
        included._choice([{"chosen": "long", "validation": 0.7, "inside": False}] * 2) == "long, at the edge (0.7000)"
    )
    assert included._choice([]) == ""


def test_time_of_a_gpu_is_not_that_of_a_core():
    assert "| 3.5 s of one core |" in included._ran([a_stand(seconds=(1.0, 2.5))])
    assert "| 4.0 s of one core and 5.0 s of a GPU |" in included._ran([a_stand(seconds=(2.5, 4.0, 2.5))])
    assert "| 5.0 s of a GPU |" in included._ran([a_stand(seconds=(2.5, 2.5))])


def test_changes_are_found_by_statement_and_explained():
    before = changes.verdicts({"a": [a_stand(("same", True), ("turned", True), ("gone", False))]})
    now = changes.verdicts({"a": [a_stand(("same", True), ("turned", None), ("new", False))]})
    reasons = {"a/figure1/turned": "more runs"}
    found = changes.changes(before, now, reasons)
    assert [(c.statement, c.before, c.now, c.reason) for c in found] == [
        ("turned", "seen", "cannot tell", "more runs"), ("new", "", "not seen", ""), ("gone", "not seen", "", ""),
    ]  # fmt: skip
    assert [c.statement for c in changes.without_reason(found)] == ["gone"]
    assert changes.without_reason(changes.changes(before, now, {"a/figure1": "another protocol"})) == []
    assert changes.unused(found, {**reasons, "a/figure1/same": "nothing", "a/figure9": "all"}) == ["a/figure1/same"]


def test_a_statement_in_other_words_is_compared_with_what_it_was():
    said = [("it rises (paper noise).", True), ("it falls (ε = 0.1).", True), ("old words", False), ("ends at 2", True)]
    before = changes.verdicts({"a": [a_stand(*said)]})
    now = changes.verdicts({"a": [a_stand(
        ("Not in the paper: It rises (taken as: by 2%) (our noise).", False), ("It falls (ε = 0.1), well.", None),
        ("It falls (ε = 0.1, as printed).", True), ("It falls (ε = 0.15).", True), ("new words", False),
        ("ends at 20", True),
    )]})  # fmt: skip
    found = changes.changes(before, now, {}, {"a": [("paper noise", "our noise"), ("old", "new")]})
    assert [(c.statement, c.before, c.now, c.earlier) for c in found] == [
        ("Not in the paper: It rises (taken as: by 2%) (our noise).", "seen", "not seen", ""),
        ("It falls (ε = 0.1), well.", "seen", "cannot tell", "it falls (ε = 0.1)."),
        ("It falls (ε = 0.1, as printed).", "seen", "seen", "it falls (ε = 0.1)."),
        ("It falls (ε = 0.15).", "", "seen", ""), ("ends at 20", "", "seen", ""), ("ends at 2", "seen", "", ""),
    ]  # fmt: skip
    assert [c.now for c in changes.without_reason(found)] == ["not seen", "cannot tell", ""]
    assert changes.for_the_paper(found) == (0, 0)  # a check of our own, and forms
    marks = dict(compared.blocks(found, {}, [], 0))
    assert marks["forms"] == [
        "**a, `figure1`.**\n\n* Before: It falls (ε = 0.1): *seen*. Now:\n"
        "  * It falls (ε = 0.1), well: *cannot tell*.\n  * It falls (ε = 0.1, as printed): *seen*."
    ]


def test_changed_verdicts_are_counted_for_and_against_the_paper():
    before, now = (
        changes.verdicts({"a": [a_stand(*zip("abc", verdicts, strict=True))]})
        for verdicts in ((True, None, True), (None, True, False))
    )
    assert changes.for_the_paper(changes.changes(before, now, {})) == (2, 1)


def test_verdicts_are_remembered(tmp_path):
    now = changes.verdicts({"a": [a_stand(("said", True), ("not said", None))]})
    changes.remember(now, ["0.1.0"], tmp_path / "before.json")
    assert changes.read_before(tmp_path / "before.json") == now
    twice = changes.verdicts({"a": [a_stand(("said", True), ("said", False))]})
    assert twice == {("a", "figure1", "said"): "seen", ("a", "figure1", "said (2)"): "not seen"}


def test_a_fingerprint_follows_the_numbers():
    line = Line("m", "proven", (1.0, 2.0), (0.5, 0.6), (0.4, 0.5), (0.6, 0.7))
    panel = Panel("t", "x", "y", (line,))
    other = Panel("t", "x", "y", (Line("m", "proven", (1.0, 2.0), (0.5, 0.61), (0.4, 0.5), (0.6, 0.7)),))
    assert pictures.fingerprint(panel) == pictures.fingerprint(Panel("t", "x", "y", (line,)))
    assert pictures.fingerprint(panel) != pictures.fingerprint(other)


def test_quick_seconds_are_kept_without_rows(tmp_path):
    out = tmp_path / "out"
    (out / "kang_2023").mkdir(parents=True)
    (out / "rows.sqlite").write_text("")
    paper = load("kang_2023")
    a, b = (cell.key[:12] for cell in grid(paper, paper.figure("table1"), Size(quick=True))[:2])
    text = f"cell,version,cell_seconds\n{a},0,1.5\n{a},0,1.5\n{b},0,2\n"
    (out / "kang_2023" / "table1.csv").write_text(text)
    kept.take_quick(out, tmp_path)
    assert kept.quick_seconds(tmp_path) == {"kang_2023": 3.5}
    assert kept.quick_seconds(tmp_path / "nowhere") == {}
    (out / "kang_2023" / "table1.csv").write_text(f"cell,{STAND_IN},version,cell_seconds\n{a},adult,0,1\n")
    with pytest.raises(ValueError, match="synthetic stand-ins"):
        kept.take_quick(out, tmp_path)
    assert kept.quick_seconds(tmp_path) == {"kang_2023": 3.5}


def test_rows_of_stand_ins_are_refused(tmp_path):
    paper = load("kang_2023")
    (tmp_path / "kang_2023").mkdir()
    cell = grid(paper, paper.figure("table1"), Size())[0].key[:12]
    (tmp_path / "kang_2023" / "table1.csv").write_text(f"cell,{STAND_IN},version,cell_seconds\n{cell},adult,0,1\n")
    with pytest.raises(ValueError, match="synthetic stand-ins"):
        kept.stand_of(paper, paper.figure("table1"), tmp_path)


def test_a_changed_row_changes_the_page(tmp_path):
    paper = load("kang_2020a")
    figure = paper.figure("table1")
    path = tmp_path / "kang_2020a" / "table1.csv"
    path.parent.mkdir()
    lines = (kept.ROWS / "kang_2020a" / "table1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines), encoding="utf-8")
    before = kept.stand_of(paper, figure, tmp_path)
    assert before == kept.stand_of(paper, figure, kept.ROWS)
    changed = [line.replace("gradient (Wang et al.),noise,", "gradient (Wang et al.),noise,9") for line in lines]
    path.write_text("".join(changed), encoding="utf-8")
    assert kept.stand_of(paper, figure, tmp_path).findings != before.findings


def test_rows_of_another_size_are_refused(tmp_path):
    paper = load("fukuchi_2017")
    quick = grid(paper, paper.figure("alpha"), Size(quick=True))[0]
    (tmp_path / "fukuchi_2017").mkdir()
    (tmp_path / "fukuchi_2017" / "alpha.csv").write_text(f"cell,version,cell_seconds\n{quick.key[:12]},0,1.0\n")
    with pytest.raises(ValueError, match="not of the size asked for"):
        kept.stand_of(paper, paper.figure("alpha"), tmp_path)


def test_a_figure_without_all_of_its_rows_says_so(tmp_path):
    paper = load("kang_2023")
    figure = paper.figure("table1")
    (tmp_path / "kang_2023").mkdir()
    lines = (kept.ROWS / "kang_2023" / "table1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    second = next(i for i, line in enumerate(lines) if i > 1 and not line.startswith(","))
    (tmp_path / "kang_2023" / "table1.csv").write_text("".join(lines[:second]), encoding="utf-8")
    stand = kept.stand_of(paper, figure, tmp_path)
    assert (stand.done, stand.cells) == (1, 18)
    assert "1 of 18, incomplete" in included._ran([stand])
    assert {finding.holds for finding in stand.findings} == {None}
    assert all(finding.seen.endswith(" (1 of 18 cells)") for finding in stand.findings)


def test_a_run_is_copied_without_what_is_not_kept(tmp_path):
    out = tmp_path / "out"
    (out / "kang_2023").mkdir(parents=True)
    for name in ("rows.sqlite", "report.html", "kang_2023/table1.parquet", "kang_2023/table1-1.png"):
        (out / name).write_text("not copied")
    paper = load("kang_2023")
    a = grid(paper, paper.figure("table1"), Size())[0].key[:12]
    row = "{},{},1.5,{},0.1.0,2.5\n"
    text = "cell,value,other,word,version,cell_seconds\n" + row.format(a, 1, "x") + row.format(a, 2, '"y,z"')
    (out / "kang_2023" / "table1.csv").write_text(text)
    kept.take(out, tmp_path / "kept")
    (copied,) = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert copied == tmp_path / "kept" / "kang_2023" / "table1.csv"
    head, *lines = copied.read_text().splitlines()
    assert head == "cell,value,other,word,version,cell_seconds"
    assert lines == [f"{a},1,1.5,x,0.1.0,2.5", ',2,1.5,"y,z",,']
    with pytest.raises(ValueError, match="There is no run in"):
        kept.take(tmp_path / "nowhere", tmp_path / "kept")
    assert copied.exists()


def test_a_run_that_is_not_fit_changes_nothing(tmp_path):
    out, rows, paper = tmp_path / "out", tmp_path / "kept", load("fukuchi_2017")
    (out / "fukuchi_2017").mkdir(parents=True)
    (out / "rows.sqlite").write_text("")
    with pytest.raises(ValueError, match="rows of no figure"):
        kept.take(out, rows)
    (rows / "fukuchi_2017").mkdir(parents=True)
    whole, quick = ([c.key[:12] for c in grid(paper, paper.figure("alpha"), Size(q))] for q in (False, True))
    for name, cells in (("alpha", whole), ("table1", ["kept"])):
        text = "".join(f"{cell},0,1.0\n" for cell in cells)
        (rows / "fukuchi_2017" / f"{name}.csv").write_text(f"cell,version,cell_seconds\n{text}")
    before = {path.name: path.read_text() for path in rows.rglob("*.csv")}
    for cell, words in ((quick[0], "not of the size asked for"), (whole[0], f"1 of {len(whole)} cells, and")):
        (out / "fukuchi_2017" / "alpha.csv").write_text(f"cell,version,cell_seconds\n{cell},1,1.0\n")
        with pytest.raises(ValueError, match=words):
            kept.take(out, rows)
        assert {path.name: path.read_text() for path in rows.rglob("*.csv")} == before
    text = before["alpha.csv"].replace(",0,", ",1,")
    (out / "fukuchi_2017" / "alpha.csv").write_text(text)
    kept.take(out, rows)
    assert {path.name: path.read_text() for path in rows.rglob("*.csv")} == {**before, "alpha.csv": text}


def test_fields_become_what_they_were():
    given = ("", "True", "3", "3.0", "nan", "1e-05", "[1, 2]", "adult")
    assert str([kept._value(text) for text in given]) == "[None, True, 3, 3.0, nan, 1e-05, [1, 2], 'adult']"


def test_what_is_kept_is_small():
    files = [path for path in kept.ROWS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files if path.name != kept.QUICK} == set(NAMES)
    assert {path.suffix for path in files if path.name != kept.QUICK} == {".csv"}
    assert sum(path.stat().st_size for path in files) < 5 * MEGABYTE  # every seed of every cell, of all five papers


def test_a_bound_that_is_used_up_is_refused_and_not_negative():
    paper = load("kang_2020a")
    cells = [cell for table in kept.stand_of(paper, paper.figure("table1"), kept.ROWS).parts for row in table.rows
             for cell in row]  # fmt: skip
    assert "refused" in cells
    assert not [cell for cell in cells if cell.startswith("-")]


@pytest.mark.parametrize("name", ["index", *NAMES])
def test_the_advice_runs(name):
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(2000, 3))
    labels = (X[:, 0] > 0).astype(int)
    found = BLOCK.findall(BOX.sub("", page_of(name)))
    assert found
    for text in found:
        names = {"X": X, "y": X[:, 0] if "LinearRegression" in text else labels}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(text, name, "exec"), names)
        assert names["model"].guarantee_.status == "proven"
