"""The package keeps its order: all modules, and every import in them, wherever it stands.

The rooms from top to bottom are listed in ``docs/rooms.py``, and only there.
"""

import ast
import re
from collections import Counter
from graphlib import CycleError

import pytest

from docs.draw import PICTURE, drawing
from docs.rooms import ROOMS, SOURCE, climbs, floors, graph, imported, modules, room

MOST_LINES = 400
TWICE = {
    "schema": "schema/schema.py is the noun of its room",
    "linear": "linear/ is the mathematics of linear models, influence/linear.py their influence",
    "base": "what the files of its folder share: losses, mechanisms, estimators",
    "classification": "a loss and its estimator stand in files of one name",
    "regression": "a loss and its estimator stand in files of one name",
    "models": "files/ keeps them, published/models.py has what the papers' algorithms train",
    "networks": "files/ keeps them, published/networks.py has the papers' ones",
}
"""Stems that occur twice, and why the folder tells them apart. A command (cli/) bears the name of what it runs."""
OUTSIDE = {"tests", "papers", "benchmarks", "docs"}

PUBLIC_ROOMS = {"_version", "checks", "types", "rounding", "reading", "privacy"}
PUBLIC_MODULES = {"tacit.mechanisms.defaults"}
PUBLIC_FUNCTIONS = {"calibrate", "needs", "event", "events"}
PRIVATE_WORDS = {"Problem", "Records"}

DICE_MODULES = {"random", "secrets", "uuid"}
DICE = {
    "default_rng", "urandom", "RandomState", "PCG64", "Philox", "SFC64", "MT19937", "manual_seed", "rand", "randn",
    "randint", "randperm", "rand_like", "randn_like", "bernoulli", "multinomial", "normal_", "uniform_", "getrandbits",
}  # fmt: skip
OWN_DICE = {
    "tacit.privacy.sources": "the door itself",
    "tacit.reading": "names of unfinished files",
    "tacit.estimators.base": "takes a seed from the generator that a user gave as random_state",
    "tacit.nn.alone": "made-up rows, with a written seed, on which an architecture is tried",
    "tacit.nn.estimator": "hands PyTorch a seed from the door, for the first weights",
    "tacit.audit": "an attacker's dice protect nobody: which data set a run gets, and seeds for strangers",
    "tacit.datasets": "draws from public files with the seed that the user gave",
}
"""Modules, or rooms, with randomness that is not from ``privacy/sources.py``, and why no promise rests on it."""


@pytest.fixture(scope="module")
def trees():
    return modules()


@pytest.fixture(scope="module")
def uses(trees):
    return graph(trees)


def broken(trees, rule):
    """What a rule finds, by module: nothing where all keep it."""
    return {module: found for module, tree in trees.items() if (found := list(rule(module, tree)))}


def foreign_secrets(tree):
    """Private parts of other libraries that a module imports or reaches for."""
    names = set()
    for base, parts in imported("tacit", tree):
        if base.split(".")[0] not in ("tacit", "__future__"):
            yield from (f"{base}.{part}" for part in ["", *parts] if "._" in f".{base}.{part}")
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.asname or alias.name.split(".")[0] for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and re.match(r"_[^_]", node.attr):
            root = node.value
            while isinstance(root, ast.Attribute):
                root = root.value
            if isinstance(root, ast.Name) and root.id in names:
                yield ast.unparse(node)


def takes_records(tree, public):
    """Functions of the public side with a parameter that holds records."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (public or node.name in PUBLIC_FUNCTIONS):
            for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]:
                if set(re.findall(r"\w+", ast.unparse(argument))) & PRIVATE_WORDS:
                    yield f"{node.name}({argument.arg})"


def own_dice(tree):
    """Randomness that a module makes itself: modules that it imports for it, functions that it calls."""
    yield from ({base.split(".")[0] for base, _ in imported("tacit", tree)} & DICE_MODULES)
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute | ast.Name):
            called = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            if called in DICE:
                yield called


def outside(tree):
    """Imports of what is not installed with the package."""
    return {base.split(".")[0] for base, _ in imported("tacit", tree)} & OUTSIDE


def stems(names):
    """Stems of modules that occur more than once; a room's own name is one of them."""
    found = Counter(name.rpartition(".")[2] for name in names if room(name) != "cli")
    return {stem for stem, count in found.items() if count > 1}


def test_every_module_has_a_room_and_every_room_a_module(trees):
    assert {room(module) for module in trees} == set(ROOMS)


def test_a_module_imports_only_from_rooms_above(uses):
    assert climbs(uses) == []


@pytest.mark.parametrize("name", ROOMS)
def test_within_a_room_there_is_an_order(name, trees, uses):
    assert sum(map(len, floors(uses, name))) == sum(room(module) == name for module in trees)


def test_the_drawing_is_of_today(uses):
    assert PICTURE.read_text(encoding="utf-8") == drawing(uses), "run `make graph`"


def test_the_page_lists_the_rooms_in_order():
    table = PICTURE.with_suffix(".md").read_text(encoding="utf-8").partition("## Rooms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \|", table, re.MULTILINE)
    assert [name for row in rows for name in re.findall(r"`(\w+)/?`", row)] == list(ROOMS)


def test_no_stem_occurs_twice_unless_its_folder_tells(trees):
    assert stems(trees) == set(TWICE), "a new pair, or an exception that is not needed any more"


def test_modules_are_short():
    lengths = {str(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCE.rglob("*.py")}
    assert {path: lines for path, lines in lengths.items() if lines > MOST_LINES} == {}


def test_the_package_stands_alone(trees):
    assert broken(trees, lambda module, tree: outside(tree)) == {}


def test_no_private_parts_of_other_libraries(trees):
    assert broken(trees, lambda module, tree: foreign_secrets(tree)) == {}


def test_no_records_on_the_public_side(trees):
    public = {module for module in trees if room(module) in PUBLIC_ROOMS} | PUBLIC_MODULES
    assert broken(trees, lambda module, tree: takes_records(tree, module in public)) == {}


def test_the_public_side_is_still_called_that(trees):
    """A class, function or module that was renamed would pass unseen."""
    made = {node.name for tree in trees.values() for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    assert made >= PRIVATE_WORDS
    assert trees.keys() >= PUBLIC_MODULES


def test_randomness_has_one_door(trees):
    users = {module for module, tree in trees.items() if any(own_dice(tree))}
    excused = {module: [door for door in OWN_DICE if f"{module}.".startswith(f"{door}.")] for module in users}
    assert [module for module, doors in excused.items() if not doors] == [], "a source of randomness of its own"
    assert {door for doors in excused.values() for door in doors} == set(OWN_DICE), "an exception without a use"


def test_these_checks_can_fail():
    """One small package that breaks every rule."""
    source = """
import uuid
import numpy as np
from sklearn._loss import x
from numpy import _core
from tests.oracles import exact
from typing import TYPE_CHECKING
if TYPE_CHECKING:
    from tacit.training import fit
def calibrate(self, problem: Problem | None):
    from tacit.cli import main
    from ..estimators import linear
    importlib.import_module("tacit.published")
    importlib.import_module(f"tacit.nn.{problem}")
    np._globals.x, np.random.default_rng()
"""
    names = [
        "tacit.training",
        "tacit.cli.main",
        "tacit.cli",
        "tacit.estimators.linear",
        "tacit.nn.train",
        "tacit.published",
    ]
    trees = {name: ast.parse("") for name in names} | {"tacit.privacy.noise": ast.parse(source)}
    uses = graph(trees)
    lower = {"tacit.training", "tacit.cli.main", "tacit.estimators.linear", "tacit.nn.train", "tacit.published"}
    assert uses["tacit.privacy.noise"] == lower
    assert climbs(uses) == [f"tacit.privacy.noise imports {target}" for target in sorted(lower)]
    assert 'circle class="below"' in drawing(uses)
    with pytest.raises(CycleError):
        floors({"tacit.data.a": {"tacit.data.b"}, "tacit.data.b": {"tacit.data.a"}}, "data")
    tree = trees["tacit.privacy.noise"]
    assert list(foreign_secrets(tree)) == ["sklearn._loss.", "sklearn._loss.x", "numpy._core", "np._globals"]
    assert list(takes_records(tree, public=False)) == ["calibrate(problem)"]
    assert sorted(own_dice(tree)) == ["default_rng", "uuid"]
    assert outside(tree) == {"tests"}
    assert stems(["tacit.a.base", "tacit.b.base", "tacit.cli.a", "tacit.a"]) == {"base"}
