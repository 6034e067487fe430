"""Fuzz the arguments of public names: ``python tests/fuzz/arguments.py --pairs 5000``. Prints what leaked.

Every parameter gets every wrong value, one at a time, and then two wrong values at a time in pairs drawn with a seed.
Exit code 1 where an answer was not ours.
"""

from __future__ import annotations

import argparse
import itertools
import os
import random
import sys
import tempfile
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from fuzz.judging import Verdict, fits, judge
from fuzz.public_names import Subject
from fuzz.right_calls import everything
from fuzz.wrong_values import SETTINGS, tables


@dataclass(frozen=True)
class Case:
    """One parameter of one subject with a wrong value; ``label`` names the value."""

    subject: Subject
    parameter: str
    label: str
    value: object

    @property
    def refusal(self) -> bool:
        """Whether it is likely to be refused, which is quick: a wrong table, or what the signature rules out."""
        return self.parameter in self.subject.data or fits(self.subject.parameters[self.parameter], self.value) is False

    def __str__(self) -> str:
        return f"{self.subject.name}({self.parameter}={self.label})"

    def verdict(self) -> Verdict:
        """What becomes of the call."""
        subject, parameter = self.subject, self.parameter
        return judge(
            lambda: subject.call(**{parameter: self.value}), parameter, self.value, subject.parameters[parameter],
            parameter in subject.data, subject.words.get(parameter, ""),
        )  # fmt: skip


def cases(subject: Subject) -> Iterator[Case]:
    """Every parameter with every wrong value."""
    for parameter in subject.parameters:
        size = subject.data.get(parameter)
        for label, value in (SETTINGS if size is None else tables(*size)).items():
            yield Case(subject, parameter, label, value)


def some(chosen: Iterable[Case], of_refusals: float, of_others: float) -> Iterator[Case]:
    """About these shares of the cases, always the same ones, spread over parameters and values."""
    for case in chosen:
        if zlib.crc32(str(case).encode()) % 1000 < 1000 * (of_refusals if case.refusal else of_others):
            yield case


def leaks(chosen: Iterable[Case]) -> dict[str, list[str]]:
    """What is wrong, and the cases that show it."""
    found: dict[str, list[str]] = {}
    for case in chosen:
        verdict = case.verdict()
        if verdict.fault:
            where = f"{case.subject.name}({case.parameter}): {verdict.fault}: {verdict.sentence[:120]!r}"
            found.setdefault(where, []).append(case.label)
    return found


def pair_leaks(subjects: list[Subject], count: int, seed: int) -> list[str]:
    """Two wrong arguments at a time: whatever is said, it is said on purpose."""
    rng, found = random.Random(seed), []
    wide = [subject for subject in subjects if len(subject.parameters) > 1 and not subject.slow]
    for subject in itertools.islice(iter(lambda: rng.choice(wide), None), count):
        one, other = (rng.choice(list(some_of)) for some_of in _by_two(subject, rng))
        verdict = judge(
            lambda subject=subject, one=one, other=other: subject.call(
                **{one.parameter: one.value, other.parameter: other.value}
            ),
            one.parameter, private=True,
        )  # fmt: skip
        if verdict.fault and verdict.fault != "quotes a cell":
            found.append(f"{one} and {other.parameter}={other.label}: {verdict.fault}: {verdict.sentence[:120]!r}")
    return found


def _by_two(subject: Subject, rng: random.Random) -> Iterator[Iterator[Case]]:
    for parameter in rng.sample(sorted(subject.parameters), 2):
        yield (case for case in cases(subject) if case.parameter == parameter)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=5000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("names", nargs="*", help="only these subjects")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        os.chdir(name)
        subjects = [one for one in everything(Path(name)) if not options.names or one.name in options.names]
        total, bad = 0, 0
        for subject in subjects:
            listed = list(cases(subject))
            found = leaks(listed)
            total, bad = total + len(listed), bad + len(found)
            for fault, labels in found.items():
                print(f"{fault} with {', '.join(labels)}")
        for line in pair_leaks(subjects, options.pairs, options.seed):
            bad += 1
            print(line)
    print(f"{total + options.pairs:,} calls, {bad:,} leaks")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
