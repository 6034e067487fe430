"""What all tests share: reproducible data, and one thread."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TACIT_OFFLINE", "1")  # data sets that are not at hand are skipped, not fetched

import numpy as np
import pytest


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)
