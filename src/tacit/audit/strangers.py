"""Estimators and training functions as they come: run them, and compare everything that they give away.

An estimator needs ``fit`` and nothing else. After it, all public attributes are compared (with ``_`` at their end or
not; properties with ``_`` at their end; what ``fit`` returns, where that is another object): whether they are there,
their types, shapes and dtypes, their text, their exact values, and their numbers. Private attributes are not: whoever
pickles a model gives them away too, so audit a function that returns them where that matters.
"""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from tacit.audit.outcomes import Layout, Outcome, Runs, public, read
from tacit.audit.pairs import Data, Pair
from tacit.checks import check
from tacit.types import Array

Train = Callable[[Array, Array, np.random.Generator], Any]
_STATE = "random_state"
_RAISED = "whether training raises"


class Stranger(Protocol):
    """Something that is run once at a time."""

    @property
    def name(self) -> str:
        """What the result calls it."""

    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """One run."""


@dataclass(frozen=True)
class Trained:
    """A function ``train(X, y, rng) -> parameters``, called once a run."""

    train: Train
    name: str

    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """Call it with a fresh generator. Runs may differ in how many numbers they return."""
        numbers = _flat(self.train(data.rows.copy(), data.targets.copy(), np.random.default_rng(state)))
        check(len(numbers) > 0, "Expected the function to return at least one parameter.")
        return {"result": read(numbers)}


@dataclass(frozen=True)
class Estimator:
    """Anything with ``fit``: ours or a stranger's, with or without the rest of scikit-learn's interface.

    A ``random_state`` of None is set to a new seed for each run, a generator is replaced by a new one; a number is kept
    as the user gave it, since that is what would be released. ``ignore`` names attributes that are not compared.
    """

    model: Any
    name: str
    ignore: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", unfitted(self.model))

    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """Copy, fit, and read what is there. An error is an outcome: by it, too, data sets may be told apart."""
        model = fresh(self.model, state)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                fitted = model.fit(data.rows.copy(), data.targets.copy())
                return exposed(model, fitted, ignore=self.ignore if self.fixed else (*self.ignore, _STATE))
            except Exception as error:
                return {_RAISED: read(type(error).__name__)}

    @property
    def fixed(self) -> bool:
        """Whether the user has fixed the random state to a number."""
        return isinstance(getattr(self.model, _STATE, None), int | np.integer)

    def raise_again(self, data: Data, state: np.random.SeedSequence) -> None:
        """Fit once more and let the error through."""
        fresh(self.model, state).fit(data.rows.copy(), data.targets.copy())


def unfitted(model: Any) -> Any:
    """A copy as before ``fit``, by scikit-learn's rules where they apply, and else as it is."""
    from sklearn.base import clone

    try:
        return clone(model)
    except (TypeError, RuntimeError, ValueError):  # none of scikit-learn's
        return copy.deepcopy(model)


def fresh(model: Any, state: np.random.SeedSequence | int) -> Any:
    """A copy with randomness of its own, where its ``random_state`` leaves that open."""
    made = copy.deepcopy(model)
    held = getattr(made, _STATE, 0)
    number = state if isinstance(state, int) else int(state.generate_state(1)[0])
    if held is None:
        setattr(made, _STATE, number)
    elif isinstance(held, np.random.Generator):
        setattr(made, _STATE, np.random.default_rng(state))
    elif isinstance(held, np.random.RandomState):
        setattr(made, _STATE, np.random.RandomState(number))
    return made


def exposed(model: Any, fitted: Any = None, *, ignore: Collection[str] = ()) -> Outcome:
    """Everything public of a fitted model, and of what ``fit`` returned in its place."""
    found = {name: read(value) for name, value in public(model).items() if name not in ignore}
    if fitted is not None and fitted is not model:
        values = public(fitted)
        found.update({f"fit().{name}": read(value) for name, value in values.items() if name not in ignore})
        if not values:
            found["fit()"] = read(fitted)
    return found


@dataclass(frozen=True)
class Watched:
    """A stranger whose outcomes have their places in a row."""

    stranger: Stranger
    layout: Layout

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


def watch(stranger: Stranger, pairs: Iterable[Pair], seed: tuple[int, ...]) -> tuple[Watched, int]:
    """Run once on every data set, to see what there is; with the number of these runs."""
    data = [side for pair in pairs for side in (pair.first, pair.second)]
    states = np.random.SeedSequence(seed).spawn(len(data))
    seen = [stranger.outcome(side, state) for side, state in zip(data, states, strict=True)]
    if isinstance(stranger, Estimator) and all(_RAISED in outcome for outcome in seen):
        stranger.raise_again(data[0], states[0])
    layout = Layout.of(seen)
    check(layout.sizes, "fit left no public attribute. Audit a function that returns what is released.")
    return Watched(stranger, layout), len(data)


def _flat(parameters: Any) -> Array:
    try:
        return np.asarray(parameters, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        kind = type(parameters).__name__
    raise ValueError(f"Expected an array of numbers as the result of training, not {kind}: the parameters that go out.")
