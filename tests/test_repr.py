"""Printing an object that holds records prints none of their cells: reprs end up in notebooks, logs and tracebacks."""

from __future__ import annotations

import numpy as np
import pytest

from tacit import Schema, influence
from tacit.audit.canaries import Planted
from tacit.audit.pairs import Data, Pair
from tacit.datasets import Dataset
from tacit.linear.losses import Logistic, Squared
from tacit.linear.problem import Problem, Records
from tacit.mechanisms.moments import Sums
from tacit.mechanisms.sufficient import Moments
from tacit.report.patients import Patients

CELL = 0.12345678
ROWS = np.full((2, 3), CELL)
SCHEMA = Schema.from_dict({"columns": {"age": {"lower": 0, "upper": 1}}})


def records() -> Records:
    return Records.build(ROWS, np.full(2, CELL), 0.01, 0.0)


def holders() -> list[object]:
    data, cell = Data(ROWS, ROWS[:, 0]), np.full(2, CELL)
    problem = Problem(records(), Squared(1.0), strength=1.0, linear=ROWS[:1].T)
    alike = influence.influence_of(ROWS * [[1.0], [-1.0]], ["a", "b"], clip=10.0, loss=Logistic())
    return [
        records(), problem, alike, alike.measure(alike.problem), data, Pair.of((ROWS, cell), (ROWS, cell)),
        Planted(data, data, data), Moments.of(problem), Sums.of(np.full((1, 1), 12345678), np.full((1, 1), 12345678)),
        Dataset("name", {"age": cell}, SCHEMA, "", "", ""),
        Patients({"age": cell}, ROWS),
    ]  # fmt: skip


@pytest.mark.parametrize("position", range(11))
def test_no_repr_quotes_a_cell(position: int) -> None:
    holder = holders()[position]
    for text in (repr(holder), str(holder)):
        assert "1234567" not in text
        assert "array(" not in text
    assert type(holder).__name__ in repr(holder)


def test_a_network_s_influence_quotes_none_either() -> None:
    pytest.importorskip("torch")
    from tacit.influence.network import NetworkInfluence

    text = repr(NetworkInfluence(None, print, ROWS, ROWS))
    assert "1234567" not in text
