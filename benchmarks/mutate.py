"""Mutation testing: change the code that prices, clips and adds noise, one place at a time, and see that a test fails.

Run ``python benchmarks/mutate.py`` (all modules), or name some: ``python benchmarks/mutate.py tails minimisers``. Each
module is changed in a copy under ``build/mutate`` and met by its own few tests. A change that no test notices must
stand in ``tests/mutants.toml`` with the reason why it is harmless: a new one fails the run, and so does a score below
the goal. ``--accept WHY`` writes the survivors there, for a person to look through; ``--again`` goes on with a run
that was stopped.

Needs mutmut 3, which needs pytest 8: ``pip install 'mutmut>=3.8' 'pytest<9'`` in an environment of its own.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).parent.parent
WORK = ROOT / "build" / "mutate"
LIST = ROOT / "tests" / "mutants.toml"
GOAL = 0.95
PRICES = ["tests/contracts/test_accountants.py", "tests/contracts/test_composition.py"]
BY_HAND = "tests/contracts/test_prices_by_hand.py"
FAST = "not extreme_sampling and not long_composition and not 1000000 and not softmax_corners and not not_parallel"
TESTS: dict[str, list[str]] = {
    "tails": PRICES[:1],
    "rounding": ["tests/contracts/test_rounding.py"],
    "minimisers": [
        "tests/contracts/test_corners.py",
        *(
            f"{PRICES[0]}::test_{name}"
            for name in ("the_bends_lie_above_the_log_determinant", "log_determinant_is_rounded_up")
        ),
        BY_HAND,
        "tests/input/test_input_exact.py",
    ],
    "shuffle": [BY_HAND, "tests/contracts/test_shuffle.py", "tests/input/test_local.py"],
    "privacy_loss": PRICES[1:],
    "composition": PRICES[1:],
    "accounting": [
        "tests/contracts/test_events.py",
        BY_HAND,
        *PRICES,
        "tests/contracts/test_pure.py",
        "tests/input/test_input_exact.py",
        "tests/contracts/test_shuffle.py",
        "tests/input/test_local.py",
    ],
    "calibrate": ["tests/contracts/test_calibrate.py"],
    "events": ["tests/contracts/test_events.py", "tests/contracts/test_event_values.py"],
    "sources": ["tests/test_normals.py", "tests/contracts/test_sources.py"],
    "normals": ["tests/contracts/test_normals_numbers.py", "tests/test_normals.py"],
    "noise": ["tests/contracts/test_release.py", "tests/test_normals.py"],
    "rows": ["tests/contracts/test_problem.py", "tests/contracts/test_alone.py", "tests/test_canonical.py"],
    "problem": ["tests/contracts/test_problem.py", "tests/contracts/test_certain.py"],
    "moments": ["tests/contracts/test_mechanisms.py", "tests/test_exact.py"],
    "statistics": ["tests/contracts/test_mechanisms.py", "tests/test_exact.py"],
}
"""Which tests must notice a change of which module."""
SELECT: dict[str, str] = {
    "moments": "statistics", "statistics": "statistics", "accounting": FAST,
    "tails": "gaussian_delta or chi_delta or mills or incomplete", "composition": FAST, "privacy_loss": FAST,
}  # fmt: skip
"""Of those tests, the ones that are quick and look at it; all where nothing is said."""


def source(module: str) -> Path:
    """The one file of the package with this name, from the root on."""
    found = [path.relative_to(ROOT) for path in (ROOT / "src" / "tacit").rglob(f"{module}.py")]
    if len(found) != 1:
        raise SystemExit(f"Expected one file named {module}.py in src/tacit, found {len(found)}.")
    return found[0]


def copy(module: str) -> Path:
    """A folder with the project's code and tests, set up to change one module."""
    place = WORK / module
    shutil.rmtree(place, ignore_errors=True)
    place.mkdir(parents=True)
    for part in ("src", "tests"):
        shutil.copytree(ROOT / part, place / part, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", place)
    arguments = ["-x", "-p", "no:cacheprovider", *(["-k", SELECT[module]] if module in SELECT else [])]
    lines = ["[mutmut]", "source_paths=src", f"only_mutate={source(module).as_posix()}", "pytest_add_cli_args="]
    lines += [f"  {argument}" for argument in arguments]
    lines += ["pytest_add_cli_args_test_selection=", *(f"  {test}" for test in TESTS[module])]
    lines += ["track_dependencies=false", "use_git_change_detection=false", "timeout_multiplier=8"]
    (place / "setup.cfg").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return place


def mutmut(place: Path, *words: str) -> str:
    """What mutmut says in that folder, run on one thread a process."""
    threads = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    environment = {**os.environ, **threads}
    environment.pop("PYTHONPATH", None)
    command = [sys.executable, "-m", "mutmut", *words]
    found = subprocess.run(command, cwd=place, env=environment, capture_output=True, text=True, check=False)
    if found.returncode:
        raise SystemExit(f"mutmut {' '.join(words)} failed in {place}:\n{found.stdout[-2000:]}\n{found.stderr[-2000:]}")
    return found.stdout


def survivors(place: Path, module: str) -> tuple[int, list[tuple[str, str, str]]]:
    """How many changes there were, and (function, before, after) of those that no test noticed."""
    meta = json.loads((place / "mutants" / f"{source(module)}.meta").read_text(encoding="utf-8"))
    codes = meta["exit_code_by_key"]
    left = []
    for name, code in codes.items():
        if code in (None, 0, 5, 33):  # all tests passed, or none looked at it, or none was run
            lines = mutmut(place, "show", name).splitlines()
            old = [line[1:].strip() for line in lines if line.startswith("-") and not line.startswith("---")]
            new = [line[1:].strip() for line in lines if line.startswith("+") and not line.startswith("+++")]
            left.append((name.rpartition("__mutmut_")[0].rpartition(".")[2], " ".join(old), " ".join(new)))
    return len(codes), left


def known() -> dict[tuple[str, str, str, str], str]:
    """The harmless survivors and why they are."""
    if not LIST.exists():
        return {}
    rows = tomllib.loads(LIST.read_text(encoding="utf-8")).get("mutant", [])
    return {(row["module"], row["function"], row["before"], row["after"]): row["why"] for row in rows}


def write(rows: dict[tuple[str, str, str, str], str]) -> None:
    """The list, in order."""
    text = ["# Changes that no test notices, and why each is harmless. Checked by benchmarks/mutate.py."]
    for (module, function, before, after), why in sorted(rows.items()):
        fields = {"module": module, "function": function, "before": before, "after": after, "why": why}
        text.append("\n[[mutant]]\n" + "\n".join(f"{key} = {json.dumps(value)}" for key, value in fields.items()))
    LIST.write_text("\n".join(text) + "\n", encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("modules", nargs="*", choices=[[], *TESTS], default=[])
    parser.add_argument("--children", type=int, default=1, help="processes at a time")
    parser.add_argument("--accept", metavar="WHY", help="write the survivors to the list with this reason")
    parser.add_argument("--again", action="store_true", help="go on with the last run instead of starting afresh")
    options = parser.parse_args()
    harmless, failed = known(), False
    for module in options.modules or TESTS:
        place = WORK / module if options.again else copy(module)
        mutmut(place, "run", "--max-children", str(options.children))
        total, left = survivors(place, module)
        new = [row for row in left if (module, *row) not in harmless]
        if options.accept:
            harmless.update({(module, *row): options.accept for row in new})
        score = 1 - len(left) / total if total else 1.0
        print(f"{module}: {total} changes, {score:.1%} noticed, {len(left)} not, of which {len(new)} are new")
        for function, before, after in new:
            print(f"  {function}\n    - {before}\n    + {after}")
        failed |= score < GOAL or (bool(new) and not options.accept)
    if options.accept:
        write(harmless)
    return int(failed)


if __name__ == "__main__":
    raise SystemExit(main())
