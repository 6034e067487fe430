"""The pages about the papers: what they include is what the kept rows say, and no number on them is from elsewhere."""

import importlib.util
import re
import warnings
from pathlib import Path

import numpy as np
import pytest

from papers.engine import papers
from papers.engine.cells import grid
from papers.engine.figure import Size

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
KEPT = DOCS / "reproduced"
SOURCES = {papers.short_name(folder): folder for folder in papers.folders(ROOT / "experiments")}
MEGABYTE = 1_000_000
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def load():
    described = importlib.util.spec_from_file_location("pages", ROOT / "experiments" / "pages.py")
    module = importlib.util.module_from_spec(described)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(__import__("sys").modules, "pages", module)  # dataclasses look their module up here
        described.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def pages():
    return load()


@pytest.fixture(scope="module")
def texts(pages):
    return pages.texts()


def test_what_the_pages_include_is_what_the_rows_say(texts):
    assert set(texts) == {path.name for path in (DOCS / "papers").glob("*.inc")}
    for name, text in texts.items():
        written = (DOCS / "papers" / name).read_text(encoding="utf-8")
        assert written == text, f"{name} is stale: run `python experiments/pages.py`"


@pytest.mark.parametrize("name", SOURCES)
def test_every_paper_has_a_page_that_includes_all(name):
    page = (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    assert page.count(f"```{{include}} {name}.inc") == 3
    for title in ("claims", "holds", "does not", "guarantee", "use instead"):
        assert re.search(rf"^## .*{title}", page, re.MULTILINE), title
    readme = (SOURCES[name] / "README.md").read_text(encoding="utf-8")
    assert f"docs/papers/{name}.md" in readme


@pytest.mark.parametrize("name", SOURCES)
def test_numbers_of_the_prose_are_those_of_the_rows_or_of_the_audit(name, texts):
    page = (DOCS / "papers" / f"{name}.md").read_text(encoding="utf-8")
    prose = re.sub(r"```.*?```", "", page[page.index("## What holds") : page.index("## What to use")], flags=re.DOTALL)
    known = texts[f"{name}.inc"] + (DOCS / "audit-evidence.inc").read_text(encoding="utf-8")
    numbers = re.findall(r"\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+|\d+%", re.sub(r"99\.9% confidence", "", prose))
    assert numbers
    seen = set(re.findall(r"\d+\.\d+(?:e[+-]\d+)?|\d+ of \d+|\d+%", known))
    assert [number for number in numbers if number not in seen] == []


def test_a_changed_row_changes_the_page(pages, texts, tmp_path):
    source = papers.load(SOURCES["000"])
    figure = source.figure("table1")
    path = tmp_path / "000" / "table1.csv"
    path.parent.mkdir()
    lines = (KEPT / "000" / "table1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(lines), encoding="utf-8")
    kept = pages.stand_of(source, figure, tmp_path)
    assert kept == pages.stand_of(source, figure, KEPT)
    changed = [line.replace("gradient (Wang et al.),noise,", "gradient (Wang et al.),noise,9") for line in lines]
    path.write_text("".join(changed), encoding="utf-8")
    assert pages.stand_of(source, figure, tmp_path).findings != kept.findings


def test_rows_of_another_size_are_refused(pages, tmp_path):
    source = papers.load(SOURCES["001"])
    quick = grid(source, source.figure("alpha"), Size(quick=True))[0]
    (tmp_path / "001").mkdir()
    (tmp_path / "001" / "alpha.csv").write_text(f"cell,version,cell_seconds\n{quick.key[:12]},0,1.0\n")
    with pytest.raises(ValueError, match="not of the paper's size"):
        pages.stand_of(source, source.figure("alpha"), tmp_path)


def test_a_figure_without_all_of_its_rows_says_so(pages, tmp_path):
    source = papers.load(SOURCES["002"])
    figure = source.figure("table1")
    (tmp_path / "002").mkdir()
    lines = (KEPT / "002" / "table1.csv").read_text(encoding="utf-8").splitlines(keepends=True)
    second = next(i for i, line in enumerate(lines) if i > 1 and not line.startswith(","))
    (tmp_path / "002" / "table1.csv").write_text("".join(lines[:second]), encoding="utf-8")
    stand = pages.stand_of(source, figure, tmp_path)
    assert (stand.done, stand.cells) == (1, 18)
    assert "1 of 18, incomplete" in "".join(pages._groups([stand]))


def test_a_run_is_copied_without_what_is_not_kept(pages, tmp_path):
    (tmp_path / "out" / "002").mkdir(parents=True)
    files = ", ".join(f'<a href="002/table1.{kind}">table1.{kind}</a>' for kind in ("csv", "parquet", "png"))
    (tmp_path / "out" / "report.html").write_text(f"<p>Files: {files}</p>")
    row = "{},{},1.5,{},0.1.0,2.5\n"
    text = "cell,value,other,word,version,cell_seconds\n" + row.format("a", 1, "x") + row.format("a", 2, "y,z")
    (tmp_path / "out" / "002" / "table1.csv").write_text(text.replace("y,z", '"y,z"'))
    pages.take(tmp_path / "out", tmp_path / "kept")
    assert (tmp_path / "kept" / "report.html").read_text() == (
        '<p>Files: <a href="002/table1.csv">table1.csv</a></p>'
    )  # fmt: skip
    copied = (tmp_path / "kept" / "002" / "table1.csv").read_text()
    assert copied == 'cell,value,other,word,version,cell_seconds\na,1,1.5,x,0.1.0,2.5\n,2,1.5,"y,z",,\n'
    with pytest.raises(ValueError, match="There is no report in"):
        pages.take(tmp_path / "nowhere", tmp_path / "kept")


def test_fields_become_what_they_were(pages):
    given = ("", "True", "3", "3.0", "nan", "1e-05", "[1, 2]", "adult")
    assert str([pages._value(text) for text in given]) == "[None, True, 3, 3.0, nan, 1e-05, [1, 2], 'adult']"


def test_what_is_kept_is_small_and_links_to_what_is_there():
    files = [path for path in KEPT.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} == {".html", ".csv"}
    report = KEPT / "report.html"
    assert report.stat().st_size < 5 * MEGABYTE
    assert sum(path.stat().st_size for path in files if path.suffix == ".csv") < 3 * MEGABYTE
    text = report.read_text(encoding="utf-8")
    ids = set(re.findall(r' id="([^"]+)"', text))
    links = re.findall(r'href="(?!data:|https?:)([^"]+)"', text)
    assert links
    for link in links:
        assert link[1:] in ids if link.startswith("#") else (KEPT / link).exists(), link
    shown = "".join(path.read_text(encoding="utf-8") for path in (DOCS / "papers").glob("*.inc"))
    assert set(re.findall(r"report\.html#([\w-]+)", shown)) <= ids


def test_a_bound_that_is_used_up_is_refused_and_not_negative(pages):
    source = papers.load(SOURCES["000"])
    cells = [cell for table in pages.stand_of(source, source.figure("table1"), KEPT).parts for row in table.rows
             for cell in row]  # fmt: skip
    assert "refused" in cells
    assert not [cell for cell in cells if cell.startswith("-")]


@pytest.mark.parametrize("name", ["index", *SOURCES])
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
