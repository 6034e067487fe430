"""What all network classifiers share: declared labels, random first weights, predictions, the mean loss."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted, validate_data
from torch import nn

from tacit.checks import check, either, shown
from tacit.data.canonical import check_labels, check_names, column
from tacit.estimators.coded_targets import label_set, places_in
from tacit.ledger import CarriesLedger
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.noise import Source
from tacit.streams.scanned import check_in_memory
from tacit.types import Array

_NO_STREAM = (
    "Networks are trained on rows in memory, and these are files or a query. Read the table first, or use "
    "LogisticRegression or AdditiveClassifier, which read it again in every pass."
)


def check_device(name: str) -> None:
    """Say which devices there are, unless PyTorch can compute on this one in double precision."""
    try:
        fits = torch.zeros(1, dtype=torch.float64, device=name).sum().item() == 0.0
    except (AssertionError, NotImplementedError, RuntimeError, TypeError):  # no such device, or not in this PyTorch
        fits = False
    check(
        fits,
        f"PyTorch cannot train on device={shown(name)}: there is no such device here, or this PyTorch was built "
        f"without support for it. Use {either(_devices())}.",
    )


def _devices() -> list[str]:
    return ["device='cpu'", *(f"device='cuda:{place}'" for place in range(torch.cuda.device_count()))]


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
        self.classes_ = label_set(self.classes)

    def _see_names(self, X: Any, reset: bool) -> None:
        """Note the names of a table's columns, or compare them with those noted; arrays and images have none."""
        if reset:
            self.__dict__.pop("feature_names_in_", None)
        if hasattr(X, "__dataframe__"):
            check_names(X)
            validate_data(self, X, y="no_validation", reset=reset, skip_check_array=True)

    def _codes(self, y: Any, records: int) -> torch.Tensor:
        """The place of every label in the declared set."""
        labels = np.asarray(column(y))
        check_labels(labels)
        check(labels.shape == (records,), "Expected y to contain one label for each row.")
        return torch.from_numpy(places_in(self.classes_, labels).astype(np.int64))

    def _build(self, source: Source) -> nn.Module:
        """The network with random first weights, which depend on no record; PyTorch's own stream is left alone."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(int(source.words(1)[0] >> np.uint64(1)))
            return self._network(self.shape_, len(self.classes_))

    def decision_function(self, X: Any) -> Array:
        """Scores, one column per class."""
        check_is_fitted(self, "network_")
        images = self._images(X)
        with torch.no_grad():
            return np.concatenate([self.network_(part).double().numpy() for part in torch.split(images, 1024)])

    def predict_proba(self, X: Any) -> Array:
        """Softmax of the scores."""
        return np.asarray(torch.softmax(torch.from_numpy(self.decision_function(X)), dim=1).numpy())

    def predict(self, X: Any) -> NDArray[Any]:
        """The class with the largest score."""
        scores = self.decision_function(X)
        return np.asarray(self.classes_[scores.argmax(axis=1)])

    def mean_loss(self, X: Any, y: Any, regularization: float | None = None) -> float:
        """Mean cross-entropy on these records, plus ``regularization/2 ||w||^2`` over all weights.

        None is the model's own regulariser, 0 where it has none. NOT PRIVATE when the records are.
        """
        scores = torch.from_numpy(self.decision_function(X))
        decay = self.regularization if regularization is None else regularization
        square = sum(float(p.detach().double().square().sum()) for p in self.network_.parameters())
        return float(nn.functional.cross_entropy(scores, self._codes(y, len(scores)))) + 0.5 * decay * square
