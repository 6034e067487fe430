"""From unfitted models of the library to what figures ask of fitted ones: plans, first weights, training, scores."""

from __future__ import annotations

import functools
import math
import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from scipy.optimize import minimize
from torch.nn.utils import parameters_to_vector

import tacit
from papers.perceptrons import algorithms
from papers.perceptrons.stack import Stack
from papers.perceptrons.walking import Noise, Records
from papers.shared.together import Measured
from tacit.estimators.base import budget_of, source_from
from tacit.mechanisms import Chosen
from tacit.nn import MLPClassifier
from tacit.nn.train import NetworkLoss
from tacit.published.networks import METHODS
from tacit.published.perceptron import Settings
from tacit.training import Prepared, prepare
from tacit.types import Budget, Facts

Part = tuple[np.ndarray, np.ndarray]
LEAST_CHANCE = 1e-300
"""A record's probability is at least this in a mean loss, as in :func:`papers.shared.accuracy.mean_loss`."""
_BUILDING = threading.Lock()
BLOCK = 4096
"""Records scored at a time."""


@dataclass(frozen=True)
class Member:
    """A model to train: its plan and status, first weights, and the algorithm with what must be shared to go along."""

    model: Any
    plan: Any
    status: str
    company: tuple[Any, ...]


def member(model: Any, shape: tuple[int, int]) -> Member:
    """The public part of a fit: no record is an argument."""
    records, columns = shape
    model.classes_, model.shape_ = np.array([0, 1]), (columns,)
    size = columns * columns + 3 * columns + 2
    if isinstance(model, MLPClassifier):
        budget = budget_of(model.epsilon, model.delta, model.adjacency, records)
        found = _priced(model._mechanism(budget, records), budget, records, size)
        priced: Any = found.plan
        return Member(model, priced, found.guarantee.status, ("dp_sgd", priced.steps, priced.sampler.rate))
    rate = METHODS[model.method] if model.step is None else model.step
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tacit.RefutedWarning)  # every point carries its status
        found = model._prepare(records, size, rate, True)
    plan: Any = found.plan
    plan = replace(plan, rate=rate)
    names = {
        "pidp-sgd": ("pidp_sgd", "rounds", "local", "pretrained"),
        "pi-dbdp-erm": ("pi_dbdp_erm", "rounds", "local"),
    }.get(model.method, ("perturbed_input", "steps", "batch", "shared"))
    own = tuple(getattr(model, field.name) for field in fields(Settings))
    return Member(model, plan, found.guarantee.status, (names[0], *(getattr(plan, name) for name in names[1:]), *own))


@functools.cache
def _priced(mechanism: Any, budget: Budget, records: int, size: int) -> Prepared:
    facts = Facts(records=records, features=size, outputs=1, radius=1.0, loss=NetworkLoss(outputs=2))
    return prepare(facts, Chosen("dp-sgd", mechanism, budget), seeded=True)


class Yard:
    """One data set on a device, and the fleets that are trained on it."""

    def __init__(self, parts: Sequence[Part], device: str, dtype: torch.dtype) -> None:
        self.kind: dict[str, Any] = {"device": torch.device(device), "dtype": dtype}
        self.train, self.valid, self.test = (self._placed(part) for part in parts)
        self.plain = parts[0]
        self.shape: tuple[int, int] = parts[0][0].shape
        self._minima: dict[Any, torch.Tensor] = {}
        self._minimising = threading.Lock()

    def _placed(self, part: Part) -> Records:
        x, y = part
        rows = torch.from_numpy(np.ascontiguousarray(x, dtype=np.float64)).to(**self.kind)
        return Records(rows, torch.from_numpy(np.asarray(y, dtype=np.int64)).to(self.kind["device"]))

    def start(self, model: Any, pretrained: bool) -> torch.Tensor:
        """The library's own first weights for this seed, or its near minimiser from there."""
        with _BUILDING:  # by way of PyTorch's own stream, which all threads share
            network = model._build(source_from(model.random_state))
        if not pretrained:
            return parameters_to_vector(network.parameters()).detach().double()
        with self._minimising:
            key = (model.random_state, model.regularization, model.pretraining)
            if key not in self._minima:
                self._minima[key] = self.minimum(network, model.regularization, model.pretraining)
            return self._minima[key]

    def minimum(self, network: Any, ridge: float, most: int) -> torch.Tensor:
        """A near minimiser of the regularised mean loss: :meth:`tacit.published.perceptron.Perceptron.minimise`."""
        device, start = self.kind["device"], parameters_to_vector(network.parameters()).detach().double().numpy()
        x, y = (torch.from_numpy(np.ascontiguousarray(part)).to(device)[None] for part in self.plain)
        x, y = x.double(), y.long()

        def value(point: np.ndarray) -> tuple[float, np.ndarray]:
            stack = Stack(torch.from_numpy(point.copy()).to(device)[None], self.shape[1], ridge)
            scores = stack.scores(x)[0]
            mean = torch.nn.functional.cross_entropy(scores, y[0]) + 0.5 * ridge * stack.flat.square().sum()
            return float(mean), stack.mean_gradient(x, y)[0].cpu().numpy()

        found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": most})
        return torch.from_numpy(found.x)

    def trained(self, members: Sequence[Member], seed: int) -> list[Measured]:
        """Train members of one company, and score them; ``seed`` is that of choices and noise."""
        name, first = members[0].company[0], members[0]
        noise = Noise(torch.Generator(self.kind["device"]).manual_seed(seed), **self.kind)
        models, plans = [m.model for m in members], [m.plan for m in members]
        pretrained = name == "pi_dbdp_erm" or (name == "pidp_sgd" and first.plan.pretrained)
        weights = torch.stack([self.start(model, pretrained) for model in models]).to(**self.kind)
        stack = Stack(weights, self.shape[1], getattr(first.model, "regularization", 0.0))
        run: Callable[..., torch.Tensor | None] = getattr(algorithms, name)
        quiet = run(stack, self.train, plans, models if name == "dp_sgd" else first.model, noise)
        stack.flat.copy_(torch.nan_to_num(stack.flat, nan=0.0, posinf=1e30, neginf=-1e30))
        found = [self.scored(stack, part) for part in (self.train, self.valid, self.test)]
        return [
            Measured(
                m.status, None if quiet is None else float(quiet[i]), (found[1][0][i], -found[1][1][i]),
                found[2][0][i], found[0][1][i],
            )
            for i, m in enumerate(members)
        ]  # fmt: skip

    def scored(self, stack: Stack, part: Records) -> tuple[list[float], list[float]]:
        """Accuracy and mean loss of every network; of equal scores the first class counts."""
        right = torch.zeros(len(stack.flat), dtype=torch.float64, device=self.kind["device"])
        loss = torch.zeros_like(right)
        for x, y in zip(part.x.split(BLOCK), part.y.split(BLOCK), strict=True):
            scores = stack.scores(x[None]).double()
            right += ((scores[:, :, 1] > scores[:, :, 0]) == (y == 1)).sum(1)
            own = torch.where(y == 1, scores[:, :, 0] - scores[:, :, 1], scores[:, :, 1] - scores[:, :, 0])
            loss += torch.nn.functional.softplus(own).clamp(max=-math.log(LEAST_CHANCE)).sum(1)
        return (right / part.count).tolist(), (loss / part.count).tolist()
