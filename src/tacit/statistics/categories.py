"""Categories where nobody knows them: of the values that occur, those that many people have."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from tacit.arguments import checked
from tacit.checks import check
from tacit.data.cells import Cells, exact, key_of, key_within
from tacit.data.texts import Texts
from tacit.ledger import Ledger
from tacit.settings import described
from tacit.statistics.exact_sums import Asked, Occurring, Sums
from tacit.statistics.looked import look
from tacit.statistics.release import Request, answer
from tacit.statistics.statistic import Statistic, between, quantile_of
from tacit.statistics.unit import Unit
from tacit.types import Adjacency


def keys_of(cells: Cells, missing: frozenset[str] = frozenset()) -> list[str]:
    """What each cell says, as schemas compare it; empty where it is missing."""
    known: dict[Any, str] = {}
    keys = []
    key = partial(key_within, cells) if isinstance(cells, Texts) else key_of
    for cell in cells.tolist():
        if isinstance(cell, str):
            if cell not in known:
                known[cell] = key(cell)
            keys.append(known[cell])
        else:
            keys.append(key_of(cell))
    return ["" if key in missing else key for key in keys]


def _column(data: Any) -> Any:
    cells = data if isinstance(data, Texts) else exact(data)
    check(cells.ndim == 1 and cells.dtype.kind in "biufOUST", "Expected data to be one column of text or numbers.")
    return cells


def _occurring(rows: Mapping[str, Any], unit: Unit) -> Sums:
    return Sums((), (), (Occurring.of(keys_of(rows["data"]), unit),))


@described
@checked
def private_categories(
    data: Any,
    *,
    epsilon: float,
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
    level: float = 0.95,
) -> Statistic:
    """The values of a column that many rows have, most frequent first, with how many; ``labels`` lists them.

    A value is shown where its noisy count exceeds a threshold, which one that a single person has passes with
    probability delta/10 at most. So rare values are never shown, and frequent ones surely. With ``groups`` each person
    counts once in all.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    z, rows = quantile_of(level), look({"data": (data, _column)}, groups, rows_per_person)
    found = answer(request, rows.unit, "categories", [(Asked((), (1.0,)), 1.0, lambda _: rows.add_up(_occurring))])
    (shown,) = found.stages[0].shown
    deviation = max((event.scale for event in found.guarantee.events[:1] if hasattr(event, "scale")), default=0.0)
    counts = np.fromiter(shown.values(), np.float64, len(shown))
    interval = between(counts - z * deviation, counts + z * deviation, 0.0)
    return Statistic("count", counts, interval, level, found.guarantee, tuple(shown))
