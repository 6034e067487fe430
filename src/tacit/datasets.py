"""Public data sets with their source, licence, checksum and *published* bounds.

Bounds are constants of the documentation, written down in ``tacit/schemas``; none is computed from a file. Files are
looked for in the folder that the environment variable TACIT_DATA names, else in ``../shared/data``.
"""

from __future__ import annotations

import csv
import gzip
import hashlib
import importlib.util
import itertools
import os
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tacit.bounds import Number, Schema
from tacit.checks import check, check_count
from tacit.types import Array

Split = Literal["train", "test"]
Table = dict[str, NDArray[Any]]
SCHEMAS = Path(__file__).parent / "schemas"


@dataclass(frozen=True)
class Dataset:
    """A table as published, the schema that bounds it, and where it comes from.

    Numbers are NaN where missing; other cells are text as in the file, without surrounding spaces.
    """

    name: str
    table: Table
    schema: Schema
    source: str
    licence: str
    citation: str

    def __len__(self) -> int:
        return len(next(iter(self.table.values())))

    def arrays(self, clip: float = 1.0) -> tuple[Array, NDArray[Any]]:
        """Encoded rows of norm at most ``clip``, and the target: labels, or numbers clipped to their bounds."""
        return self.schema.encode(self.table, clip), self.schema.encode_target(self.table)


def names() -> tuple[str, ...]:
    """Names that ``load`` knows."""
    return tuple(_RECIPES)


def load(
    name: str,
    *,
    split: Split | None = None,
    complete: bool = False,
    rows: int | None = None,
    seed: int = 0,
    verify: bool = True,
) -> Dataset:
    """Load a data set from its stored files.

    ``split`` takes one part of a set with an official split (None: both, training first). ``complete`` drops records
    with a missing cell. ``rows`` draws that many records without replacement with the seed, in the file's order.

    Edges: a file that is absent, or differs from its checksum (``verify``), raises and says which file to put where.
    """
    check(name in _RECIPES, f"Unknown data set {name!r}; expected one of {list(_RECIPES)}.")
    recipe = _RECIPES[name]
    check(
        split is None or split in recipe.files, f"{name} has no official split {split!r}; expected {_splits(recipe)}."
    )
    parts = [files for part, files in recipe.files.items() if split in (None, part)]
    tables = [recipe.read(recipe, [_stored(file, verify) for file in files]) for files in parts]
    dataset = Dataset(
        name=name,
        table={column: np.concatenate([table[column] for table in tables]) for column in tables[0]},
        schema=recipe.schema(),
        source=recipe.source,
        licence=recipe.licence,
        citation=recipe.citation,
    )
    if complete:
        dataset = _take(dataset, np.flatnonzero(_complete(dataset)))
    if rows is not None:
        check(check_count("rows", rows) <= len(dataset), f"Expected rows={rows} <= {len(dataset)}, the size of {name}.")
        dataset = _take(dataset, np.sort(np.random.default_rng(seed).choice(len(dataset), rows, replace=False)))
    return dataset


@dataclass(frozen=True)
class _Recipe:
    files: Mapping[str, tuple[str, ...]]
    read: Callable[[_Recipe, list[Path]], Table]
    schema: Callable[[], Schema]
    source: str
    licence: str
    citation: str
    columns: Callable[[], tuple[str, ...]] | None = None
    delimiter: str = ","


def _splits(recipe: _Recipe) -> list[str | None]:
    return [None, *(part for part in recipe.files if part != "all")]


def _take(dataset: Dataset, rows: NDArray[np.intp]) -> Dataset:
    return replace(dataset, table={column: cells[rows] for column, cells in dataset.table.items()})


def _complete(dataset: Dataset) -> NDArray[np.bool_]:
    keep = np.ones(len(dataset), dtype=bool)
    markers = ["", *dataset.schema.missing]
    for column in dataset.schema.columns:
        cells = dataset.table[column.name]
        keep &= ~(np.isnan(cells) if isinstance(column, Number) else np.isin(cells.astype(str), markers))
    return keep


def _stored(file: str, verify: bool) -> Path:
    """Path of a stored file, its checksum compared with the constant of this module."""
    folders = [Path.cwd().parent / "shared" / "data", Path(__file__).resolve().parents[3] / "shared" / "data"]
    if os.environ.get("TACIT_DATA"):
        folders = [Path(os.environ["TACIT_DATA"])]
    path = next((folder / file for folder in folders if (folder / file).is_file()), None)
    if path is None:
        raise FileNotFoundError(
            f"Put the file {folders[0] / file} in place, or set TACIT_DATA to the folder that holds {file}."
        )
    if verify:
        with path.open("rb") as stream:
            digest = hashlib.file_digest(stream, "sha256").hexdigest()
        check(
            digest == _SHA256[path.name],
            f"The file {path} differs from the published one; replace it, or pass verify=False.",
        )
    return path


def _read_text(recipe: _Recipe, paths: list[Path]) -> Table:
    schema = recipe.schema()
    return _delimited(recipe, paths[0], {column.name for column in schema.columns if isinstance(column, Number)})


def _delimited(recipe: _Recipe, path: Path, numbers: Collection[str], wanted: Collection[str] = ()) -> Table:
    """Columns of a delimited file: numbers as float64, the others as stripped text; other lines are no records.

    With pyarrow installed (the extra ``parquet``) this is three to ten times faster than with the standard library.
    """
    opened = gzip.open if path.suffix == ".gz" else open
    with opened(path, "rt", encoding="utf-8", newline="") as stream:
        lines = csv.reader(stream, delimiter=recipe.delimiter)
        columns = recipe.columns() if recipe.columns else tuple(next(lines))
        kept = [column for column in columns if not wanted or column in wanted]
        if importlib.util.find_spec("pyarrow"):
            cells = _arrow_cells(recipe, path, columns, {column: column in numbers for column in kept})
        else:
            cells = _plain_cells(lines, columns, kept, numbers)
    return {
        column: cells[column] if column in numbers else np.array([text.strip() for text in cells[column]], dtype=object)
        for column in kept
    }


def _arrow_cells(recipe: _Recipe, path: Path, columns: Sequence[str], kept: Mapping[str, bool]) -> dict[str, Any]:
    from pyarrow import csv as arrow

    table = arrow.read_csv(
        path,
        arrow.ReadOptions(column_names=columns, skip_rows=0 if recipe.columns else 1),
        arrow.ParseOptions(delimiter=recipe.delimiter, invalid_row_handler=lambda row: "skip"),
        arrow.ConvertOptions(
            include_columns=list(kept),
            column_types={column: "float64" if number else "string" for column, number in kept.items()},
            null_values=["", "?"],
        ),
    )
    return {column: table[column].to_numpy() for column in kept}


def _plain_cells(
    lines: Iterable[list[str]], columns: Sequence[str], kept: Collection[str], numbers: Collection[str]
) -> dict[str, Any]:
    records = (line for line in lines if len(line) == len(columns))
    parts: dict[str, list[NDArray[Any]]] = {column: [] for column in kept}
    while chunk := list(itertools.islice(records, 2**16)):
        for column, texts in zip(columns, zip(*chunk, strict=True), strict=True):
            if column in numbers and column in parts:
                parts[column].append(np.array([_float(text) for text in texts]))
            elif column in parts:
                parts[column].append(np.array(texts, dtype=object))
    return {column: np.concatenate(part) for column, part in parts.items()}


def _float(cell: str) -> float:
    return np.nan if cell in ("", "?") else float(cell)


def _read_adult(recipe: _Recipe, paths: list[Path]) -> Table:
    """The labels of the test part end with a full stop."""
    table = _read_text(recipe, paths)
    return table | {"income": np.array([label.rstrip(".") for label in table["income"]], dtype=object)}


def _read_intrusion(recipe: _Recipe, paths: list[Path]) -> Table:
    """Every label but ``normal.`` is an attack."""
    table = _read_text(recipe, paths)
    return table | {"class": np.where(table["label"] == "normal.", "normal", "attack").astype(object)}


def _read_census(recipe: _Recipe, paths: list[Path]) -> Table:
    """Records with a cell in every column of the schema."""
    wanted = ["AGEP", "SEX", "MAR", "SCHL", "DIS", "NATIVITY", "WKHP", "MV", "TEN", "NP", "PINCP"]
    table = _delimited(recipe, paths[0], wanted, wanted)
    keep = ~np.any([np.isnan(cells) for cells in table.values()], axis=0)
    return {column: table[column][keep] for column in wanted}


def _read_images(recipe: _Recipe, paths: list[Path]) -> Table:
    """Images and labels of an idx pair, one column a pixel."""
    images, labels = (gzip.decompress(path.read_bytes()) for path in paths)
    pixels = np.frombuffer(images, dtype=np.uint8, offset=16).reshape(-1, 784)
    table = dict(zip(_PIXELS, np.ascontiguousarray(pixels.T), strict=True))
    return table | {"label": np.frombuffer(labels, dtype=np.uint8, offset=8)}


def _packaged(name: str) -> Callable[[], Schema]:
    return lambda: Schema.load(SCHEMAS / f"{name}.toml")


def _named(name: str) -> tuple[str, ...]:
    return tuple(column.name for column in _packaged(name)().columns)


def _pixel_schema() -> Schema:
    columns = {pixel: {"lower": 0, "upper": 255} for pixel in _PIXELS}
    return Schema.from_dict({"columns": columns, "target": {"name": "label", "classes": list(range(10))}})


_PIXELS = tuple(f"pixel{position}" for position in range(1, 785))
_UCI = "UCI Machine Learning Repository, doi "
_RECIPES = {
    "adult": _Recipe(
        files={"train": ("adult/adult.data.gz",), "test": ("adult/adult.test.gz",)},
        read=_read_adult,
        schema=_packaged("adult"),
        source=_UCI + "10.24432/C5XW20",
        licence="CC BY 4.0",
        citation="B. Becker and R. Kohavi. Adult. UCI Machine Learning Repository, 1996.",
        columns=lambda: (*_named("adult"), "income"),
    ),
    "bank_marketing": _Recipe(
        files={"all": ("bank_marketing/bank-additional-full.csv.gz",)},
        read=_read_text,
        schema=_packaged("bank_marketing"),
        source=_UCI + "10.24432/C5K306",
        licence="CC BY 4.0",
        citation="S. Moro, P. Cortez and P. Rita. A data-driven approach to predict the success of bank telemarketing. "
        "Decision Support Systems 62, 2014.",
        delimiter=";",
    ),
    "kddcup99": _Recipe(
        files={"all": ("kddcup99/kddcup.data_10_percent.gz",)},
        read=_read_intrusion,
        schema=_packaged("kddcup99"),
        source=_UCI + "10.24432/C51C7N",
        licence="CC BY 4.0",
        citation="S. Stolfo, W. Fan, W. Lee, A. Prodromidis and P. Chan. KDD Cup 1999 Data. UCI KDD Archive, 1999.",
        columns=lambda: (*_named("kddcup99"), "label"),
    ),
    "breast_cancer": _Recipe(
        files={"all": ("breast_cancer_wisconsin_original/breast-cancer-wisconsin.data",)},
        read=_read_text,
        schema=_packaged("breast_cancer"),
        source=_UCI + "10.24432/C5HP4Z",
        licence="CC BY 4.0",
        citation="W. Wolberg. Breast Cancer Wisconsin (Original). UCI Machine Learning Repository, 1990.",
        columns=lambda: ("id", *_named("breast_cancer"), "class"),
    ),
    "credit_card_fraud": _Recipe(
        files={"all": ("credit_card_fraud/creditcard_balanced_984.csv.gz",)},
        read=_read_text,
        schema=_packaged("credit_card_fraud"),
        source="Machine Learning Group, Universite Libre de Bruxelles, and Worldline; balanced subset of 984 records",
        licence="Database Contents License 1.0",
        citation="A. Dal Pozzolo, O. Caelen, R. Johnson and G. Bontempi. Calibrating probability with undersampling "
        "for unbalanced classification. IEEE Symposium on Computational Intelligence and Data Mining, 2015.",
    ),
    "acs_pums_2024": _Recipe(
        files={"all": ("acs_pums_2024/acs_pums_2024_person.csv.gz",)},
        read=_read_census,
        schema=_packaged("acs_pums_2024"),
        source="US Census Bureau, ACS 2024 1-year PUMS, persons of 48 states and the District of Columbia",
        licence="Public domain (work of the US government)",
        citation="US Census Bureau. American Community Survey 2024 1-year Public Use Microdata Sample.",
    ),
    "mnist": _Recipe(
        files={
            "train": ("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"),
            "test": ("mnist/t10k-images-idx3-ubyte.gz", "mnist/t10k-labels-idx1-ubyte.gz"),
        },
        read=_read_images,
        schema=_pixel_schema,
        source="The MNIST database of handwritten digits",
        licence="CC BY-SA 3.0 (as usually given)",
        citation="Y. LeCun, L. Bottou, Y. Bengio and P. Haffner. Gradient-based learning applied to document "
        "recognition. Proceedings of the IEEE 86, 1998.",
    ),
}
_SHA256 = {
    "acs_pums_2024_person.csv.gz": "ed2819fc1ea14e89c94179c8c42ed3cf0d943c2e7252936d92df778ef9bd76ec",
    "adult.data.gz": "c7a2b4716a97f930123e0baf879188d701e798172631a654fc703d4b082907f3",
    "adult.test.gz": "8a2c1bffa6e7ce5abfa43881ae5e87c4311ebc2b3cd526c9c40a43f19f06f799",
    "bank-additional-full.csv.gz": "25ef5a7f820659c9010405d079b068761b9e4a75c232a6271ee6a77fc3de52ae",
    "breast-cancer-wisconsin.data": "402c585309c399237740f635ef9919dc512cca12cbeb20de5e563a4593f22b64",
    "creditcard_balanced_984.csv.gz": "02297b39ab3319b9861d257a5a557ada43640be9d77de5c82ab18b245deb01df",
    "kddcup.data_10_percent.gz": "8045aca0d84e70e622d1148d7df782496f6333bf6eb979a1b0837c42a9fd9561",
    "t10k-images-idx3-ubyte.gz": "1a1a05eab793c14bb050b398624a11b0ffd1a2953baed553b1b9bd079e2a20be",
    "t10k-labels-idx1-ubyte.gz": "b91679a0acfe4ba0e50a2437a903084cba1f5f92592b016a25a7dfd00455798b",
    "train-images-idx3-ubyte.gz": "0b367032e93c5d0cea0925647cfdb18614af8ee15f83e6f2fc2ad904a6835971",
    "train-labels-idx1-ubyte.gz": "1787548bbe0bff1ec2ecdc0ef292b02df999e2d1a6002d27500982c652b17203",
}
