"""One HTML file over all figures that opens offline: pictures, what the paper claims, and whether we see it."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from html import escape
from importlib import resources
from pathlib import Path

from papers.engine.drawing import LOOKS, WORDS
from papers.engine.figure import Finding, Panel, Size, Table
from papers.engine.progress import duration
from papers.engine.results import Chapter, Result, settings_of
from tacit._version import __version__

_MARKS = {True: ("✓", "seen", "yes"), False: ("✗", "not seen", "no"), None: ("?", "cannot tell", "open")}
_ABOUT = (
    "Every number here was measured by the code beside the figures and is drawn from stored rows; none is typed in. "
    "A band is a 95% confidence interval of a mean over repetitions (Student's t), each repetition with its own seed; "
    "it may leave the frame. Accuracy and gaps to the optimum are measured on data that are public: an evaluation of "
    "an experiment is not private, and no guarantee covers it."
)


def write_report(path: Path, chapters: Sequence[Chapter], size: Size) -> None:
    """Write the report; files that it links to lie beside it."""
    style = "".join(
        resources.files("tacit").joinpath(name).read_text(encoding="utf-8")
        for name in ("report.css", "reproduce/report.css")
    )
    title = "The papers' figures, measured again"
    parts = [f"<h1>{title}</h1>", f'<p class="lead">{escape(_lead(chapters, size))}</p>', f"<p>{escape(_ABOUT)}</p>"]
    parts += [_statuses(), _contents(chapters)]
    for chapter in chapters:
        parts.append(f'<section id="{_id(chapter.name)}"><h2>Paper {escape(chapter.name)}</h2>')
        parts.append(f'<p class="lead">{escape(chapter.citation)}</p>')
        parts.append(f'<p class="trouble">{escape(chapter.left_out)}</p>' if chapter.left_out else "")
        parts += [_figure(chapter, result) for result in chapter.results]
        parts.append("</section>")
    path.write_text(
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n<link rel="icon" href="data:,">\n'
        f"<title>{title}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n</main>\n<footer>Made by Tacit {escape(__version__)} on {time.strftime('%d %B %Y')}.</footer>\n"
        "</body>\n</html>\n",
        encoding="utf-8",
    )


def _lead(chapters: Sequence[Chapter], size: Size) -> str:
    results = [result for chapter in chapters for result in chapter.results]
    findings = [finding for result in results for finding in result.findings]
    counts = {mark: sum(finding.holds is mark for finding in findings) for mark in _MARKS}
    rows = sum(len(result.rows) for result in results)
    how = "Quick size: fewer repetitions and points than the papers'." if size.quick else "The papers' size."
    how += f" {size.runs} repetitions, as asked for." if size.runs else ""
    drawn = sum(bool(result.parts) for result in results)
    return (
        f"{drawn} of {len(results)} figures drawn, from {rows:,} cells: "
        f"{duration(sum(result.seconds for result in results))} of computing on one core. "
        f"Of {len(findings)} statements, {counts[True]} are seen, {counts[False]} are not, and {counts[None]} cannot "
        f"be told. {how}"
    )


def _statuses() -> str:
    rows = "".join(f"<li>{_sample(status)} {escape(WORDS[status])}: {LOOKS[status]}</li>" for status in WORDS)
    return f'<p>How a line is drawn says what is promised:</p><ul class="statuses">{rows}</ul>'


def _contents(chapters: Sequence[Chapter]) -> str:
    items = []
    for chapter in chapters:
        inner = "".join(
            f'<li><a href="#{_id(chapter.name, result.figure.name)}">{escape(result.figure.title)}</a> '
            f'<code class="name">{escape(result.figure.name)}</code> <span class="tally">{_tally(result)}</span></li>'
            for result in chapter.results
        )
        name = f'<a href="#{_id(chapter.name)}">{escape(chapter.name)}</a> {escape(chapter.citation)}'
        items.append(f"<li>{name}<ul>{inner}</ul></li>" if inner else f"<li>{name}: left out</li>")
    return f'<nav aria-label="Figures"><ul>{"".join(items)}</ul></nav>'


def _tally(result: Result) -> str:
    if result.left_out or not result.rows:
        return "left out" if result.left_out else "not run yet"
    found = [
        f"{sum(finding.holds is holds for finding in result.findings)} {word}" for holds, (_, word, _) in _MARKS.items()
    ]
    words = ", ".join(entry for entry in found if not entry.startswith("0 ")) or "no statement checked"
    return words + ("; incomplete" if result.troubles else "")


def _figure(chapter: Chapter, result: Result) -> str:
    figure = result.figure
    parts = [
        f'<article class="result" id="{_id(chapter.name, figure.name)}">'
        f'<h3>{escape(figure.title)} <code class="name">{escape(chapter.name)} {escape(figure.name)}</code></h3>',
        f"<h4>The paper claims</h4><p>{escape(figure.claim)}</p>",
    ]
    if result.left_out:
        return "".join((*parts, f'<p class="trouble">{escape(result.left_out)}</p></article>'))
    if result.findings:
        items = "".join(_finding(finding) for finding in result.findings)
        parts.append(f'<h4>What we see</h4><ul class="findings">{items}</ul>')
    parts += [f'<p class="trouble">{escape(trouble)}</p>' for trouble in result.troubles]
    drawn = "".join(f'<figure class="panel">{picture.inline}</figure>' for picture in result.pictures)
    parts.append(f'<div class="figures">{drawn}</div>' if drawn else "")
    tables = "".join(_table(part) for part in result.parts if isinstance(part, Table))
    parts.append(f'<div class="tables">{tables}</div>' if tables else "")
    parts += [_guarantees(result), _settings(result), _numbers(result), "</article>"]
    return "".join(parts)


def _finding(finding: Finding) -> str:
    mark, word, kind = _MARKS[finding.holds]
    return (
        f'<li class="{kind}"><strong><span aria-hidden="true">{mark}</span> {word}</strong> '
        f"{escape(finding.statement)}<br><small>{escape(finding.seen)}</small></li>"
    )


def _table(table: Table) -> str:
    words = [sum(map(_is_word, column)) > len(column) / 2 for column in zip(*table.rows, strict=True)]
    words += [False] * (len(table.head) - len(words))
    kinds = [' class="words"' if word else "" for word in words]
    head = "".join(f'<th scope="col"{kind}>{escape(cell)}</th>' for cell, kind in zip(table.head, kinds, strict=True))
    lines = []
    for row in table.rows:
        rest = "".join(f"<td{kind}>{escape(cell)}</td>" for cell, kind in zip(row[1:], kinds[1:], strict=True))
        lines.append(f'<tr><th scope="row">{escape(row[0])}</th>{rest}</tr>')
    title = f"<caption>{escape(table.title)}</caption>" if table.title else ""
    return (
        f'<div class="wide"><table class="drawn">{title}<thead><tr>{head}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )


def _is_word(cell: str) -> bool:
    return cell[:1].isalpha()


def _guarantees(result: Result) -> str:
    """The lines of all panels by the status of their guarantee; for tables, the points' own words."""
    pairs = {(line.status, line.label): None for part in result.parts if isinstance(part, Panel) for line in part.lines}
    if not pairs:
        points = [point for row in result.rows for point in row.merged()]
        pairs = {
            (point["status"], str(point.get("method", "all"))): None
            for point in points
            if point.get("status", "") in WORDS
        }
    items = []
    for status in WORDS:
        labels = [label for found, label in pairs if found == status]
        if labels:
            items.append(f"<li>{_sample(status)} {escape(WORDS[status])}: {escape('; '.join(labels))}</li>")
    return f'<h4>Guarantee of each curve</h4><ul class="statuses">{"".join(items)}</ul>' if items else ""


def _sample(status: str | None) -> str:
    return f'<i class="sample {status or "none"}" aria-hidden="true"></i>'


def _settings(result: Result) -> str:
    about = f"<h4>Settings</h4><p>{escape(result.figure.about)}</p>"
    if not result.rows:
        return about
    lines = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td>{escape(", ".join(values))}</td></tr>'
        for name, values in settings_of(result.rows).items()
    )
    links = ", ".join(f'<a href="{escape(file)}">{escape(Path(file).name)}</a>' for file in result.files)
    made = (
        f"{len(result.rows):,} of {result.cells:,} cells, {duration(result.seconds)} on one core, "
        f"version {', '.join(result.versions)}. Files beside this report:"
    )
    return (
        f'{about}<p class="files">{escape(made)} {links}</p><details><summary>All settings of the grid</summary>'
        f'<div class="wide"><table class="settings"><tbody>{lines}</tbody></table></div></details>'
    )


def _numbers(result: Result) -> str:
    """The drawn lines as numbers, for readers without the files."""
    lines = []
    for part in result.parts:
        if isinstance(part, Panel):
            for line in part.lines:
                values = ", ".join(
                    f"{x:g}: {mean:.4g}" + (f" ± {high - mean:.2g}" if math.isfinite(high) else "")
                    for x, mean, high in zip(line.x, line.mean, line.high, strict=True)
                )
                named = f"{part.title}: {line.label}" if part.title else line.label
                lines.append(f'<tr><th scope="row">{escape(named)}</th><td>{escape(values)}</td></tr>')
    if not lines:
        return ""
    return (
        "<details><summary>The curves as numbers</summary>"
        f'<div class="wide"><table class="settings"><tbody>{"".join(lines)}</tbody></table></div></details>'
    )


def _id(*names: str) -> str:
    return "-".join("".join(letter if letter.isalnum() else "-" for letter in name) for name in ("paper", *names))
