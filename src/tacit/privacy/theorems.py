"""What each guarantee rests on: one row a theorem, with its status and its page in the docs.

``proven``: a published proof that we re-checked, or one of ours, written on the page, applies to the code as run.
``claimed``: a paper says so and we can neither prove nor refute it. ``refuted``: measured or computed to be false.

Each row also says what it prices: which releases, of which methods, under which adjacencies. A guarantee that cites a
theorem for something else is refused, however little it costs.
"""

from __future__ import annotations

from dataclasses import replace

from tacit.privacy.events import (
    Claimed,
    Gaussian,
    InputMinimum,
    Objective,
    PoissonGaussian,
    Rare,
    Response,
    Selection,
    Shuffled,
    Sphere,
    SubsetGaussian,
)
from tacit.privacy.statements import MODEL, OWNER, RECORD, SCORES, TABLE, Release, Theorem
from tacit.types import Adjacency

__all__ = ["COUNTED", "MODEL", "OWNER", "PEOPLE", "RECORD", "SCORES", "TABLE", "THEOREMS", "after_counts"]

COUNTED = ("objective", "statistics", "gradient", "adaptive", "newton", "whitened", "sampled-gradient")
"""Theorems that also hold, by adaptive composition, for what is trained after counts were released."""

PEOPLE: tuple[str, ...] = (
    "none", "gaussian-output", "sphere-output", "descent-output", "permutation-output", "objective", "objective-pure",
    "statistics", "gradient", "newton", "adaptive", "whitened", "sampled-gradient", "subset-gradient",
    "disjoint-gradient", "svrg", "individual", "counts", "evaluation", "sums",
    "selection",
)  # fmt: skip
"""Theorems about sums over records that also hold where a record is a person with several rows, or a row with a weight:
docs page "People and weights"."""

ONCE, STEPS = Release(Gaussian), Release(Gaussian, repeated=True)
SAMPLED, SUBSETS = Release(PoissonGaussian, repeated=True), Release(SubsetGaussian, repeated=True)
BALL, ANSWER, CLAIM = Release(Sphere), Release(Response), Release(Claimed)
REPLACE: tuple[Adjacency, ...] = ("replace-one",)


LOOKS = (
    "count", "sum", "mean", "histogram", "quantiles", "covariance", "bounds", "categories", "schema",
    "describe", "scaler",
)  # fmt: skip
"""What :mod:`tacit.statistics` offers."""

THEOREMS: dict[str, Theorem] = {
    "none": Theorem("No noise was added: this model has no privacy guarantee.", "", "proven", "guarantee", ((),), ()),
    "gaussian-output": Theorem(
        "The regularised minimiser moves by at most 2G/Lambda when a record is replaced (G/Lambda when one is added); "
        "Gaussian noise on it is priced exactly.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Lemma 8; Balle & Wang 2018, Theorem 5",
        "proven",
        "output",
        ((ONCE,),),
        ("output", "Output"),
        published=("Output",),
    ),
    "sphere-output": Theorem(
        "The regularised minimiser moves by at most 2G/Lambda; noise of density exp(-eps ||b|| / sensitivity) on it is "
        "epsilon-private.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Theorem 6",
        "proven",
        "output",
        ((BALL,),),
        ("output-chaudhuri-2011", "Output"),
        published=("Output",),
    ),
    "descent-output": Theorem(
        "T gradient steps of size at most 1/((n+1) beta + Lambda) move by at most (G/Lambda)(1 - (1 - eta "
        "Lambda)^T) when "
        "a record is added, twice that when one is replaced.",
        "Zhang, Zheng, Mou & Wang 2017, Theorem 1 and Lemma 5",
        "proven",
        "output",
        ((ONCE,),),
        ("output-zhang-2017", "Output"),
        published=("output-zhang-2017", "Output"),
    ),
    "permutation-output": Theorem(
        "k passes of permutation SGD move by at most 2kG eta/b (constant step) or 2G/Lambda (decreasing step).",
        "Wu, Li, Kumar, Chaudhuri, Jha & Naughton 2017, Theorems 4 and 7",
        "proven",
        "output",
        ((ONCE,),),
        ("output-wu-2017", "output-wu-2017-strong", "Output"),
        published=("output-wu-2017", "output-wu-2017-strong", "Output"),
        adjacencies=REPLACE,
    ),
    "objective": Theorem(
        "The privacy loss of the perturbed minimiser is at most that of Gaussian mechanisms, one for each "
        "corner of the set "
        "of gradients that a record can have, plus the log ratio of Hessian determinants there.",
        "Redberg, Koskela & Wang 2023; Kifer, Smith & Thakurta 2012; our proof for replace-one",
        "proven",
        "objective",
        ((Release(Objective, noise="gaussian"), ONCE),),
        ("objective", "ObjectivePerturbation"),
        published=("objective", "ObjectivePerturbation"),
    ),
    "objective-pure": Theorem(
        "With noise of density exp(-||b||/scale) in the objective the privacy loss is at most log det ratio + "
        "sensitivity/scale.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9",
        "proven",
        "objective",
        ((Release(Objective, noise="sphere"), BALL),),
        ("objective-chaudhuri-2011", "ObjectivePerturbation"),
        published=("objective-chaudhuri-2011", "ObjectivePerturbation"),
    ),
    "statistics": Theorem(
        "Second moments and cross moments are released once by one joint Gaussian mechanism; the rest is "
        "post-processing.",
        "Dwork, Talwar, Thakurta & Zhang 2014; Wang 2018; Balle & Wang 2018",
        "proven",
        "statistics",
        ((ONCE,),),
        ("statistics", "SufficientStatistics"),
    ),
    "gradient": Theorem(
        "T Gaussian releases of a clipped gradient sum are exactly sqrt(T) clip/scale-GDP (twice that for "
        "replace-one).",
        "Dong, Roth & Su 2022, Corollary 3.3; Wang, Ye & Xu 2017",
        "proven",
        "gradient",
        ((STEPS,),),
        ("gradient", "ls-gradient", "GradientPerturbation"),
        published=("GradientPerturbation",),
    ),
    "newton": Theorem(
        "T Gaussian releases of a clipped gradient sum and a weighted Hessian sum together, whose joint sensitivity is "
        "proven on the page for both adjacencies, are sqrt(T) sensitivity/scale-GDP.",
        "Dong, Roth & Su 2022, Corollary 3.3; Avella-Medina, Bradshaw & Loh 2023; our joint sensitivity",
        "proven",
        "newton",
        ((STEPS,),),
        ("newton", "NoisyNewton"),
    ),
    "unshrunk": Theorem(
        "Released are, for the squared loss, its normal equations and a sum of squared residuals; for the logistic "
        "loss Newton steps, one more gradient, and sums of curvatures and squared slopes: Gaussian mechanisms, each "
        "with the sensitivity that the page proves for both adjacencies.",
        "Dong, Roth & Su 2022, Corollary 3.3; Avella-Medina, Bradshaw & Loh 2023; our sensitivities",
        "proven",
        "intervals",
        ((ONCE, ONCE), (STEPS, ONCE, ONCE)),
        ("unshrunk", "Unshrunk"),
    ),
    "adaptive": Theorem(
        "T Gaussian releases of a clipped gradient sum together with the sum of the clipped norms, from which the next "
        "clip follows; their joint sensitivity is proven on the page for both adjacencies: sqrt(T) "
        "sensitivity/scale-GDP.",
        "Dong, Roth & Su 2022, Corollary 3.3; Andrew, Thakkar, McMahan & Ramaswamy 2021; our joint sensitivity",
        "proven",
        "adaptive",
        ((STEPS,),),
        ("adaptive", "AdaptiveGradient"),
    ),
    "whitened": Theorem(
        "The second moment of all rows is released once by a Gaussian mechanism of sensitivity R^2 (sqrt(2) R^2 when a "
        "record is replaced); rows mapped by it and clipped again go to a mechanism with a proof of its own; both are "
        "priced together.",
        "Dwork, Talwar, Thakurta & Zhang 2014; Dong, Roth & Su 2022; our proof on the page",
        "proven",
        "whitened",
        ((ONCE, Release(Objective, noise="gaussian"), ONCE), (ONCE, STEPS), (ONCE, SAMPLED)),
        ("whitened-objective", "whitened-gradient", "whitened-dp-sgd", "Whitened"),
    ),
    "sampled-gradient": Theorem(
        "Noisy sums over Poisson samples, composed by privacy loss distributions.",
        "Abadi et al. 2016; Koskela, Jälkö & Honkela 2020; Doroshenko et al. 2022",
        "proven",
        "gradient",
        ((SAMPLED,),),
        ("dp-sgd", "dp-lssgd", "bassily-2014", "GradientPerturbation"),
        published=("bassily-2014", "GradientPerturbation"),
    ),
    "subset-gradient": Theorem(
        "Noisy sums over batches drawn without replacement, composed by Renyi differential privacy.",
        "Wang, Balle & Kasiviswanathan 2019, Theorem 9",
        "proven",
        "gradient",
        ((SUBSETS,),),
        ("dp-sgd-subset", "GradientPerturbation"),
        published=("dp-lssgd", "GradientPerturbation"),
        adjacencies=REPLACE,
    ),
    "disjoint-gradient": Theorem(
        "One pass over disjoint random batches with noise of density exp(-eps ||z|| / sensitivity), or Gaussian noise: "
        "each record is used once.",
        "Song, Chaudhuri & Sarwate 2013, section II",
        "proven",
        "gradient",
        ((BALL,), (ONCE,)),
        ("song-2013", "GradientPerturbation"),
        published=("GradientPerturbation",),
    ),
    "svrg": Theorem(
        "Anchor gradients over all records and clipped gradient differences over Poisson samples, both with "
        "Gaussian noise, "
        "composed by privacy loss distributions.",
        "Wang, Ye & Xu 2017 (Algorithm 1, with the anchor noised once and the sampler accounted)",
        "proven",
        "gradient",
        ((STEPS, SAMPLED),),
        ("dp-svrg", "Svrg"),
    ),
    "individual": Theorem(
        "Noisy gradient sums in which every record's own parts have squared norms that add up to at most B over the "
        "whole run: sqrt(B)/scale-GDP, twice that when a record is replaced.",
        "Feldman & Zrnic 2021; Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023; our proof on the page",
        "proven",
        "individual",
        ((ONCE,),),
        ("individual", "Individual"),
    ),
    "counts": Theorem(
        "Each record falls into one cell of each of c tables; all counts, each table times its weight w, are released "
        "once by a Gaussian mechanism of sensitivity sqrt(sum w^2), and sqrt(2 sum w^2) when a record is replaced.",
        "Dong, Roth & Su 2022; our sensitivity on the page",
        "proven",
        "additive",
        ((ONCE,),),
        ("counts",),
    ),
    "evaluation": Theorem(
        "Sums over people of what a model's predictions say about them, each in a known range and times a public "
        "weight, are released once by a Gaussian mechanism; how far one person moves them is proven on the page.",
        "Dong, Roth & Su 2022; our sensitivity on the page",
        "proven",
        "evaluation",
        ((ONCE,),),
        ("evaluation",),
        protects=(SCORES,),
    ),
    "sums": Theorem(
        "Each record adds numbers to each part whose sizes are at most one together; all parts of a stage, each times "
        "its weight, are one Gaussian mechanism, up to three stages follow one another, and a value that only one "
        "person has is shown with a probability that is added to delta.",
        "Dong, Roth & Su 2022; Korolova, Kenthapadi, Mishra & Ntoulas 2009; our proof on the page",
        "proven",
        "first-tables",
        tuple((ONCE,) * stages + unknown for stages in (1, 2, 3) for unknown in ((), (Release(Rare),))),
        LOOKS,
        protects=(TABLE,),
    ),
    "selection": Theorem(
        "The best, by a private score, of a geometric number of trials, each private by itself, has the density "
        "phi'(F) times that of one trial; its privacy profile follows from that of one trial.",
        "Liu & Talwar 2019; Papernot & Steinke 2022; Koskela, Redberg & Wang 2024; our proof on the page",
        "proven",
        "search",
        ((Release(Selection),),),
        ("search",),
        adjacencies=REPLACE,
    ),
    "pidp-sgd": Theorem(
        "PIDP-SGD is said to be (eps_1 + eps_2, delta_1 + delta_2)-private although records of small influence are "
        "used without noise; false for all constants c and c' once n is large.",
        "Kang et al. 2023, Theorem 5",
        "refuted",
        "heterogeneity",
        ((CLAIM,),),
        (),
        published=("pidp-sgd", "PidpSgd"),
        adjacencies=REPLACE,
    ),
    "pi-dbdp-erm": Theorem(
        "Performance-improving DBDP-ERM is said to be (eps, delta)-private although it starts at the exact minimiser "
        "and records of small influence are used without noise; false for every constant.",
        "Kang et al. 2020b, Theorem 2",
        "refuted",
        "heterogeneity",
        ((CLAIM,),),
        (),
        published=("pi-dbdp-erm", "PiDbdpErm"),
        adjacencies=REPLACE,
    ),
    "input": Theorem(
        "Given the noise on all rows and all that the dishonest sent, the model is objective perturbation over a ball; "
        "the differing contributor's noisy row is short and the honest others' noise is convex enough, but for rare "
        "events that are added to delta.",
        "Our repair of Fukuchi, Tran & Sakuma 2017, Theorem 1; the proof is on the page",
        "proven",
        "input",
        ((Release(InputMinimum), ONCE),),
        ("input", "InputPerturbation"),
        adjacencies=REPLACE,
    ),
    "input-paper": Theorem(
        "The model learned from records perturbed by Algorithm 1 is said to be (eps, delta)-private.",
        "Fukuchi, Tran & Sakuma 2017, Theorem 1 (the published proof has gaps, listed on the page)",
        "claimed",
        "input",
        ((CLAIM,),),
        (),
        published=("input", "InputPerturbation"),
        adjacencies=REPLACE,
    ),
    "input-record": Theorem(
        "A submission is one joint Gaussian mechanism on (q, p), priced exactly.",
        "Balle & Wang 2018, Theorem 5; Dong, Roth & Su 2022",
        "proven",
        "input",
        ((ONCE,), (ONCE, ONCE)),
        ("input", "InputPerturbation"),
        published=("input", "InputPerturbation"),
        adjacencies=REPLACE,
        protects=(RECORD,),
    ),
    "input-local": Theorem(
        "Each record is perturbed by its owner; in an order that tells nothing, n of them are at most as far apart as "
        "a pair of binomials with e^{-eps_0} n clones, but for a price of the releases' own delta.",
        "Feldman, McMillan & Talwar 2022, Theorem 3.2; the term for delta_0 is proven on the page",
        "proven",
        "local",
        ((Release(Shuffled),), (ONCE, ANSWER)),
        ("input-local", "LocalPerturbation"),
        adjacencies=REPLACE,
    ),
    "input-local-record": Theorem(
        "Gaussian noise on x and randomised response on y, multiplied exactly.",
        "Balle & Wang 2018, Theorem 5; Warner 1965",
        "proven",
        "local",
        ((ONCE, ANSWER),),
        ("input-local", "LocalPerturbation"),
        adjacencies=REPLACE,
        protects=(RECORD,),
    ),
    "local-duchi-2013": Theorem(
        "Every contributor answers once, by an l2-ball mechanism of pure epsilon.",
        "Duchi, Jordan & Wainwright 2013, section 4.2.3",
        "proven",
        "local",
        ((ANSWER,),),
        ("local-duchi-2013", "DuchiSgd"),
        adjacencies=REPLACE,
        protects=(MODEL, RECORD),
    ),
    "input-kang-2020": Theorem(
        "Gradient descent on records with noise of variance O(T log(1/delta)/(n^2 eps^2)) on their features is said to "
        "be (eps, delta)-private; false for every constant once n is large.",
        "Kang et al. 2020a, Theorems 1 and 3",
        "refuted",
        "local",
        ((CLAIM,),),
        (),
        published=("input-kang-2020", "input-perturbation", "PublishedInput"),
        adjacencies=REPLACE,
    ),
    "dbdp-erm": Theorem(
        "DBDP-ERM's Algorithm 1, features perturbed with noise c q G sqrt(T log(1/delta))/eps, is said to be "
        "(eps, delta)-private; false for every constant once delta is small.",
        "Kang et al. 2020b, Theorem 1",
        "refuted",
        "local",
        ((CLAIM,),),
        (),
        published=("dbdp-erm", "PublishedInput"),
        adjacencies=REPLACE,
    ),
}


def after_counts(theorem: str) -> str:
    """The name of a theorem for fits that released counts before they trained."""
    return f"{theorem}-after-counts"


PEOPLE = (*PEOPLE, *map(after_counts, COUNTED))

_OURS = "our proof on the page"
THEOREMS |= {
    after_counts(name): replace(
        THEOREMS[name],
        statement="Counts were released first by a Gaussian mechanism: of classes, to weight them, or of cells, to cut "
        f"and pair columns. Then the method trained, as theorem {name!r} has it. All of it is priced together.",
        reference="; ".join(dict.fromkeys(["Dong, Roth & Su 2022", *THEOREMS[name].reference.split("; "), _OURS])),
        page="additive",
        releases=tuple(
            (*counts, *releases) for releases in THEOREMS[name].releases for counts in ((ONCE,), (ONCE, ONCE))
        ),
        published=(),
    )
    for name in COUNTED
}
