"""A schema as a step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.data.origins import handing_on
from tacit.schema.schema import Schema
from tacit.types import Array


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A schema as the first step of a scikit-learn Pipeline; ``fit`` learns nothing from the table.

    ``schema``: a Schema, a dict of its entries, or the name of a file, which ``fit`` reads: what it said then holds.
    """

    def __init__(self, schema: Any, clip: float = 1.0) -> None:
        self.schema = schema
        self.clip = clip

    def fit(self, X: Any, y: Any = None) -> Self:
        """Read the schema, where it is not one yet; the table is not looked at."""
        self.schema_ = Schema.of(self.schema)
        return self

    def declared(self) -> Schema:
        """The schema: as ``fit`` found it, or as it is given."""
        found: Schema | None = vars(self).get("schema_")
        return Schema.of(self.schema) if found is None else found

    def transform(self, X: Any) -> Array:
        """Encode the table with the schema."""
        return self.declared().encode(X, self.clip)

    def _behind(self, X: Any) -> tuple[Schema, ...]:
        """What encoded rows were made with, where the schema was found in records."""
        return () if self.declared().found is None else (self.declared(),)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns."""
        return np.asarray(self.declared().features, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True


SchemaEncoder.transform = handing_on(SchemaEncoder.transform, SchemaEncoder._behind)  # type: ignore[method-assign]
