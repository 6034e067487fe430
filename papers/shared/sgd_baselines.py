"""What two papers compare with, DP-SGD methods, and what we add: the same curves, with as many settings each."""

from papers.shared.choosing import Axis
from papers.shared.curves import linear, network
from tacit.mechanisms import GradientPerturbation, Individual, Output, Poisson

ABADI, WU, SMOOTHED = "DP-SGD (Abadi et al.)", "output (Wu et al.)", "DP-LSSGD (Wang et al.)"
OTHERS = (ABADI, WU, SMOOTHED)
SINGLE, BATCHES = Axis("step", (0.01, 0.046, 0.215, 1.0)), Axis("step", (0.1, 0.46, 2.15, 10.0))
"""Two decades of step sizes, for single records and for means over many."""
_WHOLE = (BATCHES, Axis("steps", (20, 200), lowest=1, highest=200))
_SAMPLED = (BATCHES, Axis("steps", (50, 500), lowest=1, highest=500))
_REGULARISED = (Axis("times", (1, 5, 22, 100), lowest=1), Axis("passes", (1, 10), lowest=1, highest=10))
NETWORK_AXES = (Axis("step", (0.05, 0.23, 1.08, 5.0)), Axis("epochs", (3, 30), lowest=1, highest=30))
"""Of DP-SGD for a network: with momentum, so its steps are smaller."""

LINEAR = (
    linear(ABADI, GradientPerturbation(Poisson(0.05)), axes=_SAMPLED),
    linear(WU, Output("passes-strong"), axes=_REGULARISED),
    linear(SMOOTHED, GradientPerturbation(Poisson(0.05), smoothing=2.0), axes=_SAMPLED),
    linear("individual accounting", Individual(), axes=_WHOLE),
    linear("noisy gradient descent", GradientPerturbation(), axes=_WHOLE),
    linear("default (not tuned)", "auto"),
)
NETWORK = (
    network(ABADI, "dp-sgd", axes=NETWORK_AXES),
    network(SMOOTHED, "dp-sgd", smoothing=1.0, axes=NETWORK_AXES),
)
