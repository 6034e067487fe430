r"""The audit of a network from one training run: canaries that a network cannot help but show, and how to see them.

A canary is a row of a Hadamard matrix: entries of -1 and 1, orthogonal to all other canaries. The gradient of the first
layer is (what comes back) x (the row), and the row's norm, the root of the number of features, makes it by far the
largest part of a record's gradient. So every canary is clipped, and has a direction of the weights nearly to itself.
Labels are random, so nothing can be learned of one canary from another; of two classes, a label and its opposite have
opposite gradients, which is all that a replaced record can do.

The auditor knows the first weights :math:`w_0` (they depend on no record) and the last :math:`w_1`. The score of a
canary is how far the network has moved along its clipped gradients on the way,

.. math:: -\sum_t \langle w_1 - w_0,\ \mathrm{clip}\, \nabla \ell(w_0 + t (w_1 - w_0)) \rangle,
    \quad t = 0, 1/4, ..., 1 .

PyTorch is imported when a network is audited, not before: the core does without.
"""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from tacit.audit.onerun import audit_one_run, best_share
from tacit.audit.pairs import Data
from tacit.audit.result import AuditResult
from tacit.checks import check, check_count
from tacit.types import Array, Budget

if TYPE_CHECKING:
    from tacit.nn import MLPClassifier

NETWORKS = {"mlp": "sampled-gradient"}
"""What ``tacit audit`` calls them, and the theorem that the noise of each rests on."""
CANARIES, LEAST = 1000, 20
HIDDEN = 8
"""Units of the audited network: enough to be one, and few enough to train in seconds."""
BASE, SPARE = 64, 8
"""Records that are no canaries, and the directions of their own that they lie in."""
PATH = (0.0, 0.25, 0.5, 0.75, 1.0)
_CHUNK = 128


def available() -> bool:
    """Whether PyTorch is there."""
    try:
        import torch  # noqa: F401
    except ImportError:
        return False
    return True


@dataclass(frozen=True)
class Planted:
    """Records that are always in, canaries, and the same canaries with the other label."""

    base: Data
    canaries: Data
    others: Data


def plant(count: int) -> Planted:
    """So many canaries and ``BASE`` other records, all with entries of -1 and 1 and labels 0 and 1.

    Nothing in them is random from one audit to the next: the coins, which decide what is in, are the only chance.
    """
    check(check_count("canaries", count) >= LEAST, f"Expected canaries={count} >= {LEAST}.")
    from scipy.linalg import hadamard

    features = 1 << (count + SPARE - 1).bit_length()
    rows = hadamard(features, dtype=np.int8)[: count + SPARE].astype(np.float64)
    labels = np.random.default_rng((features, count)).integers(0, 2, count).astype(np.float64)
    sides = np.asarray(np.arange(BASE) % 2, dtype=np.float64)
    base = (2 * sides - 1)[:, None] * rows[count + np.arange(BASE) // 2 % SPARE]
    return Planted(Data(base, sides), Data(rows[:count], labels), Data(rows[:count], 1 - labels))


def network(claimed: Budget, *, stressed: bool = False) -> MLPClassifier:
    """The perceptron that ``tacit audit mlp`` trains, at its default settings or under stress.

    Under stress all records take part in all steps, and the steps are small: the network stays where its canaries'
    gradients are those of the beginning, and its last weights show nearly as much as all of its steps together.
    """
    check(available(), "Audits of networks need PyTorch. In Tacit's source: pip install '.[torch]'.")
    from tacit.nn import MLPClassifier

    settings: dict[str, Any] = {"batch": 10**9, "epochs": 4, "momentum": 0.0, "step": 0.1} if stressed else {}
    return MLPClassifier(claimed.epsilon, delta=claimed.delta, adjacency=claimed.adjacency, hidden=HIDDEN, **settings)


def audit_network(
    model: MLPClassifier, *, canaries: int = CANARIES, confidence: float = 0.999, seed: int | None = None,
    name: str = "MLPClassifier",
) -> AuditResult:  # fmt: skip
    """Train a network once, on a random half of the canaries, and bound the epsilon of its training from below.

    ``model`` has the settings and the claim; it is not changed. Its labels, bounds and random state are the audit's
    own. The bound holds at delta = ``model.delta`` with probability at least ``confidence``.
    """
    check(model.delta is not None, "Expected delta: an audit is of a claim, and the default depends on the data.")
    claimed = Budget(float(model.epsilon), float(model.delta or 0.0), model.adjacency)
    planted = plant(canaries)

    def train(rows: Array, targets: Array, rng: np.random.Generator) -> tuple[MLPClassifier, int]:
        from sklearn.base import clone

        state = int(rng.integers(2**62))
        fresh = clone(model).set_params(classes=(0, 1), bounds=(-1.0, 1.0), random_state=state)
        return fresh.fit(rows, targets), state

    return audit_one_run(
        train, _scores, planted.base, planted.canaries, claimed, confidence=confidence,
        others=planted.others if claimed.adjacency == "replace-one" else None,
        shares=(best_share(canaries, claimed, confidence),),
        seed=secrets.randbits(48) if seed is None else seed, name=name,
    )  # fmt: skip


def _scores(trained: tuple[MLPClassifier, int], canaries: Data) -> Array:
    """How far the network has moved along each canary's clipped gradients, taken at points between first and last."""
    import torch
    from torch.func import functional_call, grad, vmap
    from torch.nn.functional import cross_entropy

    from tacit.estimators.base import source_from

    model, state = trained
    network = model.network_
    images, labels = model._images(canaries.rows), model._codes(canaries.targets, len(canaries.rows))
    first = {key: p.detach() for key, p in model._build(source_from(state)).named_parameters()}
    moved = {key: p.detach() - first[key] for key, p in network.named_parameters()}

    def loss(point: dict[str, torch.Tensor], image: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
        return cross_entropy(functional_call(network, point, (image[None],)), label[None])

    gradients = vmap(grad(loss), in_dims=(None, 0, 0))
    total = torch.zeros(len(labels), dtype=torch.float64)
    for t in PATH:
        point = {key: first[key] + t * moved[key] for key in first}
        for start in range(0, len(labels), _CHUNK):
            part = gradients(point, images[start : start + _CHUNK], labels[start : start + _CHUNK])
            along = sum((part[key].flatten(1) @ moved[key].flatten()).double() for key in first)
            norms = torch.stack([part[key].flatten(1).norm(dim=1).double() for key in first]).norm(dim=0)
            total[start : start + _CHUNK] -= along * (model.clip / norms.clamp(min=model.clip))
    return np.asarray(np.nan_to_num(total.numpy()), dtype=np.float64)
