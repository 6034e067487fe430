"""Who is one person: names as they are compared, whatever the table is kept in.

Two people who are taken for one are protected together, which is safe. One person who is taken for two is not protected
as promised. So everything that a library, a file or a spreadsheet may do to a name without anybody's asking is undone:
:func:`names_of` gives the same name for all of its forms.
"""

from __future__ import annotations

import re
import string
import unicodedata
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import check
from tacit.data.cells import EXACT, exact, key_of, key_within
from tacit.data.texts import Texts

NOT_ONE_EACH = "Expected groups to name one person for each row of the table."
_AROUND = "\0\ufeff" + string.whitespace + "".join(sign for sign in map(chr, range(0x80, 0x3001)) if sign.isspace())
"""What is stripped: white space, the byte-order mark that begins a file, and NUL, which NumPy drops at the end."""
_NOTHING = ("NoneType", "NAType", "NaTType")
"""The classes of missing values: Python's and pandas'."""
_NUMBERS = (int, float, Decimal, np.integer, np.floating, np.bool_)
_MIDNIGHT = "T00:00:00.000000"
_EMPTY = "{where} has missing values or empty names in some rows. Fill them in or drop those rows."
_STRANGE = "{where} must contain numbers, text or dates."
_ROUNDED = (
    "{where} names people by numbers that were rounded: floats too large to be exact, or texts such as 1.23E+12. Give "
    "whole numbers, or the names as they were written."
)
_SHORTENED = re.compile(r"[+-]?(\d+[.,]\d+[eE]\+?\d+|\d+[eE]\+\d+|\d[eE]\d{2,3})")
"""A large number as libraries and spreadsheets shorten it. They write a plus sign, or one digit before the E; other
digits around an E, as in 1234e56, may be a name in hexadecimal digits."""
_FLOAT = re.compile(r"[+-]?0*(\d+)(?:\.0*|,0+)", re.ASCII)
"""A whole number as libraries write it that keep it as a float."""
_WHOLE = re.compile(r"([+-]?\d+),0+", re.ASCII)
"""The same, where numbers have a decimal comma."""
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*", re.ASCII)


def names_of(groups: Any, where: str = "groups") -> NDArray[Any]:
    """A column of names as they are compared: an array of int64, or one of objects that are all text.

    White space and a byte-order mark around a text do not count, nor how Unicode composes its letters (NFC). Numbers
    are compared by their value, also where they are text or truths (:func:`tacit.data.cells.key_of`), bytes as the text
    that they encode, and dates as ISO 8601 writes them, to the microsecond and in UTC. So 5, 5.0, "5", " 5", "05",
    "5,0", "5,00", b"5" and Decimal("5.0") are one person, and so are "a" and "a ".
    The names that this gives are given back unchanged.

    Edges: a missing or empty name raises, and so does a number that was rounded, which may stand for several whole
    numbers: elsewhere in the table the same person may be one of them. That is a float as large as its type has digits
    (2**53 in double precision, 2**24 in single), also where it is text (9007199254740992.0), or a text such as 1.23E+12
    or 1e+16. What was rounded before and widened since, as pandas does where columns of different types are put
    together, cannot be seen. Sentences quote no name.
    """
    if isinstance(groups, Texts):
        names = groups.each(_within(groups, where), object)
    elif getattr(getattr(groups, "dtype", None), "kind", "") == "M":  # in nanoseconds early years would overflow
        names = _dates(np.asarray(groups, dtype="datetime64[us]"))
    else:
        names = _of_array(exact(groups), where)
    check(names.ndim == 1, NOT_ONE_EACH)
    check(names.dtype != object or "" not in names.tolist(), _EMPTY.format(where=where))
    return names


def _within(cells: Texts, where: str) -> Callable[[str | None], str]:
    """How these cells are read: '5,0' is 5 where numbers have a decimal comma."""

    def name(text: str | None) -> str:
        if text is None:
            return ""
        _check_unrounded(text.strip(_AROUND), where)
        return _of_text(key_within(cells, text.strip(_AROUND)), where)

    return name


def _of_array(cells: NDArray[Any], where: str) -> NDArray[Any]:
    kind = cells.dtype.kind
    check(kind in "biufOUSTM", _STRANGE.format(where=where))
    if kind == "M":
        return _dates(cells.astype("datetime64[us]"))
    if kind in "bi" or (kind == "u" and not (cells >= 2**63).any()):
        return cells.astype(np.int64)
    if kind == "f":
        rounded = np.isfinite(cells) & (np.abs(cells) >= _exact(cells.dtype))
        check(not rounded.any(), _ROUNDED.format(where=where))
        if _are_whole(cells.astype(np.float64)):
            return cells.astype(np.int64)
    known: dict[Any, str] = {}
    names = np.empty(cells.size, dtype=object)
    for place, cell in enumerate(cells.ravel().tolist()):
        if type(cell) is str or type(cell) is int:
            name = known.get(cell)
            names[place] = known.setdefault(cell, _of_cell(cell, where)) if name is None else name
        else:
            names[place] = _of_cell(cell, where)
    return names.reshape(cells.shape)


def _exact(kind: Any) -> int:
    """The whole numbers below this are exact in a type of floats; all of Python's are in double precision."""
    return int(min(EXACT, 2 ** (np.finfo(kind).nmant + 1)))


def _are_whole(numbers: NDArray[np.float64]) -> bool:
    return bool((np.abs(numbers) < EXACT).all() and (numbers == np.floor(numbers)).all())


def _of_cell(cell: Any, where: str) -> str:
    """The name in one cell of whatever type; empty where it is missing."""
    if type(cell).__name__ in _NOTHING or (isinstance(cell, Decimal) and cell.is_nan()):
        return ""
    if isinstance(cell, bytes):
        return _of_text(cell.decode("utf-8", "surrogateescape"), where)
    if isinstance(cell, str) or type(cell).__name__ == "UUID":
        return _of_text(str(cell), where)
    if isinstance(cell, date | np.datetime64):
        return _of_date(cell)
    check(isinstance(cell, _NUMBERS), _STRANGE.format(where=where))
    rounded = isinstance(cell, float | np.floating) and _exact(type(cell)) <= abs(float(cell)) < np.inf
    check(not rounded, _ROUNDED.format(where=where))
    return key_of(cell)


def _check_unrounded(text: str, where: str) -> None:
    whole = _FLOAT.fullmatch(text)
    far = whole is not None and (len(whole[1]) > len(str(EXACT)) or int(whole[1]) >= EXACT)
    check(not far and not _SHORTENED.fullmatch(text), _ROUNDED.format(where=where))


def _of_text(text: str, where: str) -> str:
    text = unicodedata.normalize("NFC", text.strip(_AROUND))
    _check_unrounded(text, where)
    whole = _WHOLE.fullmatch(text)
    text = text if whole is None else whole[1]
    if _MOMENT.fullmatch(text):
        with suppress(ValueError):  # a text that begins like a moment
            return _of_date(datetime.fromisoformat(text))
    name = text if _is_whole(text) else key_of(text)
    return name.lstrip("0") or "0" if _is_whole(name) else name


def _is_whole(text: str) -> bool:
    return text.isascii() and text.isdecimal()


def _of_date(day: date | np.datetime64) -> str:
    if isinstance(day, np.datetime64):
        return str(_dates(np.array([day], dtype="datetime64[us]"))[0])
    if not isinstance(day, datetime):
        return day.isoformat()
    plain = day if day.tzinfo is None else day.astimezone(UTC).replace(tzinfo=None)
    return plain.isoformat(timespec="microseconds").removesuffix(_MIDNIGHT)


def _dates(moments: NDArray[np.datetime64]) -> NDArray[Any]:
    texts = np.datetime_as_string(moments).ravel().tolist()
    names = ["" if text == "NaT" else text.removesuffix(_MIDNIGHT) for text in texts]
    return np.fromiter(names, dtype=object, count=len(names)).reshape(moments.shape)
