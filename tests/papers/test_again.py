"""Kept rows measured again: what is the same, and what is not, is told apart."""

import math

import pytest

from papers.kang_2020b import walks
from papers.pages import again


@pytest.mark.parametrize(
    ("kept", "now", "equal"),
    [
        (0.5, 0.5, True), (0.5, 0.5 + 1e-12, True), (0.5, 0.5001, False), (1, 1.0, True), (2, 3.0, False),
        (None, "", True), (None, None, True), (None, 0.0, False), ("a", "a", True), ("a", "b", False),
        ([1, 2.0], [1.0, 2], True), ([1.0], [1.0, 2.0], False), (True, True, True), (math.nan, math.nan, True),
    ],
)  # fmt: skip
def test_values_are_the_same_up_to_the_last_digits(kept, now, equal):
    assert again.same(kept, now) is equal


def test_what_differs_is_named():
    assert again.differences([{"a": 1.0, "b": 2}], [{"a": 1.0, "b": 2}]) == []
    assert again.differences([{"a": 1.0, "b": 2}], [{"a": 1.5, "b": 2, "c": 3}]) == ["a", "c"]
    assert again.differences([{"a": 1.0}], []) == ["number of points"]


def test_cells_that_are_timed_or_that_a_gpu_trained_are_not_asked():
    offered = [cell for cell, _ in again.candidates(3.0)]
    assert len(offered) > 50
    assert not any(cell.figure == "costs" for cell in offered)
    assert not any((cell.paper, cell.figure) == ("wang_2020", "figure5") for cell in offered)
    assert not {cell.key for cell in offered} & {cell.key for cell in walks.walk_cells()}


def test_a_kept_cell_is_found_again(monkeypatch, capsys):
    """A bound that is computed; then the same with another number in the rows."""
    found = next((c, p) for c, p in again.candidates(3.0) if (c.paper, c.figure) == ("kang_2023", "table1"))
    monkeypatch.setattr(again, "candidates", lambda most: iter([found]))
    assert again.main(["--workers", "1"]) == 0
    assert "1 of 1 cells are the same" in capsys.readouterr().out
    changed = (found[0], [{**point, "value": 7.25} for point in found[1]])
    monkeypatch.setattr(again, "candidates", lambda most: iter([changed]))
    assert again.main(["--workers", "1"]) == 1
    assert "Different in value" in capsys.readouterr().out
