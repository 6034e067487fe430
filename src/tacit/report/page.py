"""HTML files that open offline: what all pages share, and the page of a fitted model.

The pages are in ``templates``, where everything that is put in is escaped except the pictures, which are made here.
Without matplotlib (the extra ``plot``) they have tables and no pictures.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from tacit._version import __version__
from tacit.checks import at_most
from tacit.estimators.additive import Additive
from tacit.privacy.together import Together
from tacit.readable import plain
from tacit.reading import write_whole
from tacit.report import pictures
from tacit.report.effects import BAND, CARE, FROM_TO, MOST_PICTURES, NO_BAND, NOISE, SPREAD, Effects
from tacit.report.linear_effects import NOISY, Coefficients
from tacit.report.meaning import Meaning
from tacit.report.results import Accounts, Shape
from tacit.schema import Schema

CARE_LINEAR = (
    "Columns that carry the same information share one effect: read them together. This is what the model does, not "
    "what causes what."
)
CURATOR = (
    "NOT PRIVATE: this page counts what each record itself spent. These numbers are computed from the records, without "
    "noise. This page is only for the person who holds the records; do not publish it or pass it on. The model and its "
    "guarantee may be released without it."
)
_WHOLE = (
    "This model depends on releases before it, and the price of all of them together is epsilon = {epsilon} at delta = "
    "{delta}. What stands below is the part of the model alone."
)
_WORDS = {"band": BAND, "no_band": NO_BAND, "care": CARE, "spread": SPREAD, "curator": CURATOR}
_WORDS |= {"noise": NOISE, "from_to": FROM_TO, "noisy": NOISY, "care_linear": CARE_LINEAR}


def write_model_report(
    path: str | Path, model: Any, title: str, whole: Together | None = None, schema: Schema | None = None
) -> None:
    """Write a fitted model's guarantees, its curves or coefficients, and records' own accounts where there are any.

    With accounts the page is not private, and says so at its head. ``whole``: the price of the model together with what
    it was trained behind, which then comes first. ``schema``: the one that made a linear model's rows.
    """
    meaning = Meaning.of(model.guarantee_)
    if whole is not None:
        total = _WHOLE.format(epsilon=at_most(whole.epsilon, 6), delta=at_most(whole.delta, 3))
        meaning = replace(meaning, first=(total, *meaning.first))
    meanings = {"What it promises": meaning}
    if hasattr(model, "record_guarantee_"):
        meanings["What it promises for one record, as it leaves its owner"] = Meaning.of(model.record_guarantee_)
    spent = vars(model).get("spent_")
    accounts = {} if spent is None else {"Each record's own epsilon": Accounts.of(spent, model.guarantee_)}
    curves = isinstance(model, Additive)
    parts, coefficients = (Effects.of(model), ()) if curves else ((), Coefficients.of(model, schema))
    drawn = [(part, drawn_terms(part, f"t{number}")) for number, part in enumerate(parts)]
    content = {"meanings": meanings, "accounts": accounts, "effects": drawn, "coefficients": coefficients}
    write_whole(path, rendered("model.html", title=title, **content))


def rendered(template: str, **content: Any) -> str:
    """A page from its template."""
    environment = Environment(
        loader=PackageLoader("tacit.report"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    environment.filters["plain"] = plain
    page = environment.get_template(template)
    return page.render(**content, version=__version__, drawn=pictures.available(), words=_WORDS)


def drawn_terms(part: Effects, key: str, shapes: Mapping[str, Shape] | None = None) -> list[tuple[str, str]]:
    """Names and pictures of the terms that matter most, beside their true shapes where these are known."""
    if not pictures.available():
        return []
    return [
        (
            effect.term.name,
            pictures.curve(effect.term, part.unit, f"{key}-{place}", (shapes or {}).get(effect.term.name)),
        )
        for place, effect in enumerate(part.effects[:MOST_PICTURES])
    ]
