"""Pipelines in files: Tacit's own steps, the model at the end as its own file would have it, one checksum over all.

The whole is JSON where the model is, and the metadata of a safetensors file where the model is a network. It costs what
its parts cost together: what steps released, and then the model.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from tacit.checks import PrivacyError, check, refuse
from tacit.estimators.earlier import Earlier, listed_before, remember, remembered
from tacit.estimators.tabled import nameless
from tacit.files.sealing import sealed
from tacit.files.steps import Entry, read_step, write_step
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.theorems import RECORD
from tacit.privacy.together import Together
from tacit.reading import need
from tacit.statistics import PrivateScaler

FORMAT = "tacit-pipeline"
VERSION = 1
_FIELDS = {"format", "version", "steps", "last", "model"}


class Wrapped(NamedTuple):
    """The steps before a model, the name of the model's own step, and what the file says of the model."""

    steps: list[tuple[str, Any]]
    last: str
    model: Any


def promised(own: tuple[Guarantee, ...], paid: tuple[Earlier, ...]) -> tuple[Guarantee | Together, ...]:
    """What a file promises: the model's guarantees as they are, or each together with what was released before."""
    if not paid:
        return own
    labels = ("the record" if guarantee.protects == RECORD else "the model" for guarantee in own)
    before = tuple((one.label, one.guarantee) for one in paid)
    return tuple(Together((*before, pair)) for pair in zip(labels, own, strict=True))


def split(pipeline: Any) -> tuple[list[tuple[str, Any]], str, Any]:
    """The steps of a pipeline, the name of the last one, and the model in it.

    The model goes without names of columns where a step stands before it: names are the first step's.
    """
    check(pipeline.steps, "Expected a pipeline with a model at its end.")
    *steps, (last, model) = pipeline.steps
    return steps, last, nameless(model) if steps else model


def wrapped(steps: list[tuple[str, Any]], last: str, model: Mapping[str, Any]) -> Entry:
    """The content of a pipeline's file; ``model`` is that of the model's own."""
    entries = [write_step(name, step) for name, step in steps]
    content = {"format": FORMAT, "version": VERSION, "steps": entries, "last": last, "model": dict(model)}
    return sealed(content)


def is_pipeline(data: object) -> bool:
    """Whether this says of itself that it is a pipeline."""
    return isinstance(data, dict) and data.get("format") == FORMAT


def unwrapped(data: Mapping[str, Any]) -> Wrapped:
    """What :func:`wrapped` described, with every field but the model's checked."""
    if type(data.get("version")) is not int or data["version"] != VERSION:
        refuse("This pipeline's file was written by a later version of Tacit. Upgrade to read it.")
    content = {key: value for key, value in data.items() if key != "checksum"}
    if data.get("checksum") != checksum(content):
        refuse("This pipeline's file was changed after it was written: its checksum does not match.")
    try:
        need(set(content) == _FIELDS, "Its fields are not those of a pipeline's file.")
        need(isinstance(content["steps"], list), "Its steps are not a list.")
        steps = [read_step(entry) for entry in content["steps"]]
        last = content["last"]
        need(isinstance(last, str) and last.isprintable(), "The name of its last step is not one line of text.")
        names = [*(name for name, _ in steps), last]
        need(len(set(names)) == len(names) and not any("__" in name for name in names), "Its steps have no fit names.")
        return Wrapped(steps, last, content["model"])
    except PrivacyError:
        raise
    except (KeyError, TypeError, ValueError, ArithmeticError) as error:
        raise PrivacyError("This pipeline's file is incomplete or malformed; it was not loaded.") from error


def joined(found: Wrapped, model: Any) -> Any:
    """The pipeline with this model at its end."""
    from sklearn.pipeline import Pipeline  # slow to load, and needed for nothing else

    for _, step in found.steps:
        if isinstance(step, PrivateScaler):
            remember(step, listed_before(step, remembered(model)))
    return Pipeline([*found.steps, (found.last, model)])


def entrance(model: Any) -> int:
    """How many columns a model takes: an additive one those of its table."""
    own = vars(model).get("schema_")
    return len(own.names) if own is not None else int(model.n_features_in_)
