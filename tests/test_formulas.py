"""Every formula of the pages is a formula, and is drawn: by the engine that the pages carry, without a network."""

import re
import shutil
from importlib.resources import files
from pathlib import Path

import pytest

pytest.importorskip("sphinx-mathjax-offline", reason="the pages need the extra 'dev': pip install '.[dev]'")
from markdown_it import MarkdownIt
from mdit_py_plugins.amsmath import amsmath_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin

DOCS = Path(__file__).parent.parent / "docs"
PAGES = [page for kind in ("md", "inc") for page in sorted(DOCS.rglob(f"*.{kind}")) if "_build" not in page.parts]
BROWSER = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)
ENGINE = files("sphinx-mathjax-offline") / "static" / "mathjax" / "tex-svg-full.js"
STRICT = "<script>MathJax = {tex: {packages: {'[-]': ['noundefined']}}}</script>"  # an unknown command is an error
REFUSED = """async formulas => {
    await MathJax.startup.promise;
    return formulas.filter(text => MathJax.tex2mml(text).includes("<merror"));
}"""


def parts(text):
    """What a text is made of, parsed as the pages are."""
    parser = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin).use(amsmath_plugin)
    waiting = parser.parse(text)
    while waiting:
        part = waiting.pop()
        waiting += part.children or []
        yield part.type.startswith(("math", "amsmath")), part.content if not part.children else "", part.type


def faults(text):
    """Formulas that are not recognised as such, and words that are taken for one."""
    for formula, content, kind in parts(text):
        raw = kind == "text" and re.search(r"\$(?!\d)|\\[a-zA-Z]", content)  # a dollar before a number is money
        if raw or (formula and re.search(r"\*\*|\]\(|\. [A-Z][a-z]", content)):
            yield content


def formulas():
    return sorted({content for page in PAGES for found, content, _ in parts(page.read_text("utf-8")) if found})


def refused(texts, folder):
    """Those that the pages' engine cannot draw."""
    sync = pytest.importorskip("playwright.sync_api", reason="a browser is driven by the extra 'dev'")
    page = folder / "page.html"
    page.write_text(f'{STRICT}<script src="{Path(str(ENGINE)).as_uri()}"></script>', encoding="utf-8")
    with sync.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=BROWSER, args=["--no-sandbox"])
        tab = browser.new_context(offline=True).new_page()
        tab.goto(page.as_uri())
        found = tab.evaluate(REFUSED, texts)
        browser.close()
    return found


def test_no_formula_is_left_raw():
    assert [(page.name, words) for page in PAGES for words in faults(page.read_text("utf-8"))] == []


def test_a_raw_formula_would_be_seen():
    swallowed = "1. It is\n   $$\n   x\n   $$\n   of $y$. There **it** is, and $z$ too."
    assert list(faults(swallowed))
    assert list(faults(r"where \epsilon is"))
    assert list(faults("income above $5, and $x$"))  # what lies between two dollars is taken for a formula
    assert not list(faults("income above $50,000, and no formula"))


@pytest.mark.skipif(BROWSER is None, reason="there is no Chromium here: apt-get install chromium")
def test_every_formula_is_drawn(tmp_path):
    known = formulas()
    assert len(known) > 1000
    broken = [r"\frac{1}{", r"\nosuchcommand x"]
    assert refused([*known, *broken], tmp_path) == broken


def test_no_page_has_a_name_that_sphinx_writes_over():
    taken = {"search", "genindex", "modindex", "py-modindex"}
    assert not taken & {page.stem for page in DOCS.glob("*.md")}
