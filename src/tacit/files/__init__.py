"""Files of fitted models, safe to load from an unknown source: one writer and one reader for all that Tacit trains.

Linear and additive models are one JSON text, networks one safetensors file, pipelines of Tacit's own steps whatever
their model is. Which it is, the content tells, not the name. Reading builds nothing but numbers and text: every type,
shape and size is checked, and whatever does not fit is a :class:`~tacit.checks.PrivacyError` with one sentence. The
seed of an experiment is never written: anyone who knows it can remove the noise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from sklearn.utils.validation import check_is_fitted

from tacit.arguments import checked
from tacit.checks import ForeignFile, PrivacyError, check
from tacit.estimators.base import PrivateLinear
from tacit.estimators.earlier import charged, earlier_of, remember, remembered, remembers
from tacit.estimators.tabled import schema_within
from tacit.files import models, tensors
from tacit.files.pipelines import entrance, is_pipeline, joined, promised, split, unwrapped, wrapped
from tacit.files.steps import objection
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.statements import SCORES, TABLE
from tacit.privacy.together import Together
from tacit.reading import LARGEST, named, need, parse, read_bytes, write_whole
from tacit.schema import Schema
from tacit.statistics import PrivateScaler

__all__ = ["ModelFile", "load", "save", "stated"]

_SCALER = (
    "A scaler is saved with the model that it scales for. Fit both as one pipeline, make_pipeline(scaler, model), and "
    "save that."
)
_NOT_READ = (
    "Nothing was written, because tacit.load would refuse the file. {error} If settings were changed after the fit, "
    "set them back to what they were, or fit again."
)
_NO_MODEL = (
    "Expected a fitted model of Tacit, a PrivateSearch, or a scikit-learn Pipeline that ends in a model of Tacit, not "
    "{name}."
)
_SCHEMA_STEP = "The schema of a pipeline is that of its first step, SchemaEncoder(schema): leave out schema=."
_NO_SCHEMA = (
    "A network takes rows, so its file has no schema. Save both as a pipeline: "
    "tacit.save(make_pipeline(SchemaEncoder(schema), network), path)."
)


_RELEASED = (
    {"level", "classes", "positive", "scores", "guarantee"},
    {"records", "level", "columns", "left_out", "schema", "guarantee"},
)
"""What stands in the files of scores and of tables of statistics."""
_FOREIGN = (
    "This is not a Tacit file: it is neither a model, nor scores or statistics with their guarantee, nor a guarantee "
    "or a ledger."
)


class ModelFile(NamedTuple):
    """What a model file contains: a fitted model or pipeline, and the schema that encodes tables for it.

    An additive model, and a pipeline that begins with a SchemaEncoder, take tables as they are: they encode themselves.
    """

    model: Any
    schema: Schema | None


@checked
def save(model: Any, path: str | Path, schema: Schema | None = None) -> None:
    """Write a fitted model to one file, whole or not at all: JSON, or safetensors for a network.

    ``model``: any estimator of Tacit; a :class:`~tacit.PrivateSearch`, of which the chosen model is written; or a
    scikit-learn ``Pipeline`` of SchemaEncoder, PrivateScaler and features of Tacit with a model of Tacit at the end.
    ``schema``: the one that encoded the rows of a linear model.

    Edges: ``random_state`` is not written; a mechanism object given as ``method`` is written as 'auto' (its settings
    and noise are in the guarantee); a network is read back with ``device='cpu'``. Steps that are not Tacit's are
    refused: what they learned, no guarantee covers. So are a scaler and a model of which one protects rows and the
    other people: they have no price together.
    """
    from sklearn.pipeline import Pipeline  # slow to load, and reading needs neither

    from tacit.search import PrivateSearch

    if isinstance(model, PrivateSearch):
        check_is_fitted(model, "best_estimator_")
        model = model.best_estimator_  # which carries the guarantee of the whole search
    if type(model) is Pipeline:
        check(schema is None, _SCHEMA_STEP)
        _save_pipeline(model, path)
        return
    check(not isinstance(model, PrivateScaler), _SCALER)
    if isinstance(model, PrivateLinear):
        whole = models.written(model, schema)
        promised(models.guarantees_of(model), earlier_of(model, schema=schema_within(model) or schema))
        _write(path, whole)
        return
    check(hasattr(model, "network_"), _NO_MODEL.format(name=type(model).__name__))
    check(schema is None, _NO_SCHEMA)
    promised((model.guarantee_,), remembered(model))
    _write(path, _networks().written(model))


def _save_pipeline(pipeline: Any, path: str | Path) -> None:
    steps, last, model = split(pipeline)
    linear = isinstance(model, PrivateLinear)
    check(linear or hasattr(model, "network_"), _NO_MODEL.format(name=f"one that ends in {type(model).__name__}"))
    wrapped(steps, last, {})  # what a file has no place for is refused first
    check_is_fitted(model, "coef_" if linear else "network_")
    wrong = objection(steps, entrance(model))
    check(not wrong, wrong)
    own = models.guarantees_of(model) if linear else (model.guarantee_,)
    promised(own, earlier_of(model, steps, schema_within(model)))
    if linear:
        _write(path, models.encoded(wrapped(steps, last, models.described(model, steps=steps))))
    else:
        _write(path, _networks().written(model, steps, last))


def _write(path: str | Path, whole: bytes) -> None:
    """Write a file that can be read back, or none: the one that was there stays."""
    try:
        if tensors.starts_tensors(whole):
            _networks().built(tensors.checked_file(whole))
        else:
            _read(parse(whole))
    except PrivacyError as error:
        raise ValueError(_NOT_READ.format(error=error)) from error
    write_whole(path, whole)


@checked
def load(path: str | Path, *, accept_uncovered: bool = False) -> ModelFile:
    """Read what :func:`save` wrote; raises PrivacyError for a tampered, truncated or foreign file.

    ``accept_uncovered`` also reads network files of version 1, whose checksum did not cover the weights: use it only
    for files whose origin you trust, and save them again.
    """
    with named(path):
        if tensors.holds_tensors(path):
            model = _networks().built(tensors.read(path, accept_uncovered=accept_uncovered))
            return ModelFile(model, schema_within(model))
        model, schema, _ = _read(parse(read_bytes(path, LARGEST)))
        return ModelFile(model, schema)


def _read(data: object) -> tuple[Any, Schema | None, tuple[Guarantee | Together, ...]]:
    """The model or pipeline of a JSON file, its schema, and what it promises."""
    if not (isinstance(data, dict) and is_pipeline(data)):
        model, schema = models.from_dict(data)
        remember(model, earlier_of(model, schema=schema))  # so that it is paid for wherever the model is saved next
        return model, schema, promised(models.guarantees_of(model), remembered(model))
    before = unwrapped(data)
    model, schema = models.from_dict(before.model)
    wrong = objection(before.steps, entrance(model))
    need(not wrong, wrong)
    if not remembers(model):  # of a file before version 6, which has the guarantees of its steps alone
        remember(model, charged(before.steps))
    whole = joined(before, model)
    return whole, schema_within(whole), promised(models.guarantees_of(model), earlier_of(model, before.steps, schema))


def _networks() -> Any:
    """What builds networks: it needs PyTorch, and says so in a sentence where that is not installed."""
    try:
        from tacit.files import networks
    except ImportError as error:
        raise ImportError("A network's file needs PyTorch. In Tacit's source: pip install '.[torch]'.") from error
    return networks


def stated(path: str | Path) -> tuple[Guarantee | Together, ...]:
    """What a file promises: a model file, a network file (without PyTorch), scores or a table of statistics with their
    guarantee, or a guarantee alone. A file that is none of these is a :class:`~tacit.checks.ForeignFile`.

    Of the model, then, where there is one, of one record. Where something else was paid for before the model was
    trained, a scaler or a schema, each is the whole: everything that the file releases, priced together.
    """
    with named(path):
        if tensors.holds_tensors(path):
            file = tensors.read(path)
            return promised((file.guarantee,), file.paid)
        raw = read_bytes(path, LARGEST)
        if not raw.lstrip().startswith(b"{"):
            raise ForeignFile(_FOREIGN)
        data = parse(raw)
        return _read(data)[2] if models.is_model(data) or is_pipeline(data) else _beside(data)


def _beside(data: object) -> tuple[Guarantee, ...]:
    """A guarantee alone, or the one that stands beside released numbers; of these with a found schema, that of both."""
    if isinstance(data, dict) and "format" not in data:
        kept, schema = data.get("guarantee"), data.get("schema")
        if set(data) not in _RELEASED or not isinstance(kept, dict) or "format" not in kept:
            raise ForeignFile(_FOREIGN)  # a model's file without its first entry too, which says what else was paid for
        own = Guarantee.from_dict(kept)
        need(own.protects in (SCORES, TABLE), "Its guarantee is not one of scores or of a table.")
        found = schema.get("found") if isinstance(schema, dict) else None
        if found is None:
            return (own,)
        need(isinstance(found, dict), "Its schema is not one that was found.")
        earlier = Guarantee.from_dict(found.get("guarantee"))
        return (own,) if earlier == own else (own, earlier)
    return (Guarantee.from_dict(data),)
