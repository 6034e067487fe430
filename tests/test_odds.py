"""What the pages say about an attacker's odds is what the promise says, and the picture is the one that is drawn."""

import math
import re

import numpy as np
import pytest
from scipy.special import ndtr, ndtri

from docs import odds
from tacit.privacy.accounting import gaussian_mu

ROW = re.compile(r"^\| ([\d.]+) \|" + r" ([\d.]+)% \|" * 4 + "$", re.MULTILINE)
SMALL = np.logspace(-12, math.log10(0.5), 4001)
SHARES = np.concatenate([SMALL, 1 - SMALL])


def test_the_table_of_what_each_epsilon_allows():
    page = odds.PICTURE.parent.parent / "choosing-epsilon.md"
    rows = [[float(cell) for cell in row] for row in ROW.findall(page.read_text(encoding="utf-8"))]
    assert [row[0] for row in rows] == [0.1, 0.5, 1, 2, 3, 5, 8, 10, 20]
    for epsilon, *shown in rows:
        values = odds.guess(epsilon, 1e-6), odds.belief(0.01, epsilon), odds.found(0.01, epsilon, 1e-6)
        assert shown == [round(100 * value, 2) for value in (*values, odds.gaussian_guess(epsilon, 1e-6))]


def test_the_picture_is_current():
    assert odds.PICTURE.read_text(encoding="utf-8") == odds.drawing()


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 5.0])
def test_randomised_response_reaches_the_bounds(epsilon):
    """It tells the truth with probability e^epsilon/(1 + e^epsilon): what it finds, at its false alarms, is allowed."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    assert odds.guess(epsilon, 0.0) == pytest.approx(truth)
    assert odds.belief(0.5, epsilon) == pytest.approx(truth)
    assert odds.found(1 - truth, epsilon, 0.0) == pytest.approx(truth)


@pytest.mark.parametrize(("epsilon", "delta"), [(0.5, 1e-3), (1.0, 1e-6), (8.0, 1e-6)])
def test_no_test_of_a_gaussian_release_finds_more_than_its_price_allows(epsilon, delta):
    found = ndtr(ndtri(SHARES) + gaussian_mu(epsilon, delta))
    allowed = np.array([odds.found(share, epsilon, delta) for share in SHARES])
    assert (found <= allowed + 1e-12).all()
    assert (found / allowed)[SHARES < 0.1].max() > 0.999  # nor is the price too high
    assert odds.gaussian_guess(epsilon, delta) == pytest.approx(((found + 1 - SHARES) / 2).max(), abs=1e-6)
    assert odds.gaussian_guess(epsilon, delta) < odds.guess(epsilon, delta)
