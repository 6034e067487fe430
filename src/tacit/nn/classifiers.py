"""The scikit-learn face of private networks: a budget goes in, a classifier with a guarantee comes out."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any, Literal, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from tacit.arguments import check_fields
from tacit.checks import check, check_choice, check_count, check_positive, pair_of
from tacit.data.canonical import plain
from tacit.estimators.base import budget_of, source_from
from tacit.estimators.counted import counted
from tacit.estimators.earlier import check_together, of_rows, remembered
from tacit.estimators.misuse import Watched, watch
from tacit.estimators.notes import note_fit
from tacit.ledger import Ledger
from tacit.linear.smoothing import check_smoothing
from tacit.mechanisms.base import Chosen
from tacit.nn.architectures import cifar_network, mlp_network, mnist_network
from tacit.nn.estimator import NetworkFace, check_device
from tacit.nn.hook import smooth
from tacit.nn.train import NetworkDescent, NetworkLoss, NetworkPlan, NetworkProblem, Progress
from tacit.saving import Saved
from tacit.settings import described
from tacit.training import prepare, train
from tacit.types import RADII, Adjacency, Budget, Facts

OptimizerName = Literal["sgd", "adam"]
_BLOCK = 2**20
MOST_EPOCHS = 10**6


def default_batch(records: int) -> int:
    """The expected batch, ``8 sqrt(n)`` (2,000 for n = 60,000): large batches carry more signal for the same noise."""
    return max(1, min(records, round(8 * math.sqrt(records))))


def default_epochs(epsilon: float) -> int:
    """Passes over the data: 10 at epsilon = 1, as the square root of epsilon, between 4 and 40."""
    return int(min(40, max(4, round(10 * math.sqrt(min(epsilon, 1e4))))))


@dataclass(eq=False, repr=False)
class _NetworkClassifier(Saved, Watched, NetworkFace):
    """What the private classifiers share: settings, public bounds, the run.

    Parameters
    ----------
    classes : array-like
        The labels: required.
    bounds : pair of floats or None
        The public lower and upper bound of every input: required, except for bytes (uint8), which are 0 to 255. Inputs
        outside are clipped to them, and NaN becomes the middle.
    activation : str
        The activation between layers, such as 'tanh' or 'relu'.
    smoothing : float
        Sigma of Laplacian smoothing; 0 for none.
    optimizer : {'sgd', 'adam'}
        What takes the steps.
    step : float or None
        The first step size. None: by a rule, from public facts.
    momentum : float
        The momentum; of Adam, its first beta.
    clip : float
        The largest norm of one record's gradient.
    batch : int or None
        The expected number of records in a Poisson batch. None: 8 sqrt(n).
    epochs : float or None
        Passes over the records. None: by a rule, from epsilon. Training never stops early: the number of steps is
        public.
    device : str
        The torch device, as in 'cpu' or 'cuda'.
    verbose : bool
        Whether progress is shown, with epsilon so far.
    """

    epsilon: float | Literal["rest"] = 1.0
    _: KW_ONLY
    delta: float | None = None
    adjacency: Adjacency = "replace-one"
    classes: Any = None
    bounds: tuple[float, float] | None = None
    activation: str = "tanh"
    smoothing: float = 0.0
    optimizer: OptimizerName = "sgd"
    step: float | None = None
    momentum: float = 0.9
    clip: float = 1.0
    batch: int | None = None
    epochs: int | None = None
    rows_per_person: int | None = None
    device: str = "cpu"
    verbose: bool = False
    random_state: Any = None
    ledger: Ledger | str | None = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> Self:
        """Train privately on rows or images; the guarantee is set before a record is touched.

        The label set must be declared (``classes``); the number of records is public. ``groups`` names the person of
        each row: then all rows of a person are protected at once, and ``rows_per_person`` must be declared.
        """
        self._check_declared()
        self._declare(X)
        watch(self, of_rows(X))
        images = self._images(X, reset=True)
        labels = self._codes(y, len(images))
        own = counted(groups, None, len(labels), self.rows_per_person, 1.0)
        if own.people is not None:
            kept = torch.from_numpy(own.people.rows)
            images, labels = images[kept], labels[kept]
        source = source_from(self.random_state)
        network = self._build(source).to(self.device)
        budget = budget_of(self.epsilon, self.delta, self.adjacency, own.count, self.ledger)
        mechanism = self._mechanism(budget, own.count)
        size = sum(p.numel() for p in network.parameters())
        facts = Facts(
            records=own.count, features=size, outputs=1, radius=1.0, loss=NetworkLoss(outputs=len(self.classes_)),
            rows_per_person=own.rows_per_person,
        )  # fmt: skip
        low, high = self._range()
        prepared = prepare(
            facts, Chosen("dp-lssgd" if self.smoothing else "dp-sgd", mechanism, budget), seeded=source.seeded,
            assumptions=(f"inputs clipped to [{low:g}, {high:g}]", "the set of labels was declared", *own.words),
        )  # fmt: skip
        check_together(remembered(self), "the model", prepared.guarantee)
        chosen, schedule = self._optimizer(network, mechanism.steps)
        assert isinstance(prepared.plan, NetworkPlan)  # for the type checker
        progress = Progress(prepared.plan, budget, self.verbose)

        def after_step(step: int) -> None:
            schedule.step()
            progress(step)

        placed = images.to(self.device), labels.to(self.device)
        problem = NetworkProblem(network, chosen, *placed, after_step, own.shares)
        train(prepared, problem, source, lambda made: setattr(self, "guarantee_", made.guarantee), ledger=self.ledger)
        self.network_ = network.cpu().eval()
        note_fit(own.count, self._picked(images))
        return self

    def _check_declared(self) -> None:
        """Wrong settings end a fit here, before it looks at a record."""
        check_fields(self)
        check_device(self.device)
        check(check_positive("clip", self.clip) <= RADII[1], f"Expected clip={self.clip:g} to be at most {RADII[1]:g}.")
        check(0 <= self.momentum < 1, f"Expected 0 <= momentum={self.momentum} < 1.")
        check_smoothing(self.smoothing)
        if self.epochs is not None:
            check_count("epochs", self.epochs, MOST_EPOCHS)

    def _picked(self, images: torch.Tensor) -> Iterator[NDArray[Any]]:
        """The class numbers of images, block by block."""
        with torch.no_grad():
            yield from (self.network_(part).argmax(dim=1).numpy() for part in torch.split(images, 1024))

    def _mechanism(self, budget: Budget, records: int) -> NetworkDescent:
        """Batch, passes and clip, by rule where they are not set."""
        batch = default_batch(records) if self.batch is None else check_count("batch", self.batch)
        epochs = default_epochs(budget.epsilon) if self.epochs is None else int(self.epochs)
        rate = min(1.0, batch / records)
        return NetworkDescent(
            rate=rate, steps=max(1, round(epochs / rate)), clip=float(self.clip),
            smoothing=float(self.smoothing),
        )  # fmt: skip

    def _optimizer(self, network: nn.Module, steps: int) -> tuple[Any, Any]:
        """SGD with momentum or Adam, steps falling linearly to zero, and smoothing right before each step."""
        momentum = float(self.momentum)
        if self.optimizer == "adam":
            size = 0.005 if self.step is None else check_positive("step", self.step)
            chosen: Any = torch.optim.Adam(network.parameters(), lr=size, betas=(momentum, 0.999))
        else:
            size = 8.0 * (1 - momentum) if self.step is None else check_positive("step", self.step)
            chosen = torch.optim.SGD(network.parameters(), lr=size, momentum=momentum)
        smooth(chosen, self.smoothing)
        schedule = torch.optim.lr_scheduler.LambdaLR(chosen, lambda t: 1.0 - min(t, steps - 1) / steps)
        return chosen, schedule

    def _range(self) -> tuple[float, float]:
        """The declared bounds; without any X holds bytes, which are 0 to 255."""
        low, high = (0.0, 255.0) if self.bounds is None else pair_of("bounds", self.bounds)
        check(-math.inf < low < high < math.inf, f"Expected bounds={low, high} to be (lower, upper), lower < upper.")
        return low, high

    def _images(self, X: Any, reset: bool = False) -> torch.Tensor:
        """Rows or images as float32 in [-1, 1], in the shape the network takes; NaN becomes 0."""
        self._see_names(X, reset)
        values = plain(X)
        check(
            values.ndim >= 2 and values.size > 0, "Expected X to be rows (n, features) or images (n, [channels,] h, w)."
        )
        check(
            self.bounds is not None or values.dtype == np.uint8,
            "Expected bounds=(lower, upper): public bounds of the numbers in X, not taken from X. Only bytes (uint8) "
            "need no bounds; theirs are 0 to 255.",
        )
        if reset:
            self.shape_ = self._shape(values.shape[1:])
            self.n_features_in_ = math.prod(self.shape_)
        check(math.prod(values.shape[1:]) == math.prod(self.shape_), f"Expected records of shape {self.shape_}.")
        low, high = self._range()
        images = np.empty((len(values), *self.shape_), dtype=np.float32)
        step = max(1, _BLOCK // max(1, self.n_features_in_))
        for start in range(0, len(values), step):  # float64 in between, so that X's own type changes no bit
            inside = np.clip(values[start : start + step].astype(np.float64), low, high).astype(np.float32)
            scaled = 2.0 * (inside - low) / (high - low) - 1.0
            images[start : start + step] = np.nan_to_num(scaled, nan=0.0).reshape(-1, *self.shape_)
        return torch.from_numpy(images)

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape of one record, as the network takes it."""
        return (math.prod(shape),)


@described
@dataclass(eq=False, repr=False)
class MLPClassifier(_NetworkClassifier):
    """Differentially private perceptron with one hidden layer, as wide as the input by default.

    Parameters
    ----------
    hidden : int or None
        The width of the hidden layer. None: that of the input.

    Attributes
    ----------
    network_ : torch.nn.Module
        The trained network; :func:`tacit.save` writes it without pickle.
    classes_ : array
        The labels, sorted.
    guarantee_ : Guarantee
        What the fit cost, and why.
    """

    _: KW_ONLY
    hidden: int | None = None

    def _network(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        return mlp_network(math.prod(shape), classes, self.hidden, self.activation)


@described
@dataclass(eq=False, repr=False)
class CNNClassifier(_NetworkClassifier):
    """Differentially private convolutional network for images.

    Images are (n, height, width) or (n, channels, height, width).

    Parameters
    ----------
    network : {'auto', 'mnist', 'cifar'}
        The architecture (:mod:`tacit.nn.architectures`). 'auto': 'cifar' for images with several channels.
    """

    _: KW_ONLY
    network: str = "auto"

    def _shape(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        check(len(shape) in (2, 3), "Expected images of shape (n, height, width) or (n, channels, height, width).")
        return (1, *shape) if len(shape) == 2 else shape

    def _network(self, shape: tuple[int, ...], classes: int) -> nn.Module:
        check_choice("network", self.network, ("auto", "mnist", "cifar"))
        chosen = self.network if self.network != "auto" else "cifar" if shape[0] > 1 else "mnist"
        build = cifar_network if chosen == "cifar" else mnist_network
        return build(classes, self.activation, (shape[0], shape[1], shape[2]))
