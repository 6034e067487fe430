"""Published algorithms: line by line, refuted, loud, declared. Why they are false: tests/audit/test_evidence."""

import math
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from oracles import problem_of

from tacit import Guarantee, LogisticRegression, PrivacyError, RefutedWarning, spent
from tacit.linear.losses import Logistic
from tacit.mechanisms import METHODS
from tacit.privacy import accounting
from tacit.privacy.events import Claimed, from_dict, to_dict
from tacit.privacy.noise import SeededSource
from tacit.privacy.theorems import THEOREMS
from tacit.published import PUBLISHED, PiDbdpErm, PidpSgd, PublishedInput, pidp_sgd
from tacit.published.models import LinearModel
from tacit.published.models import picks_of as picks
from tacit.types import Budget

MECHANISMS = [PidpSgd(constant=1.0, contribution_constant=1.0, local=20), PiDbdpErm(constant=1.0, steps=100)]


def data(rng, n=200, d=3):
    X = rng.normal(size=(n, d))
    return X, (X @ np.linspace(-1, 1, d) > 0).astype(int)


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_refuted_and_loud(mechanism, rng):
    X, y = data(rng)
    model = LogisticRegression(1.0, delta=1e-3, method=mechanism, calibration="paper", random_state=0)
    with pytest.warns(RefutedWarning, match="REFUTED"):
        model.fit(X, y)
    assert 0 <= model.noiseless_ <= 1
    guarantee = Guarantee.from_json(model.guarantee_.to_json())
    assert guarantee == model.guarantee_
    assert guarantee.status == "refuted"
    assert "REFUTED" in str(guarantee)
    with pytest.raises(PrivacyError, match="refuted"):
        guarantee.verify()
    assert spent([guarantee], delta=0.1) == math.inf


@pytest.mark.parametrize("name", PUBLISHED)
def test_no_name_only_objects_and_never_without_their_constants(name, rng):
    X, y = data(rng)
    method = PUBLISHED[name]
    with pytest.raises(ValueError, match=r"objects of tacit\.published"):
        LogisticRegression(1.0, method=name, calibration="paper").fit(X, y)
    with pytest.raises(PrivacyError, match=f"no proof that holds. Use method='{method.proven_form}'"):
        LogisticRegression(1.0, method=method.mechanism).fit(X, y)
    ones = dict.fromkeys(method.open_constants, 1.0)
    for constant in method.open_constants:
        lacking = replace(method.mechanism, **{**ones, constant: None})
        with pytest.raises(PrivacyError, match=f"Pass {constant}=...[.]"):
            LogisticRegression(1.0, method=lacking, calibration="paper").fit(X, y)
        with pytest.raises(ValueError, match=f"Expected {constant}"):
            lacking.calibrate(Budget(1.0, 1e-3), problem_of(X, 2.0 * y - 1, Logistic()).facts, 0.1, "paper")
    with pytest.warns(RefutedWarning, match="REFUTED"):
        LogisticRegression(1.0, method=replace(method.mechanism, **ones), calibration="paper").fit(X, y)


def test_what_the_registry_declares():
    """Every method has a theorem of its name that is not proven, a proven form, and a call that Python reads."""
    names = {"PidpSgd": PidpSgd, "PiDbdpErm": PiDbdpErm, "PublishedInput": PublishedInput}
    for name, method in PUBLISHED.items():
        assert method.name == name
        assert name not in METHODS
        assert THEOREMS[name].status == "refuted"
        assert method.proven_form in METHODS
        ones = dict.fromkeys(method.open_constants, 1.0)
        assert eval(method.call.replace("...", "1.0"), names) == replace(method.mechanism, **ones)


def test_the_perceptron_is_loaded_when_asked_for_and_says_what_it_needs():
    code = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("no module named torch")

sys.meta_path.insert(0, Missing())
from tacit.published import *
assert PidpSgd
import tacit.published
assert "PublishedMLPClassifier" in dir(tacit.published)
tacit.published.PublishedMLPClassifier
"""
    found = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
    assert found.returncode == 1
    assert "PublishedMLPClassifier needs PyTorch. In Tacit's source: pip install '.[torch]'" in found.stderr
    with pytest.raises(ImportError, match="Nothing"):
        from tacit.published import Nothing  # noqa: F401


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_without_a_budget_no_step_is_noisy(mechanism, rng):
    X, y = data(rng)
    settings = {"calibration": "paper", "fit_intercept": False, "regularization": 0.01, "random_state": 0}
    assert LogisticRegression(math.inf, method=mechanism, **settings).fit(X, y).noiseless_ == 1.0


@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda m: type(m).__name__)
def test_other_refusals(mechanism, rng):
    X, y = data(rng)
    with pytest.raises(PrivacyError, match="replace-one"):
        LogisticRegression(1.0, method=mechanism, calibration="paper", adjacency="add-remove").fit(X, y)
    with pytest.raises(PrivacyError, match="two classes"):
        LogisticRegression(1.0, method=mechanism, calibration="paper").fit(X, np.arange(200) % 3)


def test_a_claim_is_repeated_and_never_priced():
    claim = Claimed(1.0, 1e-3, "somewhere")
    assert from_dict(to_dict(claim)) == claim
    assert accounting.epsilon((claim,), 1e-3, "replace-one") == 1.0
    assert accounting.epsilon((claim,), 0.5, "replace-one") == 1.0
    assert accounting.epsilon((claim,), 1e-4, "replace-one") == math.inf
    assert accounting.delta((claim,), 1.0, "replace-one") == 1e-3
    assert accounting.delta((claim,), 0.9, "replace-one") == 1.0
    with pytest.raises(PrivacyError):
        accounting.epsilon((claim,), 1e-3, "add-remove")
    with pytest.raises(PrivacyError):
        accounting.epsilon((claim, claim), 1e-3, "replace-one")


def test_pidp_sgd_against_its_own_lines(rng):
    """Theorem 5's scales and the two tests of lines 9 and 10, written again from the paper."""
    facts = problem_of(*data(rng), Logistic()).facts
    epsilon, delta, c, c2, r, lam, rounds, local = 1.2, 0.02, 0.7, 0.3, 5.0, 0.05, 4, 30
    plan = PidpSgd(constant=c, contribution_constant=c2, rounds=rounds, local=local, domain=r).calibrate(
        Budget(epsilon, delta), facts, lam, "paper"
    )
    e1, e2, d1, d2, n, G = 0.9, 0.3, 0.01, 0.01, 200, 1 + lam * r
    assert plan.scale == pytest.approx(c * G * math.sqrt(120 * math.log(1 / d1)) / (n * e1))
    assert plan.contribution_scale == pytest.approx(c2 * G * 4 * math.sqrt(math.log(1.25 * 4 / d2)) / (n * lam * e2))
    top = 2 * r * math.exp(e1) * d1
    for value in np.linspace(0, 1.2, 400) * plan.threshold:
        line9 = value >= top / (math.exp(e1) - 1)
        line10 = not line9 and math.log(top / (top - (math.exp(e1) - 1) * value)) <= 2 * e1
        assert line10 == (value < plan.threshold and value <= plan.ratio * plan.threshold)
    assert plan.error == pytest.approx((2 * (0.25 + lam) * G + G**2 / (6 * math.sqrt(3) * lam)) / (lam * n) ** 2)


@pytest.mark.parametrize("intercept", [0.0, 0.5])
def test_how_noise_on_a_record_is_passed_on(intercept, rng):
    """w_t by differentiating the gradient in x numerically."""
    problem = problem_of(rng.normal(size=(5, 3)), rng.choice([-1.0, 1.0], 5), Logistic(), intercept=intercept)
    for _ in range(20):
        x = np.append(rng.normal(size=3), intercept) if intercept else rng.normal(size=3)
        w, y = rng.normal(size=(len(x), 1)) * 2, np.array([rng.choice([-1.0, 1.0])])

        def gradient(row, w=w, y=y):
            return problem.loss.slope((row @ w)[None], y[None])[0, 0] * row

        columns = [(gradient(x + h) - gradient(x - h)) / 2e-6 for h in 1e-6 * np.eye(len(x))[:3]]
        model = LinearModel(problem, 0.1)
        model.weights[:] = w
        assert model.passed_on(x, y) == pytest.approx(np.linalg.norm(np.array(columns).T, 2), rel=1e-5)


def test_the_printed_norm_never_lets_a_record_pass_at_small_epsilon(rng):
    """||ratios|| is near sqrt(m): at epsilon < log(m)/2 every step is noisy; element by element hardly any is."""
    X, y = data(rng, 300, 12)
    problem = problem_of(X, 2.0 * y - 1, Logistic(), intercept=0.5)
    fractions = [
        PiDbdpErm(constant=1.0, steps=200, test=test)
        .calibrate(Budget(1.0, 1e-3), problem.facts, 0.05, "paper")
        .run(problem, SeededSource(0))
        .extras["noiseless"]
        for test in ("norm", "elements")
    ]
    assert fractions[0] == 0.0
    assert fractions[1] > 0.8


def test_pidp_sgd_starts_at_public_weights_unless_it_is_told_to_start_at_the_minimiser(rng):
    """With a step size near 0 the start is what comes out."""
    X, y = data(rng)
    problem = problem_of(X, 2.0 * y - 1, Logistic(), intercept=0.5)
    found = {}
    for pretrained in (False, True):
        mechanism = PidpSgd(
            constant=1e-9, contribution_constant=1.0, rounds=1, local=1, step=1e-12, pretrained=pretrained
        )
        plan = mechanism.calibrate(Budget(1.0, 0.01), problem.facts, 0.1, "paper")
        found[pretrained] = plan.run(problem, SeededSource(1)).weights
        assert ("the minimiser" in plan.assumptions[2]) is pretrained
    model = LinearModel(problem, 0.1)
    model.minimise()
    assert np.abs(found[False]).max() < 1e-6
    assert found[True] == pytest.approx(model.weights, abs=1e-6)
    assert np.abs(model.weights).max() > 0.1


def test_a_long_round_is_held_in_parts(rng, monkeypatch):
    """Steps of one round in parts of seven: as many of them, and without noise the same quiet steps."""
    monkeypatch.setattr(pidp_sgd, "TOGETHER", 7)
    X, y = data(rng, 50)
    problem = problem_of(X, 2.0 * y - 1, Logistic())
    plan = PidpSgd(constant=1.0, contribution_constant=1.0, rounds=2, local=20, step=0.1).calibrate(
        Budget(1.0, 1e-3), problem.facts, 0.1, "paper"
    )
    drawn = []
    monkeypatch.setattr(
        pidp_sgd, "picks_of", lambda source, count, size: drawn.append(size) or picks(source, count, size)
    )
    solution = plan.run(problem, SeededSource(0))
    assert drawn == [7, 7, 6] * 2
    assert solution.steps == 40
    assert 0 <= solution.extras["noiseless"] <= 1
