"""The extra and the core: the core never needs PyTorch, and the extra says what to install."""

import os
import subprocess
import sys
import tomllib
from importlib import metadata
from pathlib import Path

import pytest
from packaging.requirements import Requirement

BLOCKED = """
import sys

class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == "torch":
            raise ImportError("no module named torch")

sys.meta_path.insert(0, Missing())
import tacit, tacit.cli.main, tacit.mechanisms
"""
"""A Python without PyTorch, and the core in it."""


def test_the_extra_is_installed_as_the_project_asks():
    """Without it the tests of networks are left out silently; who wants that says so in TACIT_WITHOUT_TORCH."""
    if os.environ.get("TACIT_WITHOUT_TORCH"):
        pytest.skip("TACIT_WITHOUT_TORCH is set: the tests of tacit.nn are left out")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = [Requirement(line) for line in project["project"]["optional-dependencies"]["torch"]]
    assert {"torch", "opacus", "safetensors"} <= {one.name for one in wanted}
    for one in wanted:
        assert metadata.version(one.name) in one.specifier, f"Expected {one}: pip install '.[torch]'"


def test_the_core_imports_without_torch_and_the_extra_says_what_to_install():
    subprocess.run([sys.executable, "-c", BLOCKED], check=True)
    found = subprocess.run(
        [sys.executable, "-c", f"{BLOCKED}\nimport tacit.nn"], check=False, capture_output=True, text=True
    )
    assert found.returncode != 0
    assert "pip install '.[torch]'" in found.stderr


def test_without_torch_a_network_file_says_what_to_install(tmp_path):
    (tmp_path / "net.safetensors").write_bytes((8).to_bytes(8, "little") + b"{" + b" " * 8)
    program = f"{BLOCKED}\nsys.exit(tacit.cli.main.main(['predict', 'net.safetensors', 'people.csv']))"
    found = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True, cwd=tmp_path)
    assert (found.returncode, found.stdout) == (2, "")
    assert found.stderr == "tacit: A network's file needs PyTorch. In Tacit's source: pip install '.[torch]'.\n"
