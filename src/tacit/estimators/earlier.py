"""What was paid for before a model was trained: scalers and found schemas, whose releases are in its weights.

A guarantee is of one fit. The weights depend on what charged steps released before it too, so a fitted model remembers
these guarantees, and its file states the price of all of them together, wherever the model goes.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from types import FunctionType, MethodType
from typing import Any, NamedTuple

from tacit.checks import refuse
from tacit.data.origins import releases_behind
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.theorems import TABLE
from tacit.privacy.together import DECIDING, Together
from tacit.schema import Schema
from tacit.schema.encoder import SchemaEncoder

LABEL = "the schema, whose bounds and categories were found in the records"
_PARTS = ("transformers_", "transformer_list", "steps")
"""Where a ColumnTransformer, a FeatureUnion and a Pipeline keep their parts."""
_FEW = 64
"""A list as long as this holds cells rather than steps."""
_RECORD = "_earlier"
"""Where a fitted model keeps what was paid for before it. A copy that is to be fitted does not take it along."""
_OTHER_FIT = (
    "{label} is not the one that the model was trained behind: it was fitted again after the model, or apart from it. "
    "The model depends on what that other fit released, so the price would be too low. Fit the pipeline again as a "
    "whole, with a PrivateScaler of its own, and save it then."
)


class Earlier(NamedTuple):
    """A release before a model: what it is called, its guarantee, and a hash of what it gave.

    Two fits with the same settings have the same guarantee; the hash tells them apart.
    """

    label: str
    guarantee: Guarantee
    digest: str


def schema_guarantee(schema: Schema | None) -> Guarantee | None:
    """The guarantee of a schema that was found in records; None for a declared one.

    Edges: raises PrivacyError where what the schema says about its price is not the guarantee of a schema.
    """
    if schema is None or schema.found is None:
        return None
    guarantee = Guarantee.from_dict(schema.found["guarantee"])
    if guarantee.method not in DECIDING or guarantee.protects != TABLE:
        refuse("The guarantee of this schema is not that of a schema.")
    return guarantee


def of_schema(schema: Schema | None, where: str = "") -> tuple[Earlier, ...]:
    """What a schema cost, where it was found in records."""
    guarantee = schema_guarantee(schema)
    if schema is None or guarantee is None:
        return ()
    return (Earlier(f"{LABEL}{where}", guarantee, checksum(schema.to_dict())),)


def of_rows(rows: Any) -> tuple[Earlier, ...]:
    """What was paid for rows that a scaler or a found schema gave outside of a pipeline."""
    found = ((one,) if isinstance(one, Earlier) else of_schema(one) for one in releases_behind(rows))
    return tuple(itertools.chain.from_iterable(found))


def charged(steps: Iterable[Any], seen: tuple[Any, ...] = ()) -> Iterator[Earlier]:
    """What the steps of a pipeline released, those within others too: in what is ``seen`` already nothing is new."""
    for name, step, *_ in steps:
        if any(step is one for one in seen):
            continue
        inner = within(name, step)
        if inner is not None:
            yield from charged(inner, (*seen, step))
        elif isinstance(step, SchemaEncoder | Schema):
            yield from of_schema(step if isinstance(step, Schema) else step.declared(), f" (step {name!r})")
        elif isinstance(getattr(step, "guarantee_", None), Guarantee) and hasattr(step, "digest"):
            yield from remembered(step)
            yield Earlier(f"the scaler (step {name!r})", step.guarantee_, step.digest)
        elif not is_own(step):
            yield from charged(((name, one) for one in carried(step)), (*seen, step))


def is_own(step: Any) -> bool:
    """Whether this is Tacit's."""
    return type(step).__module__.split(".")[0] == "tacit"


def within(name: str, step: Any) -> Sequence[Any] | None:
    """The steps that a step consists of, each with a name; None where it is one step."""
    held = getattr(step, "__dict__", {})
    if type(step).__name__ == "FrozenEstimator":
        return [(name, held["estimator"])]
    return next((held[part] for part in _PARTS if part in held), None)


def carried(step: Any) -> list[Any]:
    """The steps that somebody else's step carries along: as attributes, or in functions that it calls.

    A setting of which ``fit`` made a copy does not count: the copy does.
    """
    held = getattr(step, "__dict__", {})
    return list(_steps_in([value for name, value in held.items() if f"{name}_" not in held]))


def _steps_in(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping | list | tuple) and len(value) <= _FEW:
        for one in value.values() if isinstance(value, Mapping) else value:
            yield from _steps_in(one)
    elif isinstance(value, partial):
        yield from _steps_in((value.func, value.args, value.keywords))
    elif isinstance(value, MethodType):
        yield from _steps_in((value.__self__, value.__func__))
    elif isinstance(value, FunctionType):
        with suppress(ValueError):  # a name that has no value yet
            named = inspect.getclosurevars(value)
            meant = (*named.nonlocals.values(), *named.globals.values())
            yield from _steps_in([one for one in meant if not isinstance(one, FunctionType)][:_FEW])
    elif isinstance(value, Schema) or hasattr(type(value), "fit"):
        yield value


def remember(model: Any, found: Iterable[Earlier]) -> None:
    """Keep what was paid for before the model: each release once, however many ways lead to it."""
    kept: list[Earlier] = []
    for one in found:
        if one[1:] not in [known[1:] for known in kept]:
            kept.append(one)
    model.__dict__[_RECORD] = tuple(kept)


def remembers(model: Any) -> bool:
    """Whether the model knows what was paid for before it, be it nothing."""
    return _RECORD in vars(model)


def remembered(model: Any) -> tuple[Earlier, ...]:
    """What was paid for before the model, as far as its fit could see."""
    found: tuple[Earlier, ...] = vars(model).get(_RECORD, ())
    return found


def check_together(paid: tuple[Earlier, ...], what: str, guarantee: Guarantee) -> None:
    """Refuse a release that has no price together with what was paid for before it, while it is not charged yet."""
    if paid:
        Together((*((one.label, one.guarantee) for one in paid), (what, guarantee)))


def listed_before(step: Any, paid: tuple[Earlier, ...]) -> tuple[Earlier, ...]:
    """What was paid for before a scaler, by the list of what was paid for before a model behind it: what precedes it.

    So a scaler that is read from a file has its own share of the list that the file has for the model.
    """
    own = step.guarantee_, step.digest
    return tuple(itertools.takewhile(lambda one: one[1:] != own, paid))


def earlier_of(model: Any, steps: Sequence[tuple[str, Any]] = (), schema: Schema | None = None) -> tuple[Earlier, ...]:
    """Everything that was paid for before a model, with the steps and the schema that are to go with it."""
    return earlier_among(remembered(model), steps, schema)


def earlier_among(
    seen: tuple[Earlier, ...], steps: Sequence[tuple[str, Any]] = (), schema: Schema | None = None
) -> tuple[Earlier, ...]:
    """What a fit saw, and what is not among it of a pipeline's steps and of a schema.

    Edges: a scaler that the model was not trained behind is refused.
    """
    known = [one[1:] for one in seen]
    added = [one for one in (*charged(steps), *of_schema(schema)) if one[1:] not in known]
    for one in added:
        if one.guarantee.method not in DECIDING:
            refuse(_OTHER_FIT.format(label=one.label[0].upper() + one.label[1:]))
    return (*added, *seen)
