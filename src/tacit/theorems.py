"""What each guarantee rests on: one row a theorem, with its status and its page in the docs.

``proven``: a published proof that we re-checked, or one of ours, written on the page, applies to the code as run.
``claimed``: a paper says so and we can neither prove nor refute it. ``refuted``: measured or computed to be false.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit.types import Status


@dataclass(frozen=True)
class Theorem:
    """A statement that a guarantee may cite."""

    statement: str
    reference: str
    status: Status
    page: str


THEOREMS: dict[str, Theorem] = {
    "none": Theorem("No noise was added: this model has no privacy guarantee.", "", "proven", "guarantee"),
    "gaussian-output": Theorem(
        "The regularised minimiser moves by at most 2G/Lambda when a record is replaced (G/Lambda when one is added); "
        "Gaussian noise on it is priced exactly.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Lemma 8; Balle & Wang 2018, Theorem 5",
        "proven",
        "output",
    ),
    "sphere-output": Theorem(
        "The regularised minimiser moves by at most 2G/Lambda; noise of density exp(-eps ||b|| / sensitivity) on it is "
        "epsilon-private.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Theorem 6",
        "proven",
        "output",
    ),
    "descent-output": Theorem(
        "T gradient steps of size at most 1/((n+1) beta + Lambda) move by at most (G/Lambda)(1 - (1 - eta "
        "Lambda)^T) when "
        "a record is added, twice that when one is replaced.",
        "Zhang, Zheng, Mou & Wang 2017, Theorem 1 and Lemma 5",
        "proven",
        "output",
    ),
    "permutation-output": Theorem(
        "k passes of permutation SGD move by at most 2kG eta/b (constant step) or 2G/Lambda (decreasing step).",
        "Wu, Li, Kumar, Chaudhuri, Jha & Naughton 2017, Theorems 4 and 7",
        "proven",
        "output",
    ),
    "objective": Theorem(
        "The privacy loss of the perturbed minimiser is at most that of Gaussian mechanisms, one for each "
        "corner of the set "
        "of gradients that a record can have, plus the log ratio of Hessian determinants there.",
        "Redberg, Koskela & Wang 2023; Kifer, Smith & Thakurta 2012; our proof for replace-one",
        "proven",
        "objective",
    ),
    "objective-pure": Theorem(
        "With noise of density exp(-||b||/scale) in the objective the privacy loss is at most log det ratio + "
        "sensitivity/scale.",
        "Chaudhuri, Monteleoni & Sarwate 2011, Theorem 9",
        "proven",
        "objective",
    ),
    "statistics": Theorem(
        "Second moments and cross moments are released once by one joint Gaussian mechanism; the rest is "
        "post-processing.",
        "Dwork, Talwar, Thakurta & Zhang 2014; Wang 2018; Balle & Wang 2018",
        "proven",
        "statistics",
    ),
    "gradient": Theorem(
        "T Gaussian releases of a clipped gradient sum are exactly sqrt(T) clip/scale-GDP (twice that for "
        "replace-one).",
        "Dong, Roth & Su 2022, Corollary 3.3; Wang, Ye & Xu 2017",
        "proven",
        "gradient",
    ),
    "sampled-gradient": Theorem(
        "Noisy sums over Poisson samples, composed by privacy loss distributions.",
        "Abadi et al. 2016; Koskela, Jälkö & Honkela 2020; Doroshenko et al. 2022",
        "proven",
        "gradient",
    ),
    "subset-gradient": Theorem(
        "Noisy sums over batches drawn without replacement, composed by Renyi differential privacy.",
        "Wang, Balle & Kasiviswanathan 2019, Theorem 9",
        "proven",
        "gradient",
    ),
    "disjoint-gradient": Theorem(
        "One pass over disjoint random batches with noise of density exp(-eps ||z|| / sensitivity): each "
        "record is used "
        "once.",
        "Song, Chaudhuri & Sarwate 2013, section II",
        "proven",
        "gradient",
    ),
    "svrg": Theorem(
        "Anchor gradients over all records and clipped gradient differences over Poisson samples, both with "
        "Gaussian noise, "
        "composed by privacy loss distributions.",
        "Wang, Ye & Xu 2017 (Algorithm 1, with the anchor noised once and the sampler accounted)",
        "proven",
        "gradient",
    ),
    "individual": Theorem(
        "Noisy gradient sums in which every record's own parts have squared norms that add up to at most B over the "
        "whole run: sqrt(B)/scale-GDP, twice that when a record is replaced.",
        "Feldman & Zrnic 2021; Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023; our proof on the page",
        "proven",
        "individual",
    ),
    "pidp-sgd": Theorem(
        "PIDP-SGD is said to be (eps_1 + eps_2, delta_1 + delta_2)-private although records of small influence are "
        "used without noise; false for all constants c and c' once n is large.",
        "Kang et al. 2023, Theorem 5",
        "refuted",
        "heterogeneity",
    ),
    "pi-dbdp-erm": Theorem(
        "Performance-improving DBDP-ERM is said to be (eps, delta)-private although it starts at the exact minimiser "
        "and records of small influence are used without noise; false for every constant.",
        "Kang et al. 2020b, Theorem 2",
        "refuted",
        "heterogeneity",
    ),
    "input": Theorem(
        "Given the noise on all rows and all that the dishonest sent, the model is objective perturbation over a ball; "
        "the differing contributor's noisy row is short and the honest others' noise is convex enough, but for rare "
        "events that are added to delta.",
        "Our repair of Fukuchi, Tran & Sakuma 2017, Theorem 1; the proof is on the page",
        "proven",
        "input",
    ),
    "input-paper": Theorem(
        "The model learned from records perturbed by Algorithm 1 is said to be (eps, delta)-private.",
        "Fukuchi, Tran & Sakuma 2017, Theorem 1 (the published proof has gaps, listed on the page)",
        "claimed",
        "input",
    ),
    "input-record": Theorem(
        "A submission is one joint Gaussian mechanism on (q, p), priced exactly.",
        "Balle & Wang 2018, Theorem 5; Dong, Roth & Su 2022",
        "proven",
        "input",
    ),
    "input-local": Theorem(
        "Each record is perturbed by its owner; in an order that tells nothing, n of them are at most as far apart as "
        "a pair of binomials with e^{-eps_0} n clones, but for a price of the releases' own delta.",
        "Feldman, McMillan & Talwar 2022, Theorem 3.2; the term for delta_0 is proven on the page",
        "proven",
        "local",
    ),
    "input-local-record": Theorem(
        "Gaussian noise on x and randomised response on y, multiplied exactly.",
        "Balle & Wang 2018, Theorem 5; Warner 1965",
        "proven",
        "local",
    ),
    "local-duchi-2013": Theorem(
        "Every contributor answers once, by an l2-ball mechanism of pure epsilon.",
        "Duchi, Jordan & Wainwright 2013, section 4.2.3",
        "proven",
        "local",
    ),
    "input-kang-2020": Theorem(
        "Gradient descent on records with noise of variance O(T log(1/delta)/(n^2 eps^2)) on their features is said to "
        "be (eps, delta)-private; false for every constant once n is large.",
        "Kang et al. 2020a, Theorems 1 and 3",
        "refuted",
        "local",
    ),
    "dbdp-erm": Theorem(
        "DBDP-ERM's Algorithm 1, features perturbed with noise c q G sqrt(T log(1/delta))/eps, is said to be "
        "(eps, delta)-private; false for every constant once delta is small.",
        "Kang et al. 2020b, Theorem 1",
        "refuted",
        "local",
    ),
}
