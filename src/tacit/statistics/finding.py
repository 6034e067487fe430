"""A schema where nobody knows one: kinds of columns, bounds and categories, from two stages of noisy counts.

Names of columns are public, and so are their types where the table has any: numbers, truths or text. Whether a column
of text holds numbers, as all columns of a CSV file may, is found out in the first stage.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from tacit.arguments import checked
from tacit.checks import check, items_in, names_in, shown
from tacit.data.cells import key_of, numbers
from tacit.data.curator import tell
from tacit.estimators.earlier import schema_guarantee
from tacit.ledger import Ledger
from tacit.privacy.guarantee import Guarantee
from tacit.schema import Category, Number, Schema, Target
from tacit.schema.columns import Column
from tacit.settings import described
from tacit.statistics.bounds import bound_parts, bound_totals, bounds_from
from tacit.statistics.categories import keys_of
from tacit.statistics.exact_sums import Asked, Occurring, Part, Released, Sums
from tacit.statistics.looked import Looked, look_at, name_in, selected
from tacit.statistics.release import Request, Stage, answer
from tacit.statistics.unit import Unit
from tacit.streams.scanned import Selected
from tacit.types import Adjacency

KINDS = ("number", "text")
KINDS_SHARE = 0.04
"""The part of the budget's mu^2 that finds out which columns of text hold numbers."""
PUBLIC = "the names of the columns and their types are public"
ABSENT, OFTEN = Part(1, 0.5), 3.0
"""Missing cells of a number, and how many deviations of noise there must be for them to have a slot."""
_NO_TARGET = (
    "The values of {target!r} do not stand out from the noise, so the schema has no target: fewer than two classes are "
    "frequent enough, or no magnitude is. Declare what is public, which costs nothing: add --target, with --classes "
    "or --target-bounds, to `tacit fit`; in Python, target=Target({target!r}, classes=[...]) or with bounds, from "
    "tacit.schema. Or raise epsilon."
)
Stages = list[tuple[Asked, float, Stage]]


@dataclass(frozen=True, kw_only=True)
class FoundSchema(Schema):
    """A schema whose bounds and categories were paid for; files of it carry the price."""

    @property
    def guarantee(self) -> Guarantee | None:
        """What finding it cost."""
        return schema_guarantee(self)

    @property
    def left_out(self) -> tuple[str, ...]:
        """Columns in which no value or magnitude stood out, or fewer than two classes of a target."""
        return () if self.found is None else tuple(self.found["left_out"])

    @property
    def guarantee_(self) -> Guarantee | None:
        """The guarantee, under the name that models have for it."""
        return self.guarantee


class Found(NamedTuple):
    """Columns with bounds and values; the target, where it was asked for and stood out; columns that did not."""

    columns: tuple[Column, ...]
    target: Target | None
    left_out: tuple[str, ...]


@dataclass(frozen=True, eq=False, repr=False)
class Columns:
    """The columns of a table that are looked at, and what is known of their kinds."""

    names: tuple[str, ...]
    rows: Looked
    kinds: Mapping[str, str]
    missing: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        table: Any,
        groups: Any,
        rows_per_person: Any,
        kinds: Any,
        missing: Sequence[str],
        names: Sequence[str] | None,
    ) -> Columns:
        """All columns, or those named, with the kinds that are declared or that their types tell."""
        table = selected(table)
        listed = _named(table, groups) if names is None else list(names)
        check(listed, "Expected a table with at least one column.")
        markers = tuple(str(marker) for marker in items_in("missing", missing, "texts"))
        check(
            kinds is None or isinstance(kinds, Mapping),
            f"Expected kinds to be a dict, as in {{'age': 'number'}}, not {shown(kinds)}.",
        )
        declared = dict(kinds or {})
        unknown = sorted(set(declared) - set(listed))
        check(not unknown, f"The table has no columns {unknown}, whose kinds are declared.")
        check(all(kind in KINDS for kind in declared.values()), "Expected kinds= to be 'number' or 'text' by column.")
        rows, types = look_at(table, listed, groups, rows_per_person)
        typed = {name: "text" if kind == "b" else "number" for name, kind in types.items() if kind in "biuf"}
        return cls(tuple(listed), rows, typed | declared, markers)

    @property
    def open(self) -> tuple[str, ...]:
        """Columns whose kind is to be found out."""
        return tuple(name for name in self.names if name not in self.kinds)

    def with_kinds(self, released: Released) -> Columns:
        """With the kinds that more cells are of."""
        found = {
            name: KINDS[int(counts[1] > counts[0])] for name, counts in zip(self.open, released.numbers, strict=True)
        }
        return replace(self, kinds={**self.kinds, **found})

    def after(self, earlier: list[Released]) -> Columns:
        """With all kinds, once the first stage has found those that were not known."""
        return self.with_kinds(earlier[0]) if self.open else self

    def kinds_stages(self, share: float) -> Stages:
        """The first stage: how many cells of each column are numbers, and how many are other text; or none."""
        if not self.open:
            return []
        adds = partial(_kind_sums, self.open, self.markers)
        return [(Asked(tuple(Part(2) for _ in self.open)), share, lambda _: self.rows.add_up(adds))]

    @property
    def markers(self) -> frozenset[str]:
        """What stands for a missing cell."""
        return frozenset(key_of(marker) for marker in self.missing)

    def facts_stages(self, share: float, target: str | None = None) -> Stages:
        """The stage that finds bounds and categories; a column of unknown kind is priced as the dearer one."""
        numbered = [name for name in self.names if self.kinds.get(name) != "text"]
        texts = [1.0 for name in self.names if self.kinds.get(name) == "text"]
        asked = Asked((*bound_parts(), ABSENT) * len(numbered), (*texts, *(0.0 for _ in self.open)))

        def added(earlier: list[Released]) -> Sums:
            kinds = self.after(earlier).kinds
            return self.rows.add_up(
                partial(_fact_sums, [(name, kinds[name]) for name in self.names], self.missing, self.markers)
            )

        return [(asked, share, added)]

    def found(self, earlier: list[Released], target: str | Target | None = None) -> Found:
        """What the released counts say: columns, the target where it is one of them, and columns that are left out."""
        whole, released = self.after(earlier), earlier[-1]
        counts, shown = iter(zip(released.numbers, released.deviations, strict=True)), iter(released.shown)
        columns: list[Column] = []
        left_out: list[str] = []
        goal = target if isinstance(target, Target) else None
        for name in self.names:
            if whole.kinds[name] == "number":
                (coarse, one), (fine, other), (absent, rough) = (next(counts) for _ in range(3))
                bounds = bounds_from(coarse, fine, (one, other))
                if bounds is None:
                    left_out.append(name)
                elif name == target:
                    goal = Target(name, None, bounds.lower, bounds.upper)
                else:
                    columns.append(Number(name, bounds.lower, bounds.upper, bool(absent[0] > OFTEN * rough)))
            else:
                values = tuple(next(shown))
                if name == target and len(values) >= 2:
                    goal = Target(name, tuple(sorted(values)))
                elif name != target and values:
                    columns.append(Category(name, values))
                else:
                    left_out.append(name)
        return Found(tuple(columns), goal, tuple(left_out))

    def schema(self, found: Found, guarantee: Guarantee, target: str | Target | None = None) -> FoundSchema:
        """The schema of what was found; a target that did not stand out is warned of, in words of the release alone."""
        check(found.columns, "No column has values that stand out from the noise. Raise epsilon, or declare a schema.")
        if target is not None and found.target is None:
            tell(_NO_TARGET.format(target=target), UserWarning)
        return FoundSchema(
            columns=found.columns, target=found.target, missing=self.missing,
            found={"guarantee": guarantee.to_dict(), "left_out": list(found.left_out)},
        )  # fmt: skip


def _kind_sums(names: Sequence[str], markers: frozenset[str], rows: Mapping[str, Any], unit: Unit) -> Sums:
    """How many cells of each column are numbers, and how many are other text."""
    parts = tuple(Part(2) for _ in names)
    codes = [_cell_kinds(rows[name], markers) for name in names]
    return Sums(parts, tuple(parts[0].total(*unit.entries(one)) for one in codes))


def _cell_kinds(cells: Any, markers: frozenset[str]) -> NDArray[np.intp]:
    """0 for a number, 1 for other text, -1 for nothing."""
    empty = np.fromiter((not key for key in keys_of(cells, markers)), bool, len(cells))
    return np.where(empty, -1, np.isnan(numbers(cells)).astype(np.intp))


def _fact_sums(
    kinds: Sequence[tuple[str, str]],
    missing: tuple[str, ...],
    markers: frozenset[str],
    rows: Mapping[str, Any],
    unit: Unit,
) -> Sums:
    """Magnitudes and missing cells of numbers, and the values that occur in other columns."""
    parts, totals, occurring = (*bound_parts(), ABSENT), [], []
    for name, kind in kinds:
        if kind == "number":
            values = numbers(rows[name], missing)
            absent = ABSENT.total(*unit.entries(np.where(np.isnan(values), 0, -1)))
            totals += [*bound_totals(values, unit), absent]
        else:
            occurring.append(Occurring.of(keys_of(rows[name], markers), unit))
    return Sums(parts * (len(totals) // len(parts)), tuple(totals), tuple(occurring))


def names_of(table: Any) -> list[str]:
    """The names of a table's columns."""
    if isinstance(table, Selected):
        return list(table.names)
    present = getattr(table, "column_names", None)
    if present is None:
        present = getattr(table, "columns", None)
    if present is None:
        check(isinstance(table, Mapping), "Expected a table with named columns: pandas, polars, pyarrow or a dict.")
        present = table.keys()
    names = list(present)
    check(all(isinstance(name, str) for name in names), "Expected the names of all columns to be text.")
    return names


def _named(table: Any, groups: Any) -> list[str]:
    """The columns to look at: of a scan, all but the one that says whose row it is."""
    person = name_in(table.scan, groups, "groups") if isinstance(table, Selected) and groups is not None else None
    return [name for name in names_of(table) if name != person]


@described
@checked
def private_schema(
    table: Any,
    *,
    epsilon: float | Literal["rest"],
    target: str | Target | None = None,
    columns: Sequence[str] | None = None,
    kinds: Mapping[str, str] | None = None,
    missing: Sequence[str] = (),
    delta: float | None = None,
    adjacency: Adjacency = "replace-one",
    groups: Any = None,
    rows_per_person: int | None = None,
    ledger: Ledger | str | None = None,
    random_state: Any = None,
) -> FoundSchema:
    """A schema with bounds and categories that are paid for, in one release, with the guarantee of it.

    Names of the columns and the types that the table gives them count as public. Columns in which nothing stands out
    are in ``left_out``.

    Parameters
    ----------
    table : data frame, dict of columns, :func:`tacit.scan` or files
        The private table.
    target : str, Target or None
        The column to predict: a name, whose classes or bounds are then found too, or a Target that declares them. Where
        those of a name do not stand out, a warning says so and the schema has no target.
    columns : sequence of str or None
        The columns to look at. None: all.
    """
    request = Request(epsilon=epsilon, delta=delta, adjacency=adjacency, ledger=ledger, random_state=random_state)
    table = selected(table)
    listed = _named(table, groups) if columns is None else list(names_in("columns", columns))
    if isinstance(target, Target):
        listed = [name for name in listed if name != target.name]
    elif target is not None:
        check(
            isinstance(target, str) and target in names_of(table),
            f"Expected target to be a Target, or the name of a column; the table has no column {shown(target)}.",
        )
        listed = listed if target in listed else [*listed, target]
    looked = Columns.of(table, groups, rows_per_person, kinds, missing, listed)
    first = looked.kinds_stages(KINDS_SHARE)
    stages = [*first, *looked.facts_stages(1.0 - KINDS_SHARE * len(first))]
    found = answer(request, looked.rows.unit, "schema", stages, assumptions=(PUBLIC,))
    return looked.schema(looked.found(found.stages, target), found.guarantee, target)
