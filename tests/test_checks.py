"""Numbers that are none, or too large for double precision, are answered with a sentence before anything is touched."""

import math

import numpy as np
import pytest

from tacit import LinearRegression, LinearSVC, LogisticRegression, PrivacyError
from tacit.checks import check_count, check_positive, check_real, plain_numbers
from tacit.mechanisms import GradientPerturbation, Output, Poisson
from tacit.protocol import Protocol, Submission

X, Y = np.eye(6), np.array([0, 1, 0, 1, 0, 1])
HUGE = 10**400


@pytest.mark.parametrize("name", ["epsilon", "delta", "clip", "regularization"])
@pytest.mark.parametrize("value", [HUGE, math.nan, -1.0], ids=["huge", "nan", "negative"])
def test_absurd_settings_are_answered_with_a_sentence(name, value):
    with pytest.raises(ValueError, match="Expected") as caught:
        LogisticRegression(**{"epsilon": 1.0, name: value}, classes=[0, 1]).fit(X, Y)
    assert len(str(caught.value)) < 600


@pytest.mark.parametrize("check", [check_real, check_positive, check_count])
def test_whole_numbers_beyond_doubles(check):
    with pytest.raises(ValueError, match="Expected n to be below 1e308"):
        check("n", HUGE)


@pytest.mark.parametrize("value", [math.inf, math.nan, 0, 1.5, -3])
def test_counts(value):
    with pytest.raises(ValueError, match="whole number >= 1"):
        check_count("n", value)
    assert check_count("n", 3.0) == 3


def test_published_sphere_noise_is_the_proven_one():
    model = LogisticRegression(1.0, method=Output(noise="sphere"), calibration="paper", classes=[0, 1])
    with pytest.raises(PrivacyError, match="calibration='proven'"):
        model.fit(X, Y)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":1,"a":2}', "{", "null", "", '{"epsilon": NaN}'])
def test_texts_that_are_no_protocol_and_no_submission(text):
    with pytest.raises(PrivacyError):
        Protocol.from_json(text)
    with pytest.raises(ValueError, match="submission"):
        Submission.from_json(text)


# --- numbers that are legal and treacherous --------------------------------------------------------------------------
@pytest.mark.parametrize("clip", [3.16e-164, 1e-60, 1e60])
@pytest.mark.parametrize("method", ["output", "objective", "gradient", "auto"])
def test_clips_whose_powers_leave_double_precision_are_refused(clip, method):
    """Squares of 1e-164 are zero, and so would be the norm of a gradient that certifies a minimum."""
    with pytest.raises(ValueError, match="between 1e-50 and 1e\\+50"):
        LogisticRegression(1.0, delta=1e-6, method=method, clip=clip, classes=[0, 1]).fit(1e100 * X, Y)
    model = LinearRegression(1.0, delta=1e-6, method="statistics", clip=clip, target_bound=1.0)
    with pytest.raises(ValueError, match="between 1e-50 and 1e\\+50"):
        model.fit(X, Y)


@pytest.mark.parametrize("bound", [(1.0, np.nextafter(1, 2)), (1e16, 1e16 + 2), (1e308, 1.7e308), (0.0, 5e-324), 1e101])
def test_ranges_of_targets_that_doubles_cannot_scale_are_refused(bound):
    with pytest.raises(ValueError, match="target_bound"):
        LinearRegression(1.0, delta=1e-6, target_bound=bound).fit(X, Y.astype(float))


@pytest.mark.parametrize("bound", [(1.0, 1.0 + 2e-9), (-3.0, 1e9), (1e-90, 3e-90), (-1e100, 1e100)])
def test_scaled_targets_never_leave_their_range(bound, monkeypatch):
    seen = []
    monkeypatch.setattr(LinearRegression, "_train", lambda self, X, t, *rest: seen.append(t) or _stop())
    targets = np.array([*bound, *np.linspace(*bound, 200), -np.finfo(float).max, np.finfo(float).max])
    with pytest.raises(StopIteration):
        LinearRegression(1.0, delta=1e-6, target_bound=bound).fit(np.ones((len(targets), 2)), targets)
    assert np.abs(seen[0]).max() == 1.0


def _stop():
    raise StopIteration


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_numbers_of_numpy_are_prices_of_python(kind):
    """The events of a fit are those of the same numbers in double precision, to the bit."""
    for model, settings in [
        (LogisticRegression, {"method": "output", "regularization": 0.0559, "margin": 0.3}),
        (LogisticRegression, {"method": "objective", "regularization": 0.0559}),
        (LinearSVC, {"method": "output", "smoothing": 0.3, "regularization": 0.03}),
    ]:
        narrow = {name: kind(v) if isinstance(v, float) else v for name, v in settings.items()}
        wide = {name: float(v) if isinstance(v, np.generic) else v for name, v in narrow.items()}
        fits = [model(1.0, delta=1e-6, classes=[0, 1], **each).fit(X, Y) for each in (narrow, wide)]
        assert fits[0].guarantee_.events == fits[1].guarantee_.events
    narrow = GradientPerturbation(Poisson(kind(0.1)), clip=kind(0.3))
    assert plain_numbers(narrow) == GradientPerturbation(Poisson(float(kind(0.1))), clip=float(kind(0.3)))
    assert type(plain_numbers(narrow).sampler.rate) is float
