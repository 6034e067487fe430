"""Public data sets with their source, licence, checksum and *published* bounds.

Bounds are constants of the documentation, written down in ``schemas``; none is computed from a file. Files are looked
for in the folder that the environment variable TACIT_DATA names, then in the cache, and are otherwise fetched from
their public address on first use (never with TACIT_OFFLINE=1). ``python -m tacit.datasets`` fetches, or makes from
other public files, what is not here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import checked
from tacit.checks import check, check_count, check_part, shown
from tacit.datasets import cache, readers, stand_ins
from tacit.datasets.cache import cache_folder
from tacit.datasets.readers import Images, Table
from tacit.datasets.recipes import RECIPES, SCHEMAS, Recipe
from tacit.datasets.stand_ins import standing_in
from tacit.schema import Schema
from tacit.types import Array

__all__ = [
    "SCHEMAS", "Dataset", "as_in_papers", "cache_folder", "fetch", "images", "load", "names", "standing_in", "stored",
]  # fmt: skip

Split = Literal["train", "test"]


@dataclass(frozen=True)
class Dataset:
    """A table as published, the schema that bounds it, and where it comes from.

    Numbers are NaN where missing; other cells are text as in the file, without surrounding spaces.
    """

    name: str
    table: Table = field(repr=False)
    schema: Schema
    source: str
    licence: str
    citation: str

    def __len__(self) -> int:
        return len(next(iter(self.table.values())))

    def arrays(self, clip: float = 1.0) -> tuple[Array, NDArray[Any]]:
        """Encoded rows of norm at most ``clip``, and the target: labels, or numbers clipped to their bounds."""
        return self.schema.encode(self.table, clip), self.schema.encode_target(self.table)

    def take(self, rows: NDArray[np.intp]) -> Dataset:
        """The records in these places."""
        return replace(self, table={column: cells[rows] for column, cells in self.table.items()})

    def divide(self, test: float = 0.2, seed: int = 0) -> tuple[Dataset, Dataset]:
        """Training and test records, drawn with the seed; ``test`` is the share of the test records, rounded."""
        check_part("test", test)
        count = round(test * len(self))
        check(0 < count < len(self), f"Expected test={test} to leave records in both parts.")
        order = np.random.default_rng(_seed(seed)).permutation(len(self))
        return self.take(np.sort(order[count:])), self.take(np.sort(order[:count]))


def names() -> tuple[str, ...]:
    """Names that ``load`` knows."""
    return tuple(RECIPES)


@checked
def stored(name: str) -> bool:
    """Whether a data set's files are here, so that ``load`` need not fetch anything; their content is not read."""
    return _recipe(name, None).stored


@checked
def fetch(name: str) -> list[Path]:
    """Have all files of a data set here: found, fetched, or made from other public files; and say where they are.

    Edges: as in :func:`load`, with ``verify``; a set that ships with a package has no file.
    """
    recipe = _recipe(name, None)
    if recipe.shipped is not None:
        return []
    places = dict.fromkeys(cache.obtain(file) for files in recipe.files.values() for file in files)
    for files in recipe.files.values():
        cache.read(files)  # what was found here may be damaged, or another file of that name
    return list(places)


@checked
def load(
    name: str,
    *,
    split: Split | None = None,
    complete: bool = False,
    rows: int | None = None,
    seed: int = 0,
    verify: bool = True,
) -> Dataset:
    """Load a data set from its stored files; those that are not stored are fetched first.

    ``split`` takes one part of a set with an official split (None: both, training first). ``complete`` drops records
    with a missing cell. ``rows`` draws that many records without replacement with the seed, in the file's order.

    Edges: a file that is absent and cannot be fetched, or whose content differs from its checksum (``verify``), raises
    and says which file to put where. Inside :func:`standing_in` the records of the sets it names are made up, and
    ``name`` and ``source`` say so.
    """
    recipe = _recipe(name, split)
    made_up = stand_ins.asked(name)
    if made_up:
        tables = [_made_up(name, part, recipe) for part in recipe.files if split in (None, part)]
    else:
        tables = [recipe.read(contents) for contents in _contents(recipe, split, verify)]
    dataset = Dataset(
        name=f"{name} ({stand_ins.MARK})" if made_up else name,
        table={column: np.concatenate([table[column] for table in tables]) for column in tables[0]},
        schema=recipe.schema(),
        source="Made up with a fixed seed; no record of the set is in it." if made_up else recipe.source,
        licence="That of Tacit." if made_up else recipe.licence,
        citation=f"None: not the records of {recipe.citation}" if made_up else recipe.citation,
    )
    if complete:
        dataset = dataset.take(np.flatnonzero(_complete(dataset)))
    if rows is not None:
        check(check_count("rows", rows) <= len(dataset), f"Expected rows={rows} <= {len(dataset)}, the size of {name}.")
        dataset = dataset.take(np.sort(np.random.default_rng(_seed(seed)).choice(len(dataset), rows, replace=False)))
    return dataset


@checked
def images(name: str, split: Split | None = None, *, verify: bool = True) -> Images:
    """Images as bytes, (n, 28, 28) for 'mnist' and (n, 3, 32, 32) for 'cifar10', and labels 0 to 9 as int64.

    Edges: as in :func:`load`.
    """
    recipe = _recipe(name, split)
    pictured = [known for known, entry in RECIPES.items() if entry.images]
    if recipe.images is None:
        raise ValueError(f"{name} has no images; expected one of {pictured}.")
    if stand_ins.asked(name):
        parts = [stand_ins.images(name, part) for part in recipe.files if split in (None, part)]
    else:
        parts = [recipe.images(contents) for contents in _contents(recipe, split, verify)]
    return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])


@checked
def as_in_papers(name: str, *, test: float = 0.2, seed: int = 0) -> tuple[Dataset, Dataset]:
    """Training and test records of the size that the reproduced papers state.

    Images keep their official split. Of the others the papers count 45,222 records of Adult (the complete ones), 70,000
    of KDD Cup 99 (which ones is not published: drawn with the seed) and all of the rest, and split them "randomly":
    the share is not published, and ``test`` of them is drawn with the seed.
    """
    recipe = _recipe(name, None)
    if recipe.paper is None:
        raise ValueError(f"No reproduced paper uses {name}. Use load({name!r}) and divide().")
    if recipe.images is not None:
        return load(name, split="train"), load(name, split="test")
    return load(name, seed=seed, **recipe.paper).divide(test, seed)


def _seed(seed: int) -> int:
    check(seed >= 0, f"Expected seed={seed} >= 0.")
    return int(seed)


def _recipe(name: str, split: str | None) -> Recipe:
    check(name in RECIPES, f"Unknown data set {shown(name)}; expected one of {list(RECIPES)}.")
    recipe = RECIPES[name]
    check(split in recipe.splits, f"{name} has no official split {split!r}; expected {recipe.splits}.")
    return recipe


def _contents(recipe: Recipe, split: str | None, verify: bool) -> list[list[bytes]]:
    return [recipe.contents(files, verify) for part, files in recipe.files.items() if split in (None, part)]


def _made_up(name: str, part: str, recipe: Recipe) -> Table:
    if recipe.images is not None:
        return readers.flat(lambda contents: stand_ins.images(name, part))([])
    return stand_ins.table(name, part, recipe.schema())


def _complete(dataset: Dataset) -> NDArray[np.bool_]:
    keep = np.ones(len(dataset), dtype=bool)
    markers = ["", *dataset.schema.missing]
    for column in dataset.schema.columns:
        cells = dataset.table[column.name]
        keep &= ~(np.isnan(cells) if column.numeric else np.isin(cells.astype(str), markers))
    return keep
