"""The pages about the papers: what they include is what the kept rows say, and no number on them is from elsewhere."""

import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from papers.engine import library
from papers.engine.figure import Size
from papers.engine.grid import grid
from papers.pages import kept, markdown

DOCS = Path(__file__).parents[2] / "docs"
NAMES = library.names("papers")
MEGABYTE = 1_000_000
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def load(name):
    return library.load("papers", name)


@pytest.fixture(scope="module")
def texts():
    return markdown.texts()


def test_what_the_pages_include_is_what_the_rows_say(texts):
    assert set(texts) == {path.name for path in (DOCS / "papers").glob("*.inc")}
    for name, text in texts.items():
        written = (DOCS / "papers" / name).read_text(encoding="utf-8")
        assert written == text, f"{name} is stale: run `python -m papers.pages`"


@pytest.mark.parametrize("name", NAMES)
def test_every_paper_has_a_page_that_includes_all(name):
    page = (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    assert page.count(f"```{{include}} {name}.inc") == 3
    for title in ("claims", "holds", "does not", "guarantee", "use instead"):
        assert re.search(rf"^## .*{title}", page, re.MULTILINE), title
    readme = (library.folder_of("papers") / name / "README.md").read_text(encoding="utf-8")
    assert f"docs/papers/{name}.md" in readme


@pytest.mark.parametrize("name", NAMES)
def test_numbers_of_the_prose_are_those_of_the_rows_or_of_the_audit(name, texts):
    page = (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", page[page.index("## What holds") : page.index("## What to use")], flags=re.DOTALL)
    known = texts[f"{name}.inc"] + (DOCS / "audit-evidence.inc").read_text(encoding="utf-8")
    numbers = re.findall(r"\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+|\d+%", re.sub(r"99\.9% confidence", "", prose))
    assert numbers
    seen = set(re.findall(r"\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+|\d+%", known))
    assert [number for number in numbers if number not in seen] == []


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
    with pytest.raises(ValueError, match="not of the paper's size"):
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
    assert "1 of 18, incomplete" in "".join(markdown._groups([stand]))


def test_a_run_is_copied_without_what_is_not_kept(tmp_path):
    out = tmp_path / "out"
    (out / "kang_2023").mkdir(parents=True)
    for name in ("rows.sqlite", "report.html", "kang_2023/table1.parquet", "kang_2023/table1-1.png"):
        (out / name).write_text("not copied")
    row = "{},{},1.5,{},0.1.0,2.5\n"
    text = "cell,value,other,word,version,cell_seconds\n" + row.format("a", 1, "x") + row.format("a", 2, '"y,z"')
    (out / "kang_2023" / "table1.csv").write_text(text)
    kept.take(out, tmp_path / "kept")
    (copied,) = [path for path in (tmp_path / "kept").rglob("*") if path.is_file()]
    assert copied == tmp_path / "kept" / "kang_2023" / "table1.csv"
    assert copied.read_text() == 'cell,value,other,word,version,cell_seconds\na,1,1.5,x,0.1.0,2.5\n,2,1.5,"y,z",,\n'
    with pytest.raises(ValueError, match="There is no run in"):
        kept.take(tmp_path / "nowhere", tmp_path / "kept")
    assert copied.exists()


def test_fields_become_what_they_were():
    given = ("", "True", "3", "3.0", "nan", "1e-05", "[1, 2]", "adult")
    assert str([kept._value(text) for text in given]) == "[None, True, 3, 3.0, nan, 1e-05, [1, 2], 'adult']"


def test_what_is_kept_is_small():
    files = [path for path in kept.ROWS.rglob("*") if path.is_file()]
    assert {path.parent.name for path in files} == set(NAMES)
    assert {path.suffix for path in files} == {".csv"}
    assert sum(path.stat().st_size for path in files) < 3 * MEGABYTE


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
    found = BLOCK.findall((DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8"))
    assert found
    for text in found:
        names = {"X": X, "y": X[:, 0] if "LinearRegression" in text else labels}
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            exec(compile(text, name, "exec"), names)
        assert names["model"].guarantee_.status == "proven"
