"""What all network classifiers share: declared labels, random first weights, predictions, the mean loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted
from torch import nn

from tacit.checks import check
from tacit.data.canonical import check_labels, column
from tacit.ledger import CarriesLedger
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source
from tacit.streams.scanned import check_in_memory
from tacit.types import Array

_NO_STREAM = (
    "Networks are trained on rows in memory, and these are files or a query. Read the table first, or use "
    "LogisticRegression or AdditiveClassifier, which read it again in every pass."
)


class NetworkFace(CarriesLedger, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Labels in, scores out. A classifier adds ``_network`` (what to build), ``_images`` (how to read X), ``fit``."""

    classes: Any
    regularization: float = 0.0
    guarantee_: Guarantee
    classes_: NDArray[Any]
    network_: nn.Module
    shape_: tuple[int, ...]

    def _network(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        raise NotImplementedError

    def _images(self, X: Any, reset: bool = False) -> torch.Tensor:
        raise NotImplementedError

    def _declare(self, X: Any) -> None:
        """The label set must be declared (``classes``). An earlier network goes: it has not the new guarantee."""
        check_in_memory(X, _NO_STREAM)
        self.__dict__.pop("network_", None)
        check(self.classes is not None, "Expected classes: the set of labels is public and declared, not read from y.")
        self.classes_ = np.unique(np.asarray(self.classes))
        check(len(self.classes_) >= 2, "Expected at least two classes.")

    def _codes(self, y: Any, records: int) -> torch.Tensor:
        """The place of every label in the declared set."""
        labels = np.asarray(column(y))
        check_labels(labels)
        check(len(labels) == records, "Expected as many labels as rows.")
        codes = np.minimum(np.searchsorted(self.classes_, labels), len(self.classes_) - 1)
        check(np.array_equal(self.classes_[codes], labels), "A label in y is not among classes. Add it, or drop it.")
        return torch.from_numpy(codes.astype(np.int64))

    def _build(self, source: Source) -> nn.Module:
        """The network with random first weights, which depend on no record; PyTorch's own stream is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(source.words(1)[0] >> np.uint64(1)))
            return self._network(self.shape_, len(self.classes_))

    def decision_function(self, X: Any) -> Array:
        """Scores, one column a class."""
        check_is_fitted(self, "network_")
        images = self._images(X)
        with torch.no_grad():
            return np.concatenate([self.network_(part).double().numpy() for part in torch.split(images, 1024)])

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the scores."""
        return np.asarray(torch.softmax(torch.from_numpy(self.decision_function(X)), dim=1).numpy())

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        return np.asarray(self.classes_[self.decision_function(X).argmax(axis=1)])

    def mean_loss(self, X: Any, y: Any, regularization: float | None = None) -> float:
        """Mean cross-entropy on these records, plus ``regularization/2 ||w||^2`` over all weights.

        None is the model's own regulariser, 0 where it has none. NOT PRIVATE when the records are.
        """
        scores = torch.from_numpy(self.decision_function(X))
        decay = self.regularization if regularization is None else regularization
        square = sum(float(p.detach().double().square().sum()) for p in self.network_.parameters())
        return float(nn.functional.cross_entropy(scores, self._codes(y, len(scores)))) + 0.5 * decay * square
