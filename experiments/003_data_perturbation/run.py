"""Performance-improving DBDP-ERM (Algorithm 2): accuracy and gap over epsilon, logistic regression.

python experiments/003_data_perturbation/run.py --quick
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from curves import Curve, grid, main

from tacit.mechanisms import GradientPerturbation, Individual, PiDbdpErm, Poisson

SETS = {
    "kddcup99": 70000, "adult": 45222, "bank_marketing": 41188, "breast_cancer": 699, "credit_card_fraud": 984,
}  # fmt: skip
EPSILONS = (0.01, 0.1, 0.5, 1.0, 3.0, 7.0)
DELTA = 1e-3
"""The paper: "set differently according to different datasets and can be considered as a constant"."""
CHOICES = {"steps": (1000, 10000), "step": (None, 0.3, 0.03)}

CURVES = (
    Curve("PI-DBDP-ERM, norm as printed", "refuted", grid(PiDbdpErm(1.0), **CHOICES), "paper"),
    Curve("PI-DBDP-ERM, element-wise", "refuted", grid(PiDbdpErm(1.0, test="elements"), **CHOICES), "paper"),
    Curve("individual accounting", "proven", (Individual(),)),
    Curve("noisy gradient descent", "proven", (GradientPerturbation(),)),
    Curve("DP-SGD (Abadi et al.)", "proven", (GradientPerturbation(Poisson(0.05)),)),
    Curve("output (Wu et al.)", "proven", ("output-wu-2017-strong",)),
    Curve("default", "proven", ("auto",)),
)

if __name__ == "__main__":
    main("Performance-improving DBDP-ERM, logistic regression", SETS, EPSILONS, CURVES, DELTA)
