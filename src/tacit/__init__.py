"""Tacit: learning from private data, with a guarantee that anyone can check.

Names are loaded when they are first asked for, so that ``import tacit`` takes a moment only.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from tacit._version import __version__ as __version__
from tacit.saving import hand_over as _hand_over

if TYPE_CHECKING:
    from tacit import audit as audit
    from tacit import datasets as datasets
    from tacit import features as features
    from tacit import influence as influence
    from tacit import nn as nn
    from tacit import protocol as protocol
    from tacit import published as published
    from tacit import statistics as statistics
    from tacit.checks import PrivacyError as PrivacyError
    from tacit.checks import RefutedWarning as RefutedWarning
    from tacit.data.curator import CuratorNote as CuratorNote
    from tacit.data.curator import MisuseWarning as MisuseWarning
    from tacit.estimators.additive import *  # noqa: F403
    from tacit.estimators.classification import *  # noqa: F403
    from tacit.estimators.regression import *  # noqa: F403
    from tacit.evaluation import evaluate as evaluate
    from tacit.files import load as load
    from tacit.files import save as save
    from tacit.files.predicting import predict_to as predict_to
    from tacit.ledger import Ledger as Ledger
    from tacit.nn import CNNClassifier as CNNClassifier
    from tacit.nn import MLPClassifier as MLPClassifier
    from tacit.privacy.desk import Statement as Statement
    from tacit.privacy.guarantee import Guarantee as Guarantee
    from tacit.privacy.together import spent as spent
    from tacit.schema import Schema as Schema
    from tacit.search import PrivateSearch as PrivateSearch
    from tacit.statistics import PrivateScaler as PrivateScaler
    from tacit.statistics import private_schema as private_schema
    from tacit.streams.scanned import scan as scan
    from tacit.types import Budget as Budget

_PLACES = {
    "Budget": "tacit.types",
    "CNNClassifier": "tacit.nn",
    "CuratorNote": "tacit.data.curator",
    "Guarantee": "tacit.privacy.guarantee",
    "Ledger": "tacit.ledger",
    "MLPClassifier": "tacit.nn",
    "MisuseWarning": "tacit.data.curator",
    "PrivacyError": "tacit.checks",
    "PrivateScaler": "tacit.statistics",
    "PrivateSearch": "tacit.search",
    "RefutedWarning": "tacit.checks",
    "Schema": "tacit.schema",
    "Statement": "tacit.privacy.desk",
    "evaluate": "tacit.evaluation",
    "load": "tacit.files",
    "predict_to": "tacit.files.predicting",
    "private_schema": "tacit.statistics",
    "save": "tacit.files",
    "scan": "tacit.streams.scanned",
    "spent": "tacit.privacy.together",
}
"""Where public names are, but for the estimators: those are what ``tacit.estimators`` lists, without a line here."""
_ROOMS = ("audit", "datasets", "features", "influence", "nn", "protocol", "published", "statistics")
_NEED_TORCH = ("CNNClassifier", "MLPClassifier")
_hand_over(lambda: import_module("tacit.files").save)


def __getattr__(name: str) -> object:
    """A public name, or a module with names of its own; ``from tacit import *`` gives what the plain install has."""
    if name in _ROOMS:
        return import_module(f"tacit.{name}")
    if name in _PLACES:
        return getattr(import_module(_PLACES[name]), name)
    if name == "__all__":
        return sorted({*_PLACES, *_estimators(), "__version__"} - {*_NEED_TORCH})
    # Only a class can be an estimator. ``from tacit import checks`` asks here first, before it looks for a module.
    if name[:1].isupper() and name in _estimators():
        return getattr(import_module("tacit.estimators"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    """What there is to use: without PyTorch, not the networks, whose names say what to install when they are asked."""
    absent = () if find_spec("torch") else (*_NEED_TORCH, "nn")
    return sorted({*_PLACES, *_ROOMS, *_estimators(), "__version__"} - {*absent})


def _estimators() -> list[str]:
    return list(import_module("tacit.estimators").__all__)
