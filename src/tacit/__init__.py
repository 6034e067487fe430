"""Tacit: learning from private data, with a guarantee that anyone can check."""

from tacit._version import __version__
from tacit.bounds import Schema
from tacit.checks import PrivacyError
from tacit.estimators import LinearRegression, LinearSVC, LogisticRegression
from tacit.fit import RefutedWarning
from tacit.guarantee import Guarantee, spent
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
    "spent",
]
