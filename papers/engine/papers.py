"""Where experiments are found: folders outside the package, each with a ``figures.py`` that is imported by its path.

Two papers may both have a ``data.py``. What a paper imports from its own folder, or from the folder above it, is
visible only while that paper is entered; other papers and the rest of the program never see it.
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any

import tacit
from papers.engine.figure import Figure, Paper
from tacit.checks import check
from tacit.datasets.cache import data_folders
from tacit.datasets.recipes import RECIPES

FILE = "figures.py"


@dataclass(frozen=True, eq=False)
class Source:
    """A paper, the folder that it was read from, and the paper's own numbers (``expected.json``)."""

    folder: Path
    paper: Paper
    expected: Mapping[str, Any]
    siblings: Siblings

    @contextmanager
    def entered(self) -> Iterator[None]:
        """While it is open, imports find what stands beside the figures."""
        with self.siblings.visible():
            yield

    def figure(self, name: str) -> Figure:
        """The figure of that name."""
        known = {figure.name: figure for figure in self.paper.figures}
        check(name in known, f"{self.paper.name} has no figure {name!r}; expected one of {list(known)}.")
        return known[name]


@dataclass(frozen=True, eq=False)
class Siblings:
    """The modules beside a paper's figures and one folder up."""

    folder: Path
    _loaded: dict[str, ModuleType] = field(default_factory=dict)

    @contextmanager
    def visible(self) -> Iterator[None]:
        """Put these modules in place, and take them away again."""
        places = [str(self.folder), str(self.folder.parent)]
        names = _module_names(self.folder) | _module_names(self.folder.parent)
        hidden = _take(names)
        sys.modules.update(self._loaded)
        sys.path[:0] = places
        importlib.invalidate_caches()
        try:
            yield
        finally:
            for place in places:
                sys.path.remove(place)
            self._loaded.update(_take(names))
            sys.modules.update(hidden)


def find_experiments(given: str | None = None) -> Path:
    """The folder of the papers' folders: the one given, ``./experiments``, or that of the checkout in use."""
    if given is not None:
        check(Path(given).is_dir(), f"There is no folder {given}. Name another with --experiments.")
        return Path(given).resolve()
    checkout = Path(tacit.__file__).resolve().parents[2]
    for folder in (Path.cwd() / "experiments", checkout / "experiments"):
        if any(folder.glob(f"*/{FILE}")):
            return folder.resolve()
    raise ValueError(
        "No experiments found: they are not part of the installed package. Run this in a checkout of the source, or "
        "name the folder with --experiments."
    )


def folders(experiments: Path) -> list[Path]:
    """The papers' folders, in order of their names."""
    return sorted(path.parent for path in experiments.glob(f"*/{FILE}"))


def short_name(folder: Path) -> str:
    """What the command line calls a paper: the folder's name up to the first underscore."""
    return folder.name.partition("_")[0]


def select(experiments: Path, name: str) -> Path:
    """The folder of a paper, by its short name or its whole name."""
    known = folders(experiments)
    found = [folder for folder in known if name in (short_name(folder), folder.name)]
    check(len(found) < 2, f"Several papers are called {name}: {[folder.name for folder in found]}.")
    check(found, f"There is no paper {name!r}; expected one of {[short_name(folder) for folder in known]}.")
    return found[0]


@cache
def load(folder: Path) -> Source:
    """Read a paper's folder. A module that is not installed raises ModuleNotFoundError, another mistake ValueError."""
    siblings = Siblings(folder)
    name = f"tacit_experiment_{folder.name}"
    described = importlib.util.spec_from_file_location(name, folder / FILE)
    if described is None or described.loader is None:
        raise ValueError(f"Cannot read {folder / FILE}.")
    module = importlib.util.module_from_spec(described)
    sys.modules[name] = module  # dataclasses look their module up here
    with siblings.visible():
        described.loader.exec_module(module)
    paper = getattr(module, "PAPER", None)
    if not isinstance(paper, Paper):
        raise ValueError(f"{folder / FILE} has no value PAPER of type Paper.")
    check(
        paper.name == short_name(folder),
        f"The paper in {folder} calls itself {paper.name!r}; expected {short_name(folder)!r}, as its folder.",
    )
    names = [figure.name for figure in paper.figures]
    check(len(set(names)) == len(names), f"Two figures of {paper.name} have the same name.")
    numbers = folder / "expected.json"
    expected = json.loads(numbers.read_text(encoding="utf-8")) if numbers.exists() else {}
    return Source(folder, paper, expected, siblings)


def why_left_out(source: Source, figure: Figure, absence: Callable[[str], str] | None = None) -> str:
    """A sentence when data or a module that the figure needs is not here; else nothing."""
    reasons = [why for name in figure.needs if (why := (absence or why_absent)(name))]
    with source.entered():
        modules = [name for name in figure.extras if importlib.util.find_spec(name) is None]
    reasons += [f"the module {name!r} is not installed" for name in modules]
    return f"Left out: {'; '.join(reason.removesuffix('.') for reason in reasons)}." if reasons else ""


def why_absent(name: str) -> str:
    """Why a data set cannot be had; nothing when it is here, or could be fetched: then it is here now."""
    if name not in RECIPES:
        here = any((folder / name).exists() for folder in data_folders())
        return "" if here else f"there is no {name!r} in {data_folders()[0]}, nor where TACIT_DATA says"
    recipe = RECIPES[name]
    try:
        for files in recipe.files.values():
            recipe.contents(files, True)
    except (OSError, ValueError) as error:
        return f"the data set {name!r} is not here. {error}"
    return ""


def _module_names(folder: Path) -> set[str]:
    names = {path.stem for path in folder.glob("*.py")} | {path.parent.name for path in folder.glob("*/__init__.py")}
    return names - sys.stdlib_module_names


def _take(names: set[str]) -> dict[str, ModuleType]:
    """Remove modules of these names, with what is inside them, from those that are loaded."""
    mine = [name for name in sys.modules if name.partition(".")[0] in names]
    return {name: sys.modules.pop(name) for name in mine}
