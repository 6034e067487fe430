"""The methods by name, and the rule that chooses among them from public facts."""

from __future__ import annotations

from dataclasses import replace

from tacit.checks import check, refuse
from tacit.mechanisms.base import Mechanism, Method
from tacit.mechanisms.defaults import prefer
from tacit.mechanisms.gradient import GradientPerturbation
from tacit.mechanisms.individual import Individual
from tacit.mechanisms.input_plan import InputPerturbation
from tacit.mechanisms.local import DuchiSgd, LocalPerturbation
from tacit.mechanisms.objective import ObjectivePerturbation
from tacit.mechanisms.output import Output
from tacit.mechanisms.samplers import Disjoint, Poisson, Subset
from tacit.mechanisms.statistics import SufficientStatistics
from tacit.mechanisms.svrg import Svrg
from tacit.types import Budget, Calibration, Facts

ALL = ("logistic", "softmax", "huber-hinge", "squared")

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            "objective", ObjectivePerturbation(), "Kifer et al. 2012; Redberg et al. 2023", ALL,
            "Gaussian linear term in the objective, exact price; 'paper': Kifer et al.'s noise", ("proven", "paper"),
        ),
        Method(
            "objective-chaudhuri-2011", ObjectivePerturbation("sphere"), "Chaudhuri et al. 2011, Algorithm 2", ALL,
            "pure epsilon: Gamma-norm linear term", ("proven", "paper"),
        ),
        Method(
            "statistics", SufficientStatistics(), "Dwork et al. 2014; Wang 2018", ("squared",),
            "second and cross moments released once",
        ),
        Method(
            "gradient", GradientPerturbation(), "Wang, Ye & Xu 2017", ALL,
            "noisy gradient descent over all records, exact price",
        ),
        Method(
            "dp-sgd", GradientPerturbation(Poisson(0.05)), "Abadi et al. 2016", ALL,
            "Poisson-sampled batches, privacy loss distributions",
        ),
        Method(
            "ls-gradient", GradientPerturbation(smoothing=2.0), "Wang et al. 2020, over all records", ALL,
            "noisy gradient descent with Laplacian smoothing, for columns in an order, such as pixels",
        ),
        Method(
            "dp-lssgd", GradientPerturbation(Poisson(0.05), smoothing=2.0, published="lssgd-2020"), "Wang et al. 2020",
            ALL, "Poisson-sampled batches, noise, Laplacian smoothing; 'paper': Theorem 2's noise where it holds",
            ("proven", "paper"),
        ),
        Method(
            "dp-sgd-subset", GradientPerturbation(Subset(256)), "Abadi et al. 2016; Wang, Balle & Kasiviswanathan 2019",
            ALL, "batches without replacement, Renyi accounting (replace-one only)",
        ),
        Method(
            "song-2013", GradientPerturbation(Disjoint(), "sphere"), "Song, Chaudhuri & Sarwate 2013", ALL,
            "pure epsilon: one pass over disjoint batches",
        ),
        Method(
            "bassily-2014", GradientPerturbation(Poisson(0.01), steps=500, momentum=0.0, schedule="inverse-root",
            published="bassily-2014"), "Bassily, Smith & Thakurta 2014", ALL,
            "sampled steps with 1/sqrt(t) sizes; 'paper': their noise, set for n^2 steps", ("proven", "paper"),
        ),
        Method(
            "individual", Individual(), "Feldman & Zrnic 2021; Smith & Thakurta 2022", ALL,
            "noisy gradient descent in which each record pays for its own gradients; quiet records stay longer",
        ),
        Method(
            "input", InputPerturbation(), "Fukuchi, Tran & Sakuma 2017, repaired", ("logistic", "squared"),
            "everyone perturbs their own record; the model is learned from sums (replace-one only)",
            ("proven", "paper"),
        ),
        Method(
            "input-local", LocalPerturbation(), "Feldman, McMillan & Talwar 2022", ("logistic", "huber-hinge"),
            "noise on every x, randomised response on every y, shuffled; two classes (replace-one only)",
        ),
        Method(
            "local-duchi-2013", DuchiSgd(), "Duchi, Jordan & Wainwright 2013", ("logistic", "huber-hinge", "squared"),
            "pure epsilon: everyone sends one privatised gradient (replace-one only)",
        ),
        Method("dp-svrg", Svrg(), "Wang, Ye & Xu 2017", ALL, "noisy anchors and sampled, clipped differences"),
        Method("output", Output(), "Chaudhuri et al. 2011, Gaussian", ALL, "Gaussian noise on the minimiser"),
        Method(
            "output-chaudhuri-2011", Output(noise="sphere"), "Chaudhuri et al. 2011, Algorithm 1", ALL,
            "pure epsilon: Gamma-norm noise on the minimiser",
        ),
        Method(
            "output-zhang-2017", Output("descent"), "Zhang et al. 2017", ALL,
            "Gaussian noise on the end of a short descent; 'paper': classical noise", ("proven", "paper"),
        ),
        Method(
            "output-wu-2017", Output("passes"), "Wu et al. 2017, Algorithm 1", ALL,
            "Gaussian noise on permutation SGD, convex (replace-one only); 'paper': classical noise",
            ("proven", "paper"),
        ),
        Method(
            "output-wu-2017-strong", Output("passes-strong"), "Wu et al. 2017, Algorithm 2", ALL,
            "the same with a regulariser and falling steps (replace-one only)", ("proven", "paper"),
        ),
    )
}  # fmt: skip
"""All central methods, each under the name that users, tables and guarantees call it by."""


def _pure(mechanism: Mechanism) -> bool:
    return getattr(mechanism, "noise", "gaussian") == "sphere"


def choose_method(
    method: str | Mechanism, budget: Budget, facts: Facts, calibration: Calibration = "proven"
) -> tuple[str, Mechanism, Budget]:
    """The mechanism of that name; 'auto' goes by public facts. Pure methods turn the budget's delta into 0.

    A calibration that the method does not have is refused.
    """
    if budget.delta == 0 and budget.private and (method == "auto" or method in METHODS):
        pure_names = [n for n, m in METHODS.items() if _pure(m.mechanism) and facts.loss.name in m.losses]
        if method not in pure_names:
            refuse(
                f"delta = 0 needs other noise than that of method={method!r}. Use delta > 0, or a pure method: "
                f"method={' or '.join(map(repr, pure_names))}."
            )
    if not isinstance(method, str):
        check(
            isinstance(method, Mechanism),
            "Expected method to be a name or a mechanism; `tacit methods` lists the names.",
        )
        name, mechanism = type(method).__name__, method
    else:
        name = prefer(budget, facts) if method == "auto" else method
        check(
            name in METHODS,
            f"Unknown method {name!r}. Known: auto, {', '.join(METHODS)}. Published algorithms without a proof are "
            "objects of tacit.published, with the constants that their papers leave open.",
        )
        mechanism, offered = METHODS[name].mechanism, METHODS[name].calibrations
        if calibration not in offered:
            refuse(f"Method {name!r} has no calibration {calibration!r}. Use calibration={offered[0]!r}.")
    pure = _pure(mechanism)
    if calibration == "paper" and budget.delta == 0 and not pure:
        refuse("The published noise of this method needs delta > 0.")
    return name, mechanism, replace(budget, delta=0.0) if pure else budget
