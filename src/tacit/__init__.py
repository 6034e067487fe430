"""Tacit: learning from private data, with a guarantee that anyone can check."""

from tacit._version import __version__
from tacit.checks import PrivacyError
from tacit.estimators import LinearRegression, LinearSVC, LogisticRegression
from tacit.files import load, save
from tacit.privacy.guarantee import Guarantee, spent
from tacit.schema import Schema
from tacit.training import RefutedWarning
from tacit.types import Budget

__all__ = [
    "Budget",
    "Guarantee",
    "LinearRegression",
    "LinearSVC",
    "LogisticRegression",
    "PrivacyError",
    "RefutedWarning",
    "Schema",
    "__version__",
    "load",
    "save",
    "spent",
]


def __getattr__(name: str) -> object:
    """The networks, which need PyTorch, are loaded when they are asked for."""
    if name in ("CNNClassifier", "MLPClassifier"):
        from tacit import nn

        return getattr(nn, name)
    raise AttributeError(f"module 'tacit' has no attribute {name!r}")
