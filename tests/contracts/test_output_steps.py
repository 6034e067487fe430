"""The length of a descent is what is asked for, or it is refused: no silent cut, no silent replacement."""

import math

import numpy as np
import pytest

from tacit.linear.losses import Logistic
from tacit.mechanisms.defaults import MOST_STEPS
from tacit.mechanisms.output import Output
from tacit.types import Budget, Facts

FACTS = Facts(records=500, features=3, outputs=1, radius=1.0, loss=Logistic(), intercept=False)


def steps_of(steps):
    return Output("descent", steps=steps).calibrate(Budget(1.0, 1e-5), FACTS, None, "proven").trainer.count


@pytest.mark.parametrize("steps", [1, 5, np.int64(7), MOST_STEPS])
def test_a_number_of_steps_is_taken_as_given(steps):
    assert steps_of(steps) == steps


def test_the_rule_stays_within_its_limit():
    assert 1 <= steps_of(None) <= MOST_STEPS


@pytest.mark.parametrize("steps", [0, -1, 1.5, True, math.nan, math.inf, "7", MOST_STEPS + 1])
def test_no_other_number_of_steps_is_taken(steps):
    with pytest.raises(ValueError, match="Expected steps"):
        Output("descent", steps=steps)


@pytest.mark.parametrize("trainer", ["minimum", "passes", "passes-strong"])
def test_other_trainers_take_no_steps(trainer):
    with pytest.raises(ValueError, match=f"Trainer '{trainer}' takes no steps="):
        Output(trainer, steps=5)
