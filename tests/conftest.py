"""What all tests share: reproducible data, one thread, and the data sets that lie beside the checkout.

Tests of data sets use the folder that TACIT_DATA names; without it, ``../shared/data`` beside the checkout, if that is
there. Sets that are in neither are skipped, and the test says so.
"""

import gc
import os
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TACIT_OFFLINE", "1")  # data sets that are not at hand are skipped, not fetched

import numpy as np
import pytest

BESIDE = Path(__file__).resolve().parents[2] / "shared" / "data"
if BESIDE.is_dir():
    os.environ.setdefault("TACIT_DATA", str(BESIDE))


@pytest.hookimpl(wrapper=True)
def pytest_collection(session):
    """Ten thousand tests and all that they import stay to the end: the garbage collector need not walk over them."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.fixture
def rng():
    return np.random.default_rng(20240607)
