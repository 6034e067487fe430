"""Wang, Gu, Boedihardjo, Wang, Barekat & Osher 2020, DP-LSSGD: all figures and tables, and a check of our rule."""

from papers.engine.figure import Figure
from papers.wang_2020 import choice, constants, constants_figures, convex, convex_figures
from papers.wang_2020 import convolutional_figures as networks

LOGISTIC = (
    "Multi-class logistic regression, δ = 1e-5, replace-one. The first 50,000 training images (the last 10,000 are the "
    "validation part), 50 epochs of Poisson batches of 128 expected records, every record's gradient clipped to 1 (the "
    "authors clip the mean of a batch), ridge 1e-4, exact noise in place of the paper's, whose side conditions fail at "
    "these ε. Rows are scaled to norm 1, so the paper's steps a/t are 100 a/t. Quick: 8,000 images, 5 epochs, one run."
)
NETWORK = (
    "The paper's network with ReLU, inputs in [0, 1], batches of 256 expected records (Poisson), clip 1, learning "
    "rate 0.15 (SGD, no momentum) or 0.001 (Adam), δ = 1e-5, add-remove, priced by privacy loss distributions, all "
    "60,000 images, accuracy on the 10,000 test images, one run. 15 epochs where the paper has 60 or does not say. "
    "TACIT_DEVICE names the device. Quick: 1,000 images, batch 64, 2 epochs: a trial of the code, too small to tell "
    "anything."
)

CITATION = (
    "B. Wang, Q. Gu, M. Boedihardjo, L. Wang, F. Barekat and S. J. Osher. DP-LSSGD: A stochastic optimization method "
    "to lift the utility in privacy-preserving ERM. Mathematical and Scientific Machine Learning, 2020."
)
FIGURES = (
    Figure(
        "figure1", "What DP-SGD loses",
        "Losses rise and accuracy falls as the guarantee gets stronger.",
        f"{LOGISTIC} Here steps 1/t, σ = 0, no privacy and ε = 0.3, 0.2, 0.1 (the paper does not name its ε), "
        f"one run. {NETWORK} Here noise multipliers 0, 2, 5 and 10.",
        convex_figures.degradation_cells, convex_figures.degradation, convex_figures.show_degradation,
        convex_figures.check_degradation, needs=("mnist",), extras=("torch",),
    ),
    Figure(
        "figure2", "Smoothing of two noisy signals", "Laplacian smoothing removes noise.",
        "The paper's signals and σ: 100 places of a sine with noise 0.1, 100 x 100 of a product of sines with "
        "noise 0.2 in row-major order. Five draws of the noise.",
        constants_figures.signal_cells, constants.signals, constants_figures.show_signals,
        constants_figures.check_signals,
    ),
    Figure(
        "figure3", "Training and validation losses",
        "With smoothing the losses fall faster, end lower and vary less.",
        f"{LOGISTIC} Steps 1/t, three runs.",
        convex_figures.loss_cells, convex.losses, convex_figures.show_losses, convex_figures.check_losses,
        needs=("mnist",),
    ),
    Figure(
        "figure4", "Step sizes a/t", "Smoothing helps at every step size.",
        f"{LOGISTIC} Steps a/t, test accuracy after 20 epochs, one run. Quick: two σ.",
        convex_figures.step_cells, convex.step_sizes, convex_figures.show_steps, convex_figures.check_steps,
        needs=("mnist",),
    ),
    Figure(
        "figure5", "Optimisers of the MNIST network",
        "Smoothing steadies DP-SGD, and improves DP-Adam too.",
        f"{NETWORK} Noise multipliers 2, 5 and 10 (the paper's are not in its text), σ = 1.",
        networks.optimizer_cells, networks.measure, networks.show_optimizers, networks.check_optimizers,
        needs=("mnist",), extras=("torch",),
    ),
    Figure(
        "figure6", "Optimisers of the CIFAR-10 network",
        "The same on CIFAR-10.",
        "As Figure 5 with the network of TensorFlow's tutorial, all 50,000 images, noise multiplier 2, clip 3, σ "
        "= 1, 10 epochs, one run. Quick: 32 images, batch 16, one epoch.",
        networks.cifar_cells, networks.measure, networks.show_optimizers, networks.check_optimizers,
        needs=("cifar10",), extras=("torch",),
    ),
    Figure(
        "figure7", "σ, learning rate, and accuracy over ε",
        "A larger σ is steadier; smoothing helps at every learning rate and at every ε.",
        f"{NETWORK} σ = 0, 1, 2, 3 and learning rates 0.05, 0.15, 0.3 at noise multiplier 10; the best over all "
        "runs and epochs with noise multipliers 2, 5, 10 and 20, chosen on the test images as the paper does, "
        "which no private training could.",
        networks.sweep_cells, networks.measure, networks.show_sweep, networks.check_sweep,
        needs=("mnist",), extras=("torch",),
    ),
    Figure(
        "table1", "Utility bounds with numbers",
        "Smoothing lowers the bounds by √γ and √β, up to D.",
        f"{LOGISTIC} Here nothing is clipped, steps have equal size (the one that makes Theorem 4's bound least, "
        "at most 1/(2L)), and the average of the iterates is measured; the optimum is found without privacy. "
        "The ten intercepts are not smoothed, which the bounds leave out.",
        constants_figures.utility_cells, constants.utility, constants_figures.show_utility,
        constants_figures.check_utility, needs=("mnist",),
    ),
    Figure(
        "table2", "Test accuracy of logistic regression",
        "Smoothing gains two to four points over DP-SGD, most at the smallest ε.",
        "Descent over all 60,000 training images by the library's rules (80 steps, clip 0.35 R, momentum 0.9), δ "
        "= 1e-5, replace-one, 5 runs; the paper: DP-SGD on 50,000. Its own noise refuses in every cell of its "
        "table. Quick: 8,000 images, three σ, one run.",
        convex_figures.table2_cells, convex.accuracy, convex_figures.show_table2, convex_figures.check_table2,
        needs=("mnist",),
    ),
    Figure(
        "table3", "Values of γ", "γ does not depend on d.", "Proposition 5.",
        constants_figures.letter_cells("gamma"), constants.constants, constants_figures.show_letters,
        constants_figures.check_letters,
    ),
    Figure(
        "table4", "Values of β", "β does not depend on d.", "Proposition 8.",
        constants_figures.letter_cells("beta"), constants.constants, constants_figures.show_letters,
        constants_figures.check_letters,
    ),
    Figure(
        "defaults", "The MNIST network with the library's own rules",
        "Ours, not the paper's: with larger batches, momentum and tanh the network is better, and smoothing "
        "costs a little.",
        "`CNNClassifier` as it comes: expected batches of 8 sqrt(n), tanh, momentum 0.9, steps that fall "
        "linearly; δ = 1e-5, add-remove, all 60,000 images, 3 runs. TACIT_DEVICE names the device. Quick: 600 "
        "images, one epoch.",
        networks.default_cells, networks.defaults, networks.show_defaults, networks.check_defaults,
        needs=("mnist",), extras=("torch",),
    ),
    Figure(
        "choice", "The rule for several classes, on validation images",
        "Ours, not the paper's: the constants of the rule are not an accident of the test images.",
        "Descent over the first 50,000 images, compared on the last 10,000; the test images take no part. One "
        "constant is changed at a time: steps, clip (over R), and the learning time as a multiple of the rule's. "
        "2 runs. Quick: 5,000 images, five candidates, one run.",
        choice.cells, choice.measure, choice.show, choice.check, needs=("mnist",),
    ),
)  # fmt: skip
