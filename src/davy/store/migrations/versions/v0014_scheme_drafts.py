"""Schemes that people write in the browser."""

import sqlalchemy as sa
from alembic import op

revision = "0014"
down_revision = "0013"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Make the table."""
    op.create_table(
        "scheme_drafts",
        sa.Column("id", _TEXT, nullable=False),
        sa.Column("edit", sa.Integer(), nullable=False),
        sa.Column("owner", _TEXT, nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("saved_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("removed_at", sa.DateTime(timezone=True)),
        sa.PrimaryKeyConstraint("id", "edit", name=op.f("pk_scheme_drafts")),
        sa.ForeignKeyConstraint(["owner"], ["users.id"], name=op.f("fk_scheme_drafts_owner")),
    )
    op.create_index("ix_scheme_drafts_owner", "scheme_drafts", ["owner", "id"])
