"""The parser of one command: it learns its options when it is first used, and its help ends with an example."""

from __future__ import annotations

import argparse
import pkgutil
from typing import Any


class Later:
    """A function that is loaded when it is called: options name what runs, and do not wait for it."""

    def __init__(self, place: str) -> None:
        self.place = place

    def __call__(self, options: argparse.Namespace) -> int:
        """Load it, and run it."""
        code: int = pkgutil.resolve_name(self.place)(options)
        return code


class Command(argparse.ArgumentParser):
    """A command, or a command of a command.

    ``place`` names the function that adds the options, as ``module:function``; its module is loaded when the command
    is parsed or shown, so that no other command waits for it. ``example`` is one line that a user could type.
    """

    def __init__(self, *, place: str = "", example: str = "", **settings: Any) -> None:
        super().__init__(**settings)
        self.place, self.example = place, example

    def learn(self) -> None:
        """Add the options, once."""
        place, self.place = self.place, ""
        if place:
            pkgutil.resolve_name(place)(self)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Parse, or show the help, after the options were added."""
        self.learn()
        return super().parse_known_args(args, namespace)

    def format_usage(self) -> str:
        """What must be given, and that there is more: the help lists it."""
        self.usage = self.usage or self._brief()
        return super().format_usage()

    def _brief(self) -> str:
        needed = [action for action in self._actions if action.required or not action.option_strings]
        formatter = self.formatter_class(prog=self.prog)
        formatter.add_usage(None, needed, [])
        more = " [options]" if len(self._actions) - 1 > len(needed) else ""
        return formatter.format_help().removeprefix("usage: ").rstrip() + more

    def format_help(self) -> str:
        """The help of argparse, then the example."""
        self.usage = self.usage or self._brief()
        shown = f"\nexample:\n  {self.example}\n" if self.example else ""
        return super().format_help() + shown
