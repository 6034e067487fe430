"""Values of any kind, read so that runs can be compared by them.

A value (arrays, nested lists and dictionaries, text, objects) is read into three things: its *form* (types, shapes,
dtypes, keys, text without its numbers), its exact *value*, and the *numbers* in it, those in text included, in the
order of reading. Form and value become labels, 63-bit digests that are the same in every process; numbers stay numbers.

A text with something new in every run (a time, a number of the run, a name drawn at random) never repeats, so as a
whole it tells nothing about the data; its parts may. Numbers are read in their order. Where texts differ from
run to run, every word is compared at its place.
"""

from __future__ import annotations

import hashlib
import numbers as kinds
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.types import Array

NO_NUMBER = 1e30
"""What stands for NaN, for infinity, and for a number that is missing in a run."""
_DEPTH = 12
_NUMBER = re.compile(
    r"(?<![\w.])[-+]?(?:(?:\d+(?:\.\d*)?|\.\d+)(?:e[-+]?\d+)?(?=[a-z%]{0,2}(?![\w.]))|(?:nan|inf|infinity)\b)",
    re.IGNORECASE,
)
"""A number that stands by itself or with a short unit (``0.2s``). Digits inside of words are none: ``a3f9``, ``x1``."""
_BETWEEN = re.compile(r"[\s,;:=()\[\]{}<>'\"|]+")
_PLACE = "\0"
MOST_WORDS = 64


@dataclass(frozen=True)
class Reading:
    """One value: digests of its form and of all of it, its numbers, and the texts in it."""

    form: int
    value: int
    numbers: Array
    texts: tuple[str, ...] = ()


def read(value: Any) -> Reading:
    """Read one value."""
    reader = _Reader()
    reader.walk(value, 0)
    form = digest(*reader.form)
    numbers = np.concatenate(reader.numbers) if reader.numbers else np.zeros(0)
    return Reading(form, digest(form.to_bytes(8, "big"), *reader.exact), numbers, tuple(reader.texts))


def public(thing: Any) -> dict[str, Any]:
    """The public attributes of an object: those of its own, and properties whose names end in ``_``."""
    own = dict(getattr(thing, "__dict__", {}))
    slots, properties = _declared(type(thing))
    own.update({name: getattr(thing, name) for name in slots if name not in own and hasattr(thing, name)})
    for name in properties:
        try:
            own.setdefault(name, getattr(thing, name))
        except Exception as error:  # that it cannot be read is an outcome as well
            own.setdefault(name, f"{type(error).__name__}: {error}")
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


def digest(*parts: bytes) -> int:
    """63 bits of some bytes, the same in every process."""
    whole = hashlib.blake2b(digest_size=8)
    for part in parts:
        whole.update(len(part).to_bytes(8, "big"))
        whole.update(part)
    return int.from_bytes(whole.digest(), "big") >> 1


def encoded(text: str) -> bytes:
    """Any text as bytes."""
    return text.encode("utf-8", "surrogatepass")


class _Reader:
    """Reads a value into its form, the exact bytes of its numbers, its numbers, and its texts."""

    def __init__(self) -> None:
        self.form: list[bytes] = []
        self.exact: list[bytes] = []
        self.numbers: list[Array] = []
        self.texts: list[str] = []
        self.open: set[int] = set()

    def walk(self, value: Any, depth: int) -> None:
        """Read a value of any kind."""
        kind = type(value)
        self.form.append(f"{kind.__module__}.{kind.__qualname__}".encode())
        if value is None or isinstance(value, type):
            self.form.append(b"" if value is None else value.__qualname__.encode())
        elif isinstance(value, str):
            self._text(value)
        elif isinstance(value, bytes | bytearray):
            self._text(bytes(value).decode("utf-8", "surrogateescape"))
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

    def _text(self, text: str) -> None:
        self.texts.append(text)
        numbers = numbers_in(text)
        self.form.append(encoded(without_numbers(text)))
        if len(numbers):
            self.exact.append(encoded(text))
            self.numbers.append(numbers)

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
        elif array.dtype.kind in "US":
            for entry in array.ravel().tolist():
                self._text(entry if isinstance(entry, str) else entry.decode("utf-8", "surrogateescape"))
        else:  # times, records: their bytes, none of which is an address
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


def numbers_in(text: str) -> Array:
    """The numbers of a text, in their order."""
    return np.array([float(found) for found in _NUMBER.findall(text)])


def without_numbers(text: str) -> str:
    """The text with a mark in the place of each number."""
    return _NUMBER.sub(_PLACE, text)


def words_of(texts: Iterable[str]) -> list[str]:
    """The words and numbers of some texts, in their order; the first ``MOST_WORDS``."""
    found: list[str] = []
    for text in texts:
        found.extend(word for word in _BETWEEN.split(text) if word)
        if len(found) >= MOST_WORDS:
            break
    return found[:MOST_WORDS]
