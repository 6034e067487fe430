r"""Influence functions of networks: damped conjugate gradients on Hessian-vector products. Needs PyTorch. NOT PRIVATE.

``(H + damping I) s = b`` is solved without forming H; for b the gradient of a test loss, the influence of every
record on it is one directional derivative each, ``<grad loss_i, s>/n``, all n of them in one forward-mode pass.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from tacit.checks import check

try:
    import torch
except ImportError:  # pragma: no cover - the plain install
    torch = None  # type: ignore[assignment]

NEEDED = "Influence functions of networks need PyTorch: install torch. Linear models need only tacit.influence."


@dataclass(frozen=True)
class NetworkInfluence:
    """Influence on a network trained on ``inputs`` and ``targets`` with a loss that gives one value per record.

    The objective is ``mean loss + (regularization/2)||w||^2``. ``damping`` is added to the Hessian's diagonal: where
    the network is not convex, it must exceed the most negative eigenvalue for the answer to be that of the damped
    system; conjugate gradients stop at the first direction of negative curvature and say so in :meth:`solve`.
    """

    model: Any
    loss: Callable[[Any, Any], Any]
    inputs: Any = field(repr=False)
    targets: Any = field(repr=False)
    _: KW_ONLY
    regularization: float = 0.0
    damping: float = 0.01
    iterations: int = 200
    tolerance: float = 1e-6

    def __post_init__(self) -> None:
        check(torch is not None, NEEDED)
        check(self.damping >= 0, f"Expected damping={self.damping} >= 0.")

    def _weights(self) -> dict[str, Any]:
        return {name: weight.detach() for name, weight in self.model.named_parameters()}

    def _losses(self, weights: dict[str, Any], inputs: Any, targets: Any) -> Any:
        return self.loss(torch.func.functional_call(self.model, weights, (inputs,)), targets)

    def _objective(self, weights: dict[str, Any]) -> Any:
        square = sum((weight**2).sum() for weight in weights.values())
        return self._losses(weights, self.inputs, self.targets).mean() + 0.5 * self.regularization * square

    def times(self, direction: dict[str, Any]) -> dict[str, Any]:
        """The damped Hessian times a direction (forward over reverse)."""
        gradient = torch.func.grad(self._objective)
        image: dict[str, Any] = torch.func.jvp(gradient, (self._weights(),), (direction,))[1]
        return {name: image[name] + self.damping * direction[name] for name in direction}

    def solve(self, right: dict[str, Any]) -> tuple[dict[str, Any], str]:
        """Conjugate gradients for ``(H + damping I) s = right``; s and how it ended.

        'converged', 'iterations' or 'negative curvature'.
        """
        residual = {name: part.clone() for name, part in right.items()}
        search = {name: part.clone() for name, part in right.items()}
        answer = {name: torch.zeros_like(part) for name, part in right.items()}
        square = start = _dot(residual, residual)
        for _ in range(self.iterations):
            if square <= self.tolerance**2 * start:
                return answer, "converged"
            image = self.times(search)
            bend = _dot(search, image)
            if bend <= 0:
                return answer, "negative curvature"
            size = square / bend
            answer = {name: answer[name] + size * search[name] for name in answer}
            residual = {name: residual[name] - size * image[name] for name in residual}
            following = _dot(residual, residual)
            search = {name: residual[name] + (following / square) * search[name] for name in search}
            square = following
        return answer, "converged" if square <= self.tolerance**2 * start else "iterations"

    def vector(self, record: int) -> dict[str, Any]:
        """c_i of one record, by parameter: how the trained network moves when it is left out, to first order."""
        pair = self.inputs[record : record + 1], self.targets[record : record + 1]
        gradient = torch.func.grad(lambda weights: self._losses(weights, *pair).sum())(self._weights())
        answer, _ = self.solve(gradient)
        return {name: part / len(self.inputs) for name, part in answer.items()}

    def on(self, inputs: Any, targets: Any) -> Any:
        """The rise of the mean loss on these records when each training record is left out; one solve for all n."""
        gradient = torch.func.grad(lambda weights: self._losses(weights, inputs, targets).mean())(self._weights())
        answer, _ = self.solve(gradient)
        losses = lambda weights: self._losses(weights, self.inputs, self.targets)  # noqa: E731
        return torch.func.jvp(losses, (self._weights(),), (answer,))[1] / len(self.inputs)


def _dot(left: dict[str, Any], right: dict[str, Any]) -> float:
    return float(sum((left[name] * right[name]).sum() for name in left))
