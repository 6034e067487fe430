"""The extra and the core: the core never needs PyTorch, and the extra says what to install."""

import subprocess
import sys

import pytest

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("no module named torch")

sys.meta_path.insert(0, Missing())
import tacit, tacit.cli, tacit.mechanisms
"""
"""A Python without PyTorch, and the core in it."""


@pytest.mark.parametrize("name", ["torch", "opacus", "safetensors"])
def test_the_extra_is_installed(name):
    pytest.importorskip(name, reason=f"the tests of tacit.nn were left out: {name} is missing, install 'tacit[torch]'")


def test_the_core_imports_without_torch_and_the_extra_says_what_to_install():
    subprocess.run([sys.executable, "-c", BLOCKED], check=True)
    found = subprocess.run(
        [sys.executable, "-c", f"{BLOCKED}\nimport tacit.nn"], check=False, capture_output=True, text=True
    )
    assert found.returncode != 0
    assert "pip install 'tacit[torch]'" in found.stderr
