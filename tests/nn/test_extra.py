"""The extra and the core: the core never needs PyTorch, and the extra says what to install."""

import subprocess
import sys

import pytest

BLOCKED = "import sys; sys.modules['torch'] = None; import tacit, tacit.cli, tacit.mechanisms"


@pytest.mark.parametrize("name", ["torch", "opacus", "safetensors"])
def test_the_extra_is_installed(name):
    pytest.importorskip(name, reason=f"the tests of tacit.nn were left out: {name} is missing, install 'tacit[torch]'")


def test_the_core_imports_without_torch_and_the_extra_says_what_to_install():
    subprocess.run([sys.executable, "-c", BLOCKED], check=True)
    found = subprocess.run(
        [sys.executable, "-c", f"{BLOCKED}; import tacit.nn"], check=False, capture_output=True, text=True
    )
    assert found.returncode != 0
    assert "pip install 'tacit[torch]'" in found.stderr
