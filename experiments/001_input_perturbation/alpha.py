"""The alpha trade-off (section 3.5): both epsilons and the excess risk over alpha, as a table and a picture.

python experiments/001_input_perturbation/alpha.py [--plot alpha.png]
"""

import argparse

from tacit.mechanisms.input_plan import Setting
from tacit.mechanisms.surrogates import Surrogate
from tacit.protocol.expect import balance
from tacit.types import Budget

ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0)


def run(cohort=2**17, trials=50):
    """The trade-off of the census setting, in both calibrations."""
    setting = Setting(14, cohort, 1.0, 0.5, Surrogate.named("squared", 3.35), 3.0)
    return {
        kind: balance(setting, Budget(1.0, 0.01), ALPHAS, calibration=kind, trials=trials)
        for kind in ("proven", "paper")
    }


def plot(found, path):
    """Three panels over alpha."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, axes = pyplot.subplots(1, 3, figsize=(12, 3.5), layout="constrained")
    for axis, (title, name) in zip(
        axes,
        (
            ("epsilon of the model", "model_epsilon"),
            ("epsilon of a record", "record_epsilon"),
            ("excess risk", "simulated"),
        ),
        strict=True,
    ):
        for kind, points in found.items():
            axis.loglog([p.alpha for p in points], [getattr(p, name) for p in points], marker="o", label=kind)
        axis.set(xlabel="alpha", title=title)
        axis.legend()
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--plot")
    options = parser.parse_args()
    outcome = run()
    for kind, points in outcome.items():
        for p in points:
            print(
                f"{kind:8} alpha {p.alpha:<5g} model {p.model_epsilon:<6.3g} record {p.record_epsilon:<9.5g} "
                f"excess {p.simulated:.2e} bound {p.bound:.2e}"
            )
    if options.plot:
        plot(outcome, options.plot)
