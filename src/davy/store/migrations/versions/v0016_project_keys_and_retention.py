"""API keys that hold in one project only, and rules by which the server deletes what is old."""

import sqlalchemy as sa
from alembic import op

revision = "0016"
down_revision = "0015"

_TEXT = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    """Add the column and make the table."""
    op.add_column("api_keys", sa.Column("project", _TEXT))
    where = sa.text("project IS NOT NULL")
    op.create_index("ix_api_keys_project", "api_keys", ["project"], sqlite_where=where, postgresql_where=where)
    op.create_table(
        "retention_rules",
        sa.Column("project", _TEXT, nullable=False),
        sa.Column("what", _TEXT, nullable=False),
        sa.Column("days", sa.Integer(), nullable=False),
        sa.Column("set_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("set_by", _TEXT, nullable=False),
        sa.PrimaryKeyConstraint("project", "what", name=op.f("pk_retention_rules")),
    )
