"""What Alembic runs: migrations on the connection that `davy.store.schema_versions` hands over."""

from alembic import context

from davy.store.schema import metadata
from davy.store.schema_versions import VERSION_TABLE

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    version_table=VERSION_TABLE,
    # SQLite can roll DDL back too, because we begin the transaction ourselves.
    transactional_ddl=True,
)
with context.begin_transaction():
    context.run_migrations()
