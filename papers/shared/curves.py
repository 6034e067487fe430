"""A curve of a figure: a method, and the settings among which it may choose."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import neural_network

import tacit
from papers.shared.choosing import Axis, Chosen
from tacit.types import Calibration

LAMBDA = 1e-3
"""The regulariser of every linear model here and of the optimum that gaps are measured from."""
RIDGE = 1e-5
"""That of published networks, which need one: the network without privacy, from which gaps are measured, has none."""
REFERENCE = "no privacy"

Shape = tuple[int, int]
Make = Callable[[Chosen, float, float | None, int, Shape], Any]
Resolve = Callable[[Chosen, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Curve:
    """``make(setting, epsilon, delta, seed, shape)`` gives the model to fit; no axes: nothing to choose."""

    label: str
    make: Make
    axes: tuple[Axis, ...] = ()


def as_given(setting: Chosen, records: int) -> Mapping[str, Any]:
    """A setting is the method's own."""
    del records
    return setting


def in_passes(name: str = "steps", rounds: int = 1) -> Resolve:
    """A setting ``passes`` over the records, as so many steps on single records in each of ``rounds``."""

    def resolved(setting: Chosen, records: int) -> Mapping[str, Any]:
        rest = {key: value for key, value in setting.items() if key != "passes"}
        return {**rest, name: max(1, round(setting["passes"] * records / rounds))}

    return resolved


def linear(
    label: str, method: Any, calibration: Calibration = "proven", *, axes: Sequence[Axis] = (),
    resolve: Resolve = as_given, strength: Callable[[float, int], float] | None = None,
) -> Curve:  # fmt: skip
    """Logistic regression by a method's name, a mechanism, or a function of the number of records that gives one.

    ``strength(epsilon, records)`` is the regulariser where a method cannot take ``LAMBDA``; a setting ``times``
    multiplies the regulariser, and no other setting is the method's.
    """

    def make(setting: Chosen, epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
        chosen = method(shape[0]) if callable(method) else method
        own = {name: value for name, value in resolve(setting, shape[0]).items() if name != "times"}
        least = strength(epsilon, shape[0]) if strength else LAMBDA
        return tacit.LogisticRegression(
            epsilon, delta=delta, method=replace(chosen, **own) if own else chosen, margin=0.0,
            calibration=calibration, regularization=least * setting.get("times", 1.0), classes=[0, 1],
            random_state=seed,
        )  # fmt: skip

    return Curve(label, make, tuple(axes))


def network(label: str, method: str, *, axes: Sequence[Axis] = (), resolve: Resolve = as_given, **fixed: Any) -> Curve:
    """A perceptron by a published algorithm, or by ``dp-sgd``; what is fixed may be a function of the records."""

    def make(setting: Chosen, epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
        from tacit.nn import MLPClassifier
        from tacit.published import PublishedMLPClassifier

        given = {name: value(shape[0]) if callable(value) else value for name, value in fixed.items()}
        asked: dict[str, Any] = {**given, **resolve(setting, shape[0])}
        shared: dict[str, Any] = {"delta": delta, "classes": [0, 1], "random_state": seed}
        if method == "dp-sgd":
            return MLPClassifier(epsilon, bounds=(-1.0, 1.0), **shared, **asked)
        return PublishedMLPClassifier(method, epsilon, **shared, **asked)

    return Curve(label, make, tuple(axes))


class _Plain(neural_network.MLPClassifier):  # type: ignore[misc]
    """A process trains it once on the same records: three papers compare with the same network."""

    def fit(self, X: Any, y: Any) -> Any:
        """The network that was fitted before, or this one."""
        told = hashlib.blake2b(repr(sorted(self.get_params().items())).encode())
        for part in (X, y):
            told.update(np.ascontiguousarray(part).tobytes())
        if told.digest() not in _FITTED:
            _FITTED[told.digest()] = super().fit(X, y)
        return _FITTED[told.digest()]


_FITTED: dict[bytes, _Plain] = {}


def _plain_network(setting: Chosen, epsilon: float, delta: float | None, seed: int, shape: Shape) -> Any:
    """The same perceptron, trained with Adam to convergence and no privacy; the papers' L* is of one too."""
    return _Plain((shape[1],), activation="tanh", alpha=0.0, learning_rate_init=0.003, max_iter=200, random_state=seed)


LINEAR_REFERENCE = linear(REFERENCE, "output")
"""The minimiser itself: epsilon is infinite."""
NETWORK_REFERENCE = Curve(REFERENCE, _plain_network)
