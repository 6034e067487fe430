"""Black boxes observed: what they show is seen before runs are compared, and whether they need to be told of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tacit.audit.blackbox import STATE, BlackBox
from tacit.audit.outcomes import ERROR, WARNINGS, Layout, Outcome, Runs
from tacit.audit.pairs import Data, Pair
from tacit.audit.subjects import Seed, Subject
from tacit.checks import check

_LOOKS = 8
"""Runs before all others: what shows in none of them (an error in one run of a hundred) has no place for its text."""


@dataclass(frozen=True)
class Observed(Subject):
    """A black box whose outcomes have their places in a row.

    ``repeated`` names what showed noise when a seed was set for each run, and none when ``random_state`` was left at
    None; the runs are then made as users make them, with None.
    """

    box: BlackBox
    layout: Layout
    repeated: tuple[str, ...] = ()

    @property
    def name(self) -> str:  # type: ignore[override]  # a field elsewhere, read-only everywhere
        """That of the black box."""
        return self.box.name

    def draw(self, data: Data, trials: int, seed: Seed) -> Runs:
        """Run it so many times."""
        states = np.random.SeedSequence(seed).spawn(trials)
        return self.layout.table([self.box.outcome(data, state) for state in states])

    def draw_both(self, pair: Pair, trials: int, seeds: tuple[Seed, Seed]) -> tuple[Runs, Runs]:
        """So many runs on each side, one of each in turn and a coin to say which is first; all from the second seed.

        What changes with time and not with the data (a clock, a counter, a cache that fills) then falls on both alike.
        """
        *states, coins = np.random.SeedSequence(seeds[1]).spawn(2 * trials + 1)
        sides: tuple[list[Outcome], list[Outcome]] = [], []
        for run, second_first in enumerate(np.random.default_rng(coins).random(trials) < 0.5):
            for side in (1, 0) if second_first else (0, 1):
                data = pair.second if side else pair.first
                sides[side].append(self.box.outcome(data, states[2 * run + side]))
        return self.layout.table(sides[0]), self.layout.table(sides[1])

    def unchanging(self, first: Runs, second: Runs) -> tuple[str, ...]:
        """Of what is ``repeated``: the names that had one value in all these runs on each side, and not the same."""
        found = []
        for name in {name for name, *_ in self.layout.sizes}.intersection(self.repeated):
            column = first.names.index(f"value of {name}")
            one, two = first.labels[:, column], second.labels[:, column]
            if (one == one[0]).all() and (two == two[0]).all() and one[0] != two[0]:
                found.append(name)
        return tuple(sorted(found))


def observe(box: BlackBox, pairs: Sequence[Pair], seed: Seed) -> tuple[Observed, int]:
    """Run on every data set, eight times in all or more, and where ``random_state`` is None some times more on the
    first two, to see what there is; with the number of these runs.

    None of them is scored: they choose what the others are and how they are read.
    """
    data = [side for pair in pairs for side in (pair.first, pair.second)]
    data *= -(-_LOOKS // len(data))
    *states, again, plain = np.random.SeedSequence(seed).spawn(len(data) + 2)
    whole = box.showing_all()
    seen = [whole.outcome(side, state) for side, state in zip(data, states, strict=True)]
    if all(ERROR in outcome for outcome in seen):
        box.raise_again(data[0], states[0])
    _check_ignored(box, seen)
    seen = [_without(box.ignore, outcome) for outcome in seen]
    nothing = all(set(outcome) <= {WARNINGS} for outcome in seen)
    check(not nothing, "fit left no public attribute. Audit a function that returns what is released.")
    layout = Layout.of(seen)
    if not box.unset:
        return Observed(box, layout), len(data)
    untouched = box.left_alone()
    seeded = [
        (outcome, box.outcome(side, state))
        for outcome, side, state in zip(seen, data[:2], again.spawn(2), strict=False)
    ]
    unseeded = [tuple(untouched.outcome(side, state) for state in plain.spawn(2)) for side in data[:2]]
    repeated = _same(unseeded) - _same(seeded)
    return Observed(untouched if repeated else box, layout, tuple(sorted(repeated))), len(data) + 6


def _same(fits: Sequence[tuple[Outcome, ...]]) -> set[str]:
    """What has the same value in both fits on each data set."""
    names = {name for pair in fits for outcome in pair for name in outcome}
    return {
        name for name in names
        if all(name in one and name in two and one[name].value == two[name].value for one, two in fits)
    }  # fmt: skip


def _without(ignore: tuple[str, ...], outcome: Outcome) -> Outcome:
    return {name: reading for name, reading in outcome.items() if _plain(name) not in ignore}


def _plain(name: str) -> str:
    """An attribute's name, also if it is one of what ``fit`` returned."""
    return name.removeprefix("fit().")


def _check_ignored(box: BlackBox, seen: Sequence[Outcome]) -> None:
    """Every ignored name must occur: a misspelt one would leave in what its user takes for left out."""
    known = {_plain(name) for outcome in seen for name in outcome} - {ERROR}
    known |= {STATE} if box.seedable else set()
    for name in box.ignore:
        check(
            name in known,
            f"Expected {name!r} in ignore to be one of the attributes that there are: {', '.join(sorted(known))}.",
        )
