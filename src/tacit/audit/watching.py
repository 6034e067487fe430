"""Strangers watched: what they show is seen before runs are compared, and whether they need to be told of a seed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tacit.audit.outcomes import ERROR, WARNINGS, Layout, Outcome, Runs
from tacit.audit.pairs import Data, Pair
from tacit.audit.strangers import STATE, Estimator, Stranger
from tacit.checks import check

_LOOKS = 8
"""Runs before all others: what shows in none of them (an error in one run of a hundred) has no place for its text."""


@dataclass(frozen=True)
class Watched:
    """A stranger whose outcomes have their places in a row.

    ``repeated`` names what showed noise when a seed was set for each run, and none when ``random_state`` was left at
    None; the runs are then made as users make them, with None.
    """

    stranger: Stranger
    layout: Layout
    repeated: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """What the result calls it."""
        return self.stranger.name

    def draw(self, data: Data, trials: int, seed: tuple[int, ...]) -> Runs:
        """Run it so many times."""
        states = np.random.SeedSequence(seed).spawn(trials)
        return self.layout.table([self.stranger.outcome(data, state) for state in states])

    def draw_both(self, pair: Pair, trials: int, seed: tuple[int, ...]) -> tuple[Runs, Runs]:
        """So many runs on each side, one of each in turn and a coin to say which is first.

        What changes with time and not with the data (a clock, a counter, a cache that fills) then falls on both alike.
        """
        *states, coins = np.random.SeedSequence(seed).spawn(2 * trials + 1)
        sides: tuple[list[Outcome], list[Outcome]] = [], []
        for run, second_first in enumerate(np.random.default_rng(coins).random(trials) < 0.5):
            for side in (1, 0) if second_first else (0, 1):
                data = pair.second if side else pair.first
                sides[side].append(self.stranger.outcome(data, states[2 * run + side]))
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


def watch(stranger: Stranger, pairs: Sequence[Pair], seed: tuple[int, ...]) -> tuple[Watched, int]:
    """Run on every data set, eight times in all or more, and where ``random_state`` is None some times more on the
    first two, to see what there is; with the number of these runs.

    None of them is scored: they choose what the others are and how they are read.
    """
    data = [side for pair in pairs for side in (pair.first, pair.second)]
    data *= -(-_LOOKS // len(data))
    *states, again, plain = np.random.SeedSequence(seed).spawn(len(data) + 2)
    whole = replace(stranger, ignore=()) if isinstance(stranger, Estimator) else stranger
    seen = [whole.outcome(side, state) for side, state in zip(data, states, strict=True)]
    if all(ERROR in outcome for outcome in seen):
        stranger.raise_again(data[0], states[0])
    if isinstance(stranger, Estimator):
        _check_ignored(stranger, seen)
        seen = [_without(stranger.ignore, outcome) for outcome in seen]
    nothing = all(set(outcome) <= {WARNINGS} for outcome in seen)
    check(not nothing, "fit left no public attribute. Audit a function that returns what is released.")
    layout = Layout.of(seen)
    if not isinstance(stranger, Estimator) or not stranger.unset:
        return Watched(stranger, layout), len(data)
    untouched = replace(stranger, untouched=True)
    seeded = [
        (outcome, stranger.outcome(side, state))
        for outcome, side, state in zip(seen, data[:2], again.spawn(2), strict=False)
    ]
    unseeded = [tuple(untouched.outcome(side, state) for state in plain.spawn(2)) for side in data[:2]]
    repeated = _same(unseeded) - _same(seeded)
    return Watched(untouched if repeated else stranger, layout, tuple(sorted(repeated))), len(data) + 6


def _same(fits: Sequence[tuple[Outcome, ...]]) -> set[str]:
    """What has the same value in both fits on each data set."""
    names = {name for pair in fits for outcome in pair for name in outcome}
    return {
        name for name in names
        if all(name in one and name in two and one[name].value == two[name].value for one, two in fits)
    }  # fmt: skip


def _without(ignore: tuple[str, ...], outcome: Outcome) -> Outcome:
    return {name: leaf for name, leaf in outcome.items() if _plain(name) not in ignore}


def _plain(name: str) -> str:
    """An attribute's name, also if it is one of what ``fit`` returned."""
    return name.removeprefix("fit().")


def _check_ignored(stranger: Estimator, seen: Sequence[Outcome]) -> None:
    """Every ignored name must occur: a misspelt one would leave in what its user takes for left out."""
    known = {_plain(name) for outcome in seen for name in outcome} - {ERROR}
    known |= {STATE} if hasattr(stranger.model, STATE) else set()
    for name in stranger.ignore:
        check(name in known, f"Expected {name!r} in ignore to be one of what there is: {', '.join(sorted(known))}.")
