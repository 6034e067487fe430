"""What was paid for before a model was trained: scalers and found schemas, whose releases are in its weights.

A guarantee is of one fit. The weights depend on what charged steps released before it too, so a fitted model remembers
these guarantees, and its file states the price of all of them together, wherever the model goes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from tacit.checks import refuse
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.theorems import TABLE
from tacit.privacy.together import DECIDING
from tacit.schema import Schema
from tacit.schema.encoder import SchemaEncoder

LABEL = "the schema, whose bounds and categories were found in the records"
PARTS = ("transformers_", "transformer_list", "steps")
"""Where a ColumnTransformer, a FeatureUnion and a Pipeline keep their parts."""
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


def charged(steps: Iterable[Any]) -> Iterator[Earlier]:
    """What the steps of a pipeline released, those within others too."""
    for name, step, *_ in steps:
        inner = next((vars(step)[part] for part in PARTS if part in getattr(step, "__dict__", ())), None)
        if inner is not None:
            yield from charged(inner)
        elif isinstance(step, SchemaEncoder):
            yield from of_schema(step.declared(), f" (step {name!r})")
        elif isinstance(getattr(step, "guarantee_", None), Guarantee) and hasattr(step, "digest"):
            yield Earlier(f"the scaler (step {name!r})", step.guarantee_, step.digest)


def remember(model: Any, found: Iterable[Earlier]) -> None:
    """Keep what was paid for before the model."""
    model.__dict__[_RECORD] = tuple(found)


def remembers(model: Any) -> bool:
    """Whether the model knows what was paid for before it, be it nothing."""
    return _RECORD in vars(model)


def remembered(model: Any) -> tuple[Earlier, ...]:
    """What was paid for before the model, as far as its fit could see."""
    found: tuple[Earlier, ...] = vars(model).get(_RECORD, ())
    return found


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
