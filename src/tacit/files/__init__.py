"""Files of fitted models, safe to load from a stranger: one writer and one reader for linear models and networks.

A linear model is one JSON text, a network one safetensors file. Reading builds nothing but numbers and text: every
type, shape and size is checked, and whatever does not fit is a :class:`~tacit.checks.PrivacyError` with one sentence.
The seed of an experiment is never written: whoever knows it can remove the noise.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from tacit.checks import check
from tacit.estimators.base import PrivateLinear
from tacit.files import models, tensors
from tacit.privacy.guarantee import Guarantee
from tacit.reading import LARGEST, named, parse, read_bytes
from tacit.schema import Schema

__all__ = ["ModelFile", "load", "save", "stated"]


class ModelFile(NamedTuple):
    """What a model file holds: a fitted model, and the schema that encodes tables for it."""

    model: Any
    schema: Schema | None


def save(model: Any, path: str | Path, schema: Schema | None = None) -> None:
    """Write a fitted model to one file, whole or not at all: JSON for a linear model, safetensors for a network.

    Edges: ``random_state`` is not written; a mechanism object given as ``method`` is written as 'auto' (its settings
    and noise are in the guarantee); a network is read back with ``device='cpu'``, and has no schema.
    """
    if isinstance(model, PrivateLinear):
        models.save(model, path, schema)
        return
    check(
        hasattr(model, "network_"),
        "Expected a fitted model of Tacit to save; of a search or a pipeline, save the model in it (best_estimator_).",
    )
    check(schema is None, "A network has no schema: it takes rows or images.")
    _networks().save(model, path)


def load(path: str | Path, *, accept_uncovered: bool = False) -> ModelFile:
    """Read what :func:`save` wrote; raises PrivacyError for a tampered, truncated or foreign file.

    ``accept_uncovered`` also reads network files of version 1, whose checksum did not cover the weights: use it only
    for files whose origin you trust, and save them again.
    """
    with named(path):
        if tensors.holds_tensors(path):
            return ModelFile(_networks().load(path, accept_uncovered=accept_uncovered), None)
        return ModelFile(*models.from_dict(parse(read_bytes(path, LARGEST))))


def _networks() -> Any:
    """What builds networks: it needs PyTorch, and says so in a sentence where that is not installed."""
    try:
        from tacit.files import networks
    except ImportError as error:
        raise ImportError("A network's file needs PyTorch. Install it with: pip install 'tacit[torch]'.") from error
    return networks


def stated(path: str | Path) -> tuple[Guarantee, ...]:
    """What a file promises: a model file, a network file (without PyTorch), or a guarantee alone.

    Of the model, then, where there is one, of one record.
    """
    with named(path):
        if tensors.holds_tensors(path):
            return (tensors.read(path).guarantee,)
        data = parse(read_bytes(path, LARGEST))
        return models.guarantees(data) if models.is_model(data) else (Guarantee.from_dict(data),)
