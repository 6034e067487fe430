"""Which pictures and tables of a paper its page shows as tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Excerpt:
    """A picture or table of a figure that a page shows as a table: found by its title and, of pictures, what is up."""

    caption: str
    figure: str
    title: str
    y: str = ""
    x: Callable[[float], str] = "{:g}".format
    digits: int = 4


def _power(n: float) -> str:
    return f"2^{round(math.log2(n))}"


_ACCURACY = "Accuracy on test records over ε, Adult, logistic regression"
_GAP = "Optimality gap of the same models"
_QUIET = "Share of steps without noise over ε, logistic regression"
EXCERPTS = {
    "kang_2020a": (
        Excerpt(_ACCURACY, "figures2-3-lr", "adult", "accuracy"),
        Excerpt("The same on Breast Cancer, which is small", "figure4", "breast_cancer", "accuracy"),
    ),
    "fukuchi_2017": (
        Excerpt("RMSE of linear regression over n, ε = 0.1", "figure1", "epsilon = 0.1, delta = 0.01", "RMSE", _power),
        Excerpt(
            "Accuracy of classification over n, ε = 1", "figure2", "epsilon = 1.0, delta = 0.01", "accuracy", _power
        ),
    ),
    "kang_2023": (
        Excerpt(_ACCURACY, "figures1-2-lr", "adult", "accuracy"),
        Excerpt(_GAP, "figures1-2-lr", "adult", "optimality gap"),
        Excerpt(_QUIET, "figures1-2-lr", "Steps without noise"),
    ),
    "kang_2020b": (
        Excerpt(_ACCURACY, "figures1-2-lr", "adult", "accuracy"),
        Excerpt(_GAP, "figures1-2-lr", "adult", "optimality gap"),
        Excerpt(_QUIET, "figures1-2-lr", "Steps without noise"),
    ),
    "wang_2020": (
        Excerpt(
            "Logistic regression on MNIST, test accuracy in percent over ε, with the paper's own numbers", "table2",
            "Test accuracy of multi-class logistic regression, percent",
        ),
        Excerpt("The paper's network on MNIST after 15 epochs", "figure5", "After the last epoch"),
    ),
}  # fmt: skip
