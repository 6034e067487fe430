"""What an onlooker learns at most: against many digits, quadrature, brute force, and noise that people really send."""

import dataclasses
import math
import string
import warnings

import numpy as np
import pytest
from mpmath import mp
from scipy.integrate import quad
from scipy.stats import norm

from tacit.collector import sentences
from tacit.collector.onlooker import BLIND, Onlooker, most, of_model, of_record, percent, worst
from tacit.collector.sentences import dictionary, words
from tacit.privacy import accounting
from tacit.privacy.noise import SeededSource
from tacit.protocol import Protocol, madeup, strength
from tacit.schema import Category, Schema, Target

LABEL = Target("y", classes=(0, 1))
pytestmark = pytest.mark.filterwarnings("ignore::tacit.checks.RefutedWarning")  # one protocol is a paper's


@pytest.fixture(scope="module")
def protocols():
    """By name: with little and with much noise on the record, counting on everyone, and as a paper has it."""
    settings = {
        "plain": {}, "asked": {"record_epsilon": 4.0}, "strict": {"record_epsilon": 0.5},
        "all": {"honest": 1.0, "withdrawal": True}, "paper": {"calibration": "paper"}, "weak": {"epsilon": 12.0},
    }  # fmt: skip
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            name: Protocol.create(
                **{"epsilon": 1.0, "delta": 1e-6, "cohort": 2000, "columns": 3, "target": LABEL, **more}
            )
            for name, more in settings.items()
        }


def mu_of(protocol):
    return math.sqrt(sum((e.sensitivity.replace_one / e.scale) ** 2 for e in protocol.numbers.record_events))


def test_the_best_guess_is_neyman_and_pearsons(protocols):
    """(1 + TV)/2 of two Gaussians by quadrature, and by many digits; never below."""
    for name in ("asked", "strict"):
        mu, right = mu_of(protocols[name]), of_record(protocols[name]).right
        apart = quad(lambda t, mu=mu: max(0.0, norm.pdf(t, mu) - norm.pdf(t)), -12, 12 + mu, points=[mu / 2], limit=200)
        assert right == pytest.approx(0.5 * (1 + apart[0]), rel=1e-7)
        with mp.workdps(40):
            exact = mp.ncdf(mp.mpf(mu) / 2)
            assert exact <= right <= exact * (1 + mp.mpf(10) ** -8)
    assert of_record(protocols["plain"]).right == 1.0  # next to no noise: rounded up


@pytest.mark.parametrize("name", ["asked", "strict"])
def test_nobody_guesses_better_from_real_submissions(protocols, name):
    """100,000 people with one of the two worst records each; the optimal rule for their noise.

    The share of right guesses is within 5.5 standard errors of what is said (false alarms below 1e-7), so the bound
    holds and is reached.
    """
    protocol, count = protocols[name], 50_000
    n = protocol.numbers
    x = np.array([1.0, 0.0, 0.0])
    events = n.record_events
    other, label = (-x, 1) if len(events) == 2 else (x, 0)
    seen = {}
    for place, (row, y) in enumerate(((x, 1), (other, label))):
        sent = protocol.perturb_table(np.tile(row, (count, 1)), np.full(count, y), source=SeededSource((place, 5)))
        seen[place] = np.hstack([sent.q * n.steps[0] / n.row_scale, sent.p * n.steps[1] / n.cross_scale])
    design, targets = protocol.rows(np.array([x, other]), [1, label])
    centres = np.hstack(
        [math.sqrt(n.curvature) * design / n.row_scale, n.slope * targets[:, None] * design / n.cross_scale]
    )
    towards, middle = centres[0] - centres[1], centres.mean(axis=0)
    right = np.mean([(seen[0] - middle) @ towards > 0, (seen[1] - middle) @ towards < 0])
    said = of_record(protocol).right
    assert abs(right - said) < 5.5 * math.sqrt(0.25 / (2 * count))


def test_a_belief_grows_no_more_than_is_said(protocols):
    """The exact chance that the odds grow by more, for two answers, and for one against a mixture of others."""
    for name in ("asked", "strict"):
        mu = mu_of(protocols[name])
        for chance in (1e-6, 0.01, 0.4):
            seen = of_record(protocols[name], chance)
            with mp.workdps(40):
                beyond = mp.ncdf(mp.mpf(mu) / 2 - mp.mpf(seen.growth) / mu)
            assert chance * (1 - 1e-6) <= beyond <= chance
            rng = np.random.default_rng(3)
            t = rng.normal(mu, 1, 400_000)  # A lies at mu, the others at 0, 0.4 mu and 2 mu
            others = np.mean([norm.pdf(t, where) for where in (0.0, 0.4 * mu, 2 * mu)], axis=0)
            after = norm.pdf(t, mu) / (norm.pdf(t, mu) + 9 * others)
            many = np.mean(after > seen.belief(0.1))
            assert many <= chance + 5.5 * math.sqrt(chance / 400_000)


def test_beliefs_are_bayes():
    seen = Onlooker(0.7, math.log(3.0), 1e-6)
    assert seen.belief(0.5) == pytest.approx(0.75, rel=1e-8)
    assert seen.belief(0.1) == pytest.approx(0.25, rel=1e-8)
    assert seen.belief(0.01) >= 3 / 102
    assert BLIND.belief(0.1) == pytest.approx(0.1, rel=1e-8)
    assert Onlooker(1.0, 5000.0, 1e-6).belief(0.01) == 1.0
    for wrong in (0.0, 1.0, math.nan):
        with pytest.raises(ValueError, match="before"):
            seen.belief(wrong)


def test_the_model_by_the_worst_pair_of_its_guarantee(protocols):
    """The pair that an (epsilon, delta) guarantee allows and no worse: what is said covers it, by brute force.

    With probability delta the answer is told; else it is told truly with odds e^epsilon. The bound on the growth is
    never the epsilon itself: a pair with the same guarantee whose odds grow by more, with more than delta, exists.
    """
    protocol = protocols["plain"]
    seen, curve = of_model(protocol), protocol.numbers.events(protocol.numbers.cohort)
    epsilon, delta = protocol.epsilon, protocol.delta
    assert seen.right <= (math.exp(epsilon) + delta) / (1 + math.exp(epsilon)) * (1 + 1e-6)
    for at in np.linspace(0, 6, 25):  # every point of the curve bounds the guess; the least is near what is said
        price = accounting.delta(curve, at, "replace-one")
        assert seen.right <= (math.exp(at) + price) / (1 + math.exp(at)) * 1.03
    assert epsilon < seen.growth < epsilon + 0.5
    g = seen.growth
    bounds = [
        accounting.delta(curve, at, "replace-one") / -math.expm1(at - g) for at in np.linspace(0.2 * g, 0.999 * g, 400)
    ]
    assert min(bounds) <= seen.chance * 1.001
    grown, spare = epsilon + 0.01, 1 - math.exp(-0.01)  # P puts m on one outcome and Q m e^-(eps + 0.01)
    mass = delta / spare
    assert mass - math.exp(epsilon) * mass * math.exp(-grown) == pytest.approx(delta)  # allowed by the guarantee
    assert mass > 50 * delta  # and yet the odds grow by more than e^eps with this chance


def test_the_model_tells_no_more_than_what_was_sent(protocols):
    for name, protocol in protocols.items():
        sent, model = of_record(protocol), of_model(protocol)
        assert model.right <= sent.right, name
        assert model.growth <= sent.growth, name
    assert of_model(protocols["strict"]).right == of_record(protocols["strict"]).right


def test_what_is_said_of_any_crowd_holds_for_every_crowd(protocols):
    for name in ("plain", "asked", "paper"):
        any_crowd = of_model(protocols[name])
        assert most(protocols[name]) == 10**8
        for count in (1, 3, 50, 700, 1999, 2000, 2001, 10**5, 10**8):
            one = of_model(protocols[name], count)
            assert one.right <= any_crowd.right * (1 + 1e-9)
            assert one.growth <= any_crowd.growth * (1 + 1e-9)


@pytest.mark.parametrize(("delta", "people"), [(1e-12, 10**8), (1e-15, 10**7), (1e-18, 10**4), (1e-20, 300)])
def test_a_small_delta_is_promised_to_fewer_people(delta, people):
    """What is rare grows with the crowd: the promise names the crowd up to which it was checked, and holds there."""
    protocol = Protocol.create(epsilon=1.0, delta=delta, cohort=300, columns=3, target=LABEL)
    assert most(protocol) == people
    any_crowd, status = of_model(protocol), protocol.guarantee().status
    for count in np.unique(np.geomspace(1, people, 9).astype(int)).tolist():
        one = of_model(protocol, count)
        assert one.right <= any_crowd.right * (1 + 1e-9)
        assert one.growth <= any_crowd.growth * (1 + 1e-9)
        assert protocol.guarantee(count).status == status == "proven"
    beyond = of_model(protocol, 1000 * people)
    assert delta == 1e-12 or beyond.growth > any_crowd.growth or any_crowd.growth > 100, "else it could promise more"


def test_an_epsilon_is_not_judged_without_its_delta():
    """At a delta near 1 any noise has a small epsilon: what can be guessed is what counts."""
    protocol = Protocol.create(epsilon=1.0, delta=0.99, cohort=2000, columns=3, target=LABEL, record_epsilon=9.0)
    assert protocol.record_guarantee().epsilon < 10
    assert of_record(protocol).right > 0.9
    assert of_record(protocol).little
    assert "practically no protection" in words(protocol)["record"]


def test_percentages_are_rounded_up():
    assert percent(0.6623649) == "66.3"
    assert percent(0.99951) == "100"
    assert percent(0.99) == "99"
    assert percent(7.0) == "100"
    rng = np.random.default_rng(1)
    assert all(float(percent(share)) >= 100 * share for share in rng.random(1000))


def test_chances_are_probabilities_and_noise_is_gaussian(protocols):
    for wrong in (0.0, 1.0, -1.0, math.nan):
        with pytest.raises(ValueError, match="chance"):
            of_record(protocols["plain"], wrong)
    with pytest.raises(ValueError, match="not Gaussian"):
        strength.distance((protocols["plain"].numbers.minimum(100),))


def test_sentences_say_what_holds(protocols, monkeypatch):
    monkeypatch.setattr(sentences, "fewest", lambda *_: 500)  # looked for elsewhere
    for language in sentences.CODES:
        said = dictionary("guarantees", language)
        told = {name: words(protocol, language) for name, protocol in protocols.items()}
        comma = "," if language == "de" else "."
        assert f" {percent(of_record(protocols['asked']).right).replace('.', comma)} " in told["asked"]["record"]
        for name, one in told.items():
            assert all("{" not in sentence for sentence in one.values())
            assert ("praktisch kein Schutz" in one["record"] or "practically no protection" in one["record"]) == bool(
                protocols[name].caution()
            )
            assert (one["record_trust"] == said["record_trust"]) == (not protocols[name].caution())
            assert (one["model_trust"] == said["model_trust_all"]) == (protocols[name].numbers.honest == 1)
            assert (one["withdrawal"] == said["withdrawal"]) == (name == "all")
            proven = said["model"].partition(". ")[2].partition("(")[0].strip()
            assert (proven in one["model"]) == (name not in ("paper", "weak"))
        assert "10" in told["asked"]["model_trust"]
        assert "9" in told["asked"]["model_trust"]
        assert "500" in told["plain"]["crowd"]
        assert f" 0{comma}000001 " in told["plain"]["model"]
        assert ("100,000,000" if language == "en" else "100.000.000") in told["plain"]["model"]
    paper = protocols["paper"]
    proved = max(accounting.epsilon(released, 1e-6, "replace-one") for released in worst(paper))
    assert proved > paper.epsilon  # the claim is more than is proven, and the sentence says both
    assert f"an epsilon of {math.ceil(proved * 1000) / 1000:g}" in words(paper)["model"]
    assert "do not rely" in words(paper)["model"]


def test_a_wide_study_is_not_searched_and_still_says_what_it_is_worth(monkeypatch):
    monkeypatch.setattr(sentences, "fewest", lambda *_: pytest.fail("this takes minutes"))
    schema = Schema((Category("c", tuple(map(str, range(60)))),), Target("y", classes=("a", "b")))
    said = {}
    for name, asked in (("good", None), ("bad", 1.0)):
        protocol = Protocol.create(epsilon=4.0, delta=1e-6, cohort=20_000, schema=schema, record_epsilon=asked)
        said[name] = words(protocol)["crowd"]
    assert "better than guessing" in said["bad"]
    assert "better than guessing" not in said["good"]


def test_what_is_refuted_or_without_a_bound_is_said(protocols, monkeypatch):
    monkeypatch.setattr(sentences, "fewest", lambda *_: None)
    stated = dataclasses.replace(protocols["paper"].guarantee(), status="refuted")
    monkeypatch.setattr(Protocol, "guarantee", lambda *_: stated)
    monkeypatch.setattr(sentences, "proven", lambda *_: math.inf)
    told = words(protocols["paper"])
    assert "known to be wrong" in told["model"]
    assert "epsilon of infinity, that is, nothing" in told["model"]
    assert "examined for up to 100,000,000" in told["crowd"]


def test_of_few_people_all_must_be_honest(protocols):
    """Nine of ten: of nine all, of ten one less."""
    numbers = protocols["plain"].numbers
    assert (numbers.sure(9), numbers.sure(10)) == (9, 9)
    assert "If 9 or fewer take part" in words(protocols["plain"])["model_trust"]
    for honest in (0.5, 0.75, 0.9, 0.99, 2 / 3):
        few = math.ceil(1 / (1 - sentences.Fraction(repr(honest)))) - 1
        other = dataclasses.replace(numbers, honest=honest)
        assert (other.sure(few), other.sure(few + 1)) == (few, few)


def test_the_crowd_is_as_large_as_it_must_be(protocols, monkeypatch):
    monkeypatch.setattr(sentences, "fewest", lambda *_: 70_000)
    assert "but with fewer than about 70,000" in words(protocols["plain"])["crowd"]
    assert "70.000" in words(protocols["plain"], "de")["crowd"]
    assert "right in about" in words(protocols["plain"])["crowd"]
    assert f"{100 * madeup.UNEXPLAINED:g} %" in words(protocols["plain"])["basis"]


def places(sentence):
    return sorted(name for _, name, _, _ in string.Formatter().parse(sentence) if name is not None)


@pytest.mark.parametrize("name", ["guarantees", "pictures"])
def test_all_languages_have_the_same_sentences_and_places(name):
    english = dictionary(name)
    for code in sentences.CODES[1:]:
        text = (sentences.files("tacit.collector") / "languages" / f"{name}.{code}.json").read_text(encoding="utf-8")
        own = sentences.json.loads(text)
        assert own.keys() == english.keys()
        assert {key: places(own[key]) for key in own} == {key: places(english[key]) for key in english}
    with pytest.raises(ValueError, match="language"):
        dictionary(name, "../en")
