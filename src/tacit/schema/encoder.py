"""A schema as a step of a scikit-learn pipeline."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from tacit.schema.schema import Schema
from tacit.types import Array


class SchemaEncoder(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """A schema as the first step of a scikit-learn Pipeline; ``fit`` learns nothing."""

    def __init__(self, schema: Schema, clip: float = 1.0) -> None:
        self.schema = schema
        self.clip = clip

    def fit(self, X: Any, y: Any = None) -> Self:
        """Return the encoder unchanged."""
        return self

    def transform(self, X: Any) -> Array:
        """Encode the table with the schema."""
        return self.schema.encode(X, self.clip)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the encoded columns."""
        return np.asarray(self.schema.features, dtype=object)

    def __sklearn_is_fitted__(self) -> bool:
        return True
