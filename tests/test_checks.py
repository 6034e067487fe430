"""Numbers that are none, or too large for double precision, are answered with a sentence before anything is touched."""

import math

import numpy as np
import pytest

from tacit import LogisticRegression, PrivacyError
from tacit.checks import check_count, check_positive, check_real
from tacit.mechanisms import Output
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
