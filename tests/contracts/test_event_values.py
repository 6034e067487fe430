"""Events say what was released: bad numbers are refused with their name, and JSON brings back the same value."""

import json
import math
import re
from dataclasses import replace

import numpy as np
import pytest

from tacit.checks import PrivacyError
from tacit.privacy import events
from tacit.privacy.events import (
    Claimed,
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
)

ONE = Sensitivity(1.0, 2.0)
ALL = [
    Gaussian(ONE, 3.0, 4),
    Gaussian(Sensitivity(None, 2.0), 1.0),
    PoissonGaussian(clip=1.0, scale=2.0, rate=0.5, count=3),
    SubsetGaussian(clip=1.0, scale=2.0, batch=5, records=10, count=3),
    Sphere(Sensitivity(1.0, None), 2.0),
    Objective(slope=1.0, trace=0.25, strength=3.0, scale=2.0, geometry="simplex", outputs=3),
    Objective(slope=1.0, trace=0.25, strength=3.0, scale=2.0, geometry="logistic", noise="sphere"),
    Claimed(1.0, 0.0, "paper"),
    Response(2.0),
    InputMinimum(
        features=3,
        records=100,
        honest=100,
        row=1.0,
        cross=2.0,
        radius=3.0,
        row_scale=0.0,
        scale=5.0,
        ridge=-1.0,
        tail=1e-9,
        rare=1e-20,
    ),
    Shuffled(2.0, 0.0, 100),
    Rare(1e-9),
    Selection(candidates=((Gaussian(ONE, 3.0), Gaussian(ONE, 1.0)),), stop=0.5),
]


@pytest.mark.parametrize("event", ALL, ids=lambda event: type(event).__name__)
def test_events_survive_json(event):
    data = json.loads(json.dumps(events.to_dict(event)))
    assert data["kind"] == type(event).__name__
    assert events.from_dict(data) == event
    for name in set(data) - {"rows"}:  # which earlier versions did not write
        lacking = {key: value for key, value in data.items() if key != name}
        with pytest.raises(ValueError, match="known kind" if name == "kind" else "exactly the fields"):
            events.from_dict(lacking)
    with pytest.raises(ValueError, match=f"a {type(event).__name__} event to have exactly the fields"):
        events.from_dict({**data, "more": 1})
    for name, value in data.items():
        if isinstance(value, int | float):
            for other in ("1", True, None):
                with pytest.raises((ValueError, TypeError)):
                    events.from_dict({**data, name: other})
    if "sensitivity" in data:
        with pytest.raises(ValueError, match="add_remove=True"):
            events.from_dict({**data, "sensitivity": {"add_remove": True, "replace_one": 2.0}})


def test_unknown_kinds_are_refused_by_name():
    with pytest.raises(ValueError, match=r"known kind: Gaussian, PoissonGaussian, .*, Selection\."):
        events.from_dict({"kind": "Laplace"})


BAD = [
    (Gaussian, {"sensitivity": ONE, "scale": 0.0}, "scale=0.0"),
    (Gaussian, {"sensitivity": ONE, "scale": 1.0, "count": 0}, "count=0"),
    (PoissonGaussian, {"clip": 0.0, "scale": 1.0, "rate": 0.5, "count": 1}, "clip=0.0"),
    (PoissonGaussian, {"clip": 1.0, "scale": -1.0, "rate": 0.5, "count": 1}, "scale=-1.0"),
    (PoissonGaussian, {"clip": 1.0, "scale": 1.0, "rate": 0.0, "count": 1}, "0 < rate=0.0 <= 1"),
    (PoissonGaussian, {"clip": 1.0, "scale": 1.0, "rate": 1.5, "count": 1}, "rate=1.5"),
    (PoissonGaussian, {"clip": 1.0, "scale": 1.0, "rate": 0.5, "count": 0}, "count=0"),
    (SubsetGaussian, {"clip": 0.0, "scale": 1.0, "batch": 1, "records": 2, "count": 1}, "clip=0.0"),
    (SubsetGaussian, {"clip": 1.0, "scale": 0.0, "batch": 1, "records": 2, "count": 1}, "scale=0.0"),
    (SubsetGaussian, {"clip": 1.0, "scale": 1.0, "batch": 1, "records": 2, "count": 0}, "count=0"),
    (SubsetGaussian, {"clip": 1.0, "scale": 1.0, "batch": 0, "records": 2, "count": 1}, "1 <= batch=0 <= records=2"),
    (SubsetGaussian, {"clip": 1.0, "scale": 1.0, "batch": 3, "records": 2, "count": 1}, "batch=3"),
    (Sphere, {"sensitivity": ONE, "scale": 0.0}, "scale=0.0"),
    (Response, {"epsilon": 0.0}, "epsilon=0.0"),
    (Claimed, {"epsilon": 0.0, "delta": 0.0, "reference": "x"}, "epsilon=0.0"),
    (Claimed, {"epsilon": 1.0, "delta": 1.0, "reference": "x"}, "0 <= delta=1.0 < 1"),
    (Claimed, {"epsilon": 1.0, "delta": -0.1, "reference": "x"}, "delta=-0.1"),
    (Claimed, {"epsilon": 1.0, "delta": 0.0, "reference": ""}, "Expected a claim to name its reference"),
    (Claimed, {"epsilon": 1.0, "delta": 0.0, "reference": 3}, "Expected a claim to name its reference"),
    (Shuffled, {"epsilon": 0.0, "delta": 0.0, "records": 1}, "epsilon=0.0"),
    (Shuffled, {"epsilon": 1.0, "delta": 1.0, "records": 1}, "delta=1.0"),
    (Shuffled, {"epsilon": 1.0, "delta": -1.0, "records": 1}, "delta=-1.0"),
    (Shuffled, {"epsilon": 1.0, "delta": 0.0, "records": 0}, "records=0"),
    (Rare, {"probability": 0.0}, "probability=0.0"),
    (Rare, {"probability": 1.0}, "probability=1.0"),
    (Sensitivity, {"add_remove": 0.0, "replace_one": 1.0}, "add_remove=0.0"),
    (Sensitivity, {"add_remove": 1.0, "replace_one": -1.0}, "replace_one=-1.0"),
    *(
        (
            Objective,
            {"slope": 1.0, "trace": 1.0, "strength": 1.0, "scale": 1.0, "geometry": "logistic", **change},
            word,
        )
        for change, word in [
            ({"slope": 0.0}, "slope=0.0"),
            ({"trace": 0.0}, "trace=0.0"),
            ({"scale": 0.0}, "scale=0.0"),
            ({"strength": 0.0}, "strength=0.0"),
            ({"outputs": 0}, "outputs=0"),
            ({"geometry": "round"}, "geometry='round' to be one of logistic, monotone, two-sided, simplex"),
            ({"noise": "none"}, "noise='none' to be 'gaussian' or 'sphere'"),
        ]
    ),
    *(
        (
            InputMinimum,
            {
                "features": 3,
                "records": 100,
                "honest": 90,
                "rare": 1e-20,
                "row": 1.0,
                "cross": 2.0,
                "radius": 3.0,
                "row_scale": 0.0,
                "scale": 5.0,
                "ridge": 0.0,
                "tail": 1e-9,
                **change,
            },
            word,
        )
        for change, word in [
            ({"features": 0}, "features=0"),
            ({"records": 0}, "records=0"),
            ({"honest": 0}, "honest=0"),
            ({"honest": 101}, "honest=101 <= records=100"),
            ({"rare": -0.1}, "rare=-0.1"),
            ({"rare": 1.1}, "rare=1.1"),
            ({"row": 0.0}, "row=0.0"),
            ({"cross": 0.0}, "cross=0.0"),
            ({"radius": 0.0}, "radius=0.0"),
            ({"scale": 0.0}, "scale=0.0"),
            ({"row_scale": -1.0}, "row_scale=-1.0"),
            ({"row_scale": float("inf")}, "row_scale=inf"),
            ({"ridge": float("inf")}, "ridge=inf"),
            ({"ridge": -float("inf")}, "ridge=-inf"),
            ({"tail": 0.0}, "0 < tail=0.0 < 1"),
            ({"tail": 1.0}, "tail=1.0"),
        ]
    ),
]


@pytest.mark.parametrize(("kind", "fields", "word"), BAD, ids=[f"{k.__name__}-{w[:20]}" for k, _, w in BAD])
def test_bad_numbers_are_refused_by_name(kind, fields, word):
    with pytest.raises(ValueError, match="Expected") as caught:
        kind(**fields)
    assert word in str(caught.value)


def test_the_ends_of_ranges_are_allowed():
    assert PoissonGaussian(clip=1.0, scale=1.0, rate=1.0, count=1).rate == 1
    assert SubsetGaussian(clip=1.0, scale=1.0, batch=2, records=2, count=1).batch == 2
    assert SubsetGaussian(clip=1.0, scale=1.0, batch=1, records=2, count=1).batch == 1
    assert (
        Gaussian(ONE, 1.0).count,
        Objective(slope=1.0, trace=1.0, strength=1.0, scale=1.0, geometry="logistic").outputs,
    ) == (1, 1)
    assert Objective(slope=1.0, trace=1.0, strength=1.0, scale=1.0, geometry="two-sided").noise == "gaussian"


def test_sensitivities():
    record = Sensitivity.of_record(1.5)
    assert (record.add_remove, record.replace_one) == (1.5, 3.0)
    assert (record.under("add-remove"), record.under("replace-one")) == (1.5, 3.0)
    assert record.times(2.0) == Sensitivity(3.0, 6.0)
    assert record.plus(0.25) == Sensitivity(1.75, 3.25)
    assert Sensitivity(None, 2.0).times(2.0) == Sensitivity(None, 4.0)
    assert Sensitivity(2.0, None).plus(1.0) == Sensitivity(3.0, None)
    for one, adjacency in ((Sensitivity(None, 2.0), "add-remove"), (Sensitivity(2.0, None), "replace-one")):
        with pytest.raises(PrivacyError, match=f"^The analysis of this method does not cover {adjacency} neighbours"):
            one.under(adjacency)


def test_the_ends_of_the_ranges_belong_to_them():
    least, most = events.LEAST, events.MOST
    for value in (least, most, 1, np.float32(2.5)):
        assert events.is_amount(value)
    for value in (math.nextafter(least, 0.0), math.nextafter(most, math.inf), 10**151, 0):
        assert not events.is_amount(value)
    for value in (0, 0.0, events.SMALLEST, 0.5, math.nextafter(1.0, 0.0)):
        assert events.is_probability(value)
    for value in (-0.0, math.nextafter(events.SMALLEST, 0.0), 1, 1.0):
        assert not events.is_probability(value)
    for value, ends in ((1, ()), (events.COUNT, ()), (0, (0,)), (6, (6, 9)), (9, (6, 9))):
        assert events.is_count(value, *ends)
    for value, ends in ((0, ()), (events.COUNT + 1, ()), (5, (6, 9)), (10, (6, 9)), (1.0, ()), (True, ())):
        assert not events.is_count(value, *ends)


def test_events_take_the_ends_of_their_ranges():
    (minimum,) = (event for event in ALL if isinstance(event, InputMinimum))
    for change in ({"ridge": events.MOST}, {"ridge": -events.MOST}, {"rare": 1}, {"rare": 1.0}, {"rare": 0.0}):
        assert replace(minimum, **change) != minimum
    objective = Objective(slope=1.0, trace=1.0, strength=1.0, scale=1.0, geometry="simplex", outputs=2)
    assert replace(objective, outputs=events.OUTPUTS).outputs == events.OUTPUTS
    for outputs in (1, events.OUTPUTS + 1):
        with pytest.raises(ValueError, match=rf"^Expected outputs={outputs} to be .* >= 2, at most 1,000,000"):
            replace(objective, outputs=outputs)
    with pytest.raises(ValueError, match=r"^Expected count=1000000000001 to be .* >= 1, at most 1,000,000,000,"):
        Gaussian(ONE, 1.0, 10**12 + 1)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (-(10**18) + 1, "-999999999999999999"),
        (10**18, "(a number of more than 18 digits)"),
        (-(10**400), "(a number of more than 18 digits)"),
        ("x" * 38, repr("x" * 38)),
        ("x" * 39, "'" + "x" * 36 + "..."),
    ],
)
def test_what_is_refused_is_shown_in_few_letters(value, shown):
    with pytest.raises(ValueError, match=rf"^Expected count={re.escape(shown)} to be"):
        Gaussian(ONE, 1.0, value)


def test_sentences_begin_and_end():
    with pytest.raises(ValueError, match=r"^Expected a claim to name its reference\.$"):
        Claimed(1.0, 0.0, "")
    with pytest.raises(ValueError, match=r"^Expected an event to be a mapping of fields\.$"):
        events.from_dict([])
    with pytest.raises(ValueError, match=r"^Expected a Response event to have exactly the fields epsilon\.$"):
        events.from_dict({"kind": "Response"})
    with pytest.raises(ValueError, match=r"the fields count, scale, sensitivity\.$"):
        events.from_dict({"kind": "Gaussian"})
