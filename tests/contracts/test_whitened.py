"""Whitened rows: sensitivity, exact products, the joint price by a second road, and what a map may depend on."""

import itertools
import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from dp_accounting import pld
from instances import end_targets
from oracles import CENTRAL, budget_for, covers, problem_of, record, replay, replay_violations
from scipy import sparse

import tacit.mechanisms.whitened as module
from tacit import LinearRegression, LogisticRegression, PrivacyError
from tacit.data.rows import BITS
from tacit.files import load, save
from tacit.linear import whole
from tacit.linear.arithmetic import hessian_slack
from tacit.linear.losses import LOSSES, HuberHinge, Logistic, Softmax, Squared
from tacit.linear.problem import Problem, Records
from tacit.linear.symmetric import flat
from tacit.linear.whole import Pieces
from tacit.mechanisms import (
    METHODS,
    Chosen,
    GradientPerturbation,
    Individual,
    ObjectivePerturbation,
    Output,
    Poisson,
    Subset,
    Svrg,
    Whitened,
    choose_method,
)
from tacit.mechanisms.whitened import RowMap, mapped, second_moment
from tacit.privacy import accounting, minimisers
from tacit.privacy.calibrate import fits
from tacit.privacy.events import Gaussian, Objective, PoissonGaussian, Sensitivity
from tacit.privacy.noise import SeededSource
from tacit.privacy.theorems import COUNTED, THEOREMS
from tacit.training import calibrate
from tacit.types import ADJACENCIES, Budget, Facts

FORMS = [name for name in METHODS if name.startswith("whitened-")]
WHITENED = Whitened(GradientPerturbation(steps=5)), Whitened(ObjectivePerturbation())


# --- sensitivity ----------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("intercept", [0.0, 0.5])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_no_two_records_move_the_second_moment_further_and_some_as_far(d, intercept, rng):
    """Rows of any length and angle, the intercept's constant among them; orthogonal rows are the furthest apart."""
    X = np.vstack([10 * rng.normal(size=(60, d)), 0.3 * rng.normal(size=(20, d)), np.eye(d), np.zeros((1, d))])
    turned = X[:1].copy()  # at right angles to the first row, the constants included
    if d > 1 and intercept:
        side = np.cross([*X[0, :2], 0.0], [0.0, 0.0, 1.0])[:2]
        along = X[0, :2] / np.linalg.norm(X[0, :2])
        turned[0] = 0.0
        X[0, 2:] = 0.0
        turned[0, :2] = -(intercept**2) * along + math.sqrt(1 - intercept**4) * side / np.linalg.norm(side)
    problem = problem_of(np.vstack([X, turned]), np.ones(len(X) + 1), Logistic(), intercept=intercept)
    moved = METHODS["whitened-gradient"].mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven").events[0]
    parts = [flat(second_moment(problem.part(np.array([i])))) for i in range(problem.records.count)]
    radius = math.hypot(1.0, intercept)
    alone = max(map(np.linalg.norm, parts))
    assert 0.9999 * radius**2 < alone <= moved.sensitivity.add_remove < 1.0001 * radius**2
    apart = max(np.linalg.norm(a - b) for a, b in itertools.combinations(parts, 2))
    assert apart <= moved.sensitivity.replace_one < 1.0001 * math.sqrt(2) * radius**2
    if d > 1:
        assert apart > 0.9999 * math.sqrt(2) * radius**2
        assert apart > 1.4 * moved.sensitivity.add_remove  # that of add-remove is not enough


@pytest.mark.parametrize("runs", [2, 3])
def test_columns_in_runs_move_it_no_further(runs, rng):
    """A record's part is the sum over places: of rank one at most as long as the row, and as far from another's."""
    facing = np.kron(np.eye(2), np.eye(1, runs)) * 5.0  # two rows with all they have in one channel each, at one place
    X = np.vstack([10 * rng.normal(size=(60, 2 * runs)), np.zeros((1, 2 * runs)), facing])
    problem = problem_of(X, np.ones(len(X)), Logistic(), intercept=0.5)
    mechanism = Whitened(GradientPerturbation(steps=3), runs=runs)
    moved = mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven").events[0].sensitivity
    parts = [flat(second_moment(problem.part(np.array([i])), runs)) for i in range(len(X))]
    rows = (X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None]).reshape(-1, 2, runs)
    slack = problem.facts.radius**2 * hessian_slack(problem.facts, runs)
    np.testing.assert_allclose(parts[0], flat(rows[0] @ rows[0].T), atol=slack)
    alone, apart = max(map(np.linalg.norm, parts)), max(np.linalg.norm(a - parts[-1]) for a in parts)
    assert 0.9999 < alone <= moved.add_remove  # the constant is not in it: its radius is that of rows with one
    assert 0.9999 * math.sqrt(2) < apart <= moved.replace_one


# --- exact products -------------------------------------------------------------------------------------------------
def exact_rows(problem, pieces):
    """Mapped rows by fractions, from rows as they are on their grid, and a map as it is on its; no clipping."""
    columns = [[Fraction(float(w)) for w in column] for column in pieces.columns.T]
    for row in problem.records.design.dense(slice(None)):
        short = [Fraction(float(x)) for x in row]
        yield [sum(a * b for a, b in zip(short, column, strict=True)) for column in columns]


def as_fractions(rows):
    return [[Fraction(float(entry)) for entry in row] for row in rows]


HARD = [
    (d, clip, size)
    for d in (1, 2, 37, 400)
    for clip, size in [
        (1.0, 1.0), (math.nextafter(1.0, 0.0), math.nextafter(2.0, 0.0)), (math.nextafter(2.0, 0.0), 0.7), (2.0, 1e4),
        (1e-50, 3.0), (5e49, 1e-5),
    ]
]  # fmt: skip


def hard_case(d, clip, size, rng, intercept=True):
    """Rows and columns whose terms all have one sign and one size: sums are as large as they can be."""
    constant = clip / math.sqrt(d) if intercept else 0.0
    rows = np.vstack([np.full(d, 3 * clip), -np.full(d, 3 * clip), rng.normal(size=(3, d)) * clip])
    problem = problem_of(rows, np.ones(5), Logistic(), clip=clip, intercept=constant)
    wide = problem.records.features
    even = rng.normal(size=(wide, 3))
    even[:, 0] = 1.0
    return problem, even * (size / np.linalg.norm(even, axis=0))


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(("d", "clip", "size"), HARD)
def test_mapped_rows_are_exact(d, clip, size, intercept, rng):
    problem, even = hard_case(d, clip, size, rng, intercept)
    pieces = Pieces.of(even, 1)
    found = RowMap(pieces)(problem.records.design.block(slice(0, 5)))
    assert as_fractions(found) == list(exact_rows(problem, pieces))


def test_more_bits_would_not_be_exact(rng, monkeypatch):
    """The comparison sees a sum that is not whole: with 34 bits of the map there are some."""
    monkeypatch.setattr(whole, "WEIGHT_DIGITS", 34)
    problem, even = hard_case(37, math.nextafter(2.0, 0.0), math.nextafter(1.0, 0.0), rng)
    pieces = Pieces.of(even, 1)
    found = RowMap(pieces)(problem.records.design.block(slice(0, 5)))
    assert as_fractions(found) != list(exact_rows(problem, pieces))


def test_the_widest_rows_leave_room():
    """Rounding adds at most half a step to an entry: sqrt(d)/2 to a map's norm of at most 2**27 steps."""
    assert 2**BITS * (2 ** (whole.WEIGHT_DIGITS - 1) + math.isqrt(module.WIDEST)) < 2**53


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_runs_of_columns_are_mapped_place_by_place(dtype, rng):
    """Each place's channels go through one map, exactly; weights go back so that scores stay."""
    X, even = rng.normal(size=(200, 12)).astype(dtype), rng.normal(size=(4, 4))
    problem = Problem(Records.build(X, np.ones(200), 0.7, 0.5), Logistic())
    design = mapped(problem, even, runs=3).records.design
    assert (design.clip, design.intercept) == (0.7, 0.5)
    before = problem.records.design
    short = before.dense(slice(None))[:, :12].reshape(-1, 4, 3)
    plain = np.einsum("ncp,ck->nkp", short, even).reshape(-1, 12)
    plain *= np.minimum(1, 0.7 / np.linalg.norm(plain, axis=1, keepdims=True))
    np.testing.assert_allclose(design.matrix[:, :12], plain, atol=1e-6)
    alone = mapped(problem.part(np.array([5])), even, runs=3).records.design
    np.testing.assert_array_equal(alone.matrix, design.matrix[[5]])
    weights = rng.normal(size=(13, 2))
    small = mapped(problem, 0.1 * even, runs=3).records.design  # too small to be clipped
    back = module.unmapped(weights, 0.1 * even, runs=3)
    np.testing.assert_allclose(before.dense(slice(None)) @ back, small.dense(slice(None)) @ weights, atol=1e-5)


# --- a record by itself ---------------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize(("d", "intercept"), [(1, 0.5), (7, 0.0), (300, 0.5)])
def test_a_mapped_row_is_its_own(d, intercept, dtype, rng):
    """To the last bit: alone, in company, in another place, sparse or dense."""
    X = (rng.normal(size=(2000, d)) * (rng.random((2000, d)) < 0.3)).astype(dtype)
    even = rng.normal(size=(d + bool(intercept), d + bool(intercept)))

    def rows_of(X):
        design = mapped(Problem(Records.build(X, np.ones(X.shape[0]), 1.0, intercept), Logistic()), even).records.design
        assert design.matrix.dtype == np.float32
        assert design.intercept == 0
        assert (design.norms <= math.hypot(1.0, intercept)).all()
        return design.dense(slice(None))

    whole = rows_of(X)
    np.testing.assert_array_equal(whole, rows_of(sparse.csr_array(X)))
    np.testing.assert_array_equal(whole[::-1], rows_of(X[::-1]))
    np.testing.assert_array_equal(whole[1:], rows_of(X[1:]))
    for place in (0, 777, 1999):
        np.testing.assert_array_equal(whole[[place]], rows_of(X[[place]]))


def test_rows_that_float32_cannot_hold_are_mapped_in_double_precision(rng):
    """An infinity would be refused, and the refusal would tell of a record."""
    X = (1e37 * rng.normal(size=(5, 2))).astype(np.float32)
    problem = Problem(Records.build(X, np.ones(5), 3e37, 0.0), Logistic())
    assert np.isfinite(mapped(problem, 1e4 * np.eye(2)).records.design.matrix).all()


# --- what the map depends on ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("mechanism", WHITENED, ids=["gradient", "objective"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_with_the_release_frozen_all_other_rows_are_mapped_as_before(mechanism, adjacency, rng, monkeypatch):
    """A record more, or another, moves no other record's row: not by the moment itself, and not by their number."""
    X, y = rng.normal(size=(30, 4)), rng.choice([-1.0, 1.0], size=(30, 1))
    problem = problem_of(X, y, Logistic(), intercept=0.5)
    plan, seen, real = mechanism.calibrate(Budget(1.0, 1e-5, adjacency), problem.facts, None, "proven"), [], mapped

    def watched(problem, even, runs):
        seen.append(real(problem, even, runs))
        return seen[-1]

    monkeypatch.setattr(module, "mapped", watched)
    trace = record(plan, problem)
    kept = X[:-1] if adjacency == "replace-one" else X
    other = problem_of(np.vstack([kept, -X[-1:]]), np.vstack([y[: len(kept)], [[1.0]]]), Logistic(), intercept=0.5)
    calls = replay(trace, other)
    assert replay_violations(plan.events, trace.calls, calls, adjacency) == []
    first, second = (one.records.design.matrix[: len(kept)] for one in seen)
    np.testing.assert_array_equal(first, second)


# --- the joint price ------------------------------------------------------------------------------------------------
GEOMETRIES = [("logistic", 1), ("monotone", 1), ("two-sided", 1), ("simplex", 3), ("logistic", 3)]


def after(bound, mu, epsilon, reach=12.0, points=20_001):
    """The mean of ``bound(epsilon - L)`` over L ~ N(mu^2/2, mu^2): the price of what follows a Gaussian release."""
    t = np.linspace(-reach, reach, points)
    weights = np.exp(-0.5 * t**2) / math.sqrt(2 * math.pi) * (t[1] - t[0])
    return float(sum(w * bound(epsilon - mu**2 / 2 - mu * z) for w, z in zip(weights, t, strict=True) if w > 1e-14))


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(("geometry", "outputs"), GEOMETRIES)
def test_the_price_after_a_gaussian_release_by_quadrature(geometry, outputs, adjacency):
    """The bound of the minimiser alone holds for whatever rows the release leads to, at every epsilon: so does its mean
    over the release's loss. The joint price is that mean or more."""
    event = Objective(slope=1.0, trace=0.25, strength=5.0, scale=4.0, geometry=geometry, outputs=outputs)
    mu, epsilon = 0.3, 2.0
    release = Gaussian(Sensitivity(mu, mu), 1.0)
    joint = accounting.delta((release, event), epsilon, adjacency)
    mean = after(lambda e: minimisers.objective_delta(event, e, adjacency), mu, epsilon, points=2001)
    assert mean <= joint * (1 + 1e-6)
    if outputs == 1 and (geometry, adjacency) != ("two-sided", "replace-one"):
        assert joint == pytest.approx(mean, rel=5e-3)  # of several sets of tangents, one may be best at each epsilon
    alone = accounting.delta((event,), epsilon, adjacency)
    assert alone < 0.97 * mean  # a price without the release is not enough


def test_rows_turned_by_an_earlier_release_cost_more_than_two_corners():
    """Replace-one, slopes of both signs: where the angle may follow the release, two corners in the place of four are
    too few, by some percent at this point."""
    event = Objective(slope=0.15, trace=1e-12, strength=1.0, scale=1.0, geometry="two-sided")
    release = Gaussian(Sensitivity(0.3, 0.3), 1.0)
    cuts = np.linspace(0.0, 0.5, 51)

    def worst(epsilon):
        return max(
            2 * accounting.gaussian_delta(0.3 * math.sqrt(c), epsilon)
            + 2 * accounting.gaussian_delta(0.3 * math.sqrt(1 - c), epsilon)
            for c in cuts
        )

    turned = after(worst, 0.3, 1.0, points=401)
    assert accounting.delta((event, release), 1.0, "replace-one") < 0.98 * turned  # the release came after: no turning
    assert accounting.delta((release, event), 1.0, "replace-one") >= turned
    several = (event, Gaussian(Sensitivity(1e-3, 1e-3), 1.0), release)  # of several fits, in whatever order they were
    assert accounting.delta(several, 1.0, "replace-one") >= turned


def test_the_price_with_sampled_steps_by_another_library():
    """A Gaussian release and Poisson-sampled sums, composed by dp_accounting's privacy loss distributions."""
    budget = Budget(1.0, 1e-5, "add-remove")
    facts = Facts.example(Logistic())
    moment, steps = (
        Whitened(GradientPerturbation(Poisson(0.1), steps=20)).calibrate(budget, facts, None, "proven").events
    )
    assert isinstance(steps, PoissonGaussian)
    interval = 1e-4
    first = pld.privacy_loss_distribution.from_gaussian_mechanism(
        moment.scale / moment.sensitivity.add_remove, value_discretization_interval=interval
    )
    second = pld.privacy_loss_distribution.from_gaussian_mechanism(
        steps.scale / steps.clip, sampling_prob=steps.rate, value_discretization_interval=interval
    ).self_compose(steps.count)
    assert first.compose(second).get_epsilon_for_delta(1e-5) == pytest.approx(1.0, rel=0.01)
    assert second.get_epsilon_for_delta(1e-5) < 0.97


@pytest.mark.parametrize("name", FORMS)
def test_the_share_of_the_moment(name):
    """8% of mu^2 with one score, to what the grid and rounding add."""
    for adjacency in ADJACENCIES:
        budget = Budget(1.0, 1e-5, adjacency)
        if name == "whitened-dp-sgd":
            mechanism = Whitened(GradientPerturbation(Poisson(0.1), steps=5))
        else:
            mechanism = METHODS[name].mechanism
        moment = mechanism.calibrate(budget, Facts.example(Logistic()), None, "proven").events[0]
        mu = moment.sensitivity.under(adjacency) / moment.scale
        assert mu**2 == pytest.approx(0.08 * accounting.gaussian_mu(1.0, 1e-5) ** 2, rel=1e-4)


# --- budgets of which something is spent ----------------------------------------------------------------------------
FEWER = {
    "dp-sgd": GradientPerturbation(Poisson(0.3), steps=5),
    "dp-lssgd": GradientPerturbation(Poisson(0.3), steps=5, smoothing=2.0),
    "dp-sgd-subset": GradientPerturbation(Subset(300), steps=5),
    "bassily-2014": GradientPerturbation(Poisson(0.2), steps=5, momentum=0.0, schedule="inverse-root"),
    "dp-svrg": Svrg(rounds=2, inner=3, rate=0.3),
    "whitened-dp-sgd": Whitened(GradientPerturbation(Poisson(0.3), steps=5)),
}


@pytest.mark.parametrize("name", METHODS)
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_what_was_spent_before_is_counted_or_refused(name, adjacency):
    """A third of mu^2 is gone: the plan fits beside it, with more noise than without; or a sentence says no."""
    mechanism = FEWER.get(name, METHODS[name].mechanism)
    loss = next(loss for loss in LOSSES if loss.name in METHODS[name].losses)
    facts = replace(Facts.example(loss), outputs=loss.outputs)
    whole = budget_for(mechanism, 1.0, 1e-5, adjacency)
    moved = 0.57 * accounting.gaussian_mu(1.0, 1e-5)
    spent = replace(whole, spent=(Gaussian(Sensitivity(moved, moved), 1.0),))
    counted = {method for theorem in COUNTED for method in THEOREMS[theorem].methods}
    if mechanism.pure or not covers(name, adjacency) or name not in counted:
        with pytest.raises(PrivacyError, match=r"\.$"):
            calibrate(facts, Chosen(name, mechanism, spent))
        return
    plan = calibrate(facts, Chosen(name, mechanism, spent))
    assert fits(plan.events, spent)
    assert not fits(plan.events, replace(spent, spent=(*spent.spent, *spent.spent)))
    if name in CENTRAL and not name.startswith("output"):
        plain = calibrate(facts, Chosen(name, mechanism, whole))
        assert plan.events[0].scale / plain.events[0].scale > 1.05


# --- estimators, files, edges ---------------------------------------------------------------------------------------
def data(n=400, d=3):
    X = np.random.default_rng(3).normal(size=(n, d))
    return X, (X[:, 0] > 0).astype(int)


@pytest.mark.parametrize("name", ["whitened-objective", "whitened-gradient"])
@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_a_guarantee_verifies_and_a_dropped_moment_is_refused(name, adjacency, tmp_path):
    X, y = data()
    model = LogisticRegression(1.0, method=name, adjacency=adjacency, classes=[0, 1], random_state=1).fit(X, y)
    assert 0.99 < model.guarantee_.verify() <= 1.0
    with pytest.raises(PrivacyError, match="prices"):
        replace(model.guarantee_, events=model.guarantee_.events[1:]).verify()
    cheap = replace(model.guarantee_.events[0], scale=0.1 * model.guarantee_.events[0].scale)
    with pytest.raises(PrivacyError, match="more than the stated"):
        replace(model.guarantee_, events=(cheap, *model.guarantee_.events[1:])).verify()
    save(model, tmp_path / "model.json")
    again = load(tmp_path / "model.json").model
    assert again.guarantee_ == model.guarantee_
    np.testing.assert_array_equal(again.predict_proba(X), model.predict_proba(X))


@pytest.mark.parametrize(("method", "stated"), [("objective", "whitened-objective"), ("auto", "whitened-gradient")])
def test_precondition_in_a_file(method, stated, tmp_path):
    X, y = data()
    model = LogisticRegression(1.0, method=method, precondition=True, classes=[0, 1], random_state=1).fit(X, y)
    assert model.guarantee_.method == stated
    save(model, tmp_path / "model.json")
    assert load(tmp_path / "model.json").model.precondition is True


def test_precondition_asks_allows_or_forbids():
    X, y = data()
    found = {
        (method, precondition): LogisticRegression(
            3.0, method=method, precondition=precondition, classes=[0, 1], random_state=1
        ).fit(X, y).guarantee_.method
        for method in ("auto", "gradient", "whitened-gradient")
        for precondition in ("auto", True, False)
    }  # fmt: skip
    assert found == {
        ("auto", "auto"): "whitened-gradient",  # so few records
        ("auto", True): "whitened-gradient",
        ("auto", False): "objective",
        ("gradient", "auto"): "gradient",
        ("gradient", True): "whitened-gradient",
        ("gradient", False): "gradient",
        ("whitened-gradient", "auto"): "whitened-gradient",
        ("whitened-gradient", True): "whitened-gradient",
        ("whitened-gradient", False): "whitened-gradient",
    }
    runs = LogisticRegression(3.0, method="gradient", precondition=3, classes=[0, 1], random_state=1).fit(X, y)
    assert runs.guarantee_.method == "whitened-gradient"
    thin = LogisticRegression(3.0, classes=[0, 1], random_state=1)
    assert thin.fit(sparse.csr_array(X), y).guarantee_.method == "whitened-gradient"  # whatever holds the rows


@pytest.mark.parametrize("bad", [-1, None, "yes", 2.0])
def test_other_words_for_precondition_are_refused(bad):
    X, y = data()
    model = LogisticRegression(1.0, precondition=bad, classes=[0, 1])
    with pytest.raises(ValueError, match=r"True, False, a whole number|True, False, or the length"):
        model.fit(X, y)
    assert not hasattr(model, "guarantee_")


def test_what_has_no_whitened_form_says_so():
    facts, budget = Facts.example(Squared()), Budget(1.0, 1e-5)
    with pytest.raises(ValueError, match="'statistics' has no form on whitened rows"):
        choose_method("statistics", budget, facts, precondition=True)
    with pytest.raises(ValueError, match="Whitened"):
        choose_method(GradientPerturbation(), budget, facts, precondition=True)
    for inner in (Output(), Individual(), ObjectivePerturbation("sphere"), Whitened(GradientPerturbation())):
        with pytest.raises(ValueError, match="objective or gradient perturbation with Gaussian noise"):
            Whitened(inner)
    for settings in ({"share": -0.1}, {"share": 1.0}, {"runs": 0}, {"edge": -1.0}, {"edge": math.inf}):
        with pytest.raises(ValueError, match="Expected"):
            Whitened(GradientPerturbation(), **settings)
    chosen = choose_method("whitened-gradient", budget, facts)
    with pytest.raises(PrivacyError, match="columns"):
        calibrate(replace(facts, features=module.WIDEST + 1), chosen)
    with pytest.raises(PrivacyError, match="precondition=3, a run of columns, to divide their number, 10"):
        calibrate(facts, choose_method("gradient", budget, facts, precondition=3))


def test_auto_keeps_to_what_a_paper_calibrates():
    facts, budget = Facts.example(Logistic(), records=5000), Budget(3.0, 1e-5)
    assert choose_method("auto", budget, facts).name == "whitened-objective"
    assert choose_method("auto", budget, facts, "paper").name == "objective"


@pytest.mark.parametrize("name", ["objective", "gradient"])
def test_without_noise_rows_stay_as_they_are(name):
    X, y = data()
    plain, whitened = (
        LogisticRegression(math.inf, method=method, classes=[0, 1]).fit(X, y) for method in (name, f"whitened-{name}")
    )
    np.testing.assert_allclose(whitened.coef_, plain.coef_, rtol=1e-6)
    assert whitened.guarantee_.events == ()


EDGES = [(1, 1, 1.0), (1, 4, 1.0), (50, 1, 1.0), (50, 3, 1e-50), (50, 3, 5e49), (50, 3, 1e-3)]


@pytest.mark.parametrize(("n", "d", "clip"), EDGES)
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Softmax(3), Squared()], ids=lambda loss: loss.name)
@pytest.mark.parametrize("mechanism", WHITENED, ids=["gradient", "objective"])
def test_small_large_and_empty_rows(mechanism, loss, n, d, clip, rng):
    """Finite weights from one record on, for rows of any size that is admitted, and for rows of zeros."""
    for rows in (np.zeros((n, d)), clip * rng.normal(size=(n, d))):
        targets = np.resize(end_targets(loss), (n, 1))
        problem = problem_of(rows, targets, loss, clip=clip, intercept=0.5 * clip, outputs=loss.outputs)
        plan = mechanism.calibrate(Budget(1.0, 1e-5), problem.facts, None, "proven")
        assert np.isfinite(plan.run(problem, SeededSource(2)).weights).all()


def test_scores_are_linear_in_the_rows_as_they_were():
    """The weights are mapped back: with next to no noise, whitened and plain regression agree."""
    X, _ = data(20_000)
    X = X * np.array([0.3, 0.03, 0.1])
    y = X @ np.array([1.0, -2.0, 0.5])
    model = LinearRegression(100.0, delta=1e-3, method="whitened-gradient", target_bound=2.0, random_state=1).fit(X, y)
    assert np.sqrt(np.mean((model.predict(X) - y) ** 2)) < 0.1 * y.std()
