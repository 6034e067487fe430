"""The page about experiments: its example runs, and its commands are known."""

import re
import shlex
from pathlib import Path

import pytest

from papers.engine import command

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reproduce.md").read_text(encoding="utf-8")


def test_the_example_runs(tmp_path, capsys, monkeypatch):
    pytest.importorskip("matplotlib", reason="pictures need the extra 'plot': pip install '.[plot]'")
    folder = tmp_path / "example_of_the_docs" / "name_2026"
    folder.mkdir(parents=True)
    (example,) = re.findall(r"^```python\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)
    for file in (folder.parent / "__init__.py", folder / "__init__.py"):
        file.write_text("")
    (folder / "figures.py").write_text(example)
    monkeypatch.syspath_prepend(tmp_path)
    out = tmp_path / "out"
    assert command.main(["name_2026", "--quick", "--package", folder.parent.name, "--out", str(out)]) == 0
    assert "seen: Errors shrink with epsilon" in capsys.readouterr().out  # seeds are fixed: 0, 1, 2
    assert "Laplace count (proven)" in (out / "name_2026" / "figure1-1.svg").read_text()


def test_the_commands_and_options_are_known():
    lines = re.findall(r"^\$ python -m papers (.*)$", PAGE, re.MULTILINE)
    assert len(lines) >= 4
    for line in lines:
        command.parser().parse_args(shlex.split(line))
    options = re.findall(r"^\| `(--[\w-]+(?: \w+)?)` \|", PAGE, re.MULTILINE)
    assert len(options) >= 6
    for option in options:
        words = option.replace(" N", " 3").replace(" DIR", " somewhere").split()
        command.parser().parse_args(["wang_2020", *words])


def test_what_is_built_is_not_kept_in_the_repository():
    ignored = (ROOT / ".gitignore").read_text().splitlines()
    assert {"reproduced/", "report.html"} <= set(ignored)
    assert "!docs/reproduced/report.html" not in ignored
