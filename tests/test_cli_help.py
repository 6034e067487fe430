"""Help: quick, with an example that works for every command; scripts of completion do what shells ask of them."""

from __future__ import annotations

import argparse
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from tacit.audit.canaries import CANARIES, NETWORKS
from tacit.cli import tasks
from tacit.cli.completion import levels
from tacit.cli.main import COMMANDS, build_parser, main
from tacit.cli.options import fit as fit_options
from tests.test_imports import loaded_after

SLOW = {"scipy", "sklearn", "pandas", "pyarrow", "torch", "rich", "jinja2"}
PATHS = [level.path for level in levels(build_parser())]
ENDS = "from tacit.cli.main import main\ntry: main({words!r})\nexcept SystemExit: pass"


def parser_of(path: str) -> argparse.ArgumentParser:
    """The parser of a command, or of a command of a command."""
    found = build_parser()
    for word in path.split()[1:]:
        (below,) = [action.choices for action in found._actions if isinstance(action.choices, dict)]
        found = below[word]
        found.learn()
    return found


@pytest.mark.parametrize("path", PATHS)
def test_every_help_ends_with_an_example_that_can_be_parsed(path: str) -> None:
    parser = parser_of(path)
    first, *words = shlex.split(parser.example.partition(" > ")[0])
    assert first == "tacit"
    assert parser.example.startswith(path)
    assert parser.format_help().endswith(f"\n\nexample:\n  {parser.example}\n")
    assert callable(build_parser().parse_args(words).run)


@pytest.mark.parametrize("path", PATHS)
def test_every_option_is_explained_and_usage_is_short(path: str) -> None:
    parser = parser_of(path)
    for action in parser._actions:
        if action.help == argparse.SUPPRESS:
            continue
        assert action.help or isinstance(action.choices, dict), action
        assert action.nargs == 0 or action.metavar or action.choices, f"{action.dest} is shown in capitals only"
    assert len(parser.format_usage().splitlines()) <= 2
    assert all(len(line) < 200 for line in parser.format_help().splitlines())


def test_what_epsilon_is_usual_is_said_where_it_is_asked_for() -> None:
    for path in PATHS:
        for action in parser_of(path)._actions:
            if "--epsilon" in action.option_strings and action.required:
                assert "'Choosing epsilon'" in action.help


def test_help_and_usage_errors_of_every_command_load_nothing_slow() -> None:
    lines = [ENDS.format(words=[*path.split()[1:], word]) for path in PATHS for word in ("--help", "--nonsense")]
    found = loaded_after("\n".join(lines))
    assert not found & SLOW
    assert "tacit.cli.options.fit" in found


def test_methods_loads_nothing_slow_and_calibrates_nothing() -> None:
    found = loaded_after("from tacit.cli.main import main; main(['methods'])")
    assert not found & (SLOW - {"rich"})
    assert "tacit.mechanisms" not in found


def test_a_ledger_loads_no_model(tmp_path: Path) -> None:
    create = ["ledger", "create", str(tmp_path / "l.sqlite"), "--epsilon", "1", "--delta", "1e-6"]
    lines = [f"main({create})", f"main({['ledger', 'show', create[2]]})", f"main({['verify', create[2]]})"]
    found = loaded_after("from tacit.cli.main import main\n" + "\n".join(lines))
    assert not found & {"sklearn", "pandas", "scipy.stats", "scipy.optimize", "pyarrow", "torch"}


def test_options_say_what_the_commands_know() -> None:
    """Options are written without loading what runs; these are the words that both have."""
    assert {*fit_options.TASKS} == {*tasks._CLASSIFIERS, *tasks._REGRESSORS}
    assert {*fit_options.PRECONDITIONS} == {*tasks._PRECONDITIONS}
    help_of_audit = parser_of("tacit audit").format_help()
    assert f"(default: {CANARIES})" in help_of_audit
    assert all(name in help_of_audit for name in NETWORKS)


# --- completion -------------------------------------------------------------------------------------------------------
def script(shell: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    assert main(["completion", shell]) == 0
    place = folder / ("_tacit" if shell == "zsh" else f"tacit.{shell}")
    place.write_text(capsys.readouterr().out, encoding="utf-8")
    return place


def shell_of(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        pytest.skip(f"{name} is not installed")
    return found


WORDS = {
    "": {*COMMANDS},
    "fi": {"fit"},
    "fit --ta": {"--target", "--target-bounds", "--task"},
    "fit --task ": {*fit_options.TASKS},
    "fit data.csv --method whitened-o": {"whitened-objective"},
    "ledger ": {"create", "show", "verify"},
    "ledger create --ro": {"--rows-per-person"},
    "completion ": {"bash", "zsh", "fish"},
    "fit --epsilon ": set(),
}
FILES = ("fit data", "fit --schema data", "ledger show data", "collect data")


def test_bash_completes(tmp_path, capsys) -> None:
    bash, place = shell_of("bash"), script("bash", tmp_path, capsys)
    lines = [f"source {place}"]
    for line in (*WORDS, *FILES):
        words = " ".join(map(shlex.quote, ["tacit", *line.split(" ")]))
        lines.append(f'COMP_WORDS=({words}); COMP_CWORD={line.count(" ") + 1}; _tacit; echo "${{COMPREPLY[*]}}"')
    done = subprocess.run([bash, "-uc", "\n".join(lines)], capture_output=True, text=True, check=True)
    assert done.stderr == ""
    said = done.stdout.splitlines()
    for line, answer in zip(WORDS, said, strict=False):
        assert {*answer.split()} == WORDS[line], line
    assert said[len(WORDS) :] == [""] * len(FILES)  # then bash itself offers files
    assert "complete -o default -F _tacit tacit" in place.read_text(encoding="utf-8")


def test_fish_completes(tmp_path, capsys) -> None:
    fish, place = shell_of("fish"), script("fish", tmp_path, capsys)
    (tmp_path / "data.csv").touch()
    lines = [f"source {place}", f"cd {tmp_path}"]
    for line in (*WORDS, *FILES):
        lines += [f"complete -C 'tacit {line}'", "echo ="]
    done = subprocess.run(
        [fish, "--no-config", "-c", "\n".join(lines)], capture_output=True, text=True, check=True,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )  # fmt: skip
    said = [{line.split("\t")[0] for line in answer.splitlines()} - {""} for answer in done.stdout.split("=\n")]
    assert said[:-1] == [*WORDS.values(), *({"data.csv"} for _ in FILES)]


def test_zsh_reads_the_script(tmp_path, capsys) -> None:
    zsh, place = shell_of("zsh"), script("zsh", tmp_path, capsys)
    subprocess.run([zsh, "-n", place], check=True)
    text = place.read_text(encoding="utf-8")
    assert text.startswith("#compdef tacit\n")
    for path in PATHS:
        assert f"_{path.replace(' ', '_')}() {{" in text
