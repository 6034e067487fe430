"""One HTML file that opens offline: what was measured, and the guarantees of the models it was measured on.

Everything is inline; nothing is fetched. Without matplotlib (the extra ``plot``) the report has tables and no pictures.
"""

from __future__ import annotations

import base64
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from tacit._version import __version__
from tacit.checks import at_most
from tacit.mechanisms.spending import Spent
from tacit.privacy.guarantee import Guarantee
from tacit.report import pictures

MEANING = (
    "A guarantee bounds what anyone who sees a model can learn about one record in its training data. With "
    "(epsilon, delta)-differential privacy, replacing that record by any other changes the probability of whatever the "
    "model shows by a factor of at most e^epsilon (1.1 at epsilon = 0.1, 2.7 at 1, 20 at 3), but for a probability of "
    "delta. It holds whatever else the reader knows, now or later. It does not hide what is true of people in general, "
    "and the epsilons of several models trained on the same records add up."
)

CURATOR = (
    "NOT PRIVATE: this page counts what each record itself spent. These numbers are computed from the records, without "
    "noise. The page is for whoever holds the records; do not publish it or send it on. The model and its guarantee "
    "may be released without it."
)


@dataclass(frozen=True)
class Accounts:
    """How many records spent how much of one fit's budget. NOT PRIVATE: computed from the records, for the curator.

    Edges: no counts where the model was fitted without noise, or was read from a file that does not hold the accounts.
    """

    edges: tuple[float, ...]
    counts: tuple[int, ...]
    median: float
    largest: float
    epsilon: float
    delta: float

    @classmethod
    def of(cls, spent: Spent, guarantee: Guarantee, bins: int = 20) -> Accounts:
        """The histogram of the records' own epsilons, at the delta of the guarantee."""
        own = spent.epsilon(guarantee.delta)
        if not own.size or not np.isfinite(own).all():
            return cls((), (), math.nan, math.nan, guarantee.epsilon, guarantee.delta)
        counts, edges = spent.histogram(guarantee.delta, bins)
        return cls(
            tuple(edges.tolist()), tuple(counts.tolist()), float(np.median(own)), float(own.max()), guarantee.epsilon,
            guarantee.delta,
        )  # fmt: skip


@dataclass(frozen=True)
class Statement:
    """A guarantee in words, and as the JSON that ``tacit verify`` checks."""

    words: str
    certificate: str

    @classmethod
    def of(cls, guarantee: Guarantee) -> Statement:
        """Both forms of a guarantee."""
        return cls(str(guarantee), guarantee.to_json())


@dataclass(frozen=True)
class Row:
    """One method of a study: its scores (one a repetition) and its guarantee at every epsilon.

    Rows of one ``group`` share a picture; a row without a group is in the table only.
    """

    name: str
    group: str
    scores: tuple[tuple[float, ...], ...]
    statements: tuple[Statement, ...]

    @property
    def means(self) -> tuple[float, ...]:
        """Mean score at every epsilon."""
        return tuple(statistics.fmean(scores) for scores in self.scores)

    @property
    def spreads(self) -> tuple[float, ...]:
        """Standard deviation over the repetitions, at every epsilon."""
        return tuple(statistics.pstdev(scores) for scores in self.scores)


@dataclass(frozen=True)
class Study:
    """Methods times epsilons on one data set. ``plain`` is the score without privacy, ``guess`` that without data."""

    title: str
    about: str
    score: str
    epsilons: tuple[float, ...]
    rows: tuple[Row, ...]
    plain: tuple[str, float]
    guess: tuple[str, float]

    def cell(self, row: Row, position: int) -> str:
        """Mean and spread, as text."""
        return f"{row.means[position]:.1f} ± {row.spreads[position]:.1f}"

    def learned(self, mean: float) -> float:
        """How far the score has come from the guess (0) to the model without privacy (1)."""
        span = self.plain[1] - self.guess[1]
        return min(1.0, max(0.0, (mean - self.guess[1]) / span)) if span else 0.0

    def table(self) -> str:
        """The study as a table of plain text."""
        width = max(len(name) for name in (*(row.name for row in self.rows), self.plain[0], self.guess[0]))
        lines = [f"{'':<{width}}" + "".join(f"{f'epsilon = {epsilon:g}':>16}" for epsilon in self.epsilons)]
        for row in self.rows:
            lines.append(
                f"{row.name:<{width}}" + "".join(f"{self.cell(row, i):>16}" for i in range(len(self.epsilons)))
            )
        lines += [f"{name:<{width}}{value:>16.1f}" for name, value in (self.plain, self.guess)]
        return "\n".join(lines)


def write_report(
    path: str | Path,
    title: str,
    *,
    summary: str = "",
    studies: Sequence[Study] = (),
    guarantees: Mapping[str, Guarantee] | None = None,
    accounts: Mapping[str, Accounts] | None = None,
) -> None:
    """Write studies, guarantees and records' own accounts of models (by any name) to one HTML file.

    With accounts the page is not private, and says so at its head.
    """
    drawn = pictures.available()
    parts = [f"<h1>{escape(title)}</h1>", _paragraph(CURATOR, "private") if accounts else ""]
    parts += [*(_paragraph(part, "lead") for part in summary.split("\n\n") if part)]
    parts += [_section(study, number, drawn) for number, study in enumerate(studies)]
    if guarantees:
        parts.append("<section><h2>Guarantees</h2>")
        parts += [_details(name, [Statement.of(guarantee)], shown=True) for name, guarantee in guarantees.items()]
        parts.append("</section>")
    parts += [individual_histogram(name, account) for name, account in (accounts or {}).items()]
    parts += ["<section><h2>What a guarantee means</h2>", _paragraph(MEANING), "</section>"]
    if studies and not drawn:
        parts.append(_paragraph("For pictures of these tables: pip install 'tacit[plot]'.", "note"))
    style = resources.files("tacit").joinpath("report.css").read_text(encoding="utf-8")
    page = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="color-scheme" content="light dark">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in parts if part)
        + f"\n</main>\n<footer>Made by Tacit {escape(__version__)}. Save a certificate and check it with "
        "<code>tacit verify</code>.</footer>\n</body>\n</html>\n"
    )
    Path(path).write_text(page, encoding="utf-8")


def write_model_report(path: str | Path, model: Any, title: str) -> None:
    """Write the guarantees of a fitted model, and with individual accounting the records' own accounts."""
    guarantees = {"The model": model.guarantee_}
    if hasattr(model, "record_guarantee_"):
        guarantees["One record, as it leaves its owner"] = model.record_guarantee_
    spent = getattr(model, "spent_", None)
    accounts = {"Each record's own epsilon": Accounts.of(spent, model.guarantee_)} if spent is not None else {}
    summary = "" if accounts else "Each record's own epsilon is known, and on this page, only with method 'individual'."
    write_report(path, title, summary=summary, guarantees=guarantees, accounts=accounts)


def individual_histogram(name: str, accounts: Accounts) -> str:
    """A section with the histogram of the records' own epsilons. NOT PRIVATE: for the curator only."""
    head = f"<section><h2>{escape(name)} (not private, for the curator only)</h2>"
    if not accounts.counts:
        return f"{head}{_paragraph('No account is held here: the model has no noise, or came from a file.')}</section>"
    total, most = sum(accounts.counts), max(accounts.counts)
    words = (
        f"Of {total:,} records none spent more than {at_most(accounts.largest)} of epsilon = {accounts.epsilon:g}, at "
        f"delta = {accounts.delta:.3g}; half of them spent at most {accounts.median:.4g}. It is a statement after the "
        "fact, about the path that was taken; what is promised to everyone is the guarantee."
    )
    lines = [
        f'<tr><th scope="row">{low:.4f} to {high:.4f}</th>'
        f'<td style="--learned:{count / most:.3f}">{count:,}</td><td>{100 * count / total:.1f} %</td></tr>'
        for low, high, count in zip(accounts.edges[:-1], accounts.edges[1:], accounts.counts, strict=True)
    ]
    table = (
        '<div class="wide"><table class="bars"><thead><tr><th scope="col">own epsilon</th><th scope="col">records</th>'
        f'<th scope="col">share</th></tr></thead><tbody>{"".join(lines)}</tbody></table></div>'
    )
    return f"{head}{_paragraph(words)}{table}</section>"


def _section(study: Study, number: int, drawn: bool) -> str:
    heads = "".join(f'<th scope="col">ε = {epsilon:g}</th>' for epsilon in study.epsilons)
    lines = []
    for row in study.rows:
        cells = "".join(
            f'<td style="--learned:{study.learned(mean):.3f}">{escape(study.cell(row, i))}</td>'
            for i, mean in enumerate(row.means)
        )
        lines.append(f'<tr><th scope="row">{escape(row.name)}</th>{cells}</tr>')
    span = len(study.epsilons)
    for name, value in (study.plain, study.guess):
        lines.append(f'<tr class="level"><th scope="row">{escape(name)}</th><td colspan="{span}">{value:.1f}</td></tr>')
    table = (
        f'<div class="wide"><table><thead><tr><th scope="col">method</th>{heads}</tr></thead>'
        f"<tbody>{''.join(lines)}</tbody></table></div>"
    )
    note = _paragraph(
        f"{study.score}: mean ± standard deviation over repetitions. A cell is shaded as far as its models come from "
        "guessing (empty) to the model without privacy (full).",
        "note",
    )
    statements = "".join(_details(row.name, row.statements) for row in study.rows)
    return (
        f"<section><h2>{escape(study.title)}</h2>{_paragraph(study.about)}{_figures(study, number) if drawn else ''}"
        f"{table}{note}<details><summary>Guarantees of these models</summary>"
        f'<div class="inner">{statements}</div></details></section>'
    )


def _figures(study: Study, number: int) -> str:
    levels = [pictures.Level(*study.plain), pictures.Level(*study.guess)]
    values = [level.value for level in levels]
    values += [
        m + s * sign for row in study.rows for m, s in zip(row.means, row.spreads, strict=True) for sign in (-1, 1)
    ]
    values = [value for value in values if math.isfinite(value)]
    margin = 0.05 * (max(values) - min(values) or 1.0)
    drawn = []
    for group in dict.fromkeys(row.group for row in study.rows if row.group):
        traces = [pictures.Trace(row.name, row.means, row.spreads) for row in study.rows if row.group == group]
        picture = pictures.curves(
            title=f"Noise in the {group}", score=study.score, epsilons=study.epsilons, traces=traces, levels=levels,
            limits=(min(values) - margin, max(values) + margin), key=f"s{number}-{group}",
        )  # fmt: skip
        drawn.append(f"<figure>{picture}</figure>")
    return f'<div class="figures">{"".join(drawn)}</div>'


def _details(name: str, statements: Sequence[Statement], shown: bool = False) -> str:
    parts = []
    for statement in statements:
        data = base64.b64encode(statement.certificate.encode()).decode()
        link = f'<a download="guarantee.json" href="data:application/json;base64,{data}">certificate (JSON)</a>'
        parts.append(f"<pre>{escape(statement.words)}</pre>{link}")
    opened = " open" if shown else ""
    return f"<details{opened}><summary>{escape(name)}</summary>{''.join(parts)}</details>"


def _paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"
