"""Three papers' algorithms for a perceptron, as published. **Refuted**: kept to reproduce the papers and to audit them.

Noise and loops are those of :class:`tacit.published.PublishedInput`, :class:`~tacit.published.PidpSgd` and
:class:`~tacit.published.PiDbdpErm`: their ``calibrate`` is called with the network's facts, and their plans train a
:class:`~tacit.published.perceptron.Perceptron`. For a network with a proven guarantee use
:class:`tacit.nn.MLPClassifier`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, fields, replace
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import nn

from tacit.arguments import check_fields
from tacit.checks import check, check_count, check_positive, pair_of
from tacit.data.canonical import dense
from tacit.data.rows import row_scales
from tacit.estimators.base import source_from
from tacit.mechanisms import Chosen, Mechanism
from tacit.nn.architectures import mlp_network
from tacit.nn.estimator import NetworkFace
from tacit.nn.train import NetworkLoss
from tacit.published.data_perturbation import PublishedInput
from tacit.published.perceptron import Perceptron, Settings
from tacit.published.pi_dbdp_erm import PiDbdpErm
from tacit.published.pidp_sgd import PidpSgd
from tacit.training import Prepared, charge, prepare
from tacit.types import Budget, Facts

METHODS: dict[str, float] = {"input-perturbation": 1.0, "dbdp-erm": 1.0, "pi-dbdp-erm": 0.03, "pidp-sgd": 0.03}
"""The algorithms, and their step sizes unless given: for means over batches, and for single records."""
STEPS = 100
"""T of the two that descend on batches, unless given."""


@dataclass(eq=False, repr=False)
class PublishedMLPClassifier(NetworkFace):
    """A perceptron with one hidden layer, trained as a paper says, with a claim that does not hold. Status: refuted.

    ``method`` is 'input-perturbation' (Kang et al. 2020a, Algorithm 1), 'dbdp-erm' (Kang et al. 2020b, Algorithm 1),
    'pi-dbdp-erm' (the same, Algorithm 2) or 'pidp-sgd' (Kang et al. 2023, Algorithm 1). ``constant`` is the papers'
    open c and ``contribution_constant`` c' of 'pidp-sgd': both required. ``classes``: two, declared. Rows longer than 1
    are shrunk to the papers' unit ball; with ``bounds``, numbers are clipped to them and mapped onto [-1, 1]/sqrt(d)
    instead. ``hidden`` is as wide as the input, unless given.

    T is ``steps`` (100 batches for the first two, of a fraction ``batch`` of the records; one pass over single records
    for the others) in rounds of ``local`` ('pi-dbdp-erm': 10) or in ``rounds`` ('pidp-sgd': 10). ``step`` is alpha:
    1 for batches and 0.03 for single records. ``regularization`` is lambda of every record's loss, biases included.
    ``shared`` and ``condition`` are for 'input-perturbation', ``test`` for 'pi-dbdp-erm', and ``domain`` (r), ``zeta``,
    ``share`` (eps_1/eps), ``delta_share`` and ``pretrained`` for 'pidp-sgd', as in the linear models.

    Where the print leaves a choice for a network:

    * *G*. Its loss has no Lipschitz constant. ``lipschitz`` is declared and goes into the formulas; gradients are not
      clipped to it, as the papers do not. L and C of Theorem 4 (E of 'pidp-sgd') are 1/alpha and the logistic loss's.
    * *H^-1*. 12,000 parameters have no Hessian to invert, and it is not positive definite. It is that of
      ``curvature_records`` records drawn at random, its ``rank`` largest curvatures by Hessian-vector products, all
      other curvatures 0, plus ``damping`` on the diagonal (:mod:`tacit.published.curvature`). ``zeta`` is lambda +
      damping.
    * *The minimiser* of 'pi-dbdp-erm' is a pre-trained model: at most ``pretraining`` iterations of L-BFGS on all
      records from random weights. 'pidp-sgd' starts there if ``pretrained``; else it starts at the random weights, as
      the first two do.
    * *w_t* is the spectral norm, by power iteration.

    Fitted: ``network_``, ``classes_``, ``guarantee_``; ``noiseless_`` (fraction of steps without noise) of the last
    two; ``perturbed_data_`` of all but 'pidp-sgd', NOT PRIVATE, in a box that opens on a word
    (:class:`~tacit.published.perturbed_data.PerturbedData`). Edges: at epsilon = inf nothing is perturbed.
    """

    method: Literal["input-perturbation", "dbdp-erm", "pi-dbdp-erm", "pidp-sgd"]
    epsilon: float = 1.0
    _: KW_ONLY
    delta: float | None = None
    constant: float | None = None
    contribution_constant: float | None = None
    classes: Any = None
    bounds: tuple[float, float] | None = None
    hidden: int | None = None
    activation: str = "tanh"
    steps: int | None = None
    step: float | None = None
    batch: float = 1.0
    local: int | None = None
    rounds: int | None = None
    lipschitz: float = 1.0
    regularization: float = 1e-3
    test: Literal["norm", "elements"] = "norm"
    shared: bool = False
    condition: str = "polyak-lojasiewicz"
    domain: float = 10.0
    zeta: float | None = None
    share: float = 0.75
    delta_share: float = 0.5
    pretrained: bool = False
    damping: float = 0.01
    rank: int = 64
    curvature_records: int = 4000
    pretraining: int = 60
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Self:
        """Train as published, and warn that the claim is refuted."""
        check_fields(self)
        self._declare(X)
        x, codes = self._images(X, reset=True).numpy(), self._codes(y, len(X)).numpy()
        source = source_from(self.random_state)
        settings = Settings(**{field.name: getattr(self, field.name) for field in fields(Settings)})
        model = Perceptron(self._build(source), x, codes, settings)
        rate = METHODS[self.method] if self.step is None else check_positive("step", self.step)
        prepared = self._prepare(len(x), model.flat.size, rate, source.seeded)
        charge(prepared, None)  # an open ledger refuses it: it is not proven
        self.guarantee_ = prepared.guarantee
        for extra in ("noiseless_", "perturbed_data_"):  # those of an earlier fit
            self.__dict__.pop(extra, None)
        plan: Any = prepared.plan
        asked = replace(plan, rate=rate)
        self._keep(asked.train(model, source).extras)
        self.network_ = model.filled().eval()
        return self

    def _keep(self, extras: Mapping[str, Any]) -> None:
        """What a run leaves besides weights."""
        if "noiseless" in extras:
            self.noiseless_ = extras["noiseless"]
        if "perturbed_data" in extras:
            self.perturbed_data_ = extras["perturbed_data"].named(self.classes_)

    def _mechanism(self, records: int, rate: float) -> Mechanism:
        """The linear models' mechanism of the same paper."""
        steps = None if self.steps is None else check_count("steps", self.steps)
        if self.method == "pidp-sgd":
            rounds = 10 if self.rounds is None else check_count("rounds", self.rounds)
            local = max(1, (steps or records) // rounds) if self.local is None else check_count("local", self.local)
            zeta = self.regularization + self.damping if self.zeta is None else self.zeta
            return PidpSgd(
                constant=self.constant, contribution_constant=self.contribution_constant, rounds=rounds, local=local,
                step=rate, domain=self.domain, zeta=zeta, share=self.share, delta_share=self.delta_share,
                pretrained=self.pretrained,
            )  # fmt: skip
        if self.method == "pi-dbdp-erm":
            local = 10 if self.local is None else check_count("local", self.local)
            total = steps if self.rounds is None else local * check_count("rounds", self.rounds)
            return PiDbdpErm(constant=self.constant, steps=total, local=local, step=rate, test=self.test)
        paper = "dbdp-erm" if self.method == "dbdp-erm" else "input-kang-2020"
        return PublishedInput(
            paper, constant=self.constant, steps=steps or STEPS, rate=rate, batch=self.batch, shared=self.shared,
            condition=self.condition,
        )  # fmt: skip

    def _prepare(self, records: int, size: int, rate: float, seeded: bool) -> Prepared:
        """The public river: no record is an argument."""
        delta = min(records**-1.5, 0.01) if self.delta is None else float(self.delta)
        loss = NetworkLoss(
            lipschitz=check_positive("lipschitz", self.lipschitz), smoothness=1 / rate, name="perceptron"
        )
        outputs = 1 if len(self.classes_) == 2 else len(self.classes_)
        facts = Facts(records=records, features=size, outputs=outputs, radius=1.0, loss=loss)
        budget = Budget(float(self.epsilon), delta)
        words = (
            f"a perceptron of {size:,} parameters; rows in the unit ball, biases apart; the set of labels was declared",
            f"no record's gradient is longer than G = {self.lipschitz:g}, which nothing enforces; step size {rate:g}",
        )
        return prepare(
            facts, Chosen(self.method, self._mechanism(records, rate), budget), seeded=seeded,
            regularization=self.regularization, calibration="paper", assumptions=words,
        )  # fmt: skip

    def _network(self, shape: tuple[int, ...], classes: int) -> nn.Sequential:
        return mlp_network(shape[0], classes, self.hidden, self.activation)

    def _images(self, X: Any, reset: bool = False) -> torch.Tensor:
        """Rows in the unit ball, in double precision."""
        values = dense(X)
        check(values.ndim == 2 and len(values) > 0, "Expected X to be rows (n, features).")
        if reset:
            self.shape_ = values.shape[1:]
            self.n_features_in_ = values.shape[1]
        check(values.shape[1:] == self.shape_, f"Expected rows of {self.shape_[0]} features.")
        rows = values.astype(np.float64)
        if self.bounds is None:
            return torch.from_numpy(rows * row_scales(rows, 1.0)[:, None])
        low, high = pair_of("bounds", self.bounds)
        check(-math.inf < low < high < math.inf, f"Expected bounds={low, high} to be (lower, upper), lower < upper.")
        middle, half = (high + low) / 2, (high - low) / 2
        inside = np.nan_to_num((np.clip(rows, low, high) - middle) / half, nan=0.0)
        return torch.from_numpy(inside / math.sqrt(rows.shape[1]))
