r"""D_priv of Kang et al. 2020b: the perturbed data set that DBDP-ERM returns beside its model. **Not private.**

* Algorithm 1 adds N(0, sigma^2) to every feature and leaves every label as it is. Labels have no guarantee at all;
  where they are public, the features of one record have that of a Gaussian mechanism, ``mu = 2 R / sigma`` for rows of
  norm R (:meth:`PerturbedData.feature_epsilon`).
* Algorithm 2, line 18: "if there is no perturbation, add the original one". A record that was never drawn, or drawn
  without noise, is handed over raw. T draws miss a record with probability ``(1 - 1/n)^T``, 0.37 in one pass over the
  data, so no epsilon holds at a smaller delta, whatever the constant c, line 9 and the noise are.

So it leaves this object only on an explicit word, with a warning, and no file holds it. A data set that may be
passed on is ``perturbed_data_`` of method 'input-local' (:mod:`tacit.mechanisms.local`), which has a proof.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.checks import RefutedWarning, check_positive, refuse
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, Sensitivity
from tacit.types import Array

INSTEAD = "A perturbed data set with a proof is perturbed_data_ of method='input-local'."
RAW = "D_priv holds every label as it is, and rows of features without noise as they are: raw records."


class PerturbedData:
    """Rows and labels in the order of the records; ``touched`` says which rows have noise.

    ``scale`` is the deviation of the noise where every record has its own, of one size (Algorithm 1), else None.
    """

    def __init__(
        self, rows: Array | None, labels: NDArray[Any] | None, touched: NDArray[np.bool_] | None,
        scale: float | None = None,
    ) -> None:  # fmt: skip
        self._rows, self._labels, self._touched, self._scale = rows, labels, touched, scale

    def release(self, *, raw_records: bool = False) -> tuple[Array, NDArray[Any]]:
        """The rows and their labels. ``raw_records=True`` is the word that you know what they are."""
        if not raw_records:
            refuse(f"{RAW} {INSTEAD} To look at it nevertheless: release(raw_records=True).")
        if self._rows is None or self._labels is None:
            refuse("D_priv is in no file: it was left out when the model was written. Fit again.")
        warnings.warn(f"REFUTED: {RAW} Do not pass it on. {INSTEAD}", RefutedWarning, stacklevel=2)
        return self._rows, self._labels

    def named(self, names: NDArray[Any]) -> PerturbedData:
        """The same with labels that are names, where they were codes 0, 1, ... of them."""
        labels = None if self._labels is None else names[self._labels]
        return PerturbedData(self._rows, labels, self._touched, self._scale)

    @property
    def untouched(self) -> float:
        """The fraction of rows that are as they were. From private records: for the curator only."""
        return math.nan if self._touched is None else 1.0 - float(self._touched.mean())

    def feature_epsilon(self, delta: float, *, radius: float = 1.0) -> float:
        """The epsilon of one record's features of norm at most ``radius``, its label being public, in real numbers.

        Infinite where rows may be left without noise, or share one draw of it: their differences have none.
        """
        moved = Sensitivity.of_record(check_positive("radius", radius))
        return accounting.epsilon((Gaussian(moved, self._scale, 1),), delta, "replace-one") if self._scale else math.inf

    def __repr__(self) -> str:
        return "PerturbedData(NOT PRIVATE)"

    def __reduce__(self) -> tuple[Any, ...]:
        return PerturbedData, (None, None, None)  # no file holds it
