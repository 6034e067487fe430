"""The sensitivity of one Newton release, by brute force over two records."""

import itertools
import math

import numpy as np
import pytest

from tacit.mechanisms.newton_steps import sensitivity


@pytest.mark.parametrize(("clip", "curve"), [(1.0, 0.2), (1.0, 0.75), (1.0, 1.0), (1.0, 1.4), (1.0, 2.0), (0.3, 5.0)])
def test_no_two_records_are_further_apart_and_some_are_as_far(clip, curve):
    """Parts (p u, q u u^T) of two records: |p| <= C, 0 <= q <= A, unit rows at any angle with cosine t.

    The squared distance is p^2 + p'^2 - 2 p p' t + q^2 + q'^2 - 2 q q' t^2, convex in each of p, p', q and q': the
    largest lies at the ends of their ranges.
    """
    moved, t = sensitivity(clip, curve), np.linspace(-1, 1, 20_001)
    furthest = max(
        float((p**2 + r**2 - 2 * p * r * t + q**2 + s**2 - 2 * q * s * t**2).max())
        for p, r, q, s in itertools.product((-clip, clip), (-clip, clip), (0.0, curve), (0.0, curve))
    )
    assert furthest <= moved.replace_one**2 * (1 + 1e-12)
    assert furthest >= moved.replace_one**2 * (1 - 1e-6)
    assert moved.add_remove == pytest.approx(math.hypot(clip, curve))
    # forgetting that rows may be turned, or charging for the two apart, is another number
    if curve >= 1.4 * clip:
        assert 4 * clip**2 + curve**2 < 0.99 * furthest
    assert 4 * clip**2 + 2 * curve**2 > (1 + 1e-3) * furthest
