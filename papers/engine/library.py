"""The papers of a package: every folder with a ``figures.py`` is one, and its name is the folder's."""

from __future__ import annotations

import importlib
import importlib.util
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from papers.engine.figure import Figure
from tacit import datasets
from tacit.checks import check
from tacit.datasets import stand_ins


@dataclass(frozen=True, eq=False)
class Paper:
    """One paper: where its code is, its citation and figures, and its own numbers (``expected.json``), for checks."""

    package: str
    name: str
    citation: str
    figures: tuple[Figure, ...]
    expected: Mapping[str, Any]

    def figure(self, name: str) -> Figure:
        """The figure of that name."""
        known = {figure.name: figure for figure in self.figures}
        check(name in known, f"{self.name} has no figure {name!r}; expected one of {list(known)}.")
        return known[name]


def folder_of(package: str) -> Path:
    """Where the papers' folders are."""
    try:
        return Path(str(resources.files(package)))
    except ModuleNotFoundError:
        raise ValueError(f"There is no package {package!r} here. Run this from the folder that holds it.") from None


def names(package: str) -> list[str]:
    """The papers of a package, in order."""
    return sorted(path.parent.name for path in folder_of(package).glob("*/figures.py"))


@cache
def load(package: str, name: str) -> Paper:
    """Import a paper. A module that is not installed raises ModuleNotFoundError, another mistake ValueError."""
    known = names(package)
    check(name in known, f"There is no paper {name!r}; expected one of {known}.")
    module = importlib.import_module(f"{package}.{name}.figures")
    figures = getattr(module, "FIGURES", ())
    whole = figures and all(isinstance(figure, Figure) for figure in figures) and hasattr(module, "CITATION")
    check(whole, f"{module.__file__} needs CITATION, a text, and FIGURES, a tuple of Figure.")
    check(len({figure.name for figure in figures}) == len(figures), f"Two figures of {name} have the same name.")
    numbers = folder_of(package) / name / "expected.json"
    expected = json.loads(numbers.read_text(encoding="utf-8")) if numbers.exists() else {}
    return Paper(package, name, module.CITATION, tuple(figures), expected)


def absent_sets(figure: Figure, absence: Callable[[str], str]) -> list[str]:
    """The data sets that the figure needs and that cannot be had, of those that can be made up."""
    return [name for name in figure.needs if name in stand_ins.NAMES and absence(name)]


def why_left_out(figure: Figure, absence: Callable[[str], str] | None = None) -> str:
    """A sentence when data or a module that the figure needs is not here; else nothing."""
    reasons = [why for name in figure.needs if (why := (absence or why_absent)(name))]
    modules = [name for name in figure.extras if importlib.util.find_spec(name) is None]
    reasons += [f"the module {name!r} is not installed" for name in modules]
    return f"Left out: {'; '.join(reason.removesuffix('.') for reason in reasons)}." if reasons else ""


def not_stored(name: str) -> str:
    """A word when a data set is not here; nothing is fetched."""
    return "" if name not in datasets.names() or datasets.stored(name) else "not here"


def why_absent(name: str) -> str:
    """Why a data set cannot be had; nothing when it is here, or could be fetched: then it is here now.

    A name that :mod:`tacit.datasets` does not know is that of a file or folder in the folder that TACIT_DATA names.
    """
    if name not in datasets.names():
        here = os.environ.get("TACIT_DATA") and Path(os.environ["TACIT_DATA"], name).exists()
        return "" if here else f"there is no {name!r} in the folder that TACIT_DATA names"
    if not datasets.stored(name):
        try:
            datasets.load(name)
        except (OSError, ValueError) as error:
            return f"the data set {name!r} is not here. {error}"
    return ""
