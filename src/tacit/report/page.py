"""One HTML file that opens offline: what was measured, and the guarantees of the models it was measured on.

The page is in ``templates``, where everything that is put in is escaped but the pictures, which are made here. Without
matplotlib (the extra ``plot``) the report has tables and no pictures.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit._version import __version__
from tacit.estimators.additive import Additive
from tacit.privacy.guarantee import Guarantee
from tacit.reading import write_whole
from tacit.report import pictures
from tacit.report.effects import BAND, CARE, MOST_PICTURES, NO_BAND, SPREAD, Effects
from tacit.report.results import Accounts, Statement, Study

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

EFFECTS = {"band": BAND, "no_band": NO_BAND, "care": CARE, "spread": SPREAD}


def write_report(
    path: str | Path,
    title: str,
    *,
    summary: str = "",
    studies: Sequence[Study] = (),
    guarantees: Mapping[str, Guarantee] | None = None,
    accounts: Mapping[str, Accounts] | None = None,
    effects: Sequence[Effects] = (),
) -> None:
    """Write studies, curves, guarantees and records' own accounts of models (by any name) to one HTML file.

    With accounts the page is not private, and says so at its head.
    """
    drawn = pictures.available()
    page = (
        _templates()
        .get_template("page.html")
        .render(
            title=title,
            curator=CURATOR,
            meaning=MEANING,
            version=__version__,
            drawn=drawn,
            summary=[part for part in summary.split("\n\n") if part],
            studies=[(study, _figures(study, number) if drawn else []) for number, study in enumerate(studies)],
            effects=[(part, _curves(part, number) if drawn else []) for number, part in enumerate(effects)],
            words=EFFECTS,
            guarantees={name: Statement.of(guarantee) for name, guarantee in (guarantees or {}).items()},
            accounts=accounts or {},
        )
    )
    write_whole(path, page)


def write_model_report(path: str | Path, model: Any, title: str) -> None:
    """Write a fitted model's guarantees, an additive one's curves, and records' own accounts where there are any."""
    guarantees = {"The model": model.guarantee_}
    if hasattr(model, "record_guarantee_"):
        guarantees["One record, as it leaves its owner"] = model.record_guarantee_
    spent = vars(model).get("spent_")
    accounts = {"Each record's own epsilon": Accounts.of(spent, model.guarantee_)} if spent is not None else {}
    effects = Effects.of(model) if isinstance(model, Additive) else ()
    unknown = "Each record's own epsilon is known, and on this page, only with method 'individual'."
    summary = "" if accounts or effects else unknown
    write_report(path, title, summary=summary, guarantees=guarantees, accounts=accounts, effects=effects)


def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("tacit.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip


def _figures(study: Study, number: int) -> list[str]:
    """A picture for every group of methods: an SVG element, with the names in it escaped."""
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
        drawn.append(
            pictures.curves(
                title=f"Noise in the {group}", score=study.score, epsilons=study.epsilons, traces=traces,
                levels=levels, limits=(min(values) - margin, max(values) + margin), key=f"s{number}-{group}",
            )
        )  # fmt: skip
    return drawn


def _curves(part: Effects, number: int) -> list[tuple[str, str]]:
    """Names and pictures of the terms that matter most."""
    shown = enumerate(part.effects[:MOST_PICTURES])
    return [(effect.term.name, pictures.curve(effect.term, part.unit, f"t{number}-{place}")) for place, effect in shown]
