"""``python -m papers``: run what is not yet stored, then draw and check everything that was chosen."""

from __future__ import annotations

import argparse
import contextlib
import functools
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from papers.engine import library, workers
from papers.engine.chapters import Chapter, FigureResult, assemble
from papers.engine.figure import Figure, Size
from papers.engine.grid import Cell, grid
from papers.engine.library import Paper
from papers.engine.progress import Forecast, RunDisplay, seconds_in, spent
from papers.engine.report import write_report
from papers.engine.store import Store
from papers.engine.summary import read as read_summary
from papers.engine.under_way import basis, rows_of
from papers.engine.versions import RunVersion
from papers.engine.workers import Outcome
from tacit.checks import check, check_count
from tacit.report import pictures

_ABOUT = (
    "Runs the experiments of the papers, and writes pictures, tables and one report. A run that was stopped goes on "
    "where it was when the same command is given again: each cell of a grid is stored once."
)
_FEW = 3
"""How many failures are shown in full."""


def parser() -> argparse.ArgumentParser:
    """The options."""
    made = argparse.ArgumentParser(prog="python -m papers", description=_ABOUT)
    made.add_argument("paper", nargs="?", metavar="PAPER", help="a paper's folder, such as wang_2020")
    made.add_argument("--figure", action="append", metavar="NAME", help="one figure; may be given more than once")
    made.add_argument("--all", action="store_true", help="all papers")
    made.add_argument("--quick", action="store_true", help="small grids: minutes instead of hours")
    made.add_argument("--runs", type=int, metavar="N", help="repetitions, instead of each figure's own number")
    made.add_argument("--stand-ins", action="store_true", help="make up data sets that are not here, as --quick does")
    made.add_argument("--out", default="reproduced", metavar="DIR", help="default: reproduced")
    made.add_argument("--workers", type=int, metavar="N", help="processes; default: one a core")
    made.add_argument("--package", default="papers", metavar="NAME", help="where the papers are; default: papers")
    made.add_argument("--list", action="store_true", help="show papers, figures and the sizes of their grids")
    made.add_argument("--draw", action="store_true", help="run nothing; draw what is stored, also during a run")
    made.add_argument("--again", action="store_true", help="forget what is stored of the chosen cells, and run them")
    made.add_argument("--adopt", metavar="DIR", help="take over finished cells of a run elsewhere; then as without it")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; 2 when it cannot be run as given, else as in :func:`run`."""
    options = parser().parse_args(arguments)
    try:
        return _list(options.package, options.paper) if options.list else run(options)
    except (OSError, ValueError) as error:
        print(f"papers: {error}", file=sys.stderr)
        return 2


@dataclass(frozen=True)
class Job:
    """One chosen figure with its cells; and the sentence why those that are not stored cannot be run, if so."""

    paper: Paper
    figure: Figure
    cells: tuple[Cell, ...]
    left_out: str = ""


def run(options: argparse.Namespace) -> int:
    """Run it: 0; 1 when a cell or a figure failed or nothing could be run; 130 or 143 when it was stopped."""
    check(options.all != (options.paper is not None), "Name a paper, or give --all. See `python -m papers --list`.")
    check(not (options.all and options.figure), "--figure goes with one paper. Leave out --all, and name the paper.")
    check(not (options.draw and options.again), "--draw runs nothing, so it does not go with --again.")
    check(pictures.available(), "Pictures need matplotlib. In Tacit's source: pip install '.[plot]'")
    size = Size(options.quick, None if options.runs is None else check_count("--runs", options.runs))
    processes = workers.cores() if options.workers is None else check_count("--workers", options.workers)
    names = library.names(options.package) if options.all else [options.paper]
    out = Path(options.out)
    with contextlib.closing(Store(out)) as store:
        stored = set() if options.again else store.keys()
        made_up = options.quick or options.stand_ins
        jobs, absent = _jobs(options.package, names, options.figure, size, stored, options.draw, made_up)
        failed: list[Outcome] = []
        if not options.draw:
            cells = [cell for job in jobs for cell in job.cells if not job.left_out]
            with store.held():
                if options.again:
                    store.forget(cells)
                if options.adopt:
                    print(f"Took over of {options.adopt}: {store.adopt(Path(options.adopt), cells)}.")
                folder = library.folder_of(options.package)
                before = {} if size.quick else seconds_in(rows_of(options.package), cells)
                try:
                    failed = _run(cells, store, processes, RunVersion(folder), before)
                except _Stopped as stopped:
                    return _say_stopped(store, cells, stopped.code)
        chapters = [*_chapters(jobs, failed, store, out), *absent]
    chapters.sort(key=lambda chapter: chapter.name)
    summary = read_summary(options.package)
    write_report(out / "report.html", chapters, size, summary, basis(options.package, names) if summary else "")
    _say_findings(chapters)
    _say_made_up(chapters)
    print(f"\nWrote {out / 'report.html'}; rows are in {out / 'rows.sqlite'} and beside the report.")
    _say_failed(failed, out / "failures.txt")
    results = [result for chapter in chapters for result in chapter.results]
    nothing = not options.all and all(result.left_out for result in results)
    return int(bool(failed) or any(result.troubles for result in results) or nothing)


def _jobs(
    package: str, names: Sequence[str], figures: Sequence[str] | None, size: Size, stored: set[str], draw: bool,
    made_up: bool,
) -> tuple[list[Job], list[Chapter]]:  # fmt: skip
    """What is to be done; and the papers that cannot even be read, because a module is not installed.

    To ``draw``, nothing is fetched. ``made_up`` records may take the place of data sets that cannot be had.
    """
    jobs, absent = [], []
    absence = functools.cache(library.not_stored if draw else library.why_absent)  # what is fetched is here
    for name in names:
        try:
            paper = library.load(package, name)
        except ModuleNotFoundError as error:
            absent.append(Chapter(name, "", left_out=f"Left out: {error}."))
            continue
        for figure in [paper.figure(name) for name in dict.fromkeys(figures)] if figures else paper.figures:
            job = _job(paper, figure, size, stored, absence, made_up)
            jobs.append(replace(job, left_out="") if draw else job)
    return jobs, absent


def _job(
    paper: Paper, figure: Figure, size: Size, stored: set[str], absence: Callable[[str], str], made_up: bool
) -> Job:
    """One figure: a grid that is stored needs no data, and one that has a row of its data gets none that is made up."""
    cells = tuple(grid(paper, figure, size))
    done = sum(cell.key in stored for cell in cells)
    if done == len(cells):
        return Job(paper, figure, cells)
    gone = library.absent_sets(figure, absence) if made_up and not done else []
    if gone:
        cells = tuple(grid(paper, figure, size, gone))
    return Job(paper, figure, cells, library.why_left_out(figure, lambda name: "" if name in gone else absence(name)))


class _Stopped(Exception):
    def __init__(self, code: int) -> None:
        self.code = code


@contextlib.contextmanager
def _stoppable() -> Iterator[None]:
    """Ctrl-C and SIGTERM stop the run: what is finished is stored, the rest is for another time."""

    def stop(number: int, frame: object) -> None:
        raise _Stopped(128 + number)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _run(
    cells: Sequence[Cell], store: Store, processes: int, version: RunVersion, before: Mapping[tuple[str, str], float]
) -> list[Outcome]:
    """Run the cells that are not stored, store each when it ends, and return those that failed.

    ``before`` has the mean seconds of other runs' cells; those of this grid that are stored know better.
    """
    stored = store.keys()
    left = [cell for cell in cells if cell.key not in stored]
    if not left:
        return []
    failed = []
    display = RunDisplay(Forecast(left, processes, {**before, **store.mean_seconds(cells)}), len(cells) - len(left))
    with display, _stoppable(), contextlib.closing(workers.outcomes(left, processes)) as outcomes:
        for outcome in outcomes:
            if outcome.points is None:
                failed.append(outcome)
            else:
                store.add(outcome.cell, outcome.points, version.now(), outcome.seconds)
            display.finished(outcome.cell, outcome.seconds, outcome.points is None)
    return failed


def _chapters(jobs: Sequence[Job], failed: Sequence[Outcome], store: Store, out: Path) -> list[Chapter]:
    results: dict[Paper, list[FigureResult]] = {}
    for job in jobs:
        stored = store.cells(job.cells)
        if job.left_out and not stored:
            result = FigureResult(job.figure, left_out=job.left_out)
        else:
            keys = {cell.key for cell in job.cells}
            mine = [found for found in failed if found.cell.key in keys]
            errors = [f"Failed: {found.cell}: {found.error}" for found in mine[:_FEW]]
            errors += [f"{len(mine) - _FEW} more cells failed."] if len(mine) > _FEW else []
            errors += [job.left_out] if job.left_out else []
            result = assemble(job.paper, job.figure, len(job.cells), stored, errors, out)
        results.setdefault(job.paper, []).append(result)
    return [Chapter(paper.name, paper.citation, tuple(found)) for paper, found in results.items()]


def _say_stopped(store: Store, cells: Sequence[Cell], code: int) -> int:
    stored = store.keys()
    done = sum(cell.key in stored for cell in cells)
    print(f"Stopped: {done} of {len(cells)} cells are stored. The same command goes on from here.", file=sys.stderr)
    return code


def _say_failed(failed: Sequence[Outcome], place: Path) -> None:
    """A sentence for the first few, and everything in a file; without failures there is no such file."""
    place.unlink(missing_ok=True)
    if not failed:
        return
    place.write_text("\n".join(f"{found.cell}\n{found.trace or found.error}\n" for found in failed), encoding="utf-8")
    for found in failed[:_FEW]:
        print(f"Failed: {found.cell}: {found.error}", file=sys.stderr)
    print(f"{len(failed)} cells failed; {place} says where. They are tried again next time.", file=sys.stderr)


def _say_findings(chapters: Sequence[Chapter]) -> None:
    marks = {True: "seen", False: "NOT SEEN", None: "cannot tell"}
    for chapter in chapters:
        if chapter.left_out:
            print(f"\n{chapter.name}\n  {chapter.left_out}")
        for result in chapter.results:
            took = f"{len(result.stored)}/{result.cells} cells, {spent([result.seconds])}"
            print(f"\n{chapter.name} {result.figure.name}: {result.figure.title}\n  {result.left_out or took}")
            if result.stand_ins:
                print(f"  {result.stood_in}")
            for finding in result.findings:
                print(f"  {marks[finding.holds]}: {finding.statement}\n    {finding.seen}")
            for trouble in result.troubles:
                print(f"  {trouble.splitlines()[0]}")


def _say_made_up(chapters: Sequence[Chapter]) -> None:
    names = sorted({name for chapter in chapters for result in chapter.results for name in result.stand_ins})
    if names:
        print(
            f"\nMADE UP, because not here: {', '.join(names)}. Figures that need them were run on synthetic stand-ins, "
            "and show that the code runs, not what the papers' data say. "
            f"`python -m tacit.datasets {' '.join(names)}` fetches the data sets."
        )


def _list(package: str, chosen: str | None) -> int:
    for name in [chosen] if chosen else library.names(package):
        try:
            paper = library.load(package, name)
        except ModuleNotFoundError as error:
            print(f"{name}  {error}\n")
            continue
        print(f"{name}  {paper.citation}")
        wide = max(len(figure.name) for figure in paper.figures)
        for figure in paper.figures:
            quick, whole = (len(grid(paper, figure, Size(quick))) for quick in (True, False))
            print(f"  {figure.name:<{wide}} {whole:>6} cells, {quick:>5} with --quick   {figure.title}")
            if figure.needs or figure.extras:
                print(f"  {'':<{wide}} needs {', '.join((*figure.needs, *figure.extras))}")
        print()
    return 0
