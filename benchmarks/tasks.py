"""Two classes from a table: which records train, and the forms in which models take them. Bounds are the schemas'.

Nothing is learned from the records but by the models themselves: categories, bounds and classes are public facts.
"""

import functools
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from sklearn.model_selection import train_test_split

from tacit import datasets
from tacit.schema import Schema, Target

BINS = 16
"""Slots of a number in the peers' binned rows; the additive model's own are its default."""
RANDOM = "random 80/20 split for each seed"


@dataclass(frozen=True)
class Task:
    """What is sought: the records with ``positive`` in the target's column, the rarer class by the documentation."""

    title: str
    positive: Callable[[np.ndarray], np.ndarray]
    load: dict
    training: int | None = None
    """The first records train where the split is official."""


TASKS = {
    "adult": Task("Adult, official split, income above $50,000", lambda cells: cells == ">50K", {}, 32_561),
    "bank_marketing": Task(f"Bank marketing, {RANDOM}, subscribed", lambda cells: cells == "yes", {}),
    "kddcup99": Task(
        f"KDD Cup 99, 70,000 records drawn with seed 0, {RANDOM}, normal traffic",
        lambda cells: cells == "normal",
        {"rows": 70_000},
    ),
    "credit_card_fraud": Task(
        f"Credit card fraud, balanced subset of 984, {RANDOM}, fraud", lambda cells: cells == 1, {}
    ),
    "breast_cancer": Task(
        f"Breast cancer (original), the 683 complete records, {RANDOM}, malignant",
        lambda cells: cells == 4,
        {"complete": True},
    ),
    "acs_income": Task(
        f"ACS 2024, 100,000 complete records drawn with seed 0, {RANDOM}, income above $50,000",
        lambda cells: cells > 50_000,
        {"rows": 100_000},
    ),
}
_FILES = {"acs_income": "acs_pums_2024"}


@dataclass(frozen=True)
class Records:
    """Some records of a task: table and schema, labels 0 and 1, and the rows that linear models take."""

    name: str
    places: np.ndarray

    @property
    def schema(self) -> Schema:
        """Bounds and categories; the target has the classes 0 and 1."""
        return _whole(self.name)[1]

    @property
    def table(self) -> dict[str, np.ndarray]:
        """The columns that the schema names."""
        return {name: cells[self.places] for name, cells in _whole(self.name)[0].items()}

    @property
    def labels(self) -> np.ndarray:
        """1 for what is sought, else 0."""
        return _whole(self.name)[2][self.places]

    def form(self, kind: str) -> np.ndarray:
        """One of FORMS."""
        return _formed(self.name, kind)[self.places]

    def __len__(self) -> int:
        return len(self.places)


def split(name: str, seed: int) -> tuple[Records, Records]:
    """Training and test records: the official ones, or 80/20 drawn with the seed."""
    places = np.arange(len(_whole(name)[2]))
    first = TASKS[name].training
    parts = train_test_split(places, test_size=0.2, random_state=seed) if first is None else np.split(places, [first])
    return Records(name, parts[0]), Records(name, parts[1])


@functools.lru_cache(maxsize=1)
def _whole(name: str) -> tuple[dict[str, np.ndarray], Schema, np.ndarray]:
    task, found = TASKS[name], datasets.load(_FILES.get(name, name), **TASKS[name].load)
    labels = task.positive(np.asarray(found.schema.encode_target(found.table))).astype(np.int64)
    schema = replace(found.schema, target=Target("sought", classes=(0, 1)))
    return {column.name: found.table[column.name] for column in schema.columns}, schema, labels


@functools.lru_cache(maxsize=2)
def _formed(name: str, kind: str) -> np.ndarray:
    table, schema, _ = _whole(name)
    return FORMS[kind](schema, table)


def _unit(schema: Schema, table: dict) -> np.ndarray:
    """Every encoded column in [0, 1], rows not shrunk."""
    return schema.encode(table, schema.radius)


def _columns(schema: Schema, table: dict) -> np.ndarray:
    """One number a column: numbers inside their bounds (a missing one in the middle), categories by their place."""
    encoded, columns, first = _unit(schema, table), [], 0
    for column in schema.columns:
        part = encoded[:, first : first + len(column.features)]
        columns.append(column.lower + part[:, 0] * (column.upper - column.lower) if column.numeric else part.argmax(1))
        first += part.shape[1]
    return np.column_stack(columns).astype(np.float64)


FORMS: dict[str, Callable[[Schema, dict], np.ndarray]] = {
    "rows": lambda schema, table: schema.encode(table),
    "unit": _unit,
    "binned": lambda schema, table: schema.additive(BINS).encode(table),
    "columns": _columns,
}
"""rows: norm at most 1, for linear models; unit: entries in [0, 1], for networks; binned: norm at most 1, every number
in bins; columns: one number a column, for trees."""
