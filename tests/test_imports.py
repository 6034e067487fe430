"""Names come when they are asked for: what is loaded, what is listed, and that both lists of places agree."""

import ast
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import tacit
from tacit.cli.main import COMMANDS

HEAVY = ("numpy", "scipy", "sklearn", "rich", "jinja2", "torch", "tacit.checks")
STARTS = {
    "import": "import tacit",
    "version": "from tacit.cli.main import main\ntry: main(['--version'])\nexcept SystemExit: pass",
    "help": "from tacit.cli.main import main\ntry: main(['--help'])\nexcept SystemExit: pass",
}


def loaded_after(program: str) -> set[str]:
    program += "\nimport sys\nprint('LOADED', *sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.splitlines()[-1].split()[1:])


@pytest.mark.parametrize("start", STARTS)
def test_the_start_loads_nothing_heavy(start):
    assert not loaded_after(STARTS[start]) & {*HEAVY}


def test_a_name_loads_what_it_needs():
    assert {"numpy", "tacit.schema.schema"} <= loaded_after("import tacit; tacit.Schema")
    assert "sklearn" not in loaded_after("import tacit; tacit.Schema; tacit.Budget")
    assert "sklearn" in loaded_after("from tacit.schema import SchemaEncoder")


@pytest.mark.parametrize("name", ["checks", "types", "mechanisms", "training"])
def test_modules_can_be_imported_from_the_package_in_any_order(name):
    assert "tacit.estimators" not in loaded_after(f"from tacit import {name}")


def test_a_command_loads_its_own_options_only():
    program = "from tacit.cli.main import build_parser\nbuild_parser().parse_args(['verify', 'm.json'])"
    found = loaded_after(program)
    assert "tacit.cli.options.promises" in found
    assert not found & {"tacit.cli.verify", "tacit.cli.options.fit", "tacit.cli.options.protocol", "jinja2", "rich"}


@pytest.mark.parametrize(
    "words",
    [
        ["schema", "t.csv"], ["schema", "check", "s.toml", "t.csv"], ["ledger", "show", "l.sqlite"],
        ["verify", "l.sqlite"], ["statement", "l.sqlite"],
    ],
    ids=" ".join,
)  # fmt: skip
def test_commands_that_train_nothing_load_no_estimators(words, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("age,ill\n40,no\n50,yes\n")
    (tmp_path / "s.toml").write_text(
        'target = {name = "ill", classes = ["no", "yes"]}\ncolumns.age = {lower = 0, upper = 99}\n'
    )
    tacit.Ledger("l.sqlite", epsilon=1, delta=1e-6)
    found = loaded_after(f"from tacit.cli.main import main\nassert main({words}) == 0")
    assert not found & {"sklearn", "pandas", "scipy.stats", "scipy.optimize", "torch"}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_shows_its_help(name, capsys):
    from tacit.cli.main import main

    with pytest.raises(SystemExit) as caught:
        main([name, "--help"])
    assert caught.value.code == 0
    assert f"usage: tacit {name}" in capsys.readouterr().out


def test_every_public_name_is_there_and_listed():
    estimators = import_module("tacit.estimators").__all__
    assert {"LogisticRegression", "LinearSVC", "LinearRegression"} <= {*estimators}
    names = {*tacit._PLACES, *tacit._ROOMS, *estimators, "__version__"}
    assert {*dir(tacit)} == names
    for name in names - {"nn", *tacit._NEED_TORCH}:
        assert getattr(tacit, name) is not None
    assert {*tacit.__all__} == names - {*tacit._ROOMS, *tacit._NEED_TORCH}
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        tacit.nothing  # noqa: B018


def test_a_new_estimator_needs_no_line(monkeypatch):
    estimators = import_module("tacit.estimators")
    monkeypatch.setattr(estimators, "Later", object(), raising=False)
    assert not hasattr(tacit, "Later")
    monkeypatch.setattr(estimators, "__all__", [*estimators.__all__, "Later"])
    assert tacit.Later is estimators.Later
    assert "Later" in dir(tacit)


def test_type_checkers_see_the_same_places():
    tree = ast.parse(Path(tacit.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = [(alias.name, node.module) for node in block.body for alias in node.names]
    estimators = [name for star, module in seen if star == "*" for name in import_module(module).__all__]
    assert sorted(estimators) == sorted(import_module("tacit.estimators").__all__)
    named = {name: module for name, module in seen if name != "*"}
    assert named == {**tacit._PLACES, **dict.fromkeys(tacit._ROOMS, "tacit")}
