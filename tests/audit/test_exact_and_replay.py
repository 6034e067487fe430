"""Exact losses against the tests' own oracle and against runs; replay on sound and broken plans."""

from dataclasses import replace

import pytest
import twins
from oracles import objective_delta

from tacit.audit import audit, library, planned
from tacit.audit.exact import exact_delta, exact_epsilon, one_dimensional_pairs
from tacit.audit.replay import replay
from tacit.checks import PrivacyError
from tacit.linear.losses import HuberHinge, Logistic, Squared
from tacit.mechanisms import METHODS
from tacit.privacy.accounting import gaussian_delta
from tacit.types import ADJACENCIES, Budget


def subject(method, pair, loss, claim, regularization=None):
    n = len(pair.first.rows)
    each = None if regularization is None else regularization / n
    return planned(method, claim, loss=loss, records=n, features=1, regularization=each)


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize("loss", [Logistic(), HuberHinge(), Squared()], ids=str)
def test_objective_agrees_with_the_oracle(loss, adjacency):
    claim = Budget(1.0, 1e-5, adjacency)
    for pair in one_dimensional_pairs(adjacency)[::4]:
        it = subject("objective", pair, loss, claim)
        sides = [(data.rows[:, 0], data.targets) for data in (pair.first, pair.second)]
        options = {"strong": it.plan.strength, "scale": it.plan.scale, "epsilons": [0.3]}
        oracle = max(objective_delta(loss, *order, **options)[0] for order in (sides, sides[::-1]))
        assert exact_delta(it, pair, 0.3) == pytest.approx(oracle, rel=2e-2, abs=1e-12)  # kinks: two quadratures


@pytest.mark.parametrize("adjacency", ADJACENCIES)
@pytest.mark.parametrize(
    "method", ["objective", "objective-chaudhuri-2011", "output", "output-chaudhuri-2011", "output-zhang-2017"]
)
def test_exact_epsilon_is_within_the_claim_and_not_vacuous(method, adjacency):
    pure = "chaudhuri" in method
    claim = Budget(1.0, 0.0 if pure else 1e-5, adjacency)
    worst = 0.0
    for pair in one_dimensional_pairs(adjacency)[::3]:
        for regularization in (None, 30.0):
            it = subject(method, pair, Logistic(5.0), claim, regularization)
            worst = max(worst, exact_epsilon(it, pair, max(claim.delta, 1e-9)))
    assert 0.4 < worst <= 1 + 1e-5


def test_exact_and_measured_meet():
    """Runs measure what the density says: two Gaussians a known distance apart."""
    claim = Budget(1.0, 1e-5)
    pair = one_dimensional_pairs("replace-one")[3]
    it = subject("output", pair, HuberHinge(), claim)
    exact = exact_epsilon(it, pair, claim.delta)
    measured = audit(it, claim, pairs=[pair], trials=100_000, seed=1)
    assert 0.8 * exact <= measured.epsilon <= exact + 1e-6


def test_exact_refuses_what_it_does_not_know():
    pair, wide = one_dimensional_pairs("replace-one")[0], library("replace-one")[0]
    descent = subject("gradient", pair, Logistic(), Budget(1.0, 1e-5))
    with pytest.raises(PrivacyError, match="objective and output"):
        exact_delta(descent, pair, 1.0)
    two = planned("output", Budget(1.0, 1e-5), records=16, features=2)
    with pytest.raises(ValueError, match="one column"):
        exact_delta(two, wide, 1.0)
    assert gaussian_delta(0.0, 0.5) == 0


@pytest.mark.parametrize("adjacency", ADJACENCIES)
def test_replay_passes_sound_methods(adjacency):
    claim = Budget(1.0, 1e-3, adjacency)
    for name in ("output", "gradient", "objective", "dp-svrg", "song-2013"):
        whole = replace(claim, delta=0.0) if METHODS[name].mechanism.pure else claim
        it = planned(name, whole, loss="huber-hinge", records=16, features=2)
        for pair in library(adjacency):
            assert replay(it, pair, adjacency) == []


@pytest.mark.parametrize("twin", twins.REPLAYED, ids=lambda twin: twin.name)
def test_replay_passes_the_sound_and_finds_the_broken_twin(twin):
    claim = Budget(1.0, 1e-5)
    pairs = library("replace-one", targets=twin.loss.targets)
    base = planned("output", claim, loss=twin.loss, records=16, features=2)
    facts = base.problem(pairs[0].first).facts
    sound, broken = (replace(base, plan=make(facts, claim), name="twin") for make in (twin.sound, twin.broken))
    assert [word for pair in pairs for word in replay(sound, pair, "replace-one")] == []
    assert any(replay(broken, pair, "replace-one") for pair in pairs)
