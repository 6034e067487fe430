"""The house keeps its order: a module imports only from rooms above it, and no record flows on the public river."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import tacit

ROOT = Path(tacit.__file__).parent
ROOMS = [
    "_version", "checks", "types", "sources", "normals", "noise", "losses", "cells", "canonical", "rows", "bounds",
    "problem", "events",
    "rounding", "tails", "curves", "shuffle", "privacy_loss", "tilting", "composition", "accounting", "calibrate",
    "theorems", "smoothing", "guarantee", "solvers.descent", "solvers.newton", "mechanisms.base",
    "mechanisms.samplers", "mechanisms.rules", "mechanisms.output", "mechanisms.objective", "mechanisms.gradient",
    "mechanisms.statistics", "mechanisms.svrg", "mechanisms", "fit", "estimators", "files", "datasets", "report", "cli",
]  # fmt: skip
"""From top to bottom. Rooms that are not listed must only not go round in circles."""
PUBLIC = ["events", "curves", "accounting", "calibrate", "theorems", "guarantee", "mechanisms.rules"]
PRIVATE_WORDS = {"Problem", "Records"}
TREES = {
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"): ast.parse(path.read_text())
    for path in ROOT.rglob("*.py")
    if path != ROOT / "__init__.py"
}


def imports(tree, *, whole=True):
    """(module, names) of every import; those inside functions too, unless only the top of the module is asked for."""
    for node in ast.walk(tree) if whole else tree.body:
        if isinstance(node, ast.ImportFrom):
            yield node.module or "", [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)


def used_rooms(tree, *, whole=True):
    """The modules of the house that a module imports."""
    for module, names in imports(tree, whole=whole):
        if module.split(".")[0] == "tacit":
            base = module.removeprefix("tacit").removeprefix(".")
            parts = [f"{base}.{name}".strip(".") for name in names]
            yield from {part if part in TREES else base for part in parts} or {base}


def foreign_secrets(tree):
    """Private parts of other libraries that a module uses."""
    for module, names in imports(tree):
        if module.split(".")[0] not in ("tacit", "__future__"):
            yield from (f"{module}.{name}" for name in ["", *names] if "._" in f".{module}.{name}")


def takes_records(tree, public):
    """Functions of the public river with a parameter that holds records."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and (public or node.name in ("calibrate", "needs", "event")):
            for argument in [*node.args.args, *node.args.kwonlyargs]:
                if {n.id for n in ast.walk(argument) if isinstance(n, ast.Name)} & PRIVATE_WORDS:
                    yield f"{node.name}({argument.arg})"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_imports_only_from_rooms_above(room):
    below = [used for used in used_rooms(TREES[room]) if used in ROOMS and ROOMS.index(used) >= ROOMS.index(room)]
    assert not below, f"{room} imports {below}, which are not above it"


def test_no_circles():
    graph = {room: set(used_rooms(tree, whole=False)) - {room, ""} for room, tree in TREES.items()}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(TREES)


@pytest.mark.parametrize("room", sorted(TREES))
def test_no_private_parts_of_other_libraries(room):
    assert list(foreign_secrets(TREES[room])) == []


@pytest.mark.parametrize("room", sorted({*PUBLIC, *(room for room in TREES if room.startswith("mechanisms"))}))
def test_no_records_on_the_public_river(room):
    assert list(takes_records(TREES[room], room in PUBLIC)) == []


@pytest.mark.parametrize(
    "room", [room for room in ROOMS if room not in ("sources", "files", "datasets", "report", "cli")]
)
def test_randomness_has_one_door(room):
    assert not {module.split(".")[0] for module, _ in imports(TREES[room])} & {"random", "secrets"}
    made = [
        n.attr for n in ast.walk(TREES[room]) if isinstance(n, ast.Attribute) and n.attr in ("default_rng", "urandom")
    ]
    assert not made, "a source of randomness of its own"


def test_these_checks_can_fail():
    tree = ast.parse("""
from tacit.training import fit
from sklearn._loss import x
from numpy import _core
def calibrate(self, problem: Problem): ...
""")
    assert list(used_rooms(tree)) == ["fit"]
    assert len(list(foreign_secrets(tree))) == 3
    assert list(takes_records(tree, public=False)) == ["calibrate(problem)"]
