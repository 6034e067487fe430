"""Studies and their life: draft, open, closed, training, trained, published. It goes one way."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, delete, insert, select, update

from tacit.checks import check, refuse
from tacit.collector.layout import CONTENTS, INVITATIONS, STUDIES
from tacit.collector.study_shelf import lock_study
from tacit.collector.tokens import fresh_slug
from tacit.protocol import Protocol

State = Literal["draft", "open", "closed", "training", "trained", "published"]
STATES: tuple[State, ...] = ("draft", "open", "closed", "training", "trained", "published")
ADMISSIONS = ("invitation", "open")
LANGUAGES = ("en", "de")
_PARSED: OrderedDict[str, Protocol] = OrderedDict()
_MOST_PARSED = 64
WIDEST = 200
"""Encoded columns of a study: what its pages expect of it takes seconds up to there, minutes beyond."""


@dataclass(frozen=True)
class Study:
    """A collection and what its pages say. ``texts`` by language: title, purpose, about, questions."""

    slug: str
    state: State
    admission: str
    protocol: Protocol
    texts: Mapping[str, Any]
    model: str | None

    def said(self, word: str, language: str = "en") -> str:
        """One of its texts, in this language, else in English, else what there is."""
        texts = (self.texts.get(code, {}).get(word) for code in (language, "en", *LANGUAGES))
        return str(next(filter(None, texts), None) or (self.protocol.purpose if word == "purpose" else "") or "")

    @property
    def title(self) -> str:
        """Its title, or a name where it has none."""
        return self.said("title") or self.protocol.purpose or f"Study {self.slug}"


def create(base: Connection, protocol: Protocol, texts: Mapping[str, Any], admission: str = "invitation") -> str:
    """A new study, as a draft; returns its name."""
    check(admission in ADMISSIONS, f"Expected admission={admission!r} to be one of {', '.join(ADMISSIONS)}.")
    check(protocol.schema is not None, "A study needs a protocol with a schema: its pages are made from it.")
    if protocol.loose:
        refuse(
            f"Expected delta={protocol.delta:g} to be at most one in the cohort, 1/{protocol.numbers.cohort:,}: at a "
            "larger one a guarantee may fail for somebody, and its epsilon says little."
        )
    check(
        protocol.columns <= WIDEST,
        f"This study has {protocol.columns:,} encoded columns; its pages can show at most {WIDEST}.",
    )
    check_texts(texts)
    slug, mark = fresh_slug(), protocol.fingerprint
    if base.execute(select(STUDIES.c.slug).where(STUDIES.c.fingerprint == mark)).first():
        refuse(
            "There is already a study with exactly this protocol. A submission could come to both, and their models "
            "would share its noise. State another purpose, which makes it another protocol."
        )
    row = {"slug": slug, "state": "draft", "admission": admission, "protocol": protocol.to_json(), "fingerprint": mark}
    base.execute(insert(STUDIES).values(**row, texts=json.dumps(texts, ensure_ascii=False)))
    return slug


def check_texts(texts: Any) -> None:
    """Refuse texts that pages cannot show: languages with title, purpose, about and questions."""
    check(isinstance(texts, Mapping) and set(texts) <= set(LANGUAGES), f"Expected texts by language: {LANGUAGES}.")
    for words in texts.values():
        check(isinstance(words, Mapping), "Expected the texts of a language to be a table of entries.")
        plain = {name: words[name] for name in words if name != "questions"}
        known = set(plain) <= {"title", "purpose", "about", "who"} and all(isinstance(v, str) for v in plain.values())
        check(
            known, "Expected title, purpose, about and who of a language to be text, and nothing else beside questions."
        )
        questions = words.get("questions", {})
        check(
            isinstance(questions, Mapping) and all(map(_is_question, questions.values())),
            "Expected questions to be a table: for each column label, help and unit as text, a text for each value.",
        )


def _is_question(entries: Any) -> bool:
    if not isinstance(entries, Mapping) or not set(entries) <= {"label", "help", "unit", "values"}:
        return False
    values = entries.get("values", {})
    texts = [entries[word] for word in entries if word != "values"]
    return isinstance(values, Mapping) and all(isinstance(text, str) for text in [*texts, *values.values()])


def studies(base: Connection, states: Sequence[str] = STATES) -> list[Study]:
    """All studies in these states."""
    rows = base.execute(select(STUDIES).where(STUDIES.c.state.in_(states)).order_by(STUDIES.c.slug))
    return [_study(row) for row in rows]


def study(base: Connection, slug: str) -> Study | None:
    """The study of this name."""
    row = base.execute(select(STUDIES).where(STUDIES.c.slug == slug)).first()
    return None if row is None else _study(row)


def _study(row: Any) -> Study:
    return Study(row.slug, row.state, row.admission, _parsed(row.protocol), json.loads(row.texts), row.model)


def _parsed(text: str) -> Protocol:
    """The protocol; reading one checks its price again, which takes a while, so the last ones are remembered."""
    if text not in _PARSED:
        _PARSED[text] = Protocol.from_json(text)
        while len(_PARSED) > _MOST_PARSED:
            _PARSED.popitem(last=False)
    return _PARSED[text]


def move(base: Connection, slug: str, before: Sequence[State], after: State, model: str | None = None) -> None:
    """From one of these states to the next, in the caller's transaction; any other state raises."""
    state = lock_study(base, slug)
    if state not in before:
        refuse(f"This study is {state}; that is possible only while it is {' or '.join(before)}.")
    kept = {} if model is None else {"model": model}
    base.execute(update(STUDIES).where(STUDIES.c.slug == slug).values(state=after, **kept))


def shuffle(base: Connection, slug: str) -> None:
    """Write hashes of contents and of codes anew, in their own order.

    Then nothing in the tables, also not where or by which transaction a row was written, tells which code was used for
    which submission.
    """
    for table in (CONTENTS, INVITATIONS):
        rows = [dict(row._mapping) for row in base.execute(select(table).where(table.c.study == slug))]
        key = "content" if table is CONTENTS else "code"
        base.execute(delete(table).where(table.c.study == slug))
        if rows:
            base.execute(insert(table), sorted(rows, key=lambda row: bytes(row[key])))
