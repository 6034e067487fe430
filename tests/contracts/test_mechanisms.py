"""Every method by name: calibration, the plain model at infinite epsilon, fresh noise, a guarantee that verifies."""

import functools
import itertools
import json
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from instances import MAIN_LOSSES, label, outputs_of, random_problem
from oracles import CENTRAL, REPLACE_ONLY, budget_for, covers, door

from tacit import PrivacyError
from tacit.checks import RefutedWarning
from tacit.linear.losses import HuberHinge, Logistic, Softmax, Squared
from tacit.linear.solvers.newton import Newton
from tacit.mechanisms import (
    METHODS,
    Chosen,
    GradientPerturbation,
    ObjectivePerturbation,
    Output,
    Poisson,
    Subset,
    Svrg,
    Whitened,
    choose_method,
)
from tacit.mechanisms.output import Minimum, OutputPlan
from tacit.mechanisms.sufficient import StatisticsPlan
from tacit.privacy import accounting
from tacit.privacy.events import Gaussian, PoissonGaussian, SubsetGaussian
from tacit.privacy.guarantee import Guarantee, checksum
from tacit.privacy.noise import GRID_BITS, SeededSource, SystemSource
from tacit.privacy.together import spent
from tacit.training import prepare, train
from tacit.types import ADJACENCIES, Budget, Facts

EPSILONS = (0.05, 0.1, 1.0, 3.0, 10.0)
DELTA = 1e-5
SLOW = {"dp-sgd", "dp-sgd-subset", "dp-lssgd", "bassily-2014", "dp-svrg", "whitened-dp-sgd"}
"""Methods whose price takes a numerical accountant."""
QUICK = {
    "dp-sgd": GradientPerturbation(Poisson(0.3), steps=10),
    "dp-lssgd": GradientPerturbation(Poisson(0.3), steps=10, smoothing=2.0),
    "dp-sgd-subset": GradientPerturbation(Subset(15), steps=10),
    "bassily-2014": GradientPerturbation(Poisson(0.2), steps=10, momentum=0.0, schedule="inverse-root"),
    "dp-svrg": Svrg(rounds=2, inner=3, rate=0.3),
    "whitened-dp-sgd": Whitened(GradientPerturbation(Poisson(0.3), steps=10)),
}
"""The same classes with fewer steps, where the run is tested and not the price."""


def facts_for(loss, n=300, d=5):
    return Facts(records=n, features=d, outputs=outputs_of(loss), radius=1.2, loss=loss)


@functools.cache
def calibrated(name, adjacency, epsilon, loss, quick=False, calibration="proven"):
    mechanism = QUICK.get(name, METHODS[name].mechanism) if quick else METHODS[name].mechanism
    facts = facts_for(loss, *((60, 5) if quick else ()))
    return mechanism.calibrate(budget_for(mechanism, epsilon, DELTA, adjacency), facts, None, calibration)


def losses_of(name):
    return [loss for loss in MAIN_LOSSES if loss.name in METHODS[name].losses]


CASES = [(n, a, loss) for n in CENTRAL for a in ADJACENCIES for loss in losses_of(n) if covers(n, a)]
every_case = pytest.mark.parametrize(
    ("name", "adjacency", "loss"), CASES, ids=[f"{n}-{a}-{label(loss)}" for n, a, loss in CASES]
)


# --- calibration ----------------------------------------------------------------------------------------------------
@every_case
def test_calibration_never_overshoots_and_wastes_less_than_a_percent(name, adjacency, loss):
    if name in SLOW and loss.name != "logistic":
        pytest.skip("the price depends on scale over clip only: one loss is enough")
    scales = []
    for epsilon in (0.1, 0.5) if name in SLOW else EPSILONS:
        plan = calibrated(name, adjacency, epsilon, loss)
        delta = budget_for(METHODS[name].mechanism, epsilon, DELTA, adjacency).delta
        price = accounting.epsilon(plan.events, delta, adjacency)
        assert 0.99 * epsilon < price <= epsilon * (1 + 1e-9)
        assert all(event.scale > 0 for event in plan.events)
        mechanism_scale = plan.events[0].scale
        clip = getattr(plan, "clip", 1.0)
        scales.append(mechanism_scale / clip)
    if not name.startswith("output"):  # there the regularisation changes with epsilon too, and the scale with it
        assert all(a > b for a, b in itertools.pairwise(scales)), "more budget, less noise"


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", EPSILONS)
def test_sampled_calibration_over_all_epsilons(adjacency, epsilon):
    """The numerical accountants at every epsilon, with few steps."""
    for mechanism in (GradientPerturbation(Poisson(0.1), steps=5), GradientPerturbation(Subset(30), steps=20)):
        if isinstance(mechanism.sampler, Subset) and adjacency == "add-remove":
            continue
        plan = mechanism.calibrate(Budget(epsilon, DELTA, adjacency), facts_for(Logistic()), None, "proven")
        assert isinstance(plan.events[0], PoissonGaussian | SubsetGaussian)
        price = accounting.epsilon(plan.events, DELTA, adjacency)
        assert 0.99 * epsilon < price <= epsilon * (1 + 1e-9)


@pytest.mark.parametrize("trainer", ["minimum", "descent", "passes", "passes-strong"])
def test_output_noise_falls_with_epsilon_at_a_fixed_regularisation(trainer):
    scales = [
        Output(trainer).calibrate(Budget(e, DELTA), facts_for(Logistic()), 0.05, "proven").scale for e in EPSILONS
    ]
    assert all(a > b for a, b in itertools.pairwise(scales))


def test_exactly_the_named_methods_are_for_replace_one_only():
    refusing = set()
    for name in METHODS:
        mechanism = QUICK.get(name, METHODS[name].mechanism)
        loss = losses_of(name)[0]
        try:
            mechanism.calibrate(budget_for(mechanism, 1.0, DELTA, "add-remove"), facts_for(loss, 60), None, "proven")
        except PrivacyError:
            refusing.add(name)
    assert refusing == set(REPLACE_ONLY)


def test_budgets_that_no_noise_meets_are_refused():
    with pytest.raises(PrivacyError, match="delta > 0"):
        GradientPerturbation().calibrate(Budget(1.0, 0.0), facts_for(Logistic()), None, "proven")
    with pytest.raises(PrivacyError, match="regularization"):
        ObjectivePerturbation().calibrate(Budget(0.1, 1e-5), facts_for(HuberHinge()), 1e-9, "proven")
    for trainer in ("minimum", "passes-strong"):
        with pytest.raises(PrivacyError, match="regularization > 0"):
            Output(trainer).calibrate(Budget(1.0, 1e-5), facts_for(Logistic()), 0.0, "proven")
    with pytest.raises(PrivacyError, match="regularization > 0"):
        ObjectivePerturbation().calibrate(Budget(1.0, 1e-5), facts_for(Logistic()), 0.0, "proven")


def kifer_scale(epsilon, delta, gradient):
    """Kifer et al. 2012: sigma^2 = G^2 (8 log(2/delta) + 4 epsilon) / epsilon^2, for Lambda >= 2 beta/epsilon."""
    return gradient * math.sqrt(8 * math.log(2 / delta) + 4 * epsilon) / epsilon


@pytest.mark.parametrize("delta", [1e-8, 1e-5])
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared()], ids=label)
def test_tight_noise_is_at_most_0_65_of_kifers(loss, delta):
    """Add-remove, the same (epsilon, delta, Lambda), from epsilon = 0.01 to 10.

    At delta = 1e-5 for every Lambda that Kifer et al. allow (>= 2 beta/epsilon). At delta = 1e-8 and their smallest
    Lambda the determinant takes half of epsilon (but for the logistic loss, where it comes nearly free): up to 0.73
    there, and below 0.65 from 3 beta/epsilon on.
    """
    facts = facts_for(loss)
    for epsilon, factor in itertools.product((0.01, 0.1, 0.5, 1.0, 3.0, 10.0), (2.0, 3.0, 10.0, 100.0)):
        strong = factor * facts.curvature / epsilon
        plan = ObjectivePerturbation().calibrate(
            Budget(epsilon, delta, "add-remove"), facts, strong / facts.records, "proven"
        )
        ratio = plan.scale / kifer_scale(epsilon, delta, facts.gradient)
        allowed = 0.65 if factor >= 3 or delta == 1e-5 or loss.name == "logistic" else 0.73
        assert 0.2 < ratio <= allowed, (epsilon, factor, ratio)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_kifers_noise_as_published(epsilon):
    """Their noise with G at their smallest Lambda: enough under add-remove; 8 to 15% too dear under replace-one."""
    facts = facts_for(HuberHinge())
    least = 2 * facts.curvature / epsilon / facts.records
    prices = {}
    for adjacency in ADJACENCIES:
        plan = ObjectivePerturbation().calibrate(Budget(epsilon, DELTA, adjacency), facts, least, "paper")
        assert plan.scale == pytest.approx(kifer_scale(epsilon, DELTA, facts.gradient))
        prices[adjacency] = accounting.epsilon(plan.events, DELTA, adjacency)
    assert prices["add-remove"] <= 0.8 * epsilon
    assert 1.05 * epsilon < prices["replace-one"] < 1.2 * epsilon


# --- the paper's calibrations ---------------------------------------------------------------------------------------
PAPERS = [name for name in CENTRAL if "paper" in METHODS[name].calibrations]


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("name", PAPERS)
def test_a_paper_calibration_is_never_silently_below_budget(name, epsilon, adjacency):
    if not covers(name, adjacency):
        pytest.skip("not covered")
    mechanism = METHODS[name].mechanism
    budget = budget_for(mechanism, epsilon, DELTA, adjacency)
    options = {"seeded": True, "calibration": "paper"}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            prepared = prepare(facts_for(Logistic()), Chosen(name, mechanism, budget), **options)
        except PrivacyError:
            return  # the paper's own conditions do not hold here: refused, nothing spent
    price = accounting.epsilon(prepared.guarantee.events, budget.delta, adjacency)
    loud = [w for w in caught if issubclass(w.category, RefutedWarning)]
    if price > epsilon * (1 + 1e-6):
        exact = all(isinstance(event, Gaussian) for event in prepared.guarantee.events)
        assert prepared.guarantee.status == ("refuted" if exact else "claimed")
        assert loud
        with pytest.raises(PrivacyError):
            prepared.guarantee.verify()
    else:
        assert prepared.guarantee.status == "proven"
        assert not loud
        assert prepared.guarantee.verify() <= epsilon


def test_some_published_noise_is_refuted():
    """The classical Gaussian noise beyond epsilon = 1."""
    for name, epsilon in (("output-zhang-2017", 20.0), ("output-wu-2017", 20.0)):
        with pytest.warns(RefutedWarning, match="REFUTED"):
            prepared = prepare(
                facts_for(Logistic()), Chosen(name, METHODS[name].mechanism, Budget(epsilon, 1e-2)),
                seeded=True, calibration="paper",
            )  # fmt: skip
        assert prepared.guarantee.status == "refuted"


def test_published_noise_that_we_cannot_confirm_is_no_more_than_claimed():
    """Kifer et al.'s noise, set for add-remove neighbours, under replace-one: our price is an upper bound."""
    options = {"seeded": True, "calibration": "paper"}
    facts, mechanism = facts_for(HuberHinge()), METHODS["objective"].mechanism
    least = 2 * facts.curvature / facts.records
    with pytest.warns(RefutedWarning, match="CLAIMED"):
        prepared = prepare(facts, Chosen("objective", mechanism, Budget(1.0, 1e-5)), regularization=least, **options)
    assert prepared.guarantee.status == "claimed"
    with pytest.raises(PrivacyError, match="more than the stated"):
        prepared.guarantee.verify()
    chosen = Chosen("objective", mechanism, Budget(1.0, 1e-5, "add-remove"))
    confirmed = prepare(facts, chosen, regularization=least, **options)
    assert confirmed.guarantee.status == "proven"


def test_methods_without_published_noise_say_so():
    for name in CENTRAL:
        if "paper" not in METHODS[name].calibrations:
            mechanism = METHODS[name].mechanism
            unmet = mechanism.needs(facts_for(losses_of(name)[0]), "paper")
            assert unmet or name in ("output", "output-chaudhuri-2011"), name


# --- runs -----------------------------------------------------------------------------------------------------------
def run(name, loss, source, epsilon=1.0, adjacency="replace-one", rng=None):
    problem = random_problem(loss, rng or np.random.default_rng(5), n=60, d=4)
    mechanism = QUICK.get(name, METHODS[name].mechanism)
    budget = budget_for(mechanism, epsilon, DELTA, adjacency)
    plan = mechanism.calibrate(budget, problem.facts, None, "proven")
    return plan, problem, plan.run(problem, source).weights


LOSS_CASES = [(n, loss) for n in CENTRAL for loss in losses_of(n)]
every_loss_case = pytest.mark.parametrize(
    ("name", "loss"), LOSS_CASES, ids=[f"{n}-{label(loss)}" for n, loss in LOSS_CASES]
)


def minimised(plan):
    """Lambda of the objective whose minimiser a plan gives when nothing is added; None where it stops early.

    A plan that has a ``strength`` promises it; moments are of least squares without the loss's bounds, and not of it.
    """
    if isinstance(plan, OutputPlan):
        return plan.trainer.strength if isinstance(plan.trainer, Minimum) else None
    return None if isinstance(plan, StatisticsPlan) else vars(plan).get("strength")


@every_loss_case
def test_an_infinite_budget_gives_the_plain_model(name, loss):
    """No event, no noise; two sources give the same unless the method samples, and minimisers are the minimiser."""
    plan, problem, weights = run(name, loss, SeededSource(1), epsilon=math.inf)
    assert plan.events == ()
    with door() as calls:
        again = plan.run(problem, SeededSource(1)).weights
    np.testing.assert_array_equal(weights, again)
    assert all(call.scale == 0 and call.output is not None for call in calls)
    for call in calls:
        np.testing.assert_array_equal(call.output, call.values)
    strong = minimised(plan)
    if strong is not None:
        best = Newton(1e-10).solve(replace(problem, strength=strong)).weights
        np.testing.assert_allclose(weights, best, atol=1e-5)


@every_loss_case
def test_same_seed_same_result_and_fresh_noise_otherwise(name, loss):
    plan, problem, first = run(name, loss, SeededSource(3))
    np.testing.assert_array_equal(first, plan.run(problem, SeededSource(3)).weights)
    others = [plan.run(problem, SeededSource(4)).weights, *(plan.run(problem, SystemSource()).weights for _ in "ab")]
    for a, b in itertools.combinations([first, *others], 2):
        assert not np.isclose(a, b, rtol=1e-12, atol=0).any(), "every coordinate has fresh noise"


@every_loss_case
def test_every_release_is_on_its_grid_and_noisy(name, loss):
    """Grid 2**-GRID_BITS of the scale, no finer and no coarser; every coordinate of every release is moved by noise."""
    plan, problem, _ = run(name, loss, SeededSource(3))
    with door() as calls:
        plan.run(problem, SeededSource(5))
    assert calls
    odd = 0
    for call in calls:
        assert call.scale > 0
        step = 2.0 ** (math.floor(math.log2(call.scale)) - GRID_BITS)
        whole = call.output / step
        np.testing.assert_array_equal(whole, np.rint(whole))
        odd += np.count_nonzero(whole % 2)
        assert (call.output != call.values).all()
    # On a grid twice as coarse all would be even; an honest coordinate is, half the time: 2**-20 with 20 of them.
    size = sum(call.output.size for call in calls)
    assert size < 20 or odd > 0
    if plan.theorem.endswith("output") or name.startswith("objective"):
        weights = plan.run(problem, SeededSource(5)).weights
        step = 2.0 ** (math.floor(math.log2(calls[-1].scale)) - GRID_BITS)
        np.testing.assert_array_equal(weights / step, np.rint(weights / step))


@every_case
def test_guarantee_survives_json_and_verifies(name, adjacency, loss):
    if name in SLOW and loss.name != "logistic":
        pytest.skip("one loss is enough for the slow prices")
    mechanism = QUICK.get(name, METHODS[name].mechanism)
    problem = random_problem(loss, np.random.default_rng(5), n=60, d=4)
    budget = budget_for(mechanism, 1.0, DELTA, adjacency)
    prepared = prepare(problem.facts, Chosen(name, mechanism, budget), seeded=True)
    stored = []
    train(prepared, problem, SeededSource(0), stored.append)
    guarantee = Guarantee.from_json(stored[0].guarantee.to_json())
    assert guarantee == stored[0].guarantee == prepared.guarantee
    assert guarantee.verify() == pytest.approx(accounting.epsilon(prepared.plan.events, budget.delta, adjacency))
    assert guarantee.status == "proven"
    text = str(guarantee)
    for word in (adjacency, "PROVEN", name, "theorem", "assumes", "seeded"):
        assert word in text


@pytest.mark.parametrize("step", [1e10, 1e200, 1e308])
@pytest.mark.parametrize("loss", MAIN_LOSSES, ids=label)
@pytest.mark.filterwarnings("ignore:overflow encountered")
def test_a_descent_that_flies_off_keeps_its_sums_finite(loss, step):
    """A NaN in a sum would be a record's doing and break its sensitivity: weights stop at 1e150."""
    problem = random_problem(loss, np.random.default_rng(5), n=20)
    plan = GradientPerturbation(step=step, steps=6).calibrate(Budget(1.0, DELTA), problem.facts, None, "proven")
    with door() as calls:
        weights = plan.run(problem, SeededSource(1)).weights
    assert all(np.isfinite(call.values).all() for call in calls)
    assert np.isfinite(weights).all()


# --- tampering ------------------------------------------------------------------------------------------------------
@pytest.fixture(scope="module")
def honest():
    budget = Budget(1.0, 1e-5)
    return prepare(facts_for(Logistic()), Chosen("gradient", METHODS["gradient"].mechanism, budget), seeded=True)


def tampered(guarantee, resigned, **changes):
    data = json.loads(guarantee.to_json())
    for key, value in changes.items():
        if key == "scale":
            data["events"][0]["scale"] = value
        elif key == "sensitivity":
            data["events"][0]["sensitivity"]["replace_one"] = value
        else:
            data[key] = value
    if resigned:
        data.pop("checksum")
        data["checksum"] = checksum(data)
    return json.dumps(data)


CHANGES = [
    {"epsilon": 0.5}, {"epsilon": -1.0}, {"epsilon": float("nan")}, {"epsilon": None, "theorem": "gone"},
    {"delta": 1e-9}, {"delta": 0}, {"delta": "1e-5"}, {"delta": None}, {"delta": 2.0}, {"scale": 1.0}, {"scale": "100"},
    {"scale": -1.0}, {"status": "refuted"}, {"status": "claimed"}, {"status": "excellent"}, {"events": []},
    {"events": "none"}, {"events": [{"kind": "Magic"}]}, {"events": [{}]}, {"theorem": "moonshine"}, {"theorem": None},
    {"adjacency": "cousins"}, {"sensitivity": 1e3}, {"sensitivity": "big"}, {"sensitivity": None}, {"records": "many"},
]  # fmt: skip
"""Changes that are caught whether or not the file was signed again: the price is recomputed, and fields have types."""


@pytest.mark.parametrize("resigned", [False, True])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_tampering_is_caught(honest, changes, resigned):
    text = tampered(honest.guarantee, resigned, **changes)
    with pytest.raises(PrivacyError):
        Guarantee.from_json(text).verify()


@pytest.mark.parametrize("key", ["method", "records", "assumptions", "seeded", "calibration", "protects", "version"])
def test_words_are_covered_by_the_checksum(honest, key):
    text = tampered(honest.guarantee, False, **{key: "x"})
    with pytest.raises(PrivacyError, match="checksum"):
        Guarantee.from_json(text)


@pytest.mark.parametrize("text", ["", "{}", "[]", "null", "not json", '{"format": "tacit-guarantee"}', "1e999"])
def test_foreign_files_are_refused(text):
    with pytest.raises(PrivacyError):
        Guarantee.from_json(text)


def test_epsilon_at_both_adjacencies_and_other_deltas(honest):
    guarantee = honest.guarantee
    assert guarantee.epsilon_at() == pytest.approx(1.0, rel=0.01)
    assert guarantee.epsilon_at(adjacency="add-remove") < 0.6
    assert guarantee.epsilon_at(delta=1e-9) > guarantee.epsilon_at(delta=1e-3)


def test_several_fits_add_up(honest):
    """Two fits cost more than one, and less than twice as much by joint composition."""
    one, two = (spent([honest.guarantee] * k, delta=1e-5) for k in (1, 2))
    assert one < two < 2 * one
    open_end = replace(honest.guarantee, events=(), epsilon=math.inf, theorem="none")
    assert spent([honest.guarantee, open_end], delta=1e-5) == math.inf


# --- needs and names ------------------------------------------------------------------------------------------------
def test_needs_are_checked_before_anything_runs():
    plain = Squared(math.inf)
    for mechanism in (ObjectivePerturbation(), Output()):
        assert "Bound the target" in mechanism.needs(facts_for(plain), "proven")
    assert METHODS["statistics"].mechanism.needs(facts_for(Logistic()), "proven")
    assert METHODS["objective"].mechanism.needs(facts_for(Softmax(3)), "paper")
    with pytest.raises(PrivacyError, match="squared"):
        prepare(facts_for(Logistic()), Chosen("x", METHODS["statistics"].mechanism, Budget(1.0, 1e-5)), seeded=True)


def test_auto_goes_by_public_facts_only():
    for loss in MAIN_LOSSES:
        for n, epsilon in itertools.product((1, 100, 10**6), (0.01, 1.0, math.inf)):
            chosen = choose_method("auto", Budget(epsilon, 1e-5), facts_for(loss, n))
            name, mechanism = chosen.name, chosen.mechanism
            assert loss.name in METHODS[name].losses
            assert mechanism is METHODS[name].mechanism
    with pytest.raises(ValueError, match="Unknown method"):
        choose_method("magic", Budget(1.0, 1e-5), facts_for(Logistic()))
    with pytest.raises(ValueError, match="name or a mechanism"):
        choose_method(3, Budget(1.0, 1e-5), facts_for(Logistic()))
