"""Words to whoever holds the records: warnings, at the line of theirs that led here.

A :class:`MisuseWarning` is about settings, which are public. A :class:`CuratorNote` is computed from the records,
without noise: it is outside every guarantee, kept in no model and no file, and audits leave exactly this category out
of what they compare. Both are turned off as all warnings are: ``warnings.simplefilter("ignore", tacit.CuratorNote)``.

A misuse is told before anything is spent, so who makes errors of warnings gets an error. What is told later never is
one: whether a model that was paid for exists would depend on what the records say, and on no guarantee.
"""

from __future__ import annotations

import inspect
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar

LEAD = "For the curator, not for release:"
FEW = 20
"""Fewer rows than this are a handful: what one of them is cannot be told from noise that would hide it."""
_PART: ContextVar[bool] = ContextVar("part", default=False)
_THROUGH = ("tacit", "sklearn", "joblib")


class MisuseWarning(UserWarning):
    """A guarantee does not cover how a model is used: it is fitted again and again, or after a step that learns."""


class CuratorNote(UserWarning):
    """What the person who holds the records should know. NOT PRIVATE: computed from the records, without noise."""


@contextmanager
def of_a_batch() -> Iterator[None]:
    """No notes in this block, in this thread: they are about whole tables, and here is a part of one."""
    token = _PART.set(True)
    try:
        yield
    finally:
        _PART.reset(token)


def note(sentence: str) -> None:
    """Tell the curator."""
    if _PART.get():
        return
    tell(f"{LEAD} {sentence}", CuratorNote)


def tell(sentence: str, category: type[Warning]) -> None:
    """Warn, at the first line outside of Tacit and of the libraries that called it.

    Edges: where warnings are errors, all but a :class:`MisuseWarning` are printed to stderr instead.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").split(".")[0] in _THROUGH:
        frame, level = frame.f_back, level + 1
    try:
        warnings.warn(sentence, category, stacklevel=level)
    except category:
        if issubclass(category, MisuseWarning):
            raise
        _print(f"{category.__name__}: {sentence}")
    except (OSError, ValueError):  # there is nobody to read it: stderr is closed, or its reader has gone
        pass


def _print(line: str) -> None:
    if sys.stderr is not None:
        with suppress(OSError, ValueError):
            print(line, file=sys.stderr, flush=True)
