"""The first tables: all of `davy.store.schema`.

A database keeps the numbers of what it had, so none is used twice: 0001 to 0018
belong to databases of checkouts from before the first release. Once a release
has these tables, write them out here as plain types before the first change.
"""

from alembic import op

from davy.store.schema import metadata

revision = "1.0001"
down_revision = None


def upgrade() -> None:
    """Make the tables, their indexes and their constraints."""
    metadata.create_all(op.get_bind(), checkfirst=False)
