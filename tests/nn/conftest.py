"""Networks are an extra: without PyTorch these tests are skipped, and say why."""

import pytest

pytest.importorskip("torch", reason="tacit.nn needs the extra 'torch': pip install 'tacit[torch]'")
pytest.importorskip("opacus", reason="tacit.nn needs the extra 'torch': pip install 'tacit[torch]'")

import torch


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)
    torch.manual_seed(0)
