"""The figures of the paper's theory beyond its tables: the Euclidean bound with example (10), and the costs."""

from papers.engine.figure import Figure
from papers.shared import costs as shared
from papers.wang_2020 import costs, euclidean_figures

FIGURES = (
    Figure(
        "euclidean", "The bound on the Euclidean norm, and example (10)",
        "In the Euclidean norm the bound of DP-LSSGD is the larger one, by ζ, which does not mean that it does worse.",
        "Closed forms; a quadratic in 784 coordinates whose iterates have known moments (T = 10,000, η = 1/√T, noise "
        "1); and a potential in two coordinates whose minima are a circle, 200 paths of the theorem's own T and noise "
        "(ε = 8, δ = 1e-5, b = 16: its side conditions hold there). Quick: the smallest n of the ring.",
        euclidean_figures.cells, euclidean_figures.measure, euclidean_figures.show, euclidean_figures.check,
    ),
    Figure(
        "costs", "Time and memory of smoothing",
        "The extra computation and memory compared with DP-SGD are negligible.",
        "Logistic regression with m weights, batches of 128 rows (a design of more than 10,000 columns repeats them), "
        "σ = 1, one thread, double precision, the library's own FFT. Seconds of the processor, medians of 7 calls in "
        "turn, three runs; memory at its peak. Exponents from m = 1,000 on. Quick: m up to 10,000, one run.",
        shared.cells, costs.measure, costs.show, costs.check,
    ),
)  # fmt: skip
