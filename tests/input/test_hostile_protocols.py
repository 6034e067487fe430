"""A protocol is read by people who do not trust its author: no public number in it may make their noise invisible."""

import functools
import json

import numpy as np
import pytest

from tacit import PrivacyError
from tacit.privacy.guarantee import checksum
from tacit.privacy.noise import SeededSource
from tacit.protocol import Protocol
from tacit.protocol.agreement import LARGEST_FILE, _targets
from tacit.schema import Number, Schema, Target
from tacit.schema.columns import FARTHEST

WIDE = [(1e308, 1.7e308), (-1.7e308, 1.7e308), (0, 10**400), (-(10**400), 0)]
NARROW = [(0, 5e-324), (1e16, 1e16 + 2), (-1e16 - 2, -1e16), (1.0, 1.0 + 1e-10), (0, 1e-200)]


@functools.cache
def made(target=None, **more):
    aim = Target("y", lower=-1, upper=1) if target is None else target
    return Protocol.create(**{"epsilon": 2.0, "delta": 1e-3, "cohort": 400, "columns": 3, "target": aim, **more})


def forged(change):
    """A protocol file that someone wrote by hand, with a fingerprint that fits."""
    data = json.loads(made().to_json())
    change(data)
    del data["fingerprint"]
    return json.dumps({**data, "fingerprint": checksum(data)[:32]})


@pytest.mark.parametrize("bounds", WIDE + NARROW)
def test_bounds_that_cannot_be_scaled_are_refused(bounds):
    sentence = "neither beyond 1e[+]100" if bounds in WIDE else "apart; subtract"
    with pytest.raises(ValueError, match=sentence):
        Target("y", lower=bounds[0], upper=bounds[1])
    with pytest.raises(ValueError, match=sentence):
        Number("x", *bounds)
    if all(abs(bound) < 10**309 for bound in bounds):
        with pytest.raises(ValueError, match=sentence):
            Protocol.from_json(forged(lambda data: data["target"].update(lower=bounds[0], upper=bounds[1])))


@pytest.mark.parametrize(
    "bounds", [(-FARTHEST, FARTHEST), (0, 2 / FARTHEST), (1.0, 1 + 1e-8), (1.3, 1.3 + 2e-9), (0.1, 0.3), (1e9, 1e9 + 2)]
)
def test_whatever_bounds_pass_targets_stay_within_one(bounds, rng):
    """Without the clip after scaling, (1.3, 1.3 + 2e-9) and (0.1, 0.3) give targets beyond 1."""
    target = Target("y", lower=bounds[0], upper=bounds[1])
    inside = bounds[0] + (bounds[1] - bounds[0]) * rng.uniform(size=1000)
    values = np.concatenate([inside, np.repeat(bounds, 2), [-1e300, 1e300]])
    scaled = _targets(values, target)
    assert np.abs(scaled).max() <= 1.0
    assert scaled[-2:] == pytest.approx([-1.0, 1.0], rel=1e-6)
    encoded = Schema((Number("x", *bounds),), target).encode({"x": values})
    assert np.abs(encoded).max() <= 1.0


@pytest.mark.parametrize("name", ["clip", "intercept", "radius", "curvature", "slope", "row_scale", "strength"])
@pytest.mark.parametrize("value", [1e-60, 1e60, 1e300, -1.0])
def test_numbers_of_absurd_size_are_refused(name, value):
    with pytest.raises(ValueError, match=f"Expected {name}="):
        Protocol.from_json(forged(lambda data: data["numbers"].update({name: value})))


@pytest.mark.parametrize(
    ("rows", "targets"),
    [
        ([[2.0, 0, 0, 0]], [0.0]),
        ([[0.1, 0, 0, 0]], [1.0001]),
        ([[0.1, 0, 0, 0]], [np.inf]),
        ([[0.1, 0, 0, 0]], [np.nan]),
        ([[np.nan, 0, 0, 0]], [0.0]),
        ([[np.inf, 0, 0, 0]], [0.0]),
        ([[0.1, 0, 0]], [0.0]),
    ],
)
def test_what_is_beyond_its_bounds_is_refused_before_any_noise(rows, targets):
    class Silent(SeededSource):
        def words(self, count):
            raise AssertionError("noise was drawn")

    with pytest.raises(PrivacyError, match="beyond the bounds"):
        made().numbers.perturb(np.array(rows), np.array(targets), Silent(0))


def test_rows_at_their_bound_pass(rng):
    protocol = made()
    rows, targets = protocol.rows(1e6 * rng.normal(size=(2000, 3)), np.repeat([5.0, -5.0], 1000))
    assert protocol.numbers.perturb(rows, targets, SeededSource(0))[0].shape == (2000, 4)


def test_a_protocol_file_is_bounded(tmp_path):
    path = tmp_path / "long.json"
    path.write_bytes(b" " * (LARGEST_FILE + 1))
    with pytest.raises(PrivacyError, match="larger than 16 MiB"):
        Protocol.load(path)
