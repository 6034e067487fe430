"""The figures of the paper's theory: theorems 1 to 3 with constants, the same measured, and remark 6's costs."""

from papers.engine.figure import Figure
from papers.kang_2023 import costs, excess_risk_figures, measured_risk
from papers.shared import costs as shared
from papers.shared.accuracy import LARGE

FIGURES = (
    Figure(
        "theorems1-3", "Theorems 1 to 3 with their constants",
        "The excess risks of DP-SGD are bounded, without convexity, by less than before.",
        "All in closed form or as exact sums, nothing is drawn. Two examples inside the premises (the mean of zeros "
        "and ones; linear losses on an interval), a search among logistic losses inside the repaired premises, and "
        "the printed bounds at the experiments' n and m (delta = 0.001, c = 1, T = (L/mu) log n, the paper's "
        "E[L*] = 1/n, every constant at its best tau).",
        excess_risk_figures.cells, excess_risk_figures.measure, excess_risk_figures.show, excess_risk_figures.check,
    ),
    Figure(
        "theorems1-2-measured", "Theorems 1 and 2 beside logistic regression",
        "A few log n steps of size 1/L bring the excess risk to O(1/(n epsilon)^2), and a small one means a small gap.",
        "Logistic regression, lambda = mu = 0.001, 60% of the records for training and 20% for the gap, T = (L/mu) "
        "log n steps of size 1/L from 0, on one record or on all, noise of equation (1) with c = 1, delta = 0.001, "
        "three seeds. Quick: 2,000 records of Adult.",
        measured_risk.cells, measured_risk.measure, measured_risk.show, measured_risk.check, needs=LARGE,
    ),
    Figure(
        "costs", "Remark 6: time and memory of influence",
        "A round costs n m^2, or n m with implicit products, and DP-LSSGD m^2: in high dimension PIDP-SGD is faster.",
        "Logistic regression with m weights and n = 100 records (a design of more than 10,000 columns repeats them), "
        "one thread, double precision; a round of one local step. Matrices up to m = 2,000, "
        "conjugate gradients on Hessian-vector products (Koh and Liang 2017) to a residual of 0.001, smoothing by FFT. "
        "Seconds of the processor, medians of 7 calls in turn, three runs; memory at its peak. Quick: m up to 10,000.",
        shared.cells, costs.measure, costs.show, costs.check,
    ),
)  # fmt: skip
