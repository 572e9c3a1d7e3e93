"""Communities: the last verdict of reviewers that their webhook was told of."""

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the column."""
    op.add_column("communities", sa.Column("reviews_told", _TEXT))
