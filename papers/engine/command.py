"""``tacit reproduce``: run what is not yet stored, then draw and check everything that was chosen."""

from __future__ import annotations

import argparse
import contextlib
import functools
import signal
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from papers.engine import papers, runner
from papers.engine.cells import Cell, grid
from papers.engine.figure import Figure, Size
from papers.engine.papers import Source
from papers.engine.progress import Progress, duration
from papers.engine.report import write_report
from papers.engine.results import Chapter, Result, assemble
from papers.engine.runner import Outcome
from papers.engine.store import Store, version_of
from tacit.checks import check, check_count
from tacit.report import pictures

_ABOUT = (
    "Runs the experiments of the papers, and writes pictures, tables and one report. A run that was stopped goes on "
    "where it was when the same command is given again: each cell of a grid is stored once."
)

_FEW = 3
"""How many failures are shown in full."""


def add_parser(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to ``tacit``."""
    part = commands.add_parser("reproduce", help="Run the papers' experiments again.", description=_ABOUT)
    part.add_argument("paper", nargs="?", metavar="PAPER", help="a paper's short name, such as 004")
    part.add_argument("--figure", action="append", metavar="NAME", help="one figure; may be given more than once")
    part.add_argument("--all", action="store_true", help="all papers")
    part.add_argument("--quick", action="store_true", help="small grids: minutes instead of hours")
    part.add_argument("--runs", type=int, metavar="N", help="repetitions, instead of each figure's own number")
    part.add_argument("--out", default="reproduced", metavar="DIR", help="default: reproduced")
    part.add_argument("--workers", type=int, metavar="N", help="processes; default: one a core")
    part.add_argument("--experiments", metavar="DIR", help="default: ./experiments, else those of the checkout in use")
    part.add_argument("--list", action="store_true", help="show papers, figures and the sizes of their grids")
    part.add_argument("--draw", action="store_true", help="run nothing; draw what is stored, also during a run")
    part.add_argument("--again", action="store_true", help="forget what is stored of the chosen cells, and run them")
    part.set_defaults(run=run)


@dataclass(frozen=True)
class Task:
    """One chosen figure with its cells; and the sentence why those that are not stored cannot be run, if so."""

    source: Source
    figure: Figure
    cells: tuple[Cell, ...]
    left_out: str = ""


def run(options: argparse.Namespace) -> int:
    """Run it: 0; 1 when a cell or a figure failed or nothing could be run; 130 or 143 when it was stopped."""
    experiments = papers.find_experiments(options.experiments)
    if options.list:
        return _list(experiments, options.paper)
    check(options.all != (options.paper is not None), "Name a paper, or give --all. See `tacit reproduce --list`.")
    check(not (options.all and options.figure), "--figure goes with one paper. Leave out --all, and name the paper.")
    check(not (options.draw and options.again), "--draw runs nothing, so it does not go with --again.")
    check(pictures.available(), "Pictures need matplotlib. Install it with: pip install 'tacit[plot]'")
    size = Size(options.quick, None if options.runs is None else check_count("--runs", options.runs))
    workers = runner.cores() if options.workers is None else check_count("--workers", options.workers)
    folders = papers.folders(experiments) if options.all else [papers.select(experiments, options.paper)]
    out = Path(options.out)
    out.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(Store(out)) as store:
        stored = set() if options.again else store.keys()
        tasks, absent = _tasks(folders, options.figure, size, None if options.draw else stored)
        failed: list[Outcome] = []
        if not options.draw:
            cells = [cell for task in tasks for cell in task.cells if not task.left_out]
            with store.held():
                if options.again:
                    store.forget(cells)
                try:
                    failed = _run(cells, store, workers, version_of(experiments))
                except _Stopped as stopped:
                    return _say_stopped(store, cells, stopped.code)
        chapters = [*_chapters(tasks, failed, store, out), *absent]
    chapters.sort(key=lambda chapter: chapter.name)
    write_report(out / "report.html", chapters, size)
    _summary(chapters)
    print(f"\nWrote {out / 'report.html'}; rows are in {out / 'rows.sqlite'} and beside the report.")
    _say_failed(failed, out / "failures.txt")
    troubled = any(result.troubles for chapter in chapters for result in chapter.results)
    nothing = not options.all and all(result.left_out for chapter in chapters for result in chapter.results)
    return int(bool(failed) or troubled or nothing)


def _tasks(
    folders: Sequence[Path], names: Sequence[str] | None, size: Size, stored: set[str] | None
) -> tuple[list[Task], list[Chapter]]:
    """What is to be done; and the papers that cannot even be read, because a module is not installed.

    A figure of which all cells are ``stored`` needs no data; None: nothing is run, and none needs any.
    """
    tasks, absent = [], []
    absence = functools.cache(papers.why_absent)  # a set that is fetched or read through is not looked at twice
    for folder in folders:
        try:
            source = papers.load(folder)
        except ModuleNotFoundError as error:
            absent.append(Chapter(papers.short_name(folder), folder.name, left_out=f"Left out: {error}."))
            continue
        chosen = [source.figure(name) for name in dict.fromkeys(names)] if names else source.paper.figures
        for figure in chosen:
            cells = tuple(grid(source, figure, size))
            whole = stored is None or all(cell.key in stored for cell in cells)
            tasks.append(Task(source, figure, cells, "" if whole else papers.why_left_out(source, figure, absence)))
    return tasks, absent


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


def _run(cells: Sequence[Cell], store: Store, workers: int, version: str) -> list[Outcome]:
    """Run the cells that are not stored, store each when it ends, and return those that failed."""
    stored = store.keys()
    left = [cell for cell in cells if cell.key not in stored]
    if not left:
        return []
    failed = []
    progress = Progress(left, len(cells) - len(left), workers, store.mean_seconds())
    progress.show()
    with _stoppable(), contextlib.closing(runner.outcomes(left, workers)) as outcomes:
        try:
            for outcome in outcomes:
                if outcome.points is None:
                    failed.append(outcome)
                else:
                    store.add(outcome.cell, outcome.points, version, outcome.seconds)
                progress.finished(outcome.cell, outcome.seconds, outcome.points is None)
        finally:
            progress.end()
    return failed


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


def _chapters(tasks: Sequence[Task], failed: Sequence[Outcome], store: Store, out: Path) -> list[Chapter]:
    chapters = []
    for source in dict.fromkeys(task.source for task in tasks):
        results: list[Result] = []
        for task in tasks:
            if task.source is not source:
                continue
            rows = store.rows(task.cells)
            if task.left_out and not rows:
                results.append(Result(task.figure, left_out=task.left_out))
                continue
            keys = {cell.key for cell in task.cells}
            mine = [found for found in failed if found.cell.key in keys]
            errors = [f"Failed: {found.cell}: {found.error}" for found in mine[:_FEW]]
            errors += [f"{len(mine) - _FEW} more cells failed."] if len(mine) > _FEW else []
            errors += [task.left_out] if task.left_out else []
            results.append(assemble(source, task.figure, task.cells, rows, errors, out))
        chapters.append(Chapter(source.paper.name, source.paper.citation, tuple(results)))
    return chapters


def _summary(chapters: Sequence[Chapter]) -> None:
    marks = {True: "seen", False: "NOT SEEN", None: "cannot tell"}
    for chapter in chapters:
        if chapter.left_out:
            print(f"\n{chapter.name}\n  {chapter.left_out}")
        for result in chapter.results:
            took = f"{len(result.rows)}/{result.cells} cells, {duration(result.seconds)} on one core"
            print(f"\n{chapter.name} {result.figure.name}: {result.figure.title}")
            print(f"  {result.left_out}" if result.left_out else f"  {took}")
            for finding in result.findings:
                print(f"  {marks[finding.holds]}: {finding.statement}\n    {finding.seen}")
            for trouble in result.troubles:
                print(f"  {trouble.splitlines()[0]}")


def _list(experiments: Path, name: str | None) -> int:
    for folder in [papers.select(experiments, name)] if name else papers.folders(experiments):
        try:
            source = papers.load(folder)
        except ModuleNotFoundError as error:
            print(f"{papers.short_name(folder)}  {error}\n")
            continue
        print(f"{source.paper.name}  {source.paper.citation}")
        wide = max(len(figure.name) for figure in source.paper.figures)
        for figure in source.paper.figures:
            quick, whole = (len(grid(source, figure, Size(quick))) for quick in (True, False))
            print(f"  {figure.name:<{wide}} {whole:>6} cells, {quick:>5} with --quick   {figure.title}")
            if figure.needs or figure.extras:
                print(f"  {'':<{wide}} needs {', '.join((*figure.needs, *figure.extras))}")
        print()
    return 0
