"""The methods by name, and the rule that chooses among them from public facts."""

from __future__ import annotations

from dataclasses import replace

from tacit.checks import check, refuse
from tacit.mechanisms.base import Chosen, Mechanism, Method
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

METHODS: dict[str, Method] = {
    method.name: method
    for method in (
        Method(
            name="objective",
            mechanism=ObjectivePerturbation(),
            paper="Kifer et al. 2012; Redberg et al. 2023",
            about="Gaussian linear term in the objective, exact price; 'paper': Kifer et al.'s noise",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="objective-chaudhuri-2011",
            mechanism=ObjectivePerturbation("sphere"),
            paper="Chaudhuri et al. 2011, Algorithm 2",
            about="pure epsilon: Gamma-norm linear term",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="statistics",
            mechanism=SufficientStatistics(),
            paper="Dwork et al. 2014; Wang 2018",
            about="second and cross moments released once",
        ),
        Method(
            name="gradient",
            mechanism=GradientPerturbation(),
            paper="Wang, Ye & Xu 2017",
            about="noisy gradient descent over all records, exact price",
        ),
        Method(
            name="dp-sgd",
            mechanism=GradientPerturbation(Poisson(0.05)),
            paper="Abadi et al. 2016",
            about="Poisson-sampled batches, privacy loss distributions",
        ),
        Method(
            name="ls-gradient",
            mechanism=GradientPerturbation(smoothing=2.0),
            paper="Wang et al. 2020, over all records",
            about="noisy gradient descent with Laplacian smoothing, for columns in an order, such as pixels",
        ),
        Method(
            name="dp-lssgd",
            mechanism=GradientPerturbation(Poisson(0.05), smoothing=2.0, published="lssgd-2020"),
            paper="Wang et al. 2020",
            about="Poisson-sampled batches, noise, Laplacian smoothing; 'paper': Theorem 2's noise where it holds",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="dp-sgd-subset",
            mechanism=GradientPerturbation(Subset(256)),
            paper="Abadi et al. 2016; Wang, Balle & Kasiviswanathan 2019",
            about="batches without replacement, Renyi accounting (replace-one only)",
        ),
        Method(
            name="song-2013",
            mechanism=GradientPerturbation(Disjoint(), "sphere"),
            paper="Song, Chaudhuri & Sarwate 2013",
            about="pure epsilon: one pass over disjoint batches",
        ),
        Method(
            name="bassily-2014",
            mechanism=GradientPerturbation(
                Poisson(0.01), steps=500, momentum=0.0, schedule="inverse-root", published="bassily-2014"
            ),
            paper="Bassily, Smith & Thakurta 2014",
            about="sampled steps with 1/sqrt(t) sizes; 'paper': their noise, set for n^2 steps",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="individual",
            mechanism=Individual(),
            paper="Feldman & Zrnic 2021; Smith & Thakurta 2022",
            about="noisy gradient descent in which each record pays for its own gradients; quiet records stay longer",
        ),
        Method(
            name="input",
            mechanism=InputPerturbation(),
            paper="Fukuchi, Tran & Sakuma 2017, repaired",
            about="everyone perturbs their own record; the model is learned from sums (replace-one only)",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="input-local",
            mechanism=LocalPerturbation(),
            paper="Feldman, McMillan & Talwar 2022",
            about="noise on every x, randomised response on every y, shuffled; two classes (replace-one only)",
        ),
        Method(
            name="local-duchi-2013",
            mechanism=DuchiSgd(),
            paper="Duchi, Jordan & Wainwright 2013",
            about="pure epsilon: everyone sends one privatised gradient (replace-one only)",
        ),
        Method(
            name="dp-svrg",
            mechanism=Svrg(),
            paper="Wang, Ye & Xu 2017",
            about="noisy anchors and sampled, clipped differences",
        ),
        Method(
            name="output",
            mechanism=Output(),
            paper="Chaudhuri et al. 2011, Gaussian",
            about="Gaussian noise on the minimiser",
        ),
        Method(
            name="output-chaudhuri-2011",
            mechanism=Output(noise="sphere"),
            paper="Chaudhuri et al. 2011, Algorithm 1",
            about="pure epsilon: Gamma-norm noise on the minimiser",
        ),
        Method(
            name="output-zhang-2017",
            mechanism=Output("descent"),
            paper="Zhang et al. 2017",
            about="Gaussian noise on the end of a short descent; 'paper': classical noise",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="output-wu-2017",
            mechanism=Output("passes"),
            paper="Wu et al. 2017, Algorithm 1",
            about="Gaussian noise on permutation SGD, convex (replace-one only); 'paper': classical noise",
            calibrations=("proven", "paper"),
        ),
        Method(
            name="output-wu-2017-strong",
            mechanism=Output("passes-strong"),
            paper="Wu et al. 2017, Algorithm 2",
            about="the same with a regulariser and falling steps (replace-one only)",
            calibrations=("proven", "paper"),
        ),
    )
}
"""All central methods, each under the name that users, tables and guarantees call it by."""


def choose_method(method: str | Mechanism, budget: Budget, facts: Facts, calibration: Calibration = "proven") -> Chosen:
    """The mechanism of that name; 'auto' goes by public facts. Pure methods turn the budget's delta into 0.

    This is the one place where 'auto' is decided. A calibration that the method does not have is refused.
    """
    if not isinstance(method, str):
        check(
            isinstance(method, Mechanism),
            "Expected method to be a name or a mechanism; `tacit methods` lists the names.",
        )
        chosen = Chosen(type(method).__name__, method, budget)
    else:
        if budget.delta == 0 and budget.private and (method == "auto" or method in METHODS):
            _refuse_other_noise(method, facts)
        name = prefer(budget, facts) if method == "auto" else method
        check(
            name in METHODS,
            f"Unknown method {name!r}. Known: auto, {', '.join(METHODS)}. Published algorithms without a proof are "
            "objects of tacit.published, with the constants that their papers leave open.",
        )
        offered = METHODS[name].calibrations
        if calibration not in offered:
            refuse(f"Method {name!r} has no calibration {calibration!r}. Use calibration={offered[0]!r}.")
        chosen = Chosen(name, METHODS[name].mechanism, budget)
    if chosen.mechanism.pure:
        return replace(chosen, budget=replace(budget, delta=0.0))
    if calibration == "paper" and budget.delta == 0:
        refuse("The published noise of this method needs delta > 0.")
    return chosen


def _refuse_other_noise(method: str, facts: Facts) -> None:
    """Where delta is 0, name the pure methods unless the method is one of them."""
    pure = [m.name for m in METHODS.values() if m.mechanism.pure and not m.mechanism.needs(facts, "proven")]
    if method not in pure:
        refuse(
            f"delta = 0 needs other noise than that of method={method!r}. Use delta > 0, or a pure method: "
            f"method={' or '.join(map(repr, pure))}."
        )
