"""The documentation runs: its Python blocks, its shell commands, and its tables agree with the code."""

import importlib
import re
import shlex
from pathlib import Path

import numpy as np
import pytest

from tacit.cli import main as cli
from tacit.mechanisms import METHODS
from tacit.privacy.theorems import THEOREMS
from tacit.report import catalogue as survey

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
ALONE = [DOCS / f"{name}.md" for name in ("start", "schema", "which-method", "methods")]
RUN = [ROOT / "README.md", *ALONE, *sorted((DOCS / "tutorials").glob("*.md"))]
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *WRITTEN]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8"))


def commands(page):
    lines = [
        line.removeprefix("$ ")
        for kind, text in blocks(page)
        if kind in ("sh", "console")
        for line in text.splitlines()
    ]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("tacit ")]


def example():
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.5, 0.5, size=(300, 3))
    return {"X": X, "y": (X[:, 0] > 0).astype(int)}


@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "tacit.nn" in page.read_text(encoding="utf-8"):
        pytest.importorskip("opacus", reason="this page needs the extra 'torch': pip install 'tacit[torch]'")
    names = {"__name__": "docs", **(example() if page.stem == "README" else {})}
    ran = 0
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, f"{page.name} block {ran}", "exec"), names)
            ran += 1
        elif kind == "toml" and text.startswith("# "):
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif kind == "sh" and page.stem != "README":
            for line in text.splitlines():
                if line.startswith("tacit "):
                    assert cli.main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert ran > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_known_to_the_parser(page):
    for words in commands(page):
        cli._parser().parse_args(words)


def test_the_pages_show_every_command():
    shown = {words[0] for page in PAGES for words in commands(page)} | {"demo"}  # the demo is run by `make demo`
    (known,) = [set(action.choices) for action in cli._parser()._actions if isinstance(action.choices, dict)]
    assert {"fit", "audit"} <= known
    assert shown == known


def test_make_targets_exist():
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"`make (\w+)`", text)) | set(re.findall(r"^make (\w+) ", text, re.MULTILINE))
    assert {"demo", "test"} <= shown <= targets


def test_the_readme_table_agrees_with_the_registry():
    rows = re.findall(r"^\| `([\w-]+)` \| (.*?) \| (\w+) \| ([\w-]+) \| (\w+) \|$", PAGES[0].read_text(), re.MULTILINE)
    assert len(rows) >= 14
    for name, paper, site, adjacency, status in rows:
        known = survey.entry(METHODS[name])
        assert (paper, site) == (known.method.paper, known.method.mechanism.site)
        assert (adjacency, status) == ("both" if known.both else "replace-one", known.status.split(";")[0])


def test_every_theorem_has_its_page():
    for key, row in THEOREMS.items():
        page = DOCS / "guarantee.md" if row.page == "guarantee" else DOCS / "theorems" / f"{row.page}.md"
        assert page.exists(), key
        if row.page not in ("guarantee", "objective"):
            assert f"`{key}`" in page.read_text(encoding="utf-8"), f"{key} is not on its page"


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#\s]+)(?:#[\w-]+)?\)", page.read_text(encoding="utf-8")):
            if not target.startswith("http"):
                assert (page.parent / target).exists(), f"{page.name} links to {target}"


ROOMS = (
    "accounting", "calibrate", "fit", "losses", "noise", "problem", "rows", "mechanisms.output", "mechanisms.rules",
    "mechanisms.statistics",
)  # fmt: skip


def test_cited_code_exists():
    """What the pages cite as `module.name`, so that a rename is noticed."""
    rooms = {room.rpartition(".")[2]: importlib.import_module(f"tacit.{room}") for room in ROOMS}
    cited = re.compile(r"`(?:tacit\.)?(?:mechanisms\.)?(" + "|".join(rooms) + r")\.(?!py`)(\w+)(?:\([^`]*\))?`")
    found = [(page.name, *match) for page in PAGES for match in cited.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 10
    assert [entry for entry in found if not hasattr(rooms[entry[1]], entry[2])] == []
    for name in ("prefer", "signal", "margin", "CLEAR", "objective_strength", "descent", "step_size", "output_time"):
        assert hasattr(rooms["rules"], name)
    for name in ("certified", "Minimum", "Steps", "Passes"):
        assert hasattr(rooms["output"], name)
