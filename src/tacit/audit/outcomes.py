"""What one run gives away, as numbers and labels that runs can be compared by.

A value of any kind (arrays, nested lists and dictionaries, text, objects) is read into three things: its *form*
(types, shapes, dtypes, keys, text), its exact *value*, and the *numbers* in it, in the order of reading. Form and
value become labels, 63-bit digests that are the same in every process; numbers stay numbers.
"""

from __future__ import annotations

import hashlib
import numbers as kinds
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.types import Array

Labels = NDArray[np.int64]
NO_NUMBER = 1e30
"""What stands for NaN, for infinity, and for a number that is missing in a run."""
_DEPTH = 12
_PRESENT = "which attributes there are"


@dataclass(frozen=True)
class Runs:
    """Runs as rows: the numbers of each, and its labels, one column for every name."""

    numbers: Array
    labels: Labels
    names: tuple[str, ...] = ()

    @classmethod
    def of(cls, numbers: Array) -> Runs:
        """Runs that are numbers alone."""
        return cls(finite(numbers), np.zeros((len(numbers), 0), dtype=np.int64))

    def __len__(self) -> int:
        return len(self.numbers)

    def part(self, start: int | None, stop: int | None) -> Runs:
        """Some of the runs."""
        return Runs(self.numbers[start:stop], self.labels[start:stop], self.names)

    def and_also(self, others: Runs) -> Runs:
        """These runs and those."""
        return Runs(np.vstack([self.numbers, others.numbers]), np.vstack([self.labels, others.labels]), self.names)

    @property
    def constant(self) -> bool:
        """Whether all runs are the same."""
        return bool((self.numbers == self.numbers[0]).all() and (self.labels == self.labels[0]).all())

    @property
    def empty(self) -> bool:
        """Whether there is nothing to compare: numbers, all of them NaN, and no label that changes."""
        numbers = self.numbers
        return numbers.shape[1] > 0 and bool((numbers == NO_NUMBER).all() and (self.labels == self.labels[0]).all())


def finite(numbers: Array) -> Array:
    """NaN and infinity as far-away numbers: that a run gives them is an outcome like others, and may tell."""
    return np.nan_to_num(numbers, nan=NO_NUMBER, posinf=NO_NUMBER, neginf=-NO_NUMBER)


@dataclass(frozen=True)
class Leaf:
    """One value: digests of its form and of all of it, and its numbers."""

    form: int
    value: int
    numbers: Array


Outcome = Mapping[str, Leaf]
"""Everything that one run gives away, by name."""


@dataclass(frozen=True)
class Layout:
    """Which names and how many numbers of each make a row; fixed before runs are compared."""

    sizes: tuple[tuple[str, int], ...]

    @classmethod
    def of(cls, outcomes: Iterable[Outcome]) -> Layout:
        """A place for all that these outcomes have; coefficients come first, where a direction is known for them."""
        sizes: dict[str, int] = {}
        for outcome in outcomes:
            for name, leaf in outcome.items():
                sizes[name] = max(sizes.get(name, 0), len(leaf.numbers))
        ordered = sorted(sizes, key=lambda name: (name != "coef_", name != "intercept_", name))
        return cls(tuple((name, sizes[name]) for name in ordered))

    def table(self, outcomes: Sequence[Outcome]) -> Runs:
        """The outcomes as rows. What is missing, or has another size, leaves its mark in the labels."""
        names = [name for name, _ in self.sizes]
        columns = sum(size for _, size in self.sizes)
        numbers = np.full((len(outcomes), columns), NO_NUMBER)
        labels = np.zeros((len(outcomes), 1 + 2 * len(names)), dtype=np.int64)
        for row, outcome in enumerate(outcomes):
            labels[row, 0] = _digest(*sorted(name.encode() for name in outcome))
            start = 0
            for column, (name, size) in enumerate(self.sizes):
                leaf = outcome.get(name)
                if leaf is not None:
                    labels[row, 1 + 2 * column : 3 + 2 * column] = leaf.form, leaf.value
                    taken = leaf.numbers[:size]
                    numbers[row, start : start + len(taken)] = taken
                start += size
        titles = [title for name in names for title in (f"form of {name}", f"value of {name}")]
        return Runs(finite(numbers), labels, (_PRESENT, *titles))


def read(value: Any) -> Leaf:
    """Read one value."""
    reader = _Reader()
    reader.walk(value, 0)
    form = _digest(*reader.form)
    numbers = np.concatenate(reader.numbers) if reader.numbers else np.zeros(0)
    return Leaf(form, _digest(form.to_bytes(8, "big"), *reader.exact), numbers)


def public(thing: Any) -> dict[str, Any]:
    """The public attributes of an object: those of its own, and properties whose names end in ``_``."""
    own = dict(getattr(thing, "__dict__", {}))
    slots, properties = _declared(type(thing))
    own.update({name: getattr(thing, name) for name in slots if name not in own and hasattr(thing, name)})
    for name in properties:
        try:
            own.setdefault(name, getattr(thing, name))
        except Exception as error:  # that it cannot be read is an outcome as well
            own.setdefault(name, type(error).__name__)
    return {name: value for name, value in own.items() if not str(name).startswith("_")}


_DECLARED: dict[type, tuple[tuple[str, ...], tuple[str, ...]]] = {}


def _declared(kind: type) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The slots of a class, and its properties whose names end in ``_``."""
    if kind in _DECLARED:
        return _DECLARED[kind]
    slots: list[str] = []
    properties: list[str] = []
    for part in kind.__mro__:
        held = part.__dict__.get("__slots__", ())
        slots.extend((held,) if isinstance(held, str) else held)
        properties.extend(
            name for name, found in part.__dict__.items() if name.endswith("_") and isinstance(found, property)
        )
    _DECLARED[kind] = tuple(slots), tuple(name for name in properties if not name.startswith("_"))
    return _DECLARED[kind]


def _digest(*parts: bytes) -> int:
    whole = hashlib.blake2b(digest_size=8)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return int.from_bytes(whole.digest(), "big") >> 1


class _Reader:
    """Reads a value into its form, the exact bytes of its numbers, and its numbers."""

    def __init__(self) -> None:
        self.form: list[bytes] = []
        self.exact: list[bytes] = []
        self.numbers: list[Array] = []
        self.open: set[int] = set()

    def walk(self, value: Any, depth: int) -> None:
        """Read a value of any kind."""
        kind = type(value)
        self.form.append(f"{kind.__module__}.{kind.__qualname__}".encode())
        if value is None or isinstance(value, type):
            self.form.append(b"" if value is None else value.__qualname__.encode())
        elif isinstance(value, str):
            self.form.append(value.encode("utf-8", "surrogatepass"))
        elif isinstance(value, bytes | bytearray):
            self.form.append(bytes(value))
        elif isinstance(value, np.ndarray | np.generic):
            self._array(np.asarray(value), depth)
        elif isinstance(value, kinds.Number):
            self._number(value)
        elif depth >= _DEPTH or id(value) in self.open:
            self.form.append(b"...")
        else:
            self.open.add(id(value))
            self._compound(value, depth + 1)
            self.open.discard(id(value))

    def _number(self, value: Any) -> None:
        self.exact.append(repr(value).encode())
        try:
            parts = [value.real, value.imag] if isinstance(value, complex) else [float(value)]
        except (OverflowError, TypeError, ValueError):
            parts = [NO_NUMBER]
        self.numbers.append(np.asarray(parts, dtype=np.float64))

    def _array(self, array: NDArray[Any], depth: int) -> None:
        self.form.append(f"{array.dtype.str}{array.shape}".encode())
        if array.dtype.kind == "O":
            for entry in array.ravel():
                self.walk(entry, depth + 1)
        elif array.dtype.kind in "biufc":
            self.exact.append(array.tobytes())
            flat = array.ravel()
            parts = [flat.real, flat.imag] if array.dtype.kind == "c" else [flat]
            self.numbers.extend(np.asarray(part, dtype=np.float64) for part in parts)
        else:  # text, times, records: their bytes, none of which is an address
            self.form.append(array.tobytes())

    def _compound(self, value: Any, depth: int) -> None:
        if isinstance(value, Mapping):
            for key, entry in value.items():
                self.walk(key, depth)
                self.walk(entry, depth)
        elif isinstance(value, set | frozenset):
            self.form.append(str(len(value)).encode())  # no order: a set's own changes from process to process
            self.exact.extend(sorted(read(entry).value.to_bytes(8, "big") for entry in value))
        elif isinstance(value, Sequence):
            self.form.append(str(len(value)).encode())
            for entry in value:
                self.walk(entry, depth)
        elif isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
            pass  # the state of a generator changes with every draw, and says nothing of the data
        elif hasattr(value, "toarray"):
            self.walk(value.toarray(), depth)
        elif hasattr(value, "__array__"):
            self.walk(np.asarray(value.detach().cpu() if hasattr(value, "detach") else value), depth)
            for name in ("columns", "index", "name"):
                if hasattr(value, name) and not callable(getattr(value, name)):
                    self.walk(np.asarray(getattr(value, name)), depth)
        elif callable(value) and hasattr(value, "__qualname__"):
            self.form.append(str(value.__qualname__).encode())
        else:
            self._object(value, depth)

    def _object(self, value: Any, depth: int) -> None:
        found: Any = public(value)
        if not found and not hasattr(value, "__dict__"):
            try:  # compiled classes: what they would be saved with
                found = value.__reduce_ex__(2)[2]
            except Exception:
                found = None
        self.walk(found, depth)
