"""The collector: everything that pages, commands and programs ask of it, over one database."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import func, select

from tacit.checks import PrivacyError, check, check_count, counted
from tacit.collector import acts, invitations, studies, traces
from tacit.collector.engine import insert_new, open_engine, reading
from tacit.collector.layout import SETTINGS, SUMS, TRAININGS
from tacit.collector.refusals import NO_MODEL, NO_STUDY, NO_WITHDRAWAL, NOT_COUNTED, TRAINED, Refused
from tacit.collector.studies import Study
from tacit.collector.study_shelf import StudyShelf, lock_study
from tacit.collector.tokens import fresh_bytes, signed, spelled
from tacit.files.models import written
from tacit.ledger import Ledger
from tacit.protocol import Database, Protocol, Submission

SITE = re.compile(r"https?://(\[[0-9a-fA-F:.]+\]|[A-Za-z0-9.-]+)(:\d{1,5})?")
"""Addresses of a service: no path, and no signs that a page or a command would have to escape."""
MOST_INVITED = 100_000
"""Invitations that are made at once."""


@dataclass(frozen=True)
class Tally:
    """What is known of a running study: all of it is public to whoever may see the curator's pages."""

    count: int
    refused: dict[str, int]
    invited: int
    used: int


class Collector:
    """Studies at an address: a SQLite file, or ``postgresql://user@host/database``.

    ``public``: where people reach the service, ``https://host``; links in invitations begin with it.
    """

    def __init__(self, address: str | Path, ledger: Ledger | str | None = None, *, public: str | None = None) -> None:
        if public is not None:
            check(SITE.fullmatch(public), "Expected the public address as https://host or https://host:port.")
        self.engine = open_engine(address)
        self.ledger, self.public = ledger, public
        self._key = self._receipt_key()
        if traces.owed(self.engine):
            traces.remove(self.engine)

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def _receipt_key(self) -> bytes:
        with self.engine.begin() as base:
            key = {"name": "receipts", "value": fresh_bytes(32)}
            base.execute(insert_new(base, SETTINGS).values(key).on_conflict_do_nothing())
            return bytes(base.execute(select(SETTINGS.c.value).where(SETTINGS.c.name == "receipts")).scalar_one())

    def studies(self, *states: str) -> list[Study]:
        """The studies in these states; all of them, if none is named."""
        with reading(self.engine) as base:
            return studies.studies(base, states or studies.STATES)

    def study(self, slug: str) -> Study:
        """One study; raises where there is none."""
        with reading(self.engine) as base:
            found = studies.study(base, slug)
        if found is None:
            raise Refused(NO_STUDY)
        return found

    def count(self, slug: str) -> int:
        """How many submissions are counted."""
        with reading(self.engine) as base:
            return int(base.execute(select(SUMS.c.count).where(SUMS.c.study == slug)).scalar() or 0)

    def tally(self, slug: str) -> Tally:
        """How many submissions are counted and refused, and how many invitations are used."""
        shelf = StudyShelf(self.engine, slug)
        with reading(self.engine) as base:
            invited, used = invitations.tally(base, slug)
        return Tally(self.count(slug), shelf.refused(), invited, used)

    def create(
        self, protocol: Protocol, texts: Mapping[str, Any], *, admission: str = "invitation", who: str = "command line"
    ) -> str:
        """A new study, as a draft; returns its name."""
        with self.engine.begin() as base:
            slug = studies.create(base, protocol, texts, admission)
            acts.write(base, who, "create", slug, f"protocol {protocol.fingerprint}")
        self.database(slug, protocol)  # empty sums, so that what comes first need not make them
        return slug

    def invite(self, slug: str, number: int, *, who: str = "command line") -> list[str]:
        """New invitations to a study that is a draft or open. They are shown once: only hashes are kept."""
        check(check_count("number", number) <= MOST_INVITED, f"Expected at most {MOST_INVITED:,} invitations at once.")
        found = self.study(slug)
        check(found.state in ("draft", "open"), f"This study is {found.state}: no more people can be invited.")
        check(found.admission == "invitation", "Anyone may contribute to this study: it has no invitations.")
        with self.engine.begin() as base:
            codes = invitations.make(base, slug, number)
            acts.write(base, who, "invite", slug, counted(number, "invitation"))
        return codes

    def open(self, slug: str, *, who: str = "command line") -> None:
        """Accept submissions from now on."""
        with self.engine.begin() as base:
            studies.move(base, slug, ("draft",), "open")
            acts.write(base, who, "open", slug)

    def shut(self, slug: str, *, who: str = "command line") -> None:
        """Stop accepting submissions, which is final; then remove what would reveal who sent what (:mod:`traces`)."""
        with self.engine.begin() as base:
            studies.move(base, slug, ("draft", "open"), "closed")
            studies.shuffle(base, slug)
            acts.write(base, who, "close", slug)
            traces.owe(base)
        if not traces.remove(self.engine):
            with self.engine.begin() as base:
                acts.write(base, who, "close", slug, "traces are left: another program uses the database")

    def train(self, slug: str, *, accept_record_guarantee: bool = False, who: str = "command line") -> Any:
        """Train the one model of a closed study, and keep its file. The training is on record before the model exists.

        Edges: after a stop on the way it can be asked for again; a model whose weights were kept is the same one, else
        :meth:`tacit.protocol.Database.train` says what still holds.
        """
        found = self.study(slug)
        with self.engine.begin() as base:
            studies.move(base, slug, ("closed", "training"), "training")
            acts.write(base, who, "train", slug, "record's guarantee accepted" if accept_record_guarantee else "")
        database = self.database(slug, found.protocol)
        try:
            model = database.train(accept_record_guarantee=accept_record_guarantee, ledger=self.ledger)
        except ValueError:
            if not database.trained:  # nothing was begun: no submissions, or the ledger refused
                with self.engine.begin() as base:
                    studies.move(base, slug, ("training",), "closed")
            raise
        while not self._stored(slug, found.protocol, model, who):  # another training was accepted in between
            model = database.train(accept_record_guarantee=True)
        if traces.owed(self.engine):
            traces.remove(self.engine)
        return model

    def _stored(self, slug: str, protocol: Protocol, model: Any, who: str) -> bool:
        """Keep a model's file, unless it says that the model is the only one and there is another."""
        text = written(model, protocol.schema).decode("utf-8")
        with self.engine.begin() as base:
            lock_study(base, slug)
            others = base.execute(select(func.count()).where(TRAININGS.c.study == slug)).scalar_one() > 1
            if others and model.guarantee_ != model.record_guarantee_:
                return False
            studies.move(base, slug, ("training",), "trained", text)
            acts.write(base, who, "trained", slug, counted(model.guarantee_.records, "submission"))
        return True

    def publish(self, slug: str, *, who: str = "command line") -> None:
        """Show the model to everyone."""
        with self.engine.begin() as base:
            studies.move(base, slug, ("trained",), "published")
            acts.write(base, who, "publish", slug)

    def database(self, slug: str, protocol: Protocol | None = None) -> Database:
        """The sums of a study, with the rules of :class:`tacit.protocol.Database`."""
        return Database(protocol or self.study(slug).protocol, StudyShelf(self.engine, slug))

    def withdraw(self, slug: str, submission: Submission) -> dict[str, Any]:
        """Withdraw a submission; raises a refusal where that is not possible."""
        found = self.study(slug)
        if found.state == "draft":  # nobody is told that it exists
            raise Refused(NO_STUDY)
        if not found.protocol.withdrawal:
            raise Refused(NO_WITHDRAWAL)
        if found.state not in ("open", "closed"):
            raise Refused(TRAINED)
        try:
            self.database(slug, found.protocol).withdraw(submission)
        except PrivacyError:
            raise Refused(TRAINED) from None
        except ValueError:
            raise Refused(NOT_COUNTED) from None
        return {"study": slug, "content": submission.many().contents()[0].hex(), "withdrawn": True}

    def receipt(self, slug: str, protocol: str, content: bytes) -> dict[str, str]:
        """What a contributor gets for a submission: always the same for the same one."""
        code = spelled(signed(self._key, slug.encode(), content)[:15])
        return {"study": slug, "protocol": protocol, "content": content.hex(), "code": code}

    def model(self, slug: str) -> str:
        """The model file of a published study."""
        found = self.study(slug)
        if found.state != "published" or found.model is None:
            raise Refused(NO_MODEL)
        return found.model
