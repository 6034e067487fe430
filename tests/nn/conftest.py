"""Networks are an extra: without PyTorch these tests are not collected, and test_extra.py says why."""

import importlib.util

import pytest

MISSING = [name for name in ("torch", "opacus", "safetensors") if importlib.util.find_spec(name) is None]
NEEDING = [
    "test_company.py",
    "test_layered.py",
    "test_hook.py",
    "test_classifiers.py",
    "test_network_files.py",
    "test_published_mlp.py",
]
collect_ignore = NEEDING if MISSING else []


@pytest.fixture(autouse=True)
def _one_thread():
    if not MISSING:
        import torch

        torch.set_num_threads(1)
        torch.manual_seed(0)
