"""Events answer malformed and absurd numbers with a sentence, and every price comes in bounded time, or not at all."""

import itertools
import math
from dataclasses import fields
from typing import get_args

import numpy as np
import pytest

from tacit import PrivacyError
from tacit.privacy import accounting
from tacit.privacy.events import (
    COUNT,
    Claimed,
    Event,
    Gaussian,
    InputMinimum,
    Objective,
    PoissonGaussian,
    Rare,
    Response,
    Selection,
    Sensitivity,
    Shuffled,
    Sphere,
    SubsetGaussian,
    from_dict,
    to_dict,
)
from tacit.privacy.shuffle import shuffled_approximate_delta

MOVED = Sensitivity(1.0, 2.0)
HONEST = [
    Gaussian(MOVED, 3.0, 5), PoissonGaussian(clip=1.0, scale=2.0, rate=0.1, count=7),
    SubsetGaussian(clip=1.0, scale=2.0, batch=3, records=40, count=9), Sphere(MOVED, 4.0),
    Objective(slope=1.0, trace=0.25, strength=3.0, scale=9.0, geometry="simplex", outputs=3),
    Claimed(1.0, 1e-5, "a paper"), Response(1.5),
    Shuffled(2.0, 1e-9, 300), Rare(1e-7),
    InputMinimum(
        features=3, records=500, honest=500, row=1.0, cross=1.0, radius=2.0, row_scale=0.5, scale=30.0, ridge=-4.0,
        tail=1e-8, rare=1e-20,
    ),
    Selection(candidates=((Gaussian(MOVED, 30.0), Gaussian(MOVED, 90.0)),), stop=0.5),
]  # fmt: skip
ABSURD = [10**400, math.nan, math.inf, -math.inf, True, False, "1", None, [1.0], {}]
"""No number of an event may be any of these."""
AMOUNTS = [*ABSURD, 0, -1, -0.0, 1e-320, 1e-200, 1e200]
"""Nor a scale, a norm or an epsilon any of these."""
KINDS = {
    "count": [*AMOUNTS, 10**30, 10**12 + 1, 0.5, 2.0], "ridge": [*ABSURD, 1e200], "row_scale": [*ABSURD, -1, 1e-320],
    "delta": [*ABSURD, -1, -0.0, 1e-320, 1.0, 2], "tail": [*ABSURD, 0, -1, -0.0, 1e-320, 1.0],
    "probability": [*ABSURD, 0, -1, -0.0, 1e-320, 1.0], "rare": [*ABSURD, -1, -0.0, 1e-320, 1.1],
}  # fmt: skip
KINDS |= dict.fromkeys(("batch", "records", "honest", "outputs", "features", "rows"), KINDS["count"])


@pytest.mark.parametrize("event", HONEST, ids=lambda event: type(event).__name__)
def test_absurd_numbers_are_answered_with_a_sentence(event):
    data = to_dict(event)
    assert from_dict(data) == event
    for name in set(data) - {"kind", "sensitivity", "reference", "geometry", "noise"}:
        for absurd in KINDS.get(name, AMOUNTS):
            with pytest.raises(ValueError, match="Expected") as caught:
                from_dict({**data, name: absurd})
            assert str(caught.value).endswith(".")
            assert len(str(caught.value)) < 200
        lacking = {key: value for key, value in data.items() if key != name}
        if name == "rows":  # which earlier versions did not write
            assert from_dict(lacking) == event
            continue
        for wrong in (lacking, {**data, "more": 1}):
            with pytest.raises(ValueError, match="exactly the fields"):
                from_dict(wrong)


@pytest.mark.parametrize("absurd", [value for value in AMOUNTS if value is not None], ids=str)
def test_absurd_sensitivities_are_answered_with_a_sentence(absurd):
    with pytest.raises(ValueError, match="Expected"):
        from_dict({**to_dict(Sphere(MOVED, 1.0)), "sensitivity": {"add_remove": absurd, "replace_one": 1.0}})
    for whole in (absurd, {"add_remove": 1.0}, {"add_remove": 1.0, "replace_one": 2.0, "more": 1}):
        with pytest.raises(ValueError, match="exactly the fields"):
            from_dict({**to_dict(Sphere(MOVED, 1.0)), "sensitivity": whole})


def test_what_is_no_event_is_answered_with_a_sentence():
    for data in (None, 3, [], "Gaussian", {}, {"kind": "os.system"}, {"kind": ["Gaussian"]}, {"kind": None}):
        with pytest.raises(ValueError, match="Expected an event"):
            from_dict(data)


def test_a_simplex_has_two_outputs_at_least():
    with pytest.raises(ValueError, match="outputs=1"):
        Objective(slope=1.0, trace=1.0, strength=1.0, scale=1.0, geometry="simplex", outputs=1)
    assert Objective(slope=1.0, trace=1.0, strength=1.0, scale=1.0, geometry="logistic", outputs=1).outputs == 1


def test_numbers_of_numpy_are_numbers():
    assert Gaussian(Sensitivity(np.float64(1.0), np.float32(2.0)), np.float64(3.0), np.int64(5)).count == 5


@pytest.mark.parametrize(
    "events",
    [
        (Gaussian(Sensitivity(1e150, 1e150), 1e-150),),
        (Objective(slope=1e150, trace=1e150, strength=1e-150, scale=1e-150, geometry="two-sided"),),
        (
            InputMinimum(
                features=10**12,
                records=10**12,
                honest=10**12,
                row=1e150,
                cross=1e150,
                radius=1e150,
                row_scale=1e150,
                scale=1e-150,
                ridge=1e150,
                tail=1e-8,
                rare=1e-20,
            ),
            Gaussian(MOVED, 1.0),
        ),
        (SubsetGaussian(clip=1e150, scale=1e-150, batch=1, records=10**12, count=10**12),),
        (PoissonGaussian(clip=1e150, scale=1e-150, rate=1e-150, count=10**12),),
    ],
    ids=lambda events: type(events[0]).__name__,
)
def test_what_overflows_is_refused_or_infinite(events):
    for delta in (1e-5, 1e-300):
        try:
            price = accounting.epsilon(events, delta, "replace-one")
        except PrivacyError:
            continue
        assert price > 1e6


def test_a_price_that_is_not_a_number_is_refused(monkeypatch):
    """NaN compares as false with everything, so a bisection would take it for cheap."""
    monkeypatch.setattr(accounting, "gaussian_delta", lambda mu, epsilon: math.nan)
    events = (Gaussian(Sensitivity(1.0, 2.0), 17.25),)
    accounting._curve.cache_clear()
    with pytest.raises(PrivacyError, match="beyond what can be priced"):
        accounting.epsilon(events, 1e-5, "replace-one")
    with pytest.raises(PrivacyError, match="beyond what can be priced"):
        accounting.delta(events, 1.0, "replace-one")
    accounting._curve.cache_clear()


def test_many_sampled_steps_cost_the_bound_without_sampling():
    """At the limit they are composed; beyond it the plain Gaussian bound is used, which is larger and closed."""
    few = PoissonGaussian(clip=1.0, scale=1e9, rate=1e-3, count=accounting.SAMPLED_STEPS)
    for count in (accounting.SAMPLED_STEPS + 1, COUNT):
        many = PoissonGaussian(clip=1.0, scale=1e9, rate=1e-3, count=count)
        plain = Gaussian(MOVED, 1e9, count)
        assert accounting.epsilon((many,), 1e-5, "replace-one") == accounting.epsilon((plain,), 1e-5, "replace-one")
    assert accounting.epsilon((few,), 1e-5, "replace-one") <= accounting.epsilon((many,), 1e-5, "replace-one")


def test_more_shuffled_records_never_cost_more(monkeypatch):
    """The reason why a price for fewer of them is one for all."""
    for local in (0.5, 2.0, 4.0):
        prices = [shuffled_approximate_delta(local, 0.0, n, 0.1) for n in (10, 30, 100, 1000)]
        assert all(a >= b for a, b in itertools.pairwise(prices))
    monkeypatch.setattr(accounting, "SHUFFLED_RECORDS", 1000)
    accounting._curve.cache_clear()
    capped, at_limit = (accounting.delta((Shuffled(2.0, 0.0, n),), 0.1, "replace-one") for n in (COUNT, 1000))
    accounting._curve.cache_clear()
    assert capped == at_limit


@pytest.mark.parametrize("size", [1e-40, 1e-20, 1e-11, 0.99e-6])
@pytest.mark.parametrize("rate", [0.001, 0.5])
def test_steps_that_move_next_to_nothing_have_the_price_without_sampling(size, rate):
    """Renyi accountants and grids of losses lose such steps beside 1; all records together are an upper bound."""
    sampled = (
        PoissonGaussian(clip=size / 2, scale=1.0, rate=rate, count=10),
        SubsetGaussian(clip=size / 2, scale=1.0, batch=int(1000 * rate), records=1000, count=10),
    )
    for event in sampled:
        plain = Gaussian(Sensitivity(size / 2, size), 1.0, 10)
        for price, at in ((accounting.delta, 0.0), (accounting.delta, size), (accounting.epsilon, 1e-12)):
            expected = price((plain,), at, "replace-one")
            assert math.isfinite(expected)
            assert price((event,), at, "replace-one") == pytest.approx(expected, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("event", HONEST, ids=lambda event: type(event).__name__)
def test_what_nobody_priced_is_refused(event):
    """A subclass may mean something else, so it is not priced as what it is derived from, at any delta."""
    known = type(event)
    stranger = type("Stranger", (known,), {})(**{f.name: getattr(event, f.name) for f in fields(event)})
    assert isinstance(stranger, known)
    for released in ((stranger,), (stranger, Gaussian(MOVED, 1.0)), (Gaussian(MOVED, 1.0), stranger), ("Gaussian",)):
        with pytest.raises(PrivacyError, match=r"No accountant knows how to price (Stranger|str)\.$"):
            accounting.delta(released, 1.0, "replace-one")
        for delta in (0.0, 1e-6):
            with pytest.raises(PrivacyError, match=r"No accountant knows how to price (Stranger|str)\.$"):
                accounting.epsilon(released, delta, "replace-one")


@pytest.mark.parametrize("delta", [-0.1, 1.0, 1.5, math.nan])
def test_a_delta_is_a_probability(delta):
    with pytest.raises(ValueError, match=rf"^Expected 0 <= delta={delta} < 1\.$"):
        accounting.epsilon((Gaussian(MOVED, 1.0),), delta, "replace-one")


def test_an_epsilon_is_found_with_few_prices_and_is_infinite_from_half_a_million_on(monkeypatch):
    known, asked = accounting.gaussian_delta, []
    monkeypatch.setattr(accounting, "gaussian_delta", lambda *words: asked.append(words) or known(*words))
    found = {
        mu: accounting.epsilon((Gaussian(Sensitivity(mu, mu), 1.0),), 1e-5, "replace-one") for mu in (900.0, 1100.0)
    }
    assert found[1100.0] == math.inf
    assert known(900.0, found[900.0]) <= 1e-5 < known(900.0, found[900.0] * (1 - 1e-9))
    assert known(1100.0, 2.0**19) > 1e-5
    assert len(asked) < 80


PURE = Objective(slope=1.0, trace=0.25, strength=3.0, scale=9.0, geometry="monotone", noise="sphere")
BESIDE = {  # what each kind is priced beside, of one more of its kind, a Gaussian release and a pure one
    Gaussian: "ng", PoissonGaussian: "ng", SubsetGaussian: "ng", Sphere: "np", Objective: "g", Claimed: "",
    Response: "ng", Shuffled: "", InputMinimum: "g", Rare: "ngp", Selection: "g",
}  # fmt: skip


@pytest.mark.parametrize("event", HONEST, ids=lambda event: type(event).__name__)
def test_what_has_no_proof_together_is_refused(event):
    assert accounting.delta((event,), 1.0, "replace-one") <= 1
    for letter, other in (("n", event), ("g", Gaussian(MOVED, 9.0)), ("p", PURE), ("p", Sphere(MOVED, 9.0))):
        for released in ((event, other), (other, event)):
            if letter in BESIDE[type(event)] or (isinstance(event, Sphere | Gaussian) and type(event) is type(other)):
                assert accounting.delta(released, 1.0, "replace-one") <= 1
            else:
                with pytest.raises(PrivacyError, match=r"No accountant knows how to price .* together"):
                    accounting.delta(released, 1.0, "replace-one")
    with pytest.raises(PrivacyError, match="price nothing together"):
        accounting.delta((), 1.0, "replace-one")


@pytest.mark.parametrize("event", HONEST, ids=lambda event: type(event).__name__)
def test_every_kind_is_priced_under_both_adjacencies_or_refused_in_a_sentence(event):
    """And only pure releases have a price without a delta."""
    if isinstance(event, SubsetGaussian | InputMinimum | Response | Shuffled | Selection | Claimed):
        with pytest.raises(PrivacyError, match=r"replace-one|Poisson sampling"):
            accounting.delta((event,), 1.0, "add-remove")
    else:
        assert accounting.delta((event,), 1.0, "add-remove") <= accounting.delta((event,), 1.0, "replace-one")
    pure = isinstance(event, Sphere | Response)
    assert math.isfinite(accounting.epsilon((event,), 0.0, "replace-one")) == pure
    assert {type(one) for one in HONEST} == set(get_args(Event))


@pytest.mark.parametrize("failure", [ValueError("math domain error"), TypeError("no method"), OverflowError()])
def test_every_failure_of_arithmetic_is_a_sentence(failure, monkeypatch):
    def broken(*_):
        raise failure

    monkeypatch.setattr(accounting, "_curve", broken)
    for price in (accounting.delta, accounting.epsilon):
        with pytest.raises(PrivacyError, match="beyond what can be priced"):
            price((Gaussian(MOVED, 1.0),), 0.1, "replace-one")
