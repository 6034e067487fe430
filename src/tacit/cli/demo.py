"""``tacit demo``: the demonstration, as tables on the terminal and as a page."""

from __future__ import annotations

import argparse
import time
import warnings

from tacit.cli.console import add_progress_option, check_place, print_table, progress
from tacit.data.curator import CuratorNote
from tacit.report import demo, pictures
from tacit.report.page import write_report


def arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    add_progress_option(parser)
    parser.add_argument("--out", default="report.html", metavar="REPORT.html")
    parser.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """Train everything, print the tables and write the page."""
    check_place(options)
    warnings.simplefilter("ignore", CuratorNote)  # these records are public: nobody holds them
    started = time.monotonic()
    with progress(options.progress) as say:
        studies = demo.run(progress=lambda done, total: say(f"{done} of {total} methods trained", done / total))
    words = demo.summary(studies)
    for study in studies:
        print(f"\n{study.title}\n{study.about}\n\n{study.score}")
        print_table(*study.cells(), numbers=True)
    print(f"\n{words}\n")
    write_report(options.out, "Private models on public data", summary=words, studies=studies)
    drawn = "with pictures and guarantees" if pictures.available() else "with guarantees (for pictures: tacit[plot])"
    print(f"Wrote {options.out} {drawn}, {time.monotonic() - started:.0f} seconds in all.")
    return 0
