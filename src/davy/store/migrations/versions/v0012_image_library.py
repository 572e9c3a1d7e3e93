"""The image library: words for pictures on the shelf, and what they look like."""

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "library_images",
        sa.Column("key", _TEXT, nullable=False),
        sa.Column("words", _TEXT, nullable=False),
        sa.Column("likeness", _TEXT, nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("added_by", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_library_images")),
    )
