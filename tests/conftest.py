"""What all tests share: reproducible data, and one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)
