"""What became of a call with a wrong argument: it worked, it was refused in our sentence, or it leaked.

A sentence is ours where the statement that raised it is a ``raise`` in a file of the package. Whatever comes out of
NumPy, SciPy, PyTorch, pathlib or Python itself tells a user nothing about the argument, so it is a leak, and so is a
parameter that is declared as a number and takes text.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import io
import numbers
import os
import re
import types
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from fuzz.wrong_values import MARK, NAME

import tacit

PACKAGE = str(Path(tacit.__file__).parent)
LONGEST = 1500
"""Characters of a sentence that a user still reads."""
WORDS = {
    "Adjacency": "Literal['replace-one', 'add-remove']",
    "Calibration": "Literal['proven', 'paper']",
}
"""Names in signatures that stand for simple types."""
SKLEARN = ("sklearn/utils/validation.py", "sklearn/utils/multiclass.py", "sklearn/utils/_available_if.py")
"""Where scikit-learn refuses tables; its own checks of estimators want these very sentences."""


@dataclass(frozen=True)
class Verdict:
    """``fault`` is empty where all is well; ``kind``: 'worked' or 'refused'."""

    kind: str
    fault: str = ""
    sentence: str = ""


@functools.cache
def _raises(path: str) -> frozenset[int]:
    tree = ast.parse(Path(path).read_text(encoding="utf-8"))
    found = [
        range(node.lineno, (node.end_lineno or node.lineno) + 1)
        for node in ast.walk(tree)
        if isinstance(node, ast.Raise)
    ]
    return frozenset(line for lines in found for line in lines)


def on_purpose(error: BaseException) -> bool:
    """Whether a ``raise`` of the package made this error, or one of scikit-learn's checks of tables."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return False
    path = trace.tb_frame.f_code.co_filename
    known = path.startswith(PACKAGE + os.sep) or path.endswith(SKLEARN)
    return known and trace.tb_lineno in _raises(path)


def fits(annotation: str, value: object) -> bool | None:
    """Whether a value is of the type that a signature declares; None where the declaration does not say."""
    parts = [WORDS.get(part, part) for part in re.split(r" \| (?![^\[]*\])", annotation)]
    simple = all(part in ("float", "int", "bool", "str", "None") or part.startswith("Literal[") for part in parts)
    return any(_is(part, value) for part in parts) if simple else None


def _is(part: str, value: object) -> bool:
    if part == "None":
        return value is None
    if part.startswith("Literal["):
        return isinstance(value, str) and repr(str(value)) in part
    if part == "bool":
        return isinstance(value, bool | np.bool_)
    if part == "str":
        return isinstance(value, str)
    if not isinstance(value, numbers.Real) or isinstance(value, bool | np.bool_):
        return False
    return not bool(value != value) if part == "float" else bool(value == value // 1)  # noqa: PLR0124


def judge(
    call: Callable[[], object],
    parameter: str,
    value: object = None,
    annotation: str = "Any",
    private: bool = False,
    words: str = "",
) -> Verdict:
    """Call, and say what became of it.

    ``private``: the value is a table of people, whose cells nobody may quote. ``words``: what a sentence may call the
    parameter.
    """
    try:
        with warnings.catch_warnings(), contextlib.redirect_stderr(io.StringIO()), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            call()
    except OSError as error:  # of a file that is not there: Python's own sentence names it, and it is what people catch
        return Verdict("refused", "" if error.filename else f"{type(error).__name__} {_place(error)}", str(error))
    except (ValueError, TypeError, ImportError) as error:
        sentence = str(error)
        called = re.search(rf"\b({parameter.rstrip('s')}|{words or parameter})", sentence)
        unnamed = "" if private or _far_out(value) or called else f"does not name {parameter}"
        return Verdict("refused", _fault(error, sentence, private) or unnamed, sentence)
    except Exception as error:  # whatever it is, it is not a sentence for a user
        return Verdict("refused", f"{type(error).__name__} {_place(error)}", str(error))
    if fits(annotation, value) is False:
        return Verdict("worked", f"accepted, though declared as {annotation}")
    return Verdict("worked")


def _far_out(value: object) -> bool:
    """Whether a number is so large or small that it is refused where it meets others: a budget, the rows."""
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return False
    size = abs(value.item() if isinstance(value, np.generic) else value)
    return size >= 10**15 or 0 < size < 1e-300


def _fault(error: Exception, sentence: str, private: bool) -> str:
    if not on_purpose(error):
        return f"{type(error).__name__} {_place(error)}"
    if private and (str(MARK) in sentence or NAME in sentence):
        return "quotes a cell"
    if len(re.sub("x{1000,}", "", sentence)) > LONGEST:  # a sentence may repeat a file's name that was given
        return "is too long"
    if re.search(r" at 0x[0-9a-f]{6}", sentence):
        return "quotes an address in memory"
    return ""


def _place(error: BaseException) -> str:
    """Where it came from: the innermost file, and the innermost line of the package."""
    frames: list[types.TracebackType] = []
    trace = error.__traceback__
    while trace is not None:
        frames.append(trace)
        trace = trace.tb_next
    own = [at for at in frames if at.tb_frame.f_code.co_filename.startswith(PACKAGE)]
    inner = frames[-1].tb_frame.f_code.co_filename if frames else "?"
    last = f"{Path(own[-1].tb_frame.f_code.co_filename).relative_to(PACKAGE)}:{own[-1].tb_lineno}" if own else "-"
    return f"from {'/'.join(Path(inner).parts[-2:])} by {last}"
