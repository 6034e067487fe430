"""Estimators and training functions as they come: run them, and compare everything that they give away.

An estimator needs ``fit`` and nothing else. After it, all public attributes are compared (with ``_`` at their end or
not; properties with ``_`` at their end; what ``fit`` returns, where that is another object): whether they are there,
their types, shapes and dtypes, their text, their exact values, and their numbers, those in text included. So are the
error that training raises and the warnings that it gives, with all that they say. Private attributes are not: whoever
pickles a model gives them away too, so audit a function that returns them where that matters. Notes of the category
:class:`tacit.CuratorNote`, and only these, are left out: they are outside every guarantee and say so.
"""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from tacit.audit.outcomes import ERROR, WARNINGS, Outcome
from tacit.audit.pairs import Data
from tacit.audit.values import Reading, public, read
from tacit.checks import check
from tacit.data.curator import CuratorNote
from tacit.types import Array

Train = Callable[[Array, Array, np.random.Generator], Any]
STATE = "random_state"


class BlackBox(ABC):
    """Something that is run once at a time. ``name`` is what the result calls it, ``ignore`` what is not compared."""

    name: str
    ignore: tuple[str, ...] = ()

    @property
    def seedable(self) -> bool:
        """Whether it has a random state."""
        return False

    @property
    def unset(self) -> bool:
        """Whether it has a random state that the user has not set."""
        return False

    def showing_all(self) -> BlackBox:
        """The same, with nothing ignored."""
        return self

    def left_alone(self) -> BlackBox:
        """The same, with no seed set by the audit."""
        return self

    @abstractmethod
    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """One run."""

    @abstractmethod
    def raise_again(self, data: Data, state: np.random.SeedSequence) -> None:
        """One run more, with its error let through."""


@dataclass(frozen=True)
class Trained(BlackBox):
    """A function ``train(X, y, rng) -> parameters``, called once a run."""

    train: Train
    name: str

    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """Call it with a fresh generator. Runs may differ in how many numbers they return."""
        result, heard = _heard(lambda: self._call(data, state))
        if ERROR in heard:
            return heard
        numbers = _flat(result)
        check(len(numbers) > 0, "Expected the function to return at least one parameter.")
        return {"result": read(numbers), **heard}

    def raise_again(self, data: Data, state: np.random.SeedSequence) -> None:
        """Call it once more and let the error through."""
        self._call(data, state)

    def _call(self, data: Data, state: np.random.SeedSequence) -> Any:
        return self.train(data.rows.copy(), data.targets.copy(), np.random.default_rng(state))


@dataclass(frozen=True)
class Estimator(BlackBox):
    """Anything with ``fit``: ours or from elsewhere, with or without the rest of scikit-learn's interface.

    A ``random_state`` of None is set to a new seed for each run, a generator is replaced by a new one; a number is kept
    as the user gave it, since that is what would be released. With ``untouched``, None is kept as well. ``ignore``
    names attributes that are not compared.
    """

    model: Any
    name: str
    ignore: tuple[str, ...] = ()
    untouched: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "model", unfitted(self.model))

    def outcome(self, data: Data, state: np.random.SeedSequence) -> Outcome:
        """Copy, fit, and read what is there. An error is an outcome: by it, too, data sets may be told apart."""
        model = self._copy(state)
        hidden = self.ignore if self.fixed else (*self.ignore, STATE)
        fitted, heard = _heard(lambda: model.fit(data.rows.copy(), data.targets.copy()))
        seen = {} if ERROR in heard else exposed(model, fitted, ignore=hidden)
        return {**seen, **{name: said for name, said in heard.items() if name not in hidden}}

    @property
    def fixed(self) -> bool:
        """Whether the user has fixed the random state to a number."""
        return isinstance(getattr(self.model, STATE, None), int | np.integer)

    @property
    def seedable(self) -> bool:
        """Whether it has a random state."""
        return hasattr(self.model, STATE)

    @property
    def unset(self) -> bool:
        """Whether it has a random state that the user has not set."""
        return getattr(self.model, STATE, 0) is None

    def showing_all(self) -> Estimator:
        """The same, with nothing ignored."""
        return replace(self, ignore=())

    def left_alone(self) -> Estimator:
        """The same, with no seed set by the audit."""
        return replace(self, untouched=True)

    def raise_again(self, data: Data, state: np.random.SeedSequence) -> None:
        """Fit once more and let the error through."""
        self._copy(state).fit(data.rows.copy(), data.targets.copy())

    def _copy(self, state: np.random.SeedSequence) -> Any:
        return copy.deepcopy(self.model) if self.untouched else fresh(self.model, state)


def _heard(train: Callable[[], Any]) -> tuple[Any, dict[str, Reading]]:
    """What training returns; and the warnings that it gives, with the error that it raises, if any."""
    result, heard = None, {}
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = train()
        except Exception as error:
            heard[ERROR] = read(told(error))
    told_others = (entry for entry in given if entry.category is not CuratorNote)  # not released, by what it is
    heard[WARNINGS] = read([[entry.category.__name__, str(entry.message)] for entry in told_others])
    return result, heard


def told(error: BaseException) -> list[object]:
    """All that an error says: type, message, notes and what it holds besides text; then those that led to it."""
    found: list[object] = []
    seen: set[int] = set()
    part: BaseException | None = error
    while part is not None and id(part) not in seen:
        seen.add(id(part))
        try:
            message = str(part)
        except Exception as broken:  # a message that cannot be made is one as well
            message = type(broken).__name__
        held = [entry for entry in part.args if not isinstance(entry, str)]
        found.append([type(part).__name__, message, list(getattr(part, "__notes__", ())), held])
        part = part.__cause__ or part.__context__
    return found


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
    held = getattr(made, STATE, 0)
    number = state if isinstance(state, int) else int(state.generate_state(1)[0])
    if held is None:
        setattr(made, STATE, number)
    elif isinstance(held, np.random.Generator):
        setattr(made, STATE, np.random.default_rng(state))
    elif isinstance(held, np.random.RandomState):
        setattr(made, STATE, np.random.RandomState(number))
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


def _flat(parameters: Any) -> Array:
    try:
        return np.asarray(parameters, dtype=np.float64).ravel()
    except (TypeError, ValueError):
        kind = type(parameters).__name__
    raise ValueError(f"Expected an array of numbers as the result of training, not {kind}: the parameters that go out.")
