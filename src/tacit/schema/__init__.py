"""Public facts about a table, and the bounded rows that they make of it."""

from typing import TYPE_CHECKING

from tacit.schema.columns import Category, Number, Target
from tacit.schema.curves import Bins, Hats
from tacit.schema.interactions import Pair
from tacit.schema.schema import Schema

if TYPE_CHECKING:
    from tacit.schema.encoder import SchemaEncoder

__all__ = ["Bins", "Category", "Hats", "Number", "Pair", "Schema", "SchemaEncoder", "Target"]


def __getattr__(name: str) -> object:
    """The encoder needs scikit-learn, which the other parts do without: it is loaded when it is asked for."""
    if name == "SchemaEncoder":
        from tacit.schema.encoder import SchemaEncoder

        return SchemaEncoder
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
