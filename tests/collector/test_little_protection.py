"""An epsilon is judged with its delta: what protects little is called so, and refused, everywhere."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr

from tacit.checks import PrivacyError
from tacit.collector import Client, Collector
from tacit.protocol import Protocol, strength

LOOSE = 0.99


def make(schema, delta, cohort=300):
    return Protocol.create(epsilon=1.0, delta=delta, cohort=cohort, schema=schema, record_epsilon=9.0)


@pytest.fixture(scope="module")
def loose(schema):
    return make(schema, LOOSE)


def test_the_best_guess_is_that_of_two_gaussians(schema):
    made = make(schema, 1e-6)
    mu = math.sqrt(sum((e.sensitivity.replace_one / e.scale) ** 2 for e in made.numbers.record_events))
    assert ndtr(mu / 2) <= made.best_guess <= ndtr(mu / 2) * (1 + 1e-8)
    assert 0.75 < made.best_guess < strength.GUESSED
    assert not made.protects_little
    assert made.caution() == ""


def test_a_small_epsilon_at_a_large_delta_is_no_protection(loose):
    assert loose.record_guarantee().epsilon <= strength.LITTLE
    assert loose.best_guess > 0.999
    assert loose.protects_little
    assert "NO PROTECTION" in loose.caution()
    assert "delta = 0.99" in str(loose)


@pytest.mark.parametrize(
    ("epsilon", "guess", "said"),
    [(10, 0.9, False), (10.1, 0.6, True), (1, 0.901, True), (math.nan, 0.6, True), (1, math.nan, True)],
)
def test_either_number_is_enough(epsilon, guess, said):
    assert strength.little(epsilon, guess) is said


def test_a_study_refuses_a_delta_above_one_in_the_cohort(schema, loose, tmp_path):
    made = Collector(tmp_path / "c.sqlite")
    try:
        for protocol in (loose, make(schema, 1.01 / 300)):
            with pytest.raises(PrivacyError, match="at most one in the cohort"):
                made.create(protocol, {})
        assert not made.studies()
        assert made.create(make(schema, 0.99 / 300), {})
    finally:
        made.close()


class Lying:
    """A connection that gives an offer and notes what is sent."""

    def __init__(self, protocol):
        self.protocol, self.sent = protocol, []

    def contribute(self, **more):
        client = Client("http://127.0.0.1:1")
        client.study = lambda slug: SimpleNamespace(state="open", admission="open", protocol=self.protocol)
        client.send = self.sent.append
        return client.contribute("a" * 10, {"age": 40, "hours": 3, "job": "none"}, "yes", **more)


def test_the_client_refuses_before_anything_is_drawn(schema, loose, monkeypatch):
    guessed = make(schema, LOOSE, cohort=1)
    assert not guessed.loose
    assert guessed.protects_little
    drawn = []
    monkeypatch.setattr(Protocol, "perturb", lambda *_, **__: drawn.append(1))
    with pytest.raises(PrivacyError, match="large_delta"):
        Lying(loose).contribute(most=math.inf)
    for asked in ({}, {"most": 9.5}, {"most": math.nan}):
        with pytest.raises(PrivacyError, match="set most="):
            Lying(guessed).contribute(**asked)
        with pytest.raises(PrivacyError, match="set most="):
            Lying(loose).contribute(large_delta=True, **asked)
    assert not drawn


def test_who_asks_for_it_gets_it(loose):
    line = Lying(loose)
    line.contribute(large_delta=True, most=math.inf)
    (sent,) = line.sent
    assert np.isfinite(sent.submission.q).all()
