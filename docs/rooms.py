"""The order of the package: its rooms from top to bottom, and who imports whom, read from the source.

A module imports only from rooms above its own, or from its own room without going round in circles. This list is the
one place that says so: ``tests/test_architecture.py`` keeps it, ``docs/draw.py`` draws it.
"""

import ast
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

ROOMS = (
    "_version", "settings", "saving", "checks", "arguments", "types", "rounding", "reading", "wrapping",
    "readable", "data", "schema", "streams", "features", "linear", "privacy", "ledger", "influence", "mechanisms",
    "training", "estimators", "statistics", "evaluation", "search", "nn", "files", "published", "protocol", "datasets",
    "report", "audit", "collector", "cli", "tacit",
)  # fmt: skip
"""From top to bottom: a folder of ``src/tacit`` or a module beside them; ``tacit`` is the package's own face, last."""

SOURCE = Path(__file__).parent.parent / "src" / "tacit"
DYNAMIC = ("import_module", "__import__")
Graph = dict[str, set[str]]


def modules(source: Path = SOURCE) -> dict[str, ast.Module]:
    """Every module of the package by its full name, parsed; a package's own module bears the package's name.

    Migrations are scripts that Alembic runs, not modules.
    """
    return {
        ".".join((source.name, *path.relative_to(source).with_suffix("").parts)).removesuffix(".__init__"): ast.parse(
            path.read_text(encoding="utf-8")
        )
        for path in sorted(source.rglob("*.py"))
        if "migrations" not in path.parts
    }


def room(module: str) -> str:
    """The room of a module; ``python -m tacit`` is a command line and stands with the others."""
    name = module.removeprefix("tacit.").split(".")[0]
    return "cli" if name == "__main__" else name


def imported(module: str, tree: ast.Module, package: bool = False) -> Iterator[tuple[str, list[str]]]:
    """(module, names) of every import, wherever it stands: at the top, in a function, for type checkers only."""
    calls = [node.func for node in ast.walk(tree) if isinstance(node, ast.Call)]
    dynamic = any((f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) in DYNAMIC for f in calls)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            parents = module.split(".")[: (-node.level + package) or None] if node.level else []
            yield ".".join([*parents, *([node.module] if node.module else [])]), [alias.name for alias in node.names]
        elif isinstance(node, ast.Import):
            yield from ((alias.name, []) for alias in node.names)
        elif dynamic and isinstance(node, ast.Constant) and "." in str(node.value):
            yield str(node.value), []  # a module that is loaded when asked for; strings that name none are dropped


def graph(trees: dict[str, ast.Module]) -> Graph:
    """For each module, those of the package that it imports; ``f"tacit.nn.{name}"`` may mean all in that folder."""
    folders = {name.rpartition(".")[0] for name in trees}
    found: Graph = {}
    for module, tree in trees.items():
        targets = set()
        for base, names in imported(module, tree, module in folders):
            named = {f"{base}.{name}" for name in names} or {base}
            targets |= {target if target in trees else base for target in named}
            targets |= {name for name in trees if base.endswith(".") and name.startswith(base)}
        found[module] = targets & (trees.keys() - {module})
    return found


def climbs(uses: Graph) -> list[str]:
    """Imports from a room below: what the order forbids."""
    rank = {name: place for place, name in enumerate(ROOMS)}
    return [
        f"{module} imports {target}"
        for module, targets in uses.items()
        for target in sorted(targets)
        if rank[room(target)] > rank[room(module)]
    ]


def floors(uses: Graph, name: str) -> list[list[str]]:
    """The modules of one room in order: each imports, within the room, only from floors before its own.

    Edges: modules that import each other, at whatever time, raise ``graphlib.CycleError``.
    """
    inside = [module for module in uses if room(module) == name]
    order = TopologicalSorter({module: uses[module] & set(inside) for module in inside})
    order.prepare()
    found = []
    while order.is_active():
        found.append(sorted(order.get_ready()))
        order.done(*found[-1])
    return found
