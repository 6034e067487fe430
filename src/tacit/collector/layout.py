"""The tables of a collector, for SQLite and PostgreSQL. The files in ``migrations/`` make them.

Nothing tells which submission came by which invitation: no row of one has a time, a number or a key of the other.
"""

from __future__ import annotations

from sqlalchemy import Column, ForeignKey, Integer, LargeBinary, MetaData, Table, Text

METADATA = MetaData()


def _study() -> Column[str]:
    return Column("study", Text, ForeignKey("studies.slug"), primary_key=True, nullable=False)


STUDIES = Table(
    "studies", METADATA,
    Column("slug", Text, primary_key=True),
    Column("state", Text, nullable=False),
    Column("admission", Text, nullable=False),
    Column("protocol", Text, nullable=False),
    Column("fingerprint", Text, nullable=False, unique=True),
    Column("texts", Text, nullable=False),
    Column("model", Text),
)  # fmt: skip
"""One row a study, and one study a protocol: a submission to two of them would be in two models. ``model`` is the file
that is published."""

SUMS = Table(
    "sums", METADATA,
    _study(),
    Column("sums", LargeBinary, nullable=False),
    Column("count", Integer, nullable=False),
    Column("seeded", Integer, nullable=False),
    Column("shared", Integer, nullable=False),
)  # fmt: skip

CONTENTS = Table(
    "contents", METADATA, _study(), Column("content", LargeBinary, primary_key=True)
)  # fmt: skip
"""Hashes of what is counted."""

WITHDRAWN = Table(
    "withdrawn", METADATA, _study(), Column("content", LargeBinary, primary_key=True)
)  # fmt: skip
"""Hashes of what was taken back."""

INVITATIONS = Table(
    "invitations", METADATA,
    _study(),
    Column("code", LargeBinary, primary_key=True),
    Column("used", Integer, nullable=False),
)  # fmt: skip
"""Hashes of codes; ``used`` is 0 or 1."""

REFUSALS = Table(
    "refusals", METADATA,
    _study(),
    Column("reason", Text, primary_key=True),
    Column("count", Integer, nullable=False),
)  # fmt: skip

TRAININGS = Table(
    "trainings", METADATA,
    _study(),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("kind", Text, nullable=False),
    Column("digest", Text, nullable=False),
    Column("count", Integer, nullable=False),
    Column("seeded", Integer, nullable=False),
    Column("weights", Text),
)  # fmt: skip

ACCOUNTS = Table(
    "accounts", METADATA,
    Column("name", Text, primary_key=True),
    Column("role", Text, nullable=False),
    Column("secret", Text, nullable=False),
)  # fmt: skip
"""Who may sign in; ``secret`` is a salted hash."""

VISITS = Table(
    "visits", METADATA,
    Column("token", LargeBinary, primary_key=True),
    Column("account", Text, ForeignKey("accounts.name"), nullable=False),
    Column("began", Integer, nullable=False),
    Column("seen", Integer, nullable=False),
)  # fmt: skip
"""Sessions of those who are signed in: a hash of the cookie, and seconds since 1970."""

ACTS = Table(
    "acts", METADATA,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("content", Text, nullable=False),
    Column("digest", Text, nullable=False),
)  # fmt: skip
"""What curators did, in order; lines are only ever added."""

SETTINGS = Table(
    "settings", METADATA, Column("name", Text, primary_key=True), Column("value", LargeBinary, nullable=False)
)  # fmt: skip
