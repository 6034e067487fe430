"""Every theorem says what it prices: what a plan produces fits its own theorem, and no other."""

import functools
import itertools
import math
import warnings
from dataclasses import replace

import numpy as np
import pytest
from instances import MAIN_LOSSES, outputs_of

from tacit import PrivacyError
from tacit.evaluation.asked import Kind, layout_of
from tacit.evaluation.summary import calibrate_summary
from tacit.linear.losses import Logistic
from tacit.mechanisms import (
    METHODS,
    Disjoint,
    Everyone,
    GradientPerturbation,
    LocalPerturbation,
    ObjectivePerturbation,
    Output,
    Poisson,
    Subset,
    Svrg,
    choose_method,
)
from tacit.mechanisms.counts import Tables, calibrate_counts
from tacit.privacy.events import Claimed, Gaussian, Selection, Sensitivity
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.theorems import MODEL, RECORD, THEOREMS
from tacit.published import PUBLISHED, PiDbdpErm, PidpSgd, PublishedInput
from tacit.search.trials import SelectionPlan
from tacit.statistics import mean
from tacit.training import prepare, state
from tacit.types import ADJACENCIES, Budget, Facts

NETWORKS = {"input-perturbation"}
"""Names of methods that only networks have."""
OBJECTS = [
    Output(),
    Output("descent"),
    Output("passes"),
    Output(noise="sphere"),
    ObjectivePerturbation(),
    ObjectivePerturbation("sphere"),
    GradientPerturbation(steps=3),
    GradientPerturbation(Everyone(), noise="sphere", steps=1),
    GradientPerturbation(Disjoint()),
    GradientPerturbation(Disjoint(), noise="sphere"),
    LocalPerturbation(shuffle=False),
    GradientPerturbation(Subset(9), steps=2),
    PidpSgd(constant=1.0, contribution_constant=1.0),
    PiDbdpErm(constant=1.0),
    PublishedInput("dbdp-erm", constant=1.0),
    PublishedInput("input-kang-2020", constant=1.0),
]
"""Mechanisms as users pass them, with settings that no name has."""


def brief(mechanism):
    """The same with few steps over large samples, where a numerical accountant prices them: the price comes faster."""
    if isinstance(mechanism, GradientPerturbation) and isinstance(mechanism.sampler, Poisson):
        return replace(mechanism, steps=20, sampler=Poisson(0.3))
    if isinstance(mechanism, GradientPerturbation) and isinstance(mechanism.sampler, Subset):
        return replace(mechanism, steps=2)
    return replace(mechanism, rounds=1, inner=2) if isinstance(mechanism, Svrg) else mechanism


COUNTS = calibrate_counts(Tables((4, 9), (1.0, 0.5)), Budget(1.0, 1e-5), 0.1)
"""Counts that were released before something was trained."""
SCORES = calibrate_summary(layout_of(("accuracy",), Kind(2), "replace-one"), Budget(1.0, 1e-5), ())
"""Scores of a model."""


def stated(method, adjacency, calibration, loss, spent=()):
    """The guarantees of a method, or none where it refuses."""
    facts = Facts(records=300, features=5, outputs=outputs_of(loss), radius=1.2, loss=loss)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            chosen = choose_method(method, Budget(1.0, 1e-5, adjacency, spent), facts, calibration)
            chosen = replace(chosen, mechanism=brief(chosen.mechanism))
            prepared = prepare(facts, chosen, seeded=True, regularization=0.5, calibration=calibration)
        except ValueError:
            return []
        except ZeroDivisionError:  # a paper's Gaussian formula at delta = 0
            return []
    return [guarantee for guarantee in (prepared.guarantee, prepared.record_guarantee) if guarantee is not None]


@functools.cache
def every_guarantee():
    """With the first loss that a method takes: events are of the same kinds for all of them."""
    first = {name: next(loss for loss in MAIN_LOSSES if loss.name in METHODS[name].losses) for name in METHODS}
    cases = list(itertools.product([*METHODS, *OBJECTS], ADJACENCIES, ("proven", "paper")))
    alone = [guarantee for case in cases for guarantee in stated(*case, first.get(case[0], Logistic()))]
    later = [guarantee for case in cases for guarantee in stated(*case, first.get(case[0], Logistic()), COUNTS.events)]
    counts = [state(COUNTS, 300, Budget(1.0, 1e-5, way), method="counts", seeded=True).guarantee for way in ADJACENCIES]
    (whole,) = THEOREMS["evaluation"].protects
    scores = [
        state(SCORES, 300, Budget(1.0, 1e-5, way), method="evaluation", seeded=True, protects=whole).guarantee
        for way in ADJACENCIES
    ]
    trial = (*stated("gradient", "replace-one", "proven", Logistic())[0].events, Gaussian(Sensitivity(1.0, 1.0), 9.0))
    event = Selection(candidates=(trial,), stop=0.5)
    plan = SelectionPlan(events=(event,), theorem="selection", fits=(), stop=0.5, epsilon=1.0, delta=1e-6, scale=9.0)
    search = state(plan, 300, Budget(9.0, 1e-5), method="search", seeded=True).guarantee
    budget = {"epsilon": 1.0, "delta": 1e-5, "random_state": 0}
    sums = [mean(np.ones(300), (0, 2), adjacency=way, **budget).guarantee_ for way in ADJACENCIES]
    return [*alone, *later, *counts, *scores, *sums, search]


def objection(guarantee, theorem=None):
    return THEOREMS[theorem or guarantee.theorem].objection(
        guarantee.events, method=guarantee.method, calibration=guarantee.calibration, adjacency=guarantee.adjacency,
        protects=guarantee.protects, records=guarantee.records,
    )  # fmt: skip


def test_what_plans_produce_fits_their_theorem():
    assert [(g.method, g.theorem, objection(g)) for g in every_guarantee() if objection(g)] == []


def test_every_theorem_is_reached_by_some_plan():
    assert {guarantee.theorem for guarantee in every_guarantee()} == set(THEOREMS) - {"none"}


def test_every_method_and_calibration_is_reached():
    seen = {(guarantee.method, guarantee.calibration) for guarantee in every_guarantee()}
    offered = {(name, way) for name, method in METHODS.items() for way in method.calibrations}
    assert offered - seen <= {("dp-lssgd", "paper")}  # the side conditions of its Theorem 2 do not hold here


def test_no_other_theorem_can_be_cited_for_a_method_by_name():
    """A theorem swapped for another one is refused, whatever it costs."""
    for guarantee in every_guarantee():
        if guarantee.method in METHODS:
            fitting = {key for key in THEOREMS if not objection(guarantee, key)}
            assert fitting == {guarantee.theorem}, guarantee.method


def test_the_names_in_the_rows_are_those_of_methods():
    known = {*METHODS, *PUBLISHED, *NETWORKS, "counts", "evaluation", "search", *THEOREMS["sums"].methods}
    known |= {type(entry.mechanism).__name__ for entry in (METHODS | PUBLISHED).values()}
    named = {name for row in THEOREMS.values() for name in (*row.methods, *row.published)}
    assert named == known


def test_adjacencies_are_those_that_plans_accept():
    """A row that covers add-remove has a plan for it; one that does not has none."""
    for key, row in THEOREMS.items():
        found = {guarantee.adjacency for guarantee in every_guarantee() if guarantee.theorem == key}
        assert key == "none" or found == set(row.adjacencies), key


@pytest.fixture
def honest() -> Guarantee:
    (guarantee,) = stated("gradient", "replace-one", "proven", Logistic())
    assert guarantee.verify() <= 1.0 + 1e-6
    return guarantee


MOVED = Sensitivity(1.0, 2.0)


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"theorem": "statistics"}, r"prices Gaussian in 1 step; recorded is Gaussian in \d\d+ steps\."),
        ({"theorem": "none"}, "prices nothing"),
        ({"theorem": "mine"}, "its theorem is not one"),
        ({"theorem": "individual"}, "prices Gaussian in 1 step;"),
        ({"method": "statistics"}, "not what this method rests on"),
        ({"method": "exact"}, "not what this method rests on"),
        ({"calibration": "paper"}, "calibration='paper'"),
        ({"calibration": "mine"}, "its calibration is not"),
        ({"protects": RECORD}, "is about the released model and nothing else"),
        ({"protects": "everything"}, "is about the released model and nothing else"),
        ({"method": "gradient\nVERIFIED."}, "its method is not one line"),
        ({"assumptions": ("\x1b[2J",)}, "its assumptions is not lines"),
        ({"events": (Gaussian(MOVED, 1e3), Gaussian(MOVED, 1e3))}, "is Gaussian in 1 step, Gaussian in 1 step"),
        ({"events": (Gaussian(Sensitivity(2.0, 1.0), 1e3),)}, "moves less than an added one"),
        ({"events": (Claimed(1.0, 1e-5, "a paper"),)}, "prices Gaussian in any number of steps; recorded is Claimed"),
        ({"events": (), "epsilon": math.inf, "theorem": "none"}, "nothing to verify"),
        ({"events": (), "epsilon": 1.0}, "nothing to verify"),
        ({"epsilon": math.inf}, "nothing to verify"),
        ({"epsilon": -0.0}, "its epsilon is not"),
        ({"epsilon": 10**400}, "its epsilon is not"),
        ({"epsilon": 1e-320}, "its epsilon is not"),
        ({"epsilon": True}, "its epsilon is not"),
        ({"epsilon": math.nan}, "its epsilon is not"),
        ({"delta": -0.0}, "its delta is not"),
        ({"delta": 1e-320}, "its delta is not"),
        ({"delta": False}, "its delta is not"),
        ({"records": 10**400}, "its records is not"),
        ({"records": True}, "its records is not"),
        ({"seeded": 1}, "its seeded is not"),
    ],
    ids=str,
)
def test_what_does_not_fit_is_refused_in_a_sentence(honest, changes, sentence):
    with pytest.raises(PrivacyError, match=sentence) as caught:
        replace(honest, **changes).verify()
    assert str(caught.value).endswith(".")
    assert len(str(caught.value)) < 400


def test_more_records_than_the_guarantee_are_refused():
    for name, theorem in (("input", "input"), ("input-local", "input-local"), ("dp-sgd-subset", "subset-gradient")):
        guarantee = stated(name, "replace-one", "proven", Logistic())[0]
        assert guarantee.theorem == theorem
        grown = tuple(
            replace(event, records=event.records + 1) if hasattr(event, "records") else event
            for event in guarantee.events
        )
        with pytest.raises(PrivacyError, match="more records than the guarantee"):
            replace(guarantee, events=grown).verify()


def test_one_record_is_one_record():
    _, record = stated("input", "replace-one", "proven", Logistic())
    assert (record.protects, record.records) == (RECORD, 1)
    assert record.verify() <= record.epsilon * (1 + 1e-6)
    with pytest.raises(PrivacyError, match="speaks of more"):
        replace(record, records=2).verify()
    with pytest.raises(PrivacyError, match="nothing else"):
        replace(record, protects=MODEL).verify()
