"""Models of the made-up patients, private and not, each with its exact scores on the patients that were held out.

Exact scores are shown because the patients are made up by a public recipe (:mod:`tacit.datasets.hospital`). On private
data such a score is a release of its own.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import linear_model
from sklearn.compose import ColumnTransformer
from sklearn.metrics import roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, SplineTransformer

from tacit.datasets import hospital
from tacit.datasets.readers import Table
from tacit.estimators import AdditiveClassifier, LogisticRegression
from tacit.privacy.guarantee import Guarantee
from tacit.report.results import Marks, Shape
from tacit.schema import Category, Number, Schema
from tacit.types import Array

DELTA = 1e-6
"""Of everything that is trained here: well below one over the number of patients."""
CLASSES = ["no", "yes"]
_POINTS = 100
"""Points at which a true curve is drawn."""


@dataclass(frozen=True)
class Patients:
    """Some of them: their table, and its rows as the schema encodes them for a linear model."""

    table: Table = field(repr=False)
    rows: Array = field(repr=False)

    @property
    def returned(self) -> NDArray[Any]:
        """Who came back."""
        return self.table["returned"]

    @property
    def cells(self) -> NDArray[Any]:
        """The other columns as scikit-learn's transformers take them: an array of numbers and texts."""
        return np.column_stack([cells.astype(object) for name, cells in self.table.items() if name != "returned"])

    def marks(self, model: Any, rows: Any) -> Marks:
        """How well the model does on them, exactly; ``rows`` are theirs, in the form that it takes."""
        correct = 100.0 * float(np.mean(model.predict(rows) == self.returned))
        return Marks(correct, float(roc_auc_score(self.returned == "yes", model.decision_function(rows))))


@dataclass(frozen=True)
class Hospital:
    """Patients to train on, and others to score what was trained."""

    schema: Schema
    train: Patients
    test: Patients

    @classmethod
    def made_up(cls, trained: int, held_out: int) -> Hospital:
        """So many of each; the same ones every time."""
        table = hospital.patients(trained + held_out)
        schema = hospital.schema()
        parts = []
        for places in (slice(trained), slice(trained, None)):
            cells = {name: column[places] for name, column in table.items()}
            parts.append(Patients(cells, schema.encode(cells)))
        return cls(schema, *parts)

    def curves(self, epsilon: float) -> tuple[Marks, Guarantee]:
        """A private additive model, all settings at their defaults."""
        model = AdditiveClassifier(epsilon, schema=self.schema, delta=DELTA).fit(self.train.table)
        return self.test.marks(model, self.test.table), model.guarantee_

    def weights(self, epsilon: float, method: str = "auto") -> tuple[Marks, Guarantee]:
        """A private linear model: one weight for each column or value."""
        model = LogisticRegression(epsilon, classes=CLASSES, delta=DELTA, method=method)
        model.fit(self.train.rows, self.train.returned)
        return self.test.marks(model, self.test.rows), model.guarantee_

    def curves_without_privacy(self) -> Marks:
        """Logistic regression of scikit-learn's splines and one-hot columns."""
        texts = [place for place, column in enumerate(self.schema.columns) if isinstance(column, Category)]
        numbers = [place for place in range(len(self.schema.columns)) if place not in texts]
        bent = ColumnTransformer([("numbers", SplineTransformer(8), numbers), ("texts", OneHotEncoder(), texts)])
        model = make_pipeline(bent, linear_model.LogisticRegression(max_iter=1000))
        return self.test.marks(model.fit(self.train.cells, self.train.returned), self.test.cells)

    def weights_without_privacy(self) -> Marks:
        """scikit-learn's logistic regression, on the rows that private ones have."""
        model = linear_model.LogisticRegression(C=100.0, max_iter=1000).fit(self.train.rows, self.train.returned)
        return self.test.marks(model, self.test.rows)

    def guess(self) -> float:
        """The accuracy, in percent, of always giving the answer that is more frequent in training."""
        labels, counts = np.unique(self.train.returned.astype(str), return_counts=True)
        return 100.0 * float(np.mean(self.test.returned == labels[counts.argmax()]))

    def shapes(self) -> dict[str, Shape]:
        """The true shape of each column, moved so that its mean over the patients to train on is 0, as a term's is."""
        found = {}
        for column in self.schema.columns:
            true, cells = hospital.SHAPES[column.name], self.train.table[column.name]
            places: Any = column.values
            if isinstance(column, Number):
                places = np.linspace(column.lower, column.upper, _POINTS)
            values = true(places) - float(true(cells).mean())
            found[column.name] = Shape(tuple(places), tuple(values.tolist()))
        return found
