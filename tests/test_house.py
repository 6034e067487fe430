"""The plan of the house: a room imports only from rooms above it, and the public river never carries records."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "tacit"
ROOMS = (
    "_version checks types noise losses rows bounds problem smoothing shuffle events accounting calibrate theorems "
    "guarantee solvers mechanisms.base mechanisms.samplers mechanisms.rules mechanisms.output mechanisms.objective "
    "mechanisms.moments mechanisms.surrogates mechanisms.statistics mechanisms.gradient mechanisms.svrg "
    "mechanisms.spending mechanisms.individual influence mechanisms.heterogeneous mechanisms.input "
    "mechanisms.input_plan mechanisms fit estimators pictures survey nn tables files datasets protocol audit report demo "
    "cli __main__"
).split()
PUBLIC = ("events", "accounting", "calibrate", "theorems", "guarantee", "shuffle", "mechanisms.rules")
PRIVATE = {"Problem", "Records"}


def modules() -> list[tuple[str, ast.Module]]:
    found = []
    for path in sorted(SOURCE.rglob("*.py")):
        parts = list(path.relative_to(SOURCE).with_suffix("").parts)
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found.append((name, ast.parse(path.read_text(encoding="utf-8"))))
    return found


MODULES = modules()


def room(name: str) -> int:
    """The line of the plan that a module stands on: its own, or its package's."""
    while name:
        if name in ROOMS:
            return ROOMS.index(name)
        name = name.rpartition(".")[0]
    return len(ROOMS)  # the front door, __init__, sees everything


def imported(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return names


@pytest.mark.parametrize(("name", "tree"), MODULES, ids=[name or "tacit" for name, _ in MODULES])
def test_a_room_imports_only_from_rooms_above(name, tree):
    for target in imported(tree):
        if not target.startswith("tacit.") or not name:
            continue
        inside = target.removeprefix("tacit.")
        package = name.partition(".")[0]
        if inside.partition(".")[0] == package and package not in ("mechanisms",):
            continue  # a package orders its own rooms
        assert room(inside) <= room(name), f"{name} imports {inside}, which stands below it"


@pytest.mark.parametrize(("name", "tree"), MODULES, ids=[name or "tacit" for name, _ in MODULES])
def test_no_private_names_of_other_libraries(name, tree):
    for target in imported(tree):
        if not target.startswith(("tacit", "__future__")):
            assert not any(part.startswith("_") for part in target.split(".")), f"{name} imports {target}"


def annotated(function: ast.FunctionDef | ast.AsyncFunctionDef) -> set[str]:
    arguments = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
    return {n.id for a in arguments if a.annotation for n in ast.walk(a.annotation) if isinstance(n, ast.Name)}


def test_nothing_on_the_public_river_takes_records():
    for name, tree in MODULES:
        for node in ast.walk(tree):
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                continue
            if name in PUBLIC or (name.startswith("mechanisms") and node.name in ("calibrate", "needs")):
                assert not annotated(node) & PRIVATE, f"{name}.{node.name} takes records"


def test_the_plan_would_see_a_wrong_import():
    assert room("fit") > room("accounting") > room("noise")
    assert "tacit.fit.fit" in imported(ast.parse("from tacit.fit import fit"))
    assert annotated(ast.parse("def price(x: Problem): ...").body[0]) & PRIVATE
