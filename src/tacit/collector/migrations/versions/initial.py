"""The first tables. Acts can be added and not changed: the database itself refuses."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_ONLY_ADDED = {
    "sqlite": [
        f"CREATE TRIGGER acts_{what.lower()} BEFORE {what} ON acts "
        "BEGIN SELECT RAISE(ABORT, 'acts are only ever added'); END"
        for what in ("UPDATE", "DELETE")
    ]
    + [  # REPLACE deletes without asking the trigger above
        "CREATE TRIGGER acts_insert BEFORE INSERT ON acts WHEN EXISTS (SELECT 1 FROM acts WHERE number = NEW.number) "
        "BEGIN SELECT RAISE(ABORT, 'acts are only ever added'); END"
    ],
    "postgresql": [
        "CREATE FUNCTION acts_only_added() RETURNS trigger LANGUAGE plpgsql AS "
        "$$ BEGIN RAISE EXCEPTION 'acts are only ever added'; END $$",
        "CREATE TRIGGER acts_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON acts "
        "FOR EACH STATEMENT EXECUTE FUNCTION acts_only_added()",
    ],
}


def upgrade() -> None:
    """Make the tables."""
    op.create_table(
        "studies",
        sa.Column("slug", sa.Text, primary_key=True),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("admission", sa.Text, nullable=False),
        sa.Column("protocol", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False, unique=True),
        sa.Column("texts", sa.Text, nullable=False),
        sa.Column("model", sa.Text),
    )
    op.create_table(
        "sums",
        _study(),
        sa.Column("sums", sa.LargeBinary, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("seeded", sa.Integer, nullable=False),
        sa.Column("shared", sa.Integer, nullable=False),
    )
    for name in ("contents", "withdrawn"):
        op.create_table(name, _study(), sa.Column("content", sa.LargeBinary, primary_key=True), sqlite_with_rowid=False)
    op.create_table(
        "invitations",
        _study(),
        sa.Column("code", sa.LargeBinary, primary_key=True),
        sa.Column("used", sa.Integer, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "refusals",
        _study(),
        sa.Column("reason", sa.Text, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )
    op.create_table(
        "trainings",
        _study(),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
        sa.Column("count", sa.Integer, nullable=False),
        sa.Column("seeded", sa.Integer, nullable=False),
        sa.Column("weights", sa.Text),
    )
    op.create_table(
        "accounts",
        sa.Column("name", sa.Text, primary_key=True),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("secret", sa.Text, nullable=False),
    )
    op.create_table(
        "visits",
        sa.Column("token", sa.LargeBinary, primary_key=True),
        sa.Column("account", sa.Text, sa.ForeignKey("accounts.name"), nullable=False),
        sa.Column("began", sa.Integer, nullable=False),
        sa.Column("seen", sa.Integer, nullable=False),
    )
    op.create_table(
        "acts",
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("content", sa.Text, nullable=False),
        sa.Column("digest", sa.Text, nullable=False),
    )
    op.create_table(
        "settings", sa.Column("name", sa.Text, primary_key=True), sa.Column("value", sa.LargeBinary, nullable=False)
    )
    for line in _ONLY_ADDED[op.get_bind().dialect.name]:
        op.execute(line)


def _study() -> sa.Column[str]:
    return sa.Column("study", sa.Text, sa.ForeignKey("studies.slug"), primary_key=True, nullable=False)
