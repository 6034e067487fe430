r"""A made-up hospital: who comes back within a year? A table of realistic size and shape, about nobody.

The recipe is public. A patient's columns are drawn independently of each other (:func:`patients`), and the log odds of
coming back are a sum of one shape for each column (:data:`SHAPES`)::

    log odds = -5.4 + sum over columns c of shape_c(x_c)

Most shapes are not straight, so that a model with one weight for each column cannot follow them and an additive one
can. The distance to the hospital has no effect. Because the recipe is known, a learned curve can be compared with the
true one; because nobody is in the table, scores and pictures of it need no privacy.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from tacit.datasets.readers import Table
from tacit.schema import Schema
from tacit.types import Array

SCHEMA_FILE = Path(__file__).with_name("hospital.toml")
START = -5.4
"""The log odds where all shapes are 0."""
SEED = 2026
WARDS = {"surgery": 0.0, "internal": 0.4, "cardiology": 1.2, "oncology": 0.8, "maternity": -1.4}
"""What each ward adds to the log odds."""
INSURANCE = {"public": 0.0, "private": -0.5, "none": 0.9}
_WARD_SHARES = (0.30, 0.28, 0.18, 0.12, 0.12)
_INSURANCE_SHARES = (0.70, 0.22, 0.08)


def _looked_up(effects: Mapping[str, float]) -> Callable[[Any], Array]:
    return lambda values: np.array([effects[value] for value in values], dtype=np.float64)


SHAPES: dict[str, Callable[[Any], Array]] = {
    "age": lambda v: 3.0 * ((v - 46) / 40) ** 2,
    "nights": lambda v: 2.2 * np.exp((1 - v) / 1.5) + 0.25 * np.maximum(v - 6, 0),
    "emergencies": lambda v: 3.2 * (1 - np.exp(-v / 1.6)),
    "pressure": lambda v: 3.5 * np.minimum(((v - 125) / 45) ** 2, 1),
    "medicines": lambda v: 2.4 / (1 + np.exp(9 - v)),
    "distance": lambda v: 0.0 * v,
    "ward": _looked_up(WARDS),
    "insurance": _looked_up(INSURANCE),
}
"""What each column adds to the log odds of coming back, as a function of its cells."""


def patients(count: int, seed: int = SEED) -> Table:
    """A table of so many patients; its last column says who came back: 'yes' or 'no'. The same seed, the same table."""
    rng = np.random.default_rng(seed)
    table: Table = {
        "age": rng.triangular(18, 64, 95, count).round(),
        "nights": np.clip(rng.gamma(1.8, 3.2, count), 1, 14).round(),
        "emergencies": np.minimum(rng.negative_binomial(1.2, 0.35, count), 8).astype(np.float64),
        "pressure": np.clip(rng.normal(128, 24, count), 85, 180).round(),
        "medicines": np.minimum(rng.poisson(rng.gamma(3, 2.2, count)), 16).astype(np.float64),
        "distance": np.clip(rng.exponential(15, count), 0, 40).round(1),
        "ward": rng.choice(np.array([*WARDS], dtype=object), count, p=_WARD_SHARES),
        "insurance": rng.choice(np.array([*INSURANCE], dtype=object), count, p=_INSURANCE_SHARES),
    }
    odds = START + sum(shape(table[name]) for name, shape in SHAPES.items())
    return {**table, "returned": np.where(odds + rng.logistic(size=count) > 0, "yes", "no").astype(object)}


def schema() -> Schema:
    """Its public bounds and values, and the target."""
    return Schema.load(SCHEMA_FILE)


def csv_text(table: Table) -> str:
    """The patients as the text of a CSV file."""
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(table)
    lines.writerows(zip(*(map(_cell, cells) for cells in table.values()), strict=True))
    return text.getvalue()


def _cell(value: Any) -> str:
    return value if isinstance(value, str) else f"{value:g}"
