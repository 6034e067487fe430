"""``tacit demo``: the demonstration, as a short table on the terminal and as a page."""

from __future__ import annotations

import argparse
import shlex
import shutil
import sys
import time
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from tacit.checks import check
from tacit.cli.console import check_place, print_table, progress
from tacit.reading import write_whole

if TYPE_CHECKING:
    from tacit.report.results import Study


def run(options: argparse.Namespace) -> int:
    """Train everything, print a table, write the page and the made-up patients."""
    from tacit.data.curator import CuratorNote  # not at the top: --help needs none of what these bring
    from tacit.report import demo, pictures
    from tacit.report.demo_page import write_demo_report

    check_place(options)
    table, schema = (Path(options.out).with_name(f"hospital.{kind}") for kind in ("csv", "toml"))
    patients = dict(zip((table, schema), _patients(), strict=True))
    check(Path(options.out) not in patients, f"--out {options.out} is where the table is written. Choose another name.")
    for file, text in patients.items():
        own = not file.exists() or (file.is_file() and file.read_bytes() == text.encode())
        check(
            own,
            f"{file} already exists and was not written by this command. Move it, or name another folder with --out.",
        )
    warnings.simplefilter("ignore", CuratorNote)  # these records are made up: nobody holds them
    started = time.monotonic()
    with progress(options.progress) as say:
        found = demo.run(progress=lambda done, total: say(f"{done} of {total} models trained", done / total))
    for file, text in patients.items():
        write_whole(file, text)
    write_demo_report(options.out, found)
    _print(found.study)
    pictures_too = "" if pictures.available() else " (without pictures: they need the extra 'plot')"
    print(f"\nWrote {options.out}{pictures_too}, {table} and {schema} in {time.monotonic() - started:.0f} seconds.")
    print(f"Open {options.out} in a browser. Then train and check such a model yourself:\n")
    fitting = shlex.join(["fit", str(table), "--schema", str(schema)])
    print(f"  {_called()} {fitting} \\\n      --additive --epsilon 1 --out model.json")
    print(f"  {_called()} verify model.json")
    return 0


def _patients() -> tuple[str, str]:
    """The patients to train on and their schema, as the texts of two files."""
    from tacit.datasets import hospital
    from tacit.report import demo

    table = {name: cells[: demo.TRAINED] for name, cells in hospital.patients(demo.TRAINED + demo.HELD_OUT).items()}
    return hospital.csv_text(table), hospital.SCHEMA_FILE.read_text(encoding="utf-8")


def _print(study: Study) -> None:
    """The scores of the defaults and of what they are compared with, in 80 columns."""
    print(f"Will a patient be back in hospital within a year? {study.trained:,} made-up patients")
    print(f"to train on, {study.held_out:,} others to score. Correct answers in percent:\n")
    levels = (("without privacy", study.plain_curves.accuracy), ("always the more frequent answer", study.guess))
    rows = [
        [f"private, {row.name}", *(f"{mean.accuracy:.1f}" for mean in row.means)]
        for row in (study.curves, study.weights)
    ]
    rows += [[name, *([f"{accuracy:.1f}"] * len(study.epsilons))] for name, accuracy in levels]
    print_table(["epsilon", *(f"{epsilon:g}" for epsilon in study.epsilons)], rows, numbers=True)


def _called() -> str:
    """How to call this program again: by name where the shell finds it, otherwise as it was called."""
    named = Path(sys.argv[0]).stem != "tacit" or shutil.which("tacit") is not None
    return "tacit" if named else sys.argv[0]
