"""``tacit completion``: a script that lets a shell complete commands, options, choices and the names of files.

It is written from the parsers themselves, and holds all their words: completing a word does not start Python.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from tacit.cli.command import Command

_FILES = {"DATA", "FILE", "MODEL", "PLACE", "SUBMISSIONS"}
"""Names of values that are files, beside those that end in a suffix, as MODEL.json does."""


@dataclass(frozen=True)
class Taken:
    """What a command takes: an option, by its names, or without any a word; its values are words, files, or free."""

    names: tuple[str, ...]
    about: str
    valued: bool
    words: tuple[str, ...]
    is_file: bool


@dataclass(frozen=True)
class Level:
    """A command, by the words that lead to it: the commands below it, what each does, and what it takes."""

    path: str
    below: dict[str, str]
    taken: tuple[Taken, ...]

    @property
    def options(self) -> list[str]:
        """The names of all options."""
        return [name for one in self.taken for name in one.names]


def arguments(parser: Command) -> None:
    """The shell."""
    parser.example = "tacit completion bash > ~/.local/share/bash-completion/completions/tacit"
    parser.epilog = (
        "For zsh, write the script to a file _tacit in a folder of $fpath; for fish, to "
        "~/.config/fish/completions/tacit.fish. Then start a new shell."
    )
    parser.add_argument("shell", choices=("bash", "zsh", "fish"), help="the shell that is to complete")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Print the script."""
    from tacit.cli.main import build_parser

    print(_SHELLS[options.shell](list(levels(build_parser()))))
    return 0


def levels(parser: argparse.ArgumentParser) -> Iterator[Level]:
    """Every command, and what it takes, from the top."""
    if isinstance(parser, Command):
        parser.learn()
    below: dict[str, Any] = {}
    taken = []
    for action in parser._actions:
        if isinstance(action.choices, dict):
            below = action.choices
        elif action.help != argparse.SUPPRESS:
            taken.append(_taken(action))
    yield Level(parser.prog, {name: one.description or "" for name, one in below.items()}, tuple(taken))
    for one in below.values():
        yield from levels(one)


def _taken(action: argparse.Action) -> Taken:
    named = action.metavar if isinstance(action.metavar, str) else ""
    words = tuple(map(str, action.choices or ()))
    if action.dest == "method":
        listed = json.loads((files("tacit.report") / "methods.json").read_text(encoding="utf-8"))
        words = ("auto", *(row[0] for row in listed["methods"]))
    is_file = named in _FILES or re.search(r"\.[a-z]+$", named) is not None
    return Taken(tuple(action.option_strings), action.help or "", action.nargs != 0, words, is_file)


def bash(found: list[Level]) -> str:
    """By one function: it finds the command, then what the word before asks for, else options or files."""
    paths = [f'"{level.path}"' for level in found[1:]]
    valued, after = [], []
    for level in found:
        for one in level.taken:
            if one.names and one.valued and not one.is_file:
                asked = "|".join(f'"{level.path} {name}"' for name in one.names)
                valued.append(f"    {asked}) _tacit_words {shlex.quote(' '.join(one.words))}; return ;;")
        plain = [*level.below, *(word for one in level.taken if not one.names for word in one.words)]
        options, words = (shlex.quote(" ".join(some)) for some in (level.options, plain))
        after.append(f'    "{level.path}") options={options}; words={words} ;;')
    return _BASH.format(paths="|".join(paths), valued="\n".join(valued), after="\n".join(after))


def zsh(found: list[Level]) -> str:
    """By ``_arguments``, one function per command."""
    parts = ["#compdef tacit"]
    for level in found:
        specs = []
        for one in level.taken:
            kind = f":({' '.join(one.words)})" if one.words else ":_files" if one.is_file else ": "
            about = re.sub(r"([\[\]:\\])", r"\\\1", one.about)
            value = f":value{kind}" if one.valued else ""
            specs += [shlex.quote(f"*{name}[{about}]{value}") for name in one.names] or [shlex.quote(f"*:value{kind}")]
        if level.below:
            words = " ".join(shlex.quote(f"{name}:{about}".replace("`", "")) for name, about in level.below.items())
            specs += ["'1: :->command'", "'*:: :->rest'"]
            calls = "\n".join(f"        {name}) _{_name(level.path)}_{name} ;;" for name in level.below)
            parts.append(_ZSH_BELOW.format(name=_name(level.path), specs=" ".join(specs), words=words, calls=calls))
        else:
            parts.append(f"_{_name(level.path)}() {{ _arguments -s {' '.join(specs)} }}")
    return "\n".join([*parts, '_tacit "$@"'])


def fish(found: list[Level]) -> str:
    """By one line for each word that may follow, with the words before it as the condition."""
    lines = ["complete -c tacit -f"]
    for level in found:
        seen = [f"__fish_seen_subcommand_from {word}" for word in level.path.split()[1:]]
        if level.below:
            seen.append(f"not __fish_seen_subcommand_from {' '.join(level.below)}")
        when = f"complete -c tacit -n {shlex.quote('; and '.join(seen) or 'true')}"
        lines += [f"{when} -a {name} -d {shlex.quote(about)}" for name, about in level.below.items()]
        for one in level.taken:
            values = f" -a {shlex.quote(' '.join(one.words))}" if one.words else " -F" if one.is_file else ""
            asks = "" if not one.valued else f" -r{values}" if one.is_file else f" -x{values}"
            about = f" -d {shlex.quote(one.about)}"
            if not one.names:
                lines += [f"{when}{values}"] if values else []
                continue
            names = "".join(f" -l {name[2:]}" if name.startswith("--") else f" -s {name[1:]}" for name in one.names)
            lines.append(f"{when}{names}{asks}{about}")
    return "\n".join(lines)


def _name(path: str) -> str:
    return path.replace(" ", "_")


_SHELLS = {"bash": bash, "zsh": zsh, "fish": fish}
_BASH = """\
_tacit_words() {{  # the words that begin as the one under way does, and no files
    compopt +o default 2>/dev/null
    COMPREPLY=($(compgen -W "$1" -- "$word"))
}}
_tacit() {{
    local word="${{COMP_WORDS[COMP_CWORD]}}" last="${{COMP_WORDS[COMP_CWORD-1]}}" at=tacit place options words
    COMPREPLY=()
    for ((place = 1; place < COMP_CWORD; place++)); do
        case "$at ${{COMP_WORDS[place]}}" in
        {paths}) at="$at ${{COMP_WORDS[place]}}" ;;
        esac
    done
    case "$at $last" in
{valued}
    esac
    case "$at" in
{after}
    esac
    if [[ $word == -* ]]; then
        _tacit_words "$options"
    elif [[ -n $words ]]; then
        _tacit_words "$words"
    fi
}}
complete -o default -F _tacit tacit"""
_ZSH_BELOW = """\
_{name}() {{
    local state line words_of=({words})
    _arguments -C {specs}
    case $state in
    command) _describe command words_of ;;
    rest)
        case $line[1] in
{calls}
        esac ;;
    esac
}}"""
