"""A schema to fill in: the names of a table's columns, and a place for what is publicly known about each.

Names, and the types that a file declares, are public. Nothing here sees a cell.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

from tacit.checks import check
from tacit.data.cells import number
from tacit.data.spelling import meant
from tacit.schema.columns import Target
from tacit.schema.toml_text import toml_key, toml_table, toml_value

OPEN = "?"
"""Stands where a bound is to be filled in; no bound is text."""
NUMBER, CATEGORY, TRUTH, NEITHER = "number", "category", "truth", "neither"
"""What a column may be known to hold before anyone looks; the last is for dates, lists and the like."""
_HEAD = (
    'Replace every "?", fill every empty list, and where a column offers two forms, keep the one that fits.',
    "Take what you write from public knowledge: the codebook, the form that people filled in, the law, common",
    "sense. Do not take it from the table: the largest value in a column is somebody's value, and what is",
    "written here is not protected by any noise.",
    "",
    "Numbers beyond the bounds are moved to the nearer bound. Values that are not listed count as <other>. A",
    "column that you remove from this file is left out of the model.",
)
FIRST_LINE = (
    "The names below were the first line of the file. It must hold the names of columns, not a record: if they are",
    "somebody's answers, do not pass this schema on. Add a line with names to the file, and start again.",
    "",
)
"""What to know about names that a CSV file does not mark as such."""
_LONGEST_NAME = 200
_BOUNDS = {"lower": OPEN, "upper": OPEN}
_CHOICES: dict[str, tuple[dict[str, Any], str]] = {
    NUMBER: (_BOUNDS, "a number: its smallest and largest plausible value"),
    CATEGORY: ({"values": []}, "a category: every answer that was possible"),
    TRUTH: ({"values": [False, True]}, "true or false"),
}
_EITHER = (
    "# for a number, remove the # of these two lines:", "# lower = 0", "# upper = 100",
    "# for a category, of this one:", '# values = ["first", "second"]', "",
)  # fmt: skip
_CLASSES = ("# for labels, remove the # of this line:", '# classes = ["no", "yes"]')
_RANGE = ("# for a number, of these two:", "# lower = 0", "# upper = 100", "")


def check_header(names: Iterable[str], file: str) -> None:
    """Refuse the first line of a CSV file that looks like a record, or like more than a line. No name is quoted: it may
    be somebody's answer.
    """
    listed = [name for name in names if name]
    advice = "The first line of a CSV file must hold the names of its columns."
    check(
        not listed or any(math.isnan(number(name)) for name in listed),
        f"The first line of {file} consists of numbers: it looks like a record. {advice} Add such a line.",
    )
    check(
        all(len(name) <= _LONGEST_NAME and len(name.splitlines()) == 1 for name in listed),
        f"The first line of {file} has a name with a line break, or with more than {_LONGEST_NAME} characters: a quote "
        f"may be open there, so that records are taken for a name. {advice} Correct it.",
    )


def skeleton(
    names: Iterable[Any],
    kinds: Mapping[str, str],
    target: str | Target | None,
    title: str = "",
    missing: Iterable[str] = (),
    remarks: Iterable[str] = (),
    person: str | None = None,
) -> str:
    """The text of a TOML file with every column in order; ``kinds`` says what is known of some of them.

    ``remarks`` are lines at its head.

    Edges: a column without a name, one that holds neither numbers nor categories, and the ``person`` of each row are
    left out, each with a remark.
    """
    listed = list(names)
    check(all(isinstance(name, str) for name in listed), "Expected the names of all columns to be text.")
    again = sorted({name for name in listed if listed.count(name) > 1})
    check(not again, f"Expected every column once; {again} appear twice.")
    named = target.name if isinstance(target, Target) else target
    unknown = [name for name in (*kinds, *([] if named is None else [named])) if name not in listed]
    check(not unknown, f"The table has no columns {unknown}.{meant(unknown, listed)}")
    named_after = [f"The columns of {_one_line(title)}."] if title else []
    lines = [f"# {line}".rstrip() for line in (*named_after, *remarks, *_HEAD)]
    markers = toml_value(list(missing))
    lines += ["", f'missing = {markers}  # texts that stand for a missing cell, such as "n/a", beside empty cells', ""]
    lines += _target_lines(target, kinds.get(named or ""))
    for name in listed:
        if name == person:
            lines += [f"# {toml_value(name)} is left out: it says whose rows they are, and predicts nothing.", ""]
        elif name != named:
            lines += _column_lines(name, kinds.get(name))
    return "\n".join(lines)


def left_open(columns: Iterable[tuple[str, Any]], target: Any) -> list[str]:
    """The columns, and the target, that a skeleton has a place for and nobody filled in."""
    found = [repr(name) for name, entries in columns if isinstance(entries, Mapping) and _is_open(entries, "values")]
    if isinstance(target, Mapping) and "name" in target:
        stated = {key: value for key, value in target.items() if key != "name"}
        found += [f"the target {target['name']!r}"] if _is_open(stated, "classes") else []
    return found


def _is_open(entries: Mapping[str, Any], listing: str) -> bool:
    values = entries.get(listing)
    empty = isinstance(values, list | tuple) and not values
    bounds = [entries.get(word) for word in _BOUNDS]
    return not entries or empty or any(isinstance(bound, str) and bound == OPEN for bound in bounds)


def _target_lines(target: str | Target | None, kind: str | None) -> list[str]:
    remark = "the column to predict"
    if target is None:
        return [f"# [target]  # {remark}, if you want one: remove the # of these lines, and the column below",
                '# name = "..."', '# classes = ["no", "yes"]', ""]  # fmt: skip
    if isinstance(target, Target):
        return toml_table("target", target.to_dict(), remark)
    name = {"name": target}
    if kind == NUMBER:
        return toml_table("target", name | _BOUNDS, f"{remark}; numbers beyond the bounds are moved to them")
    if kind in (CATEGORY, TRUTH):
        return toml_table("target", name | {"classes": [False, True] if kind == TRUTH else []}, f"{remark}: its labels")
    return [*toml_table("target", name, remark)[:-1], *_CLASSES, *_RANGE]


def _column_lines(name: str, kind: str | None) -> list[str]:
    if not name:
        return ["# A column without a name is left out: row numbers, perhaps, or a separator at the ends of lines.", ""]
    if kind == NEITHER:
        text = toml_value(name)
        return [f"# {text} is left out: it contains dates, times or lists. Turn them into numbers first, such as the",
                "# days since a fixed day.", ""]  # fmt: skip
    entries, remark = _CHOICES.get(kind or "", ({}, ""))
    lines = toml_table(f"columns.{toml_key(name)}", entries, remark)
    return lines if kind else [*lines[:-1], *_EITHER]


def _one_line(text: str) -> str:
    return "".join(letter if letter.isprintable() else " " for letter in text)
