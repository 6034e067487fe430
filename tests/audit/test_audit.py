"""The audit finds what is broken, does not accuse what is sound, and needs no more than the thing itself.

False alarms: a sound mechanism is called violated with probability at most 1 - confidence; tests that must not alarm
use confidence 1 - 1e-6, and tests that must find are far enough from the border to miss less often than that.
"""

import json
import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
import twins
from stranger import StrangeLogistic

import tacit
from tacit.audit import AuditResult, Batched, Pair, audit, audit_samplers, library
from tacit.audit.exact import exact_epsilon, one_dimensional_pairs
from tacit.audit.planned import Planned, planned
from tacit.audit.replay import replay, same_noise
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.mechanisms import GradientPerturbation, Output
from tacit.privacy.accounting import gaussian_mu
from tacit.types import ADJACENCIES, Budget

CLAIM = Budget(1.0, 1e-5)
SURE = 1 - 1e-6
LABEL = library("replace-one")[:1]


def gaussian_mechanism(epsilon, delta, factor=1.0):
    """The sum of y x in one direction with exactly the noise that the claim needs, times a factor."""
    scale = factor * 2.0 / gaussian_mu(epsilon, delta)
    return Batched(lambda X, y, rng, m: y @ X[:, :1] + scale * rng.standard_normal((m, 1)), "gaussian mechanism")


def test_power_on_the_plain_gaussian_mechanism():
    """20,000 runs a side: mu = 0.269 is seen to +-0.013, so the bound is 0.84 +- 0.05 of epsilon; the median of five
    is safe."""
    found = [
        audit(gaussian_mechanism(1.0, 1e-5), CLAIM, pairs=LABEL, family="gaussian", trials=40_000, seed=s)
        for s in range(5)
    ]
    assert 0.7 <= np.median([r.epsilon for r in found]) <= 1.0
    assert all(r.bound == "gaussian" and r.runs == 40_000 for r in found)
    assert np.median([r.clopper_pearson for r in found]) < 0.5, "Clopper-Pearson alone sees much less"


def test_false_alarms_are_as_rare_as_stated():
    """200 audits at 95% of a mechanism exactly at its claim: more than 30 alarms have probability 1e-6 if the level is
    5%."""
    alarms = {"gaussian": 0, None: 0}
    for seed in range(200):
        for family in alarms:
            result = audit(
                gaussian_mechanism(1.0, 0.01),
                Budget(1.0, 0.01),
                pairs=LABEL,
                family=family,
                confidence=0.95,
                trials=1000,
                seed=seed,
            )
            alarms[family] += result.verdict == "violated"
    assert max(alarms.values()) <= 30
    assert alarms["gaussian"] >= 1, "the bound would be slack: alarms at 5% should be seen in 200 audits"


def test_half_the_noise_is_found_and_the_same_seed_repeats():
    one, two = (
        audit(gaussian_mechanism(1.0, 1e-5, 0.5), CLAIM, pairs=LABEL, family="gaussian", trials=20_000, seed=3)
        for _ in "ab"
    )
    assert one.verdict == "violated"
    assert one.epsilon == two.epsilon
    assert one.epsilon < 2.2, "half the noise costs about twice epsilon"


def test_clopper_pearson_finds_a_release_without_noise_at_the_ceiling():
    result = audit(lambda X, y, rng: y @ X, CLAIM, pairs=LABEL, trials=2000, seed=1)
    assert result.verdict == "violated"
    assert result.epsilon == pytest.approx(result.ceiling)
    assert result.bound == "clopper-pearson"


def test_equal_data_sets_show_nothing():
    pair = library("replace-one")[0]
    same = Pair("same", "", pair.first, pair.first, pair.direction)
    result = audit(gaussian_mechanism(1.0, 1e-5), CLAIM, pairs=[same], trials=4000, confidence=SURE, seed=1)
    assert result.epsilon == 0


# --- broken twins ---------------------------------------------------------------------------------------------------
def subject_of(plan, loss, clip=1.0, intercept=0.0):
    return Planned(plan=plan, loss=loss, clip=clip, intercept=intercept, name="twin")


def facts_of(loss, adjacency="replace-one", clip=1.0, intercept=0.0):
    return (
        planned(
            "output", Budget(1.0, 1e-5, adjacency), loss=loss, records=16, features=2, clip=clip, intercept=intercept
        )
        .problem(library(adjacency, clip=clip)[0].first)
        .facts
    )


def quarter_of_the_noise():
    whole = planned("objective", CLAIM, loss=Logistic(5.0), records=16, features=2, regularization=2.0)
    return replace(whole, plan=replace(whole.plan, scale=0.25 * whole.plan.scale))


def plain_intercept():
    whole = planned("output", CLAIM, loss=HuberHinge(), records=16, features=2, intercept=0.5)
    return subject_of(twins.PlainInterceptPlan(whole.plan), HuberHinge(), intercept=0.5)


def partly_silent():
    whole = planned("output", CLAIM, loss=HuberHinge(), records=16, features=2)
    return subject_of(twins.PartlySilentPlan(whole.plan), HuberHinge())


BROKEN = {
    "half of the sensitivity": (
        lambda: subject_of(twins.half_output(facts_of(HuberHinge()), CLAIM), HuberHinge()), 40_000
    ),
    "a quarter of the noise": (quarter_of_the_noise, 4000),
    "the sum clipped, not each record": (
        lambda: subject_of(twins.batch_mean(facts_of(HuberHinge()), CLAIM), HuberHinge()), 4000
    ),
    "an intercept without noise": (plain_intercept, 1000),
    "noise on half of the numbers": (partly_silent, 1000),
}  # fmt: skip
"""Twins, and the trials after which each is found: by a little, or at the ceiling where a number has no noise."""


@pytest.mark.parametrize("name", BROKEN)
def test_broken_twins_are_found(name):
    make, trials = BROKEN[name]
    result = audit(make(), CLAIM, trials=trials, seed=5)
    assert result.verdict == "violated", str(result)


def test_a_private_count_is_found():
    """Dividing by the number of records before adding noise: seen when the number is the difference."""
    claim = Budget(1.0, 1e-5, "add-remove")
    base = GradientPerturbation(steps=20, step=0.1, momentum=0.0, schedule="constant").calibrate(
        claim, facts_of(HuberHinge()), None, "proven"
    )
    subject = subject_of(twins.CountingPlan(base), HuberHinge())
    assert any(replay(subject, pair, "add-remove") for pair in library("add-remove"))


# --- sound methods --------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(
    "method", ["objective", "objective-chaudhuri-2011", "output", "output-chaudhuri-2011", "gradient", "dp-svrg"]
)
def test_sound_methods_are_not_accused(method, adjacency):
    """False alarms: 1e-6 an audit. Power, at this seed: with noise for six times the epsilon, 10 of the 12 are accused
    with the hinge; of the other two, objective and dp-svrg under replace-one, 0.7 of the claim or more is seen."""
    claim = Budget(2.0, 0.0 if "chaudhuri" in method else 1e-3, adjacency)
    few = method == "dp-svrg"  # its profile takes a second to compute
    pairs = library(adjacency)[:1] if few else None
    for loss in ("huber-hinge",) if few or adjacency == "add-remove" else ("logistic", "huber-hinge", "squared"):
        result = audit(method, claim, loss=loss, trials=2000, confidence=SURE, seed=2, pairs=pairs)
        assert result.verdict == "consistent", str(result)


@pytest.mark.parametrize("method", ["output", "gradient"])
def test_audits_come_within_a_factor_of_two(method):
    """Noise is not wasted either: under stress the Gaussian-DP bound shows most of epsilon (0.9 expected, 0.5
    asked)."""
    from tacit.audit.all_methods import STRESSED

    stress = STRESSED[method]
    subject = planned(
        stress.mechanism, CLAIM, loss=stress.loss, records=16, features=2, regularization=stress.regularization
    )
    result = audit(subject, CLAIM, trials=60_000, pairs=library("replace-one")[:1], seed=4)
    assert 0.5 <= result.epsilon <= 1


# --- strangers ------------------------------------------------------------------------------------------------------
def test_a_stranger_needs_only_to_be_passed_in():
    sound = audit(StrangeLogistic(epsilon=1.0), Budget(1.0, 0.0), pairs=LABEL, trials=1500, confidence=SURE, seed=1)
    assert sound.verdict == "consistent"
    assert sound.subject == "StrangeLogistic"
    bad = audit(
        StrangeLogistic(epsilon=4.0, bug=True), Budget(1.0, 0.0), pairs=LABEL, trials=1500, confidence=0.99, seed=1
    )
    assert bad.verdict == "violated", "four times the epsilon and half the noise, against a claim of 1"
    found, moved = same_noise(StrangeLogistic(), LABEL[0])
    assert not found
    assert moved < 0.1


def test_diffprivlib_where_it_can_be_imported():
    models = pytest.importorskip("diffprivlib.models", exc_type=ImportError)
    result = audit(models.LogisticRegression(epsilon=1.0, data_norm=1.0), Budget(1.0, 0.0), seconds=5, confidence=SURE)
    assert result.trials >= 50


def test_our_estimators_are_audited_like_a_stranger():
    model = tacit.LogisticRegression(1.0, delta=1e-3, method="output", classes=[-1, 1])
    result = audit(model, Budget(1.0, 1e-3), trials=300, confidence=SURE, seed=1)
    assert result.verdict == "consistent"
    assert result.subject == "LogisticRegression"
    assert result.pair in {pair.name for pair in library("replace-one")}


def test_samplers_of_single_records():
    """Randomised response with epsilon = 1, and with epsilon = 3 under a claim of 1."""

    def response(bit, epsilon):
        keep = math.exp(epsilon) / (1 + math.exp(epsilon))
        return lambda rng, m: np.where(rng.random(m) < keep, bit, 1 - bit)

    claim = Budget(1.0, 0.0)
    sound = audit_samplers(response(0, 1.0), response(1, 1.0), claim, trials=20_000, confidence=SURE, seed=1)
    assert 0.8 < sound.epsilon <= 1
    assert audit_samplers(response(0, 3.0), response(1, 3.0), claim, trials=4000, seed=1).verdict == "violated"


# --- the interface --------------------------------------------------------------------------------------------------
def test_results_are_plain_and_have_a_picture():
    stages = []
    result = audit("output", CLAIM, trials=4000, seed=1, progress=lambda stage, part: stages.append(part))
    data = json.loads(result.to_json())
    assert data["verdict"] == result.verdict
    assert data["claimed"] == 1
    assert AuditResult(**{k: v for k, v in data.items() if k != "verdict"}).epsilon == result.epsilon
    assert "consistent" in str(result)
    assert f"{result.trials:,} trials" in str(result)
    assert stages[-1] == 1
    assert stages == sorted(stages)
    assert result.picture().startswith("<svg")


def test_a_clear_violation_stops_early():
    result = audit(
        Batched(lambda X, y, rng, m: np.repeat(y @ X[:, :1], m)[:, None], "plain"), CLAIM, pairs=LABEL, seconds=60
    )
    assert result.verdict == "violated"
    assert result.trials <= 1000


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ({"confidence": 0.5}, "confidence"),
        ({"trials": 3}, "trials"),
        ({"family": "cauchy"}, "family"),
        ({"seconds": 0}, "seconds"),
    ],
)
def test_refusals(change, sentence):
    with pytest.raises(ValueError, match=sentence):
        audit("output", CLAIM, **change)
    with pytest.raises(ValueError, match="function"):
        audit(3, CLAIM)
    with pytest.raises(ValueError, match="Unknown method"):
        audit("nothing", CLAIM)
    with pytest.raises(ValueError, match="claimed to be a Budget"):
        audit("output", 1.0)
    with pytest.raises(ValueError, match="claimed to be a Budget"):
        audit_samplers(lambda rng, n: rng.normal(size=n), lambda rng, n: rng.normal(size=n), 1.0)


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (lambda rng: {"weights": 1.0}, "array of numbers as the result of training, not dict"),
        (lambda rng: "s3cr3t", "array of numbers"),
        (lambda rng: math.nan, "nothing but NaN"),
        (lambda rng: np.full(3, math.nan), "nothing but NaN"),
        (lambda rng: (), "at least one parameter"),
    ],
)
def test_functions_that_return_no_parameters_get_a_sentence(result, sentence):
    with pytest.raises(ValueError, match=sentence) as caught:
        audit(lambda X, y, rng: result(rng), CLAIM, trials=200)
    assert "s3cr3t" not in str(caught.value)


def test_nan_on_one_data_set_only_is_a_violation():
    """It is an outcome like others: whoever sees it knows which of the two it was."""
    data = np.ones((4, 2)), np.ones(4)
    pair = Pair.of(data, (np.zeros((4, 2)), np.ones(4)))
    found = audit(lambda X, y, rng: math.nan if X.any() else rng.normal(), CLAIM, pairs=pair, trials=2000, seed=1)
    assert found.verdict == "violated"


def test_one_pair_need_not_be_in_a_list():
    pair = Pair.of((np.ones((4, 2)), np.ones(4)), (np.zeros((4, 2)), np.ones(4)), name="mine")
    one, listed = (
        audit(lambda X, y, rng: X.sum() + rng.normal(), CLAIM, pairs=pairs, trials=400, seed=1)
        for pairs in (pair, [pair])
    )
    assert one.pair == "mine"
    assert one.epsilon == listed.epsilon
    with pytest.raises(ValueError, match="Pair objects"):
        audit("output", CLAIM, pairs=[(np.ones((4, 2)), np.ones(4))])


def test_pairs_are_neighbours():
    for adjacency in ADJACENCIES:
        for targets, allowed in (("signs", {-1, 1}), ("classes", {0, 1, 2}), ((0.0, 2.0), {0, 2})):
            for pair in library(adjacency, targets=targets, clip=3.0, columns=4):
                n, m = len(pair.first.rows), len(pair.second.rows)
                assert np.array_equal(pair.first.rows[: m - 1], pair.second.rows[: m - 1])
                assert n - m == (adjacency == "add-remove")
                assert np.linalg.norm(pair.first.rows, axis=1).max() <= 3 * (1 + 1e-12)
                assert set(pair.first.targets) | set(pair.second.targets) <= allowed


def test_mechanisms_with_their_own_settings_are_audited():
    result = audit(
        planned(Output("descent"), CLAIM, records=16, features=2), CLAIM, trials=4000, confidence=SURE, seed=1
    )
    assert result.verdict == "consistent"


# --- losses ---------------------------------------------------------------------------------------------------------
@dataclass(frozen=True)
class Fractions(Squared):
    """A loss that nobody knows by name, with targets within [0, 1] only and slopes in both directions."""

    name: str = "fractions"
    targets: tuple[float, float] = (0.0, 1.0)

    def slope(self, z, y):
        assert y.min() >= 0
        return super().slope(z, y)


@pytest.mark.parametrize("method", ["objective", "gradient"])
def test_any_loss_is_audited_with_targets_that_it_takes(method):
    subject = planned(method, CLAIM, loss=Fractions(), records=16, features=2)
    result = audit(subject, CLAIM, trials=2000, confidence=SURE, seed=1)
    assert result.verdict == "consistent"
    line = planned("output", CLAIM, loss=Fractions(), records=2, features=1)
    pairs = [p for p in one_dimensional_pairs("replace-one", targets=Fractions().targets) if len(p.first.rows) == 2]
    assert 0 < max(exact_epsilon(line, pair, CLAIM.delta) for pair in pairs) <= CLAIM.epsilon


@pytest.mark.parametrize("classes", [2, 5])
def test_softmax_of_any_number_of_classes_is_audited(classes):
    subject = planned("gradient", CLAIM, loss=Softmax(classes), records=16, features=2)
    assert audit(subject, CLAIM, trials=400, confidence=SURE, seed=1).verdict == "consistent"
    pair = library("replace-one", targets="classes", classes=classes)[3]  # its records differ in the second feature
    line = subject.direction(pair).reshape(2, classes)
    assert np.array_equal(line[0], np.zeros(classes))
    assert np.array_equal(line[1], [1, -1, *np.zeros(classes - 2)])
