"""What a signature declares is checked: a parameter of type ``float | None`` takes numbers and None, and nothing else.

Without it, text in the place of a number travels as far as the first sum, and what fails there is a sentence of NumPy's
that names no parameter; a truth value, or text that reads as a number, would not fail at all. Types are read from
annotations once. What an annotation does not say is left to the function: ``Any``, lists of something, and text that
stands for an object (``Ledger | str``).
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import types
import typing
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple, ParamSpec, TypeVar

import numpy as np

from tacit.checks import check_choice, check_real, either, is_number, shown

Given = ParamSpec("Given")
Result = TypeVar("Result")
_WORDS: dict[Any, tuple[str, ...]] = {
    float: ("a number",), int: ("a whole number (int)",), bool: ("True", "False"), str: ("text",), Path: ("a path",),
    types.NoneType: ("None",),
}  # fmt: skip


class Declared(NamedTuple):
    """The types that a parameter takes, and the words that it takes."""

    kinds: tuple[Any, ...]
    choices: tuple[str, ...]

    def takes(self, value: object) -> bool:
        """Whether the value is one of them."""
        return (isinstance(value, str) and value in self.choices) or any(_is(value, kind) for kind in self.kinds)

    def __str__(self) -> str:
        words = [word for kind in self.kinds for word in _WORDS.get(kind) or (_named(kind),)]
        none = [word for word in words if word == "None"]
        return either([*(word for word in words if word != "None"), *map(repr, self.choices), *none])


def check_fields(settings: object) -> None:
    """Compare every field of a dataclass, or what an estimator's constructor stored, with the type that it declares."""
    kind = type(settings)
    declared = _declared(kind if dataclasses.is_dataclass(kind) else kind.__init__)
    _check(declared, {name: value for name, value in vars(settings).items() if name in declared})


def checked(function: Callable[Given, Result]) -> Callable[Given, Result]:
    """A function whose arguments are compared with the types that it declares, before it runs."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Given.args, **kwargs: Given.kwargs) -> Result:
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError:
            given = {}  # too few or too many: the call itself says which
        _check(_declared(function), given)
        return function(*args, **kwargs)

    return call


def _check(declared: Mapping[str, Declared], values: Mapping[str, object]) -> None:
    for name, value in values.items():
        if name not in declared:
            continue
        takes = declared[name]
        if not takes.kinds:
            check_choice(name, value, takes.choices)
        elif not takes.takes(value):
            raise ValueError(f"Expected {name} to be {takes}, not {shown(value)}.")
        elif is_number(value):
            check_real(name, value)  # within double precision


@functools.cache
def _declared(thing: Any) -> dict[str, Declared]:
    """What the parameters of a function, or the fields of a class, take; without those that do not say enough."""
    hints = {name: _read(hint) for name, hint in typing.get_type_hints(thing).items()}
    return {name: found for name, found in hints.items() if found is not None}


def _read(hint: Any) -> Declared | None:
    parts = typing.get_args(hint) if typing.get_origin(hint) in (typing.Union, types.UnionType) else (hint,)
    kinds: list[Any] = []
    choices: list[str] = []
    for part in parts:
        if typing.get_origin(part) is Literal:
            choices += typing.get_args(part)
        elif isinstance(part, type) and part not in (object, Any) and typing.get_origin(part) is None:
            kinds.append(part)
        else:
            return None
    named = any(kind not in _WORDS for kind in kinds) and str in kinds
    return None if named or any(map(_is_contract, kinds)) else Declared(tuple(kinds), tuple(choices))


def _is_contract(kind: type) -> bool:
    """Whether this is a typing.Protocol, which says what a class does, not what it is."""
    return bool(getattr(kind, "_is_protocol", False))


def _is(value: object, kind: type) -> bool:
    if kind is float:
        return is_number(value) and not bool(value != value)  # noqa: PLR0124 - NaN, also of a type without math.isnan
    if kind is int:
        return isinstance(value, int | np.integer) and not isinstance(value, bool)
    return isinstance(value, bool | np.bool_) if kind is bool else isinstance(value, kind)


def _named(kind: type) -> str:
    return f"{'an' if kind.__name__[0] in 'AEIO' else 'a'} {kind.__name__}"
