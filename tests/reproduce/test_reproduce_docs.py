"""The page about experiments: its example runs, and its commands are known."""

import re
import shlex
from pathlib import Path

import pytest

from tacit.cli import main as cli

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, capsys):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot': pip install 'tacit[plot]'")
    folder = tmp_path / "experiments" / "005_name"
    folder.mkdir(parents=True)
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    (folder / "figures.py").write_text(example)
    out = tmp_path / "out"
    assert cli.main(["reproduce", "005", "--quick", "--experiments", str(folder.parent), "--out", str(out)]) == 0
    assert "seen: Errors shrink with epsilon" in capsys.readouterr().out  # seeds are fixed: 0, 1, 2
    assert "Laplace count (proven)" in (out / "005" / "figure1-1.svg").read_text()


def test_the_commands_and_options_are_known():
    lines = re.findall(r"^\$ tacit (.*)$", PAGE, re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        cli._parser().parse_args(shlex.split(line))
    parser = cli._parser()
    for option in re.findall(r"^\| `(--[\w-]+(?: \w+)?)` \|", PAGE, re.MULTILINE):
        words = option.replace(" N", " 3").replace(" DIR", " somewhere").split()
        parser.parse_args(["reproduce", "004", *words])


def test_the_output_folder_is_not_kept_in_the_repository():
    assert "reproduced/" in (ROOT / ".gitignore").read_text().splitlines()
