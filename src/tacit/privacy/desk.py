"""The statement for the release desk: what a release promises and what not, in words, as JSON and as a page.

It holds nothing that the guarantees do not: every sentence is made of their fields (:mod:`tacit.privacy.answers`), and
what does not hold, or must not be released, stands first. The page is one file without scripts, and can be printed.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from tacit._version import __version__
from tacit.checks import check
from tacit.privacy import answers as answering
from tacit.privacy import totals
from tacit.privacy.answers import Answer
from tacit.privacy.deployments import LEFT, deployment
from tacit.privacy.events import InputMinimum, Shuffled
from tacit.privacy.promise import Promise
from tacit.privacy.theorems import RECORD, THEOREMS
from tacit.types import Adjacency
from tacit.wrapping import WIDTH, fitted

FORMAT = "tacit-statement"
_ONE, _EACH = "This was", "The total is the ledger's; every single release was"


@dataclass(frozen=True)
class Statement:
    """Questions of the release desk, answered; ``first`` is what to read before them: empty where all is well.

    ``numbers`` are the figures that the sentences round, ``guarantees`` what can be verified, by label, and
    ``registry`` the record for the public registry of deployments, or None where there is nothing to register.
    """

    title: str
    summary: str
    first: tuple[str, ...]
    answers: tuple[Answer, ...]
    numbers: dict[str, Any] = field(repr=False)
    guarantees: tuple[tuple[str, dict[str, Any]], ...] = field(repr=False)
    registry: dict[str, Any] | None = field(repr=False)

    @property
    def holds(self) -> bool:
        """Whether nothing stands against a release: all is proven, verified, unseeded and within its budget."""
        return not self.first

    @property
    def verdict(self) -> str:
        """In one sentence, where nothing stands against a release, what was recomputed; otherwise nothing."""
        if self.first:
            return ""
        whole = "spent" in self.numbers
        return f"{_EACH if whole else _ONE} recomputed from the recorded events: it holds as stated."

    @classmethod
    def of(cls, guarantee: Promise, title: str = "") -> Statement:
        """The statement of one guarantee."""
        first = answering.first(guarantee)
        said = answering.answers(guarantee, sound=not first)
        numbers = {
            "epsilon": _finite(guarantee.epsilon), "delta": guarantee.delta, "adjacency": guarantee.adjacency,
            "records": guarantee.records, "rows_per_person": guarantee.rows_per_person, "status": guarantee.status,
            "seeded": guarantee.seeded,
        }  # fmt: skip
        registry = deployment(
            said, epsilon=guarantee.epsilon, delta=guarantee.delta, records=guarantee.records or None,
            person=guarantee.rows_per_person is not None, releases=1, model=_model(guarantee),
        )  # fmt: skip
        return cls(
            title=title or f"Statement for the release desk: {guarantee.protects}",
            summary=f"{answering.pair(guarantee.epsilon, guarantee.delta)}, {guarantee.adjacency} neighbours, "
            f"{guarantee.status}.",
            first=first,
            answers=said,
            numbers=numbers,
            guarantees=((guarantee.protects, guarantee.to_dict()),),
            registry=None if first else registry,
        )

    @classmethod
    def of_ledger(
        cls,
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
        rows_per_person: int | None,
        entries: Sequence[tuple[str, Promise]],
        spent: float,
        composition: str,
        title: str = "Statement for the release desk: a whole ledger",
        digest: str = "",
    ) -> Statement:
        """The statement of all that a ledger holds: its budget, what is spent of it, and a sentence on how it adds up.

        ``entries`` are labels and guarantees. Nothing is priced here: ``spent`` is what the ledger says. ``digest``:
        that of the ledger's last entry, where it has one.
        """
        check(isinstance(composition, str) and composition, "Expected a sentence that says how the total is composed.")
        first = totals.first_of(epsilon, spent, adjacency, rows_per_person, entries)
        said = totals.answers_of(
            epsilon, delta, spent, adjacency, rows_per_person, entries, composition, digest, sound=not first
        )
        numbers = {
            "epsilon": epsilon, "delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person,
            "spent": _finite(spent), "releases": len(entries), **({"digest": digest} if digest else {}),
        }  # fmt: skip
        models = {_model(one) for _, one in entries}
        registry = deployment(
            said, epsilon=epsilon, delta=delta, records=None, person=rows_per_person is not None,
            releases=len(entries), model=models.pop() if len(models) == 1 else None,
        )  # fmt: skip
        return cls(
            title=title,
            summary=f"{len(entries):,} release{'' if len(entries) == 1 else 's'}: {answering.pair(epsilon, delta)}, "
            f"{adjacency} neighbours; {answering.pair(spent, delta)} used.",
            first=first,
            answers=said,
            numbers=numbers,
            guarantees=tuple((label, one.to_dict()) for label, one in entries),
            registry=None if first or not entries else registry,
        )

    @classmethod
    def of_parts(
        cls,
        *,
        epsilon: float,
        delta: float,
        adjacency: Adjacency,
        rows_per_person: int | None,
        entries: Sequence[tuple[str, Promise]],
        composition: str,
        title: str,
    ) -> Statement:
        """The statement of several releases in one file, as one; ``epsilon`` and ``delta`` are of all together."""
        first = tuple(f"{label}: {words}" for label, one in entries for words in answering.first(one))
        first += () if math.isfinite(epsilon) else ("NO TOTAL: there is no finite epsilon for all parts together.",)
        said = totals.answers_of_parts(
            epsilon, delta, adjacency, rows_per_person, entries, composition, sound=not first
        )
        numbers = {
            "epsilon": _finite(epsilon), "delta": delta, "adjacency": adjacency, "rows_per_person": rows_per_person,
            "releases": len(entries),
        }  # fmt: skip
        models = {_model(one) for _, one in entries}
        registry = deployment(
            said, epsilon=epsilon, delta=delta, records=entries[-1][1].records or None,
            person=rows_per_person is not None, releases=len(entries),
            model=models.pop() if len(models) == 1 else None,
        )  # fmt: skip
        return cls(
            title=title,
            summary=f"{len(entries):,} releases: {answering.pair(epsilon, delta)}, {adjacency} neighbours.",
            first=first,
            answers=said,
            numbers=numbers,
            guarantees=tuple((label, one.to_dict()) for label, one in entries),
            registry=None if first else registry,
        )

    def to_json(self) -> str:
        """The statement as JSON; ``registry`` has the field names of the registry of deployments."""
        data = {
            "format": FORMAT,
            "version": __version__,
            "holds": self.holds,
            "first": self.first,
            "title": self.title,
            "summary": self.summary,
            "numbers": self.numbers,
            "answers": [answer._asdict() for answer in self.answers],
            "registry": self.registry,
            "registry_left_to_fill_in": LEFT if self.registry else (),
            "guarantees": [{"label": label, "guarantee": content} for label, content in self.guarantees],
        }
        return json.dumps(data, indent=2, ensure_ascii=False, allow_nan=False)

    def to_html(self) -> str:
        """The statement as one page that needs nothing else."""
        return page((self,))

    def text(self, width: int = WIDTH, file: str = "") -> str:
        """What ``print`` shows, in lines of at most so many columns; ``file``: which file it is about."""
        lines = [*self.first, *filter(None, (self.title, file, self.summary, self.verdict))]
        for number, answer in enumerate(self.answers, 1):
            lines += ["", f"{number}. {answer.question}", *(f"   {sentence}" for sentence in answer.sentences)]
        return fitted("\n".join(lines), width)

    def __str__(self) -> str:
        return self.text()


def page(statements: Sequence[Statement], files: Sequence[str] = ()) -> str:
    """Statements as one HTML page, with their certificates to save; ``files`` says of each which file it is about."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # statements in words need none of it

    environment = Environment(
        loader=PackageLoader("tacit.privacy"), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
        lstrip_blocks=True, keep_trailing_newline=True,
    )  # fmt: skip
    return environment.get_template("statement.html").render(
        statements=statements,
        files=files,
        several=sum(len(one.guarantees) for one in statements) > 1,
        version=__version__,
        encoded=_encoded,
        open_questions=answering.open_questions(),
    )


def _encoded(content: dict[str, Any]) -> str:
    return base64.b64encode(json.dumps(content, indent=2, ensure_ascii=False).encode()).decode()


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _model(promise: Promise) -> str | None:
    """The registry's name of who is trusted; None where it has no word for it."""
    if promise.protects == RECORD:
        return "Local"
    if any(isinstance(event, Shuffled) for event in promise.events):
        return "Shuffle"
    if any(isinstance(event, InputMinimum) for event in promise.events):
        return None  # contributors' noise, and a database that is trusted with what they sent
    return "Local" if THEOREMS[promise.theorem].page in ("input", "local") else "Central"
