"""How Alembic runs the migrations: on the connection that it is given, in that connection's transaction."""

from alembic import context

from tacit.collector.layout import METADATA

context.configure(connection=context.config.attributes["connection"], target_metadata=METADATA)
with context.begin_transaction():
    context.run_migrations()
