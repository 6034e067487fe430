"""Pieces that are read by several threads: each once; the first fault, or whoever stops asking, ends the pass."""

from dataclasses import dataclass, field
from threading import Event

import numpy as np
import pytest

from tacit.data.rows import Design
from tacit.linear.streamed import Here

ENDLESS = 10**6


@dataclass(frozen=True)
class Numbered:
    """A piece of batches that count up; it says when its reading began."""

    key: str
    rows: int
    begun: Event = field(default_factory=Event)

    def tables(self, columns=None):
        self.begun.set()
        for number in range(self.rows):
            yield {"number": [number]}


def added(piece, taken):
    """The sum of a piece's numbers, and of those that were asked for."""
    return sum(table["number"][0] for table in piece.tables()) + (0 if taken is None else int(taken.sum()))


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_every_piece_is_given_once_with_its_place(threads):
    pieces = [Numbered(f"piece {rows}", rows) for rows in range(20)]
    taken = [np.array([place]) if place % 2 else None for place in range(20)]
    found = list(Here(threads).run(added, pieces, taken))
    assert sorted(place for place, _ in found) == list(range(20))
    expected = {place: place * (place - 1) // 2 + (place if place % 2 else 0) for place in range(20)}
    assert dict(found) == expected


def test_a_fault_ends_the_pass_and_stops_the_other_pieces():
    stopped, long = Event(), Numbered("long", ENDLESS * 100)

    def task(piece, taken):
        if piece.key == "short":
            assert long.begun.wait(60)
            raise ValueError("short: it is cut off.")
        try:
            return added(piece, taken)
        finally:
            stopped.set()

    with pytest.raises(ValueError, match="cut off"):
        list(Here(2).run(task, [Numbered("short", 1), long], [None, None]))
    assert stopped.is_set(), "the long piece was left before the pass was over"


def test_who_stops_asking_does_not_wait_for_the_end():
    pieces = [Numbered("short", 1), Numbered("long", ENDLESS * 100)]
    run = Here(2).run(added, pieces, [None, None])
    assert next(run) == (0, 0)
    run.close()  # would take minutes if the long piece were read to its end


@pytest.mark.parametrize("constant", [0.0, 0.5])
def test_rows_in_the_order_of_columns_give_the_same_design(constant, rng):
    rows = rng.normal(size=(3000, 5)) * 10.0 ** rng.integers(-3, 3, size=(3000, 1))
    rows[0], rows[1], rows[2, 0] = 0.0, 1e150, -1e120
    across, down = Design(rows, 1.0, constant), Design(np.asfortranarray(rows), 1.0, constant)
    assert down.matrix.flags.f_contiguous
    assert across.matrix.flags.c_contiguous
    np.testing.assert_array_equal(across.matrix, down.matrix)
    np.testing.assert_array_equal(across.norms, down.norms)
    assert (np.linalg.norm(across.matrix.astype(float), axis=1) <= across.norms * (1 + 1e-15)).all()
    assert across.norms.max() <= across.radius
    rows[7, 2] = np.nan
    with pytest.raises(ValueError, match="finite"):
        Design(np.asfortranarray(rows), 1.0, constant)
