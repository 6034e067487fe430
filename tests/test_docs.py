"""The documentation runs: its Python blocks, its shell commands, and its tables agree with the code."""

import ast
import functools
import importlib
import itertools
import re
import shlex
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tacit
from docs.rooms import modules
from tacit import datasets
from tacit.cli import main as cli
from tacit.datasets import hospital
from tacit.privacy.theorems import THEOREMS

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PARTS = (
    "start", "schema", "sources", "features", "additive", "intervals", "evaluate", "statistics", "private-search",
    "ledger", "people", "statement", "streams", "which-method", "methods", "collector-api", "five-minutes",
    "choosing-epsilon", "neighbours", "worked-case", "imbalanced", "visits", "saving",
)  # fmt: skip
ALONE = [DOCS / f"{name}.md" for name in PARTS]
RUN = [ROOT / "README.md", *ALONE, *sorted((DOCS / "tutorials").glob("*.md"))]
WRITTEN = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
PAGES = [*(ROOT / f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY")), *WRITTEN]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(page):
    return BLOCK.findall(page.read_text(encoding="utf-8").replace("\\\n", " "))  # commands over several lines


def commands(page):
    lines = [
        line.removeprefix("$ ")
        for kind, text in blocks(page)
        if kind in ("sh", "console")
        for line in text.splitlines()
    ]
    return [shlex.split(line, comments=True)[1:] for line in lines if line.startswith("tacit ")]


def of_the_readme():
    """The files that the README's commands name."""
    for name, seed in (("patients", 1), ("new-patients", 2)):
        Path(f"{name}.csv").write_text(hospital.csv_text(hospital.patients(2_000, seed)), encoding="utf-8")
    Path("schema.toml").write_bytes(hospital.SCHEMA_FILE.read_bytes())


@pytest.fixture
def stand_ins():
    """Pages about a public data set run on made-up records where its file is absent."""
    with datasets.standing_in([name for name in ("adult", "bank_marketing") if not datasets.stored(name)]):
        yield


@pytest.mark.usefixtures("stand_ins")
@pytest.mark.parametrize("page", RUN, ids=lambda page: page.stem)
def test_blocks_run_in_order(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if "tacit.nn" in page.read_text(encoding="utf-8"):
        pytest.importorskip("opacus", reason="this page needs the extra 'torch': pip install '.[torch]'")
    names = {"__name__": "docs"}
    if page.stem == "README":
        of_the_readme()
    ran = 0
    for kind, text in blocks(page):
        if kind == "python":
            exec(compile(text, f"{page.name} block {ran}", "exec"), names)
            ran += 1
        elif kind == "toml" and text.startswith("# "):
            Path(text.splitlines()[0].removeprefix("# ")).write_text(text, encoding="utf-8")
        elif kind == "sh":
            for line in text.splitlines():
                if line.startswith("tacit "):
                    assert cli.main(shlex.split(line)[1:]) == 0, capsys.readouterr().err
    assert ran > 0


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_commands_are_known_to_the_parser(page):
    for words in commands(page):
        cli.build_parser().parse_args(words)


def test_the_pages_show_every_command():
    shown = {words[0] for page in PAGES for words in commands(page)} | {"demo"}  # the demo is run by `make demo`
    (known,) = [set(action.choices) for action in cli.build_parser()._actions if isinstance(action.choices, dict)]
    assert {"fit", "audit"} <= known
    assert shown == known


def test_make_targets_exist():
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    shown = set(re.findall(r"`make ([\w-]+)`", text)) | set(re.findall(r"^make ([\w-]+) ", text, re.MULTILINE))
    assert {"demo", "test"} <= shown <= targets


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


FILES = "py|js|md|toml|json|jsonl|html|csv|svg|css|txt|inc|npz|parquet|safetensors"


@functools.cache
def trees():
    return modules()


def defined(tree):
    """Every name that a module gives something: functions, classes and their methods, constants, imports."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.alias):
            yield node.asname or node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id


def known_names():
    """By stem, what a page may cite as `stem.name`; a folder has its modules, and what they define."""
    names = {}
    for module, tree in trees().items():
        parts, found = module.split("."), set(defined(tree))
        names.setdefault(parts[-1], set()).update(found)
        for folder, inner in itertools.pairwise(parts):
            names.setdefault(folder, set()).update({inner, *found})
    return names


def test_cited_code_exists():
    """What the pages cite as `module.name`, so that a rename is noticed."""
    names = known_names()
    cited = re.compile(rf"`(?:\w+\.)*?({'|'.join(names)})\.(?!(?:{FILES})`)(\w+)(?:\([^`]*\))?`")
    found = [(page.name, *match) for page in PAGES for match in cited.findall(page.read_text(encoding="utf-8"))]
    assert len(found) > 40
    assert [entry for entry in found if entry[2] not in names[entry[1]]] == []


def test_cited_files_exist():
    here = {path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in str(path)}
    found = [
        (page.name, cited)
        for page in PAGES
        for cited in re.findall(r"`([\w./]+\.py)`", page.read_text(encoding="utf-8"))
    ]
    assert len(found) > 5
    assert [entry for entry in found if not any(f"/{path}".endswith(f"/{entry[1]}") for path in here)] == []


def resolved(target):
    """The object that a dotted name means."""
    parts = target.split(".")
    for size in range(len(parts), 0, -1):
        name = ".".join(parts[:size])
        if name in trees():
            return functools.reduce(getattr, parts[size:], importlib.import_module(name))
    raise LookupError(target)


def described(page):
    """The objects that a page describes by autodoc: by name, in a list, or by ``__all__``."""
    for kind, target, options in re.findall(
        r"^\.\. auto(\w+):: ([\w.]+)\n((?:   :.*\n)*)", page.read_text(encoding="utf-8"), re.MULTILINE
    ):
        owner = resolved(target)
        yield owner
        members = re.search(r":members:(.*)", options)
        if kind == "module" and members:
            listed = [name.strip() for name in members[1].split(",") if name.strip()]
            yield from (getattr(owner, name) for name in listed or getattr(owner, "__all__", []))


def public():
    """(name, object) of what the package offers: ``dir(tacit)``, and ``__all__`` of every room that has one."""
    folders = {name.rpartition(".")[0] for name in trees()} - {"", "tacit"}
    rooms = {name.removeprefix("tacit."): resolved(name) for name in sorted(folders)}
    open_rooms = {name: room for name, room in rooms.items() if hasattr(room, "__all__")}
    for name in dir(tacit):
        if not name.startswith("_") and (name in open_rooms or not isinstance(getattr(tacit, name), ModuleType)):
            yield name, getattr(tacit, name)
    for name, room in open_rooms.items():
        yield from ((f"{name}.{part}", getattr(room, part)) for part in room.__all__)


def test_the_api_page_is_complete():
    pytest.importorskip("torch", reason="the page describes the networks: pip install '.[torch]'")
    shown, names = list(described(DOCS / "api.md")), dict(public())
    assert {"Guarantee", "audit.audit", "protocol.Database", "nn.MLPClassifier", "datasets.load"} <= names.keys()
    assert [name for name, value in names.items() if not any(value is known for known in shown)] == []


START = """
import runpy, sys
sys.path[0] = sys.argv[1]
for script in sys.argv[2:]:
    sys.argv = [script, "--help"]
    try:
        runpy.run_path(f"{sys.path[0]}/{script}.py", run_name="__main__")
    except SystemExit as end:
        print("ended", script, end.code)
"""


def test_benchmarks_start_from_anywhere(tmp_path):
    """As Python starts a script, with its folder first on the path; one after the other, since imports take long."""
    scripts = ["run", "losses", "walks", "input", "strangers"]
    command = [sys.executable, "-c", START, str(ROOT / "benchmarks"), *scripts]
    found = subprocess.run(command, cwd=tmp_path, check=False, capture_output=True, text=True)
    assert (found.returncode, found.stderr) == (0, "")
    assert re.findall(r"^ended (.*)$", found.stdout, re.MULTILINE) == [f"{script} 0" for script in scripts]
    assert found.stdout.count("usage: ") == len(scripts)
